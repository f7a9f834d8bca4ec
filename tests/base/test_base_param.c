/* Parameter tables: values from and to text, ranges, defaults, and messages. */
#include "base/param.h"

#include "run_helpers.h"

#include <math.h>
#include <stdio.h>

typedef struct all {
  double real, free_real;
  int64_t whole;
  bool flag;
  int32_t choice;
  char text[LGV_TEXT_SIZE];
  lgv_ints list;
} all;

static const char *const colors[] = {"red", "green", "blue", NULL};

static const lgv_param table[] = {
    {.name = "real",
     .type = LGV_REAL,
     .offset = offsetof(all, real),
     .default_text = "0.5",
     .min = 0,
     .max = 1,
     .open = LGV_OPEN_MIN},
    {.name = "free", .type = LGV_REAL, .offset = offsetof(all, free_real), .default_text = "-3"},
    {.name = "whole",
     .type = LGV_INT,
     .offset = offsetof(all, whole),
     .default_text = "7",
     .min = -10,
     .max = 1e15},
    {.name = "flag", .type = LGV_BOOL, .offset = offsetof(all, flag), .default_text = "true"},
    {.name = "choice",
     .type = LGV_CHOICE,
     .offset = offsetof(all, choice),
     .default_text = "green",
     .choices = colors},
    {.name = "text", .type = LGV_TEXT, .offset = offsetof(all, text), .default_text = "hello"},
    {.name = "list",
     .type = LGV_INTS,
     .offset = offsetof(all, list),
     .default_text = "32,32",
     .min = 1,
     .max = 4096},
    {0},
};
enum { REAL, FREE, WHOLE, FLAG, CHOICE, TEXT, LIST };

static bool accepts(int index, const char *text, all *values) {
  lgv_error err = {0};
  return lgv__param_parse(&table[index], "key", text, values, &err) == LGV_OK;
}

static void defaults_are_filled_in(void **state) {
  (void)state;
  all v;
  memset(&v, 0xff, sizeof v);
  lgv__params_defaults(table, &v);
  assert_true(v.real == 0.5 && v.free_real == -3 && v.whole == 7 && v.flag && v.choice == 1);
  assert_string_equal(v.text, "hello");
  assert_int_equal(v.list.count, 2);
  assert_int_equal(v.list.value[1], 32);
  assert_int_equal(lgv__params_count(table), 7);
  assert_int_equal(lgv__params_count(NULL), 0);
}

