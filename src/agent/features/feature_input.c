#include "agent/features/feature_input.h"

#include "base/error.h"
#include "base/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t lgv__feature_input_count(const lgv_env_spec *env) {
  return (int64_t)lgv__obs_count(env) + env->vector;
}

/* ---- bounds that are given ---- */

/* Number i of a text, or its only number; false if there is none. */
static bool number_at(const char *text, int64_t i, double *value) {
  bool one = !strchr(text, ',');
  for (; !one && i > 0; i--) {
    text = strchr(text, ',');
    if (!text++) return false;
  }
  char *end;
  *value = strtod(text, &end);
  return end != text && (*end == ',' || *end == '\0') && isfinite(*value);
}

static bool is_auto(const char *text) { return strcmp(text, "auto") == 0; }

static int64_t numbers_in(const char *text) {
  int64_t commas = 0;
  for (; *text; text++) commas += *text == ',';
  return commas + 1;
}

static lgv_status check_side(const char *key, const char *text, int64_t count, lgv_error *err) {
  double value;
  if (is_auto(text)) return LGV_OK;
  int64_t given = numbers_in(text);
  if (given != 1 && given != count)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "features.%s has %lld numbers, but an observation has %lld: give one for all, "
                    "or one for each",
                    key, (long long)given, (long long)count);
  for (int64_t i = 0; i < given; i++)
    if (!number_at(text, i, &value))
      return lgv_fail(err, LGV_ERR_USAGE,
                      "features.%s = '%.80s': number %lld is not finite or not a number (write "
                      "-1.2,-0.07, or auto)",
                      key, text, (long long)i + 1);
  return LGV_OK;
}

/* Whether a side of input i is given, by the settings or the environment; its value if so. */
static bool given_side(const lgv_env_spec *env, const char *text, const float *of_env,
                       double of_byte, int64_t i, double *value) {
  bool byte = env->obs_kind == LGV_OBS_BYTE && i < (int64_t)lgv__obs_count(env);
  if (!is_auto(text)) return number_at(text, i, value);
  if (byte) *value = of_byte;
  if (byte || !of_env || !isfinite(of_env[i])) return byte;
  *value = (double)of_env[i];
  return true;
}

static bool given_low(const lgv_feature_bounds *bounds, const lgv_env_spec *env, int64_t i,
                      double *value) {
  return given_side(env, bounds->low, env->obs_low, 0, i, value);
}

static bool given_high(const lgv_feature_bounds *bounds, const lgv_env_spec *env, int64_t i,
                       double *value) {
  return given_side(env, bounds->high, env->obs_high, 255, i, value);
}

lgv_status lgv__feature_input_check(const lgv_feature_bounds *bounds, const lgv_env_spec *env,
                                    lgv_error *err) {
  int64_t count = lgv__feature_input_count(env);
  bool own_low = !is_auto(bounds->low), own_high = !is_auto(bounds->high);
  double low, high;
  LGV_TRY(check_side("low", bounds->low, count, err));
  LGV_TRY(check_side("high", bounds->high, count, err));
  for (int64_t i = 0; (own_low || own_high) && i < count; i++)
    if (given_low(bounds, env, i, &low) && given_high(bounds, env, i, &high) && !(low < high))
      return lgv_fail(err, LGV_ERR_USAGE,
                      "the lower bound %g of input %lld (%s) is not below its upper bound %g (%s): "
                      "set features.low and features.high",
                      low, (long long)i + 1, own_low ? "features.low" : "the environment's", high,
                      own_high ? "features.high" : "the environment's");
  return LGV_OK;
}

/* ---- memory ---- */

static const char *box_fault(const void *self) {
  const feature_input *in = self;
  for (int64_t i = 0; i < in->count; i++)
    if (!(in->low[i] <= in->high[i])) return "a range that is empty";
  return NULL;
}

