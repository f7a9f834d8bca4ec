#include "agent/agent.h"

#include "agent/export.h"
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "base/io/tensors.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/spec.h"
#include "math/kernels.h"
#include "optim/optim_type.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct lgv_agent {
  const lgv_agent_type *type;
  void *params, *optim_params, *feature_params, *self;
  bool opened;    /* type->open succeeded, so close is due */
  bool corrupt;   /* a file was refused too late: nothing may use the arrays */
  bool acts_only; /* the file that was loaded holds no experience to learn from */
  lgv_full_problem problem;
  lgv_arena arena;
};

/* ---- Hooks run with the kernels of the agent (lgv__kernels_begin) ---- */

/* The same optimizer, compiled for the kernels of the agent. */
static const lgv_optim_type *own_optimizer(const lgv_full_problem *problem) {
  if (!problem->optimizer || !problem->portable) return problem->optimizer;
  const lgv_optim_type *const *type = lgv__kernels_portable()->optimizers;
  while (strcmp((*type)->name, problem->optimizer->name) != 0) type++;
  return *type;
}

bool lgv__agent_is_portable(const lgv_agent_type *type, const lgv_builtin *builtin,
                            const void *params) {
  char text[LGV_TEXT_SIZE];
  return builtin &&
         lgv__params_get(type->params, params, "agent.precision", "precision", text, sizeof text,
                         NULL) == LGV_OK &&
         strcmp(text, "float") != 0;
}

static lgv_agent *new_agent(const lgv_agent_type *type, const void *params,
                            const lgv_full_problem *problem) {
  lgv_agent *agent = lgv__calloc(1, sizeof *agent);
  if (!agent) return NULL;
  agent->type = type;
  agent->problem = *problem;
  agent->problem.portable |= lgv__agent_is_portable(type, problem->builtin, params);
  agent->problem.optimizer = own_optimizer(&agent->problem);
  return agent;
}

static void layout_agent(void *context, lgv_layout *layout) {
  lgv_agent *agent = context;
  lgv_problem *p = &agent->problem.given;
  p->init = lgv__layout_rng(layout, "rng.init");
  p->act = lgv__layout_rng(layout, "rng.act");
  p->replay = lgv__layout_rng(layout, "rng.replay");
  p->noise = lgv__layout_rng(layout, "rng.noise");
  p->eval = lgv__layout_rng(layout, "rng.eval");
  const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
  agent->type->layout(agent->self, agent->params, p, layout);
  lgv__kernels_end(agent->problem.portable, previous);
}

static lgv_status copy_params(lgv_agent *agent, const void *params, lgv_error *err) {
  const lgv_agent_type *type = agent->type;
  agent->params = lgv__calloc(1, type->params_size + 1);
  agent->self = lgv__calloc(1, type->state_size + 1);
  lgv_full_problem *p = &agent->problem;
  size_t optim_size = p->optimizer ? p->optimizer->params_size : 0;
  size_t feature_size = p->features ? p->features->params_size : 0;
  agent->optim_params = lgv__calloc(1, optim_size + 1);
  agent->feature_params = lgv__calloc(1, feature_size + 1);
  if (!agent->params || !agent->self || !agent->optim_params || !agent->feature_params)
    return lgv__out_of_memory(err, "an agent");
  memcpy(agent->params, params, type->params_size);
  if (optim_size) memcpy(agent->optim_params, p->optim_params, optim_size);
  p->optim_params = agent->optim_params;
  if (feature_size) memcpy(agent->feature_params, p->feature_params, feature_size);
  p->feature_params = agent->feature_params;
  return LGV_OK;
}

static lgv_status open_parts(lgv_agent *agent, const void *params, uint64_t seed, lgv_error *err) {
  const lgv_agent_type *type = agent->type;
  lgv_problem *p = &agent->problem.given;
  LGV_TRY(copy_params(agent, params, err));
  LGV_TRY(lgv__arena_build(&agent->arena, layout_agent, agent, type->name, err));
  lgv_rng_seed(p->init, seed, "agent.init");
  lgv_rng_seed(p->act, seed, "agent.act");
  lgv_rng_seed(p->replay, seed, "agent.replay");
  lgv_rng_seed(p->noise, seed, "agent.noise");
  lgv_rng_seed(p->eval, seed, "agent.eval");
  const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
  lgv_status status = type->open ? type->open(agent->self, err) : LGV_OK;
  lgv__kernels_end(agent->problem.portable, previous);
  agent->opened = status == LGV_OK;
  return status;
}

