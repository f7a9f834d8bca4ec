#include "report/data/measure.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Numbers of measures: those of lgv_measure_name first, then these. */
static const char *const extra[] = {"steps", "episodes", "processor_seconds"};
enum { EXTRAS = sizeof extra / sizeof *extra, STEPS = 0, EPISODES, PROCESSOR };

static size_t summary_measures(void) {
  size_t n = 0;
  while (lgv_measure_name(n)) n++;
  return n;
}

static const char *name_of(size_t number) {
  size_t n = summary_measures();
  if (number < n) return lgv_measure_name(number);
  return number - n < EXTRAS ? extra[number - n] : NULL;
}

static lgv_status find_one(const char *name, size_t *number, lgv_error *err) {
  lgv_guess guess = {.wrong = name};
  char all[256] = "";
  for (size_t i = 0; name_of(i); i++) {
    if (strcmp(name_of(i), name) == 0) {
      *number = i;
      return LGV_OK;
    }
    lgv__guess_offer(&guess, name_of(i));
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", name_of(i));
  }
  return lgv_fail(err, LGV_ERR_USAGE,
                  "there is no measure '%.40s' of a run%s%s%s %s, or a quotient of two of them",
                  name, guess.best ? "; did you mean '" : ":", guess.best ? guess.best : "",
                  guess.best ? "'? One of" : "", all);
}

lgv_status lgv__measure_find(const char *text, lgv_measure *m, lgv_error *err) {
  char top[sizeof m->name];
  if (!text) text = "final_return";
  *m = (lgv_measure){.bottom = SIZE_MAX};
  snprintf(m->name, sizeof m->name, "%s", text);
  snprintf(top, sizeof top, "%.*s", (int)strcspn(m->name, "/"), m->name);
  LGV_TRY(find_one(top, &m->top, err));
  const char *slash = strchr(m->name, '/');
  return slash ? find_one(slash + 1, &m->bottom, err) : LGV_OK;
}

bool lgv__measure_lowest_is_best(const lgv_measure *m) {
  const char *name = name_of(m->top);
  return strcmp(name, "regret") == 0 || strcmp(name, "solved_episode") == 0 ||
         m->top >= summary_measures();
}

/* ---- Of one run ---- */

static lgv_status read_processor_seconds(const char *run, double *value, lgv_error *err) {
  char path[PATH_MAX];
  lgv_settings *file;
  LGV_TRY(lgv__join_path(run, "timing.json", path, sizeof path, err));
  LGV_TRY(lgv_settings_create(&file, err));
  lgv_status status = lgv_settings_load(file, path, err);
  const char *text = status == LGV_OK ? lgv_settings_get(file, "processor_seconds") : NULL;
  if (status == LGV_OK && !(text && lgv__parse_real(text, value)))
    status = lgv_fail(err, LGV_ERR_IO, "%.300s has no processor_seconds", path);
  lgv_settings_free(file);
  return status;
}

static lgv_status value_of(const char *run, const lgv_summary *s, size_t number, double *value,
                           lgv_error *err) {
  size_t n = summary_measures();
  if (number >= n) {
    *value = (double)(number - n == STEPS ? s->steps : s->episodes);
    return number - n == PROCESSOR ? read_processor_seconds(run, value, err) : LGV_OK;
  }
  const char *name = lgv_measure_name(number);
  *value = lgv_measure_value(s, number);
  if (isnan(*value) && name && strcmp(name, "solved_episode") == 0) *value = INFINITY;
  if (!isnan(*value)) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE, "%.300s/summary.json has no %s", run, name ? name : "value");
}

