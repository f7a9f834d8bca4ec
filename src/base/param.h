/* Typed parameters: one table of lgv_param describes a struct; these verbs fill, check and print
 * it. */
#ifndef LGV_BASE_PARAM_H
#define LGV_BASE_PARAM_H

#include "langevin.h"

#include <stddef.h>

/* Rows of a table, one line each: the parameter `name` lives in the member `field` (which may be
 * nested) of the struct type `of` and defaults to `text`, as a user would write it. `open`:
 * LGV_OPEN_MIN | LGV_OPEN_MAX, or 0. Write tables between `clang-format off` and `on`. */
/* clang-format off */
#define LGV_ROW(of, field, name_, type_, text, help_) .name = name_, .type = type_, .offset = offsetof(of, field), .default_text = text, .help = help_
#define LGV_BOOL_ROW(of, field, name, text, help) {LGV_ROW(of, field, name, LGV_BOOL, text, help)}
#define LGV_TEXT_ROW(of, field, name, text, help) {LGV_ROW(of, field, name, LGV_TEXT, text, help)}
#define LGV_MAP_ROW(of, field, name, text, help) {LGV_ROW(of, field, name, LGV_MAP, text, help)}
#define LGV_INT_ROW(of, field, name, text, low, high, help) {LGV_ROW(of, field, name, LGV_INT, text, help), .min = low, .max = high}
#define LGV_INTS_ROW(of, field, name, text, low, high, help) {LGV_ROW(of, field, name, LGV_INTS, text, help), .min = low, .max = high}
#define LGV_REAL_ROW(of, field, name, text, low, high, open_, help) {LGV_ROW(of, field, name, LGV_REAL, text, help), .min = low, .max = high, .open = open_}
#define LGV_CHOICE_ROW(of, field, name, text, names, help) {LGV_ROW(of, field, name, LGV_CHOICE, text, help), .choices = names}
/* clang-format on */

size_t lgv__params_count(const lgv_param *table);
/* The index of name in table, or -1; kwargs.NAME finds the map kwargs. */
int lgv__params_find(const lgv_param *table, const char *name);
/* NAME if name is kwargs.NAME and param the map kwargs, else NULL. */
const char *lgv__param_entry(const lgv_param *param, const char *name);
/* The name in table nearest to a wrong one, or NULL. */
const char *lgv__params_nearest(const lgv_param *table, const char *wrong);
/* Writes every default into the struct. Defaults that do not parse are our bug (assert). */
void lgv__params_defaults(const lgv_param *table, void *params);
/* Parses text into the field. key is the whole one, e.g. "agent.lambda"; the message names it and
 * the allowed range. */
LGV_CHECK lgv_status lgv__param_parse(const lgv_param *param, const char *key, const char *text,
                                      void *params, lgv_error *err);
/* The value as text that lgv__param_parse reads back to the same bits. */
void lgv__param_format(const lgv_param *param, const void *params, char *text, size_t size);
/* The same by name (kwargs.NAME: an entry of the map kwargs); key is the whole one. */
LGV_CHECK lgv_status lgv__params_get(const lgv_param *table, const void *params, const char *key,
                                     const char *name, char *text, size_t size, lgv_error *err);

#endif
