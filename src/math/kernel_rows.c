/* Kernels that pass once over rows of numbers: sums, transposes, conversions, rotations, skipped
 * steps of Adam.
 *
 * Columns are processed in strips of four vectors, which stay in registers during the loop over
 * the rows. */
#include "math/flush.h"
#include "math/vector.h"

#include <math.h>

enum { STRIP = 4 * LANES };

void LGV_KERNEL(lgv__column_sums)(int64_t rows, int64_t cols, const float *x, float *sums) {
  int64_t j = 0;
  for (; j + STRIP <= cols; j += STRIP) {
    vec sum[4];
    EACH (v, 4) sum[v] = (vec){0};
    for (int64_t i = 0; i < rows; i++)
      EACH (v, 4) sum[v] += load(x + i * cols + j + v * LANES);
    EACH (v, 4) store(sums + j + v * LANES, sum[v]);
  }
  for (; j < cols; j++) {
    float sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += x[i * cols + j];
    sums[j] = sum;
  }
}

/* ---- Products of rows ---- */

enum { VECS = PARTS / LANES };

/* out (columns) = the products of one row with several others. */
INLINE void dot_row(int columns, int64_t cols, const float *x, const float *y, float *out) {
  vec sum[4][VECS];
  int64_t j = 0;
  EACH (c, columns)
    EACH (v, VECS) sum[c][v] = (vec){0};
  for (; j + PARTS <= cols; j += PARTS)
    EACH (v, VECS) {
      vec numbers = load(x + j + v * LANES);
      EACH (c, columns) sum[c][v] += numbers * load(y + c * cols + j + v * LANES);
    }
  EACH (c, columns) {
    float part[PARTS];
    EACH (v, VECS) store(part + v * LANES, sum[c][v]);
    for (int64_t i = j; i < cols; i++) part[i - j] += x[i] * y[c * cols + i];
    out[c] = add_up(part);
  }
}

void LGV_KERNEL(lgv__row_dots)(int64_t rows, int64_t cols, const float *x, int64_t columns,
                               const float *y, float *out) {
  enum { AHEAD = 16 }; /* rows: x is read once, from memory that is slower than the products */
  for (int64_t i = 0; i < rows; i++, x += cols) {
    for (int64_t j = 0; i + AHEAD < rows && j < cols; j += 64 / (int64_t)sizeof *x)
      __builtin_prefetch(x + AHEAD * cols + j);
    for (int64_t c = 0; c < columns;) {
      int64_t left = columns - c;
      const float *from = y + c * cols;
      float *to = out + i * columns + c;
      if (left >= 4)
        dot_row(4, cols, x, from, to), c += 4;
      else if (left == 3)
        dot_row(3, cols, x, from, to), c += 3;
      else if (left == 2)
        dot_row(2, cols, x, from, to), c += 2;
      else
        dot_row(1, cols, x, from, to), c++;
    }
  }
}

/* ---- Transposes in blocks of 4 x 4, which every instruction set shuffles well ---- */

typedef float quad __attribute__((vector_size(16)));
typedef int32_t iquad __attribute__((vector_size(16)));
typedef float loose_quad __attribute__((vector_size(16), aligned(4), may_alias));

#ifdef __clang__
#define SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
#define SHUFFLE(x, y, a, b, c, d) __builtin_shuffle(x, y, (iquad){a, b, c, d})
#endif

