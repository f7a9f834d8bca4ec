#include "report/data/compare.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "record/summary.h"
#include "report/data/csv_file.h"
#include "report/data/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Improvement over the first row ---- */

typedef struct pair {
  double *values[2];
  size_t *runs[2], counts[2];
  size_t tasks;
} pair;

static bool seen_before(const lgv_row *row, size_t group) {
  for (size_t i = 0; i < group; i++)
    if (strcmp(row->groups[i].task, row->groups[group].task) == 0) return true;
  return false;
}

/* The runs of both rows on one task, if both have any. */
static lgv_status add_task(pair *p, const lgv_row *const rows[2], const char *task,
                           const lgv_measure *measure, double sign, lgv_error *err) {
  lgv_collection c[2] = {{0}, {0}};
  lgv_status status = lgv__collect(rows[0], task, measure, &c[0], err);
  if (status == LGV_OK) status = lgv__collect(rows[1], task, measure, &c[1], err);
  if (status == LGV_OK && c[0].count > 0 && c[1].count > 0) {
    for (int k = 0; k < 2; k++) {
      for (size_t i = 0; i < c[k].count; i++) p->values[k][p->counts[k]++] = sign * c[k].values[i];
      p->runs[k][p->tasks] = c[k].count;
    }
    p->tasks++;
  }
  lgv__collection_free(&c[0]);
  lgv__collection_free(&c[1]);
  return status;
}

static lgv_status pair_open(pair *p, const lgv_row *const rows[2], lgv_error *err) {
  *p = (pair){0};
  for (int k = 0; k < 2; k++) {
    size_t runs = 0;
    for (size_t i = 0; i < rows[k]->count; i++) runs += rows[k]->groups[i].count;
    p->values[k] = lgv__calloc(runs, sizeof *p->values[k]);
    p->runs[k] = lgv__calloc(rows[1]->count, sizeof *p->runs[k]);
    if (!p->values[k] || !p->runs[k]) return lgv__out_of_memory(err, "a comparison");
  }
  return LGV_OK;
}

static lgv_status find_improvement(const lgv_comparison *cmp, const lgv_row *first,
                                   const lgv_row *row, lgv_estimate *e, lgv_error *err) {
  const lgv_row *const rows[2] = {first, row};
  pair p;
  lgv_status status = pair_open(&p, rows, err);
  for (size_t i = 0; status == LGV_OK && i < row->count; i++)
    if (!seen_before(row, i))
      status =
          add_task(&p, rows, row->groups[i].task, &cmp->measure, cmp->lowest_is_best ? -1 : 1, err);
  if (status == LGV_OK && p.tasks > 0) {
    const lgv_scores mine = {p.values[1], p.runs[1], p.tasks};
    const lgv_scores theirs = {p.values[0], p.runs[0], p.tasks};
    status = lgv_scores_improvement(&mine, &theirs, e, err);
  }
  for (int k = 0; k < 2; k++) {
    lgv__free(p.values[k]);
    lgv__free(p.runs[k]);
  }
  return status;
}

/* ---- Thresholds ---- */

typedef struct goal {
  double value;
  bool relative; /* value is a share of the optimal value */
  size_t window;
} goal;

static lgv_status read_goal(const lgv_compare *how, goal *g, lgv_error *err) {
  char text[64];
  snprintf(text, sizeof text, "%s", how->threshold);
  size_t length = strlen(text);
  g->window = how->window ? how->window : 1;
  g->relative = length > 0 && text[length - 1] == '%';
  if (g->relative) text[length - 1] = '\0';
  if (!lgv__parse_real(text, &g->value) || !isfinite(g->value))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a threshold is a number, or a percentage of the optimal value such as 90%%, "
                    "not '%.40s'",
                    how->threshold);
  if (g->relative) g->value /= 100;
  return LGV_OK;
}

static lgv_status choose_columns(lgv_comparison *c, const lgv_compare *how, const char *run,
                                 lgv_error *err) {
  const char *x = how->x, *y = how->y;
  LGV_TRY(lgv__choose_columns(run, true, &x, &y, err));
  snprintf(c->threshold, sizeof c->threshold, "%s", how->threshold);
  snprintf(c->y, sizeof c->y, "%s", y);
  snprintf(c->x, sizeof c->x, "%s", x);
  return LGV_OK;
}

static lgv_status find_reach(const lgv_comparison *c, const goal *g, const char *run, double *x,
                             lgv_error *err) {
  char path[PATH_MAX];
  lgv_series series;
  lgv_summary summary;
  LGV_TRY(lgv_summary_load(run, &summary, err));
  if (g->relative && isnan(summary.optimal_value))
    return lgv_fail(err, LGV_ERR_USAGE, "%.300s: the optimal value is not known; give a number",
                    run);
  LGV_TRY(lgv__join_path(run, "metrics.csv", path, sizeof path, err));
  LGV_TRY(lgv__csv_read(path, c->x, c->y, &series, err));
  *x = lgv_first_reach(series.x, series.y, series.count, g->window,
                       g->relative ? g->value * summary.optimal_value : g->value);
  lgv__series_free(&series);
  return LGV_OK;
}

