#include "agent/network_file.h"

#include "agent/export.h"
#include "base/error.h"
#include "base/io/tensors.h"
#include "base/memory.h"

#include <string.h>
#include <unistd.h>

enum { SCALE_INPUT, SCALE_CLIP, SCALES };
static const int32_t widest = 1 << 20; /* a convolution's width, kernel and stride */

/* ---- shapes as numbers ---- */

static void write_numbers(const net_shape *s, network_numbers *numbers) {
  int32_t *x = numbers->value, *hidden = x + NETWORK_HIDDEN;
  *numbers = (network_numbers){{[NETWORK_KIND] = (int32_t)s->obs_kind,
                                [NETWORK_FORM] = (int32_t)s->obs_form,
                                [NETWORK_HEIGHT] = s->obs_shape[0],
                                [NETWORK_WIDTH] = s->obs_shape[1],
                                [NETWORK_CHANNELS] = s->obs_shape[2],
                                [NETWORK_VECTOR] = s->vector,
                                [NETWORK_FAMILY] = s->family,
                                [NETWORK_LAYER_NORM] = s->layer_norm,
                                [NETWORK_PRECISION] = s->precision,
                                [NETWORK_MAPS_INPUT] = s->maps_input,
                                [NETWORK_CONVS] = s->convs.count}};
  memcpy(x + NETWORK_CONV, s->convs.conv, (size_t)s->convs.count * sizeof s->convs.conv[0]);
  hidden[0] = s->hidden.count;
  memcpy(hidden + 1, s->hidden.value, (size_t)s->hidden.count * sizeof *hidden);
  if (s->dueling) hidden[s->hidden.count] *= 2; /* both streams */
}

static bool are_numbers_possible(const int32_t *x) {
  const int32_t *conv = x + NETWORK_CONV, *hidden = x + NETWORK_HIDDEN;
  bool good = lgv__is_within(x[NETWORK_KIND], LGV_OBS_FLOAT, LGV_OBS_BYTE) &&
              lgv__is_within(x[NETWORK_FORM], LGV_FORM_DENSE, LGV_FORM_THERMOMETER) &&
              lgv__is_within(x[NETWORK_FAMILY], NET_MLP, NET_NATURE) &&
              lgv__is_within(x[NETWORK_PRECISION], NET_FLOAT, NET_BF16) &&
              lgv__is_within(x[NETWORK_CONVS], 0, NET_MOST_CONVS) &&
              lgv__is_within(hidden[0], 1, LGV_INTS_MAX);
  for (int32_t i = 0; good && i < 3 * x[NETWORK_CONVS]; i++)
    good = lgv__is_within(conv[i], 1, widest);
  return good;
}

lgv_status lgv__network_build(const network_numbers *numbers, const float *scales, net *n,
                              lgv_error *err) {
  const int32_t *x = numbers->value, *hidden = x + NETWORK_HIDDEN;
  if (!are_numbers_possible(x))
    return lgv_fail(err, LGV_ERR_IO, "the shape of its network is impossible");
  net_shape s = {.family = x[NETWORK_FAMILY],
                 .obs_kind = (lgv_obs_kind)x[NETWORK_KIND],
                 .obs_form = (lgv_obs_form)x[NETWORK_FORM],
                 .obs_shape = {x[NETWORK_HEIGHT], x[NETWORK_WIDTH], x[NETWORK_CHANNELS]},
                 .vector = x[NETWORK_VECTOR],
                 .outputs = 1,
                 .layer_norm = x[NETWORK_LAYER_NORM] != 0,
                 .input_scale = scales[SCALE_INPUT],
                 .maps_input = x[NETWORK_MAPS_INPUT] != 0,
                 .precision = x[NETWORK_PRECISION]};
  s.convs.count = x[NETWORK_CONVS];
  memcpy(s.convs.conv, x + NETWORK_CONV, (size_t)s.convs.count * sizeof s.convs.conv[0]);
  s.hidden.count = hidden[0];
  memcpy(s.hidden.value, hidden + 1, (size_t)hidden[0] * sizeof *hidden);
  return lgv__net_build(n, &s, err);
}

int64_t lgv__network_hidden_params(const net *n) { return n->layer[n->n_hidden].weights; }

/* ---- files ---- */

static lgv_status check_parts(const lgv_policy_parts *parts, const char *who, lgv_error *err) {
  if (!parts->net)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s has no network over whole observations: export an agent that has one", who);
  if (parts->copies > 1)
    return lgv_fail(err, LGV_ERR_USAGE, "%s has %lld networks, and features need a single one", who,
                    (long long)parts->copies);
  if (parts->net->embedding)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "the hidden layers of %s depend on quantiles, not on the "
                    "observation alone: export another agent",
                    who);
  if (parts->net->shape.hidden.count == 0)
    return lgv_fail(err, LGV_ERR_USAGE, "the network of %s has no hidden layer: set agent.hidden",
                    who);
  return LGV_OK;
}

