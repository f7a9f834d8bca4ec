/* A bar each group: a measure of its summaries, its interval, and every seed as a dot. */
#ifndef LGV_REPORT_PLOT_BARS_H
#define LGV_REPORT_PLOT_BARS_H

#include "report/plot.h"
#include "report/run_group.h"

LGV_CHECK lgv_status lgv__plot_bars(const lgv_plot *plot, const lgv_groups *groups, FILE *notes,
                                    lgv_error *err);

#endif
