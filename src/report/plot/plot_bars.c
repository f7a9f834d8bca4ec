#include "base/error.h"
#include "base/memory.h"
#include "report/data/measure.h"
#include "report/data/run_group.h"
#include "report/plot/canvas.h"
#include "report/plot/legend.h"
#include "report/plot/plot_kinds.h"
#include "report/print/text_table.h"

#include <math.h>
#include <string.h>

static const double filled = 0.62;         /* share of its place that a single bar takes */
static const double filled_grouped = 0.86; /* ... that a group takes */

typedef struct bar {
  lgv_collection runs; /* none: there is no bar */
  lgv_estimate estimate;
} bar;

typedef struct chart {
  const lgv_plot *plot;
  const lgv_groups *groups;
  lgv_measure measure;
  lgv_statistic statistic;
  bool standard_error;
  const char **places; /* (place_count): labels along the axis: values of `over`, or rows */
  size_t place_count;
  size_t per_place;    /* bars in each */
  bar *bars;           /* (place_count x per_place) */
  const char **labels; /* (rows) */
  lgv_canvas canvas;
  lgv_frame frame;
} chart;

/* ---- Data ---- */

/* The values of `over` in the order of numbers, or else of their first appearance. */
static void find_places(chart *ch) {
  for (size_t i = 0; i < ch->groups->count; i++) {
    const char *task = ch->groups->items[i].task;
    size_t k = 0;
    while (k < ch->place_count && strcmp(ch->places[k], task) != 0) k++;
    if (k == ch->place_count) ch->places[ch->place_count++] = task;
  }
  lgv__sort_values(ch->places, ch->place_count);
}

static lgv_status reserve(chart *ch, lgv_error *err) {
  size_t rows = ch->groups->row_count;
  ch->places = lgv__calloc(ch->groups->count, sizeof *ch->places);
  ch->labels = lgv__calloc(rows, sizeof *ch->labels);
  if (!ch->places || !ch->labels) return lgv__out_of_memory(err, "a plot");
  for (size_t r = 0; r < rows; r++) ch->labels[r] = ch->groups->rows[r].label;
  if (ch->plot->over) {
    find_places(ch);
  } else {
    memcpy(ch->places, ch->labels, rows * sizeof *ch->places);
    ch->place_count = rows;
  }
  ch->per_place = ch->plot->over ? rows : 1;
  ch->bars = lgv__calloc(ch->place_count * ch->per_place, sizeof *ch->bars);
  return ch->bars ? LGV_OK : lgv__out_of_memory(err, "a plot");
}

static lgv_status load_bars(chart *ch, lgv_error *err) {
  size_t total = 0;
  for (size_t i = 0; i < ch->place_count * ch->per_place; i++) {
    bar *b = &ch->bars[i];
    const lgv_row *row = &ch->groups->rows[ch->plot->over ? i % ch->per_place : i];
    const char *task = ch->plot->over ? ch->places[i / ch->per_place] : NULL;
    LGV_TRY(lgv__collect(row, task, &ch->measure, &b->runs, err));
    total += b->runs.count;
    if (b->runs.count == 0) continue;
    lgv_scores scores = lgv__collection_scores(&b->runs);
    LGV_TRY(lgv_scores_estimate(&scores, ch->statistic, &b->estimate, err));
    if (!isfinite(b->estimate.value))
      return lgv_fail(err, LGV_ERR_USAGE,
                      "%s: the %s of %s is infinite, since some runs never got there; try another "
                      "statistic",
                      row->label, lgv_statistic_name(ch->statistic), ch->measure.name);
    lgv__band_apply(ch->standard_error, &b->estimate);
  }
  return total > 0 ? LGV_OK : lgv_fail(err, LGV_ERR_USAGE, "none of the runs has finished");
}

/* ---- Drawing ---- */

static void include(double value, double *low, double *high) {
  if (!isfinite(value)) return;
  *low = fmin(*low, value);
  *high = fmax(*high, value);
}

static void find_range(const chart *ch, double *low, double *high) {
  *low = *high = 0; /* bars begin at 0 */
  for (size_t i = 0; i < ch->place_count * ch->per_place; i++) {
    const bar *b = &ch->bars[i];
    for (size_t k = 0; k < b->runs.count; k++) include(b->runs.values[k], low, high);
    if (b->runs.count == 0) continue;
    include(b->estimate.low, low, high);
    include(b->estimate.high, low, high);
  }
  lgv__pad_range(low, high);
}

/* Labels too wide for their place below the bars are written upwards. */
static double label_height(chart *ch, double place, bool *upwards) {
  double widest = 0;
  lgv__font(&ch->canvas, LGV_FONT_TICK, false);
  for (size_t i = 0; i < ch->place_count; i++)
    widest = fmax(widest, lgv__text_width(&ch->canvas, ch->places[i]));
  *upwards = widest > place - 4;
  return *upwards ? widest : LGV_FONT_TICK;
}

