/* Heat maps: a measure by the values of two keys, as color and as number. Where several
 * configurations have the same two values, their runs are taken together. */
#include "base/error.h"
#include "base/memory.h"
#include "report/data/measure.h"
#include "report/data/run_group.h"
#include "report/plot/canvas.h"
#include "report/plot/frame.h"
#include "report/plot/plot_kinds.h"
#include "report/print/text_table.h"

#include <math.h>
#include <string.h>

static const double bar_width = 8, bar_gap = 8; /* of the scale at the right */

typedef struct cell {
  size_t x, y;
  double value; /* NaN: no finished run */
  size_t configs;
} cell;

typedef struct map {
  const lgv_plot *plot;
  const lgv_groups *groups;
  lgv_measure measure;
  lgv_statistic statistic;
  char x_key[128], y_key[128];
  const char **x_values, **y_values;
  size_t columns, lines;
  cell *cells; /* (rows of groups) */
  double low, high;
  lgv_canvas canvas;
  double left, right, top, bottom;
} map;

/* ---- Data ---- */

static size_t find_value(const char *const *values, size_t count, const char *value) {
  size_t k = 0;
  while (k < count && strcmp(values[k], value) != 0) k++;
  return k;
}

static const char *value_of(const lgv_row *row, const char *key) {
  const char *value = lgv_settings_get(row->groups[0].settings, key);
  return value ? value : "-";
}

static void find_values(const map *m, const char *key, const char **values, size_t *count) {
  *count = 0;
  for (size_t r = 0; r < m->groups->row_count; r++) {
    const char *value = value_of(&m->groups->rows[r], key);
    if (find_value(values, *count, value) == *count) values[(*count)++] = value;
  }
  lgv__sort_values(values, *count);
}

static lgv_status load_cell(map *m, size_t r, lgv_error *err) {
  const lgv_row *row = &m->groups->rows[r];
  lgv_collection runs;
  lgv_estimate e = {.value = NAN};
  LGV_TRY(lgv__collect(row, NULL, &m->measure, &runs, err));
  lgv_scores scores = lgv__collection_scores(&runs);
  lgv_status status = runs.count > 0 ? lgv_scores_estimate(&scores, m->statistic, &e, err) : LGV_OK;
  lgv__collection_free(&runs);
  LGV_TRY(status);
  m->cells[r] = (cell){.x = find_value(m->x_values, m->columns, value_of(row, m->x_key)),
                       .y = find_value(m->y_values, m->lines, value_of(row, m->y_key)),
                       .value = e.value,
                       .configs = row->count};
  if (!isfinite(e.value)) return LGV_OK;
  m->low = fmin(m->low, e.value);
  m->high = fmax(m->high, e.value);
  return LGV_OK;
}

static lgv_status read_keys(map *m, lgv_error *err) {
  const char *keys = m->plot->heat, *comma = keys ? strchr(keys, ',') : NULL;
  if (!comma || strchr(comma + 1, ',') || comma == keys || !comma[1])
    return lgv_fail(err, LGV_ERR_USAGE, "a heat map is over two keys: agent.lambda,agent.beta");
  snprintf(m->x_key, sizeof m->x_key, "%.*s", (int)(comma - keys), keys);
  snprintf(m->y_key, sizeof m->y_key, "%s", comma + 1);
  return LGV_OK;
}

static lgv_status load(map *m, lgv_error *err) {
  size_t rows = m->groups->row_count;
  LGV_TRY(read_keys(m, err));
  LGV_TRY(lgv__measure_find(m->plot->y, &m->measure, err));
  LGV_TRY(lgv__statistic_find(m->plot->statistic, &m->statistic, err));
  m->x_values = lgv__calloc(2 * rows, sizeof *m->x_values);
  m->cells = lgv__calloc(rows, sizeof *m->cells);
  if (!m->x_values || !m->cells) return lgv__out_of_memory(err, "a plot");
  m->y_values = m->x_values + rows;
  find_values(m, m->x_key, m->x_values, &m->columns);
  find_values(m, m->y_key, m->y_values, &m->lines);
  m->low = INFINITY;
  m->high = -INFINITY;
  for (size_t r = 0; r < rows; r++) LGV_TRY(load_cell(m, r, err));
  return m->low <= m->high ? LGV_OK : lgv_fail(err, LGV_ERR_USAGE, "none of the runs has a result");
}

static bool is_best(const map *m, const cell *c) {
  return c->value == (lgv__measure_lowest_is_best(&m->measure) ? m->low : m->high);
}

/* ---- Drawing ---- */

/* Seven colors of viridis (van der Walt and Smith), which grows lighter evenly for every eye. */
static lgv_color heat_color(double share) {
  static const unsigned scale[] = {0x440154, 0x443983, 0x31688E, 0x21918C,
                                   0x35B779, 0x90D743, 0xFDE725};
  enum { LAST = sizeof scale / sizeof *scale - 1 };
  double at = fmin(1, fmax(0, share)) * LAST;
  size_t i = at >= LAST ? LAST - 1 : (size_t)at;
  double part = at - (double)i, rgb[3];
  for (int k = 0; k < 3; k++) {
    int shift = 16 - 8 * k;
    rgb[k] = ((1 - part) * (scale[i] >> shift & 255) + part * (scale[i + 1] >> shift & 255)) / 255;
  }
  return (lgv_color){rgb[0], rgb[1], rgb[2]};
}