static lgv_status measure_run(const lgv_measure *m, const char *run, double *value, bool *finished,
                              lgv_error *err) {
  lgv_summary summary;
  char path[PATH_MAX];
  double bottom = 1;
  *finished = false;
  LGV_TRY(lgv__join_path(run, "summary.json", path, sizeof path, err));
  bool there;
  LGV_TRY(lgv__is_there(path, &there, err));
  if (!there) return LGV_OK;
  LGV_TRY(lgv_summary_load(run, &summary, err));
  if (!summary.finished) return LGV_OK;
  *finished = true;
  LGV_TRY(value_of(run, &summary, m->top, value, err));
  if (m->bottom != SIZE_MAX) LGV_TRY(value_of(run, &summary, m->bottom, &bottom, err));
  if (bottom == 0) return lgv_fail(err, LGV_ERR_USAGE, "%.300s: %s divides by 0", run, m->name);
  *value /= bottom;
  return LGV_OK;
}

/* ---- Of many ---- */

static lgv_status collect_group(lgv_collection *c, lgv_group *group, const lgv_measure *measure,
                                lgv_error *err) {
  size_t before = c->count;
  for (size_t r = 0; r < group->count; r++) {
    bool finished;
    LGV_TRY(measure_run(measure, group->runs[r], &c->values[c->count], &finished, err));
    c->count += finished;
    c->unfinished += !finished;
  }
  if (c->count == before) return LGV_OK;
  c->groups[c->tasks] = group;
  c->runs[c->tasks++] = c->count - before;
  return LGV_OK;
}

lgv_status lgv__collect(const lgv_row *row, const char *task, const lgv_measure *measure,
                        lgv_collection *c, lgv_error *err) {
  size_t runs = 0;
  for (size_t i = 0; i < row->count; i++) runs += row->groups[i].count;
  *c = (lgv_collection){.values = lgv__calloc(runs, sizeof *c->values),
                        .runs = lgv__calloc(row->count, sizeof *c->runs),
                        .groups = lgv__calloc(row->count, sizeof *c->groups)};
  lgv_status status =
      c->values && c->runs && c->groups ? LGV_OK : lgv__out_of_memory(err, "the measures of runs");
  for (size_t i = 0; i < row->count && status == LGV_OK; i++)
    if (!task || strcmp(row->groups[i].task, task) == 0)
      status = collect_group(c, &row->groups[i], measure, err);
  if (status != LGV_OK) lgv__collection_free(c);
  return status;
}

void lgv__collection_free(lgv_collection *c) {
  lgv__free(c->values);
  lgv__free(c->runs);
  lgv__free(c->groups);
  *c = (lgv_collection){0};
}

lgv_scores lgv__collection_scores(const lgv_collection *c) {
  return (lgv_scores){.values = c->values, .runs = c->runs, .tasks = c->tasks};
}

/* ---- Statistics and bands by name ---- */

lgv_status lgv__statistic_find(const char *text, lgv_statistic *statistic, lgv_error *err) {
  *statistic = LGV_MEAN;
  for (size_t i = 0; lgv_statistic_name(i); i++) {
    if (text && strcmp(text, lgv_statistic_name(i)) != 0) continue;
    *statistic = (lgv_statistic)i;
    return LGV_OK;
  }
  return lgv_fail(err, LGV_ERR_USAGE,
                  "there is no statistic '%.40s': mean, median, iqm, task-median", text);
}

lgv_status lgv__band_find(const char *text, bool *standard_error, lgv_error *err) {
  *standard_error = text && strcmp(text, "se") == 0;
  if (!text || *standard_error || strcmp(text, "interval") == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE, "there is no band '%.40s': interval (95 %% bootstrap) or se",
                  text);
}

void lgv__band_apply(bool standard_error, lgv_estimate *e) {
  if (!standard_error) return;
  e->low = e->value - e->standard_error;
  e->high = e->value + e->standard_error;
}

void lgv__band_name(bool standard_error, lgv_statistic statistic, char *text, size_t size) {
  if (standard_error)
    snprintf(text, size, "one standard error to each side");
  else
    snprintf(text, size, "95 %% percentile bootstrap of the %s", lgv_statistic_name(statistic));
}
