/* Optimizers with noise, which sample parameters instead of minimizing a loss: sgld, psgld, asgld
 * and langevin-adam. The underdamped one, with a velocity, is in optim_ulmc.c. */
#include "optim/optim.h"

/* ---- sgld: stochastic gradient Langevin dynamics (Welling, Teh 2011) ----
 *   w -= lr g
 *   w += sqrt(2 lr / beta) xi
 *
 * Where g is the gradient of a loss L, the law of w tends to exp(-beta L) as lr goes to 0. The loss
 * of a minibatch is a mean: beta is then n times that of a sum over n transitions. */

static const lgv_param sgld_table[] = {OPTIM_COMMON_ROWS("1e-4"), OPTIM_BETA_ROW("1e4"), {0}};

OPTIM_INLINE optim_move sgld_rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  return (optim_move){.drift = -k->lr * x->g, .noise = k->noise * x->xi};
}

static void sgld_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params, step);
  optim_walk(step, params, sgld_rule, &k, 0, k.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_sgld);
const lgv_optim_type LGV_KERNEL(lgv__optim_sgld) = {
    .name = "sgld",
    .summary = "stochastic gradient Langevin dynamics",
    .params = sgld_table,
    .params_size = sizeof(optim_params),
    .step = sgld_step,
};

/* ---- psgld: preconditioned SGLD (Li, Chen, Carlson, Carin 2016) ----
 * The preconditioner of RMSProp scales the step and the noise.
 *   v  = alpha2 v + (1 - alpha2) g^2
 *   G  = sqrt(v) + eps
 *   w -= lr g / G
 *   w += sqrt(2 lr / beta) xi / sqrt(G)
 *
 * Departures: the paper's term Gamma, the derivative of 1 / G, is left out, as is common; the
 * paper's step size is 2 lr. */

static const lgv_param psgld_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_BETA_ROW("1e4"),
    OPTIM_ALPHA2_ROW("0.99", OPTIM_ALPHA2_HELP),
    OPTIM_EPS_ROW("1e-8", "keeps step and noise finite: G = sqrt(v) + eps"),
    {0},
};

enum { PSGLD_V, PSGLD_SLOTS };

OPTIM_INLINE optim_move psgld_rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  float *v = &x->slot[PSGLD_V];
  *v = k->keep_v * *v + k->gain_v * x->g * x->g;
  float G = sqrtf(*v) + k->eps;
  return (optim_move){.drift = -k->lr * x->g / G, .noise = k->noise * x->xi / sqrtf(G)};
}

static void psgld_step(const void *params, const lgv_optim_step *step) {
  optim_constants k = optim_constants_of(params, step);
  optim_walk(step, params, psgld_rule, &k, PSGLD_SLOTS, k.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_psgld);
const lgv_optim_type LGV_KERNEL(lgv__optim_psgld) = {
    .name = "psgld",
    .summary = "SGLD preconditioned as in RMSProp",
    .params = psgld_table,
    .params_size = sizeof(optim_params),
    .slots = PSGLD_SLOTS,
    .step = psgld_step,
};

/* ---- asgld: Adam SGLD (Kim, Song, Liang 2022) ----
 * The sampler of Adam LMCDQN (Ishfaq et al., ICLR 2024, Algorithm 2): a Langevin step whose drift
 * has an Adam term beside the gradient.
 *
 * optim.form = paper, with the moments as the step before left them:
 *   w -= lr (g + a m / sqrt(v + eps))
 *   w += sqrt(2 lr / beta) xi
 *   m  = alpha1 m + (1 - alpha1) g
 *   v  = alpha2 v + (1 - alpha2) g^2
 * optim.form = code, the authors' program: m and v are updated first, and eps stands outside the
 * root, sqrt(v) + eps. It has alpha2 = 0.999 where the paper says 0.99, hence a default that
 * follows the form.
 *
 * Neither corrects the bias of moments that start at 0: in the code's form the first Adam term has
 * size a (1 - alpha1) / sqrt(1 - alpha2) = 3.16 a. */

enum { FORM_PAPER, FORM_CODE };
static const char *const form_names[] = {"paper", "code", NULL};

typedef struct asgld_params {
  optim_params common;
  int32_t form;
} asgld_params;

/* clang-format off */
static const lgv_param asgld_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_BETA_ROW("1e12"),
    OPTIM_A_ROW("0.1"),
    OPTIM_ALPHA1_ROW("0.9"),
    OPTIM_ALPHA2_ROW("0", "decay of v, the mean of g^2; 0: as the form has it, 0.99 or 0.999"),
    OPTIM_EPS_ROW("1e-8", "keeps the Adam term finite: sqrt(v + eps), or sqrt(v) + eps, by form"),
    LGV_CHOICE_ROW(asgld_params, form, "form", "paper", form_names, "paper: the moments of the step before, eps inside the root; code: as the authors program it, with the moments updated first and eps outside"),
    {0},
};
/* clang-format on */

