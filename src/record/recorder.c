/* The records of a run for a loop that the caller runs: lgv_record with columns and settings of the
 * caller's. A recorder that continues cuts metrics.csv after the rows of steps up to last_step, as
 * a resumed run does, so that training from a saved agent writes each step once. */
#include "base/clock.h"
#include "base/error.h"
#include "base/io/file.h"
#include "base/io/json.h"
#include "base/memory.h"
#include "config/run_directory.h"
#include "record/record.h"
#include "record/summary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 8192 };

struct lgv_recorder {
  lgv_record record;
  char *directory, *env, *agent;
  lgv_column *columns; /* their texts are in `names` */
  char *names;         /* groups and names, each ended by NUL */
  double started, computed;
  int64_t first_step, step; /* where training continues, and of the last row */
};

/* ---- Creation ---- */

static lgv_status split_columns(lgv_recorder *r, const char *const *columns, lgv_error *err) {
  size_t n = 0, size = 0;
  for (; columns[n]; n++) size += strlen(columns[n]) + 1;
  r->columns = lgv__calloc(n + 1, sizeof *r->columns);
  r->names = lgv__calloc(size + 1, 1);
  if (!r->columns || !r->names) return lgv__out_of_memory(err, "a recorder");
  char *at = r->names;
  for (size_t i = 0; i < n; i++) {
    size_t length = strlen(columns[i]);
    memcpy(at, columns[i], length + 1);
    char *slash = strchr(at, '/');
    if (!slash || strpbrk(at, ",\"\n\r"))
      return lgv_fail(err, LGV_ERR_USAGE,
                      "the column '%.100s' is not \"group/name\" without commas, quotes and line "
                      "breaks",
                      columns[i]);
    *slash = '\0';
    r->columns[i] = (lgv_column){at, slash + 1};
    at += length + 1;
  }
  if (n == 0 || strcmp(columns[0], "run/step") != 0)
    return lgv_fail(err, LGV_ERR_USAGE, "the first column of a recorder is \"run/step\"");
  r->record.columns = r->columns;
  r->record.n_columns = n;
  return LGV_OK;
}

static lgv_status copy_texts(lgv_recorder *r, const lgv_recorder_options *o, lgv_error *err) {
  if (!o->directory || !o->config || !o->env || !o->agent || !o->columns)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a recorder needs a directory, a config, the names of env and agent, and "
                    "columns");
  r->directory = lgv__strdup(o->directory);
  r->env = lgv__strdup(o->env);
  r->agent = lgv__strdup(o->agent);
  if (!r->directory || !r->env || !r->agent) return lgv__out_of_memory(err, "a recorder");
  r->record.directory = r->directory;
  return split_columns(r, o->columns, err);
}

/* ---- Continuing ---- */

static bool is_header(const lgv_record *record, const char *line) {
  for (size_t i = 0; i < record->n_columns; i++) {
    size_t length = strlen(record->columns[i].name);
    if (strncmp(line, record->columns[i].name, length) != 0) return false;
    line += length;
    if (*line++ != (i + 1 < record->n_columns ? ',' : '\n')) return false;
  }
  return *line == '\0';
}

/* *size: bytes of the header and of the whole rows up to last_step; 0 if there is no file. */
static lgv_status find_end(lgv_recorder *r, int64_t last_step, int64_t *size, lgv_error *err) {
  char path[PATH_MAX], line[LINE_SIZE];
  *size = 0;
  LGV_TRY(lgv__join_path(r->directory, "metrics.csv", path, sizeof path, err));
  bool there;
  LGV_TRY(lgv__is_there(path, &there, err));
  if (!there) return LGV_OK;
  FILE *file = fopen(path, "rb");
  if (!file) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
  bool known = fgets(line, sizeof line, file) && is_header(&r->record, line);
  if (known) *size = ftell(file);
  while (known && fgets(line, sizeof line, file) && strchr(line, '\n')) {
    int64_t step = strtoll(line, NULL, 10);
    if (step > last_step) break;
    r->step = step;
    *size = ftell(file);
  }
  bool failed = ferror(file) || *size < 0;
  fclose(file);
  if (failed) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s", path);
  if (known) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.300s has other columns; choose another directory, or remove it", path);
}

/* ---- The calls ---- */

static lgv_status open_record(lgv_recorder *r, const lgv_recorder_options *o, lgv_error *err) {
  lgv_record_config config = {.text = o->config, .tensorboard = true};
  lgv_rows rows = {0}; /* no checkpoint counts on them, so their sum is not needed */
  LGV_TRY(copy_texts(r, o, err));
  LGV_TRY(lgv__make_directory(r->directory, err));
  LGV_TRY(lgv__record_lock(&r->record, 0, err));
  if (o->last_step >= 0) {
    LGV_TRY(lgv__config_check_text(o->config, r->directory, LGV_UP_TO_BUDGET, err));
    LGV_TRY(find_end(r, o->last_step, &rows.size, err));
  }
  r->first_step = r->step > o->last_step ? r->step : o->last_step;
  return rows.size == 0 ? lgv__record_begin(&r->record, &config, err)
                        : lgv__record_continue(&r->record, &config, rows, r->step, err);
}

lgv_status lgv_recorder_create(const lgv_recorder_options *options, lgv_recorder **out,
                               lgv_error *err) {
  *out = NULL;
  LGV_TRY(lgv__check_size("lgv_recorder_options", options->size, sizeof *options, err));
  lgv_recorder *r = lgv__calloc(1, sizeof *r);
  if (!r) return lgv__out_of_memory(err, "a recorder");
  r->record.lock.descriptor = -1;
  r->started = lgv__now();
  r->computed = lgv__clock(CLOCK_THREAD_CPUTIME_ID);
  lgv_status status = open_record(r, options, err);
  if (status == LGV_OK)
    *out = r;
  else
    lgv_recorder_free(r);
  return status;
}

void lgv_recorder_free(lgv_recorder *r) {
  if (!r) return;
  lgv__record_close(&r->record);
  lgv__free(r->directory);
  lgv__free(r->env);
  lgv__free(r->agent);
  lgv__free(r->columns);
  lgv__free(r->names);
  lgv__free(r);
}

lgv_status lgv_recorder_row(lgv_recorder *r, const double *values, lgv_error *err) {
  r->step = (int64_t)values[0];
  return lgv__record_row(&r->record, values, err);
}

lgv_status lgv_recorder_finish(lgv_recorder *r, const lgv_summary *summary, const char *failure,
                               lgv_error *err) {
  lgv_rows rows;
  lgv_json json = {0};
  int64_t steps = r->step > r->first_step ? r->step - r->first_step : 0;
  LGV_TRY(lgv__record_flush(&r->record, &rows, err));
  LGV_TRY(lgv__record_timing(&r->record, lgv__now() - r->started,
                             lgv__clock(CLOCK_THREAD_CPUTIME_ID) - r->computed, steps, err));
  lgv__json_open(&json, NULL, '{');
  lgv__summary_json_of(&json, r->env, r->agent, summary, failure);
  lgv__json_close(&json, '}');
  lgv_status status =
      json.failed ? lgv__out_of_memory(err, "summary.json")
                  : lgv__write_file(r->directory, "summary.json", json.text, json.length, err);
  lgv__json_free(&json);
  return status;
}
