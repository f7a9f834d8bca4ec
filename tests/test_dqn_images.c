/* Deep agents on images: the convolutional network, stacks of pictures, and the atari presets. */
#include "deep_helpers.h"

#include <stdio.h>

/* A dot moves over 40 x 40 pixels; the observation holds the last four pictures. Action 1 pays 1
 * when the dot is on the right half and costs 1 else; the others do nothing. */
enum { SIDE = 40, FRAMES = 4, LENGTH = 12 };

typedef struct pictures {
  int64_t *at; /* [0] stage, [1..4] column of the dot in the last four pictures, oldest first */
} pictures;

static lgv_status spec(const void *params, lgv_env_spec *out, lgv_error *err) {
  (void)params;
  (void)err;
  *out = (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                        .obs_shape = {SIDE, SIDE, FRAMES},
                        .frames = FRAMES,
                        .actions = 3,
                        .reward_min = -1,
                        .reward_max = 1};
  return LGV_OK;
}

static void layout(void *self, const void *params, const lgv_env_spec *env, lgv_layout *out) {
  (void)params;
  (void)env;
  ((pictures *)self)->at = lgv_layout_array(out, "at", LGV_I64, 1 + FRAMES, LGV_KEEP);
}

static lgv_status reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  int64_t *at = ((pictures *)self)->at, column = lgv_rng_below(rng, SIDE);
  at[0] = 0;
  for (int f = 1; f <= FRAMES; f++) at[f] = column;
  return LGV_OK;
}

static lgv_status step(void *self, int32_t action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)err;
  int64_t *at = ((pictures *)self)->at;
  outcome->reward = action != 1 ? 0 : at[FRAMES] >= SIDE / 2 ? 1 : -1;
  memmove(at + 1, at + 2, (FRAMES - 1) * sizeof *at);
  at[FRAMES] = (at[FRAMES] + 1 + lgv_rng_below(rng, 5)) % SIDE;
  outcome->truncated = ++at[0] == LENGTH;
  return LGV_OK;
}

static void observe(const void *self, void *data) {
  const int64_t *at = ((const pictures *)self)->at;
  uint8_t *out = data;
  memset(out, 0, SIDE * SIDE * FRAMES);
  for (int row = 0; row < SIDE; row++)
    for (int f = 0; f < FRAMES; f++) out[(row * SIDE + at[f + 1]) * FRAMES + f] = 200;
}

static const lgv_param no_params[] = {{0}};
static const lgv_env_type world = {.name = "pictures",
                                   .summary = "a dot",
                                   .params = no_params,
                                   .state_size = sizeof(pictures),
                                   .spec = spec,
                                   .layout = layout,
                                   .reset = reset,
                                   .step = step,
                                   .observe = observe};

static lgv_plan *plan_for(const char *agent, const char *extra) {
  lgv_settings *settings = make_settings("pictures", agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &world, &err), LGV_OK);
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("%s: %s", agent, err.message);
  lgv_settings_free(settings);
  return plan;
}

static void every_agent_with_a_network_takes_images(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    if (!lgv__agents[i]->presets) continue;
    lgv_plan *plan = plan_for(lgv__agents[i]->name,
                              "agent.replay=60 agent.warmup=20 agent.hidden=8 agent.batch=4 "
                              "agent.update_every=10 run.steps=90 run.eval_every=45");
    char text[64];
    lgv_error err = {0};
    assert_int_equal(lgv_plan_get(plan, "agent.preset", text, sizeof text, &err), LGV_OK);
    assert_string_equal(text, "atari");
    assert_int_equal(lgv_plan_get(plan, "agent.net", text, sizeof text, &err), LGV_OK);
    assert_string_equal(text, "nature");
    lgv_summary first = run_plan(plan, 1), second = run_plan(plan, 1);
    assert_true(first.finished && first.steps == 90);
    assert_true(first.mean_return == second.mean_return);
    lgv_plan_free(plan);
  }
}

/* Ishfaq et al. (ICLR 2024), as their program has it. */
static void the_atari_preset_is_the_published_loop(void **state) {
  (void)state;
  static const char *const values[][2] = {
      {"agent.n_step", "3"},          {"agent.double", "true"}, {"agent.update_every", "10"},
      {"agent.warmup", "32"},         {"agent.batch", "32"},    {"agent.target_every", "500"},
      {"agent.scale_input", "false"}, {"optim.name", "asgld"},  {"optim.form", "code"},
      {"optim.compensated", "false"}, {"optim.lr", "0.0001"},   {"optim.a", "0.1"},
      {"optim.beta", "1e+16"},        {"optim.alpha1", "0.9"},  {"optim.alpha2", "0.999"},
      {"agent.replay", "1000000"},    {"optim.eps", "1e-08"}};
  lgv_plan *plan = plan_for("adam-lmcdqn", "");
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char text[64];
    lgv_error err = {0};
    assert_int_equal(lgv_plan_get(plan, values[i][0], text, sizeof text, &err), LGV_OK);
    if (strcmp(text, values[i][1]) != 0)
      fail_msg("%s is %s, not %s", values[i][0], text, values[i][1]);
  }
  lgv_plan_free(plan);
}

/* Without looking nothing is gained: any fixed action has 0 an episode on average, looking has 6.
 */
static void dqn_learns_from_pictures(void **state) {
  (void)state;
  lgv_plan *plan =
      plan_for("dqn", "agent.replay=2000 agent.warmup=200 agent.hidden=16 agent.batch=16 "
                      "agent.update_every=2 agent.target_every=50 agent.epsilon_steps=600 "
                      "agent.epsilon_eval=0 optim.name=adam optim.lr=1e-3 agent.gamma=0.5 "
                      "run.steps=1500 run.eval_every=100 run.eval_episodes=4");
  assert_true(run_plan(plan, 1).final_return > 4);
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_agent_with_a_network_takes_images),
      cmocka_unit_test(the_atari_preset_is_the_published_loop),
      cmocka_unit_test(dqn_learns_from_pictures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
