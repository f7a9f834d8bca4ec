/* Clocks in seconds; 0 if a clock cannot be read. */
#ifndef LGV_BASE_CLOCK_H
#define LGV_BASE_CLOCK_H

#include <time.h>

static inline double lgv__clock(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
}

/* The clock for differences: it is never set. */
static inline double lgv__now(void) { return lgv__clock(CLOCK_MONOTONIC); }

#endif
