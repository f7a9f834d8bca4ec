#include "report/plot/hover.h"

#include <math.h>

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
