/* Learning curves: a line and a band a group, labelled at their ends where there is room, else by a
 * legend above. */
#include "report/plot.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/csv_file.h"
#include "report/curve.h"
#include "report/legend.h"
#include "report/measure.h"
#include "report/plot_bars.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double widest_label = 0.34; /* of the width; wider ones go into a legend */
static const double label_gap = 4;

typedef struct figure {
  const lgv_plot *plot;
  const lgv_groups *groups;
  lgv_curve_spec spec;
  lgv_curve *curves;
  const char **labels; /* (count) */
  size_t count;
  double optimum; /* of all groups alike, or NaN */
  lgv_canvas canvas;
  lgv_frame frame;
  bool legend;
} figure;

/* ---- What to draw ---- */

static lgv_status choose_columns(figure *f, lgv_error *err) {
  static const char *const wanted[] = {"eval_return", "regret", "return"};
  char path[PATH_MAX];
  LGV_TRY(lgv__join_path(f->groups->items[0].runs[0], "metrics.csv", path, sizeof path, err));
  const char *y = f->plot->y;
  for (size_t i = 0; !y && i < sizeof wanted / sizeof *wanted; i++) {
    bool has;
    LGV_TRY(lgv__csv_has(path, wanted[i], &has, err));
    if (has) y = wanted[i];
  }
  if (!y) return lgv_fail(err, LGV_ERR_USAGE, "%.300s: choose a column with --y", path);
  bool by_episode = strcmp(y, "regret") == 0 || strcmp(y, "value") == 0;
  f->spec = (lgv_curve_spec){.x = f->plot->x   ? f->plot->x
                                  : by_episode ? "episode"
                                               : "step",
                             .y = y,
                             .smooth = f->plot->smooth};
  LGV_TRY(lgv__statistic_find(f->plot->statistic, &f->spec.statistic, err));
  return lgv__band_find(f->plot->band, &f->spec.standard_error, err);
}

/* The optimal value is worth a line where returns are drawn and all groups have the same one. */
static double shared_optimum(const figure *f) {
  static const char *const returns[] = {"return", "eval_return", "value"};
  bool is_return = false;
  double optimum = NAN;
  for (size_t i = 0; i < sizeof returns / sizeof *returns; i++)
    is_return |= strcmp(f->spec.y, returns[i]) == 0;
  for (size_t i = 0; is_return && i < f->groups->count; i++) {
    lgv_summary summary;
    if (lgv_summary_load(f->groups->items[i].runs[0], &summary, NULL) != LGV_OK) return NAN;
    if (i > 0 && summary.optimal_value != optimum) return NAN;
    optimum = summary.optimal_value;
  }
  return optimum;
}

static lgv_status load_curves(figure *f, lgv_error *err) {
  LGV_TRY(choose_columns(f, err));
  f->curves = lgv__calloc(f->groups->row_count, sizeof *f->curves);
  f->labels = lgv__calloc(f->groups->row_count, sizeof *f->labels);
  if (!f->curves || !f->labels) return lgv__out_of_memory(err, "a plot");
  for (size_t i = 0; i < f->groups->row_count; i++) {
    LGV_TRY(lgv__curve_load(&f->curves[i], &f->groups->rows[i], &f->spec, err));
    f->labels[f->count++] = f->curves[i].label;
  }
  f->optimum = shared_optimum(f);
  return LGV_OK;
}

static void include(double value, double *low, double *high) {
  if (isnan(value)) return;
  *low = fmin(*low, value);
  *high = fmax(*high, value);
}

static void find_ranges(const figure *f, double *x_low, double *x_high, double *y_low,
                        double *y_high) {
  *x_low = *y_low = INFINITY;
  *x_high = *y_high = -INFINITY;
  for (size_t i = 0; i < f->count; i++) {
    const lgv_curve *c = &f->curves[i];
    for (size_t k = 0; k < c->count; k++) {
      include(c->x[k], x_low, x_high);
      include(c->value[k], y_low, y_high);
      include(c->low[k], y_low, y_high);
      include(c->high[k], y_low, y_high);
    }
  }
  include(f->optimum, y_low, y_high);
  if (*x_low > 0 && *x_low < 0.05 * *x_high) *x_low = 0; /* the first episode is close to 0 */
  if (*x_high <= *x_low) *x_high = *x_low + 1;
  lgv__pad_range(y_low, y_high);
}

/* ---- Labels ---- */

typedef struct end_label {
  size_t curve;
  double end, at; /* y of the line's end and of the label */
} end_label;

static int by_end(const void *a, const void *b) {
  const end_label *x = a, *y = b;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return (x->curve > y->curve) - (x->curve < y->curve);
}

/* Labels stand in the order of the line ends, at least a line apart, and as near to their ends as
 * that allows (least squares: labels that would overlap form a block around their mean). */
