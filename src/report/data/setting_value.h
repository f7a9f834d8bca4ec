/* Values of settings as text: equal where they are the same number, in the order of numbers. */
#ifndef LGV_REPORT_DATA_SETTING_VALUE_H
#define LGV_REPORT_DATA_SETTING_VALUE_H

#include <stdbool.h>
#include <stddef.h>

bool lgv__same_value(const char *a, const char *b);
/* Ascending where all are numbers; else they stay as they are. */
void lgv__sort_values(const char **values, size_t count);

#endif
