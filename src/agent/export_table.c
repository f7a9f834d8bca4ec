/* Tables of values, one row per observation that is an index. A policy that is not greedy in its
 * values has a second table: the actions of each row, the most probable first, so that a mask can
 * forbid some of them. */
#include "agent/export_writer.h"

#include "agent/agent.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"

#include <string.h>

/* What the rows stand for, and room for one of them. */
typedef struct table {
  export_writer *w;
  int64_t rows, per_stage;       /* all rows, and those of one stage */
  int64_t values;                /* numbers of a row */
  bool of_states;                /* rows of a stage are states, not observations */
  float *data;                   /* an observation */
  double *q;                     /* (values) */
  double *p;                     /* (actions) */
  uint8_t *left;                 /* (actions): that have no rank yet */
  int32_t *by_policy, *by_value; /* (actions): ranked */
} table;

static int64_t rows_per_stage(const export_writer *w) {
  bool of_states = lgv__agent_reads_states(w->agent);
  return of_states ? w->env->states : (int64_t)w->env->obs_shape[0] + 1;
}

static lgv_status open_table(table *t, export_writer *w, lgv_error *err) {
  size_t A = (size_t)w->env->actions.count;
  *t = (table){.w = w, .per_stage = rows_per_stage(w), .values = w->members * (int64_t)A};
  t->of_states = lgv__agent_reads_states(w->agent);
  t->rows = t->per_stage * (w->parts.by_stage ? w->env->horizon : 1);
  t->data = lgv__calloc((size_t)w->env->obs_shape[0], sizeof *t->data);
  t->q = lgv__calloc((size_t)t->values + A, sizeof *t->q);
  t->left = lgv__calloc(A, 1);
  t->by_policy = lgv__calloc(2 * A, sizeof *t->by_policy);
  if (!t->data || !t->q || !t->left || !t->by_policy) return lgv__out_of_memory(err, "an export");
  t->p = t->q + t->values;
  t->by_value = t->by_policy + A;
  return LGV_OK;
}

static void close_table(table *t) {
  lgv__free(t->data);
  lgv__free(t->q);
  lgv__free(t->left);
  lgv__free(t->by_policy);
}

/* The observation that a row stands for. One-hot: row 0 has no 1, row r has it at r - 1;
 * thermometer: row r has r leading ones. */
static lgv_obs row_obs(const table *t, int64_t row) {
  const lgv_env_spec *env = t->w->env;
  int64_t stage = row / t->per_stage, r = row % t->per_stage;
  if (t->of_states) return (lgv_obs){.state = r, .stage = stage};
  for (int32_t i = 0; i < env->obs_shape[0]; i++)
    t->data[i] = env->obs_form == LGV_FORM_THERMOMETER ? i < r : i == r - 1;
  return (lgv_obs){.data = t->data, .state = r - 1, .stage = stage};
}

static lgv_status read_values(const table *t, const lgv_obs *obs, lgv_error *err) {
  const lgv_policy_parts *parts = &t->w->parts;
  if (t->w->members == 1) return lgv_agent_q_values(t->w->agent, obs, 1, t->q, err);
  parts->member_values(parts->self, obs, t->q);
  return LGV_OK;
}

static lgv_status put_values(const table *t, lgv_error *err) {
  export_writer *w = t->w;
  fprintf(w->file, "static const double values[%lld] = {\n  ", (long long)(t->rows * t->values));
  for (int64_t r = 0; r < t->rows; r++) {
    lgv_obs obs = row_obs(t, r);
    LGV_TRY(read_values(t, &obs, err));
    for (int64_t i = 0; i < t->values; i++) {
      lgv__export_separator(w, r * t->values + i, w->env->actions.count);
      lgv__export_number(w, t->q[i], 17, "");
    }
  }
  fputs("};\n\n", w->file);
  return LGV_OK;
}

/* ---- ranks ---- */

/* The greatest of x that has no rank yet, the lowest among equals, takes the next one. */
static void rank_next(const table *t, const double *x, int32_t *rank) {
  int32_t best = -1;
  for (int32_t a = 0; a < t->w->env->actions.count; a++)
    if (t->left[a] && (best < 0 || x[a] > x[best])) best = a;
  t->left[best] = 0;
  *rank = best;
}

/* Each rank is that of a policy with the better actions forbidden: probabilities of the whole
 * policy may all be 0 but one. */
static lgv_status rank_row(const table *t, int64_t row, lgv_error *err) {
  size_t A = (size_t)t->w->env->actions.count;
  lgv_obs obs = row_obs(t, row);
  obs.mask = t->left;
  memset(t->left, 1, A);
  for (size_t i = 0; i < A; i++) {
    LGV_TRY(lgv_agent_policy(t->w->agent, &obs, t->p, err));
    rank_next(t, t->p, &t->by_policy[i]);
  }
  LGV_TRY(lgv_agent_q_values(t->w->agent, &obs, 1, t->q, err));
  memset(t->left, 1, A);
  for (size_t i = 0; i < A; i++) rank_next(t, t->q, &t->by_value[i]);
  return LGV_OK;
}

