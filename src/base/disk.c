#include "base/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static _Thread_local struct {
  long countdown; /* calls up to and including the one that fails; 0: none fails */
  bool failing;   /* the failing call was reached, and for_good is set */
  bool for_good;
  int error;
} fault;

static bool refused(void) {
  bool now = fault.failing || (fault.countdown > 0 && --fault.countdown == 0);
  if (!now) return false;
  fault.failing = fault.for_good;
  errno = fault.error;
  return true;
}

long lgv__disk_fail_after(long n, int error, bool for_good) {
  long left = fault.countdown;
  fault.countdown = n;
  fault.failing = false;
  fault.for_good = for_good;
  fault.error = error;
  return left;
}

int lgv__disk_open(const char *path, int flags) {
  return refused() ? -1 : open(path, flags | O_CLOEXEC, 0666);
}

bool lgv__disk_write(int descriptor, const void *bytes, size_t count) {
  const char *at = bytes;
  if (refused()) return false;
  while (count > 0) {
    ssize_t written = write(descriptor, at, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    count -= (size_t)written;
  }
  return true;
}

bool lgv__disk_write_at(int descriptor, const void *bytes, size_t count, int64_t offset) {
  return lseek(descriptor, offset, SEEK_SET) == offset && lgv__disk_write(descriptor, bytes, count);
}

bool lgv__disk_sync(int descriptor) { return !refused() && fsync(descriptor) == 0; }

bool lgv__disk_truncate(int descriptor, int64_t size) {
  return !refused() && ftruncate(descriptor, size) == 0 &&
         lseek(descriptor, size, SEEK_SET) == size;
}

/* The descriptor is closed even if this fails. */
bool lgv__disk_close(int descriptor) {
  bool fails = refused();
  int reason = errno;
  bool closed = close(descriptor) == 0 || errno == EINTR;
  if (fails) errno = reason;
  return closed && !fails;
}

/* A file must not replace a device or a pipe such as /dev/stdout. */
bool lgv__disk_rename(const char *from, const char *to) {
  struct stat there;
  if (refused()) return false;
  if (stat(to, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    errno = ENOTSUP;
    return false;
  }
  return rename(from, to) == 0;
}

bool lgv__disk_remove(const char *path) {
  return !refused() && (unlink(path) == 0 || errno == ENOENT);
}

/* Some file systems cannot sync a directory, and some need not. */
bool lgv__disk_sync_directory(const char *path) {
  int descriptor = lgv__disk_open(path, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return false;
  bool synced = !refused() && (fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP);
  int reason = errno;
  close(descriptor);
  errno = reason;
  return synced;
}
