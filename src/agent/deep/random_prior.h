/* Randomized prior functions (Osband, Aslanides, Cassirer, NeurIPS 2018): for every copy of a
 * network another one, p, that is drawn once and never trained; the copy's values are f + scale p.
 *
 * p is drawn as a new network is (lgv__net_init), except for one-hot inputs, of which one weight of
 * many is in use: those weights are as large as the weights of a single input, since a prior must
 * distinguish the states however many there are. Where an observation is an index, the values of
 * all of them are computed at the start and kept in place of the networks. */
#ifndef LGV_AGENT_DEEP_RANDOM_PRIOR_H
#define LGV_AGENT_DEEP_RANDOM_PRIOR_H

#include "nn/net.h"

typedef struct random_prior {
  net net;
  int64_t copies;
  float scale;
  float *w;     /* (copies x params); tabulated: (params), one after the other; scale 0: NULL */
  float *table; /* (observations x copies x outputs); NULL if observations are not indices */
  net_tiles tiles;
  net_tape tape;
} random_prior;

/* scale = 0: there is none, and all values are 0. batch: rows at a time. */
void lgv__random_prior_layout(random_prior *r, const net_shape *shape, int64_t copies,
                              int64_t batch, double scale, lgv_layout *layout);
void lgv__random_prior_open(random_prior *r, lgv_rng *init);
/* out (rows x outputs) = scale p of a copy for `rows` observations. */
void lgv__random_prior_values(random_prior *r, int64_t copy, net_input input, int64_t rows,
                              float *out);

#endif