static double share_of(const map *m, double value) {
  return m->high > m->low ? (value - m->low) / (m->high - m->low) : 0.5;
}

static void format_value(double value, char *text, size_t size) {
  if (isinf(value))
    snprintf(text, size, "never");
  else if (fabs(value) >= 1000 && fabs(value) < 1e5)
    snprintf(text, size, "%.0f", value);
  else
    snprintf(text, size, "%.3g", value);
}

static void draw_cell(map *m, const cell *c, double width, double height) {
  lgv_canvas *page = &m->canvas;
  double x = m->left + width * (double)c->x, y = m->bottom - height * (double)(c->y + 1);
  char text[40];
  if (isnan(c->value)) return; /* the ground shows */
  lgv_color color = isinf(c->value) ? lgv__grey(0.6) : heat_color(share_of(m, c->value));
  double light = 0.3 * color.red + 0.59 * color.green + 0.11 * color.blue;
  lgv__set_color(page, color, 1);
  lgv__cairo.rectangle(page->cr, x, y, width, height);
  lgv__cairo.fill(page->cr);
  lgv__set_color(page, lgv__grey(light > 0.5 ? 0 : 1), 1);
  if (is_best(m, c)) {
    lgv__cairo.set_line_width(page->cr, 1.2);
    lgv__cairo.rectangle(page->cr, x + 1.6, y + 1.6, width - 3.2, height - 3.2);
    lgv__cairo.stroke(page->cr);
  }
  format_value(c->value, text, sizeof text);
  double size = LGV_FONT_TICK;
  for (lgv__font(page, size, false); size > 4 && lgv__text_width(page, text) > width - 3;)
    lgv__font(page, size -= 0.5, false);
  lgv__text(page, x + width / 2, y + height / 2, LGV_MIDDLE, text);
}

static double widest_of(map *m, const char *const *values, size_t count) {
  double widest = 0;
  lgv__font(&m->canvas, LGV_FONT_TICK, false);
  for (size_t i = 0; i < count; i++) widest = fmax(widest, lgv__text_width(&m->canvas, values[i]));
  return widest;
}

static void draw_labels(map *m, double width, double height, bool upwards) {
  lgv_canvas *c = &m->canvas;
  const char *dot;
  char name[128];
  lgv__font(c, LGV_FONT_TICK, false);
  lgv__set_color(c, lgv__grey(0.2), 1);
  for (size_t i = 0; i < m->columns; i++) {
    double x = m->left + width * ((double)i + 0.5);
    if (upwards)
      lgv__text_upwards(c, x, m->bottom + 4 + lgv__text_width(c, m->x_values[i]) / 2,
                        m->x_values[i]);
    else
      lgv__text(c, x, m->bottom + 7, LGV_MIDDLE, m->x_values[i]);
  }
  for (size_t i = 0; i < m->lines; i++)
    lgv__text(c, m->left - 4, m->bottom - height * ((double)i + 0.5), LGV_RIGHT, m->y_values[i]);
  lgv__font(c, LGV_FONT_LABEL, false);
  lgv__set_color(c, lgv__grey(0), 1);
  dot = strrchr(m->x_key, '.');
  lgv__axis_name(dot ? dot + 1 : m->x_key, name, sizeof name);
  lgv__text(c, (m->left + m->right) / 2, c->height - 3 - LGV_FONT_LABEL / 2, LGV_MIDDLE, name);
  dot = strrchr(m->y_key, '.');
  lgv__axis_name(dot ? dot + 1 : m->y_key, name, sizeof name);
  lgv__text_upwards(c, 3 + LGV_FONT_LABEL / 2, (m->top + m->bottom) / 2, name);
}

/* The scale: colors from the least to the greatest value, ticks, and the name of the measure. */
static void draw_scale(map *m, const lgv_axis_ticks *ticks, double x) {
  lgv_canvas *c = &m->canvas;
  double height = m->bottom - m->top;
  char name[128];
  for (int i = 0; i < 100; i++) {
    lgv__set_color(c, heat_color((i + 0.5) / 100), 1);
    lgv__cairo.rectangle(c->cr, x, m->bottom - height * (i + 1) / 100, bar_width,
                         height / 100 + 0.3);
    lgv__cairo.fill(c->cr);
  }
  lgv__font(c, LGV_FONT_TICK, false);
  lgv__set_color(c, lgv__grey(0.2), 1);
  for (size_t i = 0; i < ticks->count; i++) {
    double y = m->bottom - height * share_of(m, ticks->at[i]);
    lgv__cairo.set_line_width(c->cr, 0.5);
    lgv__line(c, x + bar_width, y, x + bar_width + 2, y);
    lgv__text(c, x + bar_width + 4, y, LGV_LEFT, ticks->text[i]);
  }
  lgv__axis_name(m->measure.name, name, sizeof name);
  lgv__font(c, LGV_FONT_LABEL, false);
  lgv__set_color(c, lgv__grey(0), 1);
  lgv__text_upwards(c, c->width - 3 - LGV_FONT_LABEL / 2, (m->top + m->bottom) / 2, name);
}