lgv_status lgv__agent_open(const lgv_agent_type *type, const void *params,
                           const lgv_full_problem *problem, uint64_t seed, lgv_agent **out,
                           lgv_error *err) {
  *out = NULL;
  lgv_agent *agent = new_agent(type, params, problem);
  if (!agent) return lgv__out_of_memory(err, "an agent");
  lgv_status status = open_parts(agent, params, seed, err);
  if (status != LGV_OK) {
    lgv_agent_free(agent);
    return status;
  }
  *out = agent;
  return LGV_OK;
}

lgv_status lgv__agent_bytes(const lgv_agent_type *type, const void *params,
                            const lgv_full_problem *problem, size_t most_rows, uint64_t *bytes,
                            lgv_error *err) {
  lgv_agent *agent = new_agent(type, params, problem);
  if (!agent) return lgv__out_of_memory(err, "an agent");
  lgv_status status = copy_params(agent, params, err);
  lgv_layout counted = {.most_rows = most_rows};
  if (status == LGV_OK) layout_agent(agent, &counted);
  *bytes = counted.too_large ? UINT64_MAX : counted.used;
  lgv_agent_free(agent);
  return status;
}

void lgv_agent_free(lgv_agent *agent) {
  if (!agent) return;
  if (agent->opened && agent->type->close) agent->type->close(agent->self);
  lgv__arena_free(&agent->arena);
  lgv__free(agent->self);
  lgv__free(agent->params);
  lgv__free(agent->optim_params);
  lgv__free(agent->feature_params);
  lgv__free(agent);
}

lgv_status lgv__agent_resolve(const lgv_agent_type *type, void *params, const bool *is_set,
                              const lgv_problem *problem, lgv_error *err) {
  bool maps = lgv__full_problem(problem)->features != NULL;
  if ((type->traits & LGV_NEEDS_STATES) && !maps && problem->env.states == 0)
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "%s needs an environment with finitely many states; %stake a deep agent for this one",
        type->name,
        type->traits & LGV_TAKES_FEATURES ? "set agent.features to a feature map (rbf), or " : "");
  if ((type->traits & LGV_NEEDS_HORIZON) && !maps && problem->env.horizon == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s plans for a fixed horizon, but this environment has none: set one "
                    "(gym: env.horizon), or take a deep agent",
                    type->name);
  double pairs = (double)problem->env.states * problem->env.actions.count;
  if ((type->traits & LGV_NEEDS_STATES) && !maps &&
      (double)problem->env.horizon * pairs * pairs > 0x1p62)
    return lgv_fail(err, LGV_ERR_MEMORY, "%s needs more memory than this machine can address",
                    type->name); /* and sizes of its tables would overflow */
  if (problem->streams > 1 && !type->set_stream)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s plans by episode and learns from one environment: run.envs must be 1",
                    type->name);
  if (!type->resolve) return LGV_OK;
  lgv_full_problem own = *lgv__full_problem(problem);
  own.portable |= lgv__agent_is_portable(type, own.builtin, params);
  const lgv_kernel_set *previous = lgv__kernels_begin(own.portable);
  lgv_status status = type->resolve(params, is_set, problem, err);
  lgv__kernels_end(own.portable, previous);
  return status;
}

const lgv_agent_type *lgv__agent_type(const lgv_agent *agent) { return agent->type; }

bool lgv__agent_uses_map(const lgv_agent *agent) { return agent->problem.features != NULL; }

bool lgv__agent_reads_states(const lgv_agent *agent) {
  return (agent->type->traits & LGV_NEEDS_STATES) && !lgv__agent_uses_map(agent);
}

