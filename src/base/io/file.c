#include "base/io/file.h"

#include "base/error.h"
#include "base/io/disk.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Whole files ---- */

static lgv_status io_error(lgv_error *err, const char *what, const char *path) {
  return lgv_fail(err, LGV_ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

lgv_status lgv__join_path(const char *directory, const char *name, char *path, size_t size,
                          lgv_error *err) {
  int length = snprintf(path, size, "%s/%s", directory, name);
  if (length < 0 || (size_t)length >= size)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s/... is too long", directory);
  return LGV_OK;
}

lgv_status lgv__is_there(const char *path, bool *there, lgv_error *err) {
  struct stat info;
  *there = stat(path, &info) == 0;
  if (*there) return LGV_OK;
  if (errno != ENOENT && errno != ENOTDIR) return io_error(err, "look at", path);
  if (lstat(path, &info) != 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO, "cannot look at %.300s: it is a link to nothing", path);
}

lgv_status lgv__make_directory(const char *path, lgv_error *err) {
  char partial[PATH_MAX];
  if (strlen(path) >= sizeof partial)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", path);
  size_t length = strlen(path);
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(partial, path, i);
    partial[i] = '\0';
    if (mkdir(partial, 0777) != 0 && errno != EEXIST)
      return io_error(err, "create the directory", partial);
  }
  struct stat info;
  if (stat(path, &info) != 0) return io_error(err, "create the directory", path);
  if (!S_ISDIR(info.st_mode))
    return lgv_fail(err, LGV_ERR_IO, "%s is a file; a directory is needed there", path);
  return LGV_OK;
}

static bool write_whole(const char *temporary, const char *path, const char *text, size_t length,
                        bool sync) {
  int descriptor = lgv__disk_create(temporary);
  if (descriptor < 0) return false;
  bool ok = lgv__disk_write(descriptor, text, length) && (!sync || lgv__disk_sync(descriptor)) &&
            lgv__disk_rename(temporary, path);
  int reason = errno;
  if (!ok) unlink(temporary);
  bool closed = lgv__disk_close(descriptor);
  if (!ok) errno = reason;
  return ok && closed;
}

static lgv_status write_file(const char *directory, const char *name, const char *text,
                             size_t length, bool sync, lgv_error *err) {
  char path[PATH_MAX], temporary[PATH_MAX];
  LGV_TRY(lgv__join_path(directory, name, path, sizeof path - 8, err));
  snprintf(temporary, sizeof temporary, "%.*s.tmp", PATH_MAX - 8, path);
  return write_whole(temporary, path, text, length, sync) ? LGV_OK : io_error(err, "write", path);
}

lgv_status lgv__write_file(const char *directory, const char *name, const char *text, size_t length,
                           lgv_error *err) {
  return write_file(directory, name, text, length, true, err);
}

lgv_status lgv__write_file_unsynced(const char *directory, const char *name, const char *text,
                                    size_t length, lgv_error *err) {
  return write_file(directory, name, text, length, false, err);
}

lgv_status lgv__write_path(const char *path, const char *text, size_t length, lgv_error *err) {
  char directory[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (strlen(path) >= sizeof directory)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", path);
  snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path) : 1,
           slash ? path : ".");
  if (slash == path) snprintf(directory, sizeof directory, "/.");
  return lgv__write_file(directory, slash ? slash + 1 : path, text, length, err);
}

/* ---- Growing files ---- */

static bool note(lgv_out *out, bool fine) {
  if (!fine && !out->error) out->error = errno ? errno : EIO;
  return !out->error;
}

bool lgv__out_open(lgv_out *out, const char *path, int64_t keep) {
  out->error = 0;
  out->used = 0;
  out->size = keep;
  out->sum = LGV_HASH_START;
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
  out->sum = lgv__hash(out->sum, bytes, count);
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
