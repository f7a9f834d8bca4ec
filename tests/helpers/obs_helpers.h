/* Observations of any spec, and their stacks element by element. */
#ifndef LGV_TESTS_OBS_HELPERS_H
#define LGV_TESTS_OBS_HELPERS_H

#include "base/spec.h"
#include "run_helpers.h"

#include <stdlib.h>

static inline size_t obs_entry(const lgv_env_spec *spec) {
  return spec->obs_kind == LGV_OBS_BYTE ? 1 : sizeof(float);
}

/* A random observation that fits the form. */
static inline void obs_draw(const lgv_env_spec *spec, lgv_rng *rng, void *data) {
  size_t count = lgv__obs_count(spec);
  int64_t index = lgv_rng_below(rng, (int64_t)count);
  float *x = data, *vector = (float *)(void *)((char *)data + lgv__obs_vector_at(spec));
  for (size_t i = 0; i < count; i++)
    if (spec->obs_kind == LGV_OBS_BYTE)
      ((uint8_t *)data)[i] = (uint8_t)lgv_rng_below(rng, 256);
    else if (spec->obs_form == LGV_FORM_DENSE)
      x[i] = (float)lgv_rng_normal(rng);
    else
      x[i] = spec->obs_form == LGV_FORM_ONE_HOT ? (int64_t)i == index : (int64_t)i < index;
  for (int32_t i = 0; i < spec->vector; i++) vector[i] = (float)lgv_rng_normal(rng);
}

/* The stack of `frames` observations of the spec `one`, whose own stack has the spec `spec`. */
static inline void obs_stack(const lgv_env_spec *one, const lgv_env_spec *spec, int32_t frames,
                             const void *const *obs, void *out) {
  int64_t h = one->obs_shape[0], w = one->obs_shape[1], c = one->obs_shape[2], n = one->vector;
  size_t size = obs_entry(one), from = lgv__obs_vector_at(one), to = lgv__obs_vector_at(spec);
  char *stack = out;
  for (int32_t f = 0; f < frames; f++) {
    const char *x = obs[f];
    for (int64_t y = 0; y < h; y++)
      for (int64_t p = 0; p < w; p++)
        for (int64_t k = 0; k < c; k++) {
          int64_t at = w > 1 ? (y * w + p) * c * frames + f * c + k : (f * h + y) * c + k;
          memcpy(stack + (size_t)at * size, x + (size_t)((y * w + p) * c + k) * size, size);
        }
    memcpy(stack + to + (size_t)(f * n) * sizeof(float), x + from, (size_t)n * sizeof(float));
  }
}

/* Whether two observations are equal, whatever lies between a picture and its vector. */
static inline bool obs_equal(const lgv_env_spec *spec, const void *a, const void *b) {
  size_t at = lgv__obs_vector_at(spec), bytes = (size_t)spec->vector * sizeof(float);
  return memcmp(a, b, lgv__obs_count(spec) * obs_entry(spec)) == 0 &&
         (bytes == 0 || memcmp((const char *)a + at, (const char *)b + at, bytes) == 0);
}

#endif
