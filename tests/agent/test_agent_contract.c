/* Agents in the loop of another program, where no environment handle has checked their inputs: they
 * refuse mistakes with a reason and stay as they were. */
#include "agent/agent.h"
#include "file_helpers.h"
#include "forge.h"
#include "registry.h"
#include "run_helpers.h"

#include <math.h>

enum { ACTIONS = 3, LENGTH = 5 };

static const lgv_env_spec spec = {.size = sizeof(lgv_env_spec),
                                  .obs_shape = {LENGTH, 1, 1},
                                  .obs_form = LGV_FORM_ONE_HOT,
                                  .actions = {.count = ACTIONS},
                                  .states = LENGTH,
                                  .horizon = 4,
                                  .stationary = true,
                                  .reward_max = 1};
static const float here[LENGTH] = {1}, there[LENGTH] = {0, 1};

static lgv_agent *make_agent(const char *name, const lgv_env_spec *env) {
  lgv_error err = {0};
  lgv_agent *agent;
  lgv_settings *settings = make_settings("riverswim", name, "");
  if (lgv_agent_create(settings, env, 10, 40, 1, &agent, &err) != LGV_OK)
    fail_msg("%s", err.message);
  lgv_settings_free(settings);
  return agent;
}

static lgv_transition make_step(void) {
  return (lgv_transition){.obs = {.data = here},
                          .next = {.data = there, .state = 1, .stage = 1},
                          .action = choice(ACTIONS - 1),
                          .reward = 0.5};
}

static void assert_refused(lgv_status found, lgv_status expected, const lgv_error *err,
                           const char *words) {
  if (found != expected || !strstr(err->message, words))
    fail_msg("%s '%s', not '%s'", lgv_status_name(found), err->message, words);
}

static void impossible_specs_are_refused(void **state) {
  (void)state;
  lgv_env_spec wrong[9];
  const char *const words[] = {
      "no action",       "no action",       "negative number",
      "negative number", "negative number", "lower bound",
      "lower bound",     "no table",        "another version of langevin.h"};
  for (size_t i = 0; i < 9; i++) wrong[i] = spec;
  wrong[0].actions.count = 0;
  wrong[1].actions.count = -1;
  wrong[2].states = -1;
  wrong[3].horizon = -1;
  wrong[4].feature_dim = -1;
  wrong[5].reward_min = 2;
  wrong[6].reward_max = NAN;
  wrong[7].feature_dim = 3;
  wrong[8].size -= 8;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (takes_box(lgv__agents[a])) continue; /* test_ac_agents */
    lgv_settings *settings = make_settings("riverswim", lgv__agents[a]->name, "");
    for (size_t i = 0; i < 9; i++) {
      lgv_error err = {0};
      lgv_agent *agent;
      lgv_status status = lgv_agent_create(settings, &wrong[i], 10, 40, 1, &agent, &err);
      assert_refused(status, LGV_ERR_USAGE, &err, words[i]);
      assert_null(agent);
    }
    lgv_settings_free(settings);
  }
}

/* Sizes whose products no integer holds. */
static void problems_too_large_for_any_memory_are_refused(void **state) {
  (void)state;
  lgv_env_spec wrong[] = {spec, spec, spec, spec};
  wrong[0].actions.count = INT32_MAX;
  wrong[1].states = INT64_MAX;
  wrong[2].horizon = INT64_MAX;
  wrong[3].states = INT64_C(1) << 31;
  wrong[3].horizon = INT64_C(1) << 33;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (takes_box(lgv__agents[a])) continue; /* test_ac_agents */
    lgv_settings *settings = make_settings("riverswim", lgv__agents[a]->name, "");
    bool by_states = lgv__agents[a]->traits & LGV_NEEDS_STATES;
    for (size_t i = 0; i < (by_states ? 4 : 1); i++) {
      lgv_error err = {0};
      lgv_agent *agent;
      lgv_status status = lgv_agent_create(settings, &wrong[i], 10, 40, 1, &agent, &err);
      assert_int_equal(status, by_states ? LGV_ERR_MEMORY : LGV_ERR_USAGE);
    }
    lgv_settings_free(settings);
  }
}

/* An action outside would be an index outside, in a replay, long after. */
static void steps_outside_the_problem_are_refused(void **state) {
  (void)state;
  const int32_t actions[] = {-1, ACTIONS, INT32_MAX, INT32_MIN};
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (takes_box(lgv__agents[a])) continue;
    lgv_agent *agent = make_agent(lgv__agents[a]->name, &spec);
    lgv_error err = {0};
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
      lgv_transition step = make_step();
      step.action = choice(actions[i]);
      assert_refused(lgv_agent_observe(agent, &step, &err), LGV_ERR_USAGE, &err, "outside 0..2");
    }
    lgv_transition step = make_step();
    assert_int_equal(lgv_agent_observe(agent, &step, &err), LGV_OK);
    lgv_agent_free(agent);
  }
}

