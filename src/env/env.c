/* The environment handle. It checks that a descriptor keeps its promises, because agents index
 * their tables by the values that an environment returns: the spec when the environment is opened,
 * and at every step that the action and the state are in range, that the episode ends at the
 * horizon, and that rewards and observations are finite.
 *
 * With env.stack it shows stacks of the last observations (base/stack.h). A stack is made of the
 * one before and the newest observation, so that the two stacks in obs are all there is to keep.
 *
 * Invariants: while an episode runs, stage < horizon (if there is one); after a failed reset or
 * step no episode runs. */
#include "env/env.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/portable_math.h"
#include "base/spec.h"
#include "base/stack.h"
#include "env/models/model.h"
#include "math/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct lgv_env {
  const lgv_env_type *type;
  void *params, *self;
  bool opened;   /* type->open or type->connect succeeded, so close must be called */
  bool portable; /* computes with portable kernels, as it did when it was opened */
  lgv_host host;
  lgv_env_spec own;  /* as the type has it: of single observations */
  lgv_env_spec spec; /* as the caller sees it: of stacks, if they are asked for */
  lgv_arena arena;
  lgv_rng *rng;
  void *newest;              /* a single observation; NULL if there are no stacks */
  void *obs[2];              /* the last two observations, alternately */
  uint8_t *mask[2];          /* theirs; NULL if the spec is not masked */
  const lgv_action *pending; /* of the step that has begun */
  int64_t *clock;            /* (CLOCK_SIZE) */
};

enum {
  STAGE,   /* within the episode */
  RUNNING, /* 1 while an episode runs */
  CURRENT, /* which of the two observations is the current one */
  CLOCK_SIZE
};

void lgv__env_name(const lgv_env_type *type, const void *params, char *text, size_t size) {
  int index = type->name_param ? lgv__params_find(type->params, type->name_param) : -1;
  snprintf(text, size, index < 0 ? "%s" : "%s:", type->name);
  size_t used = strlen(text);
  if (index >= 0) lgv__param_format(&type->params[index], params, text + used, size - used);
}

void lgv__env_notify(const lgv_env *env, const char *text) {
  char name[2 * LGV_TEXT_SIZE], line[2 * LGV_TEXT_SIZE + 256];
  if (!env->host.notice) return;
  lgv__env_name(env->type, env->params, name, sizeof name);
  snprintf(line, sizeof line, "%s %.240s", name, text);
  env->host.notice(env->host.context, line);
}

/* "gym:CartPole-v1: the reward at stage 3 is ..." */
static lgv_status not_finite(const lgv_env *env, const char *what, const char *is, lgv_error *err) {
  char name[2 * LGV_TEXT_SIZE];
  lgv__env_name(env->type, env->params, name, sizeof name);
  return lgv_fail(err, LGV_ERR_NUMERIC, "%.200s: the %s at stage %lld %s: check the environment",
                  name, what, (long long)env->clock[STAGE], is);
}

static const char *clock_fault(const void *context) {
  const lgv_env *env = context;
  const int64_t *clock = env->clock, horizon = env->spec.horizon;
  if (!lgv__is_within(clock[RUNNING], 0, 1) || !lgv__is_within(clock[CURRENT], 0, 1))
    return "a flag is neither 0 nor 1";
  if (!lgv__is_count(clock[STAGE]) || (horizon > 0 && clock[STAGE] > horizon - clock[RUNNING]))
    return "a stage outside the horizon";
  return NULL;
}

/* The values of a mask decide which actions exist, so a loaded one is checked. */
static const char *mask_fault(const void *context) {
  const lgv_env *env = context;
  const uint8_t *mask = env->mask[env->clock[CURRENT]];
  for (int i = 0; i < 2; i++)
    for (int32_t a = 0; a < env->spec.actions.count; a++)
      if (env->mask[i][a] > 1) return "a mask that is neither 0 nor 1";
  bool ok = !env->clock[RUNNING] || lgv__mask_allows(&env->spec.actions, mask);
  return ok ? NULL : "a mask that allows no action";
}

