/* Networks: their weights, and a forward pass for one observation that calls one short function per
 * layer. Functions that a network does not need are left out. Sums run in another order than in the
 * library, so that values agree to single precision.
 *
 * With int8, the array `weights` holds whole numbers of 8 bits at the same offsets, and `rest`, for
 * each layer, the scales of the rows of W, its biases, and the gains and shifts of a normalized
 * layer:
 *
 *   W_ij ~ scale_i q_ij,  scale_i = max_j |W_ij| / 127,  |q_ij| <= 127
 *
 * A row belongs to one input, so that the scale multiplies the input once. */
#include "agent/export_writer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/portable_math.h"
#include "nn/layers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool is_byte(const export_writer *w) { return w->env->obs_kind == LGV_OBS_BYTE; }

/* Whether floats are shifted, scaled and cut. */
static bool standardizes(const export_writer *w) {
  return w->parts.input.gain && isfinite(w->parts.input.clip);
}

/* ---- functions of layers ---- */

static const char *weight_type(const export_writer *w) { return w->int8 ? "signed char" : "float"; }

static void put_dense(const export_writer *w) {
  bool shared = w->parts.net->shape.shared_bias;
  fprintf(w->file,
          "/* y = x W + b: W (in x out) row by row%s, then b%s. */\n"
          "static void dense(const %s *w, %s%sint in, int out, const float *x, float *y) {\n"
          "  const float *b = %s;\n"
          "  for (int j = 0; j < out; j++) y[j] = b[%s];\n"
          "  for (int i = 0; i < in; i++, w += out) {\n"
          "    const float v = x[i]%s;\n"
          "    for (int j = 0; j < out; j++) y[j] += v * %sw[j];\n"
          "  }\n"
          "}\n\n",
          w->int8 ? "; r: the scales of its rows" : "",
          shared ? ", of which the output layer has one" : "", weight_type(w),
          w->int8 ? "const float *r, " : "", shared ? "int biases, " : "",
          w->int8 ? "r + in" : "w + in * out", shared ? "j % biases" : "j",
          w->int8 ? " * r[i]" : "", w->int8 ? "(float)" : "");
}

static void put_conv(const export_writer *w) {
  fprintf(w->file,
          "/* Pictures are (height x width x channels); the kernel never leaves the picture. W is\n"
          " * (kernel x kernel x in x out)%s, then b. */\n"
          "static void conv(const %s *w, %sint width, int in, int out, int kernel, int stride,\n"
          "                 int out_height, int out_width, const float *x, float *y) {\n"
          "  const float *b = %s;\n"
          "  for (int row = 0; row < out_height; row++)\n"
          "    for (int column = 0; column < out_width; column++, y += out) {\n"
          "      const %s *k = w;\n"
          "      for (int j = 0; j < out; j++) y[j] = b[j];\n"
          "      for (int u = 0; u < kernel; u++) {\n"
          "        const float *p = x + ((row * stride + u) * width + column * stride) * in;\n"
          "        for (int i = 0; i < kernel * in; i++, k += out) {\n"
          "          const float v = p[i]%s;\n"
          "          for (int j = 0; j < out; j++) y[j] += v * %sk[j];\n"
          "        }\n"
          "      }\n"
          "    }\n"
          "}\n\n",
          w->int8 ? "; r: the scales of its rows" : "", weight_type(w),
          w->int8 ? "const float *r, " : "",
          w->int8 ? "r + kernel * kernel * in" : "w + kernel * kernel * in * out", weight_type(w),
          w->int8 ? " * r[u * kernel * in + i]" : "", w->int8 ? "(float)" : "");
}

static void put_rectify(const export_writer *w) {
  fputs("static void rectify(int count, float *y) {\n"
        "  for (int i = 0; i < count; i++) y[i] = y[i] > 0 ? y[i] : 0;\n"
        "}\n\n",
        w->file);
}

static void put_normalize(const export_writer *w) {
  fputs("/* Layer normalization of (places x units), with a gain and a shift per unit; rectified. "
        "*/\n"
        "static void normalize(const float *gain, int places, int units, float *y) {\n"
        "  const float *shift = gain + units;\n"
        "  int count = places * units;\n"
        "  double mean = 0, squares = 0;\n"
        "  for (int i = 0; i < count; i++) mean += y[i];\n"
        "  mean /= count;\n"
        "  for (int i = 0; i < count; i++) squares += (y[i] - mean) * (y[i] - mean);\n"
        "  for (int i = 0; i < count; i++) {\n"
        "    double x = (y[i] - mean) / sqrt(squares / count + 1e-5);\n"
        "    x = x * gain[i % units] + shift[i % units];\n"
        "    y[i] = x > 0 ? (float)x : 0;\n"
        "  }\n"
        "}\n\n",
        w->file);
}

