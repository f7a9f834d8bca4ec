/* A disk that fails: every call that writes, syncs, renames, cuts or opens a file fails in turn,
 * once or for good, in the run itself and in the child that writes large checkpoints. The run stops
 * with a message, and resumed it ends with the bytes of one that was left alone. */
#include "base/io/disk.h"
#include "record/checkpoint.h"

#include "fault_helpers.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char root[TEMP_SIZE], whole[PATH_MAX];
static bool by_child; /* whether children write the checkpoints */
static int unnoticed; /* failures that no status told of */

typedef struct story {
  const char *env, *agent, *settings;
} story;

static const story stories[] = {
    {"riverswim", "lmc-lsvi", "run.steps=300 run.checkpoint_every=100"},
    {"nchain", "dqn",
     "run.steps=300 run.eval_every=100 run.checkpoint_every=100 agent.preset=small "
     "agent.warmup=50 agent.replay=200"},
};

static lgv_plan *open_story(const story *s) {
  lgv_plan *plan = make_plan(s->env, s->agent, s->settings);
  lgv_error err = {0};
  make_temp(root);
  join(whole, root, "whole");
  if (finish_run(plan, whole, false, &err) != LGV_OK) fail_msg("%s", err.message);
  return plan;
}

static void close_story(lgv_plan *plan) {
  lgv_plan_free(plan);
  remove_tree(root);
}

/* Stops at its second checkpoint. */
static void begin_run(const lgv_plan *plan, const char *directory) {
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  if (lgv_run_create(plan, FAULT_SEED, directory, &run, &err) != LGV_OK ||
      lgv_run_advance(run, 230, &done, &err) != LGV_OK)
    fail_msg("%s", err.message);
  lgv_run_free(run);
}

/* The newest one, so that the run resumes from the one before. */
static void damage_checkpoint(const char *directory) {
  char path[PATH_MAX];
  join(path, directory, "checkpoint.safetensors");
  assert_int_equal(truncate(path, 1000), 0);
}

/* Which part of a run meets with the failure: all of it, or the rest of one that was stopped and
 * may have lost its newest checkpoint, or a second one that takes the place of one that has ended.
 */
typedef enum part { WHOLE, REST, REST_OF_DAMAGED, SECOND } part;

static void prepare(const lgv_plan *plan, part which, const char *directory) {
  lgv_error err = {0};
  if (which == REST || which == REST_OF_DAMAGED) begin_run(plan, directory);
  if (which == REST_OF_DAMAGED) damage_checkpoint(directory);
  if (which == SECOND) assert_int_equal(finish_run(plan, directory, false, &err), LGV_OK);
}

/* The n-th call fails. Returns false if there were fewer. */
static bool fail_one(const lgv_plan *plan, long n, int error, bool for_good, part which) {
  char directory[PATH_MAX];
  lgv_error err = {0};
  bool resume = which == REST || which == REST_OF_DAMAGED;
  join(directory, root, "run");
  prepare(plan, which, directory);
  lgv__disk_fail_after(n, error, for_good);
  lgv_status status = finish_run(plan, directory, resume, &err);
  bool came = lgv__disk_fail_after(0, 0, false) == 0;
  unnoticed += came && status == LGV_OK;
  if (status != LGV_OK && (status != LGV_ERR_IO || !strstr(err.message, strerror(error))))
    fail_msg("call %ld, %s: %s, '%s'", n, strerror(error), lgv_status_name(status), err.message);
  if (!came) assert_true(status == LGV_OK || by_child);
  if (finish_run(plan, directory, true, &err) != LGV_OK)
    fail_msg("call %ld, resumed: %s", n, err.message);
  assert_same_records(whole, directory);
  remove_tree(directory);
  return came;
}

/* Every stride-th call. Returns how many there were. */
static long fail_each(const lgv_plan *plan, long stride, int error, bool for_good, part which) {
  long n = 1;
  unnoticed = 0;
  while (fail_one(plan, n, error, for_good, which)) n += stride;
  return n - 1;
}

static void every_call_may_fail(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
    lgv_plan *plan = open_story(&stories[i]);
    part last = i == 0 ? SECOND : REST; /* which files go when does not depend on the agent */
    for (part which = WHOLE; which <= last; which++) {
      long least = which == REST || which == REST_OF_DAMAGED ? 50 : 130;
      assert_true(fail_each(plan, 1, EIO, false, which) > least);
      /* metrics.csv and the event file are synced, then closed when the run is freed */
      assert_int_equal(unnoticed, 2);
      assert_true(fail_each(plan, 3, ENOSPC, true, which) > least);
    }
    close_story(plan);
  }
}

