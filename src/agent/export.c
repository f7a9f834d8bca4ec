#include "agent/export_writer.h"

#include "agent/agent.h"
#include "agent/network_file.h"
#include "base/error.h"
#include "base/io/disk.h"
#include "base/spec.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers ---- */

void lgv__export_number(export_writer *w, double x, int digits, const char *suffix) {
  char text[64];
  w->not_finite |= !isfinite(x);
  snprintf(text, sizeof text, "%.*g", digits, x);
  for (char *c = text; *c; c++)
    if (*c == ',') *c = '.';
  bool whole = !strpbrk(text, ".e"); /* -0 is not 0 */
  fprintf(w->file, "%s%s%s", text, whole ? ".0" : "", suffix);
}

void lgv__export_separator(export_writer *w, int64_t i, int64_t per_line) {
  fputs(i == 0 ? "" : i % per_line == 0 ? ",\n  " : ", ", w->file);
}

void lgv__export_floats(export_writer *w, const char *name, const float *x, int64_t copies,
                        int64_t stride, int64_t count) {
  fprintf(w->file, "static const float %s[%lld] = {\n  ", name, (long long)(copies * count));
  for (int64_t i = 0; i < copies * count; i++) {
    lgv__export_separator(w, i, 8);
    lgv__export_number(w, (double)x[i / count * stride + i % count], 9, "f");
  }
  fputs("};\n\n", w->file);
}

/* ---- what the functions take ---- */

static bool of_states(const export_writer *w) { return lgv__agent_reads_states(w->agent); }

static int32_t parts_of(const export_writer *w) { return lgv__action_parts(&w->env->actions); }

static void set_parameters(export_writer *w) {
  const char *type = w->env->obs_kind == LGV_OBS_BYTE ? "unsigned char" : "float";
  bool vector = w->env->vector > 0;
  const char *stage = w->parts.by_stage ? "int stage, " : "";
  if (of_states(w))
    snprintf(w->parameters, sizeof w->parameters, "int stage, int state");
  else if (vector)
    snprintf(w->parameters, sizeof w->parameters, "%sconst %s *picture, const float *vector", stage,
             type);
  else
    snprintf(w->parameters, sizeof w->parameters, "%sconst %s *obs", stage, type);
  const char *with_stage = of_states(w) ? "stage, state"
                           : vector     ? "stage, picture, vector"
                                        : "stage, obs";
  w->obs_arguments = with_stage + strlen("stage, ");
  w->arguments = w->parts.by_stage ? with_stage : w->obs_arguments;
  w->obs_parameters = w->parameters + strlen(stage);
}

/* Sets what follows from the parts. */
static void prepare(export_writer *w) {
  const lgv_policy_parts *p = &w->parts;
  bool by_input = p->is_actor || p->linear; /* even where observations are indices */
  w->is_table = of_states(w) || (w->env->obs_form != LGV_FORM_DENSE && !by_input);
  int64_t members = p->by_stage || p->net == NULL ? 1 : p->copies * p->heads;
  if (w->is_table) members = p->votes ? p->copies * p->heads : 1; /* values can be averaged here */
  w->members = members;
  set_parameters(w);
  if (!p->by_stage) return;
  if (w->is_table)
    snprintf(w->outside, sizeof w->outside, "row_of(%s) < 0", w->arguments);
  else
    snprintf(w->outside, sizeof w->outside, "stage < 0 || stage >= %lld",
             (long long)w->env->horizon);
}

/* ---- the head of the file ---- */

static const char file_head[] = "/* A trained ";

static void describe_obs(const export_writer *w) {
  const lgv_env_spec *env = w->env;
  const char *type = env->obs_kind == LGV_OBS_BYTE ? "bytes" : "floats";
  if (w->parts.by_stage) fprintf(w->file, " * stage: 0 to %lld\n", (long long)env->horizon - 1);
  if (of_states(w)) {
    fprintf(w->file, " * state: 0 to %lld\n", (long long)env->states - 1);
    return;
  }
  fprintf(w->file, " * %s: ", env->vector > 0 ? "picture" : "obs");
  if (env->obs_shape[1] > 1)
    fprintf(w->file, "(height %d x width %d x channels %d) %s\n", env->obs_shape[0],
            env->obs_shape[1], env->obs_shape[2], type);
  else
    fprintf(w->file, "%lld %s%s\n", (long long)lgv__obs_count(env), type,
            env->obs_form == LGV_FORM_ONE_HOT       ? ", one of them 1, the others 0"
            : env->obs_form == LGV_FORM_THERMOMETER ? ", some leading ones, then zeros"
                                                    : "");
  if (env->vector > 0) fprintf(w->file, " * vector: %d floats\n", env->vector);
  if (env->frames > 1)
    fprintf(w->file, " * These are the last %d observations, the oldest first%s.\n", env->frames,
            env->obs_shape[1] > 1 ? " among the channels" : "");
}

static void put_head_of_actor(const export_writer *w) {
  fprintf(w->file,
          " *\n"
          " * %s_act writes the %d numbers of an action. */\n"
          "void %s_act(%s, float *action);\n\n",
          w->name, parts_of(w), w->name, w->parameters);
}

