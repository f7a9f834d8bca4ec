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

/* All exponent bits are set in infinity and NaN. The loop compares integers, so that the compiler
 * can vectorize it. */
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

void lgv__obs_interleave(const uint8_t *const *picture, int32_t frames, int64_t pixels,
                         int32_t depth, uint8_t *out) {
  if (frames == 4 && depth == 1) { /* the usual case, in a loop that the compiler can vectorize */
    const uint8_t *restrict a = picture[0], *restrict b = picture[1], *restrict c = picture[2],
                            *restrict d = picture[3];
    uint8_t *restrict to = out;
    for (int64_t i = 0; i < pixels; i++) {
      to[4 * i] = a[i];
      to[4 * i + 1] = b[i];
      to[4 * i + 2] = c[i];
      to[4 * i + 3] = d[i];
    }
    return;
  }
  for (int64_t i = 0; i < pixels; i++)
    for (int32_t f = 0; f < frames; f++, out += depth)
      memcpy(out, picture[f] + i * depth, (size_t)depth);
}
