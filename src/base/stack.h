/* Stacks of the last observations, oldest first.
 *
 * Pictures are stacked along their channels, so that a stack of k pictures of (height x width x
 * channels) is one of (height x width x k channels). Vectors, (length, 1, 1), follow each other:
 * (k length, 1, 1). So do the vectors beside pictures. lgv_env_spec.frames says how many
 * observations a stack has: an environment handle makes stacks (env.stack), and a replay stores
 * each observation once and rebuilds the stacks.
 *
 * Below, `one` is the spec of a single observation. Functions that write an observation leave the
 * bytes between a picture and its vector as they are. */
#ifndef LGV_BASE_STACK_H
#define LGV_BASE_STACK_H

#include "langevin.h"

enum { LGV_MOST_FRAMES = 64 };

static inline int32_t lgv__frames(const lgv_env_spec *spec) {
  return spec->frames > 1 ? spec->frames : 1;
}

/* The spec of one observation of a stack; spec has no fault (lgv__obs_fault). */
lgv_env_spec lgv__stack_one(const lgv_env_spec *spec);
/* The spec of a stack. Sparse observations become dense vectors. Returns NULL, or what is wrong;
 * then *stack is undefined. */
const char *lgv__stack_spec(const lgv_env_spec *one, int64_t frames, lgv_env_spec *stack);

/* Copies one observation. */
void lgv__stack_copy(const lgv_env_spec *one, const void *obs, void *out);
/* Makes a stack of `frames` observations. */
void lgv__stack_join(const lgv_env_spec *one, int32_t frames, const void *const *obs, void *stack);
/* Takes the newest observation out of a stack. */
void lgv__stack_newest(const lgv_env_spec *one, int32_t frames, const void *stack, void *newest);
/* next = stack without its oldest observation, and with a newest one. */
void lgv__stack_push(const lgv_env_spec *one, int32_t frames, const void *stack, const void *newest,
                     void *next);

/* Interleaves `frames` arrays of (pixels x depth) bytes into one of (pixels x frames x depth). */
void lgv__interleave(const uint8_t *const *arrays, int32_t frames, int64_t pixels, int64_t depth,
                     uint8_t *out);

#endif
