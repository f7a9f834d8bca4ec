/* One number per run: a measure of its summary, its steps, episodes or processor time, or the
 * quotient of two such (regret/optimal_value). */
#ifndef LGV_REPORT_DATA_MEASURE_H
#define LGV_REPORT_DATA_MEASURE_H

#include "report/data/run_group.h"

typedef struct lgv_measure {
  char name[128];
  size_t top, bottom; /* numbers of measures; bottom is SIZE_MAX where nothing divides */
} lgv_measure;

/* text: NULL for final_return. The error lists all measures. */
LGV_CHECK lgv_status lgv__measure_find(const char *text, lgv_measure *measure, lgv_error *err);
/* True for regret and for counts until a goal is reached. */
bool lgv__measure_lowest_is_best(const lgv_measure *measure);

/* The measure of runs, group by group. Runs that have not finished are left out; a goal that was
 * never reached counts as infinite. */
typedef struct lgv_collection {
  double *values;
  size_t *runs;       /* (tasks): each group with a finished run is a task */
  lgv_group **groups; /* (tasks) */
  size_t tasks, count;
  size_t unfinished; /* runs that were left out */
} lgv_collection;

/* Collects the groups of `row` whose task is `task` (NULL: all). Without finished runs count is 0.
 */
LGV_CHECK lgv_status lgv__collect(const lgv_row *row, const char *task, const lgv_measure *measure,
                                  lgv_collection *collection, lgv_error *err);
void lgv__collection_free(lgv_collection *collection);
lgv_scores lgv__collection_scores(const lgv_collection *collection);

/* "mean", "median", "iqm", "task-median"; NULL: mean. */
LGV_CHECK lgv_status lgv__statistic_find(const char *text, lgv_statistic *statistic,
                                         lgv_error *err);
/* The band around an estimate: "interval" (95 % bootstrap; NULL too) or "se" (one standard
 * error to each side), which replaces low and high. */
LGV_CHECK lgv_status lgv__band_find(const char *text, bool *standard_error, lgv_error *err);
void lgv__band_apply(bool standard_error, lgv_estimate *estimate);
/* "95 % percentile bootstrap of the mean" or "one standard error". */
void lgv__band_name(bool standard_error, lgv_statistic statistic, char *text, size_t size);

#endif
