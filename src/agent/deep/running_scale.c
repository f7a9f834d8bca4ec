#include "agent/deep/running_scale.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/spec.h"
#include "base/stack.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *const lgv__scale_input_names[] = {"auto", "false", "true", "channels", NULL};
const char *const lgv__normalize_names[] = {"false", "true", "auto", NULL};
const char *const lgv__scale_rewards_names[] = {"false", "true", "limited", NULL};

static const float most_deviations = 10; /* inputs beyond are cut */
/* With REWARDS_LIMITED: the most that a reward of size 1 becomes, and how much larger than the
 * least the greatest may be for that. */
static const double most_reward = 50, most_ratio = 100;

/* ---- parameters ---- */

static bool is_picture(const lgv_env_spec *env) {
  return lgv__is_picture(env->obs_form, env->obs_shape);
}

int32_t lgv__running_scale_choice(const lgv_env_spec *env) {
  bool small = is_picture(env) && !lgv__is_large_picture(env->obs_form, env->obs_shape);
  return small ? SCALE_CHANNELS : SCALE_TRUE;
}

static bool has_dense_floats(const lgv_env_spec *env) {
  bool bytes = env->obs_kind == LGV_OBS_BYTE;
  return bytes ? env->vector > 0 : env->obs_form == LGV_FORM_DENSE;
}

lgv_status lgv__running_scale_resolve(running_scale_params *p, const lgv_env_spec *env,
                                      lgv_error *err) {
  bool bytes = env->obs_kind == LGV_OBS_BYTE;
  if (p->input == SCALE_AUTO)
    p->input = bytes && is_picture(env) ? lgv__running_scale_choice(env) : SCALE_FALSE;
  if (p->input == SCALE_CHANNELS && !bytes)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.scale_input = channels divides bytes, and these observations are "
                    "floats: for dense floats set agent.normalize_obs = true");
  if (p->obs == NORMALIZE_AUTO) p->obs = has_dense_floats(env) ? NORMALIZE_TRUE : NORMALIZE_FALSE;
  if (!p->obs) return LGV_OK;
  if (bytes && env->vector == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.normalize_obs is for floats, and these observations are bytes: set "
                    "agent.scale_input = %s",
                    lgv__scale_input_names[lgv__running_scale_choice(env)]);
  if (!bytes && env->obs_form != LGV_FORM_DENSE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.normalize_obs is for dense floats, and these observations are %s, whose "
                    "entries are 0 and 1: set it to false",
                    env->obs_form == LGV_FORM_ONE_HOT ? "one-hot" : "thermometers");
  return LGV_OK;
}

bool lgv__running_scale_maps(const running_scale_params *p) {
  return p->obs || p->input == SCALE_CHANNELS;
}

/* ---- moments ---- */

static const char *mean_fault(const void *moments) {
  const running_moments *m = moments;
  for (int64_t i = 0; i < m->size; i++)
    if (!(fabs(m->mean[i]) <= m->largest)) return "a mean that cannot be";
  return NULL;
}

static const char *squares_fault(const void *moments) {
  const running_moments *m = moments;
  for (int64_t i = 0; i < m->size; i++)
    if (!(m->squares[i] >= 0 && m->squares[i] <= DBL_MAX)) return "a variance that cannot be";
  return NULL;
}

