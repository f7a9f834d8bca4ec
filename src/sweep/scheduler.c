#include "sweep/scheduler.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "config/memory_budget.h"
#include "config/plan.h"
#include "record/summary.h"
#include "train/run.h"

#include <math.h>
#include <stdio.h>

static size_t count_runs(const lgv_schedule *s) { return s->configs * (size_t)s->seeds; }

static bool is_wanted(const lgv_schedule *s, size_t run) {
  return (!s->chosen || s->chosen[run]) && !s->summaries[run].finished;
}

static bool stop_asked(const lgv_schedule *s) {
  return s->interrupted || (s->should_stop && s->should_stop(s->context));
}

/* ---- Reports: with the lock held, or before there are threads ---- */

static const double part = 0x1p-32;

static void report_progress(lgv_schedule *s) {
  lgv_progress *p = &s->progress;
  double ended = (double)(p->runs_done + p->runs_failed);
  p->fraction = p->runs > 0 ? (ended + part * (double)s->parts) / (double)p->runs : 1;
  if (s->on_progress) s->on_progress(s->context, p);
}

static void report_run(const lgv_task *t, lgv_run_phase phase, const lgv_summary *summary,
                       const lgv_error *err) {
  const lgv_schedule *s = t->schedule;
  double fraction = summary && summary->finished ? 1 : part * (double)t->parts;
  if (s->on_run) s->on_run(s->context, &(lgv_run_news){t->run, phase, fraction, summary, err});
}

static void note_begin(lgv_task *t) {
  lgv_schedule *s = t->schedule;
  pthread_mutex_lock(&s->lock);
  s->progress.runs_running++;
  report_run(t, LGV_RUN_BEGUN, NULL, NULL);
  pthread_mutex_unlock(&s->lock);
}

static void note_chunk(lgv_task *t, const lgv_run *run) {
  lgv_schedule *s = t->schedule;
  lgv_summary summary;
  lgv_run_summary(run, &summary);
  int64_t parts = (int64_t)(lgv__run_fraction(run) / part);
  pthread_mutex_lock(&s->lock);
  s->parts += parts - t->parts;
  s->progress.steps += summary.steps - t->steps;
  s->progress.mean_return = summary.mean_return;
  t->parts = parts;
  t->steps = summary.steps;
  report_run(t, LGV_RUN_GOING, &summary, NULL);
  report_progress(s);
  pthread_mutex_unlock(&s->lock);
}

static void count_end(lgv_schedule *s, lgv_run_phase end) {
  lgv_progress *p = &s->progress;
  p->runs_running--;
  p->runs_done += end == LGV_RUN_FINISHED;
  p->runs_failed += end == LGV_RUN_FAILED;
  p->runs_held += end == LGV_RUN_HELD;
  p->runs_found += end == LGV_RUN_FOUND;
  p->runs -= end == LGV_RUN_HELD || end == LGV_RUN_FOUND;
}

static void note_end(lgv_task *t, lgv_status status, const lgv_error *err) {
  lgv_schedule *s = t->schedule;
  if (status != LGV_OK) t->end = status == LGV_ERR_INTERRUPTED ? LGV_RUN_STOPPED : LGV_RUN_FAILED;
  if (t->end == LGV_RUN_STOPPED) s->interrupted = true;
  pthread_mutex_lock(&s->lock);
  s->summaries[t->run] = t->summary;
  if (t->end != LGV_RUN_STOPPED) s->parts -= t->parts;
  count_end(s, t->end);
  bool has_result = t->end == LGV_RUN_FINISHED || t->end == LGV_RUN_FOUND;
  report_run(t, t->end, has_result ? &s->summaries[t->run] : NULL, has_result ? NULL : err);
  report_progress(s);
  pthread_mutex_unlock(&s->lock);
}

/* ---- One run ---- */

/* should_stop is asked and progress reported every CHUNK steps, or every second if steps are slow.
 */
enum { CHUNK = 256, FIRST = 8 };
static const double chunk_seconds = 1;

static lgv_status check_stop(const lgv_task *t, lgv_error *err) {
  const lgv_schedule *s = t->schedule;
  if (!s->should_stop || !s->should_stop(s->context)) return LGV_OK;
  return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
}

static lgv_status advance_to_end(lgv_task *t, lgv_run *run, lgv_error *err) {
  bool done = false;
  int64_t steps = FIRST; /* their time decides on the length of the chunks */
  LGV_TRY(check_stop(t, err));
  for (;;) {
    double begun = lgv__now();
    LGV_TRY(lgv_run_advance(run, steps, &done, err));
    note_chunk(t, run);
    if (done) return LGV_OK;
    LGV_TRY(check_stop(t, err));
    double fitting = chunk_seconds * (double)steps / fmax(lgv__now() - begun, 1e-9);
    steps = (int64_t)fmax(1, fmin(fitting, CHUNK));
  }
}

