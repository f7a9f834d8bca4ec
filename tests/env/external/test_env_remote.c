/* The protocol with a worker process, seen from C: whatever a worker sends or fails to send, there
 * is a clear error, no crash, no endless wait, and no process left behind.
 *
 * The worker is this program itself; fake_worker.h has what it does. */
#include "base/memory.h"
#include "base/spec.h"
#include "env/external/remote.h"

#include "fake_worker.h"
#include "run_helpers.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The tests ---- */

static char own_path[4096];

static void expect_no_child(void) {
  int state;
  assert_true(waitpid(-1, &state, WNOHANG) == -1 && errno == ECHILD);
}

static lgv_status open_env(const char *fault, const char *extra, lgv_env **env, lgv_error *err) {
  setenv("FAKE_WORKER", fault, 1);
  lgv_settings *settings = make_settings("gym:Fake-v0", NULL, extra);
  assert_int_equal(lgv_settings_set(settings, "env.python", own_path, "test", err), LGV_OK);
  lgv_status status = lgv_env_create(settings, 1, env, err);
  lgv_settings_free(settings);
  return status;
}

static void a_sound_worker_serves(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  assert_int_equal(open_env("", NULL, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_get_spec(env)->obs_shape[0], ENTRIES);
  assert_int_equal(lgv_env_get_spec(env)->actions.count, 2);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int i = 0; i < 10000; i++)
    assert_int_equal(lgv_env_step(env, choice(i % 2), &outcome, &obs, &err), LGV_OK);
  assert_true(outcome.reward == 1 && !outcome.terminated && !outcome.truncated);
  lgv_env_free(env);
  expect_no_child();
}

/* The two observations alternate, each with its own mask; what is not 0 allows a choice. */
static void masks_follow_their_observations(void **state) {
  (void)state;
  const char *const faults[] = {"mask", "mask-states", "multi"};
  for (size_t i = 0; i < 3; i++) {
    lgv_env *env;
    lgv_error err = {0};
    lgv_obs obs;
    lgv_outcome outcome;
    if (open_env(faults[i], NULL, &env, &err) != LGV_OK) fail_msg("%s: %s", faults[i], err.message);
    assert_true(lgv_env_get_spec(env)->masked);
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    for (int k = 1; k < 20; k++) { /* the k-th observation */
      lgv_action action = {.choices = {k % 2 ? 0 : 1, 2}};
      uint8_t mask[] = {k % 2, !(k % 2), 1, 0, 1, 1, 0};
      assert_memory_equal(obs.mask, mask, i == 2 ? sizeof mask : 2);
      assert_int_equal(lgv_env_step(env, choice(k % 2), &outcome, &obs, &err), LGV_ERR_USAGE);
      assert_int_equal(lgv_env_step(env, &action, &outcome, &obs, &err), LGV_OK);
      if (i == 2) assert_true(outcome.reward == action.choices[0] + 200 + 8e6);
    }
    lgv_env_free(env);
  }
}

