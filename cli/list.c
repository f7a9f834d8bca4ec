#include "cli.h"

#include <string.h>

enum { JSON };

static const cli_option options[] = {
    [JSON] = {"json", 0, NULL, "print one JSON object with every parameter and preset"},
    {0},
};

static const struct {
  const char *word, *kind;
} kinds[] = {
    {"envs", "env"}, {"agents", "agent"}, {"optimizers", "optimizer"}, {"features", "features"}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* "envs", "env", "optimizers" and the like; -1 if it is none of them. */
static int find_kind(const char *word) {
  if (strncmp(word, "optimiser", 9) == 0) return 2; /* the British spelling, too */
  for (int i = 0; i < KINDS; i++)
    if (strcmp(word, kinds[i].word) == 0 || strcmp(word, kinds[i].kind) == 0) return i;
  return -1;
}

static void print_kind(int kind) {
  lgv_entry entry;
  lgv_table table = lgv__table("ll");
  for (size_t i = 0; lgv_registry_get(kinds[kind].kind, i, &entry); i++) {
    if (i == 0) printf("%s\n", kinds[kind].word);
    lgv__table_cell(&table, "%s", entry.name);
    lgv__table_cell(&table, "%s", entry.summary);
  }
  if (strcmp(kinds[kind].kind, "agent") == 0) {
    lgv__table_cell(&table, "auto");
    lgv__table_cell(&table, "%s", lgv_auto_rule());
  }
  lgv__table_print(&table, stdout, 2, cli_terminal_width());
}

static void json_params(lgv_json *json, const lgv_param *params) {
  static const char *const types[] = {
      [LGV_REAL] = "real", [LGV_INT] = "int",   [LGV_BOOL] = "bool", [LGV_CHOICE] = "choice",
      [LGV_TEXT] = "text", [LGV_INTS] = "ints", [LGV_MAP] = "map"};
  lgv__json_open(json, "params", '[');
  for (; params && params->name; params++) {
    char range[512];
    lgv_param_range(params, range, sizeof range);
    lgv__json_open(json, NULL, '{');
    lgv__json_string(json, "name", params->name);
    lgv__json_string(json, "type", types[params->type]);
    lgv__json_string(json, "default", params->default_text);
    lgv__json_string(json, "accepts", range);
    lgv__json_string(json, "help", params->help);
    lgv__json_close(json, '}');
  }
  lgv__json_close(json, ']');
}

static void json_presets(lgv_json *json, const lgv_preset *presets) {
  lgv__json_open(json, "presets", '{');
  for (; presets && presets->name; presets++)
    lgv__json_string(json, presets->name, presets->values);
  lgv__json_close(json, '}');
}

static void json_kind(lgv_json *json, int kind) {
  lgv_entry entry;
  lgv__json_open(json, kinds[kind].word, '[');
  for (size_t i = 0; lgv_registry_get(kinds[kind].kind, i, &entry); i++) {
    lgv__json_open(json, NULL, '{');
    lgv__json_string(json, "name", entry.name);
    lgv__json_string(json, "summary", entry.summary);
    if (strcmp(kinds[kind].kind, "agent") == 0)
      lgv__json_string(json, "takes", cli_agent_takes(&entry));
    if (entry.source) lgv__json_string(json, "source", entry.source);
    if (entry.optimizer) lgv__json_string(json, "optimizer", entry.optimizer);
    json_params(json, entry.params);
    if (entry.presets) json_presets(json, entry.presets);
    lgv__json_close(json, '}');
  }
  lgv__json_close(json, ']');
}

static int list_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  bool json = false, wanted[KINDS] = {0}, any = false;
  while (cli_next(&args)) {
    if (cli_which(&args) == JSON) {
      json = true;
      continue;
    }
    int kind = find_kind(args.value);
    if (kind < 0) {
      cli_reject(&args, "'%s' is none of envs, agents, optimizers, features", args.value);
      break;
    }
    wanted[kind] = any = true;
  }
  if (args.stopped) return args.exit_code;
  lgv_json text = {0};
  if (json) lgv__json_open(&text, NULL, '{');
  for (int k = 0; k < KINDS; k++) {
    if (any && !wanted[k]) continue;
    if (json)
      json_kind(&text, k);
    else
      print_kind(k);
  }
  if (!json) return CLI_OK;
  lgv__json_close(&text, '}');
  return cli_print_json(command, &text);
}

const cli_command cli_list = {
    .name = "list",
    .summary = "list environments, agents, optimizers and feature maps",
    .usage = "[envs|agents|optimizers|features] [--json]",
    .options = options,
    .notes = "`langevin help NAME` shows the parameters of one of them.",
    .main = list_main,
};
