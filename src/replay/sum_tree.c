#include "replay/sum_tree.h"

#include <float.h>

void lgv__sum_tree_layout(sum_tree *tree, const char *name, int64_t capacity, lgv_layout *layout) {
  tree->leaves = 1;
  while (tree->leaves < capacity) tree->leaves *= 2;
  tree->node = lgv_layout_array(layout, name, LGV_F64, 2 * (size_t)tree->leaves, LGV_KEEP);
}

void lgv__sum_tree_set(sum_tree *tree, int64_t index, double value) {
  double *node = tree->node;
  int64_t i = tree->leaves + index;
  node[i] = value;
  for (i /= 2; i > 0; i /= 2) node[i] = node[2 * i] + node[2 * i + 1];
}

int64_t lgv__sum_tree_find(const sum_tree *tree, double target) {
  const double *node = tree->node;
  int64_t i = 1;
  while (i < tree->leaves) {
    i *= 2;
    /* Rounding may leave a target at the sum of both children: it stays with what is there. */
    if (target >= node[i] && node[i + 1] > 0) target -= node[i++];
  }
  return i - tree->leaves;
}

bool lgv__sum_tree_is_sound(const sum_tree *tree) {
  const double *node = tree->node;
  bool sound = node[1] <= DBL_MAX;
  for (int64_t i = 1; i < tree->leaves; i++) sound &= node[i] == node[2 * i] + node[2 * i + 1];
  for (int64_t i = tree->leaves; i < 2 * tree->leaves; i++) sound &= node[i] >= 0;
  return sound;
}
