/* Deep agents on images: the convolutional network, stacks of pictures, and the atari presets. */
#include "deep_helpers.h"
#include "picture_world.h"

#include <stdio.h>

static lgv_plan *plan_for(const char *agent, const char *extra) {
  return picture_plan("pictures", agent, extra);
}

static void every_agent_with_a_network_takes_images(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    if (!lgv__agents[i]->presets || takes_box(lgv__agents[i])) continue;
    bool has_cells = strcmp(lgv__agents[i]->name, "pathwise-lmcdqn") == 0;
    char text[200];
    snprintf(text, sizeof text,
             "%s agent.hidden=8 agent.batch=4 agent.update_every=10 run.steps=90 run.eval_every=45",
             has_cells ? "agent.cells=60" : "agent.replay=60 agent.warmup=20");
    lgv_plan *plan = plan_for(lgv__agents[i]->name, text);
    lgv_error err = {0};
    assert_int_equal(lgv_plan_get(plan, "agent.preset", text, sizeof text, &err), LGV_OK);
    assert_string_equal(text, lgv__agents[i]->presets[1].name);
    assert_int_equal(lgv_plan_get(plan, "agent.net", text, sizeof text, &err), LGV_OK);
    assert_string_equal(text, strcmp(lgv__agents[i]->presets[1].name, "pictures") == 0 ? "conv"
                                                                                       : "nature");
    lgv_summary first = run_plan(plan, 1), second = run_plan(plan, 1);
    assert_true(first.finished && first.steps == 90);
    assert_true(first.mean_return == second.mean_return);
    lgv_plan_free(plan);
  }
}

/* Texts that are numbers are compared as numbers. */
static void check_value(const lgv_plan *plan, const char *agent, const char *key,
                        const char *expected) {
  char text[64], *end, *expected_end;
  lgv_error err = {0};
  if (lgv_plan_get(plan, key, text, sizeof text, &err) != LGV_OK)
    fail_msg("%s: %s", agent, err.message);
  double got = strtod(text, &end), want = strtod(expected, &expected_end);
  bool numbers = !*end && !*expected_end;
  if (numbers ? got != want : strcmp(text, expected) != 0)
    fail_msg("%s: %s is %s, not %s", agent, key, text, expected);
}

/* The loop of Ishfaq et al. (ICLR 2024), as their program has it: 10 steps and an update in turn
 * after 32 greedy steps (dqn_core.h says when the target network is copied). */
static void check_published_loop(const char *agent, const char *const (*own)[2], size_t count) {
  static const char *const loop[][2] = {
      {"agent.net", "nature"},       {"agent.hidden", "512"},      {"agent.scale_input", "false"},
      {"agent.loss", "mse"},         {"agent.n_step", "3"},        {"agent.gamma", "0.99"},
      {"agent.double", "true"},      {"agent.replay", "1000000"},  {"agent.batch", "32"},
      {"agent.warmup", "32"},        {"agent.update_every", "10"}, {"agent.updates", "1"},
      {"agent.target_every", "500"}, {"optim.lr", "1e-4"},         {"optim.l2", "0"},
      {"optim.compensated", "false"}};
  lgv_plan *plan = plan_for(agent, "agent.preset=atari"); /* Langevin agents call it authors */
  for (size_t i = 0; i < sizeof loop / sizeof *loop; i++)
    check_value(plan, agent, loop[i][0], loop[i][1]);
  for (size_t i = 0; i < count; i++) check_value(plan, agent, own[i][0], own[i][1]);
  lgv_plan_free(plan);
}

#define CHECK_PUBLISHED_LOOP(agent, ...)                                                           \
  do {                                                                                             \
    static const char *const own[][2] = {__VA_ARGS__};                                             \
    check_published_loop(agent, own, sizeof own / sizeof *own);                                    \
  } while (0)

