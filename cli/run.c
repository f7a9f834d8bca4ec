#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG, ENV, AGENT, SET, EPISODES, STEPS, SEED, SEEDS, JOBS, OUT, RESUME, JSON, QUIET };

static const cli_option options[] = {
    [CONFIG] = {"config", 'c', "FILE",
                "read settings from a YAML or JSON file, such as a config.json"},
    [ENV] = {"env", 'e', "NAME", "environment: env.name"},
    [AGENT] = {"agent", 'a', "NAME", "agent: agent.name"},
    [SET] = {"set", 's', "KEY=VALUE", "set a parameter, such as agent.lambda=0.1; may be repeated"},
    [EPISODES] = {"episodes", 0, "K", "training episodes: run.episodes"},
    [STEPS] = {"steps", 0, "T", "training steps: run.steps"},
    [SEED] = {"seed", 0, "S", "seed, or the first of several: run.seed"},
    [SEEDS] = {"seeds", 'n', "N",
               "number of seeds: S, S+1, ...; each gets a directory (default 1)"},
    [JOBS] = {"jobs", 'j', "N", "runs in parallel (default: one per core)", "threads"},
    [OUT] = {"out", 'o', "DIR", "where to write records (default: runs/ENV-AGENT-1, -2, ...)"},
    [RESUME] = {"resume", 0, "DIR",
                "resume the run in DIR, or extend a finished one to more --steps"},
    [JSON] = {"json", 0, NULL, "print the result as one JSON object"},
    [QUIET] = {"quiet", 'q', NULL, "print no progress"},
    {0},
};

typedef struct request {
  lgv_settings *settings;
  int64_t seeds;   /* 0: those of a directory in which some are missing */
  int64_t jobs;    /* 0: one per core */
  const char *out; /* NULL: choose one */
  bool resume, json, quiet;
} request;

static void check(cli_args *args, lgv_status status, const lgv_error *err) {
  if (status == LGV_OK) return;
  args->exit_code = cli_error(args->command, err);
  args->exit_code = status == LGV_ERR_IO ? CLI_USAGE : args->exit_code; /* a file is missing */
  args->stopped = true;
}

/* Loads the settings of the run, or of the seeds, in a directory; nothing if it holds none yet. */
static lgv_status load_previous(request *r, const char *directory, lgv_error *err) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/config.json", directory);
  lgv_seeds found = {0};
  bool there;
  lgv_status status = lgv__is_there(path, &there, err);
  if (status == LGV_OK && !there) status = lgv__seeds_in(directory, &found, err);
  if (status != LGV_OK) return status;
  if (found.count > 0) {
    char name[LGV_SEED_NAME_SIZE];
    lgv__seed_name(found.first, name);
    length = snprintf(path, sizeof path, "%s/%s/config.json", directory, name);
    r->seeds = found.last - found.first < (uint64_t)found.count ? found.count : 0;
  }
  if (length >= (int)sizeof path)
    return lgv_fail(err, LGV_ERR_IO, "the path %.100s... is too long", directory);
  status = lgv__is_there(path, &there, err);
  return status == LGV_OK && there ? lgv_settings_load(r->settings, path, err) : status;
}

/* Loads files first, so that the command line wins. */
static void load_files(cli_args args, request *r, cli_args *outcome) {
  while (cli_next(&args)) {
    lgv_error err = {0};
    if (cli_which(&args) == CONFIG)
      check(&args, lgv_settings_load(r->settings, args.value, &err), &err);
    if (cli_which(&args) == RESUME) check(&args, load_previous(r, args.value, &err), &err);
  }
  outcome->stopped = args.stopped;
  outcome->exit_code = args.exit_code;
}

static void set_from(cli_args *args, request *r, const char *key) {
  lgv_error err = {0};
  char origin[64];
  snprintf(origin, sizeof origin, "--%s", args->option->name);
  lgv_status status = key ? lgv_settings_set(r->settings, key, args->value, origin, &err)
                          : lgv_settings_assign(r->settings, args->value, origin, &err);
  check(args, status, &err);
}

static const char *const one_place = "use either --out, which starts a run in a directory, or "
                                     "--resume, which resumes the one in it";

