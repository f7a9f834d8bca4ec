/* Two chains with masks.
 *
 * `trap` starts in state 0; of three actions, one leads to the left, one to the right, and one is
 * forbidden, which one depends on the state and, with env.by_stage, on the stage. Only the far end
 * (1) and staying at the start (1/100) pay. No data about a forbidden action ever arrive, so that
 * an agent that counts its value stays optimistic for all time.
 *
 * `fickle` is such a chain whose mask is drawn at every visit: each action is allowed with
 * probability 1/2, at least one is. Even actions lead to the left, odd ones to the right. */
#ifndef LGV_TESTS_MASK_WORLD_H
#define LGV_TESTS_MASK_WORLD_H

#include "base/error.h"
#include "base/param.h"
#include "env/models/tabular.h"

#include "run_helpers.h"

enum { TRAP_STATES = 4, TRAP_ACTIONS = 3, TRAP_HORIZON = 8, TRAP_VALUE = 5 };

typedef struct trap_params {
  bool by_stage;
} trap_params;

static const lgv_param trap_table[] = {
    LGV_BOOL_ROW(trap_params, by_stage, "by_stage", "false", "masks depend on the stage"), {0}};

typedef struct trap {
  lgv_tabular tabular;
  const trap_params *p;
  uint8_t *mask; /* fickle: the current one */
} trap;

static inline lgv_status trap_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  bool by_stage = ((const trap_params *)params)->by_stage;
  *spec = lgv__tabular_spec(TRAP_STATES, TRAP_ACTIONS, TRAP_HORIZON, !by_stage);
  spec->size = sizeof *spec;
  spec->clock_truncates = true;
  spec->masked = true;
  return LGV_OK;
}

static inline void trap_layout(void *self, const void *params, const lgv_env_spec *spec,
                               lgv_layout *layout) {
  trap *t = self;
  t->p = params;
  t->mask = lgv_layout_array(layout, "trap.mask", LGV_U8, TRAP_ACTIONS, LGV_KEEP);
  lgv__tabular_layout(self, params, spec, layout);
}

/* Where a step from `state` to the left or the right leads, and what it pays. */
static inline lgv_status trap_add(lgv_model *m, int64_t h, int64_t state, int32_t action,
                                  bool right, lgv_error *err) {
  int64_t last = TRAP_STATES - 1, next = right ? state + 1 : state - 1;
  next = next < 0 ? 0 : next > last ? last : next;
  if (right && state == last) lgv_model_set_reward(m, h, state, action, 1);
  if (!right && state == 0) lgv_model_set_reward(m, h, state, action, 0.01);
  return lgv_model_add(m, h, state, action, next, 1, err);
}

static inline int32_t trap_forbidden(int64_t h, int64_t state) {
  return (int32_t)((h + state) % TRAP_ACTIONS);
}

static inline lgv_status trap_open(void *self, lgv_env_spec *spec, lgv_error *err) {
  trap *t = self;
  LGV_TRY(lgv_model_create(TRAP_STATES, TRAP_ACTIONS, TRAP_HORIZON, spec->stationary,
                           &t->tabular.model, err));
  lgv_model *m = t->tabular.model;
  for (int64_t h = 0; h < (spec->stationary ? 1 : TRAP_HORIZON); h++)
    for (int64_t s = 0; s < TRAP_STATES; s++) {
      int32_t forbidden = trap_forbidden(h, s);
      lgv_model_forbid(m, h, s, forbidden);
      LGV_TRY(trap_add(m, h, s, (forbidden + 1) % TRAP_ACTIONS, false, err));
      LGV_TRY(trap_add(m, h, s, (forbidden + 2) % TRAP_ACTIONS, true, err));
    }
  lgv_model_set_start(m, 0, 1);
  return lgv_model_seal(m, err);
}

static const lgv_env_type trap_type = {
    .size = sizeof(lgv_env_type),
    .name = "trap",
    .summary = "a chain in which one action of each state is forbidden",
    .params = trap_table,
    .params_size = sizeof(trap_params),
    .state_size = sizeof(trap),
    .spec = trap_spec,
    .layout = trap_layout,
    .open = trap_open,
    .close = lgv__tabular_close,
    .model = lgv__tabular_model,
    .reset = lgv__tabular_reset,
    .step = lgv__tabular_step,
    .observe = lgv__tabular_observe_one_hot,
    .mask = lgv__tabular_mask,
    .state_index = lgv__tabular_state,
};

/* ---- fickle ---- */

static inline lgv_status fickle_open(void *self, lgv_env_spec *spec, lgv_error *err) {
  trap *t = self;
  LGV_TRY(lgv_model_create(TRAP_STATES, TRAP_ACTIONS, TRAP_HORIZON, spec->stationary,
                           &t->tabular.model, err));
  lgv_model *m = t->tabular.model;
  for (int64_t h = 0; h < (spec->stationary ? 1 : TRAP_HORIZON); h++)
    for (int64_t s = 0; s < TRAP_STATES; s++)
      for (int32_t a = 0; a < TRAP_ACTIONS; a++) LGV_TRY(trap_add(m, h, s, a, a % 2, err));
  lgv_model_set_start(m, 0, 1);
  return lgv_model_seal(m, err);
}

static inline void draw_mask(trap *t, lgv_rng *rng) {
  for (int32_t a = 0; a < TRAP_ACTIONS; a++) t->mask[a] = lgv_rng_below(rng, 2) == 1;
  t->mask[lgv_rng_below(rng, TRAP_ACTIONS)] = 1;
}

static inline lgv_status fickle_reset(void *self, lgv_rng *rng, lgv_error *err) {
  LGV_TRY(lgv__tabular_reset(self, rng, err));
  draw_mask(self, rng);
  return LGV_OK;
}

static inline lgv_status fickle_step(void *self, const lgv_action *action, lgv_rng *rng,
                                     lgv_outcome *outcome, lgv_error *err) {
  LGV_TRY(lgv__tabular_step(self, action, rng, outcome, err));
  draw_mask(self, rng);
  return LGV_OK;
}

static inline void fickle_mask(const void *self, uint8_t *allowed) {
  memcpy(allowed, ((const trap *)self)->mask, TRAP_ACTIONS);
}

static const lgv_env_type fickle_type = {
    .size = sizeof(lgv_env_type),
    .name = "fickle",
    .summary = "a chain whose mask is drawn at every visit",
    .params = trap_table,
    .params_size = sizeof(trap_params),
    .state_size = sizeof(trap),
    .spec = trap_spec,
    .layout = trap_layout,
    .open = fickle_open,
    .close = lgv__tabular_close,
    .reset = fickle_reset,
    .step = fickle_step,
    .observe = lgv__tabular_observe_one_hot,
    .mask = fickle_mask,
    .state_index = lgv__tabular_state,
};

/* A plan of an agent on `trap` or `fickle`; extra as for make_settings. */
static inline lgv_plan *make_mask_plan(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &trap_type, &err), LGV_OK);
  assert_int_equal(lgv_settings_add_env(settings, &fickle_type, &err), LGV_OK);
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("%s: %s", agent, err.message);
  lgv_settings_free(settings);
  return plan;
}

#endif
