/* The scheduler of batches and sweeps: it runs (plan, seed) pairs on worker threads, counts their
 * progress and reports each of them.
 *
 * The runs of a schedule are numbered run = config * seeds + (seed - first_seed). Threads take them
 * by seed: the first seed of every configuration before the second of any, so that a schedule that
 * is stopped early still compares like with like. A thread takes the next run when it is free; each
 * run belongs to one thread, so results do not depend on the number of threads. */
#ifndef LGV_SWEEP_SCHEDULER_H
#define LGV_SWEEP_SCHEDULER_H

#include "base/io/lock.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct lgv_schedule lgv_schedule;

/* One run while a thread works on it. */
typedef struct lgv_task {
  lgv_schedule *schedule;
  size_t run;
  const lgv_plan *plan;
  uint64_t seed;
  lgv_run_phase end; /* FINISHED unless `work` finds that it is FOUND or HELD */
  lgv_summary summary;
  int64_t parts, steps; /* reported so far; parts: see lgv_schedule */
} lgv_task;

/* The caller sets the members above the line. */
struct lgv_schedule {
  const lgv_plan *const *plans; /* (configs); NULL where no run is chosen */
  size_t configs;
  uint64_t first_seed;
  int32_t seeds, threads;
  const bool *chosen;     /* (configs x seeds); NULL: all */
  lgv_summary *summaries; /* (configs x seeds): runs that have finished are not run again */
  /* Finds the directory of a run and calls lgv__task_run. A HELD task says in err who holds it. */
  lgv_status (*work)(void *owner, lgv_task *task, lgv_error *err);
  void *owner;
  void (*on_progress)(void *context, const lgv_progress *progress); /* these as in lgv_sweep_job */
  void (*on_run)(void *context, const lgv_run_news *news);
  bool (*should_stop)(void *context);
  void *context;
  /* ---- */
  atomic_size_t next;
  atomic_bool interrupted; /* no further run is begun */
  pthread_mutex_t lock;    /* for everything below, for summaries and for calls of on_... */
  lgv_progress progress;
  int64_t parts; /* fractions of the current runs in units of 2^-32: their sum is exact */
};

/* Counts the runs to do and reports them. lgv__schedule_close frees its resources. */
void lgv__schedule_open(lgv_schedule *schedule);
void lgv__schedule_close(lgv_schedule *schedule);
/* Runs everything. LGV_ERR_MEMORY: `threads` runs side by side would not fit, and nothing was
 * begun. LGV_ERR_INTERRUPTED: should_stop asked for it. Failed runs are reported by on_run only. */
LGV_CHECK lgv_status lgv__schedule_run(lgv_schedule *schedule, lgv_error *err);

/* Runs to the end of the budget, or until should_stop, which leaves a checkpoint. Records are
 * closed in every case; a run that failed says why in summary.json. directory: NULL records
 * nothing. held: its lock, if the caller holds it. */
LGV_CHECK lgv_status lgv__task_run(lgv_task *task, const char *directory, bool resume,
                                   const lgv_lock *held, lgv_error *err);

/* Calls work(context) on `threads` threads, including the caller's, and waits for all. If threads
 * cannot be started, fewer do the work. */
void lgv__on_threads(int32_t threads, void *(*work)(void *context), void *context);

#endif
