/* The law of underdamped dynamics: the closed form against the exponential of its 2 x 2 matrix and
 * the integral of its noise, against many chains simulated in small steps, and through the chain's
 * own interface.
 *
 * The references never use the closed form. With x = w - w_hat and u = 1 / (2 L),
 *     dx = v dt,   dv = -(gamma v + (l / L) x) dt + sqrt(2 gamma u / beta) dB,   v_0 ~ N(0, u /
 * beta).
 */
#include "linear_helpers.h"

enum { CHAINS = 20000 };

/* ---- 2 x 2 references in extended precision ---- */

typedef struct pair {
  long double at[2][2];
} pair;

static pair multiply(const pair *a, const pair *b) {
  pair m = {0};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 2; k++) m.at[i][j] += a->at[i][k] * b->at[k][j];
  return m;
}

static pair sum(const pair *a, const pair *b, long double scale) {
  pair m = *a;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) m.at[i][j] += scale * b->at[i][j];
  return m;
}

/* exp(t G) by its series, for a short t. */
static pair short_exponential(const pair *g, long double t) {
  pair m = {{{1, 0}, {0, 1}}}, term = m;
  for (int n = 1; n < 24; n++) {
    term = multiply(&term, g);
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) term.at[i][j] *= t / n;
    m = sum(&m, &term, 1);
  }
  return m;
}

/* E = exp(T G) and C = the covariance of the noise after T, from a short piece that is doubled: E
 * <- E E, C <- C + E C E^T. The covariance of the piece is integrated by Simpson's rule. */
static void reference(double square, double friction, double T, double variance, pair *E, pair *C) {
  int doublings = 0;
  long double t = T;
  while (t * fmaxl(friction, 1) > 0x1p-6L) t /= 2, doublings++;
  pair g = {{{0, 1}, {-(long double)square, -(long double)friction}}};
  enum { PIECES = 64 };
  *C = (pair){0};
  for (int i = 0; i <= PIECES; i++) {
    pair at = short_exponential(&g, t * i / PIECES), outer;
    for (int r = 0; r < 2; r++)
      for (int c = 0; c < 2; c++) outer.at[r][c] = at.at[r][1] * at.at[c][1];
    long double weight = (i == 0 || i == PIECES ? 1 : i % 2 ? 4 : 2) * t / PIECES / 3;
    *C = sum(C, &outer, 2 * friction * variance * weight);
  }
  *E = short_exponential(&g, t);
  for (; doublings > 0; doublings--) {
    pair turned = {{{E->at[0][0], E->at[1][0]}, {E->at[0][1], E->at[1][1]}}};
    pair moved = multiply(E, C);
    moved = multiply(&moved, &turned);
    *C = sum(C, &moved, 1);
    *E = multiply(E, E);
  }
}

/* The start's velocity adds E_wv^2 times its variance to that of w. */
static void check_law(double l, double most, double friction, double T, double beta) {
  double decay, spread, of_velocity = 1 / (2 * most * beta);
  pair E, C;
  lgv__underdamped_law(l, l / most, friction, T, beta, &decay, &spread);
  reference(l / most, friction, T, of_velocity, &E, &C);
  long double variance = C.at[0][0] + E.at[0][1] * E.at[0][1] * of_velocity;
  if (fabsl(decay - E.at[0][0]) > 1e-11L ||
      fabsl((long double)spread * spread / variance - 1) > 1e-9L)
    fail_msg("l %g of %g, friction %g, T %g: decay %.12g, not %.12Lg; variance %.12g, not %.12Lg",
             l, most, friction, T, decay, E.at[0][0], spread * spread, variance);
}

/* Slow, critical and oscillating directions, from short to long times. */
static void the_law_is_that_of_the_matrix_exponential(void **state) {
  (void)state;
  const double frictions[] = {0.01, 0.3, 1, 2, 2 * sqrt(0.3), 5};
  for (int f = 0; f < 6; f++)
    for (int i = -8; i <= 0; i++)
      for (int j = -3; j <= 4; j++) {
        check_law(3 * pow(10, i), 3, frictions[f], pow(10, j), 2);
        check_law(0.3 * 7, 7, frictions[f], 0.37 * pow(10, j), 0.1);
      }
  check_law(1 + 1e-7, 1 + 1e-7, 2, 3, 1); /* next to critical, on both sides */
  check_law(1 - 1e-7, 1, 2, 3, 1);
  check_law(1, 1, 2 + 1e-9, 10, 1);
  check_law(1, 1, 2 - 1e-9, 10, 1);
}

/* After a long time: the Gibbs law N(w_hat, 1 / (2 beta l)), whatever the friction. */
static void a_long_time_gives_the_gibbs_law(void **state) {
  (void)state;
  for (int f = -2; f <= 2; f++)
    for (int i = -6; i <= 0; i++) {
      double l = pow(10, i), decay, spread;
      lgv__underdamped_law(l, l / 2, pow(10, f), 1e12, 3, &decay, &spread);
      assert_true(fabs(decay) < 1e-12 && fabs(spread * spread * 6 * l - 1) < 1e-12);
    }
}

/* Many chains of small steps (a step of the velocity by half, the position, the velocity by half,
 * each exact but for the force): their mean and variance are those of the law. */
