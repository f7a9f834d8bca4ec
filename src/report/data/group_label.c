/* Labels of groups: the shortest that distinguish them. */
#include "base/error.h"
#include "base/text.h"
#include "config/settings.h"
#include "report/data/run_group.h"

#include <stdio.h>
#include <string.h>

/* Whether groups of one row may differ in the key. */
static bool is_over(const char *over, const char *key) {
  if (!over) return false;
  size_t length = strlen(over);
  if (length > 0 && over[length - 1] == '.') return strncmp(key, over, length) == 0;
  return strcmp(key, over) == 0;
}

/* ---- Settings that vary ---- */

static const char *value_of(const lgv_group *g, const char *key) {
  const char *value = lgv_settings_get(g->settings, key);
  return value ? value : "";
}

/* The first group of the same environment, for its settings, or the same agent, for the others. */
static const lgv_group *namesake(const lgv_groups *groups, const lgv_group *g, const char *key) {
  const char *name = strncmp(key, "env.", 4) == 0 ? "env.name" : "agent.name";
  for (size_t i = 0; i < groups->count; i++)
    if (strcmp(value_of(&groups->items[i], name), value_of(g, name)) == 0) return &groups->items[i];
  return g;
}

static bool varies(const lgv_groups *groups, const char *key) {
  bool is_name = strcmp(key, "env.name") == 0 || strcmp(key, "agent.name") == 0;
  for (size_t i = 0; i < groups->count; i++) {
    const lgv_group *g = &groups->items[i];
    const lgv_group *other = is_name ? &groups->items[0] : namesake(groups, g, key);
    if (strcmp(value_of(g, key), value_of(other, key)) != 0) return true;
  }
  return false;
}

static bool is_listed(const char *const *keys, size_t count, const char *key) {
  for (size_t k = 0; k < count; k++)
    if (strcmp(keys[k], key) == 0) return true;
  return false;
}

/* Groups of one agent have the same keys: those of each agent's first group are all there are. */
size_t lgv__groups_varied(const lgv_groups *groups, const char *keys[LGV_MOST_VARIED]) {
  size_t n = 0;
  for (size_t i = 0; i < groups->count; i++) {
    const lgv_group *g = &groups->items[i];
    if (namesake(groups, g, "agent.name") != g && namesake(groups, g, "env.") != g) continue;
    for (size_t k = 0; k < g->settings->count && n < LGV_MOST_VARIED; k++) {
      const char *key = g->settings->items[k].key;
      if (strncmp(key, "run.", 4) == 0 || strncmp(key, "langevin.", 9) == 0) continue;
      if (!is_listed(keys, n, key) && varies(groups, key)) keys[n++] = key;
    }
  }
  return n;
}

/* ---- Labels ---- */

/* Adds "lambda 0.1" to a text; of a name the value alone. */
static void add_value(char *text, const char *key, const char *value) {
  const char *dot = strchr(key, '.'), *name = dot ? dot + 1 : key;
  bool is_name = strcmp(name, "name") == 0;
  size_t used = strlen(text);
  snprintf(text + used, LGV_LABEL_SIZE - used, "%s%s%s%s", used ? ", " : "", is_name ? "" : name,
           is_name ? "" : " ", value);
}

/* The settings in which groups differ, in `over` or outside it. */
typedef struct difference {
  const char *keys[LGV_MOST_VARIED];
  size_t count;
  const char *over;
} difference;

/* "lmc-lsvi, lambda 0.1, beta 10": the settings that differ from the other groups, in `over` or
 * outside it. */
static void describe_difference(const difference *d, const lgv_group *g, bool inside, char *text) {
  text[0] = '\0';
  for (size_t i = 0; i < d->count; i++) {
    const char *value = lgv_settings_get(g->settings, d->keys[i]);
    if (value && is_over(d->over, d->keys[i]) == inside) add_value(text, d->keys[i], value);
  }
}

/* The last `parts` parts of a path. */
static const char *path_end(const char *path, int parts) {
  const char *end = path + strlen(path);
  while (end > path && (end[-1] != '/' || --parts > 0)) end--;
  return end;
}

/* A path that is too long keeps its end, where paths differ. */
static void set_path_label(lgv_group *g, int parts) {
  const char *end = path_end(g->directory, parts);
  size_t length = strlen(end);
  if (length >= sizeof g->label) end += length - sizeof g->label + 1;
  snprintf(g->label, sizeof g->label, "%s", end);
}

