/* One run: a plan and a seed. The loop of every experiment:
 *
 *   reset, begin_episode, then act -> step -> observe until the episode ends, end_episode;
 * evaluations between.
 *
 * With run.envs > 1 so many environments take each step together, a round: an action is chosen for
 * every one before any moves, they move at the same time if they can, and the agent then observes
 * them in the order of their numbers. Evaluations and checkpoints come between rounds.
 *
 * Where the environment has an exact model and the agent's policy is fixed within an episode, the
 * value of that policy is computed by backward induction when the episode begins. What is recorded
 * as `value` is its mean over the start states, so that it compares with the optimal value; regret
 * is the sum of V*(x_1) - V^pi(x_1) over finished episodes, each from the state it began in.
 * Sampled returns are recorded beside it.
 *
 * Invariants: evaluation uses its own environment and stream; a row of metrics.csv is written only
 * between steps; a step allocates nothing (histories may grow when an episode ends). */
#include "run/run.h"
#include "agent/agent.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "env/env.h"
#include "math/crew.h"
#include "run/checkpoint.h"
#include "run/config_check.h"
#include "run/exact.h"
#include "run/plan.h"
#include "run/record.h"
#include "run/stream.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RECENT = 10, MOST_COLUMNS = 64 };

/* All that changes from step to step outside the environment and the agent: 8-byte members only,
 * saved as they lie. */
typedef struct run_state {
  int64_t steps, episodes;
  double total_return;
  double value, pending_regret,
      regret;           /* of the current policy; of the current episode; of finished ones */
  double window_return; /* training returns since the last row */
  int64_t window_episodes;
  double recent[RECENT]; /* the last evaluations or exact values, in turn */
  int64_t n_recent;
  double eval_return; /* of the last evaluation; NaN before */
  int64_t next_eval;
  double solved_episode; /* when run.stop_return was reached; NaN before */
  int64_t metrics_size;  /* bytes of metrics.csv when the checkpoint was written */
} run_state;

/* The same of one environment. */
typedef struct stream_state {
  int64_t in_episode;
  double episode_return;
} stream_state;

struct lgv_run {
  const lgv_plan *plan;
  uint64_t seed;
  int32_t n_streams;
  lgv_stream *streams;    /* (n_streams) */
  stream_state *episodes; /* (n_streams) */
  lgv_env *env;           /* the first one */
  lgv_env *eval_env;      /* NULL without evaluations */
  lgv_agent *agent;
  lgv_crew *crew; /* NULL: one thread does all */
  lgv_record record;
  char *directory;
  lgv_column columns[MOST_COLUMNS]; /* of metrics.csv */
  size_t n_columns, n_stats, n_counters;
  double *row;       /* one line of metrics.csv */
  int64_t *counters; /* (n_counters) of one environment */
  lgv_exact known;
  bool exact;           /* the policy's exact value is known */
  double *last_returns; /* (run.stop_window), in turn; NULL without run.stop_return */
  double started;       /* seconds */
  double computed;      /* processor seconds of finished calls of lgv_run_advance */
  double entered;       /* processor clock when the present call began */
  bool out_of_time;
  lgv_checkpoint_writer writer;
  int64_t saved_at;   /* steps at the newest checkpoint, -1 if there is none */
  int64_t resumed_at; /* steps that an earlier process did */
  int64_t given_up;   /* episodes that could not go on when the run was resumed */

  lgv_stop stop;
  lgv_evaluation evaluation; /* the one in hand; all zero between evaluations */

  run_state at;
};

static double read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void) { return read_clock(CLOCK_MONOTONIC); }

/* Since the present call of lgv_run_advance began: calls may come from different threads. */
static double computed_now(const lgv_run *run) {
  return read_clock(CLOCK_THREAD_CPUTIME_ID) - run->entered;
}

static size_t count_names(const char *const *names) {
  size_t n = 0;
  while (names && names[n]) n++;
  return n;
}

/* ---- Creation ---- */

static lgv_status open_exact(lgv_run *run, lgv_error *err) {
  bool policies = lgv__plan_evaluates_policies(run->plan);
  LGV_TRY(lgv__exact_open(&run->known, run->env, policies, err));
  run->exact = run->known.model && policies;
  return LGV_OK;
}

static void add_column(lgv_run *run, const char *group, const char *name) {
  run->columns[run->n_columns++] = (lgv_column){group, name};
}