static void simulated_chains_follow_the_law(void **state) {
  (void)state;
  const double l = 0.8, most = 2, beta = 1.5, T = 2.5, friction = 0.7;
  enum { STEPS = 100 };
  double h = T / STEPS, of_velocity = 1 / (2 * most * beta), keep = exp(-friction * h);
  lgv_rng rng;
  lgv_rng_seed(&rng, 7, "test");
  moments m = {.d = 1};
  for (int n = 0; n < CHAINS; n++) {
    double x = 1.7, v = sqrt(of_velocity) * lgv_rng_normal(&rng);
    for (int i = 0; i < STEPS; i++) {
      v -= h / 2 * l / most * x;
      x += h / 2 * v;
      v = keep * v + sqrt((1 - keep * keep) * of_velocity) * lgv_rng_normal(&rng);
      x += h / 2 * v;
      v -= h / 2 * l / most * x;
    }
    add_sample(&m, &x);
  }
  double decay, spread;
  lgv__underdamped_law(l, l / most, friction, T, beta, &decay, &spread);
  matrix cov = {{{spread * spread}}};
  assert_law(&m, (const double[]){1.7 * decay}, &cov);
}

/* ---- through the chain ---- */

static const double features[6 * 3] = {.9, .1,  0,  .2, .7, .1, 0,  .5, .5,
                                       .3, -.3, .6, .8, 0,  .4, .1, .1, -.7};

/* Both paths, against matrices: with K = (1 / L) Lambda and e the function of K that solves e'' +
 * gamma e' + K e = 0, w_T has the mean w_hat + e (w_0 - w_hat) and the covariance (1 / (2 beta))
 * (I - e^2) Lambda^-1. e is integrated by the classical Runge-Kutta method. */
static matrix integrate(const matrix *stiffness, double friction, double T, int d) {
  enum { STEPS = 4000 };
  matrix e = identity(d), v = {0};
  double h = T / STEPS;
  for (int i = 0; i < STEPS; i++) {
    matrix de[4], dv[4];
    for (int k = 0; k < 4; k++) {
      double part = k == 0 ? 0 : k == 3 ? h : h / 2;
      matrix at = e, speed = v;
      if (k > 0) add_scaled(&at, part, &de[k - 1], d), add_scaled(&speed, part, &dv[k - 1], d);
      de[k] = speed;
      dv[k] = product(stiffness, &at, d);
      matrix slope = {0};
      add_scaled(&slope, -1, &dv[k], d);
      add_scaled(&slope, -friction, &speed, d);
      dv[k] = slope;
    }
    for (int k = 0; k < 4; k++) {
      double weight = h * (k == 0 || k == 3 ? 1 : 2) / 6;
      add_scaled(&e, weight, &de[k], d);
      add_scaled(&v, weight, &dv[k], d);
    }
  }
  return e;
}

static void check_chain(bool dense, int64_t J, double friction) {
  lmc_params p = {.lsvi = {.lambda = .5},
                  .beta = 2,
                  .eta_scale = .25,
                  .updates = J,
                  .friction = friction,
                  .sampler = LMC_UNDERDAMPED};
  bench *b = dense ? bench_open(3, 2, 1, features, 3, p) : bench_open(2, 2, 1, NULL, 0, p);
  const double start[MOST_D] = {1.5, -.7, .2, 2};
  for (int i = 0; i < 12; i++) bench_add(b, 0, i < 5 ? 0 : 1, i % 3 == 0, (double)(i % 5) / 4, 0);
  bench_prepare(b, 0);
  int d = (int)b->core.d;
  double most = 0, w_hat[MOST_D], apart[MOST_D], mean[MOST_D];
  for (int i = 0; i < d; i++) most = fmax(most, b->chain.spectrum[i]);
  matrix gram = bench_gram(b, 0), stiffness = {0}, cov = {0}, rest = identity(d);
  add_scaled(&stiffness, 1 / most, &gram, d);
  matrix e = integrate(&stiffness, friction, (double)J, d), e2 = product(&e, &e, d);
  add_scaled(&rest, -1, &e2, d);
  matrix inverted = inverse(&gram, d), unscaled = product(&rest, &inverted, d);
  add_scaled(&cov, 1 / (2 * p.beta), &unscaled, d);
  solve_directly(gram, b->core.b, w_hat, d);
  for (int i = 0; i < d; i++) apart[i] = start[i] - w_hat[i];
  apply(&e, apart, mean, d);
  for (int i = 0; i < d; i++) mean[i] += w_hat[i];
  moments m = {.d = d};
  for (int n = 0; n < CHAINS; n++) {
    double w[MOST_D];
    lgv_error err = {0};
    memcpy(w, start, sizeof w);
    assert_int_equal(lgv__lmc_advance(&b->chain, 0, w, &err), LGV_OK);
    add_sample(&m, w);
  }
  assert_law(&m, mean, &cov);
  bench_close(b);
}

static void the_chain_draws_from_the_law(void **state) {
  (void)state;
  for (int dense = 0; dense < 2; dense++) {
    check_chain(dense, 1, 2);
    check_chain(dense, 5, 2);
    check_chain(dense, 4, 0.2);
  }
}

/* With friction 2 and the theorem's J, slow directions fade as they do in as many plain steps. */
static void the_number_of_steps_means_the_same(void **state) {
  (void)state;
  for (int i = 1; i <= 6; i++) {
    double l = pow(10, -i), J = 3 / l, plain, underdamped, spread;
    lgv__lmc_law(l, .25, J, 1, &plain, &spread);
    lgv__underdamped_law(l, l, 2, J, 1, &underdamped, &spread);
    assert_true(fabs(underdamped / plain - 1) < 2 * l);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_law_is_that_of_the_matrix_exponential),
      cmocka_unit_test(a_long_time_gives_the_gibbs_law),
      cmocka_unit_test(simulated_chains_follow_the_law),
      cmocka_unit_test(the_chain_draws_from_the_law),
      cmocka_unit_test(the_number_of_steps_means_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