static void put_standardize(export_writer *w) {
  fputs(
      "static void standardize(const float *shift, const float *gain, int count, const float *x,\n"
      "                        float *y) {\n"
      "  const float most = ",
      w->file);
  lgv__export_number(w, (double)w->parts.input.clip, 9, "f");
  fputs(";\n"
        "  for (int i = 0; i < count; i++) {\n"
        "    float v = (x[i] - shift[i]) * gain[i];\n"
        "    y[i] = v > most ? most : v < -most ? -most : v;\n"
        "  }\n"
        "}\n\n",
        w->file);
}

static void put_duel(const export_writer *w) {
  fputs(
      "/* q holds A and becomes Q = V + A - mean A, for every atom of one part of the action. */\n"
      "static void duel(int count, int atoms, const float *value, float *q) {\n"
      "  for (int k = 0; k < atoms; k++) {\n"
      "    float mean = 0;\n"
      "    for (int a = 0; a < count; a++) mean += q[a * atoms + k] / (float)count;\n"
      "    for (int a = 0; a < count; a++) q[a * atoms + k] += value[k] - mean;\n"
      "  }\n"
      "}\n\n",
      w->file);
}

static void put_expectation(export_writer *w) {
  int32_t n = w->parts.atoms;
  if (!w->parts.z) {
    fprintf(w->file,
            "/* The mean of the quantiles of an action. */\n"
            "static double expectation(const float *x) {\n"
            "  double sum = 0;\n"
            "  for (int j = 0; j < %d; j++) sum += x[j];\n"
            "  return sum / %d;\n"
            "}\n\n",
            n, n);
    return;
  }
  lgv__export_floats(w, "z", w->parts.z, 1, 0, n);
  fprintf(w->file,
          "/* The mean of the distribution over z that logits describe. */\n"
          "static double expectation(const float *x) {\n"
          "  double all = 0, sum = 0, most = x[0];\n"
          "  for (int j = 1; j < %d; j++) most = x[j] > most ? x[j] : most;\n"
          "  for (int j = 0; j < %d; j++) {\n"
          "    double e = exp(x[j] - most);\n"
          "    all += e;\n"
          "    sum += e * z[j];\n"
          "  }\n"
          "  return sum / all;\n"
          "}\n\n",
          n, n);
}

static bool has_plain_hidden(const net *n) {
  for (int32_t l = 0; l < n->n_hidden; l++)
    if (n->layer[l].kind != LAYER_EMBEDDING && !n->layer[l].normalized) return true;
  return false;
}

static void put_functions(export_writer *w) {
  const net *n = w->parts.net;
  bool floats = !is_byte(w) || n->shape.vector > 0;
  put_dense(w);
  if (n->layer[0].kernel) put_conv(w);
  if (n->shape.layer_norm) put_normalize(w);
  if (has_plain_hidden(n)) put_rectify(w);
  if (standardizes(w) && floats) put_standardize(w);
  if (n->shape.dueling) put_duel(w);
  if (w->parts.atoms > 1 && !w->parts.first_atom) put_expectation(w);
}

/* ---- arrays ---- */

/* psi (taus x units) of the embedding for the midpoints tau = (t + 1/2) / taus. */
static lgv_status put_psi(export_writer *w, lgv_error *err) {
  const net_layer *e = &w->parts.net->layer[w->parts.net->embedding];
  const float *W = w->parts.w + e->weights, *b = w->parts.w + e->biases;
  int64_t taus = w->parts.taus;
  float *psi = lgv__calloc((size_t)(taus * e->outputs), sizeof *psi);
  if (!psi) return lgv__out_of_memory(err, "an export");
  for (int64_t t = 0; t < taus; t++)
    for (int64_t j = 0; j < e->outputs; j++) {
      double tau = ((double)t + 0.5) / (double)taus, sum = (double)b[j];
      for (int64_t i = 0; i < e->inputs; i++)
        sum += lgv__cos(M_PI * (double)(i + 1) * tau) * (double)W[i * e->outputs + j];
      psi[t * e->outputs + j] = (float)fmax(sum, 0);
    }
  lgv__export_floats(w, "psi", psi, 1, 0, taus * e->outputs);
  lgv__free(psi);
  return LGV_OK;
}

