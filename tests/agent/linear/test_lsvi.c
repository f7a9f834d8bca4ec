/* Least-squares value iteration: the verbs of lsvi_core, LMC-LSVI and its multi-sample version, and
 * what all agents that plan with them have in common. */
#include "linear_helpers.h"

static const char *const planners[] = {"lmc-lsvi",  "ms-lmc-lsvi", "lsvi-ucb", "lsvi-phe",
                                       "opt-rlsvi", "oppo",        "rlsvi",    NULL};

static const double features[6 * 3] = {.9, .1,  0,  .2, .7, .1, 0,  .5, .5,
                                       .3, -.3, .6, .8, 0,  .4, .1, .1, -.7};

/* ---- regression ---- */

static bench *open_dense(int32_t sampler, int64_t updates) {
  lmc_params p = {.lsvi = {.lambda = .3},
                  .beta = INFINITY,
                  .eta_scale = .25,
                  .updates = updates,
                  .sampler = sampler};
  bench *b = bench_open(3, 2, 2, features, 3, p);
  for (int i = 0; i < 40; i++)
    for (int h = 0; h < 2; h++)
      bench_add(b, h, (i * 7 + h) % 3, (i / 3) % 2, (double)(i % 4) / 3, (i * 5) % 3);
  for (int s = 0; s < 3; s++) b->core.v[3 + s] = .2 + .5 * s; /* V at the second stage */
  return b;
}

/* sum over the same data of phi (r + V(x')), term by term. */
static void targets_by_hand(double *out) {
  for (int i = 0; i < 3; i++) out[i] = 0;
  for (int i = 0; i < 40; i++) {
    int pair = (i * 7) % 3 * 2 + (i / 3) % 2;
    double y = (double)(i % 4) / 3 + .2 + .5 * ((i * 5) % 3);
    for (int j = 0; j < 3; j++) out[j] += features[pair * 3 + j] * y;
  }
}

static void a_cold_chain_with_many_steps_is_the_ridge_solution(void **state) {
  (void)state;
  const struct {
    int32_t sampler;
    int64_t updates;
  } ways[] = {{LMC_EXACT, 1000000}, {LMC_EXACT, 0}, {LMC_LOOP, 20000}, {LMC_SVRG, 100000}};
  for (int i = 0; i < 4; i++) {
    bench *b = open_dense(ways[i].sampler, ways[i].updates);
    b->params.batch = 4;
    b->params.snapshot_every = 1;
    double targets[MOST_D], expected[MOST_D], w[MOST_D] = {5, -5, 5};
    lgv_error err = {0};
    targets_by_hand(targets);
    solve_directly(bench_gram(b, 0), targets, expected, 3);
    bench_prepare(b, 0);
    /* the theorem's J leaves (4HKd)^-1 of the start behind each time */
    for (int n = 0; n < (ways[i].updates ? 1 : 6); n++)
      assert_int_equal(lgv__lmc_advance(&b->chain, 0, w, &err), LGV_OK);
    for (int j = 0; j < 3; j++) {
      assert_true(fabs(b->core.w_hat[j] - expected[j]) < 1e-10);
      assert_true(fabs(w[j] - expected[j]) < 1e-10);
    }
    bench_close(b);
  }
}

/* An episode that ended has no value beyond, whatever state it says it ended in; one that the
 * clock cut off has. */
static void an_end_has_no_value(void **state) {
  (void)state;
  for (int ends = 0; ends < 2; ends++) {
    lmc_params p = {.lsvi = {.lambda = .5}, .beta = INFINITY, .eta_scale = .25, .updates = 1};
    bench *b = bench_open(2, 1, 2, NULL, 0, p);
    lgv_error err = {0};
    const lgv_transition t = {.next = {.state = 1, .stage = 1},
                              .action = choice(0),
                              .reward = .25,
                              .terminated = ends != 0,
                              .truncated = ends == 0};
    assert_int_equal(lgv__lsvi_observe(&b->core, &t, &err), LGV_OK);
    assert_int_equal(lgv__lmc_absorb(&b->chain, &err), LGV_OK);
    b->core.v[2 + 1] = .5; /* of the state it ended in, at the second stage */
    bench_prepare(b, 0);
    assert_true(b->core.b[0] == (ends ? .25 : .75));
    assert_true(b->core.w_hat[0] == b->core.b[0] / 1.5);
    bench_close(b);
  }
}

