/* Handles from settings: an environment or an agent without a run. */
#include "config/create.h"

#include "agent/agent.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/spec.h"
#include "config/auto_agent.h"
#include "config/settings.h"
#include "env/env.h"
#include "math/kernels.h"
#include "registry.h"

#include <stdio.h>
#include <string.h>

lgv_status lgv__fill_params(const lgv_settings *settings, const char *prefix,
                            const lgv_param *table, size_t size, void **params, bool *is_set,
                            lgv_error *err) {
  *params = lgv__calloc(1, size + 1);
  if (!*params) return lgv__out_of_memory(err, "a plan");
  return lgv__settings_fill(settings, prefix, table, *params, is_set, err);
}

lgv_status lgv__fill_env(const lgv_settings *settings, const lgv_env_type *type, void **params,
                         lgv_env_common *common, lgv_error *err) {
  size_t at = lgv__env_common_at(type);
  lgv_param *rows = lgv__calloc(lgv__env_join_params(type, NULL) + 1, sizeof *rows);
  if (!rows) return lgv__out_of_memory(err, "a plan");
  lgv__env_join_params(type, rows);
  lgv_status status =
      lgv__fill_params(settings, "env.", rows, at + sizeof *common, params, NULL, err);
  if (status == LGV_OK) memcpy(common, (const char *)*params + at, sizeof *common);
  lgv__free(rows);
  return status;
}

/* Marks the rows that the user has set; other rows may come from a preset. */
static void mark_chosen(const lgv_settings *user, const lgv_param *table, bool *chosen) {
  char key[128];
  for (size_t i = 0; i < lgv__params_count(table); i++) {
    snprintf(key, sizeof key, "agent.%s", table[i].name);
    chosen[i] = lgv_settings_get(user, key) != NULL;
  }
}

static lgv_status fill_features(const lgv_settings *settings, const lgv_agent_type *type,
                                lgv_full_problem *problem, lgv_agent_parts *parts, lgv_error *err) {
  LGV_TRY(lgv__settings_feature_type(settings, type, &parts->feature_type, err));
  const lgv_feature_type *map = parts->feature_type;
  LGV_TRY(lgv__fill_params(settings, "features.", map ? map->params : NULL,
                           map ? map->params_size : 0, &parts->feature_params, NULL, err));
  problem->features = map;
  problem->feature_params = parts->feature_params;
  const char *fault = map ? lgv__obs_fault(&problem->given.env) : NULL; /* maps read observations */
  return fault ? lgv_fail(err, LGV_ERR_USAGE, "the spec of the environment has %s", fault) : LGV_OK;
}

/* settings: those of the user, completed by the agent's preset. */
static lgv_status resolve_agent(const lgv_settings *settings, const lgv_settings *user,
                                const lgv_agent_type *type, lgv_full_problem *problem,
                                lgv_agent_parts *parts, lgv_error *err) {
  LGV_TRY(
      lgv__settings_optim_type(settings, lgv__default_optimizer(type), &parts->optim_type, err));
  const lgv_optim_type *optim = parts->optim_type;
  LGV_TRY(lgv__fill_params(settings, "optim.", optim ? optim->params : NULL,
                           optim ? optim->params_size : 0, &parts->optim_params, NULL, err));
  if (optim && optim->resolve) optim->resolve(parts->optim_params);
  problem->optimizer = optim;
  problem->optim_params = parts->optim_params;
  LGV_TRY(fill_features(settings, type, problem, parts, err));
  size_t rows = lgv__params_count(type->params) + 1;
  bool *is_set = lgv__calloc(2 * rows, sizeof *is_set);
  if (!is_set) return lgv__out_of_memory(err, "a plan");
  bool *chosen = is_set + rows;
  lgv_status status = lgv__fill_params(settings, "agent.", type->params, type->params_size,
                                       &parts->params, is_set, err);
  mark_chosen(user, type->params, chosen);
  problem->chosen = chosen;
  problem->notice = user->notice;
  problem->notice_context = user->notice_context;
  if (status == LGV_OK)
    status = lgv__agent_resolve(type, parts->params, is_set, &problem->given, err);
  problem->chosen = NULL;
  problem->notice = NULL;
  lgv__free(is_set);
  return status;
}

/* "dqn, double-dqn, ...": the built-in agents with a trait. */
static void name_agents(unsigned trait, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (const lgv_agent_type *const *type = lgv__agents; *type && used < size; type++)
    if ((*type)->traits & trait)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", (*type)->name);
}

