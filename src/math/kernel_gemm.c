/* Matrix products for the sets with vectors, in the compiler's vector extensions. kernel_plain.c is
 * the plain definition.
 *
 * One micro-kernel: a tile of C, up to 6 or 8 rows by 2 vectors (or 8 rows by 1), stays in
 * registers during the loop over p; each step broadcasts one number of A per row and multiplies it
 * by one row of B. Rows of A and C are pointers, so that a window of an image serves as a row of a
 * matrix and no patch is ever copied. Around it, p is processed in blocks. A panel of B (as wide as
 * a tile) that would not stay in the first-level cache is copied to the stack once per block, which
 * also pads the last panel if the width of B is not a multiple of the vectors'.
 *
 * Rows are cut into tiles of nearly equal height: five rows cost five sixths of six, but a single
 * leftover row costs as much as four, because of the latency of the multiply-add.
 *
 * Invariant (see lgv_product): every sum runs over p in order, for every shape. */
#include "math/fused.h"

#if LGV_LANES > 1

/* AVX-512 and NEON have 32 vector registers, the others 16. */
#if LGV_LANES == 16 || defined(__aarch64__)
#define MANY_REGISTERS 1
#else
#define MANY_REGISTERS 0
#endif

enum {
  WIDE = 2 * LANES,                   /* width of a panel, and of a wide tile */
  WIDE_ROWS = MANY_REGISTERS ? 8 : 6, /* of a wide tile: its accumulators fill the registers */
  NARROW_ROWS = 8,                    /* of a tile of one vector */
  MOST_ROWS = 8,
  BLOCK_K = 4096 / WIDE, /* a panel's block takes 16 kB of the first-level cache */
  BLOCK_M = 256,         /* rows that use a panel before the next one */
  DIRECT_BYTES = 16384,  /* a panel whose rows span less is used in place */
};

typedef enum start { FROM_ZERO, FROM_C, FROM_BIAS } start;
typedef enum end { AS_IS, RECTIFIED, GATED } end;

/* A panel: the common part of its tiles, for one block of p. */
typedef struct panel {
  int64_t k;
  const float *a;
  int64_t a_row, a_col;
  const int32_t *a_rows, *a_cols;
  const float *b;
  int64_t b_row;
  float *c;
  const float *gate;
  int64_t c_row;
  const int32_t *c_rows;
  const float *bias;
  start start;
  end end;
} panel;

/* Which operand is addressed by a list of offsets. */
typedef enum reach { STRIDES, LISTED_A, LISTED_C } reach;

INLINE void begin(int rows, int vecs, const panel *p, float *const c[MOST_ROWS],
                  vec acc[MOST_ROWS][2]) {
  if (p->start == FROM_ZERO) {
    EACH (i, rows)
      EACH (v, vecs) acc[i][v] = (vec){0};
  } else if (p->start == FROM_BIAS) {
    EACH (v, vecs) {
      vec bias = load(p->bias + v * LANES);
      EACH (i, rows) acc[i][v] = bias;
    }
  } else {
    EACH (i, rows)
      EACH (v, vecs) acc[i][v] = load(c[i] + v * LANES);
  }
}

INLINE void finish(int rows, int vecs, const panel *p, float *const c[MOST_ROWS],
                   vec acc[MOST_ROWS][2]) {
  if (p->end == RECTIFIED) {
    EACH (i, rows)
      EACH (v, vecs) acc[i][v] = rectified(acc[i][v]);
  } else if (p->end == GATED) {
    const float *gate = p->gate, *base = p->c;
    EACH (i, rows)
      EACH (v, vecs) acc[i][v] = gated(acc[i][v], load(gate + (c[i] - base) + v * LANES));
  }
  EACH (i, rows)
    EACH (v, vecs) store(c[i] + v * LANES, acc[i][v]);
}

/* Hides the origin of a pointer from the compiler, which would otherwise derive rows from one
 * another and run out of registers. */
INLINE const float *opaque(const float *p) {
  __asm__("" : "+r"(p));
  return p;
}

INLINE void find_c(int rows, reach reach, const panel *p, int64_t i0, float *c[MOST_ROWS]) {
  float *base = p->c + (reach == LISTED_C ? 0 : i0 * p->c_row);
  EACH (i, rows) c[i] = base + (reach == LISTED_C ? p->c_rows[i0 + i] : i * p->c_row);
}

