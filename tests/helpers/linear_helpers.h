/* Helpers for tests of the linear agents: a core and a chain without an agent, agents fed with
 * hand-made data, small dense matrices, and sample moments with their standard errors. */
#ifndef LGV_TESTS_LINEAR_HELPERS_H
#define LGV_TESTS_LINEAR_HELPERS_H

#include "agent/linear/lmc_chain.h"
#include "run_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_D = 12 };

/* ---- small matrices, row-major, d <= MOST_D ---- */

typedef struct matrix {
  double at[MOST_D][MOST_D];
} matrix;

static inline matrix identity(int d) {
  matrix m = {0};
  for (int i = 0; i < d; i++) m.at[i][i] = 1;
  return m;
}

static inline matrix product(const matrix *a, const matrix *b, int d) {
  matrix m = {0};
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++)
      for (int k = 0; k < d; k++) m.at[i][j] += a->at[i][k] * b->at[k][j];
  return m;
}

static inline matrix power(const matrix *a, int64_t exponent, int d) {
  matrix m = identity(d);
  for (int64_t i = 0; i < exponent; i++) m = product(&m, a, d);
  return m;
}

static inline matrix transposed(const matrix *a, int d) {
  matrix m = {0};
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++) m.at[i][j] = a->at[j][i];
  return m;
}

static inline void add_scaled(matrix *m, double scale, const matrix *a, int d) {
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++) m->at[i][j] += scale * a->at[i][j];
}

static inline void apply(const matrix *a, const double *x, double *y, int d) {
  for (int i = 0; i < d; i++) {
    y[i] = 0;
    for (int j = 0; j < d; j++) y[i] += a->at[i][j] * x[j];
  }
}

/* Solves A x = b by Gaussian elimination with pivots, independently of the library's Cholesky
 * factors. */
static inline void solve_directly(matrix a, const double *b, double *x, int d) {
  for (int i = 0; i < d; i++) x[i] = b[i];
  for (int c = 0; c < d; c++) {
    int pivot = c;
    for (int r = c; r < d; r++)
      if (fabs(a.at[r][c]) > fabs(a.at[pivot][c])) pivot = r;
    for (int j = 0; j < d; j++) {
      double swap = a.at[c][j];
      a.at[c][j] = a.at[pivot][j];
      a.at[pivot][j] = swap;
    }
    double swap = x[c];
    x[c] = x[pivot];
    x[pivot] = swap;
    for (int r = 0; r < d; r++) {
      if (r == c) continue;
      double factor = a.at[r][c] / a.at[c][c];
      for (int j = c; j < d; j++) a.at[r][j] -= factor * a.at[c][j];
      x[r] -= factor * x[c];
    }
  }
  for (int i = 0; i < d; i++) x[i] /= a.at[i][i];
}

static inline matrix inverse(const matrix *a, int d) {
  matrix m = {0};
  for (int j = 0; j < d; j++) {
    double unit[MOST_D] = {0}, x[MOST_D];
    unit[j] = 1;
    solve_directly(*a, unit, x, d);
    for (int i = 0; i < d; i++) m.at[i][j] = x[i];
  }
  return m;
}

/* ---- sample moments of vectors ---- */

typedef struct moments {
  int d;
  double n, sum[MOST_D];
  matrix squares;
} moments;

static inline void add_sample(moments *m, const double *x) {
  m->n++;
  for (int i = 0; i < m->d; i++) {
    m->sum[i] += x[i];
    for (int j = 0; j < m->d; j++) m->squares.at[i][j] += x[i] * x[j];
  }
}

static inline double sample_cov(const moments *m, int i, int j) {
  return (m->squares.at[i][j] - m->sum[i] * m->sum[j] / m->n) / (m->n - 1);
}

