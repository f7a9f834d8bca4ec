/* Sweeps: the expansion of a file into configurations, what is refused and where, and the running:
 * what has finished is not run again, and threads do not matter. */
#include "file_helpers.h"
#include "run_helpers.h"

#include "base/memory.h"

#include <sys/stat.h>

static char directory[TEMP_SIZE];

static int set_up(void **state) {
  (void)state;
  make_temp(directory);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_tree(directory);
  return 0;
}

static lgv_status try_load_scale(const char *text, const char *scale, lgv_sweep **sweep,
                                 lgv_error *err) {
  char path[PATH_MAX];
  write_text(directory, "s.yaml", text);
  join(path, directory, "s.yaml");
  return lgv_sweep_load(path, scale, sweep, err);
}

static lgv_status try_load(const char *text, lgv_sweep **sweep, lgv_error *err) {
  return try_load_scale(text, NULL, sweep, err);
}

static lgv_sweep *load(const char *text) {
  lgv_sweep *sweep;
  lgv_error err = {0};
  if (try_load(text, &sweep, &err) != LGV_OK) fail_msg("%s", err.message);
  return sweep;
}

/* "a=1 b=2": the settings of a configuration that the sweep's keys name. */
static void assert_config(const lgv_sweep *sweep, size_t config, const char *expected) {
  char text[512] = "";
  for (size_t k = 0; lgv_sweep_key(sweep, k); k++) {
    const char *value = lgv_sweep_value(sweep, config, k);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s=%s", used ? " " : "", lgv_sweep_key(sweep, k),
             value ? value : "-");
  }
  assert_string_equal(text, expected);
}

static void assert_setting(const lgv_sweep *sweep, size_t config, const char *key,
                           const char *value) {
  lgv_settings *settings;
  lgv_error err = {0};
  assert_int_equal(lgv_sweep_settings(sweep, config, &settings, &err), LGV_OK);
  const char *found = lgv_settings_get(settings, key);
  if (!value)
    assert_null(found);
  else if (!found)
    fail_msg("configuration %zu has no %s", config, key);
  else
    assert_string_equal(found, value);
  lgv_settings_free(settings);
}

static void the_key_written_last_varies_fastest(void **state) {
  (void)state;
  lgv_sweep *s = load("env: riverswim\nagent: lmc-lsvi\n"
                      "grid:\n  agent.lambda: [1, 0.1]\n  env: {n: [6, 8, 10]}\n");
  assert_int_equal(lgv_sweep_get_info(s)->configs, 6);
  assert_int_equal(lgv_sweep_get_info(s)->cases, 1);
  assert_int_equal(lgv_sweep_get_info(s)->seeds, 1);
  assert_string_equal(lgv_sweep_get_info(s)->measure, "final_return");
  assert_false(lgv_sweep_get_info(s)->lowest_is_best);
  assert_config(s, 0, "agent.lambda=1 env.n=6");
  assert_config(s, 1, "agent.lambda=1 env.n=8");
  assert_config(s, 2, "agent.lambda=1 env.n=10");
  assert_config(s, 3, "agent.lambda=0.1 env.n=6");
  assert_config(s, 5, "agent.lambda=0.1 env.n=10");
  assert_setting(s, 4, "env.name", "riverswim");
  assert_setting(s, 4, "env.n", "8");
  assert_setting(s, 4, "run.checkpoint_final", "false");
  lgv_sweep_free(s);
}

static void a_case_replaces_common_settings_and_axes(void **state) {
  (void)state;
  lgv_sweep *s = load("env: riverswim\nagent.delta: 0.3\n"
                      "grid: {agent.lambda: [1, 2], env.n: [6]}\n"
                      "cases:\n"
                      "  - {agent: lmc-lsvi, grid: {agent.beta: [5, 7]}}\n"
                      "  - {agent: lsvi-ucb, agent.lambda: 9, agent.delta: 0.4}\n"
                      "  - {agent: rlsvi, grid: {agent.lambda: [3]}}\n"
                      "seeds: {first: 100, count: 20}\nmeasure: regret\nrecords: summary\n");
  const lgv_sweep_info *info = lgv_sweep_get_info(s);
  assert_int_equal(info->configs, 4 + 1 + 1);
  assert_int_equal(info->cases, 3);
  assert_int_equal(info->first_seed, 100);
  assert_int_equal(info->seeds, 20);
  assert_string_equal(info->measure, "regret");
  assert_true(info->lowest_is_best);
  assert_config(s, 1, "agent.name=lmc-lsvi agent.lambda=1 env.n=6 agent.beta=7 agent.delta=0.3");
  assert_config(s, 2, "agent.name=lmc-lsvi agent.lambda=2 env.n=6 agent.beta=5 agent.delta=0.3");
  assert_config(s, 4, "agent.name=lsvi-ucb agent.lambda=9 env.n=6 agent.beta=- agent.delta=0.4");
  assert_config(s, 5, "agent.name=rlsvi agent.lambda=3 env.n=6 agent.beta=- agent.delta=0.3");
  assert_int_equal(lgv_sweep_case(s, 3), 0);
  assert_int_equal(lgv_sweep_case(s, 4), 1);
  assert_int_equal(lgv_sweep_case(s, 5), 2);
  assert_setting(s, 4, "run.records", "summary");
  assert_setting(s, 4, "agent.beta", NULL);
  lgv_sweep_free(s);
}

