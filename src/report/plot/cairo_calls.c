#include "report/plot/cairo_calls.h"

#include "base/error.h"

#include <dlfcn.h>

lgv_cairo lgv__cairo;

static const struct {
  const char *name;
  void **call;
} calls[] = {
#define LGV_CAIRO_ROW(name) {"cairo_" #name, (void **)&lgv__cairo.name},
    LGV_CAIRO_CALLS(LGV_CAIRO_ROW)};

lgv_status lgv__cairo_load(lgv_error *err) {
  static bool loaded;
  if (loaded) return LGV_OK;
  void *library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library && i < sizeof calls / sizeof *calls; i++)
    if (!(*calls[i].call = dlsym(library, calls[i].name))) library = NULL;
  if (!library)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "figures need the library cairo, which cannot be loaded (%.200s): install it "
                    "(Debian, Ubuntu: apt-get install libcairo2)",
                    dlerror());
  loaded = true;
  return LGV_OK;
}
