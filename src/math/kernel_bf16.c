/* Floats to bf16: lists, split into a high and a low part or not, and tiles for the block product
 * (lgv_block_product).
 *
 * Invariant: every kernel set gives the same bits. The arithmetic is that of integers but for x -
 * hi, which is exact. The loops are plain and their elements independent, so that the compiler
 * vectorizes them for each set. */
#include "math/kernels.h"

#include <string.h>

enum { ROWS = 16, COLS = 32 }; /* of a tile of A; a tile of B has COLS rows and ROWS columns */

static inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The nearest bf16 in the upper half of the word, 0 in the lower one. */
static inline uint32_t rounded(float x) {
  uint32_t bits = bits_of(x), size = bits & 0x7fffffffu;
  uint32_t nearest = bits + 0x7fffu + (bits >> 16 & 1u);
  uint32_t kept = size > 0x7f800000u ? bits | 0x400000u : nearest; /* NaN becomes quiet */
  return (size < 0x800000u ? bits & 0x80000000u : kept) & 0xffff0000u;
}

static inline uint32_t low_part(float x, uint32_t high) { return rounded(x - float_of(high)); }

void LGV_KERNEL(lgv__to_bf16)(int64_t count, const float *restrict x, lgv_bf16 *restrict hi,
                              lgv_bf16 *restrict lo) {
  for (int64_t i = 0; i < count; i++) hi[i] = (lgv_bf16)(rounded(x[i]) >> 16);
  for (int64_t i = 0; lo && i < count; i++) lo[i] = (lgv_bf16)(low_part(x[i], rounded(x[i])) >> 16);
}

/* A tile of floats with 0 outside of x. */
static void pad(int64_t rows, int64_t cols, const float *x, int64_t x_row, int64_t width,
                float *padded) {
  memset(padded, 0, ROWS * COLS * sizeof *padded);
  for (int64_t i = 0; i < rows; i++)
    memcpy(padded + i * width, x + i * x_row, (size_t)cols * sizeof *x);
}

void LGV_KERNEL(lgv__to_a_tile)(int64_t rows, int64_t cols, const float *x, int64_t x_row,
                                lgv_bf16 *hi, lgv_bf16 *lo) {
  float padded[ROWS * COLS];
  size_t rest = (size_t)((ROWS - rows) * COLS) * sizeof *hi;
  if (cols < COLS) {
    pad(rows, cols, x, x_row, COLS, padded);
    x = padded;
    x_row = COLS;
  }
  for (int64_t i = 0; i < rows; i++)
    LGV_KERNEL(lgv__to_bf16)(COLS, x + i * x_row, hi + COLS * i, lo ? lo + COLS * i : NULL);
  if (rest > 0) memset(hi + rows * COLS, 0, rest);
  if (rest > 0 && lo) memset(lo + rows * COLS, 0, rest);
}

/* A pair of numbers, in the order of memory. */
typedef uint32_t pair __attribute__((may_alias));

static inline uint32_t make_pair(uint32_t even, uint32_t odd) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return even | odd >> 16;
#else
  return odd | even >> 16;
#endif
}

/* Two rows of floats, in pairs. */
static inline void pair_rows(const float *restrict even, const float *restrict odd,
                             pair *restrict hi, pair *restrict lo) {
  for (int j = 0; !lo && j < ROWS; j++) hi[j] = make_pair(rounded(even[j]), rounded(odd[j]));
  for (int j = 0; lo && j < ROWS; j++) {
    uint32_t high_even = rounded(even[j]), high_odd = rounded(odd[j]);
    hi[j] = make_pair(high_even, high_odd);
    lo[j] = make_pair(low_part(even[j], high_even), low_part(odd[j], high_odd));
  }
}

void LGV_KERNEL(lgv__to_b_tile)(int64_t rows, int64_t cols, const float *x, int64_t x_row,
                                lgv_bf16 *hi, lgv_bf16 *lo) {
  float padded[ROWS * COLS];
  if (rows < COLS || cols < ROWS) {
    pad(rows, cols, x, x_row, ROWS, padded);
    x = padded;
    x_row = ROWS;
  }
  for (int k = 0; k < ROWS; k++, x += 2 * x_row)
    pair_rows(x, x + x_row, (pair *)hi + ROWS * k, lo ? (pair *)lo + ROWS * k : NULL);
}

/* The pairs move as floats do: the kernel only loads, shuffles and stores. */
void LGV_KERNEL(lgv__transpose_tile)(const lgv_bf16 *from, lgv_bf16 *to) {
  /* cppcheck-suppress invalidPointerCast */
  LGV_KERNEL(lgv__transpose)(ROWS, ROWS, (const float *)from, ROWS, NULL, (float *)to, ROWS);
}
