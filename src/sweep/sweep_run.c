/* Runs a sweep on worker threads: plans of all chosen configurations first, so that a wrong setting
 * is known before anything runs; then a look at what has finished before; then the rest, the first
 * seed of every configuration before the second of any, so that a sweep that is stopped early still
 * compares like with like.
 *
 * Invariants: directories are named by the resolved settings (lgv_sweep_directory), so that the
 * mark of a finished run (sweep/sweep_store.h) cannot be mistaken for that of another. Whoever
 * works on a run holds its lock, and looks once more whether it has finished after taking it, so
 * that any number of processes may share a sweep and no run is done twice. */
#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/memory.h"
#include "config/memory_budget.h"
#include "record/summary.h"
#include "sweep/index_list.h"
#include "sweep/job.h"
#include "sweep/sweep_store.h"
#include "train/run.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MAKERS = 8 };

typedef char dir_name[LGV_SWEEP_NAME_SIZE];

typedef struct sweep_state {
  const lgv_sweep_job *job;
  const lgv_sweep_info *info;
  size_t runs;            /* configs x seeds */
  lgv_summary *summaries; /* (runs): changed with the lock held once there are threads that run */
  bool *chosen;           /* (runs) */
  lgv_plan **plans;       /* (configs); NULL where no run is chosen */
  dir_name *names;        /* (configs): directories */
  atomic_size_t next;     /* of the current phase */
  pthread_mutex_t lock;
  lgv_progress progress;
  double partial; /* of the runs under way: sum of their fractions */
  bool interrupted;
  size_t wrong_index; /* the least configuration that has no plan */
  lgv_error wrong;
  lgv_maker makers[MOST_MAKERS]; /* of finished runs that are not of this program */
  size_t n_makers, made_elsewhere[MOST_MAKERS];
} sweep_state;

static bool stop_asked(const sweep_state *s) {
  return s->job->should_stop && s->job->should_stop(s->job->context);
}

static size_t config_of(const sweep_state *s, size_t run) { return run / (size_t)s->info->seeds; }

static uint64_t seed_of(const sweep_state *s, size_t run) {
  return s->info->first_seed + run % (size_t)s->info->seeds;
}

static void notice(const sweep_state *s, const char *text) {
  if (s->job->on_notice) s->job->on_notice(s->job->context, text);
}

/* ---- Plans ---- */

static bool is_chosen(const sweep_state *s, size_t config) {
  size_t seeds = (size_t)s->info->seeds;
  return memchr(s->chosen + config * seeds, true, seeds) != NULL;
}

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
    if (!is_chosen(s, config) || stop_asked(s) || make_plan(s, config, &err) == LGV_OK) continue;
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
  size_t n = 0;
  const dir_name **sorted = lgv__calloc(s->info->configs, sizeof *sorted);
  if (!sorted) return lgv__out_of_memory(err, "a sweep");
  for (size_t i = 0; i < s->info->configs; i++)
    if (s->plans[i]) sorted[n++] = &s->names[i];
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

/* ---- What is told ---- */

/* With the lock held, or before there are threads; so are those below. */
static void report(sweep_state *s) {
  double ended = (double)(s->progress.runs_done + s->progress.runs_failed);
  s->progress.fraction = s->progress.runs ? (ended + s->partial) / (double)s->progress.runs : 1;
  if (s->job->on_progress) s->job->on_progress(s->job->context, &s->progress);
}

static void tell(const sweep_state *s, lgv_run_news news) {
  if (s->job->on_run) s->job->on_run(s->job->context, &news);
}

static void tell_failure(const sweep_state *s, size_t run, const lgv_error *err) {
  if (s->job->on_failure)
    s->job->on_failure(s->job->context, config_of(s, run), seed_of(s, run), err);
  tell(s, (lgv_run_news){.run = run, .phase = LGV_RUN_FAILED, .error = err});
}

/* ---- What has finished before ---- */

