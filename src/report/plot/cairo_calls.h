/* cairo, loaded when the first figure is drawn: the command line starts without it, and a machine
 * without it lacks figures alone. The headers of cairo are needed to build, the library only to
 * draw. Files that draw include this header instead of cairo's. */
#ifndef LGV_REPORT_PLOT_CAIRO_CALLS_H
#define LGV_REPORT_PLOT_CAIRO_CALLS_H

#include "langevin.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

/* clang-format off */
#define LGV_CAIRO_CALLS(X) \
  X(arc) X(clip) X(close_path) X(create) X(destroy) X(fill) X(image_surface_create) X(line_to) \
  X(move_to) X(new_path) X(paint) X(pdf_surface_create_for_stream) X(rectangle) X(restore) \
  X(rotate) X(save) X(select_font_face) X(set_antialias) X(set_dash) X(set_font_size) \
  X(set_line_join) X(set_line_width) X(set_source_rgb) X(set_source_rgba) X(show_text) X(status) \
  X(status_to_string) X(stroke) X(surface_destroy) X(surface_finish) X(surface_set_device_scale) \
  X(surface_status) X(surface_write_to_png_stream) X(svg_surface_create_for_stream) \
  X(text_extents) X(translate)
/* clang-format on */

#define LGV_CAIRO_MEMBER(name) __typeof__(&cairo_##name) name;
typedef struct lgv_cairo {
  LGV_CAIRO_CALLS(LGV_CAIRO_MEMBER)
} lgv_cairo;
extern lgv_cairo lgv__cairo;

/* Loads the library, unless it is loaded; fails with the remedy if there is none. */
LGV_CHECK lgv_status lgv__cairo_load(lgv_error *err);

#endif
