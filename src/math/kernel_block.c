/* The block product (lgv_block_product) from float multiply-adds.
 *
 * ref has the plain definition, which flushes denormal numbers itself: it is right on every
 * machine. Sets with vectors let the processor flush. An x86 one tests after rounding, as AMX does,
 * so its fused multiply-add has the bits of the definition. Without one (the set x86), a product
 * and a sum have them unless the product leaves the range of normal numbers, since it is exact
 * within it: 8 bits times 8 bits. The processor raises a flag for that, and the definition computes
 * the step again. ARM has fused multiply-adds, but tests before rounding: it makes 0 of a sum
 * between 2^-126 - 2^-151 and 2^-126, which rounds to 2^-126. It raises a flag whenever it does so,
 * and the definition decides there, too. */
#include "math/flush.h"
#include "math/fused.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if LGV_FUSES && !defined(__aarch64__)
#define VECTORS 1
#define DEFINITION 0
#elif LGV_LANES > 1 && (defined(__SSE2__) || defined(__aarch64__))
#define VECTORS 1
#define DEFINITION 1
#else
#define VECTORS 0
#define DEFINITION 1
#endif

enum { SIDE = 32, HALF = 16 }; /* of a block and of a tile of C; HALF is also the pairs of a step */

static inline int wanted_rows(const lgv_block_product *g) { return g->rows ? g->rows : SIDE; }
static inline int block_count(const lgv_block_product *g) { return g->blocks ? g->blocks : 1; }

/* What part p of a step multiplies for a block, and where it adds the product: high by high is
 * part 1. */
typedef struct part {
  const lgv_bf16 *a, *b;
  float *c;
} part;

static inline bool has_part(const lgv_block_product *g, int p) {
  return p == 1 || (p == 0 ? g->a_lo : g->b_lo) != 0;
}

static inline part find_part(const lgv_block_product *g, int64_t s, int p, int block) {
  return (part){g->a + g->a_at[s] + (p == 0 ? g->a_lo : 0),
                g->b + g->b_at[s] + (p == 2 ? g->b_lo : 0) + block * g->b_block,
                g->c + block * LGV_BLOCK};
}

static inline void clear(const lgv_block_product *g) {
  memset(g->c, 0, (size_t)block_count(g) * LGV_BLOCK * sizeof *g->c);
}

/* ---- The definition ---- */

#if DEFINITION

static float float_of(lgv_bf16 x) {
  uint32_t bits = (uint32_t)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float flushed(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }

/* Denormal numbers are coarser than 24 bits, so a sum just below 2^-126 may round up to it that
 * should not. Then 2^128 times the sum decides: the product and c, both below 2^-100, become normal
 * numbers without rounding. */
static float multiply_add(float a, float b, float c) {
  float sum = fmaf(a, b, c);
  if (fabsf(sum) != FLT_MIN) return flushed(sum);
  float product = (float)((double)a * (double)b * 0x1p128), term = (float)((double)c * 0x1p128);
  return fabsf(product + term) < 0x1p2f ? copysignf(0, sum) : sum;
}

static void add_tile(int rows, const lgv_bf16 *a, const lgv_bf16 *b, float *c) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < HALF; j++) {
      const lgv_bf16 *x = a + SIDE * i, *y = b + 2 * j;
      float even = 0, odd = 0, *to = c + HALF * i + j;
      for (int k = 0; k < HALF; k++, x += 2, y += SIDE) {
        even = multiply_add(flushed(float_of(x[0])), flushed(float_of(y[0])), even);
        odd = multiply_add(flushed(float_of(x[1])), flushed(float_of(y[1])), odd);
      }
      *to = flushed(flushed(*to) + flushed(even + odd));
    }
}

/* In the default mode. */
static void add_by_definition(const lgv_block_product *g, part p) {
  for (int t = 0; t < 4; t++) {
    int left = wanted_rows(g) - HALF * (t / 2);
    add_tile(left < HALF ? left : HALF, p.a + t / 2 * g->a_next, p.b + t % 2 * g->b_next,
             p.c + HALF * HALF * t);
  }
}

#endif

/* ---- Vectors ---- */

#if VECTORS

enum { VECS = 2, PANEL = VECS * LANES, WORDS = HALF / LANES };
static const uint64_t vector_mode = LGV_DEFAULT_MODE | LGV_FLUSH_BITS;

typedef uint32_t loose_words __attribute__((vector_size(4 * LGV_LANES), aligned(2), may_alias));

