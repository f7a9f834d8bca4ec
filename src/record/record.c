#include "record/record.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/io/disk.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/run_directory.h"
#include "record/checkpoint.h"
#include "record/summary.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef lgv_status (*write_fn)(const char *directory, const char *name, const char *text,
                               size_t length, lgv_error *err);

static lgv_status write_json(write_fn write_text, const char *directory, const char *name,
                             lgv_json *json, lgv_error *err) {
  lgv_status status = json->failed ? lgv__out_of_memory(err, name)
                                   : write_text(directory, name, json->text, json->length, err);
  lgv__json_free(json);
  return status;
}

/* Runs that keep only a summary are short and many: syncing would take longer than running, and a
 * run whose summary is lost counts as unfinished. */
static write_fn writer_of(const lgv_plan *plan) {
  return plan->run.records == LGV_RECORDS_SUMMARY ? lgv__write_file_unsynced : lgv__write_file;
}

static lgv_status metrics_error(const lgv_record *record, lgv_error *err) {
  return lgv_fail(err, LGV_ERR_IO, "cannot write %.300s/metrics.csv: %s", record->directory,
                  strerror(record->metrics.error));
}

/* Two runs at once would mix their records. */
lgv_status lgv__record_lock(lgv_record *record, double patience, lgv_error *err) {
  if (record->held || record->lock.descriptor >= 0) return LGV_OK;
  LGV_TRY(lgv__lock_take(&record->lock, record->directory, patience, err));
  if (record->lock.descriptor >= 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO,
                  "%s is writing into %.300s; wait until it ends, or choose another directory",
                  record->lock.holder, record->directory);
}

static lgv_status remove_files(const char *directory, const char *const *names, lgv_error *err) {
  for (; *names; names++) {
    char path[PATH_MAX];
    LGV_TRY(lgv__join_path(directory, *names, path, sizeof path, err));
    if (!lgv__disk_remove(path))
      return lgv_fail(err, LGV_ERR_IO, "cannot replace %.300s: %s", path, strerror(errno));
  }
  return LGV_OK;
}

/* An old summary.json would report a run as finished that has been resumed or restarted. */
static lgv_status remove_results(const char *directory, lgv_error *err) {
  static const char *const names[] = {"summary.json", "timing.json", NULL};
  return remove_files(directory, names, err);
}

/* A run must not resume from an old checkpoint; it is removed before the rows that it refers to. */
static lgv_status remove_old(const char *directory, lgv_error *err) {
  static const char *const names[] = {"metrics.csv", LGV_EVENT_FILE_NAME, NULL};
  LGV_TRY(remove_results(directory, err));
  LGV_TRY(lgv__checkpoint_remove(directory, err));
  return remove_files(directory, names, err);
}

/* Any call may write out a buffer and so discover a full disk; the run must then stop, since it
 * would lose its records. */
static lgv_status end_row(lgv_record *record, lgv_error *err) {
  lgv__out_text(&record->metrics, "\n");
  return record->metrics.error ? metrics_error(record, err) : LGV_OK;
}

static lgv_status write_header(lgv_record *record, lgv_error *err) {
  for (size_t i = 0; i < record->n_columns; i++) {
    if (i > 0) lgv__out_text(&record->metrics, ",");
    lgv__out_text(&record->metrics, record->columns[i].name);
  }
  return end_row(record, err);
}

static lgv_status write_config(const lgv_record *record, const lgv_record_config *config,
                               lgv_error *err) {
  write_fn write_text = config->only_summary ? lgv__write_file_unsynced : lgv__write_file;
  return write_text(record->directory, "config.json", config->text, strlen(config->text), err);
}

lgv_status lgv__record_begin(lgv_record *record, const lgv_record_config *config, lgv_error *err) {
  const char *directory = record->directory;
  char path[PATH_MAX];
  LGV_TRY(lgv__make_directory(directory, err));
  LGV_TRY(lgv__record_lock(record, 0, err));
  LGV_TRY(lgv__config_check_text(config->text, directory, LGV_EXACTLY, err));
  LGV_TRY(remove_old(directory, err));
  LGV_TRY(write_config(record, config, err));
  if (config->only_summary) return LGV_OK;
  LGV_TRY(lgv__join_path(directory, "metrics.csv", path, sizeof path, err));
  if (!lgv__out_open(&record->metrics, path, 0)) return metrics_error(record, err);
  LGV_TRY(write_header(record, err));
  return config->tensorboard ? lgv__event_file_open(&record->events, directory, -1, err) : LGV_OK;
}

/* The configuration of a plan; the caller frees json. */
static lgv_status config_of(const lgv_plan *plan, uint64_t seed, lgv_json *json,
                            lgv_record_config *config, lgv_error *err) {
  *json = (lgv_json){0};
  if (seed > UINT64_C(1) << 53) /* more than run.seed accepts: config.json could not be read back */
    return lgv_fail(err, LGV_ERR_USAGE, "seed %llu is too large to be recorded: at most 2^53",
                    (unsigned long long)seed);
  lgv__plan_json(plan, seed, json);
  if (json->failed) return lgv__out_of_memory(err, "config.json");
  *config = (lgv_record_config){.text = json->text,
                                .only_summary = plan->run.records == LGV_RECORDS_SUMMARY,
                                .tensorboard = plan->run.tensorboard,
                                .accept_changes = plan->run.accept_changes};
  return LGV_OK;
}

lgv_status lgv__record_open(lgv_record *record, const lgv_plan *plan, uint64_t seed,
                            lgv_error *err) {
  if (!record->directory) return LGV_OK;
  lgv_json json;
  lgv_record_config config;
  lgv_status status = config_of(plan, seed, &json, &config, err);
  if (status == LGV_OK) status = lgv__record_begin(record, &config, err);
  lgv__json_free(&json);
  return status;
}

