/* Switches: a row of n lamps, each with its own switch, all of them set at once. A task whose
 * actions make many choices: k^n joint actions, 2^20 by default.
 *
 * A lamp has k positions and is lit in one of them, lamp i in position i mod k. Choice j of its
 * switch turns it by j positions; 0 leaves it as it is. A step turns all lamps, pays the share that
 * is lit, and then every lamp falls into a random position with probability env.flip. Observations
 * are the positions, one-hot per lamp. Turning every lamp into its lit position pays 1 per step,
 * so that the optimum is the horizon; random choices are worth 1/k of it. */
#include "base/arena.h"
#include "base/error.h"
#include "base/param.h"

#include <string.h>

typedef struct params {
  int64_t lamps, positions, horizon;
  double flip;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_INT_ROW(params, lamps, "lamps", "20", 1, LGV_MOST_PARTS, "n: lamps, and choices per action"),
    LGV_INT_ROW(params, positions, "positions", "2", 2, 1000, "k: positions of a lamp, and options of each choice"),
    LGV_INT_ROW(params, horizon, "horizon", "20", 1, 1e6, "steps per episode"),
    LGV_REAL_ROW(params, flip, "flip", "0.1", 0, 1, 0, "probability that a lamp falls into a random position after a step"),
    {0},
};
/* clang-format on */

typedef struct self {
  const params *p;
  int32_t *position; /* (lamps) */
  int64_t *elapsed;  /* (1): steps of the episode */
} self;

static lgv_status spec(const void *params_, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  const params *p = params_;
  int32_t choices[LGV_MOST_PARTS];
  for (int64_t i = 0; i < p->lamps; i++) choices[i] = (int32_t)p->positions;
  *out = (lgv_env_spec){
      .obs_shape = {(int32_t)(p->lamps * p->positions), 1, 1},
      .actions = lgv_multi_discrete((int32_t)p->lamps, choices),
      .horizon = p->horizon,
      .stationary = true,
      .clock_truncates = true,
      .reward_max = 1,
  };
  return LGV_OK;
}

static const char *position_fault(const void *self_) {
  const self *s = self_;
  for (int64_t i = 0; i < s->p->lamps; i++)
    if (!lgv__is_within(s->position[i], 0, s->p->positions - 1)) return "a lamp in no position";
  return NULL;
}

static void layout(void *self_, const void *params_, const lgv_env_spec *env, lgv_layout *out) {
  (void)env;
  self *s = self_;
  s->p = params_;
  s->position = lgv_layout_array(out, "switches.position", LGV_I32, (size_t)s->p->lamps, LGV_KEEP);
  lgv_layout_check(out, position_fault, s);
  s->elapsed = lgv_layout_array(out, "switches.elapsed", LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(out, lgv__counter_fault, s->elapsed);
}

static int32_t draw_position(const self *s, lgv_rng *rng) {
  return (int32_t)lgv_rng_below(rng, s->p->positions);
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  (void)err;
  self *s = self_;
  for (int64_t i = 0; i < s->p->lamps; i++) s->position[i] = draw_position(s, rng);
  *s->elapsed = 0;
  return LGV_OK;
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)err;
  self *s = self_;
  int32_t k = (int32_t)s->p->positions;
  int64_t lit = 0;
  for (int64_t i = 0; i < s->p->lamps; i++) {
    s->position[i] = (s->position[i] + action->choices[i]) % k;
    lit += s->position[i] == i % k;
  }
  for (int64_t i = 0; i < s->p->lamps; i++)
    if (lgv_rng_uniform(rng) < s->p->flip) s->position[i] = draw_position(s, rng);
  outcome->reward = (double)lit / (double)s->p->lamps;
  outcome->truncated = ++*s->elapsed >= s->p->horizon;
  return LGV_OK;
}

static void observe(const void *self_, void *data) {
  const self *s = self_;
  int64_t k = s->p->positions;
  float *x = data;
  memset(x, 0, (size_t)(s->p->lamps * k) * sizeof *x);
  for (int64_t i = 0; i < s->p->lamps; i++) x[i * k + s->position[i]] = 1;
}

const lgv_env_type lgv__env_switches = {
    .name = "switches",
    .summary = "a row of lamps whose switches are all set at once: 2^20 joint actions",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .reset = reset,
    .step = step,
    .observe = observe,
};
