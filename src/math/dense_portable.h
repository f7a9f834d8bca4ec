/* The linear algebra of dense.h that BLAS and LAPACK do, in plain C with one order of operations,
 * so that every machine gives the same bits. dense.h calls it while the thread computes portably
 * (base/portable_math.h), and describes the arguments.
 *
 * A dot product adds number i to partial sum i mod 8, and the partial sums in order. */
#ifndef LGV_MATH_DENSE_PORTABLE_H
#define LGV_MATH_DENSE_PORTABLE_H

#include "langevin.h"

/* Solve L x = b and L^T x = b in place. */
void lgv__portable_solve(const double *l, int64_t d, double *x);
void lgv__portable_solve_transposed(const double *l, int64_t d, double *x);
void lgv__portable_whiten(const double *l, int64_t d, double *x, int64_t n);
void lgv__portable_multiply(const double *a, int64_t rows, int64_t cols, const double *x,
                            double *y);
void lgv__portable_multiply_transposed(const double *a, int64_t rows, int64_t cols, const double *x,
                                       double *y);
/* False if it does not converge. The vector of a singular value 0 is 0. */
LGV_CHECK bool lgv__portable_svd_left(double *a, int64_t d, double *values);

#endif
