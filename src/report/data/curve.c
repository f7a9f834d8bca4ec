/* Where all seeds have the same x (evaluations, fixed horizons) the curve takes those points,
 * thinned out evenly if there are very many. Else seeds are interpolated linearly at even distances
 * over the stretch that all of them cover. The groups of a row are the tasks of lgv_scores. Its
 * resamples come from a fixed stream, so neighboring points share them and the band is as smooth
 * as the curves. */
#include "report/data/curve.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "report/data/csv_file.h"
#include "report/data/measure.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MOST_POINTS = 800, GRID_POINTS = 300 };

lgv_status lgv__choose_columns(const char *run, bool only_returns, const char **x, const char **y,
                               lgv_error *err) {
  static const char *const order[] = {"eval_return", "regret", "value", "return"};
  char path[PATH_MAX];
  LGV_TRY(lgv__join_path(run, "metrics.csv", path, sizeof path, err));
  for (size_t i = 0; !*y && i < sizeof order / sizeof *order; i++) {
    bool has;
    LGV_TRY(lgv__csv_has(path, order[i], &has, err));
    if (has && !(only_returns && strcmp(order[i], "regret") == 0)) *y = order[i];
  }
  if (!*y) return lgv_fail(err, LGV_ERR_USAGE, "%.300s: choose a column with --y", path);
  bool by_episode = strcmp(*y, "regret") == 0 || strcmp(*y, "value") == 0;
  if (!*x) *x = by_episode ? "episode" : "step";
  return LGV_OK;
}

static bool same_x(const lgv_series *series, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (series[i].count != series[0].count ||
        memcmp(series[i].x, series[0].x, series[0].count * sizeof(double)) != 0)
      return false;
  return true;
}

static lgv_status reserve(lgv_curve *c, size_t count, lgv_error *err) {
  double *block = lgv__calloc(4 * count, sizeof *block);
  if (!block) return lgv__out_of_memory(err, "a curve");
  c->count = count;
  c->x = block;
  c->value = block + count;
  c->low = block + 2 * count;
  c->high = block + 3 * count;
  return LGV_OK;
}

static void choose_shared_x(lgv_curve *c, const lgv_series *s) {
  for (size_t i = 0; i < c->count; i++)
    c->x[i] = s->x[c->count == 1 ? 0 : i * (s->count - 1) / (c->count - 1)];
}

static void choose_even_x(lgv_curve *c, double first, double last) {
  for (size_t i = 0; i < c->count; i++)
    c->x[i] = first + (last - first) * (double)i / (double)(c->count - 1);
}

/* Linear interpolation; *at is where the last lookup ended, since x only grows. */
static double value_at(const lgv_series *s, double x, size_t *at) {
  while (*at + 1 < s->count && s->x[*at + 1] <= x) ++*at;
  size_t i = *at;
  if (i + 1 == s->count || s->x[i + 1] == s->x[i]) return s->y[i];
  double part = fmin(1, fmax(0, (x - s->x[i]) / (s->x[i + 1] - s->x[i])));
  return s->y[i] + part * (s->y[i + 1] - s->y[i]);
}

static lgv_status choose_x(lgv_curve *c, const lgv_series *series, size_t n, lgv_error *err) {
  if (same_x(series, n)) {
    LGV_TRY(reserve(c, series[0].count < MOST_POINTS ? series[0].count : MOST_POINTS, err));
    choose_shared_x(c, &series[0]);
    return LGV_OK;
  }
  double first = -INFINITY, last = INFINITY, furthest = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    double end = series[i].x[series[i].count - 1];
    first = fmax(first, series[i].x[0]);
    last = fmin(last, end);
    furthest = fmax(furthest, end);
  }
  if (!(last > first))
    return lgv_fail(err, LGV_ERR_USAGE, "the seeds of %s have no stretch in common", c->label);
  c->cut = last < first + 0.9 * (furthest - first);
  LGV_TRY(reserve(c, GRID_POINTS, err));
  choose_even_x(c, first, last);
  return LGV_OK;
}

static lgv_status estimate_points(lgv_curve *c, const lgv_series *series,
                                  const lgv_curve_spec *spec, double *values, size_t *at,
                                  const size_t *runs, size_t tasks, lgv_error *err) {
  const lgv_scores scores = {.values = values, .runs = runs, .tasks = tasks};
  for (size_t i = 0; i < c->count; i++) {
    lgv_estimate e;
    for (size_t s = 0; s < c->seeds; s++) values[s] = value_at(&series[s], c->x[i], &at[s]);
    LGV_TRY(lgv_scores_estimate(&scores, spec->statistic, &e, err));
    lgv__band_apply(spec->standard_error, &e);
    c->value[i] = e.value;
    c->low[i] = e.low;
    c->high[i] = e.high;
  }
  return LGV_OK;
}

