/* Recorders: the files they write, how they continue, and what they refuse. What Python's learn()
 * writes with them is compared with runs in tests/python/test_records.py. */
#include "langevin.h"
#include "temp_root.h"

#include <math.h>

static const char *const columns[] = {"run/step", "run/return", "agent/loss", NULL};
static const char config[] = "{\n  \"agent\": {\n    \"name\": \"dqn\"\n  },\n  \"run\": {\n    "
                             "\"steps\": 20,\n    \"seed\": 7\n  }\n}\n";

static lgv_recorder_options options_for(const char *directory) {
  return (lgv_recorder_options){.size = sizeof(lgv_recorder_options),
                                .directory = directory,
                                .config = config,
                                .env = "mine",
                                .agent = "dqn",
                                .columns = columns,
                                .last_step = -1};
}

static lgv_recorder *open_recorder(const lgv_recorder_options *options) {
  lgv_error err = {0};
  lgv_recorder *recorder;
  if (lgv_recorder_create(options, &recorder, &err) != LGV_OK) fail_msg("%s", err.message);
  return recorder;
}

static void assert_refused(const lgv_recorder_options *options, const char *part) {
  lgv_error err = {0};
  lgv_recorder *recorder;
  assert_int_not_equal(lgv_recorder_create(options, &recorder, &err), LGV_OK);
  assert_null(recorder);
  if (!strstr(err.message, part)) fail_msg("'%s' does not say '%s'", err.message, part);
}

static void write_rows(lgv_recorder *recorder, int first, int last) {
  for (int i = first; i <= last; i++) {
    double row[] = {i, i == 2 ? NAN : i / 2.0, 1.0 / i};
    assert_int_equal(lgv_recorder_row(recorder, row, NULL), LGV_OK);
  }
}

static void finish(lgv_recorder *recorder, int steps) {
  lgv_summary summary = {.seed = 7,
                         .steps = steps,
                         .episodes = 3,
                         .mean_return = 1,
                         .final_return = NAN,
                         .optimal_value = NAN,
                         .regret = NAN,
                         .solved_episode = NAN,
                         .finished = true};
  assert_int_equal(lgv_recorder_finish(recorder, &summary, NULL, NULL), LGV_OK);
  lgv_recorder_free(recorder);
}

static void assert_metrics(const char *directory, const char *expected) {
  char *text = read_text(directory, "metrics.csv");
  assert_string_equal(text, expected);
  free(text);
}

static double number_of(const char *json, const char *name) {
  const char *at = strstr(json, name);
  assert_non_null(at);
  return strtod(strchr(at, ':') + 1, NULL);
}

static void test_rows_and_summary(void **state) {
  (void)state;
  char directory[PATH_MAX];
  join(directory, root, "rows");
  lgv_recorder_options options = options_for(directory);
  lgv_recorder *recorder = open_recorder(&options);
  assert_refused(&options, "is writing into");
  write_rows(recorder, 1, 4);
  finish(recorder, 4);
  assert_metrics(directory, "step,return,loss\n1,0.5,1\n2,,0.5\n3,1.5,0.3333333333333333\n"
                            "4,2,0.25\n");
  lgv_summary summary;
  assert_int_equal(lgv_summary_load(directory, &summary, NULL), LGV_OK);
  assert_int_equal(summary.steps, 4);
  assert_int_equal(summary.seed, 7);
  assert_true(summary.finished);
}

