/* What a batch and a sweep share: one run from its beginning to its end, and worker threads. */
#ifndef LGV_SWEEP_JOB_H
#define LGV_SWEEP_JOB_H

#include "train/run.h"

typedef struct lgv_job {
  const lgv_plan *plan;
  uint64_t seed;
  const char *directory; /* NULL records nothing */
  bool resume;           /* go on where the directory left off */
  bool (*should_stop)(void *context);
  void (*on_chunk)(void *context, const lgv_run *run); /* every few hundred steps */
  void *context;
} lgv_job;

/* Runs to the end of the budget, or until should_stop, which leaves a checkpoint. Records are
 * closed in every case; a run that failed notes why in summary.json. */
LGV_CHECK lgv_status lgv__job_run(const lgv_job *job, lgv_summary *summary, lgv_error *err);

/* Calls work(context) on `threads` threads, the caller's among them, and waits for all. Where
 * threads cannot be started, fewer do the work. */
void lgv__job_threads(int32_t threads, void *(*work)(void *context), void *context);

#endif