static lgv_status run_directory(const sweep_state *s, size_t run, char *path, size_t size,
                                lgv_error *err) {
  char name[LGV_SWEEP_NAME_SIZE + 32];
  snprintf(name, sizeof name, "%s/seed-%llu", s->names[config_of(s, run)],
           (unsigned long long)seed_of(s, run));
  return lgv__join_path(s->job->directory, name, path, size, err);
}

static void count_maker(sweep_state *s, const lgv_maker *maker) {
  if (strcmp(maker->version, lgv_version()) == 0 && strcmp(maker->kernels, lgv_kernels()) == 0)
    return;
  pthread_mutex_lock(&s->lock);
  size_t i = 0;
  while (i < s->n_makers && (strcmp(s->makers[i].version, maker->version) != 0 ||
                             strcmp(s->makers[i].kernels, maker->kernels) != 0))
    i++;
  if (i == s->n_makers && i < MOST_MAKERS) s->makers[s->n_makers++] = *maker;
  if (i < MOST_MAKERS) s->made_elsewhere[i]++;
  pthread_mutex_unlock(&s->lock);
}

/* A process that died after its run had finished left its lock, and perhaps more. */
static void clean_after_death(const sweep_state *s, size_t run, const char *path) {
  char file[PATH_MAX];
  lgv_lock lock;
  if (s->job->look_only || lgv__join_path(path, LGV_LOCK_NAME, file, sizeof file, NULL) != LGV_OK ||
      access(file, F_OK) != 0 || lgv__lock_take(&lock, path, false, NULL) != LGV_OK)
    return;
  if (lock.descriptor >= 0) lgv__store_tidy(s->plans[config_of(s, run)], path);
  lgv__lock_release(&lock);
}

static bool find_one(sweep_state *s, size_t run, const char *path, lgv_summary *summary) {
  lgv_origin origin;
  lgv_maker maker;
  if (!lgv__store_finished(s->plans[config_of(s, run)], seed_of(s, run), path, summary, &origin,
                           &maker))
    return false;
  if (origin == LGV_ORIGIN_OTHER) count_maker(s, &maker);
  return true;
}

static void *find_work(void *context) {
  sweep_state *s = context;
  for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->runs;) {
    char path[PATH_MAX];
    if (!s->chosen[i] || run_directory(s, i, path, sizeof path, NULL) != LGV_OK) continue;
    if (find_one(s, i, path, &s->summaries[i])) clean_after_death(s, i, path);
  }
  return NULL;
}

static void tell_makers(const sweep_state *s) {
  for (size_t i = 0; i < s->n_makers; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "%zu finished run%s of langevin %s with the kernels %s; this is %s with %s. They are "
             "kept as they are; to run them again, choose another directory or remove theirs",
             s->made_elsewhere[i], s->made_elsewhere[i] == 1 ? " is" : "s are",
             s->makers[i].version, s->makers[i].kernels, lgv_version(), lgv_kernels());
    notice(s, text);
  }
}

static void find_finished(sweep_state *s) {
  s->next = 0;
  lgv__job_threads(s->job->threads, find_work, s);
  tell_makers(s);
  s->progress.mean_return = NAN;
  for (size_t i = 0; i < s->runs; i++) {
    s->progress.runs_found += s->summaries[i].finished;
    s->progress.runs += s->chosen[i] && !s->summaries[i].finished;
    if (s->summaries[i].finished)
      tell(s, (lgv_run_news){
                  .run = i, .phase = LGV_RUN_FOUND, .fraction = 1, .summary = &s->summaries[i]});
  }
  report(s); /* what there is to do, even if that is nothing */
}

static void find_failures(sweep_state *s) {
  for (size_t i = 0; i < s->runs; i++) {
    char path[PATH_MAX];
    lgv_error failure;
    if (s->summaries[i].finished || !s->chosen[i]) continue;
    if (run_directory(s, i, path, sizeof path, NULL) != LGV_OK) continue;
    if (lgv__store_failed(path, &failure)) tell_failure(s, i, &failure);
  }
}

/* ---- Running ---- */

