/* What the estimates share: quantiles, and the number of bootstrap resamples. */
#ifndef LGV_STATS_RESAMPLE_H
#define LGV_STATS_RESAMPLE_H

#include <stddef.h>

enum { LGV_RESAMPLES = 2000 };

void lgv__sort(double *values, size_t count); /* ascending */
/* Linear interpolation between order statistics, as NumPy's percentile does by default. */
double lgv__quantile(const double *sorted, size_t count, double q);

#endif
