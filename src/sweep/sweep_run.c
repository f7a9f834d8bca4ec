/* Runs a sweep: first it makes the plans of all chosen configurations, so that a wrong setting is
 * reported before anything runs; then it finds the runs that have finished; then the scheduler does
 * the rest.
 *
 * Invariants: directories are named by the resolved settings (lgv_sweep_directory), so that the
 * mark of a finished run (sweep/sweep_store.h) cannot be mistaken for that of another. A process
 * holds the lock of the run that it works on and, after taking it, checks again whether the run has
 * finished. So any number of processes may share a sweep, and no run is done twice. */
#include "base/error.h"
#include "base/io/file.h"
#include "base/io/lock.h"
#include "base/memory.h"
#include "record/summary.h"
#include "sweep/scheduler.h"
#include "sweep/sweep.h"
#include "sweep/sweep_store.h"
#include "train/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MAKERS = 8 };

typedef char dir_name[LGV_SWEEP_NAME_SIZE];

typedef struct sweep_state {
  const lgv_sweep_job *job;
  const lgv_sweep_info *info;
  size_t runs;      /* configs x seeds */
  bool *chosen;     /* (runs) */
  lgv_plan **plans; /* (configs); NULL where no run is chosen */
  dir_name *names;  /* (configs): directories */
  lgv_schedule schedule;
  atomic_size_t next;   /* of the threads that make plans, then of those that find finished runs */
  pthread_mutex_t lock; /* for everything below */
  size_t wrong_index;   /* the least configuration that has no plan */
  lgv_error wrong;
  size_t first_unseen; /* the least run that could not be looked at */
  lgv_error unseen;
  lgv_maker makers[MOST_MAKERS]; /* of finished runs that another version or kernel set made */
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
  return memchr(s->chosen + config * seeds, 1, seeds) != NULL;
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

/* Two equal configurations would write into the same directory. */
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
                        "configurations %zu and %zu are the same; remove a value (--list shows "
                        "the configurations)",
                        (size_t)(sorted[i - 1] - s->names), (size_t)(sorted[i] - s->names));
  lgv__free(sorted);
  return status;
}

static lgv_status make_plans(sweep_state *s, lgv_error *err) {
  s->next = 0;
  lgv__on_threads(s->job->threads, plan_work, s);
  if (stop_asked(s)) return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
  if (s->wrong.status != LGV_OK)
    return lgv_fail(err, s->wrong.status, "configuration %zu: %.460s", s->wrong_index,
                    s->wrong.message);
  return check_twins(s, err);
}

/* ---- Runs that have finished ---- */

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

/* A process that died after its run had finished left its lock, and perhaps other files. */
static void clean_after_death(const sweep_state *s, size_t run, const char *path) {
  lgv_lock lock;
  if (s->job->look_only || !lgv__store_is_untidy(path) ||
      lgv__lock_take(&lock, path, 0, NULL) != LGV_OK)
    return;
  if (lock.descriptor >= 0) lgv__store_tidy(s->plans[config_of(s, run)], path);
  lgv__lock_release(&lock);
}

static lgv_status find_one(sweep_state *s, size_t run, const char *path, bool *found,
                           lgv_summary *summary, lgv_error *err) {
  lgv_origin origin;
  lgv_maker maker;
  LGV_TRY(lgv__store_finished(s->plans[config_of(s, run)], seed_of(s, run), path, found, summary,
                              &origin, &maker, err));
  if (*found && origin == LGV_ORIGIN_OTHER) count_maker(s, &maker);
  return LGV_OK;
}

/* The error of the first run counts, so that it does not depend on threads. */
static void note_unseen(sweep_state *s, size_t run, const lgv_error *err) {
  pthread_mutex_lock(&s->lock);
  if (s->unseen.status == LGV_OK || run < s->first_unseen) {
    s->first_unseen = run;
    s->unseen = *err;
  }
  pthread_mutex_unlock(&s->lock);
}

static void *find_work(void *context) {
  sweep_state *s = context;
  for (size_t i; (i = atomic_fetch_add(&s->next, 1)) < s->runs;) {
    char path[PATH_MAX];
    lgv_error err;
    bool found = false;
    if (!s->chosen[i] || run_directory(s, i, path, sizeof path, NULL) != LGV_OK) continue;
    if (find_one(s, i, path, &found, &s->schedule.summaries[i], &err) != LGV_OK)
      note_unseen(s, i, &err);
    if (found) clean_after_death(s, i, path);
  }
  return NULL;
}

static void report_makers(const sweep_state *s) {
  for (size_t i = 0; i < s->n_makers; i++) {
    char text[400];
    snprintf(
        text, sizeof text,
        "%zu finished run%s from langevin %s with the kernels %s; this is %s with %s. They are "
        "kept as they are; to run them again, choose another directory or remove theirs",
        s->made_elsewhere[i], s->made_elsewhere[i] == 1 ? " is" : "s are", s->makers[i].version,
        s->makers[i].kernels, lgv_version(), lgv_kernels());
    notice(s, text);
  }
}

static void report_run(const sweep_state *s, lgv_run_news news) {
  if (s->job->on_run) s->job->on_run(s->job->context, &news);
}

static lgv_status find_finished(sweep_state *s, lgv_error *err) {
  const lgv_summary *summaries = s->schedule.summaries;
  s->next = 0;
  lgv__on_threads(s->job->threads, find_work, s);
  if (s->unseen.status != LGV_OK && err) *err = s->unseen;
  LGV_TRY(s->unseen.status);
  report_makers(s);
  for (size_t i = 0; i < s->runs; i++)
    if (summaries[i].finished)
      report_run(s, (lgv_run_news){i, LGV_RUN_FOUND, 1, &summaries[i], NULL});
  return LGV_OK;
}

