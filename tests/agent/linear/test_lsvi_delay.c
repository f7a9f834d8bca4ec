/* Delayed feedback: an agent with agent.delay = D knows at episode k what one without delay knows
 * at episode k - D. Both are fed with the same episodes by hand, so that their data can be
 * compared. */
#include "linear_helpers.h"
#include "registry.h"

enum { H = 3, STATES = 4, EPISODES = 12 };

static const lgv_env_spec spec = {.size = sizeof(lgv_env_spec),
                                  .obs_shape = {1, 1, 1},
                                  .actions = {.count = 2},
                                  .states = STATES,
                                  .horizon = H,
                                  .reward_max = 1};

/* Episode k; every second one ends early. */
static void scripted_episode(lgv_agent *agent, int k) {
  lgv_error err = {0};
  int length = k % 2 ? H : 2;
  assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
  for (int h = 0; h < length; h++) {
    lgv_transition t = {.obs = {.state = (k + h) % STATES, .stage = h},
                        .next = {.state = (k + 2 * h + 1) % STATES, .stage = h + 1},
                        .action = choice((k / 2 + h) % 2),
                        .reward = 0.1 * (k % 7) + 0.05 * h,
                        .terminated = h + 1 == length};
    lgv_action action;
    assert_int_equal(lgv_agent_act(agent, &t.obs, LGV_TRAIN, &action, &err), LGV_OK);
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
  }
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
}

static void assert_same(const lgv_agent *a, const lgv_agent *b, const char *name, size_t size) {
  size_t n, m;
  const void *x = agent_array(a, name, &n), *y = agent_array(b, name, &m);
  assert_true(n == m);
  assert_memory_equal(x, y, n * size);
}

static void check(const char *agent, const char *extra, int delay) {
  char all[256];
  snprintf(all, sizeof all, "%s agent.delay=%d", extra, delay);
  lgv_agent *late = make_agent(agent, &spec, all), *prompt = make_agent(agent, &spec, extra);
  for (int k = 0; k < EPISODES; k++) {
    scripted_episode(late, k);
    if (k >= delay) scripted_episode(prompt, k - delay);
    assert_same(late, prompt, "lsvi.visits", sizeof(int64_t));
    assert_same(late, prompt, "lsvi.reward_sum", sizeof(double));
    if (strstr(extra, "svrg")) assert_same(late, prompt, "lmc.samples", sizeof(double));
  }
  lgv_agent_free(late);
  lgv_agent_free(prompt);
}

static void data_arrive_later(void **state) {
  (void)state;
  for (int delay = 0; delay <= 5; delay++) {
    for (size_t a = 0; lgv__agents[a]; a++)
      if (lgv__agents[a]->traits & LGV_NEEDS_STATES) check(lgv__agents[a]->name, "", delay);
    check("lmc-lsvi", "agent.sampler=svrg agent.updates=2", delay);
    check("lsvi-ucb", "agent.gram=dense", delay);
  }
}

/* Regret grows with the delay. */
static void delay_costs_regret(void **state) {
  (void)state;
  double last = 0;
  for (int delay = 0; delay <= 400; delay += 200) {
    char extra[128];
    snprintf(extra, sizeof extra, "run.episodes=1000 agent.delay=%d", delay);
    lgv_plan *plan = make_plan("bandit", "lin-ts", extra);
    double regret = run_plan(plan, 1).regret;
    assert_true(regret > last + (delay ? 20 : 0));
    last = regret;
    lgv_plan_free(plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(data_arrive_later),
      cmocka_unit_test(delay_costs_regret),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
