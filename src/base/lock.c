#include "base/lock.h"

#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void read_holder(lgv_lock *lock, int descriptor) {
  ssize_t length = pread(descriptor, lock->holder, sizeof lock->holder - 1, 0);
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

/* False if the previous holder removed the file, and another process may have made a new one
 * since. */
static bool is_still_there(int descriptor, const char *path) {
  struct stat held, there;
  return fstat(descriptor, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

/* So often the file may vanish between its opening and its locking. Some network file systems give
 * it another inode each time: there the lock is taken as it is. */
enum { MOST_TRIES = 100 };

lgv_status lgv__lock_take(lgv_lock *lock, const char *directory, double patience, lgv_error *err) {
  lock->descriptor = -1;
  LGV_TRY(lgv__join_path(directory, LGV_LOCK_NAME, lock->path, sizeof lock->path, err));
  for (int tries = 1;; tries++) {
    int descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
      return lgv_fail(err, LGV_ERR_IO, "cannot write %.300s: %s", lock->path, strerror(errno));
    if (!acquire(descriptor, patience)) {
      read_holder(lock, descriptor);
      close(descriptor);
      return LGV_OK;
    }
    if (tries == MOST_TRIES || is_still_there(descriptor, lock->path)) {
      write_holder(descriptor);
      lock->descriptor = descriptor;
      return LGV_OK;
    }
    close(descriptor);
  }
}

void lgv__lock_release(lgv_lock *lock) {
  if (lock->descriptor < 0) return;
  unlink(lock->path);
  close(lock->descriptor);
  lock->descriptor = -1;
}
