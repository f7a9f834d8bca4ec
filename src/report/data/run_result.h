/* The state and result of a run, from the files in its directory. */
#ifndef LGV_REPORT_DATA_RUN_RESULT_H
#define LGV_REPORT_DATA_RUN_RESULT_H

#include "langevin.h"

typedef enum lgv_run_result_kind {
  LGV_RESULT_FINISHED,
  LGV_RESULT_FAILED,      /* its summary says why */
  LGV_RESULT_INTERRUPTED, /* stopped in order; can be resumed */
  LGV_RESULT_OPEN         /* no summary: still running, or killed */
} lgv_run_result_kind;

typedef struct lgv_run_result {
  lgv_run_result_kind kind;
  lgv_summary summary; /* all NaN without a summary.json */
  char failure[512];
  double seconds, processor_seconds, steps_per_second; /* NaN where they were not recorded */
} lgv_run_result;

LGV_CHECK lgv_status lgv__run_result_load(const char *directory, lgv_run_result *state,
                                          lgv_error *err);
/* "finished", "failed", "interrupted", "not finished (running, or killed)". */
const char *lgv__run_result_name(lgv_run_result_kind kind);

#endif
