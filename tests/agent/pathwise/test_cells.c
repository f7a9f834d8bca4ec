/* Cells: counts and targets against closed forms, every operation against a naive model, and each
 * broken invariant. */
#include "agent/pathwise/cells.h"
#include "base/arena.h"
#include "run_helpers.h"

#include <math.h>
#include <stdlib.h>

enum { A = 2, KEYS = 64 };

typedef struct rig {
  cells c;
  lgv_arena arena;
  bool masked;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *r = context;
  lgv__cells_layout(&r->c, r->masked, layout);
}

static void rig_open(rig *r, int64_t capacity, bool masked) {
  lgv_error err = {0};
  *r = (rig){.c = {.capacity = capacity, .actions = A, .obs_bytes = 8}, .masked = masked};
  assert_int_equal(lgv__arena_build(&r->arena, layout_rig, r, "a test", &err), LGV_OK);
  lgv__cells_open(&r->c);
}

static void rig_close(rig *r) { lgv__arena_free(&r->arena); }

static int64_t add(cells *c, uint64_t key) {
  int64_t cell = lgv__cells_add(c, key, &key);
  c->best[cell] = c->mean_best[cell] = 0;
  return cell;
}

static void assert_sound(const cells *c) {
  const char *fault = lgv__cells_fault(c);
  if (fault) fail_msg("%s", fault);
}

/* ---- targets ---- */

/* Rewards 1 and 3 before cell 0, 5 before cell 1, 7 before the end: mean 4, variance 5. With gamma
 * = 1/2 and V = (4, -2) the next values are 2, 2, -1 and 0: mean 3/4, variance 9/4 - 9/16. The mean
 * V is (8, 0), next values 4, 4, 0 and 0: mean 2. */
static void targets_have_their_closed_form(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 8, false);
  cells *c = &r.c;
  int64_t x = add(c, 10), y = add(c, 20), from = add(c, 30);
  c->best[x] = 4, c->best[y] = -2;
  c->mean_best[x] = 8, c->mean_best[y] = 0;
  lgv__cells_count(c, from, 1, 1, x);
  lgv__cells_count(c, from, 1, 5, y);
  lgv__cells_count(c, from, 1, 3, x);
  lgv__cells_count(c, from, 1, 7, CELLS_END);
  cell_target t = lgv__cells_target(c, from * A + 1, 0.5);
  assert_float_equal(t.n, 4, 0);
  assert_float_equal(t.sample, 4 + 0.75, 1e-12);
  assert_float_equal(t.mean, 4 + 2, 1e-12);
  assert_float_equal(t.reward_variance, 5, 1e-12);
  assert_float_equal(t.future_variance, 9.0 / 4 - 9.0 / 16, 1e-12);
  assert_float_equal(t.ended, 0.25, 0);
  assert_float_equal(t.lowest, 4 - 1, 1e-12);
  assert_float_equal(t.highest, 4 + 2, 1e-12);
  assert_int_equal(c->size[CELLS_EDGES], 3);
  assert_sound(c);
  rig_close(&r);
}

/* The end is a next cell of value 0, the worst or the best one, and the only one if all visits
 * ended. */
static void the_end_counts_among_next_cells(void **state) {
  (void)state;
  const double best[] = {4, -4}, lowest[] = {3, 1}, highest[] = {5, 3};
  for (int i = 0; i < 2; i++) {
    rig r;
    rig_open(&r, 8, false);
    int64_t x = add(&r.c, 10), from = add(&r.c, 30);
    r.c.best[x] = (float)best[i];
    lgv__cells_count(&r.c, from, 0, 3, CELLS_END);
    cell_target t = lgv__cells_target(&r.c, from * A, 0.5);
    assert_true(t.ended == 1 && t.lowest == 3 && t.highest == 3 && t.sample == 3);
    lgv__cells_count(&r.c, from, 0, 3, x);
    t = lgv__cells_target(&r.c, from * A, 0.5);
    assert_true(t.ended == 0.5 && t.lowest == lowest[i] && t.highest == highest[i]);
    lgv__cells_count(&r.c, from, 1, 3, x);
    t = lgv__cells_target(&r.c, from * A + 1, 0.5);
    assert_true(t.ended == 0 && t.lowest == t.sample && t.highest == t.sample);
    rig_close(&r);
  }
}

