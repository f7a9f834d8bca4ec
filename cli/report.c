#include "cli.h"

#include <limits.h>
#include <stdlib.h>

enum { OUT, TITLE, MEASURE, STATISTIC, THRESHOLD, WHERE, LABEL };

static const cli_option options[] = {
    [OUT] = {"out", 'o', "FILE", "the page (default: report.html in the first directory)"},
    [TITLE] = {"title", 't', "TEXT", "the title (default: the first directory)"},
    [MEASURE] = {"measure", 'm', "NAME",
                 "the measure of tables and bars (default: regret, or final_return without it)"},
    [STATISTIC] = {"statistic", 's', "NAME", "of figures: mean (default), median, iqm"},
    [THRESHOLD] = {"threshold", 0, "T", "show also when runs reached T, or T% of the optimum"},
    [WHERE] = {"where", 0, "KEY=VALUE,...", "only runs with these settings"},
    [LABEL] = {"label", 0, "KEY,...", "label by the values of these settings"},
    {0},
};

static void parse(cli_args *args, lgv_page *page, const char **inputs) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case OUT: page->out = args->value; break;
    case TITLE: page->title = args->value; break;
    case MEASURE: page->measure = args->value; break;
    case STATISTIC: page->statistic = args->value; break;
    case THRESHOLD: page->threshold = args->value; break;
    case WHERE: page->where = args->value; break;
    case LABEL: page->label = args->value; break;
    default: inputs[page->count++] = args->value;
    }
  }
  if (page->count == 0 && !args->stopped)
    cli_reject(args, "which runs? name their directories, or that of a sweep");
}

static int report_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  lgv_page page = {0};
  char path[PATH_MAX + 16];
  lgv_error err = {0};
  const char **inputs = calloc((size_t)count + 1, sizeof *inputs);
  if (!inputs) return cli_wrong(command, "not enough memory");
  page.inputs = inputs;
  parse(&args, &page, inputs);
  int code = args.exit_code;
  if (!args.stopped) {
    snprintf(path, sizeof path, "%.*s/report.html", PATH_MAX, lgv__input_directory(inputs[0]));
    if (!page.out) page.out = path;
    code = lgv__page_write(&page, &err) == LGV_OK ? CLI_OK : cli_error(command, &err);
    if (code == CLI_OK) cli_say(stdout, "wrote %s\n", page.out);
  }
  free(inputs);
  return code;
}

const cli_command cli_report = {
    .name = "report",
    .summary = "one HTML page of runs: tables, figures, settings, commands",
    .usage = "[LABEL=]DIR... [--out FILE.html] [OPTIONS]",
    .options = options,
    .notes = "Each directory is a run, holds the seeds of one, or the directories of several "
             "experiments, such as a sweep. The page needs no network and no other file; values "
             "appear where the pointer is.",
    .main = report_main,
};

/* ---- show ---- */

static const cli_option no_options[] = {{0}};

static int show_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  const char *directory = NULL;
  lgv_error err = {0};
  while (cli_next(&args)) {
    if (directory)
      cli_reject(&args, "one directory at a time; `langevin compare` takes several");
    else
      directory = args.value;
  }
  if (!directory && !args.stopped) cli_reject(&args, "which run? name its directory");
  if (args.stopped) return args.exit_code;
  cli_text text;
  cli_text_open(&text);
  if (!text.out) return cli_wrong(command, "out of memory");
  lgv_status status = lgv__show(directory, text.out, &err);
  cli_text_print(&text);
  return status == LGV_OK ? CLI_OK : cli_error(command, &err);
}

const cli_command cli_show = {
    .name = "show",
    .summary = "describe a directory of runs: configuration, result, time, files",
    .usage = "DIR",
    .options = no_options,
    .notes = "DIR is the directory of a run, of its seeds (seed-0, seed-1, ...), or of several "
             "experiments, such as a sweep; or an agent that Python saved. Settings that differ "
             "from the defaults come first, "
             "with a command that repeats the run.",
    .main = show_main,
};
