/* Helpers for tests of networks: a network with parameters, a tape and a random batch, and a slow
 * reference implementation: plain loops in double. */
#ifndef LGV_TESTS_NET_HELPERS_H
#define LGV_TESTS_NET_HELPERS_H

#include "base/arena.h"
#include "math/kernels.h"
#include "nn/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct net_case {
  net n;
  int64_t batch, length; /* length: numbers in an observation */
  lgv_arena arena;
  net_tape tape;
  float *params, *grad, *d_outputs, *dense, *tau;
  uint8_t *bytes;
  int32_t *index;
} net_case;

/* Rows of the outputs. */
static inline int64_t case_rows(const net_case *c) {
  return c->n.embedding ? c->batch * c->n.shape.taus : c->batch;
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
}

/* Random parameters, equivalent inputs in every form, and derivatives at the outputs. */
static inline void case_open(net_case *c, net_shape shape, int64_t batch, uint64_t seed) {
  lgv_error err = {0};
  *c = (net_case){.batch = batch};
  if (lgv__net_build(&c->n, &shape, &err) != LGV_OK) fail_msg("%s", err.message);
  c->length = (int64_t)shape.obs_shape[0] * shape.obs_shape[1] * shape.obs_shape[2];
  if (lgv__arena_build(&c->arena, case_layout, c, "a test", &err) != LGV_OK)
    fail_msg("%s", err.message);
  lgv_rng rng;
  lgv_rng_seed(&rng, seed, "test.net");
  lgv__net_init(&c->n, c->params, &rng);
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
  for (int64_t i = 0; i < case_rows(c); i++) c->tau[i] = (float)lgv_rng_uniform(&rng);
  memset(c->grad, 0xff, (size_t)c->n.params * sizeof *c->grad); /* NaN: must be overwritten */
}

static inline void case_close(net_case *c) { lgv__arena_free(&c->arena); }

static inline net_input case_input(const net_case *c) {
  net_input input = {.tau = c->tau, .taus = c->n.shape.taus};
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
    for (int64_t i = 0; i < l->inputs; i++) sum += in[i] * params[l->weights + i * l->outputs + o];
    out[o] = sum;
  }
}

/* Outputs of one sample; in and out are scratch for the largest layer. */
static inline const double *slow_forward(const net *n, const double *params, const float *obs,
                                         int64_t length, double *in, double *out) {
  for (int64_t i = 0; i < length; i++) in[i] = (double)n->shape.input_scale * obs[i];
  for (int32_t k = 0; k < n->n_layers; k++) {
    const net_layer *l = &n->layer[k];
    int64_t size = l->outputs * (l->kernel ? l->out_height * l->out_width : 1);
    if (l->kernel)
      slow_conv(l, params, in, out);
    else
      slow_dense(l, params, in, out);
    for (int64_t i = 0; i < size && k < n->n_layers - 1; i++) out[i] = out[i] > 0 ? out[i] : 0;
    double *swap = in;
    in = out;
    out = swap;
  }
  return in;
}

#endif
