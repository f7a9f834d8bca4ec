#include "report/print/sweep_report.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/io/lock.h"
#include "base/memory.h"
#include "record/summary.h"
#include "report/data/csv_file.h"
#include "report/print/text_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 200, MOST_COLUMNS = 24 };

static const lgv_estimate *estimate_of(const lgv_sweep_report *r, size_t config, size_t measure) {
  return &r->estimates[config * r->measures + measure];
}

lgv_status lgv__sweep_report_open(lgv_sweep_report *r, lgv_error *err) {
  const lgv_sweep_info *info = lgv_sweep_get_info(r->sweep);
  size_t seeds = (size_t)info->seeds;
  for (r->measures = 0; lgv_measure_name(r->measures);) r->measures++;
  r->estimates = lgv__calloc(info->configs * r->measures, sizeof *r->estimates);
  if (!r->estimates) return lgv__out_of_memory(err, "the table of a sweep");
  for (size_t c = 0; c < info->configs; c++)
    for (size_t m = 0; m < r->measures; m++)
      LGV_TRY(lgv__summary_estimate(r->summaries + c * seeds, seeds, m,
                                    &r->estimates[c * r->measures + m], err));
  return LGV_OK;
}

void lgv__sweep_report_close(lgv_sweep_report *r) {
  lgv__free(r->estimates);
  r->estimates = NULL;
}

static size_t finished_seeds(const lgv_sweep_report *r, size_t config) {
  size_t seeds = (size_t)lgv_sweep_get_info(r->sweep)->seeds, n = 0;
  for (size_t i = 0; i < seeds; i++) n += r->summaries[config * seeds + i].finished;
  return n;
}

/* ---- table.csv ---- */

/* A measure that no run has makes no columns. */
static bool has_measure(const lgv_sweep_report *r, size_t measure) {
  for (size_t c = 0; c < lgv_sweep_get_info(r->sweep)->configs; c++)
    if (estimate_of(r, c, measure)->count > 0) return true;
  return false;
}

static void csv_key_names(const lgv_sweep_report *r, FILE *out) {
  for (size_t k = 0; lgv_sweep_key(r->sweep, k); k++) {
    fputc(',', out);
    lgv__csv_text(out, lgv_sweep_key(r->sweep, k));
  }
}

static void csv_keys(const lgv_sweep_report *r, size_t config, FILE *out) {
  for (size_t k = 0; lgv_sweep_key(r->sweep, k); k++) {
    const char *value = lgv_sweep_value(r->sweep, config, k);
    fputc(',', out);
    if (value) lgv__csv_text(out, value);
  }
}

static void csv_header(const lgv_sweep_report *r, FILE *out) {
  fprintf(out, "index,directory");
  csv_key_names(r, out);
  fprintf(out, ",seeds,finished");
  for (size_t m = 0; m < r->measures; m++) {
    const char *name = lgv_measure_name(m);
    if (has_measure(r, m))
      fprintf(out, ",%s_mean,%s_standard_error,%s_low,%s_high", name, name, name, name);
  }
  fputc('\n', out);
}

static void csv_row(const lgv_sweep_report *r, size_t config, const bool *has, FILE *out) {
  fprintf(out, "%zu,%s", config, r->names[config]);
  csv_keys(r, config, out);
  fprintf(out, ",%" PRId32 ",%zu", lgv_sweep_seeds(r->sweep, config), finished_seeds(r, config));
  for (size_t m = 0; m < r->measures; m++) {
    const lgv_estimate *e = estimate_of(r, config, m);
    if (!has[m]) continue;
    lgv__csv_real(out, e->value);
    lgv__csv_real(out, e->standard_error);
    lgv__csv_real(out, e->low);
    lgv__csv_real(out, e->high);
  }
  fputc('\n', out);
}

static void print_table(const lgv_sweep_report *r, FILE *out) {
  bool has[MOST_COLUMNS] = {0};
  for (size_t m = 0; m < r->measures && m < MOST_COLUMNS; m++) has[m] = has_measure(r, m);
  csv_header(r, out);
  for (size_t c = 0; c < lgv_sweep_get_info(r->sweep)->configs; c++) csv_row(r, c, has, out);
}

/* ---- runs.csv ---- */