static lgv_status estimate(lgv_curve *c, const lgv_series *series, const lgv_row *row,
                           const lgv_curve_spec *spec, lgv_error *err) {
  double *values = lgv__calloc(c->seeds, sizeof *values);
  size_t *at = lgv__calloc(c->seeds + row->count, sizeof *at), *runs = at ? at + c->seeds : NULL;
  lgv_status status = values && at ? LGV_OK : lgv__out_of_memory(err, "a curve");
  for (size_t i = 0; status == LGV_OK && i < row->count; i++) runs[i] = row->groups[i].count;
  if (status == LGV_OK)
    status = estimate_points(c, series, spec, values, at, runs, row->count, err);
  lgv__free(values);
  lgv__free(at);
  return status;
}

/* Backwards, so that values which later means need are not overwritten. */
static void smooth(lgv_series *s, size_t window) {
  double sum = 0;
  size_t begin = s->count; /* sum is that of y[begin..i] */
  for (size_t i = s->count; i-- > 0;) {
    size_t wanted = i + 1 > window ? i + 1 - window : 0;
    while (begin > wanted) sum += s->y[--begin];
    double mean = sum / (double)(i + 1 - begin);
    sum -= s->y[i];
    s->y[i] = mean;
  }
}

static lgv_status check_growing(const lgv_series *s, const char *path, const char *name,
                                lgv_error *err) {
  for (size_t i = 1; i < s->count; i++)
    if (s->x[i] < s->x[i - 1])
      return lgv_fail(err, LGV_ERR_USAGE, "%.300s: %.40s does not only grow: no x axis", path,
                      name);
  return LGV_OK;
}

/* Regret from the columns episode and return, a row of which stands for the episodes since the row
 * before. */
static lgv_status add_up_regret(const char *path, const lgv_curve_spec *spec, lgv_series *s,
                                lgv_error *err) {
  lgv_series ends = {0}; /* (last episode, mean return) of each row */
  LGV_TRY(lgv__csv_read(path, spec->x, "return", s, err));
  LGV_TRY(lgv__csv_read(path, "episode", "return", &ends, err));
  for (size_t i = ends.count; i-- > 1;) ends.x[i] -= ends.x[i - 1];
  if (ends.count == s->count) lgv_regret_curve(ends.y, ends.x, s->count, spec->optimal, s->y);
  lgv_status status = ends.count == s->count
                          ? LGV_OK
                          : lgv_fail(err, LGV_ERR_IO, "%.300s has rows without %s", path, spec->x);
  lgv__series_free(&ends);
  return status;
}

static lgv_status read_series(const char *path, const lgv_curve_spec *spec, lgv_series *s,
                              lgv_error *err) {
  bool recorded = true;
  if (spec->optimal != 0 && strcmp(spec->y, "regret") == 0)
    LGV_TRY(lgv__csv_has(path, spec->y, &recorded, err));
  return recorded ? lgv__csv_read(path, spec->x, spec->y, s, err)
                  : add_up_regret(path, spec, s, err);
}

static lgv_status load_one(lgv_series *s, const char *directory, const lgv_curve_spec *spec,
                           lgv_error *err) {
  char path[PATH_MAX];
  bool there;
  LGV_TRY(lgv__join_path(directory, "metrics.csv", path, sizeof path, err));
  LGV_TRY(lgv__is_there(path, &there, err));
  if (!there)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%.300s has no metrics.csv to draw curves from (it was recorded with "
                    "run.records = summary?); --bars needs summary.json alone",
                    directory);
  LGV_TRY(read_series(path, spec, s, err));
  LGV_TRY(check_growing(s, path, spec->x, err));
  if (spec->smooth > 1) smooth(s, spec->smooth);
  return LGV_OK;
}

static lgv_status load_all(lgv_series *series, const lgv_row *row, const lgv_curve_spec *spec,
                           lgv_error *err) {
  for (size_t g = 0; g < row->count; g++)
    for (size_t r = 0; r < row->groups[g].count; r++)
      LGV_TRY(load_one(series++, row->groups[g].runs[r], spec, err));
  return LGV_OK;
}

lgv_status lgv__curve_load(lgv_curve *c, const lgv_row *row, const lgv_curve_spec *spec,
                           lgv_error *err) {
  *c = (lgv_curve){.label = row->label};
  for (size_t g = 0; g < row->count; g++) c->seeds += row->groups[g].count;
  size_t n = c->seeds;
  lgv_series *series = lgv__calloc(n, sizeof *series);
  lgv_status status = series ? LGV_OK : lgv__out_of_memory(err, "a curve");
  if (status == LGV_OK) status = load_all(series, row, spec, err);
  if (status == LGV_OK) status = choose_x(c, series, n, err);
  if (status == LGV_OK) status = estimate(c, series, row, spec, err);
  for (size_t i = 0; series && i < n; i++) lgv__series_free(&series[i]);
  lgv__free(series);
  if (status != LGV_OK) lgv__curve_free(c);
  return status;
}

void lgv__curve_free(lgv_curve *c) {
  lgv__free(c->x);
  *c = (lgv_curve){0};
}
