/* Distributions over a fixed grid of atoms z_j = v_min + j (v_max - v_min) / (n - 1). */
#ifndef LGV_AGENT_DEEP_CATEGORICAL_H
#define LGV_AGENT_DEEP_CATEGORICAL_H

#include <stdint.h>

void lgv__categorical_grid(int64_t n, double v_min, double v_max, float *z);
/* m (n) = the distribution of reward + discount z for z ~ p (n), cut to [v_min, v_max], with the
 * mass of every atom shared between its two neighbors on the grid so that the mean stays
 * (Bellemare et al., 2017, Eq. 7). */
void lgv__categorical_project(int64_t n, double v_min, double v_max, const float *p, float reward,
                              float discount, float *m);

#endif
