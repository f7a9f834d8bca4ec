/* Conversions to bf16 and to tiles of every kernel set that this CPU runs, bit for bit against the
 * definitions in kernels.h. */
#include "block_helpers.h"

#include <float.h>

/* The neighbor of x that is nearer, found by distances in double; ties to even. */
static lgv_bf16 nearest(float x) {
  uint32_t bits = to_bits(x), sign = bits & 0x80000000, size = bits & 0x7fffffff;
  if (isnan(x)) return (lgv_bf16)(bits >> 16 | 0x40);
  if (size < 0x800000) return (lgv_bf16)(sign >> 16);
  uint32_t below = size & 0xffff0000, above = below + 0x10000;
  double limit = above == 0x7f800000 ? 0x1p128 : (double)from_bits(above);
  double down = (double)from_bits(size) - (double)from_bits(below);
  double up = limit - (double)from_bits(size);
  bool rise = isinf(x) ? false : up < down || (up == down && (below >> 16 & 1));
  return (lgv_bf16)((sign | (rise ? above : below)) >> 16);
}

static lgv_bf16 nearest_rest(float x) { return nearest(x - from_bits((uint32_t)nearest(x) << 16)); }

/* Every bf16 with the lower halves at which rounding changes. */
static void floats_become_the_nearest(void **state) {
  (void)state;
  enum { COUNT = 1 << 16 };
  static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  static float x[COUNT];
  static lgv_bf16 hi[COUNT], lo[COUNT], alone[COUNT];
  const lgv_kernel_set *set;
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++)
    for (size_t l = 0; l < sizeof lower / sizeof *lower; l++) {
      for (uint32_t i = 0; i < COUNT; i++) x[i] = from_bits(i << 16 | lower[l]);
      set->to_bf16(COUNT, x, hi, lo);
      set->to_bf16(COUNT, x, alone, NULL);
      for (int i = 0; i < COUNT; i++) {
        bool nan = isnan(x[i] - from_bits((uint32_t)hi[i] << 16)); /* its sign is not defined */
        if (hi[i] != nearest(x[i]) || hi[i] != alone[i] || (!nan && lo[i] != nearest_rest(x[i])))
          fail_msg("%s: %a becomes %04x %04x, not %04x %04x", set->name, (double)x[i], hi[i], lo[i],
                   nearest(x[i]), nearest_rest(x[i]));
        if (nan) assert_true(isnan(from_bits((uint32_t)lo[i] << 16)));
      }
    }
}

static void two_parts_have_sixteen_bits(void **state) {
  (void)state;
  enum { COUNT = 10000 };
  static float x[COUNT];
  static lgv_bf16 hi[COUNT], lo[COUNT];
  lgv_rng_seed(&rng, 2, "test.bf16");
  for (int i = 0; i < COUNT; i++) x[i] = random_float(WIDE_EXPONENTS, false);
  lgv__kernels()->to_bf16(COUNT, x, hi, lo);
  for (int i = 0; i < COUNT; i++) {
    double sum = (double)value_of(hi[i]) + (double)value_of(lo[i]), size = fabs((double)x[i]);
    assert_true(fabs(sum - (double)x[i]) <= 0x1p-17 * size);
    assert_true(fabs((double)value_of(hi[i]) - (double)x[i]) <= 0x1p-8 * size);
  }
}

/* Only the numbers asked for are converted, and nothing outside of them is read or written. */
static void any_count_is_converted(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++)
    for (int64_t count = 0; count < 70; count++) {
      lgv_rng_seed(&rng, 4, "test.bf16");
      float *x = malloc((size_t)(count ? count : 1) * sizeof *x);
      lgv_bf16 hi[71] = {0}, lo[71] = {0};
      for (int64_t i = 0; i < count; i++) x[i] = random_float(NORMAL_NUMBERS, false);
      hi[count] = lo[count] = 77;
      set->to_bf16(count, x, hi, lo);
      for (int64_t i = 0; i < count; i++)
        assert_true(hi[i] == nearest(x[i]) && lo[i] == nearest_rest(x[i]));
      assert_true(hi[count] == 77 && lo[count] == 77);
      free(x);
    }
}

