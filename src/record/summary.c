#include "record/summary.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/plan.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
  const char *name;
  size_t offset;
  bool always; /* written as null where it is not defined; the others are left out */
} measures[] = {{"mean_return", offsetof(lgv_summary, mean_return), true},
                {"final_return", offsetof(lgv_summary, final_return), true},
                {"optimal_value", offsetof(lgv_summary, optimal_value), false},
                {"regret", offsetof(lgv_summary, regret), false},
                {"solved_episode", offsetof(lgv_summary, solved_episode), false}};

enum { MEASURES = sizeof measures / sizeof *measures };

const char *lgv_measure_name(size_t index) {
  return index < MEASURES ? measures[index].name : NULL;
}

double lgv_measure_value(const lgv_summary *summary, size_t index) {
  if (index >= MEASURES) return NAN;
  const void *place = (const char *)summary + measures[index].offset;
  return *(const double *)place;
}

lgv_summary lgv__summary_none(uint64_t seed) {
  return (lgv_summary){.seed = seed,
                       .mean_return = NAN,
                       .final_return = NAN,
                       .optimal_value = NAN,
                       .regret = NAN,
                       .solved_episode = NAN};
}

static void json_env(lgv_json *json, const lgv_plan *plan) {
  char name[2 * LGV_TEXT_SIZE];
  lgv__plan_env_name(plan, name, sizeof name);
  lgv__json_string(json, "env", name);
}

void lgv__summary_json(lgv_json *json, const lgv_plan *plan, const lgv_summary *summary,
                       const char *failure) {
  char env[2 * LGV_TEXT_SIZE];
  lgv__plan_env_name(plan, env, sizeof env);
  lgv__summary_json_of(json, env, plan->agent_type->name, summary, failure);
}

void lgv__summary_json_of(lgv_json *json, const char *env, const char *agent,
                          const lgv_summary *summary, const char *failure) {
  lgv__json_string(json, "env", env);
  lgv__json_string(json, "agent", agent);
  lgv__json_int(json, "seed", (int64_t)summary->seed);
  lgv__json_int(json, "steps", summary->steps);
  lgv__json_int(json, "episodes", summary->episodes);
  for (size_t i = 0; i < MEASURES; i++) {
    double value = lgv_measure_value(summary, i);
    if (measures[i].always || !isnan(value)) lgv__json_real(json, measures[i].name, value);
  }
  lgv__json_bool(json, "finished", summary->finished);
  if (failure) lgv__json_string(json, "error", failure);
}

/* ---- Reading back ---- */

static lgv_status need(const lgv_settings *file, const char *path, const char *key,
                       const char **text, lgv_error *err) {
  *text = lgv_settings_get(file, key);
  if (*text) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE, "%.300s has no '%s': it was not written by a run", path, key);
}

static lgv_status read_summary(const lgv_settings *file, const char *path, lgv_summary *summary,
                               lgv_error *err) {
  const char *seed, *steps, *episodes, *finished;
  LGV_TRY(need(file, path, "seed", &seed, err));
  LGV_TRY(need(file, path, "steps", &steps, err));
  LGV_TRY(need(file, path, "episodes", &episodes, err));
  LGV_TRY(need(file, path, "finished", &finished, err));
  *summary = lgv__summary_none(strtoull(seed, NULL, 10));
  summary->steps = strtoll(steps, NULL, 10);
  summary->episodes = strtoll(episodes, NULL, 10);
  summary->finished = strcmp(finished, "true") == 0;
  for (size_t i = 0; i < MEASURES; i++) {
    const char *text = lgv_settings_get(file, measures[i].name);
    void *place = (char *)summary + measures[i].offset;
    double value;
    if (text && lgv__parse_real(text, &value)) *(double *)place = value;
  }
  return LGV_OK;
}

lgv_status lgv_summary_load(const char *directory, lgv_summary *summary, lgv_error *err) {
  char path[PATH_MAX];
  lgv_settings *file;
  LGV_TRY(lgv__join_path(directory, "summary.json", path, sizeof path, err));
  LGV_TRY(lgv_settings_create(&file, err));
  lgv_status status = lgv_settings_load(file, path, err);
  if (status == LGV_OK) status = read_summary(file, path, summary, err);
  lgv_settings_free(file);
  return status;
}

lgv_status lgv__summary_find(const char *directory, bool *found, lgv_summary *summary,
                             lgv_error *err) {
  char path[PATH_MAX];
  struct stat info;
  LGV_TRY(lgv__join_path(directory, "summary.json", path, sizeof path, err));
  LGV_TRY(lgv__is_there(path, found, err));
  *found &= stat(path, &info) != 0 || S_ISREG(info.st_mode); /* a directory is no summary */
  if (!*found) return LGV_OK;
  lgv_status status = lgv_summary_load(directory, summary, err);
  *found = status == LGV_OK;
  return status == LGV_ERR_USAGE ? LGV_OK : status;
}

/* ---- Over seeds ---- */

lgv_status lgv__summary_estimate(const lgv_summary *summaries, size_t count, size_t measure,
                                 lgv_estimate *estimate, lgv_error *err) {
  double *values = lgv__calloc(count + 1, sizeof *values);
  if (!values) return lgv__out_of_memory(err, "an aggregate");
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    double value = lgv_measure_value(&summaries[i], measure);
    if (summaries[i].finished && !isnan(value)) values[n++] = value;
  }
  lgv_estimate_mean(values, n, estimate);
  lgv__free(values);
  return n > 0 && estimate->count == 0 ? lgv__out_of_memory(err, "an aggregate") : LGV_OK;
}

lgv_status lgv__aggregate_json(lgv_json *json, const lgv_plan *plan, const lgv_summary *summaries,
                               size_t count, lgv_error *err) {
  int64_t finished = 0;
  for (size_t i = 0; i < count; i++) finished += summaries[i].finished;
  json_env(json, plan);
  lgv__json_string(json, "agent", plan->agent_type->name);
  lgv__json_int(json, "seeds", (int64_t)count);
  lgv__json_int(json, "finished", finished);
  lgv__json_string(json, "interval", "95 % percentile bootstrap of the mean");
  for (size_t i = 0; i < MEASURES; i++) {
    lgv_estimate e;
    LGV_TRY(lgv__summary_estimate(summaries, count, i, &e, err));
    if (e.count == 0) continue;
    lgv__json_open(json, measures[i].name, '{');
    lgv__json_real(json, "mean", e.value);
    lgv__json_real(json, "standard_error", e.standard_error);
    lgv__json_real(json, "low", e.low);
    lgv__json_real(json, "high", e.high);
    lgv__json_real(json, "median", e.median);
    lgv__json_int(json, "count", e.count);
    lgv__json_close(json, '}');
  }
  return LGV_OK;
}
