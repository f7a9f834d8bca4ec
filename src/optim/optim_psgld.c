/* Preconditioned SGLD (Li, Chen, Carlson, Carin 2016): the preconditioner of RMSProp, for the step
 * and for the noise.
 *   v  = alpha2 v + (1 - alpha2) g^2
 *   G  = sqrt(v) + eps
 *   w -= lr g / G
 *   w += sqrt(2 lr / beta) xi / sqrt(G)
 *
 * How it departs: the paper's term Gamma, the derivative of 1 / G, is left out, as is common; the
 * paper's step size is 2 lr. */
#include "optim/optim.h"

static const lgv_param param_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_BETA("1e4"),
    OPTIM_ALPHA2("0.99", OPTIM_ALPHA2_HELP),
    OPTIM_EPS("1e-8", "keeps step and noise finite: G = sqrt(v) + eps"),
    {0},
};

enum { SLOT_V, SLOTS };

OPTIM_INLINE optim_move rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  float *v = &x->slot[SLOT_V];
  *v = k->keep_v * *v + k->gain_v * x->g * x->g;
  float G = sqrtf(*v) + k->eps;
  return (optim_move){.drift = -k->lr * x->g / G, .noise = k->noise * x->xi / sqrtf(G)};
}

static void take_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params);
  optim_walk(step, params, rule, &k, SLOTS, k.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_psgld);
const lgv_optim_type LGV_KERNEL(lgv__optim_psgld) = {
    .name = "psgld",
    .summary = "SGLD preconditioned as in RMSProp",
    .params = param_table,
    .params_size = sizeof(optim_params),
    .slots = SLOTS,
    .step = take_step,
};
