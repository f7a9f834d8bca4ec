#include "report/plot_bars.h"

#include "base/error.h"
#include "base/memory.h"
#include "report/frame.h"
#include "report/tools.h"

#include <math.h>
#include <string.h>

static const double bar_share = 0.62; /* of the distance between two bars */

typedef struct bar {
  const char *label;
  double *values; /* (count): one a seed */
  size_t count;
  lgv_estimate estimate;
} bar;

typedef struct chart {
  const lgv_plot *plot;
  size_t measure;
  bar *bars;
  size_t count;
  lgv_canvas canvas;
  lgv_frame frame;
} chart;

static lgv_status find_measure(chart *ch, lgv_error *err) {
  const char *name = ch->plot->y ? ch->plot->y : "final_return";
  const char *names[32] = {0};
  char all[256] = "";
  for (size_t i = 0; lgv_measure_name(i) && i < 31; i++) {
    names[i] = lgv_measure_name(i);
    if (strcmp(names[i], name) == 0) {
      ch->measure = i;
      return LGV_OK;
    }
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", names[i]);
  }
  const char *near = lgv__nearest_name(name, names);
  return lgv_fail(err, LGV_ERR_USAGE, "bars show a measure of summary.json, not '%.40s'%s%s%s %s",
                  name, near ? "; did you mean '" : ":", near ? near : "", near ? "'? One of" : "",
                  all);
}

static lgv_status load_bar(chart *ch, const lgv_group *group, bar *b, lgv_error *err) {
  *b = (bar){.label = group->label, .values = lgv__calloc(group->count, sizeof *b->values)};
  if (!b->values) return lgv__out_of_memory(err, "a plot");
  for (size_t i = 0; i < group->count; i++) {
    lgv_summary summary;
    LGV_TRY(lgv_summary_load(group->runs[i], &summary, err));
    double value = lgv_measure_value(&summary, ch->measure);
    if (isnan(value))
      return lgv_fail(err, LGV_ERR_USAGE, "%.300s/summary.json has no %s", group->runs[i],
                      lgv_measure_name(ch->measure));
    b->values[b->count++] = value;
  }
  lgv_estimate_mean(b->values, b->count, &b->estimate);
  return b->estimate.count ? LGV_OK : lgv__out_of_memory(err, "a plot");
}

static void find_range(const chart *ch, double *low, double *high) {
  *low = *high = 0; /* a bar stands on 0 */
  for (size_t i = 0; i < ch->count; i++) {
    const bar *b = &ch->bars[i];
    for (size_t k = 0; k < b->count; k++) {
      *low = fmin(*low, b->values[k]);
      *high = fmax(*high, b->values[k]);
    }
  }
  lgv__pad_range(low, high);
}

/* Labels too wide for their place below the bars are written upwards. */
static double label_height(chart *ch, double place, bool *upwards) {
  double widest = 0;
  lgv__font(&ch->canvas, LGV_FONT_TICK, false);
  for (size_t i = 0; i < ch->count; i++)
    widest = fmax(widest, lgv__text_width(&ch->canvas, ch->bars[i].label));
  *upwards = widest > place - 4;
  return *upwards ? widest : LGV_FONT_TICK;
}

static void draw_bar(chart *ch, size_t index, bool upwards) {
  const bar *b = &ch->bars[index];
  lgv_canvas *c = &ch->canvas;
  const lgv_frame *f = &ch->frame;
  double place = (f->right - f->left) / (double)ch->count;
  double x = f->left + place * ((double)index + 0.5), width = fmin(bar_share * place, 40);
  double zero = lgv__frame_y(f, 0), top = lgv__frame_y(f, b->estimate.mean);
  lgv__set_colour(c, lgv__colour(index), 0.75);
  cairo_rectangle(c->cr, x - width / 2, fmin(zero, top), width, fabs(zero - top));
  cairo_fill(c->cr);
  for (size_t k = 0; b->count > 1 && k < b->count; k++) { /* spread so that equal ones show */
    double spread = ((double)k + 0.5) / (double)b->count - 0.5;
    cairo_arc(c->cr, x + 0.55 * width * spread, lgv__frame_y(f, b->values[k]), 1.1, 0, 6.2832);
    lgv__set_colour(c, lgv__grey(0.15), 0.45);
    cairo_fill(c->cr);
  }
  lgv__set_colour(c, lgv__grey(0), 1);
  if (b->count > 1) {
    double low = lgv__frame_y(f, b->estimate.low), high = lgv__frame_y(f, b->estimate.high);
    cairo_set_line_width(c->cr, 0.9);
    lgv__line(c, x, low, x, high);
    lgv__line(c, x - 2.5, low, x + 2.5, low);
    lgv__line(c, x - 2.5, high, x + 2.5, high);
  }
  lgv__font(c, LGV_FONT_TICK, false);
  if (!upwards) {
    lgv__text(c, x, f->bottom + 7, LGV_MIDDLE, b->label);
    return;
  }
  lgv__text_upwards(c, x, f->bottom + 4 + lgv__text_width(c, b->label) / 2, b->label);
}

