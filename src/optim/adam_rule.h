/* Adam (Kingma, Ba 2015) in the arrangement of PyTorch: what optim_adam.c and
 * optim_langevin_adam.c share, to the bit. With c1 = 1 - alpha1^t and c2 = 1 - alpha2^t:
 *   m  = alpha1 m + (1 - alpha1) g
 *   v  = alpha2 v + (1 - alpha2) g^2
 *   w -= (lr / c1) m / (sqrt(v) / sqrt(c2) + eps) */
#ifndef LGV_OPTIM_ADAM_RULE_H
#define LGV_OPTIM_ADAM_RULE_H

#include "optim/optim.h"

typedef struct adam_constants {
  optim_constants common;
  float rate;          /* lr / c1 */
  float root_unbiased; /* 1 / sqrt(c2) */
} adam_constants;

static inline adam_constants adam_constants_of(const optim_params *p, int64_t t) {
  double c1 = 1 - pow(p->alpha1, (double)t), c2 = 1 - pow(p->alpha2, (double)t);
  return (adam_constants){
      .common = optim_constants_of(p),
      .rate = (float)(p->lr / c1),
      .root_unbiased = (float)(1 / sqrt(c2)),
  };
}

/* Updates the moments. */
OPTIM_INLINE float adam_drift(const adam_constants *k, optim_point *x) {
  optim_update_moments(&k->common, x);
  float root = sqrtf(x->slot[OPTIM_V]) * k->root_unbiased;
  return -k->rate * x->slot[OPTIM_M] / (root + k->common.eps);
}

#endif
