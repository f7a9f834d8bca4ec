/* A figure of the paper is a sweep file in experiments/ (see docs/sweeps.md). This command finds
 * the file by name, chooses a scale and passes both to `langevin sweep`. */
#include "cli.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCALE, SEARCH, LIST, OUT, JOBS, QUIET };

static const cli_option options[] = {
    [SCALE] = {"scale", 0, "NAME", "quick (default: minutes) or paper (the whole protocol)"},
    [SEARCH] = {"search", 0, NULL, "run the search that found the settings instead"},
    [LIST] = {"list", 'l', NULL, "list the experiments"},
    [OUT] = {"out", 'o', "DIR", "where to write records (default: runs/NAME-SCALE)"},
    [JOBS] = {"jobs", 'j', "N", "run N at a time (default: one per core)"},
    [QUIET] = {"quiet", 'q', NULL, "no progress on stderr"},
    {0},
};

enum { MOST_EXPERIMENTS = 256, MOST_WORDS = 64 };

typedef struct request {
  const char *name, *scale, *out, *jobs;
  bool search, list, quiet;
  const char *rest[MOST_WORDS]; /* for `langevin sweep` */
  int n_rest;
} request;

static void take_word(cli_args *args, request *r) {
  if (!r->name && !args->plain_only)
    r->name = args->value;
  else if (!args->plain_only)
    cli_reject(args, "one at a time: '%s' or '%s'?", r->name, args->value);
  else if (r->n_rest == MOST_WORDS)
    cli_reject(args, "too many words");
  else
    r->rest[r->n_rest++] = args->value;
}

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case SCALE: r->scale = args->value; break;
    case SEARCH: r->search = true; break;
    case LIST: r->list = true; break;
    case OUT: r->out = args->value; break;
    case JOBS: r->jobs = args->value; break;
    case QUIET: r->quiet = true; break;
    default: take_word(args, r);
    }
  }
  if (!r->name && !r->list && !args->stopped)
    cli_reject(args, "name an experiment; `langevin reproduce --list` lists them");
}

/* ---- Where the experiments are ---- */

bool cli_find_folder(const char *name, const char *variable, char *path, size_t size) {
  static const char *const places[] = {"../share/langevin", ".."};
  const char *named = getenv(variable);
  char program[PATH_MAX];
  if (named) return snprintf(path, size, "%s", named) < (int)size;
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return false;
  program[length] = '\0';
  *strrchr(program, '/') = '\0';
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    if (snprintf(path, size, "%s/%s/%s", program, places[i], name) < (int)size &&
        access(path, R_OK) == 0)
      return true;
  return false;
}