INLINE void transpose_block(const float *from, int64_t from_row, const float *gate, float *to,
                            int64_t to_row) {
  quad r[4], half[4];
  EACH (i, 4) r[i] = *(const loose_quad *)(from + i * from_row);
  half[0] = SHUFFLE(r[0], r[1], 0, 4, 1, 5);
  half[1] = SHUFFLE(r[0], r[1], 2, 6, 3, 7);
  half[2] = SHUFFLE(r[2], r[3], 0, 4, 1, 5);
  half[3] = SHUFFLE(r[2], r[3], 2, 6, 3, 7);
  r[0] = SHUFFLE(half[0], half[2], 0, 1, 4, 5);
  r[1] = SHUFFLE(half[0], half[2], 2, 3, 6, 7);
  r[2] = SHUFFLE(half[1], half[3], 0, 1, 4, 5);
  r[3] = SHUFFLE(half[1], half[3], 2, 3, 6, 7);
  EACH (i, 4) {
    if (gate) r[i] = (quad)((iquad)r[i] & (*(const loose_quad *)(gate + i * to_row) > (quad){0}));
    *(loose_quad *)(to + i * to_row) = r[i];
  }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Works in squares of SQUARE x SQUARE, so that every cache line is used completely. */
void LGV_KERNEL(lgv__transpose)(int64_t rows, int64_t cols, const float *from, int64_t from_row,
                                const float *gate, float *to, int64_t to_row) {
  enum { SQUARE = 16 };
  int64_t whole_rows = rows / 4 * 4, whole_cols = cols / 4 * 4;
  for (int64_t i0 = 0; i0 < whole_rows; i0 += SQUARE)
    for (int64_t j0 = 0; j0 < whole_cols; j0 += SQUARE)
      for (int64_t j = j0; j < least(j0 + SQUARE, whole_cols); j += 4)
        for (int64_t i = i0; i < least(i0 + SQUARE, whole_rows); i += 4)
          transpose_block(from + i * from_row + j, from_row, gate ? gate + j * to_row + i : NULL,
                          to + j * to_row + i, to_row);
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = j < whole_cols ? whole_rows : 0; i < rows; i++) {
      int64_t at = j * to_row + i;
      to[at] = !gate || gate[at] > 0 ? from[i * from_row + j] : 0;
    }
}

/* ---- Inputs ---- */

void LGV_KERNEL(lgv__from_bytes)(int64_t count, const uint8_t *restrict bytes, float scale,
                                 float *restrict out) {
  for (int64_t i = 0; i < count; i++) out[i] = scale * (float)(int32_t)bytes[i];
}

void LGV_KERNEL(lgv__from_bytes_by)(int64_t rows, int64_t cols, const uint8_t *restrict bytes,
                                    const float *restrict gain, float *restrict out) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      out[i * cols + j] = gain[j] * (float)(int32_t)bytes[i * cols + j];
}

void LGV_KERNEL(lgv__standardize)(int64_t rows, int64_t cols, const float *restrict x,
                                  const float *restrict shift, const float *restrict gain,
                                  float clip, float *restrict out) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      float z = (x[i * cols + j] - shift[j]) * gain[j];
      z = z < clip ? z : clip;
      out[i * cols + j] = z > -clip ? z : -clip;
    }
}

void LGV_KERNEL(lgv__running_sums)(int64_t rows, int64_t cols, const float *start, const float *x,
                                   float scale, float *sums) {
  int64_t j = 0;
  for (; j + STRIP <= cols; j += STRIP) {
    vec sum[4];
    EACH (v, 4) {
      sum[v] = load(start + j + v * LANES);
      store(sums + j + v * LANES, sum[v]);
    }
    for (int64_t i = 0; i < rows; i++)
      EACH (v, 4) {
        sum[v] += scale * load(x + i * cols + j + v * LANES);
        store(sums + (i + 1) * cols + j + v * LANES, sum[v]);
      }
  }
  for (; j < cols; j++) {
    float sum = sums[j] = start[j];
    for (int64_t i = 0; i < rows; i++) sums[(i + 1) * cols + j] = sum += scale * x[i * cols + j];
  }
}

void LGV_KERNEL(lgv__sum_up)(int64_t rows, int64_t cols, float *x) {
  int64_t j = 0;
  for (; j + STRIP <= cols; j += STRIP) {
    vec sum[4];
    EACH (v, 4) sum[v] = (vec){0};
    for (int64_t i = rows - 1; i >= 0; i--)
      EACH (v, 4) {
        float *at = x + i * cols + j + v * LANES;
        sum[v] += load(at);
        store(at, sum[v]);
      }
  }
  for (; j < cols; j++) {
    float sum = 0;
    for (int64_t i = rows - 1; i >= 0; i--) x[i * cols + j] = sum += x[i * cols + j];
  }
}

