/* The result of a sweep: table.csv, runs.csv, and a ranking for people to read. */
#ifndef LGV_REPORT_PRINT_SWEEP_REPORT_H
#define LGV_REPORT_PRINT_SWEEP_REPORT_H

#include "langevin.h"

#include <stdio.h>

typedef struct lgv_sweep_report {
  const lgv_sweep *sweep;
  const lgv_summary *summaries;             /* (configs x seeds) */
  const char (*names)[LGV_SWEEP_NAME_SIZE]; /* (configs): their directories */
  const char *directory;                    /* of the sweep */
  const char *const
      *failures;           /* (configs x seeds): why a run failed, or NULL; may itself be NULL */
  lgv_estimate *estimates; /* (configs x measures) */
  size_t measures;
} lgv_sweep_report;

/* Computes the estimates; everything that the other members point to must outlive the report. */
LGV_CHECK lgv_status lgv__sweep_report_open(lgv_sweep_report *report, lgv_error *err);
void lgv__sweep_report_close(lgv_sweep_report *report);
/* Writes DIRECTORY/table.csv, one row per configuration, and DIRECTORY/runs.csv, one row per run.
 * Several processes may do it at once. */
LGV_CHECK lgv_status lgv__sweep_report_csv(const lgv_sweep_report *report, lgv_error *err);
/* The best `top` configurations of every case. */
LGV_CHECK lgv_status lgv__sweep_report_print(const lgv_sweep_report *report, size_t top, FILE *out,
                                             lgv_error *err);
/* Lists all configurations, the indexes of their runs and the settings that vary. */
void lgv__sweep_list(const lgv_sweep *sweep, FILE *out);

#endif