static void values_come_back_as_they_were_written(void **state) {
  (void)state;
  const struct {
    int index;
    const char *text;
  } cases[] = {{REAL, "0.1"},  {REAL, "1"},       {REAL, "0.30000000000000004"},
               {FREE, "inf"},  {FREE, "-1e+300"}, {WHOLE, "999999999999999"},
               {WHOLE, "-10"}, {FLAG, "false"},   {CHOICE, "blue"},
               {TEXT, ""},     {TEXT, "a \"b\""}, {LIST, "1,2,3,4096"},
               {LIST, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    all v, again;
    char text[512], twice[512];
    lgv__params_defaults(table, &v);
    lgv__params_defaults(table, &again);
    assert_true(accepts(cases[i].index, cases[i].text, &v));
    lgv__param_format(&table[cases[i].index], &v, text, sizeof text);
    assert_string_equal(text, cases[i].text);
    assert_true(accepts(cases[i].index, text, &again));
    lgv__param_format(&table[cases[i].index], &again, twice, sizeof twice);
    assert_string_equal(text, twice);
  }
}

static void bounds_are_kept_open_and_closed(void **state) {
  (void)state;
  all v;
  lgv__params_defaults(table, &v);
  assert_false(accepts(REAL, "0", &v)); /* open */
  assert_true(accepts(REAL, "5e-324", &v));
  assert_true(accepts(REAL, "1", &v)); /* closed */
  assert_false(accepts(REAL, "1.0000000000000002", &v));
  assert_false(accepts(REAL, "nan", &v));
  assert_false(accepts(FREE, "nan", &v)); /* without bounds it must still be a number */
  assert_true(accepts(WHOLE, "-10", &v));
  assert_false(accepts(WHOLE, "-11", &v));
  assert_false(accepts(LIST, "0,1", &v));
  assert_false(accepts(LIST, "1,4097", &v));
}

static void whole_numbers_are_whole(void **state) {
  (void)state;
  all v;
  assert_true(accepts(WHOLE, "1e6", &v) && v.whole == 1000000);
  assert_true(accepts(WHOLE, "2.0", &v) && v.whole == 2);
  const char *const wrong[] = {"1.5",  "", "x", "1e-3", "12a", "inf", "99999999999999999999",
                               "1_000"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_false(accepts(WHOLE, wrong[i], &v));
}

static void flags_and_choices_take_their_words_alone(void **state) {
  (void)state;
  all v;
  lgv__params_defaults(table, &v);
  assert_false(accepts(FLAG, "yes", &v));
  assert_false(accepts(FLAG, "1", &v));
  assert_false(accepts(CHOICE, "Red", &v));
  assert_false(accepts(CHOICE, "", &v));
  assert_true(v.flag && v.choice == 1); /* a refused value changes nothing */
}

static void lists_are_written_in_two_ways(void **state) {
  (void)state;
  all v;
  const char *const right[] = {"1,2", "1, 2", "[1,2]", "[ 1 , 2 ]"};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    v.list = (lgv_ints){0};
    assert_true(accepts(LIST, right[i], &v));
    assert_true(v.list.count == 2 && v.list.value[0] == 1 && v.list.value[1] == 2);
  }
  assert_true(accepts(LIST, "[]", &v) && v.list.count == 0);
  assert_true(accepts(LIST, "5", &v) && v.list.count == 1);
  const char *const wrong[] = {"1,,2",
                               "1,",
                               ",1",
                               "[1",
                               "1]",
                               "1 2",
                               "1;2",
                               "[1]x",
                               "a",
                               "1.5",
                               "99999999999999999999",
                               "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (accepts(LIST, wrong[i], &v)) fail_msg("'%s' was accepted", wrong[i]);
  assert_true(v.list.count == 1 && v.list.value[0] == 5);
}

static void a_text_must_fit(void **state) {
  (void)state;
  all v;
  char text[LGV_TEXT_SIZE + 1];
  memset(text, 'x', sizeof text);
  text[LGV_TEXT_SIZE - 1] = '\0';
  assert_true(accepts(TEXT, text, &v));
  text[LGV_TEXT_SIZE - 1] = 'x';
  text[LGV_TEXT_SIZE] = '\0';
  assert_false(accepts(TEXT, text, &v));
}

static void ranges_read_as_mathematics(void **state) {
  (void)state;
  const char *const expected[] = {"a number in (0, 1]",
                                  "a number",
                                  "a whole number in [-10, 1e15]",
                                  "true | false",
                                  "red | green | blue",
                                  "text",
                                  "a list like 32,32; each a whole number in [1, 4096]"};
  char text[256];
  for (int i = 0; table[i].name; i++) {
    lgv_param_range(&table[i], text, sizeof text);
    assert_string_equal(text, expected[i]);
  }
  lgv_param unbounded = {.type = LGV_REAL, .min = 0, .max = INFINITY};
  lgv_param_range(&unbounded, text, sizeof text);
  assert_string_equal(text, "a number in [0, inf]"); /* inf itself is accepted */
  unbounded.open = LGV_OPEN_MAX;
  lgv_param_range(&unbounded, text, sizeof text);
  assert_string_equal(text, "a number in [0, inf)");
}

static void a_refusal_names_the_key_the_value_and_the_range(void **state) {
  (void)state;
  all v;
  lgv_error err = {0};
  assert_int_equal(lgv__param_parse(&table[REAL], "agent.real", "2", &v, &err), LGV_ERR_USAGE);
  assert_string_equal(err.message, "agent.real = '2' is not valid: it takes a number in (0, 1]");
}

static void names_are_found_and_nearly_found(void **state) {
  (void)state;
  assert_int_equal(lgv__params_find(table, "choice"), CHOICE);
  assert_int_equal(lgv__params_find(table, "Choice"), -1);
  assert_int_equal(lgv__params_find(NULL, "choice"), -1);
  assert_string_equal(lgv__params_nearest(table, "chioce"), "choice");
  assert_string_equal(lgv__params_nearest(table, "whol"), "whole");
  assert_null(lgv__params_nearest(table, "zzzzzz"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_filled_in),
      cmocka_unit_test(values_come_back_as_they_were_written),
      cmocka_unit_test(bounds_are_kept_open_and_closed),
      cmocka_unit_test(whole_numbers_are_whole),
      cmocka_unit_test(flags_and_choices_take_their_words_alone),
      cmocka_unit_test(lists_are_written_in_two_ways),
      cmocka_unit_test(a_text_must_fit),
      cmocka_unit_test(ranges_read_as_mathematics),
      cmocka_unit_test(a_refusal_names_the_key_the_value_and_the_range),
      cmocka_unit_test(names_are_found_and_nearly_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
