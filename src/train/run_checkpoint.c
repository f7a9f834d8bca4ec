/* Checkpoints of a run. Environments, agent and random streams contribute the arrays of their
 * layouts; the run adds its own counters. */
#include "agent/agent.h"
#include "base/error.h"
#include "base/io/file.h"
#include "base/io/json.h"
#include "base/memory.h"
#include "config/run_directory.h"
#include "env/env.h"
#include "train/run_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *state_fault(const void *context) {
  const lgv_run *run = context;
  const run_counters *at = &run->at;
  const int64_t counts[] = {at->steps,    at->episodes,  at->window_episodes,
                            at->n_recent, at->next_eval, at->metrics_size};
  return lgv__are_counts(counts, sizeof counts / sizeof *counts) ? NULL : "counter out of range";
}

static const char *rows_fault(const void *context) {
  const lgv_run *run = context;
  return lgv__record_rows_fault(&run->record, (lgv_rows){run->at.metrics_size, run->rows_sum});
}

static const char *evaluation_fault(const void *run) {
  const lgv_evaluation *e = &((const lgv_run *)run)->evaluation;
  bool ok = lgv__is_count(e->episodes) && lgv__is_count(e->steps);
  return ok ? NULL : "counter out of range";
}

static const char *eval_counters_fault(const void *context) {
  const eval_counters *c = &((const lgv_run *)context)->evals;
  const int64_t counts[] = {c->spent, c->before, c->longest, c->latest};
  bool ok = lgv__are_counts(counts, sizeof counts / sizeof *counts) && c->before <= c->spent &&
            lgv__are_counts(c->at, RECENT);
  return ok ? NULL : "counter out of range";
}

static const char *next_fault(const void *context) {
  const lgv_run *run = context;
  for (int32_t i = 0; i < run->n_streams; i++)
    if (!lgv__is_within(run->next[i].is_chosen, 0, 1)) return "neither chosen nor not";
  return NULL;
}

static void check_last(lgv_tensors *tensors, const char *(*check)(const void *),
                       const void *context) {
  tensors->items[tensors->count - 1].check = check;
  tensors->items[tensors->count - 1].check_context = context;
}

static lgv_status collect(lgv_run *run, lgv_tensors *tensors, lgv_error *err) {
  LGV_TRY(lgv__tensors_add(tensors, "run.state", LGV_U64, sizeof run->at / 8, &run->at, err));
  check_last(tensors, state_fault, run);
  LGV_TRY(lgv__tensors_add(tensors, "run.rows_sum", LGV_U64, 1, &run->rows_sum, err));
  check_last(tensors, rows_fault, run);
  LGV_TRY(lgv__tensors_add(tensors, "run.episodes", LGV_U64,
                           (size_t)run->n_streams * sizeof *run->episodes / 8, run->episodes, err));
  for (int32_t i = 0; i < run->n_streams; i++) {
    char prefix[32] = "env";
    if (i > 0) snprintf(prefix, sizeof prefix, "env%d", i);
    LGV_TRY(lgv__tensors_add_arena(tensors, prefix, lgv__env_arena(run->streams[i].env), err));
  }
  if (run->eval_env)
    LGV_TRY(lgv__tensors_add_arena(tensors, "eval", lgv__env_arena(run->eval_env), err));
  if (run->n_streams > 1) {
    LGV_TRY(lgv__tensors_add(tensors, "run.next_actions", LGV_U64,
                             (size_t)run->n_streams * sizeof *run->next / 8, run->next, err));
    tensors->items[tensors->count - 1].optional = true;
    check_last(tensors, next_fault, run);
  }
  if (run->last_returns)
    LGV_TRY(lgv__tensors_add(tensors, "run.last_returns", LGV_F64,
                             (size_t)run->plan->run.stop_window, run->last_returns, err));
  LGV_TRY(lgv__tensors_add(tensors, "run.given_up", LGV_I64, 1, &run->given_up, err));
  tensors->items[tensors->count - 1].optional = true;
  check_last(tensors, lgv__counter_fault, &run->given_up);
  LGV_TRY(lgv__tensors_add(tensors, "run.evaluation", LGV_U64, sizeof run->evaluation / 8,
                           &run->evaluation, err));
  tensors->items[tensors->count - 1].optional = true;
  check_last(tensors, evaluation_fault, run);
  if (isfinite(run->plan->run.eval_share)) {
    LGV_TRY(lgv__tensors_add(tensors, "run.eval_counters", LGV_I64, sizeof run->evals / 8,
                             &run->evals, err));
    check_last(tensors, eval_counters_fault, run);
  }
  return lgv__agent_collect(run->agent, tensors, err);
}

