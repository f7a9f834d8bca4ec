/* The own elementary functions: their errors against long double, their special values as C states
 * them, and who calls them. */
#include "base/portable_math.h"
#include "langevin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lgv_rng rng;

static double uniform(double low, double high) {
  return low + lgv_rng_uniform(&rng) * (high - low);
}

/* Of either sign, with sizes from 2^low to 2^high, as many in each binade. */
static double any_size(int low, int high) {
  double size = ldexp(uniform(1, 2), low + (int)lgv_rng_below(&rng, high - low));
  return lgv_rng_below(&rng, 2) ? size : -size;
}

/* |x - truth| in units of the last place of the double nearest to truth. */
static double error_of(double x, long double truth) {
  int exponent;
  frexp(fmax(fabs((double)truth), 0x1p-1022), &exponent);
  return (double)(fabsl((long double)x - truth) / ldexpl(1, exponent - 53));
}

/* ---- Errors ---- */

enum { DRAWS = 20000 };

#define CHECK_ERROR(limit, draw, own, truth)                                                       \
  for (int i = 0; i < DRAWS; i++) {                                                                \
    double x = draw, got = own, off = error_of(got, truth);                                        \
    if (!(off <= (limit)))                                                                         \
      fail_msg(#own " is %a at x = %a, %.3f units off, not %g", got, x, off, (double)(limit));     \
  }

static void exponentials_are_exact_to_a_unit(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 1, "test.portable");
  CHECK_ERROR(0.8, uniform(-745, 709.7), lgv__portable_exp(x), expl(x))
  CHECK_ERROR(0.8, any_size(-60, 3), lgv__portable_exp(x), expl(x))
  CHECK_ERROR(1.2, uniform(-50, 700), lgv__portable_expm1(x), expm1l(x))
  CHECK_ERROR(1.2, any_size(-60, 2), lgv__portable_expm1(x), expm1l(x))
}

static void logarithms_are_exact_to_a_unit(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 2, "test.portable");
  CHECK_ERROR(0.9, uniform(0.4, 2.5), lgv__portable_log(x), logl(x))
  CHECK_ERROR(0.9, fabs(any_size(-1073, 1023)), lgv__portable_log(x), logl(x))
  CHECK_ERROR(0.9, uniform(-0.9999, 3), lgv__portable_log1p(x), log1pl(x))
  CHECK_ERROR(0.9, any_size(-60, -1), lgv__portable_log1p(x), log1pl(x))
  CHECK_ERROR(0.9, fabs(any_size(-10, 100)), lgv__portable_log1p(x), log1pl(x))
}

/* Powers of Adam's decays among them. */
static void powers_are_exact_to_a_unit(void **state) {
  (void)state;
  double y;
  lgv_rng_seed(&rng, 3, "test.portable");
  CHECK_ERROR(0.8, (y = uniform(-100, 100), uniform(0.01, 10)), lgv__portable_pow(x, y), powl(x, y))
  CHECK_ERROR(0.8, (y = uniform(-7, 7), fabs(any_size(-100, 100))), lgv__portable_pow(x, y),
              powl(x, y))
  CHECK_ERROR(0.8, (y = (double)lgv_rng_below(&rng, 100000), 1 - fabs(any_size(-14, -7))),
              lgv__portable_pow(x, y), powl(x, y))
  CHECK_ERROR(0.8, (y = 2, any_size(-20, 20)), lgv__portable_pow(x, y), (long double)x * x)
}

/* Multiples of pi / 2, where little is left of x, included. */
static void waves_are_exact_to_a_unit(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 4, "test.portable");
  CHECK_ERROR(0.85, uniform(-10, 10), lgv__portable_sin(x), sinl(x))
  CHECK_ERROR(0.85, uniform(-10, 10), lgv__portable_cos(x), cosl(x))
  CHECK_ERROR(0.85, any_size(-40, 20), lgv__portable_sin(x), sinl(x))
  CHECK_ERROR(0.85, any_size(-40, 20), lgv__portable_cos(x), cosl(x))
  CHECK_ERROR(0.85, i * M_PI / 2, lgv__portable_sin(x), sinl(x))
  CHECK_ERROR(0.85, i * M_PI / 2, lgv__portable_cos(x), cosl(x))
  CHECK_ERROR(1, 0, fabs(lgv__portable_sin(any_size(21, 1000))) <= 1, 1)
}

static void lengths_are_exact_to_a_unit(void **state) {
  (void)state;
  double y;
  lgv_rng_seed(&rng, 5, "test.portable");
  CHECK_ERROR(1.2, (y = any_size(-20, 20), any_size(-20, 20)), lgv__portable_hypot(x, y),
              hypotl(x, y))
  CHECK_ERROR(1.2, (y = any_size(-1000, 1000), any_size(-1000, 1000)), lgv__portable_hypot(x, y),
              hypotl(x, y))
}

/* Where the reduction changes from one multiple to the next, a series changes to another one. */
static void functions_stay_monotone_across_reductions(void **state) {
  (void)state;
  for (int k = -20; k <= 20; k++) {
    double border = (k + 0.5) * M_LN2, x = border - 40 * 0x1p-50;
    for (int i = 0; i < 80; i++, x += 0x1p-50)
      assert_true(lgv__portable_exp(x) <= lgv__portable_exp(x + 0x1p-50));
    x = M_SQRT2 * ldexp(1, k);
    for (int i = 0; i < 80; i++, x = nextafter(x, INFINITY))
      assert_true(lgv__portable_log(x) <= lgv__portable_log(nextafter(x, INFINITY)));
  }
}

