#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

lgv_status lgv_fail(lgv_error *err, lgv_status status, const char *format, ...) {
  if (!err) return status;
  err->status = status;
  va_list args;
  char text[sizeof err->message];
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  lgv__make_visible(text, err->message, sizeof err->message);
  return status;
}

lgv_status lgv__check_size(const char *type, size_t size, size_t expected, lgv_error *err) {
  if (size == expected) return LGV_OK;
  if (size == 0)
    return lgv_fail(err, LGV_ERR_USAGE, "%s.size is 0: set it to sizeof(%s)", type, type);
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%s.size is %zu, but the library's is %zu: the program was compiled against "
                  "another version of langevin.h than %s; compile it again",
                  type, size, expected, lgv_version());
}

const char *lgv_status_name(lgv_status status) {
  switch (status) {
  case LGV_OK: return "ok";
  case LGV_ERR_USAGE: return "wrong usage";
  case LGV_ERR_MEMORY: return "out of memory";
  case LGV_ERR_IO: return "input/output error";
  case LGV_ERR_NUMERIC: return "numerical failure";
  case LGV_ERR_ENV: return "environment failure";
  case LGV_ERR_INTERRUPTED: return "interrupted";
  }
  return "unknown status";
}
