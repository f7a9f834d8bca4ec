#include "config/plan.h"

#include "agent/agent.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/text.h"
#include "config/auto_agent.h"
#include "config/create.h"
#include "config/settings.h"
#include "env/env.h"
#include "math/kernels.h"
#include "registry.h"
#include "stats/exact.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_EPISODES = 1000, DEFAULT_STEPS = 100000, DEFAULT_EVALUATIONS = 100 };
static const double longest_run = 1e15; /* steps: the bound of run.eval_every */

lgv_full_problem lgv__plan_problem(const lgv_plan *plan, const lgv_env_spec *env) {
  lgv_problem given = {.env = *env,
                       .episodes = plan->run.episodes,
                       .steps = plan->run.steps,
                       .streams = (int32_t)plan->run.envs};
  if (given.episodes == 0 && env->horizon > 0) given.episodes = plan->run.steps / env->horizon;
  return (lgv_full_problem){.given = given,
                            .builtin = lgv__builtin(plan->agent_type),
                            .optimizer = plan->optim_type,
                            .optim_params = plan->optim_params,
                            .features = plan->feature_type,
                            .feature_params = plan->feature_params};
}

static void settle_budget(lgv_plan *plan) {
  if (plan->run.episodes > 0 || plan->run.steps > 0) return;
  if (plan->agent_type->traits & LGV_SETTLES_PER_EPISODE)
    plan->run.episodes = DEFAULT_EPISODES;
  else
    plan->run.steps = DEFAULT_STEPS;
}

double lgv__plan_steps(const lgv_plan *plan) {
  return plan->run.steps ? (double)plan->run.steps
                         : (double)plan->run.episodes * (double)plan->env.horizon;
}

/* Evaluations that the user did not schedule take a bounded share of the steps, also those that a
 * preset of the environment schedules. */
static void settle_eval_share(lgv_plan *plan, const lgv_settings *user) {
  bool is_scheduled = lgv_settings_get(user, "run.eval_every") != NULL;
  if (is_scheduled && !lgv_settings_get(user, "run.eval_share")) plan->run.eval_share = INFINITY;
}

/* An evaluation ends whatever the agent does. Neither a known horizon nor a game (which ends on its
 * own) is cut; elsewhere a policy that moves in circles may use half of the share in one
 * evaluation, so that the first and the last one fit. */
static void settle_eval_steps(lgv_plan *plan, const lgv_settings *settings) {
  enum { SHORTEST = 100 };
  lgv_run_params *run = &plan->run;
  if (lgv_settings_get(settings, "run.eval_steps")) return;
  int64_t most = lgv__long_episode(&plan->env);
  bool is_game = most > run->eval_steps, has_clock = plan->env.horizon > 0;
  run->eval_steps = most;
  if (has_clock && plan->env.horizon > run->eval_steps) run->eval_steps = plan->env.horizon;
  double steps = lgv__plan_steps(plan);
  if (is_game || has_clock || isinf(run->eval_share) || steps == 0) return;
  double half = run->eval_share * steps / 2 / (double)run->eval_episodes;
  run->eval_steps = (int64_t)fmin((double)run->eval_steps, fmax(SHORTEST, half));
}

/* An environment with limits of its own keeps them, unless run.episode_steps is set. */
static lgv_status settle_episode_steps(lgv_plan *plan, const lgv_settings *settings,
                                       lgv_error *err) {
  lgv_run_params *run = &plan->run;
  if (lgv_settings_get(settings, "run.episode_steps"))
    return lgv__check_episode_steps(run->episode_steps, plan->agent_type, &plan->env, err);
  if (!plan->env_type->limits_episodes)
    run->episode_steps = lgv_episode_steps(&plan->env, run->steps / run->envs);
  return LGV_OK;
}

/* Agents whose policy changes within an episode have no exact value; evaluations estimate it. */
static void settle_evaluations(lgv_plan *plan, const lgv_settings *settings,
                               const lgv_settings *user) {
  settle_eval_share(plan, user);
  settle_eval_steps(plan, settings);
  if (lgv_settings_get(settings, "run.eval_every") ||
      (plan->agent_type->traits & LGV_SETTLES_PER_EPISODE))
    return;
  plan->run.eval_every = (int64_t)fmin(lgv__plan_steps(plan) / DEFAULT_EVALUATIONS, longest_run);
}

