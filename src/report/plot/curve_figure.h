/* A figure of lines with bands. */
#ifndef LGV_REPORT_PLOT_CURVE_FIGURE_H
#define LGV_REPORT_PLOT_CURVE_FIGURE_H

#include "report/data/curve.h"
#include "report/plot/plot.h"

typedef struct lgv_curve_figure {
  const lgv_plot *plot;    /* its file, title and width */
  const lgv_curve *curves; /* (count) */
  size_t count;
  double optimum; /* a dashed line, or NaN */
  char x_label[128], y_label[128];
  bool legend; /* rather than labels at the ends of lines */
} lgv_curve_figure;

LGV_CHECK lgv_status lgv__curve_figure_draw(const lgv_curve_figure *figure, lgv_error *err);

#endif
