/* The block product (lgv_block_product) from float multiply-adds.
 *
 * On sets without a fused multiply-add in vectors, ref included, it is the plain definition. It
 * flushes denormal numbers itself, so that it is right on every machine.
 *
 * The vector sets let the processor flush: an x86 one tests after rounding, as AMX does. ARM tests
 * before rounding. It would turn a sum between 2^-126 - 2^-151 and 2^-126 into 0, which rounds to
 * 2^-126 here, so a vector form for ARM must compute a step again by the plain definition if the
 * flag of underflow (FPSR.UFC) was raised in it. The sums even + odd and C + (even + odd) have no
 * such case: a sum of two floats that is below 2^-126 is exact. */
#include "math/flush.h"
#include "math/vector.h"

enum { SIDE = 32, HALF = 16 }; /* of a block and of a tile of C; HALF is also the pairs of a step */

typedef struct parts {
  const lgv_bf16 *a, *b;
} parts;

/* The tiles that part p of a step multiplies: high by high is part 1. Returns false if the step has
 * no such part. */
static inline bool find_parts(const lgv_block_product *g, int64_t s, int p, parts *out) {
  if ((p == 0 && !g->a_lo) || (p == 2 && !g->b_lo)) return false;
  out->a = g->a + g->a_at[s] + (p == 0 ? g->a_lo : 0);
  out->b = g->b + g->b_at[s] + (p == 2 ? g->b_lo : 0);
  return true;
}

static void clear(float *c) {
  for (int i = 0; i < SIDE * SIDE; i++) c[i] = 0;
}

#if defined(__FMA__) && LGV_LANES > 1

#include <immintrin.h>

enum { VECS = 2, PANEL = VECS * LANES, WORDS = HALF / LANES };

typedef uint32_t loose_words __attribute__((vector_size(4 * LGV_LANES), aligned(2), may_alias));

/* The numbers of a step as floats. */
typedef struct floats {
  _Alignas(64) float a[2][SIDE][HALF]; /* even columns of A, then odd ones */
  _Alignas(64) float b[2][HALF][SIDE]; /* even rows of B, then odd ones */
} floats;

/* The compiler would fuse only when it optimizes. */
INLINE vec fused(float a, vec b, vec c) {
#if LGV_LANES == 16
  return (vec)_mm512_fmadd_ps(_mm512_set1_ps(a), (__m512)b, (__m512)c);
#else
  return (vec)_mm256_fmadd_ps(_mm256_set1_ps(a), (__m256)b, (__m256)c);
#endif
}

/* 16 pairs of numbers: the first of each to `even`, the second to `odd`. */
INLINE void widen(const lgv_bf16 *pairs, float *even, float *odd) {
  EACH (v, WORDS) {
    uvec words = *(const loose_words *)(pairs + 2 * v * LANES);
    store(even + v * LANES, (vec)(words << 16));
    store(odd + v * LANES, (vec)(words & 0xffff0000u));
  }
}

static void widen_a(const lgv_bf16 *a, int64_t next, floats *f) {
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < HALF; i++)
      widen(a + t * next + 2 * HALF * i, f->a[0][HALF * t + i], f->a[1][HALF * t + i]);
}

static void widen_b(const lgv_bf16 *b, int64_t next, floats *f) {
  for (int t = 0; t < 2; t++)
    for (int k = 0; k < HALF; k++)
      widen(b + t * next + 2 * HALF * k, &f->b[0][k][HALF * t], &f->b[1][k][HALF * t]);
}

/* Sums over k of one parity, for some rows and a panel of columns. */
INLINE void sum_products(int rows, const float (*a)[HALF], const float *b, vec sum[][VECS]) {
  EACH (i, rows)
    EACH (v, VECS) sum[i][v] = (vec){0};
  for (int k = 0; k < HALF; k++, b += SIDE) {
    vec w[VECS];
    EACH (v, VECS) w[v] = load(b + v * LANES);
    EACH (i, rows)
      EACH (v, VECS) sum[i][v] = fused(a[i][k], w[v], sum[i][v]);
  }
}

