/* How `langevin bench` selects and judges times; the times themselves are not tested. */
#include "bench/bench.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bench_report report;

static void record(const char *group, const char *name, bench_count count, double seconds) {
  lgv_error err = {0};
  report.group = group;
  if (bench_record(&report, name, count, seconds, &err) != LGV_OK) fail_msg("%s", err.message);
}

static void the_best_time_of_a_name_is_kept(void **state) {
  (void)state;
  report = (bench_report){0};
  static const char one[] = "one", other[] = "other";
  bench_count count = {.operations = 100, .units = 10, .unit = "item"};
  record(one, "a", count, 3);
  record(one, "a", count, 2);
  record(one, "a", count, 5);
  record(one, "b", count, 7);
  record(other, "a", count, 11);
  assert_int_equal(report.lines, 3);
  assert_true(report.line[0].seconds == 2 && report.line[1].seconds == 7);
  assert_true(report.line[2].seconds == 11 && report.line[2].group == other);
  /* larger repetitions count by their unit */
  record(one, "a", (bench_count){.operations = 400, .units = 40, .unit = "item"}, 4);
  assert_int_equal(report.lines, 3);
  assert_true(bench_unit_seconds(&report.line[0]) == 0.1 && bench_rate(&report.line[0]) == 100);
}

static void lines_have_an_end(void **state) {
  (void)state;
  report = (bench_report){.group = "g"};
  bench_count count = {.units = 1, .unit = "item"};
  char name[BENCH_NAME_SIZE];
  for (int i = 0; i < BENCH_MOST_LINES; i++) {
    snprintf(name, sizeof name, "line %d", i);
    record("g", name, count, 1);
  }
  lgv_error err = {0};
  report.group = report.line[0].group;
  assert_int_equal(bench_record(&report, "one more", count, 1, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "BENCH_MOST_LINES"));
  assert_int_equal(bench_record(&report, "line 0", count, 0.5, &err), LGV_OK);
}

static void targets_are_shares_or_times(void **state) {
  (void)state;
  report = (bench_report){.limit = {[BENCH_PRODUCTS] = 1000, [BENCH_DRAM] = 1600}};
  bench_line share = {.count = {.operations = 800, .units = 1, .goal = BENCH_SHARE, .target = 0.8},
                      .seconds = 1};
  assert_true(bench_share(&report, &share) == 0.8 && bench_is_met(&report, &share));
  share.seconds = 1.01;
  assert_false(bench_is_met(&report, &share));
  share.count.limit = BENCH_DRAM; /* of each limit its own */
  share.seconds = 1;
  assert_true(bench_share(&report, &share) == 0.5);
  share.count.limit = BENCH_PRODUCTS;
  report.limit[BENCH_PRODUCTS] = 0; /* not measured */
  assert_true(isnan(bench_share(&report, &share)));
  assert_false(bench_is_met(&report, &share));
  bench_line time = {.count = {.units = 10, .goal = BENCH_SECONDS, .target = 1.3}, .seconds = 13};
  assert_true(bench_is_met(&report, &time) && isnan(bench_rate(&time)));
  time.seconds = 13.1;
  assert_false(bench_is_met(&report, &time));
}

static lgv_status count_calls(void *context, lgv_error *err) {
  (void)err;
  return --*(int *)context > 0 ? LGV_OK : LGV_ERR_NUMERIC;
}

static void only_wanted_lines_are_measured(void **state) {
  (void)state;
  int left = 1; /* the first call would fail */
  lgv_error err = {0};
  report = (bench_report){.group = "g", .only = "CNN"};
  bench_count count = {.units = 1, .unit = "item"};
  assert_int_equal(bench_measure(&report, "MLP", count, count_calls, &left, &err), LGV_OK);
  assert_int_equal(bench_measure_wall(&report, "MLP", count, count_calls, &left, &err), LGV_OK);
  assert_int_equal(report.lines, 0);
  assert_true(bench_is_wanted(&report, "Nature CNN, dqn"));
  report.group = bench_groups[0]->name; /* limits are */
  assert_true(bench_is_wanted(&report, "multiply-adds"));
}