/* As examples/own_loop.c does, whose agent needs none. */
static void agents_that_see_need_an_observation(void **state) {
  (void)state;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (takes_box(lgv__agents[a])) continue;
    bool blind = lgv__agents[a]->traits & LGV_NEEDS_STATES;
    lgv_status expected = blind ? LGV_OK : LGV_ERR_USAGE;
    lgv_agent *agent = make_agent(lgv__agents[a]->name, &spec);
    lgv_error err = {0};
    double q[ACTIONS];
    lgv_action action;
    lgv_obs nothing = {0};
    lgv_transition before = make_step(), after = make_step();
    before.obs.data = after.next.data = NULL;
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    assert_int_equal(lgv_agent_act(agent, &nothing, LGV_TRAIN, &action, &err), expected);
    assert_int_equal(lgv_agent_act(agent, &nothing, LGV_EVAL, &action, &err), expected);
    assert_int_equal(lgv_agent_q_values(agent, &nothing, 1, q, &err), expected);
    assert_int_equal(lgv_agent_observe(agent, &before, &err), expected);
    assert_int_equal(lgv_agent_observe(agent, &after, &err), expected);
    if (!blind) assert_non_null(strstr(err.message, "lgv_obs.data is NULL"));
    lgv_agent_free(agent);
  }
}

static void numbers_that_are_not_finite_reach_no_network(void **state) {
  (void)state;
  const float broken[LENGTH] = {0, NAN}, endless[LENGTH] = {0, 0, -INFINITY};
  lgv_env_spec dense = spec;
  dense.obs_form = LGV_FORM_DENSE;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (lgv__agents[a]->traits & (LGV_NEEDS_STATES | LGV_TAKES_BOX)) continue;
    lgv_agent *agent = make_agent(lgv__agents[a]->name, &dense);
    lgv_error err = {0};
    lgv_action action;
    lgv_obs seen = {.data = broken, .stage = 2};
    lgv_transition step = make_step();
    step.next.data = endless;
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    assert_refused(lgv_agent_act(agent, &seen, LGV_TRAIN, &action, &err), LGV_ERR_NUMERIC, &err,
                   "the observation at stage 2 holds a number that is not finite");
    assert_refused(lgv_agent_observe(agent, &step, &err), LGV_ERR_NUMERIC, &err, "at stage 1");
    lgv_agent_free(agent);
  }
}

/* Otherwise the file would be there, and its agent lost. */
static void a_file_that_could_not_be_read_is_not_written(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[TEMP_SIZE + 16];
  lgv_error err = {0};
  make_temp(directory);
  snprintf(path, sizeof path, "%s/agent", directory);
  lgv_agent *agent = make_agent("lmc-lsvi", &spec);
  size_t most = 5 << 20;
  char *long_text = malloc(most);
  memset(long_text, 'x', most);
  long_text[most - 1] = '\0';
  const char *const wrong[] = {"\xff", "half \xc3", long_text};
  for (size_t i = 0; i < 3; i++) {
    lgv_save_options options = {.size = sizeof options, .about = wrong[i]};
    assert_refused(lgv_agent_save(agent, path, &options, &err), LGV_ERR_USAGE, &err, "UTF-8");
    assert_int_equal(lgv_agent_load(agent, path, &err), LGV_ERR_IO); /* there is none */
  }
  const char *const right[] = {"", "\"quoted\"\n\ttabs, \x01 and \\", "Kübel, 雪, 🐟"};
  for (size_t i = 0; i < 3; i++) {
    lgv_save_options options = {.size = sizeof options, .about = right[i]};
    assert_int_equal(lgv_agent_save(agent, path, &options, &err), LGV_OK);
    assert_int_equal(lgv_agent_load(agent, path, &err), LGV_OK);
  }
  lgv_save_options old = {.size = sizeof old - 8};
  assert_refused(lgv_agent_save(agent, path, &old, &err), LGV_ERR_USAGE, &err, "another version");
  free(long_text);
  lgv_agent_free(agent);
  remove_tree(directory);
}

/* Saves the agent with a counter below 0 and loads that, which is refused after the arrays have
 * been read. */
static void corrupt(lgv_agent *agent, const char *counters, const char *path) {
  lgv_error err = {0};
  size_t size;
  forge f;
  assert_int_equal(lgv_agent_save(agent, path, NULL, &err), LGV_OK);
  unsigned char *bytes = forge_read(path, &size);
  assert_true(forge_open(&f, bytes, size));
  for (size_t i = 0; i < f.n; i++)
    if (strcmp(f.array[i].name, counters) == 0) forge_set(&f.array[i], 0, -1, 0);
  forge_seal(&f);
  assert_true(forge_write(&f, path));
  free(bytes);
  assert_int_equal(lgv_agent_load(agent, path, &err), LGV_ERR_IO);
}

