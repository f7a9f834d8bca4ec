/* The block product of every kernel set that this CPU runs, bit for bit against its definition in
 * kernels.h: random tiles of every class of numbers, and single sums around the smallest normal
 * number, the largest and 0, with results found by hand. */
#include "block_helpers.h"
#include "math/flush.h"

#include <float.h>
#include <pthread.h>

/* ---- Whole blocks ---- */

static void check_sets(random_block *r, const float *defined) {
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    reset_c(r);
    set->block(&r->g);
    for (int i = 0; i < C_SIZE; i++)
      if (!same_bits(r->c[i], defined[i]))
        fail_msg("%s: number %d of C is %a, not %a (%ld steps, lo %d %d, add %d)", set->name, i,
                 (double)r->c[i], (double)defined[i], (long)r->g.steps, r->g.a_lo > 0,
                 r->g.b_lo > 0, r->g.add);
  }
}

static int place_in_c(int i, int j) { return 256 * (i / 16 * 2 + j / 16) + 16 * (i % 16) + j % 16; }

/* Some rows have the bits that they have among all; of A, only these count. */
static void check_some_rows(random_block *r, const float *defined) {
  static const int32_t counts[] = {1, 2, 3, 4, 6, 8, 12, 16, 17, 24, 27, 31};
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
      reset_c(r);
      r->g.rows = counts[n];
      set->block(&r->g);
      for (int i = 0; i < BLOCKS * 32 * counts[n]; i++) {
        int row = i / 32 % counts[n], at = i / 32 / counts[n] * LGV_BLOCK + place_in_c(row, i % 32);
        if (!same_bits(r->c[at], defined[at]))
          fail_msg("%s: row %d of %d, column %d is %a, not %a", set->name, row, counts[n], i % 32,
                   (double)r->c[at], (double)defined[at]);
      }
    }
  r->g.rows = 0;
}

static void some_rows_have_the_bits_of_all(void **state) {
  (void)state;
  for (int class = 0; class < NUMBER_CLASSES; class ++)
    for (int kind = 0; kind < 4; kind++) {
      float defined[C_SIZE];
      lgv_rng_seed(&rng, 6, "test.block");
      random_block r = make_block(kind, class, kind & 1, kind & 2, kind < 2);
      define_block(&r.g, defined);
      check_some_rows(&r, defined);
      free_block(&r);
    }
}

/* ---- Ends ---- */

static float ended(const lgv_block_end *e, int i, int j, const float *gate) {
  float x = e->c[place_in_c(i, j)] + (e->bias ? e->bias[j] : 0);
  if (e->rectify) x = x < 0 ? 0 : x;
  return gate && !(gate[i * e->out_row + j] > 0) ? 0 : x;
}

static void check_end(const lgv_kernel_set *set, lgv_block_end e) {
  enum { ROW = 40, UNTOUCHED = 77 };
  float out[32 * ROW];
  for (int i = 0; i < 32 * ROW; i++) out[i] = UNTOUCHED;
  e.out = out;
  e.out_row = ROW;
  set->end_block(&e);
  for (int i = 0; i < 32 * ROW; i++) {
    bool inside = i / ROW < e.rows && i % ROW < e.cols;
    float expected = inside ? ended(&e, i / ROW, i % ROW, e.gate) : UNTOUCHED;
    if (!same_bits(out[i], expected))
      fail_msg("%s: (%d, %d) of %d x %d is %a, not %a", set->name, i / ROW, i % ROW, (int)e.rows,
               (int)e.cols, (double)out[i], (double)expected);
  }
}

static void ends_of_blocks_are_as_defined(void **state) {
  (void)state;
  float c[1024], bias[32], gate[32 * 40];
  const lgv_kernel_set *set;
  lgv_rng_seed(&rng, 7, "test.block");
  for (int i = 0; i < 1024; i++) c[i] = i == 5 ? NAN : i == 6 ? -0.0f : random_float(0, true);
  for (int i = 0; i < 32; i++) bias[i] = random_float(NORMAL_NUMBERS, true);
  for (int i = 0; i < 32 * 40; i++) gate[i] = i % 7 ? random_float(NORMAL_NUMBERS, true) : 0;
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++)
    for (int64_t cols = 1; cols <= 32; cols++) {
      lgv_block_end e = {.rows = 33 - cols, .cols = cols, .c = c};
      check_end(set, e);
      e.gate = gate;
      check_end(set, e);
      e.gate = NULL;
      e.bias = bias;
      check_end(set, e);
      e.rows = 32;
      e.rectify = true;
      check_end(set, e);
    }
}

static void every_set_has_the_bits_of_the_definition(void **state) {
  (void)state;
  for_random_blocks(check_sets);
}

/* Independent of any order. A chain of 16 products errs by at most 16 roundings of the sum of
 * absolute values, even + odd by one more, and each addition to C by one. */
