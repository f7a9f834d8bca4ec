#include "agent/export.h"

#include "agent/agent.h"
#include "base/error.h"
#include "base/memory.h"
#include "nn/layers.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct writer {
  FILE *file;
  const char *name; /* prefix of the two functions */
  lgv_agent *agent;
  const lgv_env_spec *env;
  lgv_policy_parts parts;
  bool has_parts; /* it can be exported */
  bool not_finite;
} writer;

/* ---- numbers ---- */

/* Reads back to the same bits; with a decimal point in every locale. */
static void put_number(writer *w, double x, int digits, const char *suffix) {
  char text[64];
  w->not_finite |= !isfinite(x);
  snprintf(text, sizeof text, "%.*g", digits, x);
  for (char *c = text; *c; c++)
    if (*c == ',') *c = '.';
  bool whole = !strpbrk(text, ".e");
  fprintf(w->file, "%s%s", text, whole ? "" : suffix);
}

static void begin_line(writer *w, int64_t i, int64_t per_line) {
  fputs(i == 0 ? "" : i % per_line == 0 ? ",\n  " : ", ", w->file);
}

static void put_floats(writer *w, const char *name, const float *x, int64_t copies, int64_t stride,
                       int64_t count) {
  fprintf(w->file, "static const float %s[%lld] = {\n  ", name, (long long)(copies * count));
  for (int64_t i = 0; i < copies * count; i++) {
    begin_line(w, i, 8);
    put_number(w, (double)x[i / count * stride + i % count], 9, "f");
  }
  fputs("};\n\n", w->file);
}

/* ---- tables ---- */

static int32_t first_greatest(const double *x, int32_t count) {
  int32_t best = 0;
  for (int32_t a = 1; a < count; a++)
    if (x[a] > x[best]) best = a;
  return best;
}

static lgv_status choose(writer *w, const lgv_obs *obs, const double *q, double *scratch,
                         int32_t *action, lgv_error *err) {
  if (w->parts.votes) {
    lgv_action chosen;
    LGV_TRY(lgv_agent_act(w->agent, obs, LGV_EVAL, &chosen, err));
    *action = chosen.choice;
    return LGV_OK;
  }
  const double *by = q;
  if (lgv__agent_type(w->agent)->policy) {
    LGV_TRY(lgv_agent_policy(w->agent, obs, scratch, err));
    by = scratch;
  }
  *action = first_greatest(by, w->env->actions.count);
  return LGV_OK;
}

/* The observation that a row of a table stands for. One-hot: row 0 has no 1, row r has it at r - 1;
 * thermometer: row r has r leading ones. */
static lgv_obs row_obs(const writer *w, int64_t row, float *data) {
  const lgv_env_spec *env = w->env;
  if (w->parts.by_stage) return (lgv_obs){.state = row % env->states, .stage = row / env->states};
  for (int32_t i = 0; i < env->obs_shape[0]; i++)
    data[i] = env->obs_form == LGV_FORM_THERMOMETER ? i < row : i == row - 1;
  return (lgv_obs){.data = data, .state = row - 1};
}

static lgv_status put_rows(writer *w, int64_t rows, bool actions, lgv_error *err) {
  int32_t A = w->env->actions.count, action = 0;
  float *data = lgv__calloc((size_t)w->env->obs_shape[0], sizeof *data);
  double *q = lgv__calloc(2 * (size_t)A, sizeof *q);
  lgv_status status = data && q ? LGV_OK : lgv__out_of_memory(err, "an export");
  for (int64_t r = 0; r < rows && status == LGV_OK; r++) {
    lgv_obs obs = row_obs(w, r, data);
    status = lgv_agent_q_values(w->agent, &obs, 1, q, err);
    if (status == LGV_OK && actions) status = choose(w, &obs, q, q + A, &action, err);
    if (status != LGV_OK) break;
    begin_line(w, r, actions ? 24 : 1);
    if (actions)
      fprintf(w->file, "%d", action);
    else
      for (int32_t a = 0; a < A; a++) {
        fputs(a ? ", " : "", w->file);
        put_number(w, q[a], 17, "");
      }
  }
  lgv__free(data);
  lgv__free(q);
  return status;
}

