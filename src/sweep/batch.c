/* A batch: several seeds of one plan. It is a schedule of one configuration, and adds the
 * directories of the seeds, the error of the least seed, and aggregate.json. */
#include "base/error.h"
#include "base/io/file.h"
#include "config/run_directory.h"
#include "record/record.h"
#include "record/summary.h"
#include "sweep/scheduler.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

typedef struct batch_state {
  const lgv_batch *batch;
  lgv_schedule schedule;
  size_t failed_run; /* the least one, whichever thread came first; valid if error is set */
  lgv_error error;
} batch_state;

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

static lgv_status run_seed(void *owner, lgv_task *task, lgv_error *err) {
  const lgv_batch *batch = ((batch_state *)owner)->batch;
  char path[PATH_MAX];
  if (batch->directory) LGV_TRY(seed_directory(batch, task->seed, path, sizeof path, err));
  return lgv__task_run(task, batch->directory ? path : NULL, batch->resume, NULL, err);
}

static void on_run(void *context, const lgv_run_news *news) {
  batch_state *b = context;
  if (news->phase != LGV_RUN_FAILED && news->phase != LGV_RUN_STOPPED) return;
  if (b->batch->errors) b->batch->errors[news->run] = *news->error;
  if (b->error.status != LGV_OK && news->run > b->failed_run) return;
  b->failed_run = news->run;
  lgv_fail(&b->error, news->error->status, "seed %llu: %.480s",
           (unsigned long long)b->batch->first_seed + news->run, news->error->message);
}

static void on_progress(void *context, const lgv_progress *progress) {
  const lgv_batch *batch = ((batch_state *)context)->batch;
  if (batch->on_progress) batch->on_progress(batch->context, progress);
}

static bool should_stop(void *context) {
  const lgv_batch *batch = ((batch_state *)context)->batch;
  return batch->should_stop && batch->should_stop(batch->context);
}

static lgv_status check_directory(const lgv_batch *batch, lgv_error *err) {
  char config[PATH_MAX];
  if (!batch->directory) return LGV_OK;
  if (batch->seeds == 1) return lgv__seeds_check_none(batch->directory, err);
  bool there;
  LGV_TRY(lgv__join_path(batch->directory, "config.json", config, sizeof config, err));
  LGV_TRY(lgv__is_there(config, &there, err));
  if (!there) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.300s holds a single run: choose another directory for several seeds",
                  batch->directory);
}

/* Even if a seed failed or was interrupted: the aggregate covers those that finished. */
static lgv_status write_aggregate(const batch_state *b, lgv_error *err) {
  const lgv_batch *batch = b->batch;
  if (!batch->directory || batch->seeds == 1 || b->schedule.progress.runs_done == 0) return LGV_OK;
  return lgv__record_aggregate(batch->directory, batch->plan, b->schedule.summaries,
                               (size_t)batch->seeds, err);
}

static lgv_status run_all(batch_state *b, lgv_error *err) {
  lgv_error later;
  lgv__schedule_open(&b->schedule);
  lgv_status status = lgv__schedule_run(&b->schedule, err);
  if (status == LGV_OK && b->error.status != LGV_OK) {
    status = b->error.status;
    if (err) *err = b->error;
  }
  lgv_status wrote = write_aggregate(b, &later);
  lgv__schedule_close(&b->schedule);
  if (status != LGV_OK || wrote == LGV_OK) return status;
  if (err) *err = later;
  return wrote;
}

lgv_status lgv_batch_run(const lgv_batch *batch, lgv_summary *summaries, lgv_error *err) {
  LGV_TRY(lgv__check_size("lgv_batch", batch->size, sizeof *batch, err));
  if (batch->seeds < 1 || batch->threads < 1)
    return lgv_fail(err, LGV_ERR_USAGE, "a batch needs at least one seed and one thread");
  for (int32_t i = 0; i < batch->seeds; i++) {
    summaries[i] = lgv__summary_none(batch->first_seed + (uint64_t)i);
    if (batch->errors) batch->errors[i] = (lgv_error){0};
  }
  LGV_TRY(check_directory(batch, err));
  batch_state b = {.batch = batch,
                   .schedule = {.plans = &batch->plan,
                                .configs = 1,
                                .first_seed = batch->first_seed,
                                .seeds = batch->seeds,
                                .threads = batch->threads,
                                .summaries = summaries,
                                .work = run_seed,
                                .on_progress = on_progress,
                                .on_run = on_run,
                                .should_stop = should_stop,
                                .context = &b,
                                .owner = &b}};
  return run_all(&b, err);
}