/* Names the arrays of a file. Lists take the file's lengths when it is read. */
static lgv_status add_arrays(lgv_tensors *tensors, network_file *file, lgv_error *err) {
  LGV_TRY(lgv__tensors_add(tensors, "network.map", LGV_F32, 0, NULL, err));
  LGV_TRY(lgv__tensors_add(tensors, "network.params", LGV_F32, 0, NULL, err));
  tensors->items[0].list = &file->map;
  tensors->items[1].list = &file->params;
  LGV_TRY(lgv__tensors_add(tensors, "network.shape", LGV_I32, NETWORK_NUMBERS, file->numbers.value,
                           err));
  LGV_TRY(lgv__tensors_add(tensors, "network.scales", LGV_F32, SCALES, file->scales, err));
  for (size_t i = 0; i < tensors->count; i++) tensors->items[i].finite = true;
  return LGV_OK;
}

static lgv_status append(lgv_list *list, const float *x, int64_t count, lgv_error *err) {
  LGV_TRY(lgv__list_reserve(list, sizeof *x, (size_t)count, err));
  memcpy((float *)list->data + list->count, x, (size_t)count * sizeof *x);
  list->count += (size_t)count;
  return LGV_OK;
}

static int64_t inputs_of(const net *n) {
  const int32_t *shape = n->shape.obs_shape;
  return (int64_t)shape[0] * shape[1] * shape[2] + n->shape.vector;
}

static lgv_status fill(network_file *file, const lgv_policy_parts *parts, lgv_error *err) {
  const net *n = parts->net;
  write_numbers(&n->shape, &file->numbers);
  file->scales[SCALE_INPUT] = n->shape.input_scale;
  file->scales[SCALE_CLIP] = n->shape.maps_input ? parts->input.clip : 0;
  LGV_TRY(append(&file->params, parts->w, lgv__network_hidden_params(n), err));
  if (!n->shape.maps_input) return LGV_OK;
  LGV_TRY(append(&file->map, parts->input.shift, inputs_of(n), err));
  return append(&file->map, parts->input.gain, inputs_of(n), err);
}

/* The arrays agree with each other. */
static lgv_status check_file(const network_file *file, lgv_error *err) {
  net n;
  LGV_TRY(lgv__network_build(&file->numbers, file->scales, &n, err));
  size_t map = n.shape.maps_input ? 2 * (size_t)inputs_of(&n) : 0;
  if (file->params.count != (size_t)lgv__network_hidden_params(&n) || file->map.count != map)
    return lgv_fail(err, LGV_ERR_IO, "its arrays do not fit the shape of its network");
  return LGV_OK;
}

lgv_status lgv__network_file_read(const char *path, network_file *file, lgv_error *err) {
  lgv_tensors tensors = {0};
  *file = (network_file){0};
  lgv_status status = add_arrays(&tensors, file, err);
  if (status == LGV_OK) status = lgv__tensors_read(&tensors, path, err);
  if (status == LGV_OK) status = check_file(file, err);
  lgv__tensors_free(&tensors);
  return status;
}

/* A saved agent has the same ending, and a mistaken path must not overwrite it. */
static lgv_status refuse_to_replace(const char *path, lgv_error *err) {
  network_file there;
  lgv_error why = {0};
  if (access(path, F_OK) != 0) return LGV_OK;
  lgv_status status = lgv__network_file_read(path, &there, &why);
  lgv__network_file_free(&there);
  if (status == LGV_OK) return LGV_OK;
  return lgv_fail(
      err, status == LGV_ERR_MEMORY ? status : LGV_ERR_USAGE,
      "%.300s is not replaced, because it cannot be read as the file of a network: %.300s", path,
      why.message);
}

lgv_status lgv__network_file_write(const char *path, const lgv_policy_parts *parts, const char *who,
                                   lgv_error *err) {
  network_file file = {0};
  lgv_tensors tensors = {0};
  LGV_TRY(check_parts(parts, who, err));
  LGV_TRY(refuse_to_replace(path, err));
  lgv_status status = fill(&file, parts, err);
  if (status == LGV_OK) status = add_arrays(&tensors, &file, err);
  if (status == LGV_OK) status = lgv__tensors_write(&tensors, path, err);
  lgv__tensors_free(&tensors);
  lgv__network_file_free(&file);
  return status;
}

void lgv__network_file_free(network_file *file) {
  lgv__free(file->params.data);
  lgv__free(file->map.data);
  *file = (network_file){0};
}
