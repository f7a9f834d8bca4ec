#include "report/plot/legend.h"

static const double swatch = 12, gap = 3, distance = 9;

void lgv__fill_block(lgv_canvas *c, size_t index, double x, double y, double width, double height) {
  lgv__set_color(c, lgv__color(index), 0.75);
  lgv__cairo.rectangle(c->cr, x, y, width, height);
  lgv__cairo.fill(c->cr);
  if (index < LGV_PALETTE) return;
  lgv__cairo.save(c->cr);
  lgv__cairo.rectangle(c->cr, x, y, width, height);
  lgv__cairo.clip(c->cr);
  lgv__set_color(c, lgv__grey(1), 0.8);
  lgv__cairo.set_line_width(c->cr, 0.7);
  for (double shift = -height; shift < width; shift += 3)
    lgv__line(c, x + shift, y + height, x + shift + height, y);
  lgv__cairo.restore(c->cr);
}

void lgv__dashes_begin(lgv_canvas *c, size_t index) {
  const double dashes[] = {3, 2};
  if (index >= LGV_PALETTE) lgv__cairo.set_dash(c->cr, dashes, 2, 0);
}

void lgv__dashes_end(lgv_canvas *c) { lgv__cairo.set_dash(c->cr, NULL, 0, 0); }

static void draw_entry(const lgv_legend *l, lgv_canvas *c, size_t i, const char *label, double x,
                       double y) {
  if (l->blocks) {
    lgv__fill_block(c, i, x, y - 3.5, swatch - 2, 7);
  } else {
    lgv__set_color(c, lgv__color(i), 1);
    lgv__cairo.set_line_width(c->cr, 1.4);
    lgv__dashes_begin(c, i);
    lgv__line(c, x, y, x + swatch, y);
    lgv__dashes_end(c);
  }
  lgv__set_color(c, lgv__grey(0), 1);
  lgv__text(c, x + swatch + gap, y, LGV_LEFT, label);
}

/* Goes through the entries, the first line at y; draws them where `draw`. */
static size_t walk(const lgv_legend *l, lgv_canvas *c, const lgv_frame *f, double y, bool draw) {
  double x = f->left;
  size_t lines = 1;
  lgv__font(c, LGV_FONT_TICK, false);
  for (size_t i = 0; i < l->count; i++) {
    char label[256];
    lgv__text_fit(c, l->labels[i], c->width - f->left - swatch - gap - 2, label, sizeof label);
    double width = swatch + gap + lgv__text_width(c, label) + distance;
    if (i > 0 && x + width - distance > c->width) {
      x = f->left;
      y += LGV_LINE_HEIGHT;
      lines++;
    }
    if (draw) draw_entry(l, c, i, label, x, y);
    x += width;
  }
  return lines;
}

size_t lgv__legend_lines(const lgv_legend *legend, lgv_canvas *canvas, const lgv_frame *frame) {
  return walk(legend, canvas, frame, 0, false);
}

void lgv__legend_draw(const lgv_legend *legend, lgv_canvas *canvas, const lgv_frame *frame) {
  size_t lines = lgv__legend_lines(legend, canvas, frame);
  walk(legend, canvas, frame, frame->top - 6 - (double)(lines - 1) * LGV_LINE_HEIGHT, true);
}