static lgv_status open_columns(lgv_run *run, lgv_error *err) {
  const char *const *stats = run->plan->agent_type->stat_names;
  const char *const *counters = run->plan->env_type->counter_names;
  run->n_stats = count_names(stats);
  run->n_counters = count_names(counters);
  if (run->n_stats + run->n_counters + 6 > MOST_COLUMNS)
    return lgv_fail(err, LGV_ERR_USAGE, "too many columns: %zu statistics and %zu counters",
                    run->n_stats, run->n_counters);
  add_column(run, "run", "step");
  add_column(run, "run", "episode");
  add_column(run, "run", "return");
  if (run->eval_env) add_column(run, "run", "eval_return");
  if (run->exact) {
    add_column(run, "run", "value");
    add_column(run, "run", "regret");
  }
  for (size_t i = 0; i < run->n_stats; i++) add_column(run, "agent", stats[i]);
  for (size_t i = 0; i < run->n_counters; i++) add_column(run, "env", counters[i]);
  run->row = lgv__calloc(run->n_columns, sizeof *run->row);
  run->counters = lgv__calloc(run->n_counters + 1, sizeof *run->counters);
  if (!run->row || !run->counters) return lgv__out_of_memory(err, "records");
  run->record = (lgv_record){
      .directory = run->directory, .columns = run->columns, .n_columns = run->n_columns};
  return LGV_OK;
}

/* The streams of random numbers are "env", "env.1", "env.2", ... */
static lgv_status open_envs(lgv_run *run, lgv_error *err) {
  const lgv_plan *plan = run->plan;
  run->n_streams = (int32_t)plan->run.envs;
  run->streams = lgv__calloc((size_t)run->n_streams, sizeof *run->streams);
  run->episodes = lgv__calloc((size_t)run->n_streams, sizeof *run->episodes);
  if (!run->streams || !run->episodes) return lgv__out_of_memory(err, "a run");
  for (int32_t i = 0; i < run->n_streams; i++) {
    char purpose[32] = "env";
    if (i > 0) snprintf(purpose, sizeof purpose, "env.%d", i);
    run->streams[i].index = i;
    LGV_TRY(lgv__env_open(plan->env_type, plan->env_params, &plan->host, run->seed, purpose,
                          &run->streams[i].env, err));
  }
  run->env = run->streams[0].env;
  return LGV_OK;
}

static lgv_status open_parts(lgv_run *run, const char *directory, lgv_error *err) {
  const lgv_plan *plan = run->plan;
  if (directory && !(run->directory = lgv__strdup(directory)))
    return lgv__out_of_memory(err, "a run");
  LGV_TRY(open_envs(run, err));
  if (plan->run.eval_every > 0)
    LGV_TRY(lgv__open_eval_env(plan, run->seed, "env.eval", &run->eval_env, err));
  if (plan->run.update_threads > 1)
    LGV_TRY(lgv__crew_create((int32_t)plan->run.update_threads, &run->crew, err));
  lgv_problem problem = lgv__plan_problem(plan, lgv_env_get_spec(run->env));
  LGV_TRY(
      lgv__agent_open(plan->agent_type, plan->agent_params, &problem, run->seed, &run->agent, err));
  LGV_TRY(open_exact(run, err));
  if (isfinite(plan->run.stop_return)) {
    run->last_returns = lgv__calloc((size_t)plan->run.stop_window, sizeof *run->last_returns);
    if (!run->last_returns) return lgv__out_of_memory(err, "run.stop_window");
  }
  return open_columns(run, err);
}

static lgv_status create(const lgv_plan *plan, uint64_t seed, const char *directory, lgv_run **out,
                         lgv_error *err) {
  *out = lgv__calloc(1, sizeof **out);
  if (!*out) return lgv__out_of_memory(err, "a run");
  **out = (lgv_run){.plan = plan, .seed = seed, .started = now()};
  (*out)->saved_at = -1;
  (*out)->at = (run_state){.eval_return = NAN, .value = NAN, .solved_episode = NAN};
  return open_parts(*out, directory, err);
}

/* Either a whole run or none. */
static lgv_status settle(lgv_status status, lgv_run **run) {
  if (status == LGV_OK) return LGV_OK;
  lgv_run_free(*run);
  *run = NULL;
  return status;
}

lgv_status lgv_run_create(const lgv_plan *plan, uint64_t seed, const char *directory, lgv_run **run,
                          lgv_error *err) {
  lgv_status status = create(plan, seed, directory, run, err);
  if (status == LGV_OK) status = lgv__record_open(&(*run)->record, plan, seed, err);
  return settle(status, run);
}

