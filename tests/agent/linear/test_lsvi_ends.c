/* How linear agents treat the end of an episode: a task that ended has no value beyond, a clock
 * that ran out says nothing about the task. Both can happen at the last stage, where the flags may
 * not tell them apart. Also: problems whose rewards are constant. */
#include "linear_helpers.h"

static const char *const agents[] = {"lmc-lsvi",  "ms-lmc-lsvi", "lsvi-ucb", "lsvi-phe",
                                     "opt-rlsvi", "oppo",        "rlsvi",    "psrl"};
enum { AGENTS = sizeof agents / sizeof *agents };

static const char *const pools[] = {"agent.pool=false", "agent.pool=true"};

/* ---- one state: "stay" pays .3, "end" pays .5 and ends the task ---- */

enum { STAY, END };

/* How an environment reports what happens at the last stage: a clock that ran out, and a task that
 * ended at the same moment. known: the spec says that the clock only truncates. */
typedef struct reports {
  const char *name;
  bool known, clock_terminates, clock_truncates, end_truncates;
} reports;

static const reports ways[] = {
    {"the clock truncates", true, false, true, false},
    {"the clock truncates, an end as well", true, false, true, true},
    {"the clock truncates, unknown to the spec", false, false, true, false},
    {"the clock terminates", false, true, false, false},
    {"the clock sets both flags", false, true, true, false},
    {"the clock and an end set both flags", false, true, true, true},
};
enum { WAYS = sizeof ways / sizeof *ways, LAST = 1 };

static bool step(const reports *way, lgv_agent *agent, int64_t stage) {
  lgv_error err = {0};
  lgv_action action;
  lgv_transition t = {.obs = {.stage = stage}, .next = {.stage = stage + 1}, .action = &action};
  assert_int_equal(lgv_agent_act(agent, &t.obs, LGV_TRAIN, &action, &err), LGV_OK);
  bool ends = action.choice == END;
  t.reward = ends ? .5 : .3;
  t.terminated = ends || (stage == LAST && way->clock_terminates);
  t.truncated = stage == LAST && (ends ? way->end_truncates : way->clock_truncates);
  assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
  return !t.terminated && !t.truncated;
}

static double stay_probability(const lgv_agent *agent, int64_t stage) {
  double p[2];
  lgv_error err = {0};
  const lgv_obs obs = {.stage = stage};
  assert_int_equal(lgv_agent_policy(agent, &obs, p, &err), LGV_OK);
  return p[STAY];
}

static double regret_of(const reports *way, const char *name, const char *extra, int episodes) {
  lgv_env_spec spec = make_spec(1, 2, LAST + 1);
  spec.clock_truncates = way->known;
  lgv_agent *agent = make_agent(name, &spec, extra);
  lgv_error err = {0};
  double regret = 0;
  for (int k = 0; k < episodes; k++) {
    begin(agent);
    double first = stay_probability(agent, 0), last = stay_probability(agent, LAST);
    regret += .8 - (first * (.3 + last * .3 + (1 - last) * .5) + (1 - first) * .5);
    for (int64_t stage = 0; step(way, agent, stage); stage++) continue;
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
  lgv_agent_free(agent);
  return regret;
}

static void an_end_at_the_last_stage_is_an_end(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++)
    for (int agent = 0; agent < AGENTS; agent++)
      for (int pool = 0; pool < 2; pool++) {
        double regret = regret_of(&ways[way], agents[agent], pools[pool], 4000);
        if (!(regret < 10))
          fail_msg("%s, %s, %s: regret %g", agents[agent], pools[pool], ways[way].name, regret);
      }
}

static void dense_features_agree(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++)
    for (int agent = 0; agent < AGENTS - 1; agent++) /* psrl has no features */
      assert_true(regret_of(&ways[way], agents[agent], "agent.pool=true agent.gram=dense", 1000) <
                  10);
}

/* Where the clock may terminate, the last stage uses all data, and the others only those of stages
 * before the last; minibatches are drawn from the same. */
static void an_unknown_next_state_is_used_at_the_last_stage_only(void **state) {
  (void)state;
  enum { STAGES = 3, NUMBERS_PER_SAMPLE = 3 };
  lgv_env_spec spec = make_spec(1, 2, STAGES);
  spec.clock_truncates = false;
  bench *b = bench_open_spec(
      spec, (lmc_params){.lsvi = {.lambda = 1, .pool = LSVI_POOL_TRUE}, .sampler = LMC_SGLD});
  for (int64_t stage = 0; stage < STAGES; stage++)
    bench_add(b, stage, 0, stage == STAGES - 1, .5, 0);
  const int64_t *before_last = b->core.visits, *all = b->core.visits + b->core.SA;
  assert_int_equal(b->core.groups, 2);
  assert_true(before_last[0] == 2 && before_last[1] == 0 && all[0] == 2 && all[1] == 1);
  assert_int_equal(b->chain.samples[0].count, 2 * NUMBERS_PER_SAMPLE);
  assert_int_equal(b->chain.samples[1].count, 3 * NUMBERS_PER_SAMPLE);
  for (int64_t h = 0; h < STAGES; h++) assert_int_equal(lgv__lsvi_group(&b->core, h), h == 2);
  bench_close(b);
}

