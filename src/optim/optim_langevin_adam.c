/* Langevin Adam, the optimizer of Langevin DQN (Dwaracherla, Van Roy 2020) as Ishfaq et al. (ICLR
 * 2024) program it: a step of Adam (adam_rule.h), then noise that is preconditioned likewise. With
 * c1 = 1 - alpha1^t and c2 = 1 - alpha2^t:
 *   w += sqrt(2 lr sqrt(c2) / (beta c1)) xi / sqrt(sqrt(v) + eps)
 *
 * There is no term of the plain gradient as in asgld. A parameter whose gradient has always been 0,
 * such as the weights of a dead unit, gets noise that is 1/sqrt(eps) = 1e4 times larger. Without
 * noise it is Adam to the bit. */
#include "optim/adam_rule.h"

static const lgv_param param_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_BETA("1e12"),
    OPTIM_ALPHA1("0.9"),
    OPTIM_ALPHA2("0.999", OPTIM_ALPHA2_HELP),
    OPTIM_EPS("1e-8", "keeps step and noise finite: sqrt(v) + eps"),
    {0},
};

OPTIM_INLINE optim_move rule(const void *constants, optim_point *x) {
  const adam_constants *k = constants;
  float drift = adam_drift(k, x), spread = sqrtf(x->slot[OPTIM_V]) + k->common.eps;
  return (optim_move){.drift = drift, .noise = k->common.noise * x->xi / sqrtf(spread)};
}

static void take_step(const void *params, const lgv_optim_step *step) {
  const optim_params *p = params;
  adam_constants k = adam_constants_of(p, step->t);
  k.common.noise = (float)sqrt(2 * (double)k.rate / (p->beta * (double)k.root_unbiased));
  optim_walk(step, p, rule, &k, OPTIM_MOMENTS, k.common.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_langevin_adam);
const lgv_optim_type LGV_KERNEL(lgv__optim_langevin_adam) = {
    .name = "langevin-adam",
    .summary = "Adam with preconditioned noise, for Langevin DQN",
    .params = param_table,
    .params_size = sizeof(optim_params),
    .slots = OPTIM_MOMENTS,
    .step = take_step,
};
