#include "sweep/job.h"

#include "base/error.h"
#include "base/memory.h"
#include "config/plan.h"
#include "record/summary.h"
#include "train/run.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

/* Looks at should_stop and reports of progress come every CHUNK steps, but where steps are slow
 * every few seconds. */
enum { CHUNK = 256, FIRST = 8 };
static const double chunk_seconds = 1;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static lgv_status advance_to_end(const lgv_job *job, lgv_run *run, lgv_error *err) {
  bool done = false;
  double begun = now();
  if (job->should_stop && job->should_stop(job->context))
    return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
  LGV_TRY(lgv_run_advance(run, FIRST, &done, err)); /* tells how long steps take */
  job->on_chunk(job->context, run);
  for (int64_t steps = FIRST; !done;) {
    double fitting = chunk_seconds * (double)steps / fmax(now() - begun, 1e-9);
    steps = (int64_t)fmax(1, fmin(fitting, CHUNK));
    begun = now();
    LGV_TRY(lgv_run_advance(run, steps, &done, err));
    job->on_chunk(job->context, run);
    if (!done && job->should_stop && job->should_stop(job->context))
      return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
  }
  return LGV_OK;
}

static void tell_unsaved(const lgv_job *job, const lgv_error *why) {
  const lgv_host *host = &job->plan->host;
  char text[sizeof why->message + 128];
  snprintf(text, sizeof text,
           "%s. What was done since the checkpoint before is lost: the run goes on from that one, "
           "or from its start",
           why->message);
  if (host->notice) host->notice(host->context, text);
}

lgv_status lgv__job_run(const lgv_job *job, lgv_summary *summary, lgv_error *err) {
  lgv_run *run;
  *summary = lgv__summary_none(job->seed);
  if (job->resume && job->directory)
    LGV_TRY(lgv_run_resume(job->plan, job->seed, job->directory, &run, err));
  else
    LGV_TRY(lgv_run_create(job->plan, job->seed, job->directory, &run, err));
  lgv__run_set_stop(run, (lgv_stop){job->should_stop, job->context});
  lgv_status status = advance_to_end(job, run, err);
  lgv_error later; /* must not hide the first error */
  if (status == LGV_ERR_INTERRUPTED && lgv_run_checkpoint(run, &later) != LGV_OK)
    tell_unsaved(job, &later);
  lgv_status closed = lgv__run_close_records(run, status == LGV_OK ? NULL : err->message, &later);
  if (status == LGV_OK && closed != LGV_OK) {
    status = closed;
    *err = later;
  }
  lgv_run_summary(run, summary);
  summary->finished = status == LGV_OK && summary->finished;
  lgv_run_free(run);
  return status;
}

void lgv__job_threads(int32_t n, void *(*work)(void *context), void *context) {
  pthread_t *threads = n > 1 ? lgv__calloc((size_t)n - 1, sizeof *threads) : NULL;
  int32_t started = 0;
  while (threads && started < n - 1 && pthread_create(&threads[started], NULL, work, context) == 0)
    started++;
  work(context); /* this thread works too, so that one thread always does */
  for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  lgv__free(threads);
}
