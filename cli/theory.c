#include "cli.h"

enum { HORIZON, DIM, EPISODES, DELTA, MULTI, JSON };

static const cli_option options[] = {
    [HORIZON] = {"horizon", 0, "H", "steps per episode"},
    [DIM] = {"dim", 0, "D", "dimension of the features"},
    [EPISODES] = {"episodes", 0, "K", "number of episodes"},
    [DELTA] = {"delta", 0, "P", "failure probability of the bound"},
    [MULTI] = {"multi", 0, NULL, "use the theorem for several samples (MS-LMC-LSVI)"},
    [JSON] = {"json", 0, NULL, "print one JSON object"},
    {0},
};

typedef struct request {
  int64_t horizon, dim, episodes; /* 0: not given */
  double delta;
  bool has_delta, multi, json;
} request;

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case HORIZON: r->horizon = cli_value_int(args, 1, 1000000000); break;
    case DIM: r->dim = cli_value_int(args, 1, 1000000000); break;
    case EPISODES: r->episodes = cli_value_int(args, 1, 1000000000000000); break;
    case DELTA: r->delta = cli_value_real(args), r->has_delta = true; break;
    case MULTI: r->multi = true; break;
    case JSON: r->json = true; break;
    default: cli_reject(args, "unexpected '%s'", args->value);
    }
  }
  const char *missing = !r->horizon     ? "--horizon"
                        : !r->dim       ? "--dim"
                        : !r->episodes  ? "--episodes"
                        : !r->has_delta ? "--delta"
                                        : NULL;
  if (missing && !args->stopped) cli_reject(args, "%s is missing", missing);
}

/* The theorem that the constants belong to, and the agent that has them with agent.schedule =
 * theory. */
static const char *theorem_of(bool multi) {
  return multi ? "Ishfaq et al. (ICLR 2024), the theorem for MS-LMC-LSVI (appendix): ms-lmc-lsvi"
               : "Ishfaq et al. (ICLR 2024), Theorem 4.2: lmc-lsvi";
}

static int print_json(const cli_command *command, const lgv_theory *t, bool multi) {
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '{');
  lgv__json_string(&json, "theorem", theorem_of(multi));
  lgv__json_real(&json, "inv_sqrt_beta", t->inv_sqrt_beta);
  lgv__json_real(&json, "c_delta", t->c_delta);
  lgv__json_real(&json, "b_delta", t->b_delta);
  lgv__json_real(&json, "log_factor", t->log_factor);
  lgv__json_real(&json, "j_per_kappa", t->j_per_kappa);
  lgv__json_int(&json, "samples_m", t->samples_m);
  lgv__json_real(&json, "optimism_c", t->optimism_c);
  lgv__json_close(&json, '}');
  return cli_print_json(command, &json);
}

static void print_table(const lgv_theory *t, bool multi) {
  printf("%s\nRegret: O~(d^(3/2) H^(3/2) sqrt(H K)), with probability 1 - delta\n\n",
         theorem_of(multi));
  const struct {
    const char *name, *meaning;
    double value;
  } rows[] = {
      {"inv_sqrt_beta", "1/sqrt(beta), where beta is the inverse temperature: the fixed point",
       t->inv_sqrt_beta},
      {"c_delta", "C of the concentration bound, for the delta of the proof", t->c_delta},
      {"b_delta", "B, the bound on the norm of w, for the delta of the proof", t->b_delta},
      {"log_factor", "log(4 H K d)", t->log_factor},
      {"j_per_kappa", "updates per episode: J_k = ceil(this times the condition number)",
       t->j_per_kappa},
      {"samples_m", "M, samples of Q", (double)t->samples_m},
      {"optimism_c", "least probability that one sample is optimistic: 1/(2 sqrt(2 e pi))",
       t->optimism_c},
  };
  lgv_table table = lgv__table("lrl");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv__table_cell(&table, "%s", rows[i].name);
    lgv__table_cell(&table, "%.6g", rows[i].value);
    lgv__table_cell(&table, "%s", rows[i].meaning);
  }
  lgv__table_print(&table, stdout, 0, cli_terminal_width());
}

static int theory_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {0};
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  lgv_theory theory;
  lgv_error err = {0};
  if (lgv_theory_compute(r.horizon, r.dim, r.episodes, r.delta, r.multi, &theory, &err) != LGV_OK)
    return cli_error(command, &err);
  if (r.json) return print_json(command, &theory, r.multi);
  print_table(&theory, r.multi);
  return CLI_OK;
}

const cli_command cli_theory = {
    .name = "theory",
    .summary = "print the constants of the regret theorems",
    .usage = "--horizon H --dim D --episodes K --delta P [--multi] [--json]",
    .options = options,
    .notes = "The theorem for one sample holds for delta in (0.12099, 1), the one for several "
             "samples (--multi) for delta in (0, 1). Their proofs use the lemmas with delta/6 and "
             "delta/9, and so do these constants.",
    .main = theory_main,
};
