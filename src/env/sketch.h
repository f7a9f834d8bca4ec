/* A picture in characters: a grid that environments draw themselves on. */
#ifndef LGV_ENV_SKETCH_H
#define LGV_ENV_SKETCH_H

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { SKETCH_MOST_WIDTH = 80, SKETCH_MOST_HEIGHT = 40 };

typedef struct sketch {
  int width, height;
  char cell[SKETCH_MOST_HEIGHT][SKETCH_MOST_WIDTH];
} sketch;

static inline void lgv__sketch_clear(sketch *s, int width, int height, char background) {
  s->width = width < SKETCH_MOST_WIDTH ? width : SKETCH_MOST_WIDTH;
  s->height = height < SKETCH_MOST_HEIGHT ? height : SKETCH_MOST_HEIGHT;
  memset(s->cell, background, sizeof s->cell);
}

/* x runs from 0 (left) to 1, y from 0 (bottom) to 1; points outside are not drawn. */
static inline void lgv__sketch_point(sketch *s, double x, double y, char c) {
  int column = (int)floor(x * s->width), row = (int)floor((1 - y) * s->height);
  if (x == 1) column = s->width - 1;
  if (y == 0) row = s->height - 1;
  if (column >= 0 && column < s->width && row >= 0 && row < s->height) s->cell[row][column] = c;
}

static inline void lgv__sketch_line(sketch *s, double x0, double y0, double x1, double y1, char c) {
  double across = fabs(x1 - x0) * s->width, up = fabs(y1 - y0) * s->height;
  int steps = (int)ceil(2 * fmax(across, up)) + 1;
  for (int i = 0; i <= steps; i++) {
    double t = (double)i / steps;
    lgv__sketch_point(s, x0 + t * (x1 - x0), y0 + t * (y1 - y0), c);
  }
}

/* Writes the lines without trailing blanks, and as many as fit into size. */
static inline void lgv__sketch_write(const sketch *s, char *text, size_t size) {
  size_t used = 0;
  for (int row = 0; row < s->height; row++) {
    int length = s->width;
    while (length > 0 && s->cell[row][length - 1] == ' ') length--;
    if (used + (size_t)length + 2 > size) break;
    memcpy(text + used, s->cell[row], (size_t)length);
    used += (size_t)length;
    text[used++] = '\n';
  }
  text[used] = '\0';
}

#endif
