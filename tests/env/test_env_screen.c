/* Pictures of the Atari pipeline: the resize against OpenCV's results for the same pictures (see
 * fixtures/screens.py), and properties that hold independently of OpenCV. */
#include "base/arena.h"
#include "base/stack.h"
#include "env/screen.h"
#include "env_helpers.h"

#include "fixtures/screens.h"

enum { WIDTH = 160, MOST = 250 * WIDTH, SIZE = 84 };

typedef struct sized {
  screen_resize resize;
  int32_t height, width, size;
  lgv_arena arena;
} sized;

static void lay_out(void *context, lgv_layout *layout) {
  sized *s = context;
  lgv__screen_layout(&s->resize, s->height, s->width, s->size, layout);
}

static void open_sized(sized *s, int32_t height, int32_t width, int32_t size) {
  lgv_error err = {0};
  *s = (sized){.height = height, .width = width, .size = size};
  assert_int_equal(lgv__arena_build(&s->arena, lay_out, s, "screen", &err), LGV_OK);
  lgv__screen_open(&s->resize);
}

static uint64_t fnv(const uint8_t *data, size_t count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; i++) hash = (hash ^ data[i]) * 0x100000001b3;
  return hash;
}

/* ---- Against OpenCV ---- */

static void fill_noise(uint8_t *out, int32_t count) {
  uint32_t bits = 1;
  for (int32_t i = 0; i < count; i++) {
    bits = 1664525 * bits + 1013904223;
    out[i] = (uint8_t)(bits >> 24);
  }
}

enum { NOISE, FEW_VALUES, BLOCKS, KINDS };

static void make_picture(int kind, int32_t height, uint8_t *out) {
  static uint8_t noise[MOST];
  fill_noise(noise, height * WIDTH);
  for (int32_t y = 0; y < height; y++)
    for (int32_t x = 0; x < WIDTH; x++) {
      uint8_t here = noise[y * WIDTH + x], block = noise[y / 7 * WIDTH + x / 5];
      *out++ = kind == NOISE ? here : kind == FEW_VALUES ? (uint8_t)(here / 64 * 60) : block;
    }
}

static void equals_opencv_at_every_height(void **state) {
  (void)state;
  static const int32_t heights[] = {210, 214, 220, 230, 250};
  static uint8_t picture[MOST], small[SIZE * SIZE];
  for (int h = 0; h < 5; h++) {
    sized s;
    open_sized(&s, heights[h], WIDTH, SIZE);
    for (int kind = 0; kind < KINDS; kind++) {
      make_picture(kind, heights[h], picture);
      lgv__screen_shrink(&s.resize, picture, small);
      if (fnv(small, sizeof small) != made_hashes[h * KINDS + kind])
        fail_msg("height %d, kind %d: other bytes than OpenCV's", heights[h], kind);
    }
    lgv__arena_free(&s.arena);
  }
}

static void expand(const uint16_t *runs, size_t count, uint8_t *out) {
  for (size_t i = 0; i < count; i += 2) {
    memset(out, runs[i + 1], runs[i]);
    out += runs[i];
  }
}

static void equals_opencv_on_screens_of_games(void **state) {
  (void)state;
  static uint8_t picture[MOST], small[SIZE * SIZE];
  sized s;
  open_sized(&s, 210, WIDTH, SIZE);
  expand(freeway_runs, sizeof freeway_runs / sizeof *freeway_runs, picture);
  lgv__screen_shrink(&s.resize, picture, small);
  assert_true(fnv(small, sizeof small) == freeway_hash);
  expand(qbert_runs, sizeof qbert_runs / sizeof *qbert_runs, picture);
  lgv__screen_shrink(&s.resize, picture, small);
  assert_true(fnv(small, sizeof small) == qbert_hash);
  lgv__arena_free(&s.arena);
}

/* ---- By itself ---- */

/* Other numbers of taps: resizing from 30 to 7 takes 6. */
static void a_small_pixel_is_the_mean_of_its_area(void **state) {
  (void)state;
  static const int32_t sizes[][3] = {{210, 160, 84}, {30, 30, 7}, {250, 160, 84}, {9, 8, 5}};
  static uint8_t picture[MOST], small[SIZE * SIZE];
  fill_noise(picture, MOST);
  for (int k = 0; k < 4; k++) {
    int32_t height = sizes[k][0], width = sizes[k][1], size = sizes[k][2];
    sized s;
    open_sized(&s, height, width, size);
    lgv__screen_shrink(&s.resize, picture, small);
    for (int32_t i = 0; i < size; i++)
      for (int32_t j = 0; j < size; j++) {
        double top = (double)i * height / size, left = (double)j * width / size;
        double bottom = top + (double)height / size, right = left + (double)width / size, sum = 0;
        for (int32_t y = 0; y < height; y++)
          for (int32_t x = 0; x < width; x++) {
            double high = fmin(bottom, y + 1) - fmax(top, y);
            double wide = fmin(right, x + 1) - fmax(left, x);
            if (high > 0 && wide > 0) sum += high * wide * picture[y * width + x];
          }
        double mean = sum / ((bottom - top) * (right - left));
        assert_near(small[i * size + j], mean, 0.5001);
      }
    lgv__arena_free(&s.arena);
  }
}

static void a_flat_picture_stays_flat(void **state) {
  (void)state;
  static uint8_t picture[MOST], small[SIZE * SIZE];
  sized s;
  open_sized(&s, 210, WIDTH, SIZE);
  for (int value = 0; value < 256; value++) {
    memset(picture, value, sizeof picture);
    lgv__screen_shrink(&s.resize, picture, small);
    for (int i = 0; i < SIZE * SIZE; i++) assert_int_equal(small[i], value);
  }
  lgv__arena_free(&s.arena);
}

static void the_same_size_changes_nothing(void **state) {
  (void)state;
  static uint8_t picture[WIDTH * WIDTH], same[WIDTH * WIDTH];
  fill_noise(picture, WIDTH * WIDTH);
  sized s;
  open_sized(&s, WIDTH, WIDTH, WIDTH);
  lgv__screen_shrink(&s.resize, picture, same);
  assert_memory_equal(picture, same, sizeof same);
  lgv__arena_free(&s.arena);
}

static void the_maximum_is_taken_by_pixel(void **state) {
  (void)state;
  uint8_t a[] = {0, 255, 3, 128}, b[] = {1, 254, 3, 127}, most[4];
  lgv__screen_max(a, b, 4, most);
  assert_memory_equal(most, ((uint8_t[]){1, 255, 3, 128}), 4);
}

static void pictures_are_interleaved_oldest_first(void **state) {
  (void)state;
  const uint8_t a[] = {1, 2}, b[] = {3, 4}, c[] = {5, 6}, d[] = {7, 8};
  const uint8_t *const pictures[] = {a, b, c, d};
  uint8_t out[8];
  lgv__interleave(pictures, 4, 2, 1, out);
  assert_memory_equal(out, ((uint8_t[]){1, 3, 5, 7, 2, 4, 6, 8}), 8);
  lgv__interleave(pictures, 3, 2, 1, out);
  assert_memory_equal(out, ((uint8_t[]){1, 3, 5, 2, 4, 6}), 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equals_opencv_at_every_height),
      cmocka_unit_test(equals_opencv_on_screens_of_games),
      cmocka_unit_test(a_small_pixel_is_the_mean_of_its_area),
      cmocka_unit_test(a_flat_picture_stays_flat),
      cmocka_unit_test(the_same_size_changes_nothing),
      cmocka_unit_test(the_maximum_is_taken_by_pixel),
      cmocka_unit_test(pictures_are_interleaved_oldest_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
