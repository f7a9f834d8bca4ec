#include "report/data/run_group.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/settings.h"
#include "record/summary.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Values of settings ---- */

bool lgv__same_value(const char *a, const char *b) {
  double x, y;
  if (strcmp(a, b) == 0) return true;
  return lgv__parse_real(a, &x) && lgv__parse_real(b, &y) && x == y;
}

static int by_number(const void *a, const void *b) {
  double x = 0, y = 0;
  lgv__parse_real(*(const char *const *)a, &x);
  lgv__parse_real(*(const char *const *)b, &y);
  return (x > y) - (x < y);
}

void lgv__sort_values(const char **values, size_t count) {
  double value;
  for (size_t i = 0; i < count; i++)
    if (!lgv__parse_real(values[i], &value)) return;
  qsort(values, count, sizeof *values, by_number);
}

/* ---- Directories ---- */

static lgv_status look_for_run(const char *directory, bool *is_run, lgv_error *err) {
  char path[PATH_MAX];
  LGV_TRY(lgv__join_path(directory, "config.json", path, sizeof path, err));
  LGV_TRY(lgv__is_there(directory, is_run, err)); /* or a link to a disk that is gone */
  return *is_run ? lgv__is_there(path, is_run, err) : LGV_OK;
}

/* ---- The seeds of one group ---- */

/* A run whose result cannot be read must not pass for one that has none: tables and pictures leave
 * those out. */
static lgv_status add_run(lgv_group *g, const char *directory, lgv_error *err) {
  lgv_summary summary;
  bool found;
  LGV_TRY(lgv__summary_find(directory, &found, &summary, err));
  char **grown = lgv__realloc(g->runs, (g->count + 1) * sizeof *grown);
  if (!grown) return lgv__out_of_memory(err, "a list of runs");
  g->runs = grown;
  if (!(grown[g->count] = lgv__strdup(directory))) return lgv__out_of_memory(err, "a list of runs");
  g->count++;
  return LGV_OK;
}

static int is_seed(const struct dirent *entry) {
  return strncmp(entry->d_name, "seed-", 5) == 0 &&
         entry->d_name[5 + strspn(entry->d_name + 5, "0123456789")] == '\0';
}

static int by_seed(const struct dirent **a, const struct dirent **b) {
  unsigned long long x = strtoull((*a)->d_name + 5, NULL, 10),
                     y = strtoull((*b)->d_name + 5, NULL, 10);
  return (x > y) - (x < y);
}

static lgv_status add_seeds(lgv_group *g, lgv_error *err) {
  struct dirent **entries = NULL;
  int n = scandir(g->directory, &entries, is_seed, by_seed);
  if (n < 0)
    return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", g->directory, strerror(errno));
  lgv_status status = LGV_OK;
  for (int i = 0; i < n; i++) {
    char path[PATH_MAX];
    bool is_run = false;
    if (status == LGV_OK)
      status = lgv__join_path(g->directory, entries[i]->d_name, path, sizeof path, err);
    if (status == LGV_OK) status = look_for_run(path, &is_run, err);
    if (status == LGV_OK && is_run) status = add_run(g, path, err);
    free(entries[i]);
  }
  free(entries);
  return status;
}

static lgv_status read_names(lgv_group *g, lgv_error *err) {
  char path[PATH_MAX];
  struct stat info;
  if (stat(g->directory, &info) != 0)
    return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", g->directory, strerror(errno));
  g->device = info.st_dev;
  g->inode = info.st_ino;
  LGV_TRY(lgv__join_path(g->runs[0], "config.json", path, sizeof path, err));
  LGV_TRY(lgv_settings_create(&g->settings, err));
  LGV_TRY(lgv_settings_load(g->settings, path, err));
  const char *env = lgv_settings_get(g->settings, "env.name");
  const char *agent = lgv_settings_get(g->settings, "agent.name");
  const lgv_env_type *type;
  char key[128] = "";
  if (lgv__settings_env_type(g->settings, &type, NULL) == LGV_OK && type->name_param)
    snprintf(key, sizeof key, "env.%s", type->name_param);
  const char *which = lgv_settings_get(g->settings, key);
  snprintf(g->env, sizeof g->env, "%s%s%s", env ? env : "?", which ? ":" : "", which ? which : "");
  snprintf(g->agent, sizeof g->agent, "%s", agent ? agent : "?");
  return LGV_OK;
}

