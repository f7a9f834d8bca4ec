/* Lazy rows against what they stand for: dense Adam steps over all rows, dense copies. */
#include "run_helpers.h"

#include "base/arena.h"
#include "math/kernels.h"
#include "optim/lazy_adam.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 40, WIDTH = 19, ALL = ROWS * WIDTH };

typedef struct rig {
  const lgv_optim_type *adam;
  optim_params p;
  lazy_rows lazy;
  lgv_arena arena;
  float w[ALL], m[ALL], v[ALL], target[ALL], g[ALL]; /* the dense twin */
  int64_t t;
} rig;

static void lay_out(void *context, lgv_layout *layout) {
  rig *r = context;
  lgv__lazy_rows_layout(&r->lazy, ROWS, WIDTH, r->adam, &r->p, layout);
}

static const lgv_optim_type *find(const char *name) {
  for (const lgv_optim_type *const *o = lgv__kernels()->optimizers; *o; o++)
    if (strcmp((*o)->name, name) == 0) return *o;
  return NULL;
}

static optim_params usual(void) {
  return (optim_params){.lr = 1e-2, .alpha1 = 0.9, .alpha2 = 0.999, .eps = 1e-8};
}

static rig *open_rig(optim_params p, lgv_rng *rng) {
  rig *r = calloc(1, sizeof *r);
  lgv_error err = {0};
  r->adam = find("adam");
  r->p = p;
  assert_int_equal(lgv__arena_build(&r->arena, lay_out, r, "a test", &err), LGV_OK);
  for (int i = 0; i < ALL; i++) r->w[i] = r->target[i] = (float)lgv_rng_normal(rng);
  memcpy(r->lazy.w, r->w, sizeof r->w);
  lgv__lazy_rows_open(&r->lazy);
  return r;
}

static void close_rig(rig *r) {
  lgv__arena_free(&r->arena);
  free(r);
}

/* Rows are drawn by the cube of a uniform number: some nearly always, some hardly ever. */
static int64_t draw_row(lgv_rng *rng) {
  double u = lgv_rng_uniform(rng);
  return (int64_t)(u * u * u * ROWS);
}

static double worst(const float *x, const float *y, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; i++) {
    double error = fabs((double)x[i] - (double)y[i]);
    most = error > most ? error : most;
  }
  return most;
}

/* One update of both. size: of the gradients. Returns the largest difference of what was read. */
static double update(rig *r, lgv_rng *rng, double size, bool snapshot) {
  double most = 0;
  bool has[ROWS] = {0};
  memset(r->g, 0, sizeof r->g);
  for (int i = 0; i < 3; i++) {
    int64_t row = draw_row(rng), seen = draw_row(rng);
    const float *target = lgv__lazy_rows_target(&r->lazy, seen);
    most = fmax(most, worst(target, r->target + seen * WIDTH, WIDTH));
    most = fmax(most, worst(lgv__lazy_rows_online(&r->lazy, row), r->w + row * WIDTH, WIDTH));
    has[row] = true;
    for (int j = 0; j < WIDTH; j++) r->g[row * WIDTH + j] = (float)(size * lgv_rng_normal(rng));
  }
  if (snapshot) {
    lgv__lazy_rows_snapshot(&r->lazy);
    memcpy(r->target, r->w, sizeof r->w);
  }
  for (int row = 0; row < ROWS; row++)
    if (has[row]) lgv__lazy_rows_step(&r->lazy, row, r->g + row * WIDTH);
  lgv__lazy_rows_end(&r->lazy);
  lgv_optim_step step = {.count = ALL,
                         .w = r->w,
                         .g = r->g,
                         .slot = {r->m, r->v},
                         .t = ++r->t,
                         .lr_scale = 1,
                         .beta_scale = 1};
  r->adam->step(&r->p, &step);
  return most;
}

/* Parameters of size 1 to 4 move by up to lr = 0.01 a step, in 2000 steps; their roundings,
 * 2^-24 a step, add up to a few 1e-6. */
static void check(optim_params p, double size, int updates, double tolerance) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 11, "lazy");
  rig *r = open_rig(p, &rng);
  float start[ALL];
  memcpy(start, r->w, sizeof start);
  double most = 0;
  for (int i = 0; i < updates; i++) most = fmax(most, update(r, &rng, size, i % 7 == 0));
  for (int row = 0; row < ROWS; row++) {
    most = fmax(most, worst(lgv__lazy_rows_peek(&r->lazy, row, 3, 5), r->w + row * WIDTH + 3, 5));
    most = fmax(most, worst(lgv__lazy_rows_target(&r->lazy, row), r->target + row * WIDTH, WIDTH));
    most = fmax(most, worst(lgv__lazy_rows_online(&r->lazy, row), r->w + row * WIDTH, WIDTH));
  }
  assert_true(worst(start, r->w, ALL) > 5 * p.lr);
  if (!(most < tolerance)) fail_msg("they differ by %g, not %g at most", most, tolerance);
  close_rig(r);
}