static void layout_masks(lgv_env *env, lgv_layout *layout) {
  size_t count = (size_t)env->spec.actions.count;
  env->mask[0] = lgv_layout_array(layout, "env.mask0", LGV_U8, count, LGV_KEEP);
  env->mask[1] = lgv_layout_array(layout, "env.mask1", LGV_U8, count, LGV_KEEP);
  lgv_layout_check(layout, mask_fault, env);
}

static void *layout_obs(const char *name, const lgv_env_spec *spec, lgv_keep keep,
                        lgv_layout *layout) {
  bool bytes = spec->obs_kind == LGV_OBS_BYTE;
  size_t entries = lgv__obs_bytes(spec) / (bytes ? 1 : sizeof(float));
  return lgv_layout_array(layout, name, bytes ? LGV_U8 : LGV_F32, entries, keep);
}

static void layout_env(void *context, lgv_layout *layout) {
  lgv_env *env = context;
  env->rng = lgv__layout_rng(layout, "env.rng");
  env->clock = lgv_layout_array(layout, "env.clock", LGV_I64, CLOCK_SIZE, LGV_KEEP);
  lgv_layout_check(layout, clock_fault, env);
  env->obs[0] = layout_obs("env.obs0", &env->spec, LGV_KEEP, layout);
  env->obs[1] = layout_obs("env.obs1", &env->spec, LGV_KEEP, layout);
  bool stacks = lgv__frames(&env->spec) > lgv__frames(&env->own);
  if (stacks) env->newest = layout_obs("env.newest", &env->own, LGV_SCRATCH, layout);
  if (env->spec.masked) layout_masks(env, layout);
  env->type->layout(env->self, env->params, &env->own, layout);
}

static lgv_status check_spec(const lgv_env *env, lgv_error *err) {
  const char *fault = lgv__spec_fault(&env->own);
  if (!fault && env->own.states > 0 && !env->type->state_index)
    fault = "finitely many states, but no index of the current one";
  if (!fault && env->own.masked && !env->type->mask) fault = "masks, but no hook that writes them";
  if (!fault) return LGV_OK;
  return lgv_fail(err, LGV_ERR_ENV, "%s: the spec has %s", env->type->name, fault);
}

static lgv_status check_opened(const lgv_env *env, lgv_error *err) {
  const lgv_env_spec *s = &env->spec;
  const lgv_model *m = lgv_env_get_model(env);
  if (m && !m->sealed)
    return lgv_fail(err, LGV_ERR_ENV, "%s: the model is not sealed: call lgv_model_seal",
                    env->type->name);
  if (s->feature_dim > 0 && !s->features)
    return lgv_fail(err, LGV_ERR_ENV, "%s: the spec has a feature_dim, but no table of features",
                    env->type->name);
  if (m && (m->states != s->states || m->actions != s->actions.count || m->horizon != s->horizon))
    return lgv_fail(err, LGV_ERR_ENV, "%s: the model and the spec differ in size", env->type->name);
  if (m && s->actions.kind != LGV_DISCRETE)
    return lgv_fail(err, LGV_ERR_ENV, "%s: a model has discrete actions, but the spec has others",
                    env->type->name);
  if (m && m->allowed && !s->masked)
    return lgv_fail(err, LGV_ERR_ENV, "%s: the model forbids actions, but the spec is not masked",
                    env->type->name);
  return LGV_OK;
}

/* Makes the spec that the caller sees. It runs again after `open`, which may set the features. */
static lgv_status show_spec(lgv_env *env, lgv_env_common common, lgv_error *err) {
  env->spec = env->own;
  if (common.stack <= 1) return LGV_OK;
  const char *fault = lgv__stack_spec(&env->own, common.stack, &env->spec);
  if (!fault) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE, "env.stack = %lld: %s has %s; leave env.stack out",
                  (long long)common.stack, env->type->name, fault);
}

