/* Running out of memory at every allocation in turn gives a clean status and leaves nothing behind.
 * The leak sanitizer of `make test-asan` checks the second half. */
#include "base/memory.h"
#include "registry.h"

#include "fault_helpers.h"

#define TRY(call)                                                                                  \
  do {                                                                                             \
    lgv_status try_status = (call);                                                                \
    if (try_status != LGV_OK) return try_status;                                                   \
  } while (0)

/* From settings to aggregate.json; each step cleans up after itself if it fails. */
static lgv_status run_batch(const lgv_plan *plan, const char *directory, lgv_error *err) {
  lgv_summary summaries[2];
  lgv_batch batch = {
      .size = sizeof(lgv_batch), .plan = plan, .seeds = 2, .threads = 1, .directory = directory};
  return lgv_batch_run(&batch, summaries, err);
}

static lgv_status set_all(lgv_settings *settings, const char *env, const char *agent,
                          const char *budget, lgv_error *err) {
  TRY(lgv_settings_set(settings, "env.name", env, "test", err));
  TRY(lgv_settings_set(settings, "agent.name", agent, NULL, err));
  return lgv_settings_assign(settings, budget, "test", err);
}

static lgv_status whole_story(const char *env, const char *agent, const char *budget,
                              const char *directory, lgv_error *err) {
  lgv_settings *settings = NULL;
  lgv_plan *plan = NULL;
  TRY(lgv_settings_create(&settings, err));
  lgv_status status = set_all(settings, env, agent, budget, err);
  if (status == LGV_OK) status = lgv_plan_create(settings, &plan, err);
  if (status == LGV_OK) status = run_batch(plan, directory, err);
  lgv_plan_free(plan);
  lgv_settings_free(settings);
  return status;
}

/* Fails the n-th allocation for n = 1, 2, ... until no allocation is left; returns their number. */
static long fail_each(const char *env, const char *agent, const char *budget, bool record) {
  for (long n = 1;; n++) {
    char directory[TEMP_SIZE];
    lgv_error err = {0};
    if (record) make_temp(directory);
    lgv__memory_fail_after(n);
    lgv_status status = whole_story(env, agent, budget, record ? directory : NULL, &err);
    bool came = lgv__memory_fail_after(0) == 0;
    if (record) remove_tree(directory);
    if (!came) {
      assert_int_equal(status, LGV_OK);
      return n - 1;
    }
    if (status != LGV_ERR_MEMORY)
      fail_msg("%s on %s, allocation %ld: %s, '%s'", agent, env, n, lgv_status_name(status),
               err.message);
    assert_int_equal(err.status, LGV_ERR_MEMORY);
    assert_true(strlen(err.message) > 0);
  }
}

static void every_allocation_of_a_recorded_run_may_fail(void **state) {
  (void)state;
  long allocations = fail_each("riverswim", "lmc-lsvi", "run.episodes=4", true);
  assert_true(allocations > 50); /* the hook was reached */
}

/* Every agent, on the first environment that it accepts. */
static void every_allocation_of_every_agent_may_fail(void **state) {
  (void)state;
  for (size_t a = 0; lgv__agents[a]; a++)
    for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++) {
      lgv_error err = {0};
      const char *agent = lgv__agents[a]->name, *env = lgv__envs[e]->name;
      if (whole_story(env, agent, "run.steps=60", NULL, &err) != LGV_OK) continue;
      assert_true(fail_each(env, agent, "run.steps=60", false) > 20);
      break;
    }
}

/* The n-th allocation of a resumed run fails; the files on disk stay good enough to resume from. */
static void every_allocation_of_a_resumed_run_may_fail(void **state) {
  (void)state;
  static const char *const agents[] = {"lmc-lsvi", "dqn"};
  for (size_t a = 0; a < 2; a++) {
    char root[TEMP_SIZE], whole[PATH_MAX], broken[PATH_MAX];
    lgv_plan *plan = make_plan("nchain", agents[a], "run.steps=90 run.checkpoint_every=30 env.n=4");
    lgv_error err = {0};
    bool came = true;
    make_temp(root);
    join(whole, root, "whole");
    join(broken, root, "broken");
    assert_int_equal(finish_run(plan, whole, false, &err), LGV_OK);
    for (long n = 1; came; n++) {
      lgv_run *run;
      bool done;
      assert_int_equal(lgv_run_create(plan, FAULT_SEED, broken, &run, &err), LGV_OK);
      assert_int_equal(lgv_run_advance(run, 50, &done, &err), LGV_OK);
      lgv_run_free(run);
      lgv__memory_fail_after(n);
      lgv_status status = finish_run(plan, broken, true, &err);
      came = lgv__memory_fail_after(0) == 0;
      assert_int_equal(status, came ? LGV_ERR_MEMORY : LGV_OK);
      assert_true(n < 1000);
      assert_int_equal(finish_run(plan, broken, true, &err), LGV_OK);
      assert_same_records(whole, broken);
      remove_tree(broken);
    }
    remove_tree(root);
    lgv_plan_free(plan);
  }
}

static void the_hook_counts(void **state) {
  (void)state;
  lgv__memory_fail_after(2);
  void *first = lgv__calloc(1, 1), *second = lgv__calloc(1, 1), *third = lgv__calloc(1, 1);
  assert_non_null(first);
  assert_null(second);
  assert_non_null(third);
  assert_int_equal(lgv__memory_fail_after(0), 0);
  lgv__memory_fail_after(5);
  char *copy = lgv__strdup("text");
  assert_string_equal(copy, "text");
  assert_int_equal(lgv__memory_fail_after(0), 4);
  lgv__memory_fail_after(1);
  assert_null(lgv__realloc(first, 100)); /* the block is unchanged */
  lgv__free(first);
  lgv__free(third);
  lgv__free(copy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_hook_counts),
      cmocka_unit_test(every_allocation_of_a_recorded_run_may_fail),
      cmocka_unit_test(every_allocation_of_every_agent_may_fail),
      cmocka_unit_test(every_allocation_of_a_resumed_run_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