static void widths_match_the_inverse_and_never_grow(void **state) {
  (void)state;
  bench *b = open_dense(LMC_EXACT, 1);
  double before[6];
  for (int i = 0; i < 6; i++) before[i] = INFINITY;
  for (int round = 0; round < 30; round++) {
    bench_add(b, 0, round % 3, round % 2, 1, 0);
    lgv__lsvi_widths(&b->core, 0);
    matrix gram = bench_gram(b, 0), inv = inverse(&gram, 3);
    for (int i = 0; i < 6; i++) {
      double y[MOST_D], square = 0;
      apply(&inv, features + 3 * i, y, 3);
      for (int j = 0; j < 3; j++) square += features[3 * i + j] * y[j];
      assert_true(fabs(b->core.width[i] - sqrt(square)) < 1e-12);
      assert_true(b->core.width[i] <= before[i] * (1 + 1e-12));
      before[i] = b->core.width[i];
    }
  }
  bench_close(b);
}

/* A direction that no data touch keeps the ridge to the last digits, however small it is beside the
 * data: features (.6, .8) and (.8, -.6), of which only the first is ever seen. With one stage the
 * features are whitened anew, with two they are rotated along: from 1 / sqrt(lambda) down, so that
 * many roundings of that size are left. */
static void a_tiny_ridge_survives_many_updates(void **state) {
  (void)state;
  const double rotated[2 * 2] = {.6, .8, .8, -.6};
  const double lambdas[] = {1e-6, 1e-9, 1e-12};
  for (int stages = 1; stages <= 2; stages++)
    for (int k = 0; k < 3; k++) {
      lmc_params p = {.lsvi = {.lambda = lambdas[k]}, .beta = 1, .eta_scale = .25};
      bench *b = bench_open(1, 2, stages, rotated, 2, p);
      double tolerance = stages == 1 ? 1e-12 : 1e-15 / sqrt(lambdas[k]);
      for (int n = 1; n <= 300; n++) {
        bench_add(b, 0, 0, 0, 1, 0);
        lgv__lsvi_widths(&b->core, 0);
        assert_true(fabs(b->core.width[0] * sqrt(n + lambdas[k]) - 1) < tolerance);
        assert_true(fabs(b->core.width[1] * sqrt(lambdas[k]) - 1) < 1e-6);
      }
      bench_close(b);
    }
}

/* ---- dynamic programming ---- */

/* A deterministic problem: action a leads to state a; (0,0) pays .1, (1,1) pays 1, (0,1) and (1,0)
 * pay nothing. Every pair of every stage is fed n times. */
enum { STAGES = 4, VISITS = 50 };

static double pay(int s, int a) { return s != a ? 0 : a ? 1 : .1; }

static void feed_all(lgv_agent *agent) {
  for (int n = 0; n < VISITS; n++)
    for (int h = 0; h < STAGES; h++)
      for (int s = 0; s < 2; s++)
        for (int a = 0; a < 2; a++) feed(agent, h, s, a, pay(s, a), a);
}

/* Values of the problem, each Q shrunk by n / (n + lambda). */
static void plan_by_hand(double lambda, double q[STAGES][2][2]) {
  double v[2] = {0};
  for (int h = STAGES - 1; h >= 0; h--) {
    for (int s = 0; s < 2; s++)
      for (int a = 0; a < 2; a++) q[h][s][a] = (pay(s, a) + v[a]) * VISITS / (VISITS + lambda);
    for (int s = 0; s < 2; s++) v[s] = fmax(q[h][s][0], q[h][s][1]);
  }
}

