/* What a feature map reads: the numbers of an observation as floats, scaled to [0, 1] if the map
 * wants that.
 *
 * Bounds of an input are, in this order: the one that features.low and features.high give, the one
 * of the environment if it is finite, and else the range that training has seen. The last one
 * grows: an observation outside the box moves that side beyond it by a quarter of the new range, so
 * that the box changes a few times only. Whatever was computed from scaled inputs is void then.
 *
 * Bytes become floats from 0 to 255.
 *
 * Invariant: the box changes in lgv__feature_input_grow and back in lgv__feature_input_shrink only,
 * so that evaluations leave it alone.
 */
#ifndef LGV_AGENT_LINEAR_FEATURE_INPUT_H
#define LGV_AGENT_LINEAR_FEATURE_INPUT_H

#include "langevin.h"

typedef struct feature_input {
  const lgv_env_spec *env;
  const lgv_feature_bounds *bounds; /* NULL: the map reads observations as they are */
  int64_t count;                    /* numbers of an observation */
  double *low, *high;               /* (count): the box; NULL without bounds */
  uint8_t *low_fixed, *high_fixed;  /* (count): given, so that it never grows */
  uint8_t *known;                   /* (1): whether training has seen an observation */
  double *low_before, *high_before; /* (count): the box before it grew */
  bool known_before;
} feature_input;

/* The numbers of an observation. */
int64_t lgv__feature_input_count(const lgv_env_spec *env);
/* Refuses bounds that are malformed, too many or too few, or crossed. */
LGV_CHECK lgv_status lgv__feature_input_check(const lgv_feature_bounds *bounds,
                                              const lgv_env_spec *env, lgv_error *err);
/* env and bounds must outlive the input. */
void lgv__feature_input_layout(feature_input *input, const lgv_feature_bounds *bounds,
                               const lgv_env_spec *env, lgv_layout *layout);
void lgv__feature_input_open(feature_input *input);
/* The floats of an observation, as they are: out (count). */
void lgv__feature_input_read(const feature_input *input, const void *data, float *out);
/* Makes the box hold the rows x (rows x count); true if it changed. */
bool lgv__feature_input_grow(feature_input *input, const float *x, int64_t rows);
/* Restores the box to its state before the last growth. */
void lgv__feature_input_shrink(feature_input *input);
/* What the map reads: out (rows x count) from x; without bounds x itself is returned. */
const float *lgv__feature_input_scale(const feature_input *input, const float *x, int64_t rows,
                                      float *out);

#endif
