/* Helpers for tests of files: a temporary directory, reading and writing whole files. Failures fail
 * the test. */
#ifndef LGV_TESTS_FILE_HELPERS_H
#define LGV_TESTS_FILE_HELPERS_H

#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TEMP_SIZE = 256 };

/* For child processes that draw: leak checkers would report memory that font libraries keep. */
static inline void ignore_leaks_of_fonts(void) {
  setenv("LSAN_OPTIONS", "suppressions=" TEST_SOURCE_DIR "/lsan.supp:print_suppressions=0", 0);
}

static inline void make_temp(char path[TEMP_SIZE]) {
  const char *base = getenv("TMPDIR");
  if (!base)
    base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; /* syncing memory is fast */
  snprintf(path, TEMP_SIZE, "%.200s/langevin-test-XXXXXX", base);
  assert_non_null(mkdtemp(path));
}

static inline int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
  (void)info, (void)kind, (void)at;
  return remove(path);
}

static inline void remove_tree(const char *path) {
  assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void join(char out[PATH_MAX], const char *directory, const char *name) {
  assert_true(snprintf(out, PATH_MAX, "%s/%s", directory, name) < PATH_MAX);
}

/* The bytes of a file, and a NUL after them; the caller frees them. NULL if there is none. */
static inline char *read_bytes(const char *directory, const char *name, size_t *bytes) {
  char path[PATH_MAX];
  join(path, directory, name);
  FILE *file = fopen(path, "rb");
  *bytes = 0;
  if (!file) return NULL;
  size_t size = 0, capacity = 1 << 16;
  char *text = malloc(capacity + 1);
  assert_non_null(text);
  for (size_t n; (n = fread(text + size, 1, capacity - size, file)) > 0;) {
    size += n;
    if (size < capacity) continue;
    capacity *= 2;
    text = realloc(text, capacity + 1);
    assert_non_null(text);
  }
  fclose(file);
  text[size] = '\0';
  *bytes = size;
  return text;
}

static inline char *read_text(const char *directory, const char *name) {
  size_t bytes;
  return read_bytes(directory, name, &bytes);
}

static inline void write_text(const char *directory, const char *name, const char *text) {
  char path[PATH_MAX];
  join(path, directory, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static inline void assert_same_file(const char *one, const char *other, const char *name) {
  size_t size, same;
  char *a = read_bytes(one, name, &size), *b = read_bytes(other, name, &same);
  if (!a || !b) fail_msg("%s is missing in %s", name, a ? other : one);
  if (size != same || memcmp(a, b, size) != 0) fail_msg("%s and %s differ in %s", one, other, name);
  free(a);
  free(b);
}

#endif