/* The child counts on from where the run was: both may fail. */
static void every_call_of_a_child_may_fail(void **state) {
  (void)state;
  size_t usual = lgv__checkpoint_fork_from(0);
  by_child = true;
  for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
    lgv_plan *plan = open_story(&stories[i]);
    for (long n = 1; n <= 60; n++)
      fail_one(plan, n, ENOSPC, n % 2, n % 3 ? WHOLE : REST_OF_DAMAGED);
    close_story(plan);
  }
  lgv__checkpoint_fork_from(usual);
  by_child = false;
}

/* ---- a disk that is full ---- */

/* In a process of its own, whose file systems nobody else sees. */
static int run_on_a_full_disk(const lgv_plan *plan, const char *place) {
  char directory[PATH_MAX], ballast[PATH_MAX];
  lgv_error err = {0};
  bool mounted =
      unshare(CLONE_NEWNS) == 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, "") == 0;
  if (!mounted || mount("tmpfs", place, "tmpfs", 0, "size=512k") != 0) return 77;
  join(directory, place, "run");
  join(ballast, place, "ballast");
  begin_run(plan, directory);
  FILE *file = fopen(ballast, "wb");
  while (file && fputc('x', file) != EOF && !ferror(file)) continue;
  if (file) fclose(file);
  if (finish_run(plan, directory, true, &err) != LGV_ERR_IO) return 1;
  if (!strstr(err.message, "No space left on device")) return 2;
  if (finish_run(plan, directory, true, &err) != LGV_ERR_IO) return 3; /* still */
  unlink(ballast);
  if (finish_run(plan, directory, true, &err) != LGV_OK) return 4;
  assert_same_records(whole, directory);
  return 0;
}

static void a_full_disk_stops_the_run_and_loses_nothing(void **state) {
  (void)state;
  char place[PATH_MAX];
  lgv_plan *plan = open_story(&stories[1]);
  join(place, root, "full");
  assert_int_equal(mkdir(place, 0700), 0);
  pid_t child = fork();
  if (child == 0) {
    int result = run_on_a_full_disk(plan, place);
    lgv_plan_free(plan);
    _exit(result);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  close_story(plan);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    print_message("skipped: only root can mount a small file system\n");
    skip();
  }
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* The disk is full from the moment at which the run is asked to stop. */
static bool stop_for_want_of_room(void *looks) {
  if (++*(int *)looks < 3) return false;
  lgv__disk_fail_after(1, ENOSPC, true);
  return true;
}

static void keep_notice(void *told, const char *text) { snprintf(told, 600, "%s", text); }

static void a_stop_without_a_checkpoint_is_told(void **state) {
  (void)state;
  lgv_plan *plan = open_story(&stories[0]), *told_plan;
  lgv_settings *settings =
      make_settings(stories[0].env, stories[0].agent, "run.steps=3000 run.checkpoint_every=100");
  lgv_error err = {0};
  lgv_summary summary;
  int looks = 0;
  char told[600] = "", directory[PATH_MAX];
  join(directory, root, "run");
  lgv_settings_on_notice(settings, keep_notice, told);
  assert_int_equal(lgv_plan_create(settings, &told_plan, &err), LGV_OK);
  lgv_settings_free(settings);
  lgv_batch batch = {.size = sizeof(lgv_batch),
                     .plan = told_plan,
                     .first_seed = FAULT_SEED,
                     .seeds = 1,
                     .threads = 1,
                     .directory = directory,
                     .should_stop = stop_for_want_of_room,
                     .context = &looks};
  assert_int_equal(lgv_batch_run(&batch, &summary, &err), LGV_ERR_INTERRUPTED);
  lgv__disk_fail_after(0, 0, false);
  if (!strstr(told, strerror(ENOSPC)) || !strstr(told, "is lost")) fail_msg("told: '%s'", told);
  lgv_plan_free(told_plan);
  close_story(plan);
}

/* ---- the hook ---- */

static void the_hook_counts(void **state) {
  (void)state;
  lgv__disk_fail_after(2, ENOSPC, false);
  assert_true(lgv__disk_remove("/nowhere/at/all"));
  assert_false(lgv__disk_remove("/nowhere/at/all"));
  assert_int_equal(errno, ENOSPC);
  assert_true(lgv__disk_remove("/nowhere/at/all"));
  assert_int_equal(lgv__disk_fail_after(1, EIO, true), 0);
  for (int i = 0; i < 3; i++) assert_false(lgv__disk_rename("/nowhere/a", "/nowhere/b"));
  assert_int_equal(errno, EIO);
  assert_int_equal(lgv__disk_fail_after(3, EIO, true), 0);
  assert_int_equal(lgv__disk_fail_after(0, 0, false), 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_hook_counts),
      cmocka_unit_test(every_call_may_fail),
      cmocka_unit_test(every_call_of_a_child_may_fail),
      cmocka_unit_test(a_full_disk_stops_the_run_and_loses_nothing),
      cmocka_unit_test(a_stop_without_a_checkpoint_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
