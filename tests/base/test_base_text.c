/* The nearest name; numbers that read back to the same bits, in every locale. */
#include "base/text.h"

#include "file_helpers.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "langevin.h"

static void edit_distances(void **state) {
  (void)state;
  const struct {
    const char *a, *b;
    int distance;
  } cases[] = {{"", "", 0},
               {"", "abc", 3},
               {"abc", "", 3},
               {"kitten", "sitting", 3},
               {"lambda", "lamdba", 1}, /* a swap of neighbors is one edit */
               {"riverswim", "river-swim", 1},
               {"ab", "ba", 1},
               {"ca", "abc", 3}, /* swapped letters are not edited again */
               {"same", "same", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(lgv__edit_distance(cases[i].a, cases[i].b), cases[i].distance);
    assert_int_equal(lgv__edit_distance(cases[i].b, cases[i].a), cases[i].distance);
  }
  char longer[200];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  assert_int_equal(lgv__edit_distance(longer, ""), 64); /* letters beyond the limit do not count */
}

static void what_is_near(void **state) {
  (void)state;
  assert_true(lgv__is_near("lamda", "lambda", 1));
  assert_true(lgv__is_near("riv", "riverswim", 6)); /* a common beginning of three letters */
  assert_false(lgv__is_near("ri", "riverswim", 7));
  assert_true(lgv__is_near("betta", "beta", 1));
  assert_false(lgv__is_near("xyz", "beta", 4));
  lgv_guess guess = {.wrong = "seet"};
  lgv__guess_offer(&guess, "lambda");
  assert_null(guess.best);
  lgv__guess_offer(&guess, "step");
  lgv__guess_offer(&guess, "seed"); /* nearer */
  lgv__guess_offer(&guess, "beet"); /* equally near: the first stays */
  lgv__guess_offer(&guess, "stem");
  assert_string_equal(guess.best, "seed");
}

static void assert_round_trip(double x) {
  char text[40];
  double back;
  lgv__format_real(x, text, sizeof text);
  assert_true(lgv__parse_real(text, &back));
  assert_memory_equal(&x, &back, sizeof x);
}

static void numbers_come_back_bit_for_bit(void **state) {
  (void)state;
  const double special[] = {0.0,      -0.0,     1.0 / 3,   0.1,    DBL_MAX,    DBL_MIN,
                            -DBL_MAX, 5e-324,   1e22,      1e23,   0.3,        M_PI,
                            1e300,    INFINITY, -INFINITY, 0x1p53, 0x1p53 + 2, DBL_EPSILON};
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) assert_round_trip(special[i]);
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "text");
  for (int i = 0; i < 200000; i++) {
    uint64_t bits = lgv_rng_bits(&rng);
    double x;
    memcpy(&x, &bits, sizeof x);
    if (isfinite(x)) assert_round_trip(x);
  }
}

static void numbers_are_short(void **state) {
  (void)state;
  const struct {
    double x;
    const char *text;
  } cases[] = {{0.1, "0.1"},           {1e-6, "1e-06"},
               {100, "100"},           {-0.5, "-0.5"},
               {1e22, "1e+22"},        {5e-324, "5e-324"},
               {NAN, "nan"},           {INFINITY, "inf"},
               {-INFINITY, "-inf"},    {0.1 + 0.2, "0.30000000000000004"},
               {2.5e-310, "2.5e-310"}, {123456789012, "123456789012"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[40];
    lgv__format_real(cases[i].x, text, sizeof text);
    assert_string_equal(text, cases[i].text);
  }
}

static void only_a_whole_number_is_a_number(void **state) {
  (void)state;
  const char *const wrong[] = {"", " ", "one", "1x", "1 ", "1,5", "--1", "1e"};
  double x;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_false(lgv__parse_real(wrong[i], &x));
  assert_true(lgv__parse_real("-1.5e3", &x) && x == -1500);
}

/* Creates and sets a locale that writes one half as 0,5. */
static bool set_comma_locale(const char *directory) {
  char command[PATH_MAX + 64];
  write_text(directory, "source",
             "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\nEND LC_NUMERIC\n");
  snprintf(command, sizeof command, "cd %s && localedef -c -i ./source ./xx_XX >out 2>&1",
           directory);
  int done = system(command); /* warns about missing categories */
  (void)done;
  setenv("LOCPATH", directory, 1);
  if (!setlocale(LC_NUMERIC, "xx_XX")) return false;
  char text[16];
  snprintf(text, sizeof text, "%.1f", 0.5);
  return strcmp(text, "0,5") == 0;
}

static void the_programs_locale_does_not_matter(void **state) {
  (void)state;
  char directory[TEMP_SIZE], text[40];
  make_temp(directory);
  bool made = set_comma_locale(directory);
  if (made) {
    double x = 0;
    lgv__format_real(0.5, text, sizeof text);
    assert_string_equal(text, "0.5");
    assert_true(lgv__parse_real("0.25", &x) && x == 0.25);
    assert_false(lgv__parse_real("0,25", &x));
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* the program's locale is unchanged */
  }
  setlocale(LC_NUMERIC, "C");
  unsetenv("LOCPATH");
  remove_tree(directory);
  if (!made) skip(); /* a system without localedef */
}

static void control_characters_become_visible(void **state) {
  (void)state;
  const struct {
    const char *text, *visible;
  } rows[] = {{"plain, \303\244 and \342\202\254\n\t", "plain, \303\244 and \342\202\254\n\t"},
              {"\033[31m\r\a\177", "\\x1b[31m\\x0d\\x07\\x7f"},
              {"\302\233\302\240\302", "\\x9b\302\240\302"},
              {"", ""}};
  char visible[64];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv__make_visible(rows[i].text, visible, sizeof visible);
    assert_string_equal(visible, rows[i].visible);
  }
  lgv__make_visible("ab\033", visible, 6); /* no half of an escape */
  assert_string_equal(visible, "ab");
  lgv__make_visible("abcdefg", visible, 4);
  assert_string_equal(visible, "abc");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(control_characters_become_visible),
      cmocka_unit_test(edit_distances),
      cmocka_unit_test(what_is_near),
      cmocka_unit_test(numbers_come_back_bit_for_bit),
      cmocka_unit_test(numbers_are_short),
      cmocka_unit_test(only_a_whole_number_is_a_number),
      cmocka_unit_test(the_programs_locale_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