static lgv_status open_parts(lgv_env *env, const void *params, lgv_env_common common, lgv_mode mode,
                             lgv_error *err) {
  const lgv_env_type *type = env->type;
  env->params = lgv__calloc(1, type->params_size + 1);
  env->self = lgv__calloc(1, type->state_size + 1);
  if (!env->params || !env->self) return lgv__out_of_memory(err, "an environment");
  memcpy(env->params, params, type->params_size);
  if (mode == LGV_EVAL && type->eval_params) type->eval_params(env->params);
  if (type->spec) LGV_TRY(type->spec(env->params, &env->own, err));
  if (type->connect) {
    LGV_TRY(type->connect(env->self, env->params, &env->host, &env->own, err));
    env->opened = true;
  }
  env->own.size = sizeof env->own; /* the hook may have replaced the whole struct */
  LGV_TRY(check_spec(env, err));
  LGV_TRY(show_spec(env, common, err));
  LGV_TRY(lgv__arena_build(&env->arena, layout_env, env, type->name, err));
  if (type->open) LGV_TRY(type->open(env->self, &env->own, err));
  env->opened = true;
  LGV_TRY(show_spec(env, common, err));
  return check_opened(env, err);
}

static lgv_status open_env(const lgv_env_type *type, const void *params, lgv_env_common common,
                           const lgv_host *host, lgv_mode mode, uint64_t seed, const char *purpose,
                           lgv_env **out, lgv_error *err) {
  *out = NULL;
  lgv_env *env = lgv__calloc(1, sizeof *env);
  if (!env) return lgv__out_of_memory(err, "an environment");
  env->type = type;
  env->host = *host;
  env->portable = lgv__portable();
  lgv_status status = open_parts(env, params, common, mode, err);
  if (status != LGV_OK) {
    lgv_env_free(env);
    return status;
  }
  lgv_rng_seed(env->rng, seed, purpose);
  *out = env;
  return LGV_OK;
}

lgv_status lgv__env_open(const lgv_env_type *type, const void *params, lgv_env_common common,
                         const lgv_host *host, uint64_t seed, const char *purpose, lgv_env **env,
                         lgv_error *err) {
  return open_env(type, params, common, host, LGV_TRAIN, seed, purpose, env, err);
}

lgv_status lgv__env_open_eval(const lgv_env_type *type, const void *params, lgv_env_common common,
                              const lgv_host *host, uint64_t seed, const char *purpose,
                              lgv_env **env, lgv_error *err) {
  return open_env(type, params, common, host, LGV_EVAL, seed, purpose, env, err);
}

void lgv_env_free(lgv_env *env) {
  if (!env) return;
  if (env->opened && env->type->close) env->type->close(env->self);
  lgv__arena_free(&env->arena);
  lgv__free(env->self);
  lgv__free(env->params);
  lgv__free(env);
}

const lgv_env_spec *lgv_env_get_spec(const lgv_env *env) { return &env->spec; }
const lgv_model *lgv_env_get_model(const lgv_env *env) {
  return env->type->model ? env->type->model(env->self) : NULL;
}
const lgv_env_type *lgv__env_type(const lgv_env *env) { return env->type; }
const lgv_arena *lgv__env_arena(const lgv_env *env) { return &env->arena; }

const char *lgv_env_counter_name(const lgv_env *env, size_t index) {
  const char *const *names = env->type->counter_names;
  for (size_t i = 0; names && names[i]; i++)
    if (i == index) return names[i];
  return NULL;
}

void lgv_env_counters(const lgv_env *env, int64_t *values) {
  if (env->type->counters) env->type->counters(env->self, values);
}

double lgv__env_regret(const lgv_env *env) {
  return env->type->regret ? env->type->regret(env->self) : NAN;
}

lgv_obs lgv__env_obs(const lgv_env *env) {
  int64_t state = env->type->state_index ? env->type->state_index(env->self) : -1;
  int64_t now = env->clock[CURRENT];
  return (lgv_obs){
      .data = env->obs[now], .state = state, .stage = env->clock[STAGE], .mask = env->mask[now]};
}

void lgv_env_seed(lgv_env *env, uint64_t seed) { lgv_rng_seed(env->rng, seed, "env"); }

/* ended: the task has ended, so that there may be nothing left to choose. */
static lgv_status next_mask(lgv_env *env, bool ended, lgv_error *err) {
  uint8_t *mask = env->mask[env->clock[CURRENT]];
  env->type->mask(env->self, mask);
  for (int32_t a = 0; a < env->spec.actions.count; a++) mask[a] = mask[a] != 0;
  if (ended || lgv__mask_allows(&env->spec.actions, mask)) return LGV_OK;
  return lgv_fail(err, LGV_ERR_ENV,
                  "%s: the mask at stage %lld allows no action: allow one, or end the task before",
                  env->type->name, (long long)env->clock[STAGE]);
}

