#include "nn/net.h"

#include "base/error.h"
#include "nn/layers.h"

#include <math.h>

/* ---- Shape ---- */

/* Offsets into parameters and images stay within 32 bits. */
enum { LEAST_IMAGE = 36, LARGEST = INT32_MAX };

static lgv_status add_layer(net *n, net_layer layer, lgv_error *err) {
  int64_t places = 1, window = 1;
  if (layer.kernel) {
    layer.out_height = (layer.in_height - layer.kernel) / layer.stride + 1;
    layer.out_width = (layer.in_width - layer.kernel) / layer.stride + 1;
    places = (int64_t)layer.out_height * layer.out_width;
    window = (int64_t)layer.kernel * layer.kernel;
  }
  if (layer.outputs < 1)
    return lgv_fail(err, LGV_ERR_USAGE, "a layer of a network needs at least one unit, not %d",
                    (int)layer.outputs);
  if ((double)layer.inputs * (double)layer.outputs * (double)window > LARGEST ||
      (double)places * (double)layer.outputs > LARGEST)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a layer with %.0f inputs and %.0f outputs is too large for a network",
                    (double)layer.inputs * (double)window, (double)layer.outputs);
  layer.n_weights = layer.inputs * layer.outputs * window;
  if (layer.n_biases == 0) layer.n_biases = layer.outputs;
  layer.weights = n->params;
  layer.biases = layer.weights + layer.n_weights;
  n->params = layer.biases + layer.n_biases;
  n->layer[n->n_layers++] = layer;
  return LGV_OK;
}

/* The number of hidden dense layers below the embedding; -1: there is no embedding. */
static int32_t hidden_below_embedding(const net_shape *shape) {
  if (shape->cosines == 0) return -1;
  if (shape->family == NET_NATURE) return 0;
  return shape->hidden.count > 1 ? shape->hidden.count - 1 : 1;
}

static lgv_status add_embedding(net *n, int64_t units, lgv_error *err) {
  n->embedding = n->n_layers;
  return add_layer(n, (net_layer){.inputs = n->shape.cosines, .outputs = units}, err);
}

static lgv_status add_dense_layers(net *n, int64_t inputs, lgv_error *err) {
  const net_shape *shape = &n->shape;
  int32_t below = hidden_below_embedding(shape);
  if (below > shape->hidden.count)
    return lgv_fail(err, LGV_ERR_USAGE, "a network with an embedding needs a hidden layer");
  if (below == 0) LGV_TRY(add_embedding(n, inputs, err));
  for (int32_t i = 0; i < shape->hidden.count; i++) {
    LGV_TRY(add_layer(n, (net_layer){.inputs = inputs, .outputs = shape->hidden.value[i]}, err));
    inputs = shape->hidden.value[i];
    if (i + 1 == below) LGV_TRY(add_embedding(n, inputs, err));
  }
  net_layer last = {
      .inputs = inputs, .outputs = shape->outputs, .n_biases = shape->shared_bias ? 1 : 0};
  return add_layer(n, last, err);
}

static lgv_status add_convolutions(net *n, int64_t *outputs, lgv_error *err) {
  static const struct {
    int32_t outputs, kernel, stride;
  } convolutions[NET_CONVOLUTIONS] = {{32, 8, 4}, {64, 4, 2}, {64, 3, 1}};
  const net_shape *shape = &n->shape;
  int32_t height = shape->obs_shape[0], width = shape->obs_shape[1];
  int64_t channels = shape->obs_shape[2];
  if (net_takes_index(n))
    return lgv_fail(err, LGV_ERR_USAGE, "convolutions need images, not one-hot observations");
  if (width == 1 && channels == 1)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "convolutions need pictures of bytes (uint8, at least %d x %d), but the "
                    "observations are vectors of %d numbers, as pictures of floats are: let the "
                    "environment return uint8 pictures, or set agent.net=mlp",
                    LEAST_IMAGE, LEAST_IMAGE, height);
  if (height < LEAST_IMAGE || width < LEAST_IMAGE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "images of %d x %d are too small for the convolutions, which need %d x %d: use "
                    "an MLP",
                    height, width, LEAST_IMAGE, LEAST_IMAGE);
  for (int i = 0; i < NET_CONVOLUTIONS; i++) {
    net_layer layer = {.inputs = channels,
                       .outputs = convolutions[i].outputs,
                       .kernel = convolutions[i].kernel,
                       .stride = convolutions[i].stride,
                       .in_height = height,
                       .in_width = width};
    LGV_TRY(add_layer(n, layer, err));
    const net_layer *added = &n->layer[n->n_layers - 1];
    height = added->out_height;
    width = added->out_width;
    channels = added->outputs;
  }
  *outputs = height * width * channels;
  return LGV_OK;
}

