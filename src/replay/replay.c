#include "replay/replay.h"

#include "base/arena.h"
#include "base/spec.h"
#include "base/stack.h"

#include <string.h>

/* ---- Forms of an observation ---- */

static bool is_sparse(const lgv_env_spec *env) { return env->obs_form != LGV_FORM_DENSE; }

size_t lgv__replay_encoded_bytes(const lgv_env_spec *env) {
  return is_sparse(env) ? sizeof(int32_t) : lgv__obs_bytes(env);
}

/* Thermometer: the number of leading ones; one-hot: the position of the one, or -1 if there is
 * none. */
static int32_t index_of(const lgv_env_spec *env, const float *x) {
  int32_t length = (int32_t)lgv__obs_count(env), i = 0;
  if (env->obs_form == LGV_FORM_THERMOMETER) {
    while (i < length && x[i] != 0) i++;
    return i;
  }
  while (i < length && x[i] == 0) i++;
  return i < length ? i : -1;
}

static bool is_index(const lgv_env_spec *env, int32_t index) {
  int64_t length = (int64_t)lgv__obs_count(env);
  bool thermometer = env->obs_form == LGV_FORM_THERMOMETER;
  return thermometer ? index >= 0 && index <= length : index >= -1 && index < length;
}

void lgv__replay_encode(const lgv_env_spec *env, const lgv_obs *obs, void *out) {
  if (is_sparse(env)) {
    int32_t index = index_of(env, obs->data);
    memcpy(out, &index, sizeof index);
  } else {
    lgv__stack_copy(env, obs->data, out);
  }
}

net_input lgv__replay_input(const lgv_env_spec *env, const void *encoded) {
  if (is_sparse(env)) return (net_input){.index = encoded};
  net_input input = {0};
  if (env->obs_kind == LGV_OBS_BYTE)
    input.bytes = encoded;
  else
    input.dense = encoded;
  if (env->vector > 0) {
    input.vector = (const void *)((const char *)encoded + lgv__obs_vector_at(env));
    input.stride = (int64_t)lgv__obs_bytes(env);
  }
  return input;
}

/* ---- Memory ---- */

static void layout_masks(replay *r, size_t rows, lgv_layout *layout) {
  size_t n = (size_t)r->streams, bytes = ((size_t)r->env.actions.count + 7) / 8;
  r->mask_bytes = (int64_t)bytes;
  r->mask = lgv__layout_rows(layout, "replay.mask", LGV_U8, rows, n * bytes, r->rows);
  r->lost_mask = lgv_layout_array(layout, "replay.lost_mask", LGV_U8, n * bytes, LGV_KEEP);
}

void lgv__replay_layout(replay *r, const lgv_env_spec *env, int64_t streams, int64_t capacity,
                        int32_t n_step, double gamma, lgv_layout *layout) {
  r->env = *env;
  r->one = lgv__stack_one(env);
  size_t rows = (size_t)(capacity / streams), n = (size_t)streams;
  size_t bytes = lgv__replay_encoded_bytes(&r->one);
  r->streams = streams;
  r->capacity = capacity / streams * streams;
  r->obs_bytes = (int64_t)bytes;
  r->parts = lgv__action_parts(&env->actions);
  r->box = env->actions.kind == LGV_BOX;
  r->frames = lgv__frames(env);
  r->n_step = n_step;
  r->gamma = gamma;
  r->cursor = lgv_layout_array(layout, "replay.cursor", LGV_I64, n * REPLAY_CURSORS, LGV_KEEP);
  r->rows = lgv_layout_array(layout, "replay.rows", LGV_I64, 1, LGV_KEEP);
  r->obs = lgv__layout_rows(layout, "replay.obs", LGV_U8, rows, n * bytes, r->rows);
  r->action = lgv__layout_rows(layout, "replay.action", r->box ? LGV_F32 : LGV_I32, rows,
                               n * (size_t)r->parts, r->rows);
  r->reward = lgv__layout_rows(layout, "replay.reward", LGV_F32, rows, n, r->rows);
  r->terminated = lgv__layout_rows(layout, "replay.terminated", LGV_U8, rows, n, r->rows);
  r->lost_first = lgv_layout_array(layout, "replay.lost_first", LGV_U8, n * bytes, LGV_KEEP);
  if (env->masked) layout_masks(r, rows, layout);
  r->age = lgv__layout_rows(layout, "replay.age", LGV_I32, rows, n, r->rows);
}