static void wrong_settings_are_refused(void **state) {
  (void)state;
  lgv_settings *settings;
  lgv_error err = {0};
  assert_int_equal(bench_settings("agent.name=dqn  agent.batch=7", &settings, &err), LGV_OK);
  lgv_settings_free(settings);
  assert_int_equal(bench_settings("agent.name", &settings, &err), LGV_ERR_USAGE);
  lgv_settings_free(settings);
}

static void a_failure_ends_the_measurement(void **state) {
  (void)state;
  int left = 5;
  double seconds;
  lgv_error err = {0};
  assert_int_equal(bench_best(count_calls, &left, &seconds, &err), LGV_ERR_NUMERIC);
  assert_int_equal(left, 0);
}

static void every_group_opens_and_closes(void **state) {
  (void)state;
  size_t groups = 0;
  for (; bench_groups[groups]; groups++) {
    void *opened = NULL;
    lgv_error err = {0};
    assert_int_equal(!bench_groups[groups]->open, !bench_groups[groups]->close);
    if (!bench_groups[groups]->open) continue;
    if (bench_groups[groups]->open(&opened, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_non_null(opened);
    bench_groups[groups]->close(opened);
    bench_groups[groups]->close(NULL);
  }
  assert_in_range(groups, 4, BENCH_MOST_GROUPS);
}

/* Actions of one part and of several, and those of a box. */
static void every_environment_takes_its_steps(void **state) {
  (void)state;
  static const char *const names[] = {"linear-mdp", "switches", "pendulum"};
  for (int i = 0; i < 3; i++) {
    bench_request request = {.rounds = 1, .only = names[i], .effort = BENCH_ONCE};
    lgv_error err = {0};
    for (size_t g = 0; bench_groups[g]; g++)
      request.wanted[g] = strcmp(bench_groups[g]->name, "env") == 0;
    report = (bench_report){0};
    if (bench_run(&request, &report, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_int_equal(report.lines, 1);
    assert_string_equal(report.line[0].name, names[i]);
  }
}

/* The bridge is left out where no Python has Gymnasium, and for no other reason. */
static bool lacks_gymnasium(const bench_group *group) {
  bool is_missing = strstr(report.skipped, "gymnasium is not installed") ||
                    strstr(report.skipped, "cannot start the Python");
  return is_missing && strcmp(group->name, "bridge") == 0;
}

/* Every line of the table, as `langevin bench` without arguments measures it. */
static void every_line_is_measured(void **state) {
  (void)state;
  bench_request request = {.rounds = 1, .effort = BENCH_ONCE};
  lgv_error err = {0};
  bool seen[BENCH_MOST_GROUPS] = {0};
  memset(request.wanted, true, sizeof request.wanted);
  if (bench_run(&request, &report, &err) != LGV_OK) fail_msg("%s", err.message);
  for (size_t l = 0; l < report.lines; l++)
    for (size_t g = 0; bench_groups[g]; g++)
      seen[g] |= report.line[l].group == bench_groups[g]->name;
  for (size_t g = 0; bench_groups[g]; g++)
    if (!seen[g] && !lacks_gymnasium(bench_groups[g]))
      fail_msg("%s: no line", bench_groups[g]->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_time_of_a_name_is_kept),
      cmocka_unit_test(lines_have_an_end),
      cmocka_unit_test(targets_are_shares_or_times),
      cmocka_unit_test(only_wanted_lines_are_measured),
      cmocka_unit_test(wrong_settings_are_refused),
      cmocka_unit_test(a_failure_ends_the_measurement),
      cmocka_unit_test(every_group_opens_and_closes),
      cmocka_unit_test(every_environment_takes_its_steps),
      cmocka_unit_test(every_line_is_measured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
