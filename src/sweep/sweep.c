/* Expands a sweep into its configurations. The index of a configuration determines its values: the
 * configurations of a case follow one another, and its axes are the digits of a mixed-radix number
 * whose last digit, the key written last, moves fastest. The number of the random draw is the first
 * digit, so that additional draws do not renumber the existing configurations. */
#include "sweep/sweep.h"

#include "base/error.h"
#include "base/memory.h"
#include "config/settings.h"
#include "sweep/sweep_random.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONFIGS = 1000000 };

/* ---- Axes ---- */

lgv_axis *lgv__axes_find(const lgv_axes *axes, const char *key) {
  for (size_t i = 0; i < axes->count; i++)
    if (strcmp(axes->items[i].key, key) == 0) return &axes->items[i];
  return NULL;
}

lgv_status lgv__axes_add(lgv_axes *axes, const char *key, lgv_axis **axis, lgv_error *err) {
  lgv_axis *grown = lgv__realloc(axes->items, (axes->count + 1) * sizeof *grown);
  if (grown) axes->items = grown;
  char *copy = lgv__strdup(key);
  if (!grown || !copy) {
    lgv__free(copy);
    return lgv__out_of_memory(err, "a sweep");
  }
  *axis = &axes->items[axes->count++];
  **axis = (lgv_axis){.key = copy};
  return LGV_OK;
}

static bool reserve(lgv_axis *axis) {
  if (axis->count < axis->capacity) return true;
  size_t capacity = axis->capacity ? 2 * axis->capacity : 8;
  char **values = lgv__realloc(axis->values, capacity * sizeof *values);
  if (values) axis->values = values;
  char **origins = lgv__realloc(axis->origins, capacity * sizeof *origins);
  if (origins) axis->origins = origins;
  if (values && origins) axis->capacity = capacity;
  return values && origins;
}

lgv_status lgv__axis_add(lgv_axis *axis, const char *value, const char *origin, lgv_error *err) {
  if (!reserve(axis)) return lgv__out_of_memory(err, "a sweep");
  char *value_copy = lgv__strdup(value), *origin_copy = lgv__strdup(origin);
  if (!value_copy || !origin_copy) {
    lgv__free(value_copy);
    lgv__free(origin_copy);
    return lgv__out_of_memory(err, "a sweep");
  }
  axis->values[axis->count] = value_copy;
  axis->origins[axis->count++] = origin_copy;
  return LGV_OK;
}

static void free_axis(lgv_axis *axis) {
  for (size_t i = 0; i < axis->count; i++) {
    lgv__free(axis->values[i]);
    lgv__free(axis->origins[i]);
  }
  lgv__free(axis->values);
  lgv__free(axis->origins);
  lgv__free(axis->key);
}

void lgv__axes_remove(lgv_axes *axes, const char *key) {
  lgv_axis *axis = lgv__axes_find(axes, key);
  if (!axis) return;
  size_t index = (size_t)(axis - axes->items);
  free_axis(axis);
  memmove(axis, axis + 1, (--axes->count - index) * sizeof *axis);
}

lgv_status lgv__axes_copy(const lgv_axes *from, lgv_axes *to, lgv_error *err) {
  for (size_t i = 0; i < from->count; i++) {
    const lgv_axis *axis = &from->items[i];
    lgv_axis *copy = NULL;
    lgv__axes_remove(to, axis->key);
    LGV_TRY(lgv__axes_add(to, axis->key, &copy, err));
    for (size_t v = 0; v < axis->count; v++)
      LGV_TRY(lgv__axis_add(copy, axis->values[v], axis->origins[v], err));
  }
  return LGV_OK;
}

void lgv__axes_free(lgv_axes *axes) {
  for (size_t i = 0; i < axes->count; i++) free_axis(&axes->items[i]);
  lgv__free(axes->items);
  *axes = (lgv_axes){0};
}

/* ---- Building ---- */

lgv_status lgv__sweep_add_key(lgv_sweep *sweep, const char *key, lgv_error *err) {
  for (size_t i = 0; i < sweep->n_keys; i++)
    if (strcmp(sweep->keys[i], key) == 0) return LGV_OK;
  char **grown = lgv__realloc(sweep->keys, (sweep->n_keys + 1) * sizeof *grown);
  if (!grown) return lgv__out_of_memory(err, "a sweep");
  sweep->keys = grown;
  grown[sweep->n_keys] = lgv__strdup(key);
  if (!grown[sweep->n_keys]) return lgv__out_of_memory(err, "a sweep");
  sweep->n_keys++;
  return LGV_OK;
}

static lgv_status add_keys(lgv_sweep *sweep, const lgv_axes *axes, lgv_error *err) {
  for (size_t i = 0; i < axes->count; i++)
    LGV_TRY(lgv__sweep_add_key(sweep, axes->items[i].key, err));
  return LGV_OK;
}

