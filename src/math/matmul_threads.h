/* Helper threads for matrix products, which are nearly all the work of updating a large network.
 *
 * A product is cut along the longer side of C, and one thread computes every element of C in the
 * order that lgv_product promises, so the bits do not depend on the number of threads. Any other
 * list of independent units of work can be shared in the same way. The caller's
 * thread computes the first part, and then those that no helper has begun. Between the products of
 * one update helpers spin, since that is faster than sleeping and waking up; after a fraction of a
 * millisecond they sleep.
 *
 * Invariant: nothing is shared between two teams, and a team serves one thread at a time. */
#ifndef LGV_MATH_MATMUL_THREADS_H
#define LGV_MATH_MATMUL_THREADS_H

#include "math/kernels.h"

typedef struct lgv_matmul_threads lgv_matmul_threads;

/* threads: including the caller's. */
LGV_CHECK lgv_status lgv__matmul_threads_create(int32_t threads, lgv_matmul_threads **team,
                                                lgv_error *err);
void lgv__matmul_threads_free(lgv_matmul_threads *team); /* may be NULL */
/* Sets the team that helps this thread with its products (NULL: none) and returns the previous one.
 */
lgv_matmul_threads *lgv__matmul_threads_use(lgv_matmul_threads *team);
/* lgv__kernels()->product, with helpers if it is large enough. */
void lgv__matmul_threads_product(const lgv_product *product);
/* Calls work(context, first, last) for parts of [0, count), with helpers if the whole is large
 * enough. The parts must be independent of each other. cost: multiplications, or other operations
 * that take as long, per unit. */
void lgv__matmul_threads_share(int64_t count, int64_t cost,
                               void (*work)(const void *context, int64_t first, int64_t last),
                               const void *context);

#endif
