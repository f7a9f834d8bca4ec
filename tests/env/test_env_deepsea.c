/* DeepSea: scripted returns, closed-form values, the counters, and the stochastic version. */
#include "env_helpers.h"

enum { GOAL_VISITS, BAD_EPISODES, COUNTERS };

/* Right is the action that costs. */
static int32_t right_of(const lgv_model *m, int64_t cell) { return m->reward[cell * 2 + 1] != 0; }

static int32_t go_right(void *model, const lgv_obs *obs) { return right_of(model, obs->state); }
static int32_t go_left(void *model, const lgv_obs *obs) { return !right_of(model, obs->state); }

/* Right on the diagonal except in its last cell, where it goes left. */
static int32_t turn_back_at_the_end(void *model, const lgv_obs *obs) {
  const lgv_model *m = model;
  return obs->stage == m->horizon - 1 ? go_left(model, obs) : go_right(model, obs);
}

static lgv_env *make_deepsea(int n, const char *extra) {
  char settings[96];
  snprintf(settings, sizeof settings, "env.n=%d %s", n, extra);
  return make_env("deepsea", settings, 1);
}

static void assert_counters(const lgv_env *env, int64_t goal_visits, int64_t bad_episodes) {
  int64_t values[COUNTERS];
  lgv__env_counters(env, values);
  assert_true(values[GOAL_VISITS] == goal_visits && values[BAD_EPISODES] == bad_episodes);
}

static void scripted_returns_and_counters(void **state) {
  (void)state;
  const int sizes[] = {2, 3, 10, 30, 50};
  for (int i = 0; i < 5; i++)
    for (int randomize = 0; randomize < 2; randomize++) {
      lgv_env *env = make_deepsea(sizes[i], randomize ? "" : "env.randomize=false");
      void *m = (void *)lgv_env_get_model(env);
      lgv_outcome last;
      int64_t steps;
      assert_near(play(env, go_right, m, &last, &steps), 0.99, 1e-12);
      assert_true(steps == sizes[i] && last.terminated && !last.truncated);
      assert_counters(env, 1, 0);
      assert_true(play(env, go_left, m, NULL, NULL) == 0);
      assert_counters(env, 1, 1);
      double cost = 0.01 / sizes[i];
      assert_near(play(env, turn_back_at_the_end, m, NULL, NULL), -cost * (sizes[i] - 1), 1e-12);
      assert_counters(env, 1, 2);
      assert_near(play(env, go_right, m, NULL, NULL), 0.99, 1e-12);
      assert_counters(env, 2, 2);
      lgv_env_free(env);
    }
}

/* With q = 1 - 1/N: the best policy goes right while on the diagonal, so
 * V* = q^(N-1) - (0.01/N) sum_{k<N} q^k = q^(N-1) - 0.01 (1 - q^N); deterministic: q = 1, V* =
 * 0.99. A uniform policy pays half the cost and finds the treasure with probability 2^-N q^(N-1).
 */
static void values_have_closed_forms(void **state) {
  (void)state;
  for (int n = 2; n <= 20; n += 3) {
    lgv_env *env = make_deepsea(n, "");
    const lgv_model *m = lgv_env_get_model(env);
    assert_near(optimal_value(m), 0.99, 1e-12);
    assert_near(uniform_value(m), pow(2, -n) - 0.005, 1e-12);
    lgv_env_free(env);

    double q = 1 - 1.0 / n, found = pow(q, n - 1);
    env = make_deepsea(n, "env.stochastic=true");
    m = lgv_env_get_model(env);
    assert_near(optimal_value(m), found - 0.01 * (1 - pow(q, n)), 1e-12);
    assert_near(uniform_value(m), pow(2, -n) * found - 0.005, 1e-12);
    lgv_env_free(env);
  }
}

