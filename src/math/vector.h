/* Vectors of LGV_LANES floats in the compiler's vector extensions, for files that are compiled once
 * per instruction set (kernels.h). With one lane, a vector is a float. */
#ifndef LGV_MATH_VECTOR_H
#define LGV_MATH_VECTOR_H

#include "math/kernels.h"

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define EACH(i, n) UNROLL for (int i = 0; i < (n); i++) /* n is a compile-time constant */

enum { LANES = LGV_LANES };

#if LGV_LANES > 1

typedef float vec __attribute__((vector_size(4 * LGV_LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LGV_LANES)));
typedef uint32_t uvec __attribute__((vector_size(4 * LGV_LANES)));
typedef float loose_vec __attribute__((vector_size(4 * LGV_LANES), aligned(4), may_alias));

INLINE vec load(const float *p) { return *(const loose_vec *)p; }
INLINE void store(float *p, vec v) { *(loose_vec *)p = v; }
/* max(v, 0), except that NaN stays NaN: a rectifier must not hide it. */
INLINE vec rectified(vec v) { return (vec)((ivec)v & ~(v < (vec){0})); }
INLINE vec gated(vec v, vec gate) { return (vec)((ivec)v & (gate > (vec){0})); }
INLINE vec lesser(vec a, vec b) {
  ivec less = a < b;
  return (vec)(((ivec)a & less) | ((ivec)b & ~less));
}
INLINE float lane(vec v, int i) { return v[i]; }

#else

typedef float vec;
typedef uint32_t uvec;

INLINE vec load(const float *p) { return *p; }
INLINE void store(float *p, vec v) { *p = v; }
INLINE vec rectified(vec v) { return v < 0 ? 0 : v; }
INLINE vec gated(vec v, vec gate) { return gate > 0 ? v : 0; }
INLINE vec lesser(vec a, vec b) { return a < b ? a : b; }
INLINE float lane(vec v, int i) { return i == 0 ? v : 0; }

#endif

/* A sum over a row has one order on every set: number i is added to partial sum i mod PARTS, and
 * the partial sums are added by halves, 8 to 8, then 4 to 4, 2 to 2, 1 to 1. */
enum { PARTS = 16 };

INLINE float add_up(const float part[PARTS]) {
  float eight[8], four[4];
  EACH (i, 8) eight[i] = part[i] + part[i + 8];
  EACH (i, 4) four[i] = eight[i] + eight[i + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

#endif
