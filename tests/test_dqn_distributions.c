/* Distributions of returns: the parts of the losses against closed forms, and what agents learn
 * against distributions that are known. */
#include "agent/deep/categorical.h"
#include "deep_helpers.h"
#include "math/kernels.h"

#include <math.h>

static lgv_rng rng;

static int seed_rng(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 4, "test");
  return 0;
}

/* ---- C51: the projection ---- */

enum { MOST = 300 };

static void random_distribution(int64_t n, float *p) {
  double sum = 0;
  for (int64_t j = 0; j < n; j++) sum += p[j] = (float)lgv_rng_gamma(&rng, 0.3);
  for (int64_t j = 0; j < n; j++) p[j] = (float)(p[j] / sum);
}

static double moment(int64_t n, const float *p, const float *z, double power) {
  double sum = 0;
  for (int64_t j = 0; j < n; j++) sum += p[j] * pow(z[j], power);
  return sum;
}

static void the_projection_has_its_known_values(void **state) {
  (void)state;
  const float p[] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
  const double expected[] = {0.02, 0.14, 0.30, 0.34, 0.20}, end[] = {0, 0, 0, 0.6, 0.4};
  float m[5];
  categorical_project(5, -1, 1, p, 0.3f, 0.9f, m);
  for (int j = 0; j < 5; j++) assert_float_equal(m[j], expected[j], 1e-6);
  categorical_project(5, -1, 1, p, 0.7f, 0, m); /* the episode ended with 0.7 */
  for (int j = 0; j < 5; j++) assert_float_equal(m[j], end[j], 1e-6);
  categorical_project(5, -1, 1, p, 0, 1, m); /* nothing happens */
  for (int j = 0; j < 5; j++) assert_float_equal(m[j], p[j], 1e-6);
  categorical_project(5, -1, 1, p, 50, 0.9f, m); /* beyond the grid */
  assert_float_equal(m[4], 1, 1e-6);
  categorical_project(5, -1, 1, p, -50, 0.9f, m);
  assert_float_equal(m[0], 1, 1e-6);
}

/* Mass 1 always; the mean of r + gamma z where nothing is cut off. */
static void the_projection_keeps_mass_and_mean(void **state) {
  (void)state;
  float p[MOST], m[MOST], z[MOST];
  for (int k = 0; k < 2000; k++) {
    int64_t n = 2 + lgv_rng_below(&rng, MOST - 2);
    double low = -10 * lgv_rng_uniform(&rng), high = 0.1 + 10 * lgv_rng_uniform(&rng);
    double gamma = lgv_rng_uniform(&rng);
    bool cut = k % 2;
    double room_low = low - gamma * low, room_high = high - gamma * high; /* rewards that fit */
    double reward =
        cut ? 20 * lgv_rng_normal(&rng) : room_low + (room_high - room_low) * lgv_rng_uniform(&rng);
    categorical_grid(n, low, high, z);
    random_distribution(n, p);
    categorical_project(n, low, high, p, (float)reward, (float)gamma, m);
    for (int64_t j = 0; j < n; j++) assert_true(m[j] >= 0);
    assert_float_equal(moment(n, m, z, 0), moment(n, p, z, 0), 1e-5);
    if (!cut) assert_float_equal(moment(n, m, z, 1), reward + gamma * moment(n, p, z, 1), 1e-4);
  }
}

/* ---- kernels, on every set ---- */

static void softmax_agrees_with_double(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  float x[3 * MOST], p[3 * MOST], z[MOST], mean[3], log_sum[3];
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++)
    for (int64_t n = 1; n < 70; n++) {
      double scale = n % 3 == 0 ? 300 : 3;
      for (int64_t i = 0; i < 3 * n; i++) x[i] = (float)(scale * lgv_rng_normal(&rng));
      for (int64_t j = 0; j < n; j++) z[j] = (float)lgv_rng_normal(&rng);
      set->softmax(3, n, x, z, p, mean, log_sum);
      for (int row = 0; row < 3; row++) {
        const float *from = x + row * n;
        double most = -INFINITY, sum = 0, average = 0;
        for (int64_t j = 0; j < n; j++) most = fmax(most, from[j]);
        for (int64_t j = 0; j < n; j++) sum += exp(from[j] - most);
        for (int64_t j = 0; j < n; j++) {
          double q = exp(from[j] - most) / sum;
          double rounded =
              6e-8 * (most - from[j]); /* the difference is taken in single precision */
          assert_float_equal(p[row * n + j], q, (1e-6 + rounded) * q + 1e-37);
          average += q * z[j];
        }
        assert_float_equal(mean[row], average, 2e-6);
        assert_float_equal(log_sum[row], most + log(sum), 2e-7 * fabs(most) + 1e-6);
      }
    }
}

