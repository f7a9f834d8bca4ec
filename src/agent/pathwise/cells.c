#include "agent/pathwise/cells.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { EDGES_PER_CELL = 8, NONE = -1 };
enum { MOST_VISITS = 1 << 24 }; /* up to here a float counts exactly */

/* ---- memory ---- */

/* The number of rows in use. There is no array yet when the layout counts its bytes. */
static const int64_t *used_of(const cells *c, int which) {
  return c->size ? c->size + which : NULL;
}

static void layout_pairs(cells *c, lgv_layout *layout) {
  size_t rows = (size_t)c->capacity, width = (size_t)c->actions;
  const int64_t *used = used_of(c, CELLS_COUNT);
  c->edge = lgv__layout_needed_rows(layout, "pair.edge", LGV_I32, rows, width, used);
  c->count = lgv__layout_needed_rows(layout, "pair.count", LGV_F32, rows, width, used);
  c->reward = lgv__layout_needed_rows(layout, "pair.reward", LGV_F64, rows, width, used);
  c->square = lgv__layout_needed_rows(layout, "pair.square", LGV_F64, rows, width, used);
  c->value = lgv__layout_needed_rows(layout, "pair.value", LGV_F32, rows, width, used);
  c->prior = lgv__layout_needed_rows(layout, "pair.prior", LGV_F32, rows, width, used);
  c->noise = lgv__layout_needed_rows(layout, "pair.noise", LGV_F32, rows, width, used);
  c->mean = lgv__layout_needed_rows(layout, "pair.mean", LGV_F32, rows, width, used);
  c->base = lgv__layout_needed_rows(layout, "pair.base", LGV_F32, rows, width, used);
  c->taught = lgv__layout_needed_rows(layout, "pair.taught", LGV_U8, rows, width, used);
}

static void layout_edges(cells *c, lgv_layout *layout) {
  size_t rows = (size_t)c->most_edges;
  const int64_t *used = used_of(c, CELLS_EDGES);
  c->to = lgv__layout_needed_rows(layout, "edge.to", LGV_I32, rows, 1, used);
  c->next = lgv__layout_needed_rows(layout, "edge.next", LGV_I32, rows, 1, used);
  c->times = lgv__layout_needed_rows(layout, "edge.times", LGV_F32, rows, 1, used);
}

static void layout_scratch(cells *c, lgv_layout *layout) {
  size_t rows = (size_t)c->capacity, edges = (size_t)c->most_edges;
  c->number = lgv_layout_array(layout, "cell.number", LGV_I32, rows, LGV_SCRATCH);
  c->order = lgv_layout_array(layout, "cell.order", LGV_I32, rows, LGV_SCRATCH);
  c->old_to = lgv_layout_array(layout, "edge.old_to", LGV_I32, edges, LGV_SCRATCH);
  c->old_next = lgv_layout_array(layout, "edge.old_next", LGV_I32, edges, LGV_SCRATCH);
  c->old_times = lgv_layout_array(layout, "edge.old_times", LGV_F32, edges, LGV_SCRATCH);
}

/* A kept block comes last: the caller attaches the check of all cells to it. */
void lgv__cells_layout(cells *c, bool masked, lgv_layout *layout) {
  size_t rows = (size_t)c->capacity;
  c->most_edges = c->capacity * EDGES_PER_CELL;
  layout_scratch(c, layout);
  for (c->n_slots = 4; c->n_slots < 2 * c->capacity;) c->n_slots *= 2;
  c->size = lgv_layout_array(layout, "cell.size", LGV_I64, CELLS_SIZES, LGV_KEEP);
  const int64_t *used = used_of(c, CELLS_COUNT);
  c->slot = lgv_layout_array(layout, "cell.slot", LGV_I32, (size_t)c->n_slots, LGV_SCRATCH);
  c->key = lgv__layout_needed_rows(layout, "cell.key", LGV_U64, rows, 1, used);
  c->example = lgv__layout_needed_rows(layout, "cell.example", LGV_U8, rows, c->obs_bytes, used);
  c->newer = lgv__layout_needed_rows(layout, "cell.newer", LGV_I32, rows, 1, used);
  c->older = lgv__layout_needed_rows(layout, "cell.older", LGV_I32, rows, 1, used);
  c->best = lgv__layout_needed_rows(layout, "cell.best", LGV_F32, rows, 1, used);
  c->mean_best = lgv__layout_needed_rows(layout, "cell.mean_best", LGV_F32, rows, 1, used);
  size_t width = (size_t)c->actions;
  c->mask = masked ? lgv__layout_needed_rows(layout, "cell.mask", LGV_U8, rows, width, used) : NULL;
  layout_pairs(c, layout);
  layout_edges(c, layout);
}

