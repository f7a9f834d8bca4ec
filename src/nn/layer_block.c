/* Hidden layers in bf16: the three products of blocks.h. */
#include "math/matmul_threads.h"
#include "nn/block_places.h"
#include "nn/layers.h"

/* ---- Blocks ---- */

/* Blocks of C side by side that share the factor A: without AMX, it is converted once for all. */
enum { MOST_BLOCKS = 4 };

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

static int64_t count_spans(int64_t blocks) { return (blocks + MOST_BLOCKS - 1) / MOST_BLOCKS; }

/* A span of up to MOST_BLOCKS blocks: from block `first` of a row of C that has `width` numbers. */
typedef struct span {
  int64_t first, width;
  int64_t rows; /* that are wanted */
  int64_t steps;
  const lgv_bf16 *a, *b; /* b: of the first block of the row */
  const int32_t *a_at, *b_at;
  int64_t b_block;
  float *out; /* where the row begins */
  int64_t out_row;
} span;

static void multiply(const work *w, const span *s, const float *gate, float *c) {
  int64_t blocks = least(block_count(s->width) - s->first, MOST_BLOCKS);
  w->kernels->block(&(lgv_block_product){.steps = s->steps,
                                         .a = s->a,
                                         .b = s->b + s->first * s->b_block,
                                         .a_at = s->a_at,
                                         .b_at = s->b_at,
                                         .a_next = LGV_TILE,
                                         .b_next = LGV_TILE,
                                         .a_lo = w->a_lo,
                                         .b_lo = w->b_lo,
                                         .c = c,
                                         .add = w->add,
                                         .rows = (int32_t)s->rows,
                                         .blocks = (int32_t)blocks,
                                         .b_block = s->b_block});
  for (int64_t n = 0; w->ends && n < blocks; n++) {
    int64_t col = (s->first + n) * BLOCK_SIDE;
    w->kernels->end_block(&(lgv_block_end){.rows = s->rows,
                                           .cols = least(s->width - col, BLOCK_SIDE),
                                           .c = c + n * LGV_BLOCK,
                                           .bias = w->bias ? w->bias + col : NULL,
                                           .rectify = w->rectify,
                                           .gate = gate ? gate + col : NULL,
                                           .out = s->out + col,
                                           .out_row = s->out_row});
  }
}

/* Span i = (group, some output place, output blocks) of Y. */
static void forward_blocks(const void *context, int64_t first, int64_t last) {
  const work *w = context;
  const block_form *f = &w->f;
  _Alignas(64) float c[MOST_BLOCKS * LGV_BLOCK];
  int64_t steps = f->taps * w->in_blocks, spans = count_spans(w->out_blocks);
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t p = w->first_place + i / spans % w->some_places, g = i / spans / w->some_places;
    multiply(
        w,
        &(span){.first = i % spans * MOST_BLOCKS,
                .width = f->out.width,
                .rows = least(w->rows - g * BLOCK_SIDE, BLOCK_SIDE),
                .steps = steps,
                .a = w->a + g * block_view_size(&f->in) + corner(f, p) * w->in_blocks * BLOCK_PAIR,
                .b = w->b,
                .a_at = w->lists->forward_a,
                .b_at = w->lists->forward_b,
                .b_block = steps * BLOCK_PAIR,
                .out = w->out + g * BLOCK_SIDE * w->out_row + place_at(&f->out, p),
                .out_row = w->out_row},
        NULL, c);
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
  _Alignas(64) float c[MOST_BLOCKS * LGV_BLOCK];
  int64_t steps = f->taps * w->in_blocks;
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t p = i * BLOCK_SIDE, rows = least(w->places - p, BLOCK_SIDE);
    lgv_bf16 *a = (lgv_bf16 *)w->a + i * patch_size(f);
    for (int64_t s = 0; s < steps; s++)
      make_patch(w, p, rows, s / w->in_blocks, s % w->in_blocks * BLOCK_SIDE, a + s * BLOCK_PAIR);
    for (int64_t o = 0; o < w->out_blocks; o += MOST_BLOCKS)
      multiply(w,
               &(span){.first = o,
                       .width = f->out.width,
                       .rows = rows,
                       .steps = steps,
                       .a = a,
                       .b = w->b,
                       .a_at = w->lists->forward_b,
                       .b_at = w->lists->forward_b,
                       .b_block = steps * BLOCK_PAIR,
                       .out = w->out + p * f->out.column,
                       .out_row = f->out.column},
               NULL, c);
  }
  lgv__block_end();
}

