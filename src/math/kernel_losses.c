/* Kernels of losses over distributions: softmax with its mean, and the Huber quantile loss.
 *
 * Rows have any length: the rest after the last whole vector is copied into a vector.
 *
 * Sums over a row have the order of vector.h. */
#include "base/portable_math.h"
#include "math/vector.h"

#include <math.h>
#include <string.h>

INLINE vec all(float x) { return (vec){0} + x; }
INLINE vec greater(vec a, vec b) { return -lesser(-a, -b); }

enum { VECS = PARTS / LANES };

/* Adds v, the numbers from i on, to their partial sums. i is a multiple of LANES. */
INLINE void add_to(float part[PARTS], int64_t i, vec v) {
  float *at = part + i % PARTS;
  store(at, load(at) + v);
}

/* Loads or stores the first `count` lanes; the other lanes hold `rest`. */
INLINE vec load_part(const float *p, int64_t count, float rest) {
  float part[LANES];
  store(part, all(rest));
  memcpy(part, p, (size_t)count * sizeof *p);
  return load(part);
}

INLINE void store_part(float *p, int64_t count, vec v) {
  float part[LANES];
  store(part, v);
  memcpy(p, part, (size_t)count * sizeof *p);
}

/* ---- Softmax ---- */

/* e^x for x <= 0, as 2^n e^r with |r| <= ln(2) / 2, with relative error 2e-7; below -87 it is e^-87
 * = 1.6e-38. NaN stays NaN. */
INLINE vec exponential(vec x) {
  const float shift = 12582912; /* 1.5 x 2^23: adding it rounds to whole numbers */
  vec kept = greater(x, all(-87)), whole = kept * 1.44269504f + shift;
  uvec n, bits;
  memcpy(&n, &whole, sizeof n);
  whole -= shift;
  vec r = kept - whole * 0.693359375f + whole * 2.12194440e-4f; /* ln 2 in two parts */
  vec p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  memcpy(&bits, &p, sizeof bits);
  bits += n << 23; /* times 2^n */
  memcpy(&p, &bits, sizeof p);
  return p + (x - x); /* NaN stays NaN. NOLINT(misc-redundant-expression) */
}

static float largest(int64_t count, const float *x) {
  vec most = all(x[0]);
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) most = greater(most, load(x + i));
  most = greater(most, load_part(x + i, count - i, x[0]));
  float best = lane(most, 0);
  EACH (v, LANES) best = lane(most, v) > best ? lane(most, v) : best;
  return best;
}

/* One vector of p = e^(x - most); returns it. */
INLINE vec put_exponentials(const float *x, float most, float *p) {
  vec e = exponential(load(x) - most);
  store(p, e);
  return e;
}

/* Sets p = e^(x - most) and returns the sum. */
static float exponentials(int64_t count, const float *x, float most, float *p) {
  float part[PARTS];
  vec sum[VECS];
  int64_t i = 0;
  EACH (v, VECS) sum[v] = all(0);
  for (; i + PARTS <= count; i += PARTS)
    EACH (v, VECS) sum[v] += put_exponentials(x + i + v * LANES, most, p + i + v * LANES);
  EACH (v, VECS) store(part + v * LANES, sum[v]);
  for (; i + LANES <= count; i += LANES) add_to(part, i, put_exponentials(x + i, most, p + i));
  store_part(p + i, count - i, exponential(load_part(x + i, count - i, most) - most));
  add_to(part, i, load_part(p + i, count - i, 0));
  return add_up(part);
}

/* One vector of p *= scale; returns it times the support. */
INLINE vec weighed(float scale, const float *support, float *p) {
  vec scaled = scale * load(p);
  store(p, scaled);
  return scaled * load(support);
}

/* p *= scale; returns the sum of support times p. */
static float scale_and_weigh(int64_t count, float scale, const float *support, float *p) {
  float part[PARTS];
  vec sum[VECS];
  int64_t i = 0;
  EACH (v, VECS) sum[v] = all(0);
  for (; i + PARTS <= count; i += PARTS)
    EACH (v, VECS) sum[v] += weighed(scale, support + i + v * LANES, p + i + v * LANES);
  EACH (v, VECS) store(part + v * LANES, sum[v]);
  for (; i + LANES <= count; i += LANES) add_to(part, i, weighed(scale, support + i, p + i));
  vec scaled = scale * load_part(p + i, count - i, 0);
  store_part(p + i, count - i, scaled);
  add_to(part, i, scaled * load_part(support + i, count - i, 0));
  return add_up(part);
}

static float log_of(float x) {
  return LGV_PORTABLE_SET ? (float)lgv__portable_log((double)x) : logf(x);
}

void LGV_KERNEL(lgv__softmax)(int64_t rows, int64_t cols, const float *x, const float *support,
                              float *p, float *mean, float *log_sum) {
  for (int64_t i = 0; i < rows; i++, x += cols, p += cols) {
    float most = largest(cols, x), sum = exponentials(cols, x, most, p);
    mean[i] = scale_and_weigh(cols, 1 / sum, support, p);
    if (log_sum) log_sum[i] = most + log_of(sum);
  }
}

/* ---- Quantiles ---- */

/* One vector of theta against all targets. With c = clip(d, -kappa, kappa), huber(d) = c (d - c /
 * 2), and its weight times c is tau c + (1 - 2 tau) min(c, 0). */
INLINE vec quantile_slopes(vec theta, vec tau, int64_t n_targets, const float *target, float kappa,
                           vec *loss) {
  vec slopes = all(0), losses = all(0), turn = 1 - 2 * tau;
  for (int64_t j = 0; j < n_targets; j++) {
    vec d = target[j] - theta, cut = greater(lesser(d, all(kappa)), all(-kappa));
    vec slope = tau * cut + turn * lesser(cut, all(0));
    slopes += slope;
    losses += slope * (d - 0.5f * cut);
  }
  *loss = losses / (float)n_targets;
  return -slopes / (float)n_targets;
}

float LGV_KERNEL(lgv__quantile_loss)(int64_t n, const float *theta, const float *tau,
                                     int64_t n_targets, const float *target, float kappa,
                                     float *d_theta) {
  vec loss;
  float part[PARTS] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    store(d_theta + i,
          quantile_slopes(load(theta + i), load(tau + i), n_targets, target, kappa, &loss));
    add_to(part, i, loss);
  }
  if (i == n) return add_up(part);
  vec slopes = quantile_slopes(load_part(theta + i, n - i, 0), load_part(tau + i, n - i, 0),
                               n_targets, target, kappa, &loss);
  float last[LANES];
  store_part(d_theta + i, n - i, slopes);
  store(last, loss);
  add_to(part, i, load_part(last, n - i, 0));
  return add_up(part);
}
