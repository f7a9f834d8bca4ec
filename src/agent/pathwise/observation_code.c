#include "agent/pathwise/observation_code.h"

#include "base/arena.h"
#include "base/portable_math.h"
#include "base/spec.h"
#include "base/stack.h"
#include "replay/replay.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
  FIRST_WINDOW = 1024,
  WINDOW = 4096,
  FEWEST_CELLS = 128,
  MOST_BINS = 64,  /* at level 1; a power of two */
  LAST_LEVEL = 21, /* 2 bins */
  GRAY_LEVELS = 4
};

/* ---- what an observation consists of ---- */

static bool is_index(const lgv_env_spec *env) { return env->obs_form != LGV_FORM_DENSE; }
static bool is_picture(const lgv_env_spec *env) {
  return lgv__is_picture(env->obs_form, env->obs_shape);
}

/* Ranges of pictures: one per channel of the newest one. */
static int32_t picture_ranges(const lgv_env_spec *env) {
  return is_picture(env) ? env->obs_shape[2] / lgv__frames(env) : 0;
}

static bool is_large(const lgv_env_spec *env) {
  return is_picture(env) && env->obs_shape[0] >= LGV_LARGE_PICTURE &&
         env->obs_shape[1] >= LGV_LARGE_PICTURE;
}

/* The numbers with a range of their own: of a vector, or of the vector beside a picture. */
static int64_t vector_length(const lgv_env_spec *env) {
  return is_picture(env) ? env->vector : (int64_t)lgv__obs_count(env);
}

static float number_at(const lgv_env_spec *env, const void *data, int64_t i) {
  return env->obs_kind == LGV_OBS_BYTE ? (float)((const uint8_t *)data)[i]
                                       : ((const float *)data)[i];
}

/* Number i of the vector. */
static float vector_at(const lgv_env_spec *env, const void *data, int64_t i) {
  if (!is_picture(env)) return number_at(env, data, i);
  return ((const float *)(const void *)((const uint8_t *)data + lgv__obs_vector_at(env)))[i];
}

static const char *counter_fault(const void *code) {
  const observation_code *c = code;
  bool ok = lgv__are_counts(c->count, CODE_COUNTERS) && c->count[CODE_LEVEL] <= LAST_LEVEL;
  return ok ? NULL : "counter out of range";
}

static const char *range_fault(const void *code) {
  const observation_code *c = code;
  int64_t ranges = picture_ranges(c->env) + vector_length(c->env);
  for (int64_t i = 0; i < ranges; i++)
    if (isnan(c->low[i]) || isnan(c->high[i])) return "a range that cannot be";
  return NULL;
}

static const char *width_fault(const void *code) {
  const observation_code *c = code;
  for (int64_t i = 0; i < vector_length(c->env); i++)
    if (!(c->width[i] >= 0)) return "a width that cannot be";
  return NULL;
}

void lgv__observation_code_layout(observation_code *c, const lgv_env_spec *env,
                                  lgv_layout *layout) {
  c->env = env;
  size_t ranges = is_index(env) ? 0 : (size_t)(picture_ranges(env) + vector_length(env));
  c->count = lgv_layout_array(layout, "code.counters", LGV_I64, CODE_COUNTERS, LGV_KEEP);
  lgv_layout_check(layout, counter_fault, c);
  c->low = lgv_layout_array(layout, "code.low", LGV_F32, ranges, LGV_KEEP);
  c->high = lgv_layout_array(layout, "code.high", LGV_F32, ranges, LGV_KEEP);
  if (ranges > 0) lgv_layout_check(layout, range_fault, c);
  size_t widths = is_index(env) ? 0 : (size_t)vector_length(env);
  c->width = lgv_layout_array(layout, "code.width", LGV_F32, widths, LGV_KEEP);
  if (widths > 0) lgv_layout_check(layout, width_fault, c);
}

void lgv__observation_code_open(observation_code *c) {
  if (is_index(c->env)) return;
  for (int64_t i = 0; i < picture_ranges(c->env) + vector_length(c->env); i++) {
    c->low[i] = FLT_MAX; /* empty, and finite, as all numbers of a checkpoint are */
    c->high[i] = -FLT_MAX;
  }
}

/* ---- names ---- */

/* Mixes another word into a name. Every bit of the result depends on all bits before (the constants
 * are those of a well-known 64-bit finalizer by Stafford). */
static uint64_t mix(uint64_t name, uint64_t word) {
  uint64_t x = name * 0x9e3779b97f4a7c15u + word;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static uint64_t name_bytes(const uint8_t *data, size_t count) {
  uint64_t name = count, word;
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    memcpy(&word, data + i, 8);
    name = mix(name, word);
  }
  word = 0;
  memcpy(&word, data + i, count - i);
  return mix(name, word);
}

/* The bin of a number; those that no integer can count share the last ones. */
static int64_t bin_of(double x, double width) {
  const double last = 0x1p62;
  return width > 0 ? (int64_t)fmin(fmax(floor(x / width), -last), last) : 0;
}

static uint64_t name_vector(const observation_code *c, const void *data, uint64_t name) {
  for (int64_t i = 0; i < vector_length(c->env); i++)
    name = mix(name, (uint64_t)bin_of((double)vector_at(c->env, data, i), (double)c->width[i]));
  return name;
}

