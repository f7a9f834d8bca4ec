/* A world of pictures in bytes, of any size: a bar stands in a random column, and the observation
 * holds the last pictures. Action 1 pays 1 when the bar is on the right half and costs 1 else; the
 * others do nothing. */
#ifndef LGV_TESTS_PICTURE_WORLD_H
#define LGV_TESTS_PICTURE_WORLD_H

#include "base/param.h"
#include "run_helpers.h"

enum { PICTURE_STEPS = 12 }; /* of an episode */

typedef struct picture_params {
  int64_t height, width, frames, actions, value;
} picture_params;

/* clang-format off */
static const lgv_param picture_table[] = {
    LGV_INT_ROW(picture_params, height, "height", "40", 1, 1000, "rows of a picture"),
    LGV_INT_ROW(picture_params, width, "width", "40", 2, 1000, "its columns"),
    LGV_INT_ROW(picture_params, frames, "frames", "4", 1, 8, "pictures of an observation"),
    LGV_INT_ROW(picture_params, actions, "actions", "3", 2, 18, "choices"),
    LGV_INT_ROW(picture_params, value, "value", "200", 1, 255, "brightness of the bar"),
    {0},
};
/* clang-format on */

typedef struct picture_state {
  const picture_params *p;
  int64_t *at; /* [0] stage, then the column of the bar in the last pictures, oldest first */
} picture_state;

static inline lgv_status picture_spec(const void *params, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  const picture_params *p = params;
  *out = (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                        .obs_shape = {(int32_t)p->height, (int32_t)p->width, (int32_t)p->frames},
                        .frames = (int32_t)p->frames,
                        .actions = lgv_discrete((int32_t)p->actions),
                        .reward_min = -1,
                        .reward_max = 1};
  return LGV_OK;
}

static inline void picture_layout(void *self, const void *params, const lgv_env_spec *env,
                                  lgv_layout *layout) {
  (void)env;
  picture_state *s = self;
  s->p = params;
  s->at = lgv_layout_array(layout, "at", LGV_I64, 1 + (size_t)s->p->frames, LGV_KEEP);
}

static inline lgv_status picture_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  const picture_state *s = self;
  s->at[0] = 0;
  s->at[1] = lgv_rng_below(rng, s->p->width);
  for (int64_t f = 2; f <= s->p->frames; f++) s->at[f] = s->at[1];
  return LGV_OK;
}

static inline lgv_status picture_step(void *self, const lgv_action *action, lgv_rng *rng,
                                      lgv_outcome *outcome, lgv_error *err) {
  (void)err;
  const picture_state *s = self;
  int64_t *newest = s->at + s->p->frames;
  outcome->reward = action->choice != 1 ? 0 : *newest >= (s->p->width + 1) / 2 ? 1 : -1;
  memmove(s->at + 1, s->at + 2, (size_t)(s->p->frames - 1) * sizeof *s->at);
  *newest = lgv_rng_below(rng, s->p->width);
  outcome->truncated = ++s->at[0] == PICTURE_STEPS;
  return LGV_OK;
}

static inline void picture_observe(const void *self, void *data) {
  const picture_state *s = self;
  const picture_params *p = s->p;
  uint8_t *out = data;
  memset(out, 0, (size_t)(p->height * p->width * p->frames));
  for (int64_t row = 0; row < p->height; row++)
    for (int64_t f = 0; f < p->frames; f++)
      out[(row * p->width + s->at[f + 1]) * p->frames + f] = (uint8_t)p->value;
}

static const lgv_env_type picture_world = {.size = sizeof(lgv_env_type),
                                           .name = "pictures",
                                           .summary = "a bar",
                                           .params = picture_table,
                                           .params_size = sizeof(picture_params),
                                           .state_size = sizeof(picture_state),
                                           .spec = picture_spec,
                                           .layout = picture_layout,
                                           .reset = picture_reset,
                                           .step = picture_step,
                                           .observe = picture_observe};

/* Settings that know the world as "pictures". */
static inline lgv_settings *picture_settings(const char *env, const char *agent,
                                             const char *extra) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &picture_world, &err), LGV_OK);
  return settings;
}

static inline lgv_plan *picture_plan(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings = picture_settings(env, agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("%s: %s", agent, err.message);
  lgv_settings_free(settings);
  return plan;
}

#endif