/* Equal targets have the variance 0 and nothing that is left by rounding. */
static void equal_targets_have_no_variance(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 8, false);
  cells *c = &r.c;
  int64_t x = add(c, 10), from = add(c, 30);
  c->best[x] = 0.1f;
  for (int i = 0; i < 1000; i++) lgv__cells_count(c, from, 0, -1.0 / 3, x);
  cell_target t = lgv__cells_target(c, from * A, 0.99);
  assert_float_equal(t.sample, -1.0 / 3 + 0.99 * (double)0.1f, 1e-9);
  assert_true(t.reward_variance == 0 && t.future_variance == 0);
  lgv__cells_count(c, from, 0, 0.5, x);
  t = lgv__cells_target(c, from * A, 0.99);
  assert_true(t.reward_variance > 1e-4 && t.future_variance == 0);
  lgv__cells_count(c, from, 1, 0.5, x);
  lgv__cells_count(c, from, 1, 0.5, CELLS_END);
  t = lgv__cells_target(c, from * A + 1, 0.99);
  assert_true(t.reward_variance == 0 && t.future_variance > 1e-4);
  rig_close(&r);
}

/* A float cannot count further: mean and variance must not change as if n did not grow. */
static void counts_stop_before_floats_do(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 4, false);
  cells *c = &r.c;
  int64_t from = add(c, 1);
  lgv__cells_count(c, from, 0, 1, CELLS_END);
  c->count[0] = c->times[0] = 16777216;
  c->reward[0] = c->square[0] = 16777216;
  for (int i = 0; i < 100; i++) lgv__cells_count(c, from, 0, 1, CELLS_END);
  assert_true(lgv__cells_target(c, 0, 0.9).sample == 1);
  assert_sound(c);
  rig_close(&r);
}

static void masks_are_kept(void **state) {
  (void)state;
  const uint8_t left[A] = {1, 0}, right[A] = {0, 1};
  rig r;
  for (int masked = 0; masked <= 1; masked++) {
    rig_open(&r, 4, masked);
    int64_t first = add(&r.c, 1), second = add(&r.c, 2);
    assert_true(lgv__cells_allow(&r.c, second, 0) && lgv__cells_allow(&r.c, second, 1));
    lgv__cells_keep_mask(&r.c, first, left);
    lgv__cells_keep_mask(&r.c, second, right);
    assert_int_equal(lgv__cells_allow(&r.c, first, 1), !masked);
    assert_int_equal(lgv__cells_allow(&r.c, second, 0), !masked);
    lgv__cells_forget(&r.c); /* the second becomes the first */
    assert_int_equal(lgv__cells_allow(&r.c, 0, 0), !masked);
    assert_true(lgv__cells_allow(&r.c, 0, 1));
    lgv__cells_keep_mask(&r.c, 0, NULL);
    assert_true(lgv__cells_allow(&r.c, 0, 0));
    rig_close(&r);
  }
}

/* ---- a naive model ---- */

typedef struct model {
  int known, born;                 /* born: cells added so far */
  uint64_t recent[KEYS];           /* the newest first */
  int birth[KEYS];                 /* by key: the order of addition */
  uint64_t example[KEYS];          /* of the first observation */
  float value[KEYS];               /* of action 0 */
  double times[KEYS][A][KEYS + 1]; /* KEYS: the end */
  double reward[KEYS][A], square[KEYS][A];
} model;

static int place_in_list(const model *m, uint64_t key) {
  for (int i = 0; i < m->known; i++)
    if (m->recent[i] == key) return i;
  return -1;
}

static void model_visit(model *m, uint64_t key) {
  int at = place_in_list(m, key);
  memmove(m->recent + 1, m->recent, (size_t)at * sizeof *m->recent);
  m->recent[0] = key;
}

static void model_add(model *m, uint64_t key, float value) {
  m->recent[m->known++] = key;
  m->birth[key] = m->born++;
  m->example[key] = key;
  m->value[key] = value;
  model_visit(m, key);
}

static void model_count(model *m, uint64_t key, int action, double reward, uint64_t to) {
  m->times[key][action][to]++;
  m->reward[key][action] += reward;
  m->square[key][action] += reward * reward;
}

