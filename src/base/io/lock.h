/* The lock of a directory: a process that writes there names itself in the file `lock` and holds a
 * lock on that file, which the system releases when the process ends for whatever reason. A file
 * that nobody holds was left by a process that died. A file is locked rather than the directory
 * because network file systems lock only files that are open for writing. */
#ifndef LGV_BASE_LOCK_H
#define LGV_BASE_LOCK_H

#include "langevin.h"

#include <limits.h>

#define LGV_LOCK_NAME "lock"

typedef struct lgv_lock {
  int descriptor; /* -1: not held */
  char path[PATH_MAX];
  char holder[160]; /* if another process has it: "process 12 on host" */
} lgv_lock;

/* Takes the lock of a directory. If another process still holds it after `patience` seconds,
 * lock->descriptor is -1 and lock->holder names the process. A file system without locks behaves as
 * if the lock were free. */
LGV_CHECK lgv_status lgv__lock_take(lgv_lock *lock, const char *directory, double patience,
                                    lgv_error *err);
/* Also removes the file. Does nothing if the lock is not held. */
void lgv__lock_release(lgv_lock *lock);

#endif
