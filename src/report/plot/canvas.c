#include "report/plot/canvas.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const double png_scale = 300.0 / 72; /* pixels per point */

typedef enum kind { SVG, PNG, PDF, UNKNOWN } kind;

static kind kind_of(const char *path) {
  const char *dot = strrchr(path, '.');
  if (dot && strcasecmp(dot, ".svg") == 0) return SVG;
  if (dot && strcasecmp(dot, ".png") == 0) return PNG;
  return dot && strcasecmp(dot, ".pdf") == 0 ? PDF : UNKNOWN;
}

bool lgv__canvas_knows(const char *path) { return kind_of(path) != UNKNOWN; }

static cairo_status_t collect(void *context, const unsigned char *data, unsigned length) {
  lgv_canvas *c = context;
  if (c->length + length > c->capacity) {
    size_t capacity = 2 * (c->length + length);
    char *grown = lgv__realloc(c->bytes, capacity);
    if (!grown) return CAIRO_STATUS_NO_MEMORY;
    c->bytes = grown;
    c->capacity = capacity;
  }
  memcpy(c->bytes + c->length, data, length);
  c->length += length;
  return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *make_surface(lgv_canvas *c) {
  switch (kind_of(c->path)) {
  case SVG: return lgv__cairo.svg_surface_create_for_stream(collect, c, c->width, c->height);
  case PDF: return lgv__cairo.pdf_surface_create_for_stream(collect, c, c->width, c->height);
  default: break;
  }
  cairo_surface_t *s = lgv__cairo.image_surface_create(
      CAIRO_FORMAT_RGB24, (int)(c->width * png_scale + 0.5), (int)(c->height * png_scale + 0.5));
  lgv__cairo.surface_set_device_scale(s, png_scale, png_scale);
  return s;
}

lgv_status lgv__canvas_open(lgv_canvas *c, const char *path, double width, double height,
                            lgv_error *err) {
  *c = (lgv_canvas){.path = path, .width = width, .height = height};
  if (!lgv__canvas_knows(path))
    return lgv_fail(err, LGV_ERR_USAGE, "%.300s: the name must end in .svg, .png or .pdf", path);
  LGV_TRY(lgv__cairo_load(err));
  c->surface = make_surface(c);
  c->cr = lgv__cairo.create(c->surface);
  if (lgv__cairo.status(c->cr) != CAIRO_STATUS_SUCCESS) {
    const char *what = lgv__cairo.status_to_string(lgv__cairo.status(c->cr));
    lgv__cairo.destroy(c->cr);
    lgv__cairo.surface_destroy(c->surface);
    return lgv_fail(err, LGV_ERR_MEMORY, "cannot draw %.300s: %s", path, what);
  }
  lgv__cairo.set_source_rgb(c->cr, 1, 1, 1);
  lgv__cairo.paint(c->cr);
  lgv__cairo.set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
  return LGV_OK;
}

void lgv__canvas_discard(lgv_canvas *c) {
  lgv__cairo.destroy(c->cr);
  lgv__cairo.surface_destroy(c->surface); /* may still write into bytes */
  lgv__free(c->bytes);
  *c = (lgv_canvas){0};
}

static lgv_status save(const lgv_canvas *c, lgv_error *err) {
  if (!c->svg) return lgv__write_path(c->path, c->bytes, c->length, err);
  if (fwrite(c->bytes, 1, c->length, c->svg) == c->length) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO, "cannot write a figure");
}

lgv_status lgv__canvas_close(lgv_canvas *c, lgv_error *err) {
  cairo_status_t drawn = lgv__cairo.status(c->cr);
  if (drawn == CAIRO_STATUS_SUCCESS && kind_of(c->path) == PNG)
    drawn = lgv__cairo.surface_write_to_png_stream(c->surface, collect, c);
  lgv__cairo.destroy(c->cr);
  lgv__cairo.surface_finish(c->surface);
  if (drawn == CAIRO_STATUS_SUCCESS) drawn = lgv__cairo.surface_status(c->surface);
  lgv__cairo.surface_destroy(c->surface);
  lgv_status status = drawn == CAIRO_STATUS_SUCCESS
                          ? save(c, err)
                          : lgv_fail(err, LGV_ERR_MEMORY, "cannot draw %.300s: %s", c->path,
                                     lgv__cairo.status_to_string(drawn));
  lgv__free(c->bytes);
  *c = (lgv_canvas){0};
  return status;
}

