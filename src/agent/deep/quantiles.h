/* What agents share that learn quantiles of the return. */
#ifndef LGV_AGENT_DEEP_QUANTILES_H
#define LGV_AGENT_DEEP_QUANTILES_H

#include "math/kernels.h"

#define QUANTILES_KAPPA_ROW(params_)                                                               \
  {                                                                                                \
    .name = "kappa", .type = LGV_REAL, .offset = offsetof(params_, kappa), .default_text = "1",    \
    .min = 0, .max = 1e30, .open = LGV_OPEN_MIN,                                                   \
    .help = "errors up to which the quantile loss is a square; linear beyond"                      \
  }

/* The mean of n values that lie `stride` apart. */
static inline float quantiles_mean(int64_t n, const float *x, int64_t stride) {
  float sum = 0;
  for (int64_t j = 0; j < n; j++) sum += x[j * stride];
  return sum / (float)n;
}

#endif
