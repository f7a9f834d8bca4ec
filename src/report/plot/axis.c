#include "report/plot/axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