/* 1/sqrt(beta) is the noise scale of their settings: 1e-8. */
static void the_authors_preset_is_the_published_loop(void **state) {
  (void)state;
  CHECK_PUBLISHED_LOOP("adam-lmcdqn", {"agent.preset", "authors"}, {"optim.name", "asgld"},
                       {"optim.form", "code"}, {"optim.a", "0.1"}, {"optim.beta", "1e16"},
                       {"optim.alpha1", "0.9"}, {"optim.alpha2", "0.999"}, {"optim.eps", "1e-8"},
                       {"agent.epsilon_start", "0"}, {"agent.epsilon_end", "0"},
                       {"agent.average", "0"}, {"agent.final_lr", "1"});
  CHECK_PUBLISHED_LOOP("langevin-dqn", {"optim.name", "langevin-adam"}, {"optim.beta", "1e16"},
                       {"optim.alpha1", "0.9"}, {"optim.alpha2", "0.999"}, {"optim.eps", "1e-8"},
                       {"agent.epsilon_start", "0"}, {"agent.epsilon_end", "0"},
                       {"agent.average", "0"}, {"agent.final_lr", "1"});
  CHECK_PUBLISHED_LOOP("noisynet-dqn", {"optim.name", "adam"}, {"optim.alpha1", "0.9"},
                       {"optim.alpha2", "0.999"}, {"optim.eps", "1e-8"}, {"agent.sigma0", "0.5"});
  CHECK_PUBLISHED_LOOP("bootstrapped-dqn", {"optim.name", "adam"}, {"optim.eps", "1e-8"},
                       {"agent.heads", "10"}, {"agent.members", "heads"},
                       {"agent.prior_scale", "1"}, {"agent.mask", "1"}, {"agent.eval", "sample"},
                       {"agent.epsilon_start", "1"}, {"agent.epsilon_end", "0.05"},
                       {"agent.epsilon_steps", "1000000"}, {"agent.epsilon_eval", "0"});
  CHECK_PUBLISHED_LOOP("dqn", {"optim.name", "adam"}, {"optim.eps", "1e-8"},
                       {"agent.epsilon_start", "1"}, {"agent.epsilon_end", "0.05"},
                       {"agent.epsilon_steps", "1000000"}, {"agent.epsilon_eval", "0"});
}

/* A preset's convolutions are for the network that it chooses. */
static void a_network_of_the_users_choice_has_its_own_convolutions(void **state) {
  (void)state;
  static const char *const agents[] = {"adam-lmcdqn", "pathwise-lmcdqn"};
  for (size_t i = 0; i < sizeof agents / sizeof *agents; i++) {
    lgv_plan *plan = plan_for(agents[i], "agent.net=nature");
    check_value(plan, agents[i], "agent.preset", "pictures");
    check_value(plan, agents[i], "agent.net", "nature");
    check_value(plan, agents[i], "agent.conv", "32x8s4,64x4s2,64x3s1");
    lgv_plan_free(plan);
    plan = plan_for(agents[i], "agent.conv=8x8s4");
    check_value(plan, agents[i], "agent.net", "conv");
    check_value(plan, agents[i], "agent.conv", "8x8s4");
    lgv_plan_free(plan);
  }
}

/* The authors' program for Atari (Li et al., ICML 2024), as far as the agent has such parameters.
 */
static void the_atari_preset_of_hyperagent_is_published(void **state) {
  (void)state;
  static const char *const published[][2] = {
      {"agent.net", "nature"},  {"agent.hidden", "256"},     {"agent.n_step", "5"},
      {"agent.gamma", "0.99"},  {"agent.double", "true"},    {"agent.replay", "100000"},
      {"agent.batch", "32"},    {"agent.warmup", "2000"},    {"agent.update_every", "1"},
      {"agent.updates", "1"},   {"agent.target_every", "5"}, {"agent.grad_clip", "10"},
      {"agent.index_dim", "4"}, {"agent.indices", "20"},     {"agent.prior_scale", "0.1"},
      {"agent.sigma", "0.01"},  {"agent.eval", "sample"},    {"optim.name", "adam"},
      {"optim.lr", "1e-4"},     {"optim.eps", "1.5e-4"}};
  lgv_plan *plan = plan_for("hyperagent", "");
  for (size_t i = 0; i < sizeof published / sizeof *published; i++)
    check_value(plan, "hyperagent", published[i][0], published[i][1]);
  lgv_plan_free(plan);
}

/* DQN Zoo (Quan, Ostrovski, 2020). A step is four frames and an update four steps, so that 40,000
 * frames between copies to the target network are 2500 updates. NULL: not asked, or the agent has
 * no such parameter. */
