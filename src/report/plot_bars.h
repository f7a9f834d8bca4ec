/* Bars: a measure of finished runs, its interval, and every run as a dot. A bar a row; with `over`,
 * a group of bars for each value of a key, a colour a row. */
#ifndef LGV_REPORT_PLOT_BARS_H
#define LGV_REPORT_PLOT_BARS_H

#include "report/canvas.h"
#include "report/plot.h"
#include "report/run_group.h"

/* notes: or NULL. */
LGV_CHECK lgv_status lgv__plot_bars(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                    lgv_error *err);
/* The page of a plot: of its width, and as high as suits that. */
LGV_CHECK lgv_status lgv__figure_open(lgv_canvas *canvas, const lgv_plot *plot, lgv_error *err);

#endif
