/* Each baseline against the formulas of its paper: LSVI-UCB, LSVI-PHE, OPT-RLSVI, RLSVI, OPPO,
 * PSRL. */
#include "linear_helpers.h"

enum { DRAWS = 20000 };

static const double features[6 * 3] = {.9, .1,  0,  .2, .7, .1, 0,  .5, .5,
                                       .3, -.3, .6, .8, 0,  .4, .1, .1, -.7};

static void assert_close(double actual, double expected, double absolute) {
  if (!(fabs(actual - expected) <= absolute)) fail_msg("%.15g instead of %.15g", actual, expected);
}

/* One stage, one state, three actions with 0, 4 and 15 visits that pay 1/2 each. */
static lgv_agent *make_bandit(const char *name, const char *extra) {
  lgv_env_spec spec = make_spec(1, 3, 1);
  lgv_agent *agent = make_agent(name, &spec, extra);
  for (int i = 0; i < 4; i++) feed(agent, 0, 0, 1, .5, 0);
  for (int i = 0; i < 15; i++) feed(agent, 0, 0, 2, .5, 0);
  return agent;
}

/* The law of Q(., a) of the bandit over many sweeps. */
static moments draw_bandit(lgv_agent *agent) {
  const double *q = array_of(agent, "lsvi.q");
  moments m = {.d = 3};
  for (int n = 0; n < DRAWS; n++) {
    begin(agent);
    add_sample(&m, q);
  }
  return m;
}

/* ---- LSVI-UCB ---- */

static void ucb_adds_its_bonus(void **state) {
  (void)state;
  const char *const paths[] = {"diagonal", "dense"};
  for (int i = 0; i < 2; i++) {
    char extra[100];
    snprintf(extra, sizeof extra, "agent.lambda=0.25 agent.bonus=0.3 agent.gram=%s", paths[i]);
    lgv_agent *agent = make_bandit("lsvi-ucb", extra);
    begin(agent);
    const double *q = array_of(agent, "lsvi.q");
    assert_close(q[0], .3 / sqrt(.25), 1e-12);
    assert_close(q[1], 4 * .5 / 4.25 + .3 / sqrt(4.25), 1e-12);
    assert_close(q[2], 15 * .5 / 15.25 + .3 / sqrt(15.25), 1e-12);
    lgv_agent_free(agent);
  }
}

/* RiverSwim with two states and two stages: small enough for the theorem's bonus to fall below the
 * trivial bound, so that optimism says something. */
static void ucb_is_optimistic_with_the_bonus_of_theory(void **state) {
  (void)state;
  enum { H = 2, S = 2, EPISODES = 20000 };
  lgv_env *env = make_env("riverswim", "env.n=2 env.horizon=2");
  lgv_settings *settings = make_settings(NULL, "lsvi-ucb", "agent.schedule=theory");
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_agent_create(settings, lgv_env_get_spec(env), EPISODES, 0, 1, &agent, &err),
                   LGV_OK);
  double best[(H + 1) * S];
  lgv_model_optimal(lgv_env_get_model(env), best);
  const double *v = array_of(agent, "lsvi.v"), *q = array_of(agent, "lsvi.q");
  int below_the_bound = 0;
  for (int k = 0; k < EPISODES; k++) {
    play_episode(env, agent);
    for (int i = 0; i < H * S; i++) assert_true(v[i] >= best[i]);
    for (int i = 0; i < H * S * 2; i++) below_the_bound += q[i] < H - i / (S * 2);
  }
  assert_true(below_the_bound > 0);
  lgv_settings_free(settings);
  lgv_agent_free(agent);
  lgv_env_free(env);
}

/* ---- LSVI-PHE ---- */

/* The data of one stage of a dense problem; the history is kept for the slow form. */
typedef struct history {
  bench *b;
  int pair[30];
  double y[30];
} history;

static history make_history(void) {
  lmc_params p = {.lsvi = {.lambda = .7}, .beta = 1, .eta_scale = .25};
  history h = {.b = bench_open(3, 2, 1, features, 3, p)};
  for (int i = 0; i < 30; i++) {
    h.pair[i] = (i * i) % 6;
    h.y[i] = (double)(i % 7) / 6;
    bench_add(h.b, 0, h.pair[i] / 2, h.pair[i] % 2, h.y[i], 0);
  }
  bench_prepare(h.b, 0);
  return h;
}

