/* A problem whose state is outside its arrays, like that of an emulator in another process.
 *
 * `outside` drifts by its own noise and by the action; episodes last 17 steps and every step pays
 * `pay`, in evaluations ten times that. With `forgets` an episode cannot be resumed after a
 * restart; with `bad_eval` evaluations have other observations than training. */
#ifndef LGV_TESTS_OUTSIDE_WORLD_H
#define LGV_TESTS_OUTSIDE_WORLD_H

#include "run_helpers.h"

#include <stdlib.h>

enum { OUTSIDE_STEPS = 17, OUTSIDE_SIZE = 3 };

typedef struct outside_params {
  double pay;
  int64_t length;
  bool forgets, bad_eval;
} outside_params;

typedef struct outside {
  const outside_params *p;
  int64_t *hidden; /* (OUTSIDE_SIZE), malloc: [0] place, [1] stage, [2] noise */
  int64_t *kept;   /* (OUTSIDE_SIZE) */
} outside;

static const lgv_param outside_table[] = {
    {.name = "pay", .type = LGV_REAL, .offset = offsetof(outside_params, pay), .default_text = "1"},
    {.name = "length",
     .type = LGV_INT,
     .offset = offsetof(outside_params, length),
     .default_text = "1",
     .min = 1,
     .max = 9},
    {.name = "forgets",
     .type = LGV_BOOL,
     .offset = offsetof(outside_params, forgets),
     .default_text = "false"},
    {.name = "bad_eval",
     .type = LGV_BOOL,
     .offset = offsetof(outside_params, bad_eval),
     .default_text = "false"},
    {0},
};

static inline lgv_status outside_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  const outside_params *p = params;
  *spec = (lgv_env_spec){.obs_kind = LGV_OBS_FLOAT,
                         .obs_shape = {(int32_t)p->length, 1, 1},
                         .actions = {.count = 2},
                         .reward_max = p->pay};
  return LGV_OK;
}

static inline void outside_layout(void *self, const void *params, const lgv_env_spec *spec,
                                  lgv_layout *layout) {
  (void)spec;
  outside *o = self;
  o->p = params;
  o->kept = lgv_layout_array(layout, "outside.kept", LGV_I64, OUTSIDE_SIZE, LGV_KEEP);
}

static inline lgv_status outside_open(void *self, lgv_env_spec *spec, lgv_error *err) {
  (void)spec;
  outside *o = self;
  o->hidden = calloc(OUTSIDE_SIZE, sizeof *o->hidden);
  return o->hidden ? LGV_OK : lgv_fail(err, LGV_ERR_MEMORY, "no memory");
}

static inline void outside_close(void *self) { free(((outside *)self)->hidden); }

static inline lgv_status outside_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  outside *o = self;
  o->hidden[0] = 0;
  o->hidden[1] = 0;
  o->hidden[2] = (int64_t)(lgv_rng_bits(rng) >> 40);
  return LGV_OK;
}

static inline lgv_status outside_step(void *self, const lgv_action *action, lgv_rng *rng,
                                      lgv_outcome *outcome, lgv_error *err) {
  (void)rng, (void)err;
  outside *o = self;
  o->hidden[2] = (o->hidden[2] * 1103515245 + 12345) & 0xffffff;
  o->hidden[0] += action->choice + (o->hidden[2] >> 20) - 8;
  *outcome = (lgv_outcome){.reward = o->p->pay, .truncated = ++o->hidden[1] == OUTSIDE_STEPS};
  return LGV_OK;
}

static inline void outside_observe(const void *self, void *data) {
  const outside *o = self;
  for (int64_t i = 0; i < o->p->length; i++) ((float *)data)[i] = 0.125f * (float)o->hidden[0];
}

static inline void outside_eval(void *params) {
  outside_params *p = params;
  p->pay *= 10;
  p->length += p->bad_eval;
}

static inline lgv_status outside_save(void *self, lgv_error *err) {
  (void)err;
  outside *o = self;
  memcpy(o->kept, o->hidden, OUTSIDE_SIZE * sizeof *o->kept);
  return LGV_OK;
}

static inline lgv_status outside_restore(void *self, bool *in_episode, lgv_error *err) {
  (void)err;
  outside *o = self;
  if (o->p->forgets)
    *in_episode = false;
  else
    memcpy(o->hidden, o->kept, OUTSIDE_SIZE * sizeof *o->kept);
  return LGV_OK;
}

static const lgv_env_type outside_type = {
    .size = sizeof(lgv_env_type),
    .name = "outside",
    .summary = "its state is elsewhere",
    .params = outside_table,
    .params_size = sizeof(outside_params),
    .state_size = sizeof(outside),
    .spec = outside_spec,
    .layout = outside_layout,
    .open = outside_open,
    .close = outside_close,
    .reset = outside_reset,
    .step = outside_step,
    .observe = outside_observe,
    .eval_params = outside_eval,
    .save = outside_save,
    .restore = outside_restore,
};

static inline lgv_plan *make_outside_plan(const lgv_env_type *type, const char *agent,
                                          const char *extra) {
  lgv_settings *settings = make_settings("outside", agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, type, &err), LGV_OK);
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("plan: %s", err.message);
  lgv_settings_free(settings);
  return plan;
}

#endif
