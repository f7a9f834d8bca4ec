/* Failures in a Gymnasium environment or of its process: the messages, the kept state, and that no
 * process is left behind, whichever side dies. */
#include "env/env.h"

#include "file_helpers.h"
#include "gym_helpers.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#define FAULT "gym:test/Fault-v0"

static const double patience = 60; /* seconds; the events take a fraction of one */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

/* ---- Wrong steps ---- */

static void wrong_steps_are_refused_with_their_number(void **state) {
  (void)state;
  const struct {
    const char *fault, *part;
    lgv_status status;
  } rows[] = {
      {"raise",
       "in step 3 of episode 1: the environment raised ValueError: this environment is broken (",
       LGV_ERR_ENV},
      {"exit", "in step 3 of episode 1: the environment raised SystemExit: 4", LGV_ERR_ENV},
      {"nan", "gym:test/Fault-v0: the observation at stage 3 holds a number that is not finite",
       LGV_ERR_NUMERIC},
      {"infinite", "the observation at stage 3 holds a number that is not finite", LGV_ERR_NUMERIC},
      {"huge", "the observation at stage 3 holds a number that is not finite", LGV_ERR_NUMERIC},
      {"shape", "in step 3 of episode 1: the observation has the shape (2,), its space says (3,)",
       LGV_ERR_ENV},
      {"text", "in step 3 of episode 1: the observation holds <U1", LGV_ERR_ENV},
      {"object", "in step 3 of episode 1: the observation holds object", LGV_ERR_ENV},
      {"complex", "in step 3 of episode 1: the observation holds complex128", LGV_ERR_ENV},
      {"none", "in step 3 of episode 1: the observation has the shape ()", LGV_ERR_ENV},
      {"four", "step() returned 4 values; Gymnasium's are 5", LGV_ERR_ENV},
      {"reward-nan", "gym:test/Fault-v0: the reward at stage 2 is not a finite number",
       LGV_ERR_NUMERIC},
      {"reward-text", "not one number: reward 'much'", LGV_ERR_ENV},
      {"reward-none", "not one number: reward None", LGV_ERR_ENV},
      {"reward-two", "not one number: reward array", LGV_ERR_ENV},
      {"end-two", "not one number: reward 1.0, terminated array", LGV_ERR_ENV},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char extra[64];
    lgv_obs obs;
    lgv_outcome outcome;
    lgv_error err = {0};
    snprintf(extra, sizeof extra, "env.kwargs.fault=%s", rows[i].fault);
    lgv_env *env = make_gym(FAULT, extra);
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
    assert_int_equal(lgv_env_step(env, choice(1), &outcome, &obs, &err), LGV_OK);
    lgv_status status = lgv_env_step(env, choice(0), &outcome, &obs, &err);
    if (status != rows[i].status) fail_msg("%s: status %d: %s", rows[i].fault, status, err.message);
    if (!strstr(err.message, rows[i].part))
      fail_msg("%s: '%s' lacks '%s'", rows[i].fault, err.message, rows[i].part);
    /* the process is fine: another episode works */
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    lgv_env_free(env);
    expect_no_child();
  }
}

static void wrong_resets_are_refused(void **state) {
  (void)state;
  const char *const rows[][2] = {
      {"reset", "at the reset of episode 1: the environment raised KeyError: 'no reset'"},
      {"reset-shape", "at the reset of episode 1: the observation has the shape (4,)"},
      {"reset-alone", "reset() must return an observation and a dict"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char extra[64];
    lgv_obs obs;
    lgv_error err = {0};
    snprintf(extra, sizeof extra, "env.kwargs.fault=%s", rows[i][0]);
    lgv_env *env = make_gym(FAULT, extra);
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_ERR_ENV);
    if (!strstr(err.message, rows[i][1])) fail_msg("'%s' lacks '%s'", err.message, rows[i][1]);
    lgv_env_free(env);
  }
}

static void the_traceback_is_told(void **state) {
  (void)state;
  char notices[4000] = "";
  lgv_env *env;
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  assert_int_equal(open_gym(FAULT, "env.kwargs.fault=raise", notices, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int i = 0; i < 2; i++)
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_ENV);
  assert_non_null(strstr(notices, "Traceback (most recent call last):"));
  assert_non_null(strstr(notices, "in go_wrong"));
  assert_non_null(strstr(notices, "ValueError: this environment\nis broken"));
  assert_null(strstr(notices, "worker.py")); /* frames of the package itself are hidden */
  lgv_env_free(env);
}

