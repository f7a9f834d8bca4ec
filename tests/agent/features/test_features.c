/* Feature maps: closed forms, lengths, sizes; and the inputs that they read. */
#include "agent/features/feature_input.h"
#include "base/arena.h"
#include "base/param.h"
#include "registry.h"
#include "run_helpers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096, MOST_INPUTS = 6 };

/* A map on its own. */
typedef struct opened {
  const lgv_feature_type *type;
  lgv_env_spec env;
  int64_t inputs, dim;
  _Alignas(16) unsigned char params[2048], self[LGV_FEATURE_STATE];
  lgv_arena arena;
} opened;

static void layout_map(void *context, lgv_layout *layout) {
  opened *o = context;
  if (o->type->layout) o->type->layout(o->self, o->params, &o->env, o->inputs, layout);
}

/* settings: "width=0.5 points=3" */
static lgv_status open_map(opened *o, const char *name, int64_t inputs, const char *settings,
                           lgv_error *err) {
  char text[256], *rest = text, *one;
  *o = (opened){.inputs = inputs};
  for (size_t i = 0; lgv__features[i]; i++)
    if (strcmp(lgv__features[i]->name, name) == 0) o->type = lgv__features[i];
  assert_true(o->type->params_size <= sizeof o->params);
  lgv__params_defaults(o->type->params, o->params);
  snprintf(text, sizeof text, "%s", settings);
  while ((one = strsep(&rest, " ")) && *one) {
    char *value = strchr(one, '=');
    *value++ = '\0';
    int row = lgv__params_find(o->type->params, one);
    assert_true(row >= 0);
    assert_int_equal(lgv__param_parse(&o->type->params[row], one, value, o->params, err), LGV_OK);
  }
  lgv_status status = o->type->dim(o->params, &o->env, inputs, &o->dim, err);
  if (status != LGV_OK) return status;
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  assert_int_equal(lgv__arena_build(&o->arena, layout_map, o, name, err), LGV_OK);
  if (o->type->open) assert_int_equal(o->type->open(o->self, &rng, err), LGV_OK);
  return LGV_OK;
}

static void close_map(opened *o) { lgv__arena_free(&o->arena); }

static void map_rows(const opened *o, const float *x, int64_t count, float *out) {
  lgv_error err = {0};
  assert_int_equal(o->type->map(o->self, x, count, out, &err), LGV_OK);
}

static double dot(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
  return sum;
}

/* ---- every map ---- */

static void features_are_bounded_and_rows_stand_alone(void **state) {
  (void)state;
  static float x[5 * MOST_INPUTS], all[5 * MOST], one[MOST];
  static const int64_t sizes[] = {1, 2, 4, 6};
  lgv_rng rng;
  lgv_rng_seed(&rng, 2, "test");
  for (size_t i = 0; lgv__features[i]; i++)
    for (size_t k = 0; k < 4; k++) {
      opened o;
      lgv_error err = {0};
      if (open_map(&o, lgv__features[i]->name, sizes[k], "", &err) != LGV_OK) {
        bool tiles = strcmp(o.type->name, "tiles") == 0; /* of which there are too many */
        assert_true(tiles || strcmp(o.type->name, "network") == 0); /* which needs a file */
        continue;
      }
      for (int j = 0; j < 5 * MOST_INPUTS; j++) x[j] = (float)lgv_rng_uniform(&rng);
      for (int64_t j = 0; j < o.inputs; j++) x[j] = 1; /* the upper corner */
      map_rows(&o, x, 5, all);
      for (int n = 0; n < 5; n++) {
        map_rows(&o, x + n * o.inputs, 1, one);
        assert_memory_equal(one, all + n * o.dim, (size_t)o.dim * sizeof *one);
        if (o.type->scaled) assert_true(dot(one, one, o.dim) <= 1 + 1e-5);
        assert_true(dot(one, one, o.dim) > 0);
      }
      close_map(&o);
    }
}

/* ---- closed forms ---- */

