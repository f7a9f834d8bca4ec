/* The first layer of all copies of a DQN over one-hot observations, at a cost that depends on the
 * minibatch and not on the number of observations.
 *
 * An observation uses one row of the layer's weights. The rows of all copies for the same
 * observation lie together in one row of lazy_adam.h, (copies x units); the biases, which are
 * always on, are its last row. The core's network is the rest, above (dqn_sizes.above_first).
 * Observations that occur more than once in a minibatch go through the networks once: their
 * derivatives add up. Values, gradients and steps are those of lgv__dqn_forward, lgv__dqn_backward,
 * lgv__dqn_step and lgv__dqn_refresh_target over the whole network, but for rounding.
 *
 * One update, for all copies on one minibatch:
 *     lgv__dqn_sample; lgv__sparse_first_begin;
 *     for every copy: lgv__sparse_first_forward, targets, loss, lgv__dqn_refresh_target,
 *                     lgv__sparse_first_backward, lgv__dqn_step;
 *     lgv__sparse_first_end. */
#ifndef LGV_AGENT_DEEP_SPARSE_FIRST_H
#define LGV_AGENT_DEEP_SPARSE_FIRST_H

#include "agent/deep/dqn_core.h"
#include "optim/lazy_adam.h"

/* Distinct observations among those of a minibatch. */
typedef struct distinct {
  int64_t count;
  int32_t *state; /* (most): in the order of first occurrence */
  int32_t *place; /* (inputs + 1): where a state was found, if state[place] is that state */
} distinct;

typedef struct sparse_first {
  dqn *core;
  net whole;           /* the network with its first layer */
  int64_t units;       /* of the first layer */
  lazy_rows rows;      /* (inputs + 1) rows of (copies x units) */
  distinct online;     /* observations, then with agent.double the next ones */
  distinct next;       /* next observations */
  int64_t learned;     /* how many of the first have a gradient */
  int32_t *of_obs;     /* (batch): which of online */
  int32_t *of_next;    /* (batch): which of next */
  int32_t *of_double;  /* (batch): next observations: which of online */
  int64_t stride;      /* from copy to copy in x, a little more than most x units */
  float *x, *x_target; /* (copies x stride): the layer's activations, (most x units) each */
  float *sum;          /* (copies x units) */
  float *d_x;          /* (batch x units): of one copy */
  float *d_q;          /* (batch x outputs) */
  float *grad;         /* (batch + 1) rows of (copies x units): those of online, then the biases */
  float *draw;         /* (whole.params): a network to begin with */
} sparse_first;

/* Whether there is such a layer, the optimizer can be lazy, and the network above is a plain one.
 * Layer normalization and dueling go through the whole network. */
bool lgv__sparse_first_fits(const dqn_params *params, const lgv_problem *problem);
/* Lays out the core as well. */
void lgv__sparse_first_layout(sparse_first *s, dqn *c, const dqn_params *params,
                              const lgv_problem *problem, dqn_sizes sizes, lgv_layout *layout);
/* In place of lgv__dqn_open, with the same draws. */
void lgv__sparse_first_open(sparse_first *s);
/* Q of one copy for one observation, (outputs), until the next call. Writes only scratch. */
const float *lgv__sparse_first_values(sparse_first *s, int64_t copy, const lgv_obs *obs);

void lgv__sparse_first_begin(sparse_first *s);
/* Adds Q of every sample to q, q_next (may be NULL) and q_target, (batch x outputs). */
void lgv__sparse_first_forward(sparse_first *s, int64_t copy, float *q, float *q_next,
                               float *q_target);
/* From the core's d_q to its grad, and to the rows. */
void lgv__sparse_first_backward(sparse_first *s, int64_t copy);
void lgv__sparse_first_end(sparse_first *s);
/* After lgv__dqn_end_update: includes the first layer in its statistics of weights and units. */
void lgv__sparse_first_watch(sparse_first *s);

#endif
