/* Underdamped Langevin Monte Carlo with a velocity u, as in Ishfaq et al. (2024b), who replace the
 * Langevin step of Adam LMCDQN by it.
 *
 * optim.drift = asgld (their class aULMC), with m and v updated first:
 *   u  = (1 - lr friction) u + lr (g + a m / (sqrt(v) + eps))
 *   w -= lr u
 *   w += sqrt(2 lr friction / beta) xi
 * where the noise goes to the position, although the theory of underdamped dynamics has it in the
 * velocity.
 * optim.drift = plain, the Euler scheme with the noise in the velocity:
 *   u  = (1 - lr friction) u + lr g + sqrt(2 lr friction / beta) xi
 *   w -= lr u
 *
 * With a constant gradient the velocity settles at g / friction after 1 / (lr friction) steps: the
 * drift is then lr g / friction per step. */
#include "optim/optim.h"

enum { DRIFT_ASGLD, DRIFT_PLAIN };
static const char *const drift_names[] = {"asgld", "plain", NULL};

typedef struct ulmc_params {
  optim_params common;
  double friction;
  int32_t drift;
} ulmc_params;

/* clang-format off */
static const lgv_param param_table[] = {
    OPTIM_COMMON_ROWS("1e-3"),
    OPTIM_BETA_ROW("1e10"),
    OPTIM_A_ROW("0.1"),
    OPTIM_ALPHA1_ROW("0.9"),
    OPTIM_ALPHA2_ROW("0.999", OPTIM_ALPHA2_HELP),
    OPTIM_EPS_ROW("1e-8", "keeps the Adam term finite: sqrt(v) + eps"),
    LGV_REAL_ROW(ulmc_params, friction, "friction", "1", 0, 1e6, LGV_OPEN_MIN, "gamma: the velocity decays at the rate lr friction per step, which must be below 2"),
    LGV_CHOICE_ROW(ulmc_params, drift, "drift", "asgld", drift_names, "asgld: with the Adam term, noise in the position; plain: the gradient alone, noise in the velocity"),
    {0},
};
/* clang-format on */

enum { SLOT_U = OPTIM_MOMENTS, SLOTS };

typedef struct ulmc_constants {
  optim_constants common;
  float keep_u; /* 1 - lr friction */
} ulmc_constants;

OPTIM_INLINE optim_move asgld_rule(const void *constants, optim_point *x) {
  const ulmc_constants *k = constants;
  const optim_constants *c = &k->common;
  float *u = &x->slot[SLOT_U];
  optim_update_moments(c, x);
  float adam = x->slot[OPTIM_M] / (sqrtf(x->slot[OPTIM_V]) + c->eps);
  *u = k->keep_u * *u + c->lr * (x->g + c->a * adam);
  return (optim_move){.drift = -c->lr * *u, .noise = c->noise * x->xi};
}

OPTIM_INLINE optim_move plain_rule(const void *constants, optim_point *x) {
  const ulmc_constants *k = constants;
  float *u = &x->slot[SLOT_U];
  *u = k->keep_u * *u + k->common.lr * x->g + k->common.noise * x->xi;
  return (optim_move){.drift = -k->common.lr * *u};
}

static void take_step(const void *params, const lgv_optim_step *step) {
  const ulmc_params *p = params;
  const optim_params *c = &p->common;
  double lr = optim_lr(c, step);
  ulmc_constants k = {
      .common = optim_constants_of(c, step),
      .keep_u = (float)(1 - lr * p->friction),
  };
  k.common.noise = (float)sqrt(2 * lr * p->friction / optim_beta(c, step));
  if (p->drift == DRIFT_ASGLD)
    optim_walk(step, c, asgld_rule, &k, SLOTS, k.common.noise > 0);
  else
    optim_walk(step, c, plain_rule, &k, SLOTS, k.common.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_ulmc);
const lgv_optim_type LGV_KERNEL(lgv__optim_ulmc) = {
    .name = "ulmc",
    .summary = "underdamped Langevin dynamics, with or without the Adam term",
    .params = param_table,
    .params_size = sizeof(ulmc_params),
    .slots = SLOTS,
    .step = take_step,
};
