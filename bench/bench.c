#include "bench/bench.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

extern const bench_group bench_yardstick, bench_net, bench_optim, bench_deep, bench_runs,
    bench_bridge;

const bench_group *const bench_groups[] = {
    &bench_yardstick, &bench_net, &bench_optim, &bench_deep, &bench_runs, &bench_bridge, NULL};

/* ---- Measuring ---- */

/* A repetition is long against the clock's steps; several of them see the core undisturbed. */
enum { ENOUGH_REPETITIONS = 8 };
static const double least_repetition = 2e-4, least_time = 0.08, most_time = 0.4;

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static lgv_status repeat(bench_work work, void *context, int times, double *seconds,
                         lgv_error *err) {
  double start = cpu_seconds();
  for (int i = 0; i < times; i++) LGV_TRY(work(context, err));
  *seconds = (cpu_seconds() - start) / times;
  return LGV_OK;
}

lgv_status bench_best(bench_work work, void *context, double *seconds, lgv_error *err) {
  double once;
  LGV_TRY(repeat(work, context, 1, &once, err)); /* warms the caches up, so the next tells more */
  LGV_TRY(repeat(work, context, 1, &once, err));
  int times = once < least_repetition ? (int)ceil(least_repetition / fmax(once, 1e-8)) : 1;
  double start = cpu_seconds(), taken = 0;
  *seconds = once;
  for (int n = 0; taken < least_time || (n < ENOUGH_REPETITIONS && taken < most_time); n++) {
    LGV_TRY(repeat(work, context, times, &once, err));
    if (once < *seconds) *seconds = once;
    taken = cpu_seconds() - start;
  }
  return LGV_OK;
}

lgv_status bench_record(bench_report *report, const char *name, bench_count count, double seconds,
                        lgv_error *err) {
  size_t l = 0;
  while (l < report->lines &&
         (report->line[l].group != report->group || strcmp(report->line[l].name, name) != 0))
    l++;
  bench_line *line = &report->line[l];
  if (l == report->lines) {
    if (l == BENCH_MOST_LINES)
      return lgv_fail(err, LGV_ERR_USAGE, "more than %d lines: raise BENCH_MOST_LINES",
                      BENCH_MOST_LINES);
    report->lines++;
    *line = (bench_line){.group = report->group, .count = count, .seconds = seconds};
    snprintf(line->name, sizeof line->name, "%s", name);
  }
  if (seconds / count.units < bench_unit_seconds(line)) {
    line->count = count;
    line->seconds = seconds;
  }
  return LGV_OK;
}

lgv_status bench_measure(bench_report *report, const char *name, bench_count count, bench_work work,
                         void *context, lgv_error *err) {
  double seconds;
  LGV_TRY(bench_best(work, context, &seconds, err));
  return bench_record(report, name, count, seconds, err);
}

/* ---- Results ---- */

double bench_unit_seconds(const bench_line *line) { return line->seconds / line->count.units; }

double bench_rate(const bench_line *line) {
  return line->count.operations > 0 ? line->count.operations / line->seconds : NAN;
}

double bench_share(const bench_report *report, const bench_line *line) {
  return report->yardstick > 0 ? bench_rate(line) / report->yardstick : NAN;
}

bool bench_is_met(const bench_report *report, const bench_line *line) {
  if (line->count.goal == BENCH_SHARE) return bench_share(report, line) >= line->count.target;
  return bench_unit_seconds(line) <= line->count.target;
}

/* ---- Groups ---- */

static lgv_status run_rounds(const bench_request *request, const bool *chosen, void *const *state,
                             bench_report *report, lgv_error *err) {
  for (int round = 0; round < request->rounds; round++)
    for (size_t g = 0; bench_groups[g]; g++) {
      if (!chosen[g]) continue;
      report->group = bench_groups[g]->name;
      LGV_TRY(bench_groups[g]->round(state[g], report, err));
    }
  for (size_t l = 0; l < report->lines; l++) {
    const bench_line *line = &report->line[l];
    if (line->group == bench_yardstick.name)
      report->yardstick = fmax(report->yardstick, bench_rate(line));
  }
  return LGV_OK;
}

lgv_status bench_run(const bench_request *request, bench_report *report, lgv_error *err) {
  bool chosen[BENCH_MOST_GROUPS];
  void *state[BENCH_MOST_GROUPS] = {0};
  *report = (bench_report){0};
  memcpy(chosen, request->wanted, sizeof chosen);
  for (size_t g = 0; bench_groups[g]; g++)
    if (chosen[g] && bench_groups[g]->needs_yardstick) chosen[0] = true;
  lgv_status status = LGV_OK;
  for (size_t g = 0; status == LGV_OK && bench_groups[g]; g++)
    if (chosen[g]) status = bench_groups[g]->open(&state[g], err);
  if (status == LGV_OK) status = run_rounds(request, chosen, state, report, err);
  for (size_t g = 0; bench_groups[g]; g++)
    if (chosen[g]) bench_groups[g]->close(state[g]);
  return status;
}