/* w = Lambda^-1 (sum phi (y + xi) - lambda zeta): fresh noise on every target and on the prior. */
static void perturb_history(const history *h, lgv_rng *rng, double sigma, double *w) {
  double lambda = h->b->params.lsvi.lambda, b[MOST_D];
  for (int j = 0; j < 3; j++) b[j] = -lambda * sigma / sqrt(lambda) * lgv_rng_normal(rng);
  for (int i = 0; i < 30; i++) {
    double y = h->y[i] + sigma * lgv_rng_normal(rng);
    for (int j = 0; j < 3; j++) b[j] += features[h->pair[i] * 3 + j] * y;
  }
  solve_directly(bench_gram(h->b, 0), b, w, 3);
}

static void phe_draws_the_law_of_a_perturbed_history(void **state) {
  (void)state;
  const double sigma = .4;
  history h = make_history();
  matrix gram = bench_gram(h.b, 0), inv = inverse(&gram, 3), cov = {0};
  double mean[MOST_D], w[MOST_D];
  moments slow = {.d = 3}, fast = {.d = 3};
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "slow");
  add_scaled(&cov, sigma * sigma, &inv, 3);
  solve_directly(gram, h.b->core.b, mean, 3);
  for (int n = 0; n < DRAWS; n++) {
    perturb_history(&h, &rng, sigma, w);
    add_sample(&slow, w);
    lgv__lsvi_perturb(&h.b->core, 0, h.b->core.w_hat, sigma, w);
    add_sample(&fast, w);
  }
  assert_law(&slow, mean, &cov);
  assert_law(&fast, mean, &cov);
  bench_close(h.b);
}

static void phe_has_the_variance_of_its_counts(void **state) {
  (void)state;
  /* wide bounds, so that clipping is not felt */
  lgv_env_spec spec = make_spec(1, 3, 1);
  spec.reward_min = -100;
  spec.reward_max = 100;
  lgv_agent *agent =
      make_agent("lsvi-phe", &spec, "agent.lambda=2 agent.sigma=0.3 agent.samples=1");
  for (int i = 0; i < 4; i++) feed(agent, 0, 0, 1, .5, 0);
  for (int i = 0; i < 15; i++) feed(agent, 0, 0, 2, .5, 0);
  const double n[] = {0, 4, 15};
  double mean[3];
  matrix cov = {0};
  for (int a = 0; a < 3; a++) {
    mean[a] = .5 * n[a] / (2 + n[a]);
    cov.at[a][a] = .09 / (2 + n[a]);
  }
  moments m = draw_bandit(agent);
  assert_law(&m, mean, &cov);
  lgv_agent_free(agent);
}

/* ---- RLSVI ---- */

static void rlsvi_draws_the_bayesian_posterior(void **state) {
  (void)state;
  const char *const paths[] = {"diagonal", "dense"};
  const double sigma = .4, lambda = 1.5, n[] = {0, 4, 15};
  for (int i = 0; i < 2; i++) {
    char extra[100];
    snprintf(extra, sizeof extra, "agent.lambda=1.5 agent.sigma=0.4 agent.gram=%s", paths[i]);
    lgv_agent *agent = make_bandit("rlsvi", extra);
    double mean[3];
    matrix cov = {0};
    for (int a = 0; a < 3; a++) {
      double precision = n[a] / (sigma * sigma) + lambda;
      mean[a] = n[a] * .5 / (sigma * sigma) / precision;
      cov.at[a][a] = 1 / precision;
    }
    moments m = draw_bandit(agent);
    assert_law(&m, mean, &cov);
    lgv_agent_free(agent);
  }
}

/* ---- OPT-RLSVI ---- */

static double opt_value(double sigma, double low, double high, int action) {
  char extra[160];
  snprintf(extra, sizeof extra,
           "agent.lambda=1 agent.sigma=%g agent.alpha_low=%.17g agent.alpha_high=%.17g", sigma, low,
           high);
  lgv_agent *agent = make_bandit("opt-rlsvi", extra);
  begin(agent);
  double q = array_of(agent, "lsvi.q")[action];
  lgv_agent_free(agent);
  return q;
}

static void opt_rlsvi_is_continuous_at_both_thresholds(void **state) {
  (void)state;
  const double u = 1 / sqrt(5), tiny = 1e-9, sampled = .4, optimistic = 1; /* action 1: 4 visits */
  assert_close(opt_value(0, u, .9, 1), sampled, 1e-12);
  assert_close(opt_value(0, u - tiny, .9, 1), sampled, 1e-8);
  assert_close(opt_value(0, .1, u, 1), optimistic, 1e-12);
  assert_close(opt_value(0, .1, u + tiny, 1), optimistic, 1e-8);
  assert_close(opt_value(0, u - .02, u + .06, 1), .75 * sampled + .25 * optimistic, 1e-12);
  assert_close(opt_value(0, u, u, 1), sampled, 1e-12); /* no room between the two */
  assert_close(opt_value(0, .1, .1, 1), optimistic, 1e-12);
  assert_close(opt_value(0, .1, INFINITY, 1), sampled, 1e-12); /* never the default value */
  assert_true(opt_value(3, 10, 10, 1) != sampled);             /* the noise is there */
}

