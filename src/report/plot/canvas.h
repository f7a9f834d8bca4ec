/* A page to draw on with cairo: SVG, PNG (300 dpi) or PDF by the name of the file, in points. The
 * file appears whole when the canvas is closed. */
#ifndef LGV_REPORT_PLOT_CANVAS_H
#define LGV_REPORT_PLOT_CANVAS_H

#include "langevin.h"
#include "report/plot/cairo_calls.h"

#include <stdio.h>

typedef struct lgv_canvas {
  cairo_t *cr;
  cairo_surface_t *surface;
  const char *path;
  FILE *svg;            /* where the text of an SVG goes instead of path; NULL: nowhere */
  double width, height; /* points */
  char *bytes;          /* written by cairo so far */
  size_t length, capacity;
  bool failed;
} lgv_canvas;

typedef struct lgv_color {
  double red, green, blue;
} lgv_color;

typedef enum lgv_anchor { LGV_LEFT, LGV_MIDDLE, LGV_RIGHT } lgv_anchor;

/* path must outlive the canvas. */
LGV_CHECK lgv_status lgv__canvas_open(lgv_canvas *canvas, const char *path, double width,
                                      double height, lgv_error *err);
/* Discards the drawing. */
void lgv__canvas_discard(lgv_canvas *canvas);
/* Writes the file. */
LGV_CHECK lgv_status lgv__canvas_close(lgv_canvas *canvas, lgv_error *err);
/* Whether the name of a file ends in .svg, .png or .pdf. */
bool lgv__canvas_knows(const char *path);

/* Okabe and Ito's palette, which color-blind readers can tell apart; it repeats after 8. */
lgv_color lgv__color(size_t index);
lgv_color lgv__grey(double lightness);
lgv_color lgv__darker(lgv_color color); /* for text on white */
void lgv__set_color(lgv_canvas *canvas, lgv_color color, double opacity);
void lgv__font(lgv_canvas *canvas, double size, bool bold);
double lgv__text_width(lgv_canvas *canvas, const char *text);
/* y is the middle of the height of capitals and digits. */
void lgv__text(lgv_canvas *canvas, double x, double y, lgv_anchor anchor, const char *text);
/* The text, or as much of it as fits into width and an ellipsis. */
void lgv__text_fit(lgv_canvas *canvas, const char *text, double width, char *fitted, size_t size);
void lgv__text_upwards(lgv_canvas *canvas, double x, double y, const char *text);
void lgv__line(lgv_canvas *canvas, double x1, double y1, double x2, double y2);

/* ---- Hover ---- */

/* The contents of a figure and their places, as JSON for the script of a page: curves as points in
 * data coordinates with the frame, everything else as boxes with a text. Safe inside a script
 * element. */
enum { LGV_HOVER_POINTS = 300 }; /* of a curve, about */

/* {"kind":KIND,"size":[width,height] - the object stays open. */
void lgv__hover_open(FILE *out, const char *kind, const lgv_canvas *canvas);
void lgv__hover_text(FILE *out, const char *text);
/* [a,b,...] with null for values that are not finite; comma: writes one first. */
void lgv__hover_numbers(FILE *out, bool comma, const double *values, size_t count);
void lgv__hover_box(FILE *out, bool comma, double left, double top, double right, double bottom,
                    const char *text);

#endif
