/* The figures that a sweep file describes, drawn from the sweep's records:
 *
 *   figures:
 *     - name: regret             the file: FIGURES/regret.svg and .png
 *       kind: curves             curves (default) or bars
 *       y: regret                a column of metrics.csv, for bars a measure
 *       x: episode               curves: step or episode
 *       over: env.n              bars: a group of bars for each of its values
 *       each: env.game           a figure for each of its values
 *       labels: [DQN, "LMC*"]    patterns of labels; left out: every case
 *       statistic: mean          mean, median or iqm
 *       band: interval           interval (95 % bootstrap) or se
 *       smooth: 10               moving mean of so many rows
 *       title: N-Chain
 *
 * Configurations of equal label are one curve, over all their seeds. */
#ifndef LGV_REPORT_PLOT_FIGURE_FILE_H
#define LGV_REPORT_PLOT_FIGURE_FILE_H

#include "langevin.h"

#include <stdio.h>

typedef struct lgv_figure_job {
  const char *file; /* the sweep's YAML file */
  const lgv_sweep *sweep;
  const lgv_summary *summaries;             /* (configs x seeds); NULL only checks the file */
  const char (*names)[LGV_SWEEP_NAME_SIZE]; /* (configs): directories of the runs */
  const char *directory;                    /* of the sweep; figures go into its `figures` */
  FILE *out;                                /* reports the names of finished figures */
} lgv_figure_job;

/* Draws every figure of the file; configurations without a finished run are left out. */
LGV_CHECK lgv_status lgv__figures_draw(const lgv_figure_job *job, lgv_error *err);

#endif
