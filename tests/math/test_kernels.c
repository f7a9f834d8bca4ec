/* Every kernel set that this CPU runs, bit for bit against the definitions in kernels.h: many
 * shapes, strides and lists, in memory of exactly the right size (so that a sanitizer finds every
 * overrun), with NaN wherever nothing may be read. */
#include "math/kernels.h"

#include "base/portable_math.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lgv_rng rng;

static float *random_floats(int64_t count) {
  float *x = malloc((size_t)(count ? count : 1) * sizeof *x);
  for (int64_t i = 0; i < count; i++) x[i] = (float)lgv_rng_normal(&rng);
  return x;
}

static float *nan_floats(int64_t count) {
  float *x = malloc((size_t)(count ? count : 1) * sizeof *x);
  for (int64_t i = 0; i < count; i++) x[i] = NAN;
  return x;
}

static bool same_bits(float x, float y) {
  return memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
}

/* Whether a set multiplies and adds with one rounding: (1 + 2^-12)^2 - 1 - 2^-11 is then 2^-24,
 * else 0. */
static bool fuses(const lgv_kernel_set *set) {
  float a = 1 + 0x1p-12f, c = -1 - 0x1p-11f;
  set->product(&(lgv_product){.m = 1, .n = 1, .k = 1, .a = &a, .b = &a, .c = &c, .add = true});
  assert_true(c == 0x1p-24f || c == 0);
  return c != 0;
}

/* ---- Products ---- */

/* Checks a product that the set has just computed against the definition. */
static void check_product(const lgv_kernel_set *set, const lgv_product *g, const float *before) {
  bool fused = fuses(set);
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      int64_t at = (g->c_rows ? g->c_rows[i] : i * g->c_row) + j;
      float sum = g->add ? before[at] : g->bias ? g->bias[j] : 0;
      for (int64_t p = 0; p < g->k; p++) {
        float a = g->a[(g->a_rows ? g->a_rows[i] : i * g->a_row) +
                       (g->a_cols ? g->a_cols[p] : p * g->a_col)];
        float b = g->b[p * g->b_row + j];
        float product = a * b;
        sum = fused ? fmaf(a, b, sum) : sum + product;
      }
      if (g->rectify && sum < 0) sum = 0;
      if (g->gate && !(g->gate[at] > 0)) sum = 0;
      if (!same_bits(sum, g->c[at]))
        fail_msg("%s: C(%ld, %ld) of a product of %ld x %ld x %ld is %.9g, not %.9g", set->name,
                 (long)i, (long)j, (long)g->m, (long)g->n, (long)g->k, (double)g->c[at],
                 (double)sum);
    }
}

enum { PLAIN_A, TURNED_A, LISTED_A, N_KINDS_OF_A };
enum { START_ZERO, START_C, START_BIAS, N_STARTS };
enum { END_AS_IS, END_RECTIFIED, END_GATED, N_ENDS };

/* Offsets in random order within count * distance numbers. */
static int32_t *random_offsets(int64_t count, int64_t distance) {
  int32_t *offset = malloc((size_t)(count ? count : 1) * sizeof *offset);
  for (int64_t i = 0; i < count; i++) offset[i] = (int32_t)(i * distance);
  for (int64_t i = count - 1; i > 0; i--) {
    int64_t other = lgv_rng_below(&rng, i + 1);
    int32_t swap = offset[i];
    offset[i] = offset[other];
    offset[other] = swap;
  }
  return offset;
}

