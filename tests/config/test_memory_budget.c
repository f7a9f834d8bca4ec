/* Memory: what a plan says that its runs need, what the machine has, and what is refused. */
#include "agent/agent.h"
#include "base/memory.h"
#include "config/plan.h"
#include "env/env.h"
#include "registry.h"

#include "run_helpers.h"
#include "temp_root.h"
#include "tiny_world.h"

#include <sys/stat.h>

/* ---- what there is ---- */

/* Writes root/path, making its directories. */
static void put(const char *path, const char *text) {
  char name[PATH_MAX];
  join(name, root, path);
  for (char *c = name + strlen(root) + 1; (c = strchr(c, '/')); c++) {
    *c = '\0';
    (void)mkdir(name, 0777);
    *c = '/';
  }
  FILE *file = fopen(name, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void the_least_of_machine_and_groups_is_available(void **state) {
  (void)state;
  assert_int_equal(lgv__available_below(root), 0); /* unknown */
  put("proc/meminfo", "MemTotal:       100 kB\nMemFree: 10 kB\nMemAvailable:   4000 kB\n");
  assert_int_equal(lgv__available_below(root), 4000 * 1024);
  put("proc/self/cgroup", "0::/a/b\n");
  assert_int_equal(lgv__available_below(root), 4000 * 1024); /* no limits anywhere */
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  put("sys/fs/cgroup/a/b/memory.current", "1000\n");
  assert_int_equal(lgv__available_below(root), 4000 * 1024);
  put("sys/fs/cgroup/a/memory.max", "900000\n"); /* of the group around */
  put("sys/fs/cgroup/a/memory.current", "500000\n");
  assert_int_equal(lgv__available_below(root), 400000);
  put("sys/fs/cgroup/a/memory.stat", "anon 7\nfile 300000\ninactive_file 200000\n");
  assert_int_equal(lgv__available_below(root), 600000); /* unused pages of files can go */
  put("sys/fs/cgroup/a/memory.current", "2000000\n");
  assert_int_equal(lgv__available_below(root), 0);
}

static void groups_of_the_older_kind_count(void **state) {
  (void)state;
  put("proc/meminfo", "MemAvailable:   4000 kB\n");
  put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n1:name=systemd:/x\n");
  put("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000000\n");
  put("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "300000\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "300000\n");
  assert_int_equal(lgv__available_below(root), 700000);
}

static void this_machine_has_some(void **state) {
  (void)state;
  assert_true(lgv_memory_available() > 1 << 20);
}

/* ---- what a plan needs ---- */

static lgv_status screen_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)params, (void)err;
  *spec = (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                         .obs_shape = {84, 84, 4},
                         .frames = 4,
                         .actions = {.count = 18},
                         .reward_min = -1,
                         .reward_max = 1};
  return LGV_OK;
}

static void lgv__screen_layout(void *self, const void *params, const lgv_env_spec *spec,
                               lgv_layout *layout) {
  (void)self, (void)params, (void)spec;
  lgv_layout_array(layout, "screens", LGV_U8, 84 * 84 * 4, LGV_KEEP);
}

static const lgv_param no_params[] = {{0}};
/* It is never opened: any hooks will do. */
static const lgv_env_type screens = {.size = sizeof(lgv_env_type),
                                     .name = "screens",
                                     .summary = "pictures of a game",
                                     .params = no_params,
                                     .spec = screen_spec,
                                     .layout = lgv__screen_layout,
                                     .reset = coin_reset,
                                     .step = coin_step,
                                     .observe = coin_observe};

static lgv_plan *screen_plan(const char *agent, const char *extra) {
  lgv_settings *settings = make_settings("screens", agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &screens, &err), LGV_OK);
  lgv_status status = lgv_plan_create(settings, &plan, &err);
  lgv_settings_free(settings);
  return status == LGV_OK ? plan : NULL;
}

/* A picture has 7056 bytes; action, reward, end and age 13 more. Networks, optimizers and
 * minibatches come on top; IQN meets every observation of a minibatch with 64 quantiles. */
static void a_million_transitions_of_pictures_fit_into_7_2_gigabytes(void **state) {
  (void)state;
  int agents = 0;
  for (size_t a = 0; lgv__agents[a]; a++) {
    lgv_plan *plan = screen_plan(lgv__agents[a]->name, "run.steps=12500000 agent.replay=1000000");
    if (!plan) continue; /* not made for pictures */
    uint64_t bytes = lgv_plan_memory(plan);
    uint64_t most = strcmp(lgv__agents[a]->name, "iqn") == 0 ? 7300000000 : 7200000000;
    if (bytes >= most) fail_msg("%s: %.3f GB", lgv__agents[a]->name, (double)bytes / 1e9);
    assert_true(bytes > 7069000000);
    lgv_plan_free(plan);
    agents++;
  }
  assert_true(agents >= 10);
}