const lgv_arena *lgv__agent_arena(const lgv_agent *agent) { return &agent->arena; }

const lgv_env_spec *lgv__agent_env(const lgv_agent *agent) { return &agent->problem.given.env; }

bool lgv__agent_policy_parts(const lgv_agent *agent, lgv_policy_parts *parts) {
  const lgv_builtin *builtin = agent->problem.builtin;
  bool by_stage = lgv__agent_reads_states(agent); /* tables over (stage, state) */
  parts->by_stage = by_stage;
  parts->self = agent->self;
  if (builtin && builtin->policy_parts) builtin->policy_parts(agent->self, parts);
  if (agent->type->q_values == lgv__lsvi_q_values) lgv__lsvi_policy_parts(agent->self, parts);
  return (agent->type->q_values || parts->is_actor) && (builtin || by_stage || parts->linear);
}

lgv_status lgv__agent_check_finite(const lgv_agent *agent, lgv_error *err) {
  const lgv_layout *table = &agent->arena.table;
  for (const lgv_block *b = table->blocks; b < table->blocks + table->n_blocks; b++)
    if (b->keep && !b->list && !b->filled &&
        !lgv__are_finite(b->dtype, table->base + b->offset, b->count))
      return lgv_fail(err, LGV_ERR_NUMERIC,
                      "%s: the array %s holds a number that is not finite: lower the step size "
                      "(optim.lr, agent.step), scale the rewards, or correct what your program "
                      "wrote there",
                      agent->type->name, b->name);
  return LGV_OK;
}

lgv_status lgv__agent_collect(const lgv_agent *agent, lgv_tensors *tensors, lgv_error *err) {
  size_t first = tensors->count;
  LGV_TRY(lgv__tensors_add_arena(tensors, "agent", &agent->arena, err));
  for (lgv_tensor *t = tensors->items + first; t < tensors->items + tensors->count; t++)
    t->finite = !t->list && !t->filled; /* as above */
  return LGV_OK;
}

void lgv__agent_seed_eval(lgv_agent *agent, uint64_t seed) {
  lgv_rng_seed(agent->problem.given.eval, seed, "agent.fresh");
}

const char *lgv_agent_stat_name(const lgv_agent *agent, size_t index) {
  const char *const *names = agent->type->stat_names;
  for (size_t i = 0; names && names[i]; i++)
    if (i == index) return names[i];
  return NULL;
}

void lgv_agent_stats(const lgv_agent *agent, double *values) {
  if (!agent->type->stats) return;
  const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
  agent->type->stats(agent->self, values);
  lgv__kernels_end(agent->problem.portable, previous);
}

bool lgv__agent_computes_portably(const lgv_agent *agent) { return agent->problem.portable; }

int32_t lgv__agent_streams(const lgv_agent *agent) {
  return agent->problem.given.streams > 1 ? agent->problem.given.streams : 1;
}

int64_t lgv__agent_steps(const lgv_agent *agent) { return agent->problem.given.steps; }

lgv_status lgv_agent_set_stream(lgv_agent *agent, int32_t stream, lgv_error *err) {
  int32_t streams = lgv__agent_streams(agent);
  if (stream < 0 || stream >= streams)
    return lgv_fail(err, LGV_ERR_USAGE, "environment %d is outside 0..%d (run.envs)", stream,
                    streams - 1);
  if (streams > 1) agent->type->set_stream(agent->self, stream); /* 0 at first */
  return LGV_OK;
}

lgv_status lgv__agent_check_usable(const lgv_agent *agent, lgv_error *err) {
  if (!agent->corrupt) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%s: the file that was loaded last contradicts itself; load another one",
                  agent->type->name);
}

/* hook may be NULL. */
static lgv_status call_hook(lgv_agent *agent, lgv_status (*hook)(void *self, lgv_error *err),
                            lgv_error *err) {
  if (!hook) return LGV_OK;
  const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
  lgv_status status = hook(agent->self, err);
  lgv__kernels_end(agent->problem.portable, previous);
  return status;
}

lgv_status lgv_agent_begin_episode(lgv_agent *agent, lgv_error *err) {
  LGV_TRY(lgv__agent_check_usable(agent, err));
  return call_hook(agent, agent->type->begin_episode, err);
}

