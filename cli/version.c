#include "cli.h"

static const cli_option options[] = {{0}};

static int version_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  while (cli_next(&args)) cli_reject(&args, "unexpected '%s'", args.value);
  if (args.stopped) return args.exit_code;
  printf("langevin %s (kernels: %s)\n", lgv_version(), lgv_kernels());
  return CLI_OK;
}

const cli_command cli_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "",
    .options = options,
    .main = version_main,
};
