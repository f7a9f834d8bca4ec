/* Sparse first layers.
 *
 * One-hot: a sample adds one row of the weights. Thermometer: it adds the first c rows, so running
 * sums over the rows serve all samples of a batch, and the gradient of row i is the sum of the
 * derivatives of all samples with c > i. Both passes take O((batch + inputs) outputs). */
#include "math/kernels.h"
#include "nn/layers.h"

#include <string.h>

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
                              const int32_t *index, float scale, int64_t batch, bool rectify,
                              float *scratch, float *out) {
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
    if (rectify) kernels->rectify(n, out);
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
  lgv__layer_bias_gradient(layer, batch, d_out, grad);
  memset(weights, 0, (size_t)layer->n_weights * sizeof *weights);
  for (int64_t s = 0; s < batch; s++) {
    int64_t row = form == LGV_FORM_ONE_HOT ? index[s] : index[s] - 1;
    if (row >= 0) kernels->add_scaled(n, d_out + s * n, scale, weights + row * n);
  }
  if (form == LGV_FORM_THERMOMETER) kernels->sum_up(layer->inputs, n, weights);
}
