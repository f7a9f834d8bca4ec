/* Continuous RiverSwim: the chain of env_riverswim.c (osband) as a river of length 1, for agents
 * that see positions instead of states. The design is ours; where others made rivers continuous,
 * they differ from each other.
 *
 * A state of the chain is a cell of width 1/n: its first cell is [0, 1/n], its last [1 - 1/n, 1]. A
 * left stroke moves one cell to the left. A right stroke moves by (0.3 + sqrt(0.31) eps) cells, eps
 * standard normal: the mean and the variance of the chain's right move, which succeeds with
 * probability 0.35 and fails with 0.05. The banks stop the swimmer. A left stroke from the first
 * cell pays 0.005, a right stroke from the last cell pays 1. An episode starts anywhere in the
 * first cell, and only the clock ends it. */
#include "env/classic.h"
#include "env/sketch.h"

#include <math.h>

enum { LEFT, RIGHT, ACTIONS };

static const double drift = 0.3, variance = 0.31, small_reward = 5e-3;

typedef struct params {
  lgv_classic_params classic;
  int64_t n;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_CLASSIC_HORIZON_ROW("40"),
    LGV_INT_ROW(params, n, "n", "12", 2, 1e6, "width of the river, in left strokes"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_classic classic;
  double cell; /* 1/n */
} self;

static const float lowest = 0, highest = 1;

static lgv_status spec(const void *p, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  *out = lgv__classic_spec(p, 1, ACTIONS);
  out->reward_max = 1;
  out->obs_low = &lowest;
  out->obs_high = &highest;
  return LGV_OK;
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  ((self *)self_)->cell = 1 / (double)((const params *)p)->n;
  lgv__classic_layout(self_, p, env, out);
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  (void)err;
  self *s = self_;
  lgv__classic_reset(&s->classic, 1, 0, s->cell, rng);
  return LGV_OK;
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)err;
  self *s = self_;
  double *x = s->classic.x, reward = 0, cells = -1;
  if (action->choice == LEFT && *x <= s->cell) reward = small_reward;
  if (action->choice == RIGHT && *x >= 1 - s->cell) reward = 1;
  if (action->choice == RIGHT) cells = drift + sqrt(variance) * lgv_rng_normal(rng);
  *x = fmin(fmax(*x + cells * s->cell, 0), 1);
  lgv__classic_finish(&s->classic, reward, false, outcome);
  return LGV_OK;
}

static void observe(const void *self_, void *data) {
  *(float *)data = (float)*((const lgv_classic *)self_)->x;
}

static void render(const void *self_, char *text, size_t size) {
  sketch s;
  lgv__sketch_clear(&s, 72, 1, '-');
  lgv__sketch_point(&s, *((const lgv_classic *)self_)->x, 0.5, 'O');
  lgv__sketch_write(&s, text, size);
}

const lgv_env_type lgv__env_continuous_riverswim = {
    .name = "continuous-riverswim",
    .summary = "swim up a river whose states are positions, not places of a chain",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .reset = reset,
    .step = step,
    .observe = observe,
    .render = render,
};