static void lists_in_a_grid_are_values(void **state) {
  (void)state;
  lgv_sweep *s = load("env: nchain\nrun.checkpoint_final: true\n"
                      "grid: {agent: [a, b], agent.hidden: [[32, 32], [64], 8]}\n");
  assert_int_equal(lgv_sweep_get_info(s)->configs, 6);
  assert_config(s, 0, "agent.name=a agent.hidden=32,32");
  assert_config(s, 5, "agent.name=b agent.hidden=8");
  assert_setting(s, 0, "run.checkpoint_final", "true");
  lgv_sweep_free(s);
}

static void mistakes_are_placed(void **state) {
  (void)state;
  const struct {
    const char *text, *says;
  } cases[] = {
      {"grid: {agent.lambda: []}\n", "s.yaml:1:22: the list of 'agent.lambda' is empty"},
      {"grid: [1]\n", "s.yaml:1:7: grid is a mapping"},
      {"grid: {agent.lambda: [1, null]}\n", "s.yaml:1:26: write the value itself"},
      {"grid: {agent.lambda: [{a: 1}]}\n", "s.yaml:1:23: a plain value is needed"},
      {"grid: {a.b: [1], a: {b: [2]}}\n", "s.yaml:1:25: 'a.b' is in this grid twice"},
      {"agent.lambda: 1\ngrid: {agent.lambda: [1]}\n", "s.yaml:2:23: 'agent.lambda' has a value"},
      {"cases: [{agent.lambda: 1, grid: {agent.lambda: [1]}}]\n",
       "s.yaml:1:49: 'agent.lambda' has"},
      {"cases: {agent: a}\n", "s.yaml:1:8: cases is a list"},
      {"cases: []\n", "s.yaml:1:8: cases is a list"},
      {"cases: [a]\n", "s.yaml:1:9: a case is a mapping"},
      {"cases: [{seeds: 3}]\n", "s.yaml:1:17: unknown key 'seeds': a case has"},
      {"seeds: 20\n", "s.yaml:1:8: name the seeds: seeds: {first: 0, count: 20}"},
      {"seeds: {first: 0, number: 2}\n", "s.yaml:1:27: unknown 'number'"},
      {"seeds: {count: 0}\n", "s.yaml:1:16: a whole number from 1"},
      {"seeds: {first: -1}\n", "s.yaml:1:16: a whole number from 0"},
      {"measure: speed\n", "measure is one of mean_return, final_return"},
      {"best: good\n", "best is lowest or highest"},
      {"gird: {a: [1]}\n", "s.yaml:1:7: unknown key 'gird'; did you mean 'grid'?"},
      {"run.seed: 1\n", "the seeds of a sweep are named like this"},
      {"grid: {run.seed: [1, 2]}\n", "the seeds of a sweep are named like this"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_sweep *sweep;
    lgv_error err = {0};
    assert_int_equal(try_load(cases[i].text, &sweep, &err), LGV_ERR_USAGE);
    assert_null(sweep);
    if (!strstr(err.message, cases[i].says))
      fail_msg("case %zu: '%s' does not say '%s'", i, err.message, cases[i].says);
  }
}

/* Seven keys of ten values are too many; aliases make a small file of it. */
static void an_explosion_is_refused(void **state) {
  (void)state;
  lgv_sweep *sweep;
  lgv_error err = {0};
  const char *text = "env: &l [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                     "grid: {agent.a: *l, agent.b: *l, agent.c: *l, agent.d: *l, agent.e: *l,"
                     " agent.f: *l, agent.g: *l}\n";
  assert_int_equal(try_load(text, &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "more than 1000000 configurations"));
}

/* The n-th allocation fails, for every n until the file is read. */
static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  const char *text = "env: riverswim\ngrid: {agent.lambda: [1, 2]}\n"
                     "cases: [{agent: lmc-lsvi, grid: {agent.beta: [5]}}, {agent: rlsvi}]\n";
  lgv_sweep_free(load(text));
  for (long n = 1; n < 1000; n++) {
    lgv_sweep *sweep;
    lgv_error err = {0};
    lgv__memory_fail_after(n);
    lgv_status status = try_load(text, &sweep, &err);
    if (lgv__memory_fail_after(0) > 0) { /* it was not reached */
      assert_int_equal(status, LGV_OK);
      lgv_sweep_free(sweep);
      return;
    }
    assert_int_equal(status, LGV_ERR_MEMORY);
  }
  fail_msg("reading never succeeded");
}

/* ---- Running ---- */

typedef struct watch {
  lgv_progress last;
  int failures;
  size_t failed_config;
  int stop_after; /* progress reports; 0: never */
  int reports;
} watch;

static void on_progress(void *context, const lgv_progress *progress) {
  watch *w = context;
  w->last = *progress;
  w->reports++;
}

static void on_failure(void *context, size_t config, uint64_t seed, const lgv_error *err) {
  (void)seed, (void)err;
  watch *w = context;
  w->failures++;
  w->failed_config = config;
}

static bool should_stop(void *context) {
  watch *w = context;
  return w->stop_after > 0 && w->reports >= w->stop_after;
}

static lgv_status run(const lgv_sweep *sweep, const char *name, int32_t threads, watch *w,
                      lgv_summary *summaries, lgv_error *err) {
  char out[PATH_MAX];
  join(out, directory, name);
  lgv_sweep_job job = {.sweep = sweep,
                       .threads = threads,
                       .directory = out,
                       .on_progress = on_progress,
                       .on_failure = on_failure,
                       .should_stop = should_stop,
                       .context = w};
  return lgv_sweep_run(&job, summaries, err);
}

static const char small[] = "env: {name: riverswim, n: 4, horizon: 6}\nagent: lmc-lsvi\n"
                            "run.episodes: 20\nrecords: summary\n"
                            "grid: {agent.lambda: [1, 0.1, 0.01]}\nseeds: {first: 7, count: 3}\n";

static void threads_do_not_matter_and_finished_runs_are_kept(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_summary one[9], two[9], again[9];
  lgv_error err = {0};
  watch w = {0};
  assert_int_equal(run(s, "one", 1, &w, one, &err), LGV_OK);
  assert_int_equal(w.last.runs_done, 9);
  assert_int_equal(run(s, "two", 4, &w, two, &err), LGV_OK);
  assert_int_equal(run(s, "one", 2, &w, again, &err), LGV_OK);
  assert_int_equal(w.last.runs, 0);
  assert_int_equal(w.last.runs_found, 9);
  for (size_t i = 0; i < 9; i++) {
    assert_true(one[i].finished && two[i].finished && again[i].finished);
    assert_int_equal(one[i].seed, 7 + i % 3);
    assert_true(one[i].regret == two[i].regret);
    assert_true(one[i].regret == again[i].regret); /* read back to the same bits */
    assert_true(one[i].mean_return == again[i].mean_return);
    assert_int_equal(again[i].steps, 120);
  }
  lgv_sweep_free(s);
}

static void a_summary_that_is_not_whole_is_no_result(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_settings *settings;
  lgv_plan *plan;
  lgv_summary first[9], second[9];
  lgv_error err = {0};
  watch w = {0};
  char name[LGV_SWEEP_NAME_SIZE], path[PATH_MAX];
  assert_int_equal(run(s, "torn", 1, &w, first, &err), LGV_OK);
  assert_int_equal(lgv_sweep_settings(s, 1, &settings, &err), LGV_OK);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_OK);
  assert_int_equal(lgv_sweep_directory(plan, name, &err), LGV_OK);
  snprintf(path, sizeof path, "%s/torn/%s/seed-8", directory, name);
  write_text(path, "summary.json", ""); /* as after a power cut */
  assert_int_equal(run(s, "torn", 1, &w, second, &err), LGV_OK);
  assert_int_equal(w.last.runs_found, 8);
  assert_int_equal(w.last.runs_done, 1);
  assert_true(first[4].regret == second[4].regret);
  char *metrics = read_text(path, "metrics.csv");
  assert_null(metrics); /* records: summary */
  lgv_plan_free(plan);
  lgv_settings_free(settings);
  lgv_sweep_free(s);
}

