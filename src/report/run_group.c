#include "report/run_group.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "run/settings.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_run(const char *directory) {
  char path[PATH_MAX];
  return lgv__join_path(directory, "config.json", path, sizeof path, NULL) == LGV_OK &&
         access(path, F_OK) == 0;
}

static lgv_status add_run(lgv_group *g, const char *directory, lgv_error *err) {
  char **grown = lgv__realloc(g->runs, (g->count + 1) * sizeof *grown);
  if (!grown) return lgv__out_of_memory(err, "a plot");
  g->runs = grown;
  if (!(grown[g->count] = lgv__strdup(directory))) return lgv__out_of_memory(err, "a plot");
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
    if (status == LGV_OK)
      status = lgv__join_path(g->directory, entries[i]->d_name, path, sizeof path, err);
    if (status == LGV_OK && is_run(path)) status = add_run(g, path, err);
    free(entries[i]);
  }
  free(entries);
  return status;
}

static lgv_status read_names(lgv_group *g, lgv_error *err) {
  char path[PATH_MAX];
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

/* Where the directory begins in [LABEL=]DIR. Labels and names of directories may hold a = too: the
 * longest end that exists is meant. */
static const char *find_directory(const char *input) {
  struct stat info;
  const char *first = strchr(input, '=');
  for (const char *end = input; end; end = strchr(end, '='), end = end ? end + 1 : NULL)
    if (stat(end, &info) == 0) return end;
  return first ? first + 1 : input;
}

static lgv_status open_group(lgv_group *g, const char *input, lgv_error *err) {
  const char *directory = find_directory(input);
  if (directory > input) {
    snprintf(g->label, sizeof g->label, "%.*s", (int)(directory - input - 1), input);
    g->labelled = true;
  }
  size_t length = strlen(directory);
  while (length > 1 && directory[length - 1] == '/') length--;
  if (length >= sizeof g->directory)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", directory);
  snprintf(g->directory, sizeof g->directory, "%.*s", (int)length, directory);
  if (is_run(g->directory))
    LGV_TRY(add_run(g, g->directory, err));
  else
    LGV_TRY(add_seeds(g, err));
  if (g->count == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%.300s is no directory of `langevin run`: it holds neither config.json nor "
                    "seed-0, seed-1, ...",
                    g->directory);
  return read_names(g, err);
}

/* ---- Labels ---- */

/* The last `parts` parts of a path. */
static const char *path_end(const char *path, int parts) {
  const char *end = path + strlen(path);
  while (end > path && (end[-1] != '/' || --parts > 0)) end--;
  return end;
}

static bool distinct(const lgv_groups *groups) {
  for (size_t i = 0; i < groups->count; i++)
    for (size_t j = 0; j < i; j++)
      if (strcmp(groups->items[i].label, groups->items[j].label) == 0) return false;
  return true;
}

/* Whether groups have different values of a parameter; run.* is about how, not what. */
static bool differs(const lgv_groups *groups, const char *key) {
  const char *value = lgv_settings_get(groups->items[0].settings, key);
  if (strncmp(key, "run.", 4) == 0) return false;
  for (size_t i = 1; i < groups->count; i++) {
    const char *other = lgv_settings_get(groups->items[i].settings, key);
    if (!value != !other || (value && strcmp(value, other) != 0)) return true;
  }
  return false;
}

/* "lmc-lsvi, lambda 0.1, beta 10": what differs from the other groups. */
static void label_by_difference(const lgv_groups *groups, lgv_group *g) {
  g->label[0] = '\0';
  for (size_t i = 0; i < g->settings->count; i++) {
    const lgv_setting *item = &g->settings->items[i];
    const char *dot = strchr(item->key, '.');
    const char *name = dot ? dot + 1 : item->key;
    size_t used = strlen(g->label);
    if (!differs(groups, item->key)) continue;
    bool is_name = strcmp(name, "name") == 0;
    snprintf(g->label + used, sizeof g->label - used, "%s%s%s%s", used ? ", " : "",
             is_name ? "" : name, is_name ? "" : " ", item->value);
  }
}

enum { BY_AGENT, BY_ENV, BY_BOTH, BY_DIFFERENCE, BY_NAME, BY_PATH };

static void set_label(const lgv_groups *groups, lgv_group *g, int way) {
  switch (way) {
  case BY_AGENT: snprintf(g->label, sizeof g->label, "%s", g->agent); return;
  case BY_ENV: snprintf(g->label, sizeof g->label, "%s", g->env); return;
  case BY_BOTH: snprintf(g->label, sizeof g->label, "%s, %s", g->agent, g->env); return;
  case BY_DIFFERENCE: label_by_difference(groups, g); return;
  default:
    snprintf(g->label, sizeof g->label, "%.150s", path_end(g->directory, way == BY_NAME ? 1 : 2));
  }
}

static void choose_labels(lgv_groups *groups) {
  bool same_env = true;
  for (size_t i = 1; i < groups->count; i++)
    same_env &= strcmp(groups->items[i].env, groups->items[0].env) == 0;
  for (int way = same_env ? BY_AGENT : BY_ENV; way <= BY_PATH; way++) {
    for (size_t i = 0; i < groups->count; i++)
      if (!groups->items[i].labelled) set_label(groups, &groups->items[i], way);
    if (distinct(groups)) return;
  }
}

lgv_status lgv__groups_open(lgv_groups *groups, const char *const *inputs, size_t count,
                            lgv_error *err) {
  *groups = (lgv_groups){.items = lgv__calloc(count + 1, sizeof *groups->items)};
  if (!groups->items) return lgv__out_of_memory(err, "a plot");
  lgv_status status = LGV_OK;
  for (size_t i = 0; i < count && status == LGV_OK; i++) {
    groups->count++;
    status = open_group(&groups->items[i], inputs[i], err);
  }
  if (status == LGV_OK)
    choose_labels(groups);
  else
    lgv__groups_close(groups);
  return status;
}

void lgv__groups_close(lgv_groups *groups) {
  for (size_t i = 0; i < groups->count; i++) {
    for (size_t r = 0; r < groups->items[i].count; r++) lgv__free(groups->items[i].runs[r]);
    lgv__free(groups->items[i].runs);
    lgv_settings_free(groups->items[i].settings);
  }
  lgv__free(groups->items);
  *groups = (lgv_groups){0};
}