static void opt_rlsvi_starts_at_the_default_value(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(3, 2, 4);
  for (int dense = 0; dense < 2; dense++) {
    lgv_agent *agent =
        make_agent("opt-rlsvi", &spec, dense ? "agent.gram=dense" : "agent.gram=diagonal");
    begin(agent);
    const double *q = array_of(agent, "lsvi.q");
    for (int h = 0; h < 4; h++)
      for (int i = 0; i < 6; i++) assert_true(q[h * 6 + i] == 4 - h);
    lgv_agent_free(agent);
  }
}

static void opt_rlsvi_refuses_crossed_thresholds(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(3, 2, 4);
  lgv_settings *settings =
      make_settings(NULL, "opt-rlsvi", "agent.alpha_low=0.5 agent.alpha_high=0.4");
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_agent_create(settings, &spec, 9, 0, 1, &agent, &err), LGV_ERR_USAGE);
  lgv_settings_free(settings);
}

/* ---- OPPO ---- */

static void policy_of(const lgv_agent *agent, int64_t h, int64_t s, double *p) {
  lgv_error err = {0};
  const lgv_obs obs = {.state = s, .stage = h};
  assert_int_equal(lgv_agent_policy(agent, &obs, p, &err), LGV_OK);
}

/* Each improvement multiplies the policy by exp(alpha Q) of the evaluation before it; each
 * evaluation takes the mean of Q under the policy, with the bonus of LSVI-UCB. */
static void oppo_follows_mirror_descent(void **state) {
  (void)state;
  enum { H = 3, S = 2, A = 2 };
  const double step = .3;
  lgv_env *env = make_env("riverswim", "env.n=2 env.horizon=3");
  lgv_agent *agent =
      make_agent("oppo", lgv_env_get_spec(env), "agent.step=0.3 agent.lambda=0.5 agent.bonus=0.2");
  const double *q = array_of(agent, "lsvi.q"), *v = array_of(agent, "lsvi.v");
  double before[H * S][A] = {{0}}, last_q[H * S * A] = {0};
  for (int i = 0; i < H * S; i++) before[i][0] = before[i][1] = .5;
  for (int k = 0; k < 60; k++) {
    play_episode(env, agent);
    for (int i = 0; i < H * S; i++) {
      double p[A], kl = 0, gap = last_q[i * A] - last_q[i * A + 1];
      policy_of(agent, i / S, i % S, p);
      assert_close(p[0] + p[1], 1, 1e-15);
      assert_close(log(p[0] / p[1]) - log(before[i][0] / before[i][1]), step * gap, 1e-9);
      for (int a = 0; a < A; a++) kl += p[a] * log(p[a] / before[i][a]);
      assert_true(kl >= -1e-15 && kl <= step * fabs(gap) + 1e-15);
      assert_close(v[i], p[0] * q[i * A] + p[1] * q[i * A + 1], 1e-12);
      memcpy(before[i], p, sizeof p);
    }
    memcpy(last_q, q, sizeof last_q);
  }
  lgv_agent_free(agent);
  lgv_env_free(env);
}

static void oppo_evaluates_without_the_episode_it_has_just_played(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(1, 2, 1);
  lgv_agent *agent = make_agent("oppo", &spec, "agent.lambda=0.25 agent.bonus=0.1");
  const double *q = array_of(agent, "lsvi.q");
  begin(agent);
  feed(agent, 0, 0, 1, 1, 0);
  assert_close(q[1], .1 / sqrt(.25), 1e-12); /* no data yet */
  begin(agent);
  feed(agent, 0, 0, 1, 1, 0);
  assert_close(q[1], 1 / 1.25 + .1 / sqrt(1.25), 1e-12);
  lgv_agent_free(agent);
}

