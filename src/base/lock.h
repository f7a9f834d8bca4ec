/* A lock file: a process that works in a directory writes its name to the file `lock` there and
 * holds a lock on it, which the system releases when the process ends, however it ends. The file
 * without a lock on it only means that a process may have died. */
#ifndef LGV_BASE_LOCK_H
#define LGV_BASE_LOCK_H

#include "langevin.h"

#include <limits.h>

#define LGV_LOCK_NAME "lock"

typedef struct lgv_lock {
  int descriptor; /* -1: not held */
  char path[PATH_MAX];
  char holder[160]; /* if another process has it: "process 12 on host", or "another process" */
} lgv_lock;

/* Takes the lock of a directory. If another process has it, waits for it with `wait`; otherwise
 * names that process in lock->holder and sets lock->descriptor to -1. On a file system without
 * locks, the lock counts as taken. */
LGV_CHECK lgv_status lgv__lock_take(lgv_lock *lock, const char *directory, bool wait,
                                    lgv_error *err);
/* Also removes the file. Does nothing if the lock is not held. */
void lgv__lock_release(lgv_lock *lock);

#endif
