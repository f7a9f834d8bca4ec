/* The running of sweeps: what has finished is not run again, threads do not matter, one failure
 * stops nothing else, and several processes keep out of each other's way. */
#include "sweep_helpers.h"

#include "base/io/file.h"
#include "base/io/lock.h"

#include <sys/stat.h>

/* ---- Running ---- */

typedef struct watch {
  lgv_progress last;
  size_t failed_run;
  int stop_after; /* progress reports; 0: never */
  int reports;
  const char *runs; /* of the job */
  bool look_only;
  int phases[LGV_RUN_HELD + 1]; /* how often each was told */
  double first_fraction;        /* at which a run was first seen going */
  char error[512];              /* the last one */
  char notices[2048];
} watch;

static void on_progress(void *context, const lgv_progress *progress) {
  watch *w = context;
  w->last = *progress;
  w->reports++;
}

static void on_run(void *context, const lgv_run_news *news) {
  watch *w = context;
  if (news->phase == LGV_RUN_GOING && w->phases[LGV_RUN_GOING] == 0)
    w->first_fraction = news->fraction;
  w->phases[news->phase]++;
  if (news->phase == LGV_RUN_FAILED) w->failed_run = news->run;
  if (news->error) snprintf(w->error, sizeof w->error, "%s", news->error->message);
}

static void on_notice(void *context, const char *text) {
  watch *w = context;
  size_t used = strlen(w->notices);
  snprintf(w->notices + used, sizeof w->notices - used, "%s\n", text);
}

static bool should_stop(void *context) {
  watch *w = context;
  return w->stop_after > 0 && w->reports >= w->stop_after;
}