static void the_presets_of_the_baselines_are_dqn_zoo(void **state) {
  (void)state;
  enum { AGENTS = 6 };
  static const char *const agents[AGENTS] = {"dqn", "double-dqn", "prioritized-dqn",
                                             "c51", "qr-dqn",     "iqn"};
  static const struct {
    const char *key, *value[AGENTS];
  } zoo[] = {
      {"agent.warmup", {"50000", "50000", "50000", "50000", "50000", "20000"}},
      {"agent.target_every", {"2500", "7500", "7500", "2500", "2500", "2500"}},
      {"agent.double", {"false", "true", "true", "false", "false", "false"}},
      {"agent.epsilon_end", {"0.1", "0.01", "0.01", "0.01", "0.01", "0.01"}},
      {"agent.epsilon_eval", {"0.05", "0.01", "0.01", "0.001", "0.001", "0.001"}},
      {"optim.name", {"rmsprop", "rmsprop", "rmsprop", "adam", "adam", "adam"}},
      {"optim.lr", {"2.5e-4", "2.5e-4", "6.25e-5", "2.5e-4", "5e-5", "5e-5"}},
      {"optim.eps",
       {"9.765625e-6", "9.765625e-6", "6.103515625e-7", "3.125e-4", "3.125e-4", "3.125e-4"}},
      {"optim.alpha2", {"0.95", "0.95", "0.95", "0.999", "0.999", "0.999"}},
      {"agent.shared_bias", {"false", "true", "true"}},
      {"agent.prioritized", {"false", "false", "true", "false", "false", "false"}},
      {"agent.priority_alpha", {NULL, NULL, "0.6"}},
      {"agent.priority_beta", {NULL, NULL, "0.4"}},
      {"agent.priority_beta_end", {NULL, NULL, "1"}},
      {"agent.priority_beta_steps", {NULL, NULL, "49950000"}}, /* 50,000 to 50 million */
      {"agent.priority_uniform", {NULL, NULL, "0.001"}},
      {"agent.loss", {"huber", "huber", "huber"}},
      {"agent.grad_clip", {NULL, NULL, NULL, "10", "10", "0"}},
      {"agent.atoms", {NULL, NULL, NULL, "51"}},
      {"agent.v_min", {NULL, NULL, NULL, "-10"}},
      {"agent.v_max", {NULL, NULL, NULL, "10"}},
      {"agent.quantiles", {NULL, NULL, NULL, NULL, "201"}},
      {"agent.kappa", {NULL, NULL, NULL, NULL, "1", "1"}},
      {"agent.cosines", {NULL, NULL, NULL, NULL, NULL, "64"}},
      {"agent.taus", {NULL, NULL, NULL, NULL, NULL, "64"}},
      {"agent.taus_act", {NULL, NULL, NULL, NULL, NULL, "64"}},
  };
  static const char *const common[][2] = {{"agent.replay", "1000000"},
                                          {"agent.batch", "32"},
                                          {"agent.update_every", "4"},
                                          {"agent.updates", "1"},
                                          {"agent.n_step", "1"},
                                          {"agent.gamma", "0.99"},
                                          {"agent.scale_input", "true"},
                                          {"agent.hidden", "512"},
                                          {"agent.net", "nature"},
                                          {"agent.epsilon_start", "1"},
                                          {"agent.epsilon_steps", "1000000"}};
  for (int a = 0; a < AGENTS; a++) {
    lgv_plan *plan = plan_for(agents[a], a == 0 ? "agent.preset=zoo" : "");
    for (size_t i = 0; i < sizeof zoo / sizeof *zoo; i++)
      if (zoo[i].value[a]) check_value(plan, agents[a], zoo[i].key, zoo[i].value[a]);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
      check_value(plan, agents[a], common[i][0], common[i][1]);
    lgv_plan_free(plan);
  }
}

/* Without looking nothing is gained: any fixed action has 0 an episode on average, looking has 6.
 */
static void dqn_learns_from_pictures(void **state) {
  (void)state;
  lgv_plan *plan = plan_for(
      "dqn", "agent.preset=zoo agent.replay=2000 agent.warmup=200 agent.hidden=16 agent.batch=16 "
             "agent.update_every=2 agent.target_every=50 agent.epsilon_steps=600 "
             "agent.epsilon_eval=0 optim.name=adam optim.lr=1e-3 agent.gamma=0.5 "
             "run.steps=1500 run.eval_every=100 run.eval_episodes=4");
  assert_true(run_plan(plan, 1).final_return > 4);
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_agent_with_a_network_takes_images),
      cmocka_unit_test(the_authors_preset_is_the_published_loop),
      cmocka_unit_test(a_network_of_the_users_choice_has_its_own_convolutions),
      cmocka_unit_test(the_atari_preset_of_hyperagent_is_published),
      cmocka_unit_test(the_presets_of_the_baselines_are_dqn_zoo),
      cmocka_unit_test(dqn_learns_from_pictures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