static lgv_status put_tables(writer *w, int64_t rows, lgv_error *err) {
  fprintf(w->file, "static const double values[%lld] = {\n  ",
          (long long)(rows * w->env->actions.count));
  LGV_TRY(put_rows(w, rows, false, err));
  fprintf(w->file, "};\n\nstatic const int actions[%lld] = {\n  ", (long long)rows);
  LGV_TRY(put_rows(w, rows, true, err));
  fputs("};\n\n", w->file);
  return LGV_OK;
}

/* The two functions for a table whose row is `row`, which is outside if it is negative. */
static void put_lookups(writer *w, const char *arguments, const char *row) {
  fprintf(w->file,
          "void %s_q(%s, double *q) {\n"
          "  int row = %s, a;\n"
          "  for (a = 0; a < %d; a++) q[a] = row < 0 ? 0 : values[row * %d + a];\n"
          "}\n\n"
          "int %s_act(%s) {\n"
          "  int row = %s;\n"
          "  return row < 0 ? -1 : actions[row];\n"
          "}\n",
          w->name, arguments, row, w->env->actions.count, w->env->actions.count, w->name, arguments,
          row);
}

static lgv_status put_stage_table(writer *w, lgv_error *err) {
  const lgv_env_spec *env = w->env;
  long long H = env->horizon, S = env->states;
  fprintf(w->file,
          "/* Stages 0 to %lld, states 0 to %lld; outside of them the action is -1. */\n"
          "int %s_act(int stage, int state);\n"
          "void %s_q(int stage, int state, double *q); /* q: %d values */\n\n",
          H - 1, S - 1, w->name, w->name, env->actions.count);
  LGV_TRY(put_tables(w, H * S, err));
  fprintf(w->file,
          "static int row_of(int stage, int state) {\n"
          "  int inside = stage >= 0 && stage < %lld && state >= 0 && state < %lld;\n"
          "  return inside ? stage * %lld + state : -1;\n"
          "}\n\n",
          H, S, S);
  put_lookups(w, "int stage, int state", "row_of(stage, state)");
  return LGV_OK;
}

static lgv_status put_index_table(writer *w, lgv_error *err) {
  int32_t n = w->env->obs_shape[0];
  bool thermometer = w->env->obs_form == LGV_FORM_THERMOMETER;
  fprintf(w->file,
          "/* obs: %d floats, %s. */\n"
          "int %s_act(const float *obs);\n"
          "void %s_q(const float *obs, double *q); /* q: %d values */\n\n",
          n, thermometer ? "some leading ones, then zeros" : "one of them 1, the others 0", w->name,
          w->name, w->env->actions.count);
  LGV_TRY(put_tables(w, n + 1, err));
  fprintf(w->file,
          "static int row_of(const float *obs) {\n"
          "  int i = 0;\n"
          "  while (i < %d && obs[i] %s 0) i++;\n",
          n, thermometer ? "!=" : "==");
  if (thermometer)
    fputs("  return i;\n}\n\n", w->file);
  else
    fprintf(w->file, "  return i < %d ? i + 1 : 0;\n}\n\n", n);
  put_lookups(w, "const float *obs", "row_of(obs)");
  return LGV_OK;
}

/* ---- networks ---- */

