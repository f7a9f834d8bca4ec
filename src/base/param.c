#include "base/param.h"

#include "base/error.h"
#include "base/map.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t lgv__params_count(const lgv_param *table) {
  size_t n = 0;
  while (table && table[n].name) n++;
  return n;
}

int lgv__params_find(const lgv_param *table, const char *name) {
  for (int i = 0; table && table[i].name; i++)
    if (strcmp(table[i].name, name) == 0 || lgv__param_entry(&table[i], name)) return i;
  return -1;
}

const char *lgv__param_entry(const lgv_param *param, const char *name) {
  size_t length = strlen(param->name);
  bool inside = param->type == LGV_MAP && strncmp(name, param->name, length) == 0;
  return inside && name[length] == '.' && name[length + 1] ? name + length + 1 : NULL;
}

const char *lgv__params_nearest(const lgv_param *table, const char *wrong) {
  lgv_guess guess = {.wrong = wrong};
  for (; table && table->name; table++) lgv__guess_offer(&guess, table->name);
  return guess.best;
}

static bool is_bounded(const lgv_param *param) { return param->min != 0 || param->max != 0; }

/* 1e12 rather than 1000000000000, where that is the same number. */
static void format_bound(double x, char *text, size_t size) {
  double power = isfinite(x) && x >= 1e6 ? log10(x) : 0.5;
  if (power == floor(power))
    snprintf(text, size, "1e%.0f", power);
  else
    lgv__format_real(x, text, size);
}

static void number_range(const lgv_param *param, char *text, size_t size) {
  const char *kind = param->type == LGV_REAL ? "a number" : "a whole number";
  if (!is_bounded(param)) {
    snprintf(text, size, "%s", kind);
    return;
  }
  char low[40], high[40];
  format_bound(param->min, low, sizeof low);
  format_bound(param->max, high, sizeof high);
  snprintf(text, size, "%s in %c%s, %s%c", kind, param->open & LGV_OPEN_MIN ? '(' : '[', low, high,
           param->open & LGV_OPEN_MAX ? ')' : ']');
}

void lgv_param_range(const lgv_param *param, char *text, size_t size) {
  switch (param->type) {
  case LGV_REAL:
  case LGV_INT: number_range(param, text, size); return;
  case LGV_BOOL: snprintf(text, size, "true | false"); return;
  case LGV_TEXT: snprintf(text, size, "text"); return;
  case LGV_MAP: snprintf(text, size, "any %s.NAME=VALUE", param->name); return;
  case LGV_INTS: {
    char members[96];
    number_range(param, members, sizeof members);
    snprintf(text, size, "a list like 32,32; each %s", members);
    return;
  }
  case LGV_CHOICE: {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; param->choices[i] && used < size; i++)
      used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " | " : "", param->choices[i]);
    return;
  }
  }
}

static bool in_range(const lgv_param *param, double x) {
  if (isnan(x)) return false;
  if (!is_bounded(param)) return true;
  bool above = param->open & LGV_OPEN_MIN ? x > param->min : x >= param->min;
  bool below = param->open & LGV_OPEN_MAX ? x < param->max : x <= param->max;
  return above && below;
}

/* Whole numbers may be written 1000000 or 1e6; anything with a fraction is refused. */
static bool parse_int(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  if (end != text && *end == '\0' && errno == 0) return true;
  double real;
  if (!lgv__parse_real(text, &real) || real != floor(real) || fabs(real) > 0x1p53) return false;
  *value = (int64_t)real;
  return true;
}

/* "32,32" or "[32, 32]"; nothing at all is an empty list. */
static bool parse_ints(const lgv_param *param, const char *text, lgv_ints *list) {
  lgv_ints parsed = {0};
  bool bracketed = *text == '[';
  text += bracketed;
  text += strspn(text, " ");
  for (bool more = *text && *text != ']'; more;) {
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || parsed.count == LGV_INTS_MAX || !in_range(param, (double)value))
      return false;
    if (value < INT32_MIN || value > INT32_MAX) return false;
    parsed.value[parsed.count++] = (int32_t)value;
    text = end + strspn(end, " ");
    more = *text == ',';
    text += more;
  }
  if (bracketed && *text++ != ']') return false;
  if (*text) return false;
  *list = parsed;
  return true;
}

