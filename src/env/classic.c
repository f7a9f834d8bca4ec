#include "env/classic.h"

#include "base/arena.h"
#include "base/portable_math.h"

#include <math.h>

/* No task leaves this range: the angle of a pendulum that spins for 1e9 steps comes closest. */
static const double most_value = 1e9;

static const char *value_fault(const void *self) {
  const lgv_classic *c = self;
  for (int i = 0; i < LGV_CLASSIC_STATE; i++)
    if (!(fabs(c->x[i]) <= most_value)) return "number out of range";
  return NULL;
}

lgv_env_spec lgv__classic_spec(const void *params, int32_t obs_length, int32_t actions) {
  return (lgv_env_spec){
      .obs_kind = LGV_OBS_FLOAT,
      .obs_form = LGV_FORM_DENSE,
      .obs_shape = {obs_length, 1, 1},
      .actions = lgv_discrete(actions),
      .horizon = ((const lgv_classic_params *)params)->horizon,
      .stationary = true,
      .clock_truncates = true,
  };
}

void lgv__classic_layout(void *self, const void *params, const lgv_env_spec *spec,
                         lgv_layout *layout) {
  (void)params;
  lgv_classic *c = self;
  c->horizon = spec->horizon;
  c->x = lgv_layout_array(layout, "env.x", LGV_F64, LGV_CLASSIC_STATE, LGV_KEEP);
  lgv_layout_check(layout, value_fault, c);
  c->clock = lgv_layout_array(layout, "env.elapsed", LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(layout, lgv__counter_fault, c->clock);
}

void lgv__classic_reset(lgv_classic *c, int n, double low, double high, lgv_rng *rng) {
  for (int i = 0; i < n; i++) c->x[i] = low + (high - low) * lgv_rng_uniform(rng);
  *c->clock = 0;
}

void lgv__classic_finish(lgv_classic *c, double reward, bool terminated, lgv_outcome *outcome) {
  ++*c->clock;
  outcome->reward = reward;
  outcome->terminated = terminated;
  outcome->truncated = !terminated && *c->clock >= c->horizon;
}

/* The exponent is hidden from the compiler, which would otherwise use a product. */
double lgv__classic_square(double x) {
  static volatile const double two = 2;
  return lgv__pow(x, two);
}
