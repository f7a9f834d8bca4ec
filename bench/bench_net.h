/* How fast networks are computed, against the best this core does on large matrix products.
 *
 * Times are the thread's CPU time and the best of many repetitions: other programs on the machine
 * then cost little. Rates count useful operations only: two for a weight that meets a number,
 * nothing for padding, conversions or the rectifier. */
#ifndef LGV_BENCH_NET_H
#define LGV_BENCH_NET_H

#include "langevin.h"

enum { BENCH_MOST_RESULTS = 24 };

typedef struct bench_result {
  char name[64];
  double seconds;    /* the best repetition */
  double operations; /* useful ones, floating point */
  bool is_yardstick; /* a large matrix product */
} bench_result;

typedef struct bench_report {
  bench_result result[BENCH_MOST_RESULTS];
  size_t count;
  double yardstick; /* operations a second of the fastest large product */
  char blas[64];    /* which BLAS the yardstick tried, and which core it took this for */
} bench_report;

/* rounds: how often everything is measured, in turn, so that a change of the clock rate meets all
 * alike. */
LGV_CHECK lgv_status bench_net(int rounds, bench_report *report, lgv_error *err);

#endif