/* Agents that need states read nothing else. Observations of the others go into a network or a
 * replay, where NaN shows much later, or never; sparse forms are kept as an index. */
static lgv_status check_obs(const lgv_agent *agent, const lgv_obs *obs, lgv_error *err) {
  const lgv_env_spec *env = &agent->problem.given.env;
  if (lgv__agent_reads_states(agent)) return LGV_OK;
  if (!obs->data)
    return lgv_fail(err, LGV_ERR_USAGE, "%s decides by observations: lgv_obs.data is NULL",
                    agent->type->name);
  if (env->obs_form != LGV_FORM_DENSE || lgv__obs_is_finite(env, obs->data)) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "%s: the observation at stage %lld holds a number that is not finite",
                  agent->type->name, (long long)obs->stage);
}

static lgv_status check_mask(const lgv_agent *agent, const lgv_obs *obs, lgv_error *err) {
  if (!obs->mask || lgv__mask_allows(&agent->problem.given.env.actions, obs->mask)) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%s: the mask at stage %lld allows no action, but the task has not ended",
                  agent->type->name, (long long)obs->stage);
}

static lgv_status check_values(const lgv_agent *agent, const double *q, size_t count,
                               lgv_error *err) {
  for (size_t a = 0; a < count; a++)
    if (isnan(q[a]))
      return lgv_fail(err, LGV_ERR_NUMERIC, "%s: the value of action %zu is not a number",
                      agent->type->name, a);
  return LGV_OK;
}

lgv_status lgv_agent_q_values(lgv_agent *agent, const lgv_obs *obs, size_t count, double *q,
                              lgv_error *err) {
  LGV_TRY(lgv__agent_check_usable(agent, err));
  if (!agent->type->q_values)
    return lgv_fail(err, LGV_ERR_USAGE, "%s has no values of actions", agent->type->name);
  size_t actions = (size_t)agent->problem.given.env.actions.count;
  for (size_t i = 0; i < count; i++) {
    LGV_TRY(check_obs(agent, &obs[i], err));
    const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
    lgv_status status = agent->type->q_values(agent->self, &obs[i], q + i * actions, err);
    lgv__kernels_end(agent->problem.portable, previous);
    LGV_TRY(status);
    LGV_TRY(check_values(agent, q + i * actions, actions, err));
  }
  return LGV_OK;
}

/* Whoever wrote into the arrays may have made them NaN, which would choose an action like any
 * number. Training notices by itself, and numbers of a box are checked as actions. */
static lgv_status check_written(lgv_agent *agent, const lgv_obs *obs, lgv_error *err) {
  enum { MOST = 256 };
  double q[MOST];
  if (!agent->type->q_values) return LGV_OK;
  if (agent->problem.given.env.actions.count > MOST) return lgv__agent_check_finite(agent, err);
  return lgv_agent_q_values(agent, obs, 1, q, err);
}

lgv_status lgv_agent_act(lgv_agent *agent, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                         lgv_error *err) {
  const lgv_action_space *space = &agent->problem.given.env.actions;
  if (mode != LGV_TRAIN && mode != LGV_EVAL)
    return lgv_fail(err, LGV_ERR_USAGE, "%s: there is no mode %d", agent->type->name, (int)mode);
  LGV_TRY(check_obs(agent, obs, err));
  LGV_TRY(check_mask(agent, obs, err));
  if (agent->problem.exposed && mode == LGV_EVAL) LGV_TRY(check_written(agent, obs, err));
  LGV_TRY(lgv__agent_act(agent, obs, mode, action, err));
  return lgv__action_check(space, obs->mask, action, agent->type->name, err);
}

lgv_status lgv__agent_act(lgv_agent *agent, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                          lgv_error *err) {
  LGV_TRY(lgv__agent_check_usable(agent, err));
  const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
  lgv_status status = agent->type->act(agent->self, obs, mode, action, err);
  lgv__kernels_end(agent->problem.portable, previous);
  return status;
}

