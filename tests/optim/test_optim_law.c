/* Optimizers in the long run: constant gradients, chains on a quadratic loss, and noise that is
 * smaller than the rounding of the parameters. */
#include "optim_helpers.h"

#include <math.h>

/* ---- constant gradients ---- */

/* The last of so many steps moves by `move`, for gradients of both signs. */
static void check_limit(const char *name, const char *settings, double gradient, int steps,
                        double move) {
  rig r = make_rig(lgv__kernels(), name, settings, 2);
  double before = 0;
  r.g[0] = (float)gradient;
  r.g[1] = (float)-gradient;
  for (int t = 0; t < steps; t++) {
    before = value_of(&r, 0);
    take_step(&r);
  }
  /* alpha2 v + (1 - alpha2) g^2 stops moving within 2^-24 / (1 - alpha2) of g^2 */
  check_near(name, value_of(&r, 0) - before, move, 6e-5 * fabs(move));
  check_near(name, value_of(&r, 1), -value_of(&r, 0), 0);
  free_rig(&r);
}

static void constant_gradients_have_their_limits(void **state) {
  (void)state;
  /* the Adam term tends to a sign(g) */
  check_limit("asgld", "beta=inf lr=1e-3 a=0.5 compensated=true", 3, 20000, -1e-3 * (3 + 0.5));
  check_limit("asgld", "beta=inf lr=1e-3 a=0.5 form=code compensated=true", 3, 20000,
              -1e-3 * (3 + 0.5));
  check_limit("adam", "lr=1e-3 compensated=true", 3, 20000, -1e-3);
  check_limit("psgld", "beta=inf lr=1e-3 compensated=true", 3, 3000, -1e-3);
  /* the velocity tends to what it is pushed by over the friction */
  check_limit("ulmc", "beta=inf lr=0.01 friction=5 drift=plain compensated=true", 3, 3000,
              -0.01 * 3 / 5);
  check_limit("ulmc", "beta=inf lr=0.01 friction=5 a=0.5 compensated=true", 3, 20000,
              -0.01 * (3 + 0.5) / 5);
}

static void noise_of_psgld_settles_at_two_lr_over_g(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  rig r = make_rig(lgv__kernels(), "psgld", "lr=1e-3 beta=4", COUNT);
  set_all(r.g, COUNT, -0.2);
  for (int t = 0; t < 3000; t++) take_step(&r);
  set_all(r.step.w, COUNT, 0);
  take_step(&r);
  check_law("one step of pSGLD", &r, 0, 1e-3, 2 * 1e-3 / 0.2 / 4);
  free_rig(&r);
}

/* ---- chains on a quadratic loss l (w - optimum)^2 ---- */

enum { CHAINS = 65536 };

/* The law of J steps of Langevin Monte Carlo (Ishfaq et al. 2024, the closed form behind their
 * Theorem): with A = 1 - 2 eta l, mean = optimum + A^J (w0 - optimum) and
 * variance = (1 - A^2J) / (beta l (1 + A)). */
static void check_chain(const char *what, rig *r, double l, double eta, double beta, double start,
                        double optimum, int steps) {
  set_all(r->step.w, CHAINS, start);
  for (int t = 0; t < steps; t++) {
    for (size_t i = 0; i < CHAINS; i++) r->g[i] = (float)(2 * l * ((double)r->step.w[i] - optimum));
    take_step(r);
  }
  double A = 1 - 2 * eta * l, forgotten = pow(A, steps);
  check_law(what, r, 0, optimum + forgotten * (start - optimum),
            (1 - forgotten * forgotten) / (beta * l * (1 + A)));
}

static void chains_on_a_quadratic_follow_the_closed_form(void **state) {
  (void)state;
  rig r = make_rig(lgv__kernels(), "sgld", "lr=0.0833333333333 beta=2", CHAINS);
  check_chain("SGLD, 5 steps", &r, 3, 1.0 / 12, 2, 1.5, -0.7, 5);
  check_law("SGLD, 5 steps, known numbers", &r, 0, -0.63125, 0.111002604167);
  free_rig(&r);
  r = make_rig(lgv__kernels(), "sgld", "lr=0.05 beta=2", CHAINS);
  check_chain("SGLD, 5 steps of 0.05", &r, 3, 0.05, 2, 1.5, -0.7, 5);
  check_law("SGLD, 5 steps of 0.05, known numbers", &r, 0, -0.330246, 0.0952698505);
  check_chain("SGLD, settled", &r, 3, 0.05, 2, 1.5, -0.7, 100);
  check_law("SGLD, settled, known numbers", &r, 0, -0.7, 0.0980392157);
  free_rig(&r);
  r = make_rig(lgv__kernels(), "asgld", "lr=0.05 beta=2 a=0 compensated=true", CHAINS);
  check_chain("Adam SGLD with a = 0", &r, 3, 0.05, 2, 1.5, -0.7, 40);
  free_rig(&r);
}

/* The ridge l2 alone is a quadratic loss with l = l2 / 2. */
static void the_ridge_alone_keeps_a_chain_in_place(void **state) {
  (void)state;
  rig r = make_rig(lgv__kernels(), "sgld", "lr=0.05 beta=2 l2=6", CHAINS);
  for (int t = 0; t < 100; t++) take_step(&r);
  check_law("SGLD on a ridge", &r, 0, 0, 0.0980392157);
  free_rig(&r);
}