/* How long the finished runs of a row took. */
static lgv_status find_reaches(const lgv_comparison *c, const goal *g, lgv_collection *runs,
                               lgv_comparison_row *out, lgv_error *err) {
  size_t n = 0;
  for (size_t t = 0; t < runs->tasks; t++)
    for (size_t r = 0; r < runs->groups[t]->count; r++) {
      lgv_summary summary;
      bool found;
      const char *run = runs->groups[t]->runs[r];
      LGV_TRY(lgv__summary_find(run, &found, &summary, err));
      if (!found || !summary.finished) continue;
      LGV_TRY(find_reach(c, g, run, &runs->values[n], err));
      out->reached += isfinite(runs->values[n++]);
    }
  lgv_scores scores = lgv__collection_scores(runs);
  return lgv_scores_estimate(&scores, LGV_MEDIAN, &out->reach, err);
}

/* ---- Rows ---- */

static lgv_status load_row(const lgv_comparison *c, const goal *g, const lgv_groups *groups,
                           size_t index, lgv_error *err) {
  static const lgv_estimate none = {0, NAN, NAN, NAN, NAN, NAN};
  const lgv_row *row = &groups->rows[index];
  lgv_comparison_row *out = &c->rows[index];
  lgv_collection runs;
  *out = (lgv_comparison_row){.label = row->label, .improvement = none, .reach = none};
  for (size_t s = 0; s < sizeof out->statistics / sizeof *out->statistics; s++)
    out->statistics[s] = none;
  LGV_TRY(lgv__collect(row, NULL, &c->measure, &runs, err));
  out->runs = runs.count;
  out->unfinished = runs.unfinished;
  out->tasks = runs.tasks;
  lgv_scores scores = lgv__collection_scores(&runs);
  lgv_status status = LGV_OK;
  for (size_t s = 0; runs.count > 0 && status == LGV_OK && lgv_statistic_name(s); s++)
    status = lgv_scores_estimate(&scores, (lgv_statistic)s, &out->statistics[s], err);
  if (status == LGV_OK && runs.count > 0 && g) status = find_reaches(c, g, &runs, out, err);
  lgv__collection_free(&runs);
  if (status == LGV_OK && index > 0)
    status = find_improvement(c, &groups->rows[0], row, &out->improvement, err);
  return status;
}

static lgv_status set_direction(lgv_comparison *c, const char *best, lgv_error *err) {
  c->lowest_is_best = best ? strcmp(best, "lowest") == 0 : lgv__measure_lowest_is_best(&c->measure);
  if (!best || c->lowest_is_best || strcmp(best, "highest") == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE, "best is lowest or highest, not '%.40s'", best);
}

static lgv_status load(lgv_comparison *c, const lgv_compare *how, const lgv_groups *groups,
                       lgv_error *err) {
  goal g = {0};
  size_t runs = 0;
  LGV_TRY(lgv__measure_find(how->measure, &c->measure, err));
  LGV_TRY(set_direction(c, how->best, err));
  if (how->threshold) {
    LGV_TRY(read_goal(how, &g, err));
    LGV_TRY(choose_columns(c, how, groups->items[0].runs[0], err));
  }
  c->count = groups->row_count;
  c->rows = lgv__calloc(c->count, sizeof *c->rows);
  if (!c->rows) return lgv__out_of_memory(err, "a comparison");
  for (size_t i = 0; i < c->count; i++) {
    LGV_TRY(load_row(c, how->threshold ? &g : NULL, groups, i, err));
    runs += c->rows[i].runs;
  }
  return runs > 0 ? LGV_OK : lgv_fail(err, LGV_ERR_USAGE, "none of the runs has finished");
}

lgv_status lgv__comparison_open(lgv_comparison *c, const lgv_compare *how, const lgv_groups *groups,
                                lgv_error *err) {
  *c = (lgv_comparison){0};
  lgv_status status = load(c, how, groups, err);
  if (status != LGV_OK) lgv__comparison_close(c);
  return status;
}

void lgv__comparison_close(lgv_comparison *c) {
  lgv__free(c->rows);
  *c = (lgv_comparison){0};
}

/* ---- For people ---- */

static void add_interval(lgv_table *t, const lgv_estimate *e) {
  char value[40], low[40], high[40];
  lgv__format_short(e->value, value, sizeof value);
  lgv__format_short(e->low, low, sizeof low);
  lgv__format_short(e->high, high, sizeof high);
  lgv__table_cell(t, isnan(e->low) ? "%s" : "%s [%s, %s]", value, low, high);
}