static lgv_status count_configs(lgv_sweep *sweep, lgv_case *c, lgv_error *err) {
  for (size_t i = 0; i < c->axes.count && c->combinations <= MOST_CONFIGS; i++)
    c->combinations *= c->axes.items[i].count;
  c->configs = c->combinations * (c->draws.count > 0 ? c->draws.items[0].count : 1);
  sweep->info.configs += c->configs;
  if (c->combinations <= MOST_CONFIGS && sweep->info.configs <= MOST_CONFIGS) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "grids and random draws make more than %d configurations; remove values or "
                  "keys, or lower the count",
                  MOST_CONFIGS);
}

lgv_status lgv__sweep_add_case(lgv_sweep *sweep, lgv_settings *settings, lgv_axes axes,
                               lgv_axes draws, const char *label, lgv_error *err) {
  lgv_case *grown = lgv__realloc(sweep->cases, (sweep->info.cases + 1) * sizeof *grown);
  if (grown) sweep->cases = grown;
  char *own_label = label ? lgv__strdup(label) : NULL;
  if (!grown || (label && !own_label)) {
    lgv_settings_free(settings);
    lgv__axes_free(&axes);
    lgv__axes_free(&draws);
    lgv__free(own_label);
    return lgv__out_of_memory(err, "a sweep");
  }
  lgv_case *c = &grown[sweep->info.cases++];
  *c = (lgv_case){.settings = settings,
                  .axes = axes,
                  .draws = draws,
                  .first = sweep->info.configs,
                  .combinations = 1,
                  .label = own_label};
  LGV_TRY(add_keys(sweep, &axes, err));
  LGV_TRY(add_keys(sweep, &draws, err));
  return count_configs(sweep, c, err);
}

void lgv_sweep_free(lgv_sweep *sweep) {
  if (!sweep) return;
  for (size_t i = 0; i < sweep->info.cases; i++) {
    lgv_settings_free(sweep->cases[i].settings);
    lgv__axes_free(&sweep->cases[i].axes);
    lgv__axes_free(&sweep->cases[i].draws);
    if (sweep->cases[i].random) lgv__random_free(sweep->cases[i].random);
    lgv__free(sweep->cases[i].random);
    lgv__free(sweep->cases[i].label);
  }
  for (size_t i = 0; i < sweep->n_keys; i++) lgv__free(sweep->keys[i]);
  lgv__free(sweep->cases);
  lgv__free(sweep->keys);
  lgv__free(sweep);
}

/* ---- Reading ---- */

const lgv_sweep_info *lgv_sweep_get_info(const lgv_sweep *sweep) { return &sweep->info; }

const char *lgv_sweep_key(const lgv_sweep *sweep, size_t index) {
  return index < sweep->n_keys ? sweep->keys[index] : NULL;
}