void lgv__replay_batch_layout(replay_batch *b, const replay *r, int64_t size, bool with_first,
                              lgv_layout *layout) {
  size_t n = (size_t)size, bytes = n * lgv__replay_encoded_bytes(&r->env);
  b->size = size;
  b->entry = lgv_layout_array(layout, "batch.entry", LGV_I64, n, LGV_SCRATCH);
  b->obs = lgv_layout_array(layout, "batch.obs", LGV_U8, (2 + with_first) * bytes, LGV_SCRATCH);
  b->first = b->obs && with_first ? b->obs + bytes : NULL;
  b->next = b->obs ? b->obs + (1 + with_first) * bytes : NULL;
  if (r->box)
    b->values =
        lgv_layout_array(layout, "batch.action", LGV_F32, n * (size_t)r->parts, LGV_SCRATCH);
  else
    b->action =
        lgv_layout_array(layout, "batch.action", LGV_I32, n * (size_t)r->parts, LGV_SCRATCH);
  b->reward = lgv_layout_array(layout, "batch.reward", LGV_F32, n, LGV_SCRATCH);
  b->discount = lgv_layout_array(layout, "batch.discount", LGV_F32, n, LGV_SCRATCH);
  if (!r->env.masked) return;
  size_t masks = n * (size_t)r->env.actions.count;
  b->obs_mask =
      lgv_layout_array(layout, "batch.mask", LGV_U8, (2 + with_first) * masks, LGV_SCRATCH);
  b->first_mask = b->obs_mask && with_first ? b->obs_mask + masks : NULL;
  b->next_mask = b->obs_mask ? b->obs_mask + (1 + with_first) * masks : NULL;
}

/* ---- Writing ---- */

static uint8_t *stored(const replay *r, int64_t entry) { return r->obs + entry * r->obs_bytes; }

static void store(replay *r, int64_t entry, const lgv_obs *obs) {
  int32_t frames = r->frames;
  if (frames == 1)
    lgv__replay_encode(&r->env, obs, stored(r, entry));
  else
    lgv__stack_newest(&r->one, frames, obs->data, stored(r, entry));
}

static bool has_action(const replay *r, int64_t entry) {
  return r->action[entry * r->parts] != REPLAY_NO_ACTION;
}

static void store_mask(replay *r, int64_t entry, const uint8_t *mask) {
  if (!r->mask) return;
  uint8_t *bits = r->mask + entry * r->mask_bytes;
  memset(bits, mask ? 0 : 0xff, (size_t)r->mask_bytes);
  for (int32_t a = 0; mask && a < r->env.actions.count; a++)
    bits[a / 8] |= (uint8_t)((mask[a] != 0) << a % 8);
}

static void load_mask(const replay *r, const uint8_t *bits, uint8_t *mask) {
  for (int32_t a = 0; a < r->env.actions.count; a++) mask[a] = bits[a / 8] >> a % 8 & 1;
}

/* The usual case, a single stream, needs no division. */
static int64_t stream_of(const replay *r, int64_t entry) {
  return r->streams == 1 ? 0 : entry % r->streams;
}

static int64_t row_of(const replay *r, int64_t entry) {
  return r->streams == 1 ? entry : entry / r->streams;
}

static int64_t *cursor_of(const replay *r, int64_t entry) {
  return r->cursor + stream_of(r, entry) * REPLAY_CURSORS;
}

static int64_t length_of_ring(const replay *r) { return row_of(r, r->capacity); }

int64_t lgv__replay_following(const replay *r, int64_t entry) {
  int64_t next = entry + r->streams;
  return next < r->capacity ? next : next - r->capacity;
}

static int64_t back(const replay *r, int64_t entry, int64_t steps) {
  int64_t earlier = entry - steps * r->streams;
  return earlier >= 0 ? earlier : earlier + r->capacity;
}

static void forget(replay *r, int64_t entry) {
  int64_t stream = stream_of(r, entry), n = r->mask_bytes;
  cursor_of(r, entry)[REPLAY_ACTIONS] -= has_action(r, entry);
  if (r->age[entry] > 0) return;
  memcpy(r->lost_first + stream * r->obs_bytes, stored(r, entry), (size_t)r->obs_bytes);
  if (r->mask) memcpy(r->lost_mask + stream * n, r->mask + entry * n, (size_t)n);
}

