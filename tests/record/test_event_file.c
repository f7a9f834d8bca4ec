/* TensorBoard's event file: what TensorBoard reads from it, and that a run which was stopped and
 * resumed leaves the one of a run that was not, but for the times. */
#include "gym_helpers.h"
#include "record/event_file.h"
#include "run_helpers.h"
#include "temp_root.h"
#include "train/run.h"

static lgv_run *open_run(const lgv_plan *plan, const char *name, bool resume) {
  char directory[PATH_MAX];
  lgv_error err = {0};
  lgv_run *run;
  join(directory, root, name);
  lgv_status status = resume ? lgv_run_resume(plan, 3, directory, &run, &err)
                             : lgv_run_create(plan, 3, directory, &run, &err);
  if (status != LGV_OK) fail_msg("%s", err.message);
  return run;
}

static void advance(lgv_run *run, int64_t steps) {
  lgv_error err = {0};
  bool done;
  if (lgv_run_advance(run, steps, &done, &err) != LGV_OK) fail_msg("%s", err.message);
}

static void finish(lgv_run *run) {
  lgv_error err = {0};
  advance(run, 1 << 20);
  if (lgv_run_finish(run, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_free(run);
}

/* The file of a run; the caller frees it. NULL if there is none. */
static unsigned char *read_events(const char *name, size_t *size) {
  char path[PATH_MAX];
  assert_true(snprintf(path, PATH_MAX, "%s/%s/%s", root, name, LGV_EVENT_FILE_NAME) < PATH_MAX);
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  unsigned char *bytes = malloc(1 << 20);
  *size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

/* Takes times, and the sums that depend on them, out of a file; returns how many records it has. */
static int blank_times(unsigned char *bytes, size_t size) {
  int records = 0;
  for (size_t at = 0; at < size; records++) {
    uint64_t length;
    assert_true(at + 12 <= size);
    memcpy(&length, bytes + at, 8);
    assert_true(length >= 11 && at + 16 + length <= size);
    assert_int_equal(bytes[at + 12], 0x09);
    memset(bytes + at + 13, 0, 8);
    memset(bytes + at + 12 + length, 0, 4);
    at += 16 + length;
  }
  return records;
}

static void assert_same_events(const char *one, const char *other) {
  size_t n = 0, m = 0;
  unsigned char *a = read_events(one, &n), *b = read_events(other, &m);
  assert_true(a && b);
  assert_int_equal(blank_times(a, n), blank_times(b, m));
  assert_int_equal(n, m);
  assert_memory_equal(a, b, n);
  free(a);
  free(b);
}

static lgv_plan *make_linear_plan(const char *extra) {
  char all[512];
  snprintf(all, sizeof all, "env.n=4 env.horizon=5 run.episodes=60 %s", extra);
  return make_plan("riverswim", "lmc-lsvi", all);
}

static void damage(const char *name, long cut, const char *tail) {
  char path[PATH_MAX];
  assert_true(snprintf(path, PATH_MAX, "%s/%s/%s", root, name, LGV_EVENT_FILE_NAME) < PATH_MAX);
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, -cut, SEEK_END), 0);
  assert_int_equal(ftruncate(fileno(file), ftell(file)), 0);
  assert_true(fputs(tail, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* Lost rows, a record that was half written, and bytes that are none. */
static void a_resumed_run_leaves_the_same_events(void **state) {
  (void)state;
  lgv_plan *plan = make_linear_plan("");
  lgv_error err = {0};
  finish(open_run(plan, "whole", false));
  static const struct {
    long cut;
    const char *tail;
  } damages[] = {{0, ""}, {5, ""}, {0, "not a record at all"}};
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    lgv_run *run = open_run(plan, "broken", false);
    advance(run, 113);
    assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
    advance(run, 41);
    lgv_run_free(run);
    damage("broken", damages[i].cut, damages[i].tail);
    finish(open_run(plan, "broken", true));
    assert_same_events("whole", "broken");
  }
  lgv_plan_free(plan);
}

static bool always(void *context) {
  (void)context;
  return true;
}

/* The row of that step is written, but the next checkpoint never is. */
static void a_run_stopped_within_an_evaluation_tells_of_it_once(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("nchain", "dqn", "run.steps=200 run.eval_every=50");
  lgv_error err = {0};
  bool done;
  finish(open_run(plan, "alone", false));
  for (int64_t before = 0; before <= 40; before += 40) { /* within the first, or the second */
    lgv_run *run = open_run(plan, "stopped", false);
    advance(run, before);
    lgv__run_set_stop(run, (lgv_stop){always, NULL});
    assert_int_equal(lgv_run_advance(run, 20, &done, &err), LGV_ERR_INTERRUPTED);
    assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
    lgv_run_free(run);
    run = open_run(plan, "stopped", true);
    advance(run, 20);
    lgv_run_free(run);
    finish(open_run(plan, "stopped", true));
    assert_same_events("alone", "stopped");
  }
  lgv_plan_free(plan);
}

/* Nobody's results depend on the file: it can be switched off and on, and even be lost. */
static void a_run_goes_on_without_its_events(void **state) {
  (void)state;
  lgv_plan *with = make_linear_plan(""), *without = make_linear_plan("run.tensorboard=false");
  char digest[2][LGV_DIGEST_SIZE];
  lgv_error err = {0};
  size_t size = 0;
  assert_int_equal(lgv_plan_digest(with, digest[0], &err), LGV_OK);
  assert_int_equal(lgv_plan_digest(without, digest[1], &err), LGV_OK);
  assert_string_equal(digest[0], digest[1]);
  lgv_run *run = open_run(without, "late", false);
  advance(run, 100);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  assert_null(read_events("late", &size));
  finish(open_run(with, "late", true));
  unsigned char *events = read_events("late", &size);
  assert_non_null(events);
  assert_int_equal(blank_times(events, size),
                   1 + 40); /* the version; 20 of 60 episodes were over */
  free(events);
  lgv_plan_free(with);
  lgv_plan_free(without);
}

static void runs_begun_anew_and_summaries_have_no_old_events(void **state) {
  (void)state;
  lgv_plan *plan = make_linear_plan("run.records=summary");
  char directory[PATH_MAX];
  size_t size = 0;
  join(directory, root, "small");
  assert_int_equal(mkdir(directory, 0777), 0);
  write_text(directory, LGV_EVENT_FILE_NAME, "of another run");
  finish(open_run(plan, "small", false));
  assert_null(read_events("small", &size));
  lgv_plan_free(plan);
}

static void check_with_tensorboard(const char *name, const lgv_plan *plan) {
  char command[3 * PATH_MAX];
  lgv_error err = {0};
  lgv_run *run = open_run(plan, name, false);
  advance(run, 70);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  advance(run, 30);
  lgv_run_free(run);
  finish(open_run(plan, name, true));
  snprintf(command, sizeof command, "'%s' '%s/tensorboard_reader.py' '%s/%s'",
           getenv("LANGEVIN_PYTHON"), TEST_SOURCE_DIR, root, name);
  assert_int_equal(system(command), 0);
}

static void tensorboard_reads_what_metrics_csv_says(void **state) {
  (void)state;
  char command[PATH_MAX + 64];
  setenv("LANGEVIN_PYTHON", TEST_SOURCE_DIR "/../.venv/bin/python", 0);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  snprintf(command, sizeof command, "'%s' -c 'import tensorboard' 2>/dev/null",
           getenv("LANGEVIN_PYTHON"));
  if (system(command) != 0) {
    const char *ci = getenv("CI");
    if (ci && *ci) fail_msg("no TensorBoard in %s", getenv("LANGEVIN_PYTHON"));
    skip(); /* scripts/setup-python installs it */
  }
  lgv_plan *linear = make_linear_plan("");
  lgv_plan *deep = make_plan("deepsea", "dqn", "env.n=4 run.steps=400 run.eval_every=20");
  check_with_tensorboard("linear", linear);
  check_with_tensorboard("deep", deep);
  lgv_plan_free(linear);
  lgv_plan_free(deep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_resumed_run_leaves_the_same_events),
      cmocka_unit_test(a_run_stopped_within_an_evaluation_tells_of_it_once),
      cmocka_unit_test(a_run_goes_on_without_its_events),
      cmocka_unit_test(runs_begun_anew_and_summaries_have_no_old_events),
      cmocka_unit_test(tensorboard_reads_what_metrics_csv_says),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
