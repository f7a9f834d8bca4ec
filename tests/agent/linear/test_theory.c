/* The constants of the regret theorems, against values that were worked out independently (by
 * bisection), with the delta/6 and delta/9 of the proofs. */
#include "linear_helpers.h"

static void close_to(double actual, double expected, double relative) {
  if (!(fabs(actual - expected) <= relative * fabs(expected)))
    fail_msg("%.12g instead of %.12g", actual, expected);
}

static lgv_theory theory_of(int64_t H, int64_t d, int64_t K, double delta, bool multi) {
  lgv_theory t;
  lgv_error err = {0};
  if (lgv_theory_compute(H, d, K, delta, multi, &t, &err) != LGV_OK) fail_msg("%s", err.message);
  return t;
}

static void the_fixed_point_of_theorem_1(void **state) {
  (void)state;
  const struct {
    int64_t H, d, K;
    double delta, inv_sqrt_beta, c, b;
  } known[] = {
      {20, 12, 1000, .2, 3782.544867, 5.45578424, 3.148796e7},
      {40, 24, 1000, .2, 10943.766443, 5.58335660, 2.575057e8},
      {100, 40, 1000, .2, 35897.772882, 5.67551462, 1.816974e9},
      {5, 4, 100, .5, 465.700831, 4.63034164, 1.500909e5},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    lgv_theory t = theory_of(known[i].H, known[i].d, known[i].K, known[i].delta, false);
    close_to(t.inv_sqrt_beta, known[i].inv_sqrt_beta, 1e-9);
    close_to(t.c_delta, known[i].c, 1e-8);
    close_to(t.b_delta, known[i].b, 1e-6);
    assert_int_equal(t.samples_m, 1);
    double H = (double)known[i].H, d = (double)known[i].d;
    close_to(t.inv_sqrt_beta, 10 * H * sqrt(d) * t.c_delta + 8.0 / 3, 1e-12);
  }
}

static void the_multi_sample_version(void **state) {
  (void)state;
  const struct {
    int64_t H, d, K;
    double delta;
    int64_t M;
    double inv_sqrt_beta;
  } known[] = {
      {20, 12, 1000, .2, 107, 37322.831622},    {40, 24, 1000, .2, 112, 110856.960949},
      {5, 4, 100, .5, 71, 3814.745993},         {20, 12, 1000, .1, 112, 38467.138634},
      {40, 24, 1000, .1, 118, 114597.254881},   {100, 40, 1000, .1, 125, 387783.456777},
      {40, 24, 10000, .05, 141, 133724.919929},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    lgv_theory t = theory_of(known[i].H, known[i].d, known[i].K, known[i].delta, true);
    assert_int_equal(t.samples_m, known[i].M);
    close_to(t.inv_sqrt_beta, known[i].inv_sqrt_beta, 1e-9);
    close_to(t.optimism_c, 0.12098536225957168, 1e-15);
    close_to(-log1p(-t.optimism_c), 0.1289537287161289, 1e-14);
  }
}

static void the_number_of_updates(void **state) {
  (void)state;
  lgv_theory t = theory_of(40, 24, 1000, .2, false);
  close_to(t.j_per_kappa, 30.32, 1e-3);
  close_to(t.j_per_kappa * 1001, 30352.3, 1e-5);
  close_to(t.j_per_kappa, 2 * log(4. * 40 * 1000 * 24), 1e-15);
  close_to(t.log_factor, t.j_per_kappa / 2, 1e-15);
  assert_true(ceil(t.j_per_kappa) == 31);
}

static void what_the_theorem_does_not_cover_is_refused(void **state) {
  (void)state;
  lgv_theory t;
  lgv_error err = {0};
  const double single[] = {0, 0.05, 0.12098536225957, 1, 1.5, -0.1, NAN};
  for (size_t i = 0; i < sizeof single / sizeof *single; i++)
    assert_int_equal(lgv_theory_compute(20, 12, 1000, single[i], false, &t, &err), LGV_ERR_USAGE);
  const double multi[] = {0, 4e-324, 1e-200, 1, -1, NAN};
  for (size_t i = 0; i < sizeof multi / sizeof *multi; i++)
    assert_int_equal(lgv_theory_compute(20, 12, 1000, multi[i], true, &t, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_theory_compute(20, 12, 1000, 0.05, true, &t, &err), LGV_OK);
  assert_int_equal(lgv_theory_compute(20, 12, 1000, 0.121, false, &t, &err), LGV_OK);
  assert_int_equal(lgv_theory_compute(0, 12, 1000, .2, false, &t, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_theory_compute(20, 0, 1000, .2, false, &t, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_theory_compute(20, 12, 0, .2, false, &t, &err), LGV_ERR_USAGE);
}

/* ---- schedule = theory ---- */

static double resolved(const lgv_plan *plan, const char *key) {
  char text[64];
  lgv_error err = {0};
  assert_int_equal(lgv_plan_get(plan, key, text, sizeof text, &err), LGV_OK);
  return strtod(text, NULL);
}

/* RiverSwim with 6 states and 20 stages: d = 12; K = 1000. */
static lgv_plan *plan_theory(const char *agent) {
  return make_plan("riverswim", agent,
                   "env.n=6 env.horizon=20 run.episodes=1000 agent.schedule=theory");
}

static void a_plan_shows_the_constants_of_its_theorem(void **state) {
  (void)state;
  const double H = 20, d = 12, K = 1000, S = 6, A = 2, T = H * K, delta = .2;
  const double variance = S * H * H * H * log(2 * H * S * A * K) / 2;
  const struct {
    const char *agent, *key;
    double value;
  } known[] = {
      {"lmc-lsvi", "agent.beta", 1 / (3782.544867 * 3782.544867)},
      {"lmc-lsvi", "agent.lambda", 1},
      {"lmc-lsvi", "agent.updates", 0},
      {"lmc-lsvi", "agent.eta_scale", .25},
      {"ms-lmc-lsvi", "agent.beta", 1 / (37322.831622 * 37322.831622)},
      {"ms-lmc-lsvi", "agent.samples", 107},
      {"lsvi-ucb", "agent.lambda", 1},
      {"lsvi-ucb", "agent.bonus", d * H * sqrt(log(2 * d * T / delta))},
      {"lsvi-phe", "agent.lambda", 1},
      {"lsvi-phe", "agent.sigma", H * sqrt(d) * sqrt(log(2 * d * T / delta))},
      {"lsvi-phe", "agent.samples", ceil(d * log(9 / delta) / -log(0.8413447460685429))},
      {"opt-rlsvi", "agent.lambda", 1},
      {"opt-rlsvi", "agent.sigma", sqrt(H) * d * H},
      {"opt-rlsvi", "agent.alpha_high", 1 / (d * H * sqrt(d * H))},
      {"opt-rlsvi", "agent.alpha_low", .5 / (d * H * sqrt(d * H))},
      {"oppo", "agent.lambda", 1},
      {"oppo", "agent.bonus", sqrt(d * H * H * log(d * T / delta))},
      {"oppo", "agent.step", sqrt(2 * log(2) / (H * T))},
      {"rlsvi", "agent.sigma", sqrt(variance)},
      {"rlsvi", "agent.lambda", 1 / variance},
      {"psrl", "agent.prior_mass", 1},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    lgv_plan *plan = plan_theory(known[i].agent);
    close_to(resolved(plan, known[i].key), known[i].value, 1e-8);
    lgv_plan_free(plan);
  }
}

static void assert_refused(const char *env, const char *agent, const char *extra,
                           const char *word) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_plan *plan;
  lgv_error err = {0};
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, word));
  lgv_settings_free(settings);
}