lgv_status lgv__record_row(lgv_record *record, const double *values, lgv_error *err) {
  if (!record->metrics.is_open) return LGV_OK;
  for (size_t i = 0; i < record->n_columns; i++) {
    char text[40] = "";
    if (!isnan(values[i])) lgv__format_real(values[i], text, sizeof text);
    if (i > 0) lgv__out_text(&record->metrics, ",");
    lgv__out_text(&record->metrics, text);
  }
  LGV_TRY(end_row(record, err));
  LGV_TRY(lgv__event_file_row(&record->events, (int64_t)values[0], record->columns + 1, values + 1,
                              record->n_columns - 1, err));
  return lgv__record_show(record, err);
}

lgv_status lgv__record_show(lgv_record *record, lgv_error *err) {
  const double patience = 2; /* seconds */
  double time = lgv__now();
  if (!record->metrics.is_open || time - record->shown < patience) return LGV_OK;
  record->shown = time;
  if (!lgv__out_flush(&record->metrics)) return metrics_error(record, err);
  return lgv__event_file_flush(&record->events, err);
}

lgv_status lgv__record_flush(lgv_record *record, lgv_rows *rows, lgv_error *err) {
  *rows = (lgv_rows){0, LGV_HASH_START};
  if (!record->metrics.is_open) return LGV_OK;
  LGV_TRY(lgv__event_file_flush(&record->events, err));
  if (!lgv__out_sync(&record->metrics)) return metrics_error(record, err);
  *rows = (lgv_rows){record->metrics.size, record->metrics.sum};
  return LGV_OK;
}

const char *lgv__record_rows_fault(const lgv_record *record, lgv_rows rows) {
  char path[PATH_MAX], part[8192];
  FILE *file = NULL;
  uint64_t sum = LGV_HASH_START;
  int64_t left = rows.size;
  if (lgv__join_path(record->directory, "metrics.csv", path, sizeof path, NULL) == LGV_OK)
    file = fopen(path, "rb");
  while (file && left > 0) {
    size_t wanted = left < (int64_t)sizeof part ? (size_t)left : sizeof part;
    size_t got = fread(part, 1, wanted, file);
    sum = lgv__hash(sum, part, got);
    left -= (int64_t)got;
    if (got < wanted) break;
  }
  if (file) fclose(file);
  if (!file || left > 0) return "metrics.csv is missing, or shorter than it was then";
  return sum == rows.sum ? NULL : "rows of metrics.csv have changed since then";
}

lgv_status lgv__record_continue(lgv_record *record, const lgv_record_config *config, lgv_rows rows,
                                int64_t last_step, lgv_error *err) {
  const char *directory = record->directory;
  char path[PATH_MAX];
  if (!config->accept_changes)
    LGV_TRY(lgv__config_check_text(config->text, directory, LGV_UP_TO_BUDGET, err));
  LGV_TRY(lgv__checkpoint_tidy(directory, err));
  lgv_status exact = lgv__config_check_text(config->text, directory, LGV_EXACTLY, err);
  if (exact == LGV_ERR_USAGE) { /* another budget: the old results are not those of the end */
    LGV_TRY(remove_results(directory, err));
    exact = write_config(record, config, err);
  }
  LGV_TRY(exact);
  LGV_TRY(lgv__join_path(directory, "metrics.csv", path, sizeof path, err));
  if (!lgv__out_open(&record->metrics, path, rows.size)) return metrics_error(record, err);
  record->metrics.sum = rows.sum;
  if (!config->tensorboard) return LGV_OK;
  return lgv__event_file_open(&record->events, directory, last_step, err);
}

lgv_status lgv__record_reopen(lgv_record *record, const lgv_plan *plan, uint64_t seed,
                              lgv_rows rows, int64_t last_step, lgv_error *err) {
  lgv_json json;
  lgv_record_config config;
  lgv_status status = config_of(plan, seed, &json, &config, err);
  if (status == LGV_OK) status = lgv__record_continue(record, &config, rows, last_step, err);
  lgv__json_free(&json);
  return status;
}

void lgv__record_close(lgv_record *record) {
  lgv__event_file_close(&record->events);
  lgv__out_close(&record->metrics);
  lgv__lock_release(&record->lock);
}

lgv_status lgv__record_summary(lgv_record *record, const lgv_plan *plan, const lgv_summary *summary,
                               int64_t given_up, const char *failure, lgv_error *err) {
  if (!record->directory) return LGV_OK;
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '{');
  lgv__summary_json(&json, plan, summary, failure);
  if (given_up > 0) lgv__json_int(&json, "given_up_episodes", given_up);
  lgv__json_close(&json, '}');
  return write_json(writer_of(plan), record->directory, "summary.json", &json, err);
}

lgv_status lgv__record_timing(lgv_record *record, double seconds, double computed, int64_t steps,
                              lgv_error *err) {
  if (!record->metrics.is_open) return LGV_OK;
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '{');
  lgv__json_real(&json, "seconds", seconds);
  lgv__json_real(&json, "processor_seconds", computed);
  lgv__json_real(&json, "steps_per_second", seconds > 0 ? (double)steps / seconds : 0);
  lgv__json_close(&json, '}');
  return write_json(lgv__write_file, record->directory, "timing.json", &json, err);
}

lgv_status lgv__record_aggregate(const char *directory, const lgv_plan *plan,
                                 const lgv_summary *summaries, size_t count, lgv_error *err) {
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '{');
  lgv_status status = lgv__aggregate_json(&json, plan, summaries, count, err);
  lgv__json_close(&json, '}');
  if (status == LGV_OK) return write_json(lgv__write_file, directory, "aggregate.json", &json, err);
  lgv__json_free(&json);
  return status;
}
