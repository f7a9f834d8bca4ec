#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

lgv_status lgv_fail(lgv_error *err, lgv_status status, const char *format, ...) {
  if (!err) return status;
  err->status = status;
  va_list args;
  va_start(args, format);
  vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  return status;
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
