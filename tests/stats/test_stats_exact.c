/* Exact values and regret where actions are forbidden, against every policy of a tiny problem, one
 * by one, each valued by a walk through its tree of states. */
#include "stats/exact.h"

#include "linear_helpers.h"

enum { STATES = 2, ACTIONS = 3, STAGES = 3, PLACES = STATES * STAGES };

/* The probability of state 1, and the reward, of (state, action); the same at all stages. */
static const double goes[STATES][ACTIONS] = {{.2, .7, .5}, {.9, .4, .1}};
static const double pays[STATES][ACTIONS] = {{.1, .3, 1}, {.6, .2, .8}};

/* At least one action is left everywhere; the best one, which pays most, is often forbidden. */
static bool is_allowed(int64_t h, int64_t s, int32_t a) {
  return (h + 2 * s + a) % 4 != 2 && !(h == 1 && s == 0 && a == 2);
}

static lgv_model *make_tiny(void) {
  lgv_model *m;
  lgv_error err = {0};
  assert_int_equal(lgv_model_create(STATES, ACTIONS, STAGES, false, &m, &err), LGV_OK);
  for (int64_t h = 0; h < STAGES; h++)
    for (int64_t s = 0; s < STATES; s++)
      for (int32_t a = 0; a < ACTIONS; a++) {
        if (!is_allowed(h, s, a)) {
          lgv_model_forbid(m, h, s, a);
          continue;
        }
        assert_int_equal(lgv_model_add(m, h, s, a, 0, 1 - goes[s][a], &err), LGV_OK);
        assert_int_equal(lgv_model_add(m, h, s, a, 1, goes[s][a], &err), LGV_OK);
        lgv_model_set_reward(m, h, s, a, pays[s][a]);
      }
  for (int64_t s = 0; s < STATES; s++) lgv_model_set_start(m, s, .5);
  if (lgv_model_seal(m, &err) != LGV_OK) fail_msg("%s", err.message);
  return m;
}

/* The value of a policy (PLACES x ACTIONS) from (h, s). */
static double walk(const double *policy, int64_t h, int64_t s) {
  double value = 0;
  if (h == STAGES) return 0;
  for (int32_t a = 0; a < ACTIONS; a++) {
    double p = policy[(h * STATES + s) * ACTIONS + a];
    if (p == 0) continue;
    assert_true(is_allowed(h, s, a));
    value += p * (pays[s][a] + (1 - goes[s][a]) * walk(policy, h + 1, 0) +
                  goes[s][a] * walk(policy, h + 1, 1));
  }
  return value;
}

/* The greatest value of all deterministic policies that take what is allowed. */
static double best_of_all(int64_t start, int *policies) {
  double best = -INFINITY;
  *policies = 0;
  for (int code = 0; code < 729; code++) { /* 3^6 */
    double policy[PLACES * ACTIONS] = {0};
    bool allowed = true;
    for (int i = 0, rest = code; i < PLACES; i++, rest /= ACTIONS) {
      policy[i * ACTIONS + rest % ACTIONS] = 1;
      allowed &= is_allowed(i / STATES, i % STATES, rest % ACTIONS);
    }
    if (!allowed) continue;
    ++*policies;
    best = fmax(best, walk(policy, 0, start));
  }
  return best;
}

static void optimal_values_are_those_of_the_best_policy(void **state) {
  (void)state;
  lgv_model *m = make_tiny();
  double values[PLACES + STATES];
  int policies;
  lgv_model_optimal(m, values);
  for (int64_t s = 0; s < STATES; s++)
    assert_true(fabs(values[s] - best_of_all(s, &policies)) < 1e-14);
  assert_true(policies > 20 && policies < 729);
  lgv_model_free(m);
}

static void read_policy(const lgv_agent *agent, const lgv_model *m, double *policy) {
  lgv_error err = {0};
  for (int64_t h = 0; h < STAGES; h++)
    for (int64_t s = 0; s < STATES; s++) {
      lgv_obs obs = {.state = s, .stage = h, .mask = lgv_model_mask(m, h, s)};
      double *p = policy + (h * STATES + s) * ACTIONS;
      assert_int_equal(lgv_agent_policy(agent, &obs, p, &err), LGV_OK);
    }
}

static void regret_is_that_of_the_allowed_policies(void **state) {
  (void)state;
  static const char *const agents[] = {"lsvi-ucb", "rlsvi", "oppo", "psrl"};
  lgv_model *m = make_tiny();
  lgv_env *env;
  lgv_error err = {0};
  assert_int_equal(lgv_env_from_model(m, NULL, 0, 1, &env, &err), LGV_OK);
  for (int i = 0; i < 4; i++) {
    lgv_agent *agent = make_agent(agents[i], lgv_env_get_spec(env), NULL);
    lgv_exact exact;
    bool above = false;
    assert_int_equal(lgv__exact_open(&exact, env, true, &err), LGV_OK);
    for (int k = 0; k < 30; k++) {
      double policy[PLACES * ACTIONS], regret, mean = 0;
      int policies;
      begin(agent);
      read_policy(agent, m, policy);
      for (int64_t s = 0; s < STATES; s++) {
        double value = lgv__exact_evaluate(&exact, agent, s, &regret);
        double expected = best_of_all(s, &policies) - walk(policy, 0, s);
        assert_true(fabs(regret - expected) < 1e-13);
        above |= regret > 1e-3;
        mean = value;
      }
      assert_true(fabs(mean - (walk(policy, 0, 0) + walk(policy, 0, 1)) / 2) < 1e-13);
      play_episode(env, agent);
    }
    assert_true(above); /* there was something to compare */
    lgv__exact_close(&exact);
    lgv_agent_free(agent);
  }
  lgv_env_free(env);
  lgv_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(optimal_values_are_those_of_the_best_policy),
      cmocka_unit_test(regret_is_that_of_the_allowed_policies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