/* ---- Death and hanging ---- */

/* Two good steps, then a third that does not return. */
static lgv_status third_step(lgv_env *env, lgv_outcome *outcome, lgv_obs *obs, lgv_error *err) {
  assert_int_equal(lgv_env_reset(env, obs, err), LGV_OK);
  for (int i = 0; i < 2; i++)
    assert_int_equal(lgv_env_step(env, choice(0), outcome, obs, err), LGV_OK);
  return lgv_env_step(env, choice(0), outcome, obs, err);
}

static void a_worker_that_dies_is_replaced_once(void **state) {
  (void)state;
  const char *const rows[][2] = {
      {"env.kwargs.fault=die",
       "was killed by signal 9 (Killed) in step 3 of episode 1. It wrote: last words"},
      {"env.kwargs.fault=abort", "was killed by signal 6"},
      {"env.kwargs.fault=hang run.env_timeout=10", "no answer from the worker process within 10 s"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char notices[4000] = "";
    lgv_env *env;
    lgv_obs obs;
    lgv_outcome outcome;
    lgv_error err = {0};
    assert_int_equal(open_gym(FAULT, rows[i][0], notices, &env, &err), LGV_OK);
    assert_int_equal(third_step(env, &outcome, &obs, &err), LGV_OK);
    assert_true(outcome.truncated && !outcome.terminated && outcome.reward == 0);
    assert_true(((const float *)obs.data)[0] == 2); /* the last observation */
    if (!strstr(notices, rows[i][1])) fail_msg("'%s' lacks '%s'", notices, rows[i][1]);
    assert_non_null(strstr(notices, "restarted once"));
    assert_int_equal(third_step(env, &outcome, &obs, &err), LGV_ERR_ENV); /* the second time */
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_ERR_ENV);
    lgv_env_free(env);
    expect_no_child();
  }
}

static void a_worker_that_dies_stops_the_run_if_asked(void **state) {
  (void)state;
  lgv_env *env = make_gym(FAULT, "env.kwargs.fault=die run.on_worker_death=stop");
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  assert_int_equal(third_step(env, &outcome, &obs, &err), LGV_ERR_ENV);
  assert_non_null(strstr(err.message, "killed by signal 9"));
  lgv_env_free(env);
  expect_no_child();
}

/* A death at a reset loses nothing: the new process begins the same episode. */
static void a_death_at_a_reset_loses_nothing(void **state) {
  (void)state;
  char notices[4000] = "";
  lgv_env *a, *b = make_gym(FAULT, "env.kwargs.fault=no");
  lgv_obs obs_a, obs_b;
  lgv_error err = {0};
  assert_int_equal(open_gym(FAULT, "env.kwargs.fault=die-second-reset", notices, &a, &err), LGV_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(lgv_env_reset(a, &obs_a, &err), LGV_OK);
    assert_int_equal(lgv_env_reset(b, &obs_b, &err), LGV_OK);
    assert_memory_equal(obs_a.data, obs_b.data, 3 * sizeof(float));
  }
  assert_non_null(strstr(notices, "at the reset of episode 2"));
  assert_int_equal(lgv_env_reset(a, &obs_a, &err), LGV_ERR_ENV); /* once is enough */
  lgv_env_free(a);
  lgv_env_free(b);
  expect_no_child();
}