/* Span i = (tap, input block, output blocks) of dW. */
static void weight_blocks(const void *context, int64_t first, int64_t last) {
  const work *w = context;
  const block_form *f = &w->f;
  _Alignas(64) float own[MOST_BLOCKS * LGV_BLOCK];
  int64_t groups = (w->rows + BLOCK_SIDE - 1) / BLOCK_SIDE, spans = count_spans(w->out_blocks);
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t o = i % spans * MOST_BLOCKS, row = i / spans; /* of blocks */
    int64_t t = row / w->in_blocks, at = row % w->in_blocks * BLOCK_SIDE;
    multiply(w,
             &(span){.first = o,
                     .width = f->out.width,
                     .rows = least(f->in.width - at, BLOCK_SIDE),
                     .steps = groups * w->places,
                     .a = w->a + (place_at(&f->in, tap_place(f, t)) + at) * BLOCK_SIDE,
                     .b = w->b,
                     .a_at = w->lists->weights_a,
                     .b_at = w->lists->weights_b,
                     .b_block = BLOCK_PAIR,
                     .out = w->out + (t * f->in.width + at) * w->out_row,
                     .out_row = w->out_row},
             NULL, w->c ? w->c + (row * w->out_blocks + o) * LGV_BLOCK : own);
  }
  lgv__block_end();
}

/* Span i = (group, pixel, channel blocks) of dX. */
static void input_blocks(const void *context, int64_t first, int64_t last) {
  const work *w = context;
  const block_form *f = &w->f;
  _Alignas(64) float c[MOST_BLOCKS * LGV_BLOCK];
  int64_t pixels = count_places(&f->pixels), spans = count_spans(w->in_blocks);
  lgv__block_begin();
  for (int64_t i = first; i < last; i++) {
    int64_t q = i / spans % pixels, g = i / spans / pixels;
    int64_t from = q > 0 ? w->lists->inputs_end[q - 1] : 0;
    int64_t at = g * BLOCK_SIDE * w->out_row + place_at(&f->pixels, q);
    multiply(w,
             &(span){.first = i % spans * MOST_BLOCKS,
                     .width = f->pixels.width,
                     .rows = least(w->rows - g * BLOCK_SIDE, BLOCK_SIDE),
                     .steps = w->lists->inputs_end[q] - from,
                     .a = w->a + g * block_view_size(&f->out),
                     .b = w->b,
                     .a_at = w->lists->inputs_a + from,
                     .b_at = w->lists->inputs_b + from,
                     .b_block = f->pixel_taps * w->out_blocks * BLOCK_PAIR,
                     .out = w->out + at,
                     .out_row = w->out_row},
             w->gate ? w->gate + at : NULL, c);
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
    lgv__block_fill_inputs(n, f, in, first, w->rows, filled, needed, &tape->blocks);
    filled = needed;
    w->first_place = y * f->out.columns;
    w->some_places = (end - y) * f->out.columns;
    lgv__matmul_threads_share(groups * w->some_places * count_spans(w->out_blocks),
                              steps * least(w->out_blocks, MOST_BLOCKS) * STEP_COST, forward_blocks,
                              w);
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
    lgv__block_turn_inputs(n, &w.f, in, s, w.rows, &tape->blocks);
    lgv__block_fill_outputs(&w.f, AS_B, d_out + s * length, w.rows, &tape->blocks);
    int64_t groups = (w.rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
    lgv__matmul_threads_share(w.f.taps * w.in_blocks * count_spans(w.out_blocks),
                              groups * w.places * least(w.out_blocks, MOST_BLOCKS) * STEP_COST,
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
    lgv__block_fill_outputs(&w.f, AS_A, d_out + at * length, w.rows, s);
    int64_t groups = (w.rows + BLOCK_SIDE - 1) / BLOCK_SIDE;
    lgv__matmul_threads_share(groups * pixels * count_spans(w.in_blocks),
                              (pairs / pixels + 1) * least(w.in_blocks, MOST_BLOCKS) * STEP_COST,
                              input_blocks, &w);
  }
}
