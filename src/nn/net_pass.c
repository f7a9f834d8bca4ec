/* Forward and backward passes, layer by layer over the whole batch. Images given as bytes are an
 * exception: they are converted to floats in groups just before the first convolution needs them,
 * so that they are still in the cache. */
#include "math/kernels.h"
#include "nn/layers.h"

#include <assert.h>

static void map(const net *n, net_input input, int64_t first, int64_t count, float *out) {
  int64_t length = net_obs_length(n);
  const net_map *m = &input.map;
  if (input.bytes)
    lgv__kernels()->from_bytes_by(count, length, input.bytes + first * length, m->gain, out);
  else
    lgv__kernels()->standardize(count, length, input.dense + first * length, m->shift, m->gain,
                                m->clip, out);
}

static const float *convert(const net *n, net_input input, int64_t first, int64_t count,
                            float *out) {
  int64_t length = net_obs_length(n), numbers = count * length;
  float scale = n->shape.input_scale;
  if (n->shape.maps_input)
    map(n, input, first, count, out);
  else if (input.bytes)
    lgv__kernels()->from_bytes(numbers, input.bytes + first * length, scale, out);
  else
    for (int64_t i = 0; i < numbers; i++) out[i] = scale * input.dense[first * length + i];
  return out;
}

/* The number of samples per step of the first convolution. */
static int64_t first_group(const net *n, const net_tape *tape, int64_t batch) {
  int64_t group = net_converts_input(n) ? tape->places[0].group : batch;
  return group < batch ? group : batch;
}

static const float *images(const net *n, net_input input, int64_t first, int64_t count,
                           const net_tape *tape) {
  if (net_converts_input(n)) return convert(n, input, first, count, tape->input);
  return input.dense + first * net_obs_length(n);
}

static void first_forward(const net *n, const float *params, net_input input, int64_t batch,
                          net_tape *tape) {
  const net_layer *layer = &n->layer[0];
  bool rectify = n->n_layers > 1;
  float *out = tape->activation[0];
  if (net_takes_index(n)) {
    lgv__layer_index_forward(layer, params, n->shape.obs_form, input.index, n->shape.input_scale,
                             batch, rectify, tape->scratch, out);
  } else if (layer->kernel) {
    int64_t group = first_group(n, tape, batch), length = net_layer_length(layer);
    for (int64_t s = 0; s < batch; s += group) {
      int64_t count = batch - s < group ? batch - s : group;
      lgv__layer_conv_forward(layer, &tape->places[0], params, images(n, input, s, count, tape),
                              count, out + s * length);
    }
  } else {
    const float *in = input.dense;
    if (net_converts_input(n)) in = convert(n, input, 0, batch, tape->input);
    lgv__layer_dense_forward(layer, params, in, batch, rectify, out);
  }
}

const float *lgv__net_forward(const net *n, const float *params, net_input input, int64_t batch,
                              net_tape *tape) {
  assert(batch <= tape->batch);
  assert(!n->embedding || (input.tau && input.taus <= n->shape.taus));
  assert(!n->shape.maps_input || input.map.gain);
  tape->taus = n->embedding ? input.taus : 1;
  first_forward(n, params, input, batch, tape);
  for (int32_t l = 1; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    const float *in = tape->activation[l - 1];
    if (layer->kernel)
      lgv__layer_conv_forward(layer, &tape->places[l], params, in, batch, tape->activation[l]);
    else if (l == n->embedding)
      lgv__layer_embed_forward(layer, params, input.tau, tape->taus, in, batch, tape->cosine,
                               tape->psi, tape->activation[l]);
    else
      lgv__layer_dense_forward(layer, params, in, net_rows(n, l, batch, tape->taus),
                               l < n->n_layers - 1, tape->activation[l]);
  }
  return tape->activation[n->n_layers - 1];
}

static void first_backward(const net *n, const float *params, net_input input, int64_t batch,
                           net_tape *tape, const float *d_out, float *grad) {
  const net_layer *layer = &n->layer[0];
  if (net_takes_index(n)) {
    lgv__layer_index_backward(layer, n->shape.obs_form, input.index, n->shape.input_scale, batch,
                              d_out, grad);
  } else if (layer->kernel) {
    int64_t group = first_group(n, tape, batch), length = net_layer_length(layer);
    for (int64_t s = 0; s < batch; s += group) {
      int64_t count = batch - s < group ? batch - s : group;
      lgv__layer_conv_weights(layer, &tape->places[0], images(n, input, s, count, tape), count,
                              d_out + s * length, s > 0, grad);
    }
    lgv__layer_conv_biases(layer, batch, d_out, grad);
  } else {
    const float *in = net_converts_input(n) ? tape->input : input.dense;
    lgv__layer_dense_backward(layer, params, in, batch, d_out, NULL, tape->scratch, grad);
  }
}

void lgv__net_backward(const net *n, const float *params, net_input input, int64_t batch,
                       net_tape *tape, const float *d_outputs, float core_scale, float *grad) {
  assert(batch <= tape->batch && (tape->delta[0] || n->n_layers == 1));
  const float *d_out = d_outputs;
  for (int32_t l = n->n_layers - 1; l > 0; l--) {
    const net_layer *layer = &n->layer[l];
    const float *in = tape->activation[l - 1];
    float *d_in = tape->delta[l & 1];
    int64_t rows = net_rows(n, l, batch, tape->taus);
    if (layer->kernel) {
      lgv__layer_conv_weights(layer, &tape->places[l], in, batch, d_out, false, grad);
      lgv__layer_conv_biases(layer, batch, d_out, grad);
      lgv__layer_conv_inputs(layer, &tape->places[l], params, in, batch, d_out, tape->scratch,
                             d_in);
    } else if (l == n->embedding) {
      lgv__layer_embed_backward(layer, params, in, tape->cosine, tape->psi, batch, tape->taus,
                                d_out, d_in, tape->scratch, grad);
    } else {
      lgv__layer_dense_backward(layer, params, in, rows, d_out, d_in, tape->scratch, grad);
    }
    if (l == n->n_layers - 1 && core_scale != 1)
      lgv__kernels()->scale(rows * layer->inputs, core_scale, d_in);
    d_out = d_in;
  }
  first_backward(n, params, input, batch, tape, d_out, grad);
}

/* Whether output j of a layer is 0 in every row. */
static bool is_dead(const float *activation, int64_t rows, int64_t outputs, int64_t j) {
  for (int64_t r = 0; r < rows; r++)
    if (activation[r * outputs + j] > 0) return false;
  return true;
}

double lgv__net_dead_share(const net *n, const net_tape *tape, int64_t batch) {
  int64_t units = 0, dead = 0;
  for (int32_t l = 0; l < n->n_layers - 1; l++) {
    int64_t outputs = n->layer[l].outputs;
    int64_t rows = net_rows(n, l, batch, tape->taus) * net_layer_length(&n->layer[l]) / outputs;
    units += outputs;
    for (int64_t j = 0; j < outputs; j++) dead += is_dead(tape->activation[l], rows, outputs, j);
  }
  return units ? (double)dead / (double)units : 0;
}