static void sums_are_near_the_true_ones(void **state) {
  (void)state;
  enum { STEPS = 12, PARTS = 2 };
  const lgv_kernel_set *set;
  lgv_rng_seed(&rng, 3, "test.block");
  random_block r = make_block(STEPS, NORMAL_NUMBERS, false, true, true);
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++) {
    reset_c(&r);
    set->block(&r.g);
    for (int i = 0; i < 32; i++)
      for (int j = 0; j < 32; j++) {
        int at = place_in_c(i, j);
        double sum = (double)r.before[at], size = fabs(sum);
        for (int s = 0; s < STEPS * PARTS; s++)
          for (int k = 0; k < 32; k++) {
            const lgv_bf16 *a = r.a + r.a_at[s / 2] + i / 16 * r.g.a_next + i % 16 * 32 + k;
            const lgv_bf16 *b = r.b + r.b_at[s / 2] + j / 16 * r.g.b_next + s % 2 * r.g.b_lo;
            double product =
                (double)value_of(*a) * (double)value_of(b[k / 2 * 32 + j % 16 * 2 + k % 2]);
            sum += product;
            size += fabs(product);
          }
        assert_true(fabs((double)r.c[at] - sum) <= 1.001 * (17 + STEPS * PARTS) * 0x1p-24 * size);
      }
  }
  free_block(&r);
}

/* ---- Single sums ---- */

typedef struct term {
  double a, b;
} term;

typedef struct single {
  const char *what;
  float c;
  term even[2], odd[2]; /* the first products; none if 0 */
  term rest;            /* all others */
  float expected;
} single;

#define TINY 0x1p-126f
static const single singles[] = {
    {"a tie below the smallest normal number rounds up to it",
     .even = {{0x1p-63, 0x1p-63}, {-0x1p-75, 0x1p-76}}, .expected = TINY},
    {"a sum that would round to it only as a denormal number is 0",
     .even = {{0x1p-63, 0x1p-63}, {-0x1.8p-75, 0x1p-76}}},
    {"the same with the other sign", .c = -0.0f,
     .even = {{-0x1p-63, 0x1p-63}, {0x1.8p-75, 0x1p-76}}, .odd = {{-0x1p-70, 0x1p-70}},
     .rest = {-1, 0}, .expected = -0.0f},
    {"a result is flushed before the next product",
     .even = {{0x1p-70, 0x1p-57}, {0x1p-70, 0x1p-57}}},
    {"a product below the smallest number counts in a sum",
     .even = {{0x1.8p-63, 0x1p-63}, {0x1.02p-75, 0x1p-75}}, .expected = 0x1.800002p-126f},
    {"even and odd flush their sum", .even = {{0x1.8p-63, 0x1p-63}}, .odd = {{-0x1p-63, 0x1p-63}}},
    {"a denormal factor is 0", .c = 1, .even = {{0x1p-127, 0x1p127}}, .expected = 1},
    {"a denormal C is 0", .c = 0x1p-127f, .even = {{0x1p-63, 0x1p-63}}, .expected = TINY},
    {"C flushes its sum", .c = 0x1.8p-126f, .even = {{-0x1p-63, 0x1p-63}}},
    {"a zero keeps its sign if all have it", .c = -0.0f, .even = {{-0x1p-70, 0x1p-70}},
     .odd = {{-0x1p-70, 0x1p-70}}, .rest = {-1, 0}, .expected = -0.0f},
    {"sums start from the positive zero", .c = -0.0f, .rest = {-1, 0}, .expected = 0},
    {"a product beyond the largest number within a finite sum",
     .even = {{-0x1p64, 0x1p63}, {0x1p64, 0x1p64}}, .expected = 0x1p127f},
    {"overflow", .even = {{0x1p64, 0x1p64}}, .expected = INFINITY},
    {"even and odd overflow, whatever C is", .c = -FLT_MAX, .even = {{0x1p64, 0x1p63}},
     .odd = {{0x1p64, 0x1p63}}, .expected = INFINITY},
    {"infinity less infinity", .even = {{INFINITY, 1}}, .odd = {{INFINITY, -1}}, .expected = NAN},
    {"infinity times a denormal number", .even = {{INFINITY, 0x1p-127}}, .expected = NAN},
    {"NaN", .even = {{NAN, 1}}, .expected = NAN},
    {"even and odd are separate sums", .even = {{0x1p24, 1}, {1, 1}}, .odd = {{-0x1p24, 1}}},
    {"C comes last", .c = 0x1p24f, .even = {{-0x1p24, 1}}, .odd = {{1, 1}}, .expected = 1},
    {"C does not join the chain", .c = 0x1p24f, .even = {{1, 1}}, .odd = {{1, 1}},
     .expected = 0x1.000002p24f},
};

