/* The type of optimizers: a rule for one step over flat vectors, and typed parameters.
 *
 * The contract between agents and optimizers:
 *   - the parameter struct of every optimizer begins with an optim_params;
 *   - every optimizer has lr, which a step multiplies by lr_scale before it computes anything else:
 *     an agent lowers the step size without knowing which optimizer it has;
 *   - a step multiplies beta, of those with noise, by beta_scale;
 *   - with optim.compensated the agent provides a residual for each parameter.
 * Nothing else about an optimizer concerns an agent. */
#ifndef LGV_OPTIM_OPTIM_TYPE_H
#define LGV_OPTIM_OPTIM_TYPE_H

#include "base/param.h"
#include "langevin.h"

#include <math.h>

enum { LGV_OPTIM_SLOTS = 4 };
typedef struct lgv_noise lgv_noise; /* bulk N(0, 1) floats; its state is part of a checkpoint */

typedef struct lgv_optim_step {
  size_t count;
  float *w;                     /* (count): parameters, updated in place */
  const float *g;               /* (count): gradient */
  float *slot[LGV_OPTIM_SLOTS]; /* (count) each: the optimizer's own state, zero at the start */
  float *residual;              /* (count): low part of two-float parameters, or NULL */
  int64_t t;                    /* 1 at the first step */
  double lr_scale;              /* the step size is lr_scale times optim.lr; 1: as set */
  double beta_scale; /* the inverse temperature is beta_scale times optim.beta; 1: as set */
  lgv_noise *noise;
} lgv_optim_step;

typedef struct lgv_optim_type {
  const char *name;
  const char *summary;
  const lgv_param *params;
  size_t params_size;
  int32_t slots; /* how many of slot[] it uses */
  bool is_adam;  /* its step is Adam's: lazy_adam.h can make up for steps with g = 0 */
  void (*step)(const void *params, const lgv_optim_step *step);
  /* Optional: fills in values that depend on others, before the first step. */
  void (*resolve)(void *params);
} lgv_optim_type;

/* ---- Parameters: one name for one thing, whichever optimizer has it ---- */

/* A table lists the rows that an optimizer uses. Parameters that only one has follow in a struct of
 * its own. */
typedef struct optim_params {
  double lr, l2;
  double beta;           /* of those with noise */
  double a;              /* of those with an Adam bias term */
  double alpha1, alpha2; /* decay of the means of g and of g^2 */
  double eps;
  bool compensated;
} optim_params;

/* clang-format off */
/* The first rows of every table. */
#define OPTIM_COMMON_ROWS(lr_) \
  LGV_REAL_ROW(optim_params, lr, "lr", lr_, 0, 1e6, LGV_OPEN_MIN, "step size"), \
  LGV_REAL_ROW(optim_params, l2, "l2", "0", 0, 1e6, 0, "ridge: adds l2 w to the gradient"), \
  LGV_BOOL_ROW(optim_params, compensated, "compensated", "false", "keep parameters as sums of two floats, so that tiny noise is not rounded away")
#define OPTIM_BETA_ROW(beta_) LGV_REAL_ROW(optim_params, beta, "beta", beta_, 0, INFINITY, LGV_OPEN_MIN, "inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise")
#define OPTIM_A_ROW(a_) LGV_REAL_ROW(optim_params, a, "a", a_, 0, 1e6, 0, "weight of the Adam bias term beside the gradient")
#define OPTIM_ALPHA1_ROW(alpha1_) LGV_REAL_ROW(optim_params, alpha1, "alpha1", alpha1_, 0, 1, LGV_OPEN_MAX, "decay of m, the mean gradient")
#define OPTIM_ALPHA2_ROW(alpha2_, help_) LGV_REAL_ROW(optim_params, alpha2, "alpha2", alpha2_, 0, 1, LGV_OPEN_MAX, help_)
#define OPTIM_ALPHA2_HELP "decay of v, the mean of g^2"
#define OPTIM_EPS_ROW(eps_, help_) LGV_REAL_ROW(optim_params, eps, "eps", eps_, 0, 1, LGV_OPEN_MIN, help_)
/* clang-format on */

#endif
