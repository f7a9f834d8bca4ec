#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT, JOBS, LIST, TOP, SCALE, QUIET };

static const cli_option options[] = {
    [OUT] = {"out", 'o', "DIR", "where to write records (default: runs/NAME for NAME.yaml)"},
    [JOBS] = {"jobs", 'j', "N", "runs side by side (default: one a core)"},
    [LIST] = {"list", 'l', NULL, "check and show the configurations; run nothing"},
    [TOP] = {"top", 0, "N", "how many of each case the ranking shows (default 10)"},
    [SCALE] = {"scale", 0, "NAME", "a version of itself that the file names under scales"},
    [QUIET] = {"quiet", 'q', NULL, "no progress on stderr"},
    {0},
};

typedef struct request {
  const char *file, *out, *scale;
  int64_t jobs, top;
  bool list, quiet;
} request;

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case OUT: r->out = args->value; break;
    case JOBS: r->jobs = cli_value_int(args, 1, 4096); break;
    case LIST: r->list = true; break;
    case TOP: r->top = cli_value_int(args, 1, 1000000); break;
    case SCALE: r->scale = args->value; break;
    case QUIET: r->quiet = true; break;
    default:
      if (r->file)
        cli_reject(args, "one file at a time: '%s' or '%s'?", r->file, args->value);
      else
        r->file = args->value;
    }
  }
  if (!r->file && !args->stopped) cli_reject(args, "which sweep? name its file");
}

/* ---- --list ---- */

static int check_config(const cli_command *command, const lgv_sweep *sweep, size_t config) {
  lgv_settings *settings = NULL;
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  lgv_status status = lgv_sweep_settings(sweep, config, &settings, &err);
  if (status == LGV_OK) lgv_settings_on_notice(settings, cli_notice, (void *)command);
  if (status == LGV_OK) status = lgv_plan_create(settings, &plan, &err);
  lgv_plan_free(plan);
  lgv_settings_free(settings);
  if (status == LGV_OK) return CLI_OK;
  cli_wrong(command, "configuration %zu: %s", config, err.message);
  return status == LGV_ERR_USAGE ? CLI_USAGE : CLI_FAILED;
}

static int list(const cli_command *command, const lgv_sweep *sweep) {
  const lgv_sweep_info *info = lgv_sweep_get_info(sweep);
  lgv__sweep_list(sweep, stdout);
  printf("%zu configurations, seeds %llu to %llu: %zu runs\n", info->configs,
         (unsigned long long)info->first_seed,
         (unsigned long long)info->first_seed + (unsigned)info->seeds - 1,
         info->configs * (size_t)info->seeds);
  fflush(stdout);
  for (size_t c = 0; c < info->configs; c++) {
    int code = check_config(command, sweep, c);
    if (code != CLI_OK) return code;
  }
  return CLI_OK;
}

/* ---- Running ---- */

typedef struct watcher {
  const cli_command *command;
  cli_progress progress;
  int64_t found, failed;
  lgv_progress last;
} watcher;

static void on_progress(void *context, const lgv_progress *progress) {
  watcher *w = context;
  w->last = *progress;
  cli_progress_show(&w->progress, progress);
}

static void on_failure(void *context, size_t config, uint64_t seed, const lgv_error *err) {
  enum { MOST = 20 };
  watcher *w = context;
  if (w->failed++ >= MOST) return;
  cli_progress_clear(&w->progress);
  cli_wrong(w->command, "configuration %zu, seed %llu failed: %s", config, (unsigned long long)seed,
            err->message);
  if (w->failed == MOST) cli_wrong(w->command, "further failures are counted, not shown");
}

static void on_notice(void *context, const char *text) {
  cli_notice((void *)((watcher *)context)->command, text);
}

static bool should_stop(void *context) {
  (void)context;
  return cli_interrupted() != 0;
}

static int print_result(const cli_command *command, const request *r, lgv_sweep_report *report) {
  lgv_error err = {0};
  lgv_status status = lgv__sweep_report_open(report, &err);
  if (status == LGV_OK) status = lgv__sweep_report_csv(report, &err);
  if (status == LGV_OK) status = lgv__sweep_report_print(report, (size_t)r->top, stdout, &err);
  lgv__sweep_report_close(report);
  if (status != LGV_OK) return cli_error(command, &err);
  printf("table: %s/table.csv\n", report->directory);
  return CLI_OK;
}

static void print_counts(const watcher *w, double seconds) {
  const lgv_progress *p = &w->last;
  fprintf(stderr, "%lld runs in %.1f s", (long long)p->runs_done, seconds);
  if (p->runs_found > 0) fprintf(stderr, ", %lld finished before", (long long)p->runs_found);
  if (w->failed > 0) fprintf(stderr, ", %lld failed", (long long)w->failed);
  fputc('\n', stderr);
}

