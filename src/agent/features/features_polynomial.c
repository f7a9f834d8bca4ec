/* polynomial: all products of inputs up to a total degree, x scaled to [0, 1]:
 *
 *   psi_j(x) = prod_i x_i^{c_ji} / sqrt(m),   sum_i c_ji <= degree;   ||psi|| <= 1. */
#include "agent/export_writer.h"
#include "agent/features/features.h"
#include "base/error.h"

#include <math.h>

enum { MOST_FEATURES = 4096 };

typedef struct params {
  lgv_feature_bounds bounds;
  int64_t degree;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    FEATURE_BOUNDS_ROWS,
    LGV_INT_ROW(params, degree, "degree", "2", 1, 64, "the highest total degree of a product"),
    {0},
};
/* clang-format on */

typedef struct self {
  int64_t inputs, degree, m;
  int32_t *parent; /* (m): the product that feature j multiplies; the first is 1 */
  int32_t *factor; /* (m): the input that it multiplies it by */
} self;

/* (inputs + degree) over degree. */
static int64_t count_of(int64_t inputs, int64_t degree) {
  double count = 1;
  for (int64_t k = 1; k <= degree; k++) count *= (double)(inputs + k) / (double)k;
  return count > MOST_FEATURES ? MOST_FEATURES + 1 : (int64_t)(count + 0.5);
}

static lgv_status dim(const void *params_, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  const params *p = params_;
  (void)env;
  *out = count_of(inputs, p->degree);
  if (*out <= MOST_FEATURES) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "features.degree = %lld of %lld inputs is more than %d features: lower it",
                  (long long)p->degree, (long long)inputs, MOST_FEATURES);
}

static const char *link_fault(const void *self_) {
  const self *s = self_;
  for (int64_t j = 1; j < s->m; j++)
    if (s->parent[j] < 0 || s->parent[j] >= j || s->factor[j] < 0 || s->factor[j] >= s->inputs)
      return "a factor outside the inputs";
  return NULL;
}

static void layout(void *self_, const void *params_, const lgv_env_spec *env, int64_t inputs,
                   lgv_layout *out) {
  self *s = self_;
  (void)env;
  s->inputs = inputs;
  s->degree = ((const params *)params_)->degree;
  s->m = count_of(inputs, s->degree);
  s->parent = lgv_layout_array(out, "features.parent", LGV_I32, (size_t)s->m, LGV_KEEP);
  s->factor = lgv_layout_array(out, "features.factor", LGV_I32, (size_t)s->m, LGV_KEEP);
  lgv_layout_check(out, link_fault, s);
}

/* Every product is one of the degree before, times an input that is not before its last factor. */
static lgv_status open(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  (void)rng;
  (void)err;
  int64_t first = 0, end = 1; /* the products of the degree before */
  for (int64_t degree = 1, j = 1; degree <= s->degree; degree++) {
    for (int64_t of = first; of < end; of++)
      for (int64_t i = degree == 1 ? 0 : s->factor[of]; i < s->inputs; i++, j++) {
        s->parent[j] = (int32_t)of;
        s->factor[j] = (int32_t)i;
      }
    first = end;
    end = j;
  }
  return LGV_OK;
}

static lgv_status map(const void *self_, const float *x, int64_t count, float *out,
                      lgv_error *err) {
  (void)err;
  const self *s = self_;
  for (int64_t n = 0; n < count; n++, x += s->inputs, out += s->m) {
    out[0] = 1 / sqrtf((float)s->m);
    for (int64_t j = 1; j < s->m; j++) out[j] = out[s->parent[j]] * x[s->factor[j]];
  }
  return LGV_OK;
}

static void put_ints(export_writer *w, const char *name, const int32_t *x, int64_t count) {
  fprintf(w->file, "static const int %s[%lld] = {\n  ", name, (long long)count);
  for (int64_t i = 0; i < count; i++) {
    lgv__export_separator(w, i, 16);
    fprintf(w->file, "%d", x[i]);
  }
  fputs("};\n\n", w->file);
}

void lgv__features_polynomial_code(const void *self_, export_writer *w) {
  const self *s = self_;
  put_ints(w, "parents", s->parent, s->m);
  put_ints(w, "factors_of", s->factor, s->m);
  fprintf(w->file,
          "static void features(const float *x, float *phi) {\n"
          "  phi[0] = 1 / sqrtf(%lld.0f);\n"
          "  for (int j = 1; j < %lld; j++) phi[j] = phi[parents[j]] * x[factors_of[j]];\n"
          "}\n\n",
          (long long)s->m, (long long)s->m);
}

const lgv_feature_type lgv__features_polynomial = {
    .size = sizeof(lgv_feature_type),
    .name = "polynomial",
    .summary = "products of the inputs up to a total degree",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .scaled = true,
    .dim = dim,
    .layout = layout,
    .open = open,
    .map = map,
};