void lgv__cells_open(cells *c) { c->size[CELLS_NEWEST] = c->size[CELLS_OLDEST] = NONE; }

/* ---- the table ---- */

/* The slot of a key: that of its cell, or the free one where it would go. */
static uint64_t place_of(const cells *c, uint64_t key) {
  uint64_t last = (uint64_t)c->n_slots - 1, at = key & last;
  while (c->slot[at] && c->key[c->slot[at] - 1] != key) at = (at + 1) & last;
  return at;
}

int64_t lgv__cells_find(const cells *c, uint64_t key) { return c->slot[place_of(c, key)] - 1; }

bool lgv__cells_have_room(const cells *c) {
  return c->size[CELLS_COUNT] + 2 <= c->capacity && c->size[CELLS_EDGES] < c->most_edges;
}

int64_t lgv__cells_add(cells *c, uint64_t key, const void *example) {
  int64_t cell = c->size[CELLS_COUNT]++;
  assert(cell < c->capacity);
  c->slot[place_of(c, key)] = (int32_t)cell + 1;
  c->key[cell] = key;
  memcpy(c->example + (size_t)cell * c->obs_bytes, example, c->obs_bytes);
  for (int64_t p = cell * c->actions; p < (cell + 1) * c->actions; p++) {
    c->edge[p] = NONE;
    c->count[p] = c->value[p] = c->mean[p] = c->prior[p] = c->noise[p] = c->base[p] = 0;
    c->reward[p] = c->square[p] = 0;
    c->taught[p] = 0;
    if (c->mask) c->mask[p] = 1;
  }
  c->newer[cell] = NONE;
  c->older[cell] = (int32_t)c->size[CELLS_NEWEST];
  if (c->older[cell] >= 0)
    c->newer[c->older[cell]] = (int32_t)cell;
  else
    c->size[CELLS_OLDEST] = cell;
  c->size[CELLS_NEWEST] = cell;
  return cell;
}

void lgv__cells_keep_mask(cells *c, int64_t cell, const uint8_t *mask) {
  for (int32_t a = 0; c->mask && a < c->actions; a++)
    c->mask[cell * c->actions + a] = !mask || mask[a];
}

void lgv__cells_visit(cells *c, int64_t cell) {
  int32_t newer = c->newer[cell], older = c->older[cell];
  if (newer < 0) return;
  c->older[newer] = older;
  if (older >= 0)
    c->newer[older] = newer;
  else
    c->size[CELLS_OLDEST] = newer;
  c->newer[cell] = NONE;
  c->older[cell] = (int32_t)c->size[CELLS_NEWEST];
  c->newer[c->size[CELLS_NEWEST]] = (int32_t)cell;
  c->size[CELLS_NEWEST] = cell;
}

/* ---- transitions ---- */

static void add_edge(cells *c, int64_t pair, int32_t to, float times) {
  for (int32_t e = c->edge[pair]; e >= 0; e = c->next[e])
    if (c->to[e] == to) {
      c->times[e] += times;
      return;
    }
  int64_t e = c->size[CELLS_EDGES]++;
  assert(e < c->most_edges);
  c->to[e] = to;
  c->times[e] = times;
  c->next[e] = c->edge[pair];
  c->edge[pair] = (int32_t)e;
}

