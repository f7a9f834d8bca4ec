/* Exact values where the environment has a model: V* and, for agents whose policy is fixed within
 * an episode, V of that policy by backward induction. */
#ifndef LGV_STATS_EXACT_H
#define LGV_STATS_EXACT_H

#include "langevin.h"

typedef struct lgv_exact {
  const lgv_model *model; /* NULL: nothing is known */
  int64_t horizon, states;
  int32_t actions;
  double *optimal;     /* ((H+1) x S): V* */
  double *policy;      /* (H x S x A), or NULL: policies are not evaluated */
  double *values;      /* ((H+1) x S): V of the current policy, or NULL */
  double optimal_mean; /* over the start states; NaN without a model */
} lgv_exact;

/* policies: whether lgv__exact_evaluate will be called. */
LGV_CHECK lgv_status lgv__exact_open(lgv_exact *exact, const lgv_env *env, bool policies,
                                     lgv_error *err);
/* The memory that lgv__exact_open takes for an environment with a model. */
uint64_t lgv__exact_bytes(const lgv_env_spec *spec, bool policies);
void lgv__exact_close(lgv_exact *exact);
/* The mean over the start states of V of the agent's policy, which must be fixed within an episode;
 * *regret becomes V* - V in the state `start`. There must be a model. */
double lgv__exact_evaluate(lgv_exact *exact, const lgv_agent *agent, int64_t start, double *regret);

#endif
