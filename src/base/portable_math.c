#include "base/portable_math.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Who computes portably ---- */

_Thread_local lgv_portability lgv__thread_portability;
atomic_int lgv__process_portability;

/* Threads that race for the first call find the same. */
lgv_portability lgv__find_portability(void) {
  const char *name = getenv("LANGEVIN_KERNELS");
  lgv_portability choice = name && strncmp(name, "portable", 8) == 0 ? LGV_PORTABLE : LGV_NATIVE;
  lgv__portable_process(choice);
  return choice;
}

void lgv__portable_thread(lgv_portability choice) { lgv__thread_portability = choice; }
void lgv__portable_process(lgv_portability choice) {
  atomic_store_explicit(&lgv__process_portability, (int)choice, memory_order_relaxed);
}

/* ---- Common parts ---- */

/* ln 2 in two parts. The first has 32 bits, so that whole multiples up to 2^21 are exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double power_of_2(int k) { return double_of((uint64_t)(k + 1023) << 52); }

/* x 2^k for x in [1/2, 2], with one rounding. */
static double scaled(double x, int k) {
  if (k > 1000) return x * power_of_2(k - 100) * 0x1p100;
  if (k < -1000) return x * power_of_2(k + 100) * 0x1p-100;
  return x * power_of_2(k);
}

/* coefficient[0] + coefficient[1] x + ...: by Horner's scheme, even and odd powers apart, which
 * takes half as long as one chain. */
