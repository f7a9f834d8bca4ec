#include "report/data/setting_value.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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
