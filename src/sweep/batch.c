/* Several seeds of one plan on worker threads. A thread takes the next seed when it is free; each
 * run is one thread's alone, so the results do not depend on how many threads there are. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/memory_budget.h"
#include "config/plan.h"
#include "config/run_directory.h"
#include "record/record.h"
#include "record/summary.h"
#include "sweep/job.h"
#include "train/run.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

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

/* One seed's place in the batch, as the context of its job. */
typedef struct seed_state {
  batch_state *b;
  int32_t index;
} seed_state;

static uint64_t seed_of(const batch_state *b, int32_t index) {
  return b->batch->first_seed + (uint64_t)index;
}

/* With the lock held. */
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

static void note_chunk(void *context, const lgv_run *run) {
  seed_state *s = context;
  lgv_summary summary;
  lgv_run_summary(run, &summary);
  pthread_mutex_lock(&s->b->lock);
  s->b->fractions[s->index] = lgv__run_fraction(run);
  s->b->steps[s->index] = summary.steps;
  report(s->b, summary.mean_return);
  pthread_mutex_unlock(&s->b->lock);
}

static bool stop_asked(void *context) {
  const lgv_batch *batch = ((seed_state *)context)->b->batch;
  return batch->should_stop && batch->should_stop(batch->context);
}

static lgv_status seed_directory(const lgv_batch *batch, uint64_t seed, char *path, size_t size,
                                 lgv_error *err) {
  char name[LGV_SEED_NAME_SIZE];
  if (batch->seeds == 1) {
    bool fits = snprintf(path, size, "%s", batch->directory) < (int)size;
    return fits ? LGV_OK : lgv_fail(err, LGV_ERR_IO, "the path of --out is too long");
  }
  lgv__seed_name(seed, name);
  return lgv__join_path(batch->directory, name, path, size, err);
}

static lgv_status run_seed(batch_state *b, int32_t index, lgv_error *err) {
  const lgv_batch *batch = b->batch;
  char path[PATH_MAX];
  seed_state context = {b, index};
  lgv_job job = {.plan = batch->plan,
                 .seed = seed_of(b, index),
                 .directory = batch->directory ? path : NULL,
                 .resume = batch->resume,
                 .should_stop = stop_asked,
                 .on_chunk = note_chunk,
                 .context = &context};
  if (batch->directory) LGV_TRY(seed_directory(batch, job.seed, path, sizeof path, err));
  return lgv__job_run(&job, &b->summaries[index], err);
}

/* With the lock held. */
static void note_failure(batch_state *b, int32_t index, lgv_status status, const lgv_error *err) {
  b->failed++;
  b->interrupted |= status == LGV_ERR_INTERRUPTED;
  if (b->batch->errors) b->batch->errors[index] = *err;
  if (b->status != LGV_OK && index > b->failed_index) return;
  b->status = status;
  b->failed_index = index;
  lgv_fail(&b->error, status, "seed %llu: %.480s", (unsigned long long)seed_of(b, index),
           err->message);
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
    if (status != LGV_ERR_INTERRUPTED) b->fractions[index] = 1; /* a failed run has no work left */
    if (status == LGV_OK)
      b->done++;
    else
      note_failure(b, index, status, &err);
    report(b, b->summaries[index].mean_return);
    pthread_mutex_unlock(&b->lock);
  }
}

static lgv_status check_memory(const lgv_batch *batch, lgv_error *err) {
  int32_t count = batch->threads < batch->seeds ? batch->threads : batch->seeds;
  uint64_t *needs = lgv__calloc((size_t)count, sizeof *needs);
  if (!needs) return lgv__out_of_memory(err, "a batch");
  for (int32_t i = 0; i < count; i++) needs[i] = lgv_plan_memory(batch->plan);
  lgv__fit_tell(needs[0], batch->plan->host.notice, batch->plan->host.context);
  lgv_status status = lgv__fit_check(needs, (size_t)count, count, err);
  lgv__free(needs);
  return status;
}

static lgv_status check_directory(const lgv_batch *batch, lgv_error *err) {
  char config[PATH_MAX];
  if (!batch->directory) return LGV_OK;
  if (batch->seeds == 1) return lgv__seeds_check_none(batch->directory, err);
  LGV_TRY(lgv__join_path(batch->directory, "config.json", config, sizeof config, err));
  if (access(config, F_OK) != 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.300s holds a single run: choose another directory for several seeds",
                  batch->directory);
}

static lgv_status run_all(batch_state *b, lgv_error *err) {
  const lgv_batch *batch = b->batch;
  LGV_TRY(check_directory(batch, err));
  LGV_TRY(check_memory(batch, err));
  lgv__job_threads(batch->threads < batch->seeds ? batch->threads : batch->seeds, work, b);
  if (b->interrupted) {
    b->status = LGV_ERR_INTERRUPTED;
    lgv_fail(&b->error, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
  }
  bool aggregate = batch->directory && batch->seeds > 1 && b->done > 0;
  lgv_error later = {0};
  lgv_status wrote = aggregate ? lgv__record_aggregate(batch->directory, batch->plan, b->summaries,
                                                       (size_t)batch->seeds, &later)
                               : LGV_OK;
  if (b->status == LGV_OK && wrote != LGV_OK) {
    b->status = wrote;
    b->error = later;
  }
  if (b->status != LGV_OK && err) *err = b->error;
  return b->status;
}

lgv_status lgv_batch_run(const lgv_batch *batch, lgv_summary *summaries, lgv_error *err) {
  if (batch->seeds < 1 || batch->threads < 1)
    return lgv_fail(err, LGV_ERR_USAGE, "a batch needs at least one seed and one thread");
  batch_state b = {.batch = batch, .summaries = summaries};
  for (int32_t i = 0; i < batch->seeds; i++) {
    summaries[i] = lgv__summary_none(seed_of(&b, i));
    if (batch->errors) batch->errors[i] = (lgv_error){0};
  }
  b.fractions = lgv__calloc((size_t)batch->seeds, sizeof *b.fractions);
  b.steps = lgv__calloc((size_t)batch->seeds, sizeof *b.steps);
  pthread_mutex_init(&b.lock, NULL);
  lgv_status status =
      b.fractions && b.steps ? run_all(&b, err) : lgv__out_of_memory(err, "a batch");
  pthread_mutex_destroy(&b.lock);
  lgv__free(b.fractions);
  lgv__free(b.steps);
  return status;
}