/* names: of the three arrays; largest: the size that values can have. */
static void layout_moments(running_moments *m, const char *const names[3], size_t size,
                           double largest, lgv_layout *layout) {
  m->size = (int64_t)size;
  m->largest = largest;
  m->count = lgv_layout_array(layout, names[0], LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(layout, lgv__counter_fault, m->count);
  m->mean = lgv_layout_array(layout, names[1], LGV_F64, size, LGV_KEEP);
  lgv_layout_check(layout, mean_fault, m);
  m->squares = lgv_layout_array(layout, names[2], LGV_F64, size, LGV_KEEP);
  lgv_layout_check(layout, squares_fault, m);
}

/* Number i has the value x, the count-th of its values. */
static inline void follow(running_moments *m, int64_t i, double x, double count) {
  double distance = x - m->mean[i];
  m->mean[i] += distance / count;
  m->squares[i] += distance * (x - m->mean[i]);
}

static inline double gain_of(const running_moments *m, int64_t i) {
  return *m->count < 2 ? 1 : 1 / sqrt(m->squares[i] / (double)*m->count + 1e-8);
}

/* ---- memory ---- */

/* Of an observation: all entries of a vector or a picture, then the floats beside the picture. */
static int64_t inputs_of(const lgv_env_spec *env) {
  return (int64_t)lgv__obs_count(env) + env->vector;
}

static int64_t bytes_of(const lgv_env_spec *env) {
  return env->obs_kind == LGV_OBS_BYTE ? (int64_t)lgv__obs_count(env) : 0;
}

/* Channels of one picture of a stack. */
static int32_t depth_of(const lgv_env_spec *env) { return lgv__stack_one(env).obs_shape[2]; }

static const char *sizes_fault(const void *sizes) {
  const double *size = sizes;
  bool ok = size[0] >= 0 && size[0] <= size[1] && size[1] <= DBL_MAX;
  return ok ? NULL : "sizes of rewards that cannot be";
}

static const char *now_fault(const void *scale) {
  const running_scale *s = scale;
  for (int64_t i = 0; i < s->streams; i++)
    if (!isfinite(s->now[i])) return "a return that is not finite";
  return NULL;
}

static void layout_returns(running_scale *s, lgv_layout *layout) {
  static const char *const names[] = {"return.count", "return.mean", "return.squares"};
  layout_moments(&s->returns, names, 1, DBL_MAX, layout);
  s->now = lgv_layout_array(layout, "return.now", LGV_F64, (size_t)s->streams, LGV_KEEP);
  lgv_layout_check(layout, now_fault, s);
  if (s->p->rewards != REWARDS_LIMITED) return;
  s->sizes = lgv_layout_array(layout, "reward.sizes", LGV_F64, 2, LGV_KEEP);
  lgv_layout_check(layout, sizes_fault, s->sizes);
}

/* The map, and the statistics that it was made of. */
static void layout_map(running_scale *s, lgv_layout *layout) {
  size_t inputs = (size_t)inputs_of(s->env), floats = (size_t)s->obs.size;
  s->shift = lgv_layout_array(layout, "obs.shift", LGV_F32, inputs, LGV_SCRATCH);
  s->gain = lgv_layout_array(layout, "obs.gain", LGV_F32, inputs, LGV_SCRATCH);
  s->mapped.count = lgv_layout_array(layout, "mapped.count", LGV_I64, 1, LGV_SCRATCH);
  s->mapped.mean = lgv_layout_array(layout, "mapped.mean", LGV_F64, floats, LGV_SCRATCH);
  s->mapped.squares = lgv_layout_array(layout, "mapped.squares", LGV_F64, floats, LGV_SCRATCH);
  size_t channels = s->p->input == SCALE_CHANNELS ? (size_t)depth_of(s->env) : 0;
  s->mapped_most = lgv_layout_array(layout, "mapped.most", LGV_U8, channels, LGV_SCRATCH);
}

void lgv__running_scale_layout(running_scale *s, const running_scale_params *p,
                               const lgv_env_spec *env, int64_t streams, double gamma,
                               lgv_layout *layout) {
  static const char *const names[] = {"obs.count", "obs.mean", "obs.squares"};
  size_t inputs = (size_t)inputs_of(env);
  *s = (running_scale){.p = p, .env = env, .streams = streams, .gamma = gamma};
  if (p->rewards) layout_returns(s, layout);
  if (!lgv__running_scale_maps(p)) return;
  if (p->obs) layout_moments(&s->obs, names, inputs - (size_t)bytes_of(env), FLT_MAX, layout);
  if (p->input == SCALE_CHANNELS)
    s->most = lgv_layout_array(layout, "obs.most", LGV_U8, (size_t)depth_of(env), LGV_KEEP);
  layout_map(s, layout);
}

/* ---- training ---- */

static void see_floats(running_moments *m, const float *x) {
  double count = (double)++*m->count;
  for (int64_t i = 0; i < m->size; i++) follow(m, i, (double)x[i], count);
}

/* Of a stack, the newest picture, which is the last. */
static void see_bytes(running_scale *s, const uint8_t *x) {
  int32_t channels = s->env->obs_shape[2], depth = depth_of(s->env);
  for (int64_t i = channels - depth; i < bytes_of(s->env); i += channels)
    for (int32_t c = 0; c < depth; c++)
      if (x[i + c] > s->most[c]) s->most[c] = x[i + c];
}

/* The floats follow the bytes, or there are no bytes. */
static void see(running_scale *s, const lgv_obs *obs) {
  const unsigned char *data = obs->data;
  size_t floats_at = bytes_of(s->env) > 0 ? lgv__obs_vector_at(s->env) : 0;
  if (s->p->obs) see_floats(&s->obs, (const float *)(const void *)(data + floats_at));
  if (s->most) see_bytes(s, data);
}

static void see_size(double sizes[2], double size) {
  sizes[0] = sizes[1] > 0 ? fmin(sizes[0], size) : size;
  sizes[1] = fmax(sizes[1], size);
}

void lgv__running_scale_add(running_scale *s, int64_t stream, const lgv_transition *t,
                            bool begins) {
  if (begins) see(s, &t->obs);
  see(s, &t->next);
  if (!s->p->rewards) return;
  double before = begins ? 0 : s->now[stream];
  s->now[stream] = s->gamma * before + t->reward;
  follow(&s->returns, 0, s->now[stream], (double)++*s->returns.count);
  if (s->sizes && t->reward != 0) see_size(s->sizes, fabs(t->reward));
}

/* ---- use ---- */

static void map_bytes(const running_scale *s) {
  int32_t channels = s->env->obs_shape[2], depth = depth_of(s->env);
  float fixed = s->p->input == SCALE_TRUE ? 1.0f / 255 : 1;
  for (int32_t c = 0; c < channels; c++)
    s->gain[c] = s->most ? 1 / fmaxf(s->most[c % depth], 1) : fixed;
  for (int64_t i = channels; i < bytes_of(s->env); i++) s->gain[i] = s->gain[i - channels];
}

static void map_floats(const running_scale *s) {
  const running_moments *m = &s->obs;
  int64_t at = bytes_of(s->env), count = inputs_of(s->env) - at;
  bool known = s->p->obs && *m->count >= 2;
  for (int64_t i = 0; i < count; i++) {
    s->shift[at + i] = known ? (float)m->mean[i] : 0;
    s->gain[at + i] = known ? (float)gain_of(m, i) : 1;
  }
}

/* Whether the last map was made of today's statistics. Its count is one more than theirs, so that 0
 * means that there is none. Loading may replace statistics by others with the same count. */
static bool is_mapped(const running_scale *s) {
  size_t size = (size_t)s->obs.size * sizeof *s->obs.mean;
  if (*s->mapped.count != 1 + (s->p->obs ? *s->obs.count : 0)) return false;
  if (s->most && memcmp(s->mapped_most, s->most, (size_t)depth_of(s->env)) != 0) return false;
  return !s->p->obs || (memcmp(s->mapped.mean, s->obs.mean, size) == 0 &&
                        memcmp(s->mapped.squares, s->obs.squares, size) == 0);
}

static void note_mapped(const running_scale *s) {
  size_t size = (size_t)s->obs.size * sizeof *s->obs.mean;
  *s->mapped.count = 1 + (s->p->obs ? *s->obs.count : 0);
  if (s->most) memcpy(s->mapped_most, s->most, (size_t)depth_of(s->env));
  if (!s->p->obs) return;
  memcpy(s->mapped.mean, s->obs.mean, size);
  memcpy(s->mapped.squares, s->obs.squares, size);
}

net_map lgv__running_scale_map(const running_scale *s) {
  if (!s->gain) return (net_map){0};
  if (!is_mapped(s)) {
    if (bytes_of(s->env) > 0) map_bytes(s);
    map_floats(s);
    note_mapped(s);
  }
  return (net_map){s->shift, s->gain, s->p->obs ? most_deviations : FLT_MAX};
}

static double limit_of(const double sizes[2]) {
  double least = sizes[0], greatest = sizes[1];
  if (greatest > most_ratio * least) return 1;
  return fmax(1, most_reward * fmin(greatest, 1 / greatest));
}

static double gain_of_rewards(const running_scale *s) {
  if (s->returns.squares[0] == 0) return 1; /* there is no deviation yet */
  double gain = gain_of(&s->returns, 0);
  return s->sizes ? fmin(REWARDS_DEVIATION * gain, limit_of(s->sizes)) : gain;
}

void lgv__running_scale_rewards(const running_scale *s, float *rewards, int64_t count) {
  if (!s->p->rewards) return;
  float gain = (float)gain_of_rewards(s);
  for (int64_t i = 0; i < count; i++) rewards[i] *= gain;
}
