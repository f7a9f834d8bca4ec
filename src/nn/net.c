#include "nn/net.h"

#include "base/error.h"
#include "nn/layers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- Shape ---- */

static bool takes_index(const net_shape *shape) { return shape->obs_form != LGV_FORM_DENSE; }

static int64_t obs_length(const net_shape *shape) {
  return (int64_t)shape->obs_shape[0] * shape->obs_shape[1] * shape->obs_shape[2];
}

static void add_layer(net *n, net_layer layer) {
  int64_t places = 1;
  layer.n_weights = layer.inputs * layer.outputs;
  if (layer.n_biases == 0) layer.n_biases = layer.outputs;
  if (layer.kernel) {
    layer.n_weights *= (int64_t)layer.kernel * layer.kernel;
    layer.out_height = (layer.in_height - layer.kernel) / layer.stride + 1;
    layer.out_width = (layer.in_width - layer.kernel) / layer.stride + 1;
    places = (int64_t)layer.out_height * layer.out_width;
  }
  layer.weights = n->params;
  layer.biases = layer.weights + layer.n_weights;
  n->params = layer.biases + layer.n_biases;
  n->activations += places * layer.outputs;
  n->layer[n->n_layers++] = layer;
}

static void add_dense_layers(net *n, int64_t inputs) {
  const net_shape *shape = &n->shape;
  for (int32_t i = 0; i < shape->hidden.count; i++) {
    add_layer(n, (net_layer){.inputs = inputs, .outputs = shape->hidden.value[i]});
    inputs = shape->hidden.value[i];
  }
  add_layer(n, (net_layer){.inputs = inputs,
                           .outputs = shape->outputs,
                           .n_biases = shape->shared_bias ? 1 : 0});
}

enum { LEAST_IMAGE = 36, LARGEST_LAYER = 1 << 30 };

static lgv_status check_shape(const net_shape *shape, lgv_error *err) {
  for (int i = 0; i < 3; i++)
    if (shape->obs_shape[i] < 1)
      return lgv_fail(err, LGV_ERR_USAGE, "a network needs observations of at least one number");
  if (shape->outputs < 1) return lgv_fail(err, LGV_ERR_USAGE, "a network needs outputs");
  if (shape->hidden.count < 0 || shape->hidden.count > LGV_INTS_MAX)
    return lgv_fail(err, LGV_ERR_USAGE, "a network has at most %d hidden layers", LGV_INTS_MAX);
  double inputs = (double)shape->obs_shape[0] * shape->obs_shape[1] * shape->obs_shape[2];
  for (int32_t i = 0; i <= shape->hidden.count; i++) {
    int32_t width = i < shape->hidden.count ? shape->hidden.value[i] : shape->outputs;
    if (width < 1)
      return lgv_fail(err, LGV_ERR_USAGE, "hidden layers need at least one unit, not %d", width);
    if (inputs * width > LARGEST_LAYER)
      return lgv_fail(err, LGV_ERR_USAGE, "a layer with %.0f inputs and %d outputs is too large",
                      inputs, width);
    inputs = width;
  }
  return LGV_OK;
}

static lgv_status build_nature(net *n, lgv_error *err) {
  net_shape *shape = &n->shape;
  int32_t height = shape->obs_shape[0], width = shape->obs_shape[1];
  int64_t channels = shape->obs_shape[2];
  if (takes_index(shape))
    return lgv_fail(err, LGV_ERR_USAGE, "convolutions need images, not one-hot observations");
  if (height < LEAST_IMAGE || width < LEAST_IMAGE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "images of %d x %d are too small for the convolutions, which need %d x %d: use "
                    "an MLP",
                    height, width, LEAST_IMAGE, LEAST_IMAGE);
  if (shape->hidden.count == 0) shape->hidden = (lgv_ints){.count = 1, .value = {512}};
  static const struct {
    int32_t outputs, kernel, stride;
  } convolutions[] = {{32, 8, 4}, {64, 4, 2}, {64, 3, 1}};
  for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) {
    add_layer(n, (net_layer){.inputs = channels,
                             .outputs = convolutions[i].outputs,
                             .kernel = convolutions[i].kernel,
                             .stride = convolutions[i].stride,
                             .in_height = height,
                             .in_width = width});
    const net_layer *added = &n->layer[n->n_layers - 1];
    height = added->out_height;
    width = added->out_width;
    channels = added->outputs;
  }
  add_dense_layers(n, (int64_t)height * width * channels);
  return LGV_OK;
}

lgv_status net_build(net *n, const net_shape *shape, lgv_error *err) {
  *n = (net){.shape = *shape};
  if (n->shape.family == NET_AUTO)
    n->shape.family =
        shape->obs_kind == LGV_OBS_BYTE && !takes_index(shape) && shape->obs_shape[1] > 1
            ? NET_NATURE
            : NET_MLP;
  LGV_TRY(check_shape(&n->shape, err));
  if (n->shape.family == NET_NATURE) return build_nature(n, err);
  add_dense_layers(n, obs_length(shape));
  return LGV_OK;
}

/* ---- Parameters and tapes ---- */