/* ---- Checkpoints ---- */

static const char *state_fault(const void *context) {
  const lgv_run *run = context;
  const run_state *at = &run->at;
  const int64_t counts[] = {at->steps,    at->episodes,  at->window_episodes,
                            at->n_recent, at->next_eval, at->metrics_size};
  if (!lgv__are_counts(counts, sizeof counts / sizeof *counts)) return "a counter that is no count";
  bool ok = lgv__record_reaches(&run->record, at->metrics_size);
  return ok ? NULL : "metrics.csv is missing, or shorter than it was then";
}

static const char *evaluation_fault(const void *run) {
  const lgv_evaluation *e = &((const lgv_run *)run)->evaluation;
  bool ok = lgv__is_count(e->episodes) && lgv__is_count(e->steps);
  return ok ? NULL : "a counter that is no count";
}

static void check_last(lgv_tensors *tensors, const char *(*check)(const void *),
                       const void *context) {
  tensors->items[tensors->count - 1].check = check;
  tensors->items[tensors->count - 1].check_context = context;
}

static lgv_status collect(lgv_run *run, lgv_tensors *tensors, lgv_error *err) {
  LGV_TRY(lgv__tensors_add(tensors, "run.state", LGV_U64, sizeof run->at / 8, &run->at, err));
  check_last(tensors, state_fault, run);
  LGV_TRY(lgv__tensors_add(tensors, "run.episodes", LGV_U64,
                           (size_t)run->n_streams * sizeof *run->episodes / 8, run->episodes, err));
  for (int32_t i = 0; i < run->n_streams; i++) {
    char prefix[32] = "env";
    if (i > 0) snprintf(prefix, sizeof prefix, "env%d", i);
    LGV_TRY(lgv__tensors_add_arena(tensors, prefix, lgv__env_arena(run->streams[i].env), err));
  }
  if (run->eval_env)
    LGV_TRY(lgv__tensors_add_arena(tensors, "eval", lgv__env_arena(run->eval_env), err));
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
  return lgv__tensors_add_arena(tensors, "agent", lgv__agent_arena(run->agent), err);
}

static void tell(const lgv_run *run, const char *text) {
  if (run->plan->host.notice) run->plan->host.notice(run->plan->host.context, text);
}

typedef lgv_status (*save_fn)(lgv_checkpoint_writer *writer, const lgv_tensors *tensors,
                              lgv_error *err);

static lgv_status save(lgv_run *run, save_fn write_out, lgv_error *err) {
  if (!run->directory || run->plan->run.records == LGV_RECORDS_SUMMARY) return LGV_OK;
  lgv_tensors tensors = {0};
  LGV_TRY(lgv__agent_check_finite(run->agent, err)); /* the last update may have spoilt it */
  lgv_status status = lgv__record_flush(&run->record, &run->at.metrics_size, err);
  for (int32_t i = 0; i < run->n_streams && status == LGV_OK; i++)
    status = lgv__env_save(run->streams[i].env, err);
  if (status == LGV_OK && run->eval_env) status = lgv__env_save(run->eval_env, err);
  if (status == LGV_OK) status = collect(run, &tensors, err);
  run->writer.directory = run->directory;
  run->writer.lock = run->record.locked ? run->record.lock : -1;
  if (status == LGV_OK) status = write_out(&run->writer, &tensors, err);
  lgv__tensors_free(&tensors);
  if (status == LGV_OK) run->saved_at = run->at.steps;
  return status;
}

lgv_status lgv_run_checkpoint(lgv_run *run, lgv_error *err) {
  return save(run, lgv__checkpoint_write, err);
}

/* Of a checkpoint that somebody else is writing. */
static lgv_status
ask_for_checkpoint(lgv_run *run, lgv_status (*ask)(lgv_checkpoint_writer *, bool *, lgv_error *),
                   lgv_error *err) {
  bool lost;
  LGV_TRY(ask(&run->writer, &lost, err));
  if (!lost) return LGV_OK;
  run->saved_at = -1;
  tell(run, "the process that was writing a checkpoint has been killed; the one before it is kept");
  return LGV_OK;
}

/* An episode that cannot go on counts neither as an episode nor in any mean. */
static void give_up(lgv_run *run) {
  char name[2 * LGV_TEXT_SIZE], text[2 * LGV_TEXT_SIZE + 256];
  lgv__plan_env_name(run->plan, name, sizeof name);
  snprintf(text, sizeof text,
           "%s cannot go on within an episode: the one in hand is given up and a new one begins "
           "(given_up_episodes in summary.json)",
           name);
  tell(run, text);
  run->given_up++;
}