static void test_continues(void **state) {
  (void)state;
  char directory[PATH_MAX], path[PATH_MAX];
  join(directory, root, "continued");
  lgv_recorder_options options = options_for(directory);
  lgv_recorder *recorder = open_recorder(&options);
  write_rows(recorder, 1, 4);
  finish(recorder, 4);
  join(path, directory, "metrics.csv");
  FILE *file = fopen(path, "ab");
  fputs("5,2.5", file); /* a row that a crash has torn */
  fclose(file);
  options.last_step = 2;
  recorder = open_recorder(&options);
  write_rows(recorder, 4, 4);
  finish(recorder, 4);
  assert_metrics(directory, "step,return,loss\n1,0.5,1\n2,,0.5\n4,2,0.25\n");
  options.last_step = 9;
  finish(open_recorder(&options), 4);
  assert_metrics(directory, "step,return,loss\n1,0.5,1\n2,,0.5\n4,2,0.25\n");
  options.last_step = -1;
  finish(open_recorder(&options), 0);
  assert_metrics(directory, "step,return,loss\n");
}

/* The steps per second of timing.json count from where training continues, also into a new
 * directory. */
static void test_timing(void **state) {
  (void)state;
  char directory[PATH_MAX];
  join(directory, root, "timing");
  lgv_recorder_options options = options_for(directory);
  options.last_step = 1000000000;
  lgv_recorder *recorder = open_recorder(&options);
  double row[] = {1000000001, 1, 1};
  assert_int_equal(lgv_recorder_row(recorder, row, NULL), LGV_OK);
  finish(recorder, 1000000001);
  char *text = read_text(directory, "timing.json");
  assert_true(number_of(text, "steps_per_second") * number_of(text, "seconds") < 1.5);
  free(text);
}

/* A file that cannot be read is not taken for none, and stays. */
static void test_unreadable(void **state) {
  (void)state;
  char directory[PATH_MAX], path[PATH_MAX], target[PATH_MAX];
  join(directory, root, "unreadable");
  lgv_recorder_options options = options_for(directory);
  finish(open_recorder(&options), 0);
  join(path, directory, "metrics.csv");
  assert_int_equal(remove(path), 0);
  assert_int_equal(symlink("metrics.csv", path), 0); /* to itself: not even root can follow it */
  options.last_step = 5;
  assert_refused(&options, "metrics.csv");
  assert_true(readlink(path, target, sizeof target) > 0);
}

static void test_missing_options(void **state) {
  (void)state;
  char directory[PATH_MAX];
  join(directory, root, "missing");
  lgv_recorder_options options[5];
  for (int i = 0; i < 5; i++) options[i] = options_for(directory);
  options[0].directory = options[1].config = options[2].env = options[3].agent = NULL;
  options[4].columns = NULL;
  for (int i = 0; i < 5; i++) assert_refused(&options[i], "a recorder needs");
}

static void test_refusals(void **state) {
  (void)state;
  static const char *const other[] = {"run/step", "run/return", NULL};
  static const char *const plain[] = {"run/step", "loss", NULL};
  static const char *const comma[] = {"run/step", "agent/a,b", NULL};
  static const char *const late[] = {"run/return", "run/step", NULL};
  static const char *const none[] = {NULL};
  char directory[PATH_MAX], fresh[PATH_MAX];
  join(directory, root, "refused");
  join(fresh, root, "fresh");
  lgv_recorder_options options = options_for(directory);
  finish(open_recorder(&options), 0);
  options.last_step = 5;
  options.columns = other;
  assert_refused(&options, "has other columns");
  options.columns = columns;
  options.config = "{\n  \"agent\": {\n    \"name\": \"c51\"\n  },\n  \"run\": {\n    "
                   "\"steps\": 20,\n    \"seed\": 7\n  }\n}\n";
  assert_refused(&options, "agent.name is \"dqn\" there, here \"c51\"");
  options = options_for(fresh);
  options.columns = plain;
  assert_refused(&options, "'loss' is not \"group/name\"");
  options.columns = comma;
  assert_refused(&options, "without commas");
  options.columns = late;
  assert_refused(&options, "the first column");
  options.columns = none;
  assert_refused(&options, "the first column");
  options.size = 8;
  assert_refused(&options, "lgv_recorder_options");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_and_summary), cmocka_unit_test(test_continues),
      cmocka_unit_test(test_timing),           cmocka_unit_test(test_unreadable),
      cmocka_unit_test(test_missing_options),  cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
