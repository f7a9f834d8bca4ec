/* Helping threads for matrix products, which are nearly all the work of an update of a large
 * network.
 *
 * A product is cut along the longer side of C, and every element of C is computed by one thread in
 * the order that lgv_product promises: the bits are those of one thread, however many there are.
 * The caller's thread takes the first part, and those that no helper has begun when it is done.
 * Between products of one update helpers wait in a loop, since that is shorter than to fall asleep
 * and wake up; after a fraction of a millisecond they sleep.
 *
 * Invariant: nothing is shared between two teams, and a team serves one thread at a time. */
#ifndef LGV_MATH_MATMUL_THREADS_H
#define LGV_MATH_MATMUL_THREADS_H

#include "math/kernels.h"

typedef struct lgv_matmul_threads lgv_matmul_threads;

/* threads: the caller's included. */
LGV_CHECK lgv_status lgv__matmul_threads_create(int32_t threads, lgv_matmul_threads **team,
                                                lgv_error *err);
void lgv__matmul_threads_free(lgv_matmul_threads *team); /* may be NULL */
/* Who helps with the products of this thread from now on; NULL: nobody. Returns who did. */
lgv_matmul_threads *lgv__matmul_threads_use(lgv_matmul_threads *team);
/* lgv__kernels()->product, with help where it is large enough. */
void lgv__matmul_threads_product(const lgv_product *product);

#endif
