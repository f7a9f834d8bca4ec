/* Random block products, and their definition computed in double: the product of two numbers of
 * bf16 is exact there, and a sum rounded to odd may be rounded once more without error. */
#ifndef LGV_TESTS_BLOCK_HELPERS_H
#define LGV_TESTS_BLOCK_HELPERS_H

#include "math/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lgv_rng rng;

static inline float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint32_t to_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline bool same_bits(float x, float y) {
  return to_bits(x) == to_bits(y) || (isnan(x) && isnan(y));
}
static inline bool same_floats(const float *x, const float *y, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (!same_bits(x[i], y[i])) return false;
  return true;
}

/* ---- The definition ---- */

static inline float without_denormal(float x) {
  return to_bits(x) & 0x7f800000 ? x : from_bits(to_bits(x) & 0x80000000);
}
static inline float value_of(lgv_bf16 x) { return without_denormal(from_bits((uint32_t)x << 16)); }

/* p + c, rounded to odd: if it is inexact, its last bit is 1. */
static inline double add_to_odd(double p, double c) {
  double sum = p + c;
  if (!isfinite(sum)) return sum;
  double part = sum - p, error = (p - (sum - part)) + (c - part);
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
  memcpy(&sum, &bits, sizeof bits);
  return sum;
}

/* a b + c, rounded to nearest; 0 if that is below 2^-126 with an unbounded exponent. */
static inline float exact_fma(float a, float b, float c) {
  double sum = add_to_odd((double)a * (double)b, (double)c);
  if (sum != 0 && fabs(sum) < 0x1p-126 && (float)(fabs(sum) * 0x1p100) < 0x1p-26f)
    return sum < 0 ? -0.0f : 0.0f;
  return (float)sum;
}

/* C (16 x 16) += A B for one tile of each. */
static inline void add_tile(float *c, const lgv_bf16 *a, const lgv_bf16 *b) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) {
      float sum[2] = {0, 0};
      for (int k = 0; k < 32; k++)
        sum[k % 2] =
            exact_fma(value_of(a[32 * i + k]), value_of(b[k / 2 * 32 + 2 * j + k % 2]), sum[k % 2]);
      float *to = c + 16 * i + j;
      *to = exact_fma(1, without_denormal(*to), exact_fma(1, sum[0], sum[1]));
    }
}

static inline void add_block(float *c, const lgv_block_product *g, const lgv_bf16 *a,
                             const lgv_bf16 *b) {
  for (int t = 0; t < 4; t++) add_tile(c + 256 * t, a + t / 2 * g->a_next, b + t % 2 * g->b_next);
}

enum { BLOCKS = 2, C_SIZE = BLOCKS * LGV_BLOCK }; /* of the blocks of make_block */

/* The result that g defines, from the current values of C. */
static inline void define_block(const lgv_block_product *g, float *out) {
  for (int i = 0; i < C_SIZE; i++) out[i] = g->add ? g->c[i] : 0;
  for (int n = 0; n < BLOCKS; n++, out += LGV_BLOCK)
    for (int64_t s = 0; s < g->steps; s++) {
      const lgv_bf16 *a = g->a + g->a_at[s], *b = g->b + g->b_at[s] + n * g->b_block;
      if (g->a_lo) add_block(out, g, a + g->a_lo, b);
      add_block(out, g, a, b);
      if (g->b_lo) add_block(out, g, a, b + g->b_lo);
    }
}

/* ---- Random blocks ---- */

typedef enum number_class {
  NORMAL_NUMBERS,
  ANY_BITS, /* infinities, NaN and denormal numbers among them */
  TINY_PRODUCTS,
  SMALLEST_NORMAL, /* products around it */
  HUGE_PRODUCTS,   /* around the largest number */
  DENORMAL_NUMBERS,
  WIDE_EXPONENTS,
  CANCELLATION, /* few different numbers: sums are often 0 */
  ZEROS,        /* of both signs */
  NUMBER_CLASSES
} number_class;

/* The exponents of a class: the first, and how many. */
static const struct {
  int64_t first, count, c_first, c_count;
} exponents[NUMBER_CLASSES] = {[TINY_PRODUCTS] = {57, 12, 0, 4},
                               [SMALLEST_NORMAL] = {63, 2, 0, 3},
                               [HUGE_PRODUCTS] = {186, 8, 245, 9},
                               [DENORMAL_NUMBERS] = {0, 3, 0, 3},
                               [WIDE_EXPONENTS] = {100, 55, 100, 55}};