static void rbf_are_bumps_of_length_one(void **state) {
  (void)state;
  opened o;
  lgv_error err = {0};
  float psi[9], x[2] = {0.3f, 0.8f};
  double expected[9], sum = 0, width = 0.7 / 2;
  assert_int_equal(open_map(&o, "rbf", 2, "points=3 width=0.7", &err), LGV_OK);
  assert_int_equal(o.dim, 9);
  for (int j = 0; j < 9; j++) {
    double dx = (double)x[0] - j % 3 * .5, dy = (double)x[1] - (int)(j / 3) * .5;
    expected[j] = exp(-(dx * dx + dy * dy) / (2 * width * width));
    sum += expected[j] * expected[j];
  }
  map_rows(&o, x, 1, psi);
  for (int j = 0; j < 9; j++) assert_true(fabs((double)psi[j] - expected[j] / sqrt(sum)) < 1e-6);
  close_map(&o);
  static const int64_t sizes[][2] = {{1, 11}, {2, 121}, {3, 216}, {4, 256}, {5, 243}, {6, 256}};
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(open_map(&o, "rbf", sizes[i][0], "", &err), LGV_OK);
    assert_int_equal(o.dim, sizes[i][1]);
    close_map(&o);
  }
}

static void fourier_has_every_frequency_once(void **state) {
  (void)state;
  const double pi = 3.14159265358979323846;
  for (int coupling = 1; coupling <= 3; coupling++) {
    char settings[64];
    opened o;
    lgv_error err = {0};
    float psi[27], x[3] = {0.21f, 0.64f, 0.93f};
    int count = 0;
    snprintf(settings, sizeof settings, "order=2 coupling=%d", coupling);
    assert_int_equal(open_map(&o, "fourier", 3, settings, &err), LGV_OK);
    map_rows(&o, x, 1, psi);
    for (int j = 0; j < 27; j++) {
      int c[3] = {j % 3, j / 3 % 3, j / 9};
      if ((c[0] > 0) + (c[1] > 0) + (c[2] > 0) > coupling) continue;
      double angle = pi * (c[0] * (double)x[0] + c[1] * (double)x[1] + c[2] * (double)x[2]);
      assert_true(fabs((double)psi[count] - cos(angle) / sqrt((double)o.dim)) < 1e-6);
      count++;
    }
    assert_int_equal(o.dim, count);
    close_map(&o);
  }
}

/* Inputs that are too many for pairs keep to features.count; those that are too many for it alone
 * are refused. */
static void fourier_keeps_to_its_count(void **state) {
  (void)state;
  opened o;
  lgv_error err = {0};
  assert_int_equal(open_map(&o, "fourier", 30, "", &err), LGV_OK); /* 466 pairs and single ones */
  assert_int_equal(o.dim, 1 + 30 * 7);
  close_map(&o);
  assert_int_equal(open_map(&o, "fourier", 300, "", &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "features.count"));
  assert_int_equal(open_map(&o, "fourier", 30, "coupling=2", &err), LGV_ERR_USAGE);
}

static void polynomials_are_products(void **state) {
  (void)state;
  opened o;
  lgv_error err = {0};
  float psi[10], x[2] = {0.5f, 0.25f};
  assert_int_equal(open_map(&o, "polynomial", 2, "degree=3", &err), LGV_OK);
  assert_int_equal(o.dim, 10);
  map_rows(&o, x, 1, psi);
  const double expected[10] = {1, .5, .25, .25, .125, .0625, .125, .0625, .03125, .015625};
  for (int j = 0; j < 10; j++) assert_true(fabs((double)psi[j] - expected[j] / sqrt(10)) < 1e-7);
  close_map(&o);
}