void lgv__feature_input_layout(feature_input *in, const lgv_feature_bounds *bounds,
                               const lgv_env_spec *env, lgv_layout *layout) {
  in->env = env;
  in->bounds = bounds;
  in->count = lgv__feature_input_count(env);
  if (!bounds) return;
  size_t count = (size_t)in->count;
  in->known = lgv_layout_array(layout, "features.known", LGV_U8, 1, LGV_KEEP);
  in->low = lgv_layout_array(layout, "features.low", LGV_F64, count, LGV_KEEP);
  in->high = lgv_layout_array(layout, "features.high", LGV_F64, count, LGV_KEEP);
  lgv_layout_check(layout, box_fault, in);
  in->low_fixed = lgv_layout_array(layout, "features.low_fixed", LGV_U8, count, LGV_KEEP);
  in->high_fixed = lgv_layout_array(layout, "features.high_fixed", LGV_U8, count, LGV_KEEP);
  in->low_before = lgv_layout_array(layout, "features.low_before", LGV_F64, count, LGV_SCRATCH);
  in->high_before = lgv_layout_array(layout, "features.high_before", LGV_F64, count, LGV_SCRATCH);
}

/* A box without a given side begins empty, at the other side or at 0. */
void lgv__feature_input_open(feature_input *in) {
  const lgv_env_spec *env = in->env;
  for (int64_t i = 0; in->bounds && i < in->count; i++) {
    bool low = given_low(in->bounds, env, i, &in->low[i]);
    bool high = given_high(in->bounds, env, i, &in->high[i]);
    in->low_fixed[i] = low;
    in->high_fixed[i] = high;
    if (!low) in->low[i] = high ? in->high[i] : 0;
    if (!high) in->high[i] = in->low[i];
  }
}

/* ---- observations ---- */

void lgv__feature_input_read(const feature_input *in, const void *data, float *out) {
  const lgv_env_spec *env = in->env;
  size_t pixels = lgv__obs_count(env);
  if (env->obs_kind == LGV_OBS_FLOAT)
    memcpy(out, data, pixels * sizeof *out);
  else
    for (size_t i = 0; i < pixels; i++) out[i] = ((const uint8_t *)data)[i];
  if (env->vector)
    memcpy(out + pixels, (const char *)data + lgv__obs_vector_at(env),
           (size_t)env->vector * sizeof *out);
}

/* The range of input i over the rows and the box; a side that is not fixed begins with the rows. */
static bool grow_one(feature_input *in, const float *x, int64_t rows, int64_t i) {
  bool fresh = !in->known[0];
  double low = in->low[i], high = in->high[i];
  for (int64_t r = 0; r < rows; r++) {
    double v = (double)x[r * in->count + i];
    if (!in->low_fixed[i] && (v < low || (fresh && r == 0))) low = v;
    if (!in->high_fixed[i] && (v > high || (fresh && r == 0))) high = v;
  }
  if (low == in->low[i] && high == in->high[i]) return false;
  double margin = high > low ? (high - low) / 4 : 0;
  if (low != in->low[i]) in->low[i] = low - margin;
  if (high != in->high[i]) in->high[i] = high + margin;
  return true;
}

bool lgv__feature_input_grow(feature_input *in, const float *x, int64_t rows) {
  bool changed = false;
  if (!in->bounds || rows == 0) return false;
  memcpy(in->low_before, in->low, (size_t)in->count * sizeof *in->low);
  memcpy(in->high_before, in->high, (size_t)in->count * sizeof *in->high);
  in->known_before = in->known[0];
  for (int64_t i = 0; i < in->count; i++) {
    if (in->low_fixed[i] && in->high_fixed[i]) continue;
    changed |= grow_one(in, x, rows, i);
  }
  in->known[0] = 1;
  return changed;
}

void lgv__feature_input_shrink(feature_input *in) {
  memcpy(in->low, in->low_before, (size_t)in->count * sizeof *in->low);
  memcpy(in->high, in->high_before, (size_t)in->count * sizeof *in->high);
  in->known[0] = in->known_before;
}

const float *lgv__feature_input_scale(const feature_input *in, const float *x, int64_t rows,
                                      float *out) {
  if (!in->bounds) return x;
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < in->count; i++) {
      double range = in->high[i] - in->low[i];
      double v = range > 0 ? ((double)x[r * in->count + i] - in->low[i]) / range : 0.5;
      out[r * in->count + i] = (float)(v > 0 ? v < 1 ? v : 1 : 0); /* NaN: 0 */
    }
  return out;
}