static void a_short_run_needs_less(void **state) {
  (void)state;
  lgv_plan *plan = screen_plan("dqn", "run.steps=5000 agent.replay=1000000");
  uint64_t few = lgv_plan_memory(plan);
  lgv_plan_free(plan);
  plan = screen_plan("dqn", "run.steps=10000 agent.replay=1000000");
  uint64_t rows = lgv_plan_memory(plan) - few;
  assert_true(rows >= 10000 * 7069 - 1024 && rows <= 10000 * 7069 + 1024);
  lgv_plan_free(plan);
  plan = screen_plan("dqn", "run.episodes=10 agent.replay=1000000"); /* nobody knows how long */
  assert_true(lgv_plan_memory(plan) > 7069000000);
  lgv_plan_free(plan);
}

/* Two more rows per step, of one observation each, whatever the stack: the replay, 16 bytes per
 * observation of cartpole, and 13 of action, reward, end and age. */
static void a_replay_of_stacks_needs_no_more(void **state) {
  (void)state;
  uint64_t rows[2], total[2];
  for (int i = 0; i < 2; i++) {
    const char *stack = i ? "env.stack=4" : "env.stack=1";
    char extra[160];
    for (int k = 0; k < 2; k++) {
      snprintf(extra, sizeof extra, "agent.replay=100000 run.steps=%d %s", k ? 30000 : 20000,
               stack);
      lgv_plan *plan = make_plan("cartpole", "dqn", extra);
      total[k] = lgv_plan_memory(plan);
      lgv_plan_free(plan);
    }
    rows[i] = total[1] - total[0];
  }
  assert_true(rows[0] >= 20000 * 29 - 1024 && rows[0] <= 20000 * 29 + 1024);
  assert_int_equal(rows[0], rows[1]);
}

static void what_is_counted_is_what_is_taken(void **state) {
  (void)state;
  for (size_t a = 0; lgv__agents[a]; a++) {
    lgv_plan *plan = make_plan(home_of(lgv__agents[a]), lgv__agents[a]->name,
                               "run.episodes=20 run.eval_every=50");
    lgv_env *env;
    lgv_agent *agent;
    lgv_error err = {0};
    assert_int_equal(lgv__env_open(plan->env_type, plan->env_params, plan->env_common, &plan->host,
                                   0, "env", &env, &err),
                     LGV_OK);
    lgv_full_problem problem = lgv__plan_problem(plan, lgv_env_get_spec(env));
    assert_int_equal(
        lgv__agent_open(plan->agent_type, plan->agent_params, &problem, 0, &agent, &err), LGV_OK);
    size_t taken = lgv__agent_arena(agent)->table.used + 2 * lgv__env_arena(env)->table.used;
    const lgv_env_spec *s = lgv_env_get_spec(env); /* V*, and V of a policy, which is a table too */
    size_t values = (size_t)((s->horizon + 1) * s->states) * sizeof(double);
    size_t policy = (size_t)(s->horizon * s->states * s->actions.count) * sizeof(double);
    taken += plan->agent_type->policy ? 2 * values + policy : values;
    assert_int_equal(lgv_plan_memory(plan), taken);
    lgv_agent_free(agent);
    lgv_env_free(env);
    lgv_plan_free(plan);
  }
}

static void what_no_machine_has_is_counted_too(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("nchain", "dqn", "run.episodes=20 agent.replay=1000000000");
  assert_true(lgv_plan_memory(plan) > 17000000000);
  lgv_plan_free(plan);
  plan = make_plan("riverswim", "lmc-lsvi",
                   "run.episodes=1 env.n=1000 env.horizon=1000000 agent.pool=true");
  assert_true(lgv_plan_memory(plan) > 3 * UINT64_C(16000000000)); /* two values, and two actions */
  lgv_plan_free(plan);
}

/* ---- what is refused ---- */

static void note(void *context, const char *text) { snprintf(context, 256, "%s", text); }

static lgv_status run_batch(const lgv_plan *plan, const char *name, int32_t seeds, int32_t threads,
                            lgv_error *err) {
  lgv_summary summaries[8];
  char directory[PATH_MAX];
  snprintf(directory, sizeof directory, "%s/batch-%s", root, name);
  lgv_batch batch = {.size = sizeof(lgv_batch),
                     .plan = plan,
                     .seeds = seeds,
                     .threads = threads,
                     .directory = directory};
  return lgv_batch_run(&batch, summaries, err);
}

