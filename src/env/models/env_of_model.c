/* An environment that draws every step from the caller's model and shows its states one-hot. The
 * horizon is part of the problem, so the clock terminates. No registry lists this environment,
 * because no text could name the model. */
#include "base/error.h"
#include "env/env.h"
#include "env/models/tabular.h"

#include <math.h>

typedef struct params {
  lgv_model *model; /* owned by the caller, never changed */
  const double *features;
  int64_t feature_dim;
} params;

static lgv_status spec(const void *params_, lgv_env_spec *out, lgv_error *err) {
  const params *p = params_;
  const lgv_model *m = p->model;
  if (m->states > INT32_MAX)
    return lgv_fail(err, LGV_ERR_USAGE, "a model of %lld states is too large for an environment",
                    (long long)m->states);
  *out = lgv__tabular_spec(m->states, m->actions, m->horizon, m->stationary);
  size_t rows = (size_t)((m->stationary ? 1 : m->horizon) * m->states * m->actions);
  out->reward_min = INFINITY;
  out->reward_max = -INFINITY;
  for (size_t i = 0; i < rows; i++) { /* NaN, the reward of a forbidden action, does not count */
    out->reward_min = fmin(out->reward_min, m->reward[i]);
    out->reward_max = fmax(out->reward_max, m->reward[i]);
  }
  if (out->reward_min == 0 && out->reward_max == 0) out->reward_max = 1; /* both 0: unknown */
  out->masked = m->allowed != NULL;
  out->feature_dim = p->feature_dim;
  out->features = p->features;
  return LGV_OK;
}

static void layout(void *self, const void *params_, const lgv_env_spec *s, lgv_layout *out) {
  ((lgv_tabular *)self)->model = ((const params *)params_)->model;
  lgv__tabular_layout(self, params_, s, out);
}

static const lgv_env_type type = {
    .name = "model",
    .summary = "the caller's own model",
    .params_size = sizeof(params),
    .state_size = sizeof(lgv_tabular),
    .spec = spec,
    .layout = layout,
    .model = lgv__tabular_model,
    .reset = lgv__tabular_reset,
    .step = lgv__tabular_step,
    .observe = lgv__tabular_observe_one_hot,
    .mask = lgv__tabular_mask,
    .state_index = lgv__tabular_state,
};

lgv_status lgv_env_from_model(const lgv_model *model, const double *features, int64_t feature_dim,
                              uint64_t seed, lgv_env **env, lgv_error *err) {
  params p = {.model = (lgv_model *)model, .features = features, .feature_dim = feature_dim};
  return lgv__env_open(&type, &p, (lgv_env_common){0}, &(lgv_host){0}, seed, "env", env, err);
}
