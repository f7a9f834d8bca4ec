#include "cli.h"

#include <stdlib.h>

enum { MEASURE, BEST, THRESHOLD, Y, X, WINDOW, WHERE, LABEL, CSV, JSON, MARKDOWN };

static const cli_option options[] = {
    [MEASURE] = {"measure", 'm', "NAME",
                 "of runs: final_return (default), mean_return, regret, solved_episode, steps, "
                 "episodes, processor_seconds, or a quotient such as regret/optimal_value"},
    [BEST] = {"best", 0, "WHICH", "lowest or highest (default: depends on the measure)"},
    [THRESHOLD] = {"threshold", 0, "T",
                   "also how long runs took to reach T, or T% of the optimal value"},
    [Y] = {"y", 'y', "COLUMN",
           "column of metrics.csv for --threshold (default: eval_return, else value, return)"},
    [X] = {"x", 'x', "COLUMN", "step or episode (default: step; episode for value)"},
    [WINDOW] = {"window", 0, "W", "means of W rows reach the threshold (default 1)"},
    [WHERE] = {"where", 0, "KEY=VALUE,...", "only runs with these settings"},
    [LABEL] = {"label", 0, "KEY,...", "a row for each combination of values of these settings"},
    [CSV] = {"csv", 0, NULL, "print CSV, with all digits"},
    [JSON] = {"json", 0, NULL, "print one JSON object"},
    [MARKDOWN] = {"markdown", 0, NULL, "print a Markdown table"},
    {0},
};

typedef struct request {
  lgv_selection selection;
  lgv_compare how;
  int format; /* CSV, JSON, MARKDOWN; else text */
} request;

static void parse(cli_args *args, request *r, const char **inputs) {
  while (cli_next(args)) {
    int which = cli_which(args);
    switch (which) {
    case MEASURE: r->how.measure = args->value; break;
    case BEST: r->how.best = args->value; break;
    case THRESHOLD: r->how.threshold = args->value; break;
    case Y: r->how.y = args->value; break;
    case X: r->how.x = args->value; break;
    case WINDOW: r->how.window = (size_t)cli_value_int(args, 1, 1000000000); break;
    case WHERE: r->selection.where = args->value; break;
    case LABEL: r->selection.label = args->value; break;
    case CSV:
    case JSON:
    case MARKDOWN: r->format = which; break;
    default: inputs[r->selection.count++] = args->value;
    }
  }
  if (args->stopped) return;
  if (r->selection.count == 0)
    cli_reject(args, "which runs? name their directories, or that of a sweep");
  else if (!r->how.threshold && (r->how.y || r->how.x || r->how.window))
    cli_reject(args, "--y, --x and --window belong to --threshold T");
}

static int print(const cli_command *command, const request *r, const lgv_comparison *c) {
  if (r->format == JSON) {
    lgv_json json = {0};
    lgv__comparison_json(c, &json);
    return cli_print_json(command, &json);
  }
  if (r->format == CSV) {
    lgv__comparison_csv(c, stdout);
    return CLI_OK;
  }
  char notes[1024];
  lgv_table table = lgv__comparison_table(c);
  lgv__comparison_notes(c, notes, sizeof notes);
  if (r->format == MARKDOWN) {
    lgv__table_markdown(&table, stdout);
    printf("\n%s\n", notes);
    return CLI_OK;
  }
  lgv__table_print(&table, stdout, 0, cli_terminal_width());
  lgv_table text = lgv__table("l"); /* wraps */
  lgv__table_cell(&text, "%s", notes);
  lgv__table_print(&text, stdout, 0, cli_terminal_width());
  return CLI_OK;
}

static int compare(const cli_command *command, const request *r) {
  lgv_groups groups;
  lgv_comparison comparison;
  lgv_error err = {0};
  if (lgv__groups_open(&groups, &r->selection, &err) != LGV_OK) return cli_error(command, &err);
  int code = CLI_OK;
  if (lgv__comparison_open(&comparison, &r->how, &groups, &err) == LGV_OK) {
    code = print(command, r, &comparison);
    lgv__comparison_close(&comparison);
  } else {
    code = cli_error(command, &err);
  }
  lgv__groups_close(&groups);
  return code;
}

static int compare_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  const char **inputs = calloc((size_t)count + 1, sizeof *inputs);
  request r = {.selection = {.inputs = inputs, .over = "env."}, .format = -1};
  if (!inputs) return cli_wrong(command, "not enough memory");
  parse(&args, &r, inputs);
  int code = args.stopped ? args.exit_code : compare(command, &r);
  free(inputs);
  return code;
}

const cli_command cli_compare = {
    .name = "compare",
    .summary = "a table of agents: means, intervals, chances of being better",
    .usage = "[LABEL=]DIR... [--measure NAME] [--threshold T] [OPTIONS]",
    .options = options,
    .notes =
        "Each directory is a run, holds the seeds of one, or the directories of several "
        "experiments, such as a sweep. A row is an agent, over all its environments: runs are "
        "resampled within each, and environments weigh the same, so that a measure should have the "
        "same scale in all (final_return/optimal_value). Runs that have not finished are left "
        "out. The definitions are in docs/statistics.md.",
    .main = compare_main,
};
