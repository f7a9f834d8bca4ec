/* A clock that jumps, for LD_PRELOAD: every reading is off by up to a day, forward or backward, and
 * the next one by something else. CLOCK_JUMPS=real: the time of day, as when a clock is set;
 * CLOCK_JUMPS=all: the monotonic clock too, as no kernel would. Processor time stays what it is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long jump(void) {
  static _Atomic uint64_t calls;
  uint64_t x = ++calls * 0x9e3779b97f4a7c15u;
  return (long)((x ^ x >> 29) % (2 * 86400)) - 86400; /* seconds */
}

static int is_jumping(clockid_t clock) {
  const char *mode = getenv("CLOCK_JUMPS");
  if (!mode) return 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) return 1;
  return strcmp(mode, "all") == 0 &&
         (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  int status = (int)syscall(SYS_clock_gettime, clock, t);
  if (status == 0 && is_jumping(clock)) t->tv_sec += jump();
  return status;
}

time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
  struct timespec t;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &t);
  tv->tv_sec = t.tv_sec;
  tv->tv_usec = t.tv_nsec / 1000;
  return 0;
}