/* Of bytes one gain per channel, as running_scale.h has them. */
static void put_map(export_writer *w) {
  const net *n = w->parts.net;
  int64_t own = net_obs_length(n), vector = n->shape.vector, channels = n->shape.obs_shape[2];
  net_map map = w->parts.input;
  if (is_byte(w)) {
    for (int64_t i = 0; i < own; i++) assert(map.gain[i] == map.gain[i % channels]);
    lgv__export_floats(w, "input_gain", map.gain, 1, 0, channels);
  } else {
    lgv__export_floats(w, "input_shift", map.shift, 1, 0, own);
    lgv__export_floats(w, "input_gain", map.gain, 1, 0, own);
  }
  if (vector == 0 || !standardizes(w)) return;
  lgv__export_floats(w, "vector_shift", map.shift + own, 1, 0, vector);
  lgv__export_floats(w, "vector_gain", map.gain + own, 1, 0, vector);
}

/* ---- weights of 8 bits ---- */

static bool is_rounded(const net_layer *a) { return a->kind != LAYER_EMBEDDING; }
static int64_t rows_of(const net_layer *a) { return a->n_weights / a->outputs; }
static int64_t length_of_rest(const net_layer *a) {
  if (!is_rounded(a)) return 0;
  return rows_of(a) + a->n_biases + (a->normalized ? 2 * a->outputs : 0);
}

/* The offset of a layer in `rest`; the length of all for the end. */
static int64_t rest_before(const net *n, const net_layer *layer) {
  int64_t sum = 0;
  for (const net_layer *a = n->layer; a < layer; a++) sum += length_of_rest(a);
  return sum;
}

static int64_t rest_of_all(const net *n) { return rest_before(n, n->layer + n->n_layers); }

static float scale_of(const net_layer *a, const float *row) {
  float most = 0;
  for (int64_t j = 0; j < a->outputs; j++) most = fmaxf(most, fabsf(row[j]));
  return most / 127;
}

static void round_row(const net_layer *a, const float *row, int8_t *q) {
  float scale = scale_of(a, row);
  for (int64_t j = 0; j < a->outputs && scale > 0; j++) {
    float v = row[j] / scale;
    q[j] = (int8_t)(v < 0 ? v - 0.5f : v + 0.5f);
  }
}

static void round_layer(const net_layer *a, const float *from, int8_t *q, float *rest) {
  const float *W = from + a->weights;
  for (int64_t i = 0; i < rows_of(a); i++) {
    round_row(a, W + i * a->outputs, q + a->weights + i * a->outputs);
    *rest++ = scale_of(a, W + i * a->outputs);
  }
  memcpy(rest, from + a->biases, (size_t)a->n_biases * sizeof *rest);
  if (a->normalized)
    memcpy(rest + a->n_biases, from + a->gains, 2 * (size_t)a->outputs * sizeof *rest);
}

/* NAME and NAME_rest, for every copy. */
static lgv_status put_rounded(export_writer *w, const char *name, const float *from, int64_t stride,
                              lgv_error *err) {
  const net *n = w->parts.net;
  int64_t copies = w->parts.copies, params = n->params, rest = rest_of_all(n);
  char rest_name[40];
  int8_t *q = lgv__calloc((size_t)(copies * params), sizeof *q);
  float *floats = lgv__calloc((size_t)(copies * rest), sizeof *floats);
  for (int64_t c = 0; q && floats && c < copies; c++)
    for (const net_layer *a = n->layer; a < n->layer + n->n_layers; a++)
      if (is_rounded(a))
        round_layer(a, from + c * stride, q + c * params, floats + c * rest + rest_before(n, a));
  if (q && floats) {
    fprintf(w->file, "static const signed char %s[%lld] = {\n  ", name,
            (long long)(copies * params));
    for (int64_t i = 0; i < copies * params; i++) {
      lgv__export_separator(w, i, 24);
      fprintf(w->file, "%d", q[i]);
    }
    fputs("};\n\n", w->file);
    snprintf(rest_name, sizeof rest_name, "%s_rest", name);
    lgv__export_floats(w, rest_name, floats, 1, 0, copies * rest);
  }
  lgv_status status = q && floats ? LGV_OK : lgv__out_of_memory(err, "an export");
  lgv__free(q);
  lgv__free(floats);
  return status;
}

static lgv_status put_weights(export_writer *w, const char *name, const float *from, int64_t stride,
                              lgv_error *err) {
  if (w->int8) return put_rounded(w, name, from, stride, err);
  lgv__export_floats(w, name, from, w->parts.copies, stride, w->parts.net->params);
  return LGV_OK;
}

