/* Bulk normals: every kernel set against a scalar version in double precision, and their
 * distribution. */
#include "math/kernels.h"

#include "run_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LANES = 16, BLOCKS = 8192, DRAWS = BLOCKS * LGV_NOISE_BLOCK };

static lgv_noise noise_from(uint64_t seed) {
  lgv_rng rng;
  lgv_noise noise;
  lgv_rng_seed(&rng, seed, "noise");
  lgv__noise_seed(&noise, &rng);
  return noise;
}

/* ---- the transform ---- */

static uint32_t rotate(uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

/* xoshiro128++ as its authors print it. */
static uint32_t next_word(lgv_noise *noise, int lane) {
  uint32_t s[4];
  for (int i = 0; i < 4; i++) s[i] = noise->s[i][lane];
  uint32_t result = rotate(s[0] + s[3], 7) + s[0], t = s[1] << 9;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 11);
  for (int i = 0; i < 4; i++) noise->s[i][lane] = s[i];
  return result;
}

static void twin_normals(lgv_noise *noise, double *out, size_t count) {
  uint32_t words[LGV_NOISE_BLOCK];
  for (size_t i = 0; i < count; i++) words[i] = next_word(noise, (int)(i % LANES));
  for (size_t i = 0; i < count / 2; i++) {
    uint32_t word = words[count / 2 + i];
    double x = (double)((float)(int32_t)(words[i] >> 1) + 0.5f) * 0x1p-31;
    double radius = sqrt(-2 * log(x)), angle = (double)(int32_t)(word & ~7u) * 0x1p-31 * M_PI / 4;
    double s = sin(angle), c = cos(angle);
    out[i] = radius * (word & 1 ? c : s) * (word & 2 ? -1 : 1);
    out[count / 2 + i] = radius * (word & 1 ? s : c) * (word & 4 ? -1 : 1);
  }
}

static void the_generator_gives_the_published_words(void **state) {
  (void)state;
  static const uint32_t expected[] = {641,        1573767,    3222811527, 3517856514, 836907274,
                                      4247214768, 3867114732, 1355841295, 495546011,  621204420};
  lgv_noise noise = {{{1}, {2}, {3}, {4}}};
  for (int i = 0; i < 10; i++) assert_int_equal(next_word(&noise, 0), expected[i]);
}

static void every_set_follows_the_transform_in_double_precision(void **state) {
  (void)state;
  for (size_t k = 0; lgv__kernels_at(k); k++) {
    lgv_noise noise = noise_from(1), twin = noise;
    for (size_t count = 32; count <= LGV_NOISE_BLOCK; count += 32) {
      float out[LGV_NOISE_BLOCK];
      double expected[LGV_NOISE_BLOCK];
      lgv__kernels_at(k)->normals(&noise, out, count);
      twin_normals(&twin, expected, count);
      for (size_t i = 0; i < count; i++)
        if (!(fabs((double)out[i] - expected[i]) < 1e-6))
          fail_msg("%s: draw %zu of %zu is %.9g, not %.9g", lgv__kernels_at(k)->name, i, count,
                   (double)out[i], expected[i]);
      assert_memory_equal(&noise, &twin, sizeof noise);
    }
  }
}

static void every_set_gives_the_same_bits(void **state) {
  (void)state;
  for (size_t k = 1; lgv__kernels_at(k); k++) {
    lgv_noise a = noise_from(2), b = a;
    for (int i = 0; i < 200; i++) {
      float x[LGV_NOISE_BLOCK], y[LGV_NOISE_BLOCK];
      lgv__kernels_at(0)->normals(&a, x, LGV_NOISE_BLOCK);
      lgv__kernels_at(k)->normals(&b, y, LGV_NOISE_BLOCK);
      assert_memory_equal(x, y, sizeof x);
    }
  }
}

static void the_ends_of_the_uniforms_give_finite_draws(void **state) {
  (void)state;
  /* With s[0] = s[3] = 0 the first word is 0; with s[0] = ~0, s[3] = 1 it is 2^32 - 1. */
  for (size_t k = 0; lgv__kernels_at(k); k++) {
    lgv_noise noise = {{{0}}};
    for (int j = 0; j < LANES; j++) {
      noise.s[0][j] = j % 2 ? ~0u : 0;
      noise.s[1][j] = (uint32_t)j + 1;
      noise.s[3][j] = j % 2;
    }
    float out[32];
    lgv__kernels_at(k)->normals(&noise, out, 32);
    for (int i = 0; i < 32; i++) {
      double radius = hypot((double)out[i % 16], (double)out[i % 16 + 16]);
      assert_true(isfinite(out[i]));
      if (i % 2)
        assert_true(radius < 1e-3);
      else
        assert_true(fabs(radius - sqrt(64 * log(2))) < 1e-5);
    }
  }
}

/* ---- seeding ---- */

static void seeding_is_repeatable_and_depends_on_the_stream(void **state) {
  (void)state;
  lgv_noise a = noise_from(3), b = noise_from(3), c = noise_from(4);
  assert_memory_equal(&a, &b, sizeof a);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < LANES; j++) {
      assert_true(a.s[i][j] != c.s[i][j]);
      for (int l = 0; l < j; l++) assert_true(a.s[i][j] != a.s[i][l]);
    }
}