static lgv_bf16 cut(double x) { return (lgv_bf16)(to_bits((float)x) >> 16); }

static void single_sums_are_as_found_by_hand(void **state) {
  (void)state;
  static lgv_bf16 a[2 * LGV_TILE], b[2 * LGV_TILE];
  static float c[1024];
  const int32_t at = 0;
  lgv_block_product g = {.steps = 1, .a = a, .b = b, .a_at = &at, .b_at = &at, .c = c, .add = true};
  g.a_next = g.b_next = LGV_TILE;
  const lgv_kernel_set *set;
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++)
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
      const single *s = &singles[i];
      for (int k = 0; k < 16; k++) { /* row 1 of A, column 2 of B */
        term even = k < 2 && s->even[k].a != 0 ? s->even[k] : s->rest;
        term odd = k < 2 && s->odd[k].a != 0 ? s->odd[k] : s->rest;
        a[32 + 2 * k] = cut(even.a);
        a[32 + 2 * k + 1] = cut(odd.a);
        b[32 * k + 4] = cut(even.b);
        b[32 * k + 5] = cut(odd.b);
      }
      c[18] = s->c;
      set->block(&g);
      if (!same_bits(c[18], s->expected))
        fail_msg("%s: %s: %a, not %a", set->name, s->what, (double)c[18], (double)s->expected);
    }
}

/* ---- The caller ---- */

#if defined(__SSE2__)
enum { ROUND_UP = 2 << 13, FLAGS = 0x3f, ODD_MODES = 3 };
static const uint64_t odd_modes[ODD_MODES] = {0x1f80 | ROUND_UP, 0x1fc0 | 0x8000, 0x0000 | 0x4000};
#elif defined(__aarch64__)
enum { ODD_MODES = 2 };
static const uint64_t odd_modes[ODD_MODES] = {1 << 22, 1 << 24};
#else
enum { ODD_MODES = 0 };
static const uint64_t odd_modes[1];
#endif

/* One rounds up, one flushes, one rounds down and traps every exception. */
static void the_mode_of_the_caller_neither_matters_nor_changes(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  float defined[C_SIZE];
  for (int class = 0; class < NUMBER_CLASSES; class ++) {
    lgv_rng_seed(&rng, 5, "test.block");
    random_block r = make_block(2, class, true, true, true);
    define_block(&r.g, defined);
    for (size_t n = 0; (set = lgv__kernels_at(n)); n++)
      for (int m = 0; m < ODD_MODES; m++) {
        reset_c(&r);
        uint64_t before = lgv__mode_begin(odd_modes[m]);
        set->block(&r.g);
        uint64_t after = lgv__fp_mode();
        lgv__flush_end(before);
        assert_int_equal(after, odd_modes[m]);
        if (!same_floats(r.c, defined, C_SIZE)) fail_msg("%s: mode %d matters", set->name, m);
      }
    free_block(&r);
  }
}

typedef struct worker {
  pthread_t thread;
  const lgv_kernel_set *set;
  random_block r;
  float defined[C_SIZE];
  int wrong;
} worker;

/* Products within nested passes, after them, and without any. */
static void *work(void *context) {
  worker *w = context;
  for (int round = 0; round < 60; round++) {
    int depth = round % 3;
    for (int i = 0; i < depth; i++) lgv__block_begin();
    for (int i = 0; i <= depth; i++) {
      reset_c(&w->r);
      w->set->block(&w->r.g);
      w->wrong += !same_floats(w->r.c, w->defined, C_SIZE);
      if (i < depth) lgv__block_end();
    }
  }
  return NULL;
}

static void threads_do_not_disturb_one_another(void **state) {
  (void)state;
  enum { THREADS = 4 };
  static worker workers[THREADS];
  const lgv_kernel_set *set;
  for (size_t n = 0; (set = lgv__kernels_at(n)); n++) {
    for (int t = 0; t < THREADS; t++) {
      worker *w = &workers[t];
      lgv_rng_seed(&rng, (uint64_t)t, "test.block");
      *w = (worker){.set = set, .r = make_block(1 + t, NORMAL_NUMBERS, t & 1, t & 2, true)};
      define_block(&w->r.g, w->defined);
      assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
    }
    for (int t = 0; t < THREADS; t++) {
      pthread_join(workers[t].thread, NULL);
      assert_int_equal(workers[t].wrong, 0);
      free_block(&workers[t].r);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_set_has_the_bits_of_the_definition),
      cmocka_unit_test(some_rows_have_the_bits_of_all),
      cmocka_unit_test(ends_of_blocks_are_as_defined),
      cmocka_unit_test(sums_are_near_the_true_ones),
      cmocka_unit_test(single_sums_are_as_found_by_hand),
      cmocka_unit_test(the_mode_of_the_caller_neither_matters_nor_changes),
      cmocka_unit_test(threads_do_not_disturb_one_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
