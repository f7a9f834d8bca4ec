/* Any Gymnasium environment, in a Python process of its own: the C side of
 * python/langevin/gym_task.py. python/langevin/observations.py and actions.py describe how spaces
 * become observations, actions and masks.
 *
 * Every reset draws a seed from the environment's stream and passes it on, so that an episode
 * depends only on the run's seed, even after the process was restarted.
 *
 * Before the first reset, the two observations in memory hold the bounds of the observation space,
 * the lower ones first; infinite where there are none.
 *
 * Wrappers may keep running statistics (NormalizeObservation). Checkpoints hold them, and
 * evaluations use those of the training environment, frozen.
 *
 * A worker that dies or hangs is replaced once if the host allows it: the current step pays nothing
 * and truncates the episode at the last complete observation. A second death, or an error that the
 * environment raises, ends the run.
 *
 * Invariant: `shown` is the worker whose memory holds the current observation. It is `worker`,
 * except between a death and the next reset. */
#include "base/error.h"
#include "base/io/json.h"
#include "base/param.h"
#include "base/spec.h"
#include "env/external/remote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct params {
  char id[LGV_TEXT_SIZE], import[LGV_TEXT_SIZE], wrappers[LGV_TEXT_SIZE], python[LGV_TEXT_SIZE];
  lgv_map kwargs;
  int64_t horizon;
  double scale, reward_min, reward_max;
  bool masks;
  int32_t output;
} params;

enum { HIDE, SHOW };
static const char *const outputs[] = {"hide", "stderr", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_TEXT_ROW(params, id, "id", "", "Gymnasium's name of the environment, or module:name; --env gym:CartPole-v1 sets it"),
    LGV_TEXT_ROW(params, import, "import", "", "modules that register environments when imported, separated by commas; the current directory is searched, too"),
    LGV_MAP_ROW(params, kwargs, "kwargs", "", "arguments of the environment: env.kwargs.NAME=VALUE. Numbers, true, false, null and JSON lists are parsed, everything else is text; NAME may be nested: a.b"),
    LGV_TEXT_ROW(params, wrappers, "wrappers", "", "wrappers, innermost first, separated by commas: names in gymnasium.wrappers or module:Class, with arguments if needed: FrameStackObservation(stack_size=4)"),
    LGV_INT_ROW(params, horizon, "horizon", "0", 0, 1e9, "steps after which an episode is truncated; 0: as the environment was registered"),
    LGV_REAL_ROW(params, scale, "scale", "1", -1e9, 1e9, 0, "factor for observations that are boxes of numbers, except pictures of bytes"),
    LGV_REAL_ROW(params, reward_min, "reward_min", "0", 0, 0, 0, "the least reward, for agents that use it; Gymnasium does not provide it"),
    LGV_REAL_ROW(params, reward_max, "reward_max", "0", 0, 0, 0, "the greatest reward; if this and env.reward_min are 0, the range is unknown"),
    LGV_BOOL_ROW(params, masks, "masks", "true", "obey the masks of allowed actions that the environment gives (action_mask in its infos or observations); false: ignore them"),
    LGV_TEXT_ROW(params, python, "python", "", "the Python to use; default: $LANGEVIN_PYTHON, else the active virtual environment, else .venv in the current directory, else python3"),
    LGV_CHOICE_ROW(params, output, "output", "hide", outputs, "what the environment prints: shown only if its process dies, or always on stderr"),
    {0},
};
/* clang-format on */

typedef struct self {
  const params *p;
  const lgv_host *host;
  remote *worker, *shown;
  remote_hello hello;
  remote_reply now;
  float *low, *high;   /* (numbers of an observation): its bounds, if it is a vector of floats */
  uint8_t *statistics; /* (hello.save_bytes) of wrappers, as they were saved last */
  bool frozen;         /* statistics are those of the training environment */
  lgv_status sent;     /* status of sending the last action */
  lgv_error send_error;
} self;

/* ---- Starting ---- */

static void write_config(const params *p, bool pictures, lgv_json *json) {
  char key[LGV_MAP_KEY_SIZE], value[LGV_MAP_VALUE_SIZE];
  lgv__json_open(json, NULL, '{');
  lgv__json_string(json, "id", p->id);
  lgv__json_string(json, "import", p->import);
  lgv__json_string(json, "wrappers", p->wrappers);
  lgv__json_int(json, "horizon", p->horizon);
  lgv__json_real(json, "scale", p->scale);
  lgv__json_bool(json, "masks", p->masks);
  lgv__json_open(json, "kwargs", '{');
  for (const char *at = p->kwargs.text; lgv__map_next(&at, key, value);)
    lgv__json_string(json, key, value);
  lgv__json_close(json, '}');
  lgv__json_bool(json, "pictures", pictures);
  lgv__json_close(json, '}');
}

