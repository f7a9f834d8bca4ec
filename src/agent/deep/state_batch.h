/* Which of the known states a chain step uses, and how they then represent all of them.
 *
 * Of n known states a step draws B without replacement, each with the chance B / n; n / B = m is
 * the scale. Sums over the drawn states, g and c, stand for the sums over all in two ways:
 *
 *   A parameter that states share:   w <- w - eps G (m g + prior) + sqrt(2 eps G) xi,
 *       G = 1 / (C + ridge),   C <- max(rho C + (1 - rho) m c, c),   rho = decay.
 *     m g has the full sum as its mean; a curvature from the drawn states alone would miss the
 *     others, so C is a running mean, which is never below c: what some of the states add up to is
 *     a lower bound of the full sum, and a heavy state is felt the first time it is drawn.
 *   The row of a one-hot state:      w <- w - m eps G (g + prior) + sqrt(2 m eps G) xi   if drawn,
 *       G = 1 / (c + ridge),   and nothing otherwise.
 *     Its data are those of one state: g and c are exact, so no noise comes in by the draw. The
 *     mean drift of a step, B / n m eps G (g + prior), and its mean variance, 2 eps G, are those of
 *     the chain over all states; prior and noise of rows that were not drawn wait with the data.
 *
 * Either way a drawn state moves by up to m times its share of eps. The caller keeps m step <= 1
 * (lgv__state_batch_step), where step is the share of an error that all weights of a state make up
 * for: else a drawn row would overshoot. If that lowers the step, drift and noise fall alike: the
 * chain has the same law and a slower clock.
 *
 * Invariants: order is a permutation of the known states; as long as all of them are looked at (B =
 * 0 or B >= n, and n never falls) it is the identity and nothing is drawn. */
#ifndef LGV_AGENT_DEEP_STATE_BATCH_H
#define LGV_AGENT_DEEP_STATE_BATCH_H

#include "langevin.h"

typedef struct state_batch {
  int64_t size;   /* B; 0: all */
  double decay;   /* rho */
  int64_t shared; /* shared parameters of a chain: the last ones of its vector */
  int64_t known;  /* n */
  int64_t drawn;  /* states of this step: order[0] to order[drawn - 1] */
  int32_t *order; /* (capacity) */
  float *mean;    /* (chains x shared): C */
} state_batch;

/* size, decay and shared must be set. capacity: the most states. */
void lgv__state_batch_layout(state_batch *b, int64_t capacity, int32_t chains, lgv_layout *layout);
/* States are numbered in the order of their discovery: this one is the next. */
void lgv__state_batch_meet(state_batch *b, int64_t state);
/* Draws the states of a step from the n known ones. */
void lgv__state_batch_draw(state_batch *b, int64_t known, lgv_rng *rng);
/* m */
double lgv__state_batch_scale(const state_batch *b);
/* The step size of a chain over all states, or what is left of it: at most 1 / m. */
double lgv__state_batch_step(const state_batch *b, double step);
/* Turns the drawn states' sums for the shared parameters into m g and C. */
void lgv__state_batch_rescale(state_batch *b, int32_t chain, float *gradient, float *curvature);

#endif
