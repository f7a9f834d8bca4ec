/* Minibatch gradients: stochastic-gradient and variance-reduced Langevin dynamics.
 *
 * Without noise (beta = inf) one step from w shows the gradient that was used, (w - w') / eta. */
#include "linear_helpers.h"

enum { D = 3, SAMPLES = 4, CHAINS = 20000 };

static const double features[4 * D] = {.9, .1, 0, .2, .7, .1, 0, .5, .5, .3, -.3, .6};
static const double at[MOST_D] = {.4, -1, .7, .1};

static lmc_params make_params(int32_t sampler, double beta, double eta_scale, int64_t updates) {
  return (lmc_params){.lsvi = {.lambda = .5},
                      .beta = beta,
                      .eta_scale = eta_scale,
                      .updates = updates,
                      .sampler = sampler,
                      .batch = 1,
                      .snapshot_every = 32};
}

/* Four samples, all different. */
static bench *open_with_data(bool dense, lmc_params params) {
  bench *b =
      dense ? bench_open(2, 2, 1, features, D, params) : bench_open(2, 2, 1, NULL, 0, params);
  for (int i = 0; i < SAMPLES; i++) bench_add(b, 0, i / 2, i % 2, .2 + .2 * i, 0);
  bench_prepare(b, 0);
  return b;
}

static void advance(bench *b, double *w) {
  lgv_error err = {0};
  assert_int_equal(lgv__lmc_advance(&b->chain, 0, w, &err), LGV_OK);
}

/* The gradient of one noiseless step at `at`. */
static void gradient(bench *b, double *g) {
  double w[MOST_D];
  memcpy(w, at, sizeof w);
  advance(b, w);
  for (int i = 0; i < (int)b->core.d; i++) g[i] = (at[i] - w[i]) / b->chain.eta;
}

static void full_gradient(const bench *b, double *g) {
  int d = (int)b->core.d;
  matrix gram = bench_gram(b, 0);
  apply(&gram, at, g, d);
  for (int i = 0; i < d; i++) g[i] = 2 * (g[i] - b->core.b[i]);
}

