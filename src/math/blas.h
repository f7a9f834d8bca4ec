/* The linear algebra of dense.h by BLAS and LAPACK, on the caller's thread. Each call returns
 * whether they computed; if not, dense_portable.h does: while the thread computes portably
 * (base/portable_math.h), and in a build without BLAS (LANGEVIN_BLAS=OFF, as in wheels). */
#ifndef LGV_MATH_BLAS_H
#define LGV_MATH_BLAS_H

#include "langevin.h"

bool lgv__blas_solve(const double *l, int64_t d, double *x);
bool lgv__blas_solve_transposed(const double *l, int64_t d, double *x);
bool lgv__blas_whiten(const double *l, int64_t d, double *x, int64_t n);
bool lgv__blas_multiply(const double *a, int64_t rows, int64_t cols, const double *x, double *y);
bool lgv__blas_multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                                   double *y);
/* *info: 0, or what LAPACK reports. */
bool lgv__blas_svd_left(double *a, int64_t d, double *values, double *work, int32_t *iwork,
                        int *info);
/* Numbers of `work` that LAPACK needs beside V^T. */
int64_t lgv__blas_svd_work(int64_t d);

#endif
