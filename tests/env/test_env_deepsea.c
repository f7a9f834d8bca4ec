/* DeepSea: scripted returns, closed-form values, the counters, the stochastic version, and what the
 * forms of observations show. */
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
  lgv_env_counters(env, values);
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
  lgv_env_counters(env, counters);
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

/* ---- Forms of observations ---- */

static void assert_dense(const lgv_env *env, int32_t n, int32_t height, int32_t width) {
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_true(spec->obs_kind == LGV_OBS_FLOAT && spec->obs_form == LGV_FORM_DENSE);
  assert_true(spec->obs_shape[0] == height && spec->obs_shape[1] == width);
  assert_true(spec->obs_shape[2] == 1 && spec->vector == 0 && spec->frames <= 1);
  assert_true(spec->states == n * n && spec->horizon == n);
}

static lgv_obs reset(lgv_env *env) {
  lgv_error err = {0};
  lgv_obs obs;
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  return obs;
}

static lgv_outcome move(lgv_env *env, int32_t action, lgv_obs *obs) {
  lgv_error err = {0};
  lgv_outcome outcome;
  assert_int_equal(lgv_env_step(env, choice(action), &outcome, obs, &err), LGV_OK);
  return outcome;
}

/* The three forms go through the same episode and show the same cell. row: N after the last step.
 */
static void assert_same_cell(int64_t n, int64_t row, const lgv_obs *one_hot, const lgv_obs *pixels,
                             const lgv_obs *numbers) {
  const float *pair = numbers->data;
  assert_true(pixels->state == one_hot->state && numbers->state == one_hot->state);
  assert_true(row == n || one_hot->state / n == row);
  assert_memory_equal(pixels->data, one_hot->data, (size_t)(n * n) * sizeof(float));
  assert_near(pair[0], 2 * (double)row / (double)n - 1, 1e-7);
  assert_near(pair[1], 2 * (double)(one_hot->state % n) / (double)n - 1, 1e-7);
}

static void every_form_shows_the_cell(void **state) {
  (void)state;
  const int32_t sizes[] = {2, 3, 5, 12};
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "test");
  for (int i = 0; i < 4; i++) {
    int32_t n = sizes[i];
    lgv_env *envs[] = {make_deepsea(n, ""), make_deepsea(n, "env.features=pixels"),
                       make_deepsea(n, "env.features=coordinates")};
    assert_dense(envs[1], n, n, n);
    assert_dense(envs[2], n, 2, 1);
    for (int episode = 0; episode < 20; episode++) {
      lgv_obs obs[] = {reset(envs[0]), reset(envs[1]), reset(envs[2])};
      for (int32_t row = 0; row <= n; row++) {
        assert_same_cell(n, row, &obs[0], &obs[1], &obs[2]);
        int32_t action = (int32_t)lgv_rng_below(&rng, 2);
        for (int e = 0; e < 3 && row < n; e++)
          assert_true(move(envs[e], action, &obs[e]).terminated == (row == n - 1));
      }
    }
    for (int e = 0; e < 3; e++) lgv_env_free(envs[e]);
  }
}

/* An agent that works with states does not depend on the form, and its regret stays exact. The
 * deterministic version uses no random numbers, so that noise changes nothing either. */
static void regret_does_not_depend_on_the_form(void **state) {
  (void)state;
  const char *const forms[] = {"one-hot", "pixels", "coordinates", "pixels env.pixel_noise=0.7"};
  lgv_summary first = {0};
  for (int i = 0; i < 4; i++) {
    char extra[128];
    snprintf(extra, sizeof extra, "env.n=5 run.episodes=60 env.features=%s", forms[i]);
    lgv_plan *plan = make_plan("deepsea", "lmc-lsvi", extra);
    lgv_summary summary = run_plan(plan, 4);
    if (i == 0) first = summary;
    assert_true(summary.regret > 0 && summary.regret == first.regret);
    assert_true(summary.mean_return == first.mean_return);
    assert_near(summary.optimal_value, 0.99, 1e-12);
    lgv_plan_free(plan);
  }
}

/* ---- Noise of pixels ---- */

