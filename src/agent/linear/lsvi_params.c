/* The parameters that linear agents share: what auto stands for, and what does not fit a problem.
 */
#include "agent/builtin.h"
#include "agent/linear/lsvi_core.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const lgv__lsvi_pool_names[] = {"false", "true", "auto", NULL};
const char *const lgv__lsvi_form_names[] = {"auto", "stages", "discounted", NULL};
static const char *const features_names[] = {"auto", "one-hot", "env", NULL};
const char *const lgv__lsvi_gram_names[] = {"auto", "diagonal", "dense", NULL};
const char *const lgv__lsvi_schedule_names[] = {"tuned", "theory", NULL};

/* LAPACK counts its workspace, 7 d + 5 d^2, in 32 bits. */
static const int64_t largest_dense = 20723;

lgv_status lgv__lsvi_prescribe(const lgv_param *table, void *params, const bool *is_set,
                               const char *name, double value, lgv_error *err) {
  int index = lgv__params_find(table, name);
  const lgv_param *param = &table[index];
  void *field = (char *)params + param->offset;
  double given = param->type == LGV_INT ? (double)*(int64_t *)field : *(double *)field;
  if (is_set[index] && fabs(given - value) > 1e-9 * fabs(value))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.%s = %.12g contradicts agent.schedule = theory, which sets it to %.12g; "
                    "leave one of the two out",
                    name, given, value);
  if (param->type == LGV_INT)
    *(int64_t *)field = (int64_t)value;
  else
    *(double *)field = value;
  return LGV_OK;
}

int64_t lgv__lsvi_feature_dim(const lsvi_params *p, const lgv_env_spec *env) {
  bool own = p->features == LSVI_FEATURES_ENV ||
             (p->features == LSVI_FEATURES_AUTO && env->feature_dim > 0);
  return own ? env->feature_dim : env->states * env->actions.count;
}

/* The kind of features that the text names; a map if it is none of the library's own. */
static void read_features(lsvi_params *p) {
  if (!p->map[0]) return; /* no such row: the agent chooses */
  p->features = LSVI_FEATURES_MAP;
  for (int32_t i = 0; features_names[i]; i++)
    if (strcmp(p->map, features_names[i]) == 0) p->features = i;
}

static lgv_status check_form(lsvi_params *p, const lgv_env_spec *env, lgv_error *err) {
  if (p->features != LSVI_FEATURES_MAP && p->form == LSVI_FORM_DISCOUNTED)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.form = discounted needs a feature map: set agent.features = identity, "
                    "rbf or another one, or leave the form out");
  if (p->form == LSVI_FORM_AUTO)
    p->form = p->features != LSVI_FEATURES_MAP || env->horizon == 1 ||
                      (env->horizon > 0 && env->states > 0)
                  ? LSVI_FORM_STAGES
                  : LSVI_FORM_DISCOUNTED;
  return LGV_OK;
}

lgv_status lgv__lsvi_resolve(lsvi_params *p, const lgv_problem *problem, lgv_error *err) {
  const lgv_env_spec *env = &problem->env;
  read_features(p);
  LGV_TRY(check_form(p, env, err));
  if (p->features == LSVI_FEATURES_MAP && p->delay > 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.delay needs finite states, agent.features = one-hot or env: a history "
                    "is never late");
  if (p->features == LSVI_FEATURES_MAP) return lgv__history_resolve(p, problem, err);
  if (env->reward_min == 0 && env->reward_max == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "linear agents bound Q by what an episode can pay, but the range of rewards is "
                    "unknown: set env.reward_min and env.reward_max (in Python, "
                    "reward_range=(least, greatest); in C, both fields of the spec)");
  if (p->pool == LSVI_POOL_TRUE && !env->stationary)
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "agent.pool = true shares the data between stages, but this environment is not stationary: "
        "set agent.pool = false");
  if (p->pool == LSVI_POOL_AUTO) p->pool = env->stationary ? LSVI_POOL_TRUE : LSVI_POOL_FALSE;
  if (p->features == LSVI_FEATURES_ENV && env->feature_dim == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.features = env, but this environment offers no features: use one-hot");
  if (p->features == LSVI_FEATURES_AUTO)
    p->features = env->feature_dim > 0 ? LSVI_FEATURES_ENV : LSVI_FEATURES_ONE_HOT;
  if (p->map[0]) snprintf(p->map, sizeof p->map, "%s", features_names[p->features]);
  if (p->gram == LSVI_GRAM_DIAGONAL && p->features != LSVI_FEATURES_ONE_HOT)
    return lgv_fail(err, LGV_ERR_USAGE, "agent.gram = diagonal needs agent.features = one-hot");
  if (p->gram == LSVI_GRAM_AUTO)
    p->gram = p->features == LSVI_FEATURES_ONE_HOT ? LSVI_GRAM_DIAGONAL : LSVI_GRAM_DENSE;
  if (p->gram == LSVI_GRAM_DENSE && lgv__lsvi_feature_dim(p, env) > largest_dense)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%lld features are too many for dense Gram matrices, which take at most %lld",
                    (long long)lgv__lsvi_feature_dim(p, env), (long long)largest_dense);
  return LGV_OK;
}

void lgv__lsvi_resolve_noise(const lgv_param *table, lsvi_params *p, const bool *is_set,
                             const char *noise, bool bandit) {
  static const double map_lambda = 1e-3;
  if (p->features != LSVI_FEATURES_MAP) return;
  if (!bandit && !lgv__params_is_set(table, is_set, "lambda")) p->lambda = map_lambda;
  bool given = bandit || lgv__params_is_set(table, is_set, noise);
  if (given && !lgv__params_is_set(table, is_set, "prior_std")) p->prior_std = INFINITY;
  p->by_prior = !isinf(p->prior_std);
}

lgv_status lgv__lsvi_theory_sizes(const lsvi_params *p, const lgv_problem *problem,
                                  lsvi_sizes *sizes, lgv_error *err) {
  const lgv_env_spec *env = &problem->env;
  if (problem->episodes < 1)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.schedule = theory needs the number of episodes: set run.episodes");
  if (p->pool == LSVI_POOL_TRUE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.schedule = theory has one regression per stage, each on its own data: "
                    "set agent.pool = false, or agent.schedule = tuned");
  if (env->reward_min < 0 || env->reward_max > 1)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.schedule = theory assumes rewards in [0, 1], but this environment pays "
                    "from %g to %g: set agent.schedule = tuned",
                    env->reward_min, env->reward_max);
  double H = (double)env->horizon, K = (double)problem->episodes;
  *sizes = (lsvi_sizes){.H = H, .d = (double)lgv__lsvi_feature_dim(p, env), .K = K, .T = H * K};
  return LGV_OK;
}
