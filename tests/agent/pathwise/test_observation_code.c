/* Codes of observations: which looks share a name, at every level, and when the level rises. */
#include "agent/pathwise/observation_code.h"
#include "base/arena.h"
#include "replay/replay.h"
#include "run_helpers.h"

#include <math.h>
#include <stdlib.h>

typedef struct rig {
  lgv_env_spec env;
  observation_code code;
  lgv_arena arena;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *r = context;
  lgv__observation_code_layout(&r->code, &r->env, layout);
}

static void rig_open(rig *r, lgv_env_spec env) {
  lgv_error err = {0};
  *r = (rig){.env = env};
  r->env.size = sizeof r->env;
  r->env.actions = lgv_discrete(2);
  assert_int_equal(lgv__arena_build(&r->arena, layout_rig, r, "a test", &err), LGV_OK);
  lgv__observation_code_open(&r->code);
}

static void rig_close(rig *r) { lgv__arena_free(&r->arena); }

static lgv_env_spec vectors(int32_t length) { return (lgv_env_spec){.obs_shape = {length, 1, 1}}; }

static lgv_env_spec pictures(int32_t height, int32_t width, int32_t channels) {
  return (lgv_env_spec){.obs_shape = {height, width, channels}};
}

static uint64_t name_of(const rig *r, const void *data) {
  return lgv__observation_code(&r->code, data);
}

static void see(rig *r, const void *data) { lgv__observation_code_see(&r->code, data); }