/* ---- The run that a checkpoint belongs to ---- */

/* Keeps the former settings if others are accepted. */
static lgv_status check_settings(void *context, const char *settings, lgv_error *err) {
  lgv_run *run = context;
  char what[LGV_DIFFERENCE_SIZE];
  bool same = false;
  if (!settings)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "the checkpoint in %.150s does not say which run it belongs to: an earlier "
                    "version wrote it; start the run again in another directory",
                    run->directory);
  LGV_TRY(lgv__config_compare(run->plan, run->seed, settings, &same, what, sizeof what, err));
  lgv__free(run->former); /* of a checkpoint that was refused since */
  run->former = NULL;
  if (same) return LGV_OK;
  if (!run->plan->run.accept_changes)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "the checkpoint in %.150s is of a run with other settings (%.500s); undo the "
                    "change, or accept it with --set run.accept_changes=true",
                    run->directory, what);
  run->former = lgv__strdup(settings);
  return run->former ? LGV_OK : lgv__out_of_memory(err, "settings");
}

/* What the steps so far were done with stays in the directory. */
static lgv_status record_change(const lgv_run *run, lgv_error *err) {
  char name[64];
  if (!run->former) return LGV_OK;
  snprintf(name, sizeof name, "config-until-%lld.json", (long long)run->at.steps);
  return lgv__write_file(run->directory, name, run->former, strlen(run->former), err);
}

static void notify(const lgv_run *run, const char *text) {
  if (run->plan->host.notice) run->plan->host.notice(run->plan->host.context, text);
}

typedef lgv_status (*save_fn)(lgv_checkpoint_writer *writer, const lgv_tensors *tensors,
                              lgv_error *err);

static lgv_status save(lgv_run *run, save_fn write_out, lgv_error *err) {
  if (!run->directory || run->plan->run.records == LGV_RECORDS_SUMMARY) return LGV_OK;
  lgv_tensors tensors = {0};
  LGV_TRY(lgv__agent_check_finite(run->agent, err)); /* the last update may have corrupted it */
  lgv_rows rows;
  lgv_status status = lgv__record_flush(&run->record, &rows, err);
  run->at.metrics_size = rows.size;
  run->rows_sum = rows.sum;
  for (int32_t i = 0; i < run->n_streams && status == LGV_OK; i++) {
    const lgv_stream *s = &run->streams[i];
    run->next[i].is_chosen = s->has_action;
    run->next[i].action = s->action;
    status = lgv__env_save(s->env, err);
  }
  if (status == LGV_OK && run->eval_env) status = lgv__env_save(run->eval_env, err);
  if (status == LGV_OK) status = collect(run, &tensors, err);
  lgv_json settings = {0};
  lgv__plan_json(run->plan, run->seed, &settings);
  tensors.settings = settings.text;
  if (status == LGV_OK && settings.failed) status = lgv__out_of_memory(err, "settings");
  run->writer.directory = run->directory;
  run->writer.lock = (run->record.held ? run->record.held : &run->record.lock)->descriptor;
  if (status == LGV_OK) status = write_out(&run->writer, &tensors, err);
  lgv__tensors_free(&tensors);
  lgv__json_free(&settings);
  if (status == LGV_OK) run->saved_at = run->at.steps;
  return status;
}

lgv_status lgv_run_checkpoint(lgv_run *run, lgv_error *err) {
  return save(run, lgv__checkpoint_write, err);
}

