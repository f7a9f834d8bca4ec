#include "agent/deep/circles.h"

#include "base/arena.h"

#include <string.h>

static const char *circles_fault(const void *circles_) {
  const circles *c = circles_;
  bool ok = lgv__are_counts(c->steps, (size_t)c->streams) &&
            lgv__are_counts(c->moves, (size_t)c->streams);
  for (int32_t i = 0; i < c->streams; i++) ok = ok && c->lost[i] <= 1;
  return ok ? NULL : "a walk that cannot be";
}

void lgv__circles_layout(circles *c, int32_t streams, lgv_layout *layout) {
  c->streams = streams > 1 ? streams : 1;
  size_t n = (size_t)c->streams;
  c->mark = lgv_layout_array(layout, "circle.mark", LGV_U64, n, LGV_KEEP);
  c->steps = lgv_layout_array(layout, "circle.steps", LGV_I64, n, LGV_KEEP);
  c->moves = lgv_layout_array(layout, "circle.moves", LGV_I64, n, LGV_KEEP);
  c->lost = lgv_layout_array(layout, "circle.lost", LGV_U8, n, LGV_KEEP);
  lgv_layout_check(layout, circles_fault, c);
}

void lgv__circles_restart(circles *c) {
  memset(c->moves, 0, (size_t)c->streams * sizeof *c->moves);
  memset(c->lost, 0, (size_t)c->streams);
}

void lgv__circles_step(circles *c, uint64_t name, bool is_news) {
  uint64_t *mark = &c->mark[c->stream];
  int64_t *steps = &c->steps[c->stream], *moves = &c->moves[c->stream];
  if (is_news) *moves = 0;
  if (*moves > 0 && name == *mark) c->lost[c->stream] = 1;
  if (*moves > 0 && ++*steps < *moves) return;
  *mark = name;
  *steps = 0;
  *moves = *moves > 0 ? 2 * *moves : 1;
}