/* ---- Drawing ---- */

lgv_color lgv__color(size_t index) {
  static const unsigned palette[] = {0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7,
                                     0xE69F00, 0x56B4E9, 0x000000, 0xF0E442};
  unsigned rgb = palette[index % (sizeof palette / sizeof *palette)];
  return (lgv_color){(rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0};
}

lgv_color lgv__grey(double lightness) { return (lgv_color){lightness, lightness, lightness}; }

lgv_color lgv__darker(lgv_color c) { return (lgv_color){0.8 * c.red, 0.8 * c.green, 0.8 * c.blue}; }

void lgv__set_color(lgv_canvas *c, lgv_color color, double opacity) {
  lgv__cairo.set_source_rgba(c->cr, color.red, color.green, color.blue, opacity);
}

void lgv__font(lgv_canvas *c, double size, bool bold) {
  lgv__cairo.select_font_face(c->cr, "Helvetica", CAIRO_FONT_SLANT_NORMAL,
                              bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  lgv__cairo.set_font_size(c->cr, size);
}

double lgv__text_width(lgv_canvas *c, const char *text) {
  cairo_text_extents_t e;
  lgv__cairo.text_extents(c->cr, text, &e);
  return e.x_advance;
}

void lgv__text(lgv_canvas *c, double x, double y, lgv_anchor anchor, const char *text) {
  cairo_text_extents_t digit;
  lgv__cairo.text_extents(c->cr, "0", &digit);
  double width = lgv__text_width(c, text);
  double shift = anchor == LGV_LEFT ? 0 : anchor == LGV_MIDDLE ? width / 2 : width;
  lgv__cairo.move_to(c->cr, x - shift, y + digit.height / 2);
  lgv__cairo.show_text(c->cr, text);
  lgv__cairo.new_path(
      c->cr); /* show_text leaves a current point, where the next line would begin */
}

void lgv__text_fit(lgv_canvas *c, const char *text, double width, char *fitted, size_t size) {
  size_t length = strlen(text);
  snprintf(fitted, size, "%s", text);
  while (length > 1 && lgv__text_width(c, fitted) > width) {
    while (length > 1 && (text[--length] & 0xC0) == 0x80) continue; /* whole characters */
    snprintf(fitted, size, "%.*s\xe2\x80\xa6", (int)length, text);
  }
}

void lgv__text_upwards(lgv_canvas *c, double x, double y, const char *text) {
  lgv__cairo.save(c->cr);
  lgv__cairo.translate(c->cr, x, y);
  lgv__cairo.rotate(c->cr, -1.5707963267948966);
  lgv__text(c, 0, 0, LGV_MIDDLE, text);
  lgv__cairo.restore(c->cr);
}

void lgv__line(lgv_canvas *c, double x1, double y1, double x2, double y2) {
  lgv__cairo.move_to(c->cr, x1, y1);
  lgv__cairo.line_to(c->cr, x2, y2);
  lgv__cairo.stroke(c->cr);
}

/* ---- Hover ---- */

void lgv__hover_open(FILE *out, const char *kind, const lgv_canvas *canvas) {
  fprintf(out, "{\"kind\":\"%s\",\"size\":[%g,%g]", kind, canvas->width, canvas->height);
}

/* < is escaped, so that no text can end the script element. */
void lgv__hover_text(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == '"' || c == '\\' || c == '<')
      fprintf(out, "\\u%04x", c);
    else
      fputc(c, out);
  }
  fputc('"', out);
}

void lgv__hover_numbers(FILE *out, bool comma, const double *values, size_t count) {
  fputs(comma ? ",[" : "[", out);
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fputc(',', out);
    if (isfinite(values[i]))
      fprintf(out, "%.6g", values[i]);
    else
      fputs("null", out);
  }
  fputc(']', out);
}

void lgv__hover_box(FILE *out, bool comma, double left, double top, double right, double bottom,
                    const char *text) {
  fprintf(out, "%s[%.1f,%.1f,%.1f,%.1f,", comma ? "," : "", left, top, right, bottom);
  lgv__hover_text(out, text);
  fputc(']', out);
}
