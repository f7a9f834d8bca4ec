/* SIGTERM and SIGINT: the first asks a run to end soon, even within an evaluation, and to leave a
 * checkpoint; the second stops it at once. */
#include "fault_helpers.h"
#include "forge.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#ifdef TEST_CLI

#include "cli_helpers.h"

/* `langevin WORDS` in the directory, without a shell in between; what it says goes to the
 * descriptor, or (-1) to the file log. */
static pid_t start_saying(const char *words, int to) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  char copy[1024], *argv[64] = {(char *)TEST_CLI}, *rest = copy;
  int n = 1;
  snprintf(copy, sizeof copy, "%s", words);
  for (char *word; (word = strsep(&rest, " "));) argv[n++] = word;
  signal(SIGINT, SIG_DFL); /* a shell's background commands inherit that they ignore it */
  if (chdir(directory) != 0) _exit(99);
  if (to < 0) to = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(to, STDOUT_FILENO);
  dup2(to, STDERR_FILENO);
  execv(TEST_CLI, argv);
  _exit(98);
}

static pid_t start(const char *words) { return start_saying(words, -1); }

static int code_of(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void pause_for(double seconds) {
  struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  while (nanosleep(&t, &t) != 0) continue;
}

/* Waits for a file of the run, or for words in the log. */
static void wait_for(const char *name, const char *words) {
  for (;; pause_for(0.01)) {
    char *text = read_text(directory, name);
    bool there = text && strstr(text, words);
    free(text);
    if (there) return;
  }
}

static double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- evaluations ---- */

/* It would take days. */
static void an_evaluation_is_not_waited_for(void **state) {
  (void)state;
  static const int signals[] = {SIGTERM, SIGINT};
  for (int i = 0; i < 2; i++) {
    char words[256], path[PATH_MAX];
    snprintf(words, sizeof words,
             "run --env nchain --agent dqn --steps 100 --out run%d --set env.n=1000 --set "
             "run.eval_every=50 --set run.eval_episodes=1000000",
             i);
    pid_t child = start(words);
    snprintf(words, sizeof words, "run%d/config.json", i);
    wait_for(words, "}");
    pause_for(0.2);
    kill(child, signals[i]);
    assert_int_equal(code_of(child), 128 + signals[i]);
    snprintf(words, sizeof words, "run%d/checkpoint.safetensors", i);
    join(path, directory, words);
    assert_int_equal(access(path, F_OK), 0);
  }
}

/* Whether the checkpoint was written within an evaluation. */
static bool is_within_evaluation(const char *path) {
  forge f;
  size_t size;
  unsigned char *bytes = forge_read(path, &size);
  bool within = false;
  if (!bytes) return false;
  assert_true(forge_open(&f, bytes, size));
  for (size_t i = 0; i < f.n; i++)
    if (strcmp(f.array[i].name, "run.evaluation") == 0)
      for (size_t b = 0; b < 24; b++) within |= f.array[i].data[b] != 0; /* episodes, sum, steps */
  free(bytes);
  return within;
}

/* Nearly all of the time goes into evaluations, so that is where the signals arrive. */
static void a_run_stopped_within_evaluations_ends_with_the_same_bytes(void **state) {
  (void)state;
  static const char common[] = "--env nchain --agent bootstrapped-dqn --steps 90 --set "
                               "run.eval_every=30 --set run.eval_episodes=1500 --set env.n=10";
  char words[512], alone[PATH_MAX], stopped[PATH_MAX];
  snprintf(words, sizeof words, "run %s --out alone", common);
  double begun = clock_now();
  assert_int_equal(code_of(start(words)), 0);
  double whole = clock_now() - begun;
  snprintf(words, sizeof words, "run %s --out stopped", common);
  int within = 0, code = 143;
  for (int life = 0; life < 40 && code == 143; life++) {
    pid_t child = start(words);
    pause_for(whole / 6);
    kill(child, life < 8 ? SIGTERM : 0); /* the ninth is left alone */
    code = code_of(child);
    if (code == -SIGTERM) code = 143; /* before it could listen */
    join(stopped, directory, "stopped/checkpoint.safetensors");
    if (code == 143) within += is_within_evaluation(stopped);
    if (access(stopped, F_OK) == 0) snprintf(words, sizeof words, "run --resume stopped");
  }
  assert_int_equal(code, 0);
  assert_true(within > 0);
  join(alone, directory, "alone");
  join(stopped, directory, "stopped");
  assert_same_records(alone, stopped);
}

/* As tee does, which Ctrl-C reaches too. */
static void nobody_listens_any_more(void **state) {
  (void)state;
  int ends[2];
  char path[PATH_MAX];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  pid_t child =
      start_saying("run --env riverswim --agent lmc-lsvi --steps 1000000000 --out run", ends[1]);
  close(ends[1]);
  wait_for("run/config.json", "}");
  pause_for(0.2);
  close(ends[0]);
  kill(child, SIGINT);
  assert_int_equal(code_of(child), 130);
  join(path, directory, "run/checkpoint.safetensors");
  assert_int_equal(access(path, F_OK), 0);
}

/* ---- the second signal ---- */

/* A run that looks at nothing for days: it is within one step. */
static pid_t start_deaf(void) {
  pid_t child = start("run --env nchain --agent dqn --steps 100 --out deaf --set agent.warmup=1 "
                      "--set agent.update_every=1 --set agent.updates=1000000000");
  wait_for("deaf/config.json", "}");
  pause_for(0.2);
  return child;
}

static void send_once(pid_t child, int number) {
  kill(child, number);
  wait_for("log", "A second signal stops at once");
  assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
}

static void the_second_signal_stops_at_once(void **state) {
  (void)state;
  static const int pairs[][2] = {
      {SIGTERM, SIGTERM}, {SIGINT, SIGINT}, {SIGTERM, SIGINT}, {SIGINT, SIGTERM}};
  for (int i = 0; i < 4; i++) {
    pid_t child = start_deaf();
    send_once(child, pairs[i][0]);
    kill(child, pairs[i][1]);
    assert_int_equal(code_of(child), 128 + pairs[i][1]);
    remove_place(NULL);
    make_place(NULL);
  }
}

/* Slurm ends a job by a signal to the script and to what it started, and the script passes its own
 * on: that is one request. */
static void a_request_that_comes_two_ways_is_one(void **state) {
  (void)state;
  pid_t child = start_deaf(), other = fork();
  assert_true(other >= 0);
  if (other == 0) _exit(kill(child, SIGTERM));
  assert_int_equal(code_of(other), 0);
  wait_for("log", "A second signal stops at once");
  kill(child, SIGTERM); /* from its parent: the script */
  pause_for(0.2);
  assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
  kill(child, SIGTERM);
  assert_int_equal(code_of(child), 143);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(an_evaluation_is_not_waited_for, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_stopped_within_evaluations_ends_with_the_same_bytes,
                                      make_place, remove_place),
      cmocka_unit_test_setup_teardown(nobody_listens_any_more, make_place, remove_place),
      cmocka_unit_test_setup_teardown(the_second_signal_stops_at_once, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_request_that_comes_two_ways_is_one, make_place,
                                      remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; } /* built without the command line */

#endif