/* Whether the labels below are written upwards. */
static bool lay_out(map *m, double widest_tick) {
  const lgv_canvas *c = &m->canvas;
  m->top = m->plot->title ? 18 : 7;
  m->left = 3 + LGV_LINE_HEIGHT + widest_of(m, m->y_values, m->lines) + 5;
  m->right = c->width - LGV_LINE_HEIGHT - widest_tick - 8 - bar_width - bar_gap;
  double widest = widest_of(m, m->x_values, m->columns);
  bool upwards = widest > (m->right - m->left) / (double)m->columns - 3;
  m->bottom = c->height - 3 - LGV_LINE_HEIGHT - 3 - (upwards ? widest + 3 : LGV_LINE_HEIGHT);
  return upwards;
}

static lgv_status draw(map *m, lgv_error *err) {
  lgv_canvas *c = &m->canvas;
  lgv_axis_ticks ticks = {0};
  double widest_tick = 0;
  if (m->high > m->low) lgv__axis_ticks(m->low, m->high, 5, &ticks);
  lgv__font(c, LGV_FONT_TICK, false);
  for (size_t i = 0; i < ticks.count; i++)
    widest_tick = fmax(widest_tick, lgv__text_width(c, ticks.text[i]));
  lay_out(m, widest_tick);
  LGV_TRY(lgv__figure_grow(c, m->plot, m->bottom - m->top, err));
  bool upwards = lay_out(m, widest_tick);
  double width = (m->right - m->left) / (double)m->columns;
  double height = (m->bottom - m->top) / (double)m->lines;
  lgv__set_color(c, lgv__grey(0.92), 1);
  lgv__cairo.rectangle(c->cr, m->left, m->top, m->right - m->left, m->bottom - m->top);
  lgv__cairo.fill(c->cr);
  for (size_t r = 0; r < m->groups->row_count; r++) draw_cell(m, &m->cells[r], width, height);
  draw_labels(m, width, height, upwards);
  draw_scale(m, &ticks, m->right + bar_gap);
  if (!m->plot->title) return LGV_OK;
  lgv__font(c, LGV_FONT_TITLE, true);
  lgv__set_color(c, lgv__grey(0), 1);
  lgv__text(c, m->left, 3 + LGV_FONT_TITLE / 2, LGV_LEFT, m->plot->title);
  return LGV_OK;
}

static void write_hover(const map *m) {
  FILE *out = m->plot->hover;
  double width = (m->right - m->left) / (double)m->columns;
  double height = (m->bottom - m->top) / (double)m->lines;
  lgv__hover_open(out, "boxes", &m->canvas);
  fputs(",\"boxes\":[", out);
  for (size_t r = 0; r < m->groups->row_count; r++) {
    const cell *c = &m->cells[r];
    double x = m->left + width * (double)c->x, y = m->bottom - height * (double)(c->y + 1);
    char text[512], value[40];
    lgv__format_short(c->value, value, sizeof value);
    snprintf(text, sizeof text, "%s %s, %s %s: %s", m->x_key, m->x_values[c->x], m->y_key,
             m->y_values[c->y], value);
    lgv__hover_box(out, r > 0, x, y, x + width, y + height, text);
  }
  fputs("]}", out);
}

static void write_notes(const map *m, FILE *notes) {
  size_t most = 0;
  for (size_t r = 0; r < m->groups->row_count; r++) {
    const cell *c = &m->cells[r];
    char text[40];
    most = c->configs > most ? c->configs : most;
    lgv__format_short(c->value, text, sizeof text);
    if (is_best(m, c))
      fprintf(notes, "best (framed): %s = %s, %s = %s: %s\n", m->x_key, m->x_values[c->x], m->y_key,
              m->y_values[c->y], text);
  }
  if (most > 1)
    fprintf(notes, "up to %zu configurations a cell, taken together; --where KEY=VALUE chooses\n",
            most);
  fprintf(notes, "colors: %s of %s over runs\n", lgv_statistic_name(m->statistic), m->measure.name);
}

lgv_status lgv__plot_heat(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                          lgv_error *err) {
  map m = {.plot = plot, .groups = groups};
  lgv_status status = load(&m, err);
  if (status == LGV_OK) status = lgv__figure_open(&m.canvas, plot, err);
  if (status == LGV_OK) status = draw(&m, err);
  if (status == LGV_OK) {
    if (plot->hover) write_hover(&m);
    status = lgv__canvas_close(&m.canvas, err);
  }
  if (status == LGV_OK && notes) write_notes(&m, notes);
  lgv__free(m.x_values);
  lgv__free(m.cells);
  return status;
}