static lgv_status start(const self *s, remote **worker, lgv_error *err) {
  char what[LGV_TEXT_SIZE + 8];
  lgv_json json = {0};
  snprintf(what, sizeof what, "gym:%s", s->p->id);
  write_config(s->p, s->host->pictures, &json);
  remote_options options = {
      .what = what, .python = s->p->python, .show_output = s->p->output == SHOW, .host = s->host};
  lgv_status status = json.failed ? lgv__out_of_memory(err, "a worker process")
                                  : lgv__remote_start("gym", json.text, &options, worker, err);
  lgv__json_free(&json);
  return status;
}

static lgv_env_spec spec_of(const remote_hello *h, const params *p) {
  lgv_env_spec spec = lgv__remote_spec(h);
  spec.stationary = true;
  spec.clock_truncates = true;
  spec.reward_min = p->reward_min;
  spec.reward_max = p->reward_max;
  return spec;
}

/* Whether memory has room for two observations and their masks, or replies hold the index of a
 * state and memory has room for two masks. */
static bool has_room(const remote_hello *h, const lgv_env_spec *spec) {
  if (2 * lgv__remote_slot_bytes(h) > h->memory_bytes) return false;
  if (h->states == 0) return (int64_t)lgv__obs_bytes(spec) == h->obs_bytes;
  return (int64_t)lgv__obs_count(spec) == h->states && h->obs_kind == LGV_OBS_FLOAT &&
         h->vector == 0;
}

static lgv_status connect_worker(void *self_, const void *p, const lgv_host *host,
                                 lgv_env_spec *spec, lgv_error *err) {
  self *s = self_;
  *s = (self){.p = p, .host = host};
  LGV_TRY(start(s, &s->worker, err));
  s->shown = s->worker;
  s->hello = *lgv__remote_get_hello(s->worker);
  *spec = spec_of(&s->hello, s->p);
  if (has_room(&s->hello, spec)) return LGV_OK;
  lgv__remote_stop(s->worker);
  return lgv_fail(err, LGV_ERR_ENV, "gym:%.80s: the worker process sent inconsistent sizes",
                  s->p->id);
}

static bool has_bounds(const remote_hello *h) {
  return h->states == 0 && h->obs_kind == LGV_OBS_FLOAT && h->vector == 0;
}

static void layout(void *self_, const void *p, const lgv_env_spec *spec, lgv_layout *out) {
  (void)p;
  self *s = self_;
  if (has_bounds(&s->hello)) {
    s->low = lgv_layout_array(out, "low", LGV_F32, lgv__obs_count(spec), LGV_SCRATCH);
    s->high = lgv_layout_array(out, "high", LGV_F32, lgv__obs_count(spec), LGV_SCRATCH);
  }
  if (s->hello.save_bytes > 0)
    s->statistics =
        lgv_layout_array(out, LGV_STATISTICS, LGV_U8, (size_t)s->hello.save_bytes, LGV_KEEP);
}

/* ---- Statistics of wrappers ---- */

static lgv_status read_statistics(self *s, lgv_error *err) {
  size_t capacity = (size_t)s->hello.save_bytes, size;
  return capacity ? lgv__remote_save(s->worker, s->statistics, capacity, &size, err) : LGV_OK;
}

/* A range that is empty, as of a worker that wrote none, counts as infinite. */
static void read_bounds(self *s, lgv_env_spec *spec) {
  const unsigned char *memory = lgv__remote_memory(s->worker);
  size_t count = lgv__obs_count(spec);
  memcpy(s->low, memory, count * sizeof *s->low);
  memcpy(s->high, memory + lgv__remote_slot_bytes(&s->hello), count * sizeof *s->high);
  for (size_t i = 0; i < count; i++) {
    if (s->low[i] < s->high[i]) continue;
    s->low[i] = -INFINITY;
    s->high[i] = INFINITY;
  }
  spec->obs_low = s->low;
  spec->obs_high = s->high;
}

/* Reads the bounds, and the initial statistics: a worker that dies before any others were saved
 * restarts with them. */
static lgv_status open_env(void *self_, lgv_env_spec *spec, lgv_error *err) {
  self *s = self_;
  if (has_bounds(&s->hello)) read_bounds(s, spec);
  return read_statistics(s, err);
}

/* The next step or reset reports a worker that is gone, and may replace it. */
static lgv_status unless_dead(const self *s, lgv_status status) {
  return lgv__remote_is_dead(s->worker) ? LGV_OK : status;
}