static void oppo_without_a_step_stays_uniform_and_with_a_huge_one_is_greedy(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(1, 3, 1);
  const char *const steps[] = {"agent.step=0 agent.bonus=0", "agent.step=1e6 agent.bonus=0"};
  for (int i = 0; i < 2; i++) {
    lgv_agent *agent = make_agent("oppo", &spec, steps[i]);
    double p[3];
    begin(agent);
    policy_of(agent, 0, 0, p);
    for (int a = 0; a < 3; a++) assert_close(p[a], 1. / 3, 1e-15);
    for (int n = 0; n < 9; n++) feed(agent, 0, 0, n % 3, .5 + .1 * (n % 3), 0);
    for (int n = 0; n < 5; n++) {
      begin(agent);
      feed(agent, 0, 0, 0, .5, 0);
    }
    policy_of(agent, 0, 0, p);
    for (int a = 0; a < 3; a++) assert_close(p[a], i == 0 ? 1. / 3 : a == 2, 1e-12);
    lgv_agent_free(agent);
  }
}

/* Actions are drawn from the policy that the hook reports. */
static void oppo_acts_by_its_probabilities(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(1, 3, 1);
  lgv_agent *agent = make_agent("oppo", &spec, "agent.step=1 agent.bonus=0");
  for (int n = 0; n < 30; n++) feed(agent, 0, 0, n % 3, .5 * (n % 3), 0);
  begin(agent);
  lgv_obs obs = {0};
  lgv_error err = {0};
  double p[3], counts[2][3] = {{0}};
  policy_of(agent, 0, 0, p);
  assert_true(p[0] < p[1] && p[1] < p[2]);
  for (int n = 0; n < DRAWS; n++)
    for (int mode = 0; mode < 2; mode++) {
      lgv_action action;
      assert_int_equal(lgv_agent_act(agent, &obs, mode ? LGV_EVAL : LGV_TRAIN, &action, &err),
                       LGV_OK);
      counts[mode][action.choice]++;
    }
  for (int mode = 0; mode < 2; mode++)
    for (int a = 0; a < 3; a++)
      assert_close(counts[mode][a] / DRAWS, p[a], 5 * sqrt(p[a] * (1 - p[a]) / DRAWS));
  lgv_agent_free(agent);
}

/* ---- PSRL ---- */

static void psrl_draws_the_normal_posterior_of_rewards(void **state) {
  (void)state;
  lgv_agent *agent = make_bandit("psrl", "agent.lambda=2 agent.sigma=0.5");
  const double n[] = {0, 4, 15};
  double mean[3];
  matrix cov = {0};
  for (int a = 0; a < 3; a++) {
    double precision = 2 + n[a] / .25;
    mean[a] = n[a] * .5 / .25 / precision;
    cov.at[a][a] = 1 / precision;
  }
  moments m = draw_bandit(agent);
  assert_law(&m, mean, &cov);
  lgv_agent_free(agent);
}

/* Dirichlet(c): mean c_i / C, variance c_i (C - c_i) / (C^2 (C + 1)). */
static void psrl_draws_the_dirichlet_posterior_of_transitions(void **state) {
  (void)state;
  enum { S = 3 };
  lgv_env_spec spec = make_spec(S, 1, 2);
  lgv_agent *agent = make_agent("psrl", &spec, "agent.prior_mass=1.5 agent.pool=true");
  lgv_error err = {0};
  for (int i = 0; i < 5; i++) feed(agent, 0, 0, 0, 0, i < 3 ? 1 : 2);
  lgv_transition end = {.obs = {.state = 0}, .action = choice(0), .terminated = true};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(lgv_agent_observe(agent, &end, &err), LGV_OK);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
  const double shape[S][S + 1] = {{.5, 3.5, 2.5, 2}, {.5, .5, .5, 0}, {.5, .5, .5, 0}};
  const double *p = array_of(agent, "psrl.transition");
  double sum[S][S + 1] = {{0}}, square[S][S + 1] = {{0}};
  for (int n = 0; n < DRAWS; n++) {
    begin(agent);
    for (int s = 0; s < S; s++) {
      double total = 0;
      for (int x = 0; x <= S; x++) {
        double value = p[s * (S + 1) + x];
        assert_true(value >= 0);
        total += value;
        sum[s][x] += value;
        square[s][x] += value * value;
      }
      assert_close(total, 1, 1e-12);
    }
  }
  for (int s = 0; s < S; s++)
    for (int x = 0; x <= S; x++) {
      double c = shape[s][x], C = s == 0 ? 8.5 : 1.5, mean = c / C;
      double variance = c * (C - c) / (C * C * (C + 1)), seen = sum[s][x] / DRAWS;
      assert_close(seen, mean, 5 * sqrt(variance / DRAWS));
      assert_close(square[s][x] / DRAWS - seen * seen, variance, .05 * variance + 1e-300);
    }
  lgv_agent_free(agent);
}

