/* N-Chain: the returns of the scripted policies, the observations, the clock, the scrambling. */
#include "env_helpers.h"

/* The action that moves right: the one that gains a state, or at s_N the one that pays. */
static int32_t right_of(const lgv_model *m, int64_t s) {
  int64_t n = m->states;
  if (s == n - 1) return m->reward[s * 2 + 1] == 1;
  double *next = new_reals(n);
  model_row(m, 0, s, 1, next);
  int32_t right = next[s + 1] == 1;
  free(next);
  return right;
}

static int32_t go_right(void *model, const lgv_obs *obs) { return right_of(model, obs->state); }
static int32_t go_left(void *model, const lgv_obs *obs) { return !right_of(model, obs->state); }

static void scripted_returns_are_exact(void **state) {
  (void)state;
  const int64_t sizes[] = {2, 3, 25, 60, 100};
  for (int i = 0; i < 5; i++)
    for (int scramble = 0; scramble < 2; scramble++) {
      char settings[64];
      snprintf(settings, sizeof settings, "env.n=%d env.scramble=%s", (int)sizes[i],
               scramble ? "true" : "false");
      lgv_env *env = make_env("nchain", settings, 1);
      void *m = (void *)lgv_env_get_model(env);
      lgv_outcome last;
      int64_t steps, visits;
      assert_true(play(env, go_right, m, &last, &steps) == 10);
      assert_true(steps == sizes[i] + 8 && lgv_env_get_spec(env)->horizon == steps);
      assert_true(last.terminated && !last.truncated);
      lgv_env_counters(env, &visits);
      assert_true(visits == 10);
      assert_near(play(env, go_left, m, NULL, NULL), 0.001 * (double)(sizes[i] + 7), 1e-12);
      lgv_env_counters(env, &visits);
      assert_true(visits == 10);
      assert_near(optimal_value(m), 10, 1e-12);
      lgv_env_free(env);
    }
}

static void the_last_state_pays_for_right_alone(void **state) {
  (void)state;
  lgv_env *env = make_env("nchain", "env.n=2", 1);
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  const struct {
    int32_t action;
    double reward;
    int64_t next;
  } steps[] = {{1, 1, 1}, {0, 0, 0}, {0, 0.001, 0}, {1, 0, 1}, {1, 1, 1}};
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_true(obs.state == 1);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(lgv_env_step(env, choice(steps[i].action), &outcome, &obs, &err), LGV_OK);
    assert_true(outcome.reward == steps[i].reward && obs.state == steps[i].next);
  }
  lgv_env_free(env);
}

static void observations_are_thermometers_or_one_hot(void **state) {
  (void)state;
  enum { N = 6 };
  const char *const settings[] = {"env.n=6", "env.n=6 env.features=one-hot"};
  const lgv_obs_form forms[] = {LGV_FORM_THERMOMETER, LGV_FORM_ONE_HOT};
  for (int f = 0; f < 2; f++) {
    lgv_env *env = make_env("nchain", settings[f], 1);
    lgv_error err = {0};
    lgv_obs obs;
    lgv_outcome outcome;
    const lgv_env_spec *spec = lgv_env_get_spec(env);
    assert_true(spec->obs_form == forms[f] && spec->obs_shape[0] == N);
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    for (int64_t at = 1; at < N; at++) {
      assert_true(obs.state == at);
      for (int64_t i = 0; i < N; i++)
        assert_true(((const float *)obs.data)[i] == (f == 0 ? i <= at : i == at));
      assert_int_equal(lgv_env_step(env, choice(1), &outcome, &obs, &err), LGV_OK);
    }
    lgv_env_free(env);
  }
}

static void the_clock_can_truncate_instead(void **state) {
  (void)state;
  lgv_env *env = make_env("nchain", "env.n=5 env.time_limit=truncated", 1);
  lgv_outcome last;
  int64_t steps;
  void *m = (void *)lgv_env_get_model(env);
  assert_true(play(env, go_right, m, &last, &steps) == 10 && steps == 13);
  assert_true(last.truncated && !last.terminated);
  lgv_env_free(env);
}

/* The meaning of the actions varies from state to state, evenly, by map_seed and not by seed. */
static void scrambling_depends_on_its_own_seed_alone(void **state) {
  (void)state;
  enum { N = 400 };
  lgv_env *a = make_env("nchain", "env.n=400 env.scramble=true", 1),
          *b = make_env("nchain", "env.n=400 env.scramble=true env.map_seed=0", 2),
          *c = make_env("nchain", "env.n=400 env.scramble=true env.map_seed=1", 1);
  int differ = 0, ones = 0;
  for (int64_t s = 0; s < N; s++) {
    int32_t right = right_of(lgv_env_get_model(a), s);
    assert_true(right == right_of(lgv_env_get_model(b), s));
    differ += right != right_of(lgv_env_get_model(c), s);
    ones += right;
  }
  assert_near(ones, N / 2, 5 * sqrt(N) / 2);
  assert_near(differ, N / 2, 5 * sqrt(N) / 2);
  lgv_env_free(a);
  lgv_env_free(b);
  lgv_env_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scripted_returns_are_exact),
      cmocka_unit_test(the_last_state_pays_for_right_alone),
      cmocka_unit_test(observations_are_thermometers_or_one_hot),
      cmocka_unit_test(the_clock_can_truncate_instead),
      cmocka_unit_test(scrambling_depends_on_its_own_seed_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