typedef struct moments {
  double count, sum, squares, fourths, across, beside; /* products of successive looks, neighbors */
} moments;

/* Adds the noise of a look of n x n pixels, in standard deviations, to the moments; `before`: that
 * of the look before, which becomes this one's. */
static void add_look(moments *m, int64_t n, double sd, const lgv_obs *obs, bool ended,
                     double *before) {
  double left = 0;
  for (int64_t i = 0; i < n * n; i++) {
    double signal = !ended && i == obs->state;
    double z = (((const float *)obs->data)[i] - signal) / sd;
    m->count++;
    m->sum += z;
    m->squares += z * z;
    m->fourths += z * z * z * z;
    m->across += z * before[i];
    m->beside += z * left;
    before[i] = left = z;
  }
}

/* Whether the mean square of `count` normal numbers fits a variance, within 5 standard errors. */
static bool fits(const moments *m, double variance) {
  return fabs(m->squares / m->count - variance) <= 5 * variance * sqrt(2 / m->count);
}

/* Every look, the last one included, has independent N(0, sd^2) noise in every pixel: moments and
 * correlations within 5 standard errors, which twice and half the variance are not. */
static void pixels_have_their_noise(void **state) {
  (void)state;
  enum { N = 12, EPISODES = 200 };
  const double sd = 0.05;
  lgv_env *env = make_deepsea(N, "env.features=pixels env.pixel_noise=0.05");
  assert_dense(env, N, N, N);
  void *m = (void *)lgv_env_get_model(env);
  double before[N * N] = {0};
  moments looks = {0}, last = {0};
  for (int episode = 0; episode < EPISODES; episode++) {
    lgv_obs obs = reset(env);
    add_look(&looks, N, sd, &obs, false, before);
    for (int row = 0; row < N; row++) {
      bool ended = move(env, go_right(m, &obs), &obs).terminated;
      add_look(ended ? &last : &looks, N, sd, &obs, ended, before);
    }
  }
  const moments *both[] = {&looks, &last};
  for (int i = 0; i < 2; i++) {
    double n = both[i]->count;
    assert_near(both[i]->sum / n, 0, 5 / sqrt(n));
    assert_true(fits(both[i], 1) && !fits(both[i], 2) && !fits(both[i], 0.5));
    assert_near(both[i]->fourths / n, 3, 5 * sqrt(96 / n));
    assert_near(both[i]->across / n, 0, 5 / sqrt(n));
    assert_near(both[i]->beside / n, 0, 5 / sqrt(n));
  }
  lgv_env_free(env);
}

/* Looking twice shows the same picture, the next step another one. */
static void a_look_is_repeated_until_the_next_step(void **state) {
  (void)state;
  enum { N = 4 };
  float shown[2][N * N], before[N * N] = {0};
  bare_env b;
  lgv_error err = {0};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  bare_open(&b, find_env("deepsea"), "n=4 features=pixels pixel_noise=0.5");
  assert_int_equal(b.type->reset(b.self, &rng, &err), LGV_OK);
  for (int step = 0; step <= N; step++) {
    lgv_outcome outcome;
    for (int i = 0; i < 2; i++) b.type->observe(b.self, shown[i]);
    assert_memory_equal(shown[0], shown[1], sizeof shown[0]);
    for (int i = 0; i < N * N; i++) assert_true(shown[0][i] != before[i]);
    memcpy(before, shown[0], sizeof before);
    if (step < N) assert_int_equal(b.type->step(b.self, choice(0), &rng, &outcome, &err), LGV_OK);
  }
  bare_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scripted_returns_and_counters),
      cmocka_unit_test(values_have_closed_forms),
      cmocka_unit_test(observations_are_one_hot_and_end_in_zeros),
      cmocka_unit_test(columns_are_clipped),
      cmocka_unit_test(the_stochastic_version_has_its_noise),
      cmocka_unit_test(the_mapping_depends_on_its_own_seed_alone),
      cmocka_unit_test(every_form_shows_the_cell),
      cmocka_unit_test(regret_does_not_depend_on_the_form),
      cmocka_unit_test(pixels_have_their_noise),
      cmocka_unit_test(a_look_is_repeated_until_the_next_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
