/* Helpers for tests of environments: a handle from settings, an episode of a scripted policy, rows
 * of a model, and an environment without its handle, whose state a test can read and set. */
#ifndef LGV_TESTS_ENV_HELPERS_H
#define LGV_TESTS_ENV_HELPERS_H

#include "base/arena.h"
#include "base/param.h"
#include "env/env.h"
#include "env/models/model.h"
#include "registry.h"

#include "run_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* In double, unlike cmocka's assert_float_equal. */
#define assert_near(a, b, tolerance) assert_near_at((a), (b), (tolerance), __FILE__, __LINE__)
static inline void assert_near_at(double a, double b, double tolerance, const char *file,
                                  int line) {
  if (!(fabs(a - b) <= tolerance))
    fail_msg("%s:%d: %.17g is not %.17g within %g", file, line, a, b, tolerance);
}

static inline lgv_env *make_env(const char *name, const char *extra, uint64_t seed) {
  lgv_settings *settings = make_settings(name, NULL, extra);
  lgv_env *env = NULL;
  lgv_error err = {0};
  if (lgv_env_create(settings, seed, &env, &err) != LGV_OK) fail_msg("env: %s", err.message);
  lgv_settings_free(settings);
  return env;
}

/* An array of an environment, by its name. */
static inline const void *env_array(const lgv_env *env, const char *name) {
  const lgv_layout *table = &lgv__env_arena(env)->table;
  for (size_t i = 0; i < table->n_blocks; i++)
    if (strcmp(table->blocks[i].name, name) == 0) return table->base + table->blocks[i].offset;
  fail_msg("no array %s", name);
  return NULL;
}

typedef int32_t (*choose_fn)(void *context, const lgv_obs *obs);

/* Plays one episode and returns its return. last (may be NULL) gets the last outcome, steps the
 * length. */
static inline double play(lgv_env *env, choose_fn choose, void *context, lgv_outcome *last,
                          int64_t *steps) {
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome = {0};
  double total = 0;
  int64_t n = 0;
  if (lgv_env_reset(env, &obs, &err) != LGV_OK) fail_msg("reset: %s", err.message);
  for (; !outcome.terminated && !outcome.truncated; n++) {
    int32_t action = choose(context, &obs);
    if (lgv_env_step(env, choice(action), &outcome, &obs, &err) != LGV_OK)
      fail_msg("%s", err.message);
    total += outcome.reward;
  }
  if (last) *last = outcome;
  if (steps) *steps = n;
  return total;
}

/* The (S) next-state probabilities of a row; returns the probability of leaving. */
static inline double model_row(const lgv_model *m, int64_t stage, int64_t state, int32_t action,
                               double *next) {
  size_t row = (size_t)(((m->stationary ? 0 : stage) * m->states + state) * m->actions + action);
  double end = 0;
  memset(next, 0, (size_t)m->states * sizeof *next);
  for (int64_t i = m->row_start[row]; i < m->row_start[row + 1]; i++)
    *(m->edges[i].next == LGV_END ? &end : &next[m->edges[i].next]) += m->edges[i].probability;
  return end;
}

static inline double *new_reals(int64_t count) {
  double *x = calloc((size_t)count, sizeof *x);
  assert_non_null(x);
  return x;
}

static inline double optimal_value(const lgv_model *m) {
  double *values = new_reals((m->horizon + 1) * m->states);
  lgv_model_optimal(m, values);
  double mean = lgv_model_start_mean(m, values);
  free(values);
  return mean;
}

/* The value of drawing the action from the same distribution (A) everywhere. */
static inline double value_of(const lgv_model *m, const double *law) {
  int64_t rows = m->horizon * m->states;
  double *policy = new_reals(rows * m->actions), *values = new_reals(rows + m->states);
  for (int64_t i = 0; i < rows; i++)
    memcpy(policy + i * m->actions, law, (size_t)m->actions * sizeof *law);
  lgv_model_evaluate(m, policy, values);
  double mean = lgv_model_start_mean(m, values);
  free(policy);
  free(values);
  return mean;
}

static inline double uniform_value(const lgv_model *m) {
  double *law = new_reals(m->actions);
  for (int32_t a = 0; a < m->actions; a++) law[a] = 1.0 / m->actions;
  double value = value_of(m, law);
  free(law);
  return value;
}

/* ---- An environment without its handle ---- */

typedef struct bare_env {
  const lgv_env_type *type;
  void *self, *params;
  lgv_env_spec spec;
  lgv_arena arena;
} bare_env;

static inline const lgv_env_type *find_env(const char *name) {
  for (size_t i = 0; lgv__envs[i]; i++)
    if (strcmp(lgv__envs[i]->name, name) == 0) return lgv__envs[i];
  fail_msg("no environment %s", name);
  return NULL;
}

static inline void bare_layout(void *context, lgv_layout *layout) {
  bare_env *b = context;
  b->type->layout(b->self, b->params, &b->spec, layout);
}

/* item: "key=value" */
static inline void bare_set(bare_env *b, char *item) {
  lgv_error err = {0};
  char *value = item, *key = strsep(&value, "=");
  int index = lgv__params_find(b->type->params, key);
  assert_true(index >= 0 && value);
  assert_int_equal(lgv__param_parse(&b->type->params[index], key, value, b->params, &err), LGV_OK);
}

/* extra: NULL, or parameters such as "n=3 stochastic=true" separated by blanks. */
static inline void bare_open(bare_env *b, const lgv_env_type *type, const char *extra) {
  lgv_error err = {0};
  char copy[256] = "";
  *b = (bare_env){.type = type};
  b->self = calloc(1, type->state_size);
  b->params = calloc(1, type->params_size);
  assert_true(b->self && b->params);
  lgv__params_defaults(type->params, b->params);
  if (extra) strncpy(copy, extra, sizeof copy - 1);
  char *rest = copy;
  for (char *item; (item = strsep(&rest, " "));)
    if (*item) bare_set(b, item);
  assert_int_equal(type->spec(b->params, &b->spec, &err), LGV_OK);
  assert_int_equal(lgv__arena_build(&b->arena, bare_layout, b, type->name, &err), LGV_OK);
  if (type->open) assert_int_equal(type->open(b->self, &b->spec, &err), LGV_OK);
}

static inline void bare_close(bare_env *b) {
  if (b->type->close) b->type->close(b->self);
  lgv__arena_free(&b->arena);
  free(b->self);
  free(b->params);
}

static inline size_t obs_bytes(const lgv_env_spec *spec) {
  return (size_t)spec->obs_shape[0] * (size_t)spec->obs_shape[1] * (size_t)spec->obs_shape[2] *
         (spec->obs_kind == LGV_OBS_BYTE ? 1 : sizeof(float));
}

#endif
