/* The bandit agents are the algorithms whose names they bear: LinUCB against one written out from
 * explicit sums, Thompson sampling against the agents of LSVI whose loops they share; and they
 * learn. */
#include "env/env.h"
#include "linear_helpers.h"

enum { ARMS = 5, D = 4, ROUNDS = 300 };

static const char problem[] = "env.arms=5 env.dim=4 env.contexts=7 env.noise=0.2";

typedef struct table {
  lgv_env *env;
  lgv_agent *agent;
} table;

/* range: of the rewards that the agent is told, or 0 for the environment's. */
static table sit_down(const char *agent, const char *extra, double range) {
  char all[512];
  table t;
  lgv_error err = {0};
  snprintf(all, sizeof all, "%s %s", problem, extra);
  lgv_settings *settings = make_settings("bandit", agent, all);
  assert_int_equal(lgv_env_create(settings, 1, &t.env, &err), LGV_OK);
  lgv_env_spec spec = *lgv_env_get_spec(t.env);
  if (range > 0) spec.reward_min = -range, spec.reward_max = range;
  if (lgv_agent_create(settings, &spec, ROUNDS, 0, 3, &t.agent, &err) != LGV_OK)
    fail_msg("%s: %s", agent, err.message);
  lgv_settings_free(settings);
  return t;
}

static void leave(table *t) {
  lgv_agent_free(t->agent);
  lgv_env_free(t->env);
}

typedef struct pulled {
  int64_t context;
  int32_t arm;
  double reward;
} pulled;

static pulled play_round(table *t) {
  lgv_error err = {0};
  lgv_obs obs, next;
  lgv_outcome outcome;
  lgv_action action;
  assert_int_equal(lgv_env_reset(t->env, &obs, &err), LGV_OK);
  assert_int_equal(lgv_agent_begin_episode(t->agent, &err), LGV_OK);
  assert_int_equal(lgv_agent_act(t->agent, &obs, LGV_TRAIN, &action, &err), LGV_OK);
  assert_int_equal(lgv_env_step(t->env, &action, &outcome, &next, &err), LGV_OK);
  lgv_transition step = {obs, next, &action, outcome.reward, outcome.terminated, false};
  assert_int_equal(lgv_agent_observe(t->agent, &step, &err), LGV_OK);
  assert_int_equal(lgv_agent_end_episode(t->agent, &err), LGV_OK);
  return (pulled){obs.state, action.choice, outcome.reward};
}

/* argmax_a phi^T w + bonus sqrt(phi^T Lambda^-1 phi), from the sums themselves. The greatest value
 * must be unique, so that ties decide nothing. */
static int32_t lin_ucb(const matrix *gram, const double *b, const double *phi, double bonus) {
  matrix inverted = inverse(gram, D);
  double w[D], best = -INFINITY;
  int32_t arm = -1;
  apply(&inverted, b, w, D);
  for (int32_t a = 0; a < ARMS; a++, phi += D) {
    double value = 0, width = 0, z[D];
    apply(&inverted, phi, z, D);
    for (int i = 0; i < D; i++) {
      value += phi[i] * w[i];
      width += phi[i] * z[i];
    }
    value += bonus * sqrt(width);
    assert_true(fabs(value - best) > 1e-9);
    if (value > best) arm = a;
    best = fmax(best, value);
  }
  return arm;
}

/* From the second round on: in the first one all widths are equal. */
static void lin_ucb_is_lin_ucb(void **state) {
  (void)state;
  const double lambda = 0.7, bonus = 1.3;
  table t = sit_down("lin-ucb", "agent.lambda=0.7 agent.bonus=1.3", 0);
  const double *features = lgv_env_get_spec(t.env)->features;
  matrix gram = {0};
  double b[D] = {0};
  int others = 0;
  for (int i = 0; i < D; i++) gram.at[i][i] = lambda;
  for (int round = 0; round < ROUNDS; round++) {
    pulled p = play_round(&t);
    const double *phi = features + p.context * ARMS * D;
    if (round > 0) {
      assert_int_equal(p.arm, lin_ucb(&gram, b, phi, bonus));
      others += p.arm != lin_ucb(&gram, b, phi, 1e-3);
    }
    phi += p.arm * D;
    for (int i = 0; i < D; i++) {
      b[i] += phi[i] * p.reward;
      for (int j = 0; j < D; j++) gram.at[i][j] += phi[i] * phi[j];
    }
  }
  assert_true(others > 20); /* the bonus matters */
  leave(&t);
}

/* Two agents on the same rewards: returns in how many rounds they chose differently. */
static int differences(table a, table b) {
  int count = 0;
  for (int round = 0; round < ROUNDS; round++) {
    pulled p = play_round(&a), q = play_round(&b);
    count += p.arm != q.arm;
  }
  leave(&a);
  leave(&b);
  return count;
}

static void lin_ts_is_rlsvi(void **state) {
  (void)state;
  const char *same = "agent.lambda=2 agent.sigma=0.3";
  assert_int_equal(differences(sit_down("lin-ts", same, 0), sit_down("rlsvi", same, 0)), 0);
  const char *other = "agent.lambda=2 agent.sigma=3";
  assert_true(differences(sit_down("lin-ts", same, 0), sit_down("rlsvi", other, 0)) > 0);
}

