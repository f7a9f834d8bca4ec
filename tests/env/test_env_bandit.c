/* Bandits: features and theta as the file states them, rewards with the law of their kind, and
 * regret that agrees with the exact model. */
#include "env_helpers.h"

static lgv_obs begin(lgv_env *env) {
  lgv_obs obs;
  lgv_error err = {0};
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  return obs;
}

static lgv_outcome pull(lgv_env *env, int32_t arm) {
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  assert_int_equal(lgv_env_step(env, choice(arm), &outcome, &obs, &err), LGV_OK);
  assert_true(outcome.terminated && !outcome.truncated);
  return outcome;
}

/* An observation shows the features of its context: arms of norm 1. */
static void observations_are_features(void **state) {
  (void)state;
  enum { ARMS = 4, DIM = 3 };
  lgv_env *env = make_env("bandit", "env.arms=4 env.dim=3 env.contexts=5", 1);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  int seen[5] = {0};
  assert_true(spec->states == 5 && spec->horizon == 1 && spec->feature_dim == DIM);
  assert_true(spec->obs_shape[0] == ARMS * DIM);
  for (int i = 0; i < 200; i++) {
    lgv_obs obs = begin(env);
    const double *phi = spec->features + obs.state * ARMS * DIM;
    for (int a = 0; a < ARMS; a++) {
      double square = 0;
      for (int j = 0; j < DIM; j++) {
        assert_true(((const float *)obs.data)[a * DIM + j] == (float)phi[a * DIM + j]);
        square += phi[a * DIM + j] * phi[a * DIM + j];
      }
      assert_near(square, 1, 1e-12);
    }
    seen[obs.state]++;
  }
  for (int x = 0; x < 5; x++) assert_true(seen[x] > 15 && seen[x] < 65); /* 40 +- 4.4 deviations */
  lgv_env_free(env);
}

/* theta solves the means of the linear kind, has the norm that was asked for, and gives the
 * log-odds of the logistic kind. */
static void means_are_functions_of_theta(void **state) {
  (void)state;
  lgv_env *linear = make_env("bandit", "env.arms=2 env.dim=2 env.contexts=8 env.norm=3", 1);
  lgv_env *logistic =
      make_env("bandit", "env.arms=2 env.dim=2 env.contexts=8 env.norm=3 env.kind=logistic", 1);
  const double *phi = lgv_env_get_spec(linear)->features;
  const double *mean = lgv_env_get_model(linear)->reward, *p = lgv_env_get_model(logistic)->reward;
  double det = phi[0] * phi[3] - phi[1] * phi[2];
  double theta[2] = {(mean[0] * phi[3] - mean[1] * phi[1]) / det,
                     (mean[1] * phi[0] - mean[0] * phi[2]) / det};
  assert_near(hypot(theta[0], theta[1]), 3, 1e-9);
  for (int i = 0; i < 16; i++) {
    assert_near(mean[i], theta[0] * phi[2 * i] + theta[1] * phi[2 * i + 1], 1e-9);
    assert_near(log(p[i] / (1 - p[i])), mean[i], 1e-9);
  }
  assert_true(lgv_env_get_spec(linear)->reward_min == -3);
  assert_true(lgv_env_get_spec(logistic)->reward_min == 0);
  lgv_env_free(linear);
  lgv_env_free(logistic);
}

/* The mean and the variance of one arm's rewards (5 standard errors). */
static void check_rewards(const char *extra, double noise) {
  enum { DRAWS = 20000 };
  lgv_env *env = make_env("bandit", extra, 4);
  double mean = lgv_env_get_model(env)->reward[1], sum = 0, squares = 0;
  for (int i = 0; i < DRAWS; i++) {
    begin(env);
    double reward = pull(env, 1).reward;
    if (noise == 0) assert_true(reward == 0 || reward == 1);
    sum += reward;
    squares += (reward - mean) * (reward - mean);
  }
  double variance = noise > 0 ? noise * noise : mean * (1 - mean);
  assert_near(sum / DRAWS, mean, 5 * sqrt(variance / DRAWS));
  assert_near(squares / DRAWS, variance, 5 * variance * sqrt(2.0 / DRAWS));
  lgv_env_free(env);
}