static void runs_row(const lgv_sweep_report *r, size_t run, const bool *has, FILE *out) {
  const lgv_summary *summary = &r->summaries[run];
  size_t config = run / (size_t)lgv_sweep_get_info(r->sweep)->seeds;
  const char *failure = r->failures && !summary->finished ? r->failures[run] : NULL;
  fprintf(out, "%zu,%zu,%" PRIu64 ",%s/seed-%" PRIu64 ",%s", run, config, summary->seed,
          r->names[config], summary->seed,
          summary->finished ? "finished"
          : failure         ? "failed"
                            : "unfinished");
  csv_keys(r, config, out);
  fprintf(out, ",");
  if (summary->finished)
    fprintf(out, "%" PRId64 ",%" PRId64, summary->steps, summary->episodes);
  else
    fprintf(out, ",");
  for (size_t m = 0; m < r->measures; m++)
    if (has[m]) lgv__csv_real(out, summary->finished ? lgv_measure_value(summary, m) : NAN);
  fputc(',', out);
  if (failure) lgv__csv_text(out, failure);
  fputc('\n', out);
}

static void print_runs(const lgv_sweep_report *r, FILE *out) {
  const lgv_sweep_info *info = lgv_sweep_get_info(r->sweep);
  bool has[MOST_COLUMNS] = {0};
  for (size_t m = 0; m < r->measures && m < MOST_COLUMNS; m++) has[m] = has_measure(r, m);
  fprintf(out, "index,config,seed,directory,state");
  csv_key_names(r, out);
  fprintf(out, ",steps,episodes");
  for (size_t m = 0; m < r->measures; m++)
    if (has[m]) fprintf(out, ",%s", lgv_measure_name(m));
  fprintf(out, ",error\n");
  for (size_t c = 0; c < info->configs; c++)
    for (size_t i = 0; i < (size_t)lgv_sweep_seeds(r->sweep, c); i++)
      runs_row(r, c * (size_t)info->seeds + i, has, out);
}

/* ---- Both ---- */

static lgv_status write_csv(const lgv_sweep_report *r, const char *name,
                            void (*print)(const lgv_sweep_report *r, FILE *out), lgv_error *err) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return lgv__out_of_memory(err, name);
  print(r, out);
  lgv_status status = fclose(out) == 0 ? lgv__write_file(r->directory, name, text, length, err)
                                       : lgv__out_of_memory(err, name);
  free(text);
  return status;
}

lgv_status lgv__sweep_report_csv(const lgv_sweep_report *r, lgv_error *err) {
  lgv_lock lock; /* files are written beside their place under one name */
  LGV_TRY(lgv__lock_take(&lock, r->directory, INFINITY, err));
  lgv_status status = write_csv(r, "table.csv", print_table, err);
  if (status == LGV_OK) status = write_csv(r, "runs.csv", print_runs, err);
  lgv__lock_release(&lock);
  return status;
}

/* ---- Ranking ---- */

typedef struct place {
  size_t config;
  double score; /* lower is better; NaN last */
} place;

static int by_score(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (isnan(x->score) != isnan(y->score)) return isnan(x->score) ? 1 : -1;
  if (x->score != y->score && !isnan(x->score)) return x->score < y->score ? -1 : 1;
  return (x->config > y->config) - (x->config < y->config);
}

static size_t ranked_measure(const lgv_sweep_report *r) {
  const char *name = lgv_sweep_get_info(r->sweep)->measure;
  size_t m = 0;
  while (m + 1 < r->measures && strcmp(lgv_measure_name(m), name) != 0) m++;
  return m;
}

/* Whether the key differs between the configurations first..last-1; its value is `value` if not. */
static bool varies(const lgv_sweep *sweep, size_t key, size_t first, size_t last,
                   const char **value) {
  *value = lgv_sweep_value(sweep, first, key);
  for (size_t c = first + 1; c < last; c++) {
    const char *other = lgv_sweep_value(sweep, c, key);
    if (!*value != !other || (other && strcmp(*value, other) != 0)) return true;
  }
  return false;
}

typedef struct columns {
  size_t keys[MOST_COLUMNS];
  size_t count;
  char align[MOST_COLUMNS + 8];
} columns;

/* The keys to show for a case; those that do not vary in it go into its title. */
static columns choose_columns(const lgv_sweep *sweep, size_t first, size_t last, FILE *title) {
  columns chosen = {.count = 0};
  const char *value;
  for (size_t k = 0; lgv_sweep_key(sweep, k); k++) {
    if (varies(sweep, k, first, last, &value)) {
      if (chosen.count < MOST_COLUMNS) chosen.keys[chosen.count++] = k;
    } else if (title && value) {
      fprintf(title, "%s = %s, ", lgv_sweep_key(sweep, k), value);
    }
  }
  memset(chosen.align, 'l', chosen.count);
  return chosen;
}