static void numbers_of_a_box_arrive(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  assert_int_equal(open_env("box", NULL, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_get_spec(env)->actions.kind, LGV_BOX);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  lgv_action action = {.values = {-0.75f, 1.5f}}, outside = {.values = {0, 2.5f}};
  assert_int_equal(lgv_env_step(env, &action, &outcome, &obs, &err), LGV_OK);
  assert_true(outcome.reward == -0.75 + 150 + 8e6);
  assert_int_equal(lgv_env_step(env, &outside, &outcome, &obs, &err), LGV_ERR_USAGE);
  lgv_env_free(env);
}

static void a_vector_lies_beside_a_picture(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  assert_int_equal(open_env("picture", NULL, &env, &err), LGV_OK);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_int_equal(spec->vector, 2);
  assert_int_equal(lgv__obs_bytes(spec), 36);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  lgv_env_free(env);
}

static void broken_greetings_are_refused(void **state) {
  (void)state;
  const struct {
    const char *fault, *part;
    lgv_status status;
  } rows[] = {
      {"exit", "ended with status 3 at the start", LGV_ERR_ENV},
      {"killed", "killed by signal 9", LGV_ERR_ENV},
      {"closed", "has been killed", LGV_ERR_ENV},
      {"silent", "within 0.3 s (run.env_timeout) at the start", LGV_ERR_ENV},
      {"words", "-m pip install langevin", LGV_ERR_ENV},
      {"magic", "another kind", LGV_ERR_ENV},
      {"version", "another version", LGV_ERR_ENV},
      {"status", "unknown status", LGV_ERR_ENV},
      {"usage", "gym:Fake-v0: no such thing", LGV_ERR_USAGE},
      {"short", "too short a greeting", LGV_ERR_ENV},
      {"long", "too long", LGV_ERR_ENV},
      {"kind", "unknown kind of observations", LGV_ERR_ENV},
      {"form", "unknown form", LGV_ERR_ENV},
      {"form-7", "unknown form", LGV_ERR_ENV},
      {"bytes-one-hot", "one-hot or thermometer observations of bytes", LGV_ERR_ENV},
      {"bytes-thermometer", "one-hot or thermometer observations of bytes", LGV_ERR_ENV},
      {"negative-frames", "frames that is not in 0..64", LGV_ERR_ENV},
      {"shape", "without entries", LGV_ERR_ENV},
      {"actions", "sent no action at the start", LGV_ERR_ENV},
      {"action-kind", "unknown kind of actions", LGV_ERR_ENV},
      {"no-parts", "actions with no part, or with more than 64", LGV_ERR_ENV},
      {"many-parts", "actions with no part, or with more than 64", LGV_ERR_ENV},
      {"part", "a part of its actions without a choice", LGV_ERR_ENV},
      {"bounds", "bounds are not in order", LGV_ERR_ENV},
      {"nan-bounds", "bounds are not in order", LGV_ERR_ENV},
      {"masked-box", "masks, but no choices to forbid", LGV_ERR_ENV},
      {"masked", "masks that are neither there nor not", LGV_ERR_ENV},
      {"many-masks", "inconsistent sizes", LGV_ERR_ENV},
      {"vector", "floats beside an observation that is no picture", LGV_ERR_ENV},
      {"negative-vector", "a negative number of floats", LGV_ERR_ENV},
      {"frames", "length is no multiple of their frames", LGV_ERR_ENV},
      {"picture-frames", "channels are no multiple of their frames", LGV_ERR_ENV},
      {"picture-short", "inconsistent sizes", LGV_ERR_ENV},
      {"states", "negative number of states", LGV_ERR_ENV},
      {"many-states", "number of states", LGV_ERR_ENV},
      {"horizon", "negative", LGV_ERR_ENV},
      {"no-memory", "memory does not have", LGV_ERR_ENV},
      {"much-memory", "memory does not have", LGV_ERR_ENV},
      {"beyond-memory", "memory does not have", LGV_ERR_ENV},
      {"unsized", "memory does not have", LGV_ERR_ENV},
      {"obs-bytes", "outside its memory", LGV_ERR_ENV},
      {"obs-size", "inconsistent sizes", LGV_ERR_ENV},
      {"save-bytes", "states outside", LGV_ERR_ENV},
      {"save-offset", "states outside", LGV_ERR_ENV},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env;
    lgv_error err = {0};
    const char *extra = strstr(rows[i].fault, "silent") ? "run.env_timeout=0.3" : NULL;
    lgv_status status = open_env(rows[i].fault, extra, &env, &err);
    if (status != rows[i].status) fail_msg("%s: status %d", rows[i].fault, status);
    if (!strstr(err.message, rows[i].part))
      fail_msg("%s: '%s' lacks '%s'", rows[i].fault, err.message, rows[i].part);
    assert_null(env);
    expect_no_child();
  }
}

static void keep_notice(void *context, const char *text) {
  strncat(context, text, 1000 - strlen(context));
}

static void broken_answers_are_refused(void **state) {
  (void)state;
  const struct {
    const char *fault, *part;
    lgv_status status;
  } rows[] = {
      {"step-exit", "ended with status 0 in step 1 of episode 1", LGV_ERR_ENV},
      {"step-silent", "no answer from the worker process within 3 s", LGV_ERR_ENV},
      {"step-sequence", "an answer to another command", LGV_ERR_ENV},
      {"step-slot", "an invalid answer", LGV_ERR_ENV},
      {"step-flag", "an invalid answer", LGV_ERR_ENV},
      {"step-status", "unknown status", LGV_ERR_ENV},
      {"step-nan", "the reward at stage 0 is not a finite number", LGV_ERR_NUMERIC},
      {"step-short", "too short an answer", LGV_ERR_ENV},
      {"step-long", "too long an answer", LGV_ERR_ENV},
      {"step-raise", "gym:Fake-v0, in step 1 of episode 1: boom", LGV_ERR_ENV},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env;
    lgv_error err = {0};
    lgv_obs obs;
    lgv_outcome outcome;
    bool silent = strstr(rows[i].fault, "silent") != NULL;
    const char *extra =
        silent ? "run.env_timeout=3 run.on_worker_death=stop" : "run.on_worker_death=stop";
    assert_int_equal(open_env(rows[i].fault, extra, &env, &err), LGV_OK);
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    lgv_status status = lgv_env_step(env, choice(0), &outcome, &obs, &err);
    if (status != rows[i].status) fail_msg("%s: status %d", rows[i].fault, status);
    if (!strstr(err.message, rows[i].part))
      fail_msg("%s: '%s' lacks '%s'", rows[i].fault, err.message, rows[i].part);
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err),
                     LGV_ERR_USAGE); /* no episode */
    lgv_env_free(env);
    expect_no_child();
  }
}

