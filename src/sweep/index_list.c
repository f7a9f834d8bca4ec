#include "sweep/index_list.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* Digits alone: strtoull would take signs and blanks. */
static bool take_number(const char **at, uint64_t *value) {
  char *end;
  if (!isdigit((unsigned char)**at)) return false;
  errno = 0;
  *value = strtoull(*at, &end, 10);
  *at = end;
  return errno == 0;
}

static lgv_status wrong(const char *text, lgv_error *err) {
  return lgv_fail(err, LGV_ERR_USAGE,
                  "'%.80s' is not a list of runs; write it like this: 7, or 3,5-9, or 0-99:10",
                  text);
}

lgv_status lgv__index_list_parse(const char *text, bool *set, size_t count, lgv_error *err) {
  for (const char *at = text;; at++) {
    uint64_t first, last, step = 1;
    if (!take_number(&at, &first)) return wrong(text, err);
    last = first;
    if (*at == '-' && (at++, !take_number(&at, &last))) return wrong(text, err);
    if (*at == ':' && (at++, !take_number(&at, &step))) return wrong(text, err);
    if (last < first || step == 0 || (*at && *at != ',')) return wrong(text, err);
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

void lgv__index_list_print(const bool *set, size_t count, FILE *out) {
  const char *comma = "";
  for (size_t first = 0, last; first < count; first = last + 1) {
    last = first;
    if (!set[first]) continue;
    while (last + 1 < count && set[last + 1]) last++;
    fprintf(out, last > first ? "%s%zu-%zu" : "%s%zu", comma, first, last);
    comma = ",";
  }
}
