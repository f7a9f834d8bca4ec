/* Several seeds of one plan on worker threads. A thread takes the next seed when it is free; each
 * run is one thread's alone, so the results do not depend on how many threads there are. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "run/record.h"
#include "run/run.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { CHUNK = 256 }; /* steps between looks at should_stop and reports of progress */

#define INTERRUPTED "interrupted; what was recorded until then is kept"

typedef struct batch_state {
  const lgv_batch *batch;
  lgv_summary *summaries;
  double *fractions;
  int64_t *steps;
  pthread_mutex_t lock;
  int32_t next_seed; /* index of the next seed that no thread has taken */
  int64_t done, failed;
  bool interrupted;     /* no further seed is begun */
  lgv_status status;    /* of the failed run with the least seed, so that threads do not matter */
  int32_t failed_index; /* that run */
  lgv_error error;
} batch_state;

static void report(batch_state *b, double mean_return) {
  lgv_progress p = {.runs = b->batch->seeds,
                    .runs_done = b->done,
                    .runs_failed = b->failed,
                    .mean_return = mean_return};
  for (int32_t i = 0; i < b->batch->seeds; i++) {
    p.fraction += b->fractions[i] / b->batch->seeds;
    p.steps += b->steps[i];
  }
  if (b->batch->on_progress) b->batch->on_progress(b->batch->context, &p);
}

static void note(batch_state *b, int32_t index, const lgv_run *run) {
  lgv_summary s;
  lgv_run_summary(run, &s);
  pthread_mutex_lock(&b->lock);
  b->fractions[index] = lgv__run_fraction(run);
  b->steps[index] = s.steps;
  report(b, s.mean_return);
  pthread_mutex_unlock(&b->lock);
}

static lgv_status seed_directory(const lgv_batch *batch, uint64_t seed, char *path, size_t size,
                                 lgv_error *err) {
  char name[32];
  if (batch->seeds == 1) {
    bool fits = snprintf(path, size, "%s", batch->directory) < (int)size;
    return fits ? LGV_OK : lgv_fail(err, LGV_ERR_IO, "the path of --out is too long");
  }
  snprintf(name, sizeof name, "seed-%llu", (unsigned long long)seed);
  return lgv__join_path(batch->directory, name, path, size, err);
}

static lgv_status advance_to_end(batch_state *b, int32_t index, lgv_run *run, lgv_error *err) {
  const lgv_batch *batch = b->batch;
  bool done = false;
  while (!done) {
    if (batch->should_stop && batch->should_stop(batch->context))
      return lgv_fail(err, LGV_ERR_INTERRUPTED, INTERRUPTED);
    LGV_TRY(lgv_run_advance(run, CHUNK, &done, err));
    note(b, index, run);
  }
  return LGV_OK;
}

static lgv_status run_seed(batch_state *b, int32_t index, lgv_error *err) {
  const lgv_batch *batch = b->batch;
  uint64_t seed = batch->first_seed + (uint64_t)index;
  char path[PATH_MAX];
  lgv_run *run;
  if (batch->directory) LGV_TRY(seed_directory(batch, seed, path, sizeof path, err));
  if (batch->resume && batch->directory)
    LGV_TRY(lgv_run_resume(batch->plan, seed, path, &run, err));
  else
    LGV_TRY(lgv_run_create(batch->plan, seed, batch->directory ? path : NULL, &run, err));
  lgv_status status = advance_to_end(b, index, run, err);
  lgv_error later; /* must not hide the first error */
  lgv_status closed = LGV_OK;
  if (status == LGV_ERR_INTERRUPTED) closed = lgv_run_checkpoint(run, &later);
  if (closed == LGV_OK)
    closed = lgv__run_close_records(run, status == LGV_OK ? NULL : err->message, &later);
  if (status == LGV_OK && closed != LGV_OK) {
    status = closed;
    *err = later;
  }
  lgv_run_summary(run, &b->summaries[index]);
  lgv_run_free(run);
  return status;
}

static void note_failure(batch_state *b, int32_t index, lgv_status status, const char *message) {
  b->failed++;
  b->interrupted |= status == LGV_ERR_INTERRUPTED;
  if (b->status != LGV_OK && index > b->failed_index) return;
  b->status = status;
  b->failed_index = index;
  lgv_fail(&b->error, status, "seed %llu: %.480s",
           (unsigned long long)(b->batch->first_seed + (uint64_t)index), message);
}

static void *work(void *context) {
  batch_state *b = context;
  for (;;) {
    pthread_mutex_lock(&b->lock);
    int32_t index = b->next_seed;
    bool take = index < b->batch->seeds && !b->interrupted;
    if (take) b->next_seed++;
    pthread_mutex_unlock(&b->lock);
    if (!take) return NULL;
    lgv_error err = {0};
    lgv_status status = run_seed(b, index, &err);
    pthread_mutex_lock(&b->lock);
    if (status == LGV_OK)
      b->done++;
    else
      note_failure(b, index, status, err.message);
    report(b, b->summaries[index].mean_return);
    pthread_mutex_unlock(&b->lock);
  }
}

static lgv_status run_threads(batch_state *b, lgv_error *err) {
  int32_t n = b->batch->threads < b->batch->seeds ? b->batch->threads : b->batch->seeds;
  pthread_t *threads = lgv__calloc((size_t)n, sizeof *threads);
  if (!threads) return lgv__out_of_memory(err, "threads");
  int32_t started = 0;
  while (started < n - 1 && pthread_create(&threads[started], NULL, work, b) == 0) started++;
  work(b); /* this thread works too, so that one thread always does */
  for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  lgv__free(threads);
  if (b->interrupted) return lgv_fail(err, LGV_ERR_INTERRUPTED, INTERRUPTED);
  if (b->status != LGV_OK && err) *err = b->error;
  return b->status;
}

lgv_status lgv_batch_run(const lgv_batch *batch, lgv_summary *summaries, lgv_error *err) {
  if (batch->seeds < 1 || batch->threads < 1)
    return lgv_fail(err, LGV_ERR_USAGE, "a batch needs at least one seed and one thread");
  batch_state b = {.batch = batch, .summaries = summaries};
  for (int32_t i = 0; i < batch->seeds; i++)
    summaries[i] = (lgv_summary){.seed = batch->first_seed + (uint64_t)i,
                                 .mean_return = NAN,
                                 .final_return = NAN,
                                 .optimal_value = NAN,
                                 .regret = NAN};
  b.fractions = lgv__calloc((size_t)batch->seeds, sizeof *b.fractions);
  b.steps = lgv__calloc((size_t)batch->seeds, sizeof *b.steps);
  pthread_mutex_init(&b.lock, NULL);
  lgv_status status = b.fractions && b.steps ? LGV_OK : lgv__out_of_memory(err, "a batch");
  if (status == LGV_OK) status = run_threads(&b, err);
  if (status == LGV_OK && batch->directory && batch->seeds > 1)
    status =
        lgv__record_aggregate(batch->directory, batch->plan, summaries, (size_t)batch->seeds, err);
  pthread_mutex_destroy(&b.lock);
  lgv__free(b.fractions);
  lgv__free(b.steps);
  return status;
}
