/* A deep agent whose internals a test can see: the state struct that its hooks get. */
#ifndef LGV_TESTS_DEEP_HELPERS_H
#define LGV_TESTS_DEEP_HELPERS_H

#include "agent/deep/dqn_core.h"
#include "base/arena.h"
#include "base/param.h"
#include "config/settings.h"
#include "registry.h"
#include "run_helpers.h"

#include <stdlib.h>

typedef struct deep_rig {
  const lgv_agent_type *type;
  union { /* the handle passes the whole problem; tests look at its public part */
    lgv_problem problem;
    lgv_full_problem whole;
  };
  void *params, *optim_params, *self;
  lgv_arena arena;
} deep_rig;

static inline void deep_layout(void *context, lgv_layout *layout) {
  deep_rig *rig = context;
  lgv_rng **streams[] = {&rig->problem.init, &rig->problem.act, &rig->problem.replay,
                         &rig->problem.noise, &rig->problem.eval};
  for (int i = 0; i < 5; i++)
    *streams[i] = lgv_layout_array(layout, "stream", LGV_U64, 4, LGV_KEEP);
  rig->type->layout(rig->self, rig->params, &rig->problem, layout);
}

static inline lgv_env_spec deep_spec(int32_t length, int32_t actions) {
  return (lgv_env_spec){.size = sizeof(lgv_env_spec),
                        .obs_form = LGV_FORM_ONE_HOT,
                        .obs_shape = {length, 1, 1},
                        .actions = {.count = actions},
                        .states = length,
                        .horizon = 4,
                        .stationary = true};
}

/* Presets are left out: what extra does not set has the table's default. `change` (may be NULL)
 * sees the parameters before anything is laid out. problem: the environment and the budget. */
static inline void deep_open_for(deep_rig *rig, const char *agent, lgv_problem problem,
                                 const char *extra, void (*change)(void *params)) {
  lgv_settings *settings = make_settings(NULL, agent, extra);
  lgv_error err = {0};
  bool is_set[64];
  *rig = (deep_rig){.whole = {.given = problem}};
  assert_int_equal(lgv__settings_agent_type(settings, &rig->type, &err), LGV_OK);
  rig->params = calloc(1, rig->type->params_size);
  rig->self = calloc(1, rig->type->state_size);
  assert_int_equal(
      lgv__settings_fill(settings, "agent.", rig->type->params, rig->params, is_set, &err), LGV_OK);
  lgv_problem *p = &rig->problem;
  lgv_full_problem *whole = &rig->whole;
  assert_int_equal(lgv__settings_optim_type(settings, lgv__default_optimizer(rig->type),
                                            &whole->optimizer, &err),
                   LGV_OK);
  if (whole->optimizer) {
    rig->optim_params = calloc(1, whole->optimizer->params_size);
    whole->optim_params = rig->optim_params;
    assert_int_equal(lgv__settings_fill(settings, "optim.", whole->optimizer->params,
                                        rig->optim_params, NULL, &err),
                     LGV_OK);
    if (whole->optimizer->resolve) whole->optimizer->resolve(rig->optim_params);
  }
  if (rig->type->resolve(rig->params, is_set, p, &err) != LGV_OK) fail_msg("%s", err.message);
  if (change) change(rig->params);
  assert_int_equal(lgv__arena_build(&rig->arena, deep_layout, rig, "a test", &err), LGV_OK);
  lgv_rng_seed(p->init, 1, "init");
  lgv_rng_seed(p->act, 1, "act");
  lgv_rng_seed(p->replay, 1, "replay");
  lgv_rng_seed(p->noise, 1, "noise");
  lgv_rng_seed(p->eval, 1, "eval");
  assert_int_equal(rig->type->open(rig->self, &err), LGV_OK);
  lgv_settings_free(settings);
}

static inline void deep_open(deep_rig *rig, const char *agent, lgv_env_spec env, const char *extra,
                             void (*change)(void *params)) {
  deep_open_for(rig, agent, (lgv_problem){.env = env}, extra, change);
}

static inline void deep_close(deep_rig *rig) {
  lgv__arena_free(&rig->arena);
  free(rig->self);
  free(rig->params);
  free(rig->optim_params);
}

/* An array of the agent by its name in the layout. */
static inline void *deep_array(const deep_rig *rig, const char *name, size_t *count) {
  const lgv_layout *table = &rig->arena.table;
  for (size_t i = 0; i < table->n_blocks; i++)
    if (strcmp(table->blocks[i].name, name) == 0) {
      if (count) *count = table->blocks[i].count;
      return table->base + table->blocks[i].offset;
    }
  fail_msg("no array %s", name);
  return NULL;
}

