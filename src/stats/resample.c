#include "stats/resample.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void lgv__sort(double *values, size_t count) { qsort(values, count, sizeof *values, ascending); }

double lgv__quantile(const double *sorted, size_t count, double q) {
  double position = q * (double)(count - 1);
  size_t below = (size_t)position;
  double part = position - (double)below;
  if (below + 1 >= count || part == 0) return sorted[below]; /* the next may be infinite */
  return sorted[below] * (1 - part) + sorted[below + 1] * part;
}