/* ---- Tiles ---- */

/* The matrix that a tile should hold at row i, column j of a tile of A. */
static float expected_at(const float *x, int64_t rows, int64_t cols, int64_t x_row, int i, int j) {
  return i < rows && j < cols ? x[i * x_row + j] : 0;
}

static void try_tiles(const lgv_kernel_set *set, int64_t rows, int64_t cols, bool of_b) {
  int64_t x_row = cols + lgv_rng_below(&rng, 5), size = (rows - 1) * x_row + cols;
  float *x = malloc((size_t)size * sizeof *x);
  for (int64_t i = 0; i < size; i++) x[i] = random_float(NORMAL_NUMBERS, false);
  _Alignas(64) lgv_bf16 hi[LGV_TILE], lo[LGV_TILE], alone[LGV_TILE];
  void (*convert)(int64_t, int64_t, const float *, int64_t, lgv_bf16 *, lgv_bf16 *) =
      of_b ? set->to_b_tile : set->to_a_tile;
  convert(rows, cols, x, x_row, hi, lo);
  convert(rows, cols, x, x_row, alone, NULL);
  for (int at = 0; at < LGV_TILE; at++) {
    int i = of_b ? at / 32 * 2 + at % 2 : at / 32, j = of_b ? at % 32 / 2 : at % 32;
    float expected = expected_at(x, rows, cols, x_row, i, j);
    assert_true(hi[at] == nearest(expected) && alone[at] == hi[at]);
    assert_true(lo[at] == nearest_rest(expected));
  }
  free(x);
}

static void tiles_hold_their_matrix(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++) {
    lgv_rng_seed(&rng, 6, "test.bf16");
    for (int trial = 0; trial < 100; trial++) {
      bool of_b = trial & 1, whole = trial % 5 == 0;
      int64_t most_rows = of_b ? 32 : 16, most_cols = of_b ? 16 : 32;
      try_tiles(set, whole ? most_rows : 1 + lgv_rng_below(&rng, most_rows),
                whole ? most_cols : 1 + lgv_rng_below(&rng, most_cols), of_b);
    }
  }
}

/* A tile of A that is transposed is the tile of B with the transposed matrix. */
static void a_transposed_tile_serves_the_other_side(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++) {
    _Alignas(64) lgv_bf16 a[LGV_TILE], b[LGV_TILE], turned[LGV_TILE];
    float x[16 * 32], across[32 * 16];
    lgv_rng_seed(&rng, 7, "test.bf16");
    for (int i = 0; i < 16 * 32; i++)
      across[i % 32 * 16 + i / 32] = x[i] = random_float(NORMAL_NUMBERS, false);
    set->to_a_tile(16, 32, x, 32, a, NULL);
    set->to_b_tile(32, 16, across, 16, b, NULL);
    set->transpose_tile(a, turned);
    assert_memory_equal(turned, b, sizeof b);
    set->transpose_tile(b, turned);
    assert_memory_equal(turned, a, sizeof a);
    for (int i = 0; i < LGV_TILE; i++) a[i] = (lgv_bf16)random_bits(); /* signaling NaN, too */
    set->transpose_tile(a, b);
    for (int at = 0; at < LGV_TILE; at++)
      assert_int_equal(b[at], a[at % 32 / 2 * 32 + at / 32 * 2 + at % 2]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_become_the_nearest),
      cmocka_unit_test(two_parts_have_sixteen_bits),
      cmocka_unit_test(any_count_is_converted),
      cmocka_unit_test(tiles_hold_their_matrix),
      cmocka_unit_test(a_transposed_tile_serves_the_other_side),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
