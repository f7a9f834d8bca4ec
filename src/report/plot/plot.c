/* Learning curves, and the choice of the kind of figure. */
#include "report/plot/plot.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "record/summary.h"
#include "report/data/curve.h"
#include "report/data/measure.h"
#include "report/plot/curve_figure.h"
#include "report/plot/frame.h"
#include "report/plot/plot_kinds.h"

#include <math.h>
#include <string.h>

typedef struct figure {
  const lgv_plot *plot;
  const lgv_groups *groups;
  lgv_curve_spec spec;
  lgv_curve *curves;
  size_t count;
  double optimum; /* of all groups alike, or NaN */
} figure;

/* ---- Data ---- */

static lgv_status choose_columns(figure *f, lgv_error *err) {
  f->spec = (lgv_curve_spec){
      .x = f->plot->x, .y = f->plot->y, .optimal = f->plot->optimal, .smooth = f->plot->smooth};
  const char *run = f->groups->items[0].runs[0];
  LGV_TRY(lgv__choose_columns(run, false, &f->spec.x, &f->spec.y, err));
  LGV_TRY(lgv__statistic_find(f->plot->statistic, &f->spec.statistic, err));
  return lgv__band_find(f->plot->band, &f->spec.standard_error, err);
}

/* The optimal value gets a line if returns are drawn and all groups have the same one. */
static lgv_status find_optimum(figure *f, lgv_error *err) {
  static const char *const returns[] = {"return", "eval_return", "value"};
  bool is_return = false, found;
  f->optimum = NAN;
  for (size_t i = 0; i < sizeof returns / sizeof *returns; i++)
    is_return |= strcmp(f->spec.y, returns[i]) == 0;
  for (size_t i = 0; is_return && i < f->groups->count; i++) {
    lgv_summary summary;
    LGV_TRY(lgv__summary_find(f->groups->items[i].runs[0], &found, &summary, err));
    bool shared = found && (i == 0 || summary.optimal_value == f->optimum);
    f->optimum = shared ? summary.optimal_value : NAN;
    if (!shared) break;
  }
  return LGV_OK;
}

static lgv_status load_curves(figure *f, lgv_error *err) {
  LGV_TRY(choose_columns(f, err));
  f->curves = lgv__calloc(f->groups->row_count, sizeof *f->curves);
  if (!f->curves) return lgv__out_of_memory(err, "a plot");
  for (size_t i = 0; i < f->groups->row_count; i++) {
    LGV_TRY(lgv__curve_load(&f->curves[i], &f->groups->rows[i], &f->spec, err));
    f->count++;
  }
  return find_optimum(f, err);
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
}

static lgv_status draw(const figure *f, lgv_error *err) {
  lgv_curve_figure figure = {
      .plot = f->plot, .curves = f->curves, .count = f->count, .optimum = f->optimum};
  lgv__axis_name(f->spec.x, figure.x_label, sizeof figure.x_label);
  lgv__axis_name(f->spec.y, figure.y_label, sizeof figure.y_label);
  return lgv__curve_figure_draw(&figure, err);
}

lgv_status lgv__plot_curves(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                            lgv_error *err) {
  figure f = {.plot = plot, .groups = groups};
  lgv_status status = load_curves(&f, err);
  if (status == LGV_OK) status = draw(&f, err);
  if (status == LGV_OK && notes) write_notes(&f, notes);
  for (size_t i = 0; i < f.count; i++) lgv__curve_free(&f.curves[i]);
  lgv__free(f.curves);
  return status;
}

static lgv_status open_figure(lgv_canvas *canvas, const lgv_plot *plot, double height,
                              lgv_error *err) {
  double width = lgv__points(plot->width > 0 ? plot->width : 89);
  LGV_TRY(lgv__canvas_open(canvas, plot->svg ? "page.svg" : plot->out, width, height, err));
  canvas->svg = plot->svg;
  return LGV_OK;
}

lgv_status lgv__figure_open(lgv_canvas *canvas, const lgv_plot *plot, lgv_error *err) {
  double width = plot->width > 0 ? plot->width : 89;
  return open_figure(canvas, plot, lgv__points(width) * (width > 120 ? 0.45 : 0.65), err);
}

lgv_status lgv__figure_grow(lgv_canvas *canvas, const lgv_plot *plot, double height,
                            lgv_error *err) {
  double wanted = 0.3 * canvas->width, whole = canvas->height + wanted - height;
  if (height >= wanted) return LGV_OK;
  lgv__canvas_discard(canvas);
  return open_figure(canvas, plot, whole, err);
}

lgv_status lgv__plot(const lgv_plot *plot, FILE *notes, lgv_error *err) {
  static lgv_status (*const kinds[])(const lgv_plot *, const lgv_groups *, FILE *,
                                     lgv_error *) = {[LGV_PLOT_CURVES] = lgv__plot_curves,
                                                     [LGV_PLOT_BARS] = lgv__plot_bars,
                                                     [LGV_PLOT_HEAT] = lgv__plot_heat,
                                                     [LGV_PLOT_PROFILE] = lgv__plot_profile};
  lgv_groups groups;
  const lgv_selection selection = {
      .inputs = plot->inputs,
      .count = plot->count,
      .where = plot->where,
      .label = plot->kind == LGV_PLOT_HEAT ? plot->heat : plot->label,
      .over = plot->kind == LGV_PLOT_PROFILE ? "env." : plot->over,
  };
  if (!plot->svg && !lgv__canvas_knows(plot->out))
    return lgv_fail(err, LGV_ERR_USAGE, "%.300s: the name must end in .svg, .png or .pdf",
                    plot->out);
  LGV_TRY(lgv__groups_open(&groups, &selection, err));
  lgv_status status = kinds[plot->kind](plot, &groups, notes, err);
  lgv__groups_close(&groups);
  return status;
}
