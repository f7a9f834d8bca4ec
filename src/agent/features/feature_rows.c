#include "agent/features/feature_rows.h"

#include "base/error.h"
#include "math/matmul_threads.h"

#include <math.h>
#include <string.h>

/* ---- memory ---- */

void lgv__feature_rows_init(feature_rows *r, const lgv_feature_type *map, const void *self,
                            const void *params, int64_t m, int32_t actions) {
  r->map = map;
  r->self = self;
  r->m = m;
  r->parts = map->by_action ? actions : 1;
  r->active = map->places && map->active && !map->by_action ? map->active(params) : 0;
}

int64_t lgv__feature_rows_width(const feature_rows *r) {
  return r->active ? r->active : r->parts * r->m;
}

void lgv__feature_rows_layout(feature_rows *r, const char *name, int64_t capacity,
                              const char *gathered, int64_t group, lgv_layout *out) {
  size_t width = (size_t)lgv__feature_rows_width(r);
  r->group = group;
  if (r->active) {
    r->places = lgv_layout_array(out, name, LGV_I32, (size_t)capacity * width, LGV_SCRATCH);
    return;
  }
  r->dense = lgv_layout_array(out, name, LGV_F32, (size_t)capacity * width, LGV_SCRATCH);
  if (group)
    r->gathered = lgv_layout_array(out, gathered, LGV_F32, (size_t)group * width, LGV_SCRATCH);
}

/* ---- rows ---- */

static const float *part_of(const feature_rows *r, int64_t row, int32_t action) {
  return r->dense + (row * r->parts + (r->parts > 1 ? action : 0)) * r->m;
}

static float value_of(const feature_rows *r) { return 1 / sqrtf((float)r->active); }

static lgv_status check_rows(const feature_rows *r, int64_t at, int64_t n, lgv_error *err) {
  float sum = 0;
  int64_t width = lgv__feature_rows_width(r);
  for (int64_t i = at * width; i < (at + n) * width; i++) sum += r->dense[i] * 0;
  if (sum == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC, "the feature map %s gave a number that is not finite",
                  r->map->name);
}

static bool is_twice(const int32_t *places, int64_t i) {
  for (int64_t j = 0; j < i; j++)
    if (places[j] == places[i]) return true;
  return false;
}

static lgv_status check_places(const feature_rows *r, int64_t at, int64_t n, lgv_error *err) {
  const int32_t *places = r->places + at * r->active;
  for (int64_t row = 0; row < n; row++, places += r->active)
    for (int64_t i = 0; i < r->active; i++) {
      if (places[i] < 0 || places[i] >= r->m)
        return lgv_fail(err, LGV_ERR_USAGE,
                        "the feature map %s gave the place %d, but it has %lld features",
                        r->map->name, places[i], (long long)r->m);
      if (is_twice(places, i))
        return lgv_fail(err, LGV_ERR_USAGE,
                        "the feature map %s gave the place %d twice for one observation",
                        r->map->name, places[i]);
    }
  return LGV_OK;
}

lgv_status lgv__feature_rows_map(feature_rows *r, const float *x, int64_t at, int64_t n,
                                 lgv_error *err) {
  if (r->active) {
    r->map->places(r->self, x, n, r->places + at * r->active);
    return check_places(r, at, n, err);
  }
  LGV_TRY(r->map->map(r->self, x, n, r->dense + at * lgv__feature_rows_width(r), err));
  return check_rows(r, at, n, err);
}

void lgv__feature_rows_move(feature_rows *r, int64_t first, int64_t count) {
  int64_t width = lgv__feature_rows_width(r);
  size_t numbers = (size_t)(count * width);
  if (r->active)
    memmove(r->places, r->places + first * width, numbers * sizeof *r->places);
  else
    memmove(r->dense, r->dense + first * width, numbers * sizeof *r->dense);
}

double lgv__feature_rows_square(const feature_rows *r, int64_t row) {
  double most = 0;
  for (int64_t i = 0; !r->active && i < r->parts; i++) {
    const float *phi = r->dense + (row * r->parts + i) * r->m;
    double sum = 0;
    for (int64_t j = 0; j < r->m; j++) sum += (double)phi[j] * (double)phi[j];
    most = sum > most ? sum : most;
  }
  return r->active ? 1 : most;
}

double lgv__feature_rows_dot(const feature_rows *r, int64_t row, int32_t action, const double *w) {
  double sum = 0;
  if (r->active) {
    const int32_t *place = r->places + row * r->active;
    for (int64_t i = 0; i < r->active; i++) sum += w[place[i]];
    return sum * (double)value_of(r);
  }
  const float *phi = part_of(r, row, action);
  for (int64_t j = 0; j < r->m; j++) sum += (double)phi[j] * w[j];
  return sum;
}

