#include "base/io/lock.h"

#include "base/error.h"
#include "base/io/disk.h"
#include "base/io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_holder(lgv_lock *lock) {
  int descriptor = open(lock->path, O_RDONLY | O_CLOEXEC);
  ssize_t length = descriptor < 0 ? -1 : read(descriptor, lock->holder, sizeof lock->holder - 1);
  if (descriptor >= 0) close(descriptor);
  lock->holder[length > 0 ? length : 0] = '\0';
  lock->holder[strcspn(lock->holder, "\n")] = '\0';
  if (!lock->holder[0]) snprintf(lock->holder, sizeof lock->holder, "another process");
}

/* The text is for people: the lock works without it. */
static void write_holder(int descriptor) {
  char host[64] = "", text[160];
  gethostname(host, sizeof host - 1);
  int length = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
  bool ok = ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text, (size_t)length, 0) == length;
  (void)ok;
}

lgv_status lgv__lock_take(lgv_lock *lock, const char *directory, double patience, lgv_error *err) {
  lock->descriptor = -1;
  LGV_TRY(lgv__join_path(directory, LGV_LOCK_NAME, lock->path, sizeof lock->path, err));
  int descriptor = lgv__disk_open_alone(lock->path, patience);
  if (descriptor < 0 && errno != EWOULDBLOCK)
    return lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", lock->path, strerror(errno));
  if (descriptor < 0)
    read_holder(lock);
  else
    write_holder(descriptor);
  lock->descriptor = descriptor;
  return LGV_OK;
}

void lgv__lock_release(lgv_lock *lock) {
  if (lock->descriptor < 0) return;
  unlink(lock->path);
  close(lock->descriptor);
  lock->descriptor = -1;
}
