/* identity: psi(x) is the observation itself, as it is. With one-hot observations, this is the
 * tabular case through a history; with others, add a constant input for a bias.
 *
 * rows: the observation has the features of every action, one after the other: phi(x, a) is row a
 * of a matrix (actions x dim). Contextual bandits show themselves in this way. */
#include "agent/export_writer.h"
#include "agent/features/features.h"
#include "langevin.h"

#include <string.h>

typedef struct self {
  int64_t inputs;
} self;

static lgv_status dim(const void *params, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  (void)params;
  (void)env;
  (void)err;
  *out = inputs;
  return LGV_OK;
}

static lgv_status row_dim(const void *params, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                          lgv_error *err) {
  (void)params;
  int32_t actions = env->actions.count > 0 ? env->actions.count : 1;
  if (inputs % actions != 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.features = rows takes observations of as many numbers for every action, "
                    "but %lld numbers are not a multiple of %d actions: take another map",
                    (long long)inputs, actions);
  *out = inputs / actions;
  return LGV_OK;
}

static void layout(void *self_, const void *params, const lgv_env_spec *env, int64_t inputs,
                   lgv_layout *out) {
  (void)params;
  (void)env;
  (void)out;
  ((self *)self_)->inputs = inputs;
}

static lgv_status map(const void *self_, const float *x, int64_t count, float *out,
                      lgv_error *err) {
  (void)err;
  memcpy(out, x, (size_t)(count * ((const self *)self_)->inputs) * sizeof *out);
  return LGV_OK;
}

void lgv__features_identity_code(const void *self_, export_writer *w) {
  fprintf(w->file,
          "static void features(const float *x, float *phi) {\n"
          "  for (int i = 0; i < %lld; i++) phi[i] = x[i];\n"
          "}\n\n",
          (long long)((const self *)self_)->inputs);
}

void lgv__features_rows_code(const void *self_, export_writer *w) {
  lgv__features_identity_code(self_, w);
}

const lgv_feature_type lgv__features_identity = {
    .size = sizeof(lgv_feature_type),
    .name = "identity",
    .summary = "the numbers of the observation, as they are",
    .state_size = sizeof(self),
    .dim = dim,
    .layout = layout,
    .map = map,
};

const lgv_feature_type lgv__features_rows = {
    .size = sizeof(lgv_feature_type),
    .name = "rows",
    .summary = "the observation is a matrix with one row of features per action",
    .state_size = sizeof(self),
    .by_action = true,
    .dim = row_dim,
    .layout = layout,
    .map = map,
};