static lgv_status restore_envs(lgv_run *run, lgv_error *err) {
  bool goes_on = true;
  if (run->eval_env) LGV_TRY(lgv__env_restore(run->eval_env, &goes_on, err));
  if (run->evaluation.steps > 0 && !goes_on) {
    give_up(run);
    run->evaluation.steps = 0;
    run->evaluation.episode_return = 0;
  }
  for (int32_t i = 0; i < run->n_streams; i++) {
    lgv_stream *s = &run->streams[i];
    LGV_TRY(lgv__env_restore(s->env, &goes_on, err));
    if (run->episodes[i].in_episode && !goes_on) {
      give_up(run);
      run->episodes[i].in_episode = false;
    }
    s->obs = lgv__env_obs(s->env);
  }
  return LGV_OK;
}

static void tell_of_refusal(const lgv_run *run, const lgv_error *refused) {
  char text[sizeof refused->message + 96];
  snprintf(text, sizeof text, "%s. The one before it is used: step %lld", refused->message,
           (long long)run->at.steps);
  tell(run, text);
}

static lgv_status read_checkpoint(lgv_run *run, bool *found, lgv_error *err) {
  lgv_tensors tensors = {0};
  lgv_error refused;
  lgv_status status = collect(run, &tensors, err);
  if (status == LGV_OK)
    status = lgv__checkpoint_read(&tensors, run->directory, found, &refused, err);
  lgv__tensors_free(&tensors);
  LGV_TRY(status);
  run->writer.newest_refused = refused.status != LGV_OK;
  if (run->writer.newest_refused) tell_of_refusal(run, &refused);
  return LGV_OK;
}

/* Seconds until the directory of a run that was killed is free. */
static const double patience = 10;

static lgv_status restore(lgv_run *run, lgv_error *err) {
  bool found = false;
  LGV_TRY(lgv__make_directory(run->directory, err));
  LGV_TRY(lgv__record_lock(&run->record, patience, err));
  LGV_TRY(read_checkpoint(run, &found, err));
  if (!found) /* stopped before its first checkpoint: from the start */
    return lgv__record_open(&run->record, run->plan, run->seed, err);
  LGV_TRY(
      lgv__config_check_budget(run->plan, run->at.steps, run->at.episodes, run->directory, err));
  LGV_TRY(restore_envs(run, err));
  run->saved_at = run->resumed_at = run->at.steps;
  bool row_to_come = run->eval_env && run->at.steps >= run->at.next_eval; /* of this step */
  return lgv__record_reopen(&run->record, run->plan, run->seed, run->at.metrics_size,
                            run->at.steps - row_to_come, err);
}

lgv_status lgv_run_resume(const lgv_plan *plan, uint64_t seed, const char *directory, lgv_run **run,
                          lgv_error *err) {
  lgv_status status = create(plan, seed, directory, run, err);
  if (status == LGV_OK) status = restore(*run, err);
  return settle(status, run);
}

void lgv_run_free(lgv_run *run) {
  if (!run) return;
  bool lost;
  lgv_status ignored = lgv__checkpoint_wait(&run->writer, &lost, NULL);
  (void)ignored; /* whoever wanted to know has called lgv_run_finish */
  lgv__record_close(&run->record);
  lgv_agent_free(run->agent);
  lgv__crew_free(run->crew);
  lgv_env_free(run->eval_env);
  for (int32_t i = 0; run->streams && i < run->n_streams; i++) lgv_env_free(run->streams[i].env);
  lgv__free(run->streams);
  lgv__free(run->episodes);
  lgv__free(run->directory);
  lgv__free(run->last_returns);
  lgv__free(run->row);
  lgv__free(run->counters);
  lgv__exact_close(&run->known);
  lgv__free(run);
}

/* ---- Records ---- */

static void remember(lgv_run *run, double value) {
  run->at.recent[run->at.n_recent++ % RECENT] = value;
}

/* Of all environments together. */
static void count_events(lgv_run *run, double *sums) {
  for (size_t i = 0; i < run->n_counters; i++) sums[i] = 0;
  for (int32_t k = 0; k < run->n_streams; k++) {
    lgv__env_counters(run->streams[k].env, run->counters);
    for (size_t i = 0; i < run->n_counters; i++) sums[i] += (double)run->counters[i];
  }
}

