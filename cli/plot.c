#include "cli.h"

#include <stdlib.h>

enum {
  OUT,
  Y,
  X,
  BARS,
  OVER,
  HEAT,
  PROFILE,
  VALUES,
  STATISTIC,
  BAND,
  SMOOTH,
  OPTIMAL,
  WHERE,
  LABEL,
  TITLE,
  WIDTH
};

static const cli_option options[] = {
    [OUT] = {"out", 'o', "FILE", "write FILE.svg, FILE.pdf or FILE.png (300 dpi)"},
    [Y] = {"y", 'y', "COLUMN",
           "column of metrics.csv (default: eval_return, regret, value or return); with the "
           "other kinds a measure of runs, or a quotient of two, such as regret/optimal_value "
           "(default: "
           "final_return)"},
    [X] = {"x", 'x', "COLUMN", "step or episode (default: episode for regret and value)"},
    [BARS] = {"bars", 0, NULL, "bars of results instead of curves"},
    [OVER] = {"over", 0, "KEY", "with --bars: a group of bars for each value of a setting (env.n)"},
    [HEAT] = {"heat", 0, "KEY,KEY", "a heat map: results by the values of two settings"},
    [PROFILE] = {"profile", 0, NULL, "performance profiles: shares of runs beyond a result"},
    [VALUES] = {"values", 0, NULL,
                "draw the values that the agent of one run or checkpoint gives to states and "
                "actions, beside the optimal ones"},
    [STATISTIC] = {"statistic", 's', "NAME",
                   "over runs: mean (default), median, iqm (interquartile mean), task-median"},
    [BAND] = {"band", 0, "NAME", "interval (default: 95 % bootstrap) or se (standard error)"},
    [SMOOTH] = {"smooth", 0, "W", "draw means of W rows, the row itself the last (default 1)"},
    [OPTIMAL] = {"optimal", 0, "V",
                 "with --y regret: add up V - return where regret was not recorded"},
    [WHERE] = {"where", 0, "KEY=VALUE,...", "only runs with these settings"},
    [LABEL] = {"label", 0, "KEY,...", "label by the values of these settings"},
    [TITLE] = {"title", 't', "TEXT", "above the figure"},
    [WIDTH] = {"width", 'w', "MM", "millimetres (default 89, one column; two columns are 183)"},
    {0},
};

static void set_kind(cli_args *args, lgv_plot *plot, lgv_plot_kind kind) {
  if (plot->kind != LGV_PLOT_CURVES && plot->kind != kind)
    cli_reject(args, "one kind of figure at a time: --bars, --heat or --profile");
  plot->kind = kind;
}

static void parse(cli_args *args, lgv_plot *plot, const char **inputs, bool *values) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case OUT: plot->out = args->value; break;
    case Y: plot->y = args->value; break;
    case X: plot->x = args->value; break;
    case TITLE: plot->title = args->value; break;
    case SMOOTH: plot->smooth = (size_t)cli_value_int(args, 1, 1000000000); break;
    case BARS: set_kind(args, plot, LGV_PLOT_BARS); break;
    case PROFILE: set_kind(args, plot, LGV_PLOT_PROFILE); break;
    case VALUES: *values = true; break;
    case HEAT:
      set_kind(args, plot, LGV_PLOT_HEAT);
      plot->heat = args->value;
      break;
    case OPTIMAL: plot->optimal = cli_value_real(args); break;
    case OVER: plot->over = args->value; break;
    case STATISTIC: plot->statistic = args->value; break;
    case BAND: plot->band = args->value; break;
    case WHERE: plot->where = args->value; break;
    case LABEL: plot->label = args->value; break;
    case WIDTH:
      plot->width = cli_value_real(args);
      if (!args->stopped && !(plot->width >= 30 && plot->width <= 1000))
        cli_reject(args, "--width takes 30 to 1000 millimetres, not '%s'", args->value);
      break;
    default: inputs[plot->count++] = args->value;
    }
  }
  if (args->stopped) return;
  if (plot->count == 0)
    cli_reject(args, "which runs? name their directories, such as runs/riverswim-lmc-lsvi-1");
  else if (!plot->out)
    cli_reject(args, "where to? --out FILE.svg, FILE.pdf or FILE.png");
  else if (*values && (plot->count > 1 || plot->kind != LGV_PLOT_CURVES))
    cli_reject(args, "--values draws one run at a time, and is a kind of its own");
  else if (plot->over && plot->kind != LGV_PLOT_BARS)
    cli_reject(args, "--over KEY is for --bars");
}

static int draw(const cli_command *command, const lgv_plot *plot, bool values) {
  lgv_error err = {0};
  cli_text notes;
  cli_text_open(&notes);
  if (!notes.out) return cli_wrong(command, "not enough memory");
  lgv_status status = values ? lgv__plot_values(plot->inputs[0], plot->out, &err)
                             : lgv__plot(plot, notes.out, &err);
  if (status == LGV_OK) fprintf(notes.out, "wrote %s\n", plot->out);
  cli_text_print(&notes);
  return status == LGV_OK ? CLI_OK : cli_error(command, &err);
}

static int plot_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  lgv_plot plot = {0};
  const char **inputs = calloc((size_t)count + 1, sizeof *inputs);
  if (!inputs) return cli_wrong(command, "not enough memory");
  plot.inputs = inputs;
  bool values = false;
  parse(&args, &plot, inputs, &values);
  int code = args.exit_code;
  if (!args.stopped) code = draw(command, &plot, values);
  free(inputs);
  return code;
}

const cli_command cli_plot = {
    .name = "plot",
    .summary = "draw learning curves, bars, heat maps or performance profiles",
    .usage = "[LABEL=]DIR... --out FILE [--y COLUMN] [OPTIONS]",
    .options = options,
    .notes =
        "Each directory is a run, or holds the seeds of one (seed-0, seed-1, ...), or the "
        "directories of several experiments, such as a sweep. The line is the mean over seeds, "
        "the band the 95 % percentile bootstrap interval of the mean.\n"
        "Labels are the agent, the environment, the settings that differ or the name of the "
        "directory, whichever distinguishes the directories; LABEL=DIR sets one. Directories of "
        "one "
        "label are one curve or bar; their runs are resampled within each.",
    .main = plot_main,
};
