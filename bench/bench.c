#include "bench/bench.h"

#include "base/clock.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const bench_group bench_machine, bench_yardstick, bench_net, bench_optim, bench_deep,
    bench_continuous, bench_block, bench_precision, bench_replay, bench_linear, bench_envs,
    bench_runs, bench_checkpoint, bench_bridge;

/* The limits come first. */
const bench_group *const bench_groups[] = {
    &bench_machine,    &bench_yardstick, &bench_net,        &bench_optim,  &bench_deep,
    &bench_continuous, &bench_block,     &bench_precision,  &bench_replay, &bench_linear,
    &bench_envs,       &bench_runs,      &bench_checkpoint, &bench_bridge, NULL};

enum { LIMIT_GROUPS = 2 };

const char *const bench_limit_names[BENCH_LIMITS] = {"products", "fma",     "l2",  "l3",
                                                     "dram",     "normals", "disk"};
const char *const bench_limit_units[BENCH_LIMITS] = {"GFLOP/s", "GFLOP/s", "GB/s", "GB/s",
                                                     "GB/s",    "G/s",     "GB/s"};

/* ---- Measuring ---- */

/* A repetition is long compared with the clock's resolution; several of them find the core
 * undisturbed. */
enum { ENOUGH_REPETITIONS = 8 };
static const double least_repetition = 2e-4;
static const struct effort {
  double least_time, most_time; /* seconds per line and round */
} efforts[] = {[BENCH_WHOLE] = {0.08, 0.4}, [BENCH_QUICK] = {0.03, 0.12}, [BENCH_ONCE] = {0, 0}};
static const struct effort *effort = efforts; /* of the current request */

bool bench_is_quick(void) { return effort != &efforts[BENCH_WHOLE]; }

static bool is_limit(const char *group) {
  return group == bench_yardstick.name || group == bench_machine.name;
}

bool bench_is_wanted(const bench_report *report, const char *name) {
  return !report->only || is_limit(report->group) || strstr(name, report->only);
}

lgv_status bench_check_time(double seconds, lgv_error *err) {
  if (seconds > 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO,
                  "the system's clock did not advance, went backwards or could not be read");
}

static lgv_status repeat(clockid_t clock, bench_work work, void *context, int times,
                         double *seconds, lgv_error *err) {
  double start = lgv__clock(clock);
  for (int i = 0; i < times; i++) LGV_TRY(work(context, err));
  *seconds = (lgv__clock(clock) - start) / times;
  return *seconds < 0 ? bench_check_time(*seconds, err) : LGV_OK;
}

static lgv_status best_of(clockid_t clock, bench_work work, void *context, double *seconds,
                          lgv_error *err) {
  double start = lgv__clock(clock), taken, once;
  LGV_TRY(repeat(clock, work, context, 1, seconds, err)); /* warms the caches up */
  if (*seconds < effort->most_time) LGV_TRY(repeat(clock, work, context, 1, seconds, err));
  int times = (int)ceil(least_repetition / fmax(*seconds, 1e-8));
  taken = lgv__clock(clock) - start;
  for (int n = 0; taken < effort->least_time ||
                  (n < ENOUGH_REPETITIONS && taken + *seconds < effort->most_time);
       n++) {
    LGV_TRY(repeat(clock, work, context, times, &once, err));
    LGV_TRY(bench_check_time(once, err));
    if (once < *seconds) *seconds = once;
    taken = lgv__clock(clock) - start;
  }
  return LGV_OK;
}

lgv_status bench_best(bench_work work, void *context, double *seconds, lgv_error *err) {
  return best_of(CLOCK_THREAD_CPUTIME_ID, work, context, seconds, err);
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
  if (!bench_is_wanted(report, name)) return LGV_OK;
  LGV_TRY(bench_best(work, context, &seconds, err));
  return bench_record(report, name, count, seconds, err);
}

lgv_status bench_measure_wall(bench_report *report, const char *name, bench_count count,
                              bench_work work, void *context, lgv_error *err) {
  double seconds;
  if (!bench_is_wanted(report, name)) return LGV_OK;
  LGV_TRY(best_of(CLOCK_MONOTONIC, work, context, &seconds, err));
  return bench_record(report, name, count, seconds, err);
}

lgv_status bench_settings(const char *list, lgv_settings **settings, lgv_error *err) {
  char copy[512];
  *settings = NULL;
  LGV_TRY(lgv_settings_create(settings, err));
  snprintf(copy, sizeof copy, "%s", list);
  char *rest = copy;
  for (char *item; (item = strsep(&rest, " "));)
    if (*item) LGV_TRY(lgv_settings_assign(*settings, item, "bench", err));
  return LGV_OK;
}

/* ---- Results ---- */

double bench_unit_seconds(const bench_line *line) { return line->seconds / line->count.units; }

double bench_rate(const bench_line *line) {
  return line->count.operations > 0 ? line->count.operations / line->seconds : NAN;
}

double bench_share(const bench_report *report, const bench_line *line) {
  double limit = report->limit[line->count.limit];
  return limit > 0 ? bench_rate(line) / limit : NAN;
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
    double *limit = &report->limit[line->count.limit];
    if (is_limit(line->group)) *limit = fmax(*limit, bench_rate(line));
  }
  return LGV_OK;
}

lgv_status bench_run(const bench_request *request, bench_report *report, lgv_error *err) {
  bool chosen[BENCH_MOST_GROUPS];
  void *state[BENCH_MOST_GROUPS] = {0};
  *report = (bench_report){.only = request->only};
  memcpy(chosen, request->wanted, sizeof chosen);
  effort = &efforts[request->effort];
  for (size_t g = 0; bench_groups[g]; g++)
    if (chosen[g] && bench_groups[g]->needs_limits)
      for (size_t limits = 0; limits < LIMIT_GROUPS; limits++) chosen[limits] = true;
  lgv_status status = LGV_OK;
  for (size_t g = 0; status == LGV_OK && bench_groups[g]; g++)
    if (chosen[g] && bench_groups[g]->open) status = bench_groups[g]->open(&state[g], err);
  if (status == LGV_OK) status = run_rounds(request, chosen, state, report, err);
  for (size_t g = 0; bench_groups[g]; g++)
    if (chosen[g] && bench_groups[g]->close) bench_groups[g]->close(state[g]);
  return status;
}
