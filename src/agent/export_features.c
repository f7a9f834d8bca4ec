/* The values of a linear agent with a feature map: its inputs, its map, and the rule of a stage, as
 * lsvi_history_plan.c applies it. Each map of the library except `network` writes the body of
 * its own function. */
#include "agent/export_writer.h"
#include "agent/features/features.h"
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "base/spec.h"

#include <float.h>
#include <math.h>

#define MAPS(X) X(identity) X(rows) X(polynomial) X(fourier) X(rbf) X(random_fourier) X(tiles)
#define DECLARE(name) extern const lgv_feature_type lgv__features_##name;
#define ENTRY(name) {&lgv__features_##name, lgv__features_##name##_code},

MAPS(DECLARE)

static const struct {
  const lgv_feature_type *type;
  lgv_feature_code *code;
} maps[] = {MAPS(ENTRY)};

lgv_feature_code *lgv__export_feature_code(const lgv_feature_type *type) {
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    if (maps[i].type == type) return maps[i].code;
  return NULL;
}

void lgv__export_doubles(export_writer *w, const char *name, const double *x, int64_t count) {
  fprintf(w->file, "static const double %s[%lld] = {\n  ", name, (long long)count);
  for (int64_t i = 0; i < count; i++) {
    lgv__export_separator(w, i, 4);
    lgv__export_number(w, x[i], 17, "");
  }
  fputs("};\n\n", w->file);
}

/* x (inputs): the numbers of an observation, scaled if the map wants that. */
static void put_inputs(export_writer *w, const lsvi_history *t) {
  long long pixels = (long long)lgv__obs_count(w->env);
  const feature_input *in = &t->input;
  if (in->bounds) {
    lgv__export_doubles(w, "lowest", in->low, in->count);
    lgv__export_doubles(w, "highest", in->high, in->count);
  }
  fprintf(w->file, "static void inputs(%s, float *x) {\n", w->obs_parameters);
  fprintf(w->file, "  for (int i = 0; i < %lld; i++) x[i] = (float)%s[i];\n", pixels,
          w->env->vector > 0 ? "picture" : "obs");
  if (w->env->vector > 0)
    fprintf(w->file, "  for (int i = 0; i < %d; i++) x[%lld + i] = vector[i];\n", w->env->vector,
            pixels);
  if (in->bounds)
    fprintf(w->file,
            "  for (int i = 0; i < %lld; i++) {\n"
            "    double range = highest[i] - lowest[i];\n"
            "    double v = range > 0 ? ((double)x[i] - lowest[i]) / range : 0.5;\n"
            "    x[i] = (float)(v > 0 ? v < 1 ? v : 1 : 0);\n"
            "  }\n",
            (long long)in->count);
  fputs("}\n\n", w->file);
}

/* ||phi||_{Lambda^-1}: z = L^-1 phi, L by columns. */
static void put_width(export_writer *w, const lsvi *c) {
  int64_t m = c->history.m, groups = c->groups * c->blocks;
  lgv__export_doubles(w, "factors", c->factor, groups * m * m);
  fprintf(w->file,
          "static double width_of(const float *phi, int block) {\n"
          "  const double *l = factors + (long)block * %lld;\n"
          "  double z[%lld], square = 0;\n"
          "  for (int i = 0; i < %lld; i++) z[i] = phi[i];\n"
          "  for (int j = 0; j < %lld; j++) {\n"
          "    z[j] /= l[j * %lldL + j];\n"
          "    square += z[j] * z[j];\n"
          "    for (int i = j + 1; i < %lld; i++) z[i] -= l[j * %lldL + i] * z[j];\n"
          "  }\n"
          "  return (double)(float)sqrt(square);\n"
          "}\n\n",
          (long long)(m * m), (long long)m, (long long)m, (long long)m, (long long)m, (long long)m,
          (long long)m);
}

