/* Every registered environment with an exact model behaves like the model: next states, rewards and
 * the return of a random policy, each within 5 standard errors, with fixed seeds. */
#include "env_helpers.h"

/* Settings besides the defaults, small enough for a random policy to see the whole problem. */
static const struct {
  const char *env, *settings;
} variations[] = {
    {"riverswim", "env.n=4"},
    {"riverswim", "env.n=4 env.variant=stay-only"},
    {"riverswim", "env.n=4 env.variant=strehl-littman"},
    {"linear-mdp", "env.states=4 env.actions=2 env.horizon=5 env.density=0.6"},
    {"linear-mdp", "env.states=1 env.actions=1 env.horizon=1"},
    {"linear-mdp", "env.kind=low-rank env.dim=3 env.states=5 env.actions=3 env.horizon=4"},
    {"linear-mdp", "env.kind=low-rank"},
    {"nchain", "env.n=3 env.scramble=true env.map_seed=5"},
    {"nchain", "env.n=4 env.features=one-hot env.time_limit=truncated"},
    {"deepsea", "env.n=3"},
    {"deepsea", "env.n=4 env.stochastic=true"},
    {"deepsea", "env.n=2 env.stochastic=true env.randomize=false"},
};

typedef struct tally {
  const lgv_model *m;
  bool clock_truncates;      /* as the spec says */
  int64_t *visits;           /* (stages x S x A) */
  int64_t *next;             /* (stages x S x A x (S + 1)), last: left the episode */
  double *sum, *sum_squares; /* of rewards, (stages x S x A) */
  int64_t episodes;
  double total, total_squares; /* of returns */
} tally;

static int64_t row_count(const lgv_model *m) {
  return (m->stationary ? 1 : m->horizon) * m->states * m->actions;
}

static int64_t row_of(const lgv_model *m, const lgv_obs *obs, int32_t action) {
  return ((m->stationary ? 0 : obs->stage) * m->states + obs->state) * m->actions + action;
}

/* A clock that terminates hides whether the model left in the last step, so that its next state is
 * not counted; any other leaves `terminated` to the model. */
static void count_step(tally *t, const lgv_obs *obs, int32_t action, const lgv_outcome *outcome,
                       const lgv_obs *next) {
  int64_t row = row_of(t->m, obs, action);
  t->sum[row] += outcome->reward;
  t->sum_squares[row] += outcome->reward * outcome->reward;
  t->visits[row]++;
  bool out_of_time = obs->stage == t->m->horizon - 1;
  assert_true(!out_of_time || outcome->terminated || (outcome->truncated && t->clock_truncates));
  if (out_of_time && !t->clock_truncates) return;
  t->next[row * (t->m->states + 1) + (outcome->terminated ? t->m->states : next->state)]++;
}

static void simulate(lgv_env *env, tally *t, int64_t episodes) {
  lgv_rng rng;
  lgv_error err = {0};
  lgv_rng_seed(&rng, 11, "test");
  for (t->episodes = 0; t->episodes < episodes; t->episodes++) {
    lgv_obs obs, next;
    lgv_outcome outcome = {0};
    double total = 0;
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    while (!outcome.terminated && !outcome.truncated) {
      int32_t action = (int32_t)lgv_rng_below(&rng, t->m->actions);
      if (lgv_env_step(env, choice(action), &outcome, &next, &err) != LGV_OK)
        fail_msg("%s", err.message);
      count_step(t, &obs, action, &outcome, &next);
      total += outcome.reward;
      obs = next;
    }
    t->total += total;
    t->total_squares += total * total;
  }
}

static double standard_error(double sum, double squares, double n) {
  return sqrt(fmax(0, squares / n - sum / n * (sum / n)) / n);
}

/* Compares counts with n p; where the normal approximation is poor (n p < 25), only checks whether
 * the transition is possible. */
static void check_next(const tally *t, const char *what) {
  int64_t S = t->m->states, compared = 0;
  double *p = new_reals(S + 1);
  for (int64_t row = 0; row < row_count(t->m); row++) {
    const int64_t *count = t->next + row * (S + 1);
    double n = 0, sum = 0;
    for (int64_t s = 0; s <= S; s++) n += (double)count[s];
    p[S] = model_row(t->m, row / t->m->actions / S, row / t->m->actions % S,
                     (int32_t)(row % t->m->actions), p);
    for (int64_t s = 0; s <= S; s++) {
      double spread = sqrt(n * p[s] * fmax(0, 1 - p[s])), off = fabs((double)count[s] - n * p[s]);
      sum += p[s];
      assert_true(p[s] >= 0);
      if (p[s] == 0 && count[s] > 0)
        fail_msg("%s: an impossible step in row %lld", what, (long long)row);
      if (n * p[s] < 25 || (p[s] < 1 && n * (1 - p[s]) < 25)) continue;
      compared++;
      if (off > 5 * spread + 1e-6)
        fail_msg("%s: row %lld went to %lld %lld times of %g; p = %g", what, (long long)row,
                 (long long)s, (long long)count[s], n, p[s]);
    }
    assert_near(sum, 1, 1e-9);
  }
  assert_true(compared > 0 || t->m->horizon == 1);
  free(p);
}