/* ---- the distribution of DRAWS draws, so that a standard error is 1/2048 ---- */

static float *draws;

static int draw_all(void **state) {
  (void)state;
  draws = malloc(sizeof *draws * DRAWS);
  if (!draws) return -1;
  lgv_noise noise = noise_from(20240501);
  for (size_t b = 0; b < BLOCKS; b++)
    lgv__kernels()->normals(&noise, draws + b * LGV_NOISE_BLOCK, LGV_NOISE_BLOCK);
  return 0;
}

static int free_all(void **state) {
  (void)state;
  free(draws);
  return 0;
}

/* The variance of mean is variance / n; 5 standard errors are allowed. */
static void check_mean(const char *what, double mean, double expected, double variance, double n) {
  double error = sqrt(variance / n);
  if (!(fabs(mean - expected) < 5 * error))
    fail_msg("%s is %.6g, not %.6g +- %.2g", what, mean, expected, error);
}

static void moments_are_those_of_a_normal(void **state) {
  (void)state;
  double sum[9] = {0};
  for (size_t i = 0; i < DRAWS; i++) {
    double power = 1;
    for (int p = 1; p <= 8; p++) sum[p] += power *= (double)draws[i];
  }
  /* E x^p and Var x^p = E x^2p - (E x^p)^2, from the double factorials 1, 3, 15, 105, ... */
  static const double even[9] = {1, 1, 3, 15, 105, 945, 10395, 135135, 2027025};
  for (int p = 1; p <= 8; p++) {
    double expected = p % 2 ? 0 : even[p / 2], variance = even[p] - expected * expected;
    char what[32];
    snprintf(what, sizeof what, "moment %d", p);
    check_mean(what, sum[p] / DRAWS, expected, variance, DRAWS);
  }
}

static void tails_have_their_weight(void **state) {
  (void)state;
  for (double z = 0; z <= 4.5; z += 0.5) {
    double p = erfc(z * M_SQRT1_2) / 2, above = 0, below = 0;
    for (size_t i = 0; i < DRAWS; i++) {
      above += (double)draws[i] > z;
      below += (double)draws[i] < -z;
    }
    check_mean("upper tail", above / DRAWS, p, p * (1 - p), DRAWS);
    check_mean("lower tail", below / DRAWS, p, p * (1 - p), DRAWS);
  }
}

static int compare_floats(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void kolmogorov_and_smirnov_see_no_difference(void **state) {
  (void)state;
  enum { N = 1 << 20 };
  float *sorted = malloc(sizeof *sorted * N);
  assert_non_null(sorted);
  memcpy(sorted, draws, sizeof *sorted * N);
  qsort(sorted, N, sizeof *sorted, compare_floats);
  double distance = 0;
  for (int i = 0; i < N; i++) {
    double cdf = erfc(-(double)sorted[i] * M_SQRT1_2) / 2;
    distance = fmax(distance, fmax(cdf - (double)i / N, (double)(i + 1) / N - cdf));
  }
  free(sorted);
  assert_true(distance * sqrt(N) < 1.95); /* exceeded by chance once in 1000 tests */
  assert_true(distance * sqrt(N) > 0.3);  /* a fit that is too good is not random */
}

/* The correlation of f(x[i]) and f(x[i + lag]) over pairs that start in lane j of a block. */
static double correlation(size_t lane, size_t lag, bool squares) {
  double sum = 0;
  size_t n = 0;
  for (size_t i = lane; i + lag < DRAWS; i += LANES, n++) {
    double x = (double)draws[i], y = (double)draws[i + lag];
    sum += squares ? (x * x - 1) * (y * y - 1) / 2 : x * y;
  }
  return sum / (double)n;
}

static void lanes_halves_and_neighbors_are_independent(void **state) {
  (void)state;
  double n = DRAWS / LANES;
  for (size_t lane = 0; lane < LANES; lane++) {
    for (size_t lag = 1; lag <= 2 * LANES; lag++) {
      check_mean("correlation", correlation(lane, lag, false), 0, 1, n);
      check_mean("correlation of squares", correlation(lane, lag, true), 0, 1, n);
    }
    /* Sine and cosine of one pair share the radius but are independent. */
    check_mean("correlation of a pair", correlation(lane, LGV_NOISE_BLOCK / 2, false), 0, 1, n);
    check_mean("that of squares", correlation(lane, LGV_NOISE_BLOCK / 2, true), 0, 1, n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_generator_gives_the_published_words),
      cmocka_unit_test(every_set_follows_the_transform_in_double_precision),
      cmocka_unit_test(every_set_gives_the_same_bits),
      cmocka_unit_test(the_ends_of_the_uniforms_give_finite_draws),
      cmocka_unit_test(seeding_is_repeatable_and_depends_on_the_stream),
      cmocka_unit_test(moments_are_those_of_a_normal),
      cmocka_unit_test(tails_have_their_weight),
      cmocka_unit_test(kolmogorov_and_smirnov_see_no_difference),
      cmocka_unit_test(lanes_halves_and_neighbors_are_independent),
  };
  return cmocka_run_group_tests(tests, draw_all, free_all);
}
