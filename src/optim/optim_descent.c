/* Optimizers without noise: sgd, rmsprop and adam. */
#include "optim/optim.h"

/* ---- sgd (Robbins, Monro 1951) ----
 *   w -= lr g */

static const lgv_param sgd_table[] = {OPTIM_COMMON_ROWS("1e-3"), {0}};

OPTIM_INLINE optim_move sgd_rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  return (optim_move){.drift = -k->lr * x->g};
}

static void sgd_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params, step);
  optim_walk(step, params, sgd_rule, &k, 0, false);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_sgd);
const lgv_optim_type LGV_KERNEL(lgv__optim_sgd) = {
    .name = "sgd",
    .summary = "stochastic gradient descent",
    .params = sgd_table,
    .params_size = sizeof(optim_params),
    .step = sgd_step,
};

/* ---- rmsprop: centered, without momentum (Graves 2013), as DQN Zoo trains DQN with it ----
 *   mu = alpha2 mu + (1 - alpha2) g
 *   nu = alpha2 nu + (1 - alpha2) g^2
 *   w -= lr g / sqrt(nu - mu^2 + eps)
 * with eps inside the root. The defaults are DQN Zoo's, eps = 0.01 / 32^2.
 *
 * Departure: the second slot holds the variance s = nu - mu^2 itself,
 *   s = alpha2 (s + (1 - alpha2) (g - mu)^2)   with mu before its update,
 * which is the same number without the cancellation that can make nu - mu^2 negative. */

static const lgv_param rmsprop_table[] = {
    OPTIM_COMMON_ROWS("2.5e-4"),
    OPTIM_ALPHA2_ROW("0.95", "decay of the means of g and g^2"),
    OPTIM_EPS_ROW("9.765625e-6", "keeps the step finite: sqrt(nu - mu^2 + eps)"),
    {0},
};

enum { RMSPROP_MEAN, RMSPROP_VARIANCE, RMSPROP_SLOTS };

OPTIM_INLINE optim_move rmsprop_rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  float *mean = &x->slot[RMSPROP_MEAN], *variance = &x->slot[RMSPROP_VARIANCE];
  float off = x->g - *mean;
  *mean += k->gain_v * off;
  *variance = k->keep_v * (*variance + k->gain_v * off * off);
  return (optim_move){.drift = -k->lr * x->g / sqrtf(*variance + k->eps)};
}

static void rmsprop_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params, step);
  optim_walk(step, params, rmsprop_rule, &k, RMSPROP_SLOTS, false);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_rmsprop);
const lgv_optim_type LGV_KERNEL(lgv__optim_rmsprop) = {
    .name = "rmsprop",
    .summary = "centered RMSProp, as DQN Zoo has it",
    .params = rmsprop_table,
    .params_size = sizeof(optim_params),
    .slots = RMSPROP_SLOTS,
    .step = rmsprop_step,
};

/* ---- adam (Kingma, Ba 2015), in the arrangement of PyTorch ----
 *   m  = alpha1 m + (1 - alpha1) g
 *   v  = alpha2 v + (1 - alpha2) g^2
 *   w -= (lr / c_1) m / (sqrt(v) / sqrt(c_2) + eps)
 *
 * at step t, with c_1 = 1 - alpha1^t and c_2 = 1 - alpha2^t. */

static const lgv_param adam_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_ALPHA1_ROW("0.9"),
    OPTIM_ALPHA2_ROW("0.999", OPTIM_ALPHA2_HELP),
    OPTIM_EPS_ROW("1e-8", "keeps the step finite: sqrt(v) + eps"),
    {0},
};

OPTIM_INLINE optim_move adam_rule(const void *constants, optim_point *x) {
  return (optim_move){.drift = adam_drift(constants, x)};
}

static void adam_step(const void *params, const lgv_optim_step *step) {
  adam_constants k = adam_constants_of(params, step);
  optim_walk(step, params, adam_rule, &k, OPTIM_MOMENTS, false);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_adam);
const lgv_optim_type LGV_KERNEL(lgv__optim_adam) = {
    .name = "adam",
    .summary = "Adam, with bias correction",
    .params = adam_table,
    .params_size = sizeof(optim_params),
    .slots = OPTIM_MOMENTS,
    .is_adam = true,
    .step = adam_step,
};
