/* Prioritized replay. Schaul, Quan, Antonoglou, Silver, "Prioritized experience replay" (ICLR
 * 2016), the proportional variant, as DQN Zoo (Quan, Ostrovski, 2020) implements it.
 *
 * Entry i has priority p_i: the size of its error when it was last learned from, or, before that,
 * the greatest priority so far (initially 1). With a small fraction u of uniform draws, it is drawn
 * with probability
 *     P(i) = (1 - u) p_i^alpha / (sum over k of p_k^alpha) + u / N             Eq. 1
 * and weighted by
 *     w_i = (N P(i))^-beta / max over the minibatch                            Section 3.4
 * where beta rises linearly to its final value. Draws are independent, not stratified.
 *
 * Departure from DQN Zoo: 0^0 = 1, so that alpha = 0 is uniform for all errors.
 *
 * Invariant: the tree holds p_i^alpha for entries that lgv__replay_can_draw allows, and 0 for all
 * others. */
#ifndef LGV_REPLAY_PRIORITY_H
#define LGV_REPLAY_PRIORITY_H

#include "replay/replay.h"

/* ---- A binary tree of sums over numbers >= 0. Changing a number, and finding the place at which
 * the running sum passes a value, each take log2(capacity) steps.
 *
 * Node 1 is the root, the children of node i are 2 i and 2 i + 1, and the second half of the nodes
 * holds the numbers.
 *
 * Invariants: (1) every inner node is the sum of its children's current values, so rounding errors
 * do not accumulate over changes; (2) a search never ends at a number that is 0, unless all are
 * 0. ---- */

typedef struct sum_tree {
  int64_t leaves; /* a power of two */
  double *node;   /* (2 x leaves); node 0 is unused */
} sum_tree;

void lgv__sum_tree_layout(sum_tree *tree, const char *name, int64_t capacity, lgv_layout *layout);
void lgv__sum_tree_set(sum_tree *tree, int64_t index, double value);
/* The least index with (sum of the numbers up to it) > target, for 0 <= target < the sum of all. */
int64_t lgv__sum_tree_find(const sum_tree *tree, double target);

static inline double sum_tree_get(const sum_tree *tree, int64_t index) {
  return tree->node[tree->leaves + index];
}

static inline double sum_tree_total(const sum_tree *tree) { return tree->node[1]; }

/* ---- Priorities ---- */

typedef struct priority_params {
  bool on;
  double alpha, beta, beta_end, uniform;
  int64_t beta_steps;
} priority_params;

typedef struct priority {
  const priority_params *p;
  sum_tree tree;  /* (replay capacity) */
  double *most;   /* (1): the greatest priority so far */
  double *chance; /* (batch): N P(i) of the current minibatch */
} priority;

void lgv__priority_layout(priority *q, const priority_params *params, const replay *r,
                          int64_t batch, lgv_layout *layout);
void lgv__priority_open(priority *q);
/* How loaded numbers violate the invariant, or NULL. r must be valid. */
const char *lgv__priority_fault(const priority *q, const replay *r);
/* To be called after lgv__replay_add with the entry that it returned. */
void lgv__priority_add(priority *q, const replay *r, int64_t entry);
/* Draws b->entry, gathers the entries and fills weight (b->size). steps: since learning began. */
void lgv__priority_sample(priority *q, const replay *r, lgv_rng *rng, int64_t steps,
                          replay_batch *b, float *weight);
/* Sets the minibatch's new priorities from error (b->size), which is nonnegative. */
void lgv__priority_update(priority *q, const replay_batch *b, const float *error);

#endif
