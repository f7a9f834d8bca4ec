/* Hidden layers in bf16: the three products of blocks.h. */
#include "math/matmul_threads.h"
#include "nn/blocks.h"
#include "nn/layers.h"

#include <string.h>

enum {
  HALF = 16,              /* rows or columns of a tile */
  MOST_NUMBERS = 1 << 20, /* of tiles that are made at once: they should stay in a cache */
  BAND_NUMBERS = 1 << 17, /* of tiles that should still be in the nearest large cache */
  FEW_SAMPLES = 8,        /* with fewer, the rows of a convolution's blocks are places */
  STEP_COST = BLOCK_SIDE * BLOCK_SIDE * BLOCK_SIDE,
  CONVERT_COST = 4 * LGV_TILE /* a pair of tiles takes as long as so many multiplications */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t clipped(int64_t left, int64_t width) { return left < 0 ? 0 : least(left, width); }

static int64_t count_places(const block_view *v) { return v->rows * v->columns; }

/* The first number of a place in its sample. */
static int64_t place_at(const block_view *v, int64_t place) {
  return place / v->columns * v->row + place % v->columns * v->column;
}

/* The input place that output place p meets by tap t; corner: the first. */
static int64_t corner(const block_form *f, int64_t p) {
  return p / f->out.columns * f->row_stride * f->in.columns + p % f->out.columns * f->column_stride;
}

static int64_t tap_place(const block_form *f, int64_t t) {
  return t / f->taps_per_row * f->in.columns + t % f->taps_per_row;
}

/* The gradient of the weights takes the inputs of a group turned: for each number of a sample,
 * those of 32 samples. The tiles of a place begin at its first number; what follows its last one
 * makes rows of C that nobody reads. */
static int64_t turned_size(const block_view *v) {
  return (v->rows * v->row + BLOCK_SIDE) * BLOCK_SIDE;
}

static int64_t input_size(const block_form *f) {
  return most(block_view_size(&f->in), turned_size(&f->in));
}

/* Groups of samples that are converted at once for `rows` rows. */
static int64_t groups_of(const block_form *f, int64_t rows) {
  int64_t size = most(input_size(f), block_view_size(&f->out));
  return least(most(MOST_NUMBERS / size, 1), (rows + BLOCK_SIDE - 1) / BLOCK_SIDE);
}

/* ---- Memory ---- */

static int64_t count_pairs(const block_form *f, const net_layer *layer) {
  return count_places(&f->out) * f->pixel_taps * block_count(layer->outputs);
}

static int32_t *list(lgv_layout *layout, const char *name, int64_t count) {
  return lgv_layout_array(layout, name, LGV_I32, (size_t)count, LGV_SCRATCH);
}

static void list_forward(const block_form *f, block_lists *lists) {
  int64_t blocks = block_count(f->in.width);
  for (int64_t s = 0; s < f->taps * blocks; s++) {
    lists->forward_a[s] = (int32_t)((tap_place(f, s / blocks) * blocks + s % blocks) * BLOCK_PAIR);
    lists->forward_b[s] = (int32_t)(s * BLOCK_PAIR);
  }
}

static void list_weights(const block_form *f, int64_t groups, block_lists *lists) {
  int64_t places = count_places(&f->out);
  int64_t out_pair = block_count(f->out.width) * BLOCK_PAIR;
  for (int64_t i = 0; i < groups * places; i++) {
    int64_t g = i / places, p = i % places;
    lists->weights_a[i] =
        (int32_t)(g * turned_size(&f->in) + place_at(&f->in, corner(f, p)) * BLOCK_SIDE);
    lists->weights_b[i] = (int32_t)(g * block_view_size(&f->out) + p * out_pair);
  }
}

/* The output place that meets pixel (y, x) by tap (ty, tx), or -1. */
static int64_t place_over(const net_layer *l, int64_t y, int64_t x, int64_t ty, int64_t tx) {
  int64_t stride = l->stride, top = y - ty, left = x - tx;
  if (top < 0 || left < 0 || top % stride || left % stride) return -1;
  bool inside = top / stride < l->out_height && left / stride < l->out_width;
  return inside ? top / stride * l->out_width + left / stride : -1;
}

static void list_inputs(const block_form *f, const net_layer *l, block_lists *lists) {
  int64_t blocks = block_count(l->outputs), count = 0;
  for (int64_t q = 0; q < count_places(&f->pixels); q++) {
    for (int64_t t = 0; t < f->pixel_taps; t++) {
      int64_t p =
          l->kernel ? place_over(l, q / l->in_width, q % l->in_width, t / l->kernel, t % l->kernel)
                    : 0;
      for (int64_t b = 0; p >= 0 && b < blocks; b++, count++) {
        lists->inputs_a[count] = (int32_t)((p * blocks + b) * BLOCK_PAIR);
        lists->inputs_b[count] = (int32_t)((t * blocks + b) * BLOCK_PAIR);
      }
    }
    lists->inputs_end[q] = (int32_t)count;
  }
}

static void layout_lists(const net *n, int32_t l, const char *name, int64_t rows, bool backward,
                         block_lists *lists, lgv_layout *layout) {
  const net_layer *layer = &n->layer[l];
  block_form f = lgv__block_form(layer);
  int64_t steps = f.taps * block_count(f.in.width), groups = groups_of(&f, rows);
  lists->forward_a = list(layout, name, steps);
  lists->forward_b = list(layout, name, steps);
  if (lists->forward_a) list_forward(&f, lists);
  if (!backward) return;
  lists->weights_a = list(layout, name, groups * count_places(&f.out));
  lists->weights_b = list(layout, name, groups * count_places(&f.out));
  lists->inputs_a = list(layout, name, count_pairs(&f, layer));
  lists->inputs_b = list(layout, name, count_pairs(&f, layer));
  lists->inputs_end = list(layout, name, count_places(&f.pixels));
  if (!lists->inputs_end) return;
  list_weights(&f, groups, lists);
  list_inputs(&f, layer, lists);
}

/* If there are few samples, 32 output places of one are the rows of a block. The tiles of its steps
 * are followed by room for the zeros that to_a_tile writes after its rows. */
static int64_t patch_count(const block_form *f) { return block_count(count_places(&f->out)); }

static int64_t patch_size(const block_form *f) {
  return f->taps * block_count(f->in.width) * BLOCK_PAIR + LGV_TILE;
}

typedef struct needs {
  int64_t a, b, c;
} needs;

static needs needs_of(const net *n, int32_t l, int64_t rows, bool backward) {
  const net_layer *layer = &n->layer[l];
  block_form f = lgv__block_form(layer);
  int64_t groups = groups_of(&f, rows), all = (rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
  int64_t blocks = f.taps * block_count(f.in.width) * block_count(layer->outputs);
  bool whole = rows >= FEW_SAMPLES || !layer->kernel || backward;
  return (needs){.a = most(whole ? groups * input_size(&f) : 0,
                           layer->kernel ? patch_count(&f) * patch_size(&f) : 0),
                 .b = backward ? groups * block_view_size(&f.out) : 0,
                 .c = backward && all > groups ? blocks * BLOCK_SIDE * BLOCK_SIDE : 0};
}

static uint16_t *tiles(lgv_layout *layout, const char *name, int64_t count) {
  return lgv_layout_array(layout, name, LGV_U8, (size_t)count * sizeof(lgv_bf16), LGV_SCRATCH);
}

void lgv__block_layout(net_tape *tape, const net *n, const char *name, bool with_backward,
                       lgv_layout *layout) {
  block_scratch *s = &tape->blocks;
  needs all = {0};
  for (int32_t l = 0; l < n->n_layers; l++) {
    if (!lgv__net_uses_blocks(n, l)) continue;
    int64_t rows = net_rows(n, l, tape->batch, n->shape.taus);
    needs own = needs_of(n, l, rows, with_backward);
    all = (needs){most(all.a, own.a), most(all.b, own.b), most(all.c, own.c)};
    layout_lists(n, l, name, rows, with_backward, &s->lists[l], layout);
  }
  bool split = n->shape.precision == NET_BF16X3;
  s->a_lo = split ? all.a : 0;
  s->b_lo = split ? all.b : 0;
  s->a = tiles(layout, name, all.a + s->a_lo);
  s->b = all.b ? tiles(layout, name, all.b + s->b_lo) : NULL;
  s->c = all.c ? lgv_layout_array(layout, name, LGV_F32, (size_t)all.c, LGV_SCRATCH) : NULL;
  if (!n->layer[0].kernel || !net_converts_input(n)) return;
  int64_t row = net_obs_length(n) / n->layer[0].in_height;
  s->input = lgv_layout_array(layout, name, LGV_F32,
                              (size_t)most(BLOCK_SIDE * row, net_obs_length(n)), LGV_SCRATCH);
  s->row = tiles(layout, name, (split ? 2 : 1) * BLOCK_SIDE * row);
}

/* ---- Conversion to tiles ---- */

typedef enum { AS_A, AS_B } tile_form; /* samples are the rows of both */

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

/* Tiles of A of the inputs of samples [first, first + rows), rows of places [from, to). */
static void fill_inputs(const net *n, const block_form *f, block_input in, int64_t first,
                        int64_t rows, int64_t from, int64_t to, const block_scratch *s) {
  filling v = input_filling(f, in, first, rows, s);
  v.first = from;
  v.last = to;
  if (in.convert)
    fill_converted(&v, n, in.convert, first, s);
  else
    fill(&v);
}

/* All of them in the turned form. */
static void turn_inputs(const net *n, const block_form *f, block_input in, int64_t first,
                        int64_t rows, const block_scratch *s) {
  filling v = input_filling(f, in, first, rows, s);
  int64_t groups = (rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
  if (in.convert)
    turn_converted(&v, n, in.convert, first, s);
  else
    lgv__matmul_threads_share(groups * ((f->in.rows * f->in.row + HALF - 1) / HALF), CONVERT_COST,
                              turn_tiles, &v);
}

static void fill_outputs(const block_form *f, tile_form form, const float *d_out, int64_t rows,
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

/* ---- Blocks ---- */

/* A pass over a layer, as its blocks see it. */
typedef struct work {
  const lgv_kernel_set *kernels;
  block_form f;
  int64_t places, in_blocks, out_blocks; /* in_blocks: of a place of f.in, or of a pixel */
  int64_t rows;                          /* samples */
  int64_t first_place, some_places;      /* of the outputs that are computed now */
  const lgv_bf16 *a, *b;
  int64_t a_lo, b_lo;
  const block_lists *lists;
  const float *bias, *gate, *x;
  bool rectify, add, ends;
  float *out;
  int64_t out_row;
  float *c; /* of dW: blocks that are not complete yet; else NULL */
} work;

static work work_of(const net *n, int32_t l, int64_t rows, const net_tape *tape) {
  block_form f = lgv__block_form(&n->layer[l]);
  const block_scratch *s = &tape->blocks;
  return (work){.kernels = lgv__kernels(),
                .f = f,
                .places = count_places(&f.out),
                .in_blocks = block_count(f.in.width),
                .out_blocks = block_count(f.out.width),
                .rows = rows,
                .a = s->a,
                .a_lo = s->a_lo,
                .b = s->b,
                .b_lo = s->b_lo,
                .lists = &s->lists[l],
                .ends = true};
}

/* Block i = (group, some output place, output block) of Y. */
static void forward_blocks(const void *context, int64_t first, int64_t last) {
  const work *w = context;
  const block_form *f = &w->f;
  _Alignas(64) float c[BLOCK_SIDE * BLOCK_SIDE];
  int64_t steps = f->taps * w->in_blocks;
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t o = i % w->out_blocks, p = w->first_place + i / w->out_blocks % w->some_places;
    int64_t g = i / w->out_blocks / w->some_places, col = o * BLOCK_SIDE;
    int64_t rows = least(w->rows - g * BLOCK_SIDE, BLOCK_SIDE);
    w->kernels->block(&(lgv_block_product){.steps = steps,
                                           .a = w->a + g * block_view_size(&f->in) +
                                                corner(f, p) * w->in_blocks * BLOCK_PAIR,
                                           .b = w->b + o * steps * BLOCK_PAIR,
                                           .a_at = w->lists->forward_a,
                                           .b_at = w->lists->forward_b,
                                           .a_next = LGV_TILE,
                                           .b_next = LGV_TILE,
                                           .a_lo = w->a_lo,
                                           .b_lo = w->b_lo,
                                           .c = c,
                                           .rows = (int32_t)rows});
    w->kernels->end_block(
        &(lgv_block_end){.rows = rows,
                         .cols = least(f->out.width - col, BLOCK_SIDE),
                         .c = c,
                         .bias = w->bias + col,
                         .rectify = w->rectify,
                         .out = w->out + g * BLOCK_SIDE * w->out_row + place_at(&f->out, p) + col,
                         .out_row = w->out_row});
  }
  lgv__block_end();
}

/* The rows of A of output places [p, p + rows) for the numbers at `at` of a tap: neighbors in a row
 * of places together. */
static void make_patch(const work *w, int64_t p, int64_t rows, int64_t tap, int64_t at,
                       lgv_bf16 *to) {
  const block_form *f = &w->f;
  int64_t cols = least(f->in.width - at, BLOCK_SIDE), run;
  for (int64_t i = 0; i < rows; i += run, to += run * BLOCK_SIDE) {
    run = least(least(f->out.columns - (p + i) % f->out.columns, rows - i), HALF);
    int64_t place = corner(f, p + i) + tap_place(f, tap);
    w->kernels->to_a_tile(run, cols, w->x + place_at(&f->in, place) + at,
                          f->column_stride * f->in.column, to, w->a_lo ? to + w->a_lo : NULL);
  }
}

/* Output places [32 i, 32 i + 32) of one sample, all outputs. */
static void patch_blocks(const void *context, int64_t first, int64_t last) {
  const work *w = context;
  const block_form *f = &w->f;
  _Alignas(64) float c[BLOCK_SIDE * BLOCK_SIDE];
  int64_t steps = f->taps * w->in_blocks;
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t p = i * BLOCK_SIDE, rows = least(w->places - p, BLOCK_SIDE);
    lgv_bf16 *a = (lgv_bf16 *)w->a + i * patch_size(f);
    for (int64_t s = 0; s < steps; s++)
      make_patch(w, p, rows, s / w->in_blocks, s % w->in_blocks * BLOCK_SIDE, a + s * BLOCK_PAIR);
    for (int64_t o = 0; o < w->out_blocks; o++) {
      int64_t col = o * BLOCK_SIDE;
      w->kernels->block(&(lgv_block_product){.steps = steps,
                                             .a = a,
                                             .b = w->b + o * steps * BLOCK_PAIR,
                                             .a_at = w->lists->forward_b,
                                             .b_at = w->lists->forward_b,
                                             .a_next = LGV_TILE,
                                             .b_next = LGV_TILE,
                                             .a_lo = w->a_lo,
                                             .b_lo = w->b_lo,
                                             .c = c,
                                             .rows = (int32_t)rows});
      w->kernels->end_block(&(lgv_block_end){.rows = rows,
                                             .cols = least(f->out.width - col, BLOCK_SIDE),
                                             .c = c,
                                             .bias = w->bias + col,
                                             .rectify = w->rectify,
                                             .out = w->out + p * f->out.column + col,
                                             .out_row = f->out.column});
    }
  }
  lgv__block_end();
}

/* Block i = (tap, input block, output block) of dW. */
static void weight_blocks(const void *context, int64_t first, int64_t last) {
  const work *w = context;
  const block_form *f = &w->f;
  _Alignas(64) float own[BLOCK_SIDE * BLOCK_SIDE];
  int64_t groups = (w->rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t o = i % w->out_blocks, k = i / w->out_blocks % w->in_blocks;
    int64_t t = i / w->out_blocks / w->in_blocks;
    float *c = w->c ? w->c + i * BLOCK_SIDE * BLOCK_SIDE : own;
    w->kernels->block(&(lgv_block_product){
        .steps = groups * w->places,
        .a = w->a + (place_at(&f->in, tap_place(f, t)) + k * BLOCK_SIDE) * BLOCK_SIDE,
        .b = w->b + o * BLOCK_PAIR,
        .a_at = w->lists->weights_a,
        .b_at = w->lists->weights_b,
        .a_next = LGV_TILE,
        .b_next = LGV_TILE,
        .a_lo = w->a_lo,
        .b_lo = w->b_lo,
        .c = c,
        .add = w->add});
    if (!w->ends) continue;
    int64_t row = t * f->in.width + k * BLOCK_SIDE, col = o * BLOCK_SIDE;
    w->kernels->end_block(&(lgv_block_end){.rows = least(f->in.width - k * BLOCK_SIDE, BLOCK_SIDE),
                                           .cols = least(f->out.width - col, BLOCK_SIDE),
                                           .c = c,
                                           .out = w->out + row * w->out_row + col,
                                           .out_row = w->out_row});
  }
  lgv__block_end();
}

/* Block i = (group, pixel, channel block) of dX. */
static void input_blocks(const void *context, int64_t first, int64_t last) {
  const work *w = context;
  const block_form *f = &w->f;
  _Alignas(64) float c[BLOCK_SIDE * BLOCK_SIDE];
  int64_t pixels = count_places(&f->pixels);
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t k = i % w->in_blocks, q = i / w->in_blocks % pixels, g = i / w->in_blocks / pixels;
    int64_t from = q > 0 ? w->lists->inputs_end[q - 1] : 0, col = k * BLOCK_SIDE;
    int64_t rows = least(w->rows - g * BLOCK_SIDE, BLOCK_SIDE);
    int64_t at = g * BLOCK_SIDE * w->out_row + place_at(&f->pixels, q) + col;
    w->kernels->block(
        &(lgv_block_product){.steps = w->lists->inputs_end[q] - from,
                             .a = w->a + g * block_view_size(&f->out),
                             .b = w->b + k * f->pixel_taps * w->out_blocks * BLOCK_PAIR,
                             .a_at = w->lists->inputs_a + from,
                             .b_at = w->lists->inputs_b + from,
                             .a_next = LGV_TILE,
                             .b_next = LGV_TILE,
                             .a_lo = w->a_lo,
                             .b_lo = w->b_lo,
                             .c = c,
                             .rows = (int32_t)rows});
    w->kernels->end_block(&(lgv_block_end){.rows = rows,
                                           .cols = least(f->pixels.width - col, BLOCK_SIDE),
                                           .c = c,
                                           .gate = w->gate ? w->gate + at : NULL,
                                           .out = w->out + at,
                                           .out_row = w->out_row});
  }
  lgv__block_end();
}

/* ---- Passes ---- */

/* One sample at a time. */
static void forward_few(const net *n, work *w, block_input in, int64_t rows, float *out,
                        const net_tape *tape) {
  int64_t steps = w->f.taps * w->in_blocks;
  for (int64_t s = 0; s < rows; s++) {
    w->x = in.x + s * in.row;
    w->out = out + s * w->out_row;
    if (in.convert) {
      lgv__net_convert_part(n, *in.convert, s, 0, net_obs_length(n), tape->blocks.input);
      w->x = tape->blocks.input;
    }
    lgv__matmul_threads_share(patch_count(&w->f), steps * w->out_blocks * STEP_COST, patch_blocks,
                              w);
  }
}

/* Output rows in bands: the tiles of their inputs are still in a cache. */
static void forward_turn(const net *n, work *w, block_input in, int64_t first,
                         const net_tape *tape) {
  const block_form *f = &w->f;
  int64_t steps = f->taps * w->in_blocks, groups = (w->rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
  int64_t window = f->taps / f->taps_per_row, filled = 0, y = 0;
  int64_t row_size = groups * block_view_size(&f->in) / f->in.rows * f->row_stride;
  for (int64_t end; y < f->out.rows; y = end) {
    end = least(y + most(BAND_NUMBERS / row_size, 1), f->out.rows);
    int64_t needed = (end - 1) * f->row_stride + window;
    fill_inputs(n, f, in, first, w->rows, filled, needed, &tape->blocks);
    filled = needed;
    w->first_place = y * f->out.columns;
    w->some_places = (end - y) * f->out.columns;
    lgv__matmul_threads_share(groups * w->some_places * w->out_blocks, steps * STEP_COST,
                              forward_blocks, w);
  }
}

void lgv__block_forward(const net *n, const float *params, int32_t l, block_input in, int64_t rows,
                        float *out, net_tape *tape) {
  const net_layer *layer = &n->layer[l];
  work w = work_of(n, l, rows, tape);
  w.b = lgv__net_tiles_of(tape->tiles, n, params, l, TILES_FORWARD, &w.b_lo);
  w.bias = params + layer->biases;
  w.rectify = net_layer_rectifies(layer);
  w.out_row = net_layer_length(layer);
  if (layer->kernel && rows < FEW_SAMPLES) {
    forward_few(n, &w, in, rows, out, tape);
    return;
  }
  int64_t turn = groups_of(&w.f, rows) * BLOCK_SIDE;
  for (int64_t s = 0; s < rows; s += turn) {
    w.rows = least(rows - s, turn);
    w.out = out + s * w.out_row;
    forward_turn(n, &w, in, s, tape);
  }
}

void lgv__block_weights(const net *n, int32_t l, block_input in, int64_t rows, const float *d_out,
                        net_tape *tape, float *grad) {
  const net_layer *layer = &n->layer[l];
  work w = work_of(n, l, rows, tape);
  int64_t turn = groups_of(&w.f, rows) * BLOCK_SIDE, length = net_layer_length(layer);
  w.c = rows > turn ? tape->blocks.c : NULL;
  w.out = grad + layer->weights;
  w.out_row = layer->outputs;
  for (int64_t s = 0; s < rows; s += turn) {
    w.rows = least(rows - s, turn);
    w.add = s > 0;
    w.ends = s + turn >= rows;
    turn_inputs(n, &w.f, in, s, w.rows, &tape->blocks);
    fill_outputs(&w.f, AS_B, d_out + s * length, w.rows, &tape->blocks);
    int64_t groups = (w.rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
    lgv__matmul_threads_share(w.f.taps * w.in_blocks * w.out_blocks, groups * w.places * STEP_COST,
                              weight_blocks, &w);
  }
}

void lgv__block_inputs(const net *n, const float *params, int32_t l, const float *gate,
                       int64_t in_row, int64_t rows, const float *d_out, net_tape *tape,
                       float *d_in) {
  const net_layer *layer = &n->layer[l];
  const block_scratch *s = &tape->blocks;
  work w = work_of(n, l, rows, tape);
  int64_t turn = groups_of(&w.f, rows) * BLOCK_SIDE, length = net_layer_length(layer);
  w.a = s->b;
  w.a_lo = s->b_lo;
  w.b = lgv__net_tiles_of(tape->tiles, n, params, l, TILES_BACKWARD, &w.b_lo);
  w.in_blocks = block_count(w.f.pixels.width);
  w.out_row = in_row;
  int64_t pixels = count_places(&w.f.pixels), pairs = w.lists->inputs_end[pixels - 1];
  for (int64_t at = 0; at < rows; at += turn) {
    w.rows = least(rows - at, turn);
    w.gate = gate ? gate + at * in_row : NULL;
    w.out = d_in + at * in_row;
    fill_outputs(&w.f, AS_A, d_out + at * length, w.rows, s);
    int64_t groups = (w.rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
    lgv__matmul_threads_share(groups * pixels * w.in_blocks, (pairs / pixels + 1) * STEP_COST,
                              input_blocks, &w);
  }
}
