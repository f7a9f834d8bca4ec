/* Masks and every agent: no forbidden action is taken, runs resume byte for byte, and checkpoints
 * with masks that no run writes are refused. */
#include "agent/agent.h"
#include "registry.h"

#include "fault_helpers.h"
#include "forge.h"
#include "mask_world.h"

static char root[TEMP_SIZE];

static int make_root(void **state) {
  (void)state;
  make_temp(root);
  return 0;
}

static int remove_root(void **state) {
  (void)state;
  remove_tree(root);
  return 0;
}

/* Boxes have no masks. */
static bool takes_masks(const lgv_agent_type *type) { return !takes_box(type); }

static bool is_linear(const lgv_agent_type *type) { return type->traits & LGV_NEEDS_HORIZON; }

static lgv_plan *plan_of(const lgv_agent_type *type, const char *env, const char *extra) {
  static const char deep[] = "agent.hidden=8 agent.replay=200 agent.warmup=40 agent.batch=4",
                    cells[] = "agent.hidden=8 agent.cells=100 agent.batch=4";
  bool has_cells = strcmp(type->name, "pathwise-lmcdqn") == 0;
  char all[500];
  snprintf(all, sizeof all, "%s %s", is_linear(type) ? "" : has_cells ? cells : deep, extra);
  return make_mask_plan(env, type->name, all);
}

/* The handle refuses a forbidden action, so that a run that ends took none: not in training, not
 * in warm-up, not in an evaluation. */
static void no_agent_takes_a_forbidden_action(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++)
    for (int by_stage = 0; takes_masks(lgv__agents[i]) && by_stage < 2; by_stage++) {
      lgv_plan *plan = plan_of(lgv__agents[i], "fickle",
                               by_stage ? "run.steps=10000 run.eval_every=200 env.by_stage=true"
                                        : "run.steps=10000 run.eval_every=200");
      lgv_summary summary = run_plan(plan, 1);
      assert_true(summary.finished && summary.steps == 10000);
      lgv_plan_free(plan);
    }
}

static void the_handle_refuses_a_forbidden_action(void **state) {
  (void)state;
  lgv_settings *settings = make_settings("trap", NULL, NULL);
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  assert_int_equal(lgv_settings_add_env(settings, &trap_type, &err), LGV_OK);
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_true(!obs.mask[0] && obs.mask[1] && obs.mask[2]);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "forbidden"));
  assert_int_equal(lgv_env_step(env, choice(2), &outcome, &obs, &err), LGV_OK);
  assert_true(obs.mask[0] && !obs.mask[1] && obs.mask[2]);
  lgv_env_free(env);
  lgv_settings_free(settings);
}

/* The linear agents have a test of their own. With the values of forbidden actions in its targets,
 * the agent stays near the start, which pays 8/100. */
static void pathwise_lmcdqn_leaves_the_trap(void **state) {
  (void)state;
  lgv_plan *plan = make_mask_plan("trap", "pathwise-lmcdqn",
                                  "agent.prior=1 run.episodes=400 run.eval_every=100");
  lgv_summary summary = run_plan(plan, 1);
  assert_true(summary.final_return > TRAP_VALUE - 0.01);
  lgv_plan_free(plan);
}