static void nothing_comes_out_of_a_corrupt_agent(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[TEMP_SIZE + 16];
  lgv_env_spec dense = spec;
  dense.obs_form = LGV_FORM_DENSE;
  make_temp(directory);
  snprintf(path, sizeof path, "%s/file", directory);
  lgv_agent *deep = make_agent("dqn", &dense), *linear = make_agent("lsvi-ucb", &spec);
  lgv_error err = {0};
  double probabilities[ACTIONS];
  corrupt(deep, "agent.counters", path);
  corrupt(linear, "agent.lsvi.visits", path);
  assert_refused(lgv_agent_export(deep, path, "brain", &err), LGV_ERR_USAGE, &err,
                 "load another one");
  assert_refused(lgv_agent_policy(linear, &(lgv_obs){0}, probabilities, &err), LGV_ERR_USAGE, &err,
                 "load another one");
  lgv_agent_free(deep);
  lgv_agent_free(linear);
  remove_tree(directory);
}

/* Numbers that a program writes into the arrays (Python does) are neither acted on nor saved. */
static void numbers_written_from_outside_are_checked(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[TEMP_SIZE + 16];
  make_temp(directory);
  snprintf(path, sizeof path, "%s/agent", directory);
  lgv_env_spec dense = spec;
  dense.obs_form = LGV_FORM_DENSE;
  size_t refused = 0;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (lgv__agents[a]->traits & (LGV_NEEDS_STATES | LGV_TAKES_BOX)) continue;
    lgv_agent *agent = make_agent(lgv__agents[a]->name, &dense);
    const char *name;
    lgv_dtype dtype;
    size_t count;
    lgv_error err = {0};
    lgv_action action;
    double q[ACTIONS];
    lgv_obs obs = {.data = here};
    float *weights = NULL;
    for (size_t i = 0; !weights; i++) {
      const void *array = lgv_agent_array(agent, i, &name, &dtype, &count);
      assert_non_null(array);
      if (strcmp(name, "w") == 0 || strstr(name, ".w")) weights = (float *)array;
    }
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    if (lgv_agent_act(agent, &obs, LGV_EVAL, &action, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_int_equal(lgv_agent_save(agent, path, NULL, &err), LGV_OK);
    for (size_t i = 0; i < count; i++) weights[i] = NAN;
    assert_refused(lgv_agent_save(agent, path, NULL, &err), LGV_ERR_NUMERIC, &err, "not finite");
    lgv_status status = lgv_agent_q_values(agent, &obs, 1, q, &err);
    for (int i = 0; status == LGV_OK && i < ACTIONS; i++) assert_true(isfinite(q[i]));
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_EVAL, &action, &err), status);
    refused += status == LGV_ERR_NUMERIC;
    lgv_agent_free(agent);
  }
  assert_true(refused > 10); /* some act by other arrays */
  remove_tree(directory);
}

/* A run may be stopped, and so write a checkpoint, before its first step. */
static void new_agents_hold_finite_numbers(void **state) {
  (void)state;
  lgv_env_spec dense = spec;
  dense.obs_form = LGV_FORM_DENSE;
  for (size_t a = 0; lgv__agents[a]; a++) {
    if (lgv__agents[a]->traits & (LGV_NEEDS_STATES | LGV_TAKES_BOX)) continue;
    lgv_agent *agent = make_agent(lgv__agents[a]->name, &dense);
    lgv_error err = {0};
    if (lgv__agent_check_finite(agent, &err) != LGV_OK) fail_msg("%s", err.message);
    lgv_agent_free(agent);
  }
}

static void there_are_two_modes(void **state) {
  (void)state;
  lgv_agent *agent = make_agent("lmc-lsvi", &spec);
  lgv_error err = {0};
  lgv_action action;
  lgv_obs obs = {.data = here};
  assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
  assert_refused(lgv_agent_act(agent, &obs, (lgv_mode)2, &action, &err), LGV_ERR_USAGE, &err,
                 "no mode 2");
  lgv_agent_free(agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(impossible_specs_are_refused),
      cmocka_unit_test(problems_too_large_for_any_memory_are_refused),
      cmocka_unit_test(steps_outside_the_problem_are_refused),
      cmocka_unit_test(agents_that_see_need_an_observation),
      cmocka_unit_test(numbers_that_are_not_finite_reach_no_network),
      cmocka_unit_test(a_file_that_could_not_be_read_is_not_written),
      cmocka_unit_test(nothing_comes_out_of_a_corrupt_agent),
      cmocka_unit_test(numbers_written_from_outside_are_checked),
      cmocka_unit_test(new_agents_hold_finite_numbers),
      cmocka_unit_test(there_are_two_modes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
