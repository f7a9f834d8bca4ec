/* A learning curve: the mean over the seeds of a group, with its interval. */
#ifndef LGV_REPORT_CURVE_H
#define LGV_REPORT_CURVE_H

#include "report/run_group.h"

typedef struct lgv_curve {
  const char *label;
  size_t seeds, count;
  double *x, *mean, *low, *high; /* (count) each; low and high are NaN for one seed */
  bool cut; /* the seeds end at different x; the curve ends where the first of them does */
} lgv_curve;

/* smooth: each value becomes the mean of itself and the smooth - 1 rows before it. */
LGV_CHECK lgv_status lgv__curve_load(lgv_curve *curve, const lgv_group *group, const char *x_name,
                                     const char *y_name, size_t smooth, lgv_error *err);
void lgv__curve_free(lgv_curve *curve);

#endif
