/* Sparse first layers.
 *
 * One-hot: a sample takes one row of the weights. Thermometer: it takes the sum of the first c
 * rows, so that running sums over the rows serve all samples of a batch, and the gradient of row i
 * is the sum of the derivatives of all samples with c > i: O((batch + inputs) outputs) both ways.
 */
#include "nn/layers.h"

#include <string.h>

static void add_row(float *restrict sum, const float *restrict row, float scale, int64_t n) {
  for (int64_t j = 0; j < n; j++) sum[j] += scale * row[j];
}

static void sample_forward(const net_layer *layer, const float *params, lgv_obs_form form,
                           int32_t index, float scale, float *out) {
  int64_t n = layer->outputs;
  const float *weights = params + layer->weights, *bias = params + layer->biases;
  for (int64_t j = 0; j < n; j++) out[j] = bias[layer->n_biases == 1 ? 0 : j];
  if (form == LGV_FORM_ONE_HOT) {
    if (index >= 0) add_row(out, weights + index * n, scale, n);
  } else {
    for (int64_t i = 0; i < index; i++) add_row(out, weights + i * n, scale, n);
  }
}

void layer_index_forward(const net_layer *layer, const float *params, lgv_obs_form form,
                         const int32_t *index, float scale, int64_t batch, bool rectify,
                         float *out) {
  int64_t n = layer->outputs;
  for (int64_t s = 0; s < batch; s++)
    sample_forward(layer, params, form, index[s], scale, out + s * n);
  if (!rectify) return;
  for (int64_t i = 0; i < batch * n; i++) out[i] = out[i] > 0 ? out[i] : 0;
}

void layer_index_backward(const net_layer *layer, lgv_obs_form form, const int32_t *index,
                          float scale, int64_t batch, const float *d_out, float *grad) {
  int64_t n = layer->outputs;
  float *weights = grad + layer->weights, *bias = grad + layer->biases;
  memset(weights, 0, (size_t)layer->n_weights * sizeof *weights);
  memset(bias, 0, (size_t)layer->n_biases * sizeof *bias);
  for (int64_t s = 0; s < batch; s++) {
    const float *d = d_out + s * n;
    int64_t row = form == LGV_FORM_ONE_HOT ? index[s] : index[s] - 1;
    if (row >= 0) add_row(weights + row * n, d, scale, n);
    for (int64_t j = 0; j < n; j++) bias[layer->n_biases == 1 ? 0 : j] += d[j];
  }
  if (form == LGV_FORM_THERMOMETER)
    for (int64_t i = layer->inputs - 2; i >= 0; i--)
      add_row(weights + i * n, weights + (i + 1) * n, 1, n);
}
