/* The JSON writer: escapes, nesting, numbers that read back, null for values that JSON lacks. */
#include "base/io/json.h"
#include "base/memory.h"

#include "run_helpers.h"

#include <math.h>

static void objects_nest_with_commas_and_indentation(void **state) {
  (void)state;
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '{');
  lgv__json_string(&json, "name", "x");
  lgv__json_open(&json, "empty", '{');
  lgv__json_close(&json, '}');
  lgv__json_open(&json, "list", '[');
  lgv__json_int(&json, NULL, 1);
  lgv__json_open(&json, NULL, '[');
  lgv__json_close(&json, ']');
  lgv__json_bool(&json, NULL, true);
  lgv__json_close(&json, ']');
  lgv__json_bool(&json, "last", false);
  lgv__json_close(&json, '}');
  assert_false(json.failed);
  assert_string_equal(json.text, "{\n"
                                 "  \"name\": \"x\",\n"
                                 "  \"empty\": {},\n"
                                 "  \"list\": [\n"
                                 "    1,\n"
                                 "    [],\n"
                                 "    true\n"
                                 "  ],\n"
                                 "  \"last\": false\n"
                                 "}\n");
  assert_int_equal(json.length, strlen(json.text));
  lgv__json_free(&json);
}

static void text_is_escaped(void **state) {
  (void)state;
  lgv_json json = {0};
  lgv__json_string(&json, "a\"b", "q\" s\\ n\n t\t \x01 \x1f \x7f \xc3\xa9");
  assert_string_equal(
      json.text, "\"a\\\"b\": \"q\\\" s\\\\ n\\u000a t\\u0009 \\u0001 \\u001f \x7f \xc3\xa9\"");
  lgv__json_free(&json);
}

static void numbers_are_exact_and_null_where_there_is_none(void **state) {
  (void)state;
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '[');
  lgv__json_real(&json, NULL, 0.1 + 0.2);
  lgv__json_real(&json, NULL, NAN);
  lgv__json_real(&json, NULL, -INFINITY);
  lgv__json_real(&json, NULL, 3);
  lgv__json_int(&json, NULL, INT64_MIN);
  lgv__json_close(&json, ']');
  assert_string_equal(json.text, "[\n  0.30000000000000004,\n  null,\n  null,\n  3,\n"
                                 "  -9223372036854775808\n]\n");
  lgv__json_free(&json);
}

static void a_failed_allocation_is_noted_at_whatever_point(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    lgv_json json = {0};
    lgv__memory_fail_after(n);
    lgv__json_open(&json, NULL, '{');
    for (int i = 0; i < 50; i++) lgv__json_int(&json, "key", i);
    lgv__json_close(&json, '}');
    bool came = lgv__memory_fail_after(0) == 0;
    assert_int_equal(json.failed, came);
    lgv__json_free(&json);
    if (!came) break;
    assert_true(n < 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(objects_nest_with_commas_and_indentation),
      cmocka_unit_test(text_is_escaped),
      cmocka_unit_test(numbers_are_exact_and_null_where_there_is_none),
      cmocka_unit_test(a_failed_allocation_is_noted_at_whatever_point),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
