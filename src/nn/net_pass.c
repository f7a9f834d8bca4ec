/* Forward and backward passes, layer by layer over the whole batch. Images given as bytes are an
 * exception: they are converted to floats in groups just before the first convolution needs them,
 * so that they are still in the cache. */
#include "math/kernels.h"
#include "math/matmul_threads.h"
#include "nn/blocks.h"
#include "nn/layers.h"

#include <assert.h>
#include <string.h>

/* ---- Inputs ---- */

/* Converts `count` observations of `length` numbers, without their vectors, or a part of one; one
 * of bytes and dense is given. */
static void convert_numbers(const net *n, net_map map, const uint8_t *bytes, const float *dense,
                            int64_t count, int64_t length, float *out) {
  int64_t numbers = count * length;
  const lgv_kernel_set *kernels = lgv__kernels();
  float scale = n->shape.input_scale;
  assert(bytes || dense);
  if (n->shape.maps_input && bytes)
    kernels->from_bytes_by(count, length, bytes, map.gain, out);
  else if (n->shape.maps_input)
    kernels->standardize(count, length, dense, map.shift, map.gain, map.clip, out);
  else if (bytes)
    kernels->from_bytes(numbers, bytes, scale, out);
  else
    for (int64_t i = 0; i < numbers; i++) out[i] = scale * dense[i];
}

static void convert_observations(const net *n, net_map map, const uint8_t *bytes,
                                 const float *dense, int64_t count, float *out) {
  convert_numbers(n, map, bytes, dense, count, net_obs_length(n), out);
}

static const float *floats_at(const void *first, int64_t bytes) {
  return (const float *)(const void *)((const char *)first + bytes);
}

void lgv__net_convert_part(const net *n, net_input input, int64_t sample, int64_t first,
                           int64_t count, float *out) {
  int64_t item = input.bytes ? 1 : (int64_t)sizeof(float);
  int64_t stride = n->shape.vector > 0 ? input.stride : net_obs_length(n) * item;
  int64_t at = sample * stride + first * item;
  net_map map = input.map;
  if (n->shape.maps_input) {
    map.gain += first;
    map.shift = map.shift ? map.shift + first : NULL;
  }
  convert_numbers(n, map, input.bytes ? input.bytes + at : NULL,
                  input.dense ? floats_at(input.dense, at) : NULL, 1, count, out);
}

static void copy_vector(const net *n, net_input input, int64_t sample, float *out) {
  const float *vector = floats_at(input.vector, sample * input.stride);
  int64_t count = n->shape.vector, at = net_obs_length(n);
  if (n->shape.maps_input)
    lgv__kernels()->standardize(1, count, vector, input.map.shift + at, input.map.gain + at,
                                input.map.clip, out);
  else
    memcpy(out, vector, (size_t)count * sizeof *out);
}

/* One observation that a vector accompanies; an MLP takes the vector as well. */
static void convert_sample(const net *n, net_input input, int64_t sample, float *out) {
  int64_t at = sample * input.stride;
  convert_observations(n, input.map, input.bytes ? input.bytes + at : NULL,
                       input.dense ? floats_at(input.dense, at) : NULL, 1, out);
  if (!n->joins) copy_vector(n, input, sample, out + net_obs_length(n));
}

