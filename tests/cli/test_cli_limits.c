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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(numbers_that_no_integer_holds_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(an_aggregate_that_cannot_be_written_is_reported, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; } /* built without the command line */

#endif