static void check_rewards(const tally *t, const char *what) {
  int64_t compared = 0;
  for (int64_t row = 0; row < row_count(t->m); row++) {
    double n = (double)t->visits[row], error = standard_error(t->sum[row], t->sum_squares[row], n);
    if (n < 30) continue;
    compared++;
    if (fabs(t->sum[row] / n - t->m->reward[row]) > 5 * error + 1e-7)
      fail_msg("%s: row %lld pays %g, the model says %g", what, (long long)row, t->sum[row] / n,
               t->m->reward[row]);
  }
  assert_true(compared > 0);
}

static void check_return(const tally *t, const char *what) {
  double n = (double)t->episodes, mean = t->total / n, exact = uniform_value(t->m);
  double error = standard_error(t->total, t->total_squares, n);
  if (fabs(mean - exact) > 5 * error + 1e-9)
    fail_msg("%s: a random policy returns %g (standard error %g), the model says %g", what, mean,
             error, exact);
}

static bool check_env(const char *name, const char *settings) {
  enum { STEPS = 400000 };
  char what[160];
  snprintf(what, sizeof what, "%s %s", name, settings ? settings : "");
  lgv_env *env = make_env(name, settings, 3);
  const lgv_model *m = lgv_env_get_model(env);
  if (m) {
    int64_t rows = row_count(m);
    tally t = {.m = m,
               .clock_truncates = lgv_env_get_spec(env)->clock_truncates,
               .visits = calloc((size_t)rows, sizeof(int64_t)),
               .next = calloc((size_t)(rows * (m->states + 1)), sizeof(int64_t)),
               .sum = new_reals(rows),
               .sum_squares = new_reals(rows)};
    assert_true(t.visits && t.next);
    simulate(env, &t, STEPS / m->horizon);
    check_next(&t, what);
    check_rewards(&t, what);
    check_return(&t, what);
    free(t.visits);
    free(t.next);
    free(t.sum);
    free(t.sum_squares);
  }
  lgv_env_free(env);
  return m != NULL;
}

static void registered_environments_follow_their_models(void **state) {
  (void)state;
  int with_model = 0;
  for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++)
    with_model += check_env(lgv__envs[e]->name, NULL);
  assert_true(with_model >= 4);
}

static void variations_follow_their_models(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof variations / sizeof *variations; i++)
    assert_true(check_env(variations[i].env, variations[i].settings));
}

/* Mean rewards are inside the spec's bounds, by which linear agents clip. */
static void mean_rewards_lie_inside_the_bounds(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof variations / sizeof *variations; i++) {
    lgv_env *env = make_env(variations[i].env, variations[i].settings, 3);
    const lgv_env_spec *spec = lgv_env_get_spec(env);
    const lgv_model *m = lgv_env_get_model(env);
    for (int64_t row = 0; row < row_count(m); row++)
      assert_true(m->reward[row] >= spec->reward_min && m->reward[row] <= spec->reward_max);
    assert_true(m->stationary == spec->stationary);
    lgv_env_free(env);
  }
}

/* The rows of the papers, as in the head of env_riverswim.c: left / stay / right. */
static void the_river_has_the_published_current(void **state) {
  (void)state;
  enum { N = 5, RIGHT = 1 };
  const struct {
    const char *settings;
    double first_on, inside[3], last_stay, small, large;
  } rows[] = {{"env.n=5", .6, {.05, .6, .35}, .6, .005, 1},
              {"env.n=5 env.variant=stay-only", .6, {.05, .6, .35}, .6, .005, .6},
              {"env.n=5 env.variant=strehl-littman", .3, {.1, .6, .3}, .3, .0005, .3}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    lgv_env *env = make_env("riverswim", rows[k].settings, 1);
    const lgv_model *m = lgv_env_get_model(env);
    double none[N] = {0}, next[N];
    for (int64_t s = 0; s < N; s++) {
      double expected[N] = {0};
      if (s == 0) {
        expected[0] = 1 - rows[k].first_on;
        expected[1] = rows[k].first_on;
      } else if (s == N - 1) {
        expected[N - 2] = 1 - rows[k].last_stay;
        expected[N - 1] = rows[k].last_stay;
      } else {
        for (int64_t i = 0; i < 3; i++) expected[s - 1 + i] = rows[k].inside[i];
      }
      assert_near(model_row(m, 0, s, RIGHT, next), 0, 0);
      for (int64_t i = 0; i < N; i++) assert_near(next[i], expected[i], 1e-15);
      model_row(m, 0, s, !RIGHT, next);
      for (int64_t i = 0; i < N; i++) assert_near(next[i], i == (s > 0 ? s - 1 : 0), 0);
      assert_near(lgv_model_q(m, 0, s, RIGHT, none), s == N - 1 ? rows[k].large : 0, 0);
      assert_near(lgv_model_q(m, 0, s, !RIGHT, none), s == 0 ? rows[k].small : 0, 0);
    }
    lgv_env_free(env);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(registered_environments_follow_their_models),
      cmocka_unit_test(variations_follow_their_models),
      cmocka_unit_test(the_river_has_the_published_current),
      cmocka_unit_test(mean_rewards_lie_inside_the_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
