/* One run: a plan and a seed. The loop of every experiment:
 *
 *   reset, begin_episode; then act, step, observe until the episode ends; end_episode
 *
 * with evaluations in between. With run.envs > 1 the environments take turns: in a round, the agent
 * learns from each in the order of their numbers and chooses its next action at once, so that those
 * that live in processes of their own move while the agent learns from the others. Evaluations and
 * checkpoints take place between rounds and find the environments at rest: actions are chosen as
 * always, but their steps start with the next round, so that the results stay the same.
 *
 * Where the environment has an exact model and the agent's policy is fixed within an episode, the
 * value of that policy is computed by backward induction when the episode begins. The column
 * `value` is its mean over the start states, so that it compares with the optimal value; regret is
 * the sum of V*(x_1) - V^pi(x_1) over finished episodes, each from the state where it began.
 * Sampled returns are recorded beside it. In other cases regret is what the environment itself
 * reports (`regret` of lgv_env_type), if it does.
 *
 * An evaluation that is due is skipped if it would take the evaluations above run.eval_share of the
 * training steps. The decision depends on step counts alone, and the last evaluation always takes
 * place.
 *
 * Invariants: evaluation has its own environment and stream; a row of metrics.csv is written only
 * between steps; a step allocates nothing (histories may grow when an episode ends). */
#include "train/run_parts.h"

#include "agent/agent.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "env/env.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* CPU seconds since the current call of lgv_run_advance began: calls may come from different
 * threads. */
static double computed_now(const lgv_run *run) {
  return lgv__clock(CLOCK_THREAD_CPUTIME_ID) - run->entered;
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

static bool knows_regret(const lgv_run *run) { return run->exact || run->plan->env_type->regret; }

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
  if (run->exact) add_column(run, "run", "value");
  if (knows_regret(run)) add_column(run, "run", "regret");
  for (size_t i = 0; i < run->n_stats; i++) add_column(run, "agent", stats[i]);
  for (size_t i = 0; i < run->n_counters; i++) add_column(run, "env", counters[i]);
  run->row = lgv__calloc(run->n_columns, sizeof *run->row);
  run->counters = lgv__calloc(run->n_counters + 1, sizeof *run->counters);
  if (!run->row || !run->counters) return lgv__out_of_memory(err, "records");
  run->record = (lgv_record){.directory = run->directory,
                             .columns = run->columns,
                             .n_columns = run->n_columns,
                             .lock.descriptor = -1};
  return LGV_OK;
}

