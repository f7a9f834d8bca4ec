/* Status, error detail, version. */
#include "run_helpers.h"

#include <stdio.h>

static void a_failure_fills_the_error_and_returns_its_status(void **state) {
  (void)state;
  lgv_error err = {0};
  assert_int_equal(lgv_fail(&err, LGV_ERR_IO, "cannot read %s: %d", "a.txt", 7), LGV_ERR_IO);
  assert_int_equal(err.status, LGV_ERR_IO);
  assert_string_equal(err.message, "cannot read a.txt: 7");
}

static void a_caller_without_an_error_still_gets_the_status(void **state) {
  (void)state;
  assert_int_equal(lgv_fail(NULL, LGV_ERR_ENV, "unseen %d", 1), LGV_ERR_ENV);
}

static void a_message_that_does_not_fit_is_cut_and_terminated(void **state) {
  (void)state;
  char longer[2 * sizeof(((lgv_error *)0)->message)];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  lgv_error err;
  memset(&err, '!', sizeof err);
  assert_int_equal(lgv_fail(&err, LGV_ERR_USAGE, "%s", longer), LGV_ERR_USAGE);
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void every_status_has_a_name_of_its_own(void **state) {
  (void)state;
  for (int a = LGV_OK; a <= LGV_ERR_INTERRUPTED; a++) {
    assert_string_not_equal(lgv_status_name((lgv_status)a), "unknown status");
    for (int b = LGV_OK; b < a; b++)
      assert_string_not_equal(lgv_status_name((lgv_status)a), lgv_status_name((lgv_status)b));
  }
  assert_string_equal(lgv_status_name((lgv_status)99), "unknown status");
}

static void the_version_is_the_headers(void **state) {
  (void)state;
  char expected[32];
  snprintf(expected, sizeof expected, "%d.%d.%d", LGV_VERSION_MAJOR, LGV_VERSION_MINOR,
           LGV_VERSION_PATCH);
  assert_string_equal(lgv_version(), expected);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failure_fills_the_error_and_returns_its_status),
      cmocka_unit_test(a_caller_without_an_error_still_gets_the_status),
      cmocka_unit_test(a_message_that_does_not_fit_is_cut_and_terminated),
      cmocka_unit_test(every_status_has_a_name_of_its_own),
      cmocka_unit_test(the_version_is_the_headers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
