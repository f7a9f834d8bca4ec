/* Helpers for tests of networks: a network with parameters, a tape and a random batch, and a slow
 * reference implementation: plain loops in double. */
#ifndef LGV_TESTS_NET_HELPERS_H
#define LGV_TESTS_NET_HELPERS_H

#include "base/arena.h"
#include "math/kernels.h"
#include "nn/net.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct net_case {
  net n;
  int64_t batch, length; /* length: numbers in an observation, or in its picture */
  lgv_arena arena;
  net_tape tape;
  float *params, *grad, *d_outputs, *dense, *tau;
  float *vector; /* (batch x vector) */
  uint8_t *bytes;
  char *encoded;  /* (batch x stride): pictures, each followed by its vector */
  int64_t stride; /* with a vector; else 0 */
  int32_t *index;
} net_case;

/* Rows of the outputs. */
static inline int64_t case_rows(const net_case *c) {
  return c->n.embedding ? c->batch * c->n.shape.taus : c->batch;
}

/* Where the vector of an encoded observation begins. */
static inline int64_t case_vector_at(const net_case *c) {
  int64_t item = c->n.shape.obs_kind == LGV_OBS_BYTE ? 1 : (int64_t)sizeof(float);
  return (c->length * item + 3) / 4 * 4;
}

static inline void case_layout(void *context, lgv_layout *layout) {
  net_case *c = context;
  size_t batch = (size_t)c->batch, rows = (size_t)case_rows(c), params = (size_t)c->n.params;
  lgv__net_tape_layout(&c->tape, &c->n, "tape", c->batch, true, layout);
  c->params = lgv_layout_array(layout, "params", LGV_F32, params, LGV_KEEP);
  c->grad = lgv_layout_array(layout, "grad", LGV_F32, params, LGV_SCRATCH);
  c->d_outputs = lgv_layout_array(layout, "d_outputs", LGV_F32, rows * (size_t)c->n.shape.outputs,
                                  LGV_SCRATCH);
  c->tau = lgv_layout_array(layout, "tau", LGV_F32, rows, LGV_SCRATCH);
  c->dense = lgv_layout_array(layout, "dense", LGV_F32, batch * (size_t)c->length, LGV_SCRATCH);
  c->bytes = lgv_layout_array(layout, "bytes", LGV_U8, batch * (size_t)c->length, LGV_SCRATCH);
  c->index = lgv_layout_array(layout, "index", LGV_I32, batch, LGV_SCRATCH);
  c->vector = lgv_layout_array(layout, "vector", LGV_F32, batch * (size_t)c->n.shape.vector + 1,
                               LGV_SCRATCH);
  c->encoded =
      lgv_layout_array(layout, "encoded", LGV_U8, batch * (size_t)c->stride + 1, LGV_SCRATCH);
}

/* Puts pictures and vectors one behind the other, as the replay does. */
static inline void case_encode(net_case *c) {
  int64_t vector = c->n.shape.vector, item = c->n.shape.obs_kind == LGV_OBS_BYTE ? 1 : 4;
  for (int64_t s = 0; s < c->batch && vector > 0; s++) {
    char *to = c->encoded + s * c->stride;
    const char *from = item == 1 ? (const char *)c->bytes : (const char *)c->dense;
    memcpy(to, from + s * c->length * item, (size_t)(c->length * item));
    memcpy(to + case_vector_at(c), c->vector + s * vector, (size_t)vector * sizeof(float));
  }
}

/* Random parameters, equivalent inputs in every form, and derivatives at the outputs. */
static inline void case_open(net_case *c, net_shape shape, int64_t batch, uint64_t seed) {
  lgv_error err = {0};
  *c = (net_case){.batch = batch};
  if (lgv__net_build(&c->n, &shape, &err) != LGV_OK) fail_msg("%s", err.message);
  c->length = (int64_t)shape.obs_shape[0] * shape.obs_shape[1] * shape.obs_shape[2];
  c->stride = shape.vector > 0 ? case_vector_at(c) + shape.vector * (int64_t)sizeof(float) : 0;
  if (lgv__arena_build(&c->arena, case_layout, c, "a test", &err) != LGV_OK)
    fail_msg("%s", err.message);
  lgv_rng rng;
  lgv_rng_seed(&rng, seed, "test.net");
  lgv__net_init(&c->n, c->params, &rng);
  for (int32_t l = 0; l < c->n.n_layers; l++) { /* gains and shifts that differ */
    const net_layer *layer = &c->n.layer[l];
    for (int64_t i = 0; layer->normalized && i < layer->outputs; i++) {
      c->params[layer->gains + i] += (float)(0.5 * lgv_rng_normal(&rng));
      c->params[layer->shifts + i] += (float)(0.5 * lgv_rng_normal(&rng));
    }
  }
  for (int64_t s = 0; s < batch; s++) {
    int64_t least = shape.obs_form == LGV_FORM_ONE_HOT ? -1 : 0;
    c->index[s] = (int32_t)(least + lgv_rng_below(&rng, c->length + 1));
    for (int64_t i = 0; i < c->length; i++) {
      uint8_t byte = (uint8_t)lgv_rng_below(&rng, 256);
      if (shape.obs_form == LGV_FORM_ONE_HOT) byte = i == c->index[s];
      if (shape.obs_form == LGV_FORM_THERMOMETER) byte = i < c->index[s];
      c->bytes[s * c->length + i] = byte;
      c->dense[s * c->length + i] =
          shape.obs_form == LGV_FORM_DENSE && shape.obs_kind == LGV_OBS_FLOAT
              ? (float)lgv_rng_normal(&rng)
              : (float)byte;
    }
  }
  for (int64_t i = 0; i < case_rows(c) * shape.outputs; i++)
    c->d_outputs[i] = (float)lgv_rng_normal(&rng);
  for (int64_t i = 0; i < batch * shape.vector; i++) c->vector[i] = (float)lgv_rng_normal(&rng);
  case_encode(c);
  for (int64_t i = 0; i < case_rows(c); i++) c->tau[i] = (float)lgv_rng_uniform(&rng);
  memset(c->grad, 0xff, (size_t)c->n.params * sizeof *c->grad); /* NaN: must be overwritten */
}

