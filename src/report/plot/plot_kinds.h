/* The kinds of figures that lgv__plot draws, each given the rows that were found. notes: or NULL.
 */
#ifndef LGV_REPORT_PLOT_PLOT_KINDS_H
#define LGV_REPORT_PLOT_PLOT_KINDS_H

#include "report/data/run_group.h"
#include "report/plot/canvas.h"
#include "report/plot/plot.h"

/* A line and a band a row. */
LGV_CHECK lgv_status lgv__plot_curves(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                      lgv_error *err);
/* A measure of finished runs, its interval, and every run as a dot. A bar a row; with `over`, a
 * group of bars for each value of a key, a color a row. */
LGV_CHECK lgv_status lgv__plot_bars(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                    lgv_error *err);
/* A cell a row: rows are labeled by the two keys of plot->heat. */
LGV_CHECK lgv_status lgv__plot_heat(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                    lgv_error *err);
/* The share of runs that do better than a threshold, over all thresholds; a line a row. */
LGV_CHECK lgv_status lgv__plot_profile(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                       lgv_error *err);

/* The page of a plot: of its width, and as high as suits that. */
LGV_CHECK lgv_status lgv__figure_open(lgv_canvas *canvas, const lgv_plot *plot, lgv_error *err);

/* Gives the page more height where legends and labels have left the data less than suits its width;
 * what was drawn is gone then. height: of the data. */
LGV_CHECK lgv_status lgv__figure_grow(lgv_canvas *canvas, const lgv_plot *plot, double height,
                                      lgv_error *err);

#endif
