/* The law of the Langevin chain, Proposition 3.1: sampled means and covariances against the sums
 * they are made of, for the closed form and for the loop.
 *
 * The reference never uses the closed form: w_J = A^J w_0 + (I - A^J) w_hat + noise with covariance
 * (2 eta / beta) sum_{j<J} A^{2j}, powers by repeated multiplication, w_hat by elimination. */
#include "linear_helpers.h"
#include "math/dense.h"

enum { CHAINS = 20000 };

static const double features[6 * 3] = {.9, .1,  0,  .2, .7, .1, 0,  .5, .5,
                                       .3, -.3, .6, .8, 0,  .4, .1, .1, -.7};
static const double start[MOST_D] = {1.5, -.7, .2, 2};

static lmc_params make_params(int32_t sampler, int64_t updates, double eta_scale) {
  return (lmc_params){.lsvi = {.lambda = .5},
                      .beta = 2,
                      .eta_scale = eta_scale,
                      .updates = updates,
                      .sampler = sampler};
}

/* Uneven data: with one-hot features the pairs have 0, 1, 3 and 8 visits. */
static bench *open_with_data(bool dense, lmc_params params) {
  bench *b =
      dense ? bench_open(3, 2, 1, features, 3, params) : bench_open(2, 2, 1, NULL, 0, params);
  for (int i = 0; i < 12; i++) {
    int pair = i < 1 ? 1 : i < 4 ? 2 : dense && i < 7 ? 4 : 3;
    bench_add(b, 0, pair / 2, pair % 2, (double)(i % 5) / 4, 0);
  }
  return b;
}

/* What one episode does to the law of a chain, from the model's eta and J. */
typedef struct transition {
  matrix decay, noise;
  double shift[MOST_D];
} transition;

static transition expected_transition(const bench *b) {
  int d = (int)b->core.d;
  double w_hat[MOST_D], moved[MOST_D];
  transition t = {.noise = {{{0}}}};
  matrix gram = bench_gram(b, 0), a = identity(d), square, term = identity(d);
  add_scaled(&a, -2 * b->chain.eta, &gram, d);
  square = product(&a, &a, d);
  for (int64_t j = 0; j < (int64_t)b->chain.J; j++) {
    add_scaled(&t.noise, 2 * b->chain.eta / b->params.beta, &term, d);
    term = product(&term, &square, d);
  }
  t.decay = power(&a, (int64_t)b->chain.J, d);
  solve_directly(gram, b->core.b, w_hat, d);
  apply(&t.decay, w_hat, moved, d);
  for (int i = 0; i < d; i++) t.shift[i] = w_hat[i] - moved[i];
  return t;
}

static void advance(bench *b, double *w) {
  lgv_error err = {0};
  assert_int_equal(lgv__lmc_advance(&b->chain, 0, w, &err), LGV_OK);
}

static void check_one_episode(bool dense, int32_t sampler, int64_t J, double eta_scale) {
  bench *b = open_with_data(dense, make_params(sampler, J, eta_scale));
  int d = (int)b->core.d;
  bench_prepare(b, 0);
  transition t = expected_transition(b);
  double mean[MOST_D];
  apply(&t.decay, start, mean, d);
  for (int i = 0; i < d; i++) mean[i] += t.shift[i];
  moments m = {.d = d};
  for (int n = 0; n < CHAINS; n++) {
    double w[MOST_D];
    memcpy(w, start, sizeof w);
    advance(b, w);
    add_sample(&m, w);
  }
  assert_law(&m, mean, &t.noise);
  bench_close(b);
}

static void one_episode_diagonal(void **state) {
  (void)state;
  const int64_t updates[] = {1, 4, 64};
  for (int i = 0; i < 3; i++) {
    check_one_episode(false, LMC_EXACT, updates[i], .25);
    check_one_episode(false, LMC_LOOP, updates[i], .25);
  }
  check_one_episode(false, LMC_EXACT, 4, .45);
  check_one_episode(false, LMC_LOOP, 4, .45);
}

static void one_episode_dense(void **state) {
  (void)state;
  const int64_t updates[] = {1, 4, 64};
  for (int i = 0; i < 3; i++) {
    check_one_episode(true, LMC_EXACT, updates[i], .25);
    check_one_episode(true, LMC_LOOP, updates[i], .25);
  }
  check_one_episode(true, LMC_EXACT, 4, .45);
  check_one_episode(true, LMC_LOOP, 4, .45);
}

/* Three episodes with new data between them, the chains warm-started: the covariances add up as
 * sum_i B_i S_i B_i^T, B_i = A_3^J .. A_{i+1}^J, and the means likewise. */
