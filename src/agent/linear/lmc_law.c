/* The law of J steps of a Langevin chain, per eigenvalue of Lambda. */
#include "agent/linear/lmc_chain.h"
#include "base/portable_math.h"

#include <math.h>

/* Past J 2 eta l = 64 the start has faded below the last bit of any double of its size, since
 * log1p(-x) <= -x. */
static const double faded = 64;

/* The noise of infinitely many steps. */
static inline double stationary_spread(double l, double eta, double beta) {
  return sqrt(1 / (beta * l * (2 - 2 * eta * l)));
}

/* a = 1 - 2 eta l lies in (0, 1). var = (1/beta) (1 - a^{2J}) / (l (1 + a)). */
void lgv__lmc_law(double l, double eta, double J, double beta, double *decay, double *spread) {
  *decay = 0;
  *spread = stationary_spread(l, eta, beta);
  if (J * 2 * eta * l >= faded) return;
  double exponent = J * lgv__log1p(-2 * eta * l);
  *decay = lgv__exp(exponent);
  *spread *= sqrt(-lgv__expm1(2 * exponent));
}

/* Few eigenvalues are so small that the start has not faded, and most of those equal lambda, since
 * no data touch their coordinates: the transcendental part of the law is computed once for a run of
 * equal ones. */
void lgv__lmc_laws(int64_t d, const double *l, double eta, double J, double beta, double *decay,
                   double *spread) {
  double last_faded = faded / (J * 2 * eta), known = 0, a = 0, std = 0;
  for (int64_t i = 0; i < d; i++) spread[i] = stationary_spread(l[i], eta, beta);
  for (int64_t i = 0; i < d; i++) {
    decay[i] = 0;
    if (l[i] >= last_faded) continue;
    if (l[i] != known) lgv__lmc_law(l[i], eta, J, beta, &a, &std);
    known = l[i];
    decay[i] = a;
    spread[i] = std;
  }
}

/* 1 - e(T) for a short T, by the power series of e. */
static double short_rest(double square, double friction, double T) {
  double before = 1, last = 0, sum = 0; /* terms n and n + 1 */
  for (int n = 0; n < 20; n++) {
    double next = -T * (friction * (n + 1) * last + square * T * before) / ((n + 1) * (n + 2));
    sum -= next;
    before = last;
    last = next;
  }
  return sum;
}

/* Returns e(T); *rest = 1 - e(T), without cancellation. The roots of the equation of e are -half +-
 * root, which are -low and -high if they are real. */
static double oscillate(double square, double friction, double T, double *rest) {
  double half = friction / 2, inside = half * half - square, root = sqrt(fabs(inside));
  if (T * fmax(friction, sqrt(square)) <= 0.5) {
    *rest = short_rest(square, friction, T);
    return 1 - *rest;
  }
  double phase = inside * T * T; /* near 0 the first terms of the series in it suffice */
  if (phase > 1e-4) {
    double high = half + root, low = square / high;
    *rest = (low * lgv__expm1(-high * T) - high * lgv__expm1(-low * T)) / (high - low);
    return (high * lgv__exp(-low * T) - low * lgv__exp(-high * T)) / (high - low);
  }
  bool near = phase > -1e-4;
  double even = near ? 1 + phase / 2 * (1 + phase / 12) : lgv__cos(root * T);
  double odd = near ? T * (1 + phase / 6 * (1 + phase / 20)) : lgv__sin(root * T) / root;
  double e = lgv__exp(-half * T) * (even + half * odd);
  *rest = 1 - e;
  return e;
}

void lgv__underdamped_law(double l, double square, double friction, double T, double beta,
                          double *decay, double *spread) {
  double rest;
  *decay = oscillate(square, friction, T, &rest);
  *spread = sqrt(fmax(rest * (1 + *decay), 0) / (2 * beta * l));
}

void lgv__underdamped_laws(int64_t d, const double *l, double most, double friction, double T,
                           double beta, double *decay, double *spread) {
  double known = 0, e = 0, std = 0; /* many are equal, as in lgv__lmc_laws */
  for (int64_t i = 0; i < d; i++) {
    if (l[i] != known) lgv__underdamped_law(l[i], l[i] / most, friction, T, beta, &e, &std);
    known = l[i];
    decay[i] = e;
    spread[i] = std;
  }
}