/* After a restart the same seeds give the same episodes: they do not depend on the process. */
static void seeds_go_on_after_a_restart(void **state) {
  (void)state;
  lgv_env *a = make_gym(FAULT, "env.kwargs.fault=die"), *b = make_gym(FAULT, "env.kwargs.fault=no");
  lgv_obs obs_a, obs_b;
  lgv_outcome outcome;
  lgv_error err = {0};
  assert_int_equal(third_step(a, &outcome, &obs_a, &err), LGV_OK);
  assert_int_equal(third_step(b, &outcome, &obs_b, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(a, &obs_a, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(b, &obs_b, &err), LGV_OK);
  assert_memory_equal(obs_a.data, obs_b.data, 3 * sizeof(float));
  lgv_env_free(a);
  lgv_env_free(b);
}

/* The process of an environment dies between two steps, before its statistics were ever saved:
 * evaluations get the initial ones, and the next step replaces the process. */
static void a_death_before_the_first_evaluation_is_survived(void **state) {
  (void)state;
  for (int dies_in_training = 0; dies_in_training < 2; dies_in_training++) {
    char directory[TEMP_SIZE], extra[TEMP_SIZE + 128];
    size_t size = 0;
    lgv_obs obs;
    lgv_outcome outcome;
    lgv_error err = {0};
    make_temp(directory);
    snprintf(extra, sizeof extra,
             "env.kwargs.fault=no env.wrappers=NormalizeObservation env.kwargs.pid_file=%s/pid",
             directory);
    lgv_env *dying = make_gym(FAULT, extra);
    char *pid = read_text(directory, "pid");
    lgv_env *other = make_gym(FAULT, extra);
    assert_int_equal(lgv_env_reset(dying, &obs, &err), LGV_OK);
    assert_int_equal(lgv_env_step(dying, choice(0), &outcome, &obs, &err), LGV_OK);
    assert_int_equal(kill((pid_t)atoi(pid), SIGKILL), 0);
    lgv_env *trained = dies_in_training ? dying : other,
            *evaluated = dies_in_training ? other : dying;
    if (lgv__env_adopt(evaluated, trained, &err) != LGV_OK) fail_msg("%s", err.message);
    const double initial[7] = {0, 0, 0, 1, 1, 1, 1e-4}; /* means, variances, count */
    const void *adopted = lgv__env_statistics(evaluated, &size);
    assert_int_equal(size, sizeof initial);
    assert_memory_equal(adopted, initial, sizeof initial);
    assert_int_equal(lgv_env_step(dying, choice(0), &outcome, &obs, &err), LGV_OK);
    assert_true(outcome.truncated && !outcome.terminated);
    assert_int_equal(lgv_env_reset(dying, &obs, &err), LGV_OK);
    assert_int_equal(lgv_env_step(dying, choice(0), &outcome, &obs, &err), LGV_OK);
    assert_false(outcome.truncated);
    free(pid);
    lgv_env_free(dying);
    lgv_env_free(other);
    remove_tree(directory);
  }
}

static bool is_alive(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

/* A process that is dead but not yet reaped by its new parent counts as gone. */
static bool is_gone(pid_t pid) {
  char path[64], text[256] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file) return true;
  bool read = fgets(text, sizeof text, file) != NULL;
  fclose(file);
  const char *name_end = strrchr(text, ')');
  return !read || !is_alive(pid) || (name_end && name_end[2] == 'Z');
}

static bool wait_until_gone(pid_t pid) {
  for (double begun = now(); now() - begun < patience; rest())
    if (is_gone(pid)) return true;
  return false;
}

static void what_the_environment_started_goes_with_it(void **state) {
  (void)state;
  lgv_env *env = make_gym(FAULT, "env.kwargs.fault=child");
  lgv_obs obs;
  lgv_error err = {0};
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  pid_t child = (pid_t) * (const float *)obs.data;
  assert_true(child > 1 && !is_gone(child));
  lgv_env_free(env);
  assert_true(wait_until_gone(child));
}

static void what_the_environment_prints_is_not_ours(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[PATH_MAX];
  make_temp(directory);
  join(path, directory, "output");
  fflush(stdout);
  int file = open(path, O_CREAT | O_WRONLY, 0600), out = dup(1), err_fd = dup(2);
  dup2(file, 1);
  dup2(file, 2);
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  lgv_env *env = make_gym(FAULT, "env.kwargs.fault=print");
  lgv_status hidden = third_step(env, &outcome, &obs, &err);
  lgv_env_free(env);
  off_t after_hidden = lseek(file, 0, SEEK_END);
  env = make_gym(FAULT, "env.kwargs.fault=print env.output=stderr");
  lgv_status shown = third_step(env, &outcome, &obs, &err);
  lgv_env_free(env);
  dup2(out, 1);
  dup2(err_fd, 2);
  close(out);
  close(err_fd);
  close(file);
  char *text = read_text(directory, "output");
  assert_true(hidden == LGV_OK && shown == LGV_OK);
  assert_int_equal(after_hidden, 0);
  assert_non_null(strstr(text, "chatter on stdout"));
  assert_non_null(strstr(text, "chatter on stderr"));
  free(text);
  remove_tree(directory);
}

/* ---- The program ---- */

/* Starts the command line; stdout and stderr go to files in directory. */
static pid_t start_cli(const char *directory, const char *const *arguments) {
  char out[PATH_MAX], err[PATH_MAX];
  const char *argv[32] = {TEST_CLI, "run", "--set", "env.import=gym_envs"};
  size_t n = 4;
  while (*arguments && n < 31) argv[n++] = *arguments++;
  join(out, directory, "stdout");
  join(err, directory, "stderr");
  pid_t pid = fork();
  if (pid == 0) {
    int o = open(out, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    int e = open(err, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (o < 0 || e < 0 || dup2(o, 1) < 0 || dup2(e, 2) < 0) _exit(99);
    execv(TEST_CLI, (char *const *)argv);
    _exit(98);
  }
  assert_true(pid > 0);
  return pid;
}

static int run_cli(const char *directory, const char *const *arguments) {
  int state;
  pid_t pid = start_cli(directory, arguments);
  assert_true(waitpid(pid, &state, 0) == pid && WIFEXITED(state));
  return WEXITSTATUS(state);
}

static void expect_text(const char *directory, const char *name, const char *part) {
  char *text = read_text(directory, name);
  assert_non_null(text);
  if (!strstr(text, part)) fail_msg("%s: '%s' lacks '%s'", name, text, part);
  free(text);
}

static void a_run_that_fails_keeps_its_records(void **state) {
  (void)state;
  char directory[TEMP_SIZE], out[PATH_MAX];
  make_temp(directory);
  join(out, directory, "run");
  const char *const arguments[] = {
      "--env",   FAULT,    "--set", "env.kwargs.fault=raise", "--agent", "dqn",
      "--steps", "100000", "--set", "run.eval_every=0",       "--out",   out,
      NULL};
  assert_int_equal(run_cli(directory, arguments), 1);
  expect_text(directory, "stderr", "Traceback (most recent call last):");
  expect_text(directory, "stderr", "in step 3 of episode 1: the environment raised ValueError");
  expect_text(out, "metrics.csv", "step,episode,return");
  expect_text(out, "summary.json", "the environment raised ValueError");
  expect_text(out, "summary.json", "\"env\": \"gym:test/Fault-v0\"");
  expect_text(out, "config.json", "\"fault\": \"raise\"");
  remove_tree(directory);
}

static void a_run_goes_on_after_a_death(void **state) {
  (void)state;
  char directory[TEMP_SIZE], out[PATH_MAX];
  make_temp(directory);
  join(out, directory, "run");
  /* steps 1 and 2, the death, and one more step of the next episode */
  const char *const arguments[] = {
      "--env",   FAULT, "--set", "env.kwargs.fault=die", "--agent", "dqn",
      "--steps", "5",   "--set", "run.eval_every=0",     "--out",   out,
      NULL};
  assert_int_equal(run_cli(directory, arguments), 0);
  expect_text(directory, "stderr",
              "langevin run: gym:test/Fault-v0: the worker process was killed");
  expect_text(directory, "stderr", "run.on_worker_death=restart");
  expect_text(out, "summary.json", "\"finished\": true");
  remove_tree(directory);
}

static void equal_seeds_give_equal_records(void **state) {
  (void)state;
  char directory[TEMP_SIZE], a[PATH_MAX], b[PATH_MAX], config[PATH_MAX];
  make_temp(directory);
  join(a, directory, "a");
  join(b, directory, "b");
  join(config, directory, "a/config.json");
  const char *const first[] = {"--env",   "gym:CartPole-v1",
                               "--agent", "adam-lmcdqn",
                               "--steps", "600",
                               "--set",   "run.eval_every=200",
                               "--set",   "env.kwargs.sutton_barto_reward=false",
                               "--out",   a,
                               NULL};
  const char *const second[] = {"--config", config, "--out", b, NULL};
  assert_int_equal(run_cli(directory, first), 0);
  assert_int_equal(run_cli(directory, second), 0);
  const char *const names[] = {"metrics.csv", "summary.json", "config.json"};
  for (size_t i = 0; i < 3; i++) {
    char *x = read_text(a, names[i]), *y = read_text(b, names[i]);
    assert_true(x && y && strlen(x) > 100);
    assert_string_equal(x, y);
    free(x);
    free(y);
  }
  remove_tree(directory);
}

static void an_interrupted_run_goes_on(void **state) {
  (void)state;
  char directory[TEMP_SIZE], out[PATH_MAX], pid_setting[PATH_MAX + 32];
  make_temp(directory);
  join(out, directory, "run");
  snprintf(pid_setting, sizeof pid_setting, "env.kwargs.pid_file=%s/pid", directory);
  const char *const arguments[] = {
      "--env",   FAULT, "--set", "env.kwargs.fault=slow", "--set",    pid_setting, "--agent", "dqn",
      "--steps", "400", "--set", "run.eval_every=0",      "--resume", out,         NULL};
  pid_t pid = start_cli(directory, arguments);
  char *text = NULL;
  for (double begun = now(); !text && now() - begun < patience; rest()) {
    char *metrics = read_text(out, "config.json");
    if (metrics) text = read_text(directory, "pid");
    free(metrics);
  }
  assert_non_null(text);
  pid_t worker = (pid_t)atoi(text);
  free(text);
  int status;
  kill(pid, SIGINT);
  assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 130);
  assert_true(wait_until_gone(worker));
  assert_int_equal(run_cli(directory, arguments), 0);
  expect_text(out, "summary.json", "\"steps\": 400");
  remove_tree(directory);
}

/* After kill -9 of the program, the worker must not survive, whether idle, busy or hanging. */
static void nothing_outlives_a_killed_program(void **state) {
  (void)state;
  const char *const faults[] = {"env.kwargs.fault=slow", "env.kwargs.fault=hang",
                                "env.kwargs.fault=spin", "env.kwargs.fault=child"};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    char directory[TEMP_SIZE], out[PATH_MAX], pid_setting[PATH_MAX + 32];
    make_temp(directory);
    join(out, directory, "run");
    snprintf(pid_setting, sizeof pid_setting, "env.kwargs.pid_file=%s/pid", directory);
    const char *const arguments[] = {
        "--env",   FAULT,       "--set", faults[i],          "--set", pid_setting, "--agent", "dqn",
        "--steps", "100000000", "--set", "run.eval_every=0", "--out", out,         NULL};
    pid_t pid = start_cli(directory, arguments);
    char *text = NULL, *config = NULL;
    /* config.json exists: the probe is gone, the environment of the run is there */
    for (double begun = now(); !(config && text) && now() - begun < patience; rest()) {
      free(config);
      free(text);
      config = read_text(out, "config.json");
      text = read_text(directory, "pid");
    }
    assert_true(config && text);
    pid_t worker = (pid_t)atoi(text);
    assert_false(is_gone(worker));
    for (int k = 0; k < 30; k++) rest(); /* into the third step */
    int status;
    kill(pid, SIGKILL);
    assert_true(waitpid(pid, &status, 0) == pid);
    if (!wait_until_gone(worker)) fail_msg("%s: the worker %d lives on", faults[i], worker);
    char *child = read_text(directory, "pid.child");
    assert_true((child != NULL) == (strstr(faults[i], "child") != NULL));
    if (child && !wait_until_gone((pid_t)atoi(child))) fail_msg("%s lives on", child);
    free(child);
    free(config);
    free(text);
    remove_tree(directory);
  }
}

int main(void) {
  need_gym("test_env_gym_faults");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wrong_steps_are_refused_with_their_number),
      cmocka_unit_test(wrong_resets_are_refused),
      cmocka_unit_test(the_traceback_is_told),
      cmocka_unit_test(a_worker_that_dies_is_replaced_once),
      cmocka_unit_test(a_worker_that_dies_stops_the_run_if_asked),
      cmocka_unit_test(a_death_at_a_reset_loses_nothing),
      cmocka_unit_test(seeds_go_on_after_a_restart),
      cmocka_unit_test(a_death_before_the_first_evaluation_is_survived),
      cmocka_unit_test(what_the_environment_started_goes_with_it),
      cmocka_unit_test(what_the_environment_prints_is_not_ours),
      cmocka_unit_test(a_run_that_fails_keeps_its_records),
      cmocka_unit_test(a_run_goes_on_after_a_death),
      cmocka_unit_test(equal_seeds_give_equal_records),
      cmocka_unit_test(an_interrupted_run_goes_on),
      cmocka_unit_test(nothing_outlives_a_killed_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
