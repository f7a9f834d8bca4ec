#include "env/env.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

struct lgv_env {
  const lgv_env_type *type;
  void *params, *self;
  bool opened; /* type->open succeeded, so close is due */
  lgv_env_spec spec;
  lgv_arena arena;
  lgv_rng *rng;
  void *obs[2]; /* the last two observations, in turn */
  int64_t
      *clock; /* [0] stage within the episode, [1] 1 while an episode runs, [2] the obs in use */
};

enum { STAGE, RUNNING, CURRENT, CLOCK_SIZE };

static size_t obs_count(const lgv_env_spec *spec) {
  return (size_t)spec->obs_shape[0] * (size_t)spec->obs_shape[1] * (size_t)spec->obs_shape[2];
}

static void layout_env(void *context, lgv_layout *layout) {
  lgv_env *env = context;
  lgv_dtype dtype = env->spec.obs_kind == LGV_OBS_BYTE ? LGV_U8 : LGV_F32;
  env->rng = lgv_layout_array(layout, "env.rng", LGV_U64, 4, LGV_KEEP);
  env->clock = lgv_layout_array(layout, "env.clock", LGV_I64, CLOCK_SIZE, LGV_KEEP);
  env->obs[0] = lgv_layout_array(layout, "env.obs0", dtype, obs_count(&env->spec), LGV_KEEP);
  env->obs[1] = lgv_layout_array(layout, "env.obs1", dtype, obs_count(&env->spec), LGV_KEEP);
  env->type->layout(env->self, env->params, &env->spec, layout);
}

static lgv_status open_parts(lgv_env *env, const void *params, lgv_error *err) {
  const lgv_env_type *type = env->type;
  env->params = lgv__calloc(1, type->params_size + 1);
  env->self = lgv__calloc(1, type->state_size + 1);
  if (!env->params || !env->self) return lgv__out_of_memory(err, "an environment");
  memcpy(env->params, params, type->params_size);
  LGV_TRY(type->spec(env->params, &env->spec, err));
  LGV_TRY(lgv__arena_build(&env->arena, layout_env, env, type->name, err));
  if (type->open) LGV_TRY(type->open(env->self, &env->spec, err));
  env->opened = true;
  return LGV_OK;
}

lgv_status lgv__env_open(const lgv_env_type *type, const void *params, uint64_t seed,
                         const char *purpose, lgv_env **out, lgv_error *err) {
  *out = NULL;
  lgv_env *env = lgv__calloc(1, sizeof *env);
  if (!env) return lgv__out_of_memory(err, "an environment");
  env->type = type;
  lgv_status status = open_parts(env, params, err);
  if (status != LGV_OK) {
    lgv_env_free(env);
    return status;
  }
  lgv_rng_seed(env->rng, seed, purpose);
  *out = env;
  return LGV_OK;
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

void lgv__env_counters(const lgv_env *env, int64_t *values) {
  if (env->type->counters) env->type->counters(env->self, values);
}

static lgv_obs next_obs(lgv_env *env) {
  env->clock[CURRENT] ^= 1;
  void *data = env->obs[env->clock[CURRENT]];
  env->type->observe(env->self, data);
  int64_t state = env->type->state_index ? env->type->state_index(env->self) : -1;
  return (lgv_obs){data, state, env->clock[STAGE]};
}

lgv_status lgv_env_reset(lgv_env *env, lgv_obs *obs, lgv_error *err) {
  LGV_TRY(env->type->reset(env->self, env->rng, err));
  env->clock[STAGE] = 0;
  env->clock[RUNNING] = 1;
  *obs = next_obs(env);
  return LGV_OK;
}

lgv_status lgv_env_step(lgv_env *env, int32_t action, lgv_outcome *outcome, lgv_obs *next,
                        lgv_error *err) {
  if (!env->clock[RUNNING])
    return lgv_fail(err, LGV_ERR_USAGE, "%s: the episode has ended; reset before the next step",
                    env->type->name);
  if (action < 0 || action >= env->spec.actions)
    return lgv_fail(err, LGV_ERR_USAGE, "%s: action %d is outside 0..%d", env->type->name, action,
                    env->spec.actions - 1);
  *outcome = (lgv_outcome){0};
  LGV_TRY(env->type->step(env->self, action, env->rng, outcome, err));
  if (!isfinite(outcome->reward))
    return lgv_fail(err, LGV_ERR_NUMERIC, "%s: the reward at stage %lld is not a finite number",
                    env->type->name, (long long)env->clock[STAGE]);
  env->clock[STAGE]++;
  env->clock[RUNNING] = !(outcome->terminated || outcome->truncated);
  *next = next_obs(env);
  return LGV_OK;
}