static void close_group(lgv_group *g) {
  for (size_t r = 0; r < g->count; r++) lgv__free(g->runs[r]);
  lgv__free(g->runs);
  lgv_settings_free(g->settings);
  *g = (lgv_group){0};
}

/* ---- The groups of one input ---- */

typedef struct input {
  const char *directory;
  const char *label; /* or NULL */
  size_t label_length;
} input;

/* Labels and names of directories may hold a = too: the longest end that exists is meant. */
const char *lgv__input_directory(const char *text) {
  struct stat info;
  const char *first = strchr(text, '=');
  for (const char *end = text; end; end = strchr(end, '='), end = end ? end + 1 : NULL)
    if (stat(end, &info) == 0) return end;
  return first ? first + 1 : text;
}

static input split_input(const char *text) {
  const char *directory = lgv__input_directory(text);
  if (directory == text) return (input){.directory = text};
  return (input){directory, text, (size_t)(directory - text - 1)};
}

/* Of the first KEY=VALUE in "KEY=VALUE,..."; a value may be a list: agent.hidden=32,32. */
static size_t pair_length(const char *where) {
  size_t length = strcspn(where, ",");
  while (where[length] == ',') {
    const char *next = where + length + 1;
    if (!*next || memchr(next, '=', strcspn(next, ","))) break;
    length += 1 + strcspn(next, ",");
  }
  return length;
}

/* Whether the group has all values of "KEY=VALUE,...". */
static bool is_wanted(const lgv_group *g, const char *where) {
  while (where && *where) {
    char key[128], value[512];
    size_t length = pair_length(where), equals = strcspn(where, "=");
    if (equals >= length) equals = length; /* no value: nothing is wanted */
    snprintf(key, sizeof key, "%.*s", (int)equals, where);
    snprintf(value, sizeof value, "%.*s", equals < length ? (int)(length - equals - 1) : 0,
             where + equals + 1);
    const char *own = lgv_settings_get(g->settings, key);
    if (!own || !lgv__same_value(own, value)) return false;
    where += length + (where[length] == ',');
  }
  return true;
}

static lgv_status new_group(lgv_groups *groups, const char *directory, lgv_group **group,
                            lgv_error *err) {
  if (groups->count == groups->capacity) {
    size_t capacity = groups->capacity ? 2 * groups->capacity : 8;
    lgv_group *grown = lgv__realloc(groups->items, capacity * sizeof *grown);
    if (!grown) return lgv__out_of_memory(err, "a list of runs");
    groups->items = grown;
    groups->capacity = capacity;
  }
  size_t length = strlen(directory);
  while (length > 1 && directory[length - 1] == '/') length--;
  *group = &groups->items[groups->count];
  **group = (lgv_group){0};
  if (length >= sizeof(*group)->directory)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", directory);
  snprintf((*group)->directory, sizeof(*group)->directory, "%.*s", (int)length, directory);
  groups->count++;
  return LGV_OK;
}

/* A run or its seeds become a group; *found says whether the directory holds any. */
static lgv_status add_group(lgv_groups *groups, const input *in, const char *directory,
                            const char *where, bool *found, lgv_error *err) {
  lgv_group *g = NULL;
  bool is_run;
  LGV_TRY(new_group(groups, directory, &g, err));
  LGV_TRY(look_for_run(g->directory, &is_run, err));
  LGV_TRY(is_run ? add_run(g, g->directory, err) : add_seeds(g, err));
  *found = g->count > 0;
  if (*found) LGV_TRY(read_names(g, err));
  if (!*found || !is_wanted(g, where)) {
    close_group(g);
    groups->count--;
  } else if (in->label) {
    snprintf(g->label, sizeof g->label, "%.*s", (int)in->label_length, in->label);
    g->labeled = true;
  }
  return LGV_OK;
}