static void draw(chart *ch) {
  char y_label[128];
  bool upwards;
  double low, high;
  lgv_canvas *c = &ch->canvas;
  lgv_frame *f = &ch->frame;
  lgv__axis_name(lgv_measure_name(ch->measure), y_label, sizeof y_label);
  find_range(ch, &low, &high);
  f->right = c->width - 7;
  f->top = ch->plot->title ? 16 : 7;
  lgv__frame_fit(f, c, 0, 1, low, high, false);
  double height = label_height(ch, (f->right - f->left) / (double)ch->count, &upwards);
  c->height -= height - LGV_FONT_TICK; /* the frame ends above the labels */
  lgv__frame_fit(f, c, 0, 1, low, high, false);
  c->height += height - LGV_FONT_TICK;
  lgv__frame_draw(f, c, ch->plot->title, NULL, y_label);
  for (size_t i = 0; i < ch->count; i++) draw_bar(ch, i, upwards);
  if (low >= 0) return;
  lgv__set_colour(c, lgv__grey(0.2), 1);
  cairo_set_line_width(c->cr, 0.6);
  lgv__line(c, f->left, lgv__frame_y(f, 0), f->right, lgv__frame_y(f, 0));
}

static void write_notes(const chart *ch, FILE *notes) {
  lgv_table t = lgv__table("lrrrr");
  const char *const head[] = {"", "mean", "95 % low", "high", "seeds"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  for (size_t i = 0; i < ch->count; i++) {
    const lgv_estimate *e = &ch->bars[i].estimate;
    lgv__table_cell(&t, "%s", ch->bars[i].label);
    lgv__table_real(&t, e->mean);
    lgv__table_real(&t, e->low);
    lgv__table_real(&t, e->high);
    lgv__table_cell(&t, "%lld", (long long)e->count);
  }
  lgv__table_print(&t, notes, 0, 100);
  fprintf(notes,
          "bars: mean %s over seeds; lines: 95 %% percentile bootstrap of the mean; dots: "
          "seeds\nwrote %s\n",
          lgv_measure_name(ch->measure), ch->plot->out);
}

lgv_status lgv__plot_bars(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                          lgv_error *err) {
  chart ch = {.plot = plot};
  LGV_TRY(find_measure(&ch, err));
  ch.bars = lgv__calloc(groups->count, sizeof *ch.bars);
  lgv_status status = ch.bars ? LGV_OK : lgv__out_of_memory(err, "a plot");
  for (size_t i = 0; i < groups->count && status == LGV_OK; i++) {
    status = load_bar(&ch, &groups->items[i], &ch.bars[i], err);
    ch.count++;
  }
  double width = lgv__points(plot->width);
  if (status == LGV_OK)
    status = lgv__canvas_open(&ch.canvas, plot->out, width,
                              width * (plot->width > 120 ? 0.45 : 0.65), err);
  if (status == LGV_OK) {
    draw(&ch);
    status = lgv__canvas_close(&ch.canvas, err);
  }
  if (status == LGV_OK) write_notes(&ch, notes);
  for (size_t i = 0; i < ch.count; i++) lgv__free(ch.bars[i].values);
  lgv__free(ch.bars);
  return status;
}