/* The distance of the sample covariance from cov, in standard errors of a Gaussian sample. */
static inline double cov_distance(const moments *m, const matrix *cov, int i, int j) {
  double error = sqrt((cov->at[i][i] * cov->at[j][j] + cov->at[i][j] * cov->at[i][j]) / (m->n - 1));
  return fabs(sample_cov(m, i, j) - cov->at[i][j]) / error;
}

/* Every entry of mean and covariance must be within 5 standard errors; by chance one entry in 1.7
 * million fails. A variance that is wrong by a factor of 2 or 1/2 must be detected. */
static inline void assert_law(const moments *m, const double *mean, const matrix *cov) {
  for (int i = 0; i < m->d; i++) {
    assert_true(fabs(m->sum[i] / m->n - mean[i]) < 5 * sqrt(cov->at[i][i] / m->n));
    for (int j = 0; j < m->d; j++) assert_true(cov_distance(m, cov, i, j) < 5);
  }
  matrix twice = {0}, half = {0};
  add_scaled(&twice, 2, cov, m->d);
  add_scaled(&half, 0.5, cov, m->d);
  for (int i = 0; i < m->d; i++) {
    assert_true(cov_distance(m, &twice, i, i) > 5);
    assert_true(cov_distance(m, &half, i, i) > 5);
  }
}

/* ---- a core and a chain ---- */

typedef struct bench {
  lgv_env_spec env;
  lmc_params params;
  lgv_rng streams[5];
  lgv_arena arena;
  lsvi core;
  lmc chain;
} bench;

static inline void bench_layout(void *context, lgv_layout *layout) {
  bench *b = context;
  lgv_problem problem = {.env = b->env,
                         .episodes = 100,
                         .init = &b->streams[0],
                         .act = &b->streams[1],
                         .replay = &b->streams[2],
                         .noise = &b->streams[3],
                         .eval = &b->streams[4]};
  lgv__lsvi_layout(&b->core, &b->params.lsvi, &problem,
                   lgv__lmc_uses(&b->params) | LSVI_USES_WIDTHS, layout);
  lgv__lmc_layout(&b->chain, &b->core, &b->params, layout);
}

static inline bench *bench_open_spec(lgv_env_spec env, lmc_params params) {
  bench *b = test_calloc(1, sizeof *b);
  lgv_error err = {0};
  b->env = env;
  b->params = params;
  b->params.lsvi.features = env.features ? LSVI_FEATURES_ENV : LSVI_FEATURES_ONE_HOT;
  b->params.lsvi.gram = env.features ? LSVI_GRAM_DENSE : LSVI_GRAM_DIAGONAL;
  for (int i = 0; i < 5; i++) lgv_rng_seed(&b->streams[i], (uint64_t)i, "test");
  assert_int_equal(lgv__arena_build(&b->arena, bench_layout, b, "bench", &err), LGV_OK);
  assert_int_equal(lgv__lsvi_open(&b->core, NULL), LGV_OK);
  return b;
}

/* features: NULL for one-hot ones, on the diagonal path; else (states * actions) x dim. */
static inline bench *bench_open(int64_t states, int32_t actions, int64_t horizon,
                                const double *features, int64_t dim, lmc_params params) {
  return bench_open_spec((lgv_env_spec){.states = states,
                                        .actions = {.count = actions},
                                        .horizon = horizon,
                                        .clock_truncates = true,
                                        .reward_max = 1,
                                        .features = features,
                                        .feature_dim = dim},
                         params);
}

static inline void bench_close(bench *b) {
  lgv__arena_free(&b->arena);
  test_free(b);
}

/* One transition as an episode of its own. */
static inline void bench_add(bench *b, int64_t stage, int64_t s, int32_t a, double r,
                             int64_t next) {
  lgv_error err = {0};
  lgv_transition t = {.obs = {.state = s, .stage = stage},
                      .next = {.state = next},
                      .action = choice(a),
                      .reward = r};
  assert_int_equal(lgv__lsvi_observe(&b->core, &t, &err), LGV_OK);
  assert_int_equal(lgv__lmc_absorb(&b->chain, &err), LGV_OK);
}