static void print_case(const lgv_sweep_report *r, const place *places, size_t count, size_t top,
                       const columns *shown, FILE *out) {
  size_t m = ranked_measure(r);
  char align[MOST_COLUMNS + 16];
  snprintf(align, sizeof align, "rr%.*srrrrr", (int)shown->count, shown->align);
  lgv_table t = lgv__table(align);
  lgv__table_cell(&t, "rank");
  lgv__table_cell(&t, "config");
  for (size_t k = 0; k < shown->count; k++)
    lgv__table_cell(&t, "%s", lgv_sweep_key(r->sweep, shown->keys[k]));
  lgv__table_cell(&t, "%s", lgv_measure_name(m));
  const char *const head[] = {"std.error", "95 % low", "high", "seeds"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  for (size_t i = 0; i < count && i < top && !isnan(places[i].score); i++) {
    size_t config = places[i].config;
    const lgv_estimate *e = estimate_of(r, config, m);
    lgv__table_cell(&t, "%zu", i + 1);
    lgv__table_cell(&t, "%zu", config);
    for (size_t k = 0; k < shown->count; k++) {
      const char *value = lgv_sweep_value(r->sweep, config, shown->keys[k]);
      lgv__table_cell(&t, "%s", value ? value : "-");
    }
    lgv__table_real(&t, e->value);
    lgv__table_real(&t, e->standard_error);
    lgv__table_real(&t, e->low);
    lgv__table_real(&t, e->high);
    lgv__table_cell(&t, "%" PRId64, e->count);
  }
  lgv__table_print(&t, out, 2, WIDTH);
}

static lgv_status rank_case(const lgv_sweep_report *r, size_t first, size_t last, size_t top,
                            FILE *out, lgv_error *err) {
  size_t m = ranked_measure(r), count = last - first, without = 0;
  place *places = lgv__calloc(count, sizeof *places);
  if (!places) return lgv__out_of_memory(err, "a ranking");
  double sign = lgv_sweep_get_info(r->sweep)->lowest_is_best ? 1 : -1;
  for (size_t i = 0; i < count; i++) {
    places[i] = (place){first + i, sign * estimate_of(r, first + i, m)->value};
    without += isnan(places[i].score);
  }
  qsort(places, count, sizeof *places, by_score);
  columns shown = choose_columns(r->sweep, first, last, out);
  fprintf(out, "%zu configuration%s\n", count, count == 1 ? "" : "s");
  if (without < count) print_case(r, places, count, top, &shown, out);
  if (without > 0) fprintf(out, "  %zu without %s\n", without, lgv_measure_name(m));
  lgv__free(places);
  return LGV_OK;
}

lgv_status lgv__sweep_report_print(const lgv_sweep_report *r, size_t top, FILE *out,
                                   lgv_error *err) {
  const lgv_sweep_info *info = lgv_sweep_get_info(r->sweep);
  fprintf(out, "ranked by %s, %s first; seeds %" PRIu64 " to %" PRIu64 "\n", info->measure,
          info->lowest_is_best ? "lowest" : "highest", info->first_seed,
          info->first_seed + (uint64_t)info->seeds - 1);
  for (size_t first = 0, last; first < info->configs; first = last) {
    size_t number = lgv_sweep_case(r->sweep, first);
    for (last = first; last < info->configs && lgv_sweep_case(r->sweep, last) == number;) last++;
    LGV_TRY(rank_case(r, first, last, top, out, err));
  }
  return LGV_OK;
}

void lgv__sweep_list(const lgv_sweep *sweep, FILE *out) {
  const lgv_sweep_info *info = lgv_sweep_get_info(sweep);
  size_t seeds = (size_t)info->seeds;
  columns shown = choose_columns(sweep, 0, info->configs, NULL);
  char align[MOST_COLUMNS + 16];
  snprintf(align, sizeof align, "rr%.*s", (int)shown.count, shown.align);
  lgv_table t = lgv__table(align);
  lgv__table_cell(&t, "config");
  lgv__table_cell(&t, "runs");
  for (size_t k = 0; k < shown.count; k++)
    lgv__table_cell(&t, "%s", lgv_sweep_key(sweep, shown.keys[k]));
  for (size_t c = 0; c < info->configs; c++) {
    size_t own = (size_t)lgv_sweep_seeds(sweep, c);
    lgv__table_cell(&t, "%zu", c);
    if (own == 1)
      lgv__table_cell(&t, "%zu", c * seeds);
    else
      lgv__table_cell(&t, "%zu-%zu", c * seeds, c * seeds + own - 1);
    for (size_t k = 0; k < shown.count; k++) {
      const char *value = lgv_sweep_value(sweep, c, shown.keys[k]);
      lgv__table_cell(&t, "%s", value ? value : "-");
    }
  }
  lgv__table_print(&t, out, 0, WIDTH);
}
