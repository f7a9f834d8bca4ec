/* The parameters of optimizers: one name for one thing, whichever optimizer has it. */
#ifndef LGV_OPTIM_OPTIM_PARAMS_H
#define LGV_OPTIM_OPTIM_PARAMS_H

#include "langevin.h"

#include <math.h>
#include <stddef.h>

/* A table lists the rows that an optimizer uses. Parameters that only one has follow in a struct of
 * its own, of which this is the first member. */
typedef struct optim_params {
  double lr, l2;
  double beta;           /* of those with noise */
  double a;              /* of those with an Adam bias term */
  double alpha1, alpha2; /* decay of the means of g and of g^2 */
  double eps;
  bool compensated;
} optim_params;

#define OPTIM_REAL(field_, fallback_, min_, max_, open_, help_)                                    \
  {                                                                                                \
    .name = #field_, .type = LGV_REAL, .offset = offsetof(optim_params, field_),                   \
    .default_text = fallback_, .min = min_, .max = max_, .open = open_, .help = help_              \
  }

/* The first rows of every table. */
#define OPTIM_COMMON_ROWS(lr_)                                                                     \
  OPTIM_REAL(lr, lr_, 0, 1e6, LGV_OPEN_MIN, "step size"),                                          \
      OPTIM_REAL(l2, "0", 0, 1e6, 0, "ridge: adds l2 w to the gradient"), {                        \
    .name = "compensated", .type = LGV_BOOL, .offset = offsetof(optim_params, compensated),        \
    .default_text = "false",                                                                       \
    .help = "keep parameters as sums of two floats, so that tiny noise is not rounded away"        \
  }
#define OPTIM_BETA(beta_)                                                                          \
  OPTIM_REAL(beta, beta_, 0, INFINITY, LGV_OPEN_MIN,                                               \
             "inverse temperature: noise is scaled by 1/sqrt(beta); inf: no noise")
#define OPTIM_A(a_) OPTIM_REAL(a, a_, 0, 1e6, 0, "weight of the Adam bias term beside the gradient")
#define OPTIM_ALPHA1(alpha1_)                                                                      \
  OPTIM_REAL(alpha1, alpha1_, 0, 1, LGV_OPEN_MAX, "decay of m, the mean gradient")
#define OPTIM_ALPHA2_HELP "decay of v, the mean of g^2"
#define OPTIM_ALPHA2(alpha2_, help_) OPTIM_REAL(alpha2, alpha2_, 0, 1, LGV_OPEN_MAX, help_)
#define OPTIM_EPS(eps_, help_) OPTIM_REAL(eps, eps_, 0, 1, LGV_OPEN_MIN, help_)

#endif
