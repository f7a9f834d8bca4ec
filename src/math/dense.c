#include "math/dense.h"

#include "base/error.h"
#include "base/portable_math.h"
#include "math/blas.h"
#include "math/dense_portable.h"
#include "math/kernels.h"

#include <math.h>
#include <string.h>

void lgv__rank_one_add(double *c, int64_t d, const double *x) {
  for (int64_t i = 0; i < d; i++) {
    if (x[i] == 0) continue;
    for (int64_t j = 0; j < d; j++) c[i * d + j] += x[i] * x[j];
  }
}

static double length_of(const lgv_kernel_set *kernels, double x, double y) {
  return kernels->portable ? lgv__portable_hypot(x, y) : hypot(x, y);
}

/* One Givens rotation per column of L: [L x] G = [L' 0]. A rotation is orthogonal, so no drift
 * builds up, and written with its cosine and sine it keeps the digits of a small diagonal (a tiny
 * ridge) next to a large x. The same G whitens: with [z'; t] = G^T [z; 0], L' z' = [L x] [z; 0] = L
 * z. */
void lgv__cholesky_update(double *l, int64_t d, double *x, double *z, int64_t n, double *carry) {
  const lgv_kernel_set *kernels = lgv__kernels();
  if (n) memset(carry, 0, (size_t)n * sizeof *carry);
  for (int64_t j = 0; j < d; j++) {
    if (x[j] == 0) continue;
    double *diagonal = l + j * d + j, r = length_of(kernels, *diagonal, x[j]);
    double c = *diagonal / r, s = x[j] / r;
    *diagonal = r;
    kernels->rotate(d - j - 1, c, s, diagonal + 1, x + j + 1);
    if (n) kernels->rotate(n, c, s, z + j * n, carry);
  }
}

void lgv__cholesky_solve(const double *l, int64_t d, double *x) {
  if (!lgv__blas_solve(l, d, x)) lgv__portable_solve(l, d, x);
  lgv__cholesky_solve_transposed(l, d, x);
}

void lgv__cholesky_solve_transposed(const double *l, int64_t d, double *x) {
  if (!lgv__blas_solve_transposed(l, d, x)) lgv__portable_solve_transposed(l, d, x);
}

void lgv__cholesky_whiten(const double *l, int64_t d, double *x, int64_t n) {
  if (!lgv__blas_whiten(l, d, x, n)) lgv__portable_whiten(l, d, x, n);
}

void lgv__multiply(const double *a, int64_t rows, int64_t cols, const double *x, double *y) {
  if (!lgv__blas_multiply(a, rows, cols, x, y)) lgv__portable_multiply(a, rows, cols, x, y);
}

void lgv__multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                              double *y) {
  if (!lgv__blas_multiply_transposed(a, rows, cols, x, y))
    lgv__portable_multiply_transposed(a, rows, cols, x, y);
}

/* V^T, which LAPACK computes as well, then LAPACK's own workspace. */
int64_t lgv__svd_work(int64_t d) { return d * d + lgv__blas_svd_work(d); }
int64_t lgv__svd_iwork(int64_t d) { return 8 * d; }

lgv_status lgv__svd_left(double *a, int64_t d, double *values, double *work, int32_t *iwork,
                         lgv_error *err) {
  int info = 1; /* as LAPACK says that it has failed */
  if (!lgv__blas_svd_left(a, d, values, work, iwork, &info))
    info = lgv__portable_svd_left(a, d, values) ? 0 : 1;
  if (info == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "the singular value decomposition of a %lld x %lld matrix failed (LAPACK %d)",
                  (long long)d, (long long)d, info);
}
