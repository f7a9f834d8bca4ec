#include "nn/net.h"

#include "base/error.h"
#include "base/spec.h"
#include "nn/blocks.h"
#include "nn/layers.h"

#include <math.h>
#include <string.h>

/* ---- Layers ---- */

enum { LARGEST = INT32_MAX }; /* offsets into parameters and images stay within 32 bits */

static lgv_status check_size(const net_layer *layer, double places, double window, lgv_error *err) {
  if (layer->outputs < 1)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a layer of a network needs at least one unit, not %d: correct agent.hidden",
                    (int)layer->outputs);
  if ((double)layer->inputs * (double)layer->outputs * window > LARGEST ||
      places * (double)layer->outputs > LARGEST)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a layer with %.0f inputs and %.0f outputs is too large for a network: lower "
                    "agent.hidden or agent.conv",
                    (double)layer->inputs * window, (double)layer->outputs);
  return LGV_OK;
}

/* Completes a layer and puts it on top of the others. */
static lgv_status add_layer(net *n, net_layer layer, lgv_error *err) {
  int64_t places = 1, window = 1;
  if (layer.kind == LAYER_CONV) {
    layer.out_height = (layer.in_height - layer.kernel) / layer.stride + 1;
    layer.out_width = (layer.in_width - layer.kernel) / layer.stride + 1;
    places = (int64_t)layer.out_height * layer.out_width;
    window = (int64_t)layer.kernel * layer.kernel;
  }
  LGV_TRY(check_size(&layer, (double)places, (double)window, err));
  if (layer.in_row == 0) layer.in_row = layer.inputs;
  layer.n_weights = layer.inputs * layer.outputs * window;
  if (layer.n_biases == 0) layer.n_biases = layer.outputs;
  layer.normalized = n->shape.layer_norm && layer.hidden && layer.kind != LAYER_EMBEDDING;
  layer.weights = n->params;
  layer.biases = layer.weights + layer.n_weights;
  layer.gains = layer.biases + layer.n_biases;
  layer.shifts = layer.gains + (layer.normalized ? layer.outputs : 0);
  layer.n_params = layer.shifts + (layer.normalized ? layer.outputs : 0) - layer.weights;
  if (n->shape.precision != NET_FLOAT && layer.hidden && !lgv__block_fits(&layer))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a layer with %.0f inputs and %.0f outputs per place is too large for tiles of "
                    "bf16: set agent.precision = float, or lower agent.hidden or agent.conv",
                    (double)layer.inputs, (double)layer.outputs);
  n->params += layer.n_params;
  n->layer[n->n_layers++] = layer;
  if (layer.hidden) n->n_hidden = n->n_layers;
  return LGV_OK;
}

static lgv_status add_hidden(net *n, int64_t inputs, int64_t outputs, lgv_error *err) {
  net_layer layer = {.kind = LAYER_DENSE, .hidden = true, .inputs = inputs, .outputs = outputs};
  return add_layer(n, layer, err);
}

static lgv_status add_embedding(net *n, int64_t units, lgv_error *err) {
  n->embedding = n->n_layers;
  net_layer layer = {
      .kind = LAYER_EMBEDDING, .hidden = true, .inputs = n->shape.cosines, .outputs = units};
  return add_layer(n, layer, err);
}

/* ---- Output layers ---- */

static int32_t at_least_one(int32_t count) { return count > 1 ? count : 1; }

/* The choices of all parts of an action must be the actions of a head. */
static lgv_status check_parts(const net_shape *s, lgv_error *err) {
  int64_t groups = (int64_t)s->heads * s->atoms, sum = 0;
  for (int32_t i = 0; i < s->parts && s->parts <= LGV_MOST_PARTS; i++) sum += s->part_sizes[i];
  if (s->parts > LGV_MOST_PARTS || s->outputs % groups != 0 ||
      (s->parts > 1 && sum * groups != s->outputs))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a dueling network with %d outputs cannot have %d heads with %d atoms for "
                    "actions of %d parts",
                    s->outputs, s->heads, s->atoms, s->parts);
  return LGV_OK;
}

static lgv_status check_dueling(const net_shape *s, lgv_error *err) {
  if (s->hidden.count == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.dueling = true needs a hidden dense layer, whose two halves lead to V "
                    "and A: set agent.hidden, for example to 32, or agent.dueling = false");
  if (s->shared_bias)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.shared_bias = true has no effect with agent.dueling = true, where the "
                    "bias of V is that of all actions: set agent.shared_bias = false");
  return check_parts(s, err);
}

