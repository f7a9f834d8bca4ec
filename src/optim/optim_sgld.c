/* Stochastic gradient Langevin dynamics (Welling, Teh 2011):
 *   w -= lr g
 *   w += sqrt(2 lr / beta) xi
 *
 * Where g is the gradient of a loss L, the law of w tends to exp(-beta L) as lr goes to 0. The loss
 * of a minibatch is a mean: beta is then n times that of a sum over n transitions. */
#include "optim/optim.h"

static const lgv_param param_table[] = {OPTIM_COMMON_ROWS("1e-4"), OPTIM_BETA("1e4"), {0}};

OPTIM_INLINE optim_move rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  return (optim_move){.drift = -k->lr * x->g, .noise = k->noise * x->xi};
}

static void take_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params);
  optim_walk(step, params, rule, &k, 0, k.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_sgld);
const lgv_optim_type LGV_KERNEL(lgv__optim_sgld) = {
    .name = "sgld",
    .summary = "stochastic gradient Langevin dynamics",
    .params = param_table,
    .params_size = sizeof(optim_params),
    .step = take_step,
};