static void a_grown_sweep_keeps_what_is_done(void **state) {
  (void)state;
  lgv_summary summaries[16];
  lgv_error err = {0};
  watch w = {0};
  lgv_sweep *s = load(small);
  assert_int_equal(run(s, "grow", 2, &w, summaries, &err), LGV_OK);
  lgv_sweep_free(s);
  s = load("run.episodes: 20\ngrid: {agent.lambda: [0.5, 1, 0.10, 1e-2]}\n" /* spelt otherwise */
           "seeds: {first: 6, count: 4}\nrun.records: summary\n"
           "env: {horizon: 6, n: 4, name: riverswim}\nagent: lmc-lsvi\n");
  assert_int_equal(run(s, "grow", 2, &w, summaries, &err), LGV_OK);
  assert_int_equal(w.last.runs_found, 9);
  assert_int_equal(w.last.runs_done, 7);
  lgv_sweep_free(s);
}

static void a_wrong_configuration_stops_everything_before_it_begins(void **state) {
  (void)state;
  lgv_summary summaries[4];
  lgv_error err = {0};
  watch w = {0};
  char path[PATH_MAX];
  struct stat info;
  lgv_sweep *s = load("env: riverswim\nagent: lmc-lsvi\ngrid: {agent.lambda: [1, -1]}\n");
  assert_int_equal(run(s, "wrong", 2, &w, summaries, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "configuration 1: agent.lambda = '-1'"));
  assert_non_null(strstr(err.message, "s.yaml:3:26"));
  join(path, directory, "wrong");
  assert_int_not_equal(stat(path, &info), 0);
  lgv_sweep_free(s);
  s = load("env: riverswim\nagent: lmc-lsvi\ngrid: {agent.lambda: [1, 2, 1.0]}\n");
  assert_int_equal(run(s, "wrong", 2, &w, summaries, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "configurations 0 and 2 are the same"));
  lgv_sweep_free(s);
}