static void put_layer_code(writer *w) {
  fputs("/* y = x W + b, W (in x out) row by row; n_b is 1 if all outputs share a bias. */\n"
        "static void dense(const float *W, const float *b, int n_b, int in, int out, int rectify,\n"
        "                  const float *x, float *y) {\n"
        "  int i, j;\n"
        "  for (j = 0; j < out; j++) y[j] = b[n_b == 1 ? 0 : j];\n"
        "  for (i = 0; i < in; i++)\n"
        "    for (j = 0; j < out; j++) y[j] += x[i] * W[i * out + j];\n"
        "  for (j = 0; rectify && j < out; j++) y[j] = y[j] > 0 ? y[j] : 0;\n"
        "}\n\n",
        w->file);
  if (w->parts.net->layer[0].kernel == 0) return;
  fputs("/* Images are (height x width x channels); the convolution is VALID and rectified. */\n"
        "static void conv(const float *W, const float *b, int width, int in, int out, int kernel,\n"
        "                 int stride, int out_height, int out_width, const float *x, float *y) {\n"
        "  int row, column, u, v, i, j;\n"
        "  for (row = 0; row < out_height; row++)\n"
        "    for (column = 0; column < out_width; column++, y += out) {\n"
        "      const float *k = W;\n"
        "      for (j = 0; j < out; j++) y[j] = b[j];\n"
        "      for (u = 0; u < kernel; u++)\n"
        "        for (v = 0; v < kernel; v++)\n"
        "          for (i = 0; i < in; i++, k += out) {\n"
        "            float p = x[((row * stride + u) * width + column * stride + v) * in + i];\n"
        "            for (j = 0; j < out; j++) y[j] += p * k[j];\n"
        "          }\n"
        "      for (j = 0; j < out; j++) y[j] = y[j] > 0 ? y[j] : 0;\n"
        "    }\n"
        "}\n\n",
        w->file);
}

static const char *buffer(int32_t layer) { return layer % 2 ? "odd" : "even"; }

static void put_layer(writer *w, const net *n, int32_t l, const char *in, const char *out) {
  const net_layer *a = &n->layer[l];
  if (a->kernel)
    fprintf(w->file, "  conv(w + %lld, w + %lld, %d, %lld, %lld, %d, %d, %d, %d, %s, %s);\n",
            (long long)a->weights, (long long)a->biases, a->in_width, (long long)a->inputs,
            (long long)a->outputs, a->kernel, a->stride, a->out_height, a->out_width, in, out);
  else
    fprintf(w->file, "  dense(w + %lld, w + %lld, %lld, %lld, %lld, %d, %s, %s);\n",
            (long long)a->weights, (long long)a->biases, (long long)a->n_biases,
            (long long)a->inputs, (long long)a->outputs, l < n->n_layers - 1, in, out);
}

static int64_t largest_layer(const net *n) {
  int64_t most = net_obs_length(n);
  for (int32_t l = 0; l < n->n_layers; l++) {
    int64_t length = net_layer_length(&n->layer[l]);
    most = length > most ? length : most;
  }
  return most;
}

/* The mean over all tau of the outputs of the layers above an embedding. */
static void put_taus(writer *w, const net *n, const char *features) {
  long long units = n->layer[n->embedding].outputs, outputs = n->shape.outputs;
  fprintf(w->file,
          "  for (i = 0; i < %lld; i++) out[i] = 0;\n"
          "  for (t = 0; t < %lld; t++) {\n"
          "    float one[%lld];\n"
          "    for (i = 0; i < %lld; i++) tau[i] = %s[i] * psi[t * %lld + i];\n",
          outputs, (long long)w->parts.taus, outputs, units, features, units);
  for (int32_t l = n->embedding + 1; l < n->n_layers; l++) {
    fputs("  ", w->file);
    put_layer(w, n, l,
              l == n->embedding + 1 ? "tau"
              : l % 2               ? "up[0]"
                                    : "up[1]",
              l == n->n_layers - 1 ? "one"
              : l % 2              ? "up[1]"
                                   : "up[0]");
  }
  fprintf(w->file, "    for (i = 0; i < %lld; i++) out[i] += one[i] / %lld;\n  }\n", outputs,
          (long long)w->parts.taus);
}

