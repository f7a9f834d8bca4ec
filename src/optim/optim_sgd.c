/* Stochastic gradient descent (Robbins, Monro 1951):
 *   w -= lr g */
#include "optim/optim.h"

static const lgv_param param_table[] = {OPTIM_COMMON_ROWS("1e-3"), {0}};

OPTIM_INLINE optim_move rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  return (optim_move){.drift = -k->lr * x->g};
}

static void take_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params);
  optim_walk(step, params, rule, &k, 0, false);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_sgd);
const lgv_optim_type LGV_KERNEL(lgv__optim_sgd) = {
    .name = "sgd",
    .summary = "stochastic gradient descent",
    .params = param_table,
    .params_size = sizeof(optim_params),
    .step = take_step,
};