void LGV_KERNEL(lgv__add_scaled)(int64_t count, const float *restrict x, float scale,
                                 float *restrict sum) {
  for (int64_t i = 0; i < count; i++) sum[i] += scale * x[i];
}

void LGV_KERNEL(lgv__approach)(int64_t count, const float *restrict to, float share,
                               float *restrict x) {
  for (int64_t i = 0; i < count; i++) x[i] += share * (to[i] - x[i]);
}

/* A row of `cols` columns at c and, from column 16 on, at c + 256. */
INLINE void end_row(const lgv_block_end *e, const float *c, const float *gate, float *out) {
  enum { TILE_COLS = 16, TILE = 256 };
  for (int64_t j = 0; j < e->cols; j++) {
    float x = c[j / TILE_COLS * TILE + j % TILE_COLS] + (e->bias ? e->bias[j] : 0);
    if (e->rectify && x < 0) x = 0;
    out[j] = gate && !(gate[j] > 0) ? 0 : x;
  }
}

#if LGV_LANES > 1

/* The same for whole rows. A number plus 0 is the number, except that -0 becomes 0. */
INLINE void end_whole_row(const lgv_block_end *e, const float *c, const float *gate, float *out) {
  enum { TILE_COLS = 16, TILE = 256, VECTORS = 32 / LANES };
  EACH (v, VECTORS) {
    int j = v * LANES;
    vec x = load(c + j / TILE_COLS * TILE + j % TILE_COLS);
    x = x + (e->bias ? load(e->bias + j) : (vec){0});
    if (e->rectify) x = rectified(x);
    store(out + j, gate ? gated(x, load(gate + j)) : x);
  }
}

#else
#define end_whole_row end_row
#endif

void LGV_KERNEL(lgv__end_block)(const lgv_block_end *e) {
  for (int64_t i = 0; i < e->rows; i++) {
    const float *c = e->c + i / 16 * 512 + i % 16 * 16;
    const float *gate = e->gate ? e->gate + i * e->out_row : NULL;
    if (e->cols == 32)
      end_whole_row(e, c, gate, e->out + i * e->out_row);
    else
      end_row(e, c, gate, e->out + i * e->out_row);
  }
}

void LGV_KERNEL(lgv__rectify)(int64_t count, float *x) {
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) store(x + i, rectified(load(x + i)));
  for (; i < count; i++) x[i] = x[i] < 0 ? 0 : x[i];
}

void LGV_KERNEL(lgv__gate)(int64_t count, const float *gate, float *x) {
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) store(x + i, gated(load(x + i), load(gate + i)));
  for (; i < count; i++) x[i] = gate[i] > 0 ? x[i] : 0;
}

void LGV_KERNEL(lgv__scale)(int64_t count, float scale, float *x) {
  for (int64_t i = 0; i < count; i++) x[i] *= scale;
}

/* A plane rotation of many pairs of numbers, for updates of Cholesky factors. */
void LGV_KERNEL(lgv__rotate)(int64_t count, double cosine, double sine, double *restrict a,
                             double *restrict b) {
  for (int64_t i = 0; i < count; i++) {
    double before = a[i];
    a[i] = cosine * before + sine * b[i];
    b[i] = cosine * b[i] - sine * before;
  }
}

/* Many steps of Adam with gradient 0 at once: optim/lazy_adam.h derives the sums. */
void LGV_KERNEL(lgv__adam_skip)(int64_t count, const lgv_adam_skip *skip, float *restrict w,
                                float *restrict m, float *restrict v) {
  const float sum = skip->sum, eps = skip->eps, mean = skip->eps * skip->mean;
  const float variance = skip->variance, keep_m = skip->keep_m, keep_v = skip->keep_v;
  uint64_t mode = lgv__loop_begin();
  for (int64_t i = 0; i < count; i++) {
    float root = 1 / (sqrtf(v[i]) + mean), share = eps * root;
    w[i] = lgv__without_subnormal(w[i] - sum * m[i] * root * (1 + variance * share * share));
    m[i] = lgv__without_subnormal(m[i] * keep_m);
    v[i] = lgv__without_subnormal(v[i] * keep_v);
  }
  lgv__flush_end(mode);
}
