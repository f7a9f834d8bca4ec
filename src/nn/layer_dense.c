#include "math/kernels.h"
#include "nn/layers.h"

#include <string.h>

void layer_dense_forward(const net_layer *layer, const float *params, const float *in,
                         int64_t batch, bool rectify, float *out) {
  const float *bias = params + layer->biases;
  int64_t n = layer->outputs;
  for (int64_t s = 0; s < batch; s++)
    for (int64_t j = 0; j < n; j++) out[s * n + j] = bias[layer->n_biases == 1 ? 0 : j];
  lgv__kernels()->gemm(batch, n, layer->inputs, in, layer->inputs, 1, params + layer->weights, n, 1,
                       out, n);
  if (!rectify) return;
  for (int64_t i = 0; i < batch * n; i++) out[i] = out[i] > 0 ? out[i] : 0;
}

static void bias_gradient(const net_layer *layer, int64_t batch, const float *d_out, float *grad) {
  float *bias = grad + layer->biases;
  int64_t n = layer->outputs;
  memset(bias, 0, (size_t)layer->n_biases * sizeof *bias);
  for (int64_t s = 0; s < batch; s++)
    for (int64_t j = 0; j < n; j++) bias[layer->n_biases == 1 ? 0 : j] += d_out[s * n + j];
}

void layer_dense_backward(const net_layer *layer, const float *params, const float *in,
                          int64_t batch, const float *d_out, float *d_in, float *transposed,
                          float *grad) {
  int64_t n = layer->outputs, k = layer->inputs;
  const lgv_kernel_set *kernels = lgv__kernels();
  bias_gradient(layer, batch, d_out, grad);
  kernels->gemm(k, n, batch, in, 1, k, d_out, n, 0, grad + layer->weights, n);
  if (!d_in) return;
  const float *weights = params + layer->weights;
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) transposed[j * k + i] = weights[i * n + j];
  kernels->gemm(batch, k, n, d_out, n, 1, transposed, k, 0, d_in, k);
  for (int64_t i = 0; i < batch * k; i++) d_in[i] = in[i] > 0 ? d_in[i] : 0;
}
