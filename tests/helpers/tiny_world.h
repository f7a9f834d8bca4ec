/* A problem small enough to solve by hand, for tests of runs.
 *
 * `coin` has one state, two actions and a horizon of 3; action 0 pays 1/4, action 1 pays 1. `cycle`
 * takes action 1 with probability 1, 1/2, 0, 1, ..., one value per episode. So V* = 3, a policy
 * with probability p is worth 3/4 + 9/4 p, and three episodes cost a regret of 27/8, exactly. */
#ifndef LGV_TESTS_TINY_WORLD_H
#define LGV_TESTS_TINY_WORLD_H

#include "run_helpers.h"

enum { COIN_HORIZON = 3 };

typedef struct coin_params {
  int64_t fail_at; /* the step, counted from 1 over all episodes, that fails; 0: none */
} coin_params;

typedef struct coin {
  const coin_params *p;
  int64_t *at; /* [0] stage, [1] steps so far, [2] times that action 1 was taken */
  lgv_model *model;
} coin;

static const lgv_param coin_table[] = {
    {.name = "fail_at",
     .type = LGV_INT,
     .offset = offsetof(coin_params, fail_at),
     .default_text = "0",
     .min = 0,
     .max = 1e9},
    {0},
};

static inline lgv_status coin_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)params, (void)err;
  *spec = (lgv_env_spec){.obs_kind = LGV_OBS_FLOAT,
                         .obs_shape = {1, 1, 1},
                         .actions = {.count = 2},
                         .states = 1,
                         .horizon = COIN_HORIZON,
                         .stationary = true,
                         .reward_max = 1};
  return LGV_OK;
}

static inline void coin_layout(void *self, const void *params, const lgv_env_spec *spec,
                               lgv_layout *layout) {
  (void)spec;
  coin *c = self;
  c->p = params;
  c->at = lgv_layout_array(layout, "coin.at", LGV_I64, 3, LGV_KEEP);
}

static inline lgv_status coin_open(void *self, lgv_env_spec *spec, lgv_error *err) {
  (void)spec;
  lgv_model *m;
  lgv_status status = lgv_model_create(1, 2, COIN_HORIZON, true, &m, err);
  for (int32_t a = 0; a < 2 && status == LGV_OK; a++) {
    status = lgv_model_add(m, 0, 0, a, 0, 1, err);
    lgv_model_set_reward(m, 0, 0, a, a ? 1 : 0.25);
  }
  if (status == LGV_OK) lgv_model_set_start(m, 0, 1);
  if (status == LGV_OK) status = lgv_model_seal(m, err);
  if (status != LGV_OK)
    lgv_model_free(m);
  else
    ((coin *)self)->model = m;
  return status;
}

static inline void coin_close(void *self) { lgv_model_free(((coin *)self)->model); }
static inline const lgv_model *coin_model(const void *self) { return ((const coin *)self)->model; }

static inline lgv_status coin_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)rng, (void)err;
  ((coin *)self)->at[0] = 0;
  return LGV_OK;
}

static inline lgv_status coin_step(void *self, const lgv_action *action, lgv_rng *rng,
                                   lgv_outcome *outcome, lgv_error *err) {
  (void)rng;
  coin *c = self;
  if (++c->at[1] == c->p->fail_at) return lgv_fail(err, LGV_ERR_ENV, "the coin rolled away");
  c->at[2] += action->choice;
  *outcome =
      (lgv_outcome){.reward = action->choice ? 1 : 0.25, .truncated = ++c->at[0] == COIN_HORIZON};
  return LGV_OK;
}

static inline void coin_observe(const void *self, void *data) {
  (void)self;
  *(float *)data = 1;
}

static inline int64_t coin_state(const void *self) {
  (void)self;
  return 0;
}

static const char *const coin_counters[] = {"ones", NULL};

static inline void coin_count(const void *self, int64_t *values) {
  values[0] = ((const coin *)self)->at[2];
}

static const lgv_env_type coin_type = {
    .size = sizeof(lgv_env_type),
    .name = "coin",
    .summary = "one state, two payments",
    .params = coin_table,
    .params_size = sizeof(coin_params),
    .state_size = sizeof(coin),
    .spec = coin_spec,
    .layout = coin_layout,
    .open = coin_open,
    .close = coin_close,
    .model = coin_model,
    .reset = coin_reset,
    .step = coin_step,
    .observe = coin_observe,
    .state_index = coin_state,
    .counter_names = coin_counters,
    .counters = coin_count,
};

typedef struct cycle {
  int64_t *episode;
  lgv_rng *act, *eval;
} cycle;

static inline void cycle_layout(void *self, const void *params, const lgv_problem *problem,
                                lgv_layout *layout) {
  (void)params;
  cycle *c = self;
  c->episode = lgv_layout_array(layout, "cycle.episode", LGV_I64, 1, LGV_KEEP);
  c->act = problem->act;
  c->eval = problem->eval;
}

static inline double cycle_probability(const cycle *c) {
  return 1 - 0.5 * (double)(*c->episode % 3);
}

static inline lgv_status cycle_act(void *self, const lgv_obs *obs, lgv_mode mode,
                                   lgv_action *action, lgv_error *err) {
  (void)obs, (void)err;
  cycle *c = self;
  action->choice = lgv_rng_uniform(mode == LGV_TRAIN ? c->act : c->eval) < cycle_probability(c);
  return LGV_OK;
}

static inline lgv_status cycle_end(void *self, lgv_error *err) {
  (void)err;
  ++*((cycle *)self)->episode;
  return LGV_OK;
}

static inline void cycle_policy(const void *self, const lgv_obs *obs, double *p) {
  (void)obs;
  p[1] = cycle_probability(self);
  p[0] = 1 - p[1];
}

static const lgv_agent_type cycle_type = {
    .size = sizeof(lgv_agent_type),
    .name = "cycle",
    .summary = "three policies in turn",
    .traits = LGV_SETTLES_PER_EPISODE,
    .state_size = sizeof(cycle),
    .layout = cycle_layout,
    .act = cycle_act,
    .end_episode = cycle_end,
    .policy = cycle_policy,
};

/* A plan of `cycle` on `coin`; extra as for make_settings. */
static inline lgv_plan *make_coin_plan(const char *extra) {
  lgv_settings *settings = make_settings("coin", "cycle", extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &coin_type, &err), LGV_OK);
  assert_int_equal(lgv_settings_add_agent(settings, &cycle_type, &err), LGV_OK);
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("plan: %s", err.message);
  lgv_settings_free(settings);
  return plan;
}

#endif
