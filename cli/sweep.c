#include "cli.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  OUT,
  JOBS,
  LIST,
  INDEX,
  UNFINISHED,
  LINES,
  MERGE,
  TOP,
  SCALE,
  QUIET,
};

static const cli_option options[] = {
    [OUT] = {"out", 'o', "DIR",
             "where to write records (default: runs/NAME for NAME.yaml, runs/NAME-SCALE)"},
    [JOBS] = {"jobs", 'j', "N", "run N at a time (default: one per core)"},
    [LIST] = {"list", 'l', NULL, "check and show the configurations and the indexes of their runs"},
    [INDEX] = {"index", 'i', "LIST",
               "only these runs, such as 7, 3,5-9 or 7-:1000; writes no tables"},
    [UNFINISHED] = {"unfinished", 'u', NULL, "print the indexes of unfinished runs: 3,5-9"},
    [LINES] = {"lines", 0, NULL, "with --unfinished: one index per line"},
    [MERGE] = {"merge", 'm', NULL, "run nothing; write the tables of the finished runs"},
    [TOP] = {"top", 0, "N", "how many configurations per case the ranking shows (default 10)"},
    [SCALE] = {"scale", 0, "NAME", "one of the versions that the file names under scales"},
    [QUIET] = {"quiet", 'q', NULL, "no progress on stderr"},
    {0},
};

typedef enum mode { RUN, SHOW_LIST, SHOW_UNFINISHED, WRITE_TABLES } mode;

typedef struct request {
  const char *file, *out, *index, *scale;
  int64_t jobs, top;
  mode mode;
  bool lines, quiet;
} request;

static void set_mode(cli_args *args, request *r, mode chosen) {
  if (r->mode != RUN && r->mode != chosen)
    cli_reject(args, "choose one of --list, --unfinished and --merge");
  r->mode = chosen;
}

static void take_word(cli_args *args, request *r) {
  if (!r->file)
    r->file = args->value;
  else
    cli_reject(args, "one file at a time: '%s' or '%s'?", r->file, args->value);
}

static void check_request(cli_args *args, const request *r) {
  if (args->stopped) return;
  if (!r->file)
    cli_reject(args, "which sweep? name its file");
  else if (r->index && (r->mode == SHOW_LIST || r->mode == WRITE_TABLES))
    cli_reject(args, "--index chooses runs; --list and --merge cover all of them");
  else if (r->lines && r->mode != SHOW_UNFINISHED)
    cli_reject(args, "--lines goes with --unfinished");
}

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case OUT: r->out = args->value; break;
    case JOBS: r->jobs = cli_value_int(args, 1, 4096); break;
    case LIST: set_mode(args, r, SHOW_LIST); break;
    case INDEX: r->index = args->value; break;
    case UNFINISHED: set_mode(args, r, SHOW_UNFINISHED); break;
    case LINES: r->lines = true; break;
    case MERGE: set_mode(args, r, WRITE_TABLES); break;
    case TOP: r->top = cli_value_int(args, 1, 1000000); break;
    case SCALE: r->scale = args->value; break;
    case QUIET: r->quiet = true; break;
    default: take_word(args, r);
    }
  }
  check_request(args, r);
}

/* ---- One call of the engine ---- */

typedef struct watcher {
  const cli_command *command;
  const request *request;
  const lgv_sweep *sweep;
  const lgv_sweep_info *info;
  size_t runs, existing;              /* configs x seeds, and how many of them their cases have */
  lgv_summary *summaries;             /* (runs) */
  char (*names)[LGV_SWEEP_NAME_SIZE]; /* (configs) */
  char **failures;                    /* (runs): messages, or NULL */
  size_t n_failures;
  char held_by[200]; /* of the last run that another process works on */
  cli_sweep_view *view;
  lgv_progress last;
} watcher;

static void on_progress(void *context, const lgv_progress *progress) {
  watcher *w = context;
  w->last = *progress;
  cli_sweep_view_show(w->view, progress);
}