/* A step: A as floats, since its numbers are broadcast from memory. Those of B become floats in the
 * registers of the first strip, which leaves them for the others: it has stores to spare. */
typedef struct operands {
  _Alignas(64) float a[2][SIDE][HALF];        /* even columns of A, then odd ones */
  _Alignas(64) float b_floats[2][HALF][SIDE]; /* even rows of B, then odd ones */
  const lgv_bf16 *b;
  int64_t b_next;
  bool begins; /* C starts from 0 with this step */
} operands;

/* 16 pairs of numbers: the first of each to `even`, the second to `odd`. */
INLINE void widen(const lgv_bf16 *pairs, float *even, float *odd) {
  EACH (v, WORDS) {
    uvec words = *(const loose_words *)(pairs + 2 * v * LANES);
    store(even + v * LANES, (vec)(words << 16));
    store(odd + v * LANES, (vec)(words & 0xffff0000u));
  }
}

static void widen_a(int rows, const lgv_bf16 *a, int64_t next, operands *f) {
  for (int i = 0; i < rows; i++)
    widen(a + i / HALF * next + SIDE * (i % HALF), f->a[0][i], f->a[1][i]);
}

/* Numbers of one parity from a row of pairs of B, in columns from j on. */
INLINE vec load_b(const operands *f, int parity, int k, int j) {
  const lgv_bf16 *pairs = f->b + j / HALF * f->b_next + SIDE * k + 2 * (j % HALF);
  uvec words = *(const loose_words *)pairs;
  return (vec)(parity ? words & 0xffff0000u : words << 16);
}

/* Sums over k of one parity, for some rows and a panel of columns. */
INLINE void sum_products(int rows, bool first, operands *f, int parity, int i0, int j,
                         vec sum[][VECS]) {
  EACH (i, rows)
    EACH (v, VECS) sum[i][v] = (vec){0};
  for (int k = 0; k < HALF; k++) {
    vec w[VECS];
    float *floats = f->b_floats[parity][k] + j;
    EACH (v, VECS) w[v] = first ? load_b(f, parity, k, j + v * LANES) : load(floats + v * LANES);
    EACH (v, VECS)
      if (first) store(floats + v * LANES, w[v]);
    EACH (i, rows)
      EACH (v, VECS) sum[i][v] = fused(f->a[parity][i0 + i][k], w[v], sum[i][v]);
  }
}

/* Some rows of C and a panel of columns. */
INLINE void add_strip(int rows, bool first, operands *f, int i0, int j, float *c) {
  vec even[8][VECS], odd[8][VECS];
  sum_products(rows, first, f, 0, i0, j, even);
  sum_products(rows, first, f, 1, i0, j, odd);
  c += SIDE * (i0 - i0 % HALF) + HALF * (i0 % HALF) + HALF * (j - j % HALF) + j % HALF;
  EACH (i, rows)
    EACH (v, VECS) {
      float *to = c + HALF * i + v * LANES / HALF * HALF * HALF + v * LANES % HALF;
      store(to, (f->begins ? (vec){0} : load(to)) + (even[i][v] + odd[i][v]));
    }
}

/* Functions of their own: inlined, the compiler keeps all of A as vectors in memory. The sums of a
 * strip fit into the registers: 32 with AVX-512 and on ARM, 16 elsewhere. */
#if LGV_LANES == 16 || defined(__aarch64__)
#define LONG_STRIPS 1
#else
#define LONG_STRIPS 0
#endif
/* clang-format off */
#define STRIP(name, rows, first)                                                                   \
  __attribute__((noinline)) static void name(operands *f, int i, int j, float *c) {                \
    add_strip(rows, first, f, i, j, c);                                                            \
  }
/* clang-format on */
#if LONG_STRIPS
STRIP(first_8, 8, true)
STRIP(add_8, 8, false)
#else
STRIP(first_6, 6, true)
STRIP(add_6, 6, false)
STRIP(add_5, 5, false)
#endif

/* Strips of the wanted rows, each in one half. */
static void add_panels(int rows, operands *f, float *c) {
  for (int j = 0; j < SIDE; j += PANEL) {
#if LONG_STRIPS
    first_8(f, 0, j, c);
    for (int i = 8; i < rows; i += 8) add_8(f, i, j, c);
#else
    for (int i = 0; i < rows; i += HALF) {
      (i == 0 ? first_6 : add_6)(f, i, j, c);
      if (rows - i > 6) add_5(f, i + 6, j, c);
      if (rows - i > 11) add_5(f, i + 11, j, c);
    }
#endif
  }
}