/* A file stands where the directory of one run should be. */
static void a_failed_run_does_not_stop_the_others(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_settings *settings;
  lgv_plan *plan;
  lgv_summary summaries[9];
  lgv_error err = {0};
  watch w = {0};
  char name[LGV_SWEEP_NAME_SIZE], path[PATH_MAX];
  assert_int_equal(lgv_sweep_settings(s, 2, &settings, &err), LGV_OK);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_OK);
  assert_int_equal(lgv_sweep_directory(plan, name, &err), LGV_OK);
  join(path, directory, "fails");
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path, sizeof path, "%s/fails/%s", directory, name);
  assert_int_equal(mkdir(path, 0777), 0);
  write_text(path, "seed-8", "in the way");
  assert_int_equal(run(s, "fails", 2, &w, summaries, &err), LGV_OK);
  assert_int_equal(w.failures, 1);
  assert_int_equal(w.failed_config, 2);
  assert_int_equal(w.last.runs_failed, 1);
  for (size_t i = 0; i < 9; i++) assert_true(summaries[i].finished == (i != 2 * 3 + 1));
  lgv_plan_free(plan);
  lgv_settings_free(settings);
  lgv_sweep_free(s);
}

static void an_interrupted_sweep_is_gone_on_with(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_summary whole[9], part[9], rest[9];
  lgv_error err = {0};
  watch w = {0}, stopping = {.stop_after = 4};
  assert_int_equal(run(s, "whole", 1, &w, whole, &err), LGV_OK);
  assert_int_equal(run(s, "stop", 1, &stopping, part, &err), LGV_ERR_INTERRUPTED);
  assert_true(stopping.last.runs_done < 9);
  assert_int_equal(run(s, "stop", 1, &w, rest, &err), LGV_OK);
  assert_int_equal(w.last.runs_found, stopping.last.runs_done);
  for (size_t i = 0; i < 9; i++) assert_true(whole[i].regret == rest[i].regret);
  lgv_sweep_free(s);
}

/* ---- Scales and labels ---- */

