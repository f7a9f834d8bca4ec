/* The mean of a few values, and how well it is known. */
#include "base/memory.h"
#include "langevin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000 };

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Linear interpolation between order statistics, as NumPy's percentile does by default. */
static double quantile(const double *sorted, size_t n, double q) {
  double position = q * (double)(n - 1);
  size_t below = (size_t)position;
  double part = position - (double)below;
  return below + 1 < n ? sorted[below] * (1 - part) + sorted[below + 1] * part : sorted[n - 1];
}

static double mean_of(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return sum / (double)n;
}

static void bootstrap(const double *x, size_t n, double *means, lgv_estimate *e) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 0, "bootstrap");
  for (int r = 0; r < RESAMPLES; r++) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[lgv_rng_below(&rng, (int64_t)n)];
    means[r] = sum / (double)n;
  }
  qsort(means, RESAMPLES, sizeof *means, ascending);
  e->low = quantile(means, RESAMPLES, 0.025);
  e->high = quantile(means, RESAMPLES, 0.975);
}

void lgv_estimate_mean(const double *values, size_t count, lgv_estimate *e) {
  *e = (lgv_estimate){0, NAN, NAN, NAN, NAN, NAN};
  if (count == 0) return;
  double *x =
      lgv__calloc(count + RESAMPLES, sizeof *x); /* the values, sorted; then the resampled means */
  if (!x) return;
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i])) x[n++] = values[i];
  e->count = (int64_t)n;
  if (n > 0) {
    qsort(x, n, sizeof *x, ascending);
    e->median = quantile(x, n, 0.5);
    e->mean = mean_of(x, n);
  }
  if (n > 1) {
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += (x[i] - e->mean) * (x[i] - e->mean);
    e->standard_error = sqrt(squares / (double)(n - 1) / (double)n);
    bootstrap(x, n, x + count, e);
  }
  lgv__free(x);
}
