#include "optim/lazy_adam.h"

#include "base/arena.h"
#include "base/portable_math.h"
#include "math/kernels.h"

#include <assert.h>
#include <string.h>

enum { MOST_HORIZON = 1 << 12, MOST_SETTLED = 1 << 20 };
static const double most_growth = 0.06;

/* ---- memory ---- */

/* Moments decay by what the dense step multiplies them with. */
static double decay_m(const optim_params *p) { return (double)(float)p->alpha1; }
static double decay_v(const optim_params *p) { return (double)(float)p->alpha2; }

/* The first k with base^k < limit. */
static double steps_until(double base, double limit) {
  return base > 0 ? ceil(lgv__log(limit) / lgv__log(base)) : 1;
}

static double base_of(const optim_params *p) {
  return decay_v(p) > 0 ? decay_m(p) / sqrt(decay_v(p)) : 1;
}

static double horizon_of(const optim_params *p) {
  return base_of(p) < 1 ? steps_until(base_of(p), 0x1p-30) : INFINITY;
}

static double settled_of(const optim_params *p) {
  return fmax(steps_until(p->alpha1, 0x1p-26), steps_until(p->alpha2, 0x1p-26));
}

bool lgv__lazy_rows_fit(const lgv_optim_type *optimizer, const void *params) {
  if (!optimizer || !optimizer->is_adam) return false;
  const optim_params *p = params;
  return p->l2 == 0 && !p->compensated && 1 - decay_v(p) <= most_growth * (1 - base_of(p)) &&
         horizon_of(p) <= MOST_HORIZON && settled_of(p) <= MOST_SETTLED;
}

static void fill_tables(lazy_rows *l) {
  const optim_params *p = l->p;
  for (int64_t t = 1; t <= l->settled; t++) { /* in single precision where the dense step is */
    double c1 = 1 - lgv__pow(p->alpha1, (double)t), c2 = 1 - lgv__pow(p->alpha2, (double)t);
    l->root[t] = 1 / (double)(float)(1 / sqrt(c2));
    l->gain[t] = (double)(float)(p->lr / c1) * l->root[t];
  }
  double m = decay_m(p), root_v = sqrt(decay_v(p));
  for (int64_t k = 0; k <= l->horizon; k++) {
    l->power[k] = lgv__pow(m / root_v, (double)k);
    l->growth[k] = lgv__pow(root_v, (double)-k);
    l->keep_m[k] = (float)lgv__pow(m, (double)k);
    l->keep_v[k] = (float)lgv__pow(decay_v(p), (double)k);
  }
}

/* A row is read at the present time and at the last snapshot's, and never goes back. */
static const char *clock_fault(const void *self) {
  const lazy_rows *l = self;
  int64_t now = l->clock[LAZY_NOW], snapshot = l->clock[LAZY_SNAPSHOT];
  if (!lgv__is_count(now) || !lgv__is_within(snapshot, 0, now))
    return "rows.clock: a snapshot of no time";
  for (int64_t row = 0; row < l->rows; row++) {
    bool is_snapped = l->snapped[row] == snapshot;
    if (!lgv__is_within(l->snapped[row], 0, snapshot) ||
        !lgv__is_within(l->at[row], 0, is_snapped ? now : snapshot))
      return "rows.at: a row of another time";
  }
  return NULL;
}

void lgv__lazy_rows_layout(lazy_rows *l, int64_t rows, int64_t width, const lgv_optim_type *adam,
                           const void *params, lgv_layout *layout) {
  assert(lgv__lazy_rows_fit(adam, params));
  *l = (lazy_rows){.adam = adam, .p = params, .rows = rows, .width = width};
  l->horizon = (int64_t)horizon_of(l->p);
  l->settled = (int64_t)settled_of(l->p);
  size_t n = (size_t)rows, all = (size_t)(rows * width), ages = (size_t)l->horizon + 1;
  size_t times = (size_t)l->settled + 1;
  l->clock = lgv_layout_array(layout, "rows.clock", LGV_I64, LAZY_CLOCKS, LGV_KEEP);
  l->at = lgv_layout_array(layout, "rows.at", LGV_I64, n, LGV_KEEP);
  l->snapped = lgv_layout_array(layout, "rows.snapped", LGV_I64, n, LGV_KEEP);
  lgv_layout_check(layout, clock_fault, l);
  l->w = lgv_layout_array(layout, "rows.w", LGV_F32, all, LGV_KEEP);
  l->m = lgv_layout_array(layout, "rows.m", LGV_F32, all, LGV_KEEP);
  l->v = lgv_layout_array(layout, "rows.v", LGV_F32, all, LGV_KEEP);
  l->target = lgv_layout_array(layout, "rows.target", LGV_F32, all, LGV_KEEP);
  l->gain = lgv_layout_array(layout, "rows.gain", LGV_F64, times, LGV_SCRATCH);
  l->root = lgv_layout_array(layout, "rows.root", LGV_F64, times, LGV_SCRATCH);
  l->power = lgv_layout_array(layout, "rows.power", LGV_F64, ages, LGV_SCRATCH);
  l->growth = lgv_layout_array(layout, "rows.growth", LGV_F64, ages, LGV_SCRATCH);
  l->keep_m = lgv_layout_array(layout, "rows.keep_m", LGV_F32, ages, LGV_SCRATCH);
  l->keep_v = lgv_layout_array(layout, "rows.keep_v", LGV_F32, ages, LGV_SCRATCH);
  for (int i = 0; i < 3; i++)
    l->scratch[i] = lgv_layout_array(layout, "rows.peek", LGV_F32, (size_t)width, LGV_SCRATCH);
  if (l->scratch[2]) fill_tables(l); /* placed: the tables depend on the parameters alone */
}