static void put_forward(writer *w, const net *n, const char *name) {
  long long length = net_obs_length(n), most = largest_layer(n);
  bool bytes = w->env->obs_kind == LGV_OBS_BYTE;
  fprintf(w->file,
          "static void %s(const float *w, const %s *obs, float *out) {\n"
          "  static const float scale = ",
          name, bytes ? "unsigned char" : "float");
  put_number(w, (double)n->shape.input_scale, 9, "f");
  fprintf(w->file, ";\n  float even[%lld], odd[%lld];\n", most, most);
  if (n->embedding) fprintf(w->file, "  float tau[%lld];\n  int t;\n", most);
  if (n->embedding && n->embedding + 2 < n->n_layers)
    fprintf(w->file, "  float up[2][%lld];\n", most);
  fprintf(w->file, "  int i;\n  for (i = 0; i < %lld; i++) odd[i] = scale * obs[i];\n", length);
  int32_t end = n->embedding ? n->embedding : n->n_layers;
  for (int32_t l = 0; l < end; l++)
    put_layer(w, n, l, buffer(l + 1), l == n->n_layers - 1 ? "out" : buffer(l));
  if (n->embedding) put_taus(w, n, buffer(end - 1));
  fputs("}\n\n", w->file);
}

/* psi (taus x units) of the embedding for the midpoints tau = (t + 1/2) / taus. */
static lgv_status put_psi(writer *w, const net *n, lgv_error *err) {
  const net_layer *e = &n->layer[n->embedding];
  int64_t taus = w->parts.taus;
  float *psi = lgv__calloc((size_t)(taus * e->outputs), sizeof *psi);
  if (!psi) return lgv__out_of_memory(err, "an export");
  for (int64_t t = 0; t < taus; t++)
    for (int64_t j = 0; j < e->outputs; j++) {
      double tau = ((double)t + 0.5) / (double)taus, sum = (double)w->parts.w[e->biases + j];
      for (int64_t i = 0; i < e->inputs; i++)
        sum +=
            cos(M_PI * (double)(i + 1) * tau) * (double)w->parts.w[e->weights + i * e->outputs + j];
      psi[t * e->outputs + j] = (float)fmax(sum, 0);
    }
  put_floats(w, "psi", psi, 1, 0, taus * e->outputs);
  lgv__free(psi);
  return LGV_OK;
}

/* q[member][action] of all members. */
static void put_members(writer *w) {
  const lgv_policy_parts *p = &w->parts;
  const char *type = w->env->obs_kind == LGV_OBS_BYTE ? "unsigned char" : "float";
  int32_t A = w->env->actions.count, outputs = p->net->shape.outputs;
  fprintf(w->file, "static void members(const %s *obs, double q[][%d]) {\n", type, A);
  fprintf(w->file, "  float out[%d];\n  int copy, i%s;\n", outputs, p->atoms > 1 ? ", j" : "");
  if (p->prior) fprintf(w->file, "  float fixed[%d];\n", outputs);
  fprintf(w->file,
          "  for (copy = 0; copy < %lld; copy++) {\n"
          "    forward(weights + copy * %lldL, obs, out);\n",
          (long long)p->copies, (long long)p->net->params);
  if (p->prior) {
    fprintf(w->file, "    prior(prior_weights + copy * %lldL, obs, fixed);\n",
            (long long)p->prior->params);
    fprintf(w->file, "    for (i = 0; i < %d; i++) out[i] += ", outputs);
    put_number(w, (double)p->prior_scale, 9, "f");
    fputs(" * fixed[i];\n", w->file);
  }
  fprintf(w->file, "    for (i = 0; i < %d; i++) {\n", p->heads * A);
  if (p->atoms <= 1) {
    fprintf(w->file, "      q[copy * %d + i / %d][i %% %d] = out[i];\n", p->heads, A, A);
  } else {
    fprintf(w->file, "      const float *x = out + i * %d;\n      double sum = 0%s;\n", p->atoms,
            p->z ? ", all = 0, most = x[0]" : "");
    if (p->z)
      fprintf(w->file,
              "      for (j = 1; j < %d; j++) most = x[j] > most ? x[j] : most;\n"
              "      for (j = 0; j < %d; j++) {\n"
              "        double e = exp(x[j] - most);\n"
              "        all += e;\n"
              "        sum += e * z[j];\n"
              "      }\n",
              p->atoms, p->atoms);
    else
      fprintf(w->file, "      for (j = 0; j < %d; j++) sum += x[j];\n", p->atoms);
    fprintf(w->file, "      q[copy * %d + i / %d][i %% %d] = sum / ", p->heads, A, A);
    fprintf(w->file, p->z ? "all;\n" : "%d;\n", p->atoms);
  }
  fputs("    }\n  }\n}\n\n", w->file);
}