/* Makes the stream's next entry its newest one. */
static void append(replay *r, int64_t stream, const lgv_obs *obs, int32_t age) {
  int64_t *c = r->cursor + stream * REPLAY_CURSORS;
  int64_t entry = c[REPLAY_FILLED] ? lgv__replay_following(r, c[REPLAY_HEAD]) : stream;
  if (c[REPLAY_FILLED] == length_of_ring(r))
    forget(r, entry);
  else
    c[REPLAY_FILLED]++;
  if (c[REPLAY_FILLED] > *r->rows) *r->rows = c[REPLAY_FILLED];
  c[REPLAY_HEAD] = entry;
  store(r, entry, obs);
  store_mask(r, entry, obs->mask);
  for (int32_t p = 0; p < r->parts; p++) r->action[entry * r->parts + p] = REPLAY_NO_ACTION;
  r->reward[entry] = 0;
  r->terminated[entry] = 0;
  r->age[entry] = age;
}

/* Saturates in an episode of more than INT32_MAX steps. */
static int32_t next_age(int32_t age) { return age < INT32_MAX ? age + 1 : age; }

int64_t lgv__replay_add(replay *r, int64_t stream, const lgv_transition *t) {
  int64_t *c = r->cursor + stream * REPLAY_CURSORS;
  bool continues =
      c[REPLAY_FILLED] && !c[REPLAY_ENDED] && t->obs.stage > 0 && t->obs.stage == c[REPLAY_STAGE];
  if (!continues) append(r, stream, &t->obs, 0);
  int64_t entry = c[REPLAY_HEAD];
  memcpy(r->action + entry * r->parts, t->action, (size_t)r->parts * sizeof *r->action);
  r->reward[entry] = (float)t->reward;
  r->terminated[entry] = t->terminated;
  c[REPLAY_ACTIONS]++;
  c[REPLAY_ADDED]++;
  append(r, stream, &t->next, next_age(r->age[entry]));
  c[REPLAY_STAGE] = t->next.stage;
  c[REPLAY_ENDED] = t->terminated || t->truncated;
  return entry;
}

/* ---- Reading ---- */

/* The stream's oldest entry. */
static int64_t oldest_of(const replay *r, int64_t stream) {
  const int64_t *c = r->cursor + stream * REPLAY_CURSORS;
  return c[REPLAY_FILLED] < length_of_ring(r) ? stream : lgv__replay_following(r, c[REPLAY_HEAD]);
}

/* The number of older entries of the stream that are still present. */
static int64_t older_entries(const replay *r, int64_t entry) {
  int64_t distance = entry - oldest_of(r, stream_of(r, entry));
  return row_of(r, distance >= 0 ? distance : distance + r->capacity);
}

bool lgv__replay_can_draw(const replay *r, int64_t entry) {
  int64_t needed = r->frames - 1;
  if (r->age[entry] < needed) needed = r->age[entry];
  return has_action(r, entry) && (needed == 0 || older_entries(r, entry) >= needed);
}

static int64_t stream_size(const replay *r, int64_t stream) {
  const int64_t *c = r->cursor + stream * REPLAY_CURSORS;
  int64_t size = c[REPLAY_ACTIONS], filled = c[REPLAY_FILLED];
  if (filled < length_of_ring(r)) return size;
  int64_t entry = oldest_of(r, stream);
  for (int32_t i = 0; i < r->frames - 1 && i < filled; i++) {
    size -= has_action(r, entry) && !lgv__replay_can_draw(r, entry);
    entry = lgv__replay_following(r, entry);
  }
  return size;
}

int64_t lgv__replay_size(const replay *r) {
  int64_t size = 0;
  for (int64_t s = 0; s < r->streams; s++) size += stream_size(r, s);
  return size;
}

static void load(const replay *r, int64_t entry, unsigned char *out) {
  int32_t frames = r->frames;
  if (frames == 1) {
    memcpy(out, stored(r, entry), (size_t)r->obs_bytes);
    return;
  }
  const void *obs[LGV_MOST_FRAMES];
  for (int32_t f = 0; f < frames; f++) {
    int64_t steps = frames - 1 - f;
    obs[f] = stored(r, back(r, entry, steps < r->age[entry] ? steps : r->age[entry]));
  }
  lgv__stack_join(&r->one, frames, obs, out);
}

/* Whether the entry with which the entry's episode began has been overwritten. */
static bool lost_its_first(const replay *r, int64_t entry) {
  return r->age[entry] > older_entries(r, entry);
}

