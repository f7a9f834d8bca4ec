/* Lines with bands, labeled at their ends where there is room, else by a legend above. */
#include "report/plot/curve_figure.h"

#include "base/error.h"
#include "base/memory.h"
#include "report/plot/canvas.h"
#include "report/plot/legend.h"
#include "report/plot/plot_kinds.h"

#include <math.h>
#include <stdlib.h>

static const double widest_label = 0.34; /* of the width; wider ones go into a legend */
static const double label_gap = 4;

typedef struct figure {
  const lgv_curve_figure *spec;
  const lgv_curve *curves;
  const char **labels; /* (count) */
  size_t count;
  double optimum;
  lgv_canvas canvas;
  lgv_frame frame;
  bool legend;
} figure;

/* ---- Ranges ---- */

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

/* Labels are in the order of the line ends, at least a line apart, and as near to their ends as
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
  lgv__set_color(&f->canvas, lgv__darker(lgv__color(label->curve)), 1);
  if (fabs(label->end - label->at) > 2 || x < f->frame.right - 2) { /* lead the eye to the label */
    lgv__cairo.set_line_width(f->canvas.cr, 0.4);
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
  f->legend = f->count > 1 &&
              (f->spec->legend || widest > widest_label * c->width || f->count > LGV_PALETTE + 4);
  bool ends = f->count > 1 && !f->legend;
  find_ranges(f, &x_low, &x_high, &y_low, &y_high);
  f->frame.right = c->width - (ends ? widest + label_gap + 3 : 7);
  f->frame.top = f->spec->plot->title ? 16 : 7;
  lgv__frame_fit(&f->frame, c, x_low, x_high, y_low, y_high, true);
  if (!f->legend) return;
  const lgv_legend legend = {.labels = f->labels, .count = f->count};
  f->frame.top += (double)lgv__legend_lines(&legend, c, &f->frame) * LGV_LINE_HEIGHT + 2;
  lgv__frame_fit(&f->frame, c, x_low, x_high, y_low, y_high, true);
}

static void draw_band(figure *f, const lgv_curve *c, lgv_color color) {
  if (c->seeds < 2) return;
  cairo_t *cr = f->canvas.cr;
  for (size_t i = 0; i < c->count; i++)
    lgv__cairo.line_to(cr, lgv__frame_x(&f->frame, c->x[i]), lgv__frame_y(&f->frame, c->high[i]));
  for (size_t i = c->count; i-- > 0;)
    lgv__cairo.line_to(cr, lgv__frame_x(&f->frame, c->x[i]), lgv__frame_y(&f->frame, c->low[i]));
  lgv__cairo.close_path(cr);
  lgv__set_color(&f->canvas, color, 0.2);
  lgv__cairo.fill(cr);
}

static void draw_curve(figure *f, size_t index) {
  const lgv_curve *c = &f->curves[index];
  cairo_t *cr = f->canvas.cr;
  for (size_t i = 0; i < c->count; i++)
    lgv__cairo.line_to(cr, lgv__frame_x(&f->frame, c->x[i]), lgv__frame_y(&f->frame, c->value[i]));
  lgv__set_color(&f->canvas, lgv__color(index), 1);
  lgv__cairo.set_line_width(cr, 1.1);
  lgv__dashes_begin(&f->canvas, index);
  lgv__cairo.stroke(cr);
  lgv__dashes_end(&f->canvas);
}

static void draw_optimum(figure *f) {
  if (isnan(f->optimum)) return;
  const double dashes[] = {2, 2};
  double y = lgv__frame_y(&f->frame, f->optimum);
  lgv__set_color(&f->canvas, lgv__grey(0.45), 1);
  lgv__cairo.set_line_width(f->canvas.cr, 0.7);
  lgv__cairo.set_dash(f->canvas.cr, dashes, 2, 0);
  lgv__line(&f->canvas, f->frame.left, y, f->frame.right, y);
  lgv__cairo.set_dash(f->canvas.cr, NULL, 0, 0);
}

/* Above the curves, on a white ground that keeps it readable. */
static void name_optimum(figure *f) {
  if (isnan(f->optimum)) return;
  double x = f->frame.left + 4, y = lgv__frame_y(&f->frame, f->optimum) + 6;
  lgv__font(&f->canvas, LGV_FONT_TICK, false);
  double width = lgv__text_width(&f->canvas, "optimal");
  lgv__set_color(&f->canvas, lgv__grey(1), 0.75);
  lgv__cairo.rectangle(f->canvas.cr, x - 1, y - 4, width + 2, 8.5);
  lgv__cairo.fill(f->canvas.cr);
  lgv__set_color(&f->canvas, lgv__grey(0.4), 1);
  lgv__text(&f->canvas, x, y, LGV_LEFT, "optimal");
}

static void write_hover(const figure *f) {
  FILE *out = f->spec->plot->hover;
  const lgv_frame *frame = &f->frame;
  if (!out) return;
  lgv__hover_open(out, "curves", &f->canvas);
  fprintf(out, ",\"frame\":[%g,%g,%g,%g,%.9g,%.9g],\"x\":", frame->left, frame->right, frame->top,
          frame->bottom, frame->x.low, frame->x.high);
  lgv__hover_text(out, f->spec->x_label);
  fputs(",\"curves\":[", out);
  for (size_t i = 0; i < f->count; i++) {
    const lgv_curve *c = &f->curves[i];
    size_t step = c->count / LGV_HOVER_POINTS + 1;
    fputs(i ? ",{\"label\":" : "{\"label\":", out);
    lgv__hover_text(out, c->label);
    fputs(",\"points\":[", out);
    for (size_t k = 0; k < c->count; k += step) {
      const double values[] = {c->x[k], c->value[k], c->low[k], c->high[k]};
      lgv__hover_numbers(out, k > 0, values, 4);
    }
    fputs("]}", out);
  }
  fputs("]}", out);
}

static lgv_status draw(figure *f, lgv_error *err) {
  lay_out(f);
  lgv__frame_draw(&f->frame, &f->canvas, f->spec->plot->title, f->spec->x_label, f->spec->y_label);
  draw_optimum(f);
  for (size_t i = 0; i < f->count; i++) draw_band(f, &f->curves[i], lgv__color(i));
  for (size_t i = 0; i < f->count; i++) draw_curve(f, i);
  name_optimum(f);
  const lgv_legend legend = {.labels = f->labels, .count = f->count};
  if (f->legend) lgv__legend_draw(&legend, &f->canvas, &f->frame);
  return f->count > 1 && !f->legend ? draw_end_labels(f, err) : LGV_OK;
}

lgv_status lgv__curve_figure_draw(const lgv_curve_figure *spec, lgv_error *err) {
  figure f = {.spec = spec,
              .curves = spec->curves,
              .count = spec->count,
              .optimum = spec->optimum,
              .labels = lgv__calloc(spec->count, sizeof *f.labels)};
  if (!f.labels) return lgv__out_of_memory(err, "a plot");
  for (size_t i = 0; i < f.count; i++) f.labels[i] = f.curves[i].label;
  lgv_status status = lgv__figure_open(&f.canvas, spec->plot, err);
  if (status == LGV_OK) {
    lay_out(&f);
    status = lgv__figure_grow(&f.canvas, spec->plot, f.frame.bottom - f.frame.top, err);
  }
  if (status == LGV_OK) {
    status = draw(&f, err);
    write_hover(&f);
    lgv_error later = {0};
    lgv_status closed = lgv__canvas_close(&f.canvas, status == LGV_OK ? err : &later);
    if (status == LGV_OK) status = closed;
  }
  lgv__free(f.labels);
  return status;
}