void net_init(const net *n, float *params, lgv_rng *rng) {
  for (int32_t l = 0; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    int64_t window = layer->kernel ? (int64_t)layer->kernel * layer->kernel : 1;
    double bound = 1 / sqrt((double)(layer->inputs * window));
    for (int64_t i = 0; i < layer->n_weights + layer->n_biases; i++)
      params[layer->weights + i] = (float)(bound * (2 * lgv_rng_uniform(rng) - 1));
  }
}

/* Numbers that a layer hands on for one sample. */
static int64_t layer_length(const net_layer *layer) {
  return layer->kernel ? layer->out_height * layer->out_width * layer->outputs : layer->outputs;
}

static bool converts_input(const net *n) {
  const net_shape *shape = &n->shape;
  return shape->family == NET_MLP && !takes_index(shape) &&
         (shape->obs_kind == LGV_OBS_BYTE || shape->input_scale != 1);
}

void net_tape_layout(net_tape *tape, const net *n, const char *name, int64_t batch,
                     bool with_backward, lgv_layout *layout) {
  *tape = (net_tape){.batch = batch};
  int64_t longest = 0, most_weights = 0;
  for (int32_t l = 0; l < n->n_layers; l++) {
    int64_t length = layer_length(&n->layer[l]);
    tape->activation[l] =
        lgv_layout_array(layout, name, LGV_F32, (size_t)(batch * length), LGV_SCRATCH);
    if (l < n->n_layers - 1 && length > longest) longest = length;
    if (l > 0 && n->layer[l].n_weights > most_weights) most_weights = n->layer[l].n_weights;
  }
  if (converts_input(n))
    tape->input = lgv_layout_array(layout, name, LGV_F32, (size_t)(batch * obs_length(&n->shape)),
                                   LGV_SCRATCH);
  if (!with_backward) return;
  for (int i = 0; i < 2; i++)
    tape->delta[i] =
        lgv_layout_array(layout, name, LGV_F32, (size_t)(batch * longest), LGV_SCRATCH);
  tape->transposed = lgv_layout_array(layout, name, LGV_F32, (size_t)most_weights, LGV_SCRATCH);
}

/* ---- Passes ---- */

static const float *float_input(const net *n, net_input input, int64_t batch,
                                const net_tape *tape) {
  if (!converts_input(n)) return input.dense;
  int64_t count = batch * obs_length(&n->shape);
  float scale = n->shape.input_scale;
  for (int64_t i = 0; i < count; i++)
    tape->input[i] = scale * (input.bytes ? (float)input.bytes[i] : input.dense[i]);
  return tape->input;
}

const float *net_forward(const net *n, const float *params, net_input input, int64_t batch,
                         net_tape *tape) {
  assert(batch <= tape->batch && n->shape.family == NET_MLP);
  int32_t last = n->n_layers - 1, first_dense = 0;
  const float *in = NULL;
  if (takes_index(&n->shape)) {
    in = tape->activation[first_dense++];
    layer_index_forward(&n->layer[0], params, n->shape.obs_form, input.index, n->shape.input_scale,
                        batch, last > 0, tape->activation[0]);
  } else {
    in = float_input(n, input, batch, tape);
  }
  for (int32_t l = first_dense; l <= last; l++) {
    layer_dense_forward(&n->layer[l], params, in, batch, l < last, tape->activation[l]);
    in = tape->activation[l];
  }
  return tape->activation[last];
}

void net_backward(const net *n, const float *params, net_input input, int64_t batch, net_tape *tape,
                  const float *d_outputs, float core_scale, float *grad) {
  assert(batch <= tape->batch && n->shape.family == NET_MLP);
  const float *d_out = d_outputs;
  for (int32_t l = n->n_layers - 1; l >= 0; l--) {
    const net_layer *layer = &n->layer[l];
    if (l == 0 && takes_index(&n->shape)) {
      layer_index_backward(layer, n->shape.obs_form, input.index, n->shape.input_scale, batch,
                           d_out, grad);
      return;
    }
    const float *in =
        l > 0 ? tape->activation[l - 1] : (converts_input(n) ? tape->input : input.dense);
    float *d_in = l > 0 ? tape->delta[l & 1] : NULL;
    layer_dense_backward(layer, params, in, batch, d_out, d_in, tape->transposed, grad);
    if (l == n->n_layers - 1 && d_in && core_scale != 1)
      for (int64_t i = 0; i < batch * layer->inputs; i++) d_in[i] *= core_scale;
    d_out = d_in;
  }
}

/* Whether channel j of a layer is 0 in every sample, everywhere. */
static bool is_dead(const float *activation, int64_t rows, int64_t outputs, int64_t j) {
  for (int64_t r = 0; r < rows; r++)
    if (activation[r * outputs + j] > 0) return false;
  return true;
}

double net_dead_share(const net *n, const net_tape *tape, int64_t batch) {
  int64_t units = 0, dead = 0;
  for (int32_t l = 0; l < n->n_layers - 1; l++) {
    int64_t outputs = n->layer[l].outputs, rows = batch * layer_length(&n->layer[l]) / outputs;
    units += outputs;
    for (int64_t j = 0; j < outputs; j++) dead += is_dead(tape->activation[l], rows, outputs, j);
  }
  return units ? (double)dead / (double)units : 0;
}