/* The observation with which the entry's episode began. */
static void load_first(const replay *r, int64_t entry, unsigned char *out) {
  int32_t frames = r->frames, age = r->age[entry];
  const uint8_t *lost = r->lost_first + stream_of(r, entry) * r->obs_bytes;
  const uint8_t *first = lost_its_first(r, entry) ? lost : stored(r, back(r, entry, age));
  if (frames == 1) {
    memcpy(out, first, (size_t)r->obs_bytes);
    return;
  }
  const void *obs[LGV_MOST_FRAMES];
  for (int32_t f = 0; f < frames; f++) obs[f] = first;
  lgv__stack_join(&r->one, frames, obs, out);
}

/* Sums up to n rewards and returns the entry of the observation after the last one. An entry
 * without an action is the end of an episode or of the data. */
static int64_t look_ahead(const replay *r, int64_t entry, float *reward, float *discount) {
  double sum = 0, weight = 1;
  for (int32_t l = 0;; l++) {
    int64_t next = lgv__replay_following(r, entry);
    sum += weight * (double)r->reward[entry];
    weight *= r->gamma;
    if (l + 1 == r->n_step || !has_action(r, next)) {
      *reward = (float)sum;
      *discount = r->terminated[entry] ? 0 : (float)weight;
      return next;
    }
    entry = next;
  }
}

static void gather_masks(const replay *r, replay_batch *b, int64_t i, int64_t next) {
  int64_t entry = b->entry[i], n = r->mask_bytes, at = i * r->env.actions.count;
  load_mask(r, r->mask + entry * n, b->obs_mask + at);
  load_mask(r, r->mask + next * n, b->next_mask + at);
  if (!b->first) return;
  const uint8_t *lost = r->lost_mask + stream_of(r, entry) * n;
  const uint8_t *first =
      lost_its_first(r, entry) ? lost : r->mask + back(r, entry, r->age[entry]) * n;
  load_mask(r, first, b->first_mask + at);
}

static void gather_actions(const replay *r, replay_batch *b) {
  int32_t parts = r->parts;
  size_t bytes = (size_t)parts * sizeof *r->action;
  for (int64_t i = 0; r->box && i < b->size; i++)
    memcpy(b->values + i * parts, r->action + b->entry[i] * parts, bytes);
  if (r->box) return;
  for (int32_t p = 0; p < parts; p++)
    for (int64_t i = 0; i < b->size; i++)
      b->action[i * parts + p] = r->action[b->entry[i] * parts + p];
}

void lgv__replay_gather(const replay *r, replay_batch *b) {
  size_t bytes = lgv__replay_encoded_bytes(&r->env);
  for (int64_t i = 0; i < b->size; i++) {
    int64_t entry = b->entry[i];
    size_t at = (size_t)i * bytes;
    load(r, entry, b->obs + at);
    if (b->first) load_first(r, entry, b->first + at);
    int64_t next = look_ahead(r, entry, &b->reward[i], &b->discount[i]);
    load(r, next, b->next + at);
    if (r->mask) gather_masks(r, b, i, next);
  }
  gather_actions(r, b);
}

/* A stream whose ring is less full than the fullest has entries that were never written. */
bool lgv__replay_has(const replay *r, int64_t entry) {
  return entry < r->capacity && row_of(r, entry) < cursor_of(r, entry)[REPLAY_FILLED];
}

int64_t lgv__replay_draw(const replay *r, lgv_rng *rng) {
  int64_t entry;
  do entry = lgv_rng_below(rng, *r->rows * r->streams);
  while (!lgv__replay_has(r, entry) || !lgv__replay_can_draw(r, entry));
  return entry;
}

void lgv__replay_sample(const replay *r, lgv_rng *rng, replay_batch *b) {
  for (int64_t i = 0; i < b->size; i++) b->entry[i] = lgv__replay_draw(r, rng);
  lgv__replay_gather(r, b);
}

void lgv__replay_sort_by_age(const replay *r, int64_t stages, int64_t *order, int64_t *start) {
  memset(start, 0, (size_t)(stages + 1) * sizeof *start);
  for (int64_t e = 0; e < *r->rows * r->streams; e++)
    if (lgv__replay_has(r, e) && r->age[e] < stages && lgv__replay_can_draw(r, e))
      start[r->age[e]]++;
  for (int64_t h = 0, sum = 0; h <= stages; h++) { /* counts become ends */
    sum += start[h];
    start[h] = sum;
  }
  for (int64_t s = r->streams - 1; s >= 0; s--) { /* filling from the back turns ends into starts */
    int64_t filled = r->cursor[s * REPLAY_CURSORS + REPLAY_FILLED], oldest = oldest_of(r, s);
    for (int64_t i = filled - 1; i >= 0; i--) {
      int64_t e = oldest + i * r->streams;
      if (e >= r->capacity) e -= r->capacity;
      if (r->age[e] < stages && lgv__replay_can_draw(r, e)) order[--start[r->age[e]]] = e;
    }
  }
}