static lgv_status write_row(lgv_run *run, lgv_error *err) {
  double *row = run->row;
  size_t n = 0;
  row[n++] = (double)run->at.steps;
  row[n++] = (double)run->at.episodes;
  row[n++] =
      run->at.window_episodes ? run->at.window_return / (double)run->at.window_episodes : NAN;
  if (run->eval_env) row[n++] = run->at.eval_return;
  if (run->exact) {
    row[n++] = run->at.value;
    row[n++] = run->at.regret;
  }
  lgv__agent_stats(run->agent, row + n);
  n += run->n_stats;
  count_events(run, row + n);
  run->at.window_return = 0;
  run->at.window_episodes = 0;
  return lgv__record_row(&run->record, row, err);
}

/* ---- The loop ---- */

static lgv_status begin_episode(lgv_run *run, int32_t i, lgv_error *err) {
  LGV_TRY(lgv__stream_begin(&run->streams[i], run->agent, err));
  run->episodes[i] = (stream_state){.in_episode = true};
  if (run->exact)
    run->at.value = lgv__exact_evaluate(&run->known, run->agent, run->streams[0].obs.state,
                                        &run->at.pending_regret);
  return LGV_OK;
}

/* Summed anew each time, so that no rounding piles up. */
static void look_whether_solved(lgv_run *run, double last) {
  int64_t window = run->plan->run.stop_window;
  run->last_returns[(run->at.episodes - 1) % window] = last;
  if (run->at.episodes < window || !isnan(run->at.solved_episode)) return;
  double sum = 0;
  for (int64_t i = 0; i < window; i++) sum += run->last_returns[i];
  if (sum >= run->plan->run.stop_return * (double)window)
    run->at.solved_episode = (double)run->at.episodes;
}

static lgv_status end_episode(lgv_run *run, int32_t i, lgv_error *err) {
  double sum = run->episodes[i].episode_return;
  LGV_TRY(lgv_agent_end_episode(run->agent, err));
  run->episodes[i].in_episode = false;
  run->at.episodes++;
  run->at.total_return += sum;
  run->at.window_return += sum;
  run->at.window_episodes++;
  if (run->last_returns) look_whether_solved(run, sum);
  double seconds = run->plan->run.stop_seconds;
  if (seconds > 0) run->out_of_time = run->computed + computed_now(run) >= seconds;
  if (run->exact) {
    run->at.regret += run->at.pending_regret;
    if (!run->eval_env) remember(run, run->at.value);
  }
  bool due = !run->eval_env && run->at.episodes % run->plan->run.record_every == 0;
  return due ? write_row(run, err) : LGV_OK;
}

static lgv_status learn(lgv_run *run, int32_t i, lgv_error *err) {
  lgv_stream *s = &run->streams[i];
  LGV_TRY(lgv__stream_learn(s, run->agent, err));
  run->episodes[i].episode_return += s->step.reward;
  run->at.steps++;
  return lgv__stream_has_ended(s) ? end_episode(run, i, err) : LGV_OK;
}

static lgv_status evaluate(lgv_run *run, lgv_error *err) {
  LGV_TRY(lgv__evaluate(run->agent, run->eval_env, run->plan->run.eval_episodes,
                        run->plan->run.eval_steps, run->stop, &run->evaluation, err));
  double sum = run->evaluation.sum;
  run->evaluation = (lgv_evaluation){0};
  run->saved_at = -1; /* a checkpoint from within it is not that of its end */
  if (run->at.next_eval <= run->at.steps) {
    int64_t every = run->plan->run.eval_every;
    run->at.next_eval += ((run->at.steps - run->at.next_eval) / every + 1) * every;
  }
  run->at.eval_return = sum / (double)run->plan->run.eval_episodes;
  remember(run, run->at.eval_return);
  return write_row(run, err);
}

/* One that is due; the very first waits for the first episode to begin. */
static lgv_status evaluate_if_due(lgv_run *run, lgv_error *err) {
  bool due = run->eval_env && run->at.steps > 0 && run->at.steps >= run->at.next_eval;
  return due ? evaluate(run, err) : LGV_OK;
}

static bool is_done(const lgv_run *run) {
  const lgv_run_params *p = &run->plan->run;
  return !isnan(run->at.solved_episode) || run->out_of_time ||
         (p->steps > 0 && run->at.steps >= p->steps) ||
         (p->episodes > 0 && run->at.episodes >= p->episodes);
}