/* No-ops of 0 frames would never end; huge rewards would overflow the score. */
static void answers_that_no_game_gives_are_refused(void **state) {
  (void)state;
  const struct {
    const char *fault, *part;
  } rows[] = {
      {"game", NULL},
      {"game-stands-still", "frames with 0 frames"},
      {"game-runs-ahead", "an action of"},
      {"game-pays-too-much", "an action of 4 frames with 4 frames and 1e+300 points"},
      {"game-pays-nan", "an action of 4 frames with 4 frames and"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env;
    lgv_error err = {0};
    lgv_obs obs;
    lgv_outcome outcome;
    setenv("FAKE_WORKER", rows[i].fault, 1);
    lgv_settings *settings =
        make_settings("atari:fake", NULL, "env.size=4 env.noops=5 run.on_worker_death=stop");
    assert_int_equal(lgv_settings_set(settings, "env.python", own_path, "test", &err), LGV_OK);
    if (lgv_env_create(settings, 1, &env, &err) != LGV_OK) fail_msg("%s", err.message);
    lgv_status status = lgv_env_reset(env, &obs, &err);
    if (status == LGV_OK) status = lgv_env_step(env, choice(0), &outcome, &obs, &err);
    assert_int_equal(status, rows[i].part ? LGV_ERR_ENV : LGV_OK);
    if (rows[i].part && !strstr(err.message, rows[i].part))
      fail_msg("%s: '%s' lacks '%s'", rows[i].fault, err.message, rows[i].part);
    lgv_env_free(env);
    lgv_settings_free(settings);
    expect_no_child();
  }
}

/* Shared memory that shrinks while it is mapped would kill this process with SIGBUS. */
static void memory_cannot_be_taken_back(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  assert_int_equal(open_env("step-shrink", NULL, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
  lgv_env_free(env);
}

static void a_traceback_is_a_notice(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  char notices[1001] = "";
  setenv("FAKE_WORKER", "step-raise", 1);
  lgv_settings *settings = make_settings("gym:Fake-v0", NULL, NULL);
  assert_int_equal(lgv_settings_set(settings, "env.python", own_path, "test", &err), LGV_OK);
  lgv_settings_on_notice(settings, keep_notice, notices);
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_ENV);
  assert_string_equal(notices, "line one\nline two");
  lgv_env_free(env);
  lgv_settings_free(settings);
}

/* ---- Random damage ---- */

static void random_damage_does_no_harm(void **state) {
  (void)state;
  int opened = 0, stepped = 0, refused = 0;
  for (int seed = 0; seed < 300; seed++) {
    char fault[32];
    lgv_env *env;
    lgv_error err = {0};
    lgv_obs obs;
    lgv_outcome outcome = {0};
    snprintf(fault, sizeof fault, "fuzz:%d", seed);
    const char *extra = "run.env_timeout=10 run.on_worker_death=stop";
    lgv_status status = open_env(fault, extra, &env, &err);
    opened += status == LGV_OK;
    if (status == LGV_OK) status = lgv_env_reset(env, &obs, &err);
    for (int i = 0; i < 5 && status == LGV_OK && !outcome.terminated && !outcome.truncated; i++) {
      status = lgv_env_step(env, choice(0), &outcome, &obs, &err);
      stepped += status == LGV_OK;
    }
    if (status != LGV_OK) assert_true(strlen(err.message) > 10);
    refused += status != LGV_OK;
    lgv_env_free(env);
    expect_no_child();
  }
  assert_true(opened > 50 && stepped > 50 && refused > 100); /* both outcomes occurred */
}

/* ---- Saved states ---- */

static lgv_status start_remote(const char *fault, remote **r, const lgv_host *host) {
  lgv_error err = {0};
  setenv("FAKE_WORKER", fault, 1);
  remote_options options = {.what = "fake", .python = own_path, .host = host};
  return lgv__remote_start("gym", "{}", &options, r, &err);
}

static void states_are_bounded_by_what_was_said(void **state) {
  (void)state;
  const lgv_host host = {.timeout = 5};
  remote *r;
  lgv_error err = {0};
  char bytes[65] = {0};
  size_t size = 0;
  assert_int_equal(start_remote("", &r, &host), LGV_OK);
  assert_int_equal(lgv__remote_get_hello(r)->save_bytes, 64);
  assert_int_equal(lgv__remote_save(r, bytes, sizeof bytes, &size, &err), LGV_OK);
  assert_int_equal(size, 4);
  assert_int_equal(lgv__remote_save(r, bytes, 3, &size, &err), LGV_ERR_ENV);
  assert_int_equal(lgv__remote_restore(r, bytes, 64, &err), LGV_OK);
  assert_int_equal(lgv__remote_restore(r, bytes, 65, &err), LGV_ERR_ENV);
  assert_false(lgv__remote_is_dead(r));
  lgv__remote_stop(r);
  assert_int_equal(start_remote("save-more", &r, &host), LGV_OK);
  assert_int_equal(lgv__remote_save(r, bytes, sizeof bytes, &size, &err), LGV_ERR_ENV);
  assert_true(lgv__remote_is_dead(r));
  assert_int_equal(lgv__remote_save(r, bytes, sizeof bytes, &size, &err), LGV_ERR_ENV);
  lgv__remote_stop(r);
  expect_no_child();
}

/* A dead worker: its last step failed. */
static remote *start_and_kill(const lgv_host *host) {
  remote *r;
  remote_reply reply;
  lgv_error err = {0};
  assert_int_equal(start_remote("step-exit", &r, host), LGV_OK);
  assert_int_equal(lgv__remote_reset(r, 1, &reply, &err), LGV_OK);
  assert_int_equal(lgv__remote_step(r, choice(0), 1, &reply, &err), LGV_ERR_ENV);
  return r;
}

static void a_dead_worker_is_replaced_once(void **state) {
  (void)state;
  char notices[1024] = "";
  const lgv_host host = {.timeout = 5, .restart = true, .notice = keep_notice, .context = notices};
  remote_reply reply;
  remote *old = start_and_kill(&host), *fresh = NULL;
  assert_int_equal(lgv__remote_replace(old, LGV_ERR_ENV, &fresh, NULL), LGV_OK);
  assert_non_null(strstr(notices, "It is restarted once"));
  assert_int_equal(lgv__remote_replace(old, LGV_ERR_NUMERIC, &fresh, NULL), LGV_ERR_NUMERIC);
  lgv__remote_stop(old);
  assert_int_equal(lgv__remote_reset(fresh, 1, &reply, NULL), LGV_OK);
  assert_int_equal(lgv__remote_step(fresh, choice(0), 1, &reply, NULL), LGV_ERR_ENV);
  assert_int_equal(lgv__remote_replace(fresh, LGV_ERR_ENV, &old, NULL), LGV_ERR_ENV);
  lgv__remote_stop(fresh);
  expect_no_child();
}

static void a_worker_is_not_replaced_by_another_environment(void **state) {
  (void)state;
  const lgv_host host = {.timeout = 5, .restart = true}, no_restart = {.timeout = 5};
  lgv_error err = {0};
  remote *old = start_and_kill(&host), *fresh = NULL;
  setenv("FAKE_WORKER", "game", 1);
  assert_int_equal(lgv__remote_replace(old, LGV_ERR_ENV, &fresh, &err), LGV_ERR_ENV);
  assert_non_null(strstr(err.message, "fake: the restarted environment differs"));
  lgv__remote_stop(old);
  old = start_and_kill(&no_restart);
  assert_int_equal(lgv__remote_replace(old, LGV_ERR_ENV, &fresh, &err), LGV_ERR_ENV);
  assert_null(fresh);
  lgv__remote_stop(old);
  expect_no_child();
}

/* The size of the file with the worker's output. */
static int64_t log_size(void) {
  int64_t size = -1;
  for (int fd = 0; fd < 64; fd++) {
    char path[64], target[128] = "";
    struct stat info;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (readlink(path, target, sizeof target - 1) < 0) continue;
    if (strstr(target, "langevin-output") && fstat(fd, &info) == 0) size = info.st_size;
  }
  return size;
}

/* Prints `each` bytes in every step. */
static void expect_bounded_log(const char *fault, int steps, int64_t each) {
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  int64_t most = 0;
  assert_int_equal(open_env(fault, NULL, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int i = 0; i < steps; i++) {
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
    int64_t size = each > 10000 || i % 100 == 0 ? log_size() : 0;
    if (size > most) most = size;
  }
  assert_true(most > each && most <= (1 << 20) + each);
  lgv_env_free(env);
}

static void a_chatty_worker_does_not_fill_the_memory(void **state) {
  (void)state;
  expect_bounded_log("chatter", 5000, 1001);
  expect_bounded_log("flood", 50, 1000001);
}

/* Failing the first, second, ... allocation gives a clean error. */
static void failed_allocations_are_reported(void **state) {
  (void)state;
  lgv_error err = {0};
  setenv("FAKE_WORKER", "", 1);
  lgv_settings *settings = make_settings("gym:Fake-v0", NULL, "env.kwargs.a=1");
  assert_int_equal(lgv_settings_set(settings, "env.python", own_path, "test", &err), LGV_OK);
  lgv_status status = LGV_ERR_MEMORY;
  long n = 1;
  for (; status != LGV_OK; n++) {
    lgv_env *env;
    lgv__memory_fail_after(n);
    status = lgv_env_create(settings, 1, &env, &err);
    lgv__memory_fail_after(0);
    assert_true(status == LGV_OK || status == LGV_ERR_MEMORY);
    assert_true((status == LGV_OK) == (env != NULL) && n < 100);
    lgv_env_free(env);
    expect_no_child();
  }
  assert_true(n > 5);
  lgv_settings_free(settings);
}

static void a_python_that_is_not_there_is_named(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_settings *settings =
      make_settings("gym:CartPole-v1", NULL, "env.python=/nowhere/python-of-ours");
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_ERR_ENV);
  assert_non_null(strstr(err.message, "'/nowhere/python-of-ours'"));
  assert_non_null(strstr(err.message, "env.python=PATH"));
  lgv_settings_free(settings);
}

int main(int count, char **arguments) {
  if (count == 7 && strcmp(arguments[1], "-c") == 0) return work(arguments);
  ssize_t length = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
  own_path[length > 0 ? length : 0] = '\0';
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sound_worker_serves),
      cmocka_unit_test(masks_follow_their_observations),
      cmocka_unit_test(numbers_of_a_box_arrive),
      cmocka_unit_test(a_vector_lies_beside_a_picture),
      cmocka_unit_test(broken_greetings_are_refused),
      cmocka_unit_test(broken_answers_are_refused),
      cmocka_unit_test(answers_that_no_game_gives_are_refused),
      cmocka_unit_test(memory_cannot_be_taken_back),
      cmocka_unit_test(a_traceback_is_a_notice),
      cmocka_unit_test(random_damage_does_no_harm),
      cmocka_unit_test(states_are_bounded_by_what_was_said),
      cmocka_unit_test(a_dead_worker_is_replaced_once),
      cmocka_unit_test(a_worker_is_not_replaced_by_another_environment),
      cmocka_unit_test(a_chatty_worker_does_not_fill_the_memory),
      cmocka_unit_test(failed_allocations_are_reported),
      cmocka_unit_test(a_python_that_is_not_there_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