static void try_product(const lgv_kernel_set *set, int64_t m, int64_t n, int64_t k, int kind_a,
                        bool listed_c, int start, int end) {
  int64_t pad_b = lgv_rng_below(&rng, 3), pad_c = lgv_rng_below(&rng, 4);
  int64_t c_size = m > 0 ? (m - 1) * (n + pad_c) + n : 0;
  lgv_product g = {.m = m, .n = n, .k = k, .b_row = n + pad_b, .c_row = n + pad_c};
  float *a = random_floats(m * k), *b = random_floats(k > 0 ? (k - 1) * g.b_row + n : 0);
  float *bias = random_floats(n), *gate = random_floats(c_size);
  float *before = start == START_C ? random_floats(c_size) : nan_floats(c_size);
  float *c = malloc((size_t)(c_size ? c_size : 1) * sizeof *c);
  int32_t *rows = random_offsets(m, 1), *cols = random_offsets(k, m);
  int32_t *c_rows = random_offsets(m, g.c_row);
  memcpy(c, before, (size_t)c_size * sizeof *c);
  g.a = a;
  g.a_row = kind_a == TURNED_A ? 1 : k;
  g.a_col = kind_a == TURNED_A ? m : 1;
  if (kind_a == LISTED_A) g.a_rows = rows, g.a_cols = cols;
  g.b = b;
  g.c = c;
  if (listed_c) g.c_rows = c_rows;
  g.add = start == START_C;
  if (start == START_BIAS) g.bias = bias;
  g.rectify = end == END_RECTIFIED;
  if (end == END_GATED) g.gate = gate;
  set->product(&g);
  check_product(set, &g, before);
  for (int64_t i = 0; i + 1 < m; i++) /* the numbers between the rows of C are unchanged */
    for (int64_t j = n; j < g.c_row; j++)
      assert_true(same_bits(c[i * g.c_row + j], before[i * g.c_row + j]));
  void *all[] = {a, b, bias, gate, before, c, rows, cols, c_rows};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void products_match_the_definition(void **state) {
  (void)state;
  static const int64_t m_list[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 31, 32, 49, 121, 250};
  static const int64_t n_list[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 15, 16,
                                   17, 18, 24, 31, 32, 33, 40, 48, 51, 64, 65, 100};
  static const int64_t k_list[] = {0, 1, 2, 3, 7, 16, 31, 32, 49, 100, 255, 256, 257, 300, 515};
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv_rng_seed(&rng, 5, "test.kernels");
    for (int trial = 0; trial < 1200; trial++) {
#define ANY(list) list[lgv_rng_below(&rng, (int64_t)(sizeof list / sizeof *list))]
      int64_t m = ANY(m_list), n = ANY(n_list), k = ANY(k_list);
      if (m * n * k > 300000) m = 7;
      int kind_a = (int)lgv_rng_below(&rng, N_KINDS_OF_A);
      bool listed_c = kind_a != LISTED_A && lgv_rng_below(&rng, 3) == 0;
      try_product(set, m, n, k, kind_a, listed_c, (int)lgv_rng_below(&rng, N_STARTS),
                  (int)lgv_rng_below(&rng, N_ENDS));
    }
    try_product(set, 0, 5, 3, PLAIN_A, false, START_ZERO, END_AS_IS);
    try_product(set, 130, 70, 600, PLAIN_A, false, START_BIAS, END_RECTIFIED);
  }
}

static void a_row_does_not_depend_on_its_neighbors(void **state) {
  (void)state;
  enum { M = 33, N = 50, K = 300 };
  lgv_rng_seed(&rng, 6, "test.kernels");
  float *a = random_floats(M * K), *b = random_floats(K * N), *bias = random_floats(N);
  for (int64_t i = 0; i < M * K; i++) a[i] = a[i] > 0 ? a[i] : 0; /* as after a rectifier */
  float *together = nan_floats(M * N), *alone = nan_floats(N);
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv_product g = {M, N,        K, a,    K,    1,     NULL, NULL, b,
                     N, together, N, NULL, bias, false, true, NULL};
    set->product(&g);
    for (int64_t i = 0; i < M; i++) {
      g.m = 1;
      g.a = a + i * K;
      g.c = alone;
      set->product(&g);
      assert_memory_equal(alone, together + i * N, N * sizeof *alone);
    }
  }
  float *all[] = {a, b, bias, together, alone};
  for (size_t i = 0; i < 5; i++) free(all[i]);
}

static void nan_survives_the_rectifier(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
    for (int64_t n = 1; n <= 33; n += 16) {
      float a = NAN, b[33], c[33];
      for (int64_t j = 0; j < n; j++) b[j] = 1;
      set->product(&(lgv_product){.m = 1,
                                  .n = n,
                                  .k = 1,
                                  .a = &a,
                                  .b = b,
                                  .b_row = n,
                                  .c = c,
                                  .c_row = n,
                                  .rectify = true});
      for (int64_t j = 0; j < n; j++) assert_true(isnan(c[j]));
      set->rectify(n, c);
      for (int64_t j = 0; j < n; j++) assert_true(isnan(c[j]));
    }
}

/* ---- Passes over rows ---- */

