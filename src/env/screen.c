#include "env/screen.h"

#include <math.h>

/* ---- Weights ---- */

/* The most source pixels that a small pixel touches. */
static int32_t taps_of(int32_t source, int32_t size) {
  return (int32_t)ceil((double)source / size) + 1;
}

static void layout_axis(screen_axis *a, int32_t source, int32_t size, const char *from,
                        const char *weight, lgv_layout *layout) {
  a->source = source;
  a->size = size;
  a->taps = taps_of(source, size);
  size_t count = (size_t)a->taps * (size_t)size;
  a->from = lgv_layout_array(layout, from, LGV_I32, count, LGV_SCRATCH);
  a->weight = lgv_layout_array(layout, weight, LGV_F32, count, LGV_SCRATCH);
}

void lgv__screen_layout(screen_resize *r, int32_t height, int32_t width, int32_t size,
                        lgv_layout *layout) {
  layout_axis(&r->x, width, size, "screen.x.from", "screen.x.weight", layout);
  layout_axis(&r->y, height, size, "screen.y.from", "screen.y.weight", layout);
  r->row = lgv_layout_array(layout, "screen.row", LGV_F32, (size_t)width, LGV_SCRATCH);
  r->small = lgv_layout_array(layout, "screen.small", LGV_F32, (size_t)size, LGV_SCRATCH);
  r->sum = lgv_layout_array(layout, "screen.sum", LGV_F32, (size_t)size, LGV_SCRATCH);
}

/* Smaller parts of a pixel are ignored. */
static const double least_part = 1e-3;

/* The taps of small pixel i, which covers [begin, end) of the source. */
static void open_pixel(screen_axis *a, int32_t i) {
  double scale = (double)a->source / a->size, begin = i * scale, end = begin + scale;
  double covered = fmin(scale, a->source - begin);
  int32_t last = (int32_t)fmin(floor(end), a->source - 1);
  int32_t first = (int32_t)fmin(ceil(begin), last), t = 0;
  int32_t *from = a->from + i;
  float *weight = a->weight + i;
  if (first - begin > least_part) {
    from[t] = first - 1;
    weight[t] = (float)((first - begin) / covered);
    t += a->size;
  }
  for (int32_t s = first; s < last; s++, t += a->size) {
    from[t] = s;
    weight[t] = (float)(1 / covered);
  }
  if (end - last > least_part) {
    from[t] = last;
    weight[t] = (float)(fmin(fmin(end - last, 1), covered) / covered);
  }
}

static void open_axis(screen_axis *a) {
  for (int32_t i = 0; i < a->taps * a->size; i++) {
    a->from[i] = 0;
    a->weight[i] = 0;
  }
  for (int32_t i = 0; i < a->size; i++) open_pixel(a, i);
}

void lgv__screen_open(screen_resize *r) {
  open_axis(&r->x);
  open_axis(&r->y);
}

/* ---- Pictures ---- */

/* taps may be a compile-time constant. */
static inline __attribute__((always_inline)) void
weigh(const screen_axis *x, int32_t taps, const float *restrict row, float *restrict small) {
  for (int32_t i = 0; i < x->size; i++) {
    float sum = 0;
    for (int32_t t = 0; t < taps; t++) {
      int32_t at = t * x->size + i;
      sum += row[x->from[at]] * x->weight[at];
    }
    small[i] = sum;
  }
}

static void shrink_row(const screen_resize *r, const uint8_t *from) {
  for (int32_t i = 0; i < r->x.source; i++) r->row[i] = from[i];
  if (r->x.taps == 3) /* 160 to 84 */
    weigh(&r->x, 3, r->row, r->small);
  else
    weigh(&r->x, r->x.taps, r->row, r->small);
}

/* Adding 1.5 * 2^23 leaves no bits for a fraction, so the addition rounds, halves to even. */
static void round_row(const float *restrict sum, int32_t count, uint8_t *restrict to) {
  const float rounder = 0x1.8p23f;
  for (int32_t i = 0; i < count; i++) to[i] = (uint8_t)(int32_t)((sum[i] + rounder) - rounder);
}

void lgv__screen_shrink(const screen_resize *r, const uint8_t *from, uint8_t *to) {
  const screen_axis *x = &r->x, *y = &r->y;
  int32_t have = -1; /* the source row in r->small, which two small rows may share */
  for (int32_t i = 0; i < y->size; i++, to += x->size) {
    for (int32_t t = 0; t < y->taps; t++) {
      int32_t source = y->from[t * y->size + i];
      float weight = y->weight[t * y->size + i];
      if (weight == 0) break;
      if (source != have) shrink_row(r, from + (int64_t)source * x->source);
      have = source;
      for (int32_t j = 0; j < x->size; j++) r->sum[j] = (t ? r->sum[j] : 0) + weight * r->small[j];
    }
    round_row(r->sum, x->size, to);
  }
}

void lgv__screen_max(const uint8_t *a, const uint8_t *b, size_t count, uint8_t *to) {
  for (size_t i = 0; i < count; i++) to[i] = a[i] > b[i] ? a[i] : b[i];
}
