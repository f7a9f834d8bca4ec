#include "bench/bench.h"

#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS, QUICK, ONLY, JSON };

static const cli_option options[] = {
    [ROUNDS] = {"rounds", 'r', "N", "how often to repeat all measurements (default 3)"},
    [QUICK] = {"quick", 'q', NULL, "one round with less time per line: half a minute in total"},
    [ONLY] = {"only", 0, "TEXT", "measure only lines with TEXT in their name, and the limits"},
    [JSON] = {"json", 0, NULL, "print one JSON object"},
    {0},
};

/* "1.24 ns": three digits, the precision of a measurement. */
static void format_time(double seconds, char *text, size_t size) {
  static const struct {
    double scale;
    const char *unit;
  } scales[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  int i = 0;
  while (i < 3 && seconds < scales[i].scale) i++;
  snprintf(text, size, "%.3g %s", seconds / scales[i].scale, scales[i].unit);
}

static void print_goal(lgv_table *table, const bench_report *report, const bench_line *line) {
  char limit[32];
  format_time(line->count.target, limit, sizeof limit);
  switch (line->count.goal) {
  case BENCH_SHARE: lgv__table_cell(table, ">= %.0f %%", 100 * line->count.target); break;
  case BENCH_SECONDS: lgv__table_cell(table, "<= %s", limit); break;
  case BENCH_NO_GOAL: lgv__table_cell(table, "-"); break;
  }
  lgv__table_cell(table, "%s",
                  line->count.goal == BENCH_NO_GOAL ? ""
                  : bench_is_met(report, line)      ? "yes"
                                                    : "no");
}

static void print_table(const bench_report *report) {
  const char *const head[] = {"group", "what",  "time",   "per", "per second",
                              "rate",  "share", "target", "met"};
  lgv_table table = lgv__table("llrlrrrrl");
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&table, "%s", head[i]);
  for (size_t l = 0; l < report->lines; l++) {
    const bench_line *line = &report->line[l];
    char time[32];
    double rate = bench_rate(line), share = bench_share(report, line);
    format_time(bench_unit_seconds(line), time, sizeof time);
    bool repeats = l > 0 && line->group == report->line[l - 1].group;
    lgv__table_cell(&table, "%s", repeats ? "" : line->group);
    lgv__table_cell(&table, "%s", line->name);
    lgv__table_cell(&table, "%s", time);
    lgv__table_cell(&table, "%s", line->count.unit);
    lgv__table_cell(&table, "%.4g", 1 / bench_unit_seconds(line));
    lgv__table_cell(&table, isnan(rate) ? "-" : "%.3g %s", 1e-9 * rate,
                    bench_limit_units[line->count.limit]);
    lgv__table_cell(&table, isnan(share) ? "-" : "%.1f %%", 100 * share);
    print_goal(&table, report, line);
  }
  lgv__table_print(&table, stdout, 0, cli_terminal_width());
}

static void json_line(lgv_json *json, const bench_report *report, const bench_line *line) {
  lgv__json_open(json, NULL, '{');
  lgv__json_string(json, "group", line->group);
  lgv__json_string(json, "name", line->name);
  lgv__json_string(json, "unit", line->count.unit);
  lgv__json_real(json, "seconds_per_unit", bench_unit_seconds(line));
  lgv__json_real(json, "operations_per_second", bench_rate(line));
  if (line->count.operations > 0)
    lgv__json_string(json, "limit", bench_limit_names[line->count.limit]);
  lgv__json_real(json, "share", bench_share(report, line));
  if (line->count.goal != BENCH_NO_GOAL) {
    bool share = line->count.goal == BENCH_SHARE;
    lgv__json_real(json, share ? "share_at_least" : "seconds_at_most", line->count.target);
    lgv__json_bool(json, "met", bench_is_met(report, line));
  }
  lgv__json_close(json, '}');
}

