/* Compute kernels: one source, compiled once for each instruction set, chosen once at start.
 *
 * Files named kernel_*.c here and optim_*.c in src/optim are compiled several times with LGV_ISA
 * set to the set's name and LGV_LANES to the floats in its vectors (1 for ref: plain C); whatever
 * they define for others to see is named by LGV_KERNEL(name), which appends the set's name. One
 * lgv_kernel_set for each collects them. LANGEVIN_KERNELS=ref|x86|avx2|avx512 (elsewhere:
 * ref|generic) overrides the choice. */
#ifndef LGV_MATH_KERNELS_H
#define LGV_MATH_KERNELS_H

#include "langevin.h"

#define LGV_PASTE2(a, b) a##_##b
#define LGV_PASTE(a, b) LGV_PASTE2(a, b)
#define LGV_KERNEL(name) LGV_PASTE(name, LGV_ISA)

/* 16 lanes of xoshiro128++: word i of lane j is s[i][j]. */
struct lgv_noise {
  uint32_t s[4][16];
};

enum {
  LGV_NOISE_BLOCK = 512
}; /* normals to ask for at a time: they stay in the first-level cache */

typedef struct lgv_kernel_set {
  const char *name;
  /* C (m x n) = beta C + A B. A is reached by strides (a[i * a_row + k * a_col]), rows of B and C
   * are contiguous with the given distances. beta is 0 or 1; with 0, C need not be initialised. */
  void (*gemm)(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_row, int64_t a_col,
               const float *b, int64_t b_row, float beta, float *c, int64_t c_row);
  /* count N(0, 1) draws; count is a multiple of 32, at most LGV_NOISE_BLOCK. */
  void (*normals)(lgv_noise *noise, float *out, size_t count);
  const lgv_optim_type *const *optimisers; /* NULL-terminated */
} lgv_kernel_set;

const lgv_kernel_set *lgv__kernels(void); /* the one in use: the best that this CPU can run */
/* Fails if LANGEVIN_KERNELS names a set that does not exist or that this CPU cannot run; the best
 * one is then in use nevertheless. */
LGV_CHECK lgv_status lgv__kernels_check(lgv_error *err);
/* The sets that this CPU can run, plainest first; NULL past the end. */
const lgv_kernel_set *lgv__kernels_at(size_t index);
/* Test hook: the set that lgv__kernels returns from now on; NULL: the choice at start. */
void lgv__kernels_use(const lgv_kernel_set *set);
void lgv__noise_seed(lgv_noise *noise, lgv_rng *rng);

#ifdef LGV_ISA /* within a set, without the detour over the table */
void LGV_KERNEL(lgv__normals)(lgv_noise *noise, float *restrict out, size_t count);
#endif

#endif
