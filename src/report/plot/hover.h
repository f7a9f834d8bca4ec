/* What is where in a figure, as JSON for the script of a page: curves as points in data coordinates
 * with the frame, everything else as boxes with a text. Safe inside a script element. */
#ifndef LGV_REPORT_PLOT_HOVER_H
#define LGV_REPORT_PLOT_HOVER_H

#include "report/plot/canvas.h"

enum { LGV_HOVER_POINTS = 300 }; /* of a curve, about */

/* {"kind":KIND,"size":[width,height] - the object stays open. */
void lgv__hover_open(FILE *out, const char *kind, const lgv_canvas *canvas);
void lgv__hover_text(FILE *out, const char *text);
/* [a,b,...] with null for what is not finite; comma: in front. */
void lgv__hover_numbers(FILE *out, bool comma, const double *values, size_t count);
void lgv__hover_box(FILE *out, bool comma, double left, double top, double right, double bottom,
                    const char *text);

#endif
