/* Layer normalization. Ba, Kiros, Hinton, "Layer normalization" (2016); kernel_norm.c has the
 * equations. A convolution is normalized over places and channels together, with a gain and a shift
 * per channel (as by PyTorch's GroupNorm with one group). */
#include "math/kernels.h"
#include "nn/layers.h"

void lgv__layer_norm_forward(const net_layer *layer, const float *params, int64_t rows, float *out,
                             float *normalized, float *scale) {
  lgv__kernels()->normalize(rows, net_layer_length(layer) / layer->outputs, layer->outputs,
                            params + layer->gains, params + layer->shifts, out, normalized, scale);
}

void lgv__layer_norm_backward(const net_layer *layer, const float *params, int64_t rows,
                              const float *normalized, const float *scale, float *d_out,
                              float *grad) {
  int64_t places = net_layer_length(layer) / layer->outputs, units = layer->outputs;
  const lgv_kernel_set *kernels = lgv__kernels();
  kernels->column_dots(rows * places, units, d_out, normalized, grad + layer->gains);
  kernels->column_sums(rows * places, units, d_out, grad + layer->shifts);
  kernels->normalize_back(rows, places, units, params + layer->gains, normalized, scale, d_out);
}
