/* Performance profiles: the share of runs whose score is beyond a threshold, for all thresholds
 * between the worst and the best score; of each row over all of its tasks. */
#include "base/error.h"
#include "base/memory.h"
#include "report/data/measure.h"
#include "report/plot/curve_figure.h"
#include "report/plot/frame.h"
#include "report/plot/plot_kinds.h"

#include <math.h>
#include <string.h>

enum { POINTS = 201 };

typedef struct profile {
  const lgv_plot *plot;
  const lgv_groups *groups;
  lgv_measure measure;
  bool lowest; /* is best: scores and thresholds are negated, so that beyond is above */
  bool standard_error;
  lgv_collection *runs; /* (rows) */
  lgv_curve *curves;    /* (rows) */
  double *block;        /* of the curves */
  double low, high;     /* of all finite scores */
} profile;

static lgv_status collect(profile *p, lgv_error *err) {
  size_t rows = p->groups->row_count;
  p->low = INFINITY;
  p->high = -INFINITY;
  for (size_t r = 0; r < rows; r++) {
    lgv_collection *c = &p->runs[r];
    LGV_TRY(lgv__collect(&p->groups->rows[r], NULL, &p->measure, c, err));
    if (c->count == 0)
      return lgv_fail(err, LGV_ERR_USAGE, "none of the runs of %s has finished",
                      p->groups->rows[r].label);
    for (size_t i = 0; i < c->count; i++) {
      if (p->lowest) c->values[i] = -c->values[i];
      if (!isfinite(c->values[i])) continue;
      p->low = fmin(p->low, c->values[i]);
      p->high = fmax(p->high, c->values[i]);
    }
  }
  if (!(p->low <= p->high)) return lgv_fail(err, LGV_ERR_USAGE, "no run has ever got there");
  double room = p->high > p->low ? 0.02 * (p->high - p->low) : 0.5;
  p->low -= room; /* so that profiles begin at 1 and end at 0 */
  p->high += room;
  return LGV_OK;
}

static lgv_status fill_curve(profile *p, size_t row, lgv_error *err) {
  double thresholds[POINTS];
  lgv_estimate points[POINTS];
  lgv_curve *c = &p->curves[row];
  double *place = p->block + 4 * POINTS * row;
  lgv_scores scores = lgv__collection_scores(&p->runs[row]);
  for (size_t k = 0; k < POINTS; k++)
    thresholds[k] = p->low + (p->high - p->low) * (double)k / (POINTS - 1);
  LGV_TRY(lgv_scores_profile(&scores, thresholds, POINTS, points, err));
  *c = (lgv_curve){.label = p->groups->rows[row].label,
                   .seeds = p->runs[row].count > p->runs[row].tasks ? p->runs[row].count : 1,
                   .count = POINTS,
                   .x = place,
                   .value = place + POINTS,
                   .low = place + 2 * POINTS,
                   .high = place + 3 * POINTS};
  for (size_t k = 0; k < POINTS; k++) {
    size_t to = p->lowest ? POINTS - 1 - k : k;
    lgv__band_apply(p->standard_error, &points[k]);
    c->x[to] = p->lowest ? -thresholds[k] : thresholds[k];
    c->value[to] = points[k].value;
    c->low[to] = points[k].low;
    c->high[to] = points[k].high;
  }
  return LGV_OK;
}

static lgv_status load(profile *p, lgv_error *err) {
  size_t rows = p->groups->row_count;
  LGV_TRY(lgv__measure_find(p->plot->y, &p->measure, err));
  LGV_TRY(lgv__band_find(p->plot->band, &p->standard_error, err));
  p->lowest = lgv__measure_lowest_is_best(&p->measure);
  p->runs = lgv__calloc(rows, sizeof *p->runs);
  p->curves = lgv__calloc(rows, sizeof *p->curves);
  p->block = lgv__calloc(4 * POINTS * rows, sizeof *p->block);
  if (!p->runs || !p->curves || !p->block) return lgv__out_of_memory(err, "a plot");
  LGV_TRY(collect(p, err));
  for (size_t r = 0; r < rows; r++) LGV_TRY(fill_curve(p, r, err));
  return LGV_OK;
}

static lgv_status draw(const profile *p, lgv_error *err) {
  lgv_curve_figure figure = {.plot = p->plot,
                             .curves = p->curves,
                             .count = p->groups->row_count,
                             .optimum = NAN,
                             .legend = true};
  char name[100];
  lgv__axis_name(p->measure.name, name, sizeof name);
  snprintf(figure.x_label, sizeof figure.x_label, "%s (\xcf\x84)", name); /* tau */
  snprintf(figure.y_label, sizeof figure.y_label, "Share of runs %s \xcf\x84",
           p->lowest ? "below" : "above");
  return lgv__curve_figure_draw(&figure, err);
}

static void write_notes(const profile *p, FILE *notes) {
  for (size_t r = 0; r < p->groups->row_count; r++)
    fprintf(notes, "%s: %zu run%s, %zu task%s\n", p->groups->rows[r].label, p->runs[r].count,
            p->runs[r].count == 1 ? "" : "s", p->runs[r].tasks, p->runs[r].tasks == 1 ? "" : "s");
  fprintf(notes, "lines: share of runs with %s %s than the threshold; bands: %s\n",
          p->lowest ? "less" : "more", p->measure.name,
          p->standard_error ? "one standard error to each side"
                            : "95 % percentile bootstrap at each threshold");
}

lgv_status lgv__plot_profile(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                             lgv_error *err) {
  profile p = {.plot = plot, .groups = groups};
  lgv_status status = load(&p, err);
  if (status == LGV_OK) status = draw(&p, err);
  if (status == LGV_OK && notes) write_notes(&p, notes);
  for (size_t r = 0; p.runs && r < groups->row_count; r++) lgv__collection_free(&p.runs[r]);
  lgv__free(p.runs);
  lgv__free(p.curves);
  lgv__free(p.block);
  return status;
}