static double clamp_y(const lgv_frame *f, double value) {
  return fmin(f->bottom, fmax(f->top, lgv__frame_y(f, value)));
}

static void draw_whisker(chart *ch, const bar *b, double x, double width) {
  if (!(b->estimate.high >= b->estimate.low)) return;
  lgv_canvas *c = &ch->canvas;
  double low = clamp_y(&ch->frame, b->estimate.low), high = clamp_y(&ch->frame, b->estimate.high);
  double half = fmin(2.5, 0.3 * width);
  lgv__set_color(c, lgv__grey(0), 1);
  lgv__cairo.set_line_width(c->cr, fmin(0.9, 0.2 * width));
  lgv__line(c, x, low, x, high);
  lgv__line(c, x - half, low, x + half, low);
  lgv__line(c, x - half, high, x + half, high);
}

static void draw_bar(chart *ch, const bar *b, size_t color, double x, double width) {
  lgv_canvas *c = &ch->canvas;
  const lgv_frame *f = &ch->frame;
  size_t n = b->runs.count;
  if (n == 0) return;
  double zero = lgv__frame_y(f, 0), top = lgv__frame_y(f, b->estimate.value);
  lgv__fill_block(c, color, x - width / 2, fmin(zero, top), width, fabs(zero - top));
  for (size_t k = 0; n > 1 && k < n; k++) { /* spread so that equal ones show */
    double spread = ((double)k + 0.5) / (double)n - 0.5;
    if (!isfinite(b->runs.values[k])) continue;
    lgv__cairo.arc(c->cr, x + 0.55 * width * spread, lgv__frame_y(f, b->runs.values[k]),
                   fmin(1.1, 0.14 * width), 0, 6.2832);
    lgv__set_color(c, lgv__grey(0.15), 0.45);
    lgv__cairo.fill(c->cr);
  }
  draw_whisker(ch, b, x, width);
}

static void draw_place(chart *ch, size_t index, bool upwards) {
  lgv_canvas *c = &ch->canvas;
  const lgv_frame *f = &ch->frame;
  double place = (f->right - f->left) / (double)ch->place_count;
  double middle = f->left + place * ((double)index + 0.5), n = (double)ch->per_place;
  bool grouped = ch->plot->over != NULL;
  double step = fmin(grouped ? filled_grouped * place / n : filled * place, 40);
  for (size_t k = 0; k < ch->per_place; k++)
    draw_bar(ch, &ch->bars[index * ch->per_place + k], grouped ? k : index,
             middle + step * ((double)k - 0.5 * (n - 1)), grouped ? 0.88 * step : step);
  lgv__set_color(c, lgv__grey(0), 1);
  lgv__font(c, LGV_FONT_TICK, false);
  const char *label = ch->places[index];
  if (upwards)
    lgv__text_upwards(c, middle, f->bottom + 4 + lgv__text_width(c, label) / 2, label);
  else
    lgv__text(c, middle, f->bottom + 7, LGV_MIDDLE, label);
}

static void write_hover(const chart *ch) {
  FILE *out = ch->plot->hover;
  const lgv_frame *f = &ch->frame;
  bool any = false;
  lgv__hover_open(out, "boxes", &ch->canvas);
  fputs(",\"boxes\":[", out);
  for (size_t i = 0; i < ch->place_count * ch->per_place; i++) {
    const bar *b = &ch->bars[i];
    double place = (f->right - f->left) / (double)ch->place_count;
    double width = place / (double)ch->per_place;
    double left =
        f->left + place * (double)(i / ch->per_place) + width * (double)(i % ch->per_place);
    char text[512], value[40], low[40], high[40];
    if (b->runs.count == 0) continue;
    lgv__format_short(b->estimate.value, value, sizeof value);
    lgv__format_short(b->estimate.low, low, sizeof low);
    lgv__format_short(b->estimate.high, high, sizeof high);
    snprintf(text, sizeof text, "%s%s%s: %s [%s, %s], %zu runs",
             ch->labels[ch->plot->over ? i % ch->per_place : i], ch->plot->over ? ", " : "",
             ch->plot->over ? ch->places[i / ch->per_place] : "", value, low, high, b->runs.count);
    lgv__hover_box(out, any, left, f->top, left + width, f->bottom, text);
    any = true;
  }
  fputs("]}", out);
}

/* Room below for the labels, and with `over` for its name and above for the legend. */
static bool lay_out(chart *ch, const lgv_legend *legend, double low, double high) {
  lgv_canvas *c = &ch->canvas;
  lgv_frame *f = &ch->frame;
  bool upwards;
  f->right = c->width - 7;
  f->top = ch->plot->title ? 16 : 7;
  lgv__frame_fit(f, c, 0, 1, low, high, ch->plot->over != NULL);
  if (ch->plot->over) f->top += (double)lgv__legend_lines(legend, c, f) * LGV_LINE_HEIGHT + 2;
  double height = label_height(ch, (f->right - f->left) / (double)ch->place_count, &upwards);
  c->height -= height - LGV_FONT_TICK; /* the frame ends above the labels */
  lgv__frame_fit(f, c, 0, 1, low, high, ch->plot->over != NULL);
  c->height += height - LGV_FONT_TICK;
  f->x.count = 0;
  return upwards;
}