static inline uint32_t random_bits(void) { return (uint32_t)(lgv_rng_bits(&rng) >> 32); }

static inline float random_float(number_class class, bool of_c) {
  uint32_t bits = random_bits();
  if (class == NORMAL_NUMBERS) return (float)lgv_rng_normal(&rng);
  if (class == ANY_BITS) return from_bits(bits);
  if (class == ZEROS) return bits % 3 ? from_bits(bits & 0x80000000) : 1;
  if (class == CANCELLATION) return (bits & 1 ? 1.0f : -1.0f) * (bits & 2 ? 1.5f : 0.75f);
  int64_t first = of_c ? exponents[class].c_first : exponents[class].first;
  int64_t count = of_c ? exponents[class].c_count : exponents[class].count;
  return from_bits((bits & 0x807fffff) | (uint32_t)(first + lgv_rng_below(&rng, count)) << 23);
}

/* Memory of exactly the right size, so that a sanitizer finds every overrun. */
static inline lgv_bf16 *random_tiles(int64_t tiles, number_class class) {
  lgv_bf16 *x = aligned_alloc(64, (size_t)(tiles * LGV_TILE) * sizeof *x);
  for (int64_t i = 0; i < tiles * LGV_TILE; i++)
    x[i] = (lgv_bf16)(to_bits(random_float(class, false)) >> 16);
  return x;
}

/* One of the tiles [0, count), as an offset. */
static inline int32_t random_tile(int64_t count) {
  return (int32_t)(lgv_rng_below(&rng, count) * LGV_TILE);
}

typedef struct random_block {
  lgv_block_product g;
  lgv_bf16 *a, *b;
  int32_t *a_at, *b_at;
  float *c, *before;
} random_block;

static inline random_block make_block(int64_t steps, number_class class, bool a_lo, bool b_lo,
                                      bool add) {
  enum { A_TILES = 5, A_NEXT = 2, B_TILES = 4, B_NEXT = 1, B_BLOCK = 3 };
  random_block r = {.a = random_tiles((a_lo ? 2 : 1) * (A_TILES + A_NEXT), class),
                    .b = random_tiles((b_lo ? 2 : 1) * (B_TILES + B_NEXT + B_BLOCK), class),
                    .a_at = malloc((size_t)(steps ? steps : 1) * sizeof *r.a_at),
                    .b_at = malloc((size_t)(steps ? steps : 1) * sizeof *r.b_at),
                    .c = aligned_alloc(64, C_SIZE * sizeof *r.c),
                    .before = aligned_alloc(64, C_SIZE * sizeof *r.c)};
  for (int64_t s = 0; s < steps; s++) {
    r.a_at[s] = random_tile(A_TILES);
    r.b_at[s] = random_tile(B_TILES);
  }
  for (int i = 0; i < C_SIZE; i++) r.c[i] = r.before[i] = add ? random_float(class, true) : NAN;
  r.g = (lgv_block_product){.steps = steps,
                            .a = r.a,
                            .b = r.b,
                            .a_at = r.a_at,
                            .b_at = r.b_at,
                            .a_next = A_NEXT * LGV_TILE,
                            .b_next = B_NEXT * LGV_TILE,
                            .a_lo = a_lo ? (A_TILES + A_NEXT) * LGV_TILE : 0,
                            .b_lo = b_lo ? (B_TILES + B_NEXT + B_BLOCK) * LGV_TILE : 0,
                            .c = r.c,
                            .add = add,
                            .blocks = BLOCKS,
                            .b_block = B_BLOCK * LGV_TILE};
  return r;
}

static inline void reset_c(random_block *r) { memcpy(r->c, r->before, C_SIZE * sizeof *r->c); }

static inline void free_block(random_block *r) {
  void *all[] = {r->a, r->b, r->a_at, r->b_at, r->c, r->before};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

typedef void block_check(random_block *r, const float *defined);

/* Calls check for every class, split, start and number of steps, with the defined result. */
static inline void for_random_blocks(block_check *check) {
  static const int64_t steps[] = {0, 1, 2, 5};
  float defined[C_SIZE];
  for (int i = 0; i < NUMBER_CLASSES * 4 * 2 * 4; i++) {
    lgv_rng_seed(&rng, (uint64_t)i, "test.block");
    random_block r = make_block(steps[i % 4], i / 32, i & 4, i & 8, i & 16);
    define_block(&r.g, defined);
    check(&r, defined);
    free_block(&r);
  }
}

#endif