static lgv_status put_arrays(export_writer *w, lgv_error *err) {
  const lgv_policy_parts *p = &w->parts;
  LGV_TRY(put_weights(w, "weights", p->w, p->stride, err));
  if (p->prior_w) LGV_TRY(put_weights(w, "prior_weights", p->prior_w, p->net->params, err));
  if (p->input.gain) put_map(w);
  return p->net->embedding ? put_psi(w, err) : LGV_OK;
}

/* ---- the forward pass ---- */

/* Where the activations are while it is written. */
typedef struct pass {
  export_writer *w;
  const net *n;
  const char *in;        /* what enters the next layer */
  const char *buffer[2]; /* that layers write to in turn */
  const char *indent;
} pass;

static const char *free_buffer(const pass *p) {
  return p->buffer[strcmp(p->in, p->buffer[0]) == 0];
}

static void put_linear(const pass *p, const net_layer *a, const char *out) {
  fprintf(p->w->file, "%s%s(w", p->indent, a->kernel ? "conv" : "dense");
  if (a->weights > 0) fprintf(p->w->file, " + %lld", (long long)a->weights);
  fputs(", ", p->w->file);
  if (p->w->int8) fprintf(p->w->file, "r + %lld, ", (long long)rest_before(p->n, a));
  if (a->kernel)
    fprintf(p->w->file, "%d, %lld, %lld, %d, %d, %d, %d, ", a->in_width, (long long)a->inputs,
            (long long)a->outputs, a->kernel, a->stride, a->out_height, a->out_width);
  else if (p->n->shape.shared_bias)
    fprintf(p->w->file, "%lld, ", (long long)a->n_biases);
  if (!a->kernel) fprintf(p->w->file, "%lld, %lld, ", (long long)a->inputs, (long long)a->outputs);
  fprintf(p->w->file, "%s", p->in);
  if (a->in_first > 0) fprintf(p->w->file, " + %lld", (long long)a->in_first);
  fprintf(p->w->file, ", %s);\n", out);
}

static void put_hidden(pass *p, int32_t l) {
  const net_layer *a = &p->n->layer[l];
  const char *out = free_buffer(p);
  long long gains = p->w->int8 ? rest_before(p->n, a) + rows_of(a) + a->n_biases : a->gains;
  put_linear(p, a, out);
  if (a->normalized)
    fprintf(p->w->file, "%snormalize(%s + %lld, %lld, %lld, %s);\n", p->indent,
            p->w->int8 ? "r" : "w", gains, (long long)net_layer_places(a), (long long)a->outputs,
            out);
  else
    fprintf(p->w->file, "%srectify(%lld, %s);\n", p->indent, (long long)net_layer_length(a), out);
  p->in = out;
}

/* " + index * size" */
static void put_offset(const pass *p, const char *index, int32_t size) {
  fprintf(p->w->file, " + %s", index);
  if (size != 1) fprintf(p->w->file, " * %d", size);
}

/* For every head, and for every part of the action. */
static void put_duels(const pass *p, const char *out) {
  const net_shape *s = &p->n->shape;
  FILE *file = p->w->file;
  int32_t actions = p->w->env->actions.count;
  bool heads = s->heads > 1, parts = s->parts > 1;
  if (heads) fprintf(file, "%sfor (int h = 0; h < %d; h++)\n  ", p->indent, s->heads);
  if (parts)
    fprintf(file, "%sfor (int p = 0, at = 0; p < %d; at += choices[p++])\n  %s", p->indent,
            s->parts, heads ? "  " : "");
  fprintf(file, "%sduel(", p->indent);
  if (parts)
    fputs("choices[p]", file);
  else
    fprintf(file, "%d", actions);
  fprintf(file, ", %d, value", s->atoms);
  if (heads) put_offset(p, "h", s->atoms);
  fprintf(file, ", %s", out);
  if (heads) put_offset(p, "h", actions * s->atoms);
  if (parts) put_offset(p, "at", s->atoms);
  fputs(");\n", file);
}

static void put_outputs(const pass *p, const char *out) {
  const net_layer *last = &p->n->layer[p->n->n_layers - 1];
  if (p->n->shape.dueling) put_linear(p, last - 1, "value");
  put_linear(p, last, out);
  if (p->n->shape.dueling) put_duels(p, out);
}