size_t lgv_sweep_case(const lgv_sweep *sweep, size_t config) {
  size_t low = 0, high = sweep->info.cases; /* the last case whose first is not beyond config */
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    if (sweep->cases[middle].first <= config)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int32_t lgv_sweep_seeds(const lgv_sweep *sweep, size_t config) {
  if (config >= sweep->info.configs) return 0;
  int32_t own = sweep->cases[lgv_sweep_case(sweep, config)].seeds, all = sweep->info.seeds;
  return own > 0 && own < all ? own : all;
}

bool lgv__sweep_has_run(const lgv_sweep *sweep, size_t run) {
  size_t seeds = (size_t)sweep->info.seeds;
  return run % seeds < (size_t)lgv_sweep_seeds(sweep, run / seeds);
}

/* The index of the value that a configuration of the case takes from an axis. */
static size_t digit(const lgv_case *c, size_t config, const lgv_axis *axis) {
  size_t rest = config - c->first;
  for (size_t i = c->axes.count - 1; &c->axes.items[i] != axis; i--) rest /= c->axes.items[i].count;
  return rest % axis->count;
}

static size_t draw_of(const lgv_case *c, size_t config) {
  return (config - c->first) / c->combinations;
}

const char *lgv_sweep_value(const lgv_sweep *sweep, size_t config, size_t key) {
  if (config >= sweep->info.configs || key >= sweep->n_keys) return NULL;
  const lgv_case *c = &sweep->cases[lgv_sweep_case(sweep, config)];
  const lgv_axis *axis = lgv__axes_find(&c->axes, sweep->keys[key]);
  if (axis) return axis->values[digit(c, config, axis)];
  axis = lgv__axes_find(&c->draws, sweep->keys[key]);
  if (axis) return axis->values[draw_of(c, config)];
  return lgv_settings_get(c->settings, sweep->keys[key]);
}

/* Replaces {key} by the value of key and copies everything else. */
static size_t expand(const lgv_sweep *sweep, size_t config, const char *template, char *text,
                     size_t size) {
  size_t used = 0;
  while (*template && used + 1 < size) {
    const char *end = *template == '{' ? strchr(template, '}') : NULL, *value = NULL;
    for (size_t k = 0; end && !value && k < sweep->n_keys; k++)
      if (strlen(sweep->keys[k]) == (size_t)(end - template - 1) &&
          strncmp(sweep->keys[k], template + 1, strlen(sweep->keys[k])) == 0)
        value = lgv_sweep_value(sweep, config, k);
    if (value) {
      int length = snprintf(text + used, size - used, "%s", value);
      used += (size_t)length < size - used ? (size_t)length : size - used - 1;
      template = end + 1;
    } else {
      text[used++] = *template ++;
    }
  }
  text[used] = 0;
  return used;
}

bool lgv_sweep_label(const lgv_sweep *sweep, size_t config, char *text, size_t size) {
  text[0] = 0;
  if (config >= sweep->info.configs) return false;
  const char *label = sweep->cases[lgv_sweep_case(sweep, config)].label;
  return label && expand(sweep, config, label, text, size) > 0;
}

static lgv_status take(const lgv_axis *axis, size_t at, lgv_settings *settings, lgv_error *err) {
  return lgv_settings_set(settings, axis->key, axis->values[at], axis->origins[at], err);
}

static lgv_status fill(const lgv_case *c, size_t config, lgv_settings *settings, lgv_error *err) {
  LGV_TRY(lgv__settings_copy(c->settings, settings, err));
  for (size_t i = 0; i < c->axes.count; i++)
    LGV_TRY(take(&c->axes.items[i], digit(c, config, &c->axes.items[i]), settings, err));
  for (size_t i = 0; i < c->draws.count; i++)
    LGV_TRY(take(&c->draws.items[i], draw_of(c, config), settings, err));
  return LGV_OK;
}

lgv_status lgv_sweep_settings(const lgv_sweep *sweep, size_t config, lgv_settings **settings,
                              lgv_error *err) {
  *settings = NULL;
  if (config >= sweep->info.configs)
    return lgv_fail(err, LGV_ERR_USAGE, "there is no configuration %zu: the sweep has 0 to %zu",
                    config, sweep->info.configs - 1);
  LGV_TRY(lgv_settings_create(settings, err));
  lgv_status status = fill(&sweep->cases[lgv_sweep_case(sweep, config)], config, *settings, err);
  if (status == LGV_OK) return LGV_OK;
  lgv_settings_free(*settings);
  *settings = NULL;
  return status;
}

lgv_status lgv_sweep_directory(const lgv_plan *plan, char *name, lgv_error *err) {
  char env[LGV_SWEEP_NAME_SIZE], agent[128], digest[LGV_DIGEST_SIZE];
  LGV_TRY(lgv_plan_get(plan, "env.name", env, sizeof env, err));
  LGV_TRY(lgv_plan_get(plan, "agent.name", agent, sizeof agent, err));
  LGV_TRY(lgv_plan_digest(plan, digest, err));
  for (char *c = env; (c = strpbrk(c, ":/"));) *c = '-';
  int length = snprintf(name, LGV_SWEEP_NAME_SIZE, "%s-%s-%s", env, agent, digest);
  if (length >= LGV_SWEEP_NAME_SIZE)
    return lgv_fail(err, LGV_ERR_IO, "the name of a directory is too long");
  return LGV_OK;
}

/* ---- Lists of runs ---- */

/* Digits alone: strtoull would take signs and blanks. */
static bool take_number(const char **at, uint64_t *value) {
  char *end;
  if (!isdigit((unsigned char)**at)) return false;
  errno = 0;
  *value = strtoull(*at, &end, 10);
  *at = end;
  return errno == 0;
}

static lgv_status bad_list(const char *text, lgv_error *err) {
  return lgv_fail(err, LGV_ERR_USAGE,
                  "'%.80s' is not a list of runs; examples: 7; 3,5-9; 0-99:10; 7-:1000", text);
}

lgv_status lgv__run_list_parse(const char *text, bool *set, size_t count, lgv_error *err) {
  for (const char *at = text;; at++) {
    uint64_t first, last, step = 1;
    if (!take_number(&at, &first)) return bad_list(text, err);
    last = first;
    bool is_open = at[0] == '-' && at[1] == ':';
    if (is_open && first < count) last = count - 1;
    if (*at == '-' && (at++, !is_open && !take_number(&at, &last))) return bad_list(text, err);
    if (*at == ':' && (at++, !take_number(&at, &step))) return bad_list(text, err);
    if (last < first || step == 0 || (*at && *at != ',')) return bad_list(text, err);
    if (last >= count)
      return lgv_fail(err, LGV_ERR_USAGE, "there is no run %llu: the sweep has 0 to %zu",
                      (unsigned long long)last, count - 1);
    for (uint64_t i = first; i <= last; i += step) {
      set[i] = true;
      if (last - i < step) break;
    }
    if (!*at) return LGV_OK;
  }
}

void lgv__run_list_print(const bool *set, size_t count, FILE *out) {
  const char *comma = "";
  for (size_t first = 0, last; first < count; first = last + 1) {
    last = first;
    if (!set[first]) continue;
    while (last + 1 < count && set[last + 1]) last++;
    fprintf(out, last > first ? "%s%zu-%zu" : "%s%zu", comma, first, last);
    comma = ",";
  }
}
