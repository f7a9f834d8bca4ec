/* Files are complete or absent, directories are created with their parents, errors name the path.
 */
#include "base/io/file.h"

#include "base/io/disk.h"
#include "base/io/lock.h"

#include "file_helpers.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_file_is_written_and_replaced(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  lgv_error err = {0};
  make_temp(directory);
  assert_int_equal(lgv__write_file(directory, "a", "one", 3, &err), LGV_OK);
  assert_int_equal(lgv__write_file(directory, "a", "two!", 4, &err), LGV_OK);
  char *text = read_text(directory, "a");
  assert_string_equal(text, "two!");
  free(text);
  assert_null(read_text(directory, "a.tmp"));
  remove_tree(directory);
}

/* A limit on file sizes makes a write fail halfway, as a full disk would. */
static void a_write_that_fails_leaves_the_old_file(void **state) {
  (void)state;
  char directory[TEMP_SIZE], *large = calloc(1, 1 << 20);
  lgv_error err = {0};
  make_temp(directory);
  assert_int_equal(lgv__write_file(directory, "a", "old", 3, &err), LGV_OK);
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 4096;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  lgv_status status = lgv__write_file(directory, "a", large, 1 << 20, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(status, LGV_ERR_IO);
  assert_non_null(strstr(err.message, "File too large"));
  char *text = read_text(directory, "a");
  assert_string_equal(text, "old");
  assert_null(read_text(directory, "a.tmp"));
  free(text);
  free(large);
  remove_tree(directory);
}

/* Whatever fails (to open, to truncate, to write, to sync, to rename), no partial file stays. */
static void a_failure_leaves_no_partial_file(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  lgv_error err = {0};
  make_temp(directory);
  int failures = 0;
  for (long n = 1; n < 10; n++) {
    lgv__disk_fail_after(n, EIO, false);
    lgv_status status = lgv__write_file(directory, "a", "new", 3, &err);
    failures += status == LGV_ERR_IO;
    lgv__disk_fail_after(0, 0, false);
    assert_null(read_text(directory, "a.tmp"));
  }
  assert_true(failures >= 5);
  remove_tree(directory);
}

static void a_pipe_is_not_replaced(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[PATH_MAX];
  lgv_error err = {0};
  struct stat info;
  make_temp(directory);
  join(path, directory, "pipe");
  assert_int_equal(mkfifo(path, 0666), 0);
  assert_int_equal(lgv__write_path(path, "text", 4, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, path));
  assert_int_equal(stat(path, &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  assert_null(read_text(directory, "pipe.tmp"));
  remove_tree(directory);
}

static void a_directory_is_made_with_its_parents(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[PATH_MAX];
  lgv_error err = {0};
  struct stat info;
  make_temp(directory);
  join(path, directory, "a/b//c/");
  assert_int_equal(lgv__make_directory(path, &err), LGV_OK);
  assert_int_equal(lgv__make_directory(path, &err), LGV_OK); /* it may exist already */
  assert_int_equal(stat(path, &info), 0);
  assert_true(S_ISDIR(info.st_mode));
  remove_tree(directory);
}

static void errors_name_the_path(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[PATH_MAX];
  lgv_error err = {0};
  make_temp(directory);
  write_text(directory, "file", "x");
  join(path, directory, "file");
  assert_int_equal(lgv__make_directory(path, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "file is a file; a directory is needed there"));
  join(path, directory, "file/below");
  assert_int_equal(lgv__make_directory(path, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, path));
  assert_int_equal(lgv__write_file("/no/such/place", "a", "x", 1, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "/no/such/place/a"));
  join(path, directory, "taken"); /* a directory is in the file's place */
  assert_int_equal(lgv__make_directory(path, &err), LGV_OK);
  assert_int_equal(lgv__write_file(directory, "taken", "x", 1, &err), LGV_ERR_IO);
  assert_null(read_text(directory, "taken.tmp"));
  remove_tree(directory);
}

/* ---- Other processes, and descriptors that are closed ---- */

enum { WRITERS = 4, TURNS = 50, LENGTH = 1 << 18 };

/* Writes one file again and again, each time another letter throughout; returns an exit code. */
static int write_in_turn(const char *directory, char letter) {
  static char text[LENGTH];
  lgv_error err = {0};
  memset(text, letter, sizeof text);
  for (int i = 0; i < TURNS; i++) {
    if (lgv__write_file(directory, "shared", text, sizeof text, &err) != LGV_OK) return 1;
    char *found = read_text(directory, "shared");
    bool whole = found && strlen(found) == LENGTH && strspn(found, (char[]){*found, 0}) == LENGTH;
    free(found);
    if (!whole) return 2;
  }
  return 0;
}

static void processes_that_write_one_file_take_turns(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  pid_t writers[WRITERS];
  make_temp(directory);
  for (int i = 0; i < WRITERS; i++) {
    writers[i] = fork();
    assert_true(writers[i] >= 0);
    if (writers[i] == 0) _exit(write_in_turn(directory, (char)('a' + i)));
  }
  for (int i = 0; i < WRITERS; i++) {
    int status;
    assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  assert_null(read_text(directory, "shared.tmp"));
  remove_tree(directory);
}

/* A file that a process left when it died does not stay, even if it was longer. */
static void a_leftover_is_used_again(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  lgv_error err = {0};
  make_temp(directory);
  write_text(directory, "a.tmp", "the longer text of a process that died");
  assert_int_equal(lgv__write_file(directory, "a", "one", 3, &err), LGV_OK);
  char *text = read_text(directory, "a");
  assert_string_equal(text, "one");
  free(text);
  assert_null(read_text(directory, "a.tmp"));
  remove_tree(directory);
}

/* Returns an exit code. Whatever a library prints must not end up in records. */
static int write_without_descriptors(const char *directory) {
  char path[PATH_MAX];
  lgv_out out = {0};
  lgv_lock lock;
  lgv_error err = {0};
  for (int fd = 0; fd <= STDERR_FILENO; fd++) close(fd);
  join(path, directory, "records");
  if (lgv__lock_take(&lock, directory, 0, &err) != LGV_OK || lock.descriptor < 0) return 1;
  if (!lgv__out_open(&out, path, 0)) return 2;
  for (int fd = 0; fd <= STDERR_FILENO; fd++)
    if (write(fd, "spoilt", 6) >= 0) return 3;
  lgv__out_text(&out, "a row\n");
  bool closed = lgv__out_close(&out);
  lgv__lock_release(&lock);
  return closed ? 0 : 4;
}

static void closed_standard_descriptors_are_left_alone(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  int status;
  make_temp(directory);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(write_without_descriptors(directory));
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  char *text = read_text(directory, "records");
  assert_string_equal(text, "a row\n");
  free(text);
  remove_tree(directory);
}

static void a_path_that_is_too_long_is_refused(void **state) {
  (void)state;
  char path[16], *longer = malloc(2 * PATH_MAX);
  lgv_error err = {0};
  assert_int_equal(lgv__join_path("1234567", "1234567", path, sizeof path, &err), LGV_OK);
  assert_string_equal(path, "1234567/1234567");
  assert_int_equal(lgv__join_path("1234567", "12345678", path, sizeof path, &err), LGV_ERR_IO);
  memset(longer, 'x', 2 * PATH_MAX - 1);
  longer[2 * PATH_MAX - 1] = '\0';
  assert_int_equal(lgv__make_directory(longer, &err), LGV_ERR_IO);
  longer[PATH_MAX - 8] = '\0'; /* the path fits, the path of the temporary file does not */
  assert_int_equal(lgv__write_file(longer, "a", "x", 1, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "too long"));
  free(longer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_is_written_and_replaced),
      cmocka_unit_test(a_write_that_fails_leaves_the_old_file),
      cmocka_unit_test(a_failure_leaves_no_partial_file),
      cmocka_unit_test(a_pipe_is_not_replaced),
      cmocka_unit_test(processes_that_write_one_file_take_turns),
      cmocka_unit_test(a_leftover_is_used_again),
      cmocka_unit_test(closed_standard_descriptors_are_left_alone),
      cmocka_unit_test(a_directory_is_made_with_its_parents),
      cmocka_unit_test(errors_name_the_path),
      cmocka_unit_test(a_path_that_is_too_long_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