static void known_data_give_dynamic_programming(void **state) {
  (void)state;
  const char *const quiet[][2] = {
      {"lmc-lsvi", "agent.beta=inf"},
      {"ms-lmc-lsvi", "agent.beta=inf"},
      {"lsvi-ucb", "agent.bonus=0"},
      {"lsvi-phe", "agent.sigma=0"},
      {"opt-rlsvi", "agent.sigma=0 agent.alpha_low=inf agent.alpha_high=inf"},
  };
  lgv_env_spec spec = make_spec(2, 2, STAGES);
  const double lambdas[] = {1e-9, 1};
  for (int i = 0; i < 5; i++)
    for (int l = 0; l < 2; l++)
      for (int dense = 0; dense < 2; dense++) {
        char extra[200];
        snprintf(extra, sizeof extra, "%s agent.lambda=%g agent.gram=%s", quiet[i][1], lambdas[l],
                 dense ? "dense" : "diagonal");
        lgv_agent *agent = make_agent(quiet[i][0], &spec, extra);
        double expected[STAGES][2][2], exact[STAGES][2][2];
        plan_by_hand(lambdas[l], expected);
        plan_by_hand(0, exact);
        feed_all(agent);
        /* the chains of the theorem's J leave 1/(4HKd) of their start behind each time */
        for (int n = 0; n < 6; n++) begin(agent);
        const double *q = array_of(agent, "lsvi.q");
        for (int k = 0; k < STAGES * 4; k++) {
          assert_true(fabs(q[k] - (&expected[0][0][0])[k]) < 1e-10);
          if (l == 0) assert_true(fabs(q[k] - (&exact[0][0][0])[k]) < 1e-8);
        }
        lgv_agent_free(agent);
      }
}

/* ---- what planners have in common ---- */

static void q_stays_within_what_can_be_paid(void **state) {
  (void)state;
  /* noise that pushes against both bounds, and bonuses that push against the upper one */
  const struct {
    const char *agent, *extra;
    bool both;
  } loud[] = {{"lmc-lsvi", "agent.beta=0.01", true},
              {"ms-lmc-lsvi", "agent.beta=0.01 agent.samples=2", true},
              {"lsvi-ucb", "agent.bonus=3", false},
              {"lsvi-phe", "agent.sigma=5 agent.samples=1", true},
              {"oppo", "agent.bonus=3", false}};
  lgv_env *env = make_env("riverswim", "env.n=4 env.horizon=6");
  for (int i = 0; i < 5; i++) {
    lgv_agent *agent = make_agent(loud[i].agent, lgv_env_get_spec(env), loud[i].extra);
    const double *q = array_of(agent, "lsvi.q");
    int bottom = 0, top = 0, between = 0;
    for (int k = 0; k < 40; k++) {
      play_episode(env, agent);
      for (int h = 0; h < 6; h++)
        for (int j = 0; j < 8; j++) {
          double x = q[h * 8 + j], bound = 6 - h;
          assert_true(x >= 0 && x <= bound);
          bottom += x == 0;
          top += x == bound;
          between += x > 0 && x < bound;
        }
    }
    assert_true(between > 0 && top > 0 && (bottom > 0 || !loud[i].both));
    lgv_agent_free(agent);
  }
  lgv_env_free(env);
}

static void both_paths_take_the_same_steps(void **state) {
  (void)state;
  const char *const pools[] = {"false", "true"};
  for (int i = 0; planners[i]; i++)
    for (int pool = 0; pool < 2; pool++)
      for (uint64_t seed = 1; seed <= 3; seed++) {
        lgv_summary summary[2];
        for (int dense = 0; dense < 2; dense++) {
          char extra[200];
          snprintf(extra, sizeof extra,
                   "env.n=4 env.horizon=8 run.episodes=60 agent.pool=%s agent.gram=%s", pools[pool],
                   dense ? "dense" : "diagonal");
          lgv_plan *plan = make_plan("riverswim", planners[i], extra);
          summary[dense] = run_plan(plan, seed);
          lgv_plan_free(plan);
        }
        if (summary[0].mean_return != summary[1].mean_return ||
            fabs(summary[0].regret - summary[1].regret) > 1e-9)
          fail_msg("%s, pool %s, seed %d: return %.17g and %.17g, regret %.17g and %.17g",
                   planners[i], pools[pool], (int)seed, summary[0].mean_return,
                   summary[1].mean_return, summary[0].regret, summary[1].regret);
      }
}

static void pooling_needs_a_stationary_problem(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 3);
  lgv_error err = {0};
  lgv_agent *agent;
  spec.stationary = false;
  for (int i = 0; i < 8; i++) {
    const char *name = planners[i] ? planners[i] : "psrl";
    lgv_settings *settings = make_settings(NULL, name, "agent.pool=true");
    assert_int_equal(lgv_agent_create(settings, &spec, 10, 0, 1, &agent, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "agent.pool"));
    lgv_settings_free(settings);
    lgv_agent_free(make_agent(name, &spec, "agent.pool=auto"));
  }
}

