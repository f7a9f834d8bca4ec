/* What the built-in feature maps share: rows of their parameter tables, and grids. */
#ifndef LGV_AGENT_LINEAR_FEATURES_H
#define LGV_AGENT_LINEAR_FEATURES_H

#include "base/param.h"
#include "langevin.h"

/* Rows of a map whose inputs are scaled; the parameter struct begins with an lgv_feature_bounds. */
/* clang-format off */
#define FEATURE_BOUNDS_ROWS \
  LGV_TEXT_ROW(lgv_feature_bounds, low, "low", "auto", "lower bounds of the inputs, one or one per input: -1.2,-0.07; auto: the environment's, else the range seen in training"), \
  LGV_TEXT_ROW(lgv_feature_bounds, high, "high", "auto", "upper bounds of the inputs")
/* clang-format on */

struct export_writer;

/* Writes static void features(const float *x, float *phi) in C, with the arrays that it needs. */
typedef void lgv_feature_code(const void *self, struct export_writer *w);
lgv_feature_code lgv__features_identity_code, lgv__features_rows_code,
    lgv__features_polynomial_code, lgv__features_fourier_code, lgv__features_rbf_code,
    lgv__features_random_fourier_code, lgv__features_tiles_code;

extern const lgv_feature_type lgv__features_network;
/* Whether the map `network` was laid out for so many features: its file may have been replaced
 * after its `dim` read it. */
bool lgv__features_network_has(const void *self, int64_t dim);

/* base^exponent, or `most` + 1 if it is more than that. */
int64_t lgv__feature_power(int64_t base, int64_t exponent, int64_t most);
/* The most places per input, at least 1, such that a grid of all inputs has at most `most`. */
int64_t lgv__feature_grid(int64_t inputs, int64_t most);

/* The angles of waves: frequencies (waves x inputs) times an input. */
float lgv__feature_angle(const float *frequencies, int64_t wave, const float *x, int64_t inputs);

#endif