static inline double polynomial(int count, const double *coefficient, double x) {
  double z = x * x, even = 0, odd = 0;
  for (int i = (count - 1) / 2; i >= 0; i--) {
    even = even * z + coefficient[2 * i];
    odd = odd * z + (2 * i + 1 < count ? coefficient[2 * i + 1] : 0);
  }
  return even + x * odd;
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* ---- Exponentials: x = k ln 2 + r with |r| <= ln(2) / 2, and e^r by its series ---- */

typedef struct reduced {
  int k;
  double r, rest; /* r in two parts */
} reduced;

/* Of x + low, where low is far smaller than x; |x| < 1000. */
static reduced reduce(double x, double low) {
  double k = floor(x * 0x1.71547652b82fep0 + 0.5), high = x - k * ln2_high, part = k * ln2_low;
  double sum = high - part, rest = (high - sum) - part + low, r = sum + rest;
  return (reduced){.k = (int)k, .r = r, .rest = (sum - r) + rest};
}

/* e^r - 1 - r for |r| <= 0.36. */
static double exp_beyond_linear(double r) {
  static const double inverse_factorial[] = {
      1.0 / 2,         1.0 / 6,          1.0 / 24,         1.0 / 120,     1.0 / 720,
      1.0 / 5040,      1.0 / 40320,      1.0 / 362880,     1.0 / 3628800, 1.0 / 39916800,
      1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200};
  return r * r * polynomial(COUNT(inverse_factorial), inverse_factorial, r);
}

/* e^(x + low). */
static double exp_of_sum(double x, double low) {
  if (isnan(x)) return x;
  if (x > 709.79) return INFINITY;
  if (x < -745.2) return 0;
  reduced z = reduce(x, low);
  double whole = 1 + z.r, lost = (1 - whole) + z.r;
  return scaled(whole + (lost + (exp_beyond_linear(z.r) + z.rest)), z.k);
}

double lgv__portable_exp(double x) { return exp_of_sum(x, 0); }

double lgv__portable_expm1(double x) {
  if (isnan(x) || x == 0) return x;
  if (x > 709.79) return INFINITY;
  if (x < -40) return -1;
  if (fabs(x) < 0.35) return x + exp_beyond_linear(x);
  /* 2^k (1 + r + beyond) - 1; the first sum has no rounding error for k between -1 and 53 */
  reduced z = reduce(x, 0);
  double one = power_of_2(-z.k < -1000 ? -1000 : -z.k), whole = 1 - one;
  double sum = whole + z.r,
         lost = fabs(whole) > fabs(z.r) ? (whole - sum) + z.r : (z.r - sum) + whole;
  return scaled(sum + (lost + (exp_beyond_linear(z.r) + z.rest)), z.k);
}

/* ---- Logarithms: x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2) ---- */

typedef struct parted {
  int k;
  double f;
} parted;

/* Of a positive finite x. */
static parted part(double x) {
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const uint64_t root_half = 0x3fe6a09e667f3bcdu; /* the bits of sqrt(1/2) */
  uint64_t bits = bits_of(x);
  int e = (int)((int64_t)(bits - root_half) >> 52);
  return (parted){.k = k + e, .f = double_of(bits - ((uint64_t)e << 52)) - 1};
}

/* k ln 2 + log(1 + f) + low. With s = f / (2 + f),
 *   log(1 + f) = 2 artanh s = f - (f^2 / 2 - s (f^2 / 2 + 2 s^2 / 3 + 2 s^4 / 5 + ...)). */
static double log_of_parts(double k, double f, double low) {
  static const double odd[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  double s = f / (2 + f), z = s * s, half = 0.5 * f * f;
  double series = s * (half + z * polynomial(COUNT(odd), odd, z));
  return k * ln2_high - ((half - (series + (k * ln2_low + low))) - f);
}

/* log(x) where it is not a number like any other. */
static bool is_log_special(double x) { return !(x > 0) || isinf(x); }
static double special_log(double x) { return x == 0 ? -INFINITY : x > 0 ? x : NAN; }

double lgv__portable_log(double x) {
  if (is_log_special(x)) return special_log(x);
  parted z = part(x);
  return log_of_parts(z.k, z.f, 0);
}

double lgv__portable_log1p(double x) {
  double sum = 1 + x;
  if (is_log_special(sum)) return special_log(sum);
  parted z = part(sum);
  if (z.k == 0) return x == 0 ? x : log_of_parts(0, x, 0);
  double lost = fabs(x) < 1 ? x - (sum - 1) : 1 - (sum - x);
  return log_of_parts(z.k, z.f, lost / sum);
}

/* ---- Powers: e^(y log x), with the logarithm in two doubles. Its relative error is 2^-68, so that
 * of y log x, at most 745, is below 2^-58. ---- */

typedef struct pair {
  double high, low; /* their sum; |low| is at most half a unit in the last place of high */
} pair;

/* Requires |a| >= |b|, or a = 0. */
static pair sum_of(double a, double b) {
  double sum = a + b;
  return (pair){sum, b - (sum - a)};
}

/* The product without a rounding error: factors in halves of 26 bits (Veltkamp, Dekker). */
static pair product_of(double a, double b) {
  double shift_a = 134217729 * a, shift_b = 134217729 * b, product = a * b;
  double a1 = shift_a - (shift_a - a), a2 = a - a1, b1 = shift_b - (shift_b - b), b2 = b - b1;
  return (pair){product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2};
}

static pair times(pair a, pair b) {
  pair product = product_of(a.high, b.high);
  return sum_of(product.high, product.low + (a.high * b.low + a.low * b.high));
}

/* Requires |a| >= |b|. */
static pair plus(pair a, pair b) {
  pair sum = sum_of(a.high, b.high);
  return sum_of(sum.high, sum.low + (a.low + b.low));
}

/* f / (2 + f). */
static pair ratio_of(double f) {
  pair below = sum_of(2, f);
  double ratio = f / below.high;
  pair product = product_of(ratio, below.high);
  return sum_of(ratio, ((f - product.high) - product.low - ratio * below.low) / below.high);
}

/* log x = k ln 2 + 2 s (1 + z / 3 + z^2 / 5 + ...), z = s^2. */
static pair log_pair(double x) {
  static const double odd[] = {1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17,
                               1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25, 1.0 / 27, 1.0 / 29};
  const pair third = {1.0 / 3, 0x1.5555555555555p-56}, fifth = {1.0 / 5, -0x1.999999999999ap-57};
  parted x_parts = part(x);
  double k = x_parts.k;
  pair s = ratio_of(x_parts.f), z = times(s, s);
  pair series = plus(fifth, (pair){z.high * polynomial(COUNT(odd), odd, z.high), 0});
  series = times(z, plus(third, times(z, series)));
  pair twice = {2 * s.high, 2 * s.low}, log_m = plus(twice, times(twice, series));
  if (x_parts.k == 0) return log_m;
  return plus((pair){k * ln2_high, k * ln2_low}, log_m);
}

/* |x|^y for a finite x that is not 0. Beyond 2^65, every y gives 0, 1 or infinity, as 2^65 does. */
static double power_of_size(double x, double y) {
  double capped = fabs(y) > 0x1p65 ? copysign(0x1p65, y) : y;
  pair log_x = log_pair(fabs(x)), product = product_of(capped, log_x.high);
  return exp_of_sum(product.high, product.low + capped * log_x.low);
}

double lgv__portable_pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (isnan(x) || isnan(y)) return NAN;
  bool whole = y == floor(y), odd = whole && fabs(y) < 0x1p53 && fmod(y, 2) != 0;
  if (x < 0 && !whole && isfinite(x)) return NAN;
  double limit = (x == 0) == (y < 0) ? INFINITY : 0; /* where x is 0 or infinite */
  double size = x != 0 && isfinite(x) ? power_of_size(x, y) : limit;
  return odd && signbit(x) ? -size : size;
}

/* ---- Waves: x = n pi / 2 + r with |r| <= pi / 4, and the series of sine and cosine ---- */

/* pi / 2 in three parts; the first two have 33 bits, so that whole multiples up to 2^20 are
 * exact. */
static const double quarter[] = {0x1.921fb544p0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

typedef struct angle {
  int n;          /* modulo 4 */
  double r, rest; /* r in two parts */
} angle;

static angle turn_back(double x) {
  if (fabs(x) > 0x1p20) x = fmod(x, 0x1.921fb54442d18p2);
  double n = floor(x * 0x1.45f306dc9c883p-1 + 0.5);
  double first = x - n * quarter[0], part2 = n * quarter[1], second = first - part2;
  double seen = first - second, lost = (first - (second + seen)) - (part2 - seen);
  double part3 = n * quarter[2], r = second - part3;
  return (angle){.n = (int)n & 3, .r = r, .rest = ((second - r) - part3) + lost};
}

static double sine(angle a) {
  static const double term[] = {
      -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
      -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
  double z = a.r * a.r;
  return a.r + (a.r * z * polynomial(COUNT(term), term, z) + a.rest * (1 - 0.5 * z));
}

static double cosine(angle a) {
  static const double term[] = {
      1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
      1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
  double z = a.r * a.r, half = 0.5 * z, high = 1 - half;
  return high + (((1 - high) - half) + (z * z * polynomial(COUNT(term), term, z) - a.r * a.rest));
}

double lgv__portable_sin(double x) {
  if (!isfinite(x)) return NAN;
  if (fabs(x) < 0x1p-26) return x;
  angle a = turn_back(x);
  double size = a.n & 1 ? cosine(a) : sine(a);
  return a.n & 2 ? -size : size;
}

double lgv__portable_cos(double x) {
  if (!isfinite(x)) return NAN;
  angle a = turn_back(x);
  double size = a.n & 1 ? sine(a) : cosine(a);
  return a.n == 1 || a.n == 2 ? -size : size;
}

/* ---- Lengths ---- */

double lgv__portable_hypot(double x, double y) {
  double most = fmax(fabs(x), fabs(y)), least = fmin(fabs(x), fabs(y)), unit = 1;
  if (isinf(x) || isinf(y)) return INFINITY;
  if (isnan(x) || isnan(y)) return NAN;
  if (most > 0x1p500) unit = 0x1p600;
  if (most < 0x1p-450) unit = 0x1p-600;
  most /= unit;
  least /= unit;
  return sqrt(most * most + least * least) * unit;
}