lgv_status lgv_agent_observe(lgv_agent *agent, const lgv_transition *transition, lgv_error *err) {
  if (!transition->action)
    return lgv_fail(err, LGV_ERR_USAGE, "%s: the transition has no action", agent->type->name);
  if (transition->next.mask && !agent->problem.given.env.masked)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s was made for observations without masks: set lgv_env_spec.masked",
                    agent->type->name);
  if (!transition->terminated) LGV_TRY(check_mask(agent, &transition->next, err));
  LGV_TRY(check_obs(agent, &transition->obs, err));
  LGV_TRY(check_obs(agent, &transition->next, err));
  return lgv__agent_observe(agent, transition, err);
}

/* Replays and losses are in single precision, where 1e300 is infinite. */
lgv_status lgv__agent_observe(lgv_agent *agent, const lgv_transition *transition, lgv_error *err) {
  LGV_TRY(lgv__agent_check_usable(agent, err));
  if (agent->acts_only)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s cannot learn on: it was saved without its experience, to act only",
                    agent->type->name);
  if (!isfinite((float)transition->reward))
    return lgv_fail(err, LGV_ERR_NUMERIC,
                    "%s cannot learn from the reward %g, which is not finite in single precision: "
                    "scale the rewards",
                    agent->type->name, transition->reward);
  const lgv_env_spec *env = &agent->problem.given.env;
  LGV_TRY(lgv__action_check(&env->actions, transition->obs.mask, transition->action,
                            agent->type->name, err));
  if (!agent->type->observe) return LGV_OK;
  const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
  lgv_status status = agent->type->observe(agent->self, transition, err);
  lgv__kernels_end(agent->problem.portable, previous);
  return status;
}

lgv_status lgv_agent_end_episode(lgv_agent *agent, lgv_error *err) {
  LGV_TRY(lgv__agent_check_usable(agent, err));
  return call_hook(agent, agent->type->end_episode, err);
}

/* On its own, so that the usual call, without a mask and with the kernels of the process, stays
 * short: exact values make one per stage and state. */
__attribute__((noinline)) static lgv_status
special_policy(const lgv_agent *agent, const lgv_obs *obs, double *probabilities, lgv_error *err) {
  LGV_TRY(check_mask(agent, obs, err));
  const lgv_kernel_set *previous = lgv__kernels_begin(agent->problem.portable);
  agent->type->policy(agent->self, obs, probabilities);
  lgv__kernels_end(agent->problem.portable, previous);
  return LGV_OK;
}

lgv_status lgv_agent_policy(const lgv_agent *agent, const lgv_obs *obs, double *probabilities,
                            lgv_error *err) {
  const lgv_env_spec *env = &agent->problem.given.env;
  if (agent->corrupt) return lgv__agent_check_usable(agent, err); /* hot: one call per state */
  if (!agent->type->policy)
    return lgv_fail(err, LGV_ERR_USAGE, "the policy of %s is not fixed within an episode",
                    agent->type->name);
  bool maps = agent->problem.features != NULL;
  if (maps) LGV_TRY(check_obs(agent, obs, err));
  bool late = obs->stage < 0 || (obs->stage >= env->horizon && !(maps && env->horizon == 0));
  if (late || (!maps && (obs->state < 0 || obs->state >= env->states)))
    return lgv_fail(err, LGV_ERR_USAGE, "stage %lld, state %lld: outside the problem",
                    (long long)obs->stage, (long long)obs->state);
  if (obs->mask || agent->problem.portable) return special_policy(agent, obs, probabilities, err);
  agent->type->policy(agent->self, obs, probabilities);
  return LGV_OK;
}

const void *lgv_agent_array(const lgv_agent *agent, size_t index, const char **name,
                            lgv_dtype *dtype, size_t *count) {
  const lgv_layout *table = &agent->arena.table;
  if (index >= table->n_blocks) return NULL;
  const lgv_block *block = &table->blocks[index];
  ((lgv_agent *)agent)->problem.exposed = true;
  *name = block->name;
  *dtype = block->dtype;
  *count = block->count;
  return table->base + block->offset;
}

