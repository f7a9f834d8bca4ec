/* The command line at the edges: numbers beyond every range, and results that cannot be written. */
#include "file_helpers.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifdef TEST_CLI

static char place[TEMP_SIZE];

static int set_up(void **state) {
  (void)state;
  make_temp(place);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_tree(place);
  return 0;
}

/* Runs `langevin WORDS` in place; checks its exit code and what it said on stderr. */
static void expect(const char *words, int code, const char *said) {
  char line[1024];
  snprintf(line, sizeof line, "cd '%s' && '%s' %s 2>err >out", place, TEST_CLI, words);
  int status = system(line);
  char *err = read_text(place, "err");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != code || !strstr(err, said))
    fail_msg("`langevin %s` ended with %d and said '%s'", words, WEXITSTATUS(status), err);
  free(err);
}

static void numbers_that_no_integer_holds_are_refused(void **state) {
  (void)state;
  const char *const numbers[] = {"1e300", "-1e300", "nan", "inf", "1.5", "1000001", "0"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char words[128];
    snprintf(words, sizeof words, "run --env riverswim --agent psrl --seeds=%s", numbers[i]);
    expect(words, 2, "--seeds takes a whole number from 1 to 1000000");
  }
}

/* A directory in the place of aggregate.json stands for a disk that fills up at the end. */
static void an_aggregate_that_cannot_be_written_is_reported(void **state) {
  (void)state;
  char path[PATH_MAX];
  join(path, place, "a");
  assert_int_equal(mkdir(path, 0777), 0);
  join(path, place, "a/aggregate.json");
  assert_int_equal(mkdir(path, 0777), 0);
  expect("run --env riverswim --agent psrl --episodes 2 --seeds 2 --out a", 1,
         "cannot write a/aggregate.json");
}

/* Messages of a program whose standard output and error are closed must not end up in the files
 * that it opens: neither in the records, nor in the pictures and tables of a sweep. */
static void closed_descriptors_spoil_no_records(void **state) {
  (void)state;
  write_text(place, "s.yaml",
             "env: riverswim\nagent: psrl\nrun: {episodes: 5}\nseeds: {first: 0, count: 2}\n"
             "grid: {env.n: [4, 5]}\n");
  const char *const runs[] = {"run --env riverswim --agent lmc-lsvi --episodes 30 --out",
                              "sweep s.yaml --out"};
  for (size_t i = 0; i < 2; i++) {
    char line[2048];
    snprintf(line, sizeof line,
             "cd '%s' && rm -rf a b && '%s' %s a >/dev/null 2>&1 && '%s' %s b <&- >&- 2>&- && "
             "diff -r -x timing.json -x 'events*' a b >&2",
             place, TEST_CLI, runs[i], TEST_CLI, runs[i]);
    assert_int_equal(system(line), 0);
  }
}

/* An editor on another system may have saved config.json. */
static void lines_may_end_as_on_other_systems(void **state) {
  (void)state;
  expect("run --env riverswim --agent psrl --episodes 20 --out a", 0, "");
  char line[1024];
  snprintf(line, sizeof line, "sed -i 's/$/\\r/' '%s/a/config.json'", place);
  assert_int_equal(system(line), 0);
  expect("run --resume a --episodes 30", 0, "");
}

static void a_quiet_sweep_says_why_it_fails(void **state) {
  (void)state;
  write_text(place, "s.yaml",
             "env: {name: cartpole}\nagent: {name: dqn, warmup: 32}\nrun: {steps: 2000}\n"
             "optim: {name: sgd, lr: 1e6}\nseeds: {first: 0, count: 1}\n");
  expect("sweep s.yaml --out s -q", 1, "0 of 1 runs have finished");
}

/* A disk that is full for a moment: the first part of the output is lost, the end is not. */
static void output_that_cannot_be_written_is_an_error(void **state) {
  (void)state;
  char line[1024];
  const char *const commands[] = {"version", "help dqn", "list"};
  for (size_t i = 0; i < 3; i++) {
    snprintf(line, sizeof line, "'%s' %s >/dev/full 2>'%s/err'", TEST_CLI, commands[i], place);
    int status = system(line);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    char *err = read_text(place, "err");
    assert_non_null(strstr(err, "cannot write to standard output"));
    free(err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(lines_may_end_as_on_other_systems, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_quiet_sweep_says_why_it_fails, set_up, tear_down),
      cmocka_unit_test_setup_teardown(output_that_cannot_be_written_is_an_error, set_up, tear_down),
      cmocka_unit_test_setup_teardown(closed_descriptors_spoil_no_records, set_up, tear_down),
      cmocka_unit_test_setup_teardown(numbers_that_no_integer_holds_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_aggregate_that_cannot_be_written_is_reported, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; } /* built without the command line */

#endif
