/* tune: a search for good settings by Optuna. The options are parsed here, and
 * python/langevin/_tune_command.py does the work in this process's place. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { OUT, TRIALS, JOBS, SEED, ALL, QUIET };

static const cli_option options[] = {
    [OUT] = {"out", 'o', "DIR",
             "where the study and its runs are (default: runs/NAME for NAME.yaml)"},
    [TRIALS] = {"trials", 'n', "N", "trials of the whole study (default: the count of `random`)"},
    [JOBS] =
        {"jobs", 'j', "N",
         "runs side by side (default: the seeds of one trial, at most one per core); more than "
         "there are seeds mean several trials at a time"},
    [SEED] = {"seed", 0, "S", "the seed of the proposals (default 0)"},
    [ALL] = {"no-pruning", 0, NULL, "run every trial to its end"},
    [QUIET] = {"quiet", 'q', NULL, "no line per trial on stderr"},
    {0},
};

/* argv[0] tells the package that the command line imports it; the last argument is its folder, for
 * a Python that does not have it installed. */
static const char *const code = "import sys\n"
                                "sys.argv[0] = 'langevin'\n"
                                "sys.path += filter(None, [sys.argv.pop()])\n"
                                "try:\n"
                                "  from langevin._tune_command import main\n"
                                "except ImportError as error:\n"
                                "  sys.exit(f'langevin tune: {error}')\n"
                                "main()";

enum { MOST_WORDS = 8, WORD_SIZE = 64 };

typedef struct request {
  const char *file, *out;
  char words[MOST_WORDS][WORD_SIZE]; /* for Python: "trials=20" */
  int n_words;
} request;

static void take_number(cli_args *args, request *r, int64_t least, int64_t most) {
  long long value = cli_value_int(args, least, most);
  snprintf(r->words[r->n_words++ % MOST_WORDS], WORD_SIZE, "%s=%lld", args->option->name, value);
}

static void parse(cli_args *args, request *r) {
  while (cli_next(args)) {
    switch (cli_which(args)) {
    case OUT: r->out = args->value; break;
    case TRIALS: take_number(args, r, 1, 1000000); break;
    case JOBS: take_number(args, r, 1, 4096); break;
    case SEED: take_number(args, r, 0, (int64_t)1 << 53); break;
    case ALL: snprintf(r->words[r->n_words++ % MOST_WORDS], WORD_SIZE, "prune=false"); break;
    case QUIET: snprintf(r->words[r->n_words++ % MOST_WORDS], WORD_SIZE, "quiet=true"); break;
    default:
      if (r->file)
        cli_reject(args, "one file at a time: '%s' or '%s'?", r->file, args->value);
      else
        r->file = args->value;
    }
  }
  if (!args->stopped && r->n_words > MOST_WORDS) cli_reject(args, "too many options");
  if (!args->stopped && !r->file) cli_reject(args, "which study? name its file");
}

static int tune_main(const cli_command *command, int count, char **words) {
  cli_args args = {.command = command, .count = count, .words = words};
  request r = {0};
  char out[PATH_MAX], python[PATH_MAX], package[PATH_MAX];
  parse(&args, &r);
  if (args.stopped) return args.exit_code;
  cli_default_out(r.file, NULL, out, sizeof out);
  lgv__find_python("", python, sizeof python);
  lgv__find_python_package(package, sizeof package);
  const char *argv[MOST_WORDS + 8] = {python, "-c", code, r.file, r.out ? r.out : out};
  int n = 5;
  for (int i = 0; i < r.n_words; i++) argv[n++] = r.words[i];
  argv[n] = package;
  execvp(python, (char *const *)argv);
  cli_wrong(command,
            "cannot start the Python '%s': %s. Install Python 3 with Optuna, or name one in "
            "LANGEVIN_PYTHON",
            python, strerror(errno));
  return CLI_FAILED;
}

const cli_command cli_tune = {
    .name = "tune",
    .summary = "search for good settings by Optuna: trials that do poorly are stopped early",
    .usage = "FILE [--out DIR] [--trials N] [--jobs N]",
    .options = options,
    .notes =
        "The file is that of a sweep (`langevin help sweep`): settings, seeds, measure, and the "
        "keys to search for:\n"
        "  random: {count: 50, keys: {optim.lr: {log_uniform: [1e-5, 1e-2]}}}\n"
        "`langevin sweep` draws all configurations at random and runs each to its end. Here "
        "Optuna's TPE proposes one after the other, and successive halving compares them at a "
        "ninth and at a third of their budget; two thirds stop there. The runs are those of a "
        "sweep: a stopped one can be resumed exactly with `langevin run --resume`.\n"
        "The same command resumes a study that was stopped or killed. Several processes, on "
        "machines that share a directory, may work on one study: start the command several "
        "times.\n"
        "It needs Python and Optuna: pip install 'langevin[tune]'",
    .main = tune_main,
};