static double distance(const double *x, const double *y, int d) {
  double most = 0;
  for (int i = 0; i < d; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}

/* Batches of one sample: each of the four must turn up, as (n/B) 2 phi (phi.w - y) + 2 lambda w,
 * and their mean is the full gradient. */
static void batches_of_one_enumerate_the_gradient(void **state) {
  (void)state;
  for (int dense = 0; dense < 2; dense++) {
    bench *b = open_with_data(dense, make_params(LMC_SGLD, INFINITY, .25, 1));
    int d = (int)b->core.d, found = 0;
    double seen[SAMPLES + 1][MOST_D], mean[MOST_D] = {0}, full[MOST_D];
    for (int n = 0; n < 200 && found <= SAMPLES; n++) {
      int k = 0;
      gradient(b, seen[found]);
      while (distance(seen[k], seen[found], d) > 1e-9) k++;
      if (k == found) found++;
    }
    assert_int_equal(found, SAMPLES);
    for (int k = 0; k < SAMPLES; k++)
      for (int i = 0; i < d; i++) mean[i] += seen[k][i] / SAMPLES;
    full_gradient(b, full);
    assert_true(distance(mean, full, d) < 1e-10);
    assert_true(distance(seen[0], full, d) > 1e-3); /* one alone is not the gradient */
    bench_close(b);
  }
}

/* A large batch is closer to the full gradient: its variance falls as 1/B. */
static void the_variance_falls_with_the_batch(void **state) {
  (void)state;
  double variance[2];
  for (int large = 0; large < 2; large++) {
    lmc_params p = make_params(LMC_SGLD, INFINITY, .25, 1);
    p.batch = large ? 16 : 1;
    bench *b = open_with_data(true, p);
    moments m = {.d = D};
    double full[MOST_D], g[MOST_D];
    full_gradient(b, full);
    for (int n = 0; n < CHAINS; n++) {
      gradient(b, g);
      add_sample(&m, g);
    }
    variance[large] = sample_cov(&m, 0, 0);
    assert_true(fabs(m.sum[0] / m.n - full[0]) < 5 * sqrt(variance[large] / m.n));
    bench_close(b);
  }
  assert_true(fabs(variance[0] / variance[1] / 16 - 1) < .1);
}

/* At the snapshot the two minibatch terms cancel, so the step is that of full gradients, whatever
 * is drawn; away from it they do not. */
static void at_the_snapshot_svrg_has_no_variance(void **state) {
  (void)state;
  for (int dense = 0; dense < 2; dense++) {
    lmc_params p = make_params(LMC_SVRG, INFINITY, .25, 3);
    p.snapshot_every = 1;
    bench *every = open_with_data(dense, p);
    p.snapshot_every = 3;
    bench *rarely = open_with_data(dense, p);
    int d = (int)every->core.d;
    double eta = every->chain.eta, expected[MOST_D], g[MOST_D];
    matrix gram = bench_gram(every, 0);
    memcpy(expected, at, sizeof expected);
    for (int j = 0; j < 3; j++) {
      apply(&gram, expected, g, d);
      for (int i = 0; i < d; i++) expected[i] -= eta * 2 * (g[i] - every->core.b[i]);
    }
    double farthest = 0;
    for (int n = 0; n < 50; n++) {
      double w[MOST_D];
      memcpy(w, at, sizeof w);
      advance(every, w);
      assert_true(distance(w, expected, d) < 1e-12);
      memcpy(w, at, sizeof w);
      advance(rarely, w);
      farthest = fmax(farthest, distance(w, expected, d));
    }
    assert_true(farthest > 1e-6);
    bench_close(every);
    bench_close(rarely);
  }
}

/* Variance-reduced steps have the right mean: averaged over draws they follow full gradients. */
static void svrg_is_unbiased_away_from_the_snapshot(void **state) {
  (void)state;
  bench *b = open_with_data(true, make_params(LMC_SVRG, INFINITY, .25, 2));
  double expected[MOST_D], g[MOST_D];
  matrix gram = bench_gram(b, 0);
  memcpy(expected, at, sizeof expected);
  for (int j = 0; j < 2; j++) {
    apply(&gram, expected, g, D);
    for (int i = 0; i < D; i++) expected[i] -= b->chain.eta * 2 * (g[i] - b->core.b[i]);
  }
  moments m = {.d = D};
  for (int n = 0; n < CHAINS; n++) {
    double w[MOST_D];
    memcpy(w, at, sizeof w);
    advance(b, w);
    add_sample(&m, w);
  }
  for (int i = 0; i < D; i++)
    assert_true(fabs(m.sum[i] / m.n - expected[i]) < 5 * sqrt(sample_cov(&m, i, i) / m.n));
  bench_close(b);
}

/* The trace of the covariance after J minibatch steps, less that of as many full ones, and its
 * standard error. */
static double excess_noise(double eta_scale, int64_t updates, double *error) {
  bench *b = open_with_data(true, make_params(LMC_SGLD, 20, eta_scale, updates));
  moments m = {.d = D};
  for (int n = 0; n < CHAINS; n++) {
    double w[MOST_D];
    memcpy(w, at, sizeof w);
    advance(b, w);
    add_sample(&m, w);
  }
  matrix gram = bench_gram(b, 0), a = identity(D), cov = {0}, term = identity(D);
  add_scaled(&a, -2 * b->chain.eta, &gram, D);
  matrix square = product(&a, &a, D);
  for (int64_t j = 0; j < updates; j++) {
    add_scaled(&cov, 2 * b->chain.eta / 20, &term, D);
    term = product(&term, &square, D);
  }
  double excess = 0, variance = 0;
  for (int i = 0; i < D; i++) {
    excess += sample_cov(&m, i, i) - cov.at[i][i];
    variance += 2 * sample_cov(&m, i, i) * sample_cov(&m, i, i) / m.n;
  }
  *error = sqrt(variance * D); /* an upper bound: the entries are correlated */
  bench_close(b);
  return excess;
}

static void sgld_is_noisier_than_lmc_and_less_so_with_small_steps(void **state) {
  (void)state;
  double large_error, small_error;
  double large = excess_noise(.4, 32, &large_error), small = excess_noise(.04, 320, &small_error);
  assert_true(large > 5 * large_error);
  assert_true(small > 0 && small < large / 2);
  assert_true(large - small > 5 * sqrt(large_error * large_error + small_error * small_error));
}

/* Features longer than 1 make the curvature greater than lambda + n; the step size must know. */
static void long_features_do_not_diverge(void **state) {
  (void)state;
  double longer[4 * D];
  for (int i = 0; i < 4 * D; i++) longer[i] = 30 * features[i];
  bench *b = bench_open(2, 2, 1, longer, D, make_params(LMC_SGLD, INFINITY, .45, 200));
  for (int i = 0; i < SAMPLES; i++) bench_add(b, 0, i / 2, i % 2, .2 + .2 * i, 0);
  bench_prepare(b, 0);
  double w[MOST_D] = {1, 1, 1};
  advance(b, w);
  for (int i = 0; i < D; i++) assert_true(fabs(w[i]) < 2);
  bench_close(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batches_of_one_enumerate_the_gradient),
      cmocka_unit_test(the_variance_falls_with_the_batch),
      cmocka_unit_test(at_the_snapshot_svrg_has_no_variance),
      cmocka_unit_test(svrg_is_unbiased_away_from_the_snapshot),
      cmocka_unit_test(sgld_is_noisier_than_lmc_and_less_so_with_small_steps),
      cmocka_unit_test(long_features_do_not_diverge),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
