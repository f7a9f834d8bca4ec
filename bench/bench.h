/* The measurements of `langevin bench`: first the limits of the machine, then the speed of the
 * parts of a training loop, in one run on one core, as a fraction of the limit that bounds them:
 * the fastest large matrix product seen on this core, a bandwidth, or the rate of normal numbers.
 *
 * A time is the thread's CPU time, the best of many repetitions, so that other programs on the
 * machine matter little. Only useful operations count: two per weight and input, none for padding,
 * conversions or the rectifier.
 *
 * A line is a call of bench_measure in the `round` of a group; most groups have a table with one
 * row per line. A new group is one file and one entry in bench_groups. */
#ifndef LGV_BENCH_BENCH_H
#define LGV_BENCH_BENCH_H

#include "langevin.h"

enum { BENCH_NAME_SIZE = 64, BENCH_MOST_LINES = 256, BENCH_MOST_GROUPS = 16 };

typedef enum bench_goal { BENCH_NO_GOAL, BENCH_SHARE, BENCH_SECONDS } bench_goal;

/* The limit of a line, which also defines its operations. */
typedef enum bench_limit {
  BENCH_PRODUCTS, /* floating-point operations of matrix products */
  BENCH_FMA,      /* floating-point operations of independent multiply-adds */
  BENCH_L2,       /* bytes from a cache, or from memory */
  BENCH_L3,
  BENCH_DRAM,
  BENCH_NORMALS, /* normal numbers drawn */
  BENCH_DISK,    /* bytes to and from files; its limit is not measured */
  BENCH_LIMITS
} bench_limit;

extern const char *const bench_limit_names[BENCH_LIMITS], *const bench_limit_units[BENCH_LIMITS];

/* The operations and units of a line, and its target. */
typedef struct bench_count {
  double operations; /* useful operations per repetition; 0: not counted */
  bench_limit limit;
  double units; /* per repetition: passes, parameters, steps */
  const char *unit;
  bench_goal goal;
  double target; /* BENCH_SHARE: at least this share of the limit; BENCH_SECONDS: at most this time
                    per unit */
} bench_count;

typedef struct bench_line {
  const char *group;
  char name[BENCH_NAME_SIZE];
  bench_count count;
  double seconds; /* of the best repetition */
} bench_line;

typedef struct bench_report {
  bench_line line[BENCH_MOST_LINES];
  size_t lines;
  const char *group;          /* the current group */
  const char *only;           /* from the request */
  double limit[BENCH_LIMITS]; /* operations per second; 0: not measured */
  char skipped[600];          /* what could not be measured and why, or empty */
} bench_report;

typedef struct bench_group {
  const char *name, *summary;
  bool needs_limits; /* the machine's limits are measured with it */
  /* Optional: prepares the measurement. *state, NULL at first, is closed even if open fails. */
  lgv_status (*open)(void **state, lgv_error *err);
  lgv_status (*round)(void *state, bench_report *report, lgv_error *err);
  void (*close)(void *state); /* with open */
} bench_group;

extern const bench_group *const bench_groups[]; /* NULL-terminated */

/* How long a line is measured. Other than BENCH_WHOLE: fewer and smaller sizes in groups with many.
 */
typedef enum bench_effort {
  BENCH_WHOLE,
  BENCH_QUICK,
  BENCH_ONCE, /* one repetition per line: for tests */
} bench_effort;

typedef struct bench_request {
  bool wanted[BENCH_MOST_GROUPS]; /* in the order of bench_groups */
  int rounds; /* passes over all lines: a change of the clock rate then affects all lines alike */
  const char *only; /* only lines with this text in their name, and limits; NULL: all */
  bench_effort effort;
} bench_request;

LGV_CHECK lgv_status bench_run(const bench_request *request, bench_report *report, lgv_error *err);

double bench_unit_seconds(const bench_line *line);
double bench_rate(const bench_line *line);                              /* operations per second */
double bench_share(const bench_report *report, const bench_line *line); /* NaN if unknown */
bool bench_is_met(const bench_report *report, const bench_line *line);

/* ---- For groups ---- */

typedef lgv_status (*bench_work)(void *context, lgv_error *err); /* one repetition */

/* Measures several repetitions and keeps the best as the result of the line `name`. */
LGV_CHECK lgv_status bench_measure(bench_report *report, const char *name, bench_count count,
                                   bench_work work, void *context, lgv_error *err);
/* Same, for a time that was measured elsewhere. */
LGV_CHECK lgv_status bench_record(bench_report *report, const char *name, bench_count count,
                                  double seconds, lgv_error *err);
/* Fails unless `seconds` is above 0: the clock stood still or went backwards. */
LGV_CHECK lgv_status bench_check_time(double seconds, lgv_error *err);
LGV_CHECK lgv_status bench_best(bench_work work, void *context, double *seconds, lgv_error *err);
/* Wall-clock time: for work that waits, or that other threads share. */
LGV_CHECK lgv_status bench_measure_wall(bench_report *report, const char *name, bench_count count,
                                        bench_work work, void *context, lgv_error *err);
bool bench_is_quick(void);
/* Whether the request includes the line. Measuring skips other lines; groups with long preparations
 * ask first. */
bool bench_is_wanted(const bench_report *report, const char *name);
/* "a.b=c d=e": settings separated by blanks. The caller frees them, even after a failure. */
LGV_CHECK lgv_status bench_settings(const char *list, lgv_settings **settings, lgv_error *err);

#endif