static bool parse_into(const lgv_param *param, const char *text, void *field) {
  switch (param->type) {
  case LGV_REAL: {
    double value;
    if (!lgv__parse_real(text, &value) || !in_range(param, value)) return false;
    *(double *)field = value;
    return true;
  }
  case LGV_INT: {
    int64_t value;
    if (!parse_int(text, &value) || !in_range(param, (double)value)) return false;
    *(int64_t *)field = value;
    return true;
  }
  case LGV_BOOL: {
    bool yes = !strcmp(text, "true"), no = !strcmp(text, "false");
    if (yes || no) *(bool *)field = yes;
    return yes || no;
  }
  case LGV_CHOICE:
    for (int i = 0; param->choices[i]; i++)
      if (strcmp(text, param->choices[i]) == 0) {
        *(int32_t *)field = i;
        return true;
      }
    return false;
  case LGV_TEXT:
    if (strlen(text) >= LGV_TEXT_SIZE) return false;
    snprintf(field, LGV_TEXT_SIZE, "%s", text);
    return true;
  case LGV_INTS: return parse_ints(param, text, field);
  case LGV_MAP: *(lgv_map *)field = (lgv_map){0}; return *text == '\0';
  }
  return false;
}

lgv_status lgv__param_parse(const lgv_param *param, const char *key, const char *text, void *params,
                            lgv_error *err) {
  void *field = (char *)params + param->offset;
  const char *dot = strchr(key, '.'), *entry = dot ? lgv__param_entry(param, dot + 1) : NULL;
  if (entry) {
    const char *fault = lgv__map_set(field, entry, text);
    return fault ? lgv_fail(err, LGV_ERR_USAGE, "%.120s is not valid: %s", key, fault) : LGV_OK;
  }
  if (parse_into(param, text, field)) return LGV_OK;
  char range[256];
  lgv_param_range(param, range, sizeof range);
  return lgv_fail(err, LGV_ERR_USAGE, "%s = '%.80s' is not valid: it takes %s", key, text, range);
}

void lgv__params_defaults(const lgv_param *table, void *params) {
  for (; table && table->name; table++) {
    bool ok = parse_into(table, table->default_text, (char *)params + table->offset);
    assert(ok && "a default lies outside its own range");
    (void)ok;
  }
}

void lgv__param_format(const lgv_param *param, const void *params, char *text, size_t size) {
  const void *field = (const char *)params + param->offset;
  switch (param->type) {
  case LGV_REAL: lgv__format_real(*(const double *)field, text, size); return;
  case LGV_INT: snprintf(text, size, "%" PRId64, *(const int64_t *)field); return;
  case LGV_BOOL: snprintf(text, size, "%s", *(const bool *)field ? "true" : "false"); return;
  case LGV_CHOICE: snprintf(text, size, "%s", param->choices[*(const int32_t *)field]); return;
  case LGV_TEXT: snprintf(text, size, "%s", (const char *)field); return;
  case LGV_MAP: snprintf(text, size, "%s", ((const lgv_map *)field)->text); return;
  case LGV_INTS: {
    const lgv_ints *list = field;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < list->count && used < size; i++)
      used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", list->value[i]);
    return;
  }
  }
}

lgv_status lgv__params_get(const lgv_param *table, const void *params, const char *key,
                           const char *name, char *text, size_t size, lgv_error *err) {
  int index = lgv__params_find(table, name);
  const char *entry = index >= 0 ? lgv__param_entry(&table[index], name) : NULL;
  char value[LGV_MAP_VALUE_SIZE];
  const void *field = index >= 0 ? (const char *)params + table[index].offset : NULL;
  if (index < 0 || (entry && !lgv__map_get(field, entry, value)))
    return lgv_fail(err, LGV_ERR_USAGE, "unknown key '%.80s'", key);
  if (entry)
    snprintf(text, size, "%s", value);
  else
    lgv__param_format(&table[index], params, text, size);
  return LGV_OK;
}