void lgv__cells_count(cells *c, int64_t cell, int32_t action, double reward, int64_t to) {
  int64_t pair = cell * c->actions + action;
  if (c->count[pair] >= MOST_VISITS) return;
  c->count[pair]++;
  c->reward[pair] += reward;
  c->square[pair] += reward * reward;
  add_edge(c, pair, (int32_t)to, 1);
}

/* The difference of two means of squares, or 0 if it is no more than rounding. */
static double variance_of(double squares, double mean) {
  double variance = squares - mean * mean;
  return variance > 1e-10 * squares ? variance : 0;
}

cell_target lgv__cells_target(const cells *c, int64_t pair, double gamma) {
  double n = (double)c->count[pair], sample = 0, mean = 0, squares = 0;
  double lowest = INFINITY, highest = -INFINITY, ended = 0;
  for (int32_t e = c->edge[pair]; e >= 0; e = c->next[e]) {
    bool ends = c->to[e] == CELLS_END;
    double v = ends ? 0 : gamma * (double)c->best[c->to[e]], times = (double)c->times[e];
    if (ends) ended += times;
    sample += times * v;
    squares += times * v * v;
    mean += ends ? 0 : times * gamma * (double)c->mean_best[c->to[e]];
    if (v < lowest) lowest = v;
    if (v > highest) highest = v;
  }
  double future = sample / n, reward = c->reward[pair] / n;
  return (cell_target){.n = n,
                       .sample = future + reward,
                       .mean = mean / n + reward,
                       .reward_variance = variance_of(c->square[pair] / n, reward),
                       .future_variance = variance_of(squares / n, future),
                       .ended = ended / n,
                       .lowest = lowest + reward,
                       .highest = highest + reward};
}

/* ---- merging and forgetting ---- */

/* The cells in the order of the list. */
static int64_t list_cells(cells *c) {
  int64_t known = 0;
  for (int32_t i = (int32_t)c->size[CELLS_NEWEST]; i >= 0; i = c->older[i]) c->order[known++] = i;
  assert(known == c->size[CELLS_COUNT]);
  return known;
}

/* number[old] = new for the cells that stay; of cells with one key the first stays, and the others
 * get its number. */
static void number_cells(cells *c, int64_t known) {
  int64_t count = 0;
  memset(c->slot, 0, (size_t)c->n_slots * sizeof *c->slot);
  for (int64_t old = 0; old < known; old++) {
    if (c->number[old] < 0) continue;
    uint64_t key = c->key[old], at = place_of(c, key);
    if (c->slot[at] == 0) {
      c->key[count] = key; /* count <= old */
      c->slot[at] = (int32_t)++count;
    }
    c->number[old] = c->slot[at] - 1;
  }
  c->size[CELLS_COUNT] = count;
}

static void move_floats(float *x, int64_t from, int64_t to, int32_t count) {
  memmove(x + to * count, x + from * count, (size_t)count * sizeof *x);
}

/* The numbers of a cell whose new number no other cell has had. */
static void move_cell(cells *c, int64_t from, int64_t to) {
  int32_t A = c->actions;
  memmove(c->example + (size_t)to * c->obs_bytes, c->example + (size_t)from * c->obs_bytes,
          c->obs_bytes);
  if (c->mask) memmove(c->mask + to * A, c->mask + from * A, (size_t)A);
  memmove(c->taught + to * A, c->taught + from * A, (size_t)A);
  c->best[to] = c->best[from];
  c->mean_best[to] = c->mean_best[from];
  float *all[] = {c->count, c->value, c->mean, c->prior, c->noise, c->base};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) move_floats(all[i], from, to, A);
  memmove(c->reward + to * A, c->reward + from * A, (size_t)A * sizeof *c->reward);
  memmove(c->square + to * A, c->square + from * A, (size_t)A * sizeof *c->square);
  memmove(c->edge + to * A, c->edge + from * A, (size_t)A * sizeof *c->edge);
}

/* Adds the data of one cell to another's. Edges are old ones still: only their lists are joined. */
static void join_cell(cells *c, int64_t from, int64_t to) {
  for (int32_t a = 0; a < c->actions; a++) {
    int64_t p = from * c->actions + a, q = to * c->actions + a;
    c->count[q] += c->count[p];
    c->reward[q] += c->reward[p];
    c->square[q] += c->square[p];
    int32_t *end = &c->edge[q];
    while (*end >= 0) end = &c->next[*end];
    *end = c->edge[p];
  }
}

