/* Deep agents with other networks than the default: convolutions for small pictures, layer
 * normalization and dueling outputs, over every form of observation. */
#include "choice.h"
#include "deep_helpers.h"

#include <math.h>
#include <stdio.h>

/* A dot moves over 8 x 9 places; the observation holds the last two pictures. Action 1 pays 1 when
 * the dot is on the right half and costs 1 else; action 0 does nothing. */
enum { HEIGHT = 8, WIDTH = 9, FRAMES = 2, LENGTH = 12 };

typedef struct pictures {
  int64_t *at; /* [0] stage, [1..2] column of the dot in the last two pictures, [3] its row */
} pictures;

static lgv_status spec(const void *params, lgv_env_spec *out, lgv_error *err) {
  (void)params;
  (void)err;
  *out = (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                        .obs_shape = {HEIGHT, WIDTH, FRAMES},
                        .frames = FRAMES,
                        .actions = lgv_discrete(2),
                        .reward_min = -1,
                        .reward_max = 1};
  return LGV_OK;
}

static void layout(void *self, const void *params, const lgv_env_spec *env, lgv_layout *out) {
  (void)params;
  (void)env;
  ((pictures *)self)->at = lgv_layout_array(out, "at", LGV_I64, 4, LGV_KEEP);
}

static lgv_status reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  int64_t *at = ((pictures *)self)->at;
  at[0] = 0;
  at[1] = at[2] = lgv_rng_below(rng, WIDTH);
  at[3] = lgv_rng_below(rng, HEIGHT);
  return LGV_OK;
}

static lgv_status step(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)err;
  int64_t *at = ((pictures *)self)->at;
  outcome->reward = action->choice != 1 ? 0 : at[2] > WIDTH / 2 ? 1 : -1;
  at[1] = at[2];
  at[2] = lgv_rng_below(rng, WIDTH);
  outcome->truncated = ++at[0] == LENGTH;
  return LGV_OK;
}

static void observe(const void *self, void *data) {
  const int64_t *at = ((const pictures *)self)->at;
  uint8_t *out = data;
  memset(out, 0, HEIGHT * WIDTH * FRAMES);
  for (int f = 0; f < FRAMES; f++) out[(at[3] * WIDTH + at[f + 1]) * FRAMES + f] = 1;
}

static const lgv_param no_params[] = {{0}};
static const lgv_env_type world = {.size = sizeof(lgv_env_type),
                                   .name = "small-pictures",
                                   .summary = "a dot",
                                   .params = no_params,
                                   .state_size = sizeof(pictures),
                                   .spec = spec,
                                   .layout = layout,
                                   .reset = reset,
                                   .step = step,
                                   .observe = observe};

static lgv_plan *plan_for(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &world, &err), LGV_OK);
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("%s: %s", agent, err.message);
  lgv_settings_free(settings);
  return plan;
}

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
  lgv_plan *plan = plan_for(env, agent, settings);
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
    lgv_plan *plan = plan_for("small-pictures", name, "");
    check_value(plan, "agent.preset", "small");
    check_value(plan, "agent.net", "conv");
    check_value(plan, "agent.conv", "16x3s1,32x3s1");
    lgv_plan_free(plan);
    run_twice("small-pictures", name, "");
    run_twice("small-pictures", name,
              "agent.conv=5x4s2 agent.layer_norm=true agent.dueling=true agent.hidden=9");
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
  lgv_plan *plan = plan_for("small-pictures", "dqn", "");
  check_value(plan, "agent.hidden", "128");
  lgv_plan_free(plan);
  plan = plan_for("small-pictures", "dqn", "agent.net=mlp");
  check_value(plan, "agent.hidden", "32,32");
  check_value(plan, "agent.conv", "");
  lgv_plan_free(plan);
  plan = plan_for("cartpole", "dqn", "");
  check_value(plan, "agent.hidden", "32,32");
  lgv_plan_free(plan);
  plan = plan_for("cartpole", "prioritized-dqn", "agent.hidden=0"); /* its preset has 64,64 */
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
    lgv_settings *settings = make_settings("small-pictures", wrong[i][0], wrong[i][1]);
    lgv_plan *plan;
    lgv_error err = {0};
    assert_int_equal(lgv_settings_add_env(settings, &world, &err), LGV_OK);
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
             "run.steps=1200 run.eval_every=40 run.eval_episodes=4 agent.warmup=200 "
             "agent.gamma=0.5 %s",
             networks[i]);
    lgv_plan *plan = plan_for("small-pictures", "dqn", settings);
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