static lgv_status draw(chart *ch, lgv_error *err) {
  const lgv_legend legend = {.labels = ch->labels, .count = ch->groups->row_count, .blocks = true};
  const char *over = ch->plot->over, *dot = over ? strrchr(over, '.') : NULL;
  char y_label[128], x_label[128] = "";
  double low, high;
  lgv__axis_name(ch->measure.name, y_label, sizeof y_label);
  if (over) lgv__axis_name(dot ? dot + 1 : over, x_label, sizeof x_label);
  find_range(ch, &low, &high);
  lgv_canvas *c = &ch->canvas;
  const lgv_frame *f = &ch->frame;
  lay_out(ch, &legend, low, high);
  LGV_TRY(lgv__figure_grow(c, ch->plot, f->bottom - f->top, err));
  bool upwards = lay_out(ch, &legend, low, high);
  lgv__frame_draw(f, c, ch->plot->title, over ? x_label : NULL, y_label);
  for (size_t i = 0; i < ch->place_count; i++) draw_place(ch, i, upwards);
  if (over) lgv__legend_draw(&legend, c, f);
  if (low >= 0) return LGV_OK;
  lgv__set_color(c, lgv__grey(0.2), 1);
  lgv__cairo.set_line_width(c->cr, 0.6);
  lgv__line(c, f->left, lgv__frame_y(f, 0), f->right, lgv__frame_y(f, 0));
  return LGV_OK;
}

/* ---- Notes ---- */

static void note_bar(lgv_table *t, const chart *ch, size_t index) {
  const bar *b = &ch->bars[index];
  if (b->runs.count == 0) return;
  if (ch->plot->over) lgv__table_cell(t, "%s", ch->places[index / ch->per_place]);
  lgv__table_cell(t, "%s", ch->labels[ch->plot->over ? index % ch->per_place : index]);
  lgv__table_real(t, b->estimate.value);
  lgv__table_real(t, b->estimate.low);
  lgv__table_real(t, b->estimate.high);
  lgv__table_cell(t, "%zu", b->runs.count);
}

static void write_notes(const chart *ch, FILE *notes) {
  const char *over = ch->plot->over;
  lgv_table t = lgv__table(over ? "llrrrr" : "lrrrr");
  char band[128];
  size_t unfinished = 0;
  if (over) lgv__table_cell(&t, "%s", over);
  const char *const head[] = {"", lgv_statistic_name(ch->statistic),
                              ch->standard_error ? "-1 s.e." : "95 % low",
                              ch->standard_error ? "+1 s.e." : "high", "runs"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  for (size_t i = 0; i < ch->place_count * ch->per_place; i++) {
    note_bar(&t, ch, i);
    unfinished += ch->bars[i].runs.unfinished;
  }
  lgv__table_print(&t, notes, 0, 100);
  lgv__band_name(ch->standard_error, ch->statistic, band, sizeof band);
  if (unfinished > 0)
    fprintf(notes, "%zu run%s left out: not finished\n", unfinished, unfinished == 1 ? "" : "s");
  fprintf(notes, "bars: %s of %s over runs; lines: %s; dots: runs\n",
          lgv_statistic_name(ch->statistic), ch->measure.name, band);
}

static lgv_status load(chart *ch, lgv_error *err) {
  LGV_TRY(lgv__measure_find(ch->plot->y, &ch->measure, err));
  LGV_TRY(lgv__statistic_find(ch->plot->statistic, &ch->statistic, err));
  LGV_TRY(lgv__band_find(ch->plot->band, &ch->standard_error, err));
  LGV_TRY(reserve(ch, err));
  return load_bars(ch, err);
}

lgv_status lgv__plot_bars(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                          lgv_error *err) {
  chart ch = {.plot = plot, .groups = groups};
  lgv_status status = load(&ch, err);
  if (status == LGV_OK) status = lgv__figure_open(&ch.canvas, plot, err);
  if (status == LGV_OK) status = draw(&ch, err);
  if (status == LGV_OK) {
    if (plot->hover) write_hover(&ch);
    status = lgv__canvas_close(&ch.canvas, err);
  }
  if (status == LGV_OK && notes) write_notes(&ch, notes);
  for (size_t i = 0; ch.bars && i < ch.place_count * ch.per_place; i++)
    lgv__collection_free(&ch.bars[i].runs);
  lgv__free(ch.bars);
  lgv__free(ch.places);
  lgv__free(ch.labels);
  return status;
}