/* Whether the policy is greedy in the values, whatever a mask forbids. */
static lgv_status is_greedy(const table *t, bool *greedy, lgv_error *err) {
  size_t bytes = (size_t)t->w->env->actions.count * sizeof *t->by_policy;
  *greedy = true;
  if (!lgv__agent_type(t->w->agent)->policy || lgv__action_parts(&t->w->env->actions) > 1)
    return LGV_OK;
  for (int64_t r = 0; *greedy && r < t->rows; r++) {
    LGV_TRY(rank_row(t, r, err));
    *greedy = memcmp(t->by_policy, t->by_value, bytes) == 0;
  }
  return LGV_OK;
}

static lgv_status put_ranks(const table *t, lgv_error *err) {
  export_writer *w = t->w;
  int32_t A = w->env->actions.count;
  fprintf(w->file, "/* The actions of each row, the most probable first. */\n");
  fprintf(w->file, "static const int ranks[%lld] = {\n  ", (long long)(t->rows * A));
  for (int64_t r = 0; r < t->rows; r++) {
    LGV_TRY(rank_row(t, r, err));
    for (int32_t i = 0; i < A; i++) {
      lgv__export_separator(w, r * A + i, 24 / A > 0 ? 24 / A * A : A);
      fprintf(w->file, "%d", t->by_policy[i]);
    }
  }
  fputs("};\n\n", w->file);
  return LGV_OK;
}

/* ---- functions ---- */

/* The row, or -1. */
static void put_row_of(const table *t) {
  const export_writer *w = t->w;
  long long H = w->env->horizon, n = t->per_stage;
  fprintf(w->file, "static int row_of(%s) {\n", w->parameters);
  if (t->of_states) {
    fprintf(w->file,
            "  int inside = stage >= 0 && stage < %lld && state >= 0 && state < %lld;\n"
            "  return inside ? stage * %lld + state : -1;\n"
            "}\n\n",
            H, n, n);
    return;
  }
  bool thermometer = w->env->obs_form == LGV_FORM_THERMOMETER;
  fputs("  int i = 0;\n", w->file);
  if (w->parts.by_stage) fprintf(w->file, "  if (stage < 0 || stage >= %lld) return -1;\n", H);
  fprintf(w->file, "  while (i < %lld && obs[i] %s 0) i++;\n", n - 1, thermometer ? "!=" : "==");
  fprintf(w->file, "  return %s", w->parts.by_stage ? "stage * " : "");
  if (w->parts.by_stage) fprintf(w->file, "%lld + ", n);
  if (thermometer)
    fputs("i;\n}\n\n", w->file);
  else
    fprintf(w->file, "(i < %lld ? i + 1 : 0);\n}\n\n", n - 1);
}

static void put_lookup(const table *t) {
  export_writer *w = t->w;
  long long values = t->values;
  lgv__export_begin_values(w);
  fprintf(w->file,
          "  int row = row_of(%s);\n"
          "  for (int i = 0; i < %lld; i++) q[i] = row < 0 ? 0 : values[row * %lld + i];\n"
          "}\n\n",
          w->arguments, values, values);
}

static void put_act_by_rank(const export_writer *w) {
  int32_t A = w->env->actions.count;
  fprintf(w->file,
          "int %s_act(%s, const unsigned char *mask) {\n"
          "  int row = row_of(%s);\n"
          "  for (int i = 0; row >= 0 && i < %d; i++) {\n"
          "    int action = ranks[row * %d + i];\n"
          "    if (!mask || mask[action]) return action;\n"
          "  }\n"
          "  return -1;\n"
          "}\n",
          w->name, w->parameters, w->arguments, A, A);
}

static lgv_status put_table(const table *t, lgv_error *err) {
  bool greedy;
  LGV_TRY(put_values(t, err));
  put_row_of(t);
  put_lookup(t);
  LGV_TRY(is_greedy(t, &greedy, err));
  t->w->by_rank = !greedy;
  if (greedy) return LGV_OK;
  LGV_TRY(put_ranks(t, err));
  put_act_by_rank(t->w);
  return LGV_OK;
}

lgv_status lgv__export_table(export_writer *w, lgv_error *err) {
  table t;
  double rows = (double)rows_per_stage(w) * (w->parts.by_stage ? (double)w->env->horizon : 1);
  if (rows * (double)w->members * w->env->actions.count > 1e8)
    return lgv_fail(err, LGV_ERR_USAGE, "a table of %.0f rows is too large to export", rows);
  lgv_status status = open_table(&t, w, err);
  if (status == LGV_OK) status = put_table(&t, err);
  close_table(&t);
  return status;
}
