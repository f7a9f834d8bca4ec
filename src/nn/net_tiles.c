/* The weights of hidden layers as tiles of bf16. Tiles are made when a pass needs them and stay
 * until the parameters change or another vector is used: acting between two updates then reads half
 * the bytes, and a target network is converted once per copy. */
#include "math/matmul_threads.h"
#include "nn/block_places.h"
#include "nn/layers.h"

#include <assert.h>
#include <string.h>

/* ---- Forms ---- */

bool lgv__net_uses_blocks(const net *n, int32_t l) {
  return n->shape.precision != NET_FLOAT && n->layer[l].hidden && !(l == 0 && net_takes_index(n));
}

bool lgv__net_has_blocks(const net *n) {
  for (int32_t l = 0; l < n->n_layers; l++)
    if (lgv__net_uses_blocks(n, l)) return true;
  return false;
}

static block_form dense_form(const net_layer *l) {
  block_view in = {1, 1, l->inputs, l->inputs, l->inputs};
  block_view out = {1, 1, l->outputs, l->outputs, l->outputs};
  return (block_form){.in = in,
                      .out = out,
                      .pixels = in,
                      .taps = 1,
                      .taps_per_row = 1,
                      .row_stride = 1,
                      .column_stride = 1,
                      .pixel_taps = 1};
}

block_form lgv__block_form(const net_layer *l) {
  if (!l->kernel) return dense_form(l);
  int64_t channels = l->inputs, kernel = l->kernel, row = l->in_width * channels;
  int64_t strip = kernel * channels;
  block_view pixels = {l->in_height, l->in_width, row, channels, channels};
  block_view strips = {l->in_height, l->out_width, row, l->stride * channels, strip};
  bool by_strips = block_count(strip) < kernel * block_count(channels);
  return (block_form){
      .in = by_strips ? strips : pixels,
      .out = {l->out_height, l->out_width, l->out_width * l->outputs, l->outputs, l->outputs},
      .pixels = pixels,
      .taps = by_strips ? kernel : kernel * kernel,
      .taps_per_row = by_strips ? 1 : kernel,
      .row_stride = l->stride,
      .column_stride = by_strips ? 1 : l->stride,
      .pixel_taps = kernel * kernel};
}

static double tiles_of_view(const block_view *v) {
  return (double)v->rows * (double)v->columns * (double)block_count(v->width) * BLOCK_PAIR;
}

bool lgv__block_fits(const net_layer *layer) {
  block_form f = lgv__block_form(layer);
  double places = (double)f.out.rows * (double)f.out.columns;
  double turned = ((double)f.in.rows * (double)f.in.row + BLOCK_SIDE) * BLOCK_SIDE;
  double pairs = places * (double)f.pixel_taps * (double)block_count(f.out.width);
  double patches =
      (places / BLOCK_SIDE + 1) * (double)f.taps * (double)block_count(f.in.width) * BLOCK_PAIR;
  double weights = (double)f.taps * (double)block_count(f.in.width) *
                   (double)block_count(f.out.width) * BLOCK_PAIR;
  double gathered = (double)f.pixel_taps * (double)block_count(f.out.width) * BLOCK_PAIR;
  return gathered < INT32_MAX && tiles_of_view(&f.in) < INT32_MAX &&
         tiles_of_view(&f.out) < INT32_MAX && turned < INT32_MAX && pairs < INT32_MAX &&
         patches < INT32_MAX && weights < INT32_MAX;
}

/* Of one part, high or low. */
static int64_t numbers(const net_layer *layer, net_tiles_side side) {
  block_form f = lgv__block_form(layer);
  int64_t inputs = side == TILES_FORWARD ? f.taps * block_count(f.in.width)
                                         : f.pixel_taps * block_count(f.pixels.width);
  return inputs * block_count(layer->outputs) * BLOCK_PAIR;
}

void lgv__net_tiles_layout(net_tiles *tiles, const net *n, const char *name, bool with_backward,
                           lgv_layout *layout) {
  *tiles = (net_tiles){0};
  int64_t parts = n->shape.precision == NET_BF16X3 ? 2 : 1;
  for (int32_t l = 0; l < n->n_layers; l++)
    for (int side = 0; lgv__net_uses_blocks(n, l) && side < (with_backward ? 2 : 1); side++) {
      size_t bytes = sizeof(lgv_bf16) * (size_t)(parts * numbers(&n->layer[l], side));
      tiles->tiles[side][l] = lgv_layout_array(layout, name, LGV_U8, bytes, LGV_SCRATCH);
    }
}

void lgv__net_tiles_changed(net_tiles *tiles, const float *params) {
  if (!params || tiles->params == params) tiles->params = NULL;
}

