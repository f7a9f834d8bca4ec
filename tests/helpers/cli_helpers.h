/* Helpers for tests of the command line: a directory per test, and commands run in it, whose output
 * is kept. */
#ifndef LGV_TESTS_CLI_HELPERS_H
#define LGV_TESTS_CLI_HELPERS_H

#include "file_helpers.h"

#include <sys/wait.h>

static char directory[TEMP_SIZE];
static char *out, *err; /* of the last command */

static inline int make_place(void **state) {
  (void)state;
  make_temp(directory);
  return 0;
}

static inline int remove_place(void **state) {
  (void)state;
  free(out);
  free(err);
  out = err = NULL;
  remove_tree(directory);
  return 0;
}

/* Runs a shell command in the directory, where $L is the program; returns its exit code. */
static inline int shell(const char *command) {
  char line[4096];
  assert_true(snprintf(line, sizeof line,
                       "cd '%s' && L='%s' && { %s; } >stdout.txt 2>stderr.txt </dev/null",
                       directory, TEST_CLI, command) < (int)sizeof line);
  int status = system(line);
  assert_true(WIFEXITED(status));
  free(out);
  free(err);
  out = read_text(directory, "stdout.txt");
  err = read_text(directory, "stderr.txt");
  return WEXITSTATUS(status);
}

static inline void expect_shell(const char *command, int code) {
  int found = shell(command);
  if (found != code) fail_msg("`%s` gave %d, not %d; it said: %s", command, found, code, err);
}

static inline void assert_says(const char *text, const char *words) {
  if (!strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
}

#endif