enum { BY_AGENT, BY_ENV, BY_BOTH, BY_DIFFERENCE, BY_NAME, BY_PARENT, BY_PATH, WAYS };

static void set_label(const difference *d, lgv_group *g, int way) {
  switch (way) {
  case BY_AGENT: snprintf(g->label, sizeof g->label, "%s", g->agent); return;
  case BY_ENV: snprintf(g->label, sizeof g->label, "%s", g->env); return;
  case BY_BOTH: snprintf(g->label, sizeof g->label, "%s, %s", g->agent, g->env); return;
  case BY_DIFFERENCE: describe_difference(d, g, false, g->label); return;
  default: set_path_label(g, way == BY_NAME ? 1 : way == BY_PARENT ? 2 : PATH_MAX); return;
  }
}

/* No two groups of one label and task, unless the user labeled both. */
static bool distinct(const lgv_groups *groups) {
  for (size_t i = 0; i < groups->count; i++)
    for (size_t j = 0; j < i; j++) {
      const lgv_group *a = &groups->items[i], *b = &groups->items[j];
      if (a->labeled && b->labeled) continue;
      if (strcmp(a->label, b->label) == 0 && strcmp(a->task, b->task) == 0) return false;
    }
  return true;
}

/* Whether labels can omit the environment. */
static bool is_same_env(const lgv_groups *groups, const char *over) {
  for (size_t i = 1; i < groups->count; i++)
    if (strcmp(groups->items[i].env, groups->items[0].env) != 0) return is_over(over, "env.name");
  return true;
}

static void choose_labels(lgv_groups *groups, const difference *d) {
  bool same_env = is_same_env(groups, d->over);
  for (int way = same_env ? BY_AGENT : BY_ENV; way < WAYS; way++) {
    if (same_env && (way == BY_ENV || way == BY_BOTH)) continue;
    for (size_t i = 0; i < groups->count; i++)
      if (!groups->items[i].labeled) set_label(d, &groups->items[i], way);
    if (distinct(groups)) return;
  }
}

/* ---- Labels by keys ---- */

static lgv_status check_key(const lgv_groups *groups, const char *key, lgv_error *err) {
  lgv_guess guess = {.wrong = key};
  for (size_t i = 0; i < groups->count; i++) {
    const lgv_settings *s = groups->items[i].settings;
    if (lgv_settings_get(s, key)) return LGV_OK;
    for (size_t k = 0; k < s->count; k++) lgv__guess_offer(&guess, s->items[k].key);
  }
  return lgv_fail(err, LGV_ERR_USAGE, "no run has a setting '%.60s'%s%s%s", key,
                  guess.best ? "; did you mean '" : "", guess.best ? guess.best : "",
                  guess.best ? "'?" : "");
}

static lgv_status label_by_keys(lgv_groups *groups, const char *keys, lgv_error *err) {
  for (size_t i = 0; i < groups->count; i++) groups->items[i].label[0] = '\0';
  while (*keys) {
    char key[128];
    size_t length = strcspn(keys, ",");
    snprintf(key, sizeof key, "%.*s", (int)length, keys);
    LGV_TRY(check_key(groups, key, err));
    for (size_t i = 0; i < groups->count; i++) {
      lgv_group *g = &groups->items[i];
      const char *value = lgv_settings_get(g->settings, key);
      if (value) add_value(g->label, key, value);
    }
    keys += length + (keys[length] == ',');
  }
  return LGV_OK;
}

lgv_status lgv__groups_label(lgv_groups *groups, const lgv_selection *s, lgv_error *err) {
  const char *over = s->over;
  bool whole = over && *over && over[strlen(over) - 1] == '.';
  if (over && !whole) LGV_TRY(check_key(groups, over, err));
  difference d = {.over = over};
  d.count = lgv__groups_varied(groups, d.keys);
  for (size_t i = 0; i < groups->count; i++) {
    lgv_group *g = &groups->items[i];
    const char *value = over && !whole ? lgv_settings_get(g->settings, over) : "";
    if (whole)
      describe_difference(&d, g, true, g->task);
    else
      snprintf(g->task, sizeof g->task, "%s", value ? value : "-");
  }
  if (s->label) return label_by_keys(groups, s->label, err);
  choose_labels(groups, &d);
  return LGV_OK;
}
