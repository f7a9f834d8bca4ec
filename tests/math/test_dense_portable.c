/* The plain linear algebra against BLAS and LAPACK, and against what defines it. */
#include "math/dense.h"
#include "math/dense_portable.h"

#include "base/portable_math.h"
#include "run_helpers.h"

#include <math.h>
#include <stdlib.h>

static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 24, 60};
enum { SIZES = sizeof sizes / sizeof *sizes, MOST = 60, WIDE = 50 };

static lgv_rng rng;
static double l[MOST * MOST], a[MOST * MOST], u[MOST * MOST], u2[MOST * MOST];

static void fill(int64_t count, double *x) {
  for (int64_t i = 0; i < count; i++) x[i] = lgv_rng_normal(&rng);
}

/* A Cholesky factor, by columns: that of ridge I + the sum of some x x^T. */
static void make_factor(int64_t d, double ridge, int terms) {
  double x[MOST];
  memset(l, 0, sizeof l);
  for (int64_t i = 0; i < d; i++) l[i * d + i] = sqrt(ridge);
  for (int t = 0; t < terms; t++) {
    fill(d, x);
    lgv__cholesky_update(l, d, x, NULL, 0, NULL);
  }
}

static void check_near(const char *what, int64_t d, int64_t count, const double *x,
                       const double *y) {
  double size = 0;
  for (int64_t i = 0; i < count; i++) size = fmax(size, fabs(y[i]));
  for (int64_t i = 0; i < count; i++)
    if (!(fabs(x[i] - y[i]) <= 1e-12 * size))
      fail_msg("%s, d = %ld: %.17g, not %.17g", what, (long)d, x[i], y[i]);
}

static void solutions_and_products_agree_with_blas(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 1, "test.dense");
  for (int k = 0; k < SIZES; k++) {
    int64_t d = sizes[k];
    static double x[2][MOST * WIDE], y[2][MOST * WIDE];
    make_factor(d, 1, 100);
    fill(d * WIDE, x[0]);
    for (int64_t portable = 0; portable < 2; portable++) {
      lgv__portable_thread(portable ? LGV_PORTABLE : LGV_NATIVE);
      double *to = y[portable];
      memcpy(to, x[0], sizeof x[0]);
      lgv__cholesky_solve(l, d, to);
      lgv__cholesky_solve_transposed(l, d, to + d);
      lgv__cholesky_whiten(l, d, to + 2 * d, WIDE / 2);
      lgv__multiply(x[0], WIDE, d, x[0] + 3, x[1]);
      if (portable) check_near("product", d, WIDE, x[1], u);
      memcpy(u, x[1], WIDE * sizeof *u);
      lgv__multiply_transposed(x[0], WIDE, d, x[0] + 3, x[1]);
      if (portable) check_near("transposed product", d, d, x[1], u2);
      memcpy(u2, x[1], (size_t)d * sizeof *u2);
    }
    lgv__portable_thread(LGV_AS_PROCESS);
    check_near("solution", d, d, y[1], y[0]);
    check_near("transposed solution", d, d, y[1] + d, y[0] + d);
    check_near("whitened", d, d * (WIDE / 2), y[1] + 2 * d, y[0] + 2 * d);
  }
}

/* |U S| = the columns of L after a rotation: U^T U = 1 and U S^2 U^T = L L^T. */
static void check_decomposition(int64_t d, const double *values) {
  for (int64_t i = 0; i < d; i++)
    for (int64_t j = 0; j < d; j++) {
      double orthogonal = 0, square = 0, gram = 0;
      for (int64_t k = 0; k < d; k++) {
        orthogonal += u[i * d + k] * u[j * d + k];
        square += u[k * d + i] * values[k] * values[k] * u[k * d + j];
        gram += a[k * d + i] * a[k * d + j];
      }
      assert_true(fabs(orthogonal - (i == j)) < 1e-13);
      assert_true(fabs(square - gram) < 1e-13 * values[0] * values[0]);
    }
}

static void singular_values_agree_with_lapack(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 2, "test.dense");
  for (int k = 0; k < SIZES; k++)
    for (int terms = 0; terms < 200; terms += 66) {
      int64_t d = sizes[k];
      lgv_error err = {0};
      double values[MOST], expected[MOST];
      double *work = malloc((size_t)lgv__svd_work(d) * sizeof *work);
      int32_t *iwork = malloc((size_t)lgv__svd_iwork(d) * sizeof *iwork);
      make_factor(d, 1e-3, terms);
      memcpy(a, l, sizeof a);
      memcpy(u, l, sizeof u);
      memcpy(u2, l, sizeof u2);
      assert_true(lgv__portable_svd_left(u, d, values));
      assert_int_equal(lgv__svd_left(u2, d, expected, work, iwork, &err), LGV_OK);
      for (int64_t i = 0; i < d; i++) {
        assert_true(i == 0 || values[i] <= values[i - 1]);
        assert_true(fabs(values[i] - expected[i]) < 1e-13 * expected[0]);
      }
      check_decomposition(d, values);
      free(work);
      free(iwork);
    }
}

/* lambda = 1e-12 next to a million visits: the smallest value keeps its digits. */
static void small_singular_values_keep_their_digits(void **state) {
  (void)state;
  double diagonal[] = {1e3, 1e-6, 2e-6}, values[3];
  double factor[9] = {diagonal[0], 5e2, -3e2, 0, diagonal[1], 1e-7, 0, 0, diagonal[2]};
  assert_true(lgv__portable_svd_left(factor, 3, values));
  double product = diagonal[0] * diagonal[1] * diagonal[2]; /* the determinant */
  assert_true(fabs(values[0] * values[1] * values[2] / product - 1) < 1e-13);
}

static void what_is_not_finite_ends(void **state) {
  (void)state;
  double zero[4] = {0}, wrong[4] = {1, NAN, NAN, 1}, values[2];
  assert_true(lgv__portable_svd_left(zero, 2, values));
  assert_true(values[0] == 0 && values[1] == 0 && zero[0] == 0);
  assert_true(lgv__portable_svd_left(wrong, 2, values));
  assert_true(isnan(values[0]) || isnan(values[1]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solutions_and_products_agree_with_blas),
      cmocka_unit_test(singular_values_agree_with_lapack),
      cmocka_unit_test(small_singular_values_keep_their_digits),
      cmocka_unit_test(what_is_not_finite_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