static const char scaled[] = "about: all of it\n"
                             "env: {name: nchain, n: 10}\n"
                             "run: {steps: 100000}\n"
                             "seeds: {first: 7, count: 20}\n"
                             "cases:\n"
                             "  - {label: DQN, agent: dqn, grid: {env.n: [25, 50]}}\n"
                             "  - {label: 'a = {optim.a}', agent: adam-lmcdqn, optim.a: 0.1}\n"
                             "  - {agent: noisynet-dqn}\n"
                             "scales:\n"
                             "  quick:\n"
                             "    about: two agents\n"
                             "    run.steps: 1000\n"
                             "    env.n: 8\n"
                             "    seeds: {count: 2}\n"
                             "    cases: [DQN, 'a = {optim.a}']\n"
                             "  wide: {grid: {env.n: [5, 6, 7]}}\n"
                             "  none: {cases: [Rainbow]}\n";

static void a_scale_replaces_what_it_names(void **state) {
  (void)state;
  lgv_sweep *sweep;
  lgv_error err = {0};
  assert_int_equal(try_load_scale(scaled, "paper", &sweep, &err), LGV_OK);
  assert_int_equal(lgv_sweep_get_info(sweep)->configs, 4);
  assert_int_equal(lgv_sweep_get_info(sweep)->seeds, 20);
  assert_string_equal(lgv_sweep_get_info(sweep)->about, "all of it");
  assert_setting(sweep, 1, "env.n", "50");
  lgv_sweep_free(sweep);
  assert_int_equal(try_load_scale(scaled, "quick", &sweep, &err), LGV_OK);
  const lgv_sweep_info *info = lgv_sweep_get_info(sweep);
  assert_int_equal(info->configs, 2); /* the setting takes the place of the case's axis */
  assert_int_equal(info->first_seed, 7);
  assert_int_equal(info->seeds, 2);
  assert_string_equal(info->about, "two agents");
  for (size_t c = 0; c < 2; c++) assert_setting(sweep, c, "run.steps", "1000");
  for (size_t c = 0; c < 2; c++) assert_setting(sweep, c, "env.n", "8");
  assert_setting(sweep, 1, "agent.name", "adam-lmcdqn");
  lgv_sweep_free(sweep);
  assert_int_equal(try_load_scale(scaled, "wide", &sweep, &err), LGV_OK);
  assert_int_equal(lgv_sweep_get_info(sweep)->configs, 9);
  assert_setting(sweep, 8, "env.n", "7");
  lgv_sweep_free(sweep);
}

static void wrong_scales_are_refused(void **state) {
  (void)state;
  lgv_sweep *sweep;
  lgv_error err = {0};
  assert_int_equal(try_load_scale(scaled, "huge", &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "'huge'; there is paper, quick, wide, none"));
  assert_int_equal(try_load_scale(scaled, "none", &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "no case has one of these labels"));
  assert_int_equal(
      try_load_scale("agent: dqn\nscales: {quick: {measure: regret}}\n", "quick", &sweep, &err),
      LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "s.yaml:2"));
}

static void labels_show_values(void **state) {
  (void)state;
  lgv_sweep *sweep = load(scaled);
  char text[LGV_SWEEP_LABEL_SIZE];
  assert_true(lgv_sweep_label(sweep, 1, text, sizeof text));
  assert_string_equal(text, "DQN");
  assert_true(lgv_sweep_label(sweep, 2, text, sizeof text));
  assert_string_equal(text, "a = 0.1");
  assert_true(lgv_sweep_label(sweep, 2, text, 6)); /* cut, not overrun */
  assert_string_equal(text, "a = 0");
  assert_false(lgv_sweep_label(sweep, 3, text, sizeof text));
  assert_false(lgv_sweep_label(sweep, 4, text, sizeof text));
  lgv_sweep_free(sweep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_key_written_last_varies_fastest),
      cmocka_unit_test(a_case_replaces_common_settings_and_axes),
      cmocka_unit_test(lists_in_a_grid_are_values),
      cmocka_unit_test(a_scale_replaces_what_it_names),
      cmocka_unit_test(wrong_scales_are_refused),
      cmocka_unit_test(labels_show_values),
      cmocka_unit_test(mistakes_are_placed),
      cmocka_unit_test(an_explosion_is_refused),
      cmocka_unit_test(every_failed_allocation_is_reported),
      cmocka_unit_test(threads_do_not_matter_and_finished_runs_are_kept),
      cmocka_unit_test(a_summary_that_is_not_whole_is_no_result),
      cmocka_unit_test(a_grown_sweep_keeps_what_is_done),
      cmocka_unit_test(a_wrong_configuration_stops_everything_before_it_begins),
      cmocka_unit_test(a_failed_run_does_not_stop_the_others),
      cmocka_unit_test(an_interrupted_sweep_is_gone_on_with),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
