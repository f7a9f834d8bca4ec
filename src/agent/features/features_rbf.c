/* rbf: radial basis functions, Gaussian bumps on a grid, normalized to length 1:
 *
 *   psi_j(x) = exp(-||x - c_j||^2 / (2 w^2)) / ||.||,   x scaled to [0, 1] per input.
 *
 * The grid has features.points per input. 0 takes as many as fit into features.count bumps, at
 * least 3 and at most 11; where 3 per input are too many (from 6 inputs on with 256), the
 * centers are features.count random points instead, drawn once. The width is
 * features.width distances of the grid; for random centers, of a grid of as many points.
 *
 * The length 1 makes lambda and the width of a confidence interval mean the same in every task. */
#include "agent/export_writer.h"
#include "agent/features/features.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>
#include <stdint.h>

enum { LEAST_POINTS = 3, MOST_POINTS = 11, MOST_FEATURES = 4096 };

typedef struct params {
  lgv_feature_bounds bounds;
  int64_t points, count;
  double width;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    FEATURE_BOUNDS_ROWS,
    LGV_INT_ROW(params, points, "points", "0", 0, 4096, "centers per input; 0: at most 11, as many as features.count allows"),
    LGV_INT_ROW(params, count, "count", "256", 1, 4096, "the most centers; random ones where 3 per input are more"),
    LGV_REAL_ROW(params, width, "width", "1", 0, 1e6, LGV_OPEN_MIN, "standard deviation of a bump, in distances between centers"),
    {0},
};
/* clang-format on */

typedef struct self {
  int64_t inputs, points, m; /* points: per input; 0: random centers */
  float scale;               /* 1 / (2 w^2) */
  float *centers;            /* (m x inputs) */
} self;

static int64_t points_of(const params *p, int64_t inputs) {
  if (p->points) return p->points;
  int64_t points = lgv__feature_grid(inputs, p->count);
  return points < LEAST_POINTS ? 0 : points > MOST_POINTS ? MOST_POINTS : points;
}

static lgv_status dim(const void *params_, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  const params *p = params_;
  (void)env;
  int64_t points = points_of(p, inputs);
  *out = points ? lgv__feature_power(points, inputs, MOST_FEATURES) : p->count;
  if (*out <= MOST_FEATURES) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "features.points = %lld on each of %lld inputs are more than %d features: lower "
                  "it, or set 0 for random centers",
                  (long long)p->points, (long long)inputs, MOST_FEATURES);
}

static void layout(void *self_, const void *params_, const lgv_env_spec *env, int64_t inputs,
                   lgv_layout *out) {
  self *s = self_;
  const params *p = params_;
  (void)env;
  s->inputs = inputs;
  s->points = points_of(p, inputs);
  s->m = s->points ? lgv__feature_power(s->points, inputs, MOST_FEATURES) : p->count;
  double points = s->points ? (double)s->points : lgv__pow((double)s->m, 1 / (double)inputs);
  double width = p->width / fmax(points - 1, 1);
  s->scale = (float)(1 / (2 * width * width));
  s->centers =
      lgv_layout_array(out, "features.centers", LGV_F32, (size_t)(s->m * inputs), LGV_KEEP);
}

static lgv_status open(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  (void)err;
  for (int64_t j = 0; j < s->m; j++)
    for (int64_t i = 0, rest = j; i < s->inputs; i++) {
      int64_t at = s->points ? rest % s->points : 0;
      double place = s->points > 1 ? (double)at / (double)(s->points - 1) : 0.5;
      s->centers[j * s->inputs + i] = (float)(s->points ? place : lgv_rng_uniform(rng));
      rest /= s->points ? s->points : 1;
    }
  return LGV_OK;
}

static void map_one(const self *s, const float *x, float *out) {
  float nearest = INFINITY, sum = 0;
  for (int64_t j = 0; j < s->m; j++) {
    float distance = 0;
    for (int64_t i = 0; i < s->inputs; i++) {
      float d = x[i] - s->centers[j * s->inputs + i];
      distance += d * d;
    }
    out[j] = distance * s->scale;
    nearest = fminf(nearest, out[j]);
  }
  for (int64_t j = 0; j < s->m; j++) { /* the nearest gets 1: far from all, no 0 / 0 */
    out[j] = lgv__expf(nearest - out[j]);
    sum += out[j] * out[j];
  }
  for (int64_t j = 0; j < s->m; j++) out[j] /= sqrtf(sum);
}

static lgv_status map(const void *self_, const float *x, int64_t count, float *out,
                      lgv_error *err) {
  (void)err;
  const self *s = self_;
  for (int64_t i = 0; i < count; i++) map_one(s, x + i * s->inputs, out + i * s->m);
  return LGV_OK;
}

void lgv__features_rbf_code(const void *self_, export_writer *w) {
  const self *s = self_;
  lgv__export_floats(w, "centers", s->centers, 1, 0, s->m * s->inputs);
  lgv__export_floats(w, "scale", &s->scale, 1, 0, 1);
  fprintf(w->file,
          "static void features(const float *x, float *phi) {\n"
          "  float nearest = 0, sum = 0;\n"
          "  for (int j = 0; j < %lld; j++) {\n"
          "    float distance = 0;\n"
          "    for (int i = 0; i < %lld; i++) {\n"
          "      float d = x[i] - centers[j * %lldL + i];\n"
          "      distance += d * d;\n"
          "    }\n"
          "    phi[j] = distance * scale[0];\n"
          "    if (j == 0 || phi[j] < nearest) nearest = phi[j];\n"
          "  }\n"
          "  for (int j = 0; j < %lld; j++) {\n"
          "    phi[j] = expf(nearest - phi[j]);\n"
          "    sum += phi[j] * phi[j];\n"
          "  }\n"
          "  for (int j = 0; j < %lld; j++) phi[j] /= sqrtf(sum);\n"
          "}\n\n",
          (long long)s->m, (long long)s->inputs, (long long)s->inputs, (long long)s->m,
          (long long)s->m);
}

const lgv_feature_type lgv__features_rbf = {
    .size = sizeof(lgv_feature_type),
    .name = "rbf",
    .summary = "Gaussian bumps on a grid, or at random points for many inputs",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .scaled = true,
    .dim = dim,
    .layout = layout,
    .open = open,
    .map = map,
};
