#include "base/stack.h"

#include "base/spec.h"

#include <string.h>

/* ---- Specs ---- */

/* The side of the shape that grows with the stack: the channels of pictures, which are wider than
 * 1, and the length of vectors. */
static int grows(const int32_t shape[3]) { return shape[1] > 1 ? 2 : 0; }

lgv_env_spec lgv__stack_one(const lgv_env_spec *spec) {
  lgv_env_spec one = *spec;
  one.frames = 1;
  one.vector /= lgv__frames(spec);
  one.obs_shape[grows(spec->obs_shape)] /= lgv__frames(spec);
  return one;
}

const char *lgv__stack_spec(const lgv_env_spec *one, int64_t frames, lgv_env_spec *stack) {
  int side = grows(one->obs_shape);
  int64_t size = one->obs_shape[side] * frames, vector = one->vector * frames;
  if (one->frames > 1) return "stacks already";
  if (size > INT32_MAX || vector > INT32_MAX) return "observations too large for a stack";
  *stack = *one;
  stack->obs_form = LGV_FORM_DENSE;
  stack->frames = (int32_t)frames;
  if (frames > 1) stack->obs_low = stack->obs_high = NULL; /* those of one observation */
  stack->obs_shape[side] = (int32_t)size;
  stack->vector = (int32_t)vector;
  return lgv__obs_fault(stack);
}

/* ---- Data ---- */

/* An observation as (pixels x depth) bytes, which a stack interleaves, and the vector beside it. */
typedef struct extent {
  int64_t pixels, depth;
  size_t vector_at, vector_bytes;
} extent;

static extent extent_of(const lgv_env_spec *one) {
  int64_t entry = one->obs_kind == LGV_OBS_BYTE ? 1 : (int64_t)sizeof(float);
  int64_t entries = (int64_t)lgv__obs_count(one);
  int64_t pixels = grows(one->obs_shape) == 0 ? 1 : entries / one->obs_shape[2];
  return (extent){.pixels = pixels,
                  .depth = entries / pixels * entry,
                  .vector_at = lgv__obs_vector_at(one),
                  .vector_bytes = (size_t)one->vector * sizeof(float)};
}

/* Where the vector begins in a stack of `frames`. */
static size_t stacked_vector_at(const extent *x, int32_t frames) {
  return ((size_t)(x->pixels * x->depth * frames) + 3) / 4 * 4;
}

void lgv__stack_copy(const lgv_env_spec *one, const void *obs, void *out) {
  extent x = extent_of(one);
  memcpy(out, obs, (size_t)(x.pixels * x.depth));
  if (x.vector_bytes > 0)
    memcpy((char *)out + x.vector_at, (const char *)obs + x.vector_at, x.vector_bytes);
}

void lgv__stack_join(const lgv_env_spec *one, int32_t frames, const void *const *obs, void *stack) {
  extent x = extent_of(one);
  lgv__interleave((const uint8_t *const *)obs, frames, x.pixels, x.depth, stack);
  if (x.vector_bytes == 0) return;
  char *vector = (char *)stack + stacked_vector_at(&x, frames);
  for (int32_t f = 0; f < frames; f++)
    memcpy(vector + (size_t)f * x.vector_bytes, (const char *)obs[f] + x.vector_at, x.vector_bytes);
}

void lgv__stack_newest(const lgv_env_spec *one, int32_t frames, const void *stack, void *newest) {
  extent x = extent_of(one);
  const char *from = (const char *)stack + (frames - 1) * x.depth;
  for (int64_t i = 0; i < x.pixels; i++)
    memcpy((char *)newest + i * x.depth, from + i * x.depth * frames, (size_t)x.depth);
  if (x.vector_bytes == 0) return;
  const char *vector = (const char *)stack + stacked_vector_at(&x, frames);
  memcpy((char *)newest + x.vector_at, vector + (size_t)(frames - 1) * x.vector_bytes,
         x.vector_bytes);
}

/* out = rows of old without their first part, followed by rows of last. */
static void push_rows(const char *old, const char *last, int64_t rows, size_t part, size_t frames,
                      char *out) {
  size_t kept = part * (frames - 1), row = part * frames;
  for (int64_t i = 0; i < rows; i++, old += row, last += part, out += row) {
    memcpy(out, old + part, kept);
    memcpy(out + kept, last, part);
  }
}

void lgv__stack_push(const lgv_env_spec *one, int32_t frames, const void *stack, const void *newest,
                     void *next) {
  extent x = extent_of(one);
  size_t at = stacked_vector_at(&x, frames), k = (size_t)frames;
  push_rows(stack, newest, x.pixels, (size_t)x.depth, k, next);
  if (x.vector_bytes > 0)
    push_rows((const char *)stack + at, (const char *)newest + x.vector_at, 1, x.vector_bytes, k,
              (char *)next + at);
}

void lgv__interleave(const uint8_t *const *arrays, int32_t frames, int64_t pixels, int64_t depth,
                     uint8_t *out) {
  if (frames == 4 && depth == 1) { /* the usual case, in a loop that the compiler can vectorize */
    const uint8_t *restrict a = arrays[0], *restrict b = arrays[1], *restrict c = arrays[2],
                            *restrict d = arrays[3];
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
      memcpy(out, arrays[f] + i * depth, (size_t)depth);
}
