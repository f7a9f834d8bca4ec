/* `langevin sweep` as a user and a scheduler meet it: indexes, what is unfinished, tables,
 * failures, the script for Slurm of docs/sweeps.md, and the view on a terminal. */
#include "cli_helpers.h"

#include <pty.h>
#include <stdbool.h>
#include <sys/stat.h>

static const char sweep_text[] =
    "env: {name: riverswim, n: 4, horizon: 6}\nrun.episodes: 20\nrecords: summary\n"
    "cases: [{agent: lmc-lsvi, grid: {agent.lambda: [1e-3, 1]}}, {agent: lsvi-ucb}]\n"
    "seeds: {first: 3, count: 2}\nmeasure: regret\n";

static int set_up(void **state) {
  make_place(state);
  write_text(directory, "s.yaml", sweep_text);
  return 0;
}

static int count_lines(const char *text) {
  int n = 0;
  for (; *text; text++) n += *text == '\n';
  return n;
}

/* --list finds what would stop the sweep before its first run. */
static void a_list_is_checked_as_a_sweep_is(void **state) {
  (void)state;
  write_text(directory, "twins.yaml",
             "env: riverswim\nagent: psrl\ngrid: {env.n: [3, 4, 3.0]}\nrun.episodes: 1\n");
  write_text(directory, "wrong.yaml",
             "env: riverswim\nagent: psrl\ngrid: {env.n: [3, -4]}\nrun.episodes: 1\n");
  for (int i = 0; i < 2; i++) {
    const char *list = i ? "" : " --list";
    char command[64];
    snprintf(command, sizeof command, "$L sweep twins.yaml%s", list);
    expect_shell(command, 2);
    assert_says(err, "configurations 0 and 2 are the same");
    snprintf(command, sizeof command, "$L sweep wrong.yaml%s", list);
    expect_shell(command, 2);
    assert_says(err, "configuration 1: env.n = '-4' is not valid");
  }
  expect_shell("test -e runs", 1);
}

/* ---- Indexes ---- */

static void indexes_tell_what_is_left(void **state) {
  (void)state;
  expect_shell("$L sweep s.yaml --list", 0);
  assert_says(out, "6 runs; run = config * 2 + seed - 3");
  expect_shell("$L sweep s.yaml --unfinished", 0);
  assert_string_equal(out, "0-5\n");
  expect_shell("$L sweep s.yaml --index 1,3-4 -q", 0);
  assert_string_equal(out, "");
  expect_shell("test -e runs/s/table.csv", 1);
  expect_shell("$L sweep s.yaml -u", 0);
  assert_string_equal(out, "0,2,5\n");
  expect_shell("$L sweep s.yaml -u --index 2-4", 0);
  assert_string_equal(out, "2\n");
  expect_shell("$L sweep s.yaml -u --lines", 0);
  assert_string_equal(out, "0\n2\n5\n");
  expect_shell("$L sweep s.yaml --merge", 0);
  assert_says(err, "3 of 6 runs have finished");
  char *runs = read_text(directory, "runs/s/runs.csv");
  assert_non_null(runs);
  assert_int_equal(count_lines(runs), 7);
  assert_says(runs, "index,config,seed,directory,state,agent.name,agent.lambda,steps,episodes,");
  assert_says(runs, "\n3,1,4,riverswim-lmc-lsvi-");
  assert_says(runs, "/seed-4,finished,lmc-lsvi,1,120,20,");
  assert_says(runs, "/seed-4,unfinished,lsvi-ucb,,,,,,,,\n");
  free(runs);
  expect_shell("$L sweep s.yaml --index \"$($L sweep s.yaml -u)\" -q", 0);
  expect_shell("$L sweep s.yaml -u", 0);
  assert_string_equal(out, "");
  assert_says(err, "all runs have finished");
  static const char *const wrong[] = {"--index 6",      "--index 3-", "--index 1 --merge",
                                      "--merge --list", "--lines",    "--dry-run",
                                      "--per-task 2",   "-- --mem=1", "--index ''"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char command[128];
    snprintf(command, sizeof command, "$L sweep s.yaml %s", wrong[i]);
    expect_shell(command, 2);
  }
}