static void json_report(lgv_json *json, const bench_report *report) {
  lgv__json_open(json, NULL, '{');
  lgv__json_string(json, "version", lgv_version());
  lgv__json_string(json, "kernels", lgv_kernels());
  lgv__json_open(json, "limits", '{');
  for (int i = 0; i < BENCH_LIMITS; i++)
    if (report->limit[i] > 0) lgv__json_real(json, bench_limit_names[i], report->limit[i]);
  lgv__json_close(json, '}');
  lgv__json_open(json, "lines", '[');
  for (size_t l = 0; l < report->lines; l++) json_line(json, report, &report->line[l]);
  lgv__json_close(json, ']');
  lgv__json_close(json, '}');
}

static int print_json(const cli_command *command, const bench_report *report) {
  lgv_json json = {0};
  json_report(&json, report);
  return cli_print_json(command, &json);
}

static void choose_group(cli_args *args, bench_request *request) {
  char names[256] = "";
  for (size_t g = 0; bench_groups[g]; g++) {
    if (strcmp(bench_groups[g]->name, args->value) == 0) {
      request->wanted[g] = true;
      return;
    }
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", g ? ", " : "",
             bench_groups[g]->name);
  }
  cli_reject(args, "'%s' is none of %s", args->value, names);
}

static bool any_line_has(const bench_report *report, const char *text) {
  for (size_t l = 0; l < report->lines; l++)
    if (strstr(report->line[l].name, text)) return true;
  return false;
}

static int bench_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  bench_request request = {.rounds = 3};
  bool any = false, json = false, rounds_are_set = false;
  while (cli_next(&args)) {
    switch (cli_which(&args)) {
    case ROUNDS:
      request.rounds = (int)cli_value_int(&args, 1, 1000000);
      rounds_are_set = true;
      break;
    case QUICK: request.effort = BENCH_QUICK; break;
    case ONLY: request.only = args.value; break;
    case JSON: json = true; break;
    default: choose_group(&args, &request); any = true;
    }
  }
  if (args.stopped) return args.exit_code;
  if (request.effort == BENCH_QUICK && !rounds_are_set) request.rounds = 1;
  for (size_t g = 0; !any && bench_groups[g]; g++) request.wanted[g] = true;
  bench_report *report = calloc(1, sizeof *report);
  if (!report) return cli_wrong(command, "not enough memory");
  lgv_error err = {0};
  int code = CLI_OK;
  if (bench_run(&request, report, &err) != LGV_OK) {
    code = cli_error(command, &err);
  } else {
    if (request.only && !any_line_has(report, request.only))
      code = cli_wrong(command, "no measured line has '%s' in its name", request.only);
    if (report->skipped[0]) fprintf(stderr, "%s\n", report->skipped);
    if (code == CLI_OK && json)
      code = print_json(command, report);
    else if (code == CLI_OK)
      print_table(report);
  }
  free(report);
  return code;
}

const cli_command cli_bench = {
    .name = "bench",
    .summary = "measure networks, optimizers and runs on this machine",
    .usage = "[GROUP...] [--quick] [--only TEXT] [--rounds N] [--json]",
    .options = options,
    .notes =
        "Groups; without a name, all of them:\n"
        "machine: multiply-adds, reading from caches and memory, normal numbers: limits.\n"
        "yardstick: large matrix products by our kernels and by OpenBLAS; the fastest is the limit "
        "of networks.\n"
        "net: passes through networks, as a share of that limit; only useful operations count.\n"
        "optim: steps of the optimizers, noise included.\n"
        "deep: whole updates and actions of every deep agent.\n"
        "continuous: whole updates of every agent for continuous actions.\n"
        "block: products of tiles of bf16, as a share of that limit, and conversions to tiles.\n"
        "precision: updates, passes and acting in float, bf16x3 and bf16 (agent.precision).\n"
        "replay: drawing minibatches, uniformly and by priority.\n"
        "linear: episodes of every linear agent.\n"
        "env: steps of every environment of the library, and the images of Atari.\n"
        "run: whole runs and updates of agents.\n"
        "checkpoint: writing and reading them (wall-clock time).\n"
        "bridge: the cost of a Gymnasium environment beyond a plain Python loop over it "
        "(wall-clock "
        "time).\n"
        "Other times are the CPU time of one thread, the best of many repetitions.",
    .main = bench_main,
};
