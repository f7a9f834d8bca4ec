#include "base/out.h"

#include "base/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static bool note(lgv_out *out, bool fine) {
  if (!fine && !out->error) out->error = errno ? errno : EIO;
  return !out->error;
}

bool lgv__out_open(lgv_out *out, const char *path, int64_t keep) {
  out->error = 0;
  out->used = 0;
  out->size = keep;
  out->descriptor = lgv__disk_open(path, O_WRONLY | O_CREAT);
  out->is_open = out->descriptor >= 0;
  return note(out, out->is_open) && note(out, lgv__disk_truncate(out->descriptor, keep));
}

static void spill(lgv_out *out) {
  if (out->used && !out->error) note(out, lgv__disk_write(out->descriptor, out->buffer, out->used));
  out->used = 0;
}

void lgv__out_put(lgv_out *out, const void *bytes, size_t count) {
  out->size += (int64_t)count;
  for (size_t done = 0, n; done < count; done += n) {
    size_t room = sizeof out->buffer - out->used;
    n = count - done < room ? count - done : room;
    memcpy(out->buffer + out->used, (const char *)bytes + done, n);
    out->used += n;
    if (out->used == sizeof out->buffer) spill(out);
  }
}

void lgv__out_text(lgv_out *out, const char *text) { lgv__out_put(out, text, strlen(text)); }

bool lgv__out_flush(lgv_out *out) {
  spill(out);
  return !out->error;
}

bool lgv__out_sync(lgv_out *out) {
  spill(out);
  return !out->error && note(out, lgv__disk_sync(out->descriptor));
}

bool lgv__out_close(lgv_out *out) {
  if (!out->is_open) return true;
  spill(out);
  out->is_open = false;
  return note(out, lgv__disk_close(out->descriptor));
}