/* ---- Special values ---- */

static bool same(double x, double y) {
  return isnan(x) ? isnan(y) : x == y && signbit(x) == signbit(y);
}

#define CHECK_SAME(own, library)                                                                   \
  if (!same(own, library)) fail_msg(#own " is %g, not %g at x = %g", own, library, x);

static const double special[] = {0.0,  -0.0,   1,      -1,    2,      -2,       3,         -3, 0.5,
                                 -0.5, 1e-320, 1e-310, 1e300, -1e300, INFINITY, -INFINITY, NAN};
enum { SPECIAL = sizeof special / sizeof *special };

/* Whether x^y needs no rounding: powers of 2, or 0, infinity or NaN. */
static bool is_exact(double x, double y) {
  double log2_x = log2(fabs(x));
  bool of_two = log2_x == floor(log2_x) && y == floor(y);
  return of_two || x == 0 || !isfinite(x) || !isfinite(y) || fabs(y) > 1e299 || x < 0;
}

static void special_values_are_those_of_c(void **state) {
  (void)state;
  for (int i = 0; i < SPECIAL; i++) {
    double x = special[i];
    if (fabs(x) < 1e-300 || fabs(x) > 1e299 || isnan(x)) {
      CHECK_SAME(lgv__portable_exp(x), exp(x))
      CHECK_SAME(lgv__portable_expm1(x), expm1(x))
      CHECK_SAME(lgv__portable_log1p(x), log1p(x))
    }
    if (!(x > 0) || x == 1 || isinf(x)) CHECK_SAME(lgv__portable_log(x), log(x))
    if (x == 0 || !isfinite(x)) CHECK_SAME(lgv__portable_sin(x), sin(x))
    if (x == 0 || !isfinite(x)) CHECK_SAME(lgv__portable_cos(x), cos(x))
    for (int j = 0; j < SPECIAL; j++) {
      double y = special[j];
      if (is_exact(x, y)) CHECK_SAME(lgv__portable_pow(x, y), pow(x, y))
      if (x == 0 || y == 0 || !isfinite(x + y)) CHECK_SAME(lgv__portable_hypot(x, y), hypot(x, y))
    }
  }
}

/* ---- Who calls them ---- */

/* x at which the C library of this machine and the own function differ; NaN if there is none. */
static double differs_at(void) {
  for (int i = 1; i < 100000; i++)
    if (exp(i * 1e-4) != lgv__portable_exp(i * 1e-4)) return i * 1e-4;
  return NAN;
}

static void threads_choose_before_the_process(void **state) {
  (void)state;
  double x = differs_at();
  if (isnan(x)) skip();
  lgv__portable_process(LGV_NATIVE);
  assert_true(!lgv__portable() && lgv__exp(x) == exp(x));
  lgv__portable_thread(LGV_PORTABLE);
  assert_true(lgv__portable() && lgv__exp(x) == lgv__portable_exp(x));
  lgv__portable_process(LGV_PORTABLE);
  lgv__portable_thread(LGV_NATIVE);
  assert_true(!lgv__portable() && lgv__exp(x) == exp(x));
  lgv__portable_thread(LGV_AS_PROCESS);
  assert_true(lgv__portable() && lgv__exp(x) == lgv__portable_exp(x));
  lgv__portable_process(LGV_AS_PROCESS);
}

static void the_environment_chooses_for_the_process(void **state) {
  (void)state;
  static const char *const names[] = {"avx2", "portable", "portable4", "ref"};
  for (int i = 0; i < 4; i++) {
    setenv("LANGEVIN_KERNELS", names[i], 1);
    lgv__portable_process(LGV_AS_PROCESS);
    assert_true(lgv__portable() == (i == 1 || i == 2));
  }
  unsetenv("LANGEVIN_KERNELS");
  lgv__portable_process(LGV_AS_PROCESS);
  assert_false(lgv__portable());
}

/* The law of either table is the same; test_base_rng.c tests it. */
static void both_ways_draw_nearly_the_same_normals(void **state) {
  (void)state;
  enum { N = 100000 };
  static double native[N], portable[N];
  lgv_rng a, b;
  lgv_rng_seed(&a, 6, "test.portable");
  lgv_rng_seed(&b, 6, "test.portable");
  lgv_rng_normals(&a, native, N);
  lgv__portable_thread(LGV_PORTABLE);
  lgv_rng_normals(&b, portable, N);
  lgv__portable_thread(LGV_AS_PROCESS);
  int equal = 0;
  for (int i = 0; i < N; i++) {
    assert_true(fabs(native[i] - portable[i]) < 1e-14);
    equal += native[i] == portable[i];
  }
  assert_true(equal > N / 10); /* by chance a few layers have the same edges */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exponentials_are_exact_to_a_unit),
      cmocka_unit_test(logarithms_are_exact_to_a_unit),
      cmocka_unit_test(powers_are_exact_to_a_unit),
      cmocka_unit_test(waves_are_exact_to_a_unit),
      cmocka_unit_test(lengths_are_exact_to_a_unit),
      cmocka_unit_test(functions_stay_monotone_across_reductions),
      cmocka_unit_test(special_values_are_those_of_c),
      cmocka_unit_test(threads_choose_before_the_process),
      cmocka_unit_test(the_environment_chooses_for_the_process),
      cmocka_unit_test(both_ways_draw_nearly_the_same_normals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