static void lazy_rows_are_dense_adam(void **state) {
  (void)state;
  for (size_t k = 0; lgv__kernels_at(k); k++) {
    lgv__kernels_use(lgv__kernels_at(k));
    check(usual(), 1, 2000, 1e-5);
    check(usual(), 1e-3, 2000, 1e-5);
  }
  lgv__kernels_use(NULL);
}

/* Rows that sit out for longer than the horizon, bias corrections that are over and that have just
 * begun, momentum of every length, and gradients as small as eps. */
static void lazy_rows_are_dense_adam_for_other_settings(void **state) {
  (void)state;
  optim_params p = usual();
  double lost = p.lr / 100; /* the third order of the sum shows in first steps with sqrt(v) < eps */
  check(p, 1e-8, 1000, lost);
  p.alpha1 = 0;
  check(p, 1, 1000, 1e-5);
  p.alpha1 = 0.98;
  check(p, 1, 1000, 2e-5);
  p = usual();
  p.alpha2 = 0.9999;
  check(p, 1, 1000, 1e-5);
  p.eps = 1e-3;
  check(p, 1e-3, 1000, lost);
}

static void a_row_that_was_long_away_keeps_no_momentum(void **state) {
  (void)state;
  lgv_rng rng;
  lgv_rng_seed(&rng, 12, "lazy");
  rig *r = open_rig(usual(), &rng);
  for (int i = 0; i < 10; i++) update(r, &rng, 1, false);
  const float *before = lgv__lazy_rows_online(&r->lazy, 0);
  float kept[WIDTH];
  memcpy(kept, before, sizeof kept);
  for (int i = 0; i < 100000; i++) lgv__lazy_rows_end(&r->lazy);
  const float *after = lgv__lazy_rows_online(&r->lazy, 0);
  assert_true(worst(kept, after, WIDTH) > 1e-4);
  for (int j = 0; j < WIDTH; j++) assert_true(r->lazy.m[j] == 0 && isfinite(after[j]));
  close_rig(r);
}

static void peeking_changes_nothing(void **state) {
  (void)state;
  lgv_rng rng;
  lgv_rng_seed(&rng, 13, "lazy");
  rig *r = open_rig(usual(), &rng);
  for (int i = 0; i < 50; i++) update(r, &rng, 1, i % 7 == 0);
  float w[ALL];
  int64_t at[ROWS];
  memcpy(w, r->lazy.w, sizeof w);
  memcpy(at, r->lazy.at, sizeof at);
  for (int row = 0; row < ROWS; row++) lgv__lazy_rows_peek(&r->lazy, row, 0, WIDTH);
  assert_memory_equal(w, r->lazy.w, sizeof w);
  assert_memory_equal(at, r->lazy.at, sizeof at);
  close_rig(r);
}

static void only_plain_adam_can_be_lazy(void **state) {
  (void)state;
  optim_params p = usual();
  assert_true(lgv__lazy_rows_fit(find("adam"), &p));
  assert_false(lgv__lazy_rows_fit(find("rmsprop"), &p));
  assert_false(lgv__lazy_rows_fit(NULL, NULL));
  p.l2 = 1e-30;
  assert_false(lgv__lazy_rows_fit(find("adam"), &p));
  p = usual();
  p.compensated = true;
  assert_false(lgv__lazy_rows_fit(find("adam"), &p));
  p = usual();
  p.alpha1 = 0.9999; /* the steps grow while m / sqrt(v) does */
  assert_false(lgv__lazy_rows_fit(find("adam"), &p));
  p = usual();
  p.alpha2 = 0.9; /* v fades as fast as m */
  assert_false(lgv__lazy_rows_fit(find("adam"), &p));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lazy_rows_are_dense_adam),
      cmocka_unit_test(lazy_rows_are_dense_adam_for_other_settings),
      cmocka_unit_test(a_row_that_was_long_away_keeps_no_momentum),
      cmocka_unit_test(peeking_changes_nothing),
      cmocka_unit_test(only_plain_adam_can_be_lazy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
