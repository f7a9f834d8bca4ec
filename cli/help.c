/* help: of the program, of a command, or the parameter table of an environment, agent, ... */
#include "cli.h"

#include <string.h>

static const cli_option options[] = {{0}};
static const char *const kinds[] = {"env", "agent", "optimizer", "run", NULL};

const char *cli_kind_prefix(const char *kind) {
  if (strcmp(kind, "optimizer") == 0) return "optim.";
  return strcmp(kind, "env") == 0 ? "env." : strcmp(kind, "agent") == 0 ? "agent." : "run.";
}

void cli_print_command(const cli_command *command, FILE *out) {
  fprintf(out, "langevin %s: %s\n\nusage: langevin %s %s\n\n", command->name, command->summary,
          command->name, command->usage);
  lgv_table table = lgv__table("ll");
  for (const cli_option *o = command->options; o->name; o++) {
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    lgv__table_cell(&table, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
                    o->argument ? o->argument : "");
    lgv__table_cell(&table, "%s", o->help);
  }
  lgv__table_cell(&table, "-h, --help");
  lgv__table_cell(&table, "this text");
  lgv__table_print(&table, out, 2, cli_terminal_width());
  if (!command->notes) return;
  fputc('\n', out);
  lgv_table notes = lgv__table("l"); /* wraps */
  for (const char *line = command->notes; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    lgv__table_cell(&notes, "%.*s", (int)strcspn(line, "\n"), line);
  }
  lgv__table_print(&notes, out, 0, cli_terminal_width());
}

static void print_overview(void) {
  printf("langevin %s: randomized exploration in reinforcement learning\n\n"
         "usage: langevin COMMAND [OPTIONS]\n\n",
         lgv_version());
  lgv_table table = lgv__table("ll");
  for (size_t i = 0; cli_commands[i]; i++) {
    lgv__table_cell(&table, "%s", cli_commands[i]->name);
    lgv__table_cell(&table, "%s", cli_commands[i]->summary);
  }
  lgv__table_print(&table, stdout, 2, cli_terminal_width());
  printf("\nfor example:\n"
         "  langevin run --env riverswim --agent lmc-lsvi --episodes 1000 --seeds 10\n"
         "  langevin help run              options of a command\n"
         "  langevin help agent lmc-lsvi   parameters of an agent\n");
}

static void print_entry(const char *kind, const lgv_entry *entry) {
  bool is_run = strcmp(kind, "run") == 0;
  const char *prefix = cli_kind_prefix(kind);
  if (is_run)
    printf("Parameters of the run: %s\n\n", entry->summary);
  else
    printf("%s %s: %s\n\n", kind, entry->name, entry->summary);
  if (!entry->params || !entry->params->name) {
    printf("It has no parameters.\n");
    return;
  }
  lgv_table table = lgv__table("llll");
  const char *const head[] = {"parameter", "default", "accepts", "meaning"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&table, "%s", head[i]);
  for (const lgv_param *p = entry->params; p->name; p++) {
    char range[512];
    lgv_param_range(p, range, sizeof range);
    lgv__table_cell(&table, "%s%s", prefix, p->name);
    lgv__table_cell(&table, "%s", p->default_text[0] ? p->default_text : "\"\"");
    lgv__table_cell(&table, "%s", range);
    lgv__table_cell(&table, "%s", p->help);
  }
  lgv__table_print(&table, stdout, 0, cli_terminal_width());
  printf("\nset them with --set %s%s=VALUE, or in a file: %.*s: {%s: VALUE}\n", prefix,
         entry->params->name, (int)strlen(prefix) - 1, prefix, entry->params->name);
}

static int help_kind(const cli_command *command, const char *kind, const char *name) {
  lgv_entry entry;
  if (lgv_registry_find(kind, name, &entry)) {
    print_entry(kind, &entry);
    return CLI_OK;
  }
  const char *near = lgv_registry_nearest(kind, name);
  return cli_wrong(command, "there is no %s '%s'%s%s%s `langevin list %ss` shows all", kind, name,
                   near ? "; did you mean '" : ";", near ? near : "", near ? "'?" : "", kind);
}

/* The run's own parameters, below the options of the command. */
static int help_run(void) {
  lgv_entry entry;
  fputc('\n', stdout);
  if (lgv_registry_get("run", 0, &entry)) print_entry("run", &entry);
  return CLI_OK;
}

/* A command, or the name of anything in the registry. */
static int help_name(const cli_command *command, const char *name) {
  lgv_entry entry;
  for (size_t i = 0; cli_commands[i]; i++)
    if (strcmp(cli_commands[i]->name, name) == 0) {
      cli_print_command(cli_commands[i], stdout);
      if (cli_commands[i] == &cli_run) return help_run();
      return CLI_OK;
    }
  for (size_t k = 0; kinds[k]; k++)
    if (lgv_registry_find(kinds[k], name, &entry)) {
      print_entry(kinds[k], &entry);
      return CLI_OK;
    }
  for (size_t k = 0; kinds[k]; k++) {
    const char *near = lgv_registry_nearest(kinds[k], name);
    if (near) return cli_wrong(command, "nothing is called '%s'; did you mean '%s'?", name, near);
    if (strcmp(kinds[k], name) == 0)
      return cli_wrong(command, "which %s? `langevin list %ss` shows them", name, name);
  }
  return cli_wrong(command,
                   "nothing is called '%s'; `langevin help` shows the commands, "
                   "`langevin list` the rest",
                   name);
}

static int help_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  const char *names[2] = {0};
  int n = 0;
  while (cli_next(&args)) {
    if (n < 2)
      names[n++] = args.value;
    else
      cli_reject(&args, "unexpected '%s'", args.value);
  }
  if (args.stopped) return args.exit_code;
  if (n == 0) {
    print_overview();
    return CLI_OK;
  }
  if (n == 1) return help_name(command, names[0]);
  const char *kind = strcmp(names[0], "optimiser") == 0 ? "optimizer" : names[0];
  if (strcmp(kind, "run") == 0) return help_run();
  for (size_t k = 0; kinds[k]; k++)
    if (strcmp(kinds[k], kind) == 0) return help_kind(command, kinds[k], names[1]);
  return cli_wrong(command, "'%s' is none of env, agent, optimizer, run", names[0]);
}

const cli_command cli_help = {
    .name = "help",
    .summary = "explain a command, or the parameters of an environment, agent or optimizer",
    .usage = "[COMMAND | [env|agent|optimizer] NAME]",
    .options = options,
    .main = help_main,
};
