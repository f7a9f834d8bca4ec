/* The common part of the classic control tasks: a state of a few doubles, a clock that truncates, a
 * dense observation. */
#ifndef LGV_ENV_CLASSIC_H
#define LGV_ENV_CLASSIC_H

#include "base/param.h"

enum { LGV_CLASSIC_STATE = 4 }; /* enough for the largest task */

/* The first member of such an environment's state struct. */
typedef struct lgv_classic {
  double *x;      /* (LGV_CLASSIC_STATE) */
  int64_t *clock; /* (1) steps taken in this episode */
  int64_t horizon;
} lgv_classic;

typedef struct lgv_classic_params {
  int64_t horizon;
} lgv_classic_params;

/* The row of env.horizon, and a parameter table that has no other. The parameter struct of a task
 * begins with an lgv_classic_params. */
/* clang-format off */
#define LGV_CLASSIC_HORIZON_ROW(text) LGV_INT_ROW(lgv_classic_params, horizon, "horizon", text, 1, 1e9, "steps after which an episode is truncated")
#define LGV_CLASSIC_PARAM_TABLE(text) {LGV_CLASSIC_HORIZON_ROW(text), {0}}
/* clang-format on */

lgv_env_spec lgv__classic_spec(const void *params, int32_t obs_length, int32_t actions);
void lgv__classic_layout(void *self, const void *params, const lgv_env_spec *spec,
                         lgv_layout *layout);
/* Draws the first n state variables uniformly in [low, high) and starts the clock. */
void lgv__classic_reset(lgv_classic *self, int n, double low, double high, lgv_rng *rng);
/* Ends a step. An episode that reaches its goal on the last step is terminated, not truncated. */
void lgv__classic_finish(lgv_classic *self, double reward, bool terminated, lgv_outcome *outcome);
/* x^2 by pow(), as Python's ** has it: the last bit sometimes differs from that of a product. */
double lgv__classic_square(double x);

#endif