static void on_run(void *context, const lgv_run_news *news) {
  watcher *w = context;
  if (news->phase == LGV_RUN_FAILED) {
    w->failures[news->run] = strdup(news->error->message);
    w->n_failures++;
  }
  if (news->phase == LGV_RUN_HELD)
    snprintf(w->held_by, sizeof w->held_by, "run %zu: %.160s", news->run, news->error->message);
  cli_sweep_view_run(w->view, news);
}

static void on_notice(void *context, const char *text) {
  cli_notice((void *)((watcher *)context)->command, text);
}

static bool should_stop(void *context) {
  (void)context;
  return cli_interrupted() != 0;
}

/* Fills the watcher's summaries, names and failures. */
static lgv_status call(watcher *w, bool look_only, double *seconds, lgv_error *err) {
  const request *r = w->request;
  int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
  lgv_sweep_job job = {.size = sizeof(lgv_sweep_job),
                       .sweep = w->sweep,
                       .threads = (int32_t)(r->jobs     ? r->jobs
                                            : cores > 0 ? cores
                                                        : 1),
                       .directory = r->out,
                       .on_progress = on_progress,
                       .on_run = on_run,
                       .on_notice = on_notice,
                       .should_stop = should_stop,
                       .context = w,
                       .names = w->names,
                       .runs = r->index,
                       .look_only = look_only};
  w->view = cli_sweep_view_open(w->sweep, w->summaries, r->quiet || look_only);
  if (!w->view) return lgv_fail(err, LGV_ERR_MEMORY, "not enough memory for a sweep");
  cli_interrupt_install();
  lgv_status status = lgv_sweep_run(&job, w->summaries, err);
  *seconds = cli_sweep_view_close(w->view);
  return status;
}

/* ---- The report at the end ---- */

static void print_failures(const watcher *w) {
  enum { MOST = 20 };
  size_t shown = 0, seeds = (size_t)w->info->seeds;
  for (size_t i = 0; i < w->runs && shown < MOST; i++) {
    if (!w->failures[i]) continue;
    cli_wrong(w->command, "run %zu (configuration %zu, seed %llu) failed: %s", i, i / seeds,
              (unsigned long long)w->info->first_seed + i % seeds, w->failures[i]);
    shown++;
  }
  if (w->n_failures > shown)
    cli_wrong(w->command, "and %zu more failed; --merge writes all of them into runs.csv",
              w->n_failures - shown);
}

static int print_result(const watcher *w, bool draw) {
  lgv_error err = {0};
  lgv_sweep_report report = {.sweep = w->sweep,
                             .summaries = w->summaries,
                             .names = w->names,
                             .directory = w->request->out,
                             .failures = (const char *const *)w->failures};
  lgv_status status = lgv__sweep_report_open(&report, &err);
  if (status == LGV_OK)
    status = lgv__sweep_report_print(&report, (size_t)w->request->top, stdout, &err);
  if (status == LGV_OK) status = lgv__sweep_report_csv(&report, &err);
  lgv__sweep_report_close(&report);
  if (status != LGV_OK) return cli_error(w->command, &err);
  cli_say(stdout, "tables: %s/table.csv, one row per configuration; runs.csv, one row per run\n",
          w->request->out);
  lgv_figure_job figures = {.file = w->request->file,
                            .sweep = w->sweep,
                            .summaries = w->summaries,
                            .names = w->names,
                            .directory = w->request->out,
                            .out = stdout};
  if (draw && lgv__figures_draw(&figures, &err) != LGV_OK) return cli_error(w->command, &err);
  return CLI_OK;
}

static void print_counts(const watcher *w, double seconds) {
  const lgv_progress *p = &w->last;
  fprintf(stderr, "%lld run%s in %.1f s", (long long)p->runs_done, p->runs_done == 1 ? "" : "s",
          seconds);
  if (p->runs_found > 0) fprintf(stderr, ", %lld finished before", (long long)p->runs_found);
  if (p->runs_held > 0)
    cli_say(stderr, ", %lld under way elsewhere (%s)", (long long)p->runs_held, w->held_by);
  if (p->runs_failed > 0) fprintf(stderr, ", %lld failed", (long long)p->runs_failed);
  fputc('\n', stderr);
}

