/* Dense layers, over any inputs and over sparse ones. With X (batch x inputs), W (inputs x outputs)
 * and D = d_out,
 *
 *   Y = X W + b,   dW = X^T D,   dX = D W^T.
 *
 * In general these are three matrix products. The kernels need contiguous rows of the second
 * factor, which W^T lacks. So either W is transposed, or, if W is large compared with the batch,
 * the equation is: dX^T = W D^T. With only a few outputs, dW^T = D^T X fills whole vectors, while
 * dW would not.
 *
 * The first layer may have sparse inputs, given as an index. One-hot: a sample adds one row of the
 * weights. Thermometer: it adds the first c rows, so running sums over the rows serve all samples
 * of a batch, and the gradient of row i is the sum of the derivatives of all samples with c > i.
 * Both passes take O((batch + inputs) outputs). */
#include "math/matmul_threads.h"
#include "nn/layers.h"

#include <string.h>

enum { FEW_OUTPUTS = 24 };

/* ---- Any inputs ---- */

void lgv__layer_dense_forward(const net_layer *layer, const float *params, const float *in,
                              int64_t batch, float *out) {
  int64_t n = layer->outputs;
  bool shared = layer->n_biases != n, rectify = net_layer_rectifies(layer);
  const float *bias = params + layer->biases;
  lgv__matmul_threads_product(&(lgv_product){.m = batch,
                                             .n = n,
                                             .k = layer->inputs,
                                             .a = in + layer->in_first,
                                             .a_row = layer->in_row,
                                             .a_col = 1,
                                             .b = params + layer->weights,
                                             .b_row = n,
                                             .c = out,
                                             .c_row = n,
                                             .bias = shared ? NULL : bias,
                                             .rectify = rectify && !shared});
  if (shared)
    for (int64_t i = 0; i < batch * n; i++) out[i] += *bias;
  if (shared && rectify) lgv__kernels()->rectify(batch * n, out);
}

static void bias_gradient(const net_layer *layer, int64_t batch, const float *d_out, float *grad) {
  float *bias = grad + layer->biases;
  if (layer->n_biases == layer->outputs) {
    lgv__kernels()->column_sums(batch, layer->outputs, d_out, bias);
    return;
  }
  double sum = 0;
  for (int64_t i = 0; i < batch * layer->outputs; i++) sum += d_out[i];
  *bias = (float)sum;
}

static void weight_gradient(const net_layer *layer, const float *in, int64_t batch,
                            const float *d_out, float *scratch, float *grad) {
  int64_t n = layer->outputs, k = layer->inputs;
  const lgv_kernel_set *kernels = lgv__kernels();
  if (n > FEW_OUTPUTS) {
    lgv__matmul_threads_product(&(lgv_product){.m = k,
                                               .n = n,
                                               .k = batch,
                                               .a = in,
                                               .a_row = 1,
                                               .a_col = layer->in_row,
                                               .b = d_out,
                                               .b_row = n,
                                               .c = grad + layer->weights,
                                               .c_row = n});
    return;
  }
  lgv__matmul_threads_product(&(lgv_product){.m = n,
                                             .n = k,
                                             .k = batch,
                                             .a = d_out,
                                             .a_row = 1,
                                             .a_col = n,
                                             .b = in,
                                             .b_row = layer->in_row,
                                             .c = scratch,
                                             .c_row = k});
  kernels->transpose(n, k, scratch, k, NULL, grad + layer->weights, n);
}

static bool weights_are_large(const net_layer *layer, int64_t batch) {
  return batch * (layer->inputs + layer->outputs) < layer->n_weights;
}