static void random_waves_stand_for_a_gaussian_kernel(void **state) {
  (void)state;
  opened o;
  lgv_error err = {0};
  static float a[4000], b[4000];
  float x[2] = {0.4f, 0.6f}, y[2] = {0.5f, 0.45f};
  assert_int_equal(open_map(&o, "random-fourier", 2, "count=4000 width=0.2", &err), LGV_OK);
  map_rows(&o, x, 1, a);
  map_rows(&o, y, 1, b);
  double kernel = exp(-(.1 * .1 + .15 * .15) / (2 * .2 * .2));
  assert_true(fabs(dot(a, a, o.dim) - 1) < 1e-5);
  assert_true(fabs(dot(a, b, o.dim) - kernel) < 5 / sqrt(2000)); /* 5 standard errors at most */
  close_map(&o);
}

static void tiles_overlap_where_points_are_near(void **state) {
  (void)state;
  opened o;
  lgv_error err = {0};
  static float psi[5][8 * 25];
  const float x[5][2] = {{0.5f, 0.5f}, {0.52f, 0.5f}, {0.9f, 0.1f}, {1, 1}, {0, 0}};
  assert_int_equal(open_map(&o, "tiles", 2, "", &err), LGV_OK);
  assert_int_equal(o.dim, 8 * 25);
  map_rows(&o, x[0], 5, psi[0]);
  for (int i = 0; i < 5; i++) {
    int active = 0;
    for (int j = 0; j < 8 * 25; j++) active += psi[i][j] != 0;
    assert_int_equal(active, 8);
    assert_true(fabs(dot(psi[i], psi[i], o.dim) - 1) < 1e-6);
  }
  double near = dot(psi[0], psi[1], o.dim); /* .08 of a tile: one grid of eight at most differs */
  assert_true(near > 6.9 / 8 && near < 1.01);
  assert_true(dot(psi[0], psi[2], o.dim) == 0);
  close_map(&o);
  assert_int_equal(open_map(&o, "tiles", 6, "", &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "lower features.tiles"));
}

static void places_are_where_a_map_is_not_zero(void **state) {
  (void)state;
  opened o;
  lgv_error err = {0};
  static float psi[20][5 * 49];
  int32_t places[20][5];
  float x[20][2];
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "test");
  for (int i = 0; i < 40; i++) x[i / 2][i % 2] = (float)lgv_rng_uniform(&rng);
  assert_int_equal(open_map(&o, "tiles", 2, "tilings=5 tiles=6", &err), LGV_OK);
  assert_int_equal(o.type->active(o.params), 5);
  map_rows(&o, x[0], 20, psi[0]);
  o.type->places(o.self, x[0], 20, places[0]);
  for (int i = 0; i < 20; i++)
    for (int t = 0; t < 5; t++) {
      assert_true(fabs((double)psi[i][places[i][t]] - 1 / sqrt(5)) < 1e-7);
      psi[i][places[i][t]] = 0;
    }
  for (int i = 0; i < 20; i++) assert_true(dot(psi[i], psi[i], o.dim) == 0);
  close_map(&o);
}

/* Two grids of two tiles: the first one is cut at 1/2, the other, shifted by half a tile, at 1/4
 * and 3/4. */
static void grids_of_tiles_are_shifted(void **state) {
  (void)state;
  opened o;
  lgv_error err = {0};
  const float x[] = {0.2f, 0.3f, 0.6f, 0.8f};
  int32_t places[4][2];
  assert_int_equal(open_map(&o, "tiles", 1, "tilings=2 tiles=2", &err), LGV_OK);
  o.type->places(o.self, x, 4, places[0]);
  assert_int_equal(places[0][0], places[1][0]);
  assert_int_not_equal(places[0][1], places[1][1]);
  assert_int_not_equal(places[1][0], places[2][0]);
  assert_int_equal(places[1][1], places[2][1]);
  assert_int_not_equal(places[2][1], places[3][1]);
  close_map(&o);
}

/* ---- inputs ---- */

static void layout_input(void *context, lgv_layout *layout) {
  feature_input *in = context;
  lgv__feature_input_layout(in, in->bounds, in->env, layout);
}

