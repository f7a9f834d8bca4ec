/* Products of hidden layers in bf16, as products of blocks (lgv_block_product).
 *
 * Activations, derivatives and parameters stay floats; a pass converts what it multiplies to tiles
 * of bf16, split into a high and a low part if the network's precision is NET_BF16X3. Samples are
 * taken in groups of 32. With taps t of the layer, input places q(p, t) that an output place p
 * meets, and channels in blocks of 32,
 *
 *   forward         Y(p) = sum over t of X(q(p, t)) W(t)     + b      rows: samples
 *   weights         dW(t) = sum over groups and p of X(q(p, t))^T D(p)
 *   inputs          dX(q) = sum over the (p, t) with q(p, t) = q, of D(p) W(t)^T
 *
 * A dense layer has one place and one tap. A place of a convolution is a pixel, and its taps are
 * kernel x kernel; or, where that makes fewer steps (few channels), a strip of `kernel` pixels of a
 * row, with `kernel` taps. The weights of a tap are contiguous rows in both cases. Inputs are
 * gathered by pixels in any case, so every number of dX is one sum.
 *
 * Invariant: the bits of a result depend neither on the batch, nor on threads, nor on the kernel
 * set. The steps of a forward sum run over taps, then channels; those of a gradient of weights over
 * groups of 32 samples, then output places; those of a gradient of inputs over the pixel's taps,
 * then outputs. Places run row by row, taps likewise. */
#ifndef LGV_NN_BLOCKS_H
#define LGV_NN_BLOCKS_H

#include "math/kernels.h"
#include "nn/net.h"

enum {
  BLOCK_SIDE = 32,           /* of a block of C; samples in a group */
  BLOCK_PAIR = 2 * LGV_TILE, /* numbers in the two tiles of a step */
};

/* Places of a sample's numbers: rows x columns of them, each with `width` contiguous numbers. */
typedef struct block_view {
  int64_t rows, columns;
  int64_t row, column; /* numbers from one row, and from one column, to the next */
  int64_t width;
} block_view;

static inline int64_t block_count(int64_t width) { return (width + BLOCK_SIDE - 1) / BLOCK_SIDE; }

/* The numbers of bf16 in the tiles of a group. */
static inline int64_t block_view_size(const block_view *v) {
  return v->rows * v->columns * block_count(v->width) * BLOCK_PAIR;
}

typedef struct block_form {
  block_view in, out, pixels;        /* pixels: the inputs as their gradient is gathered */
  int64_t taps, taps_per_row;        /* forward and of the weights */
  int64_t row_stride, column_stride; /* in input places, between neighboring output places */
  int64_t pixel_taps;
} block_form;

/* Whether the products of layer l are block products. */
bool lgv__net_uses_blocks(const net *n, int32_t l);
block_form lgv__block_form(const net_layer *layer);
bool lgv__block_fits(const net_layer *layer); /* offsets into its tiles stay within 32 bits */

/* ---- Tiles of the weights (net_tiles.c) ---- */

/* Prepares the tiles for a pass with these parameters. */
void lgv__net_tiles_use(net_tiles *tiles, const float *params);
typedef enum { TILES_FORWARD, TILES_BACKWARD } net_tiles_side;
/* The tiles of a layer, which are made if they do not exist yet; *lo: the distance to the low
 * parts, 0 if there are none. Forward: [output block][tap][input block][2], (32 inputs x 16
 * outputs) each. Backward: [channel block][pixel tap][output block][2], (32 outputs x 16 inputs).
 */
const lgv_bf16 *lgv__net_tiles_of(net_tiles *tiles, const net *n, const float *params, int32_t l,
                                  net_tiles_side side, int64_t *lo);

/* ---- Passes (layer_block.c) and their memory (block_memory.c) ---- */

/* The floats that enter a layer: rows `row` numbers apart, or observations that are converted row
 * by row of the picture. */
typedef struct block_input {
  const float *x;
  int64_t row;
  const net_input *convert; /* NULL: x */
} block_input;

void lgv__block_layout(net_tape *tape, const net *n, const char *name, bool with_backward,
                       lgv_layout *layout);
void lgv__block_forward(const net *n, const float *params, int32_t l, block_input in, int64_t rows,
                        float *out, net_tape *tape);
void lgv__block_weights(const net *n, int32_t l, block_input in, int64_t rows, const float *d_out,
                        net_tape *tape, float *grad);
/* gate: laid out as d_in, `in_row` numbers per sample; or NULL. */
void lgv__block_inputs(const net *n, const float *params, int32_t l, const float *gate,
                       int64_t in_row, int64_t rows, const float *d_out, net_tape *tape,
                       float *d_in);

#endif
