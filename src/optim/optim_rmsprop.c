/* Centered RMSProp without momentum (Graves 2013), as DQN Zoo trains DQN with it:
 *   mu = alpha2 mu + (1 - alpha2) g
 *   nu = alpha2 nu + (1 - alpha2) g^2
 *   w -= lr g / sqrt(nu - mu^2 + eps)
 * with eps inside the root. The defaults are DQN Zoo's, eps = 0.01 / 32^2.
 *
 * How it departs: the second slot holds the variance s = nu - mu^2 itself,
 *   s = alpha2 (s + (1 - alpha2) (g - mu)^2)   with mu before its update,
 * which is the same number without the cancellation that can make nu - mu^2 negative. */
#include "optim/optim.h"

static const lgv_param param_table[] = {
    OPTIM_COMMON_ROWS("2.5e-4"),
    OPTIM_ALPHA2("0.95", "decay of the means of g and g^2"),
    OPTIM_EPS("9.765625e-6", "keeps the step finite: sqrt(nu - mu^2 + eps)"),
    {0},
};

enum { SLOT_MEAN, SLOT_VARIANCE, SLOTS };

OPTIM_INLINE optim_move rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  float *mean = &x->slot[SLOT_MEAN], *variance = &x->slot[SLOT_VARIANCE];
  float off = x->g - *mean;
  *mean += k->gain_v * off;
  *variance = k->keep_v * (*variance + k->gain_v * off * off);
  return (optim_move){.drift = -k->lr * x->g / sqrtf(*variance + k->eps)};
}

static void take_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params);
  optim_walk(step, params, rule, &k, SLOTS, false);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_rmsprop);
const lgv_optim_type LGV_KERNEL(lgv__optim_rmsprop) = {
    .name = "rmsprop",
    .summary = "centered RMSProp, as DQN Zoo has it",
    .params = param_table,
    .params_size = sizeof(optim_params),
    .slots = SLOTS,
    .step = take_step,
};
