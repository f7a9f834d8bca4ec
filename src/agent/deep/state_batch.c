#include "agent/deep/state_batch.h"

#include <math.h>
#include <string.h>

void lgv__state_batch_layout(state_batch *b, int64_t capacity, int32_t chains, lgv_layout *layout) {
  size_t means = b->size > 0 ? (size_t)(chains * b->shared) : 0;
  b->order = lgv_layout_array(layout, "batch.order", LGV_I32, (size_t)capacity, LGV_KEEP);
  b->mean = lgv_layout_array(layout, "batch.mean", LGV_F32, means, LGV_KEEP);
}

void lgv__state_batch_meet(state_batch *b, int64_t state) { b->order[state] = (int32_t)state; }

/* The beginning of a shuffle: whatever the order was before, all subsets are equally likely. */
void lgv__state_batch_draw(state_batch *b, int64_t known, lgv_rng *rng) {
  b->known = known;
  b->drawn = b->size > 0 && b->size < known ? b->size : known;
  if (b->drawn == known) return;
  for (int64_t i = 0; i < b->drawn; i++) {
    int64_t other = i + lgv_rng_below(rng, known - i);
    int32_t state = b->order[other];
    b->order[other] = b->order[i];
    b->order[i] = state;
  }
}

double lgv__state_batch_scale(const state_batch *b) {
  return b->drawn == b->known ? 1 : (double)b->known / (double)b->drawn;
}

double lgv__state_batch_step(const state_batch *b, double step) {
  return fmin(step, 1 / lgv__state_batch_scale(b));
}

void lgv__state_batch_rescale(state_batch *b, int32_t chain, float *gradient, float *curvature) {
  if (b->size == 0) return;
  float *restrict mean = b->mean + chain * b->shared;
  if (b->drawn == b->known) { /* nothing is missing, and the running mean begins with the truth */
    memcpy(mean, curvature, (size_t)b->shared * sizeof *mean);
    return;
  }
  float m = (float)lgv__state_batch_scale(b), rho = (float)b->decay,
        fresh = (float)(1 - b->decay) * m;
  for (int64_t i = 0; i < b->shared; i++) {
    gradient[i] *= m;
    mean[i] = fmaxf(rho * mean[i] + fresh * curvature[i], curvature[i]);
    curvature[i] = mean[i];
  }
}