void lgv__feature_rows_add(const feature_rows *r, int64_t row, int32_t action, double scale,
                           double *out) {
  if (r->active) {
    const int32_t *place = r->places + row * r->active;
    for (int64_t i = 0; i < r->active; i++) out[place[i]] += scale * (double)value_of(r);
    return;
  }
  const float *phi = part_of(r, row, action);
  for (int64_t j = 0; j < r->m; j++) out[j] += scale * (double)phi[j];
}

void lgv__feature_rows_write(const feature_rows *r, int64_t row, int32_t action, double *out,
                             int64_t stride) {
  if (r->active) {
    const int32_t *place = r->places + row * r->active;
    for (int64_t j = 0; j < r->m; j++) out[j * stride] = 0;
    for (int64_t i = 0; i < r->active; i++) out[place[i] * stride] = (double)value_of(r);
    return;
  }
  const float *phi = part_of(r, row, action);
  for (int64_t j = 0; j < r->m; j++) out[j * stride] = (double)phi[j];
}

/* ---- products ---- */

static bool are_close(const feature_rows *r, const int64_t *which, int64_t n) {
  return which[n - 1] - which[0] < r->group;
}

int64_t lgv__feature_rows_places(const feature_rows *r, const int64_t *which, int64_t n,
                                 int64_t *place) {
  bool close = are_close(r, which, n);
  for (int64_t i = 0; i < n; i++) place[i] = close ? which[i] - which[0] : i;
  return close ? which[n - 1] - which[0] + 1 : n;
}

/* The dense rows `ahead` after the given ones, without gaps. */
static const float *gather(feature_rows *r, const int64_t *which, int64_t n, int64_t ahead) {
  int64_t width = r->parts * r->m;
  if (are_close(r, which, n)) return r->dense + (which[0] + ahead) * width;
  for (int64_t i = 0; i < n; i++)
    memcpy(r->gathered + i * width, r->dense + (which[i] + ahead) * width,
           (size_t)width * sizeof *r->dense);
  return r->gathered;
}

/* The row of places that stands at `at` in a product. */
static const int32_t *places_at(const feature_rows *r, const int64_t *which, int64_t n, int64_t at,
                                int64_t ahead) {
  int64_t row = are_close(r, which, n) ? which[0] + at : which[at];
  return r->places + (row + ahead) * r->active;
}

/* Few columns would leave most of a vector empty: each number of q is a sum over a row instead. */
static bool takes_dots(const feature_rows *r, int64_t columns) {
  return !r->active && columns <= 8;
}

int64_t lgv__feature_rows_weight(const feature_rows *r, int64_t columns, int64_t column,
                                 int64_t j) {
  return takes_dots(r, columns) ? column * r->m + j : j * columns + column;
}

void lgv__feature_rows_multiply(feature_rows *r, const int64_t *which, int64_t n, int64_t count,
                                int64_t ahead, const float *weights, int64_t columns, float *q) {
  if (takes_dots(r, columns)) {
    lgv__kernels()->row_dots(count * r->parts, r->m, gather(r, which, n, ahead), columns, weights,
                             q);
    return;
  }
  if (!r->active) {
    lgv__matmul_threads_product(&(lgv_product){.m = count * r->parts,
                                               .n = columns,
                                               .k = r->m,
                                               .a = gather(r, which, n, ahead),
                                               .a_row = r->m,
                                               .a_col = 1,
                                               .b = weights,
                                               .b_row = columns,
                                               .c = q,
                                               .c_row = columns});
    return;
  }
  float value = value_of(r);
  for (int64_t at = 0; at < count; at++, q += columns) {
    const int32_t *place = places_at(r, which, n, at, ahead);
    memset(q, 0, (size_t)columns * sizeof *q);
    for (int64_t i = 0; i < r->active; i++)
      for (int64_t j = 0; j < columns; j++) q[j] += weights[place[i] * columns + j];
    for (int64_t j = 0; j < columns; j++) q[j] *= value;
  }
}

void lgv__feature_rows_combine(feature_rows *r, const int64_t *which, int64_t n, int64_t count,
                               const float *y, int64_t sums, float *out) {
  if (!r->active) {
    lgv__matmul_threads_product(&(lgv_product){.m = sums,
                                               .n = r->m,
                                               .k = count * r->parts,
                                               .a = y,
                                               .a_row = count * r->parts,
                                               .a_col = 1,
                                               .b = gather(r, which, n, 0),
                                               .b_row = r->m,
                                               .c = out,
                                               .c_row = r->m});
    return;
  }
  float value = value_of(r);
  memset(out, 0, (size_t)(sums * r->m) * sizeof *out);
  for (int64_t at = 0; at < count; at++) {
    const int32_t *place = places_at(r, which, n, at, 0);
    for (int64_t s = 0; s < sums; s++) {
      float scaled = value * y[s * count + at];
      for (int64_t i = 0; scaled != 0 && i < r->active; i++) out[s * r->m + place[i]] += scaled;
    }
  }
}
