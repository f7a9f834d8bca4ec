#include "agent/pathwise/circles.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

static const char *walk_fault(const void *circles_) {
  const circles *c = circles_;
  bool ok = lgv__are_counts(c->walk, (size_t)c->streams * WALK_COUNTERS) &&
            lgv__are_counts(c->repeats, 2);
  for (int32_t i = 0; i < c->streams; i++) ok = ok && c->least[i] <= 0 && isfinite(c->least[i]);
  return ok ? NULL : "counter out of range";
}

void lgv__circles_layout(circles *c, int32_t streams, lgv_layout *layout) {
  c->streams = streams > 1 ? streams : 1;
  size_t n = (size_t)c->streams;
  c->mark = lgv_layout_array(layout, "circle.mark", LGV_U64, n, LGV_KEEP);
  c->after = lgv_layout_array(layout, "circle.after", LGV_U64, n, LGV_KEEP);
  c->least = lgv_layout_array(layout, "circle.least", LGV_F64, n, LGV_KEEP);
  c->walk = lgv_layout_array(layout, "circle.walk", LGV_I64, n * WALK_COUNTERS, LGV_KEEP);
  c->repeats = lgv_layout_array(layout, "circle.repeats", LGV_I64, 2, LGV_KEEP);
  lgv_layout_check(layout, walk_fault, c);
}

static int64_t *walk_of(const circles *c, int32_t stream) {
  return c->walk + (int64_t)stream * WALK_COUNTERS;
}

void lgv__circles_restart(circles *c) {
  memset(c->walk, 0, (size_t)c->streams * WALK_COUNTERS * sizeof *c->walk);
  memset(c->least, 0, (size_t)c->streams * sizeof *c->least);
}

void lgv__circles_begin(circles *c) {
  memset(walk_of(c, c->stream), 0, WALK_COUNTERS * sizeof *c->walk);
  c->least[c->stream] = 0;
}

void lgv__circles_news(circles *c) {
  for (int32_t i = 0; i < c->streams; i++) walk_of(c, i)[WALK_PERIOD] = 0;
}

/* Whether the world stays as it is within an episode, as far as the repeats show. */
static bool world_is_fixed(const circles *c) {
  int64_t others = c->repeats[0], all = others + c->repeats[1];
  return all >= CIRCLES_REPEATS && others * CIRCLES_REPEATS <= all;
}

/* The first step from the mark, or another one after a return. */
static void leave_mark(circles *c, int64_t *walk, int32_t action, bool varies, uint64_t name) {
  if (walk[WALK_STEPS] == 1) {
    walk[WALK_ACTION] = action;
    c->after[c->stream] = name;
  } else if (varies && action == walk[WALK_ACTION]) {
    c->repeats[name == c->after[c->stream]]++;
  }
}

void lgv__circles_step(circles *c, int32_t action, bool varies, uint64_t name, double reward) {
  int64_t *walk = walk_of(c, c->stream);
  uint64_t *mark = &c->mark[c->stream];
  double *least = &c->least[c->stream];
  if (reward > *least) walk[WALK_PERIOD] = 0;
  *least = fmin(*least, reward);
  if (walk[WALK_PERIOD] > 0) {
    walk[WALK_STEPS]++;
    if (walk[WALK_AT_MARK]) leave_mark(c, walk, action, varies, name);
    walk[WALK_AT_MARK] = name == *mark;
    if (walk[WALK_AT_MARK] && world_is_fixed(c)) walk[WALK_LOST] = 1;
    if (walk[WALK_STEPS] < walk[WALK_PERIOD]) return;
  }
  *mark = name;
  walk[WALK_PERIOD] = walk[WALK_PERIOD] > 0 ? 2 * walk[WALK_PERIOD] : 1;
  walk[WALK_STEPS] = 0;
  walk[WALK_AT_MARK] = 1;
}

bool lgv__circles_is_lost(const circles *c) { return walk_of(c, c->stream)[WALK_LOST] > 0; }
