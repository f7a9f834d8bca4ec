/* Runs a sweep on worker threads: plans of all configurations first, so that a wrong setting is
 * known before anything runs; then a look at what has finished before; then the rest, the first
 * seed of every configuration before the second of any, so that a sweep that is stopped early still
 * compares like with like.
 *
 * Invariant: a run has finished if its summary.json says so. Directories are named by the resolved
 * settings (lgv_sweep_directory), so that this mark cannot be mistaken for that of another run. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "run/fit.h"
#include "run/job.h"
#include "run/record.h"
#include "run/run.h"
#include "run/summary.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef char dir_name[LGV_SWEEP_NAME_SIZE];

typedef struct sweep_state {
  const lgv_sweep_job *job;
  const lgv_sweep_info *info;
  lgv_summary *summaries; /* (configs x seeds) */
  lgv_plan **plans;       /* (configs) */
  dir_name *names;        /* (configs): directories */
  atomic_size_t next;     /* of the current phase */
  pthread_mutex_t lock;
  lgv_progress progress;
  double partial; /* of the runs under way: sum of their fractions */
  bool interrupted;
  size_t wrong_index; /* the least configuration that has no plan */
  lgv_error wrong;
} sweep_state;

static bool stop_asked(const sweep_state *s) {
  return s->job->should_stop && s->job->should_stop(s->job->context);
}

static lgv_summary *summary_of(const sweep_state *s, size_t config, size_t seed) {
  return &s->summaries[config * (size_t)s->info->seeds + seed];
}

/* ---- Plans ---- */

static lgv_status make_plan(sweep_state *s, size_t config, lgv_error *err) {
  lgv_settings *settings;
  LGV_TRY(lgv_sweep_settings(s->job->sweep, config, &settings, err));
  lgv_settings_on_notice(settings, s->job->on_notice, s->job->context);
  lgv_status status = lgv_plan_create(settings, &s->plans[config], err);
  lgv_settings_free(settings);
  if (status == LGV_OK) status = lgv_sweep_directory(s->plans[config], s->names[config], err);
  return status;
}

static void *plan_work(void *context) {
  sweep_state *s = context;
  for (size_t config; (config = atomic_fetch_add(&s->next, 1)) < s->info->configs;) {
    lgv_error err = {0};
    if (stop_asked(s) || make_plan(s, config, &err) == LGV_OK) continue;
    pthread_mutex_lock(&s->lock);
    if (s->wrong.status == LGV_OK || config < s->wrong_index) {
      s->wrong = err;
      s->wrong_index = config;
    }
    pthread_mutex_unlock(&s->lock);
  }
  return NULL;
}

static int by_name(const void *a, const void *b) {
  const dir_name *const *x = a, *const *y = b;
  int order = strcmp(**x, **y);
  return order ? order : (*x > *y) - (*x < *y);
}

/* Two configurations that come to the same would write into the same directory. */
static lgv_status check_twins(const sweep_state *s, lgv_error *err) {
  size_t n = s->info->configs;
  const dir_name **sorted = lgv__calloc(n, sizeof *sorted);
  if (!sorted) return lgv__out_of_memory(err, "a sweep");
  for (size_t i = 0; i < n; i++) sorted[i] = &s->names[i];
  qsort(sorted, n, sizeof *sorted, by_name);
  lgv_status status = LGV_OK;
  for (size_t i = 1; i < n && status == LGV_OK; i++)
    if (strcmp(*sorted[i - 1], *sorted[i]) == 0)
      status = lgv_fail(err, LGV_ERR_USAGE,
                        "configurations %zu and %zu are the same; take out a value (--list shows "
                        "the configurations)",
                        (size_t)(sorted[i - 1] - s->names), (size_t)(sorted[i] - s->names));
  lgv__free(sorted);
  return status;
}