static void put_choice(writer *w) {
  const char *type = w->env->obs_kind == LGV_OBS_BYTE ? "unsigned char" : "float";
  int32_t A = w->env->actions.count;
  long long M = w->parts.copies * w->parts.heads;
  fprintf(w->file,
          "static int greatest(const double *q) {\n"
          "  int best = 0, a;\n"
          "  for (a = 1; a < %d; a++)\n"
          "    if (q[a] > q[best]) best = a;\n"
          "  return best;\n"
          "}\n\n"
          "void %s_q(const %s *obs, double *q) {\n"
          "  double all[%lld][%d];\n"
          "  int a, m;\n"
          "  members(obs, all);\n"
          "  for (a = 0; a < %d; a++) {\n"
          "    q[a] = 0;\n"
          "    for (m = 0; m < %lld; m++) q[a] += all[m][a] / %lld;\n"
          "  }\n"
          "}\n\n"
          "int %s_act(const %s *obs) {\n",
          A, w->name, type, M, A, A, M, M, w->name, type);
  if (w->parts.votes)
    fprintf(w->file,
            "  double all[%lld][%d], votes[%d] = {0};\n"
            "  int m;\n"
            "  members(obs, all);\n"
            "  for (m = 0; m < %lld; m++) votes[greatest(all[m])]++;\n"
            "  return greatest(votes);\n"
            "}\n",
            M, A, A, M);
  else
    fprintf(w->file,
            "  double q[%d];\n"
            "  %s_q(obs, q);\n"
            "  return greatest(q);\n"
            "}\n",
            A, w->name);
}

static lgv_status put_network(writer *w, lgv_error *err) {
  const lgv_policy_parts *p = &w->parts;
  const lgv_env_spec *env = w->env;
  bool bytes = env->obs_kind == LGV_OBS_BYTE;
  fprintf(w->file, "/* obs: (%d x %d x %d) %s; q: %d values. */\n", env->obs_shape[0],
          env->obs_shape[1], env->obs_shape[2], bytes ? "bytes" : "floats", env->actions.count);
  fprintf(w->file, "int %s_act(const %s *obs);\nvoid %s_q(const %s *obs, double *q);\n\n", w->name,
          bytes ? "unsigned char" : "float", w->name, bytes ? "unsigned char" : "float");
  if (p->z) fputs("#include <math.h> /* exp */\n\n", w->file);
  put_layer_code(w);
  put_floats(w, "weights", p->w, p->copies, p->stride, p->net->params);
  if (p->net->embedding) LGV_TRY(put_psi(w, p->net, err));
  put_forward(w, p->net, "forward");
  if (p->prior) {
    put_floats(w, "prior_weights", p->prior_w, p->copies, p->prior->params, p->prior->params);
    put_forward(w, p->prior, "prior");
  }
  if (p->z) put_floats(w, "z", p->z, 1, 0, p->atoms);
  put_members(w);
  put_choice(w);
  return LGV_OK;
}

/* ---- the file ---- */

/* Whether put_forward knows everything in the network. */
static bool is_known(const net *n) {
  return !n || (!n->shape.layer_norm && !n->shape.dueling && n->shape.vector == 0);
}

