/* The sums of softmax and of the quantile loss have one order on every kernel set;
 * test_dqn_distributions.c tests their values. */
#include "math/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 70, PARTS = 16 };

static lgv_rng rng;

static void fill(int64_t count, float *x) {
  for (int64_t i = 0; i < count; i++) x[i] = (float)lgv_rng_normal(&rng);
}

static float sum_in_order(int64_t count, const float *x) {
  float part[PARTS] = {0};
  for (int64_t i = 0; i < count; i++) part[i % PARTS] += x[i];
  for (int half = PARTS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}

static void the_mean_is_summed_in_the_stated_order(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv_rng_seed(&rng, 1, "test.losses");
    for (int64_t n = 1; n <= MOST; n++) {
      float x[MOST], support[MOST], p[MOST], weighed[MOST], mean;
      fill(n, x);
      fill(n, support);
      set->softmax(1, n, x, support, p, &mean, NULL);
      for (int64_t i = 0; i < n; i++) weighed[i] = p[i] * support[i];
      if (mean != sum_in_order(n, weighed)) fail_msg("%s: %ld numbers", set->name, (long)n);
    }
  }
}

/* The loss with one theta is one term of the sum. */
static void the_quantile_loss_is_summed_in_the_stated_order(void **state) {
  (void)state;
  enum { TARGETS = 5 };
  const lgv_kernel_set *set;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv_rng_seed(&rng, 2, "test.losses");
    for (int64_t n = 1; n <= MOST; n++) {
      float theta[MOST], tau[MOST], target[TARGETS], slope[MOST], one, terms[MOST];
      fill(n, theta);
      fill(TARGETS, target);
      for (int64_t i = 0; i < n; i++) tau[i] = ((float)i + 0.5f) / (float)n;
      float loss = set->quantile_loss(n, theta, tau, TARGETS, target, 1, slope);
      for (int64_t i = 0; i < n; i++) {
        terms[i] = set->quantile_loss(1, theta + i, tau + i, TARGETS, target, 1, &one);
        assert_true(one == slope[i]);
      }
      if (loss != sum_in_order(n, terms)) fail_msg("%s: %ld numbers", set->name, (long)n);
    }
  }
}

/* Everything but log_sum, whose logarithm is the C library's where a set is not portable. */
static void all_sets_give_the_same_bits(void **state) {
  (void)state;
  const lgv_kernel_set *set, *ref = lgv__kernels_at(0), *portable = lgv__kernels_portable();
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    lgv_rng_seed(&rng, 3, "test.losses");
    for (int64_t n = 1; n <= MOST; n++) {
      float x[MOST], z[MOST], p[2][MOST], mean[2], log_sum[2];
      fill(n, x);
      fill(n, z);
      ref->softmax(1, n, x, z, p[0], &mean[0], NULL);
      set->softmax(1, n, x, z, p[1], &mean[1], &log_sum[1]);
      assert_memory_equal(p[0], p[1], (size_t)n * sizeof(float));
      assert_true(mean[0] == mean[1]);
      (set->portable ? portable : ref)->softmax(1, n, x, z, p[0], &mean[0], &log_sum[0]);
      assert_true(log_sum[0] == log_sum[1]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_mean_is_summed_in_the_stated_order),
      cmocka_unit_test(the_quantile_loss_is_summed_in_the_stated_order),
      cmocka_unit_test(all_sets_give_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
