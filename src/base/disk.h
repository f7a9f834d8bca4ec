/* Every call of the library that changes a disk goes through these functions, so that tests can
 * make the n-th one fail. Like the system's calls, they return false (or -1) and set errno. None of
 * them allocates or takes a lock, so a forked child of a program with threads may call them. */
#ifndef LGV_BASE_DISK_H
#define LGV_BASE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int lgv__disk_open(const char *path, int flags); /* adds O_CLOEXEC; creates with mode 0666 */
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
