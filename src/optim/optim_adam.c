/* Adam (Kingma, Ba 2015): adam_rule.h has the equations. */
#include "optim/adam_rule.h"

static const lgv_param param_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_ALPHA1("0.9"),
    OPTIM_ALPHA2("0.999", OPTIM_ALPHA2_HELP),
    OPTIM_EPS("1e-8", "keeps the step finite: sqrt(v) + eps"),
    {0},
};

OPTIM_INLINE optim_move rule(const void *constants, optim_point *x) {
  return (optim_move){.drift = adam_drift(constants, x)};
}

static void take_step(const void *params, const lgv_optim_step *step) {
  adam_constants k = adam_constants_of(params, step->t);
  optim_walk(step, params, rule, &k, OPTIM_MOMENTS, false);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_adam);
const lgv_optim_type LGV_KERNEL(lgv__optim_adam) = {
    .name = "adam",
    .summary = "Adam, with bias correction",
    .params = param_table,
    .params_size = sizeof(optim_params),
    .slots = OPTIM_MOMENTS,
    .step = take_step,
};