static void find_failures(const sweep_state *s) {
  for (size_t i = 0; i < s->runs; i++) {
    char path[PATH_MAX];
    lgv_error failure;
    if (s->schedule.summaries[i].finished || !s->chosen[i]) continue;
    if (run_directory(s, i, path, sizeof path, NULL) != LGV_OK) continue;
    if (lgv__store_failed(path, &failure))
      report_run(s, (lgv_run_news){.run = i, .phase = LGV_RUN_FAILED, .error = &failure});
  }
}

/* ---- Running ---- */

/* An unfinished run resumes from its checkpoint, unless another version or kernel set began it or
 * its config.json is damaged: then it starts again. */
static lgv_status prepare(const sweep_state *s, const lgv_task *t, const char *directory,
                          bool *resume, lgv_error *err) {
  char path[PATH_MAX], text[400];
  lgv_maker maker;
  lgv_origin origin;
  LGV_TRY(lgv__store_origin(t->plan, t->seed, directory, &origin, &maker, err));
  *resume = origin == LGV_ORIGIN_OURS;
  if (*resume) return LGV_OK;
  LGV_TRY(lgv__join_path(directory, "config.json", path, sizeof path, err));
  if (origin == LGV_ORIGIN_OTHER) {
    snprintf(text, sizeof text,
             "run %zu was begun by langevin %s with the kernels %s; it starts again", t->run,
             maker.version, maker.kernels);
    notice(s, text);
  }
  if (unlink(path) != 0 && access(path, F_OK) == 0)
    return lgv_fail(err, LGV_ERR_IO, "cannot replace %.300s", path);
  return LGV_OK;
}

static lgv_status run_locked(sweep_state *s, lgv_task *t, const char *path, const lgv_lock *lock,
                             lgv_error *err) {
  bool resume, found;
  LGV_TRY(find_one(s, t->run, path, &found, &t->summary, err));
  if (found) { /* another process finished it meanwhile */
    t->end = LGV_RUN_FOUND;
    return LGV_OK;
  }
  lgv_status status = prepare(s, t, path, &resume, err);
  if (status == LGV_OK) status = lgv__task_run(t, path, resume, lock, err);
  if (status == LGV_OK)
    lgv__store_tidy(t->plan, path);
  else if (status != LGV_ERR_INTERRUPTED)
    lgv__store_failure(path, err);
  return status;
}

static lgv_status run_one(void *owner, lgv_task *t, lgv_error *err) {
  sweep_state *s = owner;
  char path[PATH_MAX];
  lgv_lock lock;
  LGV_TRY(run_directory(s, t->run, path, sizeof path, err));
  LGV_TRY(lgv__make_directory(path, err));
  LGV_TRY(lgv__lock_take(&lock, path, 0, err));
  if (lock.descriptor < 0) {
    lgv_fail(err, LGV_ERR_IO, "%s works on it", lock.holder);
    t->end = LGV_RUN_HELD;
    return LGV_OK;
  }
  lgv_status status = run_locked(s, t, path, &lock, err);
  lgv__lock_release(&lock);
  return status;
}

static lgv_status choose(sweep_state *s, lgv_error *err) {
  if (s->job->runs) LGV_TRY(lgv__run_list_parse(s->job->runs, s->chosen, s->runs, err));
  for (size_t i = 0; i < s->runs; i++)
    s->chosen[i] = (s->chosen[i] || !s->job->runs) && lgv__sweep_has_run(s->job->sweep, i);
  return LGV_OK;
}

static lgv_status run_all(sweep_state *s, lgv_error *err) {
  LGV_TRY(choose(s, err));
  LGV_TRY(make_plans(s, err));
  if (!s->job->look_only) LGV_TRY(lgv__make_directory(s->job->directory, err));
  LGV_TRY(find_finished(s, err));
  lgv__schedule_open(&s->schedule);
  lgv_status status = s->job->look_only ? LGV_OK : lgv__schedule_run(&s->schedule, err);
  lgv__schedule_close(&s->schedule);
  if (s->job->look_only) find_failures(s);
  return status;
}

static lgv_schedule make_schedule(sweep_state *s, lgv_summary *summaries) {
  const lgv_sweep_job *job = s->job;
  return (lgv_schedule){.plans = (const lgv_plan *const *)s->plans,
                        .configs = s->info->configs,
                        .first_seed = s->info->first_seed,
                        .seeds = s->info->seeds,
                        .threads = job->threads,
                        .chosen = s->chosen,
                        .summaries = summaries,
                        .work = run_one,
                        .owner = s,
                        .on_progress = job->on_progress,
                        .on_run = job->on_run,
                        .should_stop = job->should_stop,
                        .context = job->context};
}

lgv_status lgv_sweep_run(const lgv_sweep_job *job, lgv_summary *summaries, lgv_error *err) {
  LGV_TRY(lgv__check_size("lgv_sweep_job", job->size, sizeof *job, err));
  if (job->threads < 1) return lgv_fail(err, LGV_ERR_USAGE, "a sweep needs at least one thread");
  sweep_state s = {.job = job, .info = lgv_sweep_get_info(job->sweep)};
  size_t n = s.info->configs;
  s.runs = n * (size_t)s.info->seeds;
  s.chosen = lgv__calloc(s.runs, sizeof *s.chosen);
  s.plans = lgv__calloc(n, sizeof *s.plans);
  s.names = job->names ? job->names : lgv__calloc(n, sizeof *s.names);
  s.schedule = make_schedule(&s, summaries);
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
