#include "replay/priority.h"

#include "base/portable_math.h"
#include "base/stack.h"

#include <float.h>
#include <math.h>

/* ---- The tree of sums ---- */

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
    /* Rounding may leave the target at the sum of both children; the search then stays with a child
     * that is not 0. */
    if (target >= node[i] && node[i + 1] > 0) target -= node[i++];
  }
  return i - tree->leaves;
}

/* Whether every inner node is the sum of its children, and no number is negative or NaN. */
static bool is_sound(const sum_tree *tree) {
  const double *node = tree->node;
  bool sound = node[1] <= DBL_MAX;
  for (int64_t i = 1; i < tree->leaves; i++) sound &= node[i] == node[2 * i] + node[2 * i + 1];
  for (int64_t i = tree->leaves; i < 2 * tree->leaves; i++) sound &= node[i] >= 0;
  return sound;
}

/* ---- Priorities ---- */

void lgv__priority_layout(priority *q, const priority_params *params, const replay *r,
                          int64_t batch, lgv_layout *layout) {
  q->p = params;
  lgv__sum_tree_layout(&q->tree, "priority.tree", r->capacity, layout);
  q->most = lgv_layout_array(layout, "priority.most", LGV_F64, 1, LGV_KEEP);
  q->chance = lgv_layout_array(layout, "priority.chance", LGV_F64, (size_t)batch, LGV_SCRATCH);
}

void lgv__priority_open(priority *q) { *q->most = 1; }

const char *lgv__priority_fault(const priority *q, const replay *r) {
  if (!is_sound(&q->tree)) return "priority.tree: wrong sums";
  for (int64_t entry = 0; entry < q->tree.leaves; entry++)
    if (sum_tree_get(&q->tree, entry) > 0 &&
        !(lgv__replay_has(r, entry) && lgv__replay_can_draw(r, entry)))
      return "priority.tree: an entry that cannot be drawn has a priority";
  return *q->most > 0 && isfinite(*q->most) ? NULL : "priority.most: not positive and finite";
}

void lgv__priority_add(priority *q, const replay *r, int64_t entry) {
  lgv__sum_tree_set(&q->tree, entry, lgv__pow(*q->most, q->p->alpha));
  /* The new observation overwrote an entry, and the entries after it may have lost their first
   * pictures. */
  int64_t lost = lgv__replay_following(r, entry);
  for (int32_t i = 0; i < lgv__frames(&r->env); i++) {
    if (!lgv__replay_can_draw(r, lost)) lgv__sum_tree_set(&q->tree, lost, 0);
    lost = lgv__replay_following(r, lost);
  }
}

static double beta_at(const priority_params *p, int64_t steps) {
  if (steps >= p->beta_steps) return p->beta_end;
  return p->beta + (p->beta_end - p->beta) * (double)steps / (double)p->beta_steps;
}

void lgv__priority_sample(priority *q, const replay *r, lgv_rng *rng, int64_t steps,
                          replay_batch *b, float *weight) {
  double total = sum_tree_total(&q->tree), size = (double)lgv__replay_size(r), rarest = INFINITY;
  double uniform = total > 0 ? q->p->uniform : 1, beta = beta_at(q->p, steps);
  for (int64_t i = 0; i < b->size; i++) {
    b->entry[i] = lgv_rng_uniform(rng) < uniform
                      ? lgv__replay_draw(r, rng)
                      : lgv__sum_tree_find(&q->tree, lgv_rng_uniform(rng) * total);
    double share = total > 0 ? sum_tree_get(&q->tree, b->entry[i]) / total : 0;
    q->chance[i] = (1 - uniform) * share * size + uniform;
    rarest = fmin(rarest, q->chance[i]);
  }
  for (int64_t i = 0; i < b->size; i++) weight[i] = (float)lgv__pow(rarest / q->chance[i], beta);
  lgv__replay_gather(r, b);
}

void lgv__priority_update(priority *q, const replay_batch *b, const float *error) {
  for (int64_t i = 0; i < b->size; i++) {
    double size = (double)error[i];
    lgv__sum_tree_set(&q->tree, b->entry[i], lgv__pow(size, q->p->alpha));
    *q->most = fmax(*q->most, size);
  }
}