/* All in one go, index by index, with xargs and with GNU parallel: the same tables. */
static void a_case_of_fewer_seeds_has_fewer_runs(void **state) {
  (void)state;
  write_text(directory, "few.yaml",
             "env: {name: riverswim, n: 4, horizon: 6}\nrun.episodes: 5\nrecords: summary\n"
             "cases: [{agent: lmc-lsvi, seeds: {count: 1}}, {agent: lsvi-ucb}]\n"
             "seeds: {first: 3, count: 2}\nmeasure: regret\n");
  expect_shell("$L sweep few.yaml --list", 0);
  assert_says(out, ": 3 runs; run = config * 2 + seed - 3");
  expect_shell("$L sweep few.yaml --unfinished", 0);
  assert_string_equal(out, "0,2-3\n");
  expect_shell("$L sweep few.yaml --index 0-1 -q", 0);
  expect_shell("$L sweep few.yaml", 0);
  assert_says(err, "2 runs in");
  assert_says(err, "1 finished before");
  expect_shell("ls -d runs/few/*/seed-*", 0);
  assert_int_equal(count_lines(out), 3);
  expect_shell("cut -d, -f1 runs/few/runs.csv | tr '\\n' ' ' && $L sweep few.yaml --merge", 0);
  assert_says(out, "index 0 2 3 ");
  assert_null(strstr(err, "have finished"));
}

static void schedulers_come_to_the_same(void **state) {
  (void)state;
  expect_shell("$L sweep s.yaml -o one", 0);
  expect_shell("for i in 5 4 3 2 1 0; do $L sweep s.yaml -o two -i $i -q || exit 1; done", 0);
  expect_shell("$L sweep s.yaml -o two --merge && diff -r one two", 0);
  expect_shell("$L sweep s.yaml -o three -u --lines | "
               "xargs -n 1 -P 3 $L sweep s.yaml -o three -q -j 1 -i && "
               "$L sweep s.yaml -o three --merge && diff -r one three",
               0);
  if (shell("command -v parallel") != 0) {
    print_message("GNU parallel is not installed\n");
    return;
  }
  expect_shell(
      "$L sweep s.yaml -o four -u --lines | parallel $L sweep s.yaml -o four -q -j 1 -i {} && "
      "$L sweep s.yaml -o four --merge && diff -r one four",
      0);
}

/* A run whose summary.json cannot be written fails; all others finish, and the next call mends it.
 */
static void failures_are_listed_and_tried_again(void **state) {
  (void)state;
  expect_shell("$L sweep s.yaml -i 2 -q && d=$(dirname runs/s/*/seed-3/summary.json) && "
               "rm $d/summary.json && mkdir $d/summary.json && echo $d",
               0);
  expect_shell("$L sweep s.yaml", 1);
  assert_says(err, "5 runs in ");
  assert_says(err, "1 failed");
  assert_says(err, "run 2 (configuration 1, seed 3) failed: cannot replace ");
  assert_says(err, "5 of 6 runs have finished; the same command resumes the rest");
  expect_shell("$L sweep s.yaml --merge", 0);
  assert_says(err, "run 2 (configuration 1, seed 3) failed: cannot replace ");
  char *runs = read_text(directory, "runs/s/runs.csv");
  assert_says(runs, "/seed-3,failed,lmc-lsvi,1,,");
  assert_says(runs, "summary.json: Is a directory");
  free(runs);
  expect_shell("rmdir runs/s/*/seed-3/summary.json; $L sweep s.yaml", 0);
  assert_says(err, "1 run in ");
  expect_shell("ls runs/s/*/*/error.json", 2);
}

/* ---- Slurm ---- */

/* The script of docs/sweeps.md, as a task of an array runs it. */
static void take_script(void) {
  expect_shell("sed -n '/^## Slurm/,/^## /{/^```sh/,/^```$/p}' " TEST_SOURCE_DIR
               "/../docs/sweeps.md | sed '/^```/d' >array.sh",
               0);
  expect_shell("mkdir bin && ln -s $L bin/langevin && head -n 1 array.sh", 0);
  assert_string_equal(out, "#!/bin/sh\n");
}

static void slurm_tasks_do_what_is_unfinished(void **state) {
  (void)state;
  take_script();
  expect_shell("$L sweep s.yaml -i 2-3 -q && $L sweep s.yaml -u", 0);
  assert_string_equal(out, "0-1,4-5\n");
  expect_shell("PATH=$PWD/bin:$PATH; for t in 0 1 4; do SLURM_ARRAY_TASK_ID=$t sh array.sh s.yaml "
               "|| exit 1; done; $L sweep s.yaml -u",
               0);
  assert_string_equal(out, "5\n");
  expect_shell("PATH=$PWD/bin:$PATH; SLURM_ARRAY_TASK_ID=5 sh array.sh s.yaml; $L sweep s.yaml -u",
               0);
  assert_says(err, "all runs have finished");
  expect_shell("PATH=$PWD/bin:$PATH; SLURM_ARRAY_TASK_ID=6 sh array.sh s.yaml", 2);
  assert_says(err, "there is no run 6: the sweep has 0 to 5");
}

/* A task that is told to end leaves a checkpoint and queues itself again, unless it was canceled.
 */
