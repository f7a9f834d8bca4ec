/* network: the last hidden layer of a network, neural-linear. With h(x) its units after the
 * rectifier,
 *
 *   psi(x) = (h(x), 1) / sqrt(n + 1),   n units,
 *
 * so that ||psi|| is 1 where the units are 1 on average; the constant stands for the bias.
 *
 * features.file is written by `langevin export RUN --out FILE.safetensors`, or by export() in
 * Python. The network is fixed: its parameters are copied when the agent is made and belong to its
 * state. Observations must have the shape that the network was trained with; actions may differ.
 *
 * The values of a network that was trained by regression are linear in psi, so that it serves as a
 * description of the task that a linear agent can explore with. */
#include "agent/features/features.h"
#include "agent/network_file.h"
#include "base/error.h"
#include "base/spec.h"
#include "nn/net.h"
#include "replay/replay.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 256 }; /* observations of a pass */

typedef struct params {
  char file[LGV_TEXT_SIZE];
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_TEXT_ROW(params, file, "file", "", "the network: a file of `langevin export RUN --out FILE.safetensors`"),
    {0},
};
/* clang-format on */

/* What a pass needs. */
typedef struct network_pass {
  net net;
  net_tape tape;
  int32_t *numbers;             /* of the network that a loaded state belongs to */
  float *w, *scales, *map;      /* as in network_file, w with an output layer of zeros */
  unsigned char *row, *encoded; /* an observation, and those of a batch as networks take them */
} network_pass;

typedef struct self {
  network_numbers numbers; /* of the first layout pass; the second and `open` must agree */
  const char *file;        /* NULL before the first layout pass */
  const lgv_env_spec *env;
  network_pass *pass;
} self;
_Static_assert(sizeof(self) <= LGV_FEATURE_STATE, "the state of a map is small");

/* ---- the file ---- */

static const char *numbers_of(lgv_obs_kind kind) {
  return kind == LGV_OBS_BYTE ? "bytes" : "floats";
}

static lgv_status check_observations(const char *path, const net_shape *s, const lgv_env_spec *env,
                                     lgv_error *err) {
  const int32_t *theirs = s->obs_shape, *ours = env->obs_shape;
  bool same = s->obs_kind == env->obs_kind && s->obs_form == env->obs_form &&
              memcmp(theirs, ours, sizeof s->obs_shape) == 0 && s->vector == env->vector;
  if (same) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "features.file = '%.200s': its network reads observations of %d x %d x %d %s and "
                  "%d numbers beside them, but this environment's have %d x %d x %d %s and %d, or "
                  "another form",
                  path, theirs[0], theirs[1], theirs[2], numbers_of(s->obs_kind), s->vector,
                  ours[0], ours[1], ours[2], numbers_of(env->obs_kind), env->vector);
}

/* Reads the file and builds its network; the file is to be freed. */
static lgv_status read_file(const char *path, const lgv_env_spec *env, network_file *file, net *n,
                            lgv_error *err) {
  if (!path[0])
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.features = network needs features.file: train an agent that has a "
                    "network, then write it with `langevin export RUN --out net.safetensors`");
  if (access(path, R_OK) != 0)
    return lgv_fail(err, LGV_ERR_IO, "cannot read features.file = '%.200s': %s", path,
                    strerror(errno));
  lgv_error why = {0};
  lgv_status status = lgv__network_file_read(path, file, &why);
  if (status != LGV_OK)
    return lgv_fail(err, status,
                    "features.file = '%.120s' is no intact network (`langevin export RUN --out "
                    "net.safetensors` writes one): %.200s",
                    path, why.message);
  LGV_TRY(lgv__network_build(&file->numbers, file->scales, n, err));
  return check_observations(path, &n->shape, env, err);
}

/* ---- hooks ---- */

static int64_t units_of(const net *n) { return n->layer[n->n_hidden - 1].outputs; }

static lgv_status dim(const void *params_, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  network_file file = {0};
  net n;
  (void)inputs;
  lgv_status status = read_file(((const params *)params_)->file, env, &file, &n, err);
  if (status == LGV_OK) *out = units_of(&n) + 1;
  lgv__network_file_free(&file);
  return status;
}

/* Only the first pass reads the file: the second must lay out the same arrays, whatever has
 * happened to the file since. */
static void read_numbers(self *s) {
  network_file file = {0};
  net n;
  if (read_file(s->file, s->env, &file, &n, NULL) == LGV_OK) s->numbers = file.numbers;
  lgv__network_file_free(&file);
}

static bool build_network(const self *s, net *n) {
  static const float no_scales[2];
  return lgv__network_build(&s->numbers, no_scales, n, NULL) == LGV_OK;
}

bool lgv__features_network_has(const void *self_, int64_t dim) {
  net n;
  return build_network(self_, &n) && units_of(&n) + 1 == dim;
}

static const char *shape_fault(const void *self_) {
  const self *s = self_;
  bool same = memcmp(s->pass->numbers, &s->numbers, sizeof s->numbers) == 0;
  return same ? NULL : "another network than that of features.file";
}

