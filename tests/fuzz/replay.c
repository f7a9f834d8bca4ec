/* Runs a target over files and folders of files: the committed corpus, or an input that crashed. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int runs;

static bool run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char *bytes = NULL;
  size_t size = 0;
  FILE *copy = open_memstream(&bytes, &size);
  bool ok = file && copy;
  for (int c; ok && (c = getc(file)) != EOF;) putc(c, copy);
  if (file) fclose(file);
  if (copy) fclose(copy);
  if (ok) {
    char *exact = malloc(size); /* allocated exactly, so that a sanitizer finds overruns */
    if (size) memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, size);
    free(exact);
    runs++;
  } else {
    fprintf(stderr, "cannot read %s: %s\n", path, strerror(errno));
  }
  free(bytes);
  return ok;
}

int main(int argc, char **argv) {
  bool ok = true;
  for (int i = 1; i < argc; i++) {
    struct dirent **entries;
    int count = scandir(argv[i], &entries, NULL, alphasort);
    if (count < 0) ok &= run_file(argv[i]);
    for (int k = 0; k < count; k++) {
      char path[PATH_MAX];
      snprintf(path, sizeof path, "%s/%s", argv[i], entries[k]->d_name);
      if (entries[k]->d_name[0] != '.') ok &= run_file(path);
      free(entries[k]);
    }
    if (count >= 0) free(entries);
  }
  printf("%d inputs\n", runs);
  return ok && runs > 0 ? 0 : 1; /* a missing corpus is a failure */
}