lgv_table lgv__comparison_table(const lgv_comparison *c) {
  lgv_table t = lgv__table(c->threshold[0] ? "lrrrrrrr" : "lrrrrr");
  const char *const head[] = {"", "runs", "mean", "iqm", "median", "better than the first"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  if (c->threshold[0]) {
    lgv__table_cell(&t, "%ss to %s", c->x, c->threshold);
    lgv__table_cell(&t, "reached");
  }
  for (size_t i = 0; i < c->count; i++) {
    const lgv_comparison_row *r = &c->rows[i];
    lgv__table_cell(&t, "%s", r->label);
    lgv__table_cell(&t, r->unfinished ? "%zu of %zu" : "%zu", r->runs, r->runs + r->unfinished);
    add_interval(&t, &r->statistics[LGV_MEAN]);
    add_interval(&t, &r->statistics[LGV_IQM]);
    add_interval(&t, &r->statistics[LGV_MEDIAN]);
    add_interval(&t, &r->improvement);
    if (!c->threshold[0]) continue;
    add_interval(&t, &r->reach);
    lgv__table_cell(&t, "%zu of %zu", r->reached, r->runs);
  }
  return t;
}

void lgv__comparison_notes(const lgv_comparison *c, char *text, size_t size) {
  size_t tasks = 0, used;
  for (size_t i = 0; i < c->count; i++) tasks = c->rows[i].tasks > tasks ? c->rows[i].tasks : tasks;
  snprintf(text, size,
           "%s, %s is best; in brackets 95 %% bootstrap intervals%s. Better than the first: the "
           "probability that a run does better than one of %s.",
           c->measure.name, c->lowest_is_best ? "lowest" : "highest",
           tasks > 1 ? ", runs resampled within each environment" : "", c->rows[0].label);
  used = strlen(text);
  if (c->threshold[0])
    snprintf(text + used, size - used,
             " %ss to %s: the median over runs of the first %s at which "
             "%s reached it.",
             c->x, c->threshold, c->x, c->y);
}

/* ---- For programs ---- */

static void csv_interval(FILE *out, const lgv_estimate *e) {
  lgv__csv_real(out, e->value);
  lgv__csv_real(out, e->standard_error);
  lgv__csv_real(out, e->low);
  lgv__csv_real(out, e->high);
}

void lgv__comparison_csv(const lgv_comparison *c, FILE *out) {
  fputs("label,measure,runs,unfinished,tasks", out);
  for (size_t s = 0; lgv_statistic_name(s); s++) {
    const char *name = lgv_statistic_name(s);
    fprintf(out, ",%s,%s_standard_error,%s_low,%s_high", name, name, name, name);
  }
  fputs(",improvement,improvement_standard_error,improvement_low,improvement_high", out);
  if (c->threshold[0]) fprintf(out, ",reached,%s_to_threshold", c->x);
  fputc('\n', out);
  for (size_t i = 0; i < c->count; i++) {
    const lgv_comparison_row *r = &c->rows[i];
    lgv__csv_text(out, r->label);
    fprintf(out, ",%s,%zu,%zu,%zu", c->measure.name, r->runs, r->unfinished, r->tasks);
    for (size_t s = 0; lgv_statistic_name(s); s++) csv_interval(out, &r->statistics[s]);
    csv_interval(out, &r->improvement);
    if (c->threshold[0]) {
      fprintf(out, ",%zu", r->reached);
      lgv__csv_real(out, r->reach.value);
    }
    fputc('\n', out);
  }
}

static void json_interval(lgv_json *json, const char *key, const lgv_estimate *e) {
  lgv__json_open(json, key, '{');
  lgv__json_real(json, "value", e->value);
  lgv__json_real(json, "standard_error", e->standard_error);
  lgv__json_real(json, "low", e->low);
  lgv__json_real(json, "high", e->high);
  lgv__json_close(json, '}');
}

void lgv__comparison_json(const lgv_comparison *c, lgv_json *json) {
  lgv__json_open(json, NULL, '{');
  lgv__json_string(json, "measure", c->measure.name);
  lgv__json_string(json, "best", c->lowest_is_best ? "lowest" : "highest");
  if (c->threshold[0]) {
    lgv__json_string(json, "threshold", c->threshold);
    lgv__json_string(json, "x", c->x);
    lgv__json_string(json, "y", c->y);
  }
  lgv__json_open(json, "rows", '[');
  for (size_t i = 0; i < c->count; i++) {
    const lgv_comparison_row *r = &c->rows[i];
    lgv__json_open(json, NULL, '{');
    lgv__json_string(json, "label", r->label);
    lgv__json_int(json, "runs", (int64_t)r->runs);
    lgv__json_int(json, "unfinished", (int64_t)r->unfinished);
    lgv__json_int(json, "tasks", (int64_t)r->tasks);
    for (size_t s = 0; lgv_statistic_name(s); s++)
      json_interval(json, lgv_statistic_name(s), &r->statistics[s]);
    if (i > 0) json_interval(json, "improvement", &r->improvement);
    if (c->threshold[0]) {
      lgv__json_int(json, "reached", (int64_t)r->reached);
      json_interval(json, "reach", &r->reach);
    }
    lgv__json_close(json, '}');
  }
  lgv__json_close(json, ']');
  lgv__json_close(json, '}');
}
