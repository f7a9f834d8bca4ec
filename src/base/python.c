#include "base/python.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

void lgv__find_python(const char *wanted, char *path, size_t size) {
  const char *named = getenv("LANGEVIN_PYTHON"), *active = getenv("VIRTUAL_ENV");
  const char *roots[] = {active, ".venv", NULL};
  if (*wanted || (named && *named)) {
    snprintf(path, size, "%s", *wanted ? wanted : named);
    return;
  }
  for (size_t i = 0; i < sizeof roots / sizeof *roots - 1; i++) {
    if (!roots[i] || !*roots[i]) continue;
    snprintf(path, size, "%s/bin/python", roots[i]);
    if (is_program(path)) return;
  }
  snprintf(path, size, "python3");
}

/* The path of the library or program that contains this code. dladdr knows the program itself by
 * its first argument, which is a bare name if the shell found it in PATH. */
static bool find_self(char *file) {
  Dl_info self;
  if (!dladdr((const void *)lgv__find_python_package, &self)) return false;
  return realpath(strchr(self.dli_fname, '/') ? self.dli_fname : "/proc/self/exe", file) != NULL;
}

/* As installed, the code is in lib/, bin/ or lib/MULTIARCH/ beside share/. */
void lgv__find_python_package(char *path, size_t size) {
  static const char *const places[] = {"../share/langevin/python", "../../share/langevin/python",
                                       "../python"};
  char file[PATH_MAX];
  path[0] = '\0';
  if (!find_self(file)) return;
  char *slash = strrchr(file, '/');
  if (slash) *slash = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char worker[PATH_MAX + 64];
    snprintf(worker, sizeof worker, "%s/%s/langevin/worker.py", file, places[i]);
    if (access(worker, R_OK) != 0) continue;
    snprintf(path, size, "%s/%s", file, places[i]);
    return;
  }
}
