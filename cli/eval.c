#include "cli.h"

#include <stdlib.h>

enum { EPISODES, SEED, JSON };

static const cli_option options[] = {
    [EPISODES] = {"episodes", 0, "K", "evaluation episodes (default 100)"},
    [SEED] = {"seed", 0, "S", "seed of the evaluation (default 0)"},
    [JSON] = {"json", 0, NULL, "the result, with every return, as one JSON object on stdout"},
    {0},
};

typedef struct request {
  const char *path;
  int64_t episodes, seed;
  bool json;
} request;

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case EPISODES: r->episodes = cli_value_int(args, 1, 100000000); break;
    case SEED: r->seed = cli_value_int(args, 0, (int64_t)1 << 53); break;
    case JSON: r->json = true; break;
    default:
      if (r->path)
        cli_reject(args, "one run at a time: '%s' or '%s'?", r->path, args->value);
      else
        r->path = args->value;
    }
  }
  if (!r->path && !args->stopped)
    cli_reject(args, "which run? name its directory, or a checkpoint");
}

static int print_json(const cli_command *command, const request *r, const double *returns,
                      const lgv_estimate *e) {
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '{');
  lgv__json_int(&json, "episodes", r->episodes);
  lgv__json_int(&json, "seed", r->seed);
  lgv__json_real(&json, "mean", e->value);
  lgv__json_real(&json, "standard_error", e->standard_error);
  lgv__json_real(&json, "low", e->low);
  lgv__json_real(&json, "high", e->high);
  lgv__json_real(&json, "median", e->median);
  lgv__json_open(&json, "returns", '[');
  for (int64_t i = 0; i < r->episodes; i++) lgv__json_real(&json, NULL, returns[i]);
  lgv__json_close(&json, ']');
  lgv__json_close(&json, '}');
  return cli_print_json(command, &json);
}

static void print_table(const request *r, const lgv_estimate *e) {
  lgv_table t = lgv__table("rrrrrr");
  const char *const head[] = {"episodes", "mean", "std.error", "95 % low", "high", "median"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  lgv__table_cell(&t, "%lld", (long long)r->episodes);
  const double values[] = {e->value, e->standard_error, e->low, e->high, e->median};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) lgv__table_real(&t, values[i]);
  lgv__table_print(&t, stdout, 0, cli_terminal_width());
}

static int eval_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {.episodes = 100};
  lgv_error err = {0};
  lgv_estimate estimate;
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  double *returns = calloc((size_t)r.episodes, sizeof *returns);
  int code = CLI_FAILED;
  if (!returns) {
    cli_wrong(command, "not enough memory for %lld episodes", (long long)r.episodes);
  } else if (lgv_evaluate(r.path, r.episodes, (uint64_t)r.seed, returns, &err) != LGV_OK) {
    code = cli_error(command, &err);
  } else {
    lgv_estimate_mean(returns, (size_t)r.episodes, &estimate);
    code = CLI_OK;
    if (r.json)
      code = print_json(command, &r, returns, &estimate);
    else
      print_table(&r, &estimate);
  }
  free(returns);
  return code;
}

const cli_command cli_eval = {
    .name = "eval",
    .summary = "returns of a trained agent in fresh episodes",
    .usage = "DIR [--episodes K] [--seed S] [--json]",
    .options = options,
    .notes =
        "DIR is the directory of a run, a checkpoint in it, or an agent that Python saved. The "
        "agent acts as in the evaluations of training and does not learn.",
    .main = eval_main,
};