/* Some rows of C and a panel of columns. */
INLINE void add_strip(int rows, const floats *f, int i0, int j, float *c) {
  vec even[8][VECS], odd[8][VECS];
  sum_products(rows, f->a[0] + i0, f->b[0][0] + j, even);
  sum_products(rows, f->a[1] + i0, f->b[1][0] + j, odd);
  EACH (i, rows)
    EACH (v, VECS) {
      float *to = c + HALF * i + v * LANES / HALF * HALF * HALF + v * LANES % HALF;
      store(to, load(to) + (even[i][v] + odd[i][v]));
    }
}

/* Functions of their own: the compiler would otherwise keep all of A in vectors, in memory. The
 * accumulators of a strip fit into the registers. */
#define STRIP(rows)                                                                                \
  __attribute__((noinline)) static void add_strip_##rows(const floats *f, int i, int j,            \
                                                         float *c) {                               \
    add_strip(rows, f, i, j, c);                                                                   \
  }
#if LGV_LANES == 16
STRIP(8)
#else
STRIP(5)
STRIP(6)
#endif

static void add_products(const floats *f, float *c) {
  for (int i = 0; i < SIDE; i += HALF)
    for (int j = 0; j < SIDE; j += PANEL) {
      float *to = c + SIDE * i + HALF * j;
#if LGV_LANES == 16
      add_strip_8(f, i, j, to);
      add_strip_8(f, i + 8, j, to + HALF * 8);
#else
      add_strip_6(f, i, j, to);
      add_strip_5(f, i + 6, j, to + HALF * 6);
      add_strip_5(f, i + 11, j, to + HALF * 11);
#endif
    }
}

void LGV_KERNEL(lgv__block)(const lgv_block_product *g) {
  floats f;
  uint64_t mode = lgv__mode_begin(LGV_DEFAULT_MODE | LGV_FLUSH_BITS);
  if (!g->add) clear(g->c);
  for (int64_t s = 0; s < g->steps; s++) {
    parts last = {NULL, NULL}, now;
    for (int p = 0; p < 3; p++) {
      if (!find_parts(g, s, p, &now)) continue;
      if (now.a != last.a) widen_a(now.a, g->a_next, &f);
      if (now.b != last.b) widen_b(now.b, g->b_next, &f);
      add_products(&f, g->c);
      last = now;
    }
  }
  lgv__flush_end(mode);
}

#else

#include <float.h>
#include <math.h>

static float float_of(lgv_bf16 x) {
  union {
    uint32_t bits;
    float value;
  } u = {.bits = (uint32_t)x << 16};
  return u.value;
}

static float flushed(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }

/* The sum is right without a bound of the exponent if it is not 2^-126: denormal numbers are
 * coarser than 24 bits, so a sum just below may round up to it. Then the factor 2^128 decides: the
 * product and c, which are below 2^-100, become normal numbers without rounding. */
static float fused(float a, float b, float c) {
  float sum = fmaf(a, b, c);
  if (fabsf(sum) != FLT_MIN) return flushed(sum);
  float product = (float)((double)a * (double)b * 0x1p128), term = (float)((double)c * 0x1p128);
  return fabsf(product + term) < 0x1p2f ? copysignf(0, sum) : sum;
}

/* C of one tile += A B for 16 rows of A, 16 pairs of rows of B. */
static void add_products(const lgv_bf16 *a, const lgv_bf16 *b, float *c) {
  for (int i = 0; i < HALF; i++)
    for (int j = 0; j < HALF; j++) {
      const lgv_bf16 *x = a + SIDE * i, *y = b + 2 * j;
      float even = 0, odd = 0, *to = c + HALF * i + j;
      for (int k = 0; k < HALF; k++) {
        even = fused(flushed(float_of(x[2 * k])), flushed(float_of(y[SIDE * k])), even);
        odd = fused(flushed(float_of(x[2 * k + 1])), flushed(float_of(y[SIDE * k + 1])), odd);
      }
      *to = flushed(flushed(*to) + flushed(even + odd));
    }
}

void LGV_KERNEL(lgv__block)(const lgv_block_product *g) {
  parts now;
  uint64_t mode = lgv__mode_begin(LGV_DEFAULT_MODE);
  if (!g->add) clear(g->c);
  for (int64_t s = 0; s < g->steps; s++)
    for (int p = 0; p < 3; p++) {
      if (!find_parts(g, s, p, &now)) continue;
      for (int t = 0; t < 4; t++)
        add_products(now.a + t / 2 * g->a_next, now.b + t % 2 * g->b_next, g->c + HALF * HALF * t);
    }
  lgv__flush_end(mode);
}

#endif