static void layout(void *self_, const void *params_, const lgv_env_spec *env, int64_t inputs,
                   lgv_layout *out) {
  self *s = self_;
  network_pass counted = {0}, *p;
  bool is_first = !s->file;
  s->file = ((const params *)params_)->file;
  s->env = env;
  if (is_first) read_numbers(s);
  if (!build_network(s, &counted.net)) return; /* the file is gone: `open` says so */
  size_t encoded = lgv__replay_encoded_bytes(env);
  s->pass = lgv_layout_array(out, "features.passes", LGV_U8, sizeof counted, LGV_SCRATCH);
  p = s->pass ? s->pass : &counted;
  p->net = counted.net;
  p->numbers = lgv_layout_array(out, "features.shape", LGV_I32, NETWORK_NUMBERS, LGV_KEEP);
  lgv_layout_check(out, shape_fault, s);
  p->w = lgv_layout_array(out, "features.network", LGV_F32, (size_t)p->net.params, LGV_KEEP);
  p->scales = lgv_layout_array(out, "features.scales", LGV_F32, 2, LGV_KEEP);
  p->map = lgv_layout_array(out, "features.map", LGV_F32, 2 * (size_t)inputs, LGV_KEEP);
  p->row = lgv_layout_array(out, "features.row", LGV_U8, lgv__obs_bytes(env), LGV_SCRATCH);
  p->encoded = lgv_layout_array(out, "features.encoded", LGV_U8, BATCH * encoded, LGV_SCRATCH);
  lgv__net_tape_layout(&p->tape, &p->net, "features.tape", BATCH, false, out);
}

static void take_file(network_pass *p, const network_file *file) {
  memcpy(p->numbers, file->numbers.value, sizeof file->numbers);
  memcpy(p->w, file->params.data, file->params.count * sizeof *p->w);
  memcpy(p->scales, file->scales, sizeof file->scales);
  if (file->map.count) memcpy(p->map, file->map.data, file->map.count * sizeof *p->map);
}

static lgv_status open(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  network_file file = {0};
  net n;
  (void)rng;
  lgv_status status = read_file(s->file, s->env, &file, &n, err);
  if (status == LGV_OK && memcmp(&file.numbers, &s->numbers, sizeof s->numbers) != 0)
    status =
        lgv_fail(err, LGV_ERR_IO, "features.file = '%.120s' changed while it was read", s->file);
  if (status == LGV_OK) take_file(s->pass, &file);
  lgv__network_file_free(&file);
  return status;
}

/* The numbers of an observation as the environment gives them, and then as networks take them. */
static void encode(const self *s, const float *x, void *out) {
  const lgv_env_spec *env = s->env;
  size_t pixels = lgv__obs_count(env);
  if (env->obs_kind == LGV_OBS_BYTE)
    for (size_t i = 0; i < pixels; i++)
      s->pass->row[i] = (uint8_t)fminf(fmaxf(x[i], 0), UINT8_MAX); /* NaN: 0 */
  else
    memcpy(s->pass->row, x, pixels * sizeof *x);
  if (env->vector)
    memcpy(s->pass->row + lgv__obs_vector_at(env), x + pixels, (size_t)env->vector * sizeof *x);
  lgv__replay_encode(env, &(lgv_obs){.data = s->pass->row}, out);
}

static net_input input_of(const self *s, int64_t inputs) {
  const network_pass *p = s->pass;
  net_input input = lgv__replay_input(s->env, p->encoded);
  if (p->net.shape.maps_input)
    input.map = (net_map){.shift = p->map, .gain = p->map + inputs, .clip = p->scales[1]};
  return input;
}

static lgv_status map(const void *self_, const float *x, int64_t count, float *out,
                      lgv_error *err) {
  (void)err;
  const self *s = self_;
  network_pass *p = s->pass;
  int64_t units = units_of(&p->net), inputs = (int64_t)lgv__obs_count(s->env) + s->env->vector;
  size_t bytes = lgv__replay_encoded_bytes(s->env);
  float scale = 1 / sqrtf((float)(units + 1));
  p->net.shape.input_scale = p->scales[0]; /* a loaded file may have changed it */
  for (int64_t at = 0; at < count; at += BATCH) {
    int64_t rows = count - at < BATCH ? count - at : BATCH;
    for (int64_t i = 0; i < rows; i++)
      encode(s, x + (at + i) * inputs, p->encoded + (size_t)i * bytes);
    (void)lgv__net_forward(&p->net, p->w, input_of(s, inputs), rows, &p->tape);
    const float *h = p->tape.activation[p->net.n_hidden - 1];
    for (int64_t i = 0; i < rows; i++, out += units + 1, h += units) {
      for (int64_t j = 0; j < units; j++) out[j] = scale * h[j];
      out[units] = scale;
    }
  }
  return LGV_OK;
}

const lgv_feature_type lgv__features_network = {
    .size = sizeof(lgv_feature_type),
    .name = "network",
    .summary = "the last hidden layer of a trained network",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .dim = dim,
    .layout = layout,
    .open = open,
    .map = map,
};