static bool ends_with(const char *text, const char *ending) {
  size_t n = strlen(text), m = strlen(ending);
  return n >= m && strcmp(text + n - m, ending) == 0;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The experiments that have a quick scale, sorted by name. */
typedef struct listing {
  char *names[MOST_EXPERIMENTS + 1]; /* NULL after the last */
  size_t count;
} listing;

static void free_listing(listing *l) {
  for (size_t i = 0; i < l->count; i++) free(l->names[i]);
}

/* Adds a file of the folder if it is such an experiment. */
static lgv_status add_name(listing *l, const char *folder, const char *file, lgv_error *err) {
  lgv_sweep *sweep;
  char path[PATH_MAX];
  if (!ends_with(file, ".yaml") || l->count == MOST_EXPERIMENTS) return LGV_OK;
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s/... is too long", folder);
  lgv_status status = lgv_sweep_load(path, "quick", &sweep, err);
  if (status == LGV_ERR_USAGE) return LGV_OK; /* another kind of file */
  if (status != LGV_OK) return status;
  lgv_sweep_free(sweep);
  char *name = strndup(file, strlen(file) - strlen(".yaml"));
  if (!name) return lgv_fail(err, LGV_ERR_MEMORY, "not enough memory for a list");
  l->names[l->count++] = name;
  return LGV_OK;
}

static lgv_status list_names(const char *folder, listing *l, lgv_error *err) {
  lgv_status status = LGV_OK;
  DIR *stream = opendir(folder);
  errno = stream ? 0 : errno; /* readdir sets it if the end is an error */
  for (const struct dirent *entry; status == LGV_OK && stream && (entry = readdir(stream));
       errno = 0)
    status = add_name(l, folder, entry->d_name, err);
  if (status == LGV_OK && errno)
    status = lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", folder, strerror(errno));
  if (stream) closedir(stream);
  qsort(l->names, l->count, sizeof *l->names, compare_names);
  return status;
}

static lgv_status show_one(const char *folder, const char *name, lgv_error *err) {
  char path[PATH_MAX];
  lgv_sweep *sweep;
  if (snprintf(path, sizeof path, "%s/%s.yaml", folder, name) >= (int)sizeof path)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s/... is too long", folder);
  lgv_status status = lgv_sweep_load(path, NULL, &sweep, err);
  if (status != LGV_OK) return status;
  cli_say(stdout, "%-20s %s (%zu runs)\n", name, lgv_sweep_get_info(sweep)->about,
          cli_sweep_runs(sweep));
  lgv_sweep_free(sweep);
  return LGV_OK;
}

static int show_list(const cli_command *command, const char *folder) {
  listing l = {0};
  lgv_error err = {0};
  lgv_status status = list_names(folder, &l, &err);
  for (size_t i = 0; status == LGV_OK && i < l.count; i++)
    status = show_one(folder, l.names[i], &err);
  free_listing(&l);
  return status == LGV_OK ? CLI_OK : cli_error(command, &err);
}

static int no_such_experiment(const cli_command *command, const char *folder, const request *r,
                              const char *path) {
  listing l = {0};
  lgv_error err = {0};
  if (list_names(folder, &l, &err) != LGV_OK) cli_error(command, &err); /* no name is suggested */
  const char *near = lgv__nearest_name(r->name, (const char *const *)l.names);
  bool known = false;
  for (size_t i = 0; i < l.count; i++) known |= strcmp(l.names[i], r->name) == 0;
  if (known && r->search)
    cli_wrong(command, "%s has no search: its settings are the paper's own", r->name);
  else if (near)
    cli_wrong(command, "there is no experiment '%s'; did you mean '%s'?", r->name, near);
  else
    cli_wrong(command, "there is no experiment '%s' (looked for %s); --list shows all", r->name,
              path);
  free_listing(&l);
  return CLI_USAGE;
}

/* ---- Running ---- */

static int hand_over(const request *r, const char *path, const char *scale) {
  char out[PATH_MAX];
  const char *words[MOST_WORDS + 16] = {path, "--scale", scale, "--out"};
  int n = 4;
  snprintf(out, sizeof out, "runs/%s%s-%s", r->name, r->search ? "-search" : "", scale);
  words[n++] = r->out ? r->out : out;
  if (r->jobs) words[n++] = "--jobs";
  if (r->jobs) words[n++] = r->jobs;
  if (r->quiet) words[n++] = "--quiet";
  for (int i = 0; i < r->n_rest; i++) words[n++] = r->rest[i];
  return cli_sweep.main(&cli_sweep, n, (char **)words);
}

static int reproduce(const cli_command *command, const char *folder, const request *r) {
  char path[PATH_MAX];
  lgv_sweep *sweep;
  lgv_error err = {0};
  assert(r->name); /* parse() requires it */
  /* A search has no small version of itself. */
  const char *scale = r->scale ? r->scale : r->search ? "paper" : "quick";
  if (snprintf(path, sizeof path, "%s/%s%s.yaml", folder, r->name, r->search ? "-search" : "") >=
      (int)sizeof path)
    return cli_wrong(command, "the path of '%.40s...' is too long", r->name);
  if (strchr(r->name, '/') || access(path, R_OK) != 0)
    return no_such_experiment(command, folder, r, path);
  if (lgv_sweep_load(path, scale, &sweep, &err) != LGV_OK) return cli_error(command, &err);
  if (!r->quiet) cli_say(stderr, "%s (%s): %s\n", r->name, scale, lgv_sweep_get_info(sweep)->about);
  lgv_sweep_free(sweep);
  return hand_over(r, path, scale);
}

static int reproduce_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {0};
  char folder[PATH_MAX];
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  if (!cli_find_folder("experiments", "LANGEVIN_EXPERIMENTS", folder, sizeof folder)) {
    cli_wrong(command, "the experiments were not found beside this program; name their folder in "
                       "LANGEVIN_EXPERIMENTS");
    return CLI_FAILED;
  }
  return r.list ? show_list(command, folder) : reproduce(command, folder, &r);
}

const cli_command cli_reproduce = {
    .name = "reproduce",
    .summary = "run a figure of the paper: its agents, tasks and seeds, its tables and pictures",
    .usage = "NAME [--scale quick|paper] [--search] [-- SWEEP OPTIONS]",
    .options = options,
    .notes = "NAME is a file of experiments/, which `langevin sweep` runs too; copy it to change "
             "it. Tables go to DIR/table.csv and runs.csv, pictures to DIR/figures. The same "
             "command resumes where it was stopped, and never repeats a finished run.\n"
             "`langevin sweep` runs the same file on a cluster: see docs/sweeps.md.",
    .main = reproduce_main,
};