/* ---- Resolved values, saving and loading ---- */

lgv_status lgv_agent_get(const lgv_agent *agent, const char *key, char *text, size_t size,
                         lgv_error *err) {
  const lgv_optim_type *optim = agent->problem.optimizer;
  const char *name = strcmp(key, "agent.name") == 0            ? agent->type->name
                     : optim && strcmp(key, "optim.name") == 0 ? optim->name
                                                               : NULL;
  if (name) {
    snprintf(text, size, "%s", name);
    return LGV_OK;
  }
  if (optim && strncmp(key, "optim.", 6) == 0)
    return lgv__params_get(optim->params, agent->optim_params, key, key + 6, text, size, err);
  if (strncmp(key, "agent.", 6) == 0)
    return lgv__params_get(agent->type->params, agent->params, key, key + 6, text, size, err);
  const lgv_feature_type *map = agent->problem.features;
  if (strncmp(key, "features.", 9) == 0 && map)
    return lgv__params_get(map->params, agent->feature_params, key, key + 9, text, size, err);
  return lgv_fail(err, LGV_ERR_USAGE, "unknown key '%.80s'", key);
}

lgv_status lgv_agent_save(const lgv_agent *agent, const char *path, const lgv_save_options *options,
                          lgv_error *err) {
  LGV_TRY(lgv__agent_check_usable(agent, err));
  LGV_TRY(lgv__agent_check_finite(agent, err));
  if (options) LGV_TRY(lgv__check_size("lgv_save_options", options->size, sizeof *options, err));
  lgv_tensors tensors = {.about = options ? options->about : NULL};
  lgv_status status = lgv__agent_collect(agent, &tensors, err);
  tensors.without_experience = agent->acts_only || (options && options->without_experience);
  if (tensors.without_experience) lgv__tensors_drop_learning(&tensors);
  if (status == LGV_OK && options && options->statistics)
    status = lgv__tensors_add(&tensors, "env." LGV_STATISTICS, LGV_U8, options->statistics_size,
                              (void *)options->statistics, err);
  if (status == LGV_OK) status = lgv__tensors_write(&tensors, path, err);
  lgv__tensors_free(&tensors);
  return status;
}

lgv_status lgv_agent_load(lgv_agent *agent, const char *path, lgv_error *err) {
  lgv_tensors tensors = {0};
  lgv_status status = lgv__agent_collect(agent, &tensors, err);
  if (status == LGV_OK) status = lgv__tensors_read(&tensors, path, err);
  agent->corrupt = tensors.corrupt || (agent->corrupt && status != LGV_OK);
  if (status == LGV_OK) agent->acts_only = tensors.without_experience;
  lgv__tensors_free(&tensors);
  return status;
}

int32_t lgv__argmax(const double *values, const uint8_t *mask, int32_t count, lgv_rng *rng) {
  int32_t best = lgv__first_allowed(mask, count), ties = 1;
  for (int32_t i = best + 1; i < count; i++) {
    if (mask && !mask[i]) continue;
    if (values[i] > values[best]) {
      best = i;
      ties = 1;
    } else if (values[i] == values[best]) {
      ties++;
    }
  }
  if (ties == 1) return best;
  int64_t skip = lgv_rng_below(rng, ties);
  for (int32_t i = best; i < count; i++)
    if ((!mask || mask[i]) && values[i] == values[best] && skip-- == 0) return i;
  return best;
}

int32_t lgv__first_allowed(const uint8_t *mask, int32_t count) {
  int32_t i = 0;
  while (mask && i < count && !mask[i]) i++;
  return i < count ? i : 0;
}

int32_t lgv__uniform_choice(const uint8_t *mask, int32_t count, lgv_rng *rng) {
  int32_t allowed = 0;
  if (!mask) return (int32_t)lgv_rng_below(rng, count);
  for (int32_t i = 0; i < count; i++) allowed += mask[i] != 0;
  int64_t skip = lgv_rng_below(rng, allowed > 0 ? allowed : 1);
  for (int32_t i = 0; i < count; i++)
    if (mask[i] && skip-- == 0) return i;
  return 0;
}
