/* A learning curve: a statistic over the runs of a row, with a band. */
#ifndef LGV_REPORT_DATA_CURVE_H
#define LGV_REPORT_DATA_CURVE_H

#include "report/data/run_group.h"

typedef struct lgv_curve {
  const char *label;
  size_t seeds, count;
  double *x, *value, *low, *high; /* (count) each; low and high are NaN for one seed */
  bool cut; /* the seeds end at different x; the curve ends where the first of them does */
} lgv_curve;

typedef struct lgv_curve_spec {
  const char *x, *y; /* columns of metrics.csv */
  double optimal;    /* not 0: y = regret is computed from returns where it was not recorded */
  size_t smooth;     /* each value becomes the mean of itself and the smooth - 1 rows before it */
  lgv_statistic statistic;
  bool standard_error; /* the band: one to each side; else the 95 % interval */
} lgv_curve_spec;

/* Columns of a run's metrics.csv where *x or *y is NULL. *y: the first that the run has of
 * eval_return, regret, value and return, without regret if only_returns; *x: episode for regret and
 * value, else step. */
LGV_CHECK lgv_status lgv__choose_columns(const char *run, bool only_returns, const char **x,
                                         const char **y, lgv_error *err);
LGV_CHECK lgv_status lgv__curve_load(lgv_curve *curve, const lgv_row *row,
                                     const lgv_curve_spec *spec, lgv_error *err);
void lgv__curve_free(lgv_curve *curve);

#endif
