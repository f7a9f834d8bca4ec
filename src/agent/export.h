/* A policy as one C file that needs nothing of this library: lgv_agent_export.
 *
 * Three forms. Agents that plan by stage over states: tables of values and greedy actions by
 * (stage, state). Others whose observation is one index (one-hot, thermometer): tables by that
 * index, which are exact whatever stands behind them. Networks over other observations: their
 * weights and a forward pass.
 *
 * What is exported is what lgv_agent_q_values tells: the mean parameters of noisy layers, the mean
 * over atoms, over quantiles (those of IQN at fixed tau, so that what the network makes of tau is
 * worked out here) and over members. The action is the greatest of these, the lowest index among
 * equals; the vote of the members where evaluations vote; the likeliest one of a policy that is not
 * greedy. */
#ifndef LGV_AGENT_EXPORT_H
#define LGV_AGENT_EXPORT_H

#include "langevin.h"
#include "nn/net.h"

/* What an agent fills in; all zero: there are its values and nothing else. */
struct lgv_policy_parts {
  bool by_stage;  /* its values depend on the stage */
  bool votes;     /* in evaluations the members vote */
  const net *net; /* NULL: there is no single network over whole observations */
  const float *w; /* (copies x stride): of each the first net->params are used */
  int64_t copies, stride;
  int32_t heads, atoms;
  const float *z;   /* (atoms): the outputs are logits of these values; NULL: atoms are averaged */
  int64_t taus;     /* of a network with an embedding */
  const net *prior; /* a fixed network that is added, or NULL */
  const float *prior_w; /* (copies x prior->params) */
  float prior_scale;
};

#endif