/* Appends the vector to the first `at` numbers of the activations. */
static void put_vector(const pass *p, int64_t at) {
  long long count = p->n->shape.vector, first = at;
  if (standardizes(p->w))
    fprintf(p->w->file, "  standardize(vector_shift, vector_gain, %lld, vector, %s + %lld);\n",
            count, p->in, first);
  else
    fprintf(p->w->file, "  for (int i = 0; i < %lld; i++) %s[%lld + i] = vector[i];\n", count,
            p->in, first);
}

static void put_input(pass *p) {
  export_writer *w = p->w;
  const net_shape *s = &p->n->shape;
  const char *from = s->vector > 0 ? "picture" : "obs";
  long long count = net_obs_length(p->n);
  p->in = from;
  if (!net_converts_input(p->n)) return;
  p->in = p->buffer[0];
  if (s->maps_input && !is_byte(w)) {
    fprintf(w->file, "  standardize(input_shift, input_gain, %lld, %s, %s);\n", count, from, p->in);
  } else {
    fprintf(w->file, "  for (int i = 0; i < %lld; i++) %s[i] = ", count, p->in);
    if (s->maps_input) fprintf(w->file, "input_gain[i %% %d] * ", s->obs_shape[2]);
    if (!s->maps_input && s->input_scale != 1) {
      lgv__export_number(w, (double)s->input_scale, 9, "f");
      fputs(" * ", w->file);
    }
    fprintf(w->file, "%s[i];\n", from);
  }
  if (s->vector > 0 && !p->n->joins) put_vector(p, count);
}

/* The layers above the embedding, for every tau; out is their mean. */
static void put_taus(pass *p) {
  const net *n = p->n;
  FILE *file = p->w->file;
  long long units = n->layer[n->embedding].outputs, outputs = n->shape.outputs,
            taus = p->w->parts.taus;
  fprintf(file,
          "  for (int i = 0; i < %lld; i++) out[i] = 0;\n"
          "  for (int t = 0; t < %lld; t++) {\n"
          "    for (int i = 0; i < %lld; i++) c[i] = %s[i] * psi[t * %lld + i];\n",
          outputs, taus, units, p->in, units);
  *p = (pass){.w = p->w, .n = n, .in = "c", .buffer = {"c", "d"}, .indent = "    "};
  for (int32_t l = n->embedding + 1; l < n->n_hidden; l++) put_hidden(p, l);
  put_outputs(p, "one");
  fprintf(file, "    for (int i = 0; i < %lld; i++) out[i] += one[i] / %lld;\n  }\n", outputs,
          taus);
}

static int64_t largest(const net *n) {
  int64_t most = n->joins ? net_join_length(n) : 1;
  if (net_converts_input(n) && net_input_row(n) > most) most = net_input_row(n);
  for (int32_t l = 0; l < n->n_hidden; l++) {
    int64_t length = net_layer_length(&n->layer[l]);
    most = length > most ? length : most;
  }
  return most;
}

/* Only the buffers that are written to. */
static void put_buffers(const pass *p) {
  const net *n = p->n;
  FILE *file = p->w->file;
  long long most = largest(n);
  int32_t below = (n->embedding ? n->embedding : n->n_hidden) + net_converts_input(n);
  if (below > 0) fprintf(file, "  float a[%lld]", most);
  if (below > 1) fprintf(file, ", b[%lld]", most);
  if (below > 0) fputs(";\n", file);
  if (n->embedding) {
    fprintf(file, "  float c[%lld], one[%d];\n", most, n->shape.outputs);
    if (n->embedding + 1 < n->n_hidden) fprintf(file, "  float d[%lld];\n", most);
  }
  if (n->shape.dueling) fprintf(file, "  float value[%d];\n", n->shape.heads * n->shape.atoms);
}

static void put_forward(export_writer *w) {
  const net *n = w->parts.net;
  pass p = {.w = w, .n = n, .buffer = {"a", "b"}, .indent = "  "};
  int32_t end = n->embedding ? n->embedding : n->n_hidden;
  fprintf(w->file, "static void forward(const %s *w, %s%s, float *out) {\n", weight_type(w),
          w->int8 ? "const float *r, " : "", w->obs_parameters);
  put_buffers(&p);
  put_input(&p);
  for (int32_t l = 0; l < end; l++) {
    put_hidden(&p, l);
    if (n->joins && l + 1 == n->joins) put_vector(&p, net_layer_length(&n->layer[l]));
  }
  if (n->embedding)
    put_taus(&p);
  else
    put_outputs(&p, "out");
  fputs("}\n\n", w->file);
}