/* The side of the squares. */
static int32_t side_at(const lgv_env_spec *env, int64_t level) {
  return is_large(env) ? (int32_t)nearbyint(lgv__pow(2, 0.5 * (double)level)) : 1 << (level - 1);
}

/* The mean of channel `channel` of the newest picture over a square of pixels, as far as it lies in
 * the picture. */
static float mean_of_square(const lgv_env_spec *env, const void *data, int32_t row, int32_t column,
                            int32_t channel, int32_t side) {
  int32_t height = env->obs_shape[0], width = env->obs_shape[1], depth = env->obs_shape[2];
  int64_t at = depth - picture_ranges(env) + channel;
  double sum = 0, count = 0;
  for (int32_t y = row; y < row + side && y < height; y++)
    for (int32_t x = column; x < column + side && x < width; x++, count++)
      sum += (double)number_at(env, data, ((int64_t)y * width + x) * depth + at);
  return (float)(sum / count);
}

static uint64_t name_picture(const observation_code *c, const void *data) {
  const lgv_env_spec *env = c->env;
  int32_t side = side_at(env, c->count[CODE_LEVEL]), grays = side == 1 ? 2 : GRAY_LEVELS;
  uint64_t name = (uint64_t)c->count[CODE_LEVEL], word = 0;
  int digits = 0;
  for (int32_t y = 0; y < env->obs_shape[0]; y += side)
    for (int32_t x = 0; x < env->obs_shape[1]; x += side)
      for (int32_t k = 0; k < picture_ranges(env); k++) {
        float range = c->high[k] - c->low[k], mean = mean_of_square(env, data, y, x, k, side);
        float share = range > 0 ? (mean - c->low[k]) / range : 0;
        int32_t gray = (int32_t)fminf((float)grays * fmaxf(share, 0), (float)grays - 1);
        word = word << 2 | (uint64_t)gray;
        if (++digits % 32 == 0) name = mix(name, word);
      }
  return mix(name, word);
}

uint64_t lgv__observation_code(const observation_code *c, const void *encoded) {
  int32_t index;
  if (is_index(c->env)) {
    memcpy(&index, encoded, sizeof index);
    return mix(0, (uint64_t)(int64_t)index);
  }
  if (c->count[CODE_LEVEL] == 0) return name_bytes(encoded, lgv__replay_encoded_bytes(c->env));
  return name_vector(c, encoded, is_picture(c->env) ? name_picture(c, encoded) : 0);
}

/* ---- ranges and levels ---- */

static void widen(observation_code *c, int64_t range, float x) {
  if (x < c->low[range]) c->low[range] = x;
  if (x > c->high[range]) c->high[range] = x;
}

void lgv__observation_code_see(observation_code *c, const void *encoded) {
  if (is_index(c->env)) return;
  int64_t channels = picture_ranges(c->env), depth = c->env->obs_shape[2];
  int64_t numbers = channels > 0 ? (int64_t)lgv__obs_count(c->env) : 0;
  for (int64_t k = 0; k < channels; k++)
    for (int64_t i = depth - channels + k; i < numbers; i += depth)
      widen(c, k, number_at(c->env, encoded, i));
  for (int64_t i = 0; i < vector_length(c->env); i++)
    widen(c, channels + i, vector_at(c->env, encoded, i));
}

void lgv__observation_code_look(observation_code *c, bool is_new) {
  c->count[CODE_LOOKS]++;
  c->count[CODE_NEW] += is_new;
}

/* Whether a window has ended of which too much was new; in the first, nearly all of it. */
static bool window_was_new(observation_code *c) {
  int64_t looks = c->count[CODE_LOOKS] - c->count[CODE_WINDOW], fresh = c->count[CODE_NEW];
  bool first = c->count[CODE_WINDOW] == 0;
  if (looks < (first ? FIRST_WINDOW : WINDOW)) return false;
  c->count[CODE_WINDOW] = c->count[CODE_LOOKS];
  c->count[CODE_NEW] = 0;
  if (first) return 50 * (looks - fresh) < looks;
  return (is_large(c->env) ? 4 : 2) * fresh > looks;
}

bool lgv__observation_code_is_too_fine(observation_code *c, int64_t cells) {
  if (is_index(c->env) || c->count[CODE_LEVEL] == LAST_LEVEL) return false;
  if (is_picture(c->env) || c->count[CODE_LEVEL] == 0) return window_was_new(c);
  return (double)cells > fmax(FEWEST_CELLS, sqrt((double)c->count[CODE_LOOKS]));
}

void lgv__observation_code_restart(observation_code *c) {
  if (!is_picture(c->env)) c->count[CODE_LEVEL] = 0;
}

void lgv__observation_code_coarsen(observation_code *c) {
  int64_t level = ++c->count[CODE_LEVEL], channels = picture_ranges(c->env);
  float bins = MOST_BINS * (float)lgv__pow(2, -0.25 * (double)(level - 1));
  for (int64_t i = 0; i < vector_length(c->env); i++)
    c->width[i] = fmaxf(c->width[i], (c->high[channels + i] - c->low[channels + i]) / bins);
}