static void softmax_shows_what_is_not_a_number(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  float x[20] = {0}, p[20], z[20] = {0}, mean;
  x[7] = NAN;
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    set->softmax(1, 20, x, z, p, &mean, NULL);
    assert_true(isnan(mean));
  }
}

/* The definition, pair by pair, and its derivatives. */
static double slow_quantile_loss(int64_t n, const float *theta, const float *tau, int64_t targets,
                                 const float *target, double kappa, double *slope) {
  double loss = 0;
  for (int64_t i = 0; i < n; i++) {
    slope[i] = 0;
    for (int64_t j = 0; j < targets; j++) {
      double d = (double)target[j] - theta[i], weight = fabs(tau[i] - (d < 0));
      double huber = fabs(d) <= kappa ? d * d / 2 : kappa * (fabs(d) - kappa / 2);
      loss += weight * huber / (double)targets;
      slope[i] -= weight * fmax(-kappa, fmin(kappa, d)) / (double)targets;
    }
  }
  return loss;
}

static void the_quantile_loss_has_its_known_values(void **state) {
  (void)state;
  const lgv_kernel_set *set;
  const float theta[] = {0, 1, 3}, tau[] = {1.0f / 6, 0.5f, 5.0f / 6}, target[] = {0.5f, 2, -1};
  float d_theta[MOST], x[MOST], t[MOST], y[MOST];
  double slope[MOST];
  for (size_t s = 0; (set = lgv__kernels_at(s)); s++) {
    assert_float_equal(set->quantile_loss(3, theta, tau, 3, target, 1, d_theta), 0.9166666667,
                       1e-6);
    for (int64_t n = 1; n < 70; n++) {
      int64_t targets = 1 + lgv_rng_below(&rng, 80);
      float kappa = (float)(0.01 + 2 * lgv_rng_uniform(&rng));
      for (int64_t i = 0; i < n; i++) {
        x[i] = (float)lgv_rng_normal(&rng);
        t[i] = (float)lgv_rng_uniform(&rng);
      }
      for (int64_t j = 0; j < targets; j++) y[j] = (float)lgv_rng_normal(&rng);
      double loss = slow_quantile_loss(n, x, t, targets, y, kappa, slope);
      assert_float_equal(set->quantile_loss(n, x, t, targets, y, kappa, d_theta), loss,
                         1e-5 * loss + 1e-6);
      for (int64_t i = 0; i < n; i++) assert_float_equal(d_theta[i], slope[i], 2e-6);
    }
  }
}

/* Descending the loss with a small kappa ends at the sample's quantiles: theta_i between the order
 * statistics around tau_i, here those of an odd number of samples. tau = 1/2 is the median. */
static void descent_ends_at_the_quantiles_of_a_sample(void **state) {
  (void)state;
  enum { N = 5, SAMPLES = 15 };
  const float tau[N] = {0.1f, 0.3f, 0.5f, 0.7f, 0.9f};
  float theta[N] = {0}, target[SAMPLES], d_theta[N];
  for (int j = 0; j < SAMPLES; j++) target[j] = (float)(j * j) / 20; /* sorted */
  for (int k = 0; k < 60000; k++) {
    lgv__kernels()->quantile_loss(N, theta, tau, SAMPLES, target, 0.001f, d_theta);
    for (int i = 0; i < N; i++) theta[i] -= 5 * d_theta[i];
  }
  /* tau x 15 = 1.5, 4.5, 7.5, 10.5, 13.5: the samples at 1, 4, 7, 10, 13, counted from 0 */
  for (int i = 0; i < N; i++) assert_float_equal(theta[i], target[1 + 3 * i], 0.01);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_projection_has_its_known_values),
      cmocka_unit_test(the_projection_keeps_mass_and_mean),
      cmocka_unit_test(softmax_agrees_with_double),
      cmocka_unit_test(softmax_shows_what_is_not_a_number),
      cmocka_unit_test(the_quantile_loss_has_its_known_values),
      cmocka_unit_test(descent_ends_at_the_quantiles_of_a_sample),
  };
  return cmocka_run_group_tests(tests, seed_rng, NULL);
}
