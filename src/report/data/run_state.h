/* How a run stands, from the files in its directory. */
#ifndef LGV_REPORT_DATA_RUN_STATE_H
#define LGV_REPORT_DATA_RUN_STATE_H

#include "langevin.h"

typedef enum lgv_run_state_kind {
  LGV_STATE_FINISHED,
  LGV_STATE_FAILED,      /* its summary says why */
  LGV_STATE_INTERRUPTED, /* stopped in order; can be resumed */
  LGV_STATE_OPEN         /* no summary: still running, or killed */
} lgv_run_state_kind;

typedef struct lgv_run_state {
  lgv_run_state_kind kind;
  lgv_summary summary; /* without a summary.json: nothing but NaN */
  char failure[512];
  double seconds, processor_seconds, steps_per_second; /* NaN where they were not recorded */
} lgv_run_state;

LGV_CHECK lgv_status lgv__run_state_load(const char *directory, lgv_run_state *state,
                                         lgv_error *err);
/* "finished", "failed", "interrupted", "not finished (running, or killed)". */
const char *lgv__run_state_name(lgv_run_state_kind kind);

#endif