/* One run's part in the progress. */
typedef struct run_state {
  sweep_state *s;
  size_t run;
  double fraction;
  int64_t steps;
  bool found;          /* somebody else finished it meanwhile */
  lgv_summary summary; /* its result */
} run_state;

static void note_chunk(void *context, const lgv_run *run) {
  run_state *r = context;
  sweep_state *s = r->s;
  lgv_summary summary;
  lgv_run_summary(run, &summary);
  double fraction = lgv__run_fraction(run);
  pthread_mutex_lock(&s->lock);
  s->partial += fraction - r->fraction;
  s->progress.steps += summary.steps - r->steps;
  s->progress.mean_return = summary.mean_return;
  r->fraction = fraction;
  r->steps = summary.steps;
  tell(s, (lgv_run_news){
              .run = r->run, .phase = LGV_RUN_GOING, .fraction = fraction, .summary = &summary});
  report(s);
  pthread_mutex_unlock(&s->lock);
}

static bool run_should_stop(void *context) { return stop_asked(((run_state *)context)->s); }

/* An unfinished run goes on from its checkpoint, but not from one of another version or with other
 * kernels, nor from one that nobody can be told of. */
static lgv_status prepare(const run_state *r, lgv_job *job, lgv_error *err) {
  char path[PATH_MAX], text[400];
  lgv_maker maker;
  lgv_origin origin = lgv__store_origin(job->plan, job->seed, job->directory, &maker);
  job->resume = origin == LGV_ORIGIN_OURS;
  if (job->resume) return LGV_OK;
  LGV_TRY(lgv__join_path(job->directory, "config.json", path, sizeof path, err));
  if (origin == LGV_ORIGIN_OTHER) {
    snprintf(text, sizeof text,
             "run %zu was begun by langevin %s with the kernels %s; it starts again", r->run,
             maker.version, maker.kernels);
    notice(r->s, text);
  }
  if (unlink(path) != 0 && access(path, F_OK) == 0)
    return lgv_fail(err, LGV_ERR_IO, "cannot replace %.300s", path);
  return LGV_OK;
}

/* With the run's lock held. */
static lgv_status run_locked(run_state *r, const char *path, lgv_error *err) {
  sweep_state *s = r->s;
  lgv_job job = {.plan = s->plans[config_of(s, r->run)],
                 .seed = seed_of(s, r->run),
                 .directory = path,
                 .should_stop = run_should_stop,
                 .on_chunk = note_chunk,
                 .context = r};
  r->found = find_one(s, r->run, path, &r->summary);
  if (r->found) return LGV_OK;
  lgv_status status = prepare(r, &job, err);
  if (status == LGV_OK) status = lgv__job_run(&job, &r->summary, err);
  if (status == LGV_OK)
    lgv__store_tidy(job.plan, path);
  else if (status != LGV_ERR_INTERRUPTED)
    lgv__store_failure(path, err);
  return status;
}

/* *held: another process has it, and err says which. */
static lgv_status run_one(run_state *r, bool *held, lgv_error *err) {
  char path[PATH_MAX];
  lgv_lock lock;
  *held = false;
  LGV_TRY(run_directory(r->s, r->run, path, sizeof path, err));
  LGV_TRY(lgv__make_directory(path, err));
  LGV_TRY(lgv__lock_take(&lock, path, false, err));
  if (lock.descriptor < 0) {
    *held = true;
    return lgv_fail(err, LGV_ERR_IO, "%s works on it", lock.holder);
  }
  lgv_status status = run_locked(r, path, err);
  lgv__lock_release(&lock);
  return status;
}

