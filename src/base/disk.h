/* Every call of the library that changes a disk goes through these, so that tests can make the n-th
 * one fail. They do as the system's calls do: false (or -1) and errno. None of them allocates or
 * takes a lock: they may be called in a child of a program with threads. */
#ifndef LGV_BASE_DISK_H
#define LGV_BASE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int lgv__disk_open(const char *path, int flags); /* O_CLOEXEC; made with 0666 less the umask */
bool lgv__disk_write(int descriptor, const void *bytes, size_t count); /* all of them */
bool lgv__disk_write_at(int descriptor, const void *bytes, size_t count, int64_t offset);
bool lgv__disk_sync(int descriptor);
bool lgv__disk_truncate(int descriptor, int64_t size); /* and goes on behind what is left */
bool lgv__disk_close(int descriptor);
bool lgv__disk_rename(const char *from, const char *to);
bool lgv__disk_remove(const char *path); /* true also if it is not there */
/* What was renamed into the directory stays so after a power cut. */
bool lgv__disk_sync_directory(const char *path);

/* Test hook: the n-th call from now on this thread (1 = the next) fails with errno = error, and
 * with for_good every one behind it; n = 0 switches it off. Returns what was left of the previous
 * count: 0 if its call came and failed. */
long lgv__disk_fail_after(long n, int error, bool for_good);

#endif
