/* Every call of the library that changes a disk goes through these functions, so that tests can
 * make the n-th one fail. Like the system's calls, they return false (or -1) and set errno. None of
 * them allocates or takes a mutex, so a forked child of a program with threads may call them.
 *
 * Descriptors 0, 1 and 2 are never used: in a process that began with standard output or standard
 * error closed, what any library prints would otherwise end up in a file of records. */
#ifndef LGV_BASE_DISK_H
#define LGV_BASE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int lgv__disk_open(const char *path, int flags); /* adds O_CLOEXEC; creates with mode 0666 */
/* Moves a descriptor away from 0, 1 and 2; -1 stays -1. */
int lgv__disk_lift(int descriptor);
/* Opens or creates a file and holds a lock on it until it is closed, so that one process or thread
 * at a time has it. Fails with EWOULDBLOCK if another one still has it after `patience` seconds. A
 * file system without locks behaves as if the lock were free. */
int lgv__disk_open_alone(const char *path, double patience);
/* Opens an empty file to write, under a temporary name that others may want to write, too: waits
 * for them. Rename or remove the file before you close it; until then, it is yours. */
int lgv__disk_create(const char *temporary);
bool lgv__disk_write(int descriptor, const void *bytes, size_t count); /* all of them */
bool lgv__disk_write_at(int descriptor, const void *bytes, size_t count, int64_t offset);
bool lgv__disk_sync(int descriptor);
bool lgv__disk_truncate(int descriptor, int64_t size); /* continues after the remaining bytes */
bool lgv__disk_close(int descriptor);
bool lgv__disk_rename(const char *from, const char *to);
bool lgv__disk_remove(const char *path); /* true also if it is not there */
/* Makes renames into the directory survive a power failure. */
bool lgv__disk_sync_directory(const char *path);

/* Test hook: the n-th call on this thread from now (1 = the next) fails with errno = error, and
 * with for_good every call after it; n = 0 switches it off. Returns the rest of the previous count:
 * 0 if its call was reached and failed. */
long lgv__disk_fail_after(long n, int error, bool for_good);

#endif
