#include "math/dense_portable.h"

#include "math/kernels.h"

#include <math.h>

/* y += factor x. */
static void add_scaled(int64_t count, double factor, const double *restrict x, double *restrict y) {
  for (int64_t i = 0; i < count; i++) y[i] += factor * x[i];
}

static double dot(int64_t count, const double *x, const double *y) {
  enum { PARTS = 8 };
  double part[PARTS] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + PARTS <= count; i += PARTS)
    for (int j = 0; j < PARTS; j++) part[j] += x[i + j] * y[i + j];
  for (int j = 0; i < count; i++, j++) part[j] += x[i] * y[i];
  for (int j = 0; j < PARTS; j++) sum += part[j];
  return sum;
}

void lgv__portable_solve(const double *l, int64_t d, double *x) {
  for (int64_t j = 0; j < d; j++) {
    const double *column = l + j * d;
    x[j] /= column[j];
    add_scaled(d - j - 1, -x[j], column + j + 1, x + j + 1);
  }
}

void lgv__portable_solve_transposed(const double *l, int64_t d, double *x) {
  for (int64_t j = d - 1; j >= 0; j--) {
    const double *column = l + j * d;
    x[j] = (x[j] - dot(d - j - 1, column + j + 1, x + j + 1)) / column[j];
  }
}

/* In strips of columns of X that stay in the first-level cache while L passes. */
void lgv__portable_whiten(const double *l, int64_t d, double *x, int64_t n) {
  enum { STRIP = 32 };
  for (int64_t from = 0; from < n; from += STRIP) {
    int64_t count = n - from < STRIP ? n - from : STRIP;
    for (int64_t j = 0; j < d; j++) {
      double *row = x + j * n + from;
      for (int64_t i = 0; i < count; i++) row[i] /= l[j * d + j];
      for (int64_t i = j + 1; i < d; i++) add_scaled(count, -l[j * d + i], row, x + i * n + from);
    }
  }
}

void lgv__portable_multiply(const double *a, int64_t rows, int64_t cols, const double *x,
                            double *y) {
  for (int64_t i = 0; i < rows; i++) y[i] = dot(cols, a + i * cols, x);
}

void lgv__portable_multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                                       double *y) {
  for (int64_t j = 0; j < cols; j++) y[j] = 0;
  for (int64_t i = 0; i < rows; i++) add_scaled(cols, x[i], a + i * cols, y);
}

/* ---- Singular values by one-sided Jacobi rotations (Hestenes 1958) ----
 *
 * Rotating two columns of A = U S V^T against each other changes V only. Sweeps over all pairs make
 * the columns orthogonal; they are then U S. For a Cholesky factor, small singular values come out
 * with full relative precision (Veselic, Hari 1989). */

/* Makes two columns orthogonal; returns whether they were not. aa and bb are the squares of their
 * lengths, and change with them. */
static bool rotate_pair(const lgv_kernel_set *kernels, int64_t d, double *a, double *aa, double *b,
                        double *bb) {
  const double negligible = 0x1p-52;
  double ab = dot(d, a, b);
  if (!(fabs(ab) > negligible * sqrt(*aa * *bb))) return false;
  double zeta = (*bb - *aa) / (2 * ab);
  double tangent = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
  double cosine = 1 / sqrt(1 + tangent * tangent);
  kernels->rotate(d, cosine, -cosine * tangent, a, b);
  *aa = fmax(*aa - tangent * ab, 0);
  *bb = fmax(*bb + tangent * ab, 0);
  return true;
}

/* Lengths are computed anew for each sweep, so that the last one, which rotates nothing, has
 * exact ones. */
static bool sweep(const lgv_kernel_set *kernels, double *a, int64_t d, double *squares) {
  bool rotated = false;
  for (int64_t p = 0; p < d; p++) squares[p] = dot(d, a + p * d, a + p * d);
  for (int64_t p = 0; p < d; p++)
    for (int64_t q = p + 1; q < d; q++)
      rotated = rotate_pair(kernels, d, a + p * d, &squares[p], a + q * d, &squares[q]) || rotated;
  return rotated;
}

static void swap(int64_t count, double *x, double *y) {
  for (int64_t i = 0; i < count; i++) {
    double before = x[i];
    x[i] = y[i];
    y[i] = before;
  }
}

/* Descending, with their columns. */
static void sort(double *a, int64_t d, double *values) {
  for (int64_t i = 0; i < d; i++) {
    int64_t most = i;
    for (int64_t j = i + 1; j < d; j++)
      if (values[j] > values[most]) most = j;
    if (most == i) continue;
    swap(1, values + i, values + most);
    swap(d, a + i * d, a + most * d);
  }
}

bool lgv__portable_svd_left(double *a, int64_t d, double *values) {
  enum { MOST_SWEEPS = 60 }; /* six to ten are usual */
  const lgv_kernel_set *kernels = lgv__kernels_portable();
  int sweeps = 0;
  while (sweep(kernels, a, d, values))
    if (++sweeps == MOST_SWEEPS) return false;
  for (int64_t i = 0; i < d; i++) {
    double *column = a + i * d;
    values[i] = sqrt(values[i]);
    for (int64_t j = 0; j < d && values[i] > 0; j++) column[j] /= values[i];
  }
  sort(a, d, values);
  return true;
}