const char *lgv__net_tiles_forget(const void *tiles) {
  lgv__net_tiles_changed((net_tiles *)tiles, NULL);
  return NULL;
}

void lgv__net_tiles_use(net_tiles *tiles, const float *params) {
  if (tiles->params == params) return;
  tiles->params = params;
  tiles->made[TILES_FORWARD] = tiles->made[TILES_BACKWARD] = 0;
}

/* ---- Conversion ---- */

typedef struct conversion {
  const lgv_kernel_set *kernels;
  const float *weights;
  int64_t outputs, out_blocks;
  int64_t width, blocks, steps; /* of a tap; steps: taps x blocks, or pixel taps x output blocks */
  lgv_bf16 *to;
  int64_t lo;
} conversion;

/* The pair of tiles i = (output block, tap, input block). */
static void convert_forward(const void *context, int64_t first, int64_t last) {
  const conversion *v = context;
  for (int64_t i = first; i < last; i++) {
    int64_t step = i % v->steps, row = step % v->blocks * BLOCK_SIDE;
    int64_t rows = clipped(v->width - row, BLOCK_SIDE);
    row += step / v->blocks * v->width;
    for (int64_t t = 0; t < 2; t++) {
      int64_t col = i / v->steps * BLOCK_SIDE + t * HALF, cols = clipped(v->outputs - col, HALF);
      lgv_bf16 *to = v->to + i * BLOCK_PAIR + t * LGV_TILE;
      v->kernels->to_b_tile(cols ? rows : 0, cols, v->weights + row * v->outputs + (cols ? col : 0),
                            v->outputs, to, v->lo ? to + v->lo : NULL);
    }
  }
}

/* 16 inputs x 32 outputs become a tile of 32 x 16. */
static void turn(const conversion *v, int64_t rows, int64_t cols, const float *weights,
                 lgv_bf16 *to) {
  _Alignas(64) lgv_bf16 hi[LGV_TILE], lo[LGV_TILE];
  v->kernels->to_a_tile(rows, cols, weights, v->outputs, hi, v->lo ? lo : NULL);
  v->kernels->transpose_tile(hi, to);
  if (v->lo) v->kernels->transpose_tile(lo, to + v->lo);
}

/* The pair of tiles i = (channel block, pixel tap, output block). */
static void convert_backward(const void *context, int64_t first, int64_t last) {
  const conversion *v = context;
  for (int64_t i = first; i < last; i++) {
    int64_t step = i % v->steps, col = step % v->out_blocks * BLOCK_SIDE;
    int64_t cols = clipped(v->outputs - col, BLOCK_SIDE), tap = step / v->out_blocks;
    for (int64_t t = 0; t < 2; t++) {
      int64_t row = i / v->steps * BLOCK_SIDE + t * HALF, rows = clipped(v->width - row, HALF);
      turn(v, rows, cols, v->weights + (tap * v->width + (rows ? row : 0)) * v->outputs + col,
           v->to + i * BLOCK_PAIR + t * LGV_TILE);
    }
  }
}

static void convert(const net *n, const float *params, int32_t l, net_tiles_side side,
                    lgv_bf16 *to) {
  const net_layer *layer = &n->layer[l];
  block_form f = lgv__block_form(layer);
  bool forward = side == TILES_FORWARD;
  const block_view *in = forward ? &f.in : &f.pixels;
  int64_t out_blocks = block_count(layer->outputs), blocks = block_count(in->width);
  conversion v = {.kernels = lgv__kernels(),
                  .weights = params + layer->weights,
                  .outputs = layer->outputs,
                  .out_blocks = out_blocks,
                  .width = in->width,
                  .blocks = blocks,
                  .steps = forward ? f.taps * blocks : f.pixel_taps * out_blocks,
                  .to = to,
                  .lo = n->shape.precision == NET_BF16X3 ? numbers(layer, side) : 0};
  lgv__matmul_threads_share(numbers(layer, side) / BLOCK_PAIR, CONVERT_COST,
                            forward ? convert_forward : convert_backward, &v);
}

const lgv_bf16 *lgv__net_tiles_of(net_tiles *tiles, const net *n, const float *params, int32_t l,
                                  net_tiles_side side, int64_t *lo) {
  assert(tiles->params == params && tiles->tiles[side][l]);
  uint64_t bit = UINT64_C(1) << l;
  if (!(tiles->made[side] & bit)) convert(n, params, l, side, tiles->tiles[side][l]);
  tiles->made[side] |= bit;
  *lo = n->shape.precision == NET_BF16X3 ? numbers(&n->layer[l], side) : 0;
  return tiles->tiles[side][l];
}