/* Rows of a replay that a run can fill: two per step of one environment, if every episode has one
 * step. */
static size_t most_rows(const lgv_plan *plan) {
  return plan->run.steps > 0 ? 2 * (size_t)(plan->run.steps / plan->run.envs) + 2 : 0;
}

bool lgv__plan_evaluates_policies(const lgv_plan *plan) {
  bool by_states = plan->agent_type->policy && !plan->feature_type;
  return plan->has_model && by_states && plan->run.envs == 1;
}

static lgv_status count_memory(lgv_plan *plan, const lgv_env *probe, lgv_error *err) {
  lgv_full_problem problem = lgv__plan_problem(plan, lgv_env_get_spec(probe));
  uint64_t envs = (uint64_t)plan->run.envs + (plan->run.eval_every > 0), agent;
  LGV_TRY(lgv__agent_bytes(plan->agent_type, plan->agent_params, &problem, most_rows(plan), &agent,
                           err));
  uint64_t others = envs * lgv__env_arena(probe)->table.used, exact = 0;
  if (plan->has_model) exact = lgv__exact_bytes(&plan->env, lgv__plan_evaluates_policies(plan));
  if (__builtin_add_overflow(agent, others, &plan->bytes) ||
      __builtin_add_overflow(plan->bytes, exact, &plan->bytes))
    plan->bytes = UINT64_MAX;
  return LGV_OK;
}

uint64_t lgv_plan_memory(const lgv_plan *plan) { return plan->bytes; }

static lgv_status find_agent(const lgv_settings *settings, lgv_plan *plan, lgv_error *err) {
  LGV_TRY(lgv__settings_agent_type(settings, &plan->agent_type, err));
  return lgv__settings_check_prefixes(settings, plan->env_type, plan->agent_type, err);
}

/* Fills the environment's part of the plan and opens it, for the facts that only an open
 * environment knows. */
static lgv_status open_probe(const lgv_settings *settings, lgv_plan *plan, lgv_env **probe,
                             lgv_error *err) {
  LGV_TRY(lgv__settings_fill(settings, "run.", lgv__run_params, &plan->run, NULL, err));
  LGV_TRY(lgv__fill_env(settings, plan->env_type, &plan->env_params, &plan->env_common, err));
  plan->host = lgv__settings_host(settings, &plan->run);
  lgv_host host = plan->host;
  host.announce = true;
  LGV_TRY(lgv__env_open(plan->env_type, plan->env_params, plan->env_common, &host, 0, "env.probe",
                        probe, err));
  plan->env = *lgv_env_get_spec(*probe);
  plan->has_model = lgv_env_get_model(*probe) != NULL;
  return LGV_OK;
}

/* Fills the agent's part, and whatever of the run depends on the agent. */
static lgv_status fill_agent(const lgv_settings *settings, const lgv_settings *user, lgv_plan *plan,
                             const lgv_env *probe, lgv_error *err) {
  settle_budget(plan);
  settle_evaluations(plan, settings, user);
  LGV_TRY(settle_episode_steps(plan, settings, err));
  lgv_full_problem problem = lgv__plan_problem(plan, &plan->env);
  lgv_agent_parts parts = {0};
  lgv_status status = lgv__fill_agent(settings, plan->agent_type, &problem, &parts, err);
  plan->agent_params = parts.params;
  plan->optim_params = parts.optim_params;
  plan->optim_type = parts.optim_type;
  plan->feature_params = parts.feature_params;
  plan->feature_type = parts.feature_type;
  return status == LGV_OK ? count_memory(plan, probe, err) : status;
}

static lgv_status fill_picked_agent(lgv_settings *settings, const lgv_settings *user,
                                    lgv_plan *plan, const lgv_env *probe, lgv_error *err) {
  LGV_TRY(lgv__pick_agent(settings, &plan->env, err));
  LGV_TRY(find_agent(settings, plan, err));
  lgv_status status = fill_agent(settings, user, plan, probe, err);
  return lgv__name_picked(status, &plan->env, err);
}

/* settings: those of the user, completed by the environment's preset. A name of an agent is checked
 * before the environment opens; auto needs the open environment. */
