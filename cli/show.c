#include "cli.h"

static const cli_option options[] = {{0}};

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
  return lgv__show(directory, stdout, &err) == LGV_OK ? CLI_OK : cli_error(command, &err);
}

const cli_command cli_show = {
    .name = "show",
    .summary = "what a directory of runs holds: configuration, result, time, files",
    .usage = "DIR",
    .options = options,
    .notes = "The directory is that of a run, of its seeds (seed-0, seed-1, ...), or of several "
             "experiments, as that of a sweep. Settings that differ from the defaults come first, "
             "with a command that repeats the run.",
    .main = show_main,
};