/* A task that has ended may have no next state, at the last stage as before it. */
static void an_end_needs_no_next_state(void **state) {
  (void)state;
  for (int known = 0; known < 2; known++)
    for (int64_t stage = 0; stage <= LAST; stage++) {
      lgv_env_spec spec = make_spec(1, 2, LAST + 1);
      spec.clock_truncates = known;
      lgv_agent *agent = make_agent("psrl", &spec, NULL);
      lgv_error err = {0};
      lgv_transition t = {
          .obs = {.stage = stage}, .next = {.state = -1}, .action = choice(0), .truncated = true};
      assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_ERR_USAGE);
      t.terminated = true;
      assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
      lgv_agent_free(agent);
    }
}

/* ---- models as environments ---- */

typedef struct model_case {
  int64_t states, horizon;
  double reward[3][2];
  int64_t next[3][2];
} model_case;

static lgv_model *make_model(const model_case *of) {
  lgv_model *m;
  lgv_error err = {0};
  assert_int_equal(lgv_model_create(of->states, 2, of->horizon, true, &m, &err), LGV_OK);
  for (int64_t s = 0; s < of->states; s++)
    for (int32_t a = 0; a < 2; a++) {
      assert_int_equal(lgv_model_add(m, 0, s, a, of->next[s][a], 1, &err), LGV_OK);
      lgv_model_set_reward(m, 0, s, a, of->reward[s][a]);
    }
  lgv_model_set_start(m, 0, 1);
  assert_int_equal(lgv_model_seal(m, &err), LGV_OK);
  return m;
}

static double policy_value(const lgv_model *m, const lgv_agent *agent, int64_t S, int64_t H) {
  double policy[100], values[100];
  lgv_error err = {0};
  for (int64_t h = 0; h < H; h++)
    for (int64_t s = 0; s < S; s++) {
      const lgv_obs obs = {.state = s, .stage = h};
      assert_int_equal(lgv_agent_policy(agent, &obs, policy + (h * S + s) * 2, &err), LGV_OK);
    }
  lgv_model_evaluate(m, policy, values);
  return lgv_model_start_mean(m, values);
}

static double model_regret(const model_case *of, const char *name, const char *extra,
                           int episodes) {
  lgv_model *m = make_model(of);
  lgv_env *env;
  lgv_error err = {0};
  double best[100], regret = 0;
  assert_int_equal(lgv_env_from_model(m, NULL, 0, 1, &env, &err), LGV_OK);
  lgv_agent *agent = make_agent(name, lgv_env_get_spec(env), extra);
  lgv_model_optimal(m, best);
  for (int k = 0; k < episodes; k++) {
    play_episode(env, agent);
    regret += lgv_model_start_mean(m, best) - policy_value(m, agent, of->states, of->horizon);
  }
  lgv_agent_free(agent);
  lgv_env_free(env);
  lgv_model_free(m);
  return regret;
}

static void check_models(const model_case *of, const char *what, double bound) {
  for (int agent = 0; agent < AGENTS; agent++)
    for (int pool = 0; pool < 2; pool++) {
      double regret = model_regret(of, agents[agent], pools[pool], 1000);
      if (!(regret < bound))
        fail_msg("%s: %s, %s: regret %g", what, agents[agent], pools[pool], regret);
    }
}

static void a_model_as_environment(void **state) {
  (void)state;
  const model_case one_state = {1, 2, {{.3, .5}}, {{0, LGV_END}}};
  check_models(&one_state, "stay or end", 10);
}

/* The data of the last stage count there even though their next state is unknown. */
static void what_only_the_last_stage_meets_is_learned(void **state) {
  (void)state;
  const model_case two_states = {2, 2, {{0, 0}, {0, 1}}, {{1, 1}, {1, 1}}};
  check_models(&two_states, "a state of the last stage", 10);
}

/* Every step costs 1 until the end, three steps away; every step pays 1 until an end; nothing pays.
 * An agent that learned nothing would lose more than 1 per episode, 1000 in all. */
static void constant_rewards(void **state) {
  (void)state;
  const model_case shortest_path = {
      3, 6, {{-1, -1}, {-1, -1}, {-1, -1}}, {{1, 0}, {0, 2}, {LGV_END, 0}}};
  const model_case stay_alive = {
      3, 6, {{1, 1}, {1, 1}, {1, 1}}, {{1, LGV_END}, {LGV_END, 2}, {0, LGV_END}}};
  const model_case nothing = {1, 3, {{0, 0}}, {{0, 0}}};
  check_models(&shortest_path, "r = -1", 100);
  check_models(&stay_alive, "r = 1", 100);
  check_models(&nothing, "r = 0", 1);
}

static void an_unknown_range_of_rewards_is_refused(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(2, 2, 3);
  spec.reward_max = 0;
  lgv_settings *settings = make_settings(NULL, "lsvi-ucb", NULL);
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_agent_create(settings, &spec, 100, 0, 1, &agent, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "env.reward_min"));
  spec.reward_min = spec.reward_max = -1; /* the remedy */
  assert_int_equal(lgv_agent_create(settings, &spec, 100, 0, 1, &agent, &err), LGV_OK);
  lgv_agent_free(agent);
  lgv_settings_free(settings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_end_at_the_last_stage_is_an_end),
      cmocka_unit_test(dense_features_agree),
      cmocka_unit_test(an_unknown_next_state_is_used_at_the_last_stage_only),
      cmocka_unit_test(an_end_needs_no_next_state),
      cmocka_unit_test(a_model_as_environment),
      cmocka_unit_test(what_only_the_last_stage_meets_is_learned),
      cmocka_unit_test(constant_rewards),
      cmocka_unit_test(an_unknown_range_of_rewards_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