static const float *convert(const net *n, net_input input, int64_t first, int64_t count,
                            float *out) {
  int64_t at = first * net_obs_length(n);
  if (n->shape.vector == 0)
    convert_observations(n, input.map, input.bytes ? input.bytes + at : NULL,
                         input.dense ? input.dense + at : NULL, count, out);
  for (int64_t s = 0; n->shape.vector > 0 && s < count; s++)
    convert_sample(n, input, first + s, out + s * net_input_row(n));
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

/* The activations that enter a layer above the first. */
static const float *inputs_of(const net *n, const net_tape *tape, int32_t l) {
  if (n->joins && l == n->joins) return tape->joined;
  return tape->activation[l < n->n_hidden ? l - 1 : n->n_hidden - 1];
}

/* ---- Layer normalization: kernel_norm.c has the equations ---- */

static void normalize(const net *n, const float *params, int64_t batch, int32_t l, net_tape *tape) {
  const net_layer *layer = &n->layer[l];
  lgv__kernels()->normalize(net_rows(n, l, batch, tape->taus), net_layer_places(layer),
                            layer->outputs, params + layer->gains, params + layer->shifts,
                            tape->activation[l], tape->normalized[l], tape->norm_scale[l]);
}

/* d_out, the derivative before the rectifier, becomes that before the normalization. grad may be
 * NULL. */
static void normalize_back(const net *n, const float *params, int64_t batch, int32_t l,
                           const net_tape *tape, float *d_out, float *grad) {
  const net_layer *layer = &n->layer[l];
  int64_t rows = net_rows(n, l, batch, tape->taus), places = net_layer_places(layer);
  const float *normalized = tape->normalized[l];
  const lgv_kernel_set *kernels = lgv__kernels();
  if (grad) {
    kernels->column_dots(rows * places, layer->outputs, d_out, normalized, grad + layer->gains);
    kernels->column_sums(rows * places, layer->outputs, d_out, grad + layer->shifts);
  }
  kernels->normalize_back(rows, places, layer->outputs, params + layer->gains, normalized,
                          tape->norm_scale[l], d_out);
}

/* ---- Linear maps ---- */

/* A dense layer's, with the rectifier if it has one. */
static void map_forward(const net *n, const float *params, int32_t l, const float *in, int64_t rows,
                        net_tape *tape, float *out) {
  const net_layer *layer = &n->layer[l];
  block_input input = {.x = in, .row = layer->in_row};
  if (lgv__net_uses_blocks(n, l))
    lgv__block_forward(n, params, l, input, rows, out, tape);
  else
    lgv__layer_dense_forward(layer, params, in, rows, out);
}

void lgv__net_map_backward(const net *n, const float *params, int32_t l, const float *in,
                           const float *gate, int64_t rows, net_tape *tape, const float *d_out,
                           float *d_in, float *grad) {
  const net_layer *layer = &n->layer[l];
  if (!lgv__net_uses_blocks(n, l)) {
    lgv__layer_dense_backward(layer, params, in, gate, rows, d_out, d_in, tape->scratch, grad);
    return;
  }
  lgv__net_tiles_use(tape->tiles, params);
  if (grad) {
    lgv__kernels()->column_sums(rows, layer->outputs, d_out, grad + layer->biases);
    lgv__block_weights(n, l, (block_input){.x = in, .row = layer->in_row}, rows, d_out, tape, grad);
  }
  if (d_in) lgv__block_inputs(n, params, l, gate, layer->in_row, rows, d_out, tape, d_in);
}

/* Before a pass: tiles that nobody shares, or whose parameters nobody guards, are made anew. */
static void begin_blocks(const float *params, net_tape *tape) {
  if (!tape->tiles) return;
  bool exposed = tape->tiles->exposed && *tape->tiles->exposed;
  if (tape->tiles == &tape->own_tiles || exposed) lgv__net_tiles_changed(tape->tiles, NULL);
  lgv__net_tiles_use(tape->tiles, params);
  lgv__block_begin();
}

static void end_blocks(const net_tape *tape) {
  if (tape->tiles) lgv__block_end();
}

/* ---- Forward ---- */

/* The pictures that a first convolution in bf16 takes. */
static block_input pictures(const net *n, const net_input *input) {
  return (block_input){
      .x = input->dense, .row = net_obs_length(n), .convert = net_converts_input(n) ? input : NULL};
}

static void first_forward(const net *n, const float *params, net_input input, int64_t batch,
                          net_tape *tape) {
  const net_layer *layer = &n->layer[0];
  float *out = tape->activation[0];
  if (net_takes_index(n)) {
    lgv__layer_index_forward(layer, params, n->shape.obs_form, input.index, n->shape.input_scale,
                             batch, tape->scratch, out);
  } else if (layer->kernel && lgv__net_uses_blocks(n, 0)) {
    lgv__block_forward(n, params, 0, pictures(n, &input), batch, out, tape);
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
    map_forward(n, params, 0, in, batch, tape, out);
  }
}

static void layer_forward(const net *n, const float *params, net_input input, int64_t batch,
                          int32_t l, net_tape *tape) {
  const net_layer *layer = &n->layer[l];
  const float *in = inputs_of(n, tape, l);
  float *out = tape->activation[l];
  int64_t rows = net_rows(n, l, batch, tape->taus);
  if (layer->kind == LAYER_EMBEDDING) {
    lgv__layer_embed_cosines(layer, input.tau, rows, tape->cosine);
    map_forward(n, params, l, tape->cosine, rows, tape, tape->psi);
    lgv__layer_embed_forward(layer, tape->taus, in, rows, tape->psi, out);
  } else if (layer->kind == LAYER_CONV && !lgv__net_uses_blocks(n, l)) {
    lgv__layer_conv_forward(layer, &tape->places[l], params, in, batch, out);
  } else if (layer->kind == LAYER_CONV) {
    block_input image = {.x = in, .row = lgv__layer_conv_image(layer)};
    lgv__block_forward(n, params, l, image, batch, out, tape);
  } else {
    map_forward(n, params, l, in, rows, tape, out);
  }
}

/* Puts the vector behind the outputs of the last convolution. */
static void join(const net *n, net_input input, int64_t batch, net_tape *tape) {
  int64_t all = net_join_length(n), own = all - n->shape.vector;
  const float *features = tape->activation[n->joins - 1];
  for (int64_t s = 0; s < batch; s++) {
    float *to = tape->joined + s * all;
    memcpy(to, features + s * own, (size_t)own * sizeof *to);
    copy_vector(n, input, s, to + own);
  }
}

const float *lgv__net_forward(const net *n, const float *params, net_input input, int64_t batch,
                              net_tape *tape) {
  int32_t last = n->n_layers - 1;
  assert(batch <= tape->batch);
  assert(!n->embedding || (input.tau && input.taus <= n->shape.taus));
  assert(n->shape.vector == 0 || input.vector);
  assert(!n->shape.maps_input || input.map.gain);
  tape->taus = n->embedding ? input.taus : 1;
  begin_blocks(params, tape);
  for (int32_t l = 0; l <= last; l++) {
    if (l == 0)
      first_forward(n, params, input, batch, tape);
    else
      layer_forward(n, params, input, batch, l, tape);
    if (n->layer[l].normalized) normalize(n, params, batch, l, tape);
    if (n->joins && l + 1 == n->joins) join(n, input, batch, tape);
  }
  end_blocks(tape);
  if (n->shape.dueling)
    lgv__dueling_forward(&n->shape, net_rows(n, last, batch, tape->taus),
                         tape->activation[last - 1], tape->activation[last]);
  return tape->activation[last];
}

/* ---- Backward ---- */

static void first_backward(const net *n, const float *params, net_input input, int64_t batch,
                           net_tape *tape, const float *d_out, float *grad) {
  const net_layer *layer = &n->layer[0];
  if (net_takes_index(n)) {
    lgv__layer_index_backward(layer, n->shape.obs_form, input.index, n->shape.input_scale, batch,
                              d_out, grad);
  } else if (layer->kernel && lgv__net_uses_blocks(n, 0)) {
    lgv__block_weights(n, 0, pictures(n, &input), batch, d_out, tape, grad);
    lgv__layer_conv_biases(layer, batch, d_out, grad);
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
    lgv__net_map_backward(n, params, 0, in, NULL, batch, tape, d_out, NULL, grad);
  }
}

/* Leaves what belongs to the convolution below: the vector is an input. */
static void take_apart(const net *n, int64_t batch, float *d_in) {
  int64_t all = net_join_length(n), own = all - n->shape.vector;
  for (int64_t s = 1; s < batch; s++)
    memmove(d_in + s * own, d_in + s * all, (size_t)own * sizeof *d_in);
}

static void conv_backward(const net *n, const float *params, int64_t batch, int32_t l,
                          net_tape *tape, const float *d_out, float *d_in, float *grad) {
  const net_layer *layer = &n->layer[l];
  const conv_places *places = &tape->places[l];
  const float *in = inputs_of(n, tape, l);
  int64_t image = lgv__layer_conv_image(layer);
  lgv__layer_conv_biases(layer, batch, d_out, grad);
  if (lgv__net_uses_blocks(n, l)) {
    lgv__block_weights(n, l, (block_input){.x = in, .row = image}, batch, d_out, tape, grad);
    lgv__block_inputs(n, params, l, in, image, batch, d_out, tape, d_in);
  } else {
    lgv__layer_conv_weights(layer, places, in, batch, d_out, false, grad);
    lgv__layer_conv_inputs(layer, places, params, in, batch, d_out, tape->scratch, d_in);
  }
}

static void layer_backward(const net *n, const float *params, int64_t batch, int32_t l,
                           net_tape *tape, const float *d_out, float *d_in, float *grad) {
  const net_layer *layer = &n->layer[l];
  const float *in = inputs_of(n, tape, l);
  int64_t rows = net_rows(n, l, batch, tape->taus);
  if (layer->kind == LAYER_CONV) {
    conv_backward(n, params, batch, l, tape, d_out, d_in, grad);
  } else if (layer->kind == LAYER_EMBEDDING) {
    lgv__layer_embed_backward(layer, in, tape->psi, batch, tape->taus, d_out, d_in);
    lgv__net_map_backward(n, params, l, tape->cosine, NULL, rows, tape, tape->psi, NULL, grad);
  } else {
    /* A feature from the vector may be negative, and so may its product with psi. */
    bool mixed = n->joins && n->embedding && l == n->embedding + 1;
    lgv__net_map_backward(n, params, l, in, mixed ? NULL : in, rows, tape, d_out, d_in, grad);
  }
  if (n->joins && l == n->joins) take_apart(n, batch, d_in);
}

/* The output layer, or V and A; returns the derivative of the last hidden layer. */
static float *output_backward(const net *n, const float *params, int64_t batch, net_tape *tape,
                              const float *d_outputs, float core_scale, float *grad) {
  int32_t last = n->n_layers - 1;
  int64_t rows = net_rows(n, last, batch, tape->taus);
  float *d_in = tape->delta[n->n_hidden & 1];
  if (n->shape.dueling) {
    lgv__dueling_backward(&n->shape, rows, d_outputs, tape->d_value, tape->d_advantage);
    layer_backward(n, params, batch, last - 1, tape, tape->d_value, d_in, grad);
    d_outputs = tape->d_advantage;
  }
  layer_backward(n, params, batch, last, tape, d_outputs, d_in, grad);
  if (core_scale != 1) lgv__kernels()->scale(rows * n->layer[last].in_row, core_scale, d_in);
  return d_in;
}

void lgv__net_backward(const net *n, const float *params, net_input input, int64_t batch,
                       net_tape *tape, const float *d_outputs, float core_scale, float *grad) {
  assert(batch <= tape->batch && (tape->delta[0] || n->n_layers == 1));
  if (n->n_layers == 1) {
    first_backward(n, params, input, batch, tape, d_outputs, grad);
    return;
  }
  begin_blocks(params, tape);
  float *d_out = output_backward(n, params, batch, tape, d_outputs, core_scale, grad);
  for (int32_t l = n->n_hidden - 1; l >= 0; l--) {
    if (n->layer[l].normalized) normalize_back(n, params, batch, l, tape, d_out, grad);
    if (l == 0) break;
    float *d_in = tape->delta[l & 1];
    layer_backward(n, params, batch, l, tape, d_out, d_in, grad);
    d_out = d_in;
  }
  first_backward(n, params, input, batch, tape, d_out, grad);
  end_blocks(tape);
}

/* The derivatives of a layer's last `count` inputs: D W^T for the last rows of W. */
static void last_inputs_backward(const net_layer *layer, const float *params, int64_t batch,
                                 const float *d_out, int64_t count, float *scratch,
                                 float *d_inputs) {
  int64_t n = layer->outputs;
  const float *weights = params + layer->weights + (layer->inputs - count) * n;
  lgv__kernels()->transpose(count, n, weights, n, NULL, scratch, count);
  lgv__matmul_threads_product(&(lgv_product){.m = batch,
                                             .n = count,
                                             .k = n,
                                             .a = d_out,
                                             .a_row = n,
                                             .a_col = 1,
                                             .b = scratch,
                                             .b_row = count,
                                             .c = d_inputs,
                                             .c_row = count});
}

void lgv__net_backward_inputs(const net *n, const float *params, int64_t batch, net_tape *tape,
                              const float *d_outputs, int64_t count, float *scratch,
                              float *d_inputs) {
  assert(batch <= tape->batch && !n->embedding && !n->shape.dueling && !net_takes_index(n));
  const float *d_out = d_outputs;
  begin_blocks(params, tape);
  for (int32_t l = n->n_layers - 1; l >= n->joins; l--) {
    if (n->layer[l].normalized)
      normalize_back(n, params, batch, l, tape, tape->delta[(l + 1) & 1], NULL);
    if (l == n->joins) break;
    float *d_in = tape->delta[l & 1];
    const float *in = inputs_of(n, tape, l);
    lgv__net_map_backward(n, params, l, in, in, batch, tape, d_out, d_in, NULL);
    d_out = d_in;
  }
  end_blocks(tape);
  last_inputs_backward(&n->layer[n->joins], params, batch, d_out, count, scratch, d_inputs);
}

static void keep(float *x, int64_t length, const int32_t *rows, int64_t count) {
  for (int64_t i = 0; x && i < count; i++)
    if (rows[i] != i) memcpy(x + i * length, x + rows[i] * length, (size_t)length * sizeof *x);
}

void lgv__net_keep_rows(const net *n, net_tape *tape, const int32_t *rows, int64_t count) {
  assert(!n->embedding);
  for (int32_t l = n->joins; l < n->n_hidden; l++) {
    int64_t length = net_layer_length(&n->layer[l]);
    keep(tape->activation[l], length, rows, count);
    keep(tape->normalized[l], length, rows, count);
    keep(tape->norm_scale[l], 1, rows, count);
  }
}

/* ---- Statistics ---- */

/* Whether output j of a layer is 0 in every row. */
static bool is_dead(const float *activation, int64_t rows, int64_t outputs, int64_t j) {
  for (int64_t r = 0; r < rows; r++)
    if (activation[r * outputs + j] > 0) return false;
  return true;
}

double lgv__net_dead_share(const net *n, const net_tape *tape, int64_t batch) {
  int64_t units = 0, dead = 0;
  for (int32_t l = 0; l < n->n_hidden; l++) {
    int64_t outputs = n->layer[l].outputs;
    int64_t rows = net_rows(n, l, batch, tape->taus) * net_layer_length(&n->layer[l]) / outputs;
    int64_t counted =
        outputs - (n->joins && n->embedding && l == n->embedding ? n->shape.vector : 0);
    units += counted;
    for (int64_t j = 0; j < counted; j++) dead += is_dead(tape->activation[l], rows, outputs, j);
  }
  return units ? (double)dead / (double)units : 0;
}
