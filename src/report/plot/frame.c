#include "report/plot/frame.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Ticks ---- */

/* The step among 1, 2, 5 times a power of ten that is nearest to span / wanted, as a ratio. */
static double choose_step(double span, size_t wanted) {
  double raw = span / (double)wanted, power = pow(10, floor(log10(raw)));
  const double factors[] = {1, 2, 5, 10};
  double best = power;
  for (size_t i = 1; i < sizeof factors / sizeof *factors; i++)
    if (fabs(log(factors[i] * power / raw)) < fabs(log(best / raw))) best = factors[i] * power;
  return best;
}

typedef struct unit {
  double scale;
  const char *suffix;
} unit;

/* Thousands and millions are shortened where that leaves at most one decimal. */
static unit choose_unit(double largest, double step) {
  if (largest >= 1e6 && step >= 1e5) return (unit){1e6, "M"};
  if (largest >= 1e4 || (largest >= 2e3 && step >= 500)) return (unit){1e3, "k"};
  return (unit){1, ""};
}

static void format_tick(double value, double step, unit u, char *text) {
  double scaled = value / u.scale, scaled_step = step / u.scale;
  int decimals = (int)fmax(0, -floor(log10(scaled_step) + 1e-9));
  char number[LGV_TICK_SIZE];
  if (value == 0)
    snprintf(number, sizeof number, "0");
  else if (decimals > 4)
    snprintf(number, sizeof number, "%.3g", fabs(scaled));
  else
    snprintf(number, sizeof number, "%.*f", decimals, fabs(scaled));
  /* a real minus sign, as long as a plus */
  snprintf(text, LGV_TICK_SIZE, "%s%.16s%s", value < 0 ? "\xe2\x88\x92" : "", number,
           value == 0 ? "" : u.suffix);
}

void lgv__axis_ticks(double low, double high, size_t wanted, lgv_axis_ticks *axis) {
  *axis = (lgv_axis_ticks){.low = low, .high = high};
  double step = choose_step(high - low, wanted < 1 ? 1 : wanted);
  double slack = 1e-9 * (high - low);
  unit u = choose_unit(fmax(fabs(low), fabs(high)), step);
  for (double k = ceil((low - slack) / step); k * step <= high + slack; k++) {
    if (axis->count == LGV_MOST_TICKS) return;
    axis->at[axis->count] = k * step;
    format_tick(k * step, step, u, axis->text[axis->count++]);
  }
}

/* ---- The frame ---- */

static const double x_spacing = 45, y_spacing = 26, tick_length = 2.5, margin = 3;

double lgv__points(double millimetres) { return millimetres * 72 / 25.4; }

void lgv__axis_name(const char *column, char *text, size_t size) {
  static const char *const names[][2] = {
      {"step", "Environment steps"},
      {"episode", "Episodes"},
      {"return", "Return"},
      {"eval_return", "Evaluation return"},
      {"value", "Value of the policy"},
      {"regret", "Cumulative regret"},
  };
  snprintf(text, size, "%s", column);
  for (char *c = text; *c; c++)
    if (*c == '_') *c = ' ';
  text[0] = (char)toupper((unsigned char)text[0]);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(column, names[i][0]) == 0) snprintf(text, size, "%s", names[i][1]);
}

void lgv__pad_range(double *low, double *high) {
  if (*low >= 0 && *low < 0.5 * *high) *low = 0;
  if (*high <= 0 && *high > 0.5 * *low) *high = 0;
  double room = 0.04 * (*high - *low);
  if (room == 0) room = *high != 0 ? 0.1 * fabs(*high) : 1;
  if (*low != 0) *low -= room;
  if (*high != 0 || *low == 0) *high += room;
}

double lgv__frame_x(const lgv_frame *f, double x) {
  return f->left + (f->right - f->left) * (x - f->x.low) / (f->x.high - f->x.low);
}

double lgv__frame_y(const lgv_frame *f, double y) {
  return f->bottom - (f->bottom - f->top) * (y - f->y.low) / (f->y.high - f->y.low);
}

void lgv__frame_fit(lgv_frame *f, lgv_canvas *c, double x_low, double x_high, double y_low,
                    double y_high, bool x_ticks) {
  f->bottom = c->height - margin - LGV_LINE_HEIGHT * (x_ticks ? 2 : 1) - 3;
  lgv__axis_ticks(y_low, y_high, (size_t)fmax(2, (f->bottom - f->top) / y_spacing), &f->y);
  double widest = 0;
  lgv__font(c, LGV_FONT_TICK, false);
  for (size_t i = 0; i < f->y.count; i++) widest = fmax(widest, lgv__text_width(c, f->y.text[i]));
  f->left = margin + LGV_LINE_HEIGHT + widest + tick_length + 4;
  f->x = (lgv_axis_ticks){.low = x_low, .high = x_high};
  if (x_ticks)
    lgv__axis_ticks(x_low, x_high, (size_t)fmax(2, (f->right - f->left) / x_spacing), &f->x);
}

static void draw_ticks(const lgv_frame *f, lgv_canvas *c) {
  lgv__font(c, LGV_FONT_TICK, false);
  for (size_t i = 0; i < f->y.count; i++) {
    double y = lgv__frame_y(f, f->y.at[i]);
    lgv__set_color(c, lgv__grey(0.9), 1);
    lgv__cairo.set_line_width(c->cr, 0.5);
    lgv__line(c, f->left, y, f->right, y);
    lgv__set_color(c, lgv__grey(0.2), 1);
    lgv__line(c, f->left - tick_length, y, f->left, y);
    lgv__text(c, f->left - tick_length - 2, y, LGV_RIGHT, f->y.text[i]);
  }
  for (size_t i = 0; i < f->x.count; i++) {
    double x = lgv__frame_x(f, f->x.at[i]);
    lgv__set_color(c, lgv__grey(0.2), 1);
    lgv__line(c, x, f->bottom, x, f->bottom + tick_length);
    double half = lgv__text_width(c, f->x.text[i]) / 2;
    bool outside = x + half > c->width - 1;
    lgv__text(c, outside ? c->width - 1 : x, f->bottom + tick_length + 6,
              outside ? LGV_RIGHT : LGV_MIDDLE, f->x.text[i]);
  }
}

void lgv__frame_draw(const lgv_frame *f, lgv_canvas *c, const char *title, const char *x_label,
                     const char *y_label) {
  draw_ticks(f, c);
  lgv__set_color(c, lgv__grey(0.2), 1);
  lgv__cairo.set_line_width(c->cr, 0.6);
  lgv__line(c, f->left, f->top, f->left, f->bottom);
  lgv__line(c, f->left, f->bottom, f->right, f->bottom);
  lgv__set_color(c, lgv__grey(0), 1);
  lgv__font(c, LGV_FONT_LABEL, false);
  if (x_label)
    lgv__text(c, (f->left + f->right) / 2, c->height - margin - LGV_FONT_LABEL / 2, LGV_MIDDLE,
              x_label);
  lgv__text_upwards(c, margin + LGV_FONT_LABEL / 2, (f->top + f->bottom) / 2, y_label);
  if (!title) return;
  lgv__font(c, LGV_FONT_TITLE, true);
  lgv__text(c, f->left, margin + LGV_FONT_TITLE / 2, LGV_LEFT, title);
}
