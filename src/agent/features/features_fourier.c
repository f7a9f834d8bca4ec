/* fourier: the cosine basis of Konidaris, Osentoski, Thomas (AAAI 2011),
 *
 *   psi_j(x) = cos(pi c_j . x) / sqrt(m),   c_j in {0 ... order}^inputs,   x scaled to [0, 1].
 *
 * features.coupling bounds the inputs that one c_j combines. 0 combines all up to 4 inputs, and
 * pairs of more, or single ones where pairs are more than features.count. features.order = 0 takes
 * the highest order, at most 7, with at most features.count features. ||psi|| <= 1. */
#include "agent/export_writer.h"
#include "agent/features/features.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>

enum { MOST_ORDER = 7, MOST_FEATURES = 4096, ALL_UP_TO = 4, PAIRS = 2 };

typedef struct params {
  lgv_feature_bounds bounds;
  int64_t order, coupling, count;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    FEATURE_BOUNDS_ROWS,
    LGV_INT_ROW(params, order, "order", "0", 0, 4095, "the highest frequency of an input; 0: at most 7, as features.count allows"),
    LGV_INT_ROW(params, coupling, "coupling", "0", 0, 64, "the most inputs that one feature combines; 0: all of up to 4 inputs, pairs of more"),
    LGV_INT_ROW(params, count, "count", "256", 1, 4096, "the most features that features.order = 0 takes"),
    {0},
};
/* clang-format on */

typedef struct self {
  int64_t inputs, order, coupling, m;
  float *frequencies; /* (m x inputs): pi c_j */
} self;

/* The number of c with entries up to order, at most `coupling` of them not 0. */
static int64_t count_of(int64_t inputs, int64_t order, int64_t coupling) {
  double sum = 1, term = 1;
  for (int64_t k = 1; k <= coupling && k <= inputs; k++) {
    term *= (double)(inputs - k + 1) / (double)k * (double)order;
    sum += term;
  }
  return sum > MOST_FEATURES ? MOST_FEATURES + 1 : (int64_t)(sum + 0.5);
}

static void settle(const params *p, int64_t inputs, self *s) {
  s->inputs = inputs;
  s->coupling = p->coupling ? p->coupling : inputs <= ALL_UP_TO ? inputs : PAIRS;
  if (!p->coupling && !p->order && count_of(inputs, 1, s->coupling) > p->count) s->coupling = 1;
  s->order = p->order ? p->order : 1;
  while (!p->order && s->order < MOST_ORDER &&
         count_of(inputs, s->order + 1, s->coupling) <= p->count)
    s->order++;
  s->m = count_of(inputs, s->order, s->coupling);
}

static lgv_status dim(const void *params_, const lgv_env_spec *env, int64_t inputs, int64_t *out,
                      lgv_error *err) {
  const params *p = params_;
  self s;
  (void)env;
  settle(p, inputs, &s);
  *out = s.m;
  if (!p->order && s.m > p->count)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%lld inputs with coupling %lld have %lld frequencies up to order 1, more than "
                    "features.count = %lld: raise it, or take rbf or random-fourier",
                    (long long)inputs, (long long)s.coupling, (long long)s.m, (long long)p->count);
  if (s.m <= MOST_FEATURES) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "order %lld with coupling %lld of %lld inputs is more than %d features: lower "
                  "features.order or features.coupling",
                  (long long)s.order, (long long)s.coupling, (long long)inputs, MOST_FEATURES);
}

static void layout(void *self_, const void *params_, const lgv_env_spec *env, int64_t inputs,
                   lgv_layout *out) {
  self *s = self_;
  (void)env;
  settle(params_, inputs, s);
  s->frequencies =
      lgv_layout_array(out, "features.frequencies", LGV_F32, (size_t)(s->m * inputs), LGV_KEEP);
}

/* The vector after c in the order of a counter whose entries before `first` stay; false after the
 * last. */
static bool advance(const self *s, float *c, int64_t first) {
  for (int64_t i = first; i < s->inputs; i++) {
    if (c[i]++ < (float)s->order) return true;
    c[i] = 0;
  }
  return false;
}

static int64_t combined(const self *s, const float *c) {
  int64_t n = 0;
  for (int64_t i = 0; i < s->inputs; i++) n += c[i] != 0;
  return n;
}

/* A vector with too many entries skips to the next value of its first entry that is not 0. */
static bool skip(const self *s, float *c) {
  int64_t i = 0;
  while (i < s->inputs && c[i] == 0) i++;
  c[i] = 0;
  return advance(s, c, i + 1);
}

static lgv_status open(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  (void)rng;
  (void)err;
  const float pi = 3.14159265358979323846f;
  float *c = s->frequencies; /* counts in place: the last row written is the counter */
  for (int64_t j = 1; j < s->m; j++) {
    float *next = c + s->inputs;
    for (int64_t i = 0; i < s->inputs; i++) next[i] = c[i];
    bool more = advance(s, next, 0);
    while (more && combined(s, next) > s->coupling) more = skip(s, next);
    c = next;
  }
  for (int64_t i = 0; i < s->m * s->inputs; i++) s->frequencies[i] *= pi;
  return LGV_OK;
}

static lgv_status map(const void *self_, const float *x, int64_t count, float *out,
                      lgv_error *err) {
  (void)err;
  const self *s = self_;
  float scale = 1 / sqrtf((float)s->m);
  for (int64_t n = 0; n < count; n++, x += s->inputs)
    for (int64_t j = 0; j < s->m; j++)
      *out++ = scale * lgv__cosf(lgv__feature_angle(s->frequencies, j, x, s->inputs));
  return LGV_OK;
}

void lgv__features_fourier_code(const void *self_, export_writer *w) {
  const self *s = self_;
  lgv__export_floats(w, "frequencies", s->frequencies, 1, 0, s->m * s->inputs);
  fprintf(w->file,
          "static void features(const float *x, float *phi) {\n"
          "  for (int j = 0; j < %lld; j++) {\n"
          "    float angle = 0;\n"
          "    for (int i = 0; i < %lld; i++) angle += frequencies[j * %lldL + i] * x[i];\n"
          "    phi[j] = cosf(angle) / sqrtf(%lld.0f);\n"
          "  }\n"
          "}\n\n",
          (long long)s->m, (long long)s->inputs, (long long)s->inputs, (long long)s->m);
}

const lgv_feature_type lgv__features_fourier = {
    .size = sizeof(lgv_feature_type),
    .name = "fourier",
    .summary = "cosines of up to some order, for functions that vary smoothly",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .scaled = true,
    .dim = dim,
    .layout = layout,
    .open = open,
    .map = map,
};
