/* Adam SGLD (Kim, Song, Liang 2022), the sampler of Adam LMCDQN: Ishfaq et al. (ICLR 2024),
 * Algorithm 2. A Langevin step whose drift has an Adam term beside the gradient.
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
#include "optim/optim.h"

enum { FORM_PAPER, FORM_CODE };
static const char *const form_names[] = {"paper", "code", NULL};

typedef struct asgld_params {
  optim_params common;
  int32_t form;
} asgld_params;

static const lgv_param param_table[] = {
    OPTIM_COMMON_ROWS("1e-4"),
    OPTIM_BETA("1e12"),
    OPTIM_A("0.1"),
    OPTIM_ALPHA1("0.9"),
    OPTIM_ALPHA2("0", "decay of v, the mean of g^2; 0: as the form has it, 0.99 or 0.999"),
    OPTIM_EPS("1e-8", "keeps the Adam term finite: sqrt(v + eps), or sqrt(v) + eps, by form"),
    {.name = "form",
     .type = LGV_CHOICE,
     .offset = offsetof(asgld_params, form),
     .default_text = "paper",
     .choices = form_names,
     .help = "paper: the moments of the step before, eps inside the root; code: as the authors "
             "program it, with the moments updated first and eps outside"},
    {0},
};

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

static void resolve(void *params) {
  asgld_params *p = params;
  if (p->common.alpha2 == 0) p->common.alpha2 = p->form == FORM_PAPER ? 0.99 : 0.999;
}

static void take_step(const void *params, const lgv_optim_step *step) {
  const asgld_params *p = params;
  optim_constants k = optim_constants_of(&p->common);
  if (p->form == FORM_PAPER)
    optim_walk(step, &p->common, paper_rule, &k, OPTIM_MOMENTS, k.noise > 0);
  else
    optim_walk(step, &p->common, code_rule, &k, OPTIM_MOMENTS, k.noise > 0);
}

extern const lgv_optim_type LGV_KERNEL(lgv__optim_asgld);
const lgv_optim_type LGV_KERNEL(lgv__optim_asgld) = {
    .name = "asgld",
    .summary = "Adam SGLD: Langevin steps with an Adam term in the drift",
    .params = param_table,
    .params_size = sizeof(asgld_params),
    .slots = OPTIM_MOMENTS,
    .step = take_step,
    .resolve = resolve,
};
