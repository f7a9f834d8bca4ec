/* Critics that learn a Gaussian over returns: DSAC-T. Duan, Wang, Xiao, Gao, Li, Liu, Cheng,
 * "Distributional soft actor-critic with three refinements" (2023).
 *
 * A critic has two outputs, mu and z; sigma = softplus z, b = 0.1. Critics come in pairs. With bars
 * for target networks, a' and log pi' of the next observation, zeta ~ N(0, 1) cut to [-3, 3], and m
 * the critic of the pair whose mu-bar is lower:
 *
 *     y   = r + gamma (1 - d) [mu-bar_m - alpha log pi']                        for the mean
 *     y_Z = r + gamma (1 - d) [mu-bar_m + zeta_m sigma-bar_m - alpha log pi']   for sigma
 *     omega_j <- (1 - tau) omega_j + tau mean sigma_j
 *     y~_j = mu_j + clip(y_Z - mu_j, -3 omega_j, 3 omega_j)
 *     dL/dmu_j    = - (omega_j^2 + b) / B (y - mu_j) / (sigma_j^2 + b)
 *     dL/dsigma_j = - (omega_j^2 + b) / B [(mu_j - y~_j)^2 - sigma_j^2] / (sigma_j^3 + b)
 *
 * The first value of omega_j is the first mean of sigma_j.
 *
 * The loss that is recorded is the sum over j of the mean of (y - mu_j)^2: the gradients above are
 * those of no loss, since each is rescaled. */
#ifndef LGV_AGENT_CONTINUOUS_VALUE_DISTRIBUTION_H
#define LGV_AGENT_CONTINUOUS_VALUE_DISTRIBUTION_H

#include "agent/continuous/actor_critic.h"

typedef struct value_distribution {
  float *omega;         /* (AC_PAIR): all pairs share them; 0: not known yet */
  float *zeta;          /* (AC_PAIR x B), in room for a multiple of 32 */
  float *y_z;           /* (B) */
  bool fixed_deviation; /* sigma gets no gradient */
} value_distribution;

enum { VD_OUTPUTS = 2 };

void lgv__vd_layout(value_distribution *v, const actor_critic *c, lgv_layout *layout);
/* a' and log pi' by the target policy, into the second half of c->policy and the next pairs. */
void lgv__vd_act_next(actor_critic *c);
/* y of a pair of critics, (2 pair) and (2 pair + 1), and y_Z. */
void lgv__vd_targets(value_distribution *v, actor_critic *c, int64_t pair);
/* The gradients of both critics of a pair; adds to c->loss. */
void lgv__vd_gradients(value_distribution *v, actor_critic *c, int64_t pair);
/* A step of the policy on alpha log pi - min of mu of a pair, and of the temperature. */
void lgv__vd_improve_policy(actor_critic *c, int64_t pair);

#endif
