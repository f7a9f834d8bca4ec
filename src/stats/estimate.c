/* The mean of a few values, and how well it is known. */
#include "base/memory.h"
#include "langevin.h"
#include "stats/resample.h"

#include <math.h>

void lgv_estimate_mean(const double *values, size_t count, lgv_estimate *e) {
  *e = (lgv_estimate){0, NAN, NAN, NAN, NAN, NAN};
  if (count == 0) return; /* without memory, count stays 0: that must not happen for nothing */
  double *known = lgv__calloc(count + 1, sizeof *known); /* the values without NaN, sorted */
  size_t n = 0;
  for (size_t i = 0; known && i < count; i++)
    if (!isnan(values[i])) known[n++] = values[i];
  const lgv_scores scores = {.values = known, .runs = &n, .tasks = 1};
  lgv_interval mean;
  if (n > 0 && lgv_scores_estimate(&scores, LGV_MEAN, &mean, NULL) == LGV_OK) {
    lgv__sort(known, n);
    *e = (lgv_estimate){.count = (int64_t)n,
                        .mean = mean.value,
                        .standard_error = mean.standard_error,
                        .low = mean.low,
                        .high = mean.high,
                        .median = lgv__quantile(known, n, 0.5)};
  }
  lgv__free(known);
}
