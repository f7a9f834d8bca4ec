/* The frame of a figure: where the data go, the axes, the title, and room for labels. */
#ifndef LGV_REPORT_PLOT_FRAME_H
#define LGV_REPORT_PLOT_FRAME_H

#include "report/plot/axis.h"
#include "report/plot/canvas.h"

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
/* "Cumulative regret" for regret: what a column is called on an axis. */
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