/* ---- Directories of several experiments ---- */

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* The row of table.csv that names the directory; a sweep's order is that of its file. */
static long table_row(const char *table, const char *name) {
  size_t length = strlen(name);
  long row = 0;
  for (const char *line = table; line; row++) {
    const char *field = line + strcspn(line, ",\n");
    if (*field == ',' && strncmp(field + 1, name, length) == 0 && field[1 + length] == ',')
      return row;
    line = strchr(line, '\n');
    if (line) line++;
  }
  return row;
}

typedef struct place {
  long row;
  int order; /* by name, numbers by their value */
  const char *name;
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->row != y->row) return x->row < y->row ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

/* *text is NULL if there is no table; the caller frees it. */
static lgv_status read_table(const char *directory, char **text, lgv_error *err) {
  char path[PATH_MAX];
  struct stat info;
  *text = NULL;
  LGV_TRY(lgv__join_path(directory, "table.csv", path, sizeof path, err));
  FILE *file = fopen(path, "rb");
  if (!file && errno == ENOENT) return LGV_OK;
  if (!file) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
  bool known = fstat(fileno(file), &info) == 0;
  size_t size = known ? (size_t)info.st_size : 0;
  *text = lgv__calloc(size + 1, 1);
  bool whole = known && *text && fread(*text, 1, size, file) == size;
  int reason = errno;
  fclose(file);
  if (whole) return LGV_OK;
  lgv_status status =
      *text || !known ? lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(reason))
                      : lgv__out_of_memory(err, "a list of runs");
  lgv__free(*text);
  *text = NULL;
  return status;
}

/* Links such as `latest` lead to directories that are found anyway. */
static bool is_known(const lgv_groups *groups, size_t first, const struct stat *info) {
  for (size_t i = first; i < groups->count; i++)
    if (groups->items[i].inode == info->st_ino && groups->items[i].device == info->st_dev)
      return true;
  return false;
}

static lgv_status add_places(lgv_groups *groups, const input *in, const char *where, place *places,
                             int count, bool *any, lgv_error *err) {
  size_t first = groups->count;
  char *table;
  LGV_TRY(read_table(in->directory, &table, err));
  for (int i = 0; table && i < count; i++) places[i].row = table_row(table, places[i].name);
  lgv__free(table);
  qsort(places, (size_t)count, sizeof *places, by_place);
  for (int i = 0; i < count; i++) {
    char path[PATH_MAX];
    struct stat info;
    bool found;
    LGV_TRY(lgv__join_path(in->directory, places[i].name, path, sizeof path, err));
    LGV_TRY(lgv__is_there(path, &found, err));
    if (!found) continue;
    if (stat(path, &info) != 0)
      return lgv_fail(err, LGV_ERR_IO, "cannot look at %.300s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode)) continue;
    if (is_known(groups, first, &info)) continue;
    LGV_TRY(add_group(groups, in, path, where, &found, err));
    *any |= found;
  }
  return LGV_OK;
}

static lgv_status add_several(lgv_groups *groups, const input *in, const char *where, bool *any,
                              lgv_error *err) {
  struct dirent **entries = NULL;
  int n = scandir(in->directory, &entries, is_visible, versionsort);
  if (n < 0)
    return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", in->directory, strerror(errno));
  place *places = lgv__calloc((size_t)n + 1, sizeof *places);
  for (int i = 0; places && i < n; i++) places[i] = (place){0, i, entries[i]->d_name};
  lgv_status status = places ? add_places(groups, in, where, places, n, any, err)
                             : lgv__out_of_memory(err, "a list of runs");
  for (int i = 0; i < n; i++) free(entries[i]);
  free(entries);
  lgv__free(places);
  return status;
}

static lgv_status add_input(lgv_groups *groups, const char *text, const char *where,
                            lgv_error *err) {
  input in = split_input(text);
  bool any = false;
  struct stat info;
  if (stat(in.directory, &info) == 0 && S_ISREG(info.st_mode))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%.300s is a file and has no records: name the directory of a run",
                    in.directory);
  LGV_TRY(add_group(groups, &in, in.directory, where, &any, err));
  if (!any) LGV_TRY(add_several(groups, &in, where, &any, err));
  if (any) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.300s is no directory of `langevin run`: it holds neither config.json nor "
                  "seed-0, seed-1, ..., nor directories of such runs",
                  in.directory);
}