/* Data of one stage serve all others, and the stages of a sweep after the first still see them. */
static void pooled_stages_share_their_data(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 3);
  const char *const extra = "agent.lambda=0.5 agent.bonus=0.01 agent.pool=true agent.gram=";
  for (int dense = 0; dense < 2; dense++) {
    char text[100];
    snprintf(text, sizeof text, "%s%s", extra, dense ? "dense" : "diagonal");
    lgv_agent *agent = make_agent("lsvi-ucb", &spec, text);
    feed(agent, 1, 0, 0, .5, 1);
    feed(agent, 2, 0, 0, .25, 1);
    begin(agent);
    const double *q = array_of(agent, "lsvi.q");
    double unseen = .01 / sqrt(.5), bonus = .01 / sqrt(2.5), v_next = 0;
    for (int h = 2; h >= 0; h--) {
      assert_true(fabs(q[h * 4] - ((.75 + 2 * v_next) / 2.5 + bonus)) < 1e-12);
      assert_true(fabs(q[h * 4 + 3] - unseen) < 1e-12);
      v_next = unseen; /* state 1 was never left */
    }
    lgv_agent_free(agent);
  }
}

static void dense_matrices_beyond_lapack_are_refused(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(16384, 2, 1);
  lgv_settings *settings = make_settings(NULL, "lsvi-ucb", "agent.gram=dense");
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_agent_create(settings, &spec, 9, 0, 1, &agent, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "32768 features are too many"));
  lgv_settings_free(settings);
}

static void data_outside_the_problem_are_refused(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 2);
  lgv_agent *agent = make_agent("lsvi-ucb", &spec, NULL);
  lgv_error err = {0};
  const lgv_transition wrong[] = {
      {.obs = {.state = 2}, .action = choice(0)},
      {.obs = {.state = -1}, .action = choice(0)},
      {.obs = {.stage = 2}, .action = choice(0)},
      {.obs = {.stage = -1}, .action = choice(0)},
      {.next = {.state = 2}, .action = choice(0)},
      {.next = {.state = -1}, .action = choice(0)},
      {.action = choice(2)},
      {.action = choice(-1)},
  };
  for (int i = 0; i < 8; i++)
    assert_int_equal(lgv_agent_observe(agent, &wrong[i], &err), LGV_ERR_USAGE);
  /* a state that ends the episode has no successor to name */
  const lgv_transition end = {.next = {.state = -1}, .action = choice(0), .terminated = true};
  assert_int_equal(lgv_agent_observe(agent, &end, &err), LGV_OK);
  lgv_agent_free(agent);
  spec.reward_max = 0;
  lgv_settings *settings = make_settings(NULL, "lsvi-ucb", NULL);
  assert_int_equal(lgv_agent_create(settings, &spec, 9, 0, 1, &agent, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "reward_max"));
  lgv_settings_free(settings);
}

/* A reward is refused where it comes in; a sum that is broken nevertheless, where it is used. */
static void a_reward_that_is_not_finite_is_an_error(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 2);
  for (int i = 0; i < 8; i++) {
    lgv_agent *agent = make_agent(planners[i] ? planners[i] : "psrl", &spec, NULL);
    lgv_error err = {0};
    lgv_transition t = {
        .obs = {.state = 0}, .next = {.state = 1}, .action = choice(0), .reward = NAN};
    begin(agent);
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_ERR_NUMERIC);
    feed(agent, 0, 0, 0, 1, 1);
    *(double *)array_of(agent, "lsvi.reward_sum") = NAN; /* of (state 0, action 0) */
    lgv_status status = lgv_agent_begin_episode(agent, &err);
    if (status == LGV_OK) status = lgv_agent_end_episode(agent, &err); /* OPPO evaluates late */
    assert_int_equal(status, LGV_ERR_NUMERIC);
    lgv_agent_free(agent);
  }
}

/* ---- several samples ---- */

static void feed_some(lgv_agent *agent) {
  for (int i = 0; i < 30; i++)
    feed(agent, i % 3, i % 2, (i / 2) % 2, (double)(i % 5) / 4, (i / 3) % 2);
}