/* Keys are halved. */
static void model_merge(model *m) {
  model *old = malloc(sizeof *old);
  *old = *m;
  *m = (model){.born = old->born};
  for (int i = 0; i < old->known; i++) {
    uint64_t from = old->recent[i], key = from / 2;
    bool is_new = place_in_list(m, key) < 0;
    if (is_new) m->recent[m->known++] = key;
    if (is_new || old->birth[from] < m->birth[key]) {
      m->birth[key] = old->birth[from];
      m->example[key] = old->example[from];
      m->value[key] = old->value[from];
    }
    for (int a = 0; a < A; a++) {
      m->reward[key][a] += old->reward[from][a];
      m->square[key][a] += old->square[from][a];
      for (int to = 0; to <= KEYS; to++)
        m->times[key][a][to == KEYS ? KEYS : to / 2] += old->times[from][a][to];
    }
  }
  free(old);
}

static double visits(const model *m, uint64_t key, int action) {
  double n = 0;
  for (int to = 0; to <= KEYS; to++) n += m->times[key][action][to];
  return n;
}

static void model_forget(model *m) {
  int kept = m->known / 2;
  for (int i = 0; i < m->known; i++)
    for (int a = 0; a < A; a++) {
      uint64_t key = m->recent[i];
      double before = visits(m, key, a);
      for (int k = kept; k < m->known; k++) m->times[key][a][m->recent[k]] = 0;
      double share = before > 0 ? visits(m, key, a) / before : 0;
      m->reward[key][a] *= share;
      m->square[key][a] *= share;
    }
  for (int k = kept; k < m->known; k++) {
    memset(m->times[m->recent[k]], 0, sizeof m->times[0]);
    memset(m->reward[m->recent[k]], 0, sizeof m->reward[0]);
    memset(m->square[m->recent[k]], 0, sizeof m->square[0]);
  }
  m->known = kept;
}

static void assert_same_pair(const cells *c, const model *m, int64_t cell, int action) {
  int64_t pair = cell * A + action;
  uint64_t key = c->key[cell];
  double n = 0;
  for (int32_t e = c->edge[pair]; e >= 0; e = c->next[e]) {
    uint64_t to = c->to[e] == CELLS_END ? KEYS : c->key[c->to[e]];
    assert_float_equal(c->times[e], m->times[key][action][to], 0);
    n += (double)c->times[e];
  }
  assert_float_equal(n, visits(m, key, action), 0); /* so no edge is missing */
  assert_float_equal(c->count[pair], n, 0);
  assert_float_equal(c->reward[pair], m->reward[key][action], 1e-9);
  assert_float_equal(c->square[pair], m->square[key][action], 1e-9);
}

static void assert_same(const cells *c, const model *m) {
  int64_t at = c->size[CELLS_NEWEST];
  assert_int_equal(c->size[CELLS_COUNT], m->known);
  for (int i = 0; i < m->known; i++, at = c->older[at]) {
    uint64_t key = m->recent[i], example;
    assert_int_equal(c->key[at], key);
    assert_int_equal(lgv__cells_find(c, key), at);
    memcpy(&example, cells_example(c, at), sizeof example);
    assert_int_equal(example, m->example[key]);
    assert_float_equal(c->value[at * A], m->value[key], 0);
    for (int a = 0; a < A; a++) assert_same_pair(c, m, at, a);
  }
  assert_int_equal(at, -1);
  for (uint64_t key = 0; key < KEYS; key++)
    if (place_in_list(m, key) < 0) assert_int_equal(lgv__cells_find(c, key), -1);
  assert_sound(c);
}

/* The cell of a key, as an agent meets it. */
static int64_t meet(cells *c, model *m, uint64_t key, lgv_rng *rng) {
  int64_t cell = lgv__cells_find(c, key);
  assert_int_equal(cell >= 0, place_in_list(m, key) >= 0);
  if (cell < 0) {
    float value = (float)lgv_rng_normal(rng);
    cell = add(c, key);
    c->value[cell * A] = value;
    model_add(m, key, value);
  }
  lgv__cells_visit(c, cell);
  model_visit(m, key);
  return cell;
}

static void merge(cells *c, model *m) {
  for (int64_t i = 0; i < c->size[CELLS_COUNT]; i++) c->key[i] /= 2;
  lgv__cells_merge(c);
  model_merge(m);
}

