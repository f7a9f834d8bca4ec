/* Steps of Adam with gradient 0, many at once: see optim/lazy_adam.h for the sums. */
#include "math/flush.h"
#include "math/kernels.h"

#include <math.h>

void LGV_KERNEL(lgv__adam_skip)(int64_t count, const lgv_adam_skip *skip, float *restrict w,
                                float *restrict m, float *restrict v) {
  const float sum = skip->sum, eps = skip->eps, mean = skip->eps * skip->mean;
  const float variance = skip->variance, keep_m = skip->keep_m, keep_v = skip->keep_v;
  uint64_t mode = lgv__flush_begin();
  for (int64_t i = 0; i < count; i++) {
    float root = 1 / (sqrtf(v[i]) + mean), share = eps * root;
    w[i] -= sum * m[i] * root * (1 + variance * share * share);
    m[i] *= keep_m;
    v[i] *= keep_v;
  }
  lgv__flush_end(mode);
}
