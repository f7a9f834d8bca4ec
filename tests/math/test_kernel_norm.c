/* Layer normalization on every kernel set, bit for bit against the definitions in kernel_norm.c, in
 * memory of exactly the right size. */
#include "math/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PARTS = 16 };

static lgv_rng rng;

static float *random_floats(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  for (int64_t i = 0; i < count; i++) x[i] = (float)lgv_rng_normal(&rng);
  return x;
}

static float *copy_of(const float *x, int64_t count) {
  float *copy = malloc((size_t)count * sizeof *copy);
  memcpy(copy, x, (size_t)count * sizeof *copy);
  return copy;
}

/* ---- The definitions ---- */

static float half_by_half(const float *x, int64_t n) {
  float part[PARTS] = {0};
  for (int64_t i = 0; i < n; i++) part[i % PARTS] += x[i];
  for (int half = PARTS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}

static void plain_normalize(int64_t n, int64_t cols, const float *gain, const float *bias, float *x,
                            float *normalized, float *scale) {
  float *squares = malloc((size_t)n * sizeof *squares), mean = half_by_half(x, n) / (float)n;
  for (int64_t i = 0; i < n; i++) squares[i] = (x[i] - mean) * (x[i] - mean);
  *scale = 1 / sqrtf(half_by_half(squares, n) / (float)n + LGV_NORM_EPS);
  for (int64_t i = 0; i < n; i++) {
    normalized[i] = (x[i] - mean) * *scale;
    float product = gain[i % cols] * normalized[i], y = product + bias[i % cols];
    x[i] = y < 0 ? 0 : y;
  }
  free(squares);
}

static void plain_normalize_back(int64_t n, int64_t cols, const float *gain,
                                 const float *normalized, float scale, float *d) {
  float *products = malloc((size_t)n * sizeof *products);
  for (int64_t i = 0; i < n; i++) d[i] *= gain[i % cols];
  for (int64_t i = 0; i < n; i++) products[i] = d[i] * normalized[i];
  float mean = half_by_half(d, n) / (float)n, slope = half_by_half(products, n) / (float)n;
  for (int64_t i = 0; i < n; i++) {
    float part = normalized[i] * slope;
    d[i] = scale * (d[i] - mean - part);
  }
  free(products);
}

/* ---- Tests ---- */

static void check_same(const lgv_kernel_set *set, const char *what, int64_t places, int64_t cols,
                       const float *got, const float *want, int64_t count) {
  if (memcmp(got, want, (size_t)count * sizeof *got) != 0)
    fail_msg("%s: %s of %ld x %ld numbers", set->name, what, (long)places, (long)cols);
}

static void try_size(const lgv_kernel_set *set, int64_t rows, int64_t places, int64_t cols) {
  int64_t n = places * cols, all = rows * n;
  float *gain = random_floats(cols), *bias = random_floats(cols), *x = random_floats(all);
  float *want = copy_of(x, all), *in_place = copy_of(x, all), *d = random_floats(all);
  float *normalized = random_floats(all), *want_normalized = random_floats(all);
  float *scale = random_floats(rows), *want_scale = random_floats(rows), *want_d = copy_of(d, all);
  for (int64_t r = 0; r < rows; r++)
    plain_normalize(n, cols, gain, bias, want + r * n, want_normalized + r * n, want_scale + r);
  set->normalize(rows, places, cols, gain, bias, x, normalized, scale);
  set->normalize(rows, places, cols, gain, bias, in_place, NULL, NULL);
  check_same(set, "outputs", places, cols, x, want, all);
  check_same(set, "outputs in place", places, cols, in_place, want, all);
  check_same(set, "normalized numbers", places, cols, normalized, want_normalized, all);
  check_same(set, "factors", places, cols, scale, want_scale, rows);
  float *dots = random_floats(cols), *want_dots = random_floats(cols);
  set->column_dots(rows * places, cols, d, normalized, dots);
  for (int64_t j = 0; j < cols; j++) {
    float sum = 0;
    for (int64_t i = j; i < all; i += cols) sum += d[i] * normalized[i];
    want_dots[j] = sum;
  }
  check_same(set, "column dots", places, cols, dots, want_dots, cols);
  set->normalize_back(rows, places, cols, gain, normalized, scale, d);
  for (int64_t r = 0; r < rows; r++)
    plain_normalize_back(n, cols, gain, want_normalized + r * n, scale[r], want_d + r * n);
  check_same(set, "derivatives", places, cols, d, want_d, all);
  float *lists[] = {gain,       bias,   x,    want,      in_place, d, normalized, want_normalized,
                    want_scale, want_d, dots, want_dots, scale};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
}

static void kernels_match_the_definition(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 32, 33, 64, 67, 100};
  enum { N = sizeof sizes / sizeof *sizes };
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv_rng_seed(&rng, 9, "test.kernels");
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) try_size(set, 1 + (i + j) % 4, sizes[i], sizes[j]);
  }
}

/* Mean 0 and deviation 1 even far from 0; equal numbers become the biases; NaN stays. */
static void normalized_rows_have_deviation_one(void **state) {
  (void)state;
  enum { N = 100 };
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    float gain[N], bias[N], x[N], normalized[N];
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) gain[i] = 1, bias[i] = 0.25f, x[i] = 1000 + (float)(i % 7);
    set->normalize(1, 1, N, gain, bias, x, normalized, NULL);
    for (int i = 0; i < N; i++) sum += normalized[i], squares += normalized[i] * normalized[i];
    assert_true(fabs(sum) < 1e-2 && fabs(squares / N - 1) < 1e-4);
    for (int i = 0; i < N; i++) x[i] = -3;
    set->normalize(1, 1, N, gain, bias, x, NULL, NULL);
    for (int i = 0; i < N; i++) assert_true(x[i] == 0.25f);
    x[40] = NAN;
    set->normalize(1, 1, N, gain, bias, x, NULL, NULL);
    for (int i = 0; i < N; i++) assert_true(isnan(x[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_match_the_definition),
      cmocka_unit_test(normalized_rows_have_deviation_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