/* ---- Checks of a loaded replay ---- */

bool lgv__replay_is_observation(const lgv_env_spec *env, const void *encoded) {
  int32_t index;
  if (!is_sparse(env)) return true;
  memcpy(&index, encoded, sizeof index);
  return is_index(env, index);
}

static bool is_in_box(const replay *r, int64_t entry) {
  for (int32_t p = 0; p < r->parts; p++) {
    float x;
    memcpy(&x, r->action + entry * r->parts + p, sizeof x);
    if (!(x >= r->env.actions.low[p] && x <= r->env.actions.high[p])) return false;
  }
  return true;
}

/* One choice of every part, or none of any. */
static bool is_action(const replay *r, int64_t entry) {
  const int32_t *choice = r->action + entry * r->parts;
  bool acted = has_action(r, entry);
  if (r->box && acted) return is_in_box(r, entry);
  for (int32_t p = 0; p < r->parts; p++)
    if (!lgv__is_within(choice[p], acted ? 0 : -1,
                        acted ? lgv__part_choices(&r->env.actions, p) - 1 : -1))
      return false;
  return true;
}

static const char *cursor_fault(const replay *r, int64_t stream) {
  const int64_t *c = r->cursor + stream * REPLAY_CURSORS;
  int64_t filled = c[REPLAY_FILLED], head = c[REPLAY_HEAD], ring = length_of_ring(r);
  if (!lgv__is_within(filled, 0, *r->rows))
    return "replay.cursor: a ring that is fuller than the rows";
  if (!lgv__is_within(head, 0, r->capacity - 1) || (filled && stream_of(r, head) != stream) ||
      (filled && filled < ring && row_of(r, head) != filled - 1))
    return "replay.cursor: a ring whose newest entry is elsewhere";
  bool ok = lgv__is_count(c[REPLAY_ADDED]) && lgv__is_count(c[REPLAY_STAGE]) &&
            lgv__is_within(c[REPLAY_ENDED], 0, 1);
  return ok ? NULL : "replay.cursor: counter out of range";
}

/* Checks the entries of one stream, from the oldest to the newest. */
static const char *entry_fault(const replay *r, int64_t stream) {
  const int64_t *c = r->cursor + stream * REPLAY_CURSORS;
  int64_t entry = oldest_of(r, stream), actions = 0;
  bool begins = c[REPLAY_FILLED] < length_of_ring(r); /* nothing was overwritten yet */
  int32_t age = begins || c[REPLAY_FILLED] == 0 ? 0 : r->age[entry];
  for (int64_t i = 0; i < c[REPLAY_FILLED]; i++, entry = lgv__replay_following(r, entry)) {
    bool acted = has_action(r, entry);
    bool newest = i + 1 == c[REPLAY_FILLED];
    if (age < 0 || r->age[entry] != age) return "replay.age: a step whose age does not follow";
    if (!is_action(r, entry) || (newest && acted)) return "replay.action: an action that cannot be";
    if (r->terminated[entry] > 1) return "replay.terminated: neither 0 nor 1";
    if (!lgv__replay_is_observation(&r->env, stored(r, entry)))
      return "replay.obs: an observation that cannot be";
    age = acted ? next_age(age) : 0;
    actions += acted;
  }
  return actions == c[REPLAY_ACTIONS] ? NULL
                                      : "replay.cursor: another number of actions than there are";
}

const char *lgv__replay_fault(const replay *r) {
  int64_t most = 0;
  for (int64_t s = 0; s < r->streams; s++) {
    int64_t filled = r->cursor[s * REPLAY_CURSORS + REPLAY_FILLED];
    const char *fault = cursor_fault(r, s);
    if (!fault) fault = entry_fault(r, s);
    if (!fault && !lgv__replay_is_observation(&r->env, r->lost_first + s * r->obs_bytes))
      fault = "replay.lost_first: an observation that cannot be";
    if (fault) return fault;
    if (filled > most) most = filled;
  }
  return *r->rows == most ? NULL : "replay.rows: more rows than any ring has filled";
}