/* The stack that the newest observation makes of the one before. */
static void stack_obs(lgv_env *env) {
  int64_t now = env->clock[CURRENT];
  int32_t frames = env->spec.frames;
  const void *obs[LGV_MOST_FRAMES];
  for (int32_t f = 0; f < frames; f++) obs[f] = env->newest;
  if (env->clock[STAGE] == 0)
    lgv__stack_join(&env->own, frames, obs, env->obs[now]);
  else
    lgv__stack_push(&env->own, frames, env->obs[!now], env->newest, env->obs[now]);
}

static lgv_status next_obs(lgv_env *env, bool ended, lgv_obs *obs, lgv_error *err) {
  env->clock[CURRENT] ^= 1;
  if (env->spec.masked) LGV_TRY(next_mask(env, ended, err));
  void *data = env->newest ? env->newest : env->obs[env->clock[CURRENT]];
  env->type->observe(env->self, data);
  if (!lgv__obs_is_finite(&env->own, data))
    return not_finite(env, "observation", "holds a number that is not finite", err);
  if (env->newest) stack_obs(env);
  *obs = lgv__env_obs(env);
  if (env->spec.states > 0 && (obs->state < 0 || obs->state >= env->spec.states))
    return lgv_fail(err, LGV_ERR_ENV, "%s: the state %lld at stage %lld is outside 0..%lld",
                    env->type->name, (long long)obs->state, (long long)env->clock[STAGE],
                    (long long)env->spec.states - 1);
  return LGV_OK;
}

static lgv_status reset(lgv_env *env, lgv_obs *obs, lgv_error *err) {
  env->clock[RUNNING] = 0;
  env->clock[STAGE] = 0;
  LGV_TRY(env->type->reset(env->self, env->rng, err));
  LGV_TRY(next_obs(env, false, obs, err));
  env->clock[RUNNING] = 1;
  return LGV_OK;
}

lgv_status lgv_env_reset(lgv_env *env, lgv_obs *obs, lgv_error *err) {
  const lgv_kernel_set *previous = lgv__kernels_begin(env->portable);
  lgv_status status = reset(env, obs, err);
  lgv__kernels_end(env->portable, previous);
  return status;
}

static lgv_status check_action(const lgv_env *env, const lgv_action *action, lgv_error *err) {
  if (!env->clock[RUNNING])
    return lgv_fail(err, LGV_ERR_USAGE, "%s: no episode is running; call reset before step",
                    env->type->name);
  const uint8_t *mask = env->mask[env->clock[CURRENT]];
  return lgv__action_check(&env->spec.actions, mask, action, env->type->name, err);
}

lgv_status lgv__env_step_begin(lgv_env *env, const lgv_action *action, lgv_error *err) {
  LGV_TRY(check_action(env, action, err));
  env->clock[RUNNING] = 0;
  env->pending = action;
  if (!env->type->step_begin) return LGV_OK;
  const lgv_kernel_set *previous = lgv__kernels_begin(env->portable);
  lgv_status status = env->type->step_begin(env->self, action, env->rng, err);
  lgv__kernels_end(env->portable, previous);
  return status;
}

static lgv_status end_step(lgv_env *env, lgv_outcome *outcome, lgv_obs *next, lgv_error *err) {
  const lgv_env_type *type = env->type;
  *outcome = (lgv_outcome){0};
  LGV_TRY(type->step_begin ? type->step_end(env->self, env->rng, outcome, err)
                           : type->step(env->self, env->pending, env->rng, outcome, err));
  if (!isfinite(outcome->reward)) return not_finite(env, "reward", "is not a finite number", err);
  env->clock[STAGE]++;
  LGV_TRY(next_obs(env, outcome->terminated, next, err));
  bool continues = !(outcome->terminated || outcome->truncated);
  if (continues && env->clock[STAGE] == env->spec.horizon)
    return lgv_fail(err, LGV_ERR_ENV, "%s: the episode did not end at its horizon, %lld steps",
                    type->name, (long long)env->spec.horizon);
  env->clock[RUNNING] = continues;
  return LGV_OK;
}

