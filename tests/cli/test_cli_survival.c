/* A sweep that is killed again and again ends with the records of one that was left alone, byte for
 * byte: the same files, and the same bytes in each (but for timing.json, which holds wall-clock
 * time). The moments are random, so the outcome must not depend on them. */
#include "file_helpers.h"
#include "langevin.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { KILLS = 20 };

/* Linear and deep agents, with and without evaluations, with a final checkpoint, without one, and
 * with a summary alone. */
static const char sweep_text[] =
    "run: {checkpoint_every: 150}\n"
    "seeds: {first: 5, count: 2}\n"
    "cases:\n"
    "  - env: {name: riverswim, n: 5, horizon: 8}\n"
    "    agent: lmc-lsvi\n"
    "    run: {episodes: 400}\n"
    "    grid: {agent.lambda: [1, 0.1]}\n"
    "  - env: {name: nchain, n: 20}\n"
    "    agent: adam-lmcdqn\n"
    "    run: {steps: 2500, eval_every: 500, checkpoint_final: true}\n"
    "    random: {count: 2, seed: 3, keys: {optim.lr: {log_uniform: [1e-4, 1e-2]}}}\n"
    "  - env: cartpole\n"
    "    agent: {name: bootstrapped-dqn, warmup: 100}\n"
    "    run: {steps: 1500, eval_every: 500}\n"
    "  - env: {name: deepsea, n: 6}\n"
    "    agent: dqn\n"
    "    run: {steps: 2000, records: summary}\n";

static char directory[TEMP_SIZE];

static double whole; /* seconds that the sweep takes when it is left alone */

/* ---- Processes ---- */

/* What it says goes into the file log. */
static pid_t start_logged(const char *out, const char *log) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  if (chdir(directory) != 0) _exit(99);
  int file = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execl(TEST_CLI, TEST_CLI, "sweep", "s.yaml", "--out", out, "--jobs", "2", NULL);
  _exit(98);
}

static pid_t start(const char *out) { return start_logged(out, "log"); }

static int wait_for(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void run_to_end(const char *out) {
  int status = wait_for(start(out));
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void sleep_for(double seconds) {
  struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  while (nanosleep(&t, &t) != 0) continue;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Trees ---- */

static int count_entries(const char *path) {
  DIR *folder = opendir(path);
  int n = 0;
  if (!folder) fail_msg("%s is missing", path);
  while (readdir(folder)) n++;
  closedir(folder);
  return n;
}

static bool holds_times(const char *name) {
  return strcmp(name, "timing.json") == 0 || strncmp(name, "events.out.tfevents", 19) == 0;
}

/* Returns how many files were compared. */
static int compare_trees(const char *one, const char *other) {
  DIR *folder = opendir(one);
  int compared = 0;
  assert_non_null(folder);
  if (count_entries(one) != count_entries(other))
    fail_msg("%s and %s do not hold the same files", one, other);
  for (struct dirent *entry; (entry = readdir(folder));) {
    char a[PATH_MAX], b[PATH_MAX];
    struct stat info;
    if (entry->d_name[0] == '.' || holds_times(entry->d_name)) continue;
    join(a, one, entry->d_name);
    join(b, other, entry->d_name);
    assert_int_equal(stat(a, &info), 0);
    if (S_ISDIR(info.st_mode)) {
      compared += compare_trees(a, b);
    } else {
      assert_same_file(one, other, entry->d_name);
      compared++;
    }
  }
  closedir(folder);
  return compared;
}

/* The reference: 12 runs of 3 files each (2 of those with a summary alone), a checkpoint for 4 of
 * them, and two tables. */
static void compare_with_reference(const char *out) {
  char one[PATH_MAX], other[PATH_MAX];
  join(one, directory, "alone");
  join(other, directory, out);
  assert_int_equal(compare_trees(one, other), 12 * 3 - 2 + 4 + 2);
}

/* ---- Tests ---- */

static int set_up(void **state) {
  (void)state;
  make_temp(directory);
  write_text(directory, "s.yaml", sweep_text);
  double begun = now();
  run_to_end("alone");
  whole = now() - begun;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_tree(directory);
  return 0;
}

/* Lives are a random part of what a twentieth of the work takes, so that most of them end in the
 * middle of it. If the sweep is done before the last kill, another one begins. */
static void twenty_kills_change_nothing(void **state) {
  (void)state;
  lgv_rng rng;
  int kills = 0, sweeps = 0;
  char out[32];
  lgv_rng_seed(&rng, 1, "kills");
  for (int tries = 0; kills < KILLS; tries++) {
    if (tries == 20 * KILLS) fail_msg("the sweep is too fast to be killed");
    snprintf(out, sizeof out, "killed-%d", sweeps);
    pid_t child = start(out);
    sleep_for(whole / 8 * lgv_rng_uniform(&rng));
    kill(child, SIGKILL);
    int status = wait_for(child);
    if (WIFSIGNALED(status)) {
      kills++;
      continue;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    compare_with_reference(out);
    sweeps++;
  }
  run_to_end(out);
  compare_with_reference(out);
}

static void a_polite_end_changes_nothing(void **state) {
  (void)state;
  int ends = 0;
  for (int tries = 0; tries < 4; tries++) {
    pid_t child = start("ended");
    sleep_for(whole / 4);
    kill(child, SIGTERM);
    int status = wait_for(child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 143);
    ends += WEXITSTATUS(status) == 143;
  }
  assert_true(ends > 0);
  run_to_end("ended");
  compare_with_reference("ended");
}

/* The runs that a process says it did. */
static int runs_done(const char *log) {
  char *text = read_text(directory, log), *at = strstr(text, " in ");
  if (!at) fail_msg("no count in '%s'", text);
  while (at > text && at[-1] != '\n') at--;
  int count = atoi(at);
  free(text);
  return count;
}

/* Every run is done once, by one of them. */
static void processes_share_a_sweep(void **state) {
  (void)state;
  static const char *const logs[] = {"one", "two", "three"};
  pid_t children[3];
  int sum = 0;
  for (int i = 0; i < 3; i++) children[i] = start_logged("shared", logs[i]);
  for (int i = 0; i < 3; i++) assert_true(WIFEXITED(wait_for(children[i])));
  for (int i = 0; i < 3; i++) sum += runs_done(logs[i]);
  assert_int_equal(sum, 12);
  run_to_end("shared");
  compare_with_reference("shared");
}

/* One of three is killed: the others take over what it leaves, or the next call does. */
static void a_death_does_not_hurt_the_others(void **state) {
  (void)state;
  pid_t one = start("mourning"), two = start("mourning"), three = start("mourning");
  sleep_for(whole / 4);
  kill(two, SIGKILL);
  wait_for(two);
  int first = wait_for(one), second = wait_for(three);
  assert_true(WIFEXITED(first) && WIFEXITED(second));
  run_to_end("mourning");
  compare_with_reference("mourning");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(twenty_kills_change_nothing),
      cmocka_unit_test(a_polite_end_changes_nothing),
      cmocka_unit_test(processes_share_a_sweep),
      cmocka_unit_test(a_death_does_not_hurt_the_others),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
