/* random-fourier: random features of a Gaussian kernel, Rahimi and Recht (NeurIPS 2007),
 *
 *   psi(x) = (cos(w_1 . x), sin(w_1 . x), cos(w_2 . x), ...) / sqrt(m / 2)
 *   w_j ~ N(0, I / width^2)
 *
 * with x scaled to [0, 1] per input. The directions w_j are drawn once. ||psi|| = 1, and psi(x) .
 * psi(y) has the mean exp(-||x - y||^2 / (2 width^2)). */
#include "agent/export_writer.h"
#include "agent/features/features.h"
#include "base/portable_math.h"

#include <math.h>

typedef struct params {
  lgv_feature_bounds bounds;
  int64_t count;
  double width;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    FEATURE_BOUNDS_ROWS,
    LGV_INT_ROW(params, count, "count", "128", 2, 4096, "features: a cosine and a sine for every direction; an odd number is one less"),
    LGV_REAL_ROW(params, width, "width", "0.15", 0, 1e6, LGV_OPEN_MIN, "standard deviation of the kernel, in units of an input's range"),
    {0},
};
/* clang-format on */

typedef struct self {
  int64_t inputs, pairs;
  double width;
  float *directions; /* (pairs x inputs) */
} self;

static lgv_status dim(const void *params_, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  (void)env;
  (void)inputs;
  (void)err;
  *out = ((const params *)params_)->count / 2 * 2;
  return LGV_OK;
}

static void layout(void *self_, const void *params_, const lgv_env_spec *env, int64_t inputs,
                   lgv_layout *out) {
  self *s = self_;
  const params *p = params_;
  (void)env;
  s->inputs = inputs;
  s->pairs = p->count / 2;
  s->width = p->width;
  s->directions =
      lgv_layout_array(out, "features.directions", LGV_F32, (size_t)(s->pairs * inputs), LGV_KEEP);
}

static lgv_status open(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  (void)err;
  for (int64_t i = 0; i < s->pairs * s->inputs; i++)
    s->directions[i] = (float)(lgv_rng_normal(rng) / s->width);
  return LGV_OK;
}

static lgv_status map(const void *self_, const float *x, int64_t count, float *out,
                      lgv_error *err) {
  (void)err;
  const self *s = self_;
  float scale = 1 / sqrtf((float)s->pairs);
  for (int64_t n = 0; n < count; n++, x += s->inputs)
    for (int64_t j = 0; j < s->pairs; j++) {
      float angle = lgv__feature_angle(s->directions, j, x, s->inputs);
      *out++ = scale * lgv__cosf(angle);
      *out++ = scale * lgv__sinf(angle);
    }
  return LGV_OK;
}

void lgv__features_random_fourier_code(const void *self_, export_writer *w) {
  const self *s = self_;
  lgv__export_floats(w, "directions", s->directions, 1, 0, s->pairs * s->inputs);
  fprintf(w->file,
          "static void features(const float *x, float *phi) {\n"
          "  for (int j = 0; j < %lld; j++) {\n"
          "    float angle = 0;\n"
          "    for (int i = 0; i < %lld; i++) angle += directions[j * %lldL + i] * x[i];\n"
          "    phi[2 * j] = cosf(angle) / sqrtf(%lld.0f);\n"
          "    phi[2 * j + 1] = sinf(angle) / sqrtf(%lld.0f);\n"
          "  }\n"
          "}\n\n",
          (long long)s->pairs, (long long)s->inputs, (long long)s->inputs, (long long)s->pairs,
          (long long)s->pairs);
}

const lgv_feature_type lgv__features_random_fourier = {
    .size = sizeof(lgv_feature_type),
    .name = "random-fourier",
    .summary = "random waves that stand for a Gaussian kernel",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .scaled = true,
    .dim = dim,
    .layout = layout,
    .open = open,
    .map = map,
};