/* A one-hot observation; position -1: all zero. */
static inline lgv_obs deep_obs(const deep_rig *rig, int position, int64_t stage, float *data) {
  int32_t length = rig->problem.env.obs_shape[0];
  memset(data, 0, (size_t)length * sizeof *data);
  if (position >= 0) data[position] = 1;
  return (lgv_obs){.data = data, .state = position, .stage = stage};
}

enum { DEEP_MOST_LENGTH = 64 };

static inline lgv_status deep_observe(deep_rig *rig, int64_t stage, int from, int action, int to,
                                      double reward, bool terminated, lgv_error *err) {
  float a[DEEP_MOST_LENGTH], b[DEEP_MOST_LENGTH];
  lgv_transition t = {.obs = deep_obs(rig, from, stage, a),
                      .next = deep_obs(rig, to, stage + 1, b),
                      .action = choice(action),
                      .reward = reward,
                      .terminated = terminated};
  return rig->type->observe(rig->self, &t, err);
}

/* One update of an agent that has one network, whether or not it is due. */
static inline lgv_status deep_update(deep_rig *rig, lgv_error *err) {
  dqn_params *p = rig->params, kept = *p;
  int64_t steps = ((dqn *)rig->self)->count[DQN_STEPS];
  p->update_every = 0;
  p->updates = 1;
  if (p->warmup > steps) p->warmup = steps;
  lgv_status status = rig->type->end_episode(rig->self, err);
  *p = kept;
  return status;
}

static inline void deep_begin(deep_rig *rig) {
  lgv_error err = {0};
  if (rig->type->begin_episode) assert_int_equal(rig->type->begin_episode(rig->self, &err), LGV_OK);
}

/* A walk of random transitions in episodes of 4 steps. */
static inline void deep_walk(deep_rig *rig, int steps, lgv_rng *rng) {
  lgv_error err = {0};
  int32_t length = rig->problem.env.obs_shape[0];
  int at = 0;
  for (int i = 0; i < steps; i++) {
    int to = (int)lgv_rng_below(rng, length), action = (int)lgv_rng_below(rng, 2);
    double reward = lgv_rng_normal(rng);
    if (i % 4 == 0) deep_begin(rig);
    if (deep_observe(rig, i % 4, at, action, to, reward, i % 4 == 3, &err) != LGV_OK)
      fail_msg("%s", err.message);
    if (i % 4 == 3) assert_int_equal(rig->type->end_episode(rig->self, &err), LGV_OK);
    at = to;
  }
}

enum { DEEP_LENGTH = 10 }; /* of the observations in a life */

/* Trains on one fixed walk, choosing actions too, so that the acting streams are compared as well.
 */
static inline void deep_live(deep_rig *rig, int steps, void (*after_step)(deep_rig *rig)) {
  lgv_rng rng;
  lgv_error err = {0};
  float data[DEEP_MOST_LENGTH];
  lgv_rng_seed(&rng, 9, "world");
  int at = 0;
  for (int i = 0; i < steps; i++) {
    lgv_action action;
    if (i % 4 == 0) deep_begin(rig);
    lgv_obs obs = deep_obs(rig, at, i % 4, data);
    assert_int_equal(rig->type->act(rig->self, &obs, LGV_TRAIN, &action, &err), LGV_OK);
    int to = (at * 3 + action.choice + (int)lgv_rng_below(&rng, 2)) % DEEP_LENGTH;
    if (deep_observe(rig, i % 4, at, action.choice, to, to == 7, i % 4 == 3, &err) != LGV_OK)
      fail_msg("%s", err.message);
    if (after_step) after_step(rig);
    if (i % 4 == 3) assert_int_equal(rig->type->end_episode(rig->self, &err), LGV_OK);
    at = i % 4 == 3 ? 0 : to;
  }
}

/* After the same life both agents have the same parameters to the bit. */
static inline void deep_assert_same_life(const char *a, const char *a_extra, const char *b,
                                         const char *b_extra) {
  deep_rig left, right;
  deep_open(&left, a, deep_spec(DEEP_LENGTH, 2), a_extra, NULL);
  deep_open(&right, b, deep_spec(DEEP_LENGTH, 2), b_extra, NULL);
  dqn *c = left.self, *d = right.self;
  size_t bytes = (size_t)c->dim * sizeof *c->w;
  float *start = malloc(bytes);
  memcpy(start, c->w, bytes);
  deep_live(&left, 400, NULL);
  deep_live(&right, 400, NULL);
  assert_int_equal(c->dim, d->dim);
  assert_true(c->count[DQN_UPDATES] > 100);
  assert_memory_not_equal(c->w, start, bytes);
  assert_memory_equal(c->w, d->w, bytes);
  assert_memory_equal(c->w_target, d->w_target, bytes);
  free(start);
  deep_close(&left);
  deep_close(&right);
}

#define DEEP_LIFE "agent.update_every=2 agent.target_every=9 agent.hidden=8,8 optim.lr=1e-3 "

#endif