static void runs_with_masks_resume(void **state) {
  (void)state;
  const char extra[] = "run.steps=600 run.checkpoint_every=100 run.eval_every=150";
  for (size_t i = 0; lgv__agents[i]; i++) {
    if (!takes_masks(lgv__agents[i])) continue;
    char whole[PATH_MAX], parts[PATH_MAX];
    lgv_error err = {0};
    lgv_run *run;
    bool done;
    lgv_plan *plan = plan_of(lgv__agents[i], "fickle", extra);
    join(whole, root, "whole");
    join(parts, root, "parts");
    if (finish_run(plan, whole, false, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_int_equal(lgv_run_create(plan, FAULT_SEED, parts, &run, &err), LGV_OK);
    assert_int_equal(lgv_run_advance(run, 350, &done, &err), LGV_OK);
    lgv_run_free(run);
    if (finish_run(plan, parts, true, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_same_records(whole, parts);
    remove_tree(whole);
    remove_tree(parts);
    lgv_plan_free(plan);
  }
}

/* In every array with `array` in its name, the first byte becomes 2, or the first mask forbids
 * everything. The run is within an episode. */
static void forge_mask(const lgv_plan *plan, const char *directory, const char *array, bool none) {
  char path[PATH_MAX];
  forge f;
  size_t size;
  lgv_run *run;
  lgv_error err = {0};
  bool done, found = false;
  assert_int_equal(lgv_run_create(plan, FAULT_SEED, directory, &run, &err), LGV_OK);
  assert_int_equal(lgv_run_advance(run, 203, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  join(path, directory, "checkpoint.safetensors");
  unsigned char *bytes = forge_read(path, &size);
  assert_true(forge_open(&f, bytes, size));
  for (forge_array *a = f.array; a < f.array + f.n; a++) {
    if (!strstr(a->name, array)) continue;
    found = true;
    for (size_t k = 0; k < (none ? TRAP_ACTIONS : 1); k++) forge_set(a, k, none ? 0 : 2, 0);
  }
  assert_true(found);
  forge_seal(&f);
  assert_true(forge_write(&f, path));
  free(bytes);
  assert_int_equal(lgv_run_resume(plan, FAULT_SEED, directory, &run, &err), LGV_ERR_IO);
  if (!strstr(err.message, none ? "allows no action" : "neither 0 nor 1"))
    fail_msg("%s: %s", array, err.message);
  remove_tree(directory);
}

static void forged_masks_are_refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"psrl", "lsvi.masks"}, {"pathwise-lmcdqn", "cell.mask"}, {"dqn", "env.mask"}};
  char directory[PATH_MAX];
  join(directory, root, "forged");
  for (int i = 0; i < 3; i++) {
    lgv_plan *plan = make_mask_plan("trap", cases[i][0], "run.steps=1000");
    forge_mask(plan, directory, cases[i][1], false);
    forge_mask(plan, directory, cases[i][1], true);
    lgv_plan_free(plan);
  }
}

/* In the caller's own loop. */
static void a_mask_that_allows_nothing_is_refused(void **state) {
  (void)state;
  lgv_env_spec spec;
  trap_params params = {0};
  lgv_error err = {0};
  const uint8_t none[TRAP_ACTIONS] = {0};
  assert_int_equal(trap_spec(&params, &spec, &err), LGV_OK);
  for (size_t i = 0; lgv__agents[i]; i++) {
    if (!takes_masks(lgv__agents[i])) continue;
    float data[TRAP_STATES] = {1};
    lgv_agent *agent;
    lgv_action action;
    lgv_settings *settings = make_settings(NULL, lgv__agents[i]->name, NULL);
    if (lgv_agent_create(settings, &spec, 10, 0, 1, &agent, &err) != LGV_OK)
      fail_msg("%s", err.message);
    lgv_obs obs = {.data = data, .mask = none};
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_ERR_USAGE);
    double p[TRAP_ACTIONS];
    assert_int_equal(lgv_agent_policy(agent, &obs, p, &err), LGV_ERR_USAGE);
    assert_true(!lgv__agents[i]->policy || strstr(err.message, "allows no action"));
    lgv_transition t = {.obs = {.data = data}, .next = obs, .action = choice(1)};
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "allows no action"));
    t.terminated = true;
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
    lgv_agent_free(agent);
    lgv_settings_free(settings);
  }
}

/* A task may end in the state that it was in: the state's own mask stays. */
static void the_end_of_a_task_changes_no_mask(void **state) {
  (void)state;
  lgv_env_spec spec;
  trap_params params = {0};
  lgv_error err = {0};
  float data[TRAP_STATES] = {1};
  const uint8_t some[TRAP_ACTIONS] = {0, 1, 1}, none[TRAP_ACTIONS] = {0};
  lgv_agent *agent;
  lgv_settings *settings = make_settings(NULL, "pathwise-lmcdqn", NULL);
  assert_int_equal(trap_spec(&params, &spec, &err), LGV_OK);
  assert_int_equal(lgv_agent_create(settings, &spec, 10, 0, 1, &agent, &err), LGV_OK);
  lgv_transition t = {.obs = {.data = data, .mask = some},
                      .next = {.data = data, .mask = none},
                      .action = choice(1),
                      .terminated = true};
  assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
  assert_memory_equal(agent_array(agent, "cell.mask", NULL), some, TRAP_ACTIONS);
  lgv_agent_free(agent);
  lgv_settings_free(settings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_agent_takes_a_forbidden_action),
      cmocka_unit_test(the_handle_refuses_a_forbidden_action),
      cmocka_unit_test(pathwise_lmcdqn_leaves_the_trap),
      cmocka_unit_test(runs_with_masks_resume),
      cmocka_unit_test(forged_masks_are_refused),
      cmocka_unit_test(a_mask_that_allows_nothing_is_refused),
      cmocka_unit_test(the_end_of_a_task_changes_no_mask),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
