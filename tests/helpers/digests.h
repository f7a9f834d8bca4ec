/* Digests of files. Machines are compared through them: LANGEVIN_DIGESTS_WRITE=FILE writes those of
 * this machine, LANGEVIN_DIGESTS=FILE fails if they differ from the ones in the file (`make
 * test-arm`). */
#ifndef LGV_TESTS_DIGESTS_H
#define LGV_TESTS_DIGESTS_H

#include "file_helpers.h"

#define NO_DIGEST 0xcbf29ce484222325u

/* FNV-1a, continued from `hash`. */
static inline uint64_t digest_file(const char *directory, const char *name, uint64_t hash) {
  char *bytes;
  size_t size = read_bytes(directory, name, &bytes);
  for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001b3u;
  free(bytes);
  return hash;
}

/* The digests of the other machine, and those for it; each may be NULL. */
typedef struct digests {
  FILE *from, *to;
} digests;

static inline FILE *open_digests(const char *variable, const char *name, const char *mode) {
  const char *base = getenv(variable);
  char path[PATH_MAX];
  if (!base) return NULL;
  assert_true(snprintf(path, sizeof path, "%s-%s", base, name) < PATH_MAX);
  FILE *file = fopen(path, mode);
  if (!file) fail_msg("%s=%s: %s cannot be opened", variable, base, path);
  return file;
}

/* name: of the test; its file is FILE-name. */
static inline digests begin_digests(const char *name) {
  return (digests){open_digests("LANGEVIN_DIGESTS", name, "r"),
                   open_digests("LANGEVIN_DIGESTS_WRITE", name, "w")};
}

/* Writes a digest, or compares it with the next one of the other machine. */
static inline void exchange(digests d, const char *what, uint64_t hash) {
  char line[256], theirs[256];
  snprintf(line, sizeof line, "%s %016llx\n", what, (unsigned long long)hash);
  if (d.to) fputs(line, d.to);
  if (!d.from) return;
  assert_non_null(fgets(theirs, sizeof theirs, d.from));
  if (strcmp(line, theirs) != 0) fail_msg("another machine has %shere it is %s", theirs, line);
}

static inline void end_digests(digests d) {
  if (d.from) fclose(d.from);
  if (d.to) assert_int_equal(fclose(d.to), 0);
}

#endif