INLINE void multiply(int rows, int vecs, reach reach, const panel *p, int64_t i0) {
  vec acc[MOST_ROWS][2];
  const float *a[MOST_ROWS], *base = p->a + (reach == LISTED_A ? 0 : i0 * p->a_row);
  float *c[MOST_ROWS];
  EACH (i, rows) a[i] = opaque(base + (reach == LISTED_A ? p->a_rows[i0 + i] : i * p->a_row));
  find_c(rows, reach, p, i0, c);
  EACH (i, rows) __builtin_prefetch(reach == LISTED_C ? c[i] : c[i] + rows * p->c_row, 1);
  begin(rows, vecs, p, c, acc);
  const float *b = p->b;
  const int32_t *a_cols = p->a_cols;
  const int64_t a_col = p->a_col, b_row = p->b_row;
  int64_t next = 0;
  for (int64_t q = p->k; q > 0; q--) {
    int64_t col = reach == LISTED_A ? *a_cols++ : next;
    vec w[2];
    EACH (v, vecs) w[v] = load(b + v * LANES);
    EACH (i, rows) {
      /* cppcheck-suppress uninitvar; an EACH above has set them */
      float x = a[i][col];
      EACH (v, vecs) acc[i][v] = fused(x, w[v], acc[i][v]);
    }
    next += a_col;
    b += b_row;
    __asm__("" : "+r"(next)); /* else every row of A has a pointer of its own to move */
  }
  __asm__("" : "+r"(i0)); /* recomputes the rows of C instead of keeping them in registers */
  find_c(rows, reach, p, i0, c);
  finish(rows, vecs, p, c, acc);
}

/* clang-format off */
#define TILE(rows, vecs)                                                                           \
  static void tile_##rows##x##vecs(const panel *p, int64_t i0) {                                   \
    if (p->a_cols)                                                                                 \
      multiply(rows, vecs, LISTED_A, p, i0);                                                       \
    else if (p->c_rows)                                                                            \
      multiply(rows, vecs, LISTED_C, p, i0);                                                       \
    else                                                                                           \
      multiply(rows, vecs, STRIDES, p, i0);                                                        \
  }
TILE(1, 1) TILE(2, 1) TILE(3, 1) TILE(4, 1) TILE(5, 1) TILE(6, 1) TILE(7, 1) TILE(8, 1)
TILE(1, 2) TILE(2, 2) TILE(3, 2) TILE(4, 2) TILE(5, 2) TILE(6, 2)
#if MANY_REGISTERS
TILE(7, 2) TILE(8, 2)
#else
#define tile_7x2 NULL /* taller than WIDE_ROWS */
#define tile_8x2 NULL
#endif
    /* clang-format on */

    typedef void (*tile_fn)(const panel *p, int64_t i0);
static const tile_fn tiles[2][MOST_ROWS + 1] = {
    {NULL, tile_1x1, tile_2x1, tile_3x1, tile_4x1, tile_5x1, tile_6x1, tile_7x1, tile_8x1},
    {NULL, tile_1x2, tile_2x2, tile_3x2, tile_4x2, tile_5x2, tile_6x2, tile_7x2, tile_8x2},
};

/* Rows [first, last) of C in one panel. `ahead`: the next panel of B, to be prefetched; or NULL. */
static void sweep_rows(const panel *p, int64_t first, int64_t last, int vecs, const float *ahead,
                       int64_t ahead_row) {
  int64_t tallest = vecs == 2 ? WIDE_ROWS : NARROW_ROWS, count = last - first;
  int64_t n_tiles = (count + tallest - 1) / tallest, height = count / n_tiles;
  int64_t taller = count - height * n_tiles; /* number of tiles with one row more */
  int64_t share = p->k / n_tiles + 1, warmed = 0;
  tile_fn tall = tiles[vecs - 1][height + 1 <= tallest ? height + 1 : height],
          low = tiles[vecs - 1][height];
  for (int64_t i = first, n = 0; n < n_tiles; n++) {
    for (int64_t r = 0; ahead && r < share && warmed < p->k; r++, warmed++)
      __builtin_prefetch(ahead + warmed * ahead_row, 0, 2);
    if (n < taller) {
      tall(p, i);
      i += height + 1;
    } else {
      low(p, i);
      i += height;
    }
  }
}

/* Copies a tile that was computed beside C to its place. */
static void copy_edge(const panel *p, int64_t i0, int64_t rows, int64_t cols, const float *beside) {
  if (rows == NARROW_ROWS && !p->c_rows && p->end != GATED) { /* the usual case, without branches */
    float *c = p->c + i0 * p->c_row;
    for (int64_t j = 0; j < cols; j++)
      EACH (r, NARROW_ROWS) c[r * p->c_row + j] = beside[r * WIDE + j];
    return;
  }
  for (int64_t r = 0; r < rows; r++) {
    int64_t at = p->c_rows ? p->c_rows[i0 + r] : (i0 + r) * p->c_row;
    for (int64_t j = 0; j < cols; j++, at++)
      p->c[at] = p->end != GATED || p->gate[at] > 0 ? beside[r * WIDE + j] : 0;
  }
}