static void parse(cli_args *args, request *r) {
  load_files(*args, r, args);
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case CONFIG: break;
    case ENV: set_from(args, r, "env.name"); break;
    case AGENT: set_from(args, r, "agent.name"); break;
    case SET: set_from(args, r, NULL); break;
    case EPISODES: set_from(args, r, "run.episodes"); break;
    case STEPS: set_from(args, r, "run.steps"); break;
    case SEED: set_from(args, r, "run.seed"); break;
    case SEEDS: r->seeds = cli_value_int(args, 1, 1000000); break;
    case JOBS: r->jobs = cli_value_int(args, 1, 4096); break;
    case OUT:
      if (r->resume) cli_reject(args, "%s", one_place);
      r->out = args->value;
      break;
    case RESUME:
      if (r->out) cli_reject(args, "%s", one_place);
      r->resume = true;
      r->out = args->value;
      break;
    case JSON: r->json = true; break;
    case QUIET: r->quiet = true; break;
    default:
      cli_reject(args, "unexpected '%s'%s", args->value,
                 strchr(args->value, '=') ? "; parameters need --set before them"
                                          : "; options name things, such as --env riverswim");
    }
  }
  if (r->resume && !args->stopped && !lgv_settings_get(r->settings, "env.name"))
    cli_reject(args, "%s holds no run to resume", r->out);
  if (r->seeds == 0 && !args->stopped)
    cli_reject(args, "the seeds in %s are not consecutive: choose some with --seed S --seeds N",
               r->out);
}

/* ---- Where to ---- */

/* Finds the first runs/ENV-AGENT-N that does not exist, and creates it, so that two programs
 * started at the same time do not choose the same one. */
static lgv_status first_free(const lgv_plan *plan, char *path, size_t size, lgv_error *err) {
  char env[256], agent[128];
  lgv_status status = lgv_plan_get(plan, "env.name", env, sizeof env, err);
  if (status == LGV_OK) status = lgv_plan_get(plan, "agent.name", agent, sizeof agent, err);
  if (status != LGV_OK) return status;
  for (char *c = env; (c = strpbrk(c, ":/"));) *c = '-';
  if (mkdir("runs", 0777) != 0 && errno != EEXIST)
    return lgv_fail(err, LGV_ERR_IO, "cannot create the directory runs: %s; choose one with --out",
                    strerror(errno));
  for (int n = 1; n < INT_MAX; n++) {
    snprintf(path, size, "runs/%s-%s-%d", env, agent, n);
    if (mkdir(path, 0777) == 0) return LGV_OK;
    if (errno != EEXIST) break;
  }
  return lgv_fail(err, LGV_ERR_IO, "cannot create the directory %s: %s", path, strerror(errno));
}

/* ---- The run ---- */

static void on_progress(void *context, const lgv_progress *progress) {
  cli_progress_show(context, progress);
}

static bool should_stop(void *context) {
  (void)context;
  return cli_interrupted() != 0;
}

static int print_result(const cli_command *command, const request *r,
                        const lgv_run_report *report) {
  lgv_error err = {0};
  lgv_json json = {0};
  if (!r->json)
    return lgv__run_report_print(report, stdout, &err) == LGV_OK ? CLI_OK
                                                                 : cli_error(command, &err);
  if (lgv__run_report_json(report, &json, &err) == LGV_OK) return cli_print_json(command, &json);
  lgv__json_free(&json);
  return cli_error(command, &err);
}

/* Returns how many seeds failed. */
static size_t print_failures(const cli_command *command, const lgv_run_report *report) {
  enum { MOST = 5 };
  size_t failed = 0;
  for (size_t i = 0; i < report->seeds; i++) {
    const lgv_error *e = &report->errors[i];
    if (e->status == LGV_OK || e->status == LGV_ERR_INTERRUPTED) continue;
    if (failed++ >= MOST) continue;
    if (report->seeds == 1)
      cli_wrong(command, "%s", e->message);
    else
      cli_wrong(command, "seed %llu failed: %s", (unsigned long long)report->summaries[i].seed,
                e->message);
  }
  if (failed > MOST) cli_wrong(command, "and %zu more failed", failed - MOST);
  return failed;
}

static void print_resume(const lgv_run_report *report) {
  fputs("langevin run --resume ", stderr);
  lgv__shell_word(stderr, report->directory);
  fputs(report->seeds > 1 ? " with the same --seeds resumes it\n" : " resumes it\n", stderr);
}

