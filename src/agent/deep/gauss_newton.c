#include "agent/deep/gauss_newton.h"

#include "math/kernels.h"

#include <assert.h>

void lgv__gauss_newton_layout(gauss_newton *g, const net *n, int64_t batch, lgv_layout *layout) {
  int64_t widest = 1, matrix = 1;
  for (int32_t l = 0; l < n->n_layers; l++) {
    if (n->layer[l].outputs > widest) widest = n->layer[l].outputs;
    if (l > 0 && n->layer[l].n_weights > matrix) matrix = n->layer[l].n_weights;
  }
  size_t size = (size_t)(batch * widest);
  g->net = n;
  g->batch = batch;
  for (int i = 0; i < 2; i++)
    g->delta[i] = lgv_layout_array(layout, "gn.delta", LGV_F32, size, LGV_SCRATCH);
  g->scaled = lgv_layout_array(layout, "gn.scaled", LGV_F32, size, LGV_SCRATCH);
  g->squared_x = lgv_layout_array(layout, "gn.squared_x", LGV_F32, size, LGV_SCRATCH);
  g->squared_delta = lgv_layout_array(layout, "gn.squared_delta", LGV_F32, size, LGV_SCRATCH);
  g->transposed = lgv_layout_array(layout, "gn.transposed", LGV_F32, (size_t)matrix, LGV_SCRATCH);
}

/* scaled = slope * delta and squared_delta = weight * delta^2, and both summed into the biases. */
static void scale(gauss_newton *g, const net_layer *layer, const float *delta, const float *slope,
                  const float *weight, int64_t rows, float *gradient, float *curvature) {
  int64_t n = layer->outputs;
  float *restrict bias = gradient + layer->biases;
  float *restrict bias_curvature = curvature + layer->biases;
  for (int64_t i = 0; i < rows; i++) {
    const float *restrict d = delta + i * n;
    float *restrict scaled = g->scaled + i * n, *restrict squared = g->squared_delta + i * n;
    float by = slope[i], times = weight[i];
    for (int64_t j = 0; j < n; j++) {
      scaled[j] = by * d[j];
      squared[j] = times * d[j] * d[j];
      bias[j] += scaled[j];
      bias_curvature[j] += squared[j];
    }
  }
}

/* c (in x out) += x^T y. */
static void add_products(const net_layer *layer, const float *x, const float *y, int64_t rows,
                         float *c) {
  int64_t in = layer->inputs, out = layer->outputs;
  lgv__kernels()->product(&(lgv_product){.m = in,
                                         .n = out,
                                         .k = rows,
                                         .a = x,
                                         .a_row = 1,
                                         .a_col = in,
                                         .b = y,
                                         .b_row = out,
                                         .c = c,
                                         .c_row = out,
                                         .add = true});
}

/* Sums over samples of x (slope * delta)^T and of x^2 (weight * delta^2)^T. */
static void add_dense(gauss_newton *g, const net_layer *layer, const float *x, int64_t rows,
                      float *gradient, float *curvature) {
  float *restrict squared = g->squared_x;
  for (int64_t i = 0; i < rows * layer->inputs; i++) squared[i] = x[i] * x[i];
  add_products(layer, x, g->scaled, rows, gradient + layer->weights);
  add_products(layer, g->squared_x, g->squared_delta, rows, curvature + layer->weights);
}

/* The first layer saw ones: at the index, or at all places before it. */
static void add_sparse(const gauss_newton *g, const net_layer *layer, const int32_t *index,
                       int64_t rows, float *gradient, float *curvature) {
  bool thermometer = g->net->shape.obs_form == LGV_FORM_THERMOMETER;
  int64_t out = layer->outputs;
  for (int64_t i = 0; i < rows; i++) {
    int64_t first = thermometer ? 0 : index[i], end = thermometer ? index[i] : index[i] + 1;
    const float *restrict scaled = g->scaled + i * out;
    const float *restrict squared = g->squared_delta + i * out;
    for (int64_t at = first < 0 ? 0 : first; at < end; at++) {
      float *restrict to = gradient + layer->weights + at * out;
      float *restrict square = curvature + layer->weights + at * out;
      for (int64_t j = 0; j < out; j++) {
        to[j] += scaled[j];
        square[j] += squared[j];
      }
    }
  }
}

/* below = (delta W^T), gated by the rectifier whose outputs were x. */
static void pass_down(gauss_newton *g, const net_layer *layer, const float *params,
                      const float *delta, const float *x, int64_t rows, float *below) {
  int64_t in = layer->inputs, out = layer->outputs;
  const lgv_kernel_set *kernels = lgv__kernels();
  kernels->transpose(in, out, params + layer->weights, out, NULL, g->transposed, in);
  kernels->product(&(lgv_product){.m = rows,
                                  .n = in,
                                  .k = out,
                                  .a = delta,
                                  .a_row = out,
                                  .a_col = 1,
                                  .b = g->transposed,
                                  .b_row = in,
                                  .c = below,
                                  .c_row = in,
                                  .gate = x});
}

void lgv__gauss_newton_add(gauss_newton *g, const float *params, const net_tape *tape,
                           const int32_t *index, const float *slope, const float *weight,
                           int64_t rows, float *gradient, float *curvature) {
  const net *n = g->net;
  int32_t top = n->n_layers - 1;
  float *delta = g->delta[0], *below = g->delta[1];
  assert(n->layer[top].outputs == 1 && rows <= g->batch);
  for (int64_t i = 0; i < rows; i++) delta[i] = 1;
  for (int32_t l = top; l >= 0; l--) {
    const net_layer *layer = &n->layer[l];
    scale(g, layer, delta, slope, weight, rows, gradient, curvature);
    if (l == 0) {
      add_sparse(g, layer, index, rows, gradient, curvature);
      return;
    }
    const float *x = tape->activation[l - 1];
    add_dense(g, layer, x, rows, gradient, curvature);
    pass_down(g, layer, params, delta, x, rows, below);
    float *swap = delta;
    delta = below;
    below = swap;
  }
}