/* ---- values ---- */

/* Calls forward with the weights of a copy, or of the stage. */
static void put_call(const export_writer *w, const char *weights, const char *out) {
  const net *n = w->parts.net;
  const char *copy = w->parts.by_stage ? "stage" : "copy";
  fprintf(w->file, "forward(%s", weights);
  if (w->parts.copies > 1) fprintf(w->file, " + %s * %lldL", copy, (long long)n->params);
  if (w->int8) fprintf(w->file, ", %s_rest", weights);
  if (w->int8 && w->parts.copies > 1)
    fprintf(w->file, " + %s * %lldL", copy, (long long)rest_of_all(n));
  fprintf(w->file, ", %s, %s);\n", w->obs_arguments, out);
}

static void put_copy_values(export_writer *w, bool loops) {
  const lgv_policy_parts *p = &w->parts;
  const char *indent = loops ? "    " : "  ";
  int32_t count = p->heads * w->env->actions.count;
  fputs(indent, w->file);
  put_call(w, "weights", "out");
  if (p->prior_w) {
    fputs(indent, w->file);
    put_call(w, "prior_weights", "prior");
  }
  fprintf(w->file, "%sfor (int i = 0; i < %d; i++) q[", indent, count);
  if (loops) fprintf(w->file, "copy * %d + ", count);
  fputs("i] = ", w->file);
  if (p->first_atom)
    fprintf(w->file, "out[i * %d]", p->atoms);
  else if (p->atoms > 1)
    fprintf(w->file, "expectation(out + i * %d)", p->atoms);
  else
    fputs("out[i]", w->file);
  if (p->prior_w) {
    fputs(" + ", w->file);
    lgv__export_number(w, (double)p->prior_scale, 9, "f");
    fputs(" * prior[i]", w->file);
  }
  fputs(";\n", w->file);
}

static void put_values(export_writer *w) {
  const lgv_policy_parts *p = &w->parts;
  bool loops = p->copies > 1 && !p->by_stage;
  int32_t outputs = p->net->shape.outputs;
  lgv__export_begin_values(w);
  fprintf(w->file, "  float out[%d]", outputs);
  if (p->prior_w) fprintf(w->file, ", prior[%d]", outputs);
  fputs(";\n", w->file);
  if (w->outside[0])
    fprintf(w->file,
            "  for (int i = 0; i < %lld; i++) q[i] = 0;\n"
            "  if (%s) return;\n",
            (long long)w->members * w->env->actions.count, w->outside);
  if (loops)
    fprintf(w->file, "  for (int copy = 0; copy < %lld; copy++) {\n", (long long)p->copies);
  put_copy_values(w, loops);
  fputs(loops ? "  }\n}\n\n" : "}\n\n", w->file);
}

/* NAME_act of a policy over a box. Rounding may leave the bounds. */
static void put_actor(export_writer *w) {
  const lgv_action_space *space = &w->env->actions;
  lgv__export_floats(w, "low", space->low, 1, 0, space->parts);
  lgv__export_floats(w, "high", space->high, 1, 0, space->parts);
  fprintf(w->file,
          "void %s_act(%s, float *action) {\n"
          "  float out[%d];\n"
          "  forward(weights, %s%s, out);\n"
          "  for (int p = 0; p < %d; p++) {\n"
          "    float x = low[p] + ((float)tanh(out[p]) + 1) / 2 * (high[p] - low[p]);\n"
          "    action[p] = x < low[p] ? low[p] : x > high[p] ? high[p] : x;\n"
          "  }\n"
          "}\n",
          w->name, w->parameters, w->parts.net->shape.outputs, w->int8 ? "weights_rest, " : "",
          w->arguments, space->parts);
}

lgv_status lgv__export_network(export_writer *w, lgv_error *err) {
  bool needs_sqrt = w->parts.net->shape.layer_norm;
  const char *needs = w->parts.is_actor ? "tanh" : w->parts.z ? "exp" : "";
  assert(w->parts.prior_w == NULL || w->parts.atoms <= 1);
  if (*needs || needs_sqrt)
    fprintf(w->file, "#include <math.h> /* %s%s%s */\n\n", needs, *needs && needs_sqrt ? ", " : "",
            needs_sqrt ? "sqrt" : "");
  LGV_TRY(put_arrays(w, err));
  put_functions(w);
  put_forward(w);
  if (w->parts.is_actor)
    put_actor(w);
  else
    put_values(w);
  return LGV_OK;
}