static void place_labels(end_label *labels, size_t n, double top, double bottom) {
  qsort(labels, n, sizeof *labels, by_end);
  for (size_t k = 0; k < n; k++) labels[k].at = labels[k].end;
  for (size_t k = 0; k < n; k++) {
    size_t first = k; /* the block that ends with k */
    double middle = labels[k].end;
    while (first > 0 && middle - 0.5 * LGV_LINE_HEIGHT * (double)(k - first) <
                            labels[first - 1].at + LGV_LINE_HEIGHT) {
      double sum = 0;
      for (first--; first > 0 && labels[first].at - labels[first - 1].at < LGV_LINE_HEIGHT + 1e-9;)
        first--;
      for (size_t i = first; i <= k; i++) sum += labels[i].end;
      middle = sum / (double)(k - first + 1);
    }
    for (size_t i = first; i <= k; i++)
      labels[i].at = middle + LGV_LINE_HEIGHT * ((double)i - 0.5 * (double)(first + k));
  }
  double limit = bottom;
  for (size_t k = n; k-- > 0; limit = labels[k].at - LGV_LINE_HEIGHT)
    labels[k].at = fmin(labels[k].at, limit);
  limit = top;
  for (size_t k = 0; k < n; limit = labels[k++].at + LGV_LINE_HEIGHT)
    labels[k].at = fmax(labels[k].at, limit);
}

static void draw_end_label(figure *f, const end_label *label) {
  const lgv_curve *c = &f->curves[label->curve];
  double x = lgv__frame_x(&f->frame, c->x[c->count - 1]), start = f->frame.right + label_gap;
  lgv__set_colour(&f->canvas, lgv__darker(lgv__colour(label->curve)), 1);
  if (fabs(label->end - label->at) > 2 || x < f->frame.right - 2) { /* lead the eye to the label */
    cairo_set_line_width(f->canvas.cr, 0.4);
    lgv__line(&f->canvas, x + 1, label->end, start - 1, label->at);
  }
  lgv__text(&f->canvas, start, label->at, LGV_LEFT, c->label);
}

static lgv_status draw_end_labels(figure *f, lgv_error *err) {
  end_label *labels = lgv__calloc(f->count, sizeof *labels);
  if (!labels) return lgv__out_of_memory(err, "labels");
  for (size_t i = 0; i < f->count; i++) {
    const lgv_curve *c = &f->curves[i];
    labels[i] = (end_label){.curve = i, .end = lgv__frame_y(&f->frame, c->value[c->count - 1])};
  }
  place_labels(labels, f->count, f->frame.top, f->frame.bottom);
  lgv__font(&f->canvas, LGV_FONT_TICK, false);
  for (size_t i = 0; i < f->count; i++) draw_end_label(f, &labels[i]);
  lgv__free(labels);
  return LGV_OK;
}

/* ---- Drawing ---- */

static void lay_out(figure *f) {
  lgv_canvas *c = &f->canvas;
  double x_low, x_high, y_low, y_high, widest = 0;
  lgv__font(c, LGV_FONT_TICK, false);
  for (size_t i = 0; i < f->count; i++)
    widest = fmax(widest, lgv__text_width(c, f->curves[i].label));
  f->legend = f->count > 1 && (widest > widest_label * c->width || f->count > LGV_PALETTE + 4);
  bool ends = f->count > 1 && !f->legend;
  find_ranges(f, &x_low, &x_high, &y_low, &y_high);
  f->frame.right = c->width - (ends ? widest + label_gap + 3 : 7);
  f->frame.top = f->plot->title ? 16 : 7;
  lgv__frame_fit(&f->frame, c, x_low, x_high, y_low, y_high, true);
  if (!f->legend) return;
  const lgv_legend legend = {.labels = f->labels, .count = f->count};
  f->frame.top += (double)lgv__legend_lines(&legend, c, &f->frame) * LGV_LINE_HEIGHT + 2;
  lgv__frame_fit(&f->frame, c, x_low, x_high, y_low, y_high, true);
}

static void draw_band(figure *f, const lgv_curve *c, lgv_colour colour) {
  if (c->seeds < 2) return;
  cairo_t *cr = f->canvas.cr;
  for (size_t i = 0; i < c->count; i++)
    cairo_line_to(cr, lgv__frame_x(&f->frame, c->x[i]), lgv__frame_y(&f->frame, c->high[i]));
  for (size_t i = c->count; i-- > 0;)
    cairo_line_to(cr, lgv__frame_x(&f->frame, c->x[i]), lgv__frame_y(&f->frame, c->low[i]));
  cairo_close_path(cr);
  lgv__set_colour(&f->canvas, colour, 0.2);
  cairo_fill(cr);
}

static void draw_curve(figure *f, size_t index) {
  const lgv_curve *c = &f->curves[index];
  cairo_t *cr = f->canvas.cr;
  for (size_t i = 0; i < c->count; i++)
    cairo_line_to(cr, lgv__frame_x(&f->frame, c->x[i]), lgv__frame_y(&f->frame, c->value[i]));
  lgv__set_colour(&f->canvas, lgv__colour(index), 1);
  cairo_set_line_width(cr, 1.1);
  lgv__dashes_begin(&f->canvas, index);
  cairo_stroke(cr);
  lgv__dashes_end(&f->canvas);
}