static lgv_status fill_plan(lgv_settings *settings, const lgv_settings *user, lgv_plan *plan,
                            lgv_error *err) {
  bool is_auto = lgv__agent_is_auto(settings);
  lgv_env *probe;
  LGV_TRY(lgv__kernels_check(err));
  LGV_TRY(lgv__settings_env_type(settings, &plan->env_type, err));
  if (!is_auto) LGV_TRY(find_agent(settings, plan, err));
  LGV_TRY(open_probe(settings, plan, &probe, err));
  lgv_status status = is_auto ? fill_picked_agent(settings, user, plan, probe, err)
                              : fill_agent(settings, user, plan, probe, err);
  lgv_env_free(probe);
  plan->env.features = NULL;
  plan->env.obs_low = plan->env.obs_high = NULL;
  return status;
}

lgv_status lgv_plan_create(const lgv_settings *settings, lgv_plan **out, lgv_error *err) {
  *out = NULL;
  lgv_settings *completed;
  LGV_TRY(lgv__settings_with_env_preset(settings, &completed, err));
  lgv_plan *plan = lgv__calloc(1, sizeof *plan);
  lgv_status status =
      plan ? fill_plan(completed, settings, plan, err) : lgv__out_of_memory(err, "a plan");
  lgv_settings_free(completed);
  if (status != LGV_OK) {
    lgv_plan_free(plan);
    return status;
  }
  *out = plan;
  return LGV_OK;
}

void lgv_plan_free(lgv_plan *plan) {
  if (!plan) return;
  lgv__free(plan->env_params);
  lgv__free(plan->agent_params);
  lgv__free(plan->optim_params);
  lgv__free(plan->feature_params);
  lgv__free(plan);
}

/* ---- Resolved values as text ---- */

/* Values stay texts: only the environment knows their types. */
static void json_map(lgv_json *json, const char *key, const lgv_map *map) {
  char name[LGV_MAP_KEY_SIZE], value[LGV_MAP_VALUE_SIZE];
  const char *at = map->text;
  lgv__json_open(json, key, '{');
  while (lgv__map_next(&at, name, value)) lgv__json_string(json, name, value);
  lgv__json_close(json, '}');
}

static void json_param(lgv_json *json, const lgv_param *row, const void *params) {
  char text[512];
  const void *field = (const char *)params + row->offset;
  switch (row->type) {
  case LGV_REAL:
    if (*(const double *)field - *(const double *)field == 0) {
      lgv__json_real(json, row->name, *(const double *)field);
      break;
    }
    __attribute__((fallthrough)); /* infinities are written as text, which JSON can hold */
  case LGV_CHOICE:
  case LGV_TEXT:
  case LGV_INTS:
    lgv__param_format(row, params, text, sizeof text);
    lgv__json_string(json, row->name, text);
    break;
  case LGV_INT: lgv__json_int(json, row->name, *(const int64_t *)field); break;
  case LGV_BOOL: lgv__json_bool(json, row->name, *(const bool *)field); break;
  case LGV_MAP: json_map(json, row->name, field); break;
  }
}

static void json_params(lgv_json *json, const char *key, const char *name, const lgv_param *table,
                        const void *params) {
  lgv__json_open(json, key, '{');
  if (name) lgv__json_string(json, "name", name);
  for (; table && table->name; table++) json_param(json, table, params);
  lgv__json_close(json, '}');
}

/* Without settings of this process alone: an event file is not a result, so that a resumed run may
 * stop or start writing one; and that changes are accepted holds for one call. */
static void json_run(lgv_json *json, const lgv_run_params *run) {
  lgv__json_open(json, "run", '{');
  for (const lgv_param *row = lgv__run_params; row->name; row++)
    if (strcmp(row->name, "tensorboard") != 0 && strcmp(row->name, "accept_changes") != 0)
      json_param(json, row, run);
  lgv__json_close(json, '}');
}

/* Common parameters appear only where they differ from their defaults, so that one more of them
 * changes neither digests nor the records of other runs. */
static void json_env(lgv_json *json, const lgv_plan *plan) {
  const lgv_env_type *type = plan->env_type;
  char text[LGV_TEXT_SIZE];
  lgv__json_open(json, "env", '{');
  lgv__json_string(json, "name", type->name);
  for (const lgv_param *row = type->params; row && row->name; row++)
    json_param(json, row, plan->env_params);
  for (const lgv_param *row = lgv__env_common_params; row->name; row++) {
    lgv__param_format(row, &plan->env_common, text, sizeof text);
    if (lgv__env_takes_common(type, row) && strcmp(text, row->default_text) != 0)
      json_param(json, row, &plan->env_common);
  }
  lgv__json_close(json, '}');
}

