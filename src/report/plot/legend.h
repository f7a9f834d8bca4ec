/* A legend above the data: a swatch and a label each, in as many lines as they need. */
#ifndef LGV_REPORT_PLOT_LEGEND_H
#define LGV_REPORT_PLOT_LEGEND_H

#include "report/plot/frame.h"

enum { LGV_PALETTE = 8 }; /* colors; from then on they repeat, dashed or striped */

typedef struct lgv_legend {
  const char *const *labels; /* (count) */
  size_t count;
  bool blocks; /* of bars; else lines */
} lgv_legend;

/* The lines it needs between frame->left and the right edge. */
size_t lgv__legend_lines(const lgv_legend *legend, lgv_canvas *canvas, const lgv_frame *frame);
/* Above frame->top. */
void lgv__legend_draw(const lgv_legend *legend, lgv_canvas *canvas, const lgv_frame *frame);
/* A filled rectangle in the color of entry `index`. */
void lgv__fill_block(lgv_canvas *canvas, size_t index, double x, double y, double width,
                     double height);
/* Starts the dashes of line `index`, if it has any; lgv__dashes_end ends them. */
void lgv__dashes_begin(lgv_canvas *canvas, size_t index);
void lgv__dashes_end(lgv_canvas *canvas);

#endif
