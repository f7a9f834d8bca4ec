/* An axis: a range, round ticks, and short labels. */
#ifndef LGV_REPORT_PLOT_AXIS_H
#define LGV_REPORT_PLOT_AXIS_H

#include <stddef.h>

enum { LGV_MOST_TICKS = 16, LGV_TICK_SIZE = 24 };

typedef struct lgv_axis_ticks {
  double low, high; /* of the axis */
  size_t count;
  double at[LGV_MOST_TICKS];
  char text[LGV_MOST_TICKS][LGV_TICK_SIZE]; /* 0, 2.5k, 5k, ... */
} lgv_axis_ticks;

/* Ticks at multiples of 1, 2 or 5 times a power of ten, about `wanted` of them, inside the range.
 */
void lgv__axis_ticks(double low, double high, size_t wanted, lgv_axis_ticks *axis);

#endif
