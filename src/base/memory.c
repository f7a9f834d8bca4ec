#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local long countdown;

static int refused(void) { return countdown > 0 && --countdown == 0; }

long lgv__memory_fail_after(long n) {
  long left = countdown;
  countdown = n;
  return left;
}

void *lgv__calloc(size_t count, size_t size) { return refused() ? NULL : calloc(count, size); }

void *lgv__realloc(void *block, size_t size) { return refused() ? NULL : realloc(block, size); }

char *lgv__strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = lgv__calloc(size, 1);
  if (copy) memcpy(copy, text, size);
  return copy;
}

void lgv__free(void *block) { free(block); }