static void json_parts(const lgv_plan *plan, uint64_t seed, lgv_json *json) {
  lgv_run_params run = plan->run;
  run.seed = (int64_t)seed;
  run.update_threads = 1; /* no result depends on it, so records do not mention it */
  json_env(json, plan);
  json_params(json, "agent", plan->agent_type->name, plan->agent_type->params, plan->agent_params);
  if (plan->optim_type)
    json_params(json, "optim", plan->optim_type->name, plan->optim_type->params,
                plan->optim_params);
  if (plan->feature_type)
    json_params(json, "features", NULL, plan->feature_type->params, plan->feature_params);
  json_run(json, &run);
}

bool lgv__plan_is_portable(const lgv_plan *plan) {
  const lgv_agent_type *type = plan->agent_type;
  return lgv__agent_is_portable(type, lgv__builtin(type), plan->agent_params);
}

void lgv__plan_json(const lgv_plan *plan, uint64_t seed, lgv_json *json) {
  lgv__json_open(json, NULL, '{');
  lgv__json_open(json, "langevin", '{');
  lgv__json_string(json, "version", lgv_version());
  lgv__json_string(json, "kernels", lgv__plan_is_portable(plan) ? "portable" : lgv_kernels());
  lgv__json_close(json, '}');
  json_parts(plan, seed, json);
  lgv__json_close(json, '}');
}

lgv_status lgv_plan_digest(const lgv_plan *plan, char *text, lgv_error *err) {
  lgv_json json = {0};
  json_parts(plan, 0, &json);
  if (json.failed) {
    lgv__json_free(&json);
    return lgv__out_of_memory(err, "a digest");
  }
  uint64_t hash = lgv__hash(LGV_HASH_START, json.text, json.length);
  lgv__json_free(&json);
  snprintf(text, LGV_DIGEST_SIZE, "%016" PRIx64, hash);
  return LGV_OK;
}

void lgv__plan_env_name(const lgv_plan *plan, char *text, size_t size) {
  lgv__env_name(plan->env_type, plan->env_params, text, size);
}

/* The value of agent.name and optim.name, which no parameter table lists; else NULL. */
static const char *name_of(const lgv_plan *plan, const char *key) {
  if (strcmp(key, "agent.name") == 0) return plan->agent_type->name;
  if (strcmp(key, "optim.name") == 0 && plan->optim_type) return plan->optim_type->name;
  return NULL;
}

static lgv_status get_env_param(const lgv_plan *plan, const char *key, char *text, size_t size,
                                lgv_error *err) {
  const char *name = key + strlen("env.");
  int common = lgv__params_find(lgv__env_common_params, name);
  if (common >= 0 && lgv__env_takes_common(plan->env_type, &lgv__env_common_params[common]))
    return lgv__params_get(lgv__env_common_params, &plan->env_common, key, name, text, size, err);
  return lgv__params_get(plan->env_type->params, plan->env_params, key, name, text, size, err);
}

lgv_status lgv_plan_get(const lgv_plan *plan, const char *key, char *text, size_t size,
                        lgv_error *err) {
  const char *name = name_of(plan, key);
  if (name) snprintf(text, size, "%s", name);
  if (strcmp(key, "env.name") == 0) lgv__plan_env_name(plan, text, size);
  if (name || strcmp(key, "env.name") == 0) return LGV_OK;
  if (strncmp(key, "env.", 4) == 0) return get_env_param(plan, key, text, size, err);
  if (strncmp(key, "agent.", 6) == 0)
    return lgv__params_get(plan->agent_type->params, plan->agent_params, key, key + 6, text, size,
                           err);
  if (strncmp(key, "optim.", 6) == 0 && plan->optim_type)
    return lgv__params_get(plan->optim_type->params, plan->optim_params, key, key + 6, text, size,
                           err);
  if (strncmp(key, "features.", 9) == 0 && plan->feature_type)
    return lgv__params_get(plan->feature_type->params, plan->feature_params, key, key + 9, text,
                           size, err);
  if (strncmp(key, "run.", 4) == 0)
    return lgv__params_get(lgv__run_params, &plan->run, key, key + 4, text, size, err);
  return lgv_fail(err, LGV_ERR_USAGE, "unknown key '%.80s'", key);
}