static void seeds_that_do_not_fit_are_refused_with_the_number_that_would(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("nchain", "dqn", "run.episodes=3");
  uint64_t need = lgv_plan_memory(plan);
  lgv_error err = {0};
  char directory[PATH_MAX];
  join(directory, root, "batch-a");
  lgv__available_pretend(2 * need + need / 2);
  assert_int_equal(run_batch(plan, "a", 4, 3, &err), LGV_ERR_MEMORY);
  assert_non_null(strstr(err.message, "2 would fit (-j 2)"));
  assert_int_equal(access(directory, F_OK), -1); /* before anything started */
  lgv__available_pretend(need - 1);
  assert_int_equal(run_batch(plan, "a", 1, 3, &err), LGV_ERR_MEMORY);
  assert_non_null(strstr(err.message, "lower agent.replay"));
  lgv__available_pretend(2 * need);
  assert_int_equal(run_batch(plan, "a", 4, 2, &err), LGV_OK);
  assert_int_equal(run_batch(plan, "a", 2, 8, &err), LGV_OK); /* two seeds, however many threads */
  lgv__available_pretend(0);
  lgv_plan_free(plan);
}

static void much_memory_is_told_before_it_is_taken(void **state) {
  (void)state;
  char told[256] = "";
  lgv_settings *settings = make_settings("nchain", "dqn", "run.episodes=3 agent.replay=100000000");
  lgv_plan *plan;
  lgv_error err = {0};
  lgv_settings_on_notice(settings, note, told);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_OK);
  lgv__available_pretend(8000000000);
  assert_int_equal(run_batch(plan, "a", 1, 1, &err), LGV_OK);
  assert_non_null(strstr(told, "needs up to 1.7 GB"));
  assert_non_null(strstr(told, "enough for 4 at a time"));
  lgv_plan_free(plan);
  assert_int_equal(lgv_settings_set(settings, "agent.replay", "5000", "test", &err), LGV_OK);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_OK);
  told[0] = '\0';
  assert_int_equal(run_batch(plan, "b", 1, 1, &err), LGV_OK);
  assert_string_equal(told, "");
  lgv__available_pretend(0);
  lgv_plan_free(plan);
  lgv_settings_free(settings);
}

/* The greatest runs may come together: 1, 2 and 3 parts of the memory of 4. */
static void sweeps_that_do_not_fit_are_refused(void **state) {
  (void)state;
  put("sweep.yaml",
      "env: {name: nchain}\nagent: {name: dqn}\nrun: {episodes: 2}\nseeds: {count: 2}\n"
      "grid: {agent.replay: [1000000, 2000000, 3000000]}\n");
  char path[PATH_MAX], out[PATH_MAX];
  lgv_sweep *sweep;
  lgv_error err = {0};
  lgv_summary summaries[6];
  join(path, root, "sweep.yaml");
  join(out, root, "out");
  if (lgv_sweep_load(path, NULL, &sweep, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_sweep_job job = {
      .size = sizeof(lgv_sweep_job), .sweep = sweep, .threads = 3, .directory = out};
  lgv__available_pretend(7 * 17000000); /* 3 + 3 would do, 3 + 3 + 2 not */
  assert_int_equal(lgv_sweep_run(&job, summaries, &err), LGV_ERR_MEMORY);
  assert_non_null(strstr(err.message, "3 parallel runs"));
  assert_non_null(strstr(err.message, "-j 2"));
  job.threads = 2;
  if (lgv_sweep_run(&job, summaries, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv__available_pretend(1000); /* nothing is left to do */
  assert_int_equal(lgv_sweep_run(&job, summaries, &err), LGV_OK);
  lgv__available_pretend(0);
  lgv_sweep_free(sweep);
}

/* The count says that a run fits, so it must be possible to make it: what its steps cannot fill is
 * not reserved, however large agent.replay is. */
static void a_replay_that_cannot_be_filled_is_not_reserved(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("cartpole", "dqn", "run.steps=100 agent.replay=1000000000");
  lgv_error err = {0};
  lgv_run *run;
  bool done;
  assert_true(lgv_plan_memory(plan) < 10 << 20);
  if (lgv_run_create(plan, 1, NULL, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_int_equal(lgv_run_advance(run, 100, &done, &err), LGV_OK);
  lgv_run_free(run);
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_replay_that_cannot_be_filled_is_not_reserved),
      cmocka_unit_test_setup_teardown(the_least_of_machine_and_groups_is_available, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(groups_of_the_older_kind_count, make_root, remove_root),
      cmocka_unit_test(this_machine_has_some),
      cmocka_unit_test(a_million_transitions_of_pictures_fit_into_7_2_gigabytes),
      cmocka_unit_test(a_short_run_needs_less),
      cmocka_unit_test(a_replay_of_stacks_needs_no_more),
      cmocka_unit_test(what_is_counted_is_what_is_taken),
      cmocka_unit_test(what_no_machine_has_is_counted_too),
      cmocka_unit_test_setup_teardown(seeds_that_do_not_fit_are_refused_with_the_number_that_would,
                                      make_root, remove_root),
      cmocka_unit_test_setup_teardown(much_memory_is_told_before_it_is_taken, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(sweeps_that_do_not_fit_are_refused, make_root, remove_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