/* Opens the training environments; their random streams are "env", "env.1", "env.2", ... */
static lgv_status open_envs(lgv_run *run, lgv_error *err) {
  const lgv_plan *plan = run->plan;
  run->n_streams = (int32_t)plan->run.envs;
  run->limit = (lgv_episode_limit){.steps = plan->run.episode_steps, .streams = run->n_streams};
  run->streams = lgv__calloc((size_t)run->n_streams, sizeof *run->streams);
  run->episodes = lgv__calloc((size_t)run->n_streams, sizeof *run->episodes);
  run->next = lgv__calloc((size_t)run->n_streams, sizeof *run->next);
  if (!run->streams || !run->episodes || !run->next) return lgv__out_of_memory(err, "a run");
  for (int32_t i = 0; i < run->n_streams; i++) {
    char purpose[32] = "env";
    if (i > 0) snprintf(purpose, sizeof purpose, "env.%d", i);
    run->streams[i].index = i;
    run->streams[i].limit = &run->limit;
    LGV_TRY(lgv__env_open(plan->env_type, plan->env_params, plan->env_common, &plan->host,
                          run->seed, purpose, &run->streams[i].env, err));
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
    LGV_TRY(lgv__matmul_threads_create((int32_t)plan->run.update_threads, &run->team, err));
  lgv_full_problem problem = lgv__plan_problem(plan, lgv_env_get_spec(run->env));
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
  **out =
      (lgv_run){.plan = plan, .seed = seed, .started = lgv__now(), .record.lock.descriptor = -1};
  (*out)->saved_at = -1;
  (*out)->at = (run_counters){.eval_return = NAN, .value = NAN, .solved_episode = NAN};
  return open_parts(*out, directory, err);
}

/* Frees the run if it could not be created whole. */
static lgv_status settle(lgv_status status, lgv_run **run) {
  if (status == LGV_OK) return LGV_OK;
  lgv_run_free(*run);
  *run = NULL;
  return status;
}

/* Environments compute with the kernels of the agent, too, if it promises the same bits on every
 * machine. */
lgv_status lgv__run_open(const lgv_plan *plan, uint64_t seed, const char *directory, bool resume,
                         const lgv_lock *held, lgv_run **run, lgv_error *err) {
  const lgv_kernel_set *previous = lgv__kernels_begin(lgv__plan_is_portable(plan));
  lgv_status status = create(plan, seed, directory, run, err);
  if (status == LGV_OK) {
    (*run)->record.held = held;
    status =
        resume ? lgv__run_restore(*run, err) : lgv__record_open(&(*run)->record, plan, seed, err);
  }
  lgv__kernels_end(lgv__plan_is_portable(plan), previous);
  return settle(status, run);
}

lgv_status lgv_run_create(const lgv_plan *plan, uint64_t seed, const char *directory, lgv_run **run,
                          lgv_error *err) {
  return lgv__run_open(plan, seed, directory, false, NULL, run, err);
}

lgv_status lgv_run_resume(const lgv_plan *plan, uint64_t seed, const char *directory, lgv_run **run,
                          lgv_error *err) {
  return lgv__run_open(plan, seed, directory, true, NULL, run, err);
}

void lgv_run_free(lgv_run *run) {
  if (!run) return;
  bool lost;
  lgv_status ignored = lgv__checkpoint_wait(&run->writer, &lost, NULL);
  (void)ignored; /* lgv_run_finish has reported it */
  lgv__record_close(&run->record);
  lgv__free(run->former);
  lgv_agent_free(run->agent);
  lgv__matmul_threads_free(run->team);
  lgv_env_free(run->eval_env);
  for (int32_t i = 0; run->streams && i < run->n_streams; i++) lgv_env_free(run->streams[i].env);
  lgv__free(run->streams);
  lgv__free(run->episodes);
  lgv__free(run->next);
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

/* Sums each counter over all environments. */
static void count_events(lgv_run *run, double *sums) {
  for (size_t i = 0; i < run->n_counters; i++) sums[i] = 0;
  for (int32_t k = 0; k < run->n_streams; k++) {
    lgv_env_counters(run->streams[k].env, run->counters);
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
  if (run->exact) row[n++] = run->at.value;
  if (knows_regret(run)) row[n++] = run->at.regret;
  lgv_agent_stats(run->agent, row + n);
  n += run->n_stats;
  count_events(run, row + n);
  run->at.window_return = 0;
  run->at.window_episodes = 0;
  return lgv__record_row(&run->record, row, err);
}

/* ---- The steps of one environment ---- */

lgv_status lgv__stream_begin(lgv_stream *stream, lgv_agent *agent, lgv_error *err) {
  LGV_TRY(lgv_env_reset(stream->env, &stream->obs, err));
  LGV_TRY(lgv_agent_set_stream(agent, stream->index, err));
  return lgv_agent_begin_episode(agent, err);
}

lgv_status lgv__stream_choose(lgv_stream *stream, lgv_agent *agent, lgv_error *err) {
  LGV_TRY(lgv_agent_set_stream(agent, stream->index, err));
  return lgv__agent_act(agent, &stream->obs, LGV_TRAIN, &stream->action, err);
}

lgv_status lgv__stream_start(lgv_stream *stream, lgv_error *err) {
  stream->step = (lgv_transition){.obs = stream->obs, .action = &stream->action};
  return lgv__env_step_begin(stream->env, &stream->action, err);
}

lgv_status lgv__stream_learn(lgv_stream *stream, lgv_agent *agent, lgv_error *err) {
  lgv_transition *t = &stream->step;
  lgv_outcome outcome;
  LGV_TRY(lgv__env_step_end(stream->env, &outcome, &t->next, err));
  t->reward = outcome.reward;
  t->terminated = outcome.terminated;
  t->truncated = outcome.truncated;
  lgv__limit_episode(stream->limit, stream->env, t);
  LGV_TRY(lgv_agent_set_stream(agent, stream->index, err));
  LGV_TRY(lgv__agent_observe(agent, t, err));
  stream->obs = t->next;
  return LGV_OK;
}

/* ---- Episodes ---- */

static lgv_status begin_episode(lgv_run *run, int32_t i, lgv_error *err) {
  LGV_TRY(lgv__stream_begin(&run->streams[i], run->agent, err));
  run->episodes[i] = (episode_counters){.in_episode = true};
  if (run->exact)
    run->at.value = lgv__exact_evaluate(&run->known, run->agent, run->streams[0].obs.state,
                                        &run->at.pending_regret);
  return LGV_OK;
}

/* Sums the window anew each time, so that rounding errors do not accumulate. */
static void check_solved(lgv_run *run, double last) {
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
  if (run->last_returns) check_solved(run, sum);
  double seconds = run->plan->run.stop_seconds;
  if (seconds > 0) run->out_of_time = run->computed + computed_now(run) >= seconds;
  if (knows_regret(run))
    run->at.regret += run->exact ? run->at.pending_regret : lgv__env_regret(run->streams[i].env);
  if (run->exact && !run->eval_env) remember(run, run->at.value);
  bool due = !run->eval_env && run->at.episodes % run->plan->run.record_every == 0;
  return due ? write_row(run, err) : LGV_OK;
}

/* Of an environment that has no action yet. */
static lgv_status choose(lgv_run *run, int32_t i, lgv_error *err) {
  lgv_stream *s = &run->streams[i];
  if (s->has_action) return LGV_OK;
  if (!run->episodes[i].in_episode) LGV_TRY(begin_episode(run, i, err));
  LGV_TRY(lgv__stream_choose(s, run->agent, err));
  s->has_action = true;
  return LGV_OK;
}

static lgv_status start(lgv_run *run, int32_t i, lgv_error *err) {
  lgv_stream *s = &run->streams[i];
  if (s->is_moving) return LGV_OK;
  LGV_TRY(lgv__stream_start(s, err));
  s->is_moving = true;
  return LGV_OK;
}

static lgv_status learn(lgv_run *run, int32_t i, lgv_error *err) {
  lgv_stream *s = &run->streams[i];
  s->has_action = s->is_moving = false;
  LGV_TRY(lgv__stream_learn(s, run->agent, err));
  run->episodes[i].episode_return += s->step.reward;
  run->at.steps++;
  return lgv__stream_has_ended(s) ? end_episode(run, i, err) : LGV_OK;
}

static bool is_done(const lgv_run *run) {
  const lgv_run_params *p = &run->plan->run;
  return !isnan(run->at.solved_episode) || run->out_of_time ||
         (p->steps > 0 && run->at.steps >= p->steps) ||
         (p->episodes > 0 && run->at.episodes >= p->episodes);
}

/* ---- Evaluations ---- */

static bool has_limit(const lgv_run *run) { return isfinite(run->plan->run.eval_share); }

static bool is_evaluating(const lgv_run *run) {
  return run->evaluation.episodes > 0 || run->evaluation.steps > 0;
}

/* An evaluation that was interrupted stays due, even if the run now has a larger budget and is no
 * longer at its end. */
bool lgv__run_evaluation_is_due(const lgv_run *run) {
  if (!run->eval_env) return false;
  return is_evaluating(run) || run->at.steps >= run->at.next_eval ||
         (has_limit(run) && is_done(run) && run->evals.latest < run->at.steps);
}

/* Steps that the next evaluation is expected to take: as many as the longest so far. Before there
 * is one: all that the horizon allows, and without a horizon half of what the run allows. */
static double expected_length(const lgv_run *run) {
  const lgv_run_params *p = &run->plan->run;
  int64_t horizon = run->plan->env.horizon;
  if (run->evals.longest > 0) return (double)run->evals.longest;
  if (horizon > 0) return (double)p->eval_episodes * fmin((double)horizon, (double)p->eval_steps);
  return fmin((double)p->eval_episodes * (double)p->eval_steps,
              p->eval_share * lgv__plan_steps(run->plan) / 2);
}

/* Whether the next evaluation and the last one fit into run.eval_share of the steps so far; before
 * the first step, of the whole run. One that has begun is finished. */
static bool fits_share(const lgv_run *run) {
  double steps = run->at.steps ? (double)run->at.steps : lgv__plan_steps(run->plan);
  return !has_limit(run) || is_evaluating(run) ||
         (double)run->evals.spent + 2 * expected_length(run) <= run->plan->run.eval_share * steps;
}

static lgv_status play_episodes(lgv_run *run, lgv_error *err) {
  const lgv_run_params *p = &run->plan->run;
  lgv_evaluation *e = &run->evaluation;
  LGV_TRY(lgv__env_adopt(run->eval_env, run->env, err));
  if (!is_evaluating(run)) run->evals.before = run->evals.spent;
  while (e->episodes < p->eval_episodes) {
    LGV_TRY(lgv__evaluate(run->agent, run->eval_env, e->episodes + 1, p->eval_steps, run->stop, e,
                          err));
    run->evals.spent += lgv__env_obs(run->eval_env).stage;
  }
  return LGV_OK;
}

static lgv_status evaluate(lgv_run *run, lgv_error *err) {
  LGV_TRY(play_episodes(run, err));
  int64_t length = run->evals.spent - run->evals.before;
  if (length > run->evals.longest) run->evals.longest = length;
  run->evals.latest = run->evals.at[run->at.n_recent % RECENT] = run->at.steps;
  run->at.eval_return = run->evaluation.sum / (double)run->plan->run.eval_episodes;
  remember(run, run->at.eval_return);
  run->evaluation = (lgv_evaluation){0};
  run->saved_at = -1; /* a checkpoint from within the evaluation does not hold its result */
  return LGV_OK;
}

/* Evaluates or skips, and writes the row. */
static lgv_status settle_evaluation(lgv_run *run, lgv_error *err) {
  int64_t every = run->plan->run.eval_every, late = run->at.steps - run->at.next_eval;
  run->at.eval_return = NAN;
  if (is_done(run) || fits_share(run)) LGV_TRY(evaluate(run, err));
  if (late >= 0) run->at.next_eval += (late / every + 1) * every;
  return write_row(run, err);
}

/* The very first evaluation waits for the first episode to begin. */
static lgv_status evaluate_if_due(lgv_run *run, lgv_error *err) {
  bool is_due = run->at.steps > 0 && lgv__run_evaluation_is_due(run);
  return is_due ? settle_evaluation(run, err) : LGV_OK;
}

/* ---- The loop ---- */

static bool checkpoint_is_due(const lgv_run *run, int64_t before, int64_t after) {
  int64_t every = run->plan->run.checkpoint_every;
  return every > 0 && after / every > before / every;
}

/* Whether the environments must be at rest after a round of n steps: the run may end there or with
 * a shorter round, or something looks at it. last: the step count at which this call returns. */
static bool must_rest(const lgv_run *run, int32_t n, int64_t last) {
  const lgv_run_params *p = &run->plan->run;
  int64_t after = run->at.steps + n;
  return after >= last || (p->steps > 0 && after + run->n_streams > p->steps) ||
         (p->episodes > 0 && run->at.episodes + n >= p->episodes) || run->last_returns ||
         p->stop_seconds > 0 || (run->eval_env && after >= run->at.next_eval) ||
         checkpoint_is_due(run, run->at.steps, after);
}

/* One step of every environment, or of fewer where the budget of steps ends. A single environment
 * has no other to overlap with: the agent chooses when the next round begins. */
static lgv_status advance_round(lgv_run *run, int64_t last, lgv_error *err) {
  int64_t budget = run->plan->run.steps, left = budget > 0 ? budget - run->at.steps : INT64_MAX;
  int32_t n = left < run->n_streams ? (int32_t)left : run->n_streams;
  for (int32_t i = 0; i < n; i++)
    if (!run->episodes[i].in_episode) LGV_TRY(begin_episode(run, i, err));
  if (run->at.steps == 0 && lgv__run_evaluation_is_due(run)) LGV_TRY(settle_evaluation(run, err));
  for (int32_t i = 0; i < n; i++) LGV_TRY(choose(run, i, err));
  for (int32_t i = 0; i < n; i++) LGV_TRY(start(run, i, err));
  bool rest = must_rest(run, n, last);
  for (int32_t i = 0; i < n; i++) {
    LGV_TRY(learn(run, i, err));
    if (run->n_streams > 1) LGV_TRY(choose(run, i, err));
    if (run->n_streams > 1 && !rest) LGV_TRY(start(run, i, err));
  }
  return LGV_OK;
}

static lgv_status advance(lgv_run *run, int64_t max_steps, lgv_error *err) {
  int64_t first = run->at.steps,
          last = max_steps < INT64_MAX - first ? first + max_steps : INT64_MAX;
  LGV_TRY(evaluate_if_due(run, err)); /* an evaluation that was interrupted */
  while (run->at.steps < last && !is_done(run)) {
    int64_t before = run->at.steps;
    LGV_TRY(advance_round(run, last, err));
    LGV_TRY(evaluate_if_due(run, err));
    if (checkpoint_is_due(run, before, run->at.steps)) LGV_TRY(lgv__run_start_checkpoint(run, err));
  }
  return LGV_OK;
}

/* Environments and agents name the stage, update or episode of an error; only the run knows the
 * step. */
static void name_step(const lgv_run *run, lgv_error *err) {
  if (!err) return;
  lgv_error inner = *err;
  lgv_fail(err, inner.status, "in step %lld: %.480s", (long long)run->at.steps + 1, inner.message);
}

lgv_status lgv_run_advance(lgv_run *run, int64_t max_steps, bool *done, lgv_error *err) {
  LGV_TRY(lgv__run_ask_for_checkpoint(run, lgv__checkpoint_look, err));
  run->entered = lgv__clock(CLOCK_THREAD_CPUTIME_ID);
  lgv_matmul_threads *before = lgv__matmul_threads_use(run->team);
  const lgv_kernel_set *previous = lgv__kernels_begin(lgv__plan_is_portable(run->plan));
  lgv_status status = advance(run, max_steps, err);
  lgv__kernels_end(lgv__plan_is_portable(run->plan), previous);
  lgv__matmul_threads_use(before);
  if (status == LGV_ERR_NUMERIC) name_step(run, err);
  LGV_TRY(status);
  LGV_TRY(lgv__record_show(&run->record, err));
  run->computed += computed_now(run);
  *done = is_done(run);
  return LGV_OK;
}

/* The mean of the recent evaluations or exact values. Where run.eval_share spreads evaluations over
 * the whole run, those before the last tenth of the steps say little about the final agent. */
static double final_return(const lgv_run *run) {
  int64_t kept = run->at.n_recent < RECENT ? run->at.n_recent : RECENT, n = 0;
  bool spread = run->eval_env && has_limit(run);
  double sum = 0;
  for (int64_t i = 0; i < kept; i++) {
    if (spread && (double)run->evals.at[i] < 0.9 * (double)run->evals.latest) continue;
    sum += run->at.recent[i];
    n++;
  }
  return n ? sum / (double)n : NAN;
}

void lgv_run_summary(const lgv_run *run, lgv_summary *summary) {
  *summary = (lgv_summary){
      .seed = run->seed,
      .steps = run->at.steps,
      .episodes = run->at.episodes,
      .mean_return = run->at.episodes ? run->at.total_return / (double)run->at.episodes : NAN,
      .final_return = final_return(run),
      .optimal_value = run->known.optimal_mean,
      .regret = knows_regret(run) ? run->at.regret : NAN,
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
  LGV_TRY(lgv__run_ask_for_checkpoint(run, lgv__checkpoint_wait, err));
  lgv_rows rows;
  LGV_TRY(lgv__record_flush(&run->record, &rows, err));
  /* a run that was interrupted can be resumed; one that failed keeps its last good checkpoint */
  bool save = !failure && run->plan->run.checkpoint_final && run->saved_at != run->at.steps;
  if (save) LGV_TRY(lgv_run_checkpoint(run, err));
  LGV_TRY(lgv__record_timing(&run->record, lgv__now() - run->started, run->computed,
                             run->at.steps - run->resumed_at, err));
  return lgv__record_summary(&run->record, run->plan, &summary, run->given_up, failure, err);
}

lgv_status lgv_run_finish(lgv_run *run, lgv_error *err) {
  return lgv__run_close_records(run, NULL, err);
}