static void a_value_that_contradicts_the_theorem_is_refused(void **state) {
  (void)state;
  assert_refused("riverswim", "lmc-lsvi", "agent.schedule=theory agent.beta=3", "agent.beta");
  assert_refused("riverswim", "lmc-lsvi", "agent.schedule=theory agent.lambda=2", "agent.lambda");
  assert_refused("riverswim", "lmc-lsvi", "agent.schedule=theory agent.updates=7", "agent.updates");
  assert_refused("riverswim", "lmc-lsvi", "agent.schedule=theory agent.delta=0.1", "delta");
  assert_refused("riverswim", "ms-lmc-lsvi", "agent.schedule=theory agent.samples=3", "samples");
  assert_refused("riverswim", "lsvi-ucb", "agent.schedule=theory agent.bonus=1", "agent.bonus");
  assert_refused("riverswim", "lsvi-phe", "agent.schedule=theory agent.samples=3", "samples");
  assert_refused("riverswim", "oppo", "agent.schedule=theory agent.step=1", "agent.step");
  assert_refused("riverswim", "rlsvi", "agent.schedule=theory agent.sigma=1", "agent.sigma");
  lgv_plan_free(make_plan("riverswim", "lmc-lsvi", "agent.schedule=theory agent.lambda=1"));
}

static void the_theorems_need_the_episodes_and_rewards_from_0_to_1(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 3);
  lgv_settings *settings = make_settings(NULL, "lsvi-ucb", "agent.schedule=theory");
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_agent_create(settings, &spec, 0, 0, 1, &agent, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "run.episodes"));
  spec.reward_min = -1;
  assert_int_equal(lgv_agent_create(settings, &spec, 10, 0, 1, &agent, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "[0, 1]"));
  lgv_settings_free(settings);
}

/* The theorems regress each stage on its own data, and on features of norm at most 1. */
static void what_the_theorems_exclude_is_refused(void **state) {
  (void)state;
  const char *const agents[] = {"lmc-lsvi",  "ms-lmc-lsvi", "lsvi-ucb", "lsvi-phe",
                                "opt-rlsvi", "oppo",        "rlsvi"};
  double phi[4 * 2] = {1, 0, 0, 1, .6, .8, 0, 1.01};
  lgv_env_spec spec = make_spec(2, 2, 3);
  spec.feature_dim = 2;
  spec.features = phi;
  for (size_t i = 0; i < sizeof agents / sizeof *agents; i++) {
    assert_refused("riverswim", agents[i], "agent.schedule=theory agent.pool=true", "agent.pool");
    lgv_settings *settings = make_settings(NULL, agents[i], "agent.schedule=theory");
    lgv_agent *agent;
    lgv_error err = {0};
    phi[7] = 1.01;
    assert_int_equal(lgv_agent_create(settings, &spec, 100, 0, 1, &agent, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "1.01: divide the features by it"));
    phi[7] = 1; /* the remedy */
    if (lgv_agent_create(settings, &spec, 100, 0, 1, &agent, &err) != LGV_OK)
      fail_msg("%s: %s", agents[i], err.message);
    lgv_agent_free(agent);
    lgv_settings_free(settings);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fixed_point_of_theorem_1),
      cmocka_unit_test(the_multi_sample_version),
      cmocka_unit_test(the_number_of_updates),
      cmocka_unit_test(what_the_theorem_does_not_cover_is_refused),
      cmocka_unit_test(a_plan_shows_the_constants_of_its_theorem),
      cmocka_unit_test(a_value_that_contradicts_the_theorem_is_refused),
      cmocka_unit_test(the_theorems_need_the_episodes_and_rewards_from_0_to_1),
      cmocka_unit_test(what_the_theorems_exclude_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
