#include "base/io/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
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

int lgv__disk_lift(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  int lifted = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int reason = errno;
  close(descriptor);
  errno = reason;
  return lifted;
}

int lgv__disk_open(const char *path, int flags) {
  return refused() ? -1 : lgv__disk_lift(open(path, flags | O_CLOEXEC, 0666));
}

static bool acquire(int descriptor, double patience) {
  const struct timespec pause = {.tv_nsec = 20000000};
  for (double waited = 0; flock(descriptor, LOCK_EX | LOCK_NB) != 0; waited += 0.02) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true; /* this file system has no locks */
    if (waited >= patience) return false;
    nanosleep(&pause, NULL);
  }
  return true;
}

/* False if the previous holder removed or renamed the file, and another process may have made a new
 * one since. */
static bool is_still_there(int descriptor, const char *path) {
  struct stat held, there;
  return fstat(descriptor, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

/* So often the file may vanish between its opening and its locking. Some network file systems give
 * it another inode each time: there the lock is taken as it is. */
enum { MOST_TRIES = 1000 };

int lgv__disk_open_alone(const char *path, double patience) {
  for (int tries = 1;; tries++) {
    int descriptor = lgv__disk_open(path, O_RDWR | O_CREAT);
    if (descriptor < 0) return -1;
    if (!acquire(descriptor, patience)) {
      close(descriptor);
      errno = EWOULDBLOCK;
      return -1;
    }
    if (tries == MOST_TRIES || is_still_there(descriptor, path)) return descriptor;
    close(descriptor);
  }
}

static const double create_patience = 60; /* seconds */

int lgv__disk_create(const char *temporary) {
  int descriptor = lgv__disk_open_alone(temporary, create_patience);
  if (descriptor < 0 || lgv__disk_truncate(descriptor, 0)) return descriptor;
  int reason = errno;
  unlink(temporary); /* while it is locked */
  close(descriptor);
  errno = reason;
  return -1;
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