/* Where rewards are so widely bounded that nothing is clipped, lmc-ts is lmc-lsvi with every
 * sampler; where samples exceed the bounds, the clip of lmc-lsvi makes a difference. */
static void lmc_ts_is_lmc_lsvi_without_the_clip(void **state) {
  (void)state;
  const char *const samplers[] = {"exact", "loop", "sgld", "svrg"};
  for (int i = 0; i < 4; i++) {
    char same[128];
    snprintf(same, sizeof same, "agent.lambda=0.5 agent.beta=1 agent.updates=20 agent.sampler=%s",
             samplers[i]);
    assert_int_equal(differences(sit_down("lmc-ts", same, 1e6), sit_down("lmc-lsvi", same, 1e6)),
                     0);
    assert_true(differences(sit_down("lmc-ts", same, 0.1), sit_down("lmc-lsvi", same, 0.1)) > 0);
  }
}

static void lin_ucb_does_not_clip(void **state) {
  (void)state;
  const char *same = "agent.lambda=0.5 agent.bonus=2";
  assert_int_equal(differences(sit_down("lin-ucb", same, 1e6), sit_down("lsvi-ucb", same, 1e6)), 0);
  assert_true(differences(sit_down("lin-ucb", same, 0.1), sit_down("lsvi-ucb", same, 0.1)) > 0);
}

/* Regret over 1,000 rounds, as a share of that of uniform play. */
static double regret_share(const char *agent, const char *extra) {
  char all[512];
  snprintf(all, sizeof all, "%s run.episodes=1000 run.eval_every=0 %s", problem, extra);
  lgv_plan *plan = make_plan("bandit", agent, all);
  lgv_env *env;
  lgv_error err = {0};
  lgv_settings *settings = make_settings("bandit", NULL, problem);
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  const lgv_model *m = lgv_env_get_model(env);
  double uniform = 0, values[2 * 7], policy[7 * ARMS];
  lgv_model_optimal(m, values);
  for (int i = 0; i < 7 * ARMS; i++) policy[i] = 1.0 / ARMS;
  uniform = lgv_model_start_mean(m, values);
  lgv_model_evaluate(m, policy, values);
  uniform -= lgv_model_start_mean(m, values);
  double regret = run_plan(plan, 5).regret / (1000 * uniform);
  lgv_env_free(env);
  lgv_settings_free(settings);
  lgv_plan_free(plan);
  return regret;
}

static void they_learn(void **state) {
  (void)state;
  const char *const agents[] = {"lmc-ts", "lin-ts", "lin-ucb"};
  for (int i = 0; i < 3; i++) {
    double linear = regret_share(agents[i], ""),
           logistic = regret_share(agents[i], "env.kind=logistic env.norm=5");
    if (!(linear < 0.1 && logistic < 0.2))
      fail_msg("%s: %g of uniform play's regret, logistic %g", agents[i], linear, logistic);
  }
}

/* The same contexts as states with features, and as observations whose rows are the features: the
 * choices are the same, but for the rounding of floats, with the agents' own defaults, too.
 * (lin-ucb begins with a tie, which rounding breaks.) */
static void rows_are_the_features(void **state) {
  (void)state;
  const char *const pairs[][2] = {{"lmc-ts", "agent.lambda=0.7 agent.beta=8"},
                                  {"lin-ts", "agent.lambda=2 agent.sigma=0.5"},
                                  {"lmc-ts", ""},
                                  {"lin-ts", ""}};
  for (int i = 0; i < 4; i++) {
    char rows[256];
    snprintf(rows, sizeof rows, "%s agent.features=rows", pairs[i][1]);
    int apart = differences(sit_down(pairs[i][0], pairs[i][1], 0), sit_down(pairs[i][0], rows, 0));
    if (apart > 5) fail_msg("%s %s: %d choices differ", pairs[i][0], pairs[i][1], apart);
  }
}

/* New contexts in every episode: no states, and the agents learn all the same. */
static void new_contexts_can_be_learned(void **state) {
  (void)state;
  const char *const agents[] = {"lmc-ts", "lin-ts", "lin-ucb"};
  for (int i = 0; i < 3; i++) {
    lgv_plan *plan = make_plan("bandit", agents[i],
                               "env.arms=5 env.dim=4 env.contexts=0 env.noise=0.2 "
                               "agent.features=rows run.episodes=400");
    double regret = run_plan(plan, 2).regret; /* uniform play: 0.58 per episode */
    if (!(regret > 0 && regret < 40)) fail_msg("%s: regret %g", agents[i], regret);
    lgv_plan_free(plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lin_ucb_is_lin_ucb),
      cmocka_unit_test(lin_ts_is_rlsvi),
      cmocka_unit_test(lmc_ts_is_lmc_lsvi_without_the_clip),
      cmocka_unit_test(lin_ucb_does_not_clip),
      cmocka_unit_test(they_learn),
      cmocka_unit_test(rows_are_the_features),
      cmocka_unit_test(new_contexts_can_be_learned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