static inline void case_close(net_case *c) { lgv__arena_free(&c->arena); }

static inline net_input case_input(const net_case *c) {
  net_input input = {.tau = c->tau, .taus = c->n.shape.taus, .stride = c->stride};
  if (c->stride > 0) {
    input.vector = (const float *)(const void *)(c->encoded + case_vector_at(c));
    input.bytes = c->n.shape.obs_kind == LGV_OBS_BYTE ? (const uint8_t *)c->encoded : NULL;
    if (!input.bytes) input.dense = (const float *)(const void *)c->encoded;
    return input;
  }
  if (c->n.shape.obs_form != LGV_FORM_DENSE)
    input.index = c->index;
  else if (c->n.shape.obs_kind == LGV_OBS_BYTE)
    input.bytes = c->bytes;
  else
    input.dense = c->dense;
  return input;
}

/* ---- The reference implementation ---- */

static inline void slow_conv(const net_layer *l, const double *params, const double *in,
                             double *out) {
  for (int y = 0; y < l->out_height; y++)
    for (int x = 0; x < l->out_width; x++)
      for (int64_t o = 0; o < l->outputs; o++) {
        double sum = params[l->biases + o];
        for (int ky = 0; ky < l->kernel; ky++)
          for (int kx = 0; kx < l->kernel; kx++)
            for (int64_t c = 0; c < l->inputs; c++)
              sum += in[((y * l->stride + ky) * l->in_width + x * l->stride + kx) * l->inputs + c] *
                     params[l->weights + ((ky * l->kernel + kx) * l->inputs + c) * l->outputs + o];
        out[(y * l->out_width + x) * l->outputs + o] = sum;
      }
}

static inline void slow_dense(const net_layer *l, const double *params, const double *in,
                              double *out) {
  for (int64_t o = 0; o < l->outputs; o++) {
    double sum = params[l->biases + (l->n_biases == 1 ? 0 : o)];
    for (int64_t i = 0; i < l->inputs; i++)
      sum += in[l->in_first + i] * params[l->weights + i * l->outputs + o];
    out[o] = sum;
  }
}

static inline void slow_norm(const net_layer *l, const double *params, int64_t size, double *x) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < size; i++) mean += x[i] / (double)size;
  for (int64_t i = 0; i < size; i++) variance += (x[i] - mean) * (x[i] - mean) / (double)size;
  for (int64_t i = 0; i < size; i++)
    x[i] =
        params[l->gains + i % l->outputs] * (x[i] - mean) / sqrt(variance + (double)LGV_NORM_EPS) +
        params[l->shifts + i % l->outputs];
}

/* Q = V + A - mean A, in place of A. */
static inline void slow_duel(const net_shape *s, const double *value, double *q) {
  int64_t A = s->outputs / s->heads / s->atoms;
  for (int64_t h = 0; h < s->heads; h++)
    for (int64_t k = 0; k < s->atoms; k++) {
      double *of_head = q + h * A * s->atoms + k;
      for (int64_t p = 0, first = 0; p < s->parts; p++) {
        int64_t end = s->parts > 1 ? first + s->part_sizes[p] : A;
        double mean = 0;
        for (int64_t a = first; a < end; a++) mean += of_head[a * s->atoms] / (double)(end - first);
        for (int64_t a = first; a < end; a++)
          of_head[a * s->atoms] += value[h * s->atoms + k] - mean;
        first = end;
      }
    }
}

/* Outputs of one sample; in and out are scratch for the largest layer and a vector. */
static inline const double *slow_forward(const net *n, const double *params, const float *obs,
                                         int64_t length, const float *vector, double *in,
                                         double *out) {
  double value[64];
  for (int64_t i = 0; i < length; i++) in[i] = (double)n->shape.input_scale * obs[i];
  for (int64_t i = 0; i < n->shape.vector && !n->joins; i++) in[length + i] = vector[i];
  for (int32_t k = 0; k < n->n_layers; k++) {
    const net_layer *l = &n->layer[k];
    int64_t size = l->outputs * (l->kernel ? l->out_height * l->out_width : 1);
    if (l->kernel)
      slow_conv(l, params, in, out);
    else
      slow_dense(l, params, in, l->kind == LAYER_VALUE ? value : out);
    if (l->kind == LAYER_VALUE) continue;
    if (l->normalized) slow_norm(l, params, size, out);
    for (int64_t i = 0; i < size && l->hidden; i++) out[i] = out[i] > 0 ? out[i] : 0;
    for (int64_t i = 0; i < n->shape.vector && n->joins == k + 1; i++) out[size + i] = vector[i];
    if (l->kind == LAYER_ADVANTAGE) slow_duel(&n->shape, value, out);
    double *swap = in;
    in = out;
    out = swap;
  }
  return in;
}

#endif