static int run(watcher *w) {
  const request *r = w->request;
  lgv_error err = {0};
  double seconds = 0;
  lgv_status status = call(w, false, &seconds, &err);
  if (status != LGV_OK && status != LGV_ERR_INTERRUPTED) return cli_error(w->command, &err);
  const lgv_progress *p = &w->last;
  int64_t finished = p->runs_found + p->runs_done, all = p->runs + p->runs_found + p->runs_held;
  if (!r->quiet) print_counts(w, seconds);
  int code = CLI_OK;
  if (!r->index && finished > 0) code = print_result(w, finished == all);
  print_failures(w);
  if (finished < all) /* with --quiet, too: the exit code needs a reason */
    fprintf(stderr, "%lld of %lld runs have finished; the same command resumes the rest\n",
            (long long)finished, (long long)all);
  if (cli_interrupted()) return 128 + cli_interrupted();
  return finished < all ? CLI_FAILED : code;
}

/* ---- Modes that run nothing ---- */

static int merge(watcher *w) {
  lgv_error err = {0};
  double seconds;
  if (call(w, true, &seconds, &err) != LGV_OK) return cli_error(w->command, &err);
  print_failures(w);
  if (access(w->request->out, F_OK) != 0)
    return cli_wrong(w->command, "nothing has run yet: there is no %s", w->request->out);
  size_t finished = (size_t)w->last.runs_found;
  if (finished < w->existing)
    fprintf(stderr, "%zu of %zu runs have finished\n", finished, w->existing);
  return print_result(w, finished > 0);
}

static void print_unfinished(const watcher *w, const bool *wanted, size_t count) {
  if (count == 0) fprintf(stderr, "all runs have finished\n");
  for (size_t i = 0; w->request->lines && i < w->runs; i++)
    if (wanted[i]) printf("%zu\n", i);
  if (w->request->lines || count == 0) return;
  lgv__run_list_print(wanted, w->runs, stdout);
  putchar('\n');
}

static int list(watcher *w) {
  const lgv_sweep_info *info = w->info;
  lgv_error err = {0};
  double seconds;
  lgv__sweep_list(w->sweep, stdout);
  printf("%zu configurations, seeds %llu to %llu: %zu runs; run = config * %d + seed - %llu\n",
         info->configs, (unsigned long long)info->first_seed,
         (unsigned long long)info->first_seed + (unsigned)info->seeds - 1, w->existing,
         (int)info->seeds, (unsigned long long)info->first_seed);
  fflush(stdout);
  return call(w, true, &seconds, &err) == LGV_OK ? CLI_OK : cli_error(w->command, &err);
}

static bool exists(const watcher *w, size_t run) {
  size_t seeds = (size_t)w->info->seeds;
  return run % seeds < (size_t)lgv_sweep_seeds(w->sweep, run / seeds);
}

static int list_unfinished(watcher *w) {
  lgv_error err = {0};
  double seconds;
  if (call(w, true, &seconds, &err) != LGV_OK) return cli_error(w->command, &err);
  bool *wanted = calloc(w->runs, sizeof *wanted);
  size_t count = 0;
  if (!wanted) return cli_wrong(w->command, "not enough memory for %zu runs", w->runs);
  if (w->request->index &&
      lgv__run_list_parse(w->request->index, wanted, w->runs, &err) != LGV_OK) {
    free(wanted);
    return cli_error(w->command, &err);
  }
  for (size_t i = 0; i < w->runs; i++) {
    wanted[i] = (wanted[i] || !w->request->index) && !w->summaries[i].finished && exists(w, i);
    count += wanted[i];
  }
  print_unfinished(w, wanted, count);
  free(wanted);
  return CLI_OK;
}

/* ---- All ---- */

/* Always the same, so that a sweep can be resumed, and the tables of one scale do not replace those
 * of another. */
void cli_default_out(const char *file, const char *scale, char *path, size_t size) {
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  const char *dot = strrchr(name, '.');
  int length = (int)(dot && dot > name ? dot - name : (long)strlen(name));
  snprintf(path, size, "runs/%.*s%s%s", length, name, scale ? "-" : "", scale ? scale : "");
}

