/* Pictures of the Atari pipeline (Mnih et al., 2015): the pixel-wise maximum of two grayscale
 * screens, and the resize by mean over areas.
 *
 * The resize is OpenCV's INTER_AREA for bytes, equal in every bit: a small pixel is the mean of the
 * rectangle it covers, where partly covered pixels have less weight. Equal bits require the same
 * order of operations in single precision, because flat parts of a picture have many exact halves,
 * which earlier roundings decide. The order is: along a row from left to right, then the rows from
 * top to bottom, each weighted as it is added; the result is rounded to nearest, halves to even.
 * (If both ratios of sizes are whole numbers, OpenCV sums integers instead; 84 x 84 is not such a
 * case.) */
#ifndef LGV_ENV_SCREEN_H
#define LGV_ENV_SCREEN_H

#include "langevin.h"

/* One direction of a resize from `source` to `size` pixels: pixel i is the sum over t < taps of
 * weight[t, i] times pixel from[t, i] of the source. Unused taps have weight 0 and come last. */
typedef struct screen_axis {
  int32_t source, size, taps;
  int32_t *from; /* (taps x size) */
  float *weight; /* (taps x size) */
} screen_axis;

typedef struct screen_resize {
  screen_axis x, y;
  float *row;   /* (x.source): a row of the source */
  float *small; /* (x.size): the same row, resized */
  float *sum;   /* (x.size): the sum of the rows of a small row */
} screen_resize;

/* Resizes height x width to size x size, which must not be larger. */
void lgv__screen_layout(screen_resize *r, int32_t height, int32_t width, int32_t size,
                        lgv_layout *layout);
void lgv__screen_open(screen_resize *r); /* computes the weights */
/* from: (height x width); to: (size x size). */
void lgv__screen_shrink(const screen_resize *r, const uint8_t *from, uint8_t *to);

/* to[i] = max(a[i], b[i]) */
void lgv__screen_max(const uint8_t *a, const uint8_t *b, size_t count, uint8_t *to);

#endif
