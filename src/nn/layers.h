/* Layers as functions of (layer, parameters, activations). Hidden layers end with the rectifier;
 * normalized ones leave it to the normalization, which follows.
 *
 * In a backward pass, d_out is the derivative of the loss before the layer's rectifier, or before
 * its normalization. d_in is gated by the rectifier of the layer below, whose activations are `in`,
 * so that it is the d_out of that layer; it is NULL if there is no layer below. Backward passes
 * overwrite the layer's part of grad. scratch has the size that the layer's _scratch function
 * returns. */
#ifndef LGV_NN_LAYERS_H
#define LGV_NN_LAYERS_H

#include "nn/net.h"

/* ---- Properties of a network ---- */

static inline bool net_takes_index(const net *n) { return n->shape.obs_form != LGV_FORM_DENSE; }

static inline int64_t net_obs_length(const net *n) {
  return (int64_t)n->shape.obs_shape[0] * n->shape.obs_shape[1] * n->shape.obs_shape[2];
}

/* The numbers of a sample that the first layer takes. */
static inline int64_t net_input_row(const net *n) {
  return net_obs_length(n) + (n->joins ? 0 : n->shape.vector);
}

/* Whether inputs must be converted, scaled, mapped or gathered before the first layer. */
static inline bool net_converts_input(const net *n) {
  return !net_takes_index(n) && (n->shape.obs_kind == LGV_OBS_BYTE || n->shape.input_scale != 1 ||
                                 n->shape.maps_input || n->shape.vector > 0);
}

/* The places of a layer's outputs: 1 unless it is a convolution. */
static inline int64_t net_layer_places(const net_layer *layer) {
  return layer->kernel ? (int64_t)layer->out_height * layer->out_width : 1;
}

/* The number of activations of a layer per sample. */
static inline int64_t net_layer_length(const net_layer *layer) {
  return net_layer_places(layer) * layer->outputs;
}

/* The numbers of a sample that enter the layer that a vector joins, the vector included. */
static inline int64_t net_join_length(const net *n) {
  return net_layer_length(&n->layer[n->joins - 1]) + n->shape.vector;
}

/* Whether a layer's linear map is followed by the rectifier at once. */
static inline bool net_layer_rectifies(const net_layer *layer) {
  return layer->hidden && !layer->normalized;
}

/* The number of rows of a layer's activations for `batch` samples. */
static inline int64_t net_rows(const net *n, int32_t layer, int64_t batch, int64_t taus) {
  return n->embedding && layer >= n->embedding ? batch * taus : batch;
}

/* ---- Parts of passes (net_pass.c) ---- */

/* The backward pass of a dense layer's linear map, in the precision of the network. grad may be
 * NULL: then only d_in is computed. */
void lgv__net_map_backward(const net *n, const float *params, int32_t l, const float *in,
                           const float *gate, int64_t rows, net_tape *tape, const float *d_out,
                           float *d_in, float *grad);
/* Converts numbers [first, first + count) of one observation, without its vector. */
void lgv__net_convert_part(const net *n, net_input input, int64_t sample, int64_t first,
                           int64_t count, float *out);

/* ---- Dense ---- */

/* in, d_in and gate have rows of layer->in_row numbers, of which the layer takes and writes its
 * own. gate: `in`; NULL: d_in is not gated. grad: NULL if only d_in is wanted. */
void lgv__layer_dense_forward(const net_layer *layer, const float *params, const float *in,
                              int64_t batch, float *out);
void lgv__layer_dense_backward(const net_layer *layer, const float *params, const float *in,
                               const float *gate, int64_t batch, const float *d_out, float *d_in,
                               float *scratch, float *grad);
int64_t lgv__layer_dense_scratch(const net_layer *layer, int64_t batch); /* of the backward pass */

/* The same layer as the first one, with sparse inputs: scale at the places that an index encodes
 * (net_input), 0 elsewhere. */
void lgv__layer_index_forward(const net_layer *layer, const float *params, lgv_obs_form form,
                              const int32_t *index, float scale, int64_t batch, float *scratch,
                              float *out);
void lgv__layer_index_backward(const net_layer *layer, lgv_obs_form form, const int32_t *index,
                               float scale, int64_t batch, const float *d_out, float *grad);
/* Of the forward pass. */
int64_t lgv__layer_index_scratch(const net_layer *layer, lgv_obs_form form);

/* ---- Dueling outputs: q holds A (rows x outputs), then Q ---- */

void lgv__dueling_forward(const net_shape *shape, int64_t rows, const float *value, float *q);
void lgv__dueling_backward(const net_shape *shape, int64_t rows, const float *d_q, float *d_value,
                           float *d_advantage);

/* ---- The embedding of tau: out = features * psi, psi = rectified(cosine W + b), for every tau of
 * every sample; W and b are a dense layer's. ---- */

void lgv__layer_embed_cosines(const net_layer *layer, const float *tau, int64_t rows,
                              float *cosine); /* rows: batch x taus */
void lgv__layer_embed_forward(const net_layer *layer, int64_t taus, const float *features,
                              int64_t rows, const float *psi, float *out);
/* d_out need not be gated. psi becomes the d_out of the dense layer. */
void lgv__layer_embed_backward(const net_layer *layer, const float *features, float *psi,
                               int64_t batch, int64_t taus, const float *d_out, float *d_in);

/* ---- Convolution: VALID, images as (height x width x channels) ---- */

int64_t lgv__layer_conv_window(const net_layer *layer); /* its length */
int64_t lgv__layer_conv_image(const net_layer *layer);  /* the length of an image */
int64_t lgv__layer_conv_group(const net_layer *layer);  /* images per product */
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