static void input_gradient(const net_layer *layer, const float *params, const float *gate,
                           int64_t batch, const float *d_out, float *d_in, float *scratch) {
  int64_t n = layer->outputs, k = layer->inputs;
  const float *weights = params + layer->weights;
  const lgv_kernel_set *kernels = lgv__kernels();
  if (weights_are_large(layer, batch)) {
    float *turned_out = scratch, *turned_in = scratch + n * batch;
    kernels->transpose(batch, n, d_out, n, NULL, turned_out, batch);
    lgv__matmul_threads_product(&(lgv_product){.m = k,
                                               .n = batch,
                                               .k = n,
                                               .a = weights,
                                               .a_row = n,
                                               .a_col = 1,
                                               .b = turned_out,
                                               .b_row = batch,
                                               .c = turned_in,
                                               .c_row = batch});
    kernels->transpose(k, batch, turned_in, batch, gate, d_in, layer->in_row);
    return;
  }
  kernels->transpose(k, n, weights, n, NULL, scratch, k);
  lgv__matmul_threads_product(&(lgv_product){.m = batch,
                                             .n = k,
                                             .k = n,
                                             .a = d_out,
                                             .a_row = n,
                                             .a_col = 1,
                                             .b = scratch,
                                             .b_row = k,
                                             .c = d_in,
                                             .c_row = layer->in_row,
                                             .gate = gate});
}

void lgv__layer_dense_backward(const net_layer *layer, const float *params, const float *in,
                               const float *gate, int64_t batch, const float *d_out, float *d_in,
                               float *scratch, float *grad) {
  int64_t first = layer->in_first;
  if (grad) bias_gradient(layer, batch, d_out, grad);
  if (grad) weight_gradient(layer, in + first, batch, d_out, scratch, grad);
  if (d_in)
    input_gradient(layer, params, gate ? gate + first : NULL, batch, d_out, d_in + first, scratch);
}

/* A smaller batch may take the other branch, but never needs more. */
int64_t lgv__layer_dense_scratch(const net_layer *layer, int64_t batch) {
  if (!weights_are_large(layer, batch) || layer->outputs <= FEW_OUTPUTS) return layer->n_weights;
  return batch * (layer->inputs + layer->outputs);
}

/* ---- Sparse inputs ---- */

/* Copies the bias of every output to `row`. */
static void spread_bias(const net_layer *layer, const float *params, float *row) {
  for (int64_t j = 0; j < layer->outputs; j++)
    row[j] = params[layer->biases + (layer->n_biases == layer->outputs ? j : 0)];
}

static int32_t largest(const int32_t *index, int64_t batch) {
  int32_t most = 0;
  for (int64_t s = 0; s < batch; s++) most = index[s] > most ? index[s] : most;
  return most;
}

void lgv__layer_index_forward(const net_layer *layer, const float *params, lgv_obs_form form,
                              const int32_t *index, float scale, int64_t batch, float *scratch,
                              float *out) {
  int64_t n = layer->outputs;
  const lgv_kernel_set *kernels = lgv__kernels();
  const float *weights = params + layer->weights;
  float *bias = scratch, *sums = scratch + n;
  spread_bias(layer, params, bias);
  if (form == LGV_FORM_THERMOMETER)
    kernels->running_sums(largest(index, batch), n, bias, weights, scale, sums);
  for (int64_t s = 0; s < batch; s++, out += n) {
    const float *row = form == LGV_FORM_THERMOMETER ? sums + index[s] * n : bias;
    memcpy(out, row, (size_t)n * sizeof *out);
    if (form == LGV_FORM_ONE_HOT && index[s] >= 0)
      kernels->add_scaled(n, weights + index[s] * n, scale, out);
    if (net_layer_rectifies(layer)) kernels->rectify(n, out);
  }
}

int64_t lgv__layer_index_scratch(const net_layer *layer, lgv_obs_form form) {
  return layer->outputs * (form == LGV_FORM_THERMOMETER ? layer->inputs + 2 : 1);
}

void lgv__layer_index_backward(const net_layer *layer, lgv_obs_form form, const int32_t *index,
                               float scale, int64_t batch, const float *d_out, float *grad) {
  int64_t n = layer->outputs;
  const lgv_kernel_set *kernels = lgv__kernels();
  float *weights = grad + layer->weights;
  bias_gradient(layer, batch, d_out, grad);
  memset(weights, 0, (size_t)layer->n_weights * sizeof *weights);
  for (int64_t s = 0; s < batch; s++) {
    int64_t row = form == LGV_FORM_ONE_HOT ? index[s] : index[s] - 1;
    if (row >= 0) kernels->add_scaled(n, d_out + s * n, scale, weights + row * n);
  }
  if (form == LGV_FORM_THERMOMETER) kernels->sum_up(layer->inputs, n, weights);
}
