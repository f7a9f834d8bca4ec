/* Layers: functions over (layer, parameters, activations). Hidden layers end in the rectifier.
 *
 * d_out of a backward pass is the loss's derivative before the rectifier. d_in is gated by the
 * rectifier of the layer below, of which `in` are the activations, so that it is the d_out of that
 * layer; NULL if there is none to hand it to. Backward passes overwrite the layer's part of grad.
 */
#ifndef LGV_NN_LAYERS_H
#define LGV_NN_LAYERS_H

#include "nn/net.h"

void layer_dense_forward(const net_layer *layer, const float *params, const float *in,
                         int64_t batch, bool rectify, float *out);
void layer_dense_backward(const net_layer *layer, const float *params, const float *in,
                          int64_t batch, const float *d_out, float *d_in, float *transposed,
                          float *grad);

/* A dense first layer whose inputs are 0 except for the ones that an index stands for, times scale
 * (see net_input). */
void layer_index_forward(const net_layer *layer, const float *params, lgv_obs_form form,
                         const int32_t *index, float scale, int64_t batch, bool rectify,
                         float *out);
void layer_index_backward(const net_layer *layer, lgv_obs_form form, const int32_t *index,
                          float scale, int64_t batch, const float *d_out, float *grad);

#endif