static void check_episodes(bool dense, int32_t sampler) {
  enum { EPISODES = 3 };
  static double w[CHAINS][MOST_D];
  bench *b = open_with_data(dense, make_params(sampler, 3, .25));
  int d = (int)b->core.d;
  transition t[EPISODES];
  memset(w, 0, sizeof w);
  for (int k = 0; k < EPISODES; k++) {
    if (k > 0)
      for (int i = 0; i < 5 * k; i++) bench_add(b, 0, i % 2, 0, 1, 0);
    bench_prepare(b, 0);
    t[k] = expected_transition(b);
    for (int n = 0; n < CHAINS; n++) advance(b, w[n]);
  }
  double mean[MOST_D] = {0};
  matrix cov = {0}, tail = identity(d);
  for (int k = EPISODES - 1; k >= 0; k--) {
    double part[MOST_D];
    matrix left = product(&tail, &t[k].noise, d), back = transposed(&tail, d);
    matrix term = product(&left, &back, d);
    add_scaled(&cov, 1, &term, d);
    apply(&tail, t[k].shift, part, d);
    for (int i = 0; i < d; i++) mean[i] += part[i];
    tail = product(&tail, &t[k].decay, d);
  }
  moments m = {.d = d};
  for (int n = 0; n < CHAINS; n++) add_sample(&m, w[n]);
  assert_law(&m, mean, &cov);
  bench_close(b);
}

static void several_episodes(void **state) {
  (void)state;
  check_episodes(false, LMC_EXACT);
  check_episodes(false, LMC_LOOP);
  check_episodes(true, LMC_EXACT);
  check_episodes(true, LMC_LOOP);
}

/* Scalar chains: l, eta, beta, J, w0, w_hat -> mean, variance. */
static void scalar_vectors(void **state) {
  (void)state;
  const struct {
    double eta, J, mean, variance;
  } known[] = {
      {1. / 12, 5, -0.63125, 0.111002604167}, {1. / 12, INFINITY, -0.7, 1. / 9},
      {.05, 5, -0.330246, .0952698505},       {.05, INFINITY, -0.7, .0980392157},
      {1e-9, INFINITY, -0.7, .083333333}, /* the Gibbs law */
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    double decay, spread;
    lgv__lmc_law(3, known[i].eta, known[i].J, 2, &decay, &spread);
    assert_true(fabs(-.7 + decay * (1.5 + .7) - known[i].mean) < 1e-6);
    assert_true(fabs(spread * spread / known[i].variance - 1) < 1e-8);
  }
}

/* Small eta l and huge J: against the same formula in extended precision. */
static void the_law_keeps_its_digits(void **state) {
  (void)state;
  for (int i = -12; i <= 0; i++)
    for (int j = 0; j <= 12; j++) {
      double l = pow(10, i), eta = .25, J = pow(10, j), beta = 1e-7, decay, spread;
      lgv__lmc_law(l, eta, J, beta, &decay, &spread);
      long double log_a = log1pl(-2 * (long double)eta * (long double)l);
      long double a_J = expl((long double)J * log_a);
      long double var = -expm1l(2 * (long double)J * log_a) /
                        ((long double)beta * (long double)l * (2 - 2 * (long double)eta * l));
      assert_true(fabsl(decay - a_J) <= 1e-13L * (a_J + 1e-14L));
      assert_true(fabsl((long double)spread * spread / var - 1) < 1e-13L);
    }
}

/* Features that lie on a line leave d - 1 eigenvalues at lambda, however many data there are; their
 * sum, n ||phi||^2, stands beside them. n visits weigh as much as one feature times sqrt(n). */
static void collinear_features_keep_the_small_eigenvalues(void **state) {
  (void)state;
  enum { D = 6 };
  const double lambdas[] = {1e-6, 1e-10, 1e-12}, visits = 1e7;
  double phi[2 * D], square = 0;
  for (int i = 0; i < D; i++) phi[i] = 0.4 - 0.11 * i, phi[D + i] = -0.5 * phi[i];
  for (int i = 0; i < D; i++) square += phi[i] * phi[i];
  for (int k = 0; k < 3; k++) {
    lmc_params params = {.lsvi = {.lambda = lambdas[k]}, .beta = 100, .eta_scale = .25};
    bench *b = bench_open(1, 2, 1, phi, D, params);
    double x[D];
    for (int i = 0; i < D; i++) x[i] = sqrt(visits) * phi[i];
    lgv__cholesky_update(b->core.factor, D, x, NULL, 0, NULL);
    bench_add(b, 0, 0, 1, 1, 0); /* one more, as agents learn of it */
    bench_prepare(b, 0);
    double largest = lambdas[k] + (visits + .25) * square;
    int small = 0, large = 0;
    for (int i = 0; i < D; i++) {
      double l = b->chain.spectrum[i];
      small += fabs(l / lambdas[k] - 1) <= 1e-6;
      large += fabs(l / largest - 1) <= 1e-12;
    }
    if (small != D - 1 || large != 1) fail_msg("lambda %g: %d small", lambdas[k], small);
    bench_close(b);
  }
}

