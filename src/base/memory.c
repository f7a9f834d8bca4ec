#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- Allocation ---- */

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

void *lgv__map(size_t size) {
  if (refused()) return NULL;
  void *block =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return block == MAP_FAILED ? NULL : block;
}

void lgv__unmap(void *block, size_t size) {
  if (block) munmap(block, size);
}

/* ---- Memory that is left ---- */

static _Thread_local uint64_t pretended;

void lgv__available_pretend(uint64_t bytes) { pretended = bytes; }

uint64_t lgv_memory_available(void) { return pretended ? pretended : lgv__available_below(""); }

/* The number that follows `key` at the beginning of a line ("": at the beginning of the file), or
 * UINT64_MAX if there is none, as for the limit "max". */
static uint64_t number_in(const char *root, const char *path, const char *key) {
  char name[PATH_MAX], line[512];
  if (snprintf(name, sizeof name, "%s%s", root, path) >= (int)sizeof name) return UINT64_MAX;
  FILE *file = fopen(name, "r");
  uint64_t value = UINT64_MAX;
  size_t length = strlen(key);
  while (file && value == UINT64_MAX && fgets(line, sizeof line, file)) {
    char *end;
    if (strncmp(line, key, length) != 0) continue;
    unsigned long long number = strtoull(line + length, &end, 10);
    if (end != line + length) value = number;
  }
  if (file) fclose(file);
  return value;
}

typedef struct names { /* the files of a control group */
  const char *mount, *limit, *usage, *cache;
} names;

static const names second = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
static const names first = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                            "memory.usage_in_bytes", "total_inactive_file "};

/* The memory left in one group. Unused pages of files count as free, because the system reclaims
 * them when needed. */
static uint64_t left_in(const char *root, const names *n, const char *group) {
  char path[PATH_MAX];
  const char *const files[] = {n->limit, n->usage, "memory.stat"};
  const char *const keys[] = {"", "", n->cache};
  uint64_t value[3];
  for (int i = 0; i < 3; i++) {
    if (snprintf(path, sizeof path, "%s%s/%s", n->mount, group, files[i]) >= (int)sizeof path)
      return UINT64_MAX;
    value[i] = number_in(root, path, keys[i]);
  }
  if (value[0] == UINT64_MAX || value[1] == UINT64_MAX) return UINT64_MAX;
  uint64_t cache = value[2] == UINT64_MAX ? 0 : value[2];
  uint64_t used = value[1] > cache ? value[1] - cache : 0;
  return value[0] > used ? value[0] - used : 0;
}

/* The least of a group and all groups that contain it. */
static uint64_t left_in_all(const char *root, const names *n, char *group) {
  uint64_t least = UINT64_MAX;
  for (;;) {
    uint64_t left = left_in(root, n, group);
    if (left < least) least = left;
    char *slash = strrchr(group, '/');
    if (!slash) return least;
    *slash = '\0';
  }
}

/* Lines of /proc/self/cgroup: "0::/group", or "N:memory:/group" of the older kind. */
static uint64_t left_in_groups(const char *root) {
  char name[PATH_MAX], line[PATH_MAX];
  uint64_t least = UINT64_MAX;
  if (snprintf(name, sizeof name, "%s/proc/self/cgroup", root) >= (int)sizeof name) return least;
  FILE *file = fopen(name, "r");
  while (file && fgets(line, sizeof line, file)) {
    char *kind = strchr(line, ':'), *group = kind ? strchr(kind + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    bool is_second = kind[1] == '\0', is_first = strstr(kind, "memory") != NULL;
    if (!is_second && !is_first) continue;
    uint64_t left = left_in_all(root, is_second ? &second : &first, group);
    if (left < least) least = left;
  }
  if (file) fclose(file);
  return least;
}

uint64_t lgv__available_below(const char *root) {
  uint64_t machine = number_in(root, "/proc/meminfo", "MemAvailable:");
  if (machine != UINT64_MAX) machine *= 1024; /* the file says kB and means 1024 bytes */
  uint64_t group = left_in_groups(root), least = machine < group ? machine : group;
  return least == UINT64_MAX ? 0 : least;
}
