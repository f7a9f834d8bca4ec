/* A picture in characters: a grid that environments draw themselves on. */
#ifndef LGV_ENV_SKETCH_H
#define LGV_ENV_SKETCH_H

#include <stddef.h>

enum { SKETCH_MOST_WIDTH = 80, SKETCH_MOST_HEIGHT = 40 };

typedef struct sketch {
  int width, height;
  char cell[SKETCH_MOST_HEIGHT][SKETCH_MOST_WIDTH];
} sketch;

void lgv__sketch_clear(sketch *s, int width, int height, char background);
/* x from 0 (left) to 1, y from 0 (bottom) to 1; what lies outside is left out. */
void lgv__sketch_point(sketch *s, double x, double y, char c);
void lgv__sketch_line(sketch *s, double x0, double y0, double x1, double y1, char c);
/* Its lines, blanks at their ends left out; cut to size. */
void lgv__sketch_write(const sketch *s, char *text, size_t size);

#endif