static int execute(const cli_command *command, const request *r, const lgv_plan *plan,
                   const lgv_batch *batch, lgv_run_report *report) {
  cli_progress progress;
  lgv_batch watched = *batch;
  lgv_error err = {0};
  cli_progress_start(&progress, r->quiet);
  cli_interrupt_install();
  watched.on_progress = on_progress;
  watched.should_stop = should_stop;
  watched.context = &progress;
  lgv_status status = lgv_batch_run(&watched, (lgv_summary *)report->summaries, &err);
  cli_progress_clear(&progress);
  report->seconds = lgv__now() - progress.started;
  report->plan = plan;
  size_t failed = print_failures(command, report);
  if (status != LGV_OK && status != LGV_ERR_INTERRUPTED && !failed)
    cli_error(command, &err); /* every seed is done, but aggregate.json is missing */
  bool began = false;         /* a run that never began has no result */
  for (size_t i = 0; i < report->seeds; i++) began |= report->summaries[i].steps > 0;
  int code = began || r->json ? print_result(command, r, report) : CLI_OK;
  if (cli_interrupted() && began) print_resume(report);
  if (cli_interrupted()) return 128 + cli_interrupted();
  if (status != LGV_OK) return status == LGV_ERR_USAGE ? CLI_USAGE : CLI_FAILED;
  return code;
}

static int run_plan(const cli_command *command, const request *r, const lgv_plan *plan) {
  char seed[32], path[PATH_MAX];
  lgv_error err = {0};
  if (lgv_plan_get(plan, "run.seed", seed, sizeof seed, &err) != LGV_OK)
    return cli_error(command, &err);
  if (!r->out && first_free(plan, path, sizeof path, &err) != LGV_OK)
    return cli_error(command, &err);
  int64_t cores = sysconf(_SC_NPROCESSORS_ONLN);
  int64_t threads = r->jobs ? r->jobs : cores > 0 ? cores : 1;
  lgv_summary *summaries = calloc((size_t)r->seeds + 1, sizeof *summaries);
  lgv_error *errors = calloc((size_t)r->seeds + 1, sizeof *errors);
  lgv_batch batch = {.size = sizeof(lgv_batch),
                     .plan = plan,
                     .first_seed = strtoull(seed, NULL, 10),
                     .seeds = (int32_t)r->seeds,
                     .threads = (int32_t)(threads < r->seeds ? threads : r->seeds),
                     .resume = r->resume,
                     .directory = r->out ? r->out : path,
                     .errors = errors};
  lgv_run_report report = {.summaries = summaries,
                           .errors = errors,
                           .seeds = (size_t)r->seeds,
                           .resumed = r->resume,
                           .directory = batch.directory};
  int code = CLI_FAILED;
  if (summaries && errors)
    code = execute(command, r, plan, &batch, &report);
  else
    cli_wrong(command, "not enough memory for %lld seeds", (long long)r->seeds);
  if (code != CLI_OK && !r->out) rmdir(path); /* only where nothing was recorded */
  free(summaries);
  free(errors);
  return code;
}

static int run_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {.seeds = 1};
  lgv_error err = {0};
  lgv_plan *plan = NULL;
  if (lgv_settings_create(&r.settings, &err) != LGV_OK) return cli_error(command, &err);
  parse(&args, &r);
  int code = args.exit_code;
  lgv_settings_on_notice(r.settings, cli_notice, (void *)command);
  if (!args.stopped) {
    if (lgv_plan_create(r.settings, &plan, &err) == LGV_OK)
      code = run_plan(command, &r, plan);
    else
      code = cli_error(command, &err);
  }
  lgv_plan_free(plan);
  lgv_settings_free(r.settings);
  return code;
}

const cli_command cli_run = {
    .name = "run",
    .summary = "train an agent on an environment, for one seed or several",
    .usage =
        "[--config FILE] --env ENV --agent AGENT [--set KEY=VALUE]... [OPTIONS] | --resume DIR",
    .options = options,
    .notes =
        "The command line wins over files, and later values win over earlier ones.\n"
        "The records are config.json (langevin run --config DIR/config.json repeats the run), "
        "metrics.csv, summary.json, timing.json and an event file for TensorBoard; several seeds "
        "have a directory each, and aggregate.json.\n"
        "Ctrl-C or SIGTERM stops the run, keeps its records and writes a checkpoint to resume from "
        "(--resume DIR); a second signal stops at once. --resume DIR --steps MORE extends a "
        "finished run: the agent learns as if it had been started with that many steps, and the "
        "evaluation at the former end stays in the records.\n"
        "By default all evaluations together take at most a tenth as many steps as training; "
        "run.eval_every sets a fixed schedule instead.\n"
        "Exit codes: 0 success, 1 a run failed, 2 wrong usage, 130 and 143 interrupted.\n"
        "`langevin list` shows environments and agents, `langevin help NAME` their parameters.",
    .main = run_main,
};
