/* Switches: the dynamics step by step, the optimum, and the law of random choices. */
#include "env_helpers.h"

#include <math.h>

enum { MOST_LAMPS = LGV_MOST_PARTS };

static void positions_of(const lgv_obs *obs, int32_t lamps, int32_t k, int32_t *position) {
  const float *x = obs->data;
  for (int32_t i = 0; i < lamps; i++) {
    int ones = 0;
    for (int32_t j = 0; j < k; j++)
      if (x[i * k + j] == 1) {
        position[i] = j;
        ones++;
      } else {
        assert_true(x[i * k + j] == 0);
      }
    assert_int_equal(ones, 1);
  }
}

/* Without flips the lamps are where the switches turned them. */
static void lamps_turn_as_their_switches_say(void **state) {
  (void)state;
  lgv_env *env = make_env("switches", "env.lamps=7 env.positions=3 env.flip=0 env.horizon=50", 1);
  int32_t before[MOST_LAMPS], after[MOST_LAMPS];
  lgv_outcome outcome;
  lgv_error err;
  lgv_obs obs;
  lgv_rng rng;
  lgv_rng_seed(&rng, 2, "test");
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_int_equal(spec->actions.kind, LGV_MULTI_DISCRETE);
  assert_int_equal(spec->actions.count, 21);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int t = 1; t <= 50; t++) {
    const lgv_action *action = draw_action(&spec->actions, &rng);
    int lit = 0;
    positions_of(&obs, 7, 3, before);
    assert_int_equal(lgv_env_step(env, action, &outcome, &obs, &err), LGV_OK);
    positions_of(&obs, 7, 3, after);
    for (int i = 0; i < 7; i++) {
      assert_int_equal(after[i], (before[i] + action->choices[i]) % 3);
      lit += after[i] == i % 3;
    }
    assert_float_equal(outcome.reward, lit / 7.0, 1e-12);
    assert_true(outcome.truncated == (t == 50) && !outcome.terminated);
  }
  lgv_env_free(env);
}

/* The return of the best choices is the horizon, whatever falls in between. */
static void the_best_choices_earn_the_horizon(void **state) {
  (void)state;
  lgv_env *env = make_env("switches", "", 3);
  int32_t position[MOST_LAMPS];
  double sum = 0;
  lgv_outcome outcome = {0};
  lgv_error err;
  lgv_obs obs;
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  while (!outcome.truncated) {
    lgv_action action = {0};
    positions_of(&obs, 20, 2, position);
    for (int i = 0; i < 20; i++) action.choices[i] = (i % 2 - position[i] + 2) % 2;
    assert_int_equal(lgv_env_step(env, &action, &outcome, &obs, &err), LGV_OK);
    sum += outcome.reward;
  }
  assert_true(sum == 20);
  lgv_env_free(env);
}

/* A lamp that was lit is still lit after env.flip = f with probability 1 - f + f/k. */
static void lamps_fall_at_the_stated_rate(void **state) {
  (void)state;
  enum { STEPS = 20000 };
  lgv_env *env =
      make_env("switches", "env.lamps=1 env.positions=4 env.flip=0.4 env.horizon=20000", 5);
  int32_t position[1] = {0};
  int lit = 0;
  lgv_outcome outcome;
  lgv_error err;
  lgv_obs obs;
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int t = 0; t < STEPS; t++) {
    positions_of(&obs, 1, 4, position);
    assert_int_equal(lgv_env_step(env, choice((4 - position[0]) % 4), &outcome, &obs, &err),
                     LGV_OK);
    assert_true(outcome.reward == 1);
    positions_of(&obs, 1, 4, position);
    lit += position[0] == 0;
  }
  double p = 1 - 0.4 + 0.4 / 4;
  assert_true(fabs(lit - STEPS * p) < 5 * sqrt(STEPS * p * (1 - p)));
  lgv_env_free(env);
}

static void wrong_choices_are_refused(void **state) {
  (void)state;
  lgv_env *env = make_env("switches", "env.lamps=3", 1);
  lgv_outcome outcome;
  lgv_error err;
  lgv_obs obs;
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  lgv_action wrong = {.choices = {0, 2, 0}};
  assert_int_equal(lgv_env_step(env, &wrong, &outcome, &obs, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "action 2 of part 1 is outside 0..1"));
  lgv_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lamps_turn_as_their_switches_say),
      cmocka_unit_test(the_best_choices_earn_the_horizon),
      cmocka_unit_test(lamps_fall_at_the_stated_rate),
      cmocka_unit_test(wrong_choices_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
