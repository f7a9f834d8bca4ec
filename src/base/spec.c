#include "base/spec.h"

#include <string.h>

const char *lgv__obs_fault(const lgv_env_spec *s) {
  if (s->obs_kind != LGV_OBS_FLOAT && s->obs_kind != LGV_OBS_BYTE)
    return "an unknown kind of observations";
  if (s->obs_shape[0] < 1 || s->obs_shape[1] < 1 || s->obs_shape[2] < 1)
    return "an observation without entries";
  if ((double)s->obs_shape[0] * s->obs_shape[1] * s->obs_shape[2] > 0x1p40)
    return "an observation too large for any memory";
  return NULL;
}

const char *lgv__spec_fault(const lgv_env_spec *s) {
  if (s->actions < 1) return "no action";
  if (s->states < 0 || s->horizon < 0 || s->feature_dim < 0)
    return "a negative number of states, steps or features";
  if (!(s->reward_min <= s->reward_max)) return "a lower bound of rewards above the upper one";
  return NULL;
}

size_t lgv__obs_count(const lgv_env_spec *s) {
  return (size_t)s->obs_shape[0] * (size_t)s->obs_shape[1] * (size_t)s->obs_shape[2];
}

/* Exponent bits all set: infinity or NaN. Whole numbers, so that the loop becomes vector code. */
bool lgv__obs_is_finite(const lgv_env_spec *spec, const void *data) {
  const uint32_t exponent = 0x7f800000u;
  const float *x = data;
  size_t count = spec->obs_kind == LGV_OBS_FLOAT ? lgv__obs_count(spec) : 0;
  uint32_t bad = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    bad |= (bits & exponent) == exponent;
  }
  return !bad;
}