static int32_t resolve_family(const net_shape *shape) {
  if (shape->family != NET_AUTO) return shape->family;
  bool image = shape->obs_kind == LGV_OBS_BYTE && shape->obs_form == LGV_FORM_DENSE &&
               shape->obs_shape[1] > 1;
  return image ? NET_NATURE : NET_MLP;
}

lgv_status lgv__net_build(net *n, const net_shape *shape, lgv_error *err) {
  *n = (net){.shape = *shape};
  n->shape.family = resolve_family(shape);
  double length = 1;
  for (int i = 0; i < 3; i++) {
    if (shape->obs_shape[i] < 1)
      return lgv_fail(err, LGV_ERR_USAGE, "a network needs observations of at least one number");
    length *= shape->obs_shape[i];
  }
  if (length > LARGEST)
    return lgv_fail(err, LGV_ERR_USAGE, "observations of %.0f numbers are too large", length);
  if (shape->hidden.count < 0 || shape->hidden.count > LGV_INTS_MAX)
    return lgv_fail(err, LGV_ERR_USAGE, "a network has at most %d hidden layers", LGV_INTS_MAX);
  int64_t inputs = net_obs_length(n);
  if (n->shape.family == NET_NATURE) {
    if (n->shape.hidden.count == 0) n->shape.hidden = (lgv_ints){.count = 1, .value = {512}};
    LGV_TRY(add_convolutions(n, &inputs, err));
  }
  return add_dense_layers(n, inputs, err);
}

/* ---- Parameters and tapes ---- */

void lgv__net_init(const net *n, float *params, lgv_rng *rng) {
  for (int32_t l = 0; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    int64_t window = layer->kernel ? (int64_t)layer->kernel * layer->kernel : 1;
    double bound = 1 / sqrt((double)(layer->inputs * window));
    for (int64_t i = 0; i < layer->n_weights + layer->n_biases; i++)
      params[layer->weights + i] = (float)(bound * (2 * lgv_rng_uniform(rng) - 1));
  }
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static float *floats(lgv_layout *layout, const char *name, int64_t count) {
  return count > 0 ? lgv_layout_array(layout, name, LGV_F32, (size_t)count, LGV_SCRATCH) : NULL;
}

/* The most scratch that any layer needs in the forward pass, or in both passes; the layers share
 * it. */
static int64_t scratch_size(const net *n, int64_t batch, bool with_backward) {
  int64_t size = net_takes_index(n) ? lgv__layer_index_scratch(&n->layer[0], n->shape.obs_form) : 0;
  int64_t taus = n->shape.taus;
  for (int32_t l = 0; l < n->n_layers && with_backward; l++) {
    const net_layer *layer = &n->layer[l];
    if (l == 0 && net_takes_index(n)) continue;
    size = most(size, layer->kernel ? layer->n_weights
                                    : lgv__layer_dense_scratch(layer, net_rows(n, l, batch, taus)));
  }
  return size;
}

static void place_convolutions(net_tape *tape, const net *n, const char *name, lgv_layout *layout) {
  for (int32_t l = 0; l < n->n_layers && n->layer[l].kernel; l++) {
    const net_layer *layer = &n->layer[l];
    conv_places *places = &tape->places[l];
    places->group = lgv__layer_conv_group(layer);
    size_t corners = (size_t)(places->group * lgv__layer_conv_places(layer));
    places->corner = lgv_layout_array(layout, name, LGV_I32, corners, LGV_SCRATCH);
    places->window =
        lgv_layout_array(layout, name, LGV_I32, (size_t)lgv__layer_conv_window(layer), LGV_SCRATCH);
    if (places->corner && places->window) lgv__layer_conv_locate(layer, places);
  }
}

void lgv__net_tape_layout(net_tape *tape, const net *n, const char *name, int64_t batch,
                          bool with_backward, lgv_layout *layout) {
  *tape = (net_tape){.batch = batch, .taus = 1};
  int64_t longest = 0, taus = n->shape.taus;
  for (int32_t l = 0; l < n->n_layers; l++) {
    int64_t length = net_rows(n, l, batch, taus) * net_layer_length(&n->layer[l]);
    tape->activation[l] = floats(layout, name, length);
    if (l < n->n_layers - 1) longest = most(longest, length);
  }
  if (n->embedding) {
    tape->cosine = floats(layout, name, batch * taus * n->layer[n->embedding].inputs);
    tape->psi = floats(layout, name, batch * taus * n->layer[n->embedding].outputs);
  }
  place_convolutions(tape, n, name, layout);
  if (net_converts_input(n))
    tape->input = floats(layout, name,
                         (n->layer[0].kernel ? tape->places[0].group : batch) * net_obs_length(n));
  tape->scratch = floats(layout, name, scratch_size(n, batch, with_backward));
  for (int i = 0; i < 2 && with_backward; i++) tape->delta[i] = floats(layout, name, longest);
}