/* One step of every environment; of fewer where the budget of steps ends. */
static lgv_status advance_round(lgv_run *run, lgv_error *err) {
  int64_t budget = run->plan->run.steps, left = budget > 0 ? budget - run->at.steps : INT64_MAX;
  int32_t n = left < run->n_streams ? (int32_t)left : run->n_streams;
  for (int32_t i = 0; i < n; i++)
    if (!run->episodes[i].in_episode) LGV_TRY(begin_episode(run, i, err));
  if (run->eval_env && run->at.steps == 0 && run->at.next_eval == 0) LGV_TRY(evaluate(run, err));
  for (int32_t i = 0; i < n; i++) LGV_TRY(lgv__stream_act(&run->streams[i], run->agent, err));
  for (int32_t i = 0; i < n; i++) LGV_TRY(learn(run, i, err));
  return LGV_OK;
}

static lgv_status advance(lgv_run *run, int64_t max_steps, lgv_error *err) {
  int64_t start = run->at.steps, every = run->plan->run.checkpoint_every;
  LGV_TRY(evaluate_if_due(run, err)); /* it was interrupted */
  while (run->at.steps - start < max_steps && !is_done(run)) {
    int64_t before = run->at.steps;
    LGV_TRY(advance_round(run, err));
    LGV_TRY(evaluate_if_due(run, err));
    if (every > 0 && run->at.steps / every > before / every)
      LGV_TRY(save(run, lgv__checkpoint_start, err));
  }
  return LGV_OK;
}

/* Environments know a stage, agents an update or an episode; here the step is known. */
static void name_step(const lgv_run *run, lgv_error *err) {
  if (!err) return;
  lgv_error inner = *err;
  lgv_fail(err, inner.status, "in step %lld: %.480s", (long long)run->at.steps + 1, inner.message);
}

lgv_status lgv_run_advance(lgv_run *run, int64_t max_steps, bool *done, lgv_error *err) {
  LGV_TRY(ask_for_checkpoint(run, lgv__checkpoint_look, err));
  run->entered = read_clock(CLOCK_THREAD_CPUTIME_ID);
  lgv_crew *before = lgv__crew_use(run->crew);
  lgv_status status = advance(run, max_steps, err);
  lgv__crew_use(before);
  if (status == LGV_ERR_NUMERIC) name_step(run, err);
  LGV_TRY(status);
  run->computed += computed_now(run);
  *done = is_done(run);
  return LGV_OK;
}

void lgv_run_summary(const lgv_run *run, lgv_summary *summary) {
  int64_t n = run->at.n_recent < RECENT ? run->at.n_recent : RECENT;
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += run->at.recent[i];
  *summary = (lgv_summary){
      .seed = run->seed,
      .steps = run->at.steps,
      .episodes = run->at.episodes,
      .mean_return = run->at.episodes ? run->at.total_return / (double)run->at.episodes : NAN,
      .final_return = n ? sum / (double)n : NAN,
      .optimal_value = run->known.optimal_mean,
      .regret = run->exact ? run->at.regret : NAN,
      .solved_episode = run->at.solved_episode,
      .finished = is_done(run),
  };
}

void lgv__run_set_stop(lgv_run *run, lgv_stop stop) { run->stop = stop; }

double lgv__run_fraction(const lgv_run *run) {
  const lgv_run_params *p = &run->plan->run;
  double by_steps = p->steps ? (double)run->at.steps / (double)p->steps : 0;
  double by_episodes = p->episodes ? (double)run->at.episodes / (double)p->episodes : 0;
  return fmin(1, fmax(by_steps, by_episodes));
}

lgv_status lgv__run_close_records(lgv_run *run, const char *failure, lgv_error *err) {
  lgv_summary summary;
  lgv_run_summary(run, &summary);
  summary.finished &= !failure; /* the last step of the budget may be the one that failed */
  LGV_TRY(ask_for_checkpoint(run, lgv__checkpoint_wait, err));
  LGV_TRY(lgv__record_flush(&run->record, &run->at.metrics_size, err));
  /* a run that stopped for want of time can go on; one that failed keeps its last good checkpoint
   */
  bool save = !failure && run->plan->run.checkpoint_final && run->saved_at != run->at.steps;
  if (save) LGV_TRY(lgv_run_checkpoint(run, err));
  LGV_TRY(lgv__record_timing(&run->record, now() - run->started, run->computed,
                             run->at.steps - run->resumed_at, err));
  return lgv__record_summary(&run->record, run->plan, &summary, run->given_up, failure, err);
}

lgv_status lgv_run_finish(lgv_run *run, lgv_error *err) {
  return lgv__run_close_records(run, NULL, err);
}