static void draw_optimum(figure *f) {
  if (isnan(f->optimum)) return;
  const double dashes[] = {2, 2};
  double y = lgv__frame_y(&f->frame, f->optimum);
  lgv__set_colour(&f->canvas, lgv__grey(0.45), 1);
  cairo_set_line_width(f->canvas.cr, 0.7);
  cairo_set_dash(f->canvas.cr, dashes, 2, 0);
  lgv__line(&f->canvas, f->frame.left, y, f->frame.right, y);
  cairo_set_dash(f->canvas.cr, NULL, 0, 0);
}

/* Above the curves, on a white ground that keeps it readable. */
static void name_optimum(figure *f) {
  if (isnan(f->optimum)) return;
  double x = f->frame.left + 4, y = lgv__frame_y(&f->frame, f->optimum) + 6;
  lgv__font(&f->canvas, LGV_FONT_TICK, false);
  double width = lgv__text_width(&f->canvas, "optimal");
  lgv__set_colour(&f->canvas, lgv__grey(1), 0.75);
  cairo_rectangle(f->canvas.cr, x - 1, y - 4, width + 2, 8.5);
  cairo_fill(f->canvas.cr);
  lgv__set_colour(&f->canvas, lgv__grey(0.4), 1);
  lgv__text(&f->canvas, x, y, LGV_LEFT, "optimal");
}

static lgv_status draw(figure *f, lgv_error *err) {
  char x_label[128], y_label[128];
  lgv__axis_name(f->spec.x, x_label, sizeof x_label);
  lgv__axis_name(f->spec.y, y_label, sizeof y_label);
  lay_out(f);
  lgv__frame_draw(&f->frame, &f->canvas, f->plot->title, x_label, y_label);
  draw_optimum(f);
  for (size_t i = 0; i < f->count; i++) draw_band(f, &f->curves[i], lgv__colour(i));
  for (size_t i = 0; i < f->count; i++) draw_curve(f, i);
  name_optimum(f);
  const lgv_legend legend = {.labels = f->labels, .count = f->count};
  if (f->legend) lgv__legend_draw(&legend, &f->canvas, &f->frame);
  return f->count > 1 && !f->legend ? draw_end_labels(f, err) : LGV_OK;
}

static void write_notes(const figure *f, FILE *notes) {
  bool several = false;
  for (size_t i = 0; i < f->count; i++) {
    several |= f->curves[i].seeds > 1;
    fprintf(notes, "%s: %zu seed%s%s\n", f->curves[i].label, f->curves[i].seeds,
            f->curves[i].seeds == 1 ? "" : "s",
            f->curves[i].cut ? "; drawn until the first of them ends" : "");
  }
  char band[128];
  lgv__band_name(f->spec.standard_error, f->spec.statistic, band, sizeof band);
  if (several)
    fprintf(notes, "lines: %s over runs; bands: %s\n", lgv_statistic_name(f->spec.statistic), band);
  if (f->plot->smooth > 1)
    fprintf(notes, "each value is the mean of %zu rows, itself the last\n", f->plot->smooth);
  fprintf(notes, "wrote %s\n", f->plot->out);
}

static lgv_status draw_file(figure *f, lgv_error *err) {
  LGV_TRY(lgv__figure_open(&f->canvas, f->plot, err));
  lgv_status status = draw(f, err);
  lgv_error later = {0};
  lgv_status closed = lgv__canvas_close(&f->canvas, status == LGV_OK ? err : &later);
  return status == LGV_OK ? closed : status;
}

static lgv_status plot_curves(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                              lgv_error *err) {
  figure f = {.plot = plot, .groups = groups};
  lgv_status status = load_curves(&f, err);
  if (status == LGV_OK) status = draw_file(&f, err);
  if (status == LGV_OK && notes) write_notes(&f, notes);
  for (size_t i = 0; i < f.count; i++) lgv__curve_free(&f.curves[i]);
  lgv__free(f.curves);
  lgv__free(f.labels);
  return status;
}

lgv_status lgv__figure_open(lgv_canvas *canvas, const lgv_plot *plot, lgv_error *err) {
  double width = plot->width > 0 ? plot->width : 89;
  return lgv__canvas_open(canvas, plot->out, lgv__points(width),
                          lgv__points(width) * (width > 120 ? 0.45 : 0.65), err);
}

lgv_status lgv__plot(const lgv_plot *plot, FILE *notes, lgv_error *err) {
  lgv_groups groups;
  const lgv_selection selection = {.inputs = plot->inputs,
                                   .count = plot->count,
                                   .where = plot->where,
                                   .label = plot->label,
                                   .over = plot->over};
  if (!lgv__canvas_knows(plot->out))
    return lgv_fail(err, LGV_ERR_USAGE, "%.300s: the name must end in .svg, .png or .pdf",
                    plot->out);
  LGV_TRY(lgv__groups_open(&groups, &selection, err));
  lgv_status status = plot->kind == LGV_PLOT_BARS ? lgv__plot_bars(plot, &groups, notes, err)
                                                  : plot_curves(plot, &groups, notes, err);
  lgv__groups_close(&groups);
  return status;
}
