/* Activations and derivatives as tiles of bf16. Pictures of bytes are converted row by row, so that
 * the floats are still in the cache. */
#include "math/matmul_threads.h"
#include "nn/block_places.h"
#include "nn/layers.h"

#include <string.h>

typedef struct filling {
  const lgv_kernel_set *kernels;
  tile_form form;
  const block_view *view;
  const float *x;
  int64_t row, rows;   /* samples: numbers apart, and how many */
  int64_t first, last; /* rows of places to fill */
  lgv_bf16 *to;
  int64_t lo;
} filling;

/* The pair of tiles of `count` samples and up to 32 numbers of a place. */
static void make_pair(const filling *v, int64_t count, int64_t cols, const float *x, lgv_bf16 *to) {
  for (int64_t t = 0; t < 2; t++, to += LGV_TILE) {
    lgv_bf16 *lo = v->lo ? to + v->lo : NULL;
    int64_t own = clipped(cols - t * HALF, HALF);
    if (v->form == AS_B)
      v->kernels->to_b_tile(own ? count : 0, own, x + (own ? t * HALF : 0), v->row, to, lo);
    else if (count > t * HALF) /* rows that are not wanted may hold anything */
      v->kernels->to_a_tile(least(count - t * HALF, HALF), cols, x + t * HALF * v->row, v->row, to,
                            lo);
  }
}

/* A row of places. */
static void make_row(const filling *v, int64_t count, const float *x, lgv_bf16 *to) {
  const block_view *view = v->view;
  for (int64_t q = 0; q < view->columns; q++, x += view->column)
    for (int64_t at = 0; at < view->width; at += BLOCK_SIDE, to += BLOCK_PAIR)
      make_pair(v, count, least(view->width - at, BLOCK_SIDE), x + at, to);
}

/* Rows of places i = (group, row). */
static void make_rows(const void *context, int64_t first, int64_t last) {
  const filling *v = context;
  int64_t size = block_view_size(v->view), rows = v->last - v->first;
  for (int64_t i = first; i < last; i++) {
    int64_t g = i / rows, y = v->first + i % rows, sample = g * BLOCK_SIDE;
    make_row(v, least(v->rows - sample, BLOCK_SIDE), v->x + sample * v->row + y * v->view->row,
             v->to + g * size + y * (size / v->view->rows));
  }
}

