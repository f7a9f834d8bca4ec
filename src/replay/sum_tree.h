/* A binary tree of sums over numbers >= 0: a number is changed, and the place at which the running
 * sum passes a value is found, in log2(capacity) steps.
 *
 * Node 1 is the root, the children of node i are 2 i and 2 i + 1, the numbers are the last half.
 *
 * Invariants: (1) every inner node is the sum of its children as they are now, so that errors of
 * rounding do not pile up over changes; (2) a search never ends at a number that is 0, unless all
 * are. */
#ifndef LGV_REPLAY_SUM_TREE_H
#define LGV_REPLAY_SUM_TREE_H

#include "langevin.h"

typedef struct sum_tree {
  int64_t leaves; /* a power of two */
  double *node;   /* (2 x leaves); node 0 is unused */
} sum_tree;

void lgv__sum_tree_layout(sum_tree *tree, const char *name, int64_t capacity, lgv_layout *layout);
void lgv__sum_tree_set(sum_tree *tree, int64_t index, double value);
/* The least index with (sum of the numbers up to it) > target, for 0 <= target < the sum of all. */
int64_t lgv__sum_tree_find(const sum_tree *tree, double target);

/* Whether every inner node is the sum of its children, and nothing is negative or not a number. */
bool lgv__sum_tree_is_sound(const sum_tree *tree);

static inline double sum_tree_get(const sum_tree *tree, int64_t index) {
  return tree->node[tree->leaves + index];
}

static inline double sum_tree_total(const sum_tree *tree) { return tree->node[1]; }

#endif