static lgv_status check(const writer *w, lgv_error *err) {
  const lgv_agent_type *type = lgv__agent_type(w->agent);
  LGV_TRY(lgv__agent_check_usable(w->agent, err));
  bool good = isalpha((unsigned char)w->name[0]) || w->name[0] == '_';
  for (const char *c = w->name; *c; c++) good &= isalnum((unsigned char)*c) || *c == '_';
  if (!good)
    return lgv_fail(err, LGV_ERR_USAGE, "'%.80s' cannot begin the name of a C function", w->name);
  if (!w->has_parts) return lgv_fail(err, LGV_ERR_USAGE, "%s cannot be exported", type->name);
  if (w->env->masked)
    return lgv_fail(err, LGV_ERR_USAGE, "%s: a policy with masks cannot be exported", type->name);
  bool by_index = w->env->obs_form != LGV_FORM_DENSE;
  if (w->parts.by_stage && !(type->traits & LGV_NEEDS_STATES))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s with one network per stage (agent.stages = per-stage) cannot be exported",
                    type->name);
  if (!w->parts.by_stage && !by_index && !w->parts.net)
    return lgv_fail(err, LGV_ERR_USAGE, "%s cannot be exported for these observations", type->name);
  if (!w->parts.by_stage && !by_index && !(is_known(w->parts.net) && is_known(w->parts.prior)))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "networks with agent.layer_norm, agent.dueling or a vector beside a picture "
                    "cannot be exported yet");
  if (!w->parts.by_stage && !by_index && w->parts.input.gain)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s maps its inputs by running statistics (agent.normalize_obs, or "
                    "agent.scale_input = channels), which an exported policy cannot do yet",
                    type->name);
  double rows = w->parts.by_stage ? (double)w->env->horizon * (double)w->env->states
                                  : (double)w->env->obs_shape[0] + 1;
  if ((w->parts.by_stage || by_index) && rows * w->env->actions.count > 1e8)
    return lgv_fail(err, LGV_ERR_USAGE, "a table of %.0f rows is too large to export", rows);
  return LGV_OK;
}

static lgv_status put_policy(writer *w, lgv_error *err) {
  fprintf(
      w->file,
      "/* A trained %s, written by langevin %s. C99; nothing is allocated, and nothing is kept\n"
      " * between calls. Actions are 0 to %d. */\n\n",
      lgv__agent_type(w->agent)->name, lgv_version(), w->env->actions.count - 1);
  if (w->parts.by_stage) return put_stage_table(w, err);
  return w->env->obs_form != LGV_FORM_DENSE ? put_index_table(w, err) : put_network(w, err);
}

static lgv_status close_file(writer *w, const char *temporary, const char *path, lgv_status status,
                             lgv_error *err) {
  bool written = fflush(w->file) == 0 && !ferror(w->file) && fsync(fileno(w->file)) == 0;
  int error = errno;
  fclose(w->file);
  if (status == LGV_OK && !written)
    status = lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", path, strerror(error));
  if (status == LGV_OK && w->not_finite)
    status = lgv_fail(err, LGV_ERR_NUMERIC, "the agent holds numbers that are not finite");
  if (status == LGV_OK && rename(temporary, path) != 0)
    status = lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", path, strerror(errno));
  if (status != LGV_OK) unlink(temporary);
  return status;
}

lgv_status lgv_agent_export(lgv_agent *agent, const char *path, const char *name, lgv_error *err) {
  char temporary[PATH_MAX];
  writer w = {.name = name, .agent = agent, .env = lgv__agent_env(agent)};
  w.has_parts = lgv__agent_policy_parts(agent, &w.parts);
  LGV_TRY(check(&w, err));
  if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", path);
  w.file = fopen(temporary, "wb");
  if (!w.file) return lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", path, strerror(errno));
  return close_file(&w, temporary, path, put_policy(&w, err), err);
}