lgv_status lgv__run_start_checkpoint(lgv_run *run, lgv_error *err) {
  return save(run, lgv__checkpoint_start, err);
}

lgv_status lgv__run_ask_for_checkpoint(lgv_run *run, lgv_checkpoint_ask ask, lgv_error *err) {
  bool lost;
  LGV_TRY(ask(&run->writer, &lost, err));
  if (!lost) return LGV_OK;
  run->saved_at = -1;
  notify(run,
         "the process that was writing a checkpoint has been killed; the one before it is kept");
  return LGV_OK;
}

/* An episode that cannot be resumed counts neither as an episode nor in any mean. */
static void give_up(lgv_run *run) {
  char name[2 * LGV_TEXT_SIZE], text[2 * LGV_TEXT_SIZE + 256];
  lgv__plan_env_name(run->plan, name, sizeof name);
  snprintf(text, sizeof text,
           "%s cannot resume within an episode: the current one is given up and a new one begins "
           "(given_up_episodes in summary.json)",
           name);
  notify(run, text);
  run->given_up++;
}

static lgv_status restore_envs(lgv_run *run, lgv_error *err) {
  bool continues = true;
  if (run->eval_env) LGV_TRY(lgv__env_restore(run->eval_env, &continues, err));
  if (run->evaluation.steps > 0 && !continues) {
    give_up(run);
    run->evaluation.steps = 0;
    run->evaluation.episode_return = 0;
  }
  for (int32_t i = 0; i < run->n_streams; i++) {
    lgv_stream *s = &run->streams[i];
    LGV_TRY(lgv__env_restore(s->env, &continues, err));
    s->has_action = run->next[i].is_chosen && continues;
    s->action = run->next[i].action;
    if (run->episodes[i].in_episode && !continues) {
      give_up(run);
      run->episodes[i].in_episode = false;
    }
    s->obs = lgv__env_obs(s->env);
  }
  return LGV_OK;
}

static void notify_refusal(const lgv_run *run, const lgv_error *refused) {
  char text[sizeof refused->message + 96];
  snprintf(text, sizeof text, "%s. The one before it is used: step %lld", refused->message,
           (long long)run->at.steps);
  notify(run, text);
}

static lgv_status read_checkpoint(lgv_run *run, bool *found, lgv_error *err) {
  lgv_tensors tensors = {0};
  lgv_error refused = {0};
  lgv_status status = collect(run, &tensors, err);
  tensors.check_settings = check_settings;
  tensors.settings_context = run;
  if (status == LGV_OK)
    status = lgv__checkpoint_read(&tensors, run->directory, found, &refused, err);
  lgv__tensors_free(&tensors);
  LGV_TRY(status);
  run->writer.newest_refused = refused.status != LGV_OK;
  if (run->writer.newest_refused) notify_refusal(run, &refused);
  return LGV_OK;
}

/* Seconds to wait for the directory of a run that was killed. */
static const double patience = 10;

lgv_status lgv__run_restore(lgv_run *run, lgv_error *err) {
  bool found = false;
  LGV_TRY(lgv__make_directory(run->directory, err));
  LGV_TRY(lgv__record_lock(&run->record, patience, err));
  LGV_TRY(read_checkpoint(run, &found, err));
  if (!found) /* the run stopped before its first checkpoint: start anew */
    return lgv__record_open(&run->record, run->plan, run->seed, err);
  LGV_TRY(
      lgv__config_check_budget(run->plan, run->at.steps, run->at.episodes, run->directory, err));
  LGV_TRY(restore_envs(run, err));
  LGV_TRY(record_change(run, err));
  run->saved_at = run->resumed_at = run->at.steps;
  bool row_to_come = lgv__run_evaluation_is_due(run); /* of this step */
  lgv_rows rows = {run->at.metrics_size, run->rows_sum};
  return lgv__record_reopen(&run->record, run->plan, run->seed, rows, run->at.steps - row_to_come,
                            err);
}
