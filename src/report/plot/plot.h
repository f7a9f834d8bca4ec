/* Figures from run directories, at the size of a printed column. */
#ifndef LGV_REPORT_PLOT_PLOT_H
#define LGV_REPORT_PLOT_PLOT_H

#include "langevin.h"

#include <stdio.h>

typedef enum lgv_plot_kind {
  LGV_PLOT_CURVES, /* a statistic over seeds along the run, with a band */
  LGV_PLOT_BARS,   /* a measure at the end; with `over`, a group of bars for each of its values */
  LGV_PLOT_HEAT,   /* a measure by the values of two keys */
  LGV_PLOT_PROFILE /* the share of runs beyond each threshold of a measure */
} lgv_plot_kind;

/* Members that are not set (0, NULL) choose the default. */
typedef struct lgv_plot {
  const char *const *inputs; /* (count): DIR or LABEL=DIR, see lgv_selection; directories of one
                                label are one curve, or one color of bars */
  size_t count;
  const char *where, *label; /* see lgv_selection */
  const char *out;           /* .svg, .png or .pdf */
  FILE *svg, *hover;         /* for a page, instead of out: an SVG, and its contents as JSON
                                (see canvas.h) */
  lgv_plot_kind kind;
  const char *x, *y;     /* columns of metrics.csv; other kinds than curves: y is a measure */
  const char *over;      /* bars: the key whose values are along the axis, such as env.n */
  const char *heat;      /* heat maps: "KEY,KEY", along and up */
  const char *statistic; /* mean (default), median, iqm, task-median */
  const char *band;      /* interval (default: 95 % bootstrap) or se */
  const char *title;
  double optimal; /* where regret was not recorded: the return to compare with; 0: none */
  size_t smooth;  /* rows in a moving mean; 0 or 1: none */
  double width;   /* millimetres; 0: 89, one column */
} lgv_plot;

/* Draws and writes the file; explains lines and bands on notes unless that is NULL. */
LGV_CHECK lgv_status lgv__plot(const lgv_plot *plot, FILE *notes, lgv_error *err);
/* Draws the values of a trained agent (see plot_values.c). path: a run directory or a checkpoint.
 * out: .svg, .png or .pdf. */
LGV_CHECK lgv_status lgv__plot_values(const char *path, const char *out, lgv_error *err);

#endif