void lgv__lazy_rows_open(lazy_rows *l) {
  memcpy(l->target, l->w, (size_t)(l->rows * l->width) * sizeof *l->w);
}

/* ---- reading ---- */

/* The steps from+1 .. to, all with gradient 0. */
static lgv_adam_skip skip_of(const lazy_rows *l, int64_t from, int64_t to) {
  int64_t n = to - from, terms = n < l->horizon ? n : l->horizon;
  double sum = 0, first = 0, second = 0;
  for (int64_t k = 1; k <= terms; k++) {
    int64_t t = from + k < l->settled ? from + k : l->settled;
    double p = l->gain[t] * l->power[k], z = l->root[t] * l->growth[k];
    sum += p;
    first += p * z;
    second += p * z * z;
  }
  double mean = sum > 0 ? first / sum : 1, variance = sum > 0 ? second / sum - mean * mean : 0;
  bool known = n <= l->horizon;
  return (lgv_adam_skip){
      .sum = (float)sum,
      .mean = (float)mean,
      .variance = (float)fmax(variance, 0),
      .eps = (float)l->p->eps,
      .keep_m = known ? l->keep_m[n] : (float)lgv__pow(decay_m(l->p), (double)n),
      .keep_v = known ? l->keep_v[n] : (float)lgv__pow(decay_v(l->p), (double)n),
  };
}

static void bring_to(lazy_rows *l, int64_t row, int64_t time) {
  assert(l->at[row] <= time);
  if (l->at[row] == time) return;
  lgv_adam_skip skip = skip_of(l, l->at[row], time);
  int64_t at = row * l->width;
  lgv__kernels()->adam_skip(l->width, &skip, l->w + at, l->m + at, l->v + at);
  l->at[row] = time;
}

const float *lgv__lazy_rows_target(lazy_rows *l, int64_t row) {
  float *target = l->target + row * l->width;
  if (l->snapped[row] < l->clock[LAZY_SNAPSHOT]) {
    bring_to(l, row, l->clock[LAZY_SNAPSHOT]);
    memcpy(target, l->w + row * l->width, (size_t)l->width * sizeof *target);
    l->snapped[row] = l->clock[LAZY_SNAPSHOT];
  }
  return target;
}

const float *lgv__lazy_rows_online(lazy_rows *l, int64_t row) {
  lgv__lazy_rows_target(l, row); /* before the row leaves that time */
  bring_to(l, row, l->clock[LAZY_NOW]);
  return l->w + row * l->width;
}

const float *lgv__lazy_rows_peek(lazy_rows *l, int64_t row, int64_t begin, int64_t count) {
  int64_t at = row * l->width + begin;
  if (l->at[row] == l->clock[LAZY_NOW]) return l->w + at;
  const float *const kept[] = {l->w, l->m, l->v};
  for (int i = 0; i < 3; i++)
    memcpy(l->scratch[i], kept[i] + at, (size_t)count * sizeof *l->scratch[i]);
  lgv_adam_skip skip = skip_of(l, l->at[row], l->clock[LAZY_NOW]);
  lgv__kernels()->adam_skip(count, &skip, l->scratch[0], l->scratch[1], l->scratch[2]);
  return l->scratch[0];
}

/* ---- an update ---- */

void lgv__lazy_rows_snapshot(lazy_rows *l) { l->clock[LAZY_SNAPSHOT] = l->clock[LAZY_NOW]; }

void lgv__lazy_rows_step(lazy_rows *l, int64_t row, const float *g) {
  int64_t at = row * l->width;
  assert(l->at[row] == l->clock[LAZY_NOW]);
  lgv__lazy_rows_target(l, row);
  lgv_optim_step step = {.count = (size_t)l->width,
                         .w = l->w + at,
                         .g = g,
                         .slot = {l->m + at, l->v + at},
                         .t = ++l->at[row],
                         .lr_scale = 1,
                         .beta_scale = 1};
  l->adam->step(l->p, &step);
}

void lgv__lazy_rows_end(lazy_rows *l) { l->clock[LAZY_NOW]++; }