static lgv_status add_outputs(net *n, int64_t inputs, lgv_error *err) {
  const net_shape *s = &n->shape;
  net_layer layer = {.kind = LAYER_DENSE, .inputs = inputs, .outputs = s->outputs};
  if (!s->dueling) {
    layer.n_biases = s->shared_bias ? 1 : 0;
    return add_layer(n, layer, err);
  }
  layer.inputs = inputs / 2;
  layer.in_row = inputs;
  layer.kind = LAYER_VALUE;
  layer.outputs = (int64_t)s->heads * s->atoms;
  LGV_TRY(add_layer(n, layer, err));
  layer.kind = LAYER_ADVANTAGE;
  layer.in_first = layer.inputs;
  layer.outputs = s->outputs;
  return add_layer(n, layer, err);
}

/* ---- Dense layers ---- */

/* The number of hidden dense layers below the embedding; -1: there is no embedding. */
static int32_t hidden_below_embedding(const net_shape *shape) {
  if (shape->cosines == 0) return -1;
  if (shape->family != NET_MLP) return 0;
  return shape->hidden.count > 1 ? shape->hidden.count - 1 : 1;
}

static lgv_status add_dense_layers(net *n, int64_t inputs, lgv_error *err) {
  const net_shape *shape = &n->shape;
  int32_t below = hidden_below_embedding(shape);
  if (below > shape->hidden.count)
    return lgv_fail(err, LGV_ERR_USAGE, "a network with an embedding needs a hidden layer");
  if (below == 0) LGV_TRY(add_embedding(n, inputs, err));
  for (int32_t i = 0; i < shape->hidden.count; i++) {
    bool doubled = shape->dueling && i + 1 == shape->hidden.count;
    int64_t outputs = (int64_t)shape->hidden.value[i] * (doubled ? 2 : 1);
    LGV_TRY(add_hidden(n, inputs, outputs, err));
    inputs = outputs;
    if (i + 1 == below) LGV_TRY(add_embedding(n, inputs, err));
  }
  return add_outputs(n, inputs, err);
}

/* ---- Convolutions ---- */

/* Those for large pictures are of van Hasselt, Hessel, Aslanides, "When to use parametric models in
 * reinforcement learning?" (NeurIPS 2019): an update costs an eighth of one of Nature's network. */
static const net_convs small_convs = {2, {{16, 3, 1}, {32, 3, 1}}};
static const net_convs large_convs = {2, {{32, 5, 5}, {64, 5, 5}}};
static const net_convs nature_convs = {3, {{32, 8, 4}, {64, 4, 2}, {64, 3, 1}}};

static lgv_status check_convs(const net_shape *given, lgv_error *err) {
  if (given->family == NET_MLP && given->convs.count > 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.conv has no effect with agent.net = mlp: set agent.net = conv, or leave "
                    "agent.conv empty");
  size_t used = (size_t)given->convs.count * sizeof given->convs.conv[0];
  bool nature = given->convs.count == nature_convs.count &&
                memcmp(given->convs.conv, nature_convs.conv, used) == 0;
  if (given->family == NET_NATURE && given->convs.count > 0 && !nature)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.net = nature has the convolutions 32x8s4,64x4s2,64x3s1: for others set "
                    "agent.net = conv, or leave agent.conv empty");
  return LGV_OK;
}

static lgv_status check_picture(const net_shape *s, lgv_error *err) {
  if (s->obs_form != LGV_FORM_DENSE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "convolutions need pictures, not one-hot or thermometer observations: set "
                    "agent.net = mlp and leave agent.conv empty");
  if (!lgv__is_picture(s->obs_form, s->obs_shape))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "convolutions need pictures (height x width x channels, at least %d x %d), but "
                    "the observations are vectors of %d numbers: set agent.net = mlp and leave "
                    "agent.conv empty",
                    LGV_LEAST_PICTURE, LGV_LEAST_PICTURE, s->obs_shape[0]);
  return LGV_OK;
}

static lgv_status too_small(const net_shape *s, const net_layer *layer, int32_t at,
                            lgv_error *err) {
  bool nature = s->family == NET_NATURE;
  return lgv_fail(
      err, LGV_ERR_USAGE,
      "pictures of %d x %d are too small for agent.net = %s: convolution %d needs %d x "
      "%d and gets %d x %d; %s",
      s->obs_shape[0], s->obs_shape[1], nature ? "nature" : "conv", at + 1, layer->kernel,
      layer->kernel, layer->in_height, layer->in_width,
      nature ? "set agent.net = conv or mlp"
             : "shorten agent.conv, use smaller kernels or strides, or set agent.net = mlp");
}