/* Targets, ridge solution and the chain's distribution of stage h. */
static inline void bench_prepare(bench *b, int64_t h) {
  lgv_error err = {0};
  assert_int_equal(lgv__lsvi_targets(&b->core, h, &err), LGV_OK);
  assert_int_equal(lgv__lsvi_solve(&b->core, h, &err), LGV_OK);
  if (lgv__lmc_prepare(&b->chain, h, &err) != LGV_OK) fail_msg("%s", err.message);
}

/* Lambda_h computed from the features and the visits only. */
static inline matrix bench_gram(const bench *b, int64_t h) {
  const lsvi *c = &b->core;
  matrix m = {0};
  for (int i = 0; i < (int)c->d; i++) m.at[i][i] = b->params.lsvi.lambda;
  for (int64_t pair = 0; pair < c->SA; pair++)
    for (int i = 0; i < (int)c->d; i++)
      for (int j = 0; j < (int)c->d; j++) {
        double x = c->phi ? c->phi[pair * c->d + i] : i == pair;
        double y = c->phi ? c->phi[pair * c->d + j] : j == pair;
        m.at[i][j] += (double)c->visits[lgv__lsvi_group(c, h) * c->SA + pair] * x * y;
      }
  return m;
}

/* ---- an agent on its own, fed by hand ---- */

static inline lgv_agent *make_agent(const char *name, const lgv_env_spec *spec, const char *extra) {
  lgv_settings *settings = make_settings(NULL, name, extra);
  lgv_agent *agent;
  lgv_error err = {0};
  if (lgv_agent_create(settings, spec, 100, 0, 1, &agent, &err) != LGV_OK)
    fail_msg("%s: %s", name, err.message);
  lgv_settings_free(settings);
  return agent;
}

static inline lgv_env_spec make_spec(int64_t states, int32_t actions, int64_t horizon) {
  return (lgv_env_spec){.size = sizeof(lgv_env_spec),
                        .states = states,
                        .actions = {.count = actions},
                        .horizon = horizon,
                        .stationary = true,
                        .clock_truncates = true,
                        .reward_max = 1};
}

static inline void feed(lgv_agent *agent, int64_t stage, int64_t s, int32_t a, double r,
                        int64_t next) {
  lgv_error err = {0};
  lgv_transition t = {.obs = {.state = s, .stage = stage},
                      .next = {.state = next},
                      .action = choice(a),
                      .reward = r};
  assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
}

static inline void begin(lgv_agent *agent) {
  lgv_error err = {0};
  if (lgv_agent_begin_episode(agent, &err) != LGV_OK) fail_msg("%s", err.message);
}

static inline void play_episode(lgv_env *env, lgv_agent *agent) {
  lgv_obs obs;
  lgv_outcome outcome = {0};
  lgv_error err = {0};
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  begin(agent);
  while (!outcome.terminated && !outcome.truncated) {
    lgv_action action;
    lgv_transition t = {.obs = obs, .action = &action};
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_OK);
    assert_int_equal(lgv_env_step(env, &action, &outcome, &t.next, &err), LGV_OK);
    t.reward = outcome.reward;
    t.terminated = outcome.terminated;
    t.truncated = outcome.truncated;
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
    obs = t.next;
  }
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
}

static inline lgv_env *make_env(const char *name, const char *extra) {
  lgv_settings *settings = make_settings(name, NULL, extra);
  lgv_env *env;
  lgv_error err = {0};
  if (lgv_env_create(settings, 1, &env, &err) != LGV_OK) fail_msg("%s: %s", name, err.message);
  lgv_settings_free(settings);
  return env;
}

static inline const double *array_of(const lgv_agent *agent, const char *wanted) {
  return agent_array(agent, wanted, NULL);
}

#endif