static void slurm_tasks_queue_themselves_again(void **state) {
  (void)state;
  take_script();
  write_text(directory, "long.yaml",
             "env: {name: nchain, n: 20}\nagent: dqn\nrun.steps: 100000000\n");
  write_text(directory, "bin/squeue", "#!/bin/sh\necho $STATE\n");
  write_text(directory, "bin/scontrol", "#!/bin/sh\necho \"$@\" >>asked\n");
  expect_shell("chmod +x bin/*", 0);
  static const char told[] =
      "rm -rf runs; PATH=$PWD/bin:$PATH; export SLURM_ARRAY_JOB_ID=4 SLURM_ARRAY_TASK_ID=0; "
      "sh array.sh long.yaml & until ls runs/long/*/seed-0/metrics.csv >files 2>&1; do sleep 0.05; "
      "done; "
      "kill -TERM $!; wait $!";
  char command[512];
  snprintf(command, sizeof command, "export STATE=COMPLETING; %s", told);
  expect_shell(command, 143);
  expect_shell("test -e asked", 1);
  snprintf(command, sizeof command, "export STATE=RUNNING; %s", told);
  expect_shell(command, 143);
  expect_shell("cat asked; ls runs/long/*/seed-0/checkpoint.safetensors", 0);
  assert_says(out, "requeue 4_0\n");
}

/* ---- The terminal ---- */

/* What the program writes to a terminal of 60 columns. */
static char *run_on_terminal(const char *arguments) {
  struct winsize size = {.ws_row = 24, .ws_col = 60};
  int terminal;
  pid_t child = forkpty(&terminal, NULL, NULL, &size);
  assert_true(child >= 0);
  if (child == 0) {
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && TERM=xterm exec '%s' %s", directory, TEST_CLI,
             arguments);
    execl("/bin/sh", "sh", "-c", line, NULL);
    _exit(99);
  }
  size_t used = 0, capacity = 1 << 20;
  char *text = malloc(capacity);
  assert_non_null(text);
  for (ssize_t n;
       used + 1 < capacity && (n = read(terminal, text + used, capacity - used - 1)) > 0;)
    used += (size_t)n;
  text[used] = '\0';
  close(terminal);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return text;
}

/* No drawn line is wider than the terminal: it would wrap and not be drawn over. */
static void assert_fits(const char *text, size_t width) {
  const char *end = strstr(text, "ranked by"), *line = text;
  assert_non_null(end);
  for (const char *c = text; c < end; c++) {
    if (*c == '\033') c += strcspn(c, "JKA");
    if (*c == '\r' || *c == '\n' || *c == 'J' || *c == 'A') line = c + 1;
    if ((size_t)(c - line) >= width && c > line) fail_msg("too wide: %.80s", line);
  }
}

static void a_terminal_shows_runs_and_the_best(void **state) {
  (void)state;
  write_text(directory, "long.yaml",
             "env: {name: riverswim, n: 6, horizon: 20}\nagent: lmc-lsvi\nrun.episodes: 8000\n"
             "grid: {agent.lambda: [1, 0.1, 0.01], agent.beta: [100, 10000]}\n"
             "seeds: {first: 0, count: 3}\nmeasure: regret\nrecords: summary\n");
  char *text = run_on_terminal("sweep long.yaml -j 2");
  assert_says(text, " of 18 done, 2 running");
  assert_says(text, "  run ");
  assert_says(text, ", agent.lambda=");
  assert_says(text, "  best: regret ");
  assert_says(text, "\033[");
  assert_fits(text, 60);
  free(text);
  text = run_on_terminal("sweep long.yaml -j 2 -q -o quiet");
  assert_null(strstr(text, "running"));
  free(text);
  expect_shell("$L sweep s.yaml", 0); /* no terminal: no drawing */
  assert_null(strchr(err, '\033'));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_list_is_checked_as_a_sweep_is, set_up, remove_place),
      cmocka_unit_test_setup_teardown(indexes_tell_what_is_left, set_up, remove_place),
      cmocka_unit_test_setup_teardown(a_case_of_fewer_seeds_has_fewer_runs, set_up, remove_place),
      cmocka_unit_test_setup_teardown(schedulers_come_to_the_same, set_up, remove_place),
      cmocka_unit_test_setup_teardown(failures_are_listed_and_tried_again, set_up, remove_place),
      cmocka_unit_test_setup_teardown(slurm_tasks_do_what_is_unfinished, set_up, remove_place),
      cmocka_unit_test_setup_teardown(slurm_tasks_queue_themselves_again, set_up, remove_place),
      cmocka_unit_test_setup_teardown(a_terminal_shows_runs_and_the_best, set_up, remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