static lgv_status save(void *self_, lgv_error *err) {
  return unless_dead(self_, read_statistics(self_, err));
}

static lgv_status send_statistics(self *s, lgv_error *err) {
  size_t size = (size_t)s->hello.save_bytes;
  if (size == 0) return LGV_OK;
  return s->frozen ? lgv__remote_freeze(s->worker, s->statistics, size, err)
                   : lgv__remote_restore(s->worker, s->statistics, size, err);
}

static lgv_status freeze(void *self_, lgv_error *err) {
  self *s = self_;
  s->frozen = true;
  return unless_dead(s, send_statistics(s, err));
}

/* Only the process has the environment's own state, so the current episode cannot be resumed. */
static lgv_status restore(void *self_, bool *in_episode, lgv_error *err) {
  self *s = self_;
  *in_episode = false;
  return send_statistics(s, err);
}

static void close_env(void *self_) {
  self *s = self_;
  if (s->shown != s->worker) lgv__remote_stop(s->shown);
  lgv__remote_stop(s->worker);
}

/* Replaces a dead worker, if that is allowed; the new one continues with the saved statistics. */
static lgv_status replace(self *s, lgv_status status, lgv_error *err) {
  LGV_TRY(lgv__remote_replace(s->worker, status, &s->worker, err));
  return send_statistics(s, err);
}

/* ---- Steps ---- */

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  lgv_error local;
  uint64_t seed = lgv_rng_bits(rng) >> 33; /* 31 bits: accepted by every generator */
  if (!err) err = &local;
  if (s->shown != s->worker) lgv__remote_stop(s->shown);
  s->shown = s->worker;
  lgv_status status = lgv__remote_reset(s->worker, seed, &s->now, err);
  if (status == LGV_OK) return LGV_OK;
  LGV_TRY(replace(s, status, err));
  lgv__remote_stop(s->shown);
  s->shown = s->worker;
  return lgv__remote_reset(s->worker, seed, &s->now, err);
}

static lgv_status step_begin(void *self_, const lgv_action *action, lgv_rng *rng, lgv_error *err) {
  (void)rng, (void)err;
  self *s = self_;
  s->sent = lgv__remote_send_step(s->worker, action, 1, &s->send_error);
  return LGV_OK; /* step_end reports a failure */
}

static lgv_status step_end(void *self_, lgv_rng *rng, lgv_outcome *outcome, lgv_error *err) {
  (void)rng;
  self *s = self_;
  remote_reply reply;
  lgv_error local;
  lgv_status status = s->sent;
  if (!err) err = &local;
  if (status == LGV_OK)
    status = lgv__remote_receive(s->worker, &reply, err);
  else
    *err = s->send_error;
  if (status != LGV_OK) {
    LGV_TRY(replace(s, status, err));
    outcome->truncated = true;
    return LGV_OK;
  }
  s->now = reply;
  outcome->reward = reply.reward;
  outcome->terminated = reply.terminated;
  outcome->truncated = reply.truncated;
  return LGV_OK;
}

/* The current one of the two observations in memory. */
static const unsigned char *slot(const self *s) {
  return lgv__remote_memory(s->shown) + s->now.slot * lgv__remote_slot_bytes(&s->hello);
}

static void observe(const void *self_, void *data) {
  const self *s = self_;
  const remote_hello *h = &s->hello;
  if (h->states == 0) {
    memcpy(data, slot(s), (size_t)h->obs_bytes);
    return;
  }
  float *one_hot = data;
  memset(one_hot, 0, (size_t)h->states * sizeof *one_hot);
  if (s->now.state >= 0 && s->now.state < h->states) one_hot[s->now.state] = 1;
}

static void show_mask(const void *self_, uint8_t *allowed) {
  const self *s = self_;
  memcpy(allowed, slot(s) + s->hello.obs_bytes, (size_t)s->hello.actions.count);
}

static int64_t state_index(const void *self_) {
  const self *s = self_;
  return s->hello.states > 0 ? s->now.state : -1;
}

static bool show_picture(const void *self_, lgv_picture *out) {
  return lgv__remote_picture(((const self *)self_)->shown, out);
}

const lgv_env_type lgv__env_gym = {
    .name = "gym",
    .summary = "any Gymnasium environment: gym:ID, such as gym:CartPole-v1",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .layout = layout,
    .open = open_env,
    .close = close_env,
    .reset = reset,
    .step_begin = step_begin,
    .step_end = step_end,
    .observe = observe,
    .mask = show_mask,
    .state_index = state_index,
    .save = save,
    .restore = restore,
    .freeze = freeze,
    .connect = connect_worker,
    .name_param = "id",
    .picture = show_picture,
};
