/* zoo: the folder zoo/ has an agent for each task: its settings (config.yaml), its card (README.md)
 * and, where it is small, its model. This command finds them and hands them to others. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_AGENTS = 256, MOST_WORDS = 64, LINE_SIZE = 1024 };

static int cannot_read(const cli_command *command, const char *path) {
  cli_wrong(command, "cannot read %s: %s", path, strerror(errno));
  return CLI_FAILED;
}

/* Copies a text file to stdout; of a list only the lines of its table. */
static int print_file(const cli_command *command, const char *path, bool table_only) {
  char line[LINE_SIZE];
  FILE *file = fopen(path, "r");
  if (!file) return cannot_read(command, path);
  while (fgets(line, sizeof line, file))
    if (!table_only || line[0] == '|') cli_say(stdout, "%s", line);
  int code = ferror(file) ? cannot_read(command, path) : CLI_OK;
  fclose(file);
  return code;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static int no_such_agent(const cli_command *command, const char *folder, const char *wanted) {
  char *names[MOST_AGENTS + 1] = {0};
  size_t count = 0;
  DIR *stream = opendir(folder);
  for (const struct dirent *entry; stream && (entry = readdir(stream));)
    if (!strchr(entry->d_name, '.') && count < MOST_AGENTS &&
        (names[count] = strdup(entry->d_name)))
      count++;
  if (stream) closedir(stream);
  qsort(names, count, sizeof *names, compare_names);
  const char *near = lgv__nearest_name(wanted, (const char *const *)names);
  cli_wrong(command, "the zoo has no '%s'%s%s%s `langevin zoo list` shows all", wanted,
            near ? "; did you mean '" : ";", near ? near : "", near ? "'?" : "");
  for (size_t i = 0; i < count; i++) free(names[i]);
  return CLI_USAGE;
}

/* rest: options of the other command. */
static int hand_over(const cli_command *other, const char *first, const char *second, int count,
                     char **rest) {
  const char *words[MOST_WORDS + 2] = {first, second};
  int n = second ? 2 : 1;
  for (int i = 0; i < count && i < MOST_WORDS; i++) words[n++] = rest[i];
  return other->main(other, n, (char **)words);
}

static int watch(const cli_command *command, const char *folder, const char *name, int count,
                 char **rest) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  if (access(path, R_OK) == 0) return hand_over(&cli_watch, path, NULL, count, rest);
  cli_wrong(command,
            "%s has no model yet; train it: langevin zoo train %s --out runs/%s, then langevin "
            "watch runs/%s",
            name, name, name, name);
  return CLI_FAILED;
}

static int act(const cli_command *command, const char *zoo, int count, char **words) {
  static const char *const actions[] = {"list", "show", "train", "watch", NULL};
  const char *action = words[0], *name = count > 1 ? words[1] : NULL;
  char folder[PATH_MAX], path[PATH_MAX + 64];
  size_t a = 0;
  while (actions[a] && strcmp(actions[a], action) != 0) a++;
  if (!actions[a]) {
    const char *near = lgv__nearest_name(action, actions);
    return cli_wrong(command, "'%s' is none of list, show, train and watch%s%s%s", action,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  snprintf(path, sizeof path, "%s/README.md", zoo);
  if (a == 0 && !name) return print_file(command, path, true);
  if (a == 0) return cli_wrong(command, "list takes nothing else: '%s'", name);
  if (!name || name[0] == '-')
    return cli_wrong(command, "which agent? langevin zoo %s NAME; `langevin zoo list` shows all",
                     action);
  if (snprintf(folder, sizeof folder, "%s/%s", zoo, name) >= (int)sizeof folder)
    return cli_wrong(command, "the path of '%.40s...' is too long", name);
  snprintf(path, sizeof path, "%s/config.yaml", folder);
  if (strchr(name, '/') || access(path, R_OK) != 0) return no_such_agent(command, zoo, name);
  if (strcmp(action, "watch") == 0) return watch(command, folder, name, count - 2, words + 2);
  if (strcmp(action, "train") == 0)
    return hand_over(&cli_run, "--config", path, count - 2, words + 2);
  snprintf(path, sizeof path, "%s/README.md", folder);
  if (count > 2) return cli_wrong(command, "one agent at a time: '%s' or '%s'?", name, words[2]);
  return print_file(command, path, false);
}

static int zoo_main(const cli_command *command, int count, char **words) {
  char folder[PATH_MAX];
  cli_args args = {.command = command, .count = count, .words = words};
  if (count == 0) cli_reject(&args, "list, show, train or watch?");
  if (count > 0 && words[0][0] == '-') cli_next(&args);
  if (args.stopped) return args.exit_code;
  if (count - 2 > MOST_WORDS) return cli_wrong(command, "too many words");
  if (cli_find_folder("zoo", "LANGEVIN_ZOO", folder, sizeof folder))
    return act(command, folder, count, words);
  cli_wrong(command, "the zoo was not found beside this program; name its folder in LANGEVIN_ZOO");
  return CLI_FAILED;
}

const cli_command cli_zoo = {
    .name = "zoo",
    .summary = "recommended agents for known tasks: their results, settings and models",
    .usage = "list | show NAME | train NAME [RUN OPTIONS] | watch NAME [WATCH OPTIONS]",
    .options = (const cli_option[]){{0}},
    .notes =
        "list prints a line per task: the recommended agent and its returns over seeds. show "
        "prints "
        "the card of one. train runs it with its settings: `langevin zoo train cartpole --seed 3 "
        "--out runs/cartpole` takes the options of `langevin run`. watch plays an episode of the "
        "model that comes with it and takes the options of `langevin watch`.",
    .main = zoo_main,
};