/* ---- Rows ---- */

/* In one row the same runs would count twice. */
static lgv_status refuse_twins(const lgv_groups *groups, lgv_error *err) {
  for (size_t i = 0; i < groups->count; i++)
    for (size_t k = 0; k < i; k++) {
      const lgv_group *a = &groups->items[i], *b = &groups->items[k];
      if (a->inode == b->inode && a->device == b->device && strcmp(a->label, b->label) == 0)
        return lgv_fail(err, LGV_ERR_USAGE, "%.300s is given twice", a->directory);
    }
  return LGV_OK;
}

/* Groups of one label move together, in the order in which labels first appear. */
static lgv_status make_rows(lgv_groups *groups, lgv_error *err) {
  lgv_group *ordered = lgv__calloc(groups->count, sizeof *ordered);
  bool *moved = lgv__calloc(groups->count, sizeof *moved);
  groups->rows = lgv__calloc(groups->count, sizeof *groups->rows);
  lgv_status status =
      ordered && moved && groups->rows ? LGV_OK : lgv__out_of_memory(err, "a list of runs");
  size_t n = 0;
  for (size_t i = 0; status == LGV_OK && i < groups->count; i++) {
    if (moved[i]) continue;
    lgv_row *row = &groups->rows[groups->row_count++];
    row->groups = ordered + n;
    for (size_t k = i; k < groups->count; k++)
      if (!moved[k] && strcmp(groups->items[k].label, groups->items[i].label) == 0) {
        ordered[n++] = groups->items[k];
        moved[k] = true;
        row->count++;
      }
    row->label = row->groups[0].label;
  }
  lgv__free(moved);
  if (status != LGV_OK) {
    lgv__free(ordered);
    return status;
  }
  lgv__free(groups->items);
  groups->items = ordered;
  groups->capacity = groups->count;
  return LGV_OK;
}

/* Labels may be names of directories, and end up in tables, pages and pictures. */
static void show_label(lgv_group *g) {
  char label[sizeof g->label];
  lgv__make_visible(g->label, label, sizeof label);
  memcpy(g->label, label, sizeof label);
}

static lgv_status open_all(lgv_groups *groups, const lgv_selection *s, lgv_error *err) {
  for (size_t i = 0; i < s->count; i++) LGV_TRY(add_input(groups, s->inputs[i], s->where, err));
  if (groups->count == 0) return lgv_fail(err, LGV_ERR_USAGE, "no run has %.300s", s->where);
  LGV_TRY(lgv__groups_label(groups, s, err));
  for (size_t i = 0; i < groups->count; i++) show_label(&groups->items[i]);
  LGV_TRY(refuse_twins(groups, err));
  return make_rows(groups, err);
}

lgv_status lgv__groups_open(lgv_groups *groups, const lgv_selection *selection, lgv_error *err) {
  *groups = (lgv_groups){0};
  lgv_status status = open_all(groups, selection, err);
  if (status != LGV_OK) lgv__groups_close(groups);
  return status;
}

void lgv__groups_close(lgv_groups *groups) {
  for (size_t i = 0; i < groups->count; i++) close_group(&groups->items[i]);
  lgv__free(groups->items);
  lgv__free(groups->rows);
  *groups = (lgv_groups){0};
}
