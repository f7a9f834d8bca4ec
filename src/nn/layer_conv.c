/* Convolutions (VALID) over images laid out as (height x width x channels), as matrix products that
 * copy no patches ("implicit GEMM").
 *
 * With p a place of the output and q a position within a window, the input that is multiplied by
 * weight q at p is at corner[p] + window[q]: the two lists describe the matrix of patches X(p, q),
 * and
 *
 *   Y = X W + b,   dW = X^T D,   dX(corner[p] + tap) += D W_tap^T for each of the kernel^2 taps.
 *
 * The last product scatters: the places of one tap never coincide, so its rows can be added
 * directly to their destinations, without multiplications by padding zeros. Several small images
 * form one product, because long sums keep the tiles in registers longer. */
#include "math/matmul_threads.h"
#include "nn/layers.h"

#include <string.h>

enum { ENOUGH_PLACES = 200 };

int64_t lgv__layer_conv_window(const net_layer *layer) {
  return (int64_t)layer->kernel * layer->kernel * layer->inputs;
}

int64_t lgv__layer_conv_image(const net_layer *layer) {
  return (int64_t)layer->in_height * layer->in_width * layer->inputs;
}

int64_t lgv__layer_conv_group(const net_layer *layer) {
  int64_t places = net_layer_places(layer), most = INT32_MAX / lgv__layer_conv_image(layer);
  int64_t wanted = (ENOUGH_PLACES + places - 1) / places;
  return wanted < most ? wanted : most;
}

void lgv__layer_conv_locate(const net_layer *layer, conv_places *places) {
  int64_t row = layer->in_width * layer->inputs, strip = layer->kernel * layer->inputs;
  int32_t *corner = places->corner, *window = places->window;
  for (int64_t s = 0; s < places->group; s++)
    for (int64_t y = 0; y < layer->out_height; y++)
      for (int64_t x = 0; x < layer->out_width; x++)
        *corner++ = (int32_t)(s * lgv__layer_conv_image(layer) +
                              layer->stride * (y * row + x * layer->inputs));
  for (int64_t y = 0; y < layer->kernel; y++)
    for (int64_t i = 0; i < strip; i++) *window++ = (int32_t)(y * row + i);
}

void lgv__layer_conv_forward(const net_layer *layer, const conv_places *places, const float *params,
                             const float *in, int64_t batch, float *out) {
  int64_t n = layer->outputs, per_image = net_layer_places(layer);
  for (int64_t s = 0; s < batch; s += places->group) {
    int64_t images = batch - s < places->group ? batch - s : places->group;
    lgv__matmul_threads_product(&(lgv_product){.m = images * per_image,
                                               .n = n,
                                               .k = lgv__layer_conv_window(layer),
                                               .a = in + s * lgv__layer_conv_image(layer),
                                               .a_rows = places->corner,
                                               .a_cols = places->window,
                                               .b = params + layer->weights,
                                               .b_row = n,
                                               .c = out + s * per_image * n,
                                               .c_row = n,
                                               .bias = params + layer->biases,
                                               .rectify = net_layer_rectifies(layer)});
  }
}

void lgv__layer_conv_weights(const net_layer *layer, const conv_places *places, const float *in,
                             int64_t batch, const float *d_out, bool add, float *grad) {
  int64_t n = layer->outputs, per_image = net_layer_places(layer);
  for (int64_t s = 0; s < batch; s += places->group) {
    int64_t images = batch - s < places->group ? batch - s : places->group;
    lgv__matmul_threads_product(&(lgv_product){.m = lgv__layer_conv_window(layer),
                                               .n = n,
                                               .k = images * per_image,
                                               .a = in + s * lgv__layer_conv_image(layer),
                                               .a_rows = places->window,
                                               .a_cols = places->corner,
                                               .b = d_out + s * per_image * n,
                                               .b_row = n,
                                               .c = grad + layer->weights,
                                               .c_row = n,
                                               .add = add || s > 0});
  }
}

void lgv__layer_conv_biases(const net_layer *layer, int64_t batch, const float *d_out,
                            float *grad) {
  lgv__kernels()->column_sums(batch * net_layer_places(layer), layer->outputs, d_out,
                              grad + layer->biases);
}

/* Transposes the weights of every tap from (inputs x outputs) to (outputs x inputs). */
static void turn_weights(const net_layer *layer, const float *weights, float *turned) {
  int64_t taps = (int64_t)layer->kernel * layer->kernel, size = layer->inputs * layer->outputs;
  for (int64_t t = 0; t < taps; t++)
    lgv__kernels()->transpose(layer->inputs, layer->outputs, weights + t * size, layer->outputs,
                              NULL, turned + t * size, layer->inputs);
}

/* One tap of a group of images: d_in at the tap += d_out times its transposed weights. */
static void add_tap(const net_layer *layer, const conv_places *places, int64_t tap, int64_t images,
                    const float *d_out, const float *turned, float *d_in) {
  int64_t n = layer->outputs;
  lgv__matmul_threads_product(&(lgv_product){.m = images * net_layer_places(layer),
                                             .n = layer->inputs,
                                             .k = n,
                                             .a = d_out,
                                             .a_row = n,
                                             .a_col = 1,
                                             .b = turned + tap * layer->inputs * n,
                                             .b_row = layer->inputs,
                                             .c = d_in + places->window[tap * layer->inputs],
                                             .c_rows = places->corner,
                                             .add = true});
}

/* Taps that are a stride apart touch the same pixels; processed one after the other, they find them
 * in the cache. */
static void add_taps(const net_layer *layer, const conv_places *places, int64_t images,
                     const float *d_out, const float *turned, float *d_in) {
  int32_t kernel = layer->kernel, stride = layer->stride;
  for (int32_t first_y = 0; first_y < stride; first_y++)
    for (int32_t first_x = 0; first_x < stride; first_x++)
      for (int32_t y = first_y; y < kernel; y += stride)
        for (int32_t x = first_x; x < kernel; x += stride)
          add_tap(layer, places, y * kernel + x, images, d_out, turned, d_in);
}

void lgv__layer_conv_inputs(const net_layer *layer, const conv_places *places, const float *params,
                            const float *in, int64_t batch, const float *d_out, float *scratch,
                            float *d_in) {
  int64_t d_length = net_layer_places(layer) * layer->outputs,
          length = lgv__layer_conv_image(layer);
  turn_weights(layer, params + layer->weights, scratch);
  for (int64_t s = 0; s < batch; s += places->group) {
    int64_t images = batch - s < places->group ? batch - s : places->group;
    memset(d_in + s * length, 0, (size_t)(images * length) * sizeof *d_in);
    add_taps(layer, places, images, d_out + s * d_length, scratch, d_in + s * length);
    lgv__kernels()->gate(images * length, in + s * length, d_in + s * length);
  }
}