static void put_head(const export_writer *w) {
  int32_t A = w->env->actions.count, parts = parts_of(w);
  const char *outside = w->parts.by_stage ? " outside of these ranges, and" : "";
  fprintf(w->file,
          "%s%s, written by langevin %s in C99. Nothing is allocated,\n"
          " * and nothing is kept between calls.\n *\n",
          file_head, lgv__agent_type(w->agent)->name, lgv_version());
  describe_obs(w);
  if (w->parts.is_actor) {
    put_head_of_actor(w);
    return;
  }
  fprintf(w->file,
          " * mask: %d bytes, 0 where %s is forbidden; a null pointer allows everything\n *\n", A,
          parts > 1 ? "a choice" : "an action");
  if (parts > 1)
    fprintf(w->file,
            " * %s_act writes the %d choices of an action; -1%s where a mask allows none.\n",
            w->name, parts, outside);
  else
    fprintf(w->file, " * %s_act returns an action, 0 to %d; -1%s if the mask allows none.\n",
            w->name, A - 1, outside);
  fprintf(w->file, " * %s_q writes %d values%s. */\n", w->name, A,
          parts > 1 ? ", part after part" : "");
  fprintf(w->file, "%s %s_act(%s, const unsigned char *mask%s);\n", parts > 1 ? "void" : "int",
          w->name, w->parameters, parts > 1 ? ", int *action" : "");
  fprintf(w->file, "void %s_q(%s, double *q);\n\n", w->name, w->parameters);
}

/* ---- acting by values ---- */

void lgv__export_begin_values(export_writer *w) {
  if (w->members == 1)
    fprintf(w->file, "void %s_q(%s, double *q) {\n", w->name, w->parameters);
  else
    fprintf(w->file,
            "/* q: (%lld members x %d) */\n"
            "static void members(%s, double *q) {\n",
            (long long)w->members, w->env->actions.count, w->parameters);
}

/* NAME_q of several members. */
static void put_mean(const export_writer *w) {
  int32_t A = w->env->actions.count;
  long long M = w->members;
  fprintf(w->file,
          "void %s_q(%s, double *q) {\n"
          "  double all[%lld];\n"
          "  members(%s, all);\n"
          "  for (int a = 0; a < %d; a++) {\n"
          "    q[a] = 0;\n"
          "    for (int m = 0; m < %lld; m++) q[a] += all[m * %d + a] / %lld;\n"
          "  }\n"
          "}\n\n",
          w->name, w->parameters, M * A, w->arguments, A, M, A, M);
}

static void put_greatest(const export_writer *w) {
  fputs("/* The greatest of q that the mask allows, the lowest among equals; -1 if it allows none. "
        "*/\n"
        "static int greatest(const double *q, const unsigned char *mask, int count) {\n"
        "  int best = -1;\n"
        "  for (int a = 0; a < count; a++)\n"
        "    if ((!mask || mask[a]) && (best < 0 || q[a] > q[best])) best = a;\n"
        "  return best;\n"
        "}\n\n",
        w->file);
}

static void put_vote(const export_writer *w) {
  int32_t A = w->env->actions.count;
  fprintf(w->file,
          "/* What most members prefer; rows of q are those of a member. */\n"
          "static int vote(const double *q, const unsigned char *mask, int count) {\n"
          "  double votes[%d] = {0};\n"
          "  for (int m = 0; m < %lld; m++) {\n"
          "    int a = greatest(q + m * %d, mask, count);\n"
          "    if (a >= 0) votes[a]++;\n"
          "  }\n"
          "  return greatest(votes, mask, count);\n"
          "}\n\n",
          A, (long long)w->members, A);
}

static void put_act_of_parts(const export_writer *w, const char *choose) {
  fprintf(w->file,
          "  for (int p = 0, first = 0; p < %d; first += choices[p++])\n"
          "    action[p] = %s%s(q + first, mask ? mask + first : 0, choices[p]);\n",
          parts_of(w), w->outside[0] ? "outside ? -1 : " : "", choose);
}

static void put_act(const export_writer *w) {
  bool votes = w->parts.votes && w->members > 1, several = parts_of(w) > 1;
  long long values = votes ? w->members : 1;
  const char *choose = votes ? "vote" : "greatest";
  put_greatest(w);
  if (votes) put_vote(w);
  fprintf(w->file, "%s %s_act(%s, const unsigned char *mask%s) {\n", several ? "void" : "int",
          w->name, w->parameters, several ? ", int *action" : "");
  fprintf(w->file, "  double q[%lld];\n", values * w->env->actions.count);
  if (w->outside[0] && several)
    fprintf(w->file, "  int outside = %s;\n", w->outside);
  else if (w->outside[0])
    fprintf(w->file, "  if (%s) return -1;\n", w->outside);
  if (votes)
    fprintf(w->file, "  members(%s, q);\n", w->arguments);
  else
    fprintf(w->file, "  %s_q(%s, q);\n", w->name, w->arguments);
  if (several)
    put_act_of_parts(w, choose);
  else
    fprintf(w->file, "  return %s(q, mask, %d);\n", choose, w->env->actions.count);
  fputs("}\n", w->file);
}

