/* The network of cells: f(c, a), a value of every action at one observation of each cell (cells.h).
 * It learns from the pairs that were tried, and so says what to expect of similar ones. It starts
 * at 0, and its values are in units of the prior. */
#ifndef LGV_AGENT_DEEP_CELL_NETWORK_H
#define LGV_AGENT_DEEP_CELL_NETWORK_H

#include "agent/deep/dqn_core.h"
#include "agent/pathwise/cells.h"

typedef struct cell_network {
  const dqn_params *p;
  const lgv_env_spec *env;
  cells *cells;
  net net;
  const lgv_optim_type *optimizer;
  const void *optim_params;
  lgv_rng *init, *draw, *noise;
  lgv_noise *optim_noise;
  running_scale scale;
  int64_t *updates;                        /* (1) */
  int64_t *refreshed;                      /* (1): the cell whose outputs are renewed next */
  float *w, *slot[LGV_OPTIM_SLOTS], *grad; /* (net.params) */
  net_tiles tiles;
  net_tape tape, act_tape;
  uint8_t *examples; /* (rows of the tape x obs_bytes) */
  int64_t *drawn;    /* (batch): cells */
  float *d_outputs;  /* (batch x actions) */
} cell_network;

/* p, env and cells must outlive n; p is resolved, and sizes of cells are set. */
void lgv__cell_network_layout(cell_network *n, const dqn_params *p, const lgv_env_spec *env,
                              cells *cells, const lgv_problem *problem, lgv_layout *layout);
void lgv__cell_network_open(cell_network *n);
/* Takes a transition into the scales of the inputs. */
void lgv__cell_network_see(cell_network *n, const lgv_transition *transition);

/* (actions), until the next call. encoded: as the replay encodes it. */
const float *lgv__cell_network_values(cell_network *n, const void *encoded);
/* One update towards the sampled values of tried pairs, each at most one deviation of the prior
 * from its mean, at cells drawn uniformly. Returns the loss. */
double lgv__cell_network_update(cell_network *n, double prior);
/* Renews the outputs that cells keep (cells->base), of many cells in turns. */
void lgv__cell_network_refresh(cell_network *n);

#endif
