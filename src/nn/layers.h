/* Layers as functions of (layer, parameters, activations). Hidden layers end with the rectifier.
 *
 * In a backward pass, d_out is the derivative of the loss before the layer's rectifier. d_in is
 * gated by the rectifier of the layer below, whose activations are `in`, so that it is the d_out of
 * that layer; it is NULL if there is no layer below. Backward passes overwrite the layer's part of
 * grad. scratch has the size that the layer's _scratch function returns. */
#ifndef LGV_NN_LAYERS_H
#define LGV_NN_LAYERS_H

#include "nn/net.h"

/* ---- Properties of a network ---- */

static inline bool net_takes_index(const net *n) { return n->shape.obs_form != LGV_FORM_DENSE; }

static inline int64_t net_obs_length(const net *n) {
  return (int64_t)n->shape.obs_shape[0] * n->shape.obs_shape[1] * n->shape.obs_shape[2];
}

/* Whether inputs must be converted, scaled or mapped before the first layer. */
static inline bool net_converts_input(const net *n) {
  return !net_takes_index(n) &&
         (n->shape.obs_kind == LGV_OBS_BYTE || n->shape.input_scale != 1 || n->shape.maps_input);
}

/* The number of activations of a layer per sample. */
static inline int64_t net_layer_length(const net_layer *layer) {
  return (layer->kernel ? (int64_t)layer->out_height * layer->out_width : 1) * layer->outputs;
}

/* The number of rows of a layer's activations for `batch` samples. */
static inline int64_t net_rows(const net *n, int32_t layer, int64_t batch, int64_t taus) {
  return n->embedding && layer >= n->embedding ? batch * taus : batch;
}

/* ---- Dense ---- */

void lgv__layer_dense_forward(const net_layer *layer, const float *params, const float *in,
                              int64_t batch, bool rectify, float *out);
void lgv__layer_dense_backward(const net_layer *layer, const float *params, const float *in,
                               int64_t batch, const float *d_out, float *d_in, float *scratch,
                               float *grad);
int64_t lgv__layer_dense_scratch(const net_layer *layer, int64_t batch); /* of the backward pass */

/* The same layer as the first one, with sparse inputs: scale at the places that an index encodes
 * (net_input), 0 elsewhere. */
void lgv__layer_index_forward(const net_layer *layer, const float *params, lgv_obs_form form,
                              const int32_t *index, float scale, int64_t batch, bool rectify,
                              float *scratch, float *out);
void lgv__layer_index_backward(const net_layer *layer, lgv_obs_form form, const int32_t *index,
                               float scale, int64_t batch, const float *d_out, float *grad);
/* Of the forward pass. */
int64_t lgv__layer_index_scratch(const net_layer *layer, lgv_obs_form form);

/* ---- The embedding of tau: out = features * psi, psi = rectified(cosine W + b), for every tau of
 * every sample. d_out is 0 where out is. psi is overwritten by the backward pass. ---- */

void lgv__layer_embed_forward(const net_layer *layer, const float *params, const float *tau,
                              int64_t taus, const float *features, int64_t batch, float *cosine,
                              float *psi, float *out);
void lgv__layer_embed_backward(const net_layer *layer, const float *params, const float *features,
                               const float *cosine, float *psi, int64_t batch, int64_t taus,
                               const float *d_out, float *d_in, float *scratch, float *grad);

/* ---- Convolution: VALID, images as (height x width x channels) ---- */

int64_t lgv__layer_conv_places(const net_layer *layer); /* of one image */
int64_t lgv__layer_conv_window(const net_layer *layer); /* its length */
int64_t lgv__layer_conv_group(const net_layer *layer);
void lgv__layer_conv_locate(const net_layer *layer,
                            conv_places *places); /* fills corner and window */
void lgv__layer_conv_forward(const net_layer *layer, const conv_places *places, const float *params,
                             const float *in, int64_t batch, float *out);
/* With `add`, adds to the gradient of the weights, so that images can be processed in groups. */
void lgv__layer_conv_weights(const net_layer *layer, const conv_places *places, const float *in,
                             int64_t batch, const float *d_out, bool add, float *grad);
void lgv__layer_conv_biases(const net_layer *layer, int64_t batch, const float *d_out, float *grad);
/* The backward pass to the layer below; scratch: n_weights floats. */
void lgv__layer_conv_inputs(const net_layer *layer, const conv_places *places, const float *params,
                            const float *in, int64_t batch, const float *d_out, float *scratch,
                            float *d_in);

#endif