OPTIM_INLINE optim_move paper_rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  float adam = x->slot[OPTIM_M] / sqrtf(x->slot[OPTIM_V] + k->eps);
  optim_update_moments(k, x);
  return (optim_move){.drift = -k->lr * (x->g + k->a * adam), .noise = k->noise * x->xi};
}

OPTIM_INLINE optim_move code_rule(const void *constants, optim_point *x) {
  const optim_constants *k = constants;
  optim_update_moments(k, x);
  float adam = x->slot[OPTIM_M] / (sqrtf(x->slot[OPTIM_V]) + k->eps);
  return (optim_move){.drift = -k->lr * (x->g + k->a * adam), .noise = k->noise * x->xi};
}

static void asgld_resolve(void *params) {
  asgld_params *p = params;
  if (p->common.alpha2 == 0) p->common.alpha2 = p->form == FORM_PAPER ? 0.99 : 0.999;
}

static void asgld_step(const void *params, const lgv_optim_step *step) {
  const asgld_params *p = params;
  optim_constants k = optim_constants_of(&p->common, step);
  if (p->form == FORM_PAPER)
    optim_walk(step, &p->common, paper_rule, &k, OPTIM_MOMENTS, k.noise > 0);
  else
    optim_walk(step, &p->common, code_rule, &k, OPTIM_MOMENTS, k.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_asgld);
const lgv_optim_type LGV_KERNEL(lgv__optim_asgld) = {
    .name = "asgld",
    .summary = "Adam SGLD: Langevin steps with an Adam term in the drift",
    .params = asgld_table,
    .params_size = sizeof(asgld_params),
    .slots = OPTIM_MOMENTS,
    .step = asgld_step,
    .resolve = asgld_resolve,
};

/* ---- langevin-adam ----
 * The optimizer of Langevin DQN (Dwaracherla, Van Roy 2020) as Ishfaq et al. (ICLR 2024) program
 * it: a step of Adam, then noise with Adam's preconditioner. With c1 = 1 - alpha1^t and c2 = 1 -
 * alpha2^t:
 *   w += sqrt(2 lr sqrt(c2) / (beta c1)) xi / sqrt(sqrt(v) + eps)
 *
 * There is no term of the plain gradient as in asgld. A parameter whose gradient has always been 0,
 * such as the weights of a dead unit, gets noise that is 1/sqrt(eps) = 1e4 times larger. Without
 * noise it is Adam to the bit. */

static const lgv_param langevin_adam_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_BETA_ROW("1e12"),
    OPTIM_ALPHA1_ROW("0.9"),
    OPTIM_ALPHA2_ROW("0.999", OPTIM_ALPHA2_HELP),
    OPTIM_EPS_ROW("1e-8", "keeps step and noise finite: sqrt(v) + eps"),
    {0},
};

OPTIM_INLINE optim_move langevin_adam_rule(const void *constants, optim_point *x) {
  const adam_constants *k = constants;
  float drift = adam_drift(k, x), spread = sqrtf(x->slot[OPTIM_V]) + k->common.eps;
  return (optim_move){.drift = drift, .noise = k->common.noise * x->xi / sqrtf(spread)};
}

static void langevin_adam_step(const void *params, const lgv_optim_step *step) {
  const optim_params *p = params;
  adam_constants k = adam_constants_of(p, step);
  k.common.noise =
      (float)sqrt(2 * (double)k.rate / (optim_beta(p, step) * (double)k.root_unbiased));
  optim_walk(step, p, langevin_adam_rule, &k, OPTIM_MOMENTS, k.common.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_langevin_adam);
const lgv_optim_type LGV_KERNEL(lgv__optim_langevin_adam) = {
    .name = "langevin-adam",
    .summary = "Adam with preconditioned noise, for Langevin DQN",
    .params = langevin_adam_table,
    .params_size = sizeof(optim_params),
    .slots = OPTIM_MOMENTS,
    .step = langevin_adam_step,
};
