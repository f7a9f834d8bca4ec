/* The result of `langevin run`, for people and for programs. */
#ifndef LGV_REPORT_PRINT_RUN_REPORT_H
#define LGV_REPORT_PRINT_RUN_REPORT_H

#include "base/io/json.h"
#include "langevin.h"

#include <stdio.h>

typedef struct lgv_run_report {
  const lgv_plan *plan;
  const lgv_summary *summaries; /* (seeds) */
  const lgv_error *errors;      /* (seeds): status LGV_OK where nothing failed */
  size_t seeds;
  bool resumed; /* earlier processes did some of the steps: their speed is not known here */
  const char *directory;
  double seconds;
} lgv_run_report;

/* A table on out. */
LGV_CHECK lgv_status lgv__run_report_print(const lgv_run_report *report, FILE *out, lgv_error *err);
/* One object: the summary of one seed; or {aggregate, runs} of several. */
LGV_CHECK lgv_status lgv__run_report_json(const lgv_run_report *report, lgv_json *json,
                                          lgv_error *err);

#endif
