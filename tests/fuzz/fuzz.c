#include "fuzz.h"

#include "config/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_SIZE = 32, PARAMS_SIZE = 1 << 16 }; /* of environments that get a plan */

static void need(bool ok, const char *what) {
  if (ok) return;
  perror(what); /* of the harness, not of the tested code */
  abort();
}

static const char *file_path(int *file) {
  static int fd = -1;
  static char path[32];
  if (fd < 0) {
    fd = memfd_create("fuzz", 0);
    need(fd >= 0, "memfd_create");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  *file = fd;
  return path;
}

const char *fuzz_file(const uint8_t *data, size_t size) {
  int fd;
  const char *path = file_path(&fd);
  need(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "write");
  return path;
}

static char directory[] = "/tmp/langevin-fuzz-XXXXXX";
static const char *const *names_inside;

static void remove_directory(void) {
  char link[128];
  for (size_t i = 0; names_inside[i]; i++) {
    snprintf(link, sizeof link, "%s/%s", directory, names_inside[i]);
    unlink(link);
  }
  rmdir(directory);
}

const char *fuzz_directory(const char *const *names) {
  int fd;
  const char *path = file_path(&fd);
  if (names_inside) return directory;
  need(mkdtemp(directory) != NULL, "mkdtemp");
  names_inside = names;
  atexit(remove_directory);
  for (size_t i = 0; names[i]; i++) {
    char link[128];
    snprintf(link, sizeof link, "%s/%s", directory, names[i]);
    need(symlink(path, link) == 0, "symlink");
  }
  return directory;
}

static bool is_small(const lgv_settings *settings) {
  static union {
    double aligned;
    char bytes[PARAMS_SIZE];
  } params;
  const lgv_env_type *type;
  if (lgv__settings_env_type(settings, &type, NULL) != LGV_OK || type->connect) return false;
  need(type->params_size <= sizeof params, "parameters");
  if (lgv__settings_fill(settings, "env.", type->params, &params, NULL, NULL) != LGV_OK)
    return false;
  for (const lgv_param *p = type->params; p->name; p++)
    if (p->type == LGV_INT && *(const int64_t *)(params.bytes + p->offset) > MOST_SIZE)
      return false;
  return true;
}

void fuzz_plan(const lgv_settings *settings) {
  lgv_plan *plan;
  lgv_error err;
  char text[LGV_DIGEST_SIZE], value[64];
  if (!is_small(settings) || lgv_plan_create(settings, &plan, &err) != LGV_OK) return;
  need(lgv_plan_digest(plan, text, &err) == LGV_OK && strlen(text) == LGV_DIGEST_SIZE - 1,
       "a plan without a digest");
  need(lgv_plan_get(plan, "run.steps", value, sizeof value, &err) == LGV_OK, "a plan's budget");
  lgv_plan_free(plan);
}
