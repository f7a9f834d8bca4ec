/* Small dense linear algebra in double. Symmetric matrices are d x d, and either triangle may be
 * read; a Cholesky factor L is lower triangular and column-major, because its updates run along
 * columns. LAPACK and BLAS do the cubic work on the caller's thread only: the first call sets
 * OpenBLAS to one thread in the whole process. While the thread computes portably, and in a build
 * without BLAS, dense_portable.h does it, since the bits of BLAS depend on the machine. */
#ifndef LGV_MATH_DENSE_H
#define LGV_MATH_DENSE_H

#include "langevin.h"

/* C += x x^T, both triangles. */
void lgv__rank_one_add(double *c, int64_t d, const double *x);
/* L L^T becomes L L^T + x x^T in O(d^2); x is destroyed. Z = L^-1 X (d x n, row-major) becomes that
 * of the new L in O(d n); carry: room for n numbers. n may be 0. */
void lgv__cholesky_update(double *l, int64_t d, double *x, double *z, int64_t n, double *carry);
/* Solves L L^T x = b in place. */
void lgv__cholesky_solve(const double *l, int64_t d, double *x);
/* Solves L^T x = b in place: maps N(0, I) to N(0, (L L^T)^-1). */
void lgv__cholesky_solve_transposed(const double *l, int64_t d, double *x);
/* X (d x n) becomes L^-1 X. */
void lgv__cholesky_whiten(const double *l, int64_t d, double *x, int64_t n);
/* y = A x or y = A^T x; A is (rows x cols). */
void lgv__multiply(const double *a, int64_t rows, int64_t cols, const double *x, double *y);
void lgv__multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                              double *y);
/* The singular value decomposition A = U S V^T of the d x d matrix that `a` holds by columns. On
 * return `values` holds S, descending, and row i of `a` is column i of U. work: lgv__svd_work(d)
 * doubles; iwork: lgv__svd_iwork(d) ints. */
LGV_CHECK lgv_status lgv__svd_left(double *a, int64_t d, double *values, double *work,
                                   int32_t *iwork, lgv_error *err);
int64_t lgv__svd_work(int64_t d);
int64_t lgv__svd_iwork(int64_t d);

#endif