static void report_unsaved(const lgv_task *t, const lgv_error *why) {
  const lgv_host *host = &t->plan->host;
  char text[sizeof why->message + 128];
  snprintf(text, sizeof text,
           "%s. Everything since the previous checkpoint is lost: the run will resume from that "
           "checkpoint, or from its start",
           why->message);
  if (host->notice) host->notice(host->context, text);
}

lgv_status lgv__task_run(lgv_task *t, const char *directory, bool resume, const lgv_lock *held,
                         lgv_error *err) {
  lgv_run *run;
  LGV_TRY(lgv__run_open(t->plan, t->seed, directory, resume && directory, held, &run, err));
  const lgv_schedule *s = t->schedule;
  lgv__run_set_stop(run, (lgv_stop){s->should_stop, s->context});
  lgv_status status = advance_to_end(t, run, err);
  lgv_error later; /* must not hide the first error */
  if (status == LGV_ERR_INTERRUPTED && lgv_run_checkpoint(run, &later) != LGV_OK)
    report_unsaved(t, &later);
  lgv_status closed = lgv__run_close_records(run, status == LGV_OK ? NULL : err->message, &later);
  if (status == LGV_OK && closed != LGV_OK) {
    status = closed;
    *err = later;
  }
  lgv_run_summary(run, &t->summary);
  t->summary.finished = status == LGV_OK && t->summary.finished;
  lgv_run_free(run);
  return status;
}

/* ---- All runs ---- */

static bool take_next(lgv_schedule *s, size_t *run) {
  for (size_t i; !stop_asked(s) && (i = atomic_fetch_add(&s->next, 1)) < count_runs(s);) {
    *run = i % s->configs * (size_t)s->seeds + i / s->configs;
    if (is_wanted(s, *run)) return true;
  }
  return false;
}

static void *take_runs(void *context) {
  lgv_schedule *s = context;
  for (size_t run; take_next(s, &run);) {
    uint64_t seed = s->first_seed + run % (size_t)s->seeds;
    lgv_task task = {.schedule = s,
                     .run = run,
                     .plan = s->plans[run / (size_t)s->seeds],
                     .seed = seed,
                     .end = LGV_RUN_FINISHED,
                     .summary = lgv__summary_none(seed)};
    lgv_error err = {0};
    note_begin(&task);
    lgv_status status = s->work(s->owner, &task, &err);
    note_end(&task, status, &err);
  }
  return NULL;
}

void lgv__on_threads(int32_t n, void *(*work)(void *context), void *context) {
  pthread_t *threads = n > 1 ? lgv__calloc((size_t)n - 1, sizeof *threads) : NULL;
  int32_t started = 0;
  while (threads && started < n - 1 && pthread_create(&threads[started], NULL, work, context) == 0)
    started++;
  work(context); /* this thread works too, so that one thread always does */
  for (int32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  lgv__free(threads);
}

/* Assumes that the runs which need most memory run at the same time. */
static lgv_status check_memory(const lgv_schedule *s, lgv_error *err) {
  size_t n = 0;
  uint64_t *needs = lgv__calloc(count_runs(s) + 1, sizeof *needs), most = 0;
  const lgv_host *host = NULL; /* of the run that needs most */
  if (!needs) return lgv__out_of_memory(err, "a schedule");
  for (size_t i = 0; i < count_runs(s); i++) {
    const lgv_plan *plan = s->plans[i / (size_t)s->seeds];
    if (!is_wanted(s, i)) continue;
    needs[n] = lgv_plan_memory(plan);
    if (!host || needs[n] > most) host = &plan->host;
    most = needs[n] > most ? needs[n] : most;
    n++;
  }
  lgv_status status = lgv__memory_check(needs, n, s->threads, err);
  if (host && status == LGV_OK) lgv__memory_notify(most, host->notice, host->context);
  lgv__free(needs);
  return status;
}

void lgv__schedule_open(lgv_schedule *s) {
  pthread_mutex_init(&s->lock, NULL);
  s->progress.mean_return = NAN;
  for (size_t i = 0; i < count_runs(s); i++) {
    s->progress.runs_found += s->summaries[i].finished;
    s->progress.runs += is_wanted(s, i);
  }
  report_progress(s);
}

void lgv__schedule_close(lgv_schedule *s) { pthread_mutex_destroy(&s->lock); }

lgv_status lgv__schedule_run(lgv_schedule *s, lgv_error *err) {
  int64_t runs = s->progress.runs;
  LGV_TRY(check_memory(s, err));
  if (runs > 0) lgv__on_threads(runs < s->threads ? (int32_t)runs : s->threads, take_runs, s);
  const lgv_progress *p = &s->progress;
  bool all_ended = p->runs_done + p->runs_failed == p->runs;
  return all_ended ? LGV_OK : lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
}