/* Rows [first, last) of a panel that is narrower than the vectors: tiles are computed beside C. */
static void sweep_edge(const panel *p, int64_t first, int64_t last, int64_t cols) {
  float beside[MOST_ROWS * WIDE] __attribute__((aligned(64)));
  int vecs = cols > LANES ? 2 : 1;
  int64_t tallest = vecs == 2 ? WIDE_ROWS : NARROW_ROWS;
  panel inner = *p;
  inner.c = beside;
  inner.c_row = WIDE;
  inner.c_rows = NULL;
  inner.end = p->end == RECTIFIED ? RECTIFIED : AS_IS;
  for (int64_t i = first; i < last; i += tallest) {
    int64_t rows = last - i < tallest ? last - i : tallest;
    inner.a = p->a + (p->a_rows ? 0 : i * p->a_row);
    inner.a_rows = p->a_rows ? p->a_rows + i : NULL;
    for (int64_t r = 0; r < rows && p->start == FROM_C; r++) {
      const float *c = p->c + (p->c_rows ? p->c_rows[i + r] : (i + r) * p->c_row);
      for (int64_t j = 0; j < WIDE; j++) beside[r * WIDE + j] = j < cols ? c[j] : 0;
    }
    tiles[vecs - 1][rows](&inner, 0);
    copy_edge(p, i, rows, cols, beside);
  }
}

/* Copies a panel of B in whole vectors. Products with numbers beside its columns are never stored,
 * so these may be any numbers inside B. */
static void pack(const float *b, int64_t b_row, int64_t k, int64_t cols, float *packed) {
  int vecs = cols > LANES ? 2 : 1;
  int64_t q = 0, end = (k - 1) * b_row + cols;
  for (; q < k && q * b_row + vecs * LANES <= end; q++, packed += WIDE) {
    store(packed, load(b + q * b_row));
    if (vecs == 2) store(packed + LANES, load(b + q * b_row + LANES));
  }
  for (; q < k; q++, packed += WIDE)
    for (int64_t j = 0; j < vecs * LANES; j++) packed[j] = j < cols ? b[q * b_row + j] : 0;
}

static start start_of(const lgv_product *g, bool first_block) {
  if (!first_block || g->add) return FROM_C;
  return g->bias ? FROM_BIAS : FROM_ZERO;
}

static end end_of(const lgv_product *g, bool last_block) {
  if (!last_block) return AS_IS;
  return g->rectify ? RECTIFIED : g->gate ? GATED : AS_IS;
}

/* Rows [first, last) of C += A B for p in [p0, p0 + k). */
static void sweep_panels(const lgv_product *g, int64_t first, int64_t last, int64_t p0, int64_t k) {
  float packed[BLOCK_K * WIDE] __attribute__((aligned(64))), bias[WIDE];
  const float *b = g->b + p0 * g->b_row;
  bool far = k * g->b_row * (int64_t)sizeof(float) > DIRECT_BYTES && last - first > MOST_ROWS;
  panel p = {.k = k,
             .a = g->a_cols ? g->a : g->a + p0 * g->a_col,
             .a_row = g->a_row,
             .a_col = g->a_col,
             .a_rows = g->a_rows,
             .a_cols = g->a_cols ? g->a_cols + p0 : NULL,
             .c_row = g->c_row,
             .c_rows = g->c_rows,
             .start = start_of(g, p0 == 0),
             .end = end_of(g, p0 + k == g->k)};
  for (int64_t j = 0; j < g->n; j += WIDE) {
    int64_t cols = g->n - j < WIDE ? g->n - j : WIDE;
    bool padded = cols != WIDE && cols != LANES;
    p.c = g->c + j;
    p.gate = g->gate ? g->gate + j : NULL;
    p.bias = g->bias ? g->bias + j : NULL;
    p.b = b + j;
    p.b_row = g->b_row;
    if (far || padded) {
      pack(b + j, g->b_row, k, cols, packed);
      p.b = packed;
      p.b_row = WIDE;
    }
    if (padded) {
      for (int64_t q = 0; q < WIDE && p.bias; q++) bias[q] = q < cols ? p.bias[q] : 0;
      p.bias = bias;
      sweep_edge(&p, first, last, cols);
    } else {
      const float *ahead = far && j + WIDE < g->n ? b + j + WIDE : NULL;
      sweep_rows(&p, first, last, cols > LANES ? 2 : 1, ahead, g->b_row);
    }
  }
}

void LGV_KERNEL(lgv__product)(const lgv_product *g) {
  int64_t k_blocks = g->k > 0 ? (g->k + BLOCK_K - 1) / BLOCK_K : 1;
  int64_t m_blocks = g->a_rows ? 1 : (g->m + BLOCK_M - 1) / BLOCK_M;
  if (g->m <= 0 || g->n <= 0) return;
  if (g->m == 1 && g->n >= LANES) {
    LGV_KERNEL(lgv__product_row)(g);
    return;
  }
  for (int64_t kb = 0; kb < k_blocks; kb++) {
    int64_t p0 = g->k * kb / k_blocks, p1 = g->k * (kb + 1) / k_blocks;
    for (int64_t mb = 0; mb < m_blocks; mb++)
      sweep_panels(g, g->m * mb / m_blocks, g->m * (mb + 1) / m_blocks, p0, p1 - p0);
  }
}

#endif