static void put_choices(export_writer *w) {
  int32_t parts = parts_of(w);
  fprintf(w->file, "/* Of each part. */\nstatic const int choices[%d] = {", parts);
  for (int32_t p = 0; p < parts; p++) {
    lgv__export_separator(w, p, 24);
    fprintf(w->file, "%d", lgv__part_choices(&w->env->actions, p));
  }
  fputs("};\n\n", w->file);
}

static lgv_status put_policy(export_writer *w, lgv_error *err) {
  put_head(w);
  if (w->parts.is_actor) return lgv__export_network(w, err);
  if (parts_of(w) > 1) put_choices(w);
  LGV_TRY(w->is_table       ? lgv__export_table(w, err)
          : w->parts.linear ? lgv__export_features(w, err)
                            : lgv__export_network(w, err));
  if (w->members > 1) put_mean(w);
  if (!w->by_rank) put_act(w);
  return LGV_OK;
}

/* ---- the file ---- */

static lgv_status check(const export_writer *w, bool has_parts, lgv_error *err) {
  const lgv_agent_type *type = lgv__agent_type(w->agent);
  bool good = isalpha((unsigned char)w->name[0]) || w->name[0] == '_';
  for (const char *c = w->name; *c; c++) good &= isalnum((unsigned char)*c) || *c == '_';
  if (!good)
    return lgv_fail(err, LGV_ERR_USAGE, "'%.80s' cannot begin the name of a C function", w->name);
  if (!has_parts || (!w->is_table && !w->parts.net && !w->parts.linear))
    return lgv_fail(err, LGV_ERR_USAGE, "%s cannot be exported", type->name);
  if (w->int8 && (w->is_table || !w->parts.net))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "8 bits are for the weights of a network; this policy of %s is a %s: export it "
                    "without int8",
                    type->name, w->is_table ? "table" : "feature map");
  return LGV_OK;
}

static bool begins_as_ours(const char *path) {
  char head[sizeof file_head] = "";
  FILE *file = fopen(path, "rb");
  size_t length = file ? fread(head, 1, sizeof head - 1, file) : 0;
  bool ours = file && !ferror(file) && (length == 0 || strcmp(head, file_head) == 0);
  if (file) fclose(file);
  return ours;
}

/* An export replaces an earlier one or an empty file. Anything else, such as the agent itself, is
 * there because of a mistaken path. */
static lgv_status refuse_to_replace(const char *path, lgv_error *err) {
  struct stat there;
  if (stat(path, &there) != 0 || (S_ISREG(there.st_mode) && begins_as_ours(path))) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.300s is not replaced, because it cannot be read as an exported policy: choose "
                  "another file",
                  path);
}

static lgv_status close_file(export_writer *w, const char *temporary, const char *path,
                             lgv_status status, lgv_error *err) {
  bool written = fflush(w->file) == 0 && !ferror(w->file) && lgv__disk_sync(fileno(w->file));
  int error = errno;
  if (status == LGV_OK && !written)
    status = lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", path, strerror(error));
  if (status == LGV_OK && w->not_finite)
    status = lgv_fail(err, LGV_ERR_NUMERIC, "the agent holds numbers that are not finite");
  if (status == LGV_OK && !lgv__disk_rename(temporary, path))
    status = lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", path, strerror(errno));
  if (status != LGV_OK) unlink(temporary);
  fclose(w->file);
  return status;
}

static bool names_network_file(const char *path) {
  static const char end[] = ".safetensors";
  size_t length = strlen(path), tail = sizeof end - 1;
  return length >= tail && strcmp(path + length - tail, end) == 0;
}

static lgv_status export(lgv_agent *agent, const char *path, const char *name, bool int8,
                         lgv_error *err) {
  char temporary[PATH_MAX];
  export_writer w = {.name = name, .agent = agent, .env = lgv__agent_env(agent), .int8 = int8};
  bool has_parts = lgv__agent_policy_parts(agent, &w.parts);
  LGV_TRY(lgv__agent_check_usable(agent, err));
  if (names_network_file(path) && int8)
    return lgv_fail(err, LGV_ERR_USAGE, "%s: weights of 8 bits are for C files", path);
  if (names_network_file(path))
    return lgv__network_file_write(path, &w.parts, lgv__agent_type(agent)->name, err);
  prepare(&w);
  LGV_TRY(check(&w, has_parts, err));
  LGV_TRY(refuse_to_replace(path, err));
  if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", path);
  int descriptor = lgv__disk_create(temporary);
  w.file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  if (!w.file) {
    lgv_status status = lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", path, strerror(errno));
    if (descriptor >= 0) close(descriptor);
    return status;
  }
  return close_file(&w, temporary, path, put_policy(&w, err), err);
}

lgv_status lgv_agent_export(lgv_agent *agent, const char *path, const char *name, lgv_error *err) {
  return export(agent, path, name, false, err);
}

lgv_status lgv_agent_export_int8(lgv_agent *agent, const char *path, const char *name,
                                 lgv_error *err) {
  return export(agent, path, name, true, err);
}