static int execute(watcher *w) {
  switch (w->request->mode) {
  case SHOW_LIST: return list(w);
  case WRITE_TABLES: return merge(w);
  case SHOW_UNFINISHED: return list_unfinished(w);
  default: return run(w);
  }
}

size_t cli_sweep_runs(const lgv_sweep *sweep) {
  size_t runs = 0;
  for (size_t c = 0; c < lgv_sweep_get_info(sweep)->configs; c++)
    runs += (size_t)lgv_sweep_seeds(sweep, c);
  return runs;
}

static int with_memory(const cli_command *command, const request *given, const lgv_sweep *sweep) {
  char path[PATH_MAX];
  request r = *given;
  assert(r.file); /* parse() requires it */
  cli_default_out(r.file, r.scale, path, sizeof path);
  if (!r.out) r.out = path;
  watcher w = {
      .command = command, .request = &r, .sweep = sweep, .info = lgv_sweep_get_info(sweep)};
  w.runs = w.info->configs * (size_t)w.info->seeds;
  w.existing = cli_sweep_runs(sweep);
  w.summaries = calloc(w.runs, sizeof *w.summaries);
  w.names = calloc(w.info->configs, sizeof *w.names);
  w.failures = calloc(w.runs, sizeof *w.failures);
  int code = CLI_FAILED;
  if (w.summaries && w.names && w.failures)
    code = execute(&w);
  else
    cli_wrong(command, "not enough memory for %zu runs", w.runs);
  for (size_t i = 0; w.failures && i < w.runs; i++) free(w.failures[i]);
  free(w.failures);
  free(w.summaries);
  free(w.names);
  return code;
}

static int sweep_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {.top = 10};
  lgv_error err = {0};
  lgv_sweep *sweep = NULL;
  int code;
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  if (lgv_sweep_load(r.file, r.scale, &sweep, &err) != LGV_OK ||
      lgv__figures_draw(&(lgv_figure_job){.file = r.file, .sweep = sweep}, &err) != LGV_OK) {
    cli_error(command, &err);
    code = err.status == LGV_ERR_MEMORY ? CLI_FAILED : CLI_USAGE;
  } else {
    code = with_memory(command, &r, sweep);
  }
  lgv_sweep_free(sweep);
  return code;
}

const cli_command cli_sweep = {
    .name = "sweep",
    .summary = "run every combination of a grid of settings, or random ones, over several seeds",
    .usage = "FILE [--out DIR] [--jobs N] [--list | --unfinished | --merge] [--index LIST]",
    .options = options,
    .notes =
        "The file holds settings as for `langevin run --config`, and beside them:\n"
        "  grid: {agent.lambda: [1, 0.1], env.n: [6, 12]}    every combination\n"
        "  random: {count: 50, keys: {optim.lr: {log_uniform: [1e-5, 1e-2]}}}\n"
        "  cases: [{agent: lmc-lsvi, grid: {...}}, ...]      optional: alternatives\n"
        "  seeds: {first: 100, count: 20}\n"
        "  measure: regret                                   for ranking; default final_return\n"
        "  best: lowest                                      or highest\n"
        "  records: summary                                  small records, no metrics.csv\n"
        "  figures: [{name: regret, y: regret}]              drawn into DIR/figures at the end\n"
        "A case's settings, grid and draws replace common ones of the same key. Finished runs "
        "are not run again: the same command resumes a sweep that was stopped, and runs what was "
        "added to the file. A failed run does not stop the others; the next call tries it again. "
        "Several processes may work on one sweep at once.\n"
        "DIR/table.csv has one row per configuration, DIR/runs.csv one row per run. The best of "
        "many looks better than it is, so confirm it on seeds that the sweep did not use.\n"
        "With GNU parallel:\n"
        "  langevin sweep FILE -u --lines | parallel langevin sweep FILE -q -j 1 -i {}\n"
        "On a Slurm cluster (docs/sweeps.md has array.sh):\n"
        "  sbatch --array=\"$(langevin sweep FILE -u)\" --time=2:00:00 array.sh FILE\n"
        "  langevin sweep FILE --merge",
    .main = sweep_main,
};