#if DEFINITION

static void add_product(const lgv_block_product *g, part p, operands *f) {
  float before[LGV_BLOCK];
  memcpy(before, p.c, sizeof before);
  add_panels(wanted_rows(g), f, p.c);
  LGV_MEMORY_FENCE();
  if (!lgv__fp_left_range()) return;
  memcpy(p.c, before, sizeof before);
  lgv__mode_begin(LGV_DEFAULT_MODE);
  add_by_definition(g, p);
  LGV_MEMORY_FENCE();
  lgv__mode_begin(vector_mode); /* without flags */
}

#else

static void add_product(const lgv_block_product *g, part p, operands *f) {
  add_panels(wanted_rows(g), f, p.c);
}

#endif

#if !DEFINITION

/* One row of A and of C; a strip would compute many more. */
static void add_row(const lgv_bf16 *a, const lgv_bf16 *b, int64_t next, float *c) {
  vec even[2 * WORDS], odd[2 * WORDS];
  EACH (v, 2 * WORDS) even[v] = odd[v] = (vec){0};
  for (int k = 0; k < HALF; k++, a += 2, b += SIDE) {
    float pair[2];
    memcpy(pair, (uint32_t[2]){(uint32_t)a[0] << 16, (uint32_t)a[1] << 16}, sizeof pair);
    EACH (v, 2 * WORDS) {
      uvec words = *(const loose_words *)(b + v / WORDS * next + 2 * (v % WORDS) * LANES);
      even[v] = fused(pair[0], (vec)(words << 16), even[v]);
      odd[v] = fused(pair[1], (vec)(words & 0xffff0000u), odd[v]);
    }
  }
  EACH (v, 2 * WORDS) {
    float *to = c + v / WORDS * HALF * HALF + v % WORDS * LANES;
    store(to, load(to) + (even[v] + odd[v]));
  }
}

enum { FEW = 3 }; /* rows that are multiplied one by one */

static void add_rows(const lgv_block_product *g, int64_t s) {
  for (int n = 0; n < block_count(g); n++)
    for (int p = 0; p < 3; p++) {
      if (!has_part(g, p)) continue;
      part now = find_part(g, s, p, n);
      for (int i = 0; i < wanted_rows(g); i++)
        add_row(now.a + SIDE * i, now.b, g->b_next, now.c + HALF * i);
    }
}

#else

enum { FEW = 0 };

static void add_rows(const lgv_block_product *g, int64_t s) { (void)g, (void)s; }

#endif

/* A step with three parts widens each of its two operands of A once, for all blocks. */
static void add_step(const lgv_block_product *g, int64_t s, operands *f) {
  const lgv_bf16 *widened = NULL;
  for (int p = 0; p < 3; p++) {
    if (!has_part(g, p)) continue;
    for (int n = 0; n < block_count(g); n++) {
      part now = find_part(g, s, p, n);
      if (now.a != widened) widen_a(wanted_rows(g), now.a, g->a_next, f);
      widened = now.a;
      f->b = now.b;
      add_product(g, now, f);
    }
    f->begins = false;
  }
}

void LGV_KERNEL(lgv__block)(const lgv_block_product *g) {
  operands f;
  uint64_t mode = lgv__mode_begin(vector_mode);
  f.b_next = g->b_next;
  bool few = wanted_rows(g) <= FEW;
  f.begins = !g->add && !few && !DEFINITION;
  if (!g->add && (!f.begins || g->steps == 0)) clear(g);
  if (few) {
    for (int64_t s = 0; s < g->steps; s++) add_rows(g, s);
  } else {
    if (wanted_rows(g) < SIDE) memset(f.a, 0, sizeof f.a); /* strips may have rows beyond */
    for (int64_t s = 0; s < g->steps; s++) add_step(g, s, &f);
  }
  lgv__flush_end(mode);
}

#else

void LGV_KERNEL(lgv__block)(const lgv_block_product *g) {
  uint64_t mode = lgv__mode_begin(LGV_DEFAULT_MODE);
  if (!g->add) clear(g);
  for (int64_t s = 0; s < g->steps; s++)
    for (int p = 0; p < 3; p++)
      for (int n = 0; has_part(g, p) && n < block_count(g); n++)
        add_by_definition(g, find_part(g, s, p, n));
  lgv__flush_end(mode);
}

#endif