lgv_status lgv__env_step_end(lgv_env *env, lgv_outcome *outcome, lgv_obs *next, lgv_error *err) {
  const lgv_kernel_set *previous = lgv__kernels_begin(env->portable);
  lgv_status status = end_step(env, outcome, next, err);
  lgv__kernels_end(env->portable, previous);
  return status;
}

lgv_status lgv_env_step(lgv_env *env, const lgv_action *action, lgv_outcome *outcome, lgv_obs *next,
                        lgv_error *err) {
  LGV_TRY(lgv__env_step_begin(env, action, err));
  return lgv__env_step_end(env, outcome, next, err);
}

/* Copies an observation and its mask to position n of a batch. */
static void copy_obs(const lgv_env *env, const lgv_obs *obs, size_t n, void *data, uint8_t *masks) {
  size_t size = lgv__obs_bytes(&env->spec), actions = (size_t)env->spec.actions.count;
  memcpy((char *)data + n * size, obs->data, size);
  if (masks && obs->mask) memcpy(masks + n * actions, obs->mask, actions);
  if (masks && !obs->mask) memset(masks + n * actions, 1, actions);
}

lgv_status lgv_env_step_all(lgv_env *const *envs, size_t count, const lgv_action *actions,
                            const bool *reset, void *data, uint8_t *masks, lgv_outcome *outcomes,
                            lgv_error *err) {
  for (size_t i = 0; i < count; i++) /* before any step, so that a wrong call changes nothing */
    if (!reset || !reset[i]) LGV_TRY(check_action(envs[i], &actions[i], err));
  for (size_t i = 0; i < count; i++)
    if (!reset || !reset[i]) LGV_TRY(lgv__env_step_begin(envs[i], &actions[i], err));
  for (size_t i = 0; i < count; i++) {
    lgv_obs obs;
    outcomes[i] = (lgv_outcome){0};
    LGV_TRY(reset && reset[i] ? lgv_env_reset(envs[i], &obs, err)
                              : lgv__env_step_end(envs[i], &outcomes[i], &obs, err));
    copy_obs(envs[i], &obs, i, data, masks);
  }
  return LGV_OK;
}

bool lgv_env_render(const lgv_env *env, char *text) {
  if (env->type->render) env->type->render(env->self, text, LGV_RENDER_SIZE);
  return env->type->render != NULL;
}

bool lgv_env_picture(const lgv_env *env, lgv_picture *picture) {
  return env->type->picture && env->type->picture(env->self, picture);
}

lgv_status lgv__env_save(lgv_env *env, lgv_error *err) {
  return env->type->save ? env->type->save(env->self, err) : LGV_OK;
}

lgv_status lgv__env_restore(lgv_env *env, bool *in_episode, lgv_error *err) {
  *in_episode = env->clock[RUNNING];
  if (env->type->restore) LGV_TRY(env->type->restore(env->self, in_episode, err));
  *in_episode &= env->clock[RUNNING] != 0;
  env->clock[RUNNING] = *in_episode;
  return LGV_OK;
}

void *lgv__env_statistics(const lgv_env *env, size_t *size) {
  const lgv_layout *table = &env->arena.table;
  for (const lgv_block *b = table->blocks; b < table->blocks + table->n_blocks; b++) {
    *size = b->count;
    if (strcmp(b->name, LGV_STATISTICS) == 0) return table->base + b->offset;
  }
  return NULL;
}

lgv_status lgv__env_adopt(lgv_env *env, lgv_env *trained, lgv_error *err) {
  size_t size = 0, same = 0;
  void *mine = lgv__env_statistics(env, &size), *theirs = lgv__env_statistics(trained, &same);
  if (!env->type->freeze || !mine || !theirs || size != same) return LGV_OK;
  if (env != trained) {
    LGV_TRY(lgv__env_save(trained, err));
    memcpy(mine, theirs, size);
  }
  return env->type->freeze(env->self, err);
}
