/* Where the places of a layer in bf16 are, and how much of it is converted at once: arithmetic that
 * the memory, the tiles and the passes of blocks.h share. */
#ifndef LGV_NN_BLOCK_PLACES_H
#define LGV_NN_BLOCK_PLACES_H

#include "nn/blocks.h"

enum {
  HALF = 16,              /* rows or columns of a tile */
  MOST_NUMBERS = 1 << 20, /* of tiles that are made at once: they should stay in a cache */
  BAND_NUMBERS = 1 << 17, /* of tiles that should still be in the nearest large cache */
  FEW_SAMPLES = 8,        /* with fewer, the rows of a convolution's blocks are places */
  STEP_COST = BLOCK_SIDE * BLOCK_SIDE * BLOCK_SIDE,
  CONVERT_COST = 4 * LGV_TILE /* a pair of tiles takes as long as so many multiplications */
};

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int64_t clipped(int64_t left, int64_t width) {
  return left < 0 ? 0 : least(left, width);
}

static inline int64_t count_places(const block_view *v) { return v->rows * v->columns; }

/* The first number of a place in its sample. */
static inline int64_t place_at(const block_view *v, int64_t place) {
  return place / v->columns * v->row + place % v->columns * v->column;
}

/* The input place that output place p meets by tap t; corner: the first. */
static inline int64_t corner(const block_form *f, int64_t p) {
  return p / f->out.columns * f->row_stride * f->in.columns + p % f->out.columns * f->column_stride;
}

static inline int64_t tap_place(const block_form *f, int64_t t) {
  return t / f->taps_per_row * f->in.columns + t % f->taps_per_row;
}

/* The gradient of the weights takes the inputs of a group turned: for each number of a sample,
 * those of 32 samples. The tiles of a place begin at its first number; what follows its last one
 * makes rows of C that nobody reads. */
static inline int64_t turned_size(const block_view *v) {
  return (v->rows * v->row + BLOCK_SIDE) * BLOCK_SIDE;
}

static inline int64_t input_size(const block_form *f) {
  return most(block_view_size(&f->in), turned_size(&f->in));
}

/* Groups of samples that are converted at once for `rows` rows. */
static inline int64_t groups_of(const block_form *f, int64_t rows) {
  int64_t size = most(input_size(f), block_view_size(&f->out));
  return least(most(MOST_NUMBERS / size, 1), (rows + BLOCK_SIDE - 1) / BLOCK_SIDE);
}

/* If there are few samples, 32 output places of one are the rows of a block. The tiles of its steps
 * are followed by room for the zeros that to_a_tile writes after its rows. */
static inline int64_t patch_count(const block_form *f) {
  return block_count(count_places(&f->out));
}

static inline int64_t patch_size(const block_form *f) {
  return f->taps * block_count(f->in.width) * BLOCK_PAIR + LGV_TILE;
}

/* ---- Tiles of activations (block_fill.c) ---- */

typedef enum { AS_A, AS_B } tile_form; /* samples are the rows of both */

/* Tiles of A, at s->a, of the inputs of samples [first, first + rows), for rows of places [from,
 * to). */
void lgv__block_fill_inputs(const net *n, const block_form *f, block_input in, int64_t first,
                            int64_t rows, int64_t from, int64_t to, const block_scratch *s);
/* The same samples in the turned form. */
void lgv__block_turn_inputs(const net *n, const block_form *f, block_input in, int64_t first,
                            int64_t rows, const block_scratch *s);
/* Derivatives of the outputs of `rows` samples, at s->b. */
void lgv__block_fill_outputs(const block_form *f, tile_form form, const float *d_out, int64_t rows,
                             const block_scratch *s);

#endif