/* 40 sequences of 300 steps. Small tables (24 cells for up to 64 keys) forget often; large ones
 * never; half of the sequences merge four times. */
static void every_operation_agrees_with_a_naive_model(void **state) {
  (void)state;
  int forgotten = 0;
  for (uint64_t seed = 0; seed < 40; seed++) {
    rig r;
    lgv_rng rng;
    model *m = calloc(1, sizeof *m);
    uint64_t keys = KEYS;
    rig_open(&r, seed % 2 ? 24 : KEYS + 2, false);
    lgv_rng_seed(&rng, seed, "test");
    for (int i = 0; i < 300; i++) {
      if (seed % 4 < 2 && i % 64 == 63) merge(&r.c, m), keys /= 2;
      if (!lgv__cells_have_room(&r.c)) lgv__cells_forget(&r.c), model_forget(m), forgotten++;
      uint64_t from = (uint64_t)lgv_rng_below(&rng, (int64_t)keys);
      uint64_t to = (uint64_t)lgv_rng_below(&rng, (int64_t)keys);
      int action = (int)lgv_rng_below(&rng, A);
      bool ends = lgv_rng_below(&rng, 4) == 0;
      double reward = lgv_rng_normal(&rng);
      int64_t cell = meet(&r.c, m, from, &rng), next = ends ? CELLS_END : meet(&r.c, m, to, &rng);
      lgv__cells_count(&r.c, cell, action, reward, next);
      model_count(m, from, action, reward, ends ? KEYS : to);
      if (i % 8 == 7 || i > 290) assert_same(&r.c, m);
    }
    free(m);
    rig_close(&r);
  }
  assert_true(forgotten > 40);
}

/* Fine keys that are merged leave what coarse keys would have counted. */
static void merged_cells_are_those_of_coarser_keys(void **state) {
  (void)state;
  rig fine, coarse;
  lgv_rng rng;
  rig_open(&fine, 300, false); /* room for 2400 edges */
  rig_open(&coarse, 300, false);
  lgv_rng_seed(&rng, 1, "test");
  model *m = calloc(1, sizeof *m), *n = calloc(1, sizeof *n);
  for (int i = 0; i < 2000; i++) {
    uint64_t from = (uint64_t)lgv_rng_below(&rng, KEYS), to = (uint64_t)lgv_rng_below(&rng, KEYS);
    int action = (int)lgv_rng_below(&rng, A);
    double reward = (double)lgv_rng_below(&rng, 9);
    int64_t x = meet(&fine.c, m, from, &rng), y = meet(&fine.c, m, to, &rng);
    lgv__cells_count(&fine.c, x, action, reward, y);
    x = meet(&coarse.c, n, from / 4, &rng), y = meet(&coarse.c, n, to / 4, &rng);
    lgv__cells_count(&coarse.c, x, action, reward, y);
  }
  for (int64_t i = 0; i < fine.c.size[CELLS_COUNT]; i++) fine.c.key[i] /= 4;
  lgv__cells_merge(&fine.c);
  const cells *c = &fine.c, *d = &coarse.c;
  assert_sound(c);
  assert_int_equal(c->size[CELLS_COUNT], KEYS / 4);
  assert_int_equal(c->size[CELLS_EDGES], d->size[CELLS_EDGES]);
  for (int64_t i = 0; i < KEYS / 4; i++) {
    int64_t k = lgv__cells_find(d, c->key[i]);
    fine.c.best[i] = coarse.c.best[k] = (float)c->key[i];
  }
  for (int64_t i = 0; i < KEYS / 4 * A; i++) {
    int64_t pair = lgv__cells_find(d, c->key[i / A]) * A + i % A;
    cell_target t = lgv__cells_target(c, i, 0.9), u = lgv__cells_target(d, pair, 0.9);
    assert_float_equal(t.n, u.n, 0);
    assert_float_equal(t.sample, u.sample, 1e-9);
    assert_float_equal(t.reward_variance, u.reward_variance, 1e-9);
    assert_float_equal(t.future_variance, u.future_variance, 1e-9);
    assert_float_equal(t.ended, u.ended, 0);
    assert_float_equal(t.lowest, u.lowest, 1e-9);
    assert_float_equal(t.highest, u.highest, 1e-9);
  }
  int64_t at = c->size[CELLS_NEWEST], to = d->size[CELLS_NEWEST];
  for (; at >= 0; at = c->older[at], to = d->older[to]) assert_int_equal(c->key[at], d->key[to]);
  free(m), free(n);
  rig_close(&fine), rig_close(&coarse);
}

