/* A policy as one C file that needs nothing of this library: lgv_agent_export.
 *
 * Three forms. Agents that plan by stage over states: tables of values and greedy actions by
 * (stage, state). Others whose observation is one index (one-hot, thermometer): tables by that
 * index, which are exact for every kind of agent. Networks over other observations: their weights
 * and a forward pass.
 *
 * The exported values are those of lgv_agent_q_values: with the mean parameters of noisy layers,
 * and the mean over atoms, over quantiles (those of IQN at fixed tau, so that the embedding of tau
 * is computed here) and over members. The action has the greatest value, with the lowest index
 * among equals; where evaluations vote, it is the vote of the members; of a policy that is not
 * greedy it is the most probable action. */
#ifndef LGV_AGENT_EXPORT_H
#define LGV_AGENT_EXPORT_H

#include "langevin.h"
#include "nn/net.h"

/* An agent fills this in; all zero: it has values and nothing else to export. */
struct lgv_policy_parts {
  bool by_stage;  /* its values depend on the stage */
  bool votes;     /* in evaluations the members vote */
  const net *net; /* NULL: there is no single network over whole observations */
  const float *w; /* (copies x stride): of each the first net->params are used */
  int64_t copies, stride;
  net_map input; /* in place of net->shape.input_scale; its gain is NULL if there is no map */
  int32_t heads, atoms;
  const float *z;   /* (atoms): the outputs are logits of these values; NULL: atoms are averaged */
  int64_t taus;     /* of a network with an embedding */
  const net *prior; /* a fixed network that is added, or NULL */
  const float *prior_w; /* (copies x prior->params) */
  float prior_scale;
};

#endif