/* The edges of a pair once more, with new numbers; transitions to forgotten cells are taken out. */
static void rebuild_pair(cells *c, int64_t pair, int32_t first) {
  float kept = 0;
  c->edge[pair] = NONE;
  for (int32_t e = first; e >= 0; e = c->old_next[e]) {
    int32_t to = c->old_to[e] == CELLS_END ? CELLS_END : c->number[c->old_to[e]];
    if (to == NONE && c->old_to[e] != CELLS_END) continue;
    add_edge(c, pair, to, c->old_times[e]);
    kept += c->old_times[e];
  }
  double share = c->count[pair] > 0 ? (double)kept / (double)c->count[pair] : 0;
  c->count[pair] = kept;
  c->reward[pair] *= share;
  c->square[pair] *= share;
  if (kept == 0) c->taught[pair] = 0;
}

static void rebuild_edges(cells *c) {
  size_t edges = (size_t)c->size[CELLS_EDGES];
  memcpy(c->old_to, c->to, edges * sizeof *c->to);
  memcpy(c->old_next, c->next, edges * sizeof *c->next);
  memcpy(c->old_times, c->times, edges * sizeof *c->times);
  c->size[CELLS_EDGES] = 0;
  for (int64_t p = 0; p < c->size[CELLS_COUNT] * c->actions; p++) rebuild_pair(c, p, c->edge[p]);
}

/* The list once more, with new numbers: a joined cell is where its newest part was. */
static void rebuild_list(cells *c, int64_t known) {
  enum { UNLINKED = -2 };
  int32_t last = NONE;
  for (int64_t i = 0; i < c->size[CELLS_COUNT]; i++) c->newer[i] = UNLINKED;
  c->size[CELLS_NEWEST] = NONE;
  for (int64_t i = 0; i < known; i++) {
    int32_t cell = c->number[c->order[i]];
    if (cell < 0 || c->newer[cell] != UNLINKED) continue;
    c->newer[cell] = last;
    if (last >= 0)
      c->older[last] = cell;
    else
      c->size[CELLS_NEWEST] = cell;
    c->older[cell] = NONE;
    last = cell;
  }
  c->size[CELLS_OLDEST] = last;
}

/* Renumbers the cells whose number is not NONE, and joins those with equal keys. */
static void rebuild(cells *c, int64_t known) {
  int64_t moved = 0;
  number_cells(c, known);
  for (int64_t old = 0; old < known; old++) {
    if (c->number[old] < 0) continue;
    if (c->number[old] == moved)
      move_cell(c, old, moved++);
    else
      join_cell(c, old, c->number[old]);
  }
  rebuild_edges(c);
  rebuild_list(c, known);
}

void lgv__cells_merge(cells *c) {
  int64_t known = list_cells(c);
  memset(c->number, 0, (size_t)known * sizeof *c->number);
  rebuild(c, known);
}

void lgv__cells_forget(cells *c) {
  int64_t known = list_cells(c);
  for (int64_t i = 0; i < known; i++) c->number[c->order[i]] = i < known / 2 ? 0 : NONE;
  rebuild(c, known);
}

void lgv__cells_make_room(cells *c) {
  while (!lgv__cells_have_room(c)) lgv__cells_forget(c);
}

/* ---- loaded cells ---- */

/* No file holds the table: it follows from the keys, in the order in which the cells came. */
static const char *fill_table(const cells *c) {
  memset(c->slot, 0, (size_t)c->n_slots * sizeof *c->slot);
  for (int64_t i = 0; i < c->size[CELLS_COUNT]; i++) {
    uint64_t at = place_of(c, c->key[i]);
    if (c->slot[at]) return "cell.key: two cells have one key";
    c->slot[at] = (int32_t)i + 1;
  }
  return NULL;
}