/* The newest 16 of 32 cells lead to each other and have all edges. Forgetting the other 16 makes no
 * room for another one. Forgetting half of the rest does. */
static void room_is_made_for_an_edge_too(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 64, false);
  cells *c = &r.c;
  for (uint64_t key = 0; key < 32; key++) add(c, key);
  for (int64_t i = 0; i < 32 * 32 && c->size[CELLS_EDGES] < c->most_edges; i++)
    lgv__cells_count(c, 16 + i % 16, (int32_t)(i / 16 % 2), 1, 16 + i / 32 % 16);
  assert_int_equal(c->size[CELLS_EDGES], 16 * 16 * A);
  assert_int_equal(c->most_edges, 16 * 16 * A);
  assert_false(lgv__cells_have_room(c));
  lgv__cells_make_room(c);
  assert_true(lgv__cells_have_room(c));
  assert_int_equal(c->size[CELLS_COUNT], 8);
  assert_int_equal(c->size[CELLS_EDGES], 8 * 8 * A);
  assert_sound(c);
  rig_close(&r);
}

/* ---- faults ---- */

/* Three cells; the pair (0, 0) leads to 1 and 2, (1, 1) to the end, each once. */
static void open_sound(rig *r) {
  rig_open(r, 6, false);
  for (uint64_t key = 0; key < 3; key++) add(&r->c, key);
  lgv__cells_count(&r->c, 0, 0, 1, 1);
  lgv__cells_count(&r->c, 0, 0, 1, 2);
  lgv__cells_count(&r->c, 1, 1, 1, CELLS_END);
  assert_sound(&r->c);
}

#define ASSERT_FAULT(broken, text)                                                                 \
  do {                                                                                             \
    rig r;                                                                                         \
    open_sound(&r);                                                                                \
    cells *c = &r.c;                                                                               \
    broken;                                                                                        \
    const char *fault = lgv__cells_fault(c);                                                       \
    if (!fault || !strstr(fault, text)) fail_msg("%s: %s", #broken, fault ? fault : "no fault");   \
    rig_close(&r);                                                                                 \
  } while (0)

/* Also after cells were forgotten: the bytes of a resumed run depend on it. */
static void the_table_follows_from_the_keys(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 32, false);
  cells *c = &r.c;
  for (uint64_t key = 0; key < 32; key++) add(c, 37 * key % 64); /* some share their first slot */
  lgv__cells_visit(c, 3);
  lgv__cells_forget(c);
  for (uint64_t key = 200; key < 210; key++) add(c, 13 * key);
  int32_t slots[64];
  assert_int_equal(c->n_slots, 64);
  memcpy(slots, c->slot, sizeof slots);
  memset(c->slot, 7, sizeof slots);
  assert_null(lgv__cells_fault(c));
  assert_memory_equal(c->slot, slots, sizeof slots);
  rig_close(&r);
}

