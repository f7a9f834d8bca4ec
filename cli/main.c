/* langevin: the command line of liblangevin. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const cli_command *const cli_commands[] = {
    &cli_run,   &cli_sweep,  &cli_tune,  &cli_zoo,  &cli_reproduce, &cli_eval,
    &cli_watch, &cli_export, &cli_plot,  &cli_show, &cli_compare,   &cli_report,
    &cli_list,  &cli_theory, &cli_bench, &cli_help, &cli_version,   NULL,
};

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
    .options = (const cli_option[]){{0}},
    .main = version_main,
};

static const cli_command *find(const char *name) {
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return &cli_help;
  if (strcmp(name, "--version") == 0) return &cli_version;
  for (size_t i = 0; cli_commands[i]; i++)
    if (strcmp(cli_commands[i]->name, name) == 0) return cli_commands[i];
  return NULL;
}

static int unknown_command(const char *name) {
  const char *names[32] = {0};
  for (size_t i = 0; cli_commands[i]; i++) names[i] = cli_commands[i]->name;
  const char *near = lgv__nearest_name(name, names);
  fprintf(stderr, "langevin: there is no command '");
  lgv__put_visible(stderr, name);
  fputc('\'', stderr);
  if (near) fprintf(stderr, "; did you mean '%s'?", near);
  fprintf(stderr, "\n`langevin help` lists the commands\n");
  return CLI_USAGE;
}

/* Descriptors 0, 1 and 2 that are closed would be given to the files that are opened next, and
 * messages would end up in them. */
static bool open_standard_descriptors(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) {
      perror("langevin: cannot open /dev/null in place of a closed standard stream");
      return false;
    }
  return true;
}

int main(int argc, char **argv) {
  if (!open_standard_descriptors()) return CLI_FAILED;
  signal(SIGXFSZ, SIG_IGN); /* a file beyond its size limit fails as a full disk does */
  if (argc < 2) {
    cli_help.main(&cli_help, 0, NULL);
    return CLI_USAGE;
  }
  const cli_command *command = find(argv[1]);
  if (!command) return unknown_command(argv[1]);
  int code = command->main(command, argc - 2, argv + 2);
  bool failed = ferror(stdout); /* of an earlier write */
  if ((fflush(stdout) != 0 || failed) && code == CLI_OK) {
    perror("langevin: cannot write to standard output");
    code = CLI_FAILED;
  }
  if (lgv__output_is_incomplete() && code == CLI_OK) {
    fprintf(stderr, "langevin: not enough memory: the output lacks a part\n");
    code = CLI_FAILED;
  }
  return code;
}
