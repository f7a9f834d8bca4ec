/* Random streams: the published recurrence, pinned values, independence, and the distributions of
 * the derived draws. Statistical bounds are five standard errors at fixed seeds, unless stated
 * otherwise. */
#include "run_helpers.h"

#include <math.h>

static lgv_rng stream(uint64_t seed, const char *purpose) {
  lgv_rng rng;
  lgv_rng_seed(&rng, seed, purpose);
  return rng;
}

static void assert_near(double value, double expected, double standard_error) {
  if (fabs(value - expected) <= 5 * standard_error) return;
  fail_msg("%.6g is %.1f standard errors from %.6g", value, fabs(value - expected) / standard_error,
           expected);
}

/* The sum of (observed - expected)^2 / expected has mean and variance (cells - 1), 2 (cells - 1).
 */
static void assert_chi_square(const int64_t *observed, const double *expected, int cells) {
  double sum = 0;
  for (int i = 0; i < cells; i++) {
    double off = (double)observed[i] - expected[i];
    sum += off * off / expected[i];
  }
  assert_near(sum, cells - 1, sqrt(2.0 * (cells - 1)));
}

static void bits_follow_the_published_recurrence(void **state) {
  (void)state;
  /* xoshiro256++ 1.0 by Blackman and Vigna, from the state {1, 2, 3, 4} */
  const uint64_t expected[] = {41943041u,
                               58720359u,
                               3588806011781223u,
                               3591011842654386u,
                               9228616714210784205u,
                               9973669472204895162u,
                               14011001112246962877u,
                               12406186145184390807u,
                               15849039046786891736u,
                               10450023813501588000u};
  lgv_rng rng = {{1, 2, 3, 4}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_true(lgv_rng_bits(&rng) == expected[i]);
}

static void the_nth_values_stay_what_they_are(void **state) {
  (void)state;
  lgv_rng rng = stream(42, "env");
  for (int i = 0; i < 999; i++) lgv_rng_bits(&rng);
  assert_true(lgv_rng_bits(&rng) == 15525284864016974171u);
  for (int i = 0; i < 999; i++) lgv_rng_normal(&rng);
  assert_true(fabs(lgv_rng_normal(&rng) - 0.84118105309147773) < 1e-12);
  for (int i = 0; i < 999; i++) lgv_rng_gamma(&rng, 0.7);
  assert_true(fabs(lgv_rng_gamma(&rng, 0.7) - 0.044443575323308948) < 1e-12);
  for (int i = 0; i < 999; i++) lgv_rng_below(&rng, 10);
  assert_int_equal(lgv_rng_below(&rng, 1000000), 585039);
}

/* Correlation of the uniforms of two streams. */
static double correlation(lgv_rng a, lgv_rng b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (lgv_rng_uniform(&a) - 0.5) * (lgv_rng_uniform(&b) - 0.5);
  return 12 * sum / n;
}

static void streams_of_other_seeds_and_purposes_are_independent(void **state) {
  (void)state;
  enum { N = 200000 };
  const char *const purposes[] = {"env", "env.eval", "agent.act", "agent.noise", ""};
  for (uint64_t seed = 0; seed < 3; seed++)
    for (int p = 0; p < 4; p++) {
      lgv_rng one = stream(seed, purposes[p]);
      assert_near(correlation(one, stream(seed, purposes[p + 1]), N), 0, 1 / sqrt(N));
      assert_near(correlation(one, stream(seed + 1, purposes[p]), N), 0, 1 / sqrt(N));
      lgv_rng shifted = one;
      lgv_rng_bits(&shifted);
      assert_near(correlation(one, shifted, N), 0, 1 / sqrt(N));
    }
}

static void a_stream_is_its_four_words(void **state) {
  (void)state;
  lgv_rng rng = stream(7, "test"), copy, third;
  for (int i = 0; i < 3; i++) lgv_rng_normal(&rng);
  copy = third = rng;
  double bulk[1000];
  lgv_rng_normals(&third, bulk, 1000);
  for (int i = 0; i < 1000; i++) {
    double x = lgv_rng_normal(&rng);
    assert_true(x == lgv_rng_normal(&copy));
    assert_true(x == bulk[i]);
  }
  assert_memory_equal(&rng, &copy, sizeof rng);
  assert_memory_equal(&rng, &third, sizeof rng);
}

static void uniforms_are_uniform(void **state) {
  (void)state;
  enum { N = 1000000, CELLS = 256 };
  lgv_rng rng = stream(1, "uniform");
  int64_t observed[CELLS] = {0}, low[CELLS] = {0};
  double expected[CELLS];
  for (int i = 0; i < CELLS; i++) expected[i] = (double)N / CELLS;
  for (int i = 0; i < N; i++) {
    double u = lgv_rng_uniform(&rng);
    assert_true(u >= 0 && u < 1);
    observed[(int)(u * CELLS)]++;
    low[(int64_t)(u * 0x1p53) & (CELLS - 1)]++; /* including the last of the 53 bits */
  }
  assert_chi_square(observed, expected, CELLS);
  assert_chi_square(low, expected, CELLS);
}

static void below_is_uniform_and_unbiased(void **state) {
  (void)state;
  enum { N = 300000 };
  lgv_rng rng = stream(2, "below");
  int64_t observed[7] = {0};
  double expected[7];
  for (int i = 0; i < 7; i++) expected[i] = N / 7.0;
  for (int i = 0; i < N; i++) observed[lgv_rng_below(&rng, 7)]++;
  assert_chi_square(observed, expected, 7);
  /* Three quarters of 2^64: without rejection, half of the draws would be multiples of 3. */
  int64_t n = (int64_t)3 << 61, thirds[3] = {0};
  for (int i = 0; i < 3; i++) expected[i] = N / 3.0;
  for (int i = 0; i < N; i++) {
    int64_t x = lgv_rng_below(&rng, n);
    assert_true(x >= 0 && x < n);
    thirds[x % 3]++;
  }
  assert_chi_square(thirds, expected, 3);
  assert_true(lgv_rng_below(&rng, 1) == 0);
}

static double upper_tail(double x) { return 0.5 * erfc(x / sqrt(2)); }

static void normals_have_the_moments_and_the_law(void **state) {
  (void)state;
  enum { N = 4000000, CELLS = 64 };
  lgv_rng rng = stream(3, "normal");
  double sum[5] = {0}, expected[CELLS];
  int64_t observed[CELLS] = {0};
  for (int i = 0; i < N; i++) {
    double x = lgv_rng_normal(&rng), power = 1;
    for (int k = 1; k <= 4; k++) sum[k] += power *= x;
    int cell = (int)floor(x * 8) + CELLS / 2; /* eighths from -4 to 4; the rest in the end cells */
    observed[cell < 0 ? 0 : cell >= CELLS ? CELLS - 1 : cell]++;
  }
  /* E x^k is 0, 1, 0, 3; Var x^k is 1, 2, 15, 96 */
  const double mean[] = {0, 0, 1, 0, 3}, variance[] = {0, 1, 2, 15, 96};
  for (int k = 1; k <= 4; k++) assert_near(sum[k] / N, mean[k], sqrt(variance[k] / N));
  for (int i = 0; i < CELLS; i++) {
    double from = (i - CELLS / 2) / 8.0, to = from + 0.125;
    double p = i == 0           ? upper_tail(-to)
               : i == CELLS - 1 ? upper_tail(from)
                                : upper_tail(from) - upper_tail(to);
    expected[i] = N * p;
  }
  assert_chi_square(observed, expected, CELLS);
}

/* Beyond 3.6541528853610088 the ziggurat uses another method. */
static void the_tail_of_the_normal_is_right(void **state) {
  (void)state;
  enum { N = 8000000 };
  const double edges[] = {3.0, 3.5, 3.6541528853610088, 4.0, 4.5};
  lgv_rng rng = stream(4, "tail");
  int64_t above[5] = {0}, below[5] = {0};
  for (int i = 0; i < N; i++) {
    double x = lgv_rng_normal(&rng);
    for (int k = 0; k < 5; k++) {
      above[k] += x > edges[k];
      below[k] += x < -edges[k];
    }
  }
  for (int k = 0; k < 5; k++) {
    double p = upper_tail(edges[k]);
    assert_near((double)above[k] / N, p, sqrt(p / N));
    assert_near((double)below[k] / N, p, sqrt(p / N));
  }
}

static void gammas_have_the_moments(void **state) {
  (void)state;
  enum { N = 1000000 };
  const double shapes[] = {0.1, 0.7, 1, 2.5, 40};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    double a = shapes[s], sum = 0, squares = 0, logs = 0;
    lgv_rng rng = stream(5, "gamma");
    for (int i = 0; i < N; i++) {
      double x = lgv_rng_gamma(&rng, a);
      assert_true(x >= 0);
      sum += x;
      squares += (x - a) * (x - a);
      logs += a >= 0.5 ? log(x) : 0; /* below that, some draws underflow to zero */
    }
    assert_near(sum / N, a, sqrt(a / N));
    assert_near(squares / N, a, sqrt((2 * a * a + 6 * a) / N)); /* mu_4 - mu_2^2 */
    if (a < 0.5) continue;
    double step = 1e-4; /* E log x is the digamma, Var log x the trigamma function */
    double digamma = (lgamma(a + step) - lgamma(a - step)) / (2 * step);
    double trigamma = (lgamma(a + step) - 2 * lgamma(a) + lgamma(a - step)) / (step * step);
    assert_near(logs / N, digamma, sqrt(trigamma / N));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_follow_the_published_recurrence),
      cmocka_unit_test(the_nth_values_stay_what_they_are),
      cmocka_unit_test(streams_of_other_seeds_and_purposes_are_independent),
      cmocka_unit_test(a_stream_is_its_four_words),
      cmocka_unit_test(uniforms_are_uniform),
      cmocka_unit_test(below_is_uniform_and_unbiased),
      cmocka_unit_test(normals_have_the_moments_and_the_law),
      cmocka_unit_test(the_tail_of_the_normal_is_right),
      cmocka_unit_test(gammas_have_the_moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
