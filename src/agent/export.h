/* A policy as one C file that needs nothing of this library: lgv_agent_export.
 *
 * Three forms. Where observations are indices, a table of values by row: of agents that plan over
 * states by (stage, state), of others by the index of a one-hot or thermometer observation (and the
 * stage, if there is a network per stage). Tables are exact for every kind of agent. Over other
 * observations, the weights of the network and a forward pass; of a linear agent with a feature
 * map, the map and its weights.
 *
 * The exported values are those of lgv_agent_q_values: with the mean parameters of noisy layers,
 * and the mean over atoms, over quantiles (those of IQN at fixed tau, so that the embedding of tau
 * is computed here) and over members. The action has the greatest value among those that the mask
 * allows, with the lowest index among equals, in every part of the action; where evaluations vote,
 * it is the vote of the members; of a policy that is not greedy it is the most probable action. A
 * policy over continuous actions has no values: its action is the tanh of the network's outputs,
 * scaled to the bounds.
 *
 * Exporting changes no state of the agent, random streams included. */
#ifndef LGV_AGENT_EXPORT_H
#define LGV_AGENT_EXPORT_H

#include "langevin.h"
#include "nn/net.h"

/* An agent fills this in; all zero: it has values and nothing else to export. */
struct lgv_policy_parts {
  bool is_actor; /* the network's first outputs, one per part of a box, are actions before their
                    tanh, and there are no values */
  bool by_stage; /* its values depend on the stage; copy h of the network is that of stage h */
  bool votes;    /* in evaluations the members vote */
  const struct lsvi *linear; /* of an agent with a feature map; else NULL */
  const net *net;            /* NULL: there is no single network over whole observations */
  const float *w;            /* (copies x stride): of each the first net->params are used */
  int64_t copies, stride;
  net_map input; /* in place of net->shape.input_scale; its gain is NULL if there is no map */
  int32_t heads, atoms;
  const float *z;  /* (atoms): the outputs are logits of these values; NULL: atoms are averaged */
  bool first_atom; /* Q is the first atom */
  int64_t taus;    /* of a network with an embedding */
  const float *prior_w; /* (copies x net->params): a fixed network that is added, or NULL */
  float prior_scale;
  /* With votes: q (copies x heads x actions) at an observation; writes only scratch. */
  void (*member_values)(void *self, const lgv_obs *obs, double *q);
  void *self; /* of the agent */
};

#endif