static void fill(const filling *v) {
  int64_t groups = (v->rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
  int64_t pairs = block_view_size(v->view) / v->view->rows / BLOCK_PAIR;
  lgv__matmul_threads_share(groups * (v->last - v->first), pairs * CONVERT_COST, make_rows, v);
}

static void copy_numbers(int64_t count, const lgv_bf16 *from, lgv_bf16 *to) {
  if (count >= BLOCK_SIDE) {
    memcpy(to, from, BLOCK_SIDE * sizeof *to);
    return;
  }
  memset(to, 0, BLOCK_SIDE * sizeof *to);
  memcpy(to, from, (size_t)count * sizeof *to);
}

/* A row of places of A whose numbers are already in bf16, `row` apart: strips overlap. */
static void copy_row(const filling *v, int64_t count, const lgv_bf16 *x, int64_t x_lo,
                     lgv_bf16 *to) {
  const block_view *view = v->view;
  for (int64_t q = 0; q < view->columns; q++, x += view->column)
    for (int64_t at = 0; at < view->width; at += BLOCK_SIDE, to += BLOCK_PAIR)
      for (int64_t s = 0; s < count; s++) {
        const lgv_bf16 *from = x + s * v->row + at;
        lgv_bf16 *row = to + s * BLOCK_SIDE; /* the second tile follows the first */
        copy_numbers(view->width - at, from, row);
        if (v->lo) copy_numbers(view->width - at, from + x_lo, row + v->lo);
      }
}

/* 16 numbers of up to 32 samples. */
static void turn_tile(const filling *v, int64_t count, int64_t cols, const float *x, lgv_bf16 *to) {
  _Alignas(64) lgv_bf16 hi[LGV_TILE], lo[LGV_TILE];
  v->kernels->to_b_tile(count, cols, x, v->row, hi, v->lo ? lo : NULL);
  v->kernels->transpose_tile(hi, to);
  if (v->lo) v->kernels->transpose_tile(lo, to + v->lo);
}

/* Tiles i = (group, 16 numbers) of the turned form. */
static void turn_tiles(const void *context, int64_t first, int64_t last) {
  const filling *v = context;
  int64_t length = v->view->rows * v->view->row, tiles = (length + HALF - 1) / HALF;
  for (int64_t i = first; i < last; i++) {
    int64_t sample = i / tiles * BLOCK_SIDE, at = i % tiles * HALF;
    turn_tile(v, least(v->rows - sample, BLOCK_SIDE), least(length - at, HALF),
              v->x + sample * v->row + at,
              v->to + i / tiles * turned_size(v->view) + at * BLOCK_SIDE);
  }
}

/* The turned form of a row of the picture. What follows it is overwritten by the next row. */
static void turn_row(const filling *v, int64_t count, const float *x, lgv_bf16 *to) {
  for (int64_t at = 0; at < v->row; at += HALF)
    turn_tile(v, count, least(v->row - at, HALF), x + at, to + at * BLOCK_SIDE);
}

/* Converts row y of the pictures of `count` samples; returns it, samples v->row numbers apart. */
static const float *convert_row(const filling *v, const net *n, const net_input *input,
                                int64_t sample, int64_t count, int64_t y, float *buffer) {
  for (int64_t s = 0; s < count; s++)
    lgv__net_convert_part(n, *input, sample + s, y * v->row, v->row, buffer + s * v->row);
  return buffer;
}

/* Tiles of A of observations, of which a row of the picture is converted at a time. */
static void fill_converted(const filling *v, const net *n, const net_input *input, int64_t first,
                           const block_scratch *scratch) {
  int64_t size = block_view_size(v->view), lo = v->lo ? BLOCK_SIDE * v->row : 0;
  bool overlap = v->view->column < v->view->width;
  for (int64_t i = 0; i < v->rows; i += BLOCK_SIDE)
    for (int64_t y = v->first; y < v->last; y++) {
      int64_t count = least(v->rows - i, BLOCK_SIDE);
      lgv_bf16 *to = v->to + i / BLOCK_SIDE * size + y * (size / v->view->rows);
      lgv_bf16 *half = scratch->row;
      const float *x = convert_row(v, n, input, first + i, count, y, scratch->input);
      if (overlap) v->kernels->to_bf16(count * v->row, x, half, lo ? half + lo : NULL);
      if (overlap)
        copy_row(v, count, half, lo, to);
      else
        make_row(v, count, x, to);
    }
}

static void turn_converted(const filling *v, const net *n, const net_input *input, int64_t first,
                           const block_scratch *scratch) {
  for (int64_t i = 0; i < v->rows; i += BLOCK_SIDE)
    for (int64_t y = 0; y < v->view->rows; y++) {
      int64_t count = least(v->rows - i, BLOCK_SIDE);
      lgv_bf16 *to = v->to + i / BLOCK_SIDE * turned_size(v->view) + y * v->row * BLOCK_SIDE;
      turn_row(v, count, convert_row(v, n, input, first + i, count, y, scratch->input), to);
    }
}

static filling input_filling(const block_form *f, block_input in, int64_t first, int64_t rows,
                             const block_scratch *s) {
  return (filling){.kernels = lgv__kernels(),
                   .form = AS_A,
                   .view = &f->in,
                   .x = in.convert ? NULL : in.x + first * in.row,
                   .row = in.convert ? f->in.row : in.row,
                   .rows = rows,
                   .to = s->a,
                   .lo = s->a_lo};
}

void lgv__block_fill_inputs(const net *n, const block_form *f, block_input in, int64_t first,
                            int64_t rows, int64_t from, int64_t to, const block_scratch *s) {
  filling v = input_filling(f, in, first, rows, s);
  v.first = from;
  v.last = to;
  if (in.convert)
    fill_converted(&v, n, in.convert, first, s);
  else
    fill(&v);
}

void lgv__block_turn_inputs(const net *n, const block_form *f, block_input in, int64_t first,
                            int64_t rows, const block_scratch *s) {
  filling v = input_filling(f, in, first, rows, s);
  int64_t groups = (rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
  if (in.convert)
    turn_converted(&v, n, in.convert, first, s);
  else
    lgv__matmul_threads_share(groups * ((f->in.rows * f->in.row + HALF - 1) / HALF), CONVERT_COST,
                              turn_tiles, &v);
}

void lgv__block_fill_outputs(const block_form *f, tile_form form, const float *d_out, int64_t rows,
                             const block_scratch *s) {
  fill(&(filling){.kernels = lgv__kernels(),
                  .form = form,
                  .view = &f->out,
                  .x = d_out,
                  .row = f->out.rows * f->out.row,
                  .rows = rows,
                  .last = f->out.rows,
                  .to = s->b,
                  .lo = s->b_lo});
}
