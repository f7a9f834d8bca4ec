/* Kernels of layer normalization. Ba, Kiros, Hinton, "Layer normalization" (2016):
 *
 *   mean = sum x / n,   scale = 1 / sqrt(sum (x - mean)^2 / n + eps),
 *   x' = (x - mean) scale,   y = rectified(gain x' + bias).
 *
 * Sums over a row have the order of vector.h. */
#include "math/vector.h"

#include <math.h>

enum { VECS = PARTS / LANES };

/* The sum of (x - mean)^power, power 1 or 2. */
INLINE float sum_of(int power, int64_t n, const float *x, float mean) {
  float part[PARTS];
  vec sum[VECS];
  int64_t i = 0;
  EACH (v, VECS) sum[v] = (vec){0};
  for (; i + PARTS <= n; i += PARTS)
    EACH (v, VECS) {
      vec d = load(x + i + v * LANES) - mean;
      sum[v] += power == 2 ? d * d : d;
    }
  EACH (v, VECS) store(part + v * LANES, sum[v]);
  for (int j = 0; i < n; i++, j++) part[j] += power == 2 ? (x[i] - mean) * (x[i] - mean) : x[i];
  return add_up(part);
}

static float dot(int64_t n, const float *x, const float *y) {
  float part[PARTS];
  vec sum[VECS];
  int64_t i = 0;
  EACH (v, VECS) sum[v] = (vec){0};
  for (; i + PARTS <= n; i += PARTS)
    EACH (v, VECS) sum[v] += load(x + i + v * LANES) * load(y + i + v * LANES);
  EACH (v, VECS) store(part + v * LANES, sum[v]);
  for (int j = 0; i < n; i++, j++) part[j] += x[i] * y[i];
  return add_up(part);
}

/* y = (x - mean) factor; y may be x. */
INLINE void center_and_scale(int64_t n, const float *x, float mean, float factor, float *y) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) store(y + i, (load(x + i) - mean) * factor);
  for (; i < n; i++) y[i] = (x[i] - mean) * factor;
}

/* y = rectified(gain x + bias) over one place; y may be x. */
INLINE void affine(int64_t cols, const float *gain, const float *bias, const float *x, float *y) {
  int64_t j = 0;
  for (; j + LANES <= cols; j += LANES)
    store(y + j, rectified(load(gain + j) * load(x + j) + load(bias + j)));
  for (; j < cols; j++) {
    float z = gain[j] * x[j] + bias[j];
    y[j] = z < 0 ? 0 : z;
  }
}

void LGV_KERNEL(lgv__normalize)(int64_t rows, int64_t places, int64_t cols, const float *gain,
                                const float *bias, float *x, float *normalized, float *scale) {
  int64_t n = places * cols;
  for (int64_t r = 0; r < rows; r++, x += n) {
    float *to = normalized ? normalized + r * n : x;
    float mean = sum_of(1, n, x, 0) / (float)n;
    float factor = 1 / sqrtf(sum_of(2, n, x, mean) / (float)n + LGV_NORM_EPS);
    center_and_scale(n, x, mean, factor, to);
    for (int64_t p = 0; p < n; p += cols) affine(cols, gain, bias, to + p, x + p);
    if (scale) scale[r] = factor;
  }
}

void LGV_KERNEL(lgv__normalize_back)(int64_t rows, int64_t places, int64_t cols, const float *gain,
                                     const float *normalized, const float *scale, float *d) {
  int64_t n = places * cols;
  for (int64_t r = 0; r < rows; r++, d += n, normalized += n) {
    const float *restrict x = normalized;
    float *restrict to = d;
    for (int64_t p = 0; p < n; p += cols)
      for (int64_t j = 0; j < cols; j++) to[p + j] *= gain[j];
    float mean = sum_of(1, n, d, 0) / (float)n, slope = dot(n, d, normalized) / (float)n;
    float factor = scale[r];
    for (int64_t i = 0; i < n; i++) to[i] = factor * (to[i] - mean - x[i] * slope);
  }
}

enum { STRIP = 4 * LANES };

void LGV_KERNEL(lgv__column_dots)(int64_t rows, int64_t cols, const float *x, const float *y,
                                  float *sums) {
  int64_t j = 0;
  for (; j + STRIP <= cols; j += STRIP) {
    vec sum[4];
    EACH (v, 4) sum[v] = (vec){0};
    for (int64_t i = j; i < rows * cols; i += cols)
      EACH (v, 4) sum[v] += load(x + i + v * LANES) * load(y + i + v * LANES);
    EACH (v, 4) store(sums + j + v * LANES, sum[v]);
  }
  for (; j < cols; j++) {
    float sum = 0;
    for (int64_t i = j; i < rows * cols; i += cols) sum += x[i] * y[i];
    sums[j] = sum;
  }
}