static void set_level(rig *r, int64_t level) {
  lgv__observation_code_restart(&r->code);
  while (r->code.count[CODE_LEVEL] < level) lgv__observation_code_coarsen(&r->code);
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void assert_distinct(uint64_t *names, size_t count) {
  qsort(names, count, sizeof *names, compare);
  for (size_t i = 1; i < count; i++) assert_true(names[i] != names[i - 1]);
}

/* ---- exact names ---- */

/* 200,000 names of 64 bits: two are equal by chance with probability 1e-9. */
static void indices_have_names_of_their_own(void **state) {
  (void)state;
  enum { COUNT = 200000 };
  uint64_t *names = malloc(COUNT * sizeof *names);
  const lgv_obs_form forms[] = {LGV_FORM_ONE_HOT, LGV_FORM_THERMOMETER};
  for (int k = 0; k < 2; k++) {
    rig r;
    rig_open(&r, (lgv_env_spec){.obs_form = forms[k], .obs_shape = {COUNT, 1, 1}});
    for (int32_t i = 0; i < COUNT; i++) {
      int32_t index = i - 1, again = index; /* -1: nothing is set */
      names[i] = name_of(&r, &index);
      assert_true(names[i] == name_of(&r, &again));
    }
    assert_distinct(names, COUNT);
    assert_false(lgv__observation_code_is_too_fine(&r.code, 1 << 30));
    rig_close(&r);
  }
  free(names);
}

/* Low bits choose the slots of a table: neighbors must not fill them one after the other. Of 1024
 * names in 1024 places, 1 - 1/e are taken: 647 +- 5 x 10. */
static void low_bits_of_names_are_spread(void **state) {
  (void)state;
  rig r;
  bool taken[1024] = {false};
  int count = 0;
  rig_open(&r, (lgv_env_spec){.obs_form = LGV_FORM_ONE_HOT, .obs_shape = {1024, 1, 1}});
  for (int32_t i = 0; i < 1024; i++) taken[name_of(&r, &i) % 1024] = true;
  for (int i = 0; i < 1024; i++) count += taken[i];
  assert_in_range(count, 597, 697);
  rig_close(&r);
}

/* All vectors over {0, 1, 2} of length 1 to 9, and over bytes: every number counts, and its place.
 */
static void different_vectors_have_different_names(void **state) {
  (void)state;
  for (int kind = LGV_OBS_FLOAT; kind <= LGV_OBS_BYTE; kind++)
    for (int32_t length = 1; length <= 9; length++) {
      rig r;
      size_t count = (size_t)lround(pow(3, length));
      uint64_t *names = malloc(count * sizeof *names);
      lgv_env_spec env = vectors(length);
      env.obs_kind = (lgv_obs_kind)kind;
      rig_open(&r, env);
      for (size_t i = 0; i < count; i++) {
        float x[9];
        uint8_t bytes[9];
        size_t rest = i;
        for (int k = 0; k < length && k < 9; k++, rest /= 3)
          x[k] = (float)(rest % 3), bytes[k] = (uint8_t)(rest % 3);
        const void *data = kind == LGV_OBS_BYTE ? (const void *)bytes : x;
        names[i] = name_of(&r, data);
        assert_true(names[i] == name_of(&r, data));
      }
      assert_distinct(names, count);
      free(names);
      rig_close(&r);
    }
}

/* ---- bins ---- */

static void widths_follow_the_formula(void **state) {
  (void)state;
  rig r;
  const float low[2] = {-1, 10}, high[2] = {3, 10.5f};
  rig_open(&r, vectors(2));
  see(&r, low);
  see(&r, high);
  for (int level = 1; level <= 21; level++) {
    lgv__observation_code_coarsen(&r.code);
    double bins = 64 / pow(2, (level - 1) / 4.0);
    assert_int_equal(r.code.count[CODE_LEVEL], level);
    assert_float_equal(r.code.width[0], 4 / bins, 1e-5);
    assert_float_equal(r.code.width[1], 0.5 / bins, 1e-5);
  }
  assert_float_equal(r.code.width[0], 2, 1e-6); /* 2 bins */
  assert_false(lgv__observation_code_is_too_fine(&r.code, 1 << 30));
  rig_close(&r);
}

/* After a restart the widths are those of the new range, and never smaller than before. */
static void widths_never_shrink(void **state) {
  (void)state;
  rig r;
  const float low = 0, high = 1, wide = 8;
  rig_open(&r, vectors(1));
  see(&r, &low);
  see(&r, &high);
  set_level(&r, 5);
  assert_float_equal(r.code.width[0], 1.0 / 32, 1e-6);
  set_level(&r, 1);
  assert_float_equal(r.code.width[0], 1.0 / 32, 1e-6);
  see(&r, &wide);
  assert_float_equal(r.code.width[0], 1.0 / 32, 1e-6);
  set_level(&r, 1);
  assert_float_equal(r.code.width[0], 8.0 / 64, 1e-6);
  rig_close(&r);
}

/* On a line, the looks with one name are neighbors, and a higher level has no more names. */
static void bins_are_intervals_that_widen(void **state) {
  (void)state;
  enum { POINTS = 4096 };
  rig r;
  const float low = -0.7f, high = 1.3f;
  int last = POINTS;
  rig_open(&r, vectors(1));
  see(&r, &low);
  see(&r, &high);
  for (int level = 1; level <= 21; level++) {
    uint64_t names[80];
    int count = 0;
    lgv__observation_code_coarsen(&r.code);
    for (int i = 0; i < POINTS; i++) {
      float x = -0.7f + 2.0f * (float)i / POINTS;
      uint64_t name = name_of(&r, &x);
      if (count == 0 || name != names[count - 1]) names[count++] = name;
    }
    int bins = (int)ceil(64 / pow(2, (level - 1) / 4.0));
    assert_in_range(count, bins - 1, bins + 1);
    assert_true(count <= last);
    last = count;
    assert_distinct(names, (size_t)count);
  }
  rig_close(&r);
}

/* Of two numbers, in the unit square: names are equal where both bins are. */
static void two_numbers_share_a_name_where_both_bins_agree(void **state) {
  (void)state;
  rig r;
  lgv_rng rng;
  const float low[2] = {0, 0}, high[2] = {1, 4};
  rig_open(&r, vectors(2));
  lgv_rng_seed(&rng, 1, "test");
  see(&r, low);
  see(&r, high);
  for (int level = 1; level <= 21; level += 4) {
    int equal = 0;
    set_level(&r, level);
    for (int i = 0; i < 20000; i++) {
      float x[2][2];
      int64_t bin[2][2];
      for (int k = 0; k < 4; k++) {
        float u = (float)lgv_rng_uniform(&rng), near = k < 2 ? 0 : 0.1f * u - 0.05f;
        x[k / 2][k % 2] = k < 2 ? u * high[k] : x[0][k % 2] + near * high[k % 2];
        bin[k / 2][k % 2] = (int64_t)floor((double)x[k / 2][k % 2] / (double)r.code.width[k % 2]);
      }
      bool same = bin[0][0] == bin[1][0] && bin[0][1] == bin[1][1];
      assert_int_equal(name_of(&r, x[0]) == name_of(&r, x[1]), same);
      equal += same;
    }
    assert_true(equal > 20 && equal < 20000);
  }
  rig_close(&r);
}

/* Numbers far outside of the range seen have bins too, those of each side others. */
static void no_number_is_too_large_for_a_bin(void **state) {
  (void)state;
  rig r;
  const float low = 0, high = 1e-3f, up = 3e38f, down = -3e38f;
  rig_open(&r, vectors(1));
  see(&r, &low);
  see(&r, &high);
  set_level(&r, 1);
  assert_true(name_of(&r, &up) != name_of(&r, &down));
  assert_true(name_of(&r, &up) != name_of(&r, &low));
  rig_close(&r);
}

/* A number that has not varied takes no part in names above level 0. */
static void a_number_without_a_range_has_one_bin(void **state) {
  (void)state;
  rig r;
  const float a[2] = {0, 5}, b[2] = {1, 5}, c[2] = {0, 9};
  rig_open(&r, vectors(2));
  see(&r, a);
  see(&r, b);
  assert_true(name_of(&r, a) != name_of(&r, c));
  set_level(&r, 1);
  assert_true(r.code.width[1] == 0);
  assert_true(name_of(&r, a) == name_of(&r, c));
  assert_true(name_of(&r, a) != name_of(&r, b));
  rig_close(&r);
}

/* ---- pictures ---- */

enum { SIDE = 10, PIXELS = SIDE * SIDE };

static void look(float *data, int bright, double noise, lgv_rng *rng) {
  for (int i = 0; i < PIXELS; i++) data[i] = (float)((i == bright) + noise * lgv_rng_normal(rng));
}

/* The range reaches at most 0.3 beyond 0 and 1, so that the middle is 6 deviations from both. */
static void the_threshold_removes_noise(void **state) {
  (void)state;
  enum { LOOKS = 100 };
  rig r;
  lgv_rng rng;
  float data[PIXELS];
  uint64_t names[PIXELS];
  rig_open(&r, pictures(SIDE, SIDE, 1));
  lgv_rng_seed(&rng, 1, "test");
  for (int i = 0; i < LOOKS * PIXELS / 10; i++) {
    look(data, i % PIXELS, 0.05, &rng);
    see(&r, data);
  }
  set_level(&r, 1);
  for (int k = 0; k < PIXELS; k++) {
    look(data, k, 0, &rng);
    names[k] = name_of(&r, data);
    for (int i = 0; i < LOOKS; i++) {
      look(data, k, 0.05, &rng);
      assert_true(name_of(&r, data) == names[k]);
    }
  }
  assert_distinct(names, PIXELS);
  rig_close(&r);
}

/* At level 2 only the square counts in which a bright pixel lies, at level 3 the larger square. One
 * pixel of 4 is the second quarter, one of 16 would be in the first: there a block of 2 x 2 moves.
 */
static void squares_hide_where_a_pixel_is(void **state) {
  (void)state;
  for (int level = 2; level <= 3; level++) {
    rig r;
    int side = 1 << (level - 1), block = side / 2;
    float zero[PIXELS] = {0}, one[PIXELS], data[PIXELS];
    uint64_t names[PIXELS];
    for (int i = 0; i < PIXELS; i++) one[i] = 1;
    rig_open(&r, pictures(SIDE, SIDE, 1));
    see(&r, zero);
    see(&r, one);
    set_level(&r, level);
    for (int k = 0; k < PIXELS; k++) {
      memset(data, 0, sizeof data);
      int row = k / SIDE / block * block, column = k % SIDE / block * block;
      for (int y = row; y < row + block; y++)
        for (int x = column; x < column + block; x++) data[y * SIDE + x] = 1;
      names[k] = name_of(&r, data);
    }
    for (int k = 0; k < PIXELS * PIXELS; k++) {
      int i = k / PIXELS, j = k % PIXELS, a = i / SIDE / side, b = j / SIDE / side;
      bool same = a == b && i % SIDE / side == j % SIDE / side;
      assert_int_equal(names[i] == names[j], same);
    }
    rig_close(&r);
  }
}

/* The sides of squares at levels 1, 2, ...: each row of a picture is bright up to a place, which
 * the name shows only where the gray level of a square changes. */
static void check_sides(int height, int width, const int *sides, int levels) {
  enum { MOST = 48 };
  for (int level = 1; level <= levels; level++) {
    rig r;
    float data[MOST * MOST] = {0};
    rig_open(&r, pictures(height, width, 1));
    see(&r, data);
    for (int i = 0; i < height * width; i++) data[i] = 1;
    see(&r, data);
    set_level(&r, level);
    uint64_t before = name_of(&r, data);
    int side = sides[level - 1];
    for (int bright = width - 1; bright >= 0; bright--) {
      for (int y = 0; y < height; y++) data[y * width + bright] = 0;
      int first = bright / side * side, columns = side < width - first ? side : width - first;
      int grays = level == 1 ? 2 : 4, was = grays * (bright + 1 - first) / columns,
          is = grays * (bright - first) / columns;
      uint64_t name = name_of(&r, data);
      assert_int_equal(name == before, (was < grays ? was : grays - 1) == is);
      before = name;
    }
    rig_close(&r);
  }
}

static void sides_double_and_those_of_large_pictures_grow_more_slowly(void **state) {
  (void)state;
  static const int small[] = {1, 2, 4, 8, 16, 32}, large[] = {1, 2, 3, 4, 6, 8, 11, 16, 23, 32};
  check_sides(35, 35, small, 6);
  check_sides(36, 35, small, 6);
  check_sides(35, 36, small, 6);
  check_sides(36, 36, large, 10);
  check_sides(48, 48, large, 10);
}

/* Above level 0 the older pictures of a stack take no part in its name. */
static void only_the_newest_of_a_stack_counts(void **state) {
  (void)state;
  for (int level = 0; level <= 3; level++)
    for (int changed = 0; changed < 6; changed++) { /* stacks of 3 pictures with 2 channels */
      rig r;
      lgv_env_spec env = pictures(2, 2, 6);
      env.frames = 3;
      rig_open(&r, env);
      float data[24] = {0}, other[24] = {0};
      see(&r, data);
      for (int i = 0; i < 4; i++) other[6 * i + changed] = 1;
      see(&r, other);
      set_level(&r, level);
      bool counts = level == 0 || changed >= 4;
      assert_int_equal(name_of(&r, data) != name_of(&r, other), counts);
      rig_close(&r);
    }
}

/* Quarters of the range: [0, 1/4), [1/4, 1/2), ... of the means of squares. */
static void squares_have_four_grays(void **state) {
  (void)state;
  rig r;
  const float gray[] = {0, 0.2f, 0.3f, 0.45f, 0.55f, 0.7f, 0.8f, 1};
  float data[16];
  uint64_t names[8];
  rig_open(&r, pictures(4, 4, 1));
  for (int k = 0; k < 8; k++) {
    for (int i = 0; i < 16; i++) data[i] = 8 * gray[k] - 3;
    see(&r, data);
  }
  set_level(&r, 2);
  for (int k = 0; k < 8; k++) {
    for (int i = 0; i < 16; i++) data[i] = 8 * gray[k] - 3;
    names[k] = name_of(&r, data);
  }
  for (int k = 1; k < 8; k++) assert_int_equal(names[k] == names[k - 1], k % 2);
  rig_close(&r);
}

/* Each channel has its own range, and so has each number beside the picture. */
static void ranges_are_those_of_channels_and_numbers(void **state) {
  (void)state;
  rig r;
  struct {
    uint8_t pixel[2 * 2 * 2];
    float vector[1];
  } a = {{10, 100, 20, 110, 10, 100, 30, 200}, {-4}}, b = {{0, 150, 20, 110, 10, 100, 30, 7}, {4}};
  lgv_env_spec env = pictures(2, 2, 2);
  env.obs_kind = LGV_OBS_BYTE;
  env.vector = 1;
  rig_open(&r, env);
  see(&r, &a);
  see(&r, &b);
  const float low[] = {0, 7, -4}, high[] = {30, 200, 4};
  for (int i = 0; i < 3; i++) {
    assert_float_equal(r.code.low[i], low[i], 0);
    assert_float_equal(r.code.high[i], high[i], 0);
  }
  set_level(&r, 1);
  assert_float_equal(r.code.width[0], 8.0 / 64, 1e-6);
  uint64_t name = name_of(&r, &a);
  a.pixel[0] = 14; /* below 15, the middle of the first channel */
  assert_true(name_of(&r, &a) == name);
  a.pixel[0] = 16;
  assert_true(name_of(&r, &a) != name);
  a.pixel[0] = 10, a.pixel[1] = 104;
  assert_true(name_of(&r, &a) != name);
  a.pixel[1] = 100, a.vector[0] = -3.9f;
  assert_true(name_of(&r, &a) == name);
  a.vector[0] = -3.8f;
  assert_true(name_of(&r, &a) != name);
  rig_close(&r);
}

/* ---- levels ---- */

/* Looks of which `fresh` are new; then the question. */
static bool ask(rig *r, int looks, int fresh, int64_t cells) {
  for (int i = 0; i < looks; i++) lgv__observation_code_look(&r->code, i < fresh);
  return lgv__observation_code_is_too_fine(&r->code, cells);
}

/* The first window: 1024 looks, fewer than 2 % of them repeats, that is at most 20. */
static void the_first_window_must_be_new_nearly_all(void **state) {
  (void)state;
  const lgv_env_spec envs[] = {vectors(2), pictures(4, 4, 1)};
  for (int k = 0; k < 2; k++) {
    rig r;
    rig_open(&r, envs[k]);
    assert_false(ask(&r, 1023, 1023, 1 << 20));
    assert_true(ask(&r, 1, 1, 1 << 20));
    rig_close(&r);
    rig_open(&r, envs[k]);
    assert_true(ask(&r, 1024, 1024 - 20, 1 << 20));
    rig_close(&r);
    rig_open(&r, envs[k]);
    assert_false(ask(&r, 1024, 1024 - 21, 1 << 20));
    rig_close(&r);
  }
}

/* Later windows: 4096 looks, more than half of them new, of large pictures more than a quarter;
 * each begins where the last one ended. */
static void later_windows_must_have_a_share_that_is_new(void **state) {
  (void)state;
  const lgv_env_spec envs[] = {vectors(2), pictures(4, 4, 1), pictures(4, 4, 1),
                               pictures(36, 36, 1)};
  for (int k = 0; k < 4; k++) {
    rig r;
    int share = k == 3 ? 4 : 2;
    rig_open(&r, envs[k]);
    if (k == 2) lgv__observation_code_coarsen(&r.code); /* pictures: the same above level 0 */
    assert_false(ask(&r, 1024, 0, 10));
    assert_false(ask(&r, 4095, 4095, 10));
    assert_true(ask(&r, 1, 1, 10));
    assert_false(ask(&r, 0, 0, 10));
    assert_false(ask(&r, 4096, 4096 / share, 10));
    assert_true(ask(&r, 4096, 4096 / share + 1, 10));
    assert_true(ask(&r, 10000, 10000 / share + 1, 10)); /* a long episode */
    rig_close(&r);
  }
}

/* Vectors above level 0: at most max(128, sqrt(looks)) cells, asked at any time. */
static void cells_of_vectors_have_a_bound(void **state) {
  (void)state;
  rig r;
  rig_open(&r, vectors(2));
  lgv__observation_code_coarsen(&r.code);
  assert_false(ask(&r, 100, 100, 128));
  assert_true(ask(&r, 0, 0, 129));
  assert_false(ask(&r, 40000 - 100, 0, 200));
  assert_true(ask(&r, 0, 0, 201));
  rig_close(&r);
}

static void a_restart_concerns_vectors_only(void **state) {
  (void)state;
  rig r;
  rig_open(&r, vectors(2));
  lgv__observation_code_coarsen(&r.code);
  lgv__observation_code_restart(&r.code);
  assert_int_equal(r.code.count[CODE_LEVEL], 0);
  rig_close(&r);
  rig_open(&r, pictures(4, 4, 1));
  lgv__observation_code_coarsen(&r.code);
  lgv__observation_code_restart(&r.code);
  assert_int_equal(r.code.count[CODE_LEVEL], 1);
  rig_close(&r);
}

/* ---- faults ---- */

static const char *fault_of(const rig *r) {
  const char *fault = NULL;
  for (size_t i = 0; i < r->arena.table.n_blocks && !fault; i++) {
    const lgv_block *b = &r->arena.table.blocks[i];
    if (b->check) fault = b->check(b->check_context);
  }
  return fault;
}

static void broken_codes_are_found(void **state) {
  (void)state;
  rig r;
  rig_open(&r, vectors(2));
  assert_null(fault_of(&r));
  float *const numbers[] = {&r.code.low[1], &r.code.high[0], &r.code.width[1]};
  for (int i = 0; i < 3; i++) {
    float kept = *numbers[i];
    *numbers[i] = NAN;
    assert_non_null(fault_of(&r));
    *numbers[i] = kept;
    assert_null(fault_of(&r));
  }
  r.code.width[0] = -1;
  assert_string_equal(fault_of(&r), "a width that cannot be");
  r.code.width[0] = 0;
  r.code.count[CODE_LEVEL] = 22;
  assert_string_equal(fault_of(&r), "counter out of range");
  r.code.count[CODE_LEVEL] = 21;
  assert_null(fault_of(&r));
  r.code.count[CODE_NEW] = -1;
  assert_string_equal(fault_of(&r), "counter out of range");
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_have_names_of_their_own),
      cmocka_unit_test(low_bits_of_names_are_spread),
      cmocka_unit_test(different_vectors_have_different_names),
      cmocka_unit_test(widths_follow_the_formula),
      cmocka_unit_test(widths_never_shrink),
      cmocka_unit_test(bins_are_intervals_that_widen),
      cmocka_unit_test(two_numbers_share_a_name_where_both_bins_agree),
      cmocka_unit_test(no_number_is_too_large_for_a_bin),
      cmocka_unit_test(a_number_without_a_range_has_one_bin),
      cmocka_unit_test(the_threshold_removes_noise),
      cmocka_unit_test(squares_hide_where_a_pixel_is),
      cmocka_unit_test(sides_double_and_those_of_large_pictures_grow_more_slowly),
      cmocka_unit_test(only_the_newest_of_a_stack_counts),
      cmocka_unit_test(squares_have_four_grays),
      cmocka_unit_test(ranges_are_those_of_channels_and_numbers),
      cmocka_unit_test(the_first_window_must_be_new_nearly_all),
      cmocka_unit_test(later_windows_must_have_a_share_that_is_new),
      cmocka_unit_test(cells_of_vectors_have_a_bound),
      cmocka_unit_test(a_restart_concerns_vectors_only),
      cmocka_unit_test(broken_codes_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