static void one_sample_is_lmc_lsvi_bit_for_bit(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 3);
  const char *const ways[] = {"agent.gram=diagonal",
                              "agent.gram=dense",
                              "agent.sampler=loop agent.updates=7",
                              "agent.pool=true",
                              "agent.sampler=sgld agent.updates=7",
                              "agent.sampler=svrg agent.updates=7"};
  for (int i = 0; i < 6; i++) {
    char extra[200];
    snprintf(extra, sizeof extra, "agent.samples=1 %s", ways[i]);
    lgv_agent *single = make_agent("lmc-lsvi", &spec, ways[i]);
    lgv_agent *multi = make_agent("ms-lmc-lsvi", &spec, extra);
    for (int k = 0; k < 5; k++) {
      begin(single);
      begin(multi);
      assert_memory_equal(array_of(single, "w"), array_of(multi, "w"), 12 * sizeof(double));
      assert_memory_equal(array_of(single, "lsvi.q"), array_of(multi, "lsvi.q"),
                          12 * sizeof(double));
      feed_some(single);
      feed_some(multi);
    }
    lgv_agent_free(single);
    lgv_agent_free(multi);
  }
}

/* M chains per stage, each with its own noise and its own memory: without data a step of
 * eta = 1/4 keeps half of the weight that this chain had. */
static void chains_do_not_share_their_weights(void **state) {
  (void)state;
  enum { M = 3, H = 2, D = 4 };
  lgv_env_spec spec = make_spec(2, 2, H);
  lgv_agent *agent = make_agent("ms-lmc-lsvi", &spec,
                                "agent.samples=3 agent.updates=1 agent.lambda=1 agent.beta=1");
  const double *w = array_of(agent, "w");
  double before[H * M * D];
  moments m = {.d = 2}; /* a weight before and after a step */
  for (int i = 0; i < H * M * D; i++) assert_true(w[i] == 0);
  for (int k = 0; k < 4000; k++) {
    memcpy(before, w, sizeof before);
    begin(agent);
    for (int i = 0; i < H * M * D; i++)
      for (int j = 0; j < i; j++) assert_true(w[i] != w[j]);
    if (k > 20) add_sample(&m, (double[]){before[M * D - 1], w[M * D - 1]});
  }
  double kept = sample_cov(&m, 0, 1) / sample_cov(&m, 0, 0);
  assert_true(fabs(kept - .5) < 5 * sqrt(.75 / m.n));
  lgv_agent_free(agent);
}

/* At the last stage the targets do not depend on Q, and the first sweep draws the noise of chain m
 * after that of the chains before it: more chains can only raise the maximum. */
static void more_samples_never_lower_q(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 3);
  const char *const agents[] = {"ms-lmc-lsvi", "lsvi-phe"};
  for (int i = 0; i < 2; i++)
    for (int dense = 0; dense < 2; dense++) {
      double before[4] = {0}, first[4];
      for (int M = 1; M <= 6; M++) {
        char extra[100];
        snprintf(extra, sizeof extra, "agent.lambda=1 agent.samples=%d agent.gram=%s", M,
                 dense ? "dense" : "diagonal");
        lgv_agent *agent = make_agent(agents[i], &spec, extra);
        feed_some(agent);
        begin(agent);
        const double *q = array_of(agent, "lsvi.q") + 2 * 4;
        for (int j = 0; j < 4; j++) assert_true(q[j] >= before[j]);
        memcpy(before, q, sizeof before);
        if (M == 1) memcpy(first, q, sizeof first);
        lgv_agent_free(agent);
      }
      bool risen = false;
      for (int j = 0; j < 4; j++) risen |= before[j] > first[j];
      assert_true(risen);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_cold_chain_with_many_steps_is_the_ridge_solution),
      cmocka_unit_test(an_end_has_no_value),
      cmocka_unit_test(widths_match_the_inverse_and_never_grow),
      cmocka_unit_test(a_tiny_ridge_survives_many_updates),
      cmocka_unit_test(known_data_give_dynamic_programming),
      cmocka_unit_test(q_stays_within_what_can_be_paid),
      cmocka_unit_test(both_paths_take_the_same_steps),
      cmocka_unit_test(pooling_needs_a_stationary_problem),
      cmocka_unit_test(pooled_stages_share_their_data),
      cmocka_unit_test(dense_matrices_beyond_lapack_are_refused),
      cmocka_unit_test(data_outside_the_problem_are_refused),
      cmocka_unit_test(a_reward_that_is_not_finite_is_an_error),
      cmocka_unit_test(one_sample_is_lmc_lsvi_bit_for_bit),
      cmocka_unit_test(chains_do_not_share_their_weights),
      cmocka_unit_test(more_samples_never_lower_q),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