/* Whether the agent can take the actions of the environment. */
static lgv_status check_actions(const lgv_agent_type *type, const lgv_action_space *space,
                                lgv_error *err) {
  char names[256];
  bool box = type->traits & LGV_TAKES_BOX, multi = type->traits & LGV_TAKES_MULTI_DISCRETE;
  if (space->kind == LGV_MULTI_DISCRETE && !multi) {
    name_agents(LGV_TAKES_MULTI_DISCRETE, names, sizeof names);
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s makes one choice per step, but the actions of this environment make %d at "
                    "once (multi-discrete): take one of %s",
                    type->name, space->parts, names);
  }
  if (space->kind == LGV_BOX && !box) {
    name_agents(LGV_TAKES_BOX, names, sizeof names);
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s takes discrete actions, but those of this environment are continuous (a "
                    "box of %d): take one of %s (an environment may offer choices instead: "
                    "pendulum does with env.torques = 3)",
                    type->name, space->parts, names);
  }
  if (space->kind != LGV_BOX && box)
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "%s takes continuous actions, not discrete ones: agent.name = auto picks an agent "
        "that fits",
        type->name);
  return LGV_OK;
}

lgv_status lgv__fill_agent(const lgv_settings *settings, const lgv_agent_type *type,
                           lgv_full_problem *problem, lgv_agent_parts *parts, lgv_error *err) {
  LGV_TRY(check_actions(type, &problem->given.env.actions, err));
  if (!type->presets || !type->presets->name)
    return resolve_agent(settings, settings, type, problem, parts, err);
  lgv_settings *completed;
  LGV_TRY(lgv__settings_with_preset(settings, type, &problem->given.env, &completed, err));
  lgv_status status = resolve_agent(completed, settings, type, problem, parts, err);
  lgv_settings_free(completed);
  return status;
}

/* The run.* that an environment without a run reads. */
static const char *const worker_params[] = {"env_timeout", "on_worker_death", NULL};

lgv_status lgv_env_create(const lgv_settings *settings, uint64_t seed, lgv_env **env,
                          lgv_error *err) {
  const lgv_env_type *type;
  lgv_settings *completed;
  lgv_run_params run;
  lgv_env_common common;
  void *params = NULL;
  *env = NULL;
  LGV_TRY(lgv__settings_env_type(settings, &type, err));
  LGV_TRY(lgv__settings_fill_some(settings, "run.", lgv__run_params, worker_params, &run, err));
  LGV_TRY(lgv__settings_with_env_preset(settings, &completed, err));
  lgv_host host = lgv__settings_host(settings, &run);
  host.announce = true;
  lgv_status status = lgv__fill_env(completed, type, &params, &common, err);
  if (status == LGV_OK) status = lgv__env_open(type, params, common, &host, seed, "env", env, err);
  lgv_settings_free(completed);
  lgv__free(params);
  return status;
}

/* Checks a spec of the caller's. Agents that need states take no observations. */
static lgv_status check_spec(const lgv_env_spec *env, const lgv_agent_type *type, lgv_error *err) {
  LGV_TRY(lgv__check_size("lgv_env_spec", env->size, sizeof *env, err));
  const char *fault = type->traits & LGV_NEEDS_STATES ? lgv__task_fault(env) : lgv__spec_fault(env);
  if (!fault && env->feature_dim > 0 && !env->features) fault = "features, but no table of them";
  return fault ? lgv_fail(err, LGV_ERR_USAGE, "the spec of the environment has %s", fault) : LGV_OK;
}

static lgv_status create_agent(const lgv_settings *settings, const lgv_env_spec *env,
                               int64_t episodes, int64_t steps, uint64_t seed, lgv_agent **agent,
                               lgv_error *err) {
  static const char *const run_params[] = {"envs", NULL};
  const lgv_agent_type *type;
  lgv_agent_parts parts = {0};
  lgv_run_params run;
  LGV_TRY(lgv__kernels_check(err));
  LGV_TRY(lgv__settings_agent_type(settings, &type, err));
  LGV_TRY(check_spec(env, type, err));
  LGV_TRY(lgv__settings_fill_some(settings, "run.", lgv__run_params, run_params, &run, err));
  lgv_full_problem problem = {
      .given = {.env = *env, .episodes = episodes, .steps = steps, .streams = (int32_t)run.envs},
      .builtin = lgv__builtin(type)};
  lgv_status status = lgv__fill_agent(settings, type, &problem, &parts, err);
  if (status == LGV_OK) status = lgv__agent_open(type, parts.params, &problem, seed, agent, err);
  lgv__free(parts.params);
  lgv__free(parts.optim_params);
  lgv__free(parts.feature_params);
  return status;
}

lgv_status lgv_agent_create(const lgv_settings *settings, const lgv_env_spec *env, int64_t episodes,
                            int64_t steps, uint64_t seed, lgv_agent **agent, lgv_error *err) {
  lgv_settings *completed;
  *agent = NULL;
  if (!lgv__agent_is_auto(settings))
    return create_agent(settings, env, episodes, steps, seed, agent, err);
  LGV_TRY(lgv__check_size("lgv_env_spec", env->size, sizeof *env, err));
  LGV_TRY(lgv__settings_clone(settings, &completed, err));
  lgv_status status = lgv__pick_agent(completed, env, err);
  if (status == LGV_OK)
    status =
        lgv__name_picked(create_agent(completed, env, episodes, steps, seed, agent, err), env, err);
  lgv_settings_free(completed);
  return status;
}
