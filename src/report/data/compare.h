/* Agents side by side: statistics of a measure over finished runs, the probability of improvement
 * over the first, and how long it took to reach a threshold. */
#ifndef LGV_REPORT_DATA_COMPARE_H
#define LGV_REPORT_DATA_COMPARE_H

#include "base/io/json.h"
#include "report/data/measure.h"
#include "report/print/text_table.h"

/* Members that are not set (0, NULL) choose the default. */
typedef struct lgv_compare {
  const char *measure;   /* final_return */
  const char *best;      /* "lowest" or "highest"; NULL: the default of the measure */
  const char *threshold; /* "9.5", or "90%" of the optimal value; NULL: none */
  const char *x, *y;     /* columns of metrics.csv for the threshold */
  size_t window;         /* rows in a moving mean of y */
} lgv_compare;

typedef struct lgv_comparison_row {
  const char *label;
  size_t runs, unfinished, tasks;
  lgv_estimate statistics[4]; /* by lgv_statistic */
  lgv_estimate improvement;   /* over the first row; NaN for that one, and without a common task */
  size_t reached;             /* runs that reached the threshold */
  lgv_estimate reach;         /* median x at which they did; infinite where most never did */
} lgv_comparison_row;

typedef struct lgv_comparison {
  lgv_measure measure;
  bool lowest_is_best;
  char threshold[64], x[64], y[64]; /* empty without a threshold */
  lgv_comparison_row *rows;         /* (count); labels are the groups' */
  size_t count;
} lgv_comparison;

/* groups: opened with over = "env.", so that environments are tasks. */
LGV_CHECK lgv_status lgv__comparison_open(lgv_comparison *comparison, const lgv_compare *how,
                                          const lgv_groups *groups, lgv_error *err);
void lgv__comparison_close(lgv_comparison *comparison);

/* For people: a table to print as text, Markdown or HTML, and the meaning of its columns. */
lgv_table lgv__comparison_table(const lgv_comparison *comparison);
void lgv__comparison_notes(const lgv_comparison *comparison, char *text, size_t size);
/* For programs, with all digits. */
void lgv__comparison_csv(const lgv_comparison *comparison, FILE *out);
void lgv__comparison_json(const lgv_comparison *comparison, lgv_json *json);

#endif
