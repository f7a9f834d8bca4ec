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

/* The text of a file, NUL-terminated; the caller frees it. NULL if there is none. */
static inline char *read_text(const char *directory, const char *name) {
  char path[PATH_MAX];
  join(path, directory, name);
  FILE *file = fopen(path, "rb");
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
  return text;
}

/* The bytes of a file that must exist; the caller frees them. Returns their number. */
static inline size_t read_bytes(const char *directory, const char *name, char **bytes) {
  char path[PATH_MAX];
  join(path, directory, name);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s is missing", path);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  *bytes = malloc(size + 1);
  assert_non_null(*bytes);
  assert_int_equal(fread(*bytes, 1, size, file), size);
  fclose(file);
  return size;
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
  char *a, *b;
  size_t n = read_bytes(one, name, &a), m = read_bytes(other, name, &b);
  if (n != m || memcmp(a, b, n) != 0) fail_msg("%s of %s and %s differ", name, one, other);
  free(a);
  free(b);
}

#endif