static void inputs_without_bounds_follow_what_was_seen(void **state) {
  (void)state;
  const float low[3] = {-1, -INFINITY, -INFINITY}, high[3] = {3, INFINITY, INFINITY};
  lgv_env_spec env = {.obs_shape = {3, 1, 1}, .obs_low = low, .obs_high = high};
  lgv_feature_bounds bounds = {"auto", "auto"};
  feature_input in = {.env = &env, .bounds = &bounds};
  lgv_arena arena;
  lgv_error err = {0};
  assert_int_equal(lgv__arena_build(&arena, layout_input, &in, "input", &err), LGV_OK);
  lgv__feature_input_open(&in);
  float x[2][3] = {{1, 10, 5}, {9, 14, 5}}, out[2][3];
  assert_true(lgv__feature_input_grow(&in, x[0], 2)); /* [9, 15], a quarter on both sides */
  assert_false(lgv__feature_input_grow(&in, x[0], 2));
  const float *scaled = lgv__feature_input_scale(&in, x[0], 2, out[0]);
  const double expected[6] = {.5, 1. / 6, .5, 1, 5. / 6, .5};
  for (int i = 0; i < 6; i++) assert_true(fabs((double)scaled[i] - expected[i]) < 1e-6);
  float far[3] = {-2, 20, 5}; /* outside [-1, 3], which stays; [9, 15] becomes [9, 22.75] */
  assert_true(lgv__feature_input_grow(&in, far, 1));
  assert_true(in.low[0] == -1 && in.high[0] == 3 && in.low[1] == 9 && in.high[1] == 22.75);
  assert_true(lgv__feature_input_scale(&in, far, 1, out[0])[0] == 0);
  lgv__arena_free(&arena);
}

static void given_bounds_win(void **state) {
  (void)state;
  const float low[2] = {-1, -1}, high[2] = {1, 1};
  lgv_env_spec env = {.obs_shape = {2, 1, 1}, .obs_low = low, .obs_high = high};
  lgv_feature_bounds bounds = {"-2", "2,6"};
  feature_input in = {.env = &env, .bounds = &bounds};
  lgv_arena arena;
  lgv_error err = {0};
  assert_int_equal(lgv__feature_input_check(&bounds, &env, &err), LGV_OK);
  assert_int_equal(lgv__arena_build(&arena, layout_input, &in, "input", &err), LGV_OK);
  lgv__feature_input_open(&in);
  float x[2] = {1, 2}, out[2];
  assert_false(lgv__feature_input_grow(&in, x, 1));
  lgv__feature_input_scale(&in, x, 1, out);
  assert_true(out[0] == 0.75f && out[1] == 0.5f);
  lgv__arena_free(&arena);
}

static void bounds_that_cross_are_refused(void **state) {
  (void)state;
  const float low[2] = {-1, -INFINITY}, high[2] = {1, INFINITY};
  lgv_env_spec env = {.obs_shape = {2, 1, 1}, .obs_low = low, .obs_high = high};
  static const lgv_feature_bounds wrong[] = {
      {"2", "auto"}, {"1,0", "auto"}, {"auto", "-1"}, {"auto", "-3,5"}, {"0,3", "1,3"}};
  lgv_feature_bounds right = {"-5,7", "auto"};
  lgv_error err = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(lgv__feature_input_check(&wrong[i], &env, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "is not below its upper bound"));
  }
  assert_int_equal(lgv__feature_input_check(&right, &env, &err), LGV_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(features_are_bounded_and_rows_stand_alone),
      cmocka_unit_test(rbf_are_bumps_of_length_one),
      cmocka_unit_test(fourier_has_every_frequency_once),
      cmocka_unit_test(fourier_keeps_to_its_count),
      cmocka_unit_test(polynomials_are_products),
      cmocka_unit_test(random_waves_stand_for_a_gaussian_kernel),
      cmocka_unit_test(tiles_overlap_where_points_are_near),
      cmocka_unit_test(places_are_where_a_map_is_not_zero),
      cmocka_unit_test(grids_of_tiles_are_shifted),
      cmocka_unit_test(inputs_without_bounds_follow_what_was_seen),
      cmocka_unit_test(given_bounds_win),
      cmocka_unit_test(bounds_that_cross_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
