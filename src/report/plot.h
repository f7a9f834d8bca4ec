/* Figures from run directories, at the size of a printed column. */
#ifndef LGV_REPORT_PLOT_H
#define LGV_REPORT_PLOT_H

#include "langevin.h"

#include <stdio.h>

typedef struct lgv_plot {
  const char *const *inputs; /* (count): DIR or LABEL=DIR */
  size_t count;
  const char *out;   /* .svg, .png or .pdf */
  const char *x, *y; /* columns; NULL chooses */
  const char *title; /* or NULL */
  size_t smooth;     /* rows in a moving mean; 1: none */
  double width;      /* millimetres */
  bool bars;         /* a bar each group instead of a curve; y is then a measure */
} lgv_plot;

/* Draws and writes the file; says on notes what lines and bands are. */
LGV_CHECK lgv_status lgv__plot(const lgv_plot *plot, FILE *notes, lgv_error *err);

#endif