static void observations_are_one_hot_and_end_in_zeros(void **state) {
  (void)state;
  enum { N = 5 };
  lgv_env *env = make_deepsea(N, "");
  void *m = (void *)lgv_env_get_model(env);
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_true(spec->states == N * N && spec->obs_shape[0] == N * N && spec->horizon == N);
  assert_near(spec->reward_min, -0.01 / N, 0);
  for (int episode = 0; episode < 2; episode++) {
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    for (int64_t row = 0; row < N; row++) {
      assert_true(obs.state == row * N + row);
      for (int64_t i = 0; i < N * N; i++)
        assert_true(((const float *)obs.data)[i] == (i == obs.state));
      assert_int_equal(lgv_env_step(env, choice(go_right(m, &obs)), &outcome, &obs, &err), LGV_OK);
    }
    assert_true(obs.state == N * N - 1);
    for (int64_t i = 0; i < N * N; i++) assert_true(((const float *)obs.data)[i] == 0);
  }
  lgv_env_free(env);
}

/* Left is clipped at the wall; right after left cannot return to the diagonal. */
static void columns_are_clipped(void **state) {
  (void)state;
  lgv_env *env = make_deepsea(4, "env.randomize=false");
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  const int32_t actions[] = {0, 1, 1};
  const int64_t cells[] = {1 * 4 + 0, 2 * 4 + 1, 3 * 4 + 2};
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(lgv_env_step(env, choice(actions[i]), &outcome, &obs, &err), LGV_OK);
    assert_true(obs.state == cells[i]);
  }
  assert_int_equal(lgv_env_step(env, choice(1), &outcome, &obs, &err), LGV_OK);
  assert_near(outcome.reward, -0.0025, 0);
  lgv_env_free(env);
}

/* Always going left ends at column 0 of the last row: the return is N(0, 1). Going right returns
 * q^(N-1) - 0.01 on average. Both are checked within 5 standard errors. */
static void the_stochastic_version_has_its_noise(void **state) {
  (void)state;
  enum { N = 6, EPISODES = 20000 };
  lgv_env *env = make_deepsea(N, "env.stochastic=true");
  void *m = (void *)lgv_env_get_model(env);
  double sum = 0, squares = 0, right = 0, right_squares = 0;
  for (int i = 0; i < EPISODES; i++) {
    double x = play(env, go_left, m, NULL, NULL), y = play(env, go_right, m, NULL, NULL);
    sum += x;
    squares += x * x;
    right += y;
    right_squares += y * y;
  }
  assert_near(sum / EPISODES, 0, 5 / sqrt(EPISODES));
  assert_near(squares / EPISODES, 1, 5 * sqrt(2.0 / EPISODES));
  double mean = right / EPISODES, found = pow(1 - 1.0 / N, N - 1);
  double error = sqrt((right_squares / EPISODES - mean * mean) / EPISODES);
  assert_near(mean, found - 0.01, 5 * error);
  int64_t counters[COUNTERS];
  lgv__env_counters(env, counters);
  assert_true(counters[BAD_EPISODES] == EPISODES);
  assert_near((double)counters[GOAL_VISITS] / EPISODES, found,
              5 * sqrt(found * (1 - found) / EPISODES));
  lgv_env_free(env);
}

static void the_mapping_depends_on_its_own_seed_alone(void **state) {
  (void)state;
  enum { N = 20, CELLS = N * N };
  lgv_env *a = make_env("deepsea", "env.n=20", 1),
          *b = make_env("deepsea", "env.n=20 env.map_seed=42", 2),
          *c = make_env("deepsea", "env.n=20 env.map_seed=43", 1),
          *plain = make_env("deepsea", "env.n=20 env.randomize=false", 1);
  int differ = 0, ones = 0;
  for (int64_t s = 0; s < CELLS; s++) {
    int32_t right = right_of(lgv_env_get_model(a), s);
    assert_true(right == right_of(lgv_env_get_model(b), s));
    assert_true(right_of(lgv_env_get_model(plain), s) == 1);
    differ += right != right_of(lgv_env_get_model(c), s);
    ones += right;
  }
  assert_near(ones, CELLS / 2, 5 * sqrt(CELLS) / 2);
  assert_near(differ, CELLS / 2, 5 * sqrt(CELLS) / 2);
  lgv_env_free(a);
  lgv_env_free(b);
  lgv_env_free(c);
  lgv_env_free(plain);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scripted_returns_and_counters),
      cmocka_unit_test(values_have_closed_forms),
      cmocka_unit_test(observations_are_one_hot_and_end_in_zeros),
      cmocka_unit_test(columns_are_clipped),
      cmocka_unit_test(the_stochastic_version_has_its_noise),
      cmocka_unit_test(the_mapping_depends_on_its_own_seed_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
