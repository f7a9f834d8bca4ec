/* What `langevin bench` measures: first the limits of the machine, then how fast the pieces of a
 * training loop are, in one run on one core, as a share of the limit that they meet: the fastest
 * large matrix product that the core is seen to do, a bandwidth, or the rate of normal numbers.
 *
 * Times are the thread's CPU time and the best of many repetitions, so that other programs on the
 * machine cost little. Operations are the useful ones only: two for a weight that meets a number,
 * nothing for padding, conversions or the rectifier.
 *
 * A line is a call of bench_measure in the `round` of a group; most groups have a table with a row
 * for each of their lines. A new group is one file and one entry in bench_groups. */
#ifndef LGV_BENCH_BENCH_H
#define LGV_BENCH_BENCH_H

#include "langevin.h"

enum { BENCH_NAME_SIZE = 64, BENCH_MOST_LINES = 256, BENCH_MOST_GROUPS = 16 };

typedef enum bench_goal { BENCH_NO_GOAL, BENCH_SHARE, BENCH_SECONDS } bench_goal;

/* What bounds a line, which is also what its operations are. */
typedef enum bench_limit {
  BENCH_PRODUCTS, /* floating-point operations of matrix products */
  BENCH_FMA,      /* those of multiply-adds that wait for nothing */
  BENCH_L2,       /* bytes from a cache, or from memory */
  BENCH_L3,
  BENCH_DRAM,
  BENCH_NORMALS, /* normal numbers drawn */
  BENCH_DISK,    /* bytes to and from files; its limit is not measured */
  BENCH_LIMITS
} bench_limit;

extern const char *const bench_limit_names[BENCH_LIMITS], *const bench_limit_units[BENCH_LIMITS];

/* What a line counts, and what is asked of it. */
typedef struct bench_count {
  double operations; /* of a repetition, useful ones; 0: not counted */
  bench_limit limit;
  double units; /* of a repetition: passes, parameters, steps */
  const char *unit;
  bench_goal goal;
  double target; /* BENCH_SHARE: at least this share of the limit; BENCH_SECONDS: at most so
                    many for a unit */
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
  const char *group;          /* the one in hand */
  const char *only;           /* of the request */
  double limit[BENCH_LIMITS]; /* operations a second; 0: not measured */
  char skipped[600];          /* what could not be measured here and why, or empty */
} bench_report;

typedef struct bench_group {
  const char *name, *summary;
  bool needs_limits; /* those of the machine are measured with it */
  /* What it measures; *state is closed even if open fails. */
  lgv_status (*open)(void **state, lgv_error *err);
  lgv_status (*round)(void *state, bench_report *report, lgv_error *err);
  void (*close)(void *state); /* NULL is fine */
} bench_group;

extern const bench_group *const bench_groups[]; /* NULL-terminated */

typedef struct bench_request {
  bool wanted[BENCH_MOST_GROUPS]; /* as in bench_groups */
  int rounds; /* how often everything is measured, in turn, so that a change of the clock rate meets
                 all alike */
  const char *only; /* lines with this in their name, and limits; NULL: all */
  bool quick;       /* less time for a line, fewer and smaller sizes where a group has many */
} bench_request;

LGV_CHECK lgv_status bench_run(const bench_request *request, bench_report *report, lgv_error *err);

double bench_unit_seconds(const bench_line *line);
double bench_rate(const bench_line *line);                              /* operations a second */
double bench_share(const bench_report *report, const bench_line *line); /* NaN if not known */
bool bench_is_met(const bench_report *report, const bench_line *line);

/* ---- For groups ---- */

typedef lgv_status (*bench_work)(void *context, lgv_error *err); /* one repetition */

/* The best of several repetitions, kept as the best of the line of that name. */
LGV_CHECK lgv_status bench_measure(bench_report *report, const char *name, bench_count count,
                                   bench_work work, void *context, lgv_error *err);
/* The same of a time that was taken elsewhere. */
LGV_CHECK lgv_status bench_record(bench_report *report, const char *name, bench_count count,
                                  double seconds, lgv_error *err);
LGV_CHECK lgv_status bench_best(bench_work work, void *context, double *seconds, lgv_error *err);
/* By the clock on the wall: for work that waits, or that other threads share. */
LGV_CHECK lgv_status bench_measure_wall(bench_report *report, const char *name, bench_count count,
                                        bench_work work, void *context, lgv_error *err);
bool bench_is_quick(void);
/* Measuring leaves out what is not; a group whose preparations take long asks before. */
bool bench_is_wanted(const bench_report *report, const char *name);
/* "a.b=c d=e": settings separated by blanks. The caller frees them, also after a failure. */
LGV_CHECK lgv_status bench_settings(const char *list, lgv_settings **settings, lgv_error *err);

#endif