/* Where stages do not share data, what was seen at one says nothing about another. */
static void psrl_keeps_the_stages_apart(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 1, 3);
  lgv_agent *agent = make_agent("psrl", &spec, "agent.pool=false agent.prior_mass=1e-3");
  for (int n = 0; n < 1000; n++)
    for (int s = 0; s < 2; s++) {
      feed(agent, 0, s, 0, 0, 1); /* first to state 1, then to state 0, which pays at the end */
      feed(agent, 1, s, 0, .25 * s, 0);
      feed(agent, 2, s, 0, 1 - s, s);
    }
  const double *q = array_of(agent, "lsvi.q"), expected[] = {1.25, 1.25, 1, 1.25, 1, 0};
  for (int k = 0; k < 100; k++) {
    begin(agent);
    for (int i = 0; i < 6; i++) assert_close(q[i], expected[i], .05);
  }
  lgv_agent_free(agent);
}

/* A prior so thin that gammas underflow still gives a law: nearly a point mass, each state as
 * likely. */
static void psrl_survives_a_thin_prior(void **state) {
  (void)state;
  enum { S = 4, N = 4000 };
  lgv_env_spec spec = make_spec(S, 1, 1);
  lgv_agent *agent = make_agent("psrl", &spec, "agent.prior_mass=1e-5");
  const double *p = array_of(agent, "psrl.transition");
  double sum[S] = {0};
  for (int n = 0; n < N; n++) {
    begin(agent);
    double total = 0;
    for (int x = 0; x < S; x++) {
      total += p[x];
      sum[x] += p[x];
    }
    assert_close(total, 1, 1e-12);
  }
  for (int x = 0; x < S; x++) assert_close(sum[x] / N, .25, 5 * sqrt(.25 * .75 / N));
  lgv_agent_free(agent);
}

/* Many data that fit the model exactly: the sampled model is the true one, its policy optimal. */
static void psrl_with_a_known_model_is_optimal(void **state) {
  (void)state;
  enum { S = 4, H = 8 };
  const double right[S][3] = {{0, .4, .6}, {.05, .6, .35}, {.05, .6, .35}, {.4, .6, 0}};
  lgv_env *env = make_env("riverswim", "env.n=4 env.horizon=8");
  lgv_agent *agent = make_agent("psrl", lgv_env_get_spec(env), "agent.prior_mass=0.01");
  for (int s = 0; s < S; s++)
    for (int i = 0; i < 4000; i++) {
      double u = (i + .5) / 4000;
      int move = u < right[s][0] ? -1 : u < right[s][0] + right[s][1] ? 0 : 1;
      feed(agent, 0, s, 1, s == S - 1, s + move);
      feed(agent, 0, s, 0, s == 0 ? .005 : 0, s > 0 ? s - 1 : 0);
    }
  double best[(H + 1) * S], values[(H + 1) * S], policy[H * S * 2];
  lgv_model_optimal(lgv_env_get_model(env), best);
  for (int k = 0; k < 20; k++) {
    begin(agent);
    for (int i = 0; i < H * S; i++) policy_of(agent, i / S, i % S, policy + 2 * i);
    lgv_model_evaluate(lgv_env_get_model(env), policy, values);
    for (int s = 0; s < S; s++) assert_close(values[s], best[s], .01 * best[s]);
    assert_close(array_of(agent, "lsvi.v")[0], best[0], .15 * best[0]);
  }
  lgv_agent_free(agent);
  lgv_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ucb_adds_its_bonus),
      cmocka_unit_test(ucb_is_optimistic_with_the_bonus_of_theory),
      cmocka_unit_test(phe_draws_the_law_of_a_perturbed_history),
      cmocka_unit_test(phe_has_the_variance_of_its_counts),
      cmocka_unit_test(rlsvi_draws_the_bayesian_posterior),
      cmocka_unit_test(opt_rlsvi_is_continuous_at_both_thresholds),
      cmocka_unit_test(opt_rlsvi_starts_at_the_default_value),
      cmocka_unit_test(opt_rlsvi_refuses_crossed_thresholds),
      cmocka_unit_test(oppo_follows_mirror_descent),
      cmocka_unit_test(oppo_evaluates_without_the_episode_it_has_just_played),
      cmocka_unit_test(oppo_without_a_step_stays_uniform_and_with_a_huge_one_is_greedy),
      cmocka_unit_test(oppo_acts_by_its_probabilities),
      cmocka_unit_test(psrl_draws_the_normal_posterior_of_rewards),
      cmocka_unit_test(psrl_draws_the_dirichlet_posterior_of_transitions),
      cmocka_unit_test(psrl_keeps_the_stages_apart),
      cmocka_unit_test(psrl_survives_a_thin_prior),
      cmocka_unit_test(psrl_with_a_known_model_is_optimal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