/* Returns the number of outputs of the last one. */
static lgv_status add_convolutions(net *n, int64_t *outputs, lgv_error *err) {
  const net_shape *s = &n->shape;
  net_layer layer = {.kind = LAYER_CONV, .hidden = true};
  int32_t height = s->obs_shape[0], width = s->obs_shape[1];
  int64_t channels = s->obs_shape[2];
  LGV_TRY(check_picture(s, err));
  for (int32_t i = 0; i < s->convs.count; i++) {
    layer.inputs = channels;
    layer.outputs = channels = s->convs.conv[i].width;
    layer.kernel = s->convs.conv[i].kernel;
    layer.stride = s->convs.conv[i].stride;
    layer.in_height = height;
    layer.in_width = width;
    if (height < layer.kernel || width < layer.kernel) return too_small(s, &layer, i, err);
    LGV_TRY(add_layer(n, layer, err));
    height = n->layer[n->n_layers - 1].out_height;
    width = n->layer[n->n_layers - 1].out_width;
  }
  *outputs = (int64_t)height * width * channels;
  return LGV_OK;
}

/* ---- Shape ---- */

static int32_t resolve_family(const net_shape *s) {
  if (s->family != NET_AUTO) return s->family;
  if (s->convs.count > 0) return NET_CONV;
  if (lgv__is_large_picture(s->obs_form, s->obs_shape)) return NET_NATURE;
  bool fits = lgv__is_picture_of(LGV_LEAST_PICTURE, s->obs_form, s->obs_shape);
  return fits ? NET_CONV : NET_MLP;
}

static void resolve_hidden(net_shape *s) {
  bool open = s->hidden.count == 1 && s->hidden.value[0] == 0;
  if (s->family == NET_MLP && open) s->hidden = (lgv_ints){.count = 2, .value = {32, 32}};
  int32_t width = s->family == NET_NATURE                            ? 512
                  : lgv__is_large_picture(s->obs_form, s->obs_shape) ? 256
                                                                     : 128;
  if (s->family != NET_MLP && (open || s->hidden.count == 0))
    s->hidden = (lgv_ints){.count = 1, .value = {width}};
}

/* Fills in what the shape leaves open. */
static void resolve_shape(net_shape *s) {
  s->family = resolve_family(s);
  resolve_hidden(s);
  if (s->family == NET_NATURE) s->convs = nature_convs;
  if (s->family == NET_CONV && s->convs.count == 0)
    s->convs = lgv__is_large_picture(s->obs_form, s->obs_shape) ? large_convs : small_convs;
  s->heads = at_least_one(s->heads);
  s->atoms = at_least_one(s->atoms);
  s->parts = at_least_one(s->parts);
}

static lgv_status check_observations(const net_shape *s, lgv_error *err) {
  double length = 1;
  for (int i = 0; i < 3; i++) {
    if (s->obs_shape[i] < 1)
      return lgv_fail(err, LGV_ERR_USAGE, "a network needs observations of at least one number");
    length *= s->obs_shape[i];
  }
  length += s->vector;
  if (length > LARGEST)
    return lgv_fail(err, LGV_ERR_USAGE, "observations of %.0f numbers are too large", length);
  if (s->vector < 0 || (s->vector > 0 && s->obs_form != LGV_FORM_DENSE))
    return lgv_fail(err, LGV_ERR_USAGE, "only dense observations are accompanied by a vector");
  return LGV_OK;
}

lgv_status lgv__net_build(net *n, const net_shape *shape, lgv_error *err) {
  *n = (net){.shape = *shape};
  LGV_TRY(check_observations(shape, err));
  if (shape->hidden.count < 0 || shape->hidden.count > LGV_INTS_MAX)
    return lgv_fail(err, LGV_ERR_USAGE, "a network has at most %d hidden layers", LGV_INTS_MAX);
  LGV_TRY(check_convs(shape, err));
  resolve_shape(&n->shape);
  if (n->shape.dueling) LGV_TRY(check_dueling(&n->shape, err));
  int64_t inputs = net_obs_length(n);
  if (n->shape.family != NET_MLP) {
    LGV_TRY(add_convolutions(n, &inputs, err));
    n->joins = n->shape.vector > 0 ? n->n_layers : 0;
  }
  return add_dense_layers(n, inputs + n->shape.vector, err);
}

/* ---- Parameters ---- */

void lgv__net_init(const net *n, float *params, lgv_rng *rng) {
  for (int32_t l = 0; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    int64_t window = layer->kernel ? (int64_t)layer->kernel * layer->kernel : 1;
    double bound = 1 / sqrt((double)(layer->inputs * window));
    for (int64_t i = 0; i < layer->n_weights + layer->n_biases; i++)
      params[layer->weights + i] = (float)(bound * (2 * lgv_rng_uniform(rng) - 1));
    for (int64_t i = 0; layer->normalized && i < layer->outputs; i++) {
      params[layer->gains + i] = 1;
      params[layer->shifts + i] = 0;
    }
  }
}