static void rewards_have_their_law(void **state) {
  (void)state;
  check_rewards("env.contexts=1 env.noise=0.3", 0.3);
  check_rewards("env.contexts=1 env.kind=logistic env.norm=5", 0);
}

/* The environment's own account is that of the model, for listed contexts. */
static void regret_is_that_of_the_model(void **state) {
  (void)state;
  lgv_env *env = make_env("bandit", "env.arms=3 env.dim=4 env.contexts=6", 2);
  const lgv_model *m = lgv_env_get_model(env);
  for (int i = 0; i < 60; i++) {
    int64_t x = begin(env).state;
    const double *mean = m->reward + 3 * x;
    assert_near(lgv__env_regret(env), 0, 0);
    pull(env, i % 3);
    assert_near(lgv__env_regret(env), fmax(mean[0], fmax(mean[1], mean[2])) - mean[i % 3], 1e-15);
  }
  lgv_env_free(env);
  env = make_env("cartpole", NULL, 1);
  assert_true(isnan(lgv__env_regret(env)));
  lgv_env_free(env);
}

/* env.contexts = 0: no states, other arms in every episode, and regret by the same theta. */
static void contexts_may_be_new(void **state) {
  (void)state;
  const char *drawn = "env.arms=3 env.dim=2 env.contexts=0 env.noise=0 env.norm=2";
  lgv_env *env = make_env("bandit", drawn, 3),
          *listed = make_env("bandit", "env.arms=3 env.dim=2 env.contexts=4 env.norm=2", 1);
  const double *phi = lgv_env_get_spec(listed)->features, *mean = lgv_env_get_model(listed)->reward;
  double det = phi[0] * phi[3] - phi[1] * phi[2];
  double theta[2] = {(mean[0] * phi[3] - mean[1] * phi[1]) / det,
                     (mean[1] * phi[0] - mean[0] * phi[2]) / det};
  float last = 0;
  assert_true(lgv_env_get_spec(env)->states == 0 && !lgv_env_get_model(env));
  for (int i = 0; i < 50; i++) {
    lgv_obs obs = begin(env);
    const float *x = obs.data;
    assert_true(obs.state == -1 && x[0] != last);
    last = x[0];
    double of[3], best = -INFINITY;
    for (int a = 0; a < 3; a++) {
      assert_near(hypot(x[2 * a], x[2 * a + 1]), 1, 1e-6);
      of[a] = theta[0] * x[2 * a] + theta[1] * x[2 * a + 1];
      best = fmax(best, of[a]);
    }
    assert_near(pull(env, i % 3).reward, of[i % 3], 1e-5);
    assert_near(lgv__env_regret(env), best - of[i % 3], 1e-5);
  }
  lgv_env_free(env);
  lgv_env_free(listed);
}

/* Runs of agents without a fixed policy record the environment's account; trainers report it. */
static void runs_record_regret(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("bandit", "dqn", "env.contexts=0 run.episodes=30 run.eval_every=0");
  lgv_summary summary = run_plan(plan, 1);
  assert_true(summary.regret > 0 && summary.regret < 60);
  lgv_plan_free(plan);
  plan = make_plan("cartpole", "dqn", "run.steps=30 run.eval_every=0");
  assert_true(isnan(run_plan(plan, 1).regret));
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(observations_are_features), cmocka_unit_test(means_are_functions_of_theta),
      cmocka_unit_test(rewards_have_their_law),    cmocka_unit_test(regret_is_that_of_the_model),
      cmocka_unit_test(contexts_may_be_new),       cmocka_unit_test(runs_record_regret),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