static lgv_status make_plans(sweep_state *s, lgv_error *err) {
  s->next = 0;
  lgv__job_threads(s->job->threads, plan_work, s);
  if (stop_asked(s)) return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
  if (s->wrong.status != LGV_OK)
    return lgv_fail(err, s->wrong.status, "configuration %zu: %.460s", s->wrong_index,
                    s->wrong.message);
  return check_twins(s, err);
}

/* ---- What has finished before ---- */

/* With the lock held, or before there are threads. */
static void report(sweep_state *s) {
  double ended = (double)(s->progress.runs_done + s->progress.runs_failed);
  s->progress.fraction = s->progress.runs ? (ended + s->partial) / (double)s->progress.runs : 1;
  if (s->job->on_progress) s->job->on_progress(s->job->context, &s->progress);
}

static lgv_status run_directory(const sweep_state *s, size_t config, uint64_t seed, char *path,
                                size_t size, lgv_error *err) {
  char name[LGV_SWEEP_NAME_SIZE + 32];
  snprintf(name, sizeof name, "%s/seed-%llu", s->names[config], (unsigned long long)seed);
  return lgv__join_path(s->job->directory, name, path, size, err);
}

static void *find_work(void *context) {
  sweep_state *s = context;
  size_t seeds = (size_t)s->info->seeds;
  for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->info->configs * seeds;) {
    uint64_t seed = s->info->first_seed + i % seeds;
    char path[PATH_MAX];
    lgv_summary found;
    if (run_directory(s, i / seeds, seed, path, sizeof path, NULL) != LGV_OK) continue;
    if (lgv_summary_load(path, &found, NULL) != LGV_OK) continue;
    if (found.finished && found.seed == seed) s->summaries[i] = found;
  }
  return NULL;
}

static void find_finished(sweep_state *s) {
  s->next = 0;
  lgv__job_threads(s->job->threads, find_work, s);
  size_t all = s->info->configs * (size_t)s->info->seeds;
  for (size_t i = 0; i < all; i++) s->progress.runs_found += s->summaries[i].finished;
  s->progress.runs = (int64_t)all - s->progress.runs_found;
  s->progress.mean_return = NAN;
  report(s); /* what there is to do, even if that is nothing */
}

/* ---- Running ---- */

/* One run's part in the progress. */
typedef struct run_state {
  sweep_state *s;
  double fraction;
  int64_t steps;
} run_state;

static void note_chunk(void *context, const lgv_run *run) {
  run_state *r = context;
  lgv_summary summary;
  lgv_run_summary(run, &summary);
  pthread_mutex_lock(&r->s->lock);
  double fraction = lgv__run_fraction(run);
  r->s->partial += fraction - r->fraction;
  r->s->progress.steps += summary.steps - r->steps;
  r->s->progress.mean_return = summary.mean_return;
  r->fraction = fraction;
  r->steps = summary.steps;
  report(r->s);
  pthread_mutex_unlock(&r->s->lock);
}

static bool run_should_stop(void *context) { return stop_asked(((run_state *)context)->s); }

/* An unfinished run goes on from its checkpoint, but not from one of another version. */
static lgv_status prepare(const lgv_plan *plan, uint64_t seed, const char *directory, bool *resume,
                          lgv_error *err) {
  char path[PATH_MAX];
  lgv_status status = lgv__record_check_directory(plan, seed, directory, err);
  *resume = status == LGV_OK;
  if (status != LGV_ERR_USAGE) return status;
  LGV_TRY(lgv__join_path(directory, "config.json", path, sizeof path, err));
  if (unlink(path) != 0) return lgv_fail(err, LGV_ERR_IO, "cannot replace %.300s", path);
  return LGV_OK;
}

static lgv_status run_one(sweep_state *s, size_t config, uint64_t seed, lgv_summary *summary,
                          lgv_error *err) {
  char path[PATH_MAX];
  run_state r = {.s = s};
  lgv_job job = {.plan = s->plans[config],
                 .seed = seed,
                 .directory = path,
                 .should_stop = run_should_stop,
                 .on_chunk = note_chunk,
                 .context = &r};
  LGV_TRY(run_directory(s, config, seed, path, sizeof path, err));
  LGV_TRY(prepare(job.plan, seed, path, &job.resume, err));
  lgv_status status = lgv__job_run(&job, summary, err);
  pthread_mutex_lock(&s->lock);
  s->partial -= r.fraction;
  pthread_mutex_unlock(&s->lock);
  return status;
}

