/* help: for the program, a command, or the parameters of an environment, agent or optimizer. The
 * values of presets stand beside the defaults, since presets decide what a user gets. */
#include "cli.h"

#include <assert.h>
#include <string.h>

enum { ENV };

static const cli_option options[] = {
    [ENV] = {"env", 'e', "NAME", "with an agent: the values that it gets on this environment"},
    {0},
};
static const char *const kinds[] = {"env", "agent", "optimizer", "features", "run", NULL};

const char *cli_kind_prefix(const char *kind) {
  if (strcmp(kind, "optimizer") == 0) return "optim.";
  if (strcmp(kind, "features") == 0) return "features.";
  return strcmp(kind, "env") == 0 ? "env." : strcmp(kind, "agent") == 0 ? "agent." : "run.";
}

const char *cli_agent_takes(const lgv_entry *agent) {
  if (agent->traits & LGV_TAKES_BOX) return "continuous actions";
  if (agent->traits & LGV_TAKES_FEATURES)
    return "discrete actions; finitely many states and a horizon, or a feature map";
  if (agent->traits & LGV_NEEDS_STATES) return "discrete actions, finitely many states, a horizon";
  bool several = agent->traits & LGV_TAKES_MULTI_DISCRETE;
  return several ? "discrete and multi-discrete actions" : "discrete actions";
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
  lgv__table_cell(&table, "print this text");
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

/* ---- Parameters ---- */

enum { MOST_PRESETS = 16, VALUE_SIZE = 512 };

/* An entry to explain, and the plan of a run with it (NULL: none). */
typedef struct topic {
  const char *kind;
  lgv_entry entry;
  const lgv_plan *plan;
  const char *env; /* of the plan */
  size_t presets;
} topic;

/* Finds key=value in the values of a preset; false if the preset leaves the key open. */
static bool preset_value(const lgv_preset *preset, const char *key, char *value) {
  size_t length = strlen(key);
  for (const char *at = preset->values; *at; at += strcspn(at, " "), at += strspn(at, " "))
    if (strncmp(at, key, length) == 0 && at[length] == '=') {
      const char *text = at + length + 1;
      snprintf(value, VALUE_SIZE, "%.*s", (int)strcspn(text, " "), text);
      return true;
    }
  return false;
}

/* The parameter `preset` of a shared table accepts more names than this agent has. */
static void format_range(const topic *t, const lgv_param *p, char *text, size_t size) {
  lgv_param_range(p, text, size);
  if (t->presets == 0 || strcmp(p->name, "preset") != 0) return;
  bool has_auto = strcmp(p->default_text, "auto") == 0;
  size_t used = (size_t)snprintf(text, size, "%s", has_auto ? "auto" : "");
  for (size_t i = 0; i < t->presets && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " | " : "",
                             t->entry.presets[i].name);
}

static void print_head(lgv_table *table, const topic *t) {
  char chosen[VALUE_SIZE] = "";
  lgv_error err;
  assert(t->presets == 0 || t->entry.presets);
  if (t->plan && lgv_plan_get(t->plan, "agent.preset", chosen, sizeof chosen, &err) != LGV_OK)
    chosen[0] = '\0';
  lgv__table_cell(table, "parameter");
  if (t->plan) lgv__table_cell(table, "on %s", t->env);
  lgv__table_cell(table, "default");
  for (size_t i = 0; i < t->presets; i++) {
    const char *name = t->entry.presets[i].name;
    lgv__table_cell(table, "%s%s", strcmp(name, chosen) == 0 ? "*" : "", name);
  }
  lgv__table_cell(table, "accepts; meaning");
}

static void print_row(lgv_table *table, const topic *t, const char *key, const char *default_text,
                      const char *range, const char *help) {
  char value[VALUE_SIZE];
  lgv_error err;
  lgv__table_cell(table, "%s", key);
  if (t->plan) {
    bool known = lgv_plan_get(t->plan, key, value, sizeof value, &err) == LGV_OK;
    lgv__table_cell(table, "%s", !known ? "" : value[0] ? value : "\"\"");
  }
  lgv__table_cell(table, "%s", default_text[0] ? default_text : "\"\"");
  for (size_t i = 0; i < t->presets; i++)
    lgv__table_cell(table, "%s", preset_value(&t->entry.presets[i], key, value) ? value : "");
  lgv__table_cell(table, "%s; %s", range, help);
}

static void print_params(lgv_table *table, const topic *t, const char *prefix,
                         const lgv_param *params) {
  for (const lgv_param *p = params; p && p->name; p++) {
    char range[VALUE_SIZE], key[128];
    format_range(t, p, range, sizeof range);
    snprintf(key, sizeof key, "%s%s", prefix, p->name);
    print_row(table, t, key, p->default_text, range, p->help);
  }
}

/* The optimizer of an agent: presets set its parameters, too. On an environment it is the one that
 * is used there. */
static void print_optimizer(lgv_table *table, const topic *t) {
  char name[64];
  lgv_entry optimizer;
  lgv_error err;
  if (!t->entry.optimizer) return;
  if (!t->plan || lgv_plan_get(t->plan, "optim.name", name, sizeof name, &err) != LGV_OK)
    snprintf(name, sizeof name, "%s", t->entry.optimizer);
  print_row(table, t, "optim.name", t->entry.optimizer, "`langevin list optimizers`",
            "the parameters below are its own");
  if (lgv_registry_find("optimizer", name, &optimizer))
    print_params(table, t, "optim.", optimizer.params);
}

/* The parameter that a key outside the entry's own table means: of the run, or of whichever
 * optimizer has it. */
static bool find_param(const char *key, lgv_param *param) {
  const char *kind = strncmp(key, "run.", 4) == 0 ? "run" : "optimizer";
  const char *name = strchr(key, '.') + 1;
  lgv_entry entry;
  for (size_t i = 0; lgv_registry_get(kind, i, &entry); i++)
    for (const lgv_param *p = entry.params; p && p->name; p++)
      if (strcmp(p->name, name) == 0) {
        *param = *p;
        return true;
      }
  return false;
}

static bool is_printed(const lgv_table *table, const char *key) {
  for (size_t i = 0; i < table->count; i += table->columns)
    if (strcmp(table->cells[i], key) == 0) return true;
  return false;
}

/* Values of presets that have no row yet, such as those of another optimizer. */
static void print_rest(lgv_table *table, const topic *t) {
  assert(t->presets == 0 || t->entry.presets);
  for (size_t i = 0; i < t->presets; i++)
    for (const char *at = t->entry.presets[i].values; *at;) {
      char key[128], range[VALUE_SIZE];
      lgv_param p;
      snprintf(key, sizeof key, "%.*s", (int)strcspn(at, "="), at);
      at += strcspn(at, " ");
      at += strspn(at, " ");
      if (is_printed(table, key) || !find_param(key, &p)) continue;
      lgv_param_range(&p, range, sizeof range);
      print_row(table, t, key, p.default_text, range, p.help);
    }
}

static void print_auto(const topic *t) {
  const lgv_preset *presets = t->entry.presets;
  assert(presets);
  printf("agent.preset = auto takes `%s`", presets[0].name);
  for (const lgv_preset *p = presets; p->name; p++)
    if (p->picture_side > 0)
      printf(",\n`%s` for pictures of at least %d x %d", p->name, (int)p->picture_side,
             (int)p->picture_side);
  puts(".");
  puts(t->plan ? "* marks the one used here." : "--env NAME shows the values on an environment.");
}

static void print_notes(const topic *t) {
  const char *prefix = cli_kind_prefix(t->kind), *first = t->entry.params->name;
  if (t->presets > 0)
    printf("\nThe columns after `default` are presets; an empty field keeps the default. Your "
           "own settings win.\n");
  if (t->presets > 1 && strcmp(t->kind, "agent") == 0) print_auto(t);
  printf("\nSet them with --set %s%s=VALUE, or in a file: %.*s: {%s: VALUE}\n", prefix, first,
         (int)strlen(prefix) - 1, prefix, first);
}

static void print_topic(topic *t) {
  const lgv_entry *entry = &t->entry;
  if (strcmp(t->kind, "run") == 0)
    printf("Parameters of the run: %s\n\n", entry->summary);
  else
    printf("%s %s: %s\n", t->kind, entry->name, entry->summary);
  if (strcmp(t->kind, "agent") == 0) printf("takes: %s\n", cli_agent_takes(entry));
  if (entry->source) printf("source: %s\n", entry->source);
  if (strcmp(t->kind, "run") != 0) putchar('\n');
  if (!entry->params || !entry->params->name) {
    printf("It has no parameters.\n");
    return;
  }
  while (entry->presets && t->presets < MOST_PRESETS && entry->presets[t->presets].name)
    t->presets++;
  char align[MOST_PRESETS + 5] = "";
  memset(align, 'l', 3 + t->presets + (t->plan != NULL));
  lgv_table table = lgv__table(align);
  print_head(&table, t);
  print_params(&table, t, cli_kind_prefix(t->kind), entry->params);
  if (t->presets > 0) print_optimizer(&table, t);
  print_rest(&table, t);
  lgv__table_print(&table, stdout, 0, cli_terminal_width());
  print_notes(t);
}

static int reject_env(const cli_command *command) {
  return cli_wrong(command, "--env belongs to `langevin help agent NAME`");
}

/* The entry of a plan's agent: where auto was named, of the one that it picked. */
static lgv_status find_entry(const lgv_plan *plan, lgv_entry *entry, lgv_error *err) {
  char name[64];
  lgv_status status = lgv_plan_get(plan, "agent.name", name, sizeof name, err);
  if (status == LGV_OK) lgv_registry_find("agent", name, entry);
  return status;
}

/* The plan of a run with the agent on an environment, which is opened once. */
static int explain_on(const cli_command *command, topic *t, const char *env) {
  lgv_settings *settings = NULL;
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  if (strcmp(t->kind, "agent") != 0) return reject_env(command);
  lgv_status status = lgv_settings_create(&settings, &err);
  if (status == LGV_OK) status = lgv_settings_set(settings, "env.name", env, "--env", &err);
  if (status == LGV_OK)
    status = lgv_settings_set(settings, "agent.name", t->entry.name, NULL, &err);
  if (status == LGV_OK) status = lgv_plan_create(settings, &plan, &err);
  if (status == LGV_OK) status = find_entry(plan, &t->entry, &err);
  t->plan = plan;
  t->env = env;
  if (status == LGV_OK) print_topic(t);
  lgv_plan_free(plan);
  lgv_settings_free(settings);
  return status == LGV_OK ? CLI_OK : cli_error(command, &err);
}

static int explain(const cli_command *command, topic *t, const char *env) {
  if (env) return explain_on(command, t, env);
  print_topic(t);
  return CLI_OK;
}

/* agent.name = auto is no entry of the registry. */
static int explain_auto(const cli_command *command, const char *env) {
  topic t = {.kind = "agent", .entry.name = "auto"};
  if (env) return explain_on(command, &t, env);
  printf(
      "agent auto: %s\n\n"
      "It takes the parameters of the agent that it picks. --env NAME shows which one that is on "
      "an environment.\n",
      lgv_auto_rule());
  return CLI_OK;
}

static bool is_auto(const char *kind, const char *name) {
  return strcmp(kind, "agent") == 0 && strcmp(name, "auto") == 0;
}

/* ---- Names ---- */

static int help_kind(const cli_command *command, const char *kind, const char *name,
                     const char *env) {
  topic t = {.kind = kind};
  if (is_auto(kind, name)) return explain_auto(command, env);
  if (lgv_registry_find(kind, name, &t.entry)) return explain(command, &t, env);
  const char *near = lgv_registry_nearest(kind, name);
  return cli_wrong(command, "there is no %s '%s'%s%s%s `langevin list %ss` shows all", kind, name,
                   near ? "; did you mean '" : ";", near ? near : "", near ? "'?" : "", kind);
}

/* The run's own parameters, below the options of the command. */
static int help_run(void) {
  topic t = {.kind = "run"};
  putchar('\n');
  if (lgv_registry_get("run", 0, &t.entry)) print_topic(&t);
  return CLI_OK;
}

/* A command, or the name of anything in the registry. */
static int help_name(const cli_command *command, const char *name, const char *env) {
  topic t = {0};
  for (size_t i = 0; cli_commands[i]; i++)
    if (strcmp(cli_commands[i]->name, name) == 0) {
      if (env) return reject_env(command);
      cli_print_command(cli_commands[i], stdout);
      return cli_commands[i] == &cli_run ? help_run() : CLI_OK;
    }
  for (size_t k = 0; (t.kind = kinds[k]); k++)
    if (lgv_registry_find(t.kind, name, &t.entry)) return explain(command, &t, env);
  if (is_auto("agent", name)) return explain_auto(command, env);
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
  const char *names[2] = {0}, *env = NULL;
  int n = 0;
  while (cli_next(&args)) {
    if (cli_which(&args) == ENV)
      env = args.value;
    else if (n < 2)
      names[n++] = args.value;
    else
      cli_reject(&args, "unexpected '%s'", args.value);
  }
  if (args.stopped) return args.exit_code;
  if (env && n == 0) return reject_env(command);
  if (n == 0) {
    print_overview();
    return CLI_OK;
  }
  if (n == 1) return help_name(command, names[0], env);
  const char *kind = strcmp(names[0], "optimiser") == 0 ? "optimizer" : names[0];
  if (strcmp(kind, "run") == 0) return env ? reject_env(command) : help_run();
  for (size_t k = 0; kinds[k]; k++)
    if (strcmp(kinds[k], kind) == 0) return help_kind(command, kinds[k], names[1], env);
  return cli_wrong(command, "'%s' is none of env, agent, optimizer, features, run", names[0]);
}

const cli_command cli_help = {
    .name = "help",
    .summary =
        "explain a command, or the parameters of an environment, agent, optimizer or feature map",
    .usage = "[COMMAND | [env|agent|optimizer|features] NAME] [--env NAME]",
    .options = options,
    .main = help_main,
};
