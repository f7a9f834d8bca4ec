/* A lock file: who works in a directory says so in the file `lock` there and holds a lock on it,
 * which the system takes back when that process ends, however it ends. The file alone means nothing
 * but that somebody may have died there. */
#ifndef LGV_BASE_LOCK_H
#define LGV_BASE_LOCK_H

#include "langevin.h"

#include <limits.h>

#define LGV_LOCK_NAME "lock"

typedef struct lgv_lock {
  int descriptor; /* -1: not held */
  char path[PATH_MAX];
  char holder[160]; /* if somebody else has it: "process 12 on host", or "another process" */
} lgv_lock;

/* Takes the lock of a directory, or says in lock->holder who has it (lock->descriptor is then -1);
 * with `wait` it waits instead. Where the file system has no locks it is as good as taken. */
LGV_CHECK lgv_status lgv__lock_take(lgv_lock *lock, const char *directory, bool wait,
                                    lgv_error *err);
/* Removes the file, too. Does nothing if the lock is not held. */
void lgv__lock_release(lgv_lock *lock);

#endif