static int execute(const cli_command *command, const request *r, const lgv_sweep *sweep,
                   lgv_summary *summaries, char (*names)[LGV_SWEEP_NAME_SIZE]) {
  const lgv_sweep_info *info = lgv_sweep_get_info(sweep);
  watcher w = {.command = command};
  int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
  lgv_sweep_job job = {.sweep = sweep,
                       .threads = (int32_t)(r->jobs     ? r->jobs
                                            : cores > 0 ? cores
                                                        : 1),
                       .directory = r->out,
                       .on_progress = on_progress,
                       .on_failure = on_failure,
                       .on_notice = on_notice,
                       .should_stop = should_stop,
                       .context = &w,
                       .names = names};
  lgv_error err = {0};
  cli_interrupt_install();
  cli_progress_start(&w.progress, r->quiet);
  lgv_status status = lgv_sweep_run(&job, summaries, &err);
  cli_progress_clear(&w.progress);
  if (status != LGV_OK && status != LGV_ERR_INTERRUPTED) return cli_error(command, &err);
  size_t finished = 0, all = info->configs * (size_t)info->seeds;
  for (size_t i = 0; i < all; i++) finished += summaries[i].finished;
  if (!r->quiet) print_counts(&w, cli_now() - w.progress.started);
  lgv_sweep_report report = {
      .sweep = sweep, .summaries = summaries, .names = names, .directory = r->out};
  int code = finished > 0 ? print_result(command, r, &report) : CLI_FAILED;
  if (finished < all)
    fprintf(stderr, "%zu of %zu runs have finished; the same command goes on with the rest\n",
            finished, all);
  if (cli_interrupted()) return 128 + cli_interrupted();
  return w.failed > 0 ? CLI_FAILED : code;
}

/* runs/NAME for the file DIR/NAME.yaml: always the same, so that a sweep can be gone on with. */
static void default_out(const char *file, char *path, size_t size) {
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  const char *dot = strrchr(name, '.');
  snprintf(path, size, "runs/%.*s", (int)(dot && dot > name ? dot - name : (long)strlen(name)),
           name);
}

static int run_sweep(const cli_command *command, request *r, const lgv_sweep *sweep) {
  const lgv_sweep_info *info = lgv_sweep_get_info(sweep);
  char path[PATH_MAX];
  default_out(r->file, path, sizeof path);
  if (!r->out) r->out = path;
  lgv_summary *summaries = calloc(info->configs * (size_t)info->seeds, sizeof *summaries);
  char(*names)[LGV_SWEEP_NAME_SIZE] = calloc(info->configs, sizeof *names);
  int code = CLI_FAILED;
  if (summaries && names)
    code = execute(command, r, sweep, summaries, names);
  else
    cli_wrong(command, "not enough memory for %zu configurations", info->configs);
  free(summaries);
  free(names);
  return code;
}

static int sweep_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {.top = 10};
  lgv_error err = {0};
  lgv_sweep *sweep;
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  if (lgv_sweep_load(r.file, r.scale, &sweep, &err) != LGV_OK) {
    cli_error(command, &err);
    return err.status == LGV_ERR_MEMORY ? CLI_FAILED : CLI_USAGE;
  }
  int code = r.list ? list(command, sweep) : run_sweep(command, &r, sweep);
  lgv_sweep_free(sweep);
  return code;
}

const cli_command cli_sweep = {
    .name = "sweep",
    .summary = "run every combination of a grid of settings, over several seeds",
    .usage = "FILE [--out DIR] [--jobs N] [--list]",
    .options = options,
    .notes = "The file holds settings as for `langevin run --config`, and beside them:\n"
             "  grid: {agent.lambda: [1, 0.1], env.n: [6, 12]}    every combination\n"
             "  cases: [{agent: lmc-lsvi, grid: {...}}, ...]      optional: alternatives\n"
             "  seeds: {first: 100, count: 20}\n"
             "  measure: regret                                   what is ranked; final_return\n"
             "  best: lowest                                      or highest\n"
             "  records: summary                                  small records, no metrics.csv\n"
             "A case's settings and grid replace common ones of the same key. Runs that have "
             "finished are not run again: the same command goes on after an interrupt, and with "
             "what was added to the file. A failed run does not stop the others.\n"
             "DIR/table.csv has a row each configuration; the best of many looks better than it "
             "is, so confirm it on seeds that the sweep did not see.",
    .main = sweep_main,
};
