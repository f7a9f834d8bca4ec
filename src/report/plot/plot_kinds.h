/* The kinds of figures that lgv__plot draws, each given the rows that were found. notes: or NULL.
 */
#ifndef LGV_REPORT_PLOT_PLOT_KINDS_H
#define LGV_REPORT_PLOT_PLOT_KINDS_H

#include "report/data/run_group.h"
#include "report/plot/canvas.h"
#include "report/plot/plot.h"

/* One line and band per row. */
LGV_CHECK lgv_status lgv__plot_curves(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                      lgv_error *err);
/* A measure of finished runs, its interval, and every run as a dot. One bar per row; with
 * `over`, one group of bars per value of a key and one color per row. */
LGV_CHECK lgv_status lgv__plot_bars(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                    lgv_error *err);
/* One cell per row: rows are labeled by the two keys of plot->heat. */
LGV_CHECK lgv_status lgv__plot_heat(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                    lgv_error *err);
/* The share of runs that do better than a threshold, over all thresholds; one line per row. */
LGV_CHECK lgv_status lgv__plot_profile(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                       lgv_error *err);

/* Opens a page of the width of the plot and a fitting height. */
LGV_CHECK lgv_status lgv__figure_open(lgv_canvas *canvas, const lgv_plot *plot, lgv_error *err);

/* Makes the page higher if legends and labels have left too little height for the data; the drawing
 * is then lost. height: of the data. */
LGV_CHECK lgv_status lgv__figure_grow(lgv_canvas *canvas, const lgv_plot *plot, double height,
                                      lgv_error *err);

#endif