/* What a rule makes of a value; see lsvi_history.h. */
static void put_rule(export_writer *w, const lsvi *c, int64_t stages, bool widths) {
  lgv__export_doubles(w, "rules", c->history.rules, stages * RULE_SIZE);
  fprintf(w->file, "static double ruled(const double *rule, double q%s) {\n  q += rule[%d];\n",
          widths ? ", double u" : "", RULE_CENTER);
  if (widths)
    fprintf(w->file,
            "  double low = rule[%d], high = rule[%d], value = rule[%d];\n"
            "  if (high < %.17g && u >= high)\n"
            "    q = value;\n"
            "  else if (high < %.17g && u > low)\n"
            "    q = ((high - u) * q + (u - low) * value) / (high - low);\n"
            "  q += rule[%d] * u;\n",
            RULE_NARROW, RULE_WIDE, RULE_DEFAULT, DBL_MAX, DBL_MAX, RULE_BONUS);
  fprintf(w->file,
          "  return q < rule[%d] ? rule[%d] : q > rule[%d] ? rule[%d] : q;\n"
          "}\n\n",
          RULE_LOW, RULE_LOW, RULE_HIGH, RULE_HIGH);
}

static void put_groups(export_writer *w, const lsvi *c, int64_t stages) {
  fprintf(w->file, "static const int groups[%lld] = {\n  ", (long long)stages);
  for (int64_t h = 0; h < stages; h++) {
    lgv__export_separator(w, h, 16);
    fprintf(w->file, "%lld", (long long)lgv__lsvi_group(c, h));
  }
  fputs("};\n\n", w->file);
}

static void put_values(export_writer *w, const lsvi *c, bool widths) {
  const lsvi_history *t = &c->history;
  long long m = t->m, d = c->d, M = t->samples, A = c->A, own = t->map->by_action ? m : 0;
  const char *stage = w->parts.by_stage ? "stage" : "0";
  lgv__export_begin_values(w);
  if (w->outside[0])
    fprintf(w->file,
            "  if (%s) {\n    for (int a = 0; a < %lld; a++) q[a] = 0;\n    return;\n  }\n",
            w->outside, A);
  fprintf(w->file,
          "  float x[%lld], phi[%lld];\n"
          "  const double *w = weights + (long)%s * %lld;\n"
          "  inputs(%s, x);\n"
          "  features(x, phi);\n"
          "  for (int a = 0; a < %lld; a++) {\n"
          "    const float *own = phi + a * %lld;\n"
          "    double best = 0;\n"
          "    for (int s = 0; s < %lld; s++) {\n"
          "      double sum = 0;\n"
          "      for (int j = 0; j < %lld; j++) sum += (double)own[j] * w[s * %lldL + a * %lldL + "
          "j];\n"
          "      if (s == 0 || sum > best) best = sum;\n"
          "    }\n",
          (long long)t->input.count, t->map->by_action ? m * A : m, stage, d * M, w->obs_arguments,
          A, own, M, m, d, own ? 0LL : m);
  if (widths)
    fprintf(w->file,
            "    q[a] = ruled(rules + %s * %d, best, width_of(own, groups[%s] * %lld%s));\n", stage,
            RULE_SIZE, stage, (long long)c->blocks, own ? "" : " + a");
  else
    fprintf(w->file, "    q[a] = ruled(rules + %s * %d, best);\n", stage, RULE_SIZE);
  fputs("  }\n}\n\n", w->file);
}

lgv_status lgv__export_features(export_writer *w, lgv_error *err) {
  const lsvi *c = w->parts.linear;
  const lsvi_history *t = &c->history;
  int64_t stages = w->parts.by_stage ? c->H : 1;
  bool widths = false;
  if (!lgv__export_feature_code(t->map))
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "the feature map %s cannot be exported: maps of your own and networks have no code "
        "of a policy",
        t->map->name);
  for (int64_t h = 0; h < stages; h++) {
    const double *rule = t->rules + h * RULE_SIZE;
    widths |= rule[RULE_BONUS] != 0 || rule[RULE_WIDE] < DBL_MAX;
  }
  fputs("#include <math.h>\n\n", w->file);
  put_inputs(w, t);
  lgv__export_feature_code(t->map)(t->map_self, w);
  lgv__export_doubles(w, "weights", c->q, stages * c->q_size);
  put_rule(w, c, stages, widths);
  if (widths) put_groups(w, c, stages);
  if (widths) put_width(w, c);
  put_values(w, c, widths);
  return LGV_OK;
}
