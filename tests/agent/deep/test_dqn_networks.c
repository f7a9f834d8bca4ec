/* Deep agents with other networks than the default: convolutions for small pictures, layer
 * normalization and dueling outputs, over every form of observation. */
#include "choice.h"
#include "deep_helpers.h"
#include "picture_world.h"

#include <math.h>
#include <stdio.h>

#define SMALL "env.height=8 env.width=9 env.frames=2 env.actions=2 env.value=1 "

static void check_value(const lgv_plan *plan, const char *key, const char *expected) {
  char text[LGV_TEXT_SIZE];
  lgv_error err = {0};
  if (lgv_plan_get(plan, key, text, sizeof text, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_string_equal(text, expected);
}

#define SHORT_RUN                                                                                  \
  "agent.batch=8 agent.update_every=5 run.steps=90 run.eval_every=45 run.eval_episodes=1 "         \
  "run.eval_steps=20 "

/* An agent with cells has no replay, and no dueling network. */
static void run_twice(const char *env, const char *agent, const char *extra) {
  char settings[512];
  bool has_cells = strcmp(agent, "pathwise-lmcdqn") == 0;
  if (has_cells && strstr(extra, "agent.dueling")) return;
  snprintf(settings, sizeof settings, SHORT_RUN "%s %s",
           has_cells ? "agent.cells=100" : "agent.replay=100 agent.warmup=20", extra);
  lgv_plan *plan = picture_plan(env, agent, settings);
  lgv_summary first = run_plan(plan, 1), second = run_plan(plan, 1);
  assert_true(first.finished && first.steps == 90);
  assert_true(isfinite(first.final_return) && first.final_return == second.final_return);
  lgv_plan_free(plan);
}

static void every_agent_takes_small_pictures(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    const char *name = lgv__agents[i]->name;
    if (!lgv__agents[i]->presets || takes_box(lgv__agents[i])) continue;
    lgv_plan *plan = picture_plan("pictures", name, SMALL);
    bool own = strcmp(name, "adam-lmcdqn") == 0;
    check_value(plan, "agent.preset", own ? "small-pictures" : "small");
    check_value(plan, "agent.net", "conv");
    check_value(plan, "agent.conv", "16x3s1,32x3s1");
    lgv_plan_free(plan);
    run_twice("pictures", name, SMALL);
    run_twice("pictures", name,
              SMALL "agent.conv=5x4s2 agent.layer_norm=true agent.dueling=true agent.hidden=9");
  }
}

static void every_agent_takes_normalized_dueling_networks(void **state) {
  (void)state;
  static const char *const envs[] = {"cartpole", "nchain", "deepsea"};
  for (size_t i = 0; lgv__agents[i]; i++)
    for (size_t e = 0; lgv__agents[i]->presets && !takes_box(lgv__agents[i]) && e < 3; e++) {
      run_twice(envs[e], lgv__agents[i]->name, "agent.layer_norm=true");
      run_twice(envs[e], lgv__agents[i]->name, "agent.dueling=true agent.hidden=11");
      run_twice(envs[e], lgv__agents[i]->name, "agent.layer_norm=true agent.dueling=true");
    }
  run_twice("switches", "dqn", "env.lamps=3 agent.layer_norm=true agent.dueling=true");
  run_twice("deepsea", "bootstrapped-dqn",
            "agent.members=networks agent.heads=3 agent.layer_norm=true agent.dueling=true");
  run_twice("deepsea", "adam-lmcdqn",
            "env.n=4 agent.stages=per-stage agent.update_every=0 agent.n_step=1 agent.double=false "
            "agent.hidden=8 "
            "agent.layer_norm=true agent.dueling=true");
}

/* ---- What a plan holds ---- */

static void hidden_layers_are_chosen_by_the_network(void **state) {
  (void)state;
  lgv_plan *plan = picture_plan("pictures", "dqn", SMALL);
  check_value(plan, "agent.hidden", "128");
  lgv_plan_free(plan);
  plan = picture_plan("pictures", "dqn", SMALL "agent.net=mlp");
  check_value(plan, "agent.hidden", "32,32");
  check_value(plan, "agent.conv", "");
  lgv_plan_free(plan);
  plan = make_plan("cartpole", "dqn", "");
  check_value(plan, "agent.hidden", "32,32");
  lgv_plan_free(plan);
  plan = make_plan("cartpole", "prioritized-dqn", "agent.hidden=0"); /* its preset has 64,64 */
  check_value(plan, "agent.hidden", "32,32");
  lgv_plan_free(plan);
}

static void wrong_networks_are_refused(void **state) {
  (void)state;
  static const char *const wrong[][3] = {
      {"dqn", "agent.conv=16x3", "is not written width x kernel s stride"},
      {"dqn", "agent.conv=16x9s1", "convolution 1 needs 9 x 9 and gets 8 x 9"},
      {"dqn", "agent.net=nature", "too small for agent.net = nature"},
      {"dqn", "agent.net=mlp agent.conv=16x3s1", "agent.conv has no effect"},
      {"dqn", "agent.hidden=8,0", "at least one unit"},
      {"dqn", "agent.dueling=true agent.shared_bias=true", "set agent.shared_bias = false"},
      {"dqn", "agent.net=mlp agent.dueling=true agent.hidden=", "needs a hidden dense layer"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[256];
    snprintf(text, sizeof text, SMALL "%s", wrong[i][1]);
    lgv_settings *settings = picture_settings("pictures", wrong[i][0], text);
    lgv_plan *plan;
    lgv_error err = {0};
    assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
    if (!strstr(err.message, wrong[i][2])) fail_msg("no '%s' in: %s", wrong[i][2], err.message);
    lgv_settings_free(settings);
  }
}

/* ---- Noisy networks ---- */

/* The state of noisynet-dqn begins with its core. */
static void gains_and_shifts_are_not_noisy(void **state) {
  (void)state;
  deep_rig rig;
  lgv_error err = {0};
  deep_open(&rig, "noisynet-dqn", deep_spec(5, 2),
            "agent.layer_norm=true agent.dueling=true agent.hidden=6 agent.warmup=4 agent.batch=4 "
            "agent.update_every=1",
            NULL);
  float data[2][5] = {{1}, {0, 1}};
  for (int i = 0; i < 20; i++) {
    lgv_transition t = {.obs = {data[i % 2], i % 2, i % 4},
                        .next = {data[1 - i % 2], 1 - i % 2, i % 4 + 1},
                        .action = choice(i % 2),
                        .reward = i % 3,
                        .terminated = i % 4 == 3};
    if (rig.type->observe(rig.self, &t, &err) != LGV_OK) fail_msg("%s", err.message);
  }
  const dqn *c = rig.self;
  const net_layer *hidden = &c->net.layer[0];
  assert_true(hidden->normalized && hidden->outputs == 12);
  const float *mu = c->w, *sigma = c->w + c->net.params;
  bool moved = false;
  for (int64_t i = hidden->gains; i < hidden->shifts + hidden->outputs; i++) {
    moved |= mu[i] != (i < hidden->shifts ? 1 : 0);
    assert_true(sigma[i] == 0);
  }
  assert_true(moved && sigma[hidden->weights] != 0);
  deep_close(&rig);
}

/* ---- Learning ---- */

/* The best policy collects 12 * 4/9 = 5.3. */
static void convolutions_learn_small_pictures(void **state) {
  (void)state;
  static const char *const networks[] = {"agent.net=conv",
                                         "agent.net=conv agent.layer_norm=true agent.dueling=true"};
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    char settings[256];
    snprintf(settings, sizeof settings,
             SMALL "run.steps=1200 run.eval_every=40 run.eval_episodes=4 agent.warmup=200 "
                   "agent.gamma=0.5 %s",
             networks[i]);
    lgv_plan *plan = picture_plan("pictures", "dqn", settings);
    lgv_summary summary = run_plan(plan, 3);
    if (!(summary.final_return > 4.5)) fail_msg("%s: %g", networks[i], summary.final_return);
    lgv_plan_free(plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_agent_takes_small_pictures),
      cmocka_unit_test(every_agent_takes_normalized_dueling_networks),
      cmocka_unit_test(hidden_layers_are_chosen_by_the_network),
      cmocka_unit_test(wrong_networks_are_refused),
      cmocka_unit_test(gains_and_shifts_are_not_noisy),
      cmocka_unit_test(convolutions_learn_small_pictures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
