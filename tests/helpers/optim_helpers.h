/* Helpers for tests of optimizers: an optimizer of a kernel set with settings and arrays. */
#ifndef LGV_TESTS_OPTIM_HELPERS_H
#define LGV_TESTS_OPTIM_HELPERS_H

#include "base/param.h"
#include "math/kernels.h"
#include "optim/optim_type.h"

#include "run_helpers.h"

#include <math.h>
#include <stdlib.h>

typedef struct rig {
  const lgv_kernel_set *set;
  const lgv_optim_type *type;
  _Alignas(16) unsigned char params[256]; /* begins with an optim_params */
  lgv_optim_step step;                    /* its g may be written through g */
  float *g, *memory;
  lgv_noise noise;
} rig;

static inline const lgv_optim_type *find_optimizer(const lgv_kernel_set *set, const char *name) {
  for (size_t i = 0; set->optimizers[i]; i++)
    if (strcmp(set->optimizers[i]->name, name) == 0) return set->optimizers[i];
  fail_msg("there is no optimizer '%s'", name);
  return NULL;
}

/* settings: "lr=0.01 beta=inf" without the prefix optim., separated by blanks. */
static inline void set_params(const lgv_optim_type *type, void *params, const char *settings) {
  char copy[256];
  assert_true(strlen(settings) < sizeof copy);
  memcpy(copy, settings, strlen(settings) + 1);
  char *rest = copy;
  lgv_error err;
  for (char *item; (item = strsep(&rest, " "));) {
    if (!*item) continue;
    char *value = strchr(item, '=');
    *value++ = '\0';
    int row = lgv__params_find(type->params, item);
    if (row < 0) fail_msg("%s has no parameter '%s'", type->name, item);
    if (lgv__param_parse(&type->params[row], item, value, params, &err) != LGV_OK)
      fail_msg("%s", err.message);
  }
}

/* All arrays start at 0. compensated in the settings gives it a residual. */
static inline rig make_rig(const lgv_kernel_set *set, const char *name, const char *settings,
                           size_t count) {
  rig r = {.set = set,
           .type = find_optimizer(set, name),
           .step = {.count = count, .lr_scale = 1, .beta_scale = 1}};
  assert_true(r.type->params_size <= sizeof r.params);
  lgv__params_defaults(r.type->params, r.params);
  set_params(r.type, r.params, settings);
  if (r.type->resolve) r.type->resolve(r.params);
  size_t arrays = 3 + LGV_OPTIM_SLOTS;
  r.memory = calloc(arrays * count, sizeof *r.memory);
  assert_non_null(r.memory);
  r.step.w = r.memory;
  r.step.g = r.g = r.memory + count;
  if (((const optim_params *)r.params)->compensated) r.step.residual = r.memory + 2 * count;
  for (int i = 0; i < r.type->slots; i++) r.step.slot[i] = r.memory + (3 + (size_t)i) * count;
  lgv_rng rng;
  lgv_rng_seed(&rng, 7, "noise");
  lgv__noise_seed(&r.noise, &rng);
  return r;
}

static inline void free_rig(rig *r) { free(r->memory); }

static inline void take_step(rig *r) {
  r->step.t++;
  r->step.noise = &r->noise;
  r->type->step(r->params, &r->step);
}

/* The parameter, including its residual. */
static inline double value_of(const rig *r, size_t i) {
  return (double)r->step.w[i] + (r->step.residual ? (double)r->step.residual[i] : 0);
}

/* In double precision; cmocka's own compares floats. */
static inline void check_near(const char *what, double value, double expected, double allowed) {
  if (!(fabs(value - expected) <= allowed))
    fail_msg("%s is %.12g, not %.12g +- %.2g", what, value, expected, allowed);
}

static inline void set_all(float *x, size_t count, double value) {
  for (size_t i = 0; i < count; i++) x[i] = (float)value;
}

/* Mean and variance of value - origin over the parameters. */
static inline void sample_moments(const rig *r, double origin, double *mean, double *variance) {
  double n = (double)r->step.count, sum = 0, squares = 0;
  for (size_t i = 0; i < r->step.count; i++) sum += value_of(r, i) - origin;
  for (size_t i = 0; i < r->step.count; i++) {
    double off = value_of(r, i) - origin - sum / n;
    squares += off * off;
  }
  *mean = sum / n;
  *variance = squares / (n - 1);
}

/* The sample's mean and variance are within 5 standard errors of those of a normal distribution. */
static inline void check_law(const char *what, const rig *r, double origin, double mean,
                             double variance) {
  double m, v, n = (double)r->step.count;
  sample_moments(r, origin, &m, &v);
  double mean_error = sqrt(variance / n), variance_error = variance * sqrt(2 / n);
  if (!(fabs(m - mean) < 5 * mean_error))
    fail_msg("%s: mean %.8g, not %.8g +- %.2g", what, m, mean, mean_error);
  if (!(fabs(v - variance) < 5 * variance_error))
    fail_msg("%s: variance %.8g, not %.8g +- %.2g", what, v, variance, variance_error);
}

#endif