static void note_end(sweep_state *s, size_t config, uint64_t seed, lgv_status status,
                     const lgv_error *err) {
  pthread_mutex_lock(&s->lock);
  s->interrupted |= status == LGV_ERR_INTERRUPTED;
  s->progress.runs_done += status == LGV_OK;
  if (status != LGV_OK && status != LGV_ERR_INTERRUPTED) {
    s->progress.runs_failed++;
    if (s->job->on_failure) s->job->on_failure(s->job->context, config, seed, err);
  }
  report(s);
  pthread_mutex_unlock(&s->lock);
}

static void *run_work(void *context) {
  sweep_state *s = context;
  size_t configs = s->info->configs, all = configs * (size_t)s->info->seeds;
  for (size_t i; !stop_asked(s) && (i = atomic_fetch_add(&s->next, 1)) < all;) {
    size_t config = i % configs;
    uint64_t seed = s->info->first_seed + i / configs;
    lgv_summary *summary = summary_of(s, config, i / configs);
    lgv_error err = {0};
    if (summary->finished) continue;
    lgv_status status = run_one(s, config, seed, summary, &err);
    note_end(s, config, seed, status, &err);
  }
  return NULL;
}

/* The greatest of what is left to do may meet at the same time. */
static lgv_status check_memory(const sweep_state *s, lgv_error *err) {
  size_t seeds = (size_t)s->info->seeds, all = s->info->configs * seeds, n = 0;
  uint64_t *needs = lgv__calloc(all + 1, sizeof *needs), most = 0;
  if (!needs) return lgv__out_of_memory(err, "a sweep");
  for (size_t i = 0; i < all; i++) {
    if (s->summaries[i].finished) continue;
    needs[n] = lgv_plan_memory(s->plans[i / seeds]);
    most = needs[n] > most ? needs[n] : most;
    n++;
  }
  lgv__fit_tell(most, s->job->on_notice, s->job->context);
  lgv_status status = lgv__fit_check(needs, n, s->job->threads, err);
  lgv__free(needs);
  return status;
}

static lgv_status run_all(sweep_state *s, lgv_error *err) {
  LGV_TRY(make_plans(s, err));
  LGV_TRY(lgv__make_directory(s->job->directory, err));
  find_finished(s);
  LGV_TRY(check_memory(s, err));
  s->next = 0;
  if (s->progress.runs > 0) lgv__job_threads(s->job->threads, run_work, s);
  if (s->interrupted || stop_asked(s)) return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
  return LGV_OK;
}

lgv_status lgv_sweep_run(const lgv_sweep_job *job, lgv_summary *summaries, lgv_error *err) {
  if (job->threads < 1) return lgv_fail(err, LGV_ERR_USAGE, "a sweep needs at least one thread");
  sweep_state s = {.job = job, .info = lgv_sweep_get_info(job->sweep), .summaries = summaries};
  size_t n = s.info->configs;
  s.plans = lgv__calloc(n, sizeof *s.plans);
  s.names = job->names ? job->names : lgv__calloc(n, sizeof *s.names);
  for (size_t i = 0; i < n * (size_t)s.info->seeds; i++)
    summaries[i] = lgv__summary_none(s.info->first_seed + i % (size_t)s.info->seeds);
  pthread_mutex_init(&s.lock, NULL);
  lgv_status status = s.plans && s.names ? run_all(&s, err) : lgv__out_of_memory(err, "a sweep");
  pthread_mutex_destroy(&s.lock);
  for (size_t i = 0; s.plans && i < n; i++) lgv_plan_free(s.plans[i]);
  lgv__free(s.plans);
  if (s.names != job->names) lgv__free(s.names);
  return status;
}