/* A list of all cells from the newest to the oldest, whose links back agree. */
static const char *list_fault(const cells *c) {
  int64_t known = c->size[CELLS_COUNT], seen = 0, last = NONE;
  for (int64_t i = c->size[CELLS_NEWEST]; i != NONE; i = c->older[i]) {
    if (!lgv__is_within(i, 0, known - 1) || c->newer[i] != last || ++seen > known)
      return "cell.older: not a list of all cells";
    last = i;
  }
  return seen == known && c->size[CELLS_OLDEST] == last ? NULL
                                                        : "cell.older: not a list of all cells";
}

/* Whether two edges of a pair lead to one place. Their cells are known. */
static bool has_twins(const cells *c, int64_t pair) {
  int32_t ends = 0;
  for (int32_t e = c->edge[pair]; e >= 0; e = c->next[e])
    if (c->to[e] != CELLS_END) c->number[c->to[e]] = 0;
  for (int32_t e = c->edge[pair]; e >= 0; e = c->next[e])
    if ((*(c->to[e] == CELLS_END ? &ends : &c->number[c->to[e]]))++ > 0) return true;
  return false;
}

/* Every edge belongs to one pair, and its count is that of the pair's visits. */
static const char *edge_fault(const cells *c) {
  int64_t known = c->size[CELLS_COUNT], edges = c->size[CELLS_EDGES], seen = 0;
  int32_t *is_seen = c->old_next;
  memset(is_seen, 0, (size_t)edges * sizeof *is_seen);
  for (int64_t p = 0; p < known * c->actions; p++) {
    float n = 0;
    for (int64_t e = c->edge[p]; e != NONE; e = c->next[e], seen++) {
      if (!lgv__is_within(e, 0, edges - 1) || is_seen[e]++) return "pair.edge: not a list";
      if (!lgv__is_within(c->to[e], CELLS_END, known - 1)) return "edge.to: an unknown cell";
      if (!(c->times[e] > 0)) return "edge.times: counter out of range";
      n += c->times[e];
    }
    if (has_twins(c, p)) return "edge.to: two edges of a pair lead to one place";
    if (!(fabsf(n - c->count[p]) <= 1e-3f * n)) return "pair.count: not the sum over its edges";
    if (!isfinite(c->reward[p]) || !(c->square[p] >= 0) || !isfinite(c->square[p]))
      return "pair.reward: not finite";
  }
  return seen == edges ? NULL : "edge.to: an edge of no pair";
}

static const char *mask_fault(const cells *c) {
  for (int64_t p = 0; c->mask && p < c->size[CELLS_COUNT] * c->actions; p++)
    if (c->mask[p] > 1) return "cell.mask: a mask that is neither 0 nor 1";
  for (int64_t i = 0; c->mask && i < c->size[CELLS_COUNT]; i++)
    if (!memchr(c->mask + i * c->actions, 1, (size_t)c->actions))
      return "cell.mask: a mask that allows no action";
  return NULL;
}

static const char *number_fault(const cells *c) {
  for (int64_t p = 0; p < c->size[CELLS_COUNT] * c->actions; p++)
    if (c->taught[p] > (c->count[p] > 0)) return "pair.taught: not 0 or 1, or without data";
  const float *all[] = {c->value, c->mean, c->prior, c->noise, c->base};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    for (int64_t p = 0; p < c->size[CELLS_COUNT] * c->actions; p++)
      if (!isfinite(all[k][p])) return "pair.value: not finite";
  for (int64_t i = 0; i < c->size[CELLS_COUNT]; i++)
    if (!isfinite(c->best[i]) || !isfinite(c->mean_best[i])) return "cell.best: not finite";
  return NULL;
}

const char *lgv__cells_fault(const cells *c) {
  if (!lgv__is_within(c->size[CELLS_COUNT], 0, c->capacity) ||
      !lgv__is_within(c->size[CELLS_EDGES], 0, c->most_edges))
    return "cell.size: more than there is room for";
  const char *fault = fill_table(c);
  if (!fault) fault = list_fault(c);
  if (!fault) fault = edge_fault(c);
  if (!fault) fault = mask_fault(c);
  return fault ? fault : number_fault(c);
}