/* So many steps that only the closed form can take them: finite, and the stationary law. */
static void a_huge_number_of_steps_is_the_stationary_law(void **state) {
  (void)state;
  const int64_t updates[] = {1000000000, 1000000000000};
  for (int dense = 0; dense < 2; dense++)
    for (int k = 0; k < 2; k++) {
      bench *b = open_with_data(dense, make_params(LMC_EXACT, updates[k], .25));
      int d = (int)b->core.d;
      bench_prepare(b, 0);
      /* (1 / beta) Lambda^-1 (I + A)^-1 with A = I - 2 eta Lambda */
      matrix gram = bench_gram(b, 0), two_minus = {0}, cov = {0};
      add_scaled(&two_minus, -2 * b->chain.eta, &gram, d);
      for (int i = 0; i < d; i++) two_minus.at[i][i] += 2;
      matrix left = inverse(&gram, d), right = inverse(&two_minus, d);
      left = product(&left, &right, d);
      add_scaled(&cov, 1 / b->params.beta, &left, d);
      double w_hat[MOST_D];
      solve_directly(gram, b->core.b, w_hat, d);
      moments m = {.d = d};
      for (int n = 0; n < CHAINS; n++) {
        double w[MOST_D] = {1e6, -1e6, 1e6, -1e6};
        advance(b, w);
        for (int i = 0; i < d; i++) assert_true(isfinite(w[i]));
        add_sample(&m, w);
      }
      assert_law(&m, w_hat, &cov);
      bench_close(b);
    }
}

/* What the proofs take from the theorem's eta and J, for both paths and growing data. */
static void facts_behind_the_theorem(void **state) {
  (void)state;
  const double H = 1, K = 100;
  for (int dense = 0; dense < 2; dense++) {
    bench *b = open_with_data(dense, make_params(LMC_EXACT, 0, .25));
    int d = (int)b->core.d;
    for (int round = 0; round < 20; round++) {
      bench_add(b, 0, round % 2, round % 3 == 0, .5, 0);
      bench_prepare(b, 0);
      double least = INFINITY, most = 0;
      for (int i = 0; i < d; i++) {
        least = fmin(least, b->chain.spectrum[i]);
        most = fmax(most, b->chain.spectrum[i]);
      }
      assert_true(least >= b->params.lsvi.lambda * (1 - 1e-12));
      assert_true(fabs(b->chain.eta * 4 * most - 1) < 1e-12);
      assert_true(b->chain.J == ceil(2 * most / least * log(4 * H * K * d)));
      assert_true(b->chain.J * log1p(-2 * b->chain.eta * least) <= -log(4 * H * K * d));
      /* the noise of every direction: between 1/4 and 2/3 of 1 / (beta l) */
      for (int i = 0; i < d; i++) {
        double var =
            b->chain.spread[i] * b->chain.spread[i] * b->params.beta * b->chain.spectrum[i];
        assert_true(var >= 1. / 4 && var <= 2. / 3 * (1 + 1e-12));
      }
    }
    bench_close(b);
  }
}

static void steps_beyond_reason_are_refused_one_by_one(void **state) {
  (void)state;
  lmc_params p = make_params(LMC_LOOP, 100000000, .25);
  bench *b = bench_open(2, 2, 1, NULL, 0, p);
  lgv_error err = {0};
  assert_int_equal(lgv__lmc_prepare(&b->chain, 0, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "agent.sampler = exact"));
  bench_close(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_episode_diagonal),
      cmocka_unit_test(one_episode_dense),
      cmocka_unit_test(several_episodes),
      cmocka_unit_test(scalar_vectors),
      cmocka_unit_test(the_law_keeps_its_digits),
      cmocka_unit_test(a_huge_number_of_steps_is_the_stationary_law),
      cmocka_unit_test(collinear_features_keep_the_small_eigenvalues),
      cmocka_unit_test(facts_behind_the_theorem),
      cmocka_unit_test(steps_beyond_reason_are_refused_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