static void try_rows(const lgv_kernel_set *set, int64_t rows, int64_t cols) {
  float *x = random_floats(rows * cols), *start = random_floats(cols);
  float *sums = nan_floats((rows + 1) * cols), *turned = nan_floats(rows * cols);
  float *gate = random_floats(rows * cols);
  set->column_sums(rows, cols, x, sums);
  for (int64_t j = 0; j < cols; j++) {
    float sum = 0;
    for (int64_t i = 0; i < rows; i++) sum += x[i * cols + j];
    assert_true(same_bits(sums[j], sum));
  }
  set->running_sums(rows, cols, start, x, 0.5f, sums);
  for (int64_t j = 0; j < cols; j++) {
    float sum = start[j];
    for (int64_t i = 0; i <= rows; i++) {
      assert_true(same_bits(sums[i * cols + j], sum));
      if (i < rows) sum += 0.5f * x[i * cols + j];
    }
  }
  for (int gates = 0; gates < 2; gates++) {
    set->transpose(rows, cols, x, cols, gates ? gate : NULL, turned, rows);
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < cols; j++) {
        bool open = !gates || gate[j * rows + i] > 0;
        assert_true(same_bits(turned[j * rows + i], open ? x[i * cols + j] : 0));
      }
  }
  memcpy(sums, x, (size_t)(rows * cols) * sizeof *x);
  set->sum_up(rows, cols, sums);
  for (int64_t j = 0; j < cols; j++) {
    float sum = 0;
    for (int64_t i = rows - 1; i >= 0; i--) {
      sum += x[i * cols + j];
      assert_true(same_bits(sums[i * cols + j], sum));
    }
  }
  float *all[] = {x, start, sums, turned, gate};
  for (size_t i = 0; i < 5; i++) free(all[i]);
}

static void row_passes_match_the_definition(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 3, 4, 5, 8, 15, 16, 32, 33, 64, 67, 100};
  enum { N = sizeof sizes / sizeof *sizes };
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv_rng_seed(&rng, 7, "test.kernels");
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) try_rows(set, sizes[i], sizes[j]);
  }
}

static void element_passes_match_the_definition(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
    for (int64_t count = 0; count < 70; count++) {
      lgv_rng_seed(&rng, 8, "test.kernels");
      float *x = random_floats(count), *y = random_floats(count), *z = random_floats(count);
      uint8_t *bytes = malloc((size_t)count + 1);
      memcpy(z, y, (size_t)count * sizeof *z);
      set->add_scaled(count, x, 0.75f, z);
      for (int64_t i = 0; i < count; i++) assert_true(same_bits(z[i], y[i] + 0.75f * x[i]));
      memcpy(z, y, (size_t)count * sizeof *z);
      set->approach(count, x, 0.25f, z);
      for (int64_t i = 0; i < count; i++)
        assert_true(fabsf(z[i] - (0.75f * y[i] + 0.25f * x[i])) < 1e-6f);
      set->gate(count, x, z);
      set->rectify(count, y);
      for (int64_t i = 0; i < count; i++) {
        assert_true(x[i] > 0 || z[i] == 0);
        assert_true(y[i] >= 0);
        bytes[i] = (uint8_t)lgv_rng_below(&rng, 256);
      }
      set->from_bytes(count, bytes, 1.0f / 255, z);
      for (int64_t i = 0; i < count; i++) assert_true(same_bits(z[i], 1.0f / 255 * bytes[i]));
      set->scale(count, 3, z);
      for (int64_t i = 0; i < count; i++) assert_true(same_bits(z[i], 1.0f / 255 * bytes[i] * 3));
      free(x);
      free(y);
      free(z);
      free(bytes);
    }
}

/* Row by row, with numbers beyond the clip on both sides. */
static void inputs_are_mapped_by_column(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
    for (int64_t cols = 1; cols < 70; cols++) {
      enum { ROWS = 3 };
      lgv_rng_seed(&rng, 9, "test.kernels");
      float *x = random_floats(ROWS * cols), *shift = random_floats(cols);
      float *gain = random_floats(cols), *out = random_floats(ROWS * cols);
      uint8_t *bytes = malloc((size_t)(ROWS * cols));
      for (int64_t i = 0; i < ROWS * cols; i++) bytes[i] = (uint8_t)lgv_rng_below(&rng, 256);
      x[0] = 1e30f;
      x[ROWS * cols - 1] = -1e30f;
      set->standardize(ROWS, cols, x, shift, gain, 0.5f, out);
      for (int64_t i = 0; i < ROWS * cols; i++) {
        float z = (x[i] - shift[i % cols]) * gain[i % cols];
        assert_true(same_bits(out[i], z >= 0.5f ? 0.5f : z <= -0.5f ? -0.5f : z));
      }
      set->from_bytes_by(ROWS, cols, bytes, gain, out);
      for (int64_t i = 0; i < ROWS * cols; i++)
        assert_true(same_bits(out[i], gain[i % cols] * (float)bytes[i]));
      free(x);
      free(shift);
      free(gain);
      free(out);
      free(bytes);
    }
}

/* ---- Choice ---- */

/* The name that the public interface and config.json have for a set. */
static const char *public_name(const lgv_kernel_set *set) {
  return set->portable ? "portable" : set->name;
}

