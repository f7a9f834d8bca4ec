/* Lock files: one holder at a time, even when the file is removed and created again. */
#include "base/io/lock.h"

#include "temp_root.h"

#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

static bool take(lgv_lock *lock, double patience) {
  lgv_error err = {0};
  if (lgv__lock_take(lock, root, patience, &err) != LGV_OK) fail_msg("%s", err.message);
  return lock->descriptor >= 0;
}

static bool is_there(void) {
  char path[PATH_MAX];
  struct stat info;
  join(path, root, LGV_LOCK_NAME);
  return stat(path, &info) == 0;
}

static void one_holds_it_at_a_time(void **state) {
  (void)state;
  lgv_lock one, two;
  char expected[32];
  assert_true(take(&one, 0));
  assert_false(take(&two, 0));
  snprintf(expected, sizeof expected, "process %ld on ", (long)getpid());
  assert_non_null(strstr(two.holder, expected));
  lgv__lock_release(&two); /* it has nothing to give back */
  assert_false(take(&two, 0));
  lgv__lock_release(&one);
  assert_false(is_there());
  assert_true(take(&two, 0));
  lgv__lock_release(&two);
  lgv_error err = {0};
  assert_int_equal(lgv__lock_take(&one, "/nowhere/at/all", 0, &err), LGV_ERR_IO);
}

static void the_dead_hold_nothing(void **state) {
  (void)state;
  lgv_lock lock;
  pid_t child = fork();
  if (child == 0) _exit(take(&lock, 0) ? 0 : 1); /* without giving it back */
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(is_there());
  assert_true(take(&lock, 0));
  lgv__lock_release(&lock);
}

static void *wait_for_it(void *context) {
  take(context, INFINITY);
  return NULL;
}

/* A process that waited for a file that was removed must not take that for holding its successor.
 */
static void a_removed_file_is_no_lock(void **state) {
  (void)state;
  lgv_lock first, second, third;
  pthread_t thread;
  assert_true(take(&first, 0));
  assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &second), 0);
  usleep(50000); /* it most likely waits by now; if not, the test is merely weaker */
  lgv__lock_release(&first);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(second.descriptor >= 0);
  assert_true(is_there());
  assert_false(take(&third, 0));
  lgv__lock_release(&second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_holds_it_at_a_time),
      cmocka_unit_test(the_dead_hold_nothing),
      cmocka_unit_test(a_removed_file_is_no_lock),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