static void note_end(run_state *r, lgv_status status, bool held, const lgv_error *err) {
  sweep_state *s = r->s;
  lgv_summary *summary = &s->summaries[r->run];
  pthread_mutex_lock(&s->lock);
  s->partial -= r->fraction;
  s->progress.runs_running--;
  if (held || r->found) s->progress.runs--;
  s->progress.runs_held += held;
  s->progress.runs_found += r->found;
  lgv_run_news news = {.run = r->run, .fraction = r->fraction, .error = err};
  if (held) {
    news.phase = LGV_RUN_HELD;
    tell(s, news);
  } else if (status == LGV_OK) {
    *summary = r->summary;
    s->progress.runs_done += !r->found;
    tell(s, (lgv_run_news){.run = r->run,
                           .phase = r->found ? LGV_RUN_FOUND : LGV_RUN_FINISHED,
                           .fraction = 1,
                           .summary = summary});
  } else if (status == LGV_ERR_INTERRUPTED) {
    s->interrupted = true;
    news.phase = LGV_RUN_STOPPED;
    tell(s, news);
  } else {
    s->progress.runs_failed++;
    tell_failure(s, r->run, err);
  }
  report(s);
  pthread_mutex_unlock(&s->lock);
}

static void note_begin(const run_state *r) {
  pthread_mutex_lock(&r->s->lock);
  r->s->progress.runs_running++;
  tell(r->s, (lgv_run_news){.run = r->run, .phase = LGV_RUN_BEGUN});
  pthread_mutex_unlock(&r->s->lock);
}

static void *run_work(void *context) {
  sweep_state *s = context;
  size_t configs = s->info->configs, seeds = (size_t)s->info->seeds;
  for (size_t i; !stop_asked(s) && (i = atomic_fetch_add(&s->next, 1)) < s->runs;) {
    run_state r = {.s = s, .run = i % configs * seeds + i / configs};
    lgv_error err = {0};
    bool held;
    if (!s->chosen[r.run] || s->summaries[r.run].finished) continue;
    note_begin(&r);
    lgv_status status = run_one(&r, &held, &err);
    note_end(&r, status, held, &err);
  }
  return NULL;
}

/* The greatest of what is left to do may meet at the same time. */
static lgv_status check_memory(const sweep_state *s, lgv_error *err) {
  size_t n = 0;
  uint64_t *needs = lgv__calloc(s->runs + 1, sizeof *needs), most = 0;
  if (!needs) return lgv__out_of_memory(err, "a sweep");
  for (size_t i = 0; i < s->runs; i++) {
    if (s->summaries[i].finished || !s->chosen[i]) continue;
    needs[n] = lgv_plan_memory(s->plans[config_of(s, i)]);
    most = needs[n] > most ? needs[n] : most;
    n++;
  }
  lgv__fit_tell(most, s->job->on_notice, s->job->context);
  lgv_status status = lgv__fit_check(needs, n, s->job->threads, err);
  lgv__free(needs);
  return status;
}

static lgv_status choose(sweep_state *s, lgv_error *err) {
  if (s->job->runs) return lgv__index_list_parse(s->job->runs, s->chosen, s->runs, err);
  memset(s->chosen, true, s->runs);
  return LGV_OK;
}

static lgv_status run_all(sweep_state *s, lgv_error *err) {
  LGV_TRY(choose(s, err));
  LGV_TRY(make_plans(s, err));
  if (!s->job->look_only) LGV_TRY(lgv__make_directory(s->job->directory, err));
  find_finished(s);
  if (s->job->look_only) {
    find_failures(s);
    return LGV_OK;
  }
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
  s.runs = n * (size_t)s.info->seeds;
  s.chosen = lgv__calloc(s.runs, sizeof *s.chosen);
  s.plans = lgv__calloc(n, sizeof *s.plans);
  s.names = job->names ? job->names : lgv__calloc(n, sizeof *s.names);
  for (size_t i = 0; i < s.runs; i++) summaries[i] = lgv__summary_none(seed_of(&s, i));
  for (size_t i = 0; s.names && i < n; i++) s.names[i][0] = '\0';
  pthread_mutex_init(&s.lock, NULL);
  bool enough = s.chosen && s.plans && s.names;
  lgv_status status = enough ? run_all(&s, err) : lgv__out_of_memory(err, "a sweep");
  pthread_mutex_destroy(&s.lock);
  for (size_t i = 0; s.plans && i < n; i++) lgv_plan_free(s.plans[i]);
  lgv__free(s.plans);
  lgv__free(s.chosen);
  if (s.names != job->names) lgv__free(s.names);
  return status;
}