static void the_environment_chooses(void **state) {
  (void)state;
  lgv_error err = {0};
  const lgv_kernel_set *set, *best = NULL;
  unsetenv("LANGEVIN_KERNELS");
  assert_int_equal(lgv__kernels_check(&err), LGV_OK);
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    setenv("LANGEVIN_KERNELS", set->name, 1);
    lgv__kernels_use(NULL);
    assert_ptr_equal(lgv__kernels(), set);
    assert_string_equal(lgv_kernels(), public_name(set));
    assert_true(lgv__portable() == set->portable);
    assert_int_equal(lgv__kernels_check(&err), LGV_OK);
    best = set;
  }
  setenv("LANGEVIN_KERNELS", "abacus", 1);
  lgv__kernels_use(NULL);
  assert_ptr_equal(lgv__kernels(), best);
  assert_int_equal(lgv__kernels_check(&err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "abacus"));
  assert_non_null(strstr(err.message, "ref"));
  unsetenv("LANGEVIN_KERNELS");
  lgv__kernels_use(NULL);
  assert_ptr_equal(lgv__kernels(), best);
  assert_string_equal(lgv__kernels_at(0)->name, "ref");
}

/* Also under a name that no processor can run: the bits are the same. */
static void portable_is_the_widest_portable_set(void **state) {
  (void)state;
  lgv_error err = {0};
  const lgv_kernel_set *set, *widest = NULL;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) widest = set->portable ? set : widest;
  assert_ptr_equal(lgv__kernels_portable(), widest);
  setenv("LANGEVIN_KERNELS", "portable", 1);
  lgv__kernels_use(NULL);
  assert_ptr_equal(lgv__kernels(), widest);
  assert_int_equal(lgv__kernels_check(&err), LGV_OK);
  setenv("LANGEVIN_KERNELS", "portable99", 1);
  lgv__kernels_use(NULL);
  assert_ptr_equal(lgv__kernels(), widest);
  assert_int_equal(lgv__kernels_check(&err), LGV_ERR_USAGE);
  unsetenv("LANGEVIN_KERNELS");
  lgv__kernels_use(NULL);
  assert_false(lgv__kernels()->portable);
}

static void portable_sets_do_not_fuse(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
    if (set->portable) assert_false(fuses(set));
}

static void *kernels_of_another_thread(void *unused) {
  (void)unused;
  return (void *)lgv__kernels();
}

static void a_thread_chooses_for_itself(void **state) {
  (void)state;
  const lgv_kernel_set *process = lgv__kernels(), *portable = lgv__kernels_portable();
  const lgv_kernel_set *ref = lgv__kernels_at(0);
  pthread_t thread;
  void *other;
  assert_null(lgv__kernels_choose(portable));
  assert_ptr_equal(lgv__kernels(), portable);
  assert_true(lgv__portable());
  assert_string_equal(lgv_kernels(), public_name(process)); /* of the process */
  assert_int_equal(pthread_create(&thread, NULL, kernels_of_another_thread, NULL), 0);
  assert_int_equal(pthread_join(thread, &other), 0);
  assert_ptr_equal(other, process);
  assert_ptr_equal(lgv__kernels_choose(ref), portable);
  assert_true(lgv__kernels() == ref && !lgv__portable());
  assert_ptr_equal(lgv__kernels_choose(NULL), ref);
  assert_ptr_equal(lgv__kernels(), process);
  assert_false(lgv__portable());
}

/* A set that was built for other processors is refused by name, and the best one is in use. */
static void a_set_of_another_processor_is_refused(void **state) {
  (void)state;
  lgv_error err = {0};
  const lgv_kernel_set *set, *best = NULL;
  bool has_amx = false;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    has_amx = has_amx || strcmp(set->name, "amx") == 0;
    best = set;
  }
  if (has_amx) skip();
  setenv("LANGEVIN_KERNELS", "amx", 1);
  lgv__kernels_use(NULL);
  assert_ptr_equal(lgv__kernels(), best);
  assert_int_equal(lgv__kernels_check(&err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "LANGEVIN_KERNELS=amx"));
  unsetenv("LANGEVIN_KERNELS");
  lgv__kernels_use(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_match_the_definition),
      cmocka_unit_test(a_row_does_not_depend_on_its_neighbors),
      cmocka_unit_test(nan_survives_the_rectifier),
      cmocka_unit_test(row_passes_match_the_definition),
      cmocka_unit_test(element_passes_match_the_definition),
      cmocka_unit_test(inputs_are_mapped_by_column),
      cmocka_unit_test(the_environment_chooses),
      cmocka_unit_test(portable_is_the_widest_portable_set),
      cmocka_unit_test(portable_sets_do_not_fuse),
      cmocka_unit_test(a_thread_chooses_for_itself),
      cmocka_unit_test(a_set_of_another_processor_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
