#include "config/memory_budget.h"

#include <stdio.h>
#include <stdlib.h>

enum { MUCH = 1 << 30 };

static int greatest_first(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

static double giga(uint64_t bytes) { return (double)bytes / 1e9; }

lgv_status lgv__memory_check(uint64_t *needs, size_t count, int32_t threads, lgv_error *err) {
  uint64_t available = lgv_memory_available(), sum = 0;
  size_t at_once = count < (size_t)threads ? count : (size_t)threads, fitting = 0;
  if (available == 0) return LGV_OK; /* unknown */
  qsort(needs, count, sizeof *needs, greatest_first);
  for (size_t i = 0; i < at_once; i++) {
    if (__builtin_add_overflow(sum, needs[i], &sum)) sum = UINT64_MAX;
    if (sum <= available) fitting = i + 1;
  }
  if (fitting == at_once) return LGV_OK;
  if (fitting == 0)
    return lgv_fail(err, LGV_ERR_MEMORY,
                    "a run needs %.1f GB of memory and %.1f GB are available: lower agent.replay",
                    giga(needs[0]), giga(available));
  return lgv_fail(err, LGV_ERR_MEMORY,
                  "%zu parallel runs need %.1f GB of memory and %.1f GB are available: %zu "
                  "would fit (-j %zu)",
                  at_once, giga(sum), giga(available), fitting, fitting);
}

void lgv__memory_notify(uint64_t need, void (*notice)(void *context, const char *text),
                        void *context) {
  uint64_t available = lgv_memory_available();
  char text[160];
  if (!notice || need <= MUCH) return;
  int length = snprintf(text, sizeof text, "a run needs up to %.1f GB of memory", giga(need));
  if (available)
    snprintf(text + length, sizeof text - (size_t)length,
             "; %.1f GB are available, enough for %llu at a time", giga(available),
             (unsigned long long)(available / need));
  notice(context, text);
}