static void every_broken_invariant_is_found(void **state) {
  (void)state;
  ASSERT_FAULT(c->size[CELLS_COUNT] = 7, "cell.size");
  ASSERT_FAULT(c->size[CELLS_COUNT] = -1, "cell.size");
  ASSERT_FAULT(c->size[CELLS_EDGES] = c->most_edges + 1, "cell.size");
  ASSERT_FAULT(c->key[2] = c->key[1], "cell.key: two cells have one key");
  ASSERT_FAULT(c->size[CELLS_NEWEST] = -1, "cell.older");
  ASSERT_FAULT(c->size[CELLS_NEWEST] = 3, "cell.older");
  ASSERT_FAULT(c->size[CELLS_OLDEST] = 1, "cell.older");
  ASSERT_FAULT(c->older[0] = 2, "cell.older");
  ASSERT_FAULT(c->older[1] = -1, "cell.older");
  ASSERT_FAULT(c->older[1] = 1, "cell.older");
  ASSERT_FAULT(c->newer[0] = 2, "cell.older");
  ASSERT_FAULT(c->edge[0] = 3, "pair.edge");
  ASSERT_FAULT(c->edge[0] = -2, "pair.edge");
  ASSERT_FAULT(c->next[0] = 1, "pair.edge");                    /* a circle */
  ASSERT_FAULT((c->edge[5] = 2, c->count[5] = 1), "pair.edge"); /* an edge of two pairs */
  ASSERT_FAULT((c->edge[3] = 0, c->next[0] = -1), "pair.edge"); /* so that none is left */
  ASSERT_FAULT((c->edge[3] = -1, c->count[3] = 0), "edge of no pair");
  ASSERT_FAULT(c->to[0] = 3, "edge.to: an unknown cell");
  ASSERT_FAULT(c->to[0] = -2, "edge.to: an unknown cell");
  ASSERT_FAULT(c->to[0] = 2, "edge.to: two edges");
  ASSERT_FAULT(c->to[0] = c->to[1] = CELLS_END, "edge.to: two edges");
  ASSERT_FAULT(c->times[0] = 0, "edge.times");
  ASSERT_FAULT(c->times[0] = NAN, "edge.times");
  ASSERT_FAULT(c->count[0] = 3, "pair.count");
  ASSERT_FAULT(c->count[1] = 1, "pair.count");
  ASSERT_FAULT(c->count[0] = NAN, "pair.count");
  ASSERT_FAULT(c->reward[1] = INFINITY, "pair.reward");
  ASSERT_FAULT(c->square[1] = -1, "pair.reward");
  ASSERT_FAULT(c->value[5] = NAN, "pair.value");
  ASSERT_FAULT(c->mean[5] = NAN, "pair.value");
  ASSERT_FAULT(c->prior[5] = INFINITY, "pair.value");
  ASSERT_FAULT(c->noise[5] = NAN, "pair.value");
  ASSERT_FAULT(c->base[5] = NAN, "pair.value");
  ASSERT_FAULT(c->best[2] = -INFINITY, "cell.best");
  ASSERT_FAULT(c->mean_best[2] = NAN, "cell.best");
}

static void lessons_that_cannot_be_are_found(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 4, false);
  add(&r.c, 1), add(&r.c, 2);
  lgv__cells_count(&r.c, 0, 1, 0, CELLS_END);
  r.c.taught[1] = 1;
  assert_sound(&r.c);
  r.c.taught[1] = 2;
  assert_string_equal(lgv__cells_fault(&r.c), "pair.taught: not 0 or 1, or without data");
  r.c.taught[1] = 0;
  r.c.taught[3] = 1;
  assert_string_equal(lgv__cells_fault(&r.c), "pair.taught: not 0 or 1, or without data");
  rig_close(&r);
}

static void masks_that_cannot_be_are_found(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 4, true);
  add(&r.c, 1), add(&r.c, 2);
  lgv__cells_keep_mask(&r.c, 1, (const uint8_t[]){1, 0});
  assert_sound(&r.c);
  r.c.mask[3] = 2;
  assert_string_equal(lgv__cells_fault(&r.c), "cell.mask: a mask that is neither 0 nor 1");
  r.c.mask[2] = r.c.mask[3] = 0;
  assert_string_equal(lgv__cells_fault(&r.c), "cell.mask: a mask that allows no action");
  rig_close(&r);
}

/* An agent attaches the check of loaded cells to the last array: one that is not kept is not loaded
 * either, and the check would never run. */
static void the_last_array_is_kept(void **state) {
  (void)state;
  rig r;
  open_sound(&r);
  assert_true(r.arena.table.blocks[r.arena.table.n_blocks - 1].keep);
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(targets_have_their_closed_form),
      cmocka_unit_test(the_end_counts_among_next_cells),
      cmocka_unit_test(equal_targets_have_no_variance),
      cmocka_unit_test(counts_stop_before_floats_do),
      cmocka_unit_test(masks_are_kept),
      cmocka_unit_test(every_operation_agrees_with_a_naive_model),
      cmocka_unit_test(merged_cells_are_those_of_coarser_keys),
      cmocka_unit_test(room_is_made_for_an_edge_too),
      cmocka_unit_test(the_table_follows_from_the_keys),
      cmocka_unit_test(every_broken_invariant_is_found),
      cmocka_unit_test(lessons_that_cannot_be_are_found),
      cmocka_unit_test(masks_that_cannot_be_are_found),
      cmocka_unit_test(the_last_array_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
