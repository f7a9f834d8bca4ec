/* The frame of a figure: where the data go, the axes, the title, and room for labels. */
#ifndef LGV_REPORT_PLOT_FRAME_H
#define LGV_REPORT_PLOT_FRAME_H

#include "report/plot/canvas.h"

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

typedef struct lgv_frame {
  double left, right, top, bottom; /* of the data, in points */
  lgv_axis_ticks x, y;             /* x without ticks: categories */
} lgv_frame;

/* Sizes in points. */
#define LGV_FONT_TICK 7.0
#define LGV_FONT_LABEL 8.0
#define LGV_FONT_TITLE 8.5
#define LGV_LINE_HEIGHT 9.5

double lgv__points(double millimetres);
/* The name of a column on an axis: "Cumulative regret" for regret. */
void lgv__axis_name(const char *column, char *text, size_t size);
/* The range of y: a little room around the data, and 0 where that is near. */
void lgv__pad_range(double *low, double *high);
double lgv__frame_x(const lgv_frame *frame, double x);
double lgv__frame_y(const lgv_frame *frame, double y);
/* Sets left and bottom from the ticks and labels, given right and top; then the ticks. */
void lgv__frame_fit(lgv_frame *frame, lgv_canvas *canvas, double x_low, double x_high, double y_low,
                    double y_high, bool x_ticks);
void lgv__frame_draw(const lgv_frame *frame, lgv_canvas *canvas, const char *title,
                     const char *x_label, const char *y_label);

#endif
