#include "report/data/csv_file.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 128 };

typedef struct reader {
  const char *path;
  FILE *file;
  char *line; /* getline's */
  size_t capacity;
  size_t number;                        /* of the line, from 1 */
  char *names;                          /* the header, cut into fields */
  const char *header[MOST_COLUMNS + 1]; /* NULL-terminated */
  size_t columns;
} reader;

static lgv_status fail_at(const reader *r, lgv_error *err, const char *what) {
  return lgv_fail(err, LGV_ERR_IO, "%.300s:%zu: %s", r->path, r->number, what);
}

/* The next whole line without its end; false at the end of the file. */
static bool next_line(reader *r) {
  ssize_t length = getline(&r->line, &r->capacity, r->file);
  if (length <= 0 || r->line[length - 1] != '\n') return false;
  r->line[--length] = '\0';
  if (length > 0 && r->line[length - 1] == '\r') r->line[length - 1] = '\0';
  r->number++;
  return true;
}

/* Cuts a line into fields in place; at most `most`, but counts all. */
static size_t split(char *line, const char **fields, size_t most) {
  size_t n = 0;
  for (char *field = line; field; n++) {
    char *comma = strchr(field, ',');
    if (comma) *comma = '\0';
    if (n < most) fields[n] = field;
    field = comma ? comma + 1 : NULL;
  }
  return n;
}

static lgv_status open_reader(reader *r, const char *path, lgv_error *err) {
  *r = (reader){.path = path, .file = fopen(path, "rb")};
  if (!r->file) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
  if (!next_line(r)) return lgv_fail(err, LGV_ERR_IO, "%.300s has no header line", path);
  r->names = lgv__strdup(r->line);
  if (!r->names) return lgv__out_of_memory(err, path);
  r->columns = split(r->names, r->header, MOST_COLUMNS);
  return r->columns > MOST_COLUMNS ? fail_at(r, err, "too many columns") : LGV_OK;
}

static void close_reader(reader *r) {
  if (r->file) fclose(r->file);
  free(r->line);
  lgv__free(r->names);
}

static lgv_status find_column(const reader *r, const char *name, size_t *column, lgv_error *err) {
  for (size_t i = 0; i < r->columns; i++)
    if (strcmp(r->header[i], name) == 0) {
      *column = i;
      return LGV_OK;
    }
  char all[256] = "";
  for (size_t i = 0; i < r->columns && strlen(all) < sizeof all - 64; i++)
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%.40s", i ? ", " : "", r->header[i]);
  const char *near = lgv__nearest_name(name, r->header);
  return lgv_fail(err, LGV_ERR_USAGE, "%.150s has no column '%.40s'%s%s%s it has %s", r->path, name,
                  near ? "; did you mean '" : ";", near ? near : "", near ? "'?" : "", all);
}

static lgv_status append(lgv_series *s, double x, double y, lgv_error *err) {
  if (s->count == s->capacity) {
    size_t capacity = s->capacity ? 2 * s->capacity : 256;
    double *grown_x = lgv__realloc(s->x, capacity * sizeof *grown_x);
    if (grown_x) s->x = grown_x;
    double *grown_y = lgv__realloc(s->y, capacity * sizeof *grown_y);
    if (grown_y) s->y = grown_y;
    if (!grown_x || !grown_y) return lgv__out_of_memory(err, "a curve");
    s->capacity = capacity;
  }
  s->x[s->count] = x;
  s->y[s->count++] = y;
  return LGV_OK;
}

static lgv_status read_field(const reader *r, const char *field, size_t column, double *value,
                             lgv_error *err) {
  *value = NAN;
  if (!field[0] || lgv__parse_real(field, value)) return LGV_OK;
  char what[160];
  snprintf(what, sizeof what, "'%.40s' in column %.40s is not a number", field, r->header[column]);
  return fail_at(r, err, what);
}

static lgv_status read_rows(reader *r, size_t x_column, size_t y_column, lgv_series *series,
                            lgv_error *err) {
  const char *fields[MOST_COLUMNS];
  while (next_line(r)) {
    double x, y;
    size_t n = split(r->line, fields, MOST_COLUMNS);
    if (n != r->columns) {
      char what[96];
      snprintf(what, sizeof what, "%zu fields where the header has %zu", n, r->columns);
      return fail_at(r, err, what);
    }
    LGV_TRY(read_field(r, fields[x_column], x_column, &x, err));
    LGV_TRY(read_field(r, fields[y_column], y_column, &y, err));
    if (isfinite(x) && isfinite(y)) LGV_TRY(append(series, x, y, err));
  }
  return ferror(r->file) ? fail_at(r, err, strerror(errno)) : LGV_OK;
}

lgv_status lgv__csv_read(const char *path, const char *x_name, const char *y_name,
                         lgv_series *series, lgv_error *err) {
  reader r;
  size_t x_column = 0, y_column = 0;
  *series = (lgv_series){0};
  lgv_status status = open_reader(&r, path, err);
  if (status == LGV_OK) status = find_column(&r, x_name, &x_column, err);
  if (status == LGV_OK) status = find_column(&r, y_name, &y_column, err);
  if (status == LGV_OK) status = read_rows(&r, x_column, y_column, series, err);
  close_reader(&r);
  if (status == LGV_OK && series->count == 0)
    status = lgv_fail(err, LGV_ERR_IO, "%.300s has no values of %.40s yet", path, y_name);
  if (status != LGV_OK) lgv__series_free(series);
  return status;
}

lgv_status lgv__csv_has(const char *path, const char *name, bool *has, lgv_error *err) {
  reader r;
  *has = false;
  lgv_status status = open_reader(&r, path, err);
  for (size_t i = 0; status == LGV_OK && i < r.columns; i++) *has |= !strcmp(r.header[i], name);
  close_reader(&r);
  return status;
}

void lgv__series_free(lgv_series *series) {
  lgv__free(series->x);
  lgv__free(series->y);
  *series = (lgv_series){0};
}

void lgv__csv_text(FILE *out, const char *given) {
  char text[4096];
  lgv__make_visible(given, text, sizeof text);
  if (!strpbrk(text, ",\"\n\r")) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (const char *c = text; *c; c++) fprintf(out, *c == '"' ? "\"\"" : "%c", *c);
  fputc('"', out);
}

void lgv__csv_real(FILE *out, double value) {
  char text[40] = "";
  if (!isnan(value)) lgv__format_real(value, text, sizeof text);
  fprintf(out, ",%s", text);
}
