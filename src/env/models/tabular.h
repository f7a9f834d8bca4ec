/* An environment that is its exact model: the state is an index, every step is a draw from the
 * model. RiverSwim, linear MDPs, N-Chain and DeepSea build a model in `open` and differ in the
 * observations that they show. */
#ifndef LGV_ENV_TABULAR_H
#define LGV_ENV_TABULAR_H

#include "env/models/model.h"

/* The first member of such an environment's state struct. */
typedef struct lgv_tabular {
  lgv_model *model;
  int64_t *at;          /* [0] state, [1] stage */
  bool clock_truncates; /* as in the spec; false: the clock terminates */
} lgv_tabular;

enum { LGV_AT_STATE, LGV_AT_STAGE, LGV_AT_SIZE };

/* Hooks of lgv_env_type; self begins with an lgv_tabular. */
void lgv__tabular_layout(void *self, const void *params, const lgv_env_spec *spec,
                         lgv_layout *layout);
void lgv__tabular_close(void *self);
const lgv_model *lgv__tabular_model(const void *self);
lgv_status lgv__tabular_reset(void *self, lgv_rng *rng, lgv_error *err);
lgv_status lgv__tabular_step(void *self, const lgv_action *action, lgv_rng *rng,
                             lgv_outcome *outcome, lgv_error *err);
void lgv__tabular_observe_one_hot(const void *self, void *data);
void lgv__tabular_mask(const void *self, uint8_t *allowed); /* what the model allows */
int64_t lgv__tabular_state(const void *self);

/* The spec of a one-hot observation over `states` states, with rewards in [0, 1] and a clock that
 * terminates the episode. */
lgv_env_spec lgv__tabular_spec(int64_t states, int32_t actions, int64_t horizon, bool stationary);

/* Hook `render`: the states in a row. */
void lgv__tabular_render_chain(const void *self, char *text, size_t size);

#endif