/* u' = k u + lr c w + s xi and w' = w - lr u' are linear: the covariance of (w, u) has a recursion.
 */
static void plain_ulmc_on_a_quadratic_has_the_covariance_of_its_recursion(void **state) {
  (void)state;
  enum { STEPS = 400 };
  double lr = 0.1, friction = 2, beta = 5, c = 3, k = 1 - lr * friction;
  double s2 = 2 * lr * friction / beta, ww = 0, wu = 0, uu = 0;
  rig r = make_rig(lgv__kernels(), "ulmc", "lr=0.1 friction=2 beta=5 drift=plain l2=3", CHAINS);
  for (int t = 0; t < STEPS; t++) {
    take_step(&r);
    double uu2 = k * k * uu + 2 * k * lr * c * wu + lr * lr * c * c * ww + s2;
    double wu_cross = k * wu + lr * c * ww; /* of the old w and the new u */
    ww += lr * lr * uu2 - 2 * lr * wu_cross;
    wu = wu_cross - lr * uu2;
    uu = uu2;
  }
  check_law("ULMC", &r, 0, 0, ww);
  free_rig(&r);
}

/* ---- noise below the rounding of the parameters ---- */

/* At beta = 1e16 a step's noise has size 1.4e-10, and floats near 0.02 are 1.9e-9 apart. */
static void tiny_noise_is_lost_in_floats_and_kept_in_pairs_of_them(void **state) {
  (void)state;
  enum { STEPS = 200 };
  double start = (double)0.02f, one_step = 2 * 1e-4 / 1e16;
  rig plain = make_rig(lgv__kernels(), "asgld", "lr=1e-4 beta=1e16", CHAINS);
  rig pair = make_rig(lgv__kernels(), "asgld", "lr=1e-4 beta=1e16 compensated=true", CHAINS);
  set_all(plain.step.w, CHAINS, start);
  set_all(pair.step.w, CHAINS, start);
  for (int t = 0; t < STEPS; t++) {
    take_step(&plain);
    take_step(&pair);
  }
  for (size_t i = 0; i < CHAINS; i++) assert_true(value_of(&plain, i) == start);
  check_law("noise in pairs", &pair, start, 0, STEPS * one_step);
  size_t moved = 0; /* the network sees it, too */
  for (size_t i = 0; i < CHAINS; i++) moved += (double)pair.step.w[i] != start;
  assert_true(moved > CHAINS / 2);
  free_rig(&plain);
  free_rig(&pair);
}

/* As in the authors' program, two additions: noise does not help a drift of 0.45 units over the
 * edge at which it would be rounded up. */
static void floats_round_drift_and_noise_one_by_one(void **state) {
  (void)state;
  rig r = make_rig(lgv__kernels(), "sgld", "lr=1e-4 beta=1e16", CHAINS);
  set_all(r.step.w, CHAINS, 0.02);
  set_all(r.g, CHAINS, 0.45 * 0x1p-29 / 1e-4);
  for (int t = 0; t < 10; t++) take_step(&r);
  for (size_t i = 0; i < CHAINS; i++) assert_true(r.step.w[i] == 0.02f);
  free_rig(&r);
}

/* The published temperatures that floats can still feel: at 1e12 nothing is lost but precision. */
static void larger_noise_survives_in_floats(void **state) {
  (void)state;
  rig r = make_rig(lgv__kernels(), "asgld", "lr=1e-4 beta=1e12", CHAINS);
  double start = (double)0.02f;
  set_all(r.step.w, CHAINS, start);
  for (int t = 0; t < 50; t++) take_step(&r);
  /* each step rounds to multiples of 2^-29: variance (2^-29)^2 / 12 more */
  check_law("noise in floats", &r, start, 0, 50 * (2 * 1e-4 / 1e12 + 0x1p-58 / 12));
  free_rig(&r);
}

/* Gradients that are too small for a float to feel one by one add up in pairs. */
static void tiny_gradients_add_up_in_pairs(void **state) {
  (void)state;
  rig r = make_rig(lgv__kernels(), "sgd", "lr=1e-4 compensated=true", 8);
  set_all(r.step.w, 8, 1);
  set_all(r.g, 8, 1e-5);
  for (int t = 0; t < 10000; t++) take_step(&r);
  check_near("the sum", value_of(&r, 0), 1 - 1e-4 * 1e-5 * 10000, 1e-11);
  free_rig(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constant_gradients_have_their_limits),
      cmocka_unit_test(noise_of_psgld_settles_at_two_lr_over_g),
      cmocka_unit_test(chains_on_a_quadratic_follow_the_closed_form),
      cmocka_unit_test(the_ridge_alone_keeps_a_chain_in_place),
      cmocka_unit_test(plain_ulmc_on_a_quadratic_has_the_covariance_of_its_recursion),
      cmocka_unit_test(tiny_noise_is_lost_in_floats_and_kept_in_pairs_of_them),
      cmocka_unit_test(floats_round_drift_and_noise_one_by_one),
      cmocka_unit_test(larger_noise_survives_in_floats),
      cmocka_unit_test(tiny_gradients_add_up_in_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
