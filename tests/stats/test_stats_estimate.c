/* Estimates against numbers worked out by hand, and the bootstrap interval against theory. */
#include "run_helpers.h"

#include <math.h>

static lgv_estimate estimate(const double *values, size_t count) {
  lgv_estimate e;
  memset(&e, 0xff, sizeof e);
  lgv_estimate_mean(values, count, &e);
  return e;
}

static void means_medians_and_standard_errors(void **state) {
  (void)state;
  lgv_estimate e = estimate((double[]){10, 1, 4, 2, 3}, 5);
  assert_true(e.count == 5 && e.value == 4 && e.median == 3);
  assert_true(fabs(e.standard_error - sqrt(2.5)) < 1e-15); /* squares sum to 50: 50 / 4 / 5 */
  assert_true(1 <= e.low && e.low < 4 && 4 < e.high && e.high <= 10);
  e = estimate((double[]){4, 1, 3, 2}, 4);
  assert_true(e.value == 2.5 && e.median == 2.5);
}

static void missing_values_are_skipped(void **state) {
  (void)state;
  lgv_estimate e = estimate((double[]){NAN, 1, NAN, 3}, 4), same = estimate((double[]){1, 3}, 2);
  assert_memory_equal(&e, &same, sizeof e);
  assert_true(e.count == 2 && e.value == 2 && e.standard_error == 1);
  /* two values: each mean of a resample is 1, 2 or 3, with probabilities 1/4, 1/2, 1/4 */
  assert_true(e.low == 1 && e.high == 3);
}

static void few_values_have_no_interval(void **state) {
  (void)state;
  lgv_estimate e = estimate((double[]){7}, 1);
  assert_true(e.count == 1 && e.value == 7 && e.median == 7);
  assert_true(isnan(e.standard_error) && isnan(e.low) && isnan(e.high));
  e = estimate((double[]){NAN}, 1);
  assert_true(e.count == 0 && isnan(e.value) && isnan(e.median) && isnan(e.low));
  e = estimate(NULL, 0);
  assert_true(e.count == 0 && isnan(e.value));
}

static void equal_values_have_a_point_for_an_interval(void **state) {
  (void)state;
  lgv_estimate e = estimate((double[]){2, 2, 2, 2}, 4);
  assert_true(e.low == 2 && e.high == 2 && e.standard_error == 0);
}

static void the_order_does_not_matter_and_the_stream_is_fixed(void **state) {
  (void)state;
  lgv_estimate e = estimate((double[]){1, 5, 2, 8}, 4), f = estimate((double[]){8, 2, 5, 1}, 4);
  assert_memory_equal(&e, &f, sizeof e);
}

static void the_interval_is_what_theory_says(void **state) {
  (void)state;
  enum { N = 400 };
  lgv_rng rng;
  double x[N];
  lgv_rng_seed(&rng, 1, "estimate");
  lgv_rng_normals(&rng, x, N);
  lgv_estimate e = estimate(x, N);
  /* the mean of a resample is nearly normal; its 2.5 % quantile from 2000 of them is off by
   * sqrt(.025 .975 / 2000) / density(1.96) = 0.06 standard errors, one standard deviation */
  assert_true(fabs((e.high - e.value) / e.standard_error - 1.96) < 5 * 0.06);
  assert_true(fabs((e.value - e.low) / e.standard_error - 1.96) < 5 * 0.06);
}

/* How often the interval holds the true mean: for 20 normals the percentile bootstrap covers about
 * 93 %, here within five standard errors of 400 trials. */
static void the_interval_covers_as_often_as_it_should(void **state) {
  (void)state;
  enum { TRIALS = 400, N = 20 };
  lgv_rng rng;
  lgv_rng_seed(&rng, 2, "estimate");
  int covered = 0;
  for (int t = 0; t < TRIALS; t++) {
    double x[N];
    lgv_rng_normals(&rng, x, N);
    lgv_estimate e = estimate(x, N);
    covered += e.low <= 0 && 0 <= e.high;
  }
  assert_true(fabs(covered / (double)TRIALS - 0.93) < 5 * sqrt(.93 * .07 / TRIALS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(means_medians_and_standard_errors),
      cmocka_unit_test(missing_values_are_skipped),
      cmocka_unit_test(few_values_have_no_interval),
      cmocka_unit_test(equal_values_have_a_point_for_an_interval),
      cmocka_unit_test(the_order_does_not_matter_and_the_stream_is_fixed),
      cmocka_unit_test(the_interval_is_what_theory_says),
      cmocka_unit_test(the_interval_covers_as_often_as_it_should),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