static lgv_status run(const lgv_sweep *sweep, const char *name, int32_t threads, watch *w,
                      lgv_summary *summaries, lgv_error *err) {
  char out[PATH_MAX];
  join(out, directory, name);
  lgv_sweep_job job = {.size = sizeof(lgv_sweep_job),
                       .sweep = sweep,
                       .threads = threads,
                       .directory = out,
                       .on_progress = on_progress,
                       .on_run = on_run,
                       .on_notice = on_notice,
                       .should_stop = should_stop,
                       .runs = w->runs,
                       .look_only = w->look_only,
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
  assert_int_equal(w.phases[LGV_RUN_FAILED], 1);
  assert_int_equal(w.failed_run, 2 * 3 + 1);
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

/* What was computed is not computed again: the second call begins beyond half of the run. */
static void a_stopped_run_goes_on_from_where_it_was(void **state) {
  (void)state;
  lgv_sweep *s = load("env: {name: riverswim, n: 4, horizon: 6}\nagent: lmc-lsvi\n"
                      "run.episodes: 2000\n");
  lgv_summary summary;
  lgv_error err = {0};
  watch stopping = {.stop_after = 36}, rest = {0}; /* a report every 256 of 12000 steps */
  assert_int_equal(run(s, "goes-on", 1, &stopping, &summary, &err), LGV_ERR_INTERRUPTED);
  assert_int_equal(stopping.phases[LGV_RUN_STOPPED], 1);
  assert_false(summary.finished);
  assert_int_equal(run(s, "goes-on", 1, &rest, &summary, &err), LGV_OK);
  assert_true(summary.finished);
  assert_true(rest.first_fraction > 0.5);
  lgv_sweep_free(s);
}

/* The directory of a run of `small`. */
static void path_of(const lgv_sweep *s, const char *name, size_t run_index, char path[PATH_MAX]) {
  lgv_settings *settings;
  lgv_plan *plan;
  lgv_error err = {0};
  char folder[LGV_SWEEP_NAME_SIZE];
  assert_int_equal(lgv_sweep_settings(s, run_index / 3, &settings, &err), LGV_OK);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_OK);
  assert_int_equal(lgv_sweep_directory(plan, folder, &err), LGV_OK);
  snprintf(path, PATH_MAX, "%s/%s/%s/seed-%zu", directory, name, folder, 7 + run_index % 3);
  lgv_plan_free(plan);
  lgv_settings_free(settings);
}

static void chosen_runs_are_run_alone(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_summary summaries[9];
  lgv_error err = {0};
  watch some = {.runs = "1,4-5"}, stepped = {.runs = "0-8:4"}, rest = {0};
  assert_int_equal(run(s, "chosen", 2, &some, summaries, &err), LGV_OK);
  assert_int_equal(some.last.runs_done, 3);
  assert_int_equal(some.phases[LGV_RUN_FINISHED], 3);
  for (size_t i = 0; i < 9; i++) assert_true(summaries[i].finished == (i == 1 || i == 4 || i == 5));
  assert_int_equal(summaries[4].seed, 8); /* run = config * 3 + seed - 7 */
  assert_int_equal(run(s, "chosen", 1, &stepped, summaries, &err), LGV_OK);
  assert_int_equal(stepped.last.runs_found, 1); /* 4 of 0, 4, 8 */
  assert_int_equal(stepped.last.runs_done, 2);
  assert_int_equal(run(s, "chosen", 1, &rest, summaries, &err), LGV_OK);
  assert_int_equal(rest.phases[LGV_RUN_FOUND], 5);
  assert_int_equal(rest.last.runs_done, 4);
  watch open_ended = {.runs = "1-:4", .look_only = true}; /* 1 and 5 */
  assert_int_equal(run(s, "chosen", 1, &open_ended, summaries, &err), LGV_OK);
  assert_int_equal(open_ended.phases[LGV_RUN_FOUND], 2);
  assert_true(summaries[1].finished && summaries[5].finished && !summaries[8].finished);
  static const char *const wrong[] = {"",     "x",    "3-",   "5-3",
                                      "-1",   "1,,2", "1, 2", "1-2:0",
                                      "9",    "0-9",  "1%2",  "18446744073709551616",
                                      "9-:2", "3-:",  "3-:0", "1-18446744073709551616:2"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    watch w = {.runs = wrong[i]};
    assert_int_equal(run(s, "chosen", 1, &w, summaries, &err), LGV_ERR_USAGE);
  }
  lgv_sweep_free(s);
}

static void seeds_that_a_case_leaves_out_are_not_run(void **state) {
  (void)state;
  lgv_sweep *s = load("env: {name: riverswim, n: 4, horizon: 6}\nrun.episodes: 5\n"
                      "records: summary\nseeds: {first: 7, count: 3}\n"
                      "cases: [{agent: lmc-lsvi, seeds: {count: 1}}, {agent: lsvi-ucb}]\n");
  lgv_summary summaries[6];
  lgv_error err = {0};
  watch some = {.runs = "0-3"}, all = {0};
  assert_int_equal(run(s, "few", 1, &some, summaries, &err), LGV_OK);
  assert_int_equal(some.last.runs_done, 2); /* 0 and 3; 1 and 2 do not exist */
  assert_int_equal(run(s, "few", 1, &all, summaries, &err), LGV_OK);
  assert_int_equal(all.last.runs_done, 2);
  assert_int_equal(all.last.runs_found, 2);
  const bool exists[] = {true, false, false, true, true, true};
  for (size_t i = 0; i < 6; i++) assert_int_equal(summaries[i].finished, exists[i]);
  lgv_sweep_free(s);
}

static void looking_changes_nothing(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_summary summaries[9];
  lgv_error err = {0};
  watch look = {.look_only = true}, some = {.runs = "0-3"};
  char path[PATH_MAX];
  struct stat info;
  join(path, directory, "look");
  assert_int_equal(run(s, "look", 1, &look, summaries, &err), LGV_OK);
  assert_int_not_equal(stat(path, &info), 0);
  assert_int_equal(look.last.runs, 9);
  assert_int_equal(run(s, "look", 1, &some, summaries, &err), LGV_OK);
  look = (watch){.look_only = true};
  assert_int_equal(run(s, "look", 1, &look, summaries, &err), LGV_OK);
  assert_int_equal(look.last.runs_found, 4);
  assert_int_equal(look.last.runs_done, 0);
  assert_true(summaries[3].finished && !summaries[4].finished);
  lgv_sweep_free(s);
}

/* summary.json is a directory: the run cannot finish, and says so in its own directory until it
 * can. */
static void failures_are_kept_until_they_are_mended(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_summary summaries[9];
  lgv_error err = {0};
  watch first = {0}, look = {.look_only = true}, again = {0};
  char path[PATH_MAX], in_the_way[PATH_MAX];
  path_of(s, "mend", 4, path);
  watch begin = {.runs = "4"};
  assert_int_equal(run(s, "mend", 1, &begin, summaries, &err), LGV_OK);
  join(in_the_way, path, "summary.json");
  assert_int_equal(unlink(in_the_way), 0);
  assert_int_equal(mkdir(in_the_way, 0777), 0);
  assert_int_equal(run(s, "mend", 2, &first, summaries, &err), LGV_OK);
  assert_int_equal(first.last.runs_failed, 1);
  assert_int_equal(first.last.runs_done, 8);
  char *kept = read_text(path, "error.json");
  assert_non_null(kept);
  assert_non_null(strstr(kept, "summary.json"));
  free(kept);
  assert_int_equal(run(s, "mend", 2, &look, summaries, &err), LGV_OK);
  assert_int_equal(look.phases[LGV_RUN_FAILED], 1);
  assert_int_equal(look.failed_run, 4);
  assert_string_equal(look.error, first.error);
  assert_int_equal(rmdir(in_the_way), 0);
  assert_int_equal(run(s, "mend", 2, &again, summaries, &err), LGV_OK);
  assert_int_equal(again.last.runs_done, 1);
  assert_null(read_text(path, "error.json"));
  assert_null(read_text(path, "lock"));
  write_text(path, "error.json", "{}\n"); /* the close of summary.json failed after its rename */
  watch found = {0};
  assert_int_equal(run(s, "mend", 2, &found, summaries, &err), LGV_OK);
  assert_int_equal(found.last.runs_found, 9);
  assert_null(read_text(path, "error.json"));
  lgv_sweep_free(s);
}

/* A lock that is held keeps others off; one that was left by the dead does not. */
static void a_locked_run_is_left_to_its_holder(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_summary summaries[9];
  lgv_error err = {0};
  lgv_lock lock;
  watch w = {0}, later = {0};
  char path[PATH_MAX], expected[64];
  path_of(s, "held", 4, path);
  assert_int_equal(lgv__make_directory(path, &err), LGV_OK);
  assert_int_equal(lgv__lock_take(&lock, path, 0, &err), LGV_OK);
  assert_true(lock.descriptor >= 0);
  assert_int_equal(run(s, "held", 2, &w, summaries, &err), LGV_OK);
  assert_int_equal(w.last.runs_held, 1);
  assert_int_equal(w.last.runs_done, 8);
  assert_int_equal(w.phases[LGV_RUN_HELD], 1);
  assert_false(summaries[4].finished);
  snprintf(expected, sizeof expected, "process %ld on ", (long)getpid());
  assert_non_null(strstr(w.error, expected));
  assert_null(read_text(path, "config.json"));
  lgv__lock_release(&lock);
  write_text(path, "lock", "process 1 on nowhere\n");
  assert_int_equal(run(s, "held", 2, &later, summaries, &err), LGV_OK);
  assert_int_equal(later.last.runs_done, 1);
  assert_null(read_text(path, "lock"));
  write_text(path, "lock", "process 1 on nowhere\n"); /* it died just after the run had finished */
  write_text(path, "error.json", "{}");
  assert_int_equal(run(s, "held", 2, &later, summaries, &err), LGV_OK);
  assert_null(read_text(path, "lock"));
  assert_null(read_text(path, "error.json"));
  lgv_sweep_free(s);
}

/* Replaces the version in a config.json. */
static void pretend_version(const char *path, const char *version) {
  char *text = read_text(path, "config.json"), *at = strstr(text, lgv_version());
  assert_non_null(at);
  assert_int_equal(strlen(version), strlen(lgv_version()));
  memcpy(at, version, strlen(version));
  write_text(path, "config.json", text);
  free(text);
}

static void runs_of_other_versions_are_named(void **state) {
  (void)state;
  lgv_sweep *s = load(small);
  lgv_summary summaries[9];
  lgv_error err = {0};
  watch first = {0}, second = {0}, third = {0};
  char path[PATH_MAX];
  assert_int_equal(run(s, "old", 1, &first, summaries, &err), LGV_OK);
  assert_string_equal(first.notices, "");
  path_of(s, "old", 4, path);
  pretend_version(path, "0.0.7");
  path_of(s, "old", 5, path);
  pretend_version(path, "0.0.7");
  assert_int_equal(run(s, "old", 1, &second, summaries, &err), LGV_OK);
  assert_int_equal(second.last.runs_found, 9);
  assert_non_null(
      strstr(second.notices, "2 finished runs are from langevin 0.0.7 with the kernels"));
  write_text(path, "summary.json",
             "{\"seed\": 9, \"steps\": 1, \"episodes\": 0, \"finished\": false}");
  assert_int_equal(run(s, "old", 1, &third, summaries, &err), LGV_OK);
  assert_int_equal(third.last.runs_done, 1);
  assert_non_null(strstr(third.notices, "run 5 was begun by langevin 0.0.7"));
  write_text(path, "config.json", ""); /* half of a record is no record */
  assert_int_equal(run(s, "old", 1, &third, summaries, &err), LGV_OK);
  assert_int_equal(third.last.runs_done, 1);
  lgv_sweep_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_do_not_matter_and_finished_runs_are_kept),
      cmocka_unit_test(a_summary_that_is_not_whole_is_no_result),
      cmocka_unit_test(a_grown_sweep_keeps_what_is_done),
      cmocka_unit_test(a_wrong_configuration_stops_everything_before_it_begins),
      cmocka_unit_test(a_failed_run_does_not_stop_the_others),
      cmocka_unit_test(an_interrupted_sweep_is_gone_on_with),
      cmocka_unit_test(a_stopped_run_goes_on_from_where_it_was),
      cmocka_unit_test(chosen_runs_are_run_alone),
      cmocka_unit_test(seeds_that_a_case_leaves_out_are_not_run),
      cmocka_unit_test(looking_changes_nothing),
      cmocka_unit_test(failures_are_kept_until_they_are_mended),
      cmocka_unit_test(a_locked_run_is_left_to_its_holder),
      cmocka_unit_test(runs_of_other_versions_are_named),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
