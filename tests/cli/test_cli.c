/* The command line as a user meets it: exit codes, what is said on stdout and stderr, and the files
 * that a run leaves. Every test runs the built program in a directory of its own. */
#include "cli_helpers.h"

#include <ctype.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

/* `langevin ARGUMENTS` */
static void expect(const char *arguments, int code) {
  char command[2048];
  snprintf(command, sizeof command, "$L %s", arguments);
  expect_shell(command, code);
}

/* A wrong command: exit code 2, nothing on stdout, and a message with these words. */
static void expect_refusal(const char *arguments, const char *words) {
  expect(arguments, 2);
  assert_string_equal(out, "");
  if (!strstr(err, words)) fail_msg("`langevin %s` said '%s', not '%s'", arguments, err, words);
}

/* ---- A strict reader of JSON: one value and nothing after it ---- */

static const char *skip_value(const char *c);

static const char *skip_blank(const char *c) {
  while (*c == ' ' || *c == '\n' || *c == '\t' || *c == '\r') c++;
  return c;
}

static const char *skip_string(const char *c) {
  if (*c++ != '"') return NULL;
  for (; *c && *c != '"'; c++) {
    if ((unsigned char)*c < 0x20) return NULL;
    if (*c == '\\' && !strchr("\"\\/bfnrtu", *++c)) return NULL;
  }
  return *c == '"' ? c + 1 : NULL;
}

static const char *skip_number(const char *c) {
  char *end;
  if (*c != '-' && !isdigit((unsigned char)*c)) return NULL;
  strtod(c, &end);
  return end > c ? end : NULL;
}

static const char *skip_members(const char *c, char close, bool keys) {
  c = skip_blank(c + 1);
  if (*c == close) return c + 1;
  for (;;) {
    if (keys) {
      if (!(c = skip_string(skip_blank(c))) || *(c = skip_blank(c)) != ':') return NULL;
      c++;
    }
    if (!(c = skip_value(c))) return NULL;
    c = skip_blank(c);
    if (*c == close) return c + 1;
    if (*c++ != ',') return NULL;
  }
}

static const char *skip_value(const char *c) {
  c = skip_blank(c);
  if (*c == '{') return skip_members(c, '}', true);
  if (*c == '[') return skip_members(c, ']', false);
  if (*c == '"') return skip_string(c);
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strncmp(c, words[i], strlen(words[i])) == 0) return c + strlen(words[i]);
  return skip_number(c);
}

static void assert_one_json_object(const char *text) {
  const char *end = *skip_blank(text) == '{' ? skip_value(text) : NULL;
  if (!end || *skip_blank(end)) fail_msg("not one JSON object: %s", text);
}

static void the_json_reader_can_refuse(void **state) {
  (void)state;
  const char *const wrong[] = {"{", "{}{}", "{\"a\": nan}", "{\"a\": 1,}", "{\"a\" 1}", "{'a': 1}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const char *end = skip_value(wrong[i]);
    assert_true(!end || *skip_blank(end));
  }
  assert_one_json_object(" {\"a\": [1, -2.5e3, {\"b\": null}], \"c\": \"\\u00e4\"}\n");
}

/* ---- help, list, version, theory ---- */

static void help_is_printed_and_names_are_corrected(void **state) {
  (void)state;
  static const char *const commands[] = {"run",    "sweep", "eval",   "plot",  "show", "compare",
                                         "report", "list",  "theory", "bench", "help", "version"};
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    char arguments[64];
    expect("help", 0);
    assert_says(out, commands[i]);
    snprintf(arguments, sizeof arguments, "help %s", commands[i]);
    expect(arguments, 0);
    assert_says(out, "usage: langevin ");
    snprintf(arguments, sizeof arguments, "%s --help", commands[i]);
    expect(arguments, 0);
    assert_says(out, "usage: langevin ");
    assert_string_equal(err, "");
  }
  expect("--help", 0);
  expect("help run", 0);
  assert_says(out, "run.episodes");
  expect("help agent lmc-lsvi", 0);
  assert_says(out, "agent.lambda");
  assert_says(out, "1e-6");
  assert_says(out, "a number in (0, 1e12]");
  expect("help riverswim", 0);
  assert_says(out, "osband | strehl-littman | stay-only");
  expect("help agent gn-lmcdqn", 0); /* a former name */
  assert_says(out, "agent pathwise-lmcdqn: ");
  expect_refusal("help agent lmc-lsv", "did you mean 'lmc-lsvi'?");
  expect_refusal("help riversim", "did you mean 'riverswim'?");
  expect_refusal("help agent riverswim", "there is no agent 'riverswim'");
  expect_refusal("rnu", "did you mean 'run'?");
  expect_refusal("list agnets", "'agnets' is none of envs, agents, optimizers, features");
  assert_int_equal(shell("$L"), 2);
  expect("version", 0);
  assert_says(out, "langevin ");
  expect("--version", 0);
  expect_refusal("version now", "unexpected 'now'");
}

/* Whether a line of the output has these words, in order, separated by blanks. */
static bool has_row(const char *const *words, size_t count) {
  char *text = strdup(out), *rest = text;
  bool found = false;
  assert_non_null(text);
  for (char *line; !found && (line = strsep(&rest, "\n"));) {
    size_t n = 0;
    for (char *word; n < count && (word = strsep(&line, " "));)
      if (*word && strcmp(word, words[n++]) != 0)
        break;
      else if (*word && n == count)
        found = true;
  }
  free(text);
  return found;
}

#define assert_row(...)                                                                            \
  do {                                                                                             \
    const char *const row[] = {__VA_ARGS__};                                                       \
    if (!has_row(row, sizeof row / sizeof *row)) fail_msg("no row of %s ... in %s", row[0], out);  \
  } while (0)

/* n_step is 1 in the table of adam-lmcdqn and 10 in its preset small, which is what a user gets. */
static void help_shows_presets_beside_defaults(void **state) {
  (void)state;
  expect("help agent adam-lmcdqn", 0);
  assert_says(out, "source: src/agent/deep/langevin_dqn.c\n");
  assert_row("parameter", "default", "small", "pictures", "small-pictures", "authors", "accepts;");
  assert_says(out, "auto takes `small`,\n`pictures` for pictures of at least 36 x 36,\n"
                   "`small-pictures` for pictures of at least 5 x 5.");
  assert_row("agent.n_step", "1", "10");
  assert_row("optim.lr", "1e-4", "2e-3");
  expect("help agent dqn", 0);
  assert_says(out, "auto | small | atari | zoo;");
  assert_row("optim.name", "adam", "rmsprop"); /* of zoo */
  assert_says(out, "auto takes `small`,\n`atari` for pictures of at least 36 x 36.");
  expect("help agent adam-lmcdqn --env nchain", 0);
  assert_row("parameter", "on", "nchain", "default", "*small", "pictures", "small-pictures");
  assert_row("agent.preset", "small", "auto", "auto");
  assert_row("agent.n_step", "10", "1", "10");
  expect("help agent lmc-lsvi --env riverswim", 0);
  assert_row("agent.gram", "diagonal", "auto");
  expect("help env atari", 0);
  assert_says(out, "source: src/env/external/env_atari.c\n");
  expect_refusal("help agent dqn --env nowhere", "there is no environment 'nowhere'");
  static const char *const not_of_agents[] = {"env nchain", "run", "run run", ""};
  for (size_t i = 0; i < sizeof not_of_agents / sizeof *not_of_agents; i++) {
    char words[64];
    snprintf(words, sizeof words, "help %s --env nchain", not_of_agents[i]);
    expect_refusal(words, "--env belongs to `langevin help agent NAME`");
  }
  expect_refusal("run --env nchain --agent dqn --set agent.preset=zoom --steps 10",
                 "the agent dqn has no preset 'zoom': agent.preset is one of auto, small, atari");
  expect("list agents --json", 0);
  assert_one_json_object(out);
  assert_says(out, "\"source\": \"src/agent/deep/agent_c51.c\"");
  assert_says(out, "\"small\": \"agent.");
}

static void list_shows_what_there_is(void **state) {
  (void)state;
  expect("list", 0);
  assert_says(out, "riverswim");
  assert_says(out, "lmc-lsvi");
  expect("list agents", 0);
  assert_null(strstr(out, "riverswim "));
  expect("list --json", 0);
  assert_one_json_object(out);
  assert_says(out, "\"default\": \"osband\"");
}

static void theory_prints_the_constants(void **state) {
  (void)state;
  static const char *const keys[] = {"inv_sqrt_beta", "c_delta",   "b_delta",   "log_factor",
                                     "j_per_kappa",   "samples_m", "optimism_c"};
  expect("theory --horizon 10 --dim 4 --episodes 1e3 --delta 0.2 --json", 0);
  assert_one_json_object(out);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) assert_says(out, keys[i]);
  assert_says(out, "\"log_factor\": 11.98292909421"); /* log(4 H K d) = log 160000 */
  expect("theory --horizon 10 --dim 4 --episodes 1000 --delta 0.05 --multi", 0);
  assert_says(out, "the theorem for MS-LMC-LSVI");
  expect("theory --horizon 10 --dim 4 --episodes 1000 --delta 0.2", 0);
  assert_says(out, "Theorem 4.2");
  expect_refusal("theory --horizon 10 --dim 4 --episodes 1000 --delta 0.05", "(0.12099, 1)");
  expect_refusal("theory --horizon 10 --dim 4 --episodes 1000 --delta 1 --multi", "(0, 1)");
  expect_refusal("theory --horizon 10 --dim 4 --delta 0.5", "--episodes is missing");
  expect_refusal("theory --horizon ten", "--horizon takes a number, not 'ten'");
  expect_refusal("theory --horizon 1.5", "--horizon takes a whole number");
  expect_refusal("theory --horizn 3", "did you mean '--horizon'?");
}

/* ---- run ---- */

#define SMALL                                                                                      \
  "run --env riverswim --agent lmc-lsvi --set env.n=4 --set env.horizon=6 --episodes 30 "

static void a_run_prints_its_result_and_leaves_records(void **state) {
  (void)state;
  expect(SMALL "--quiet", 0);
  assert_says(out, "lmc-lsvi on riverswim, seed 0");
  assert_says(out, "records in runs/riverswim-lmc-lsvi-1");
  assert_string_equal(err, "");
  expect(SMALL, 0);
  assert_says(out, "records in runs/riverswim-lmc-lsvi-2"); /* the first free one */
  expect(SMALL "--json", 0);
  assert_one_json_object(out);
  assert_says(out, "\"seed\": 0");
  assert_says(out, "\"steps\": 180");
  assert_says(out, "\"finished\": true");
  expect(SMALL "--json --seeds 3 --seed 40", 0);
  assert_one_json_object(out);
  assert_says(out, "\"aggregate\"");
  assert_says(out, "\"runs\"");
  assert_says(out, "\"seed\": 42");
  char path[PATH_MAX];
  join(path, directory, "runs/riverswim-lmc-lsvi-4");
  char *aggregate = read_text(path, "aggregate.json"), *summary = NULL;
  assert_non_null(aggregate);
  assert_one_json_object(aggregate);
  join(path, directory, "runs/riverswim-lmc-lsvi-4/seed-41");
  assert_non_null(summary = read_text(path, "summary.json"));
  assert_one_json_object(summary);
  free(aggregate);
  free(summary);
}

/* The directory DIR/NAME of the test. */
static const char *at(const char *name) {
  static char path[2][PATH_MAX];
  static int turn;
  turn = !turn;
  join(path[turn], directory, name);
  return path[turn];
}

static void config_json_repeats_the_run_byte_for_byte(void **state) {
  (void)state;
  expect(SMALL "--seed 5 --set agent.lambda=0.3 --set agent.gram=dense --out first", 0);
  expect("run --config first/config.json --out second", 0);
  assert_same_file(at("first"), at("second"), "config.json");
  assert_same_file(at("first"), at("second"), "metrics.csv");
  assert_same_file(at("first"), at("second"), "summary.json");
  expect("run --config first/config.json --seed 6 --out third", 0); /* flags win over files */
  char *one = read_text(at("first"), "metrics.csv"), *other = read_text(at("third"), "metrics.csv");
  assert_string_not_equal(one, other);
  free(one);
  free(other);
}

static void threads_do_not_matter(void **state) {
  (void)state;
  expect(SMALL "--seeds 4 --jobs 1 --out one", 0);
  expect(SMALL "--seeds 4 --threads 2 --out two", 0);
  assert_same_file(at("one"), at("two"), "aggregate.json");
  for (int seed = 0; seed < 4; seed++) {
    char a[32], b[32];
    snprintf(a, sizeof a, "one/seed-%d", seed);
    snprintf(b, sizeof b, "two/seed-%d", seed);
    assert_same_file(at(a), at(b), "metrics.csv");
    assert_same_file(at(a), at(b), "summary.json");
  }
}

static void mistakes_of_a_run_are_explained(void **state) {
  (void)state;
  write_text(directory, "bad.yaml", "env: riverswim\nagent: {name: lmc-lsvi\nrun: 1\n");
  write_text(directory, "key.yaml", "env: riverswim\nagent: lmc-lsvi\nagent.lamda: 1\n");
  write_text(directory, "file", "in the way");
  const char *const cases[][2] = {
      {"run", "no environment was named: use --env NAME"},
      {"run --env riverswim", "no agent was named"},
      {"run --env riversim --agent lmc-lsvi", "did you mean 'riverswim'?"},
      {"run --env riverswim --agent lmc-lsv", "did you mean 'lmc-lsvi'?"},
      {"run --episode 3", "unknown option '--episode'; did you mean '--episodes'?"},
      {"run --lambda 3", "--set agent.lambda=0.1"},
      {"run riverswim", "--env riverswim"},
      {"run agent.lambda=1", "--set before"},
      {"run --seeds", "--seeds needs a value"},
      {"run --quiet=1", "--quiet takes no value"},
      {"run --seeds 0", "a whole number from 1"},
      {"run --resume", "--resume DIR"},
      {"run --resume none", "none holds no run to resume"},
      {SMALL "--set lambda=1", "did you mean 'agent.lambda'?"},
      {SMALL "--set agent.lamda=1", "did you mean 'agent.lambda'?"},
      {SMALL "--set agent.lambda=-1", "it takes a number in (0, 1e12] (in --set)"},
      {SMALL "--set agent.lambda", "not of the form key=value"},
      {SMALL "--episodes 2.5", "run.episodes = '2.5' is not valid"},
      {"run --config none.yaml", "cannot read none.yaml"},
      {"run --config .", "cannot read ."},
      {"run --config bad.yaml", "bad.yaml:3:4: not valid YAML"},
      {"run --config key.yaml", "key.yaml:3:14"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_refusal(cases[i][0], cases[i][1]);
  expect(SMALL "--out file", 1);
  assert_says(err, "file is a file; a directory is needed there");
  expect(SMALL "--out /proc/none", 1);
  assert_says(err, "cannot create the directory /proc/none");
  expect(SMALL "--out mine", 0);
  expect(SMALL "--out mine", 0); /* the same settings: the same run again */
  expect_refusal(SMALL "--out mine --set agent.lambda=2",
                 "already holds a run with other settings");
  struct stat info;
  assert_int_not_equal(stat(at("runs"), &info), 0); /* nothing that failed left a directory */
}

/* Starts the program, waits until its records have grown beyond `size`, sends the signal; its exit
 * code. */
static int interrupt(const char *const *arguments, const char *records, off_t size,
                     int signal_number) {
  struct stat info;
  struct timespec pause = {0, 10000000};
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    bool ok = chdir(directory) == 0 && freopen("stdout.txt", "w", stdout) &&
              freopen("stderr.txt", "w", stderr);
    if (ok) execv(TEST_CLI, (char *const *)arguments);
    _exit(99);
  }
  for (int i = 0; i < 6000 && (stat(records, &info) != 0 || info.st_size <= size); i++)
    nanosleep(&pause, NULL);
  assert_int_equal(kill(pid, signal_number), 0);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static long long steps_of(const char *name, const char *ending) {
  char *summary = read_text(at(name), "summary.json");
  assert_non_null(summary);
  assert_says(summary, ending);
  const char *steps = strstr(summary, "\"steps\": ");
  assert_non_null(steps);
  long long value = strtoll(steps + strlen("\"steps\": "), NULL, 10);
  free(summary);
  return value;
}

static void an_interrupt_keeps_what_was_recorded(void **state) {
  (void)state;
  const char *first[] = {"langevin",   "run",        "--env", "riverswim", "--agent", "lmc-lsvi",
                         "--episodes", "1000000000", "--out", "long",      "--quiet", NULL};
  const char *again[] = {"langevin", "run", "--resume", "long", "--quiet", NULL};
  char records[PATH_MAX];
  join(records, directory, "long/metrics.csv");
  assert_int_equal(interrupt(first, records, 4096, SIGINT), 130);
  long long steps = steps_of("long", "interrupted");
  assert_true(steps > 0);
  struct stat before, after;
  assert_int_equal(stat(records, &before), 0);
  assert_int_equal(interrupt(again, records, before.st_size, SIGTERM), 143);
  assert_true(steps_of("long", "interrupted") > steps);
  assert_int_equal(stat(records, &after), 0);
  assert_true(after.st_size > before.st_size);
  expect("show long", 0);
  assert_says(out, "seed 0: interrupted\n  `langevin run --resume long` resumes it");
}

static void a_run_is_carried_on(void **state) {
  (void)state;
  expect(
      "run --env nchain --agent dqn --steps 400 --seeds 2 --set run.eval_every=100 --out more -q",
      0);
  expect("run --resume more --steps 700 -q", 0); /* both seeds */
  assert_int_equal(steps_of("more/seed-0", "\"finished\": true"), 700);
  assert_int_equal(steps_of("more/seed-1", "\"finished\": true"), 700);
  expect_refusal("run --resume more --steps 900 --set agent.batch=16",
                 "agent.batch is 32 there, here 16");
}

/* ---- sweep, eval, plot ---- */

static void a_sweep_ranks_and_is_not_repeated(void **state) {
  (void)state;
  write_text(directory, "s.yaml",
             "env: {name: riverswim, n: 4, horizon: 6}\nrun.episodes: 20\nrecords: summary\n"
             "cases: [{agent: lmc-lsvi, grid: {agent.lambda: [1e-3, 1]}}, {agent: lsvi-ucb}]\n"
             "seeds: {first: 3, count: 2}\nmeasure: regret\n");
  write_text(directory, "bad.yaml",
             "env: riverswim\nagent: lmc-lsvi\ngrid: {agent.lambda: [-1]}\n");
  expect("sweep s.yaml --list", 0);
  assert_says(out, "3 configurations, seeds 3 to 4: 6 runs");
  struct stat info;
  assert_int_not_equal(stat(at("runs"), &info), 0);
  expect("sweep s.yaml --jobs 2", 0);
  assert_says(out, "ranked by regret, lowest first; seeds 3 to 4");
  assert_says(err, "6 runs in ");
  char *table = read_text(at("runs/s"), "table.csv"), *line = table;
  assert_non_null(table);
  for (int i = 0; i < 4; i++, line++) assert_non_null(line = strchr(line, '\n')); /* 1 + 3 rows */
  assert_string_equal(line, "");
  assert_says(table, "regret_mean,regret_standard_error,regret_low,regret_high");
  expect("sweep s.yaml", 0);
  assert_says(err, "0 runs in ");
  assert_says(err, "6 finished before");
  char *again = read_text(at("runs/s"), "table.csv");
  assert_string_equal(table, again);
  free(table);
  free(again);
  expect_refusal("sweep", "which sweep?");
  expect_refusal("sweep none.yaml", "cannot read none.yaml");
  expect_refusal("sweep bad.yaml", "configuration 0: agent.lambda = '-1'");
  expect("sweep bad.yaml --list", 2);
  assert_says(err, "bad.yaml:3:23");
}

static bool begins(const char *name, const char *bytes) {
  char *text = read_text(directory, name);
  bool same = text && strncmp(text, bytes, strlen(bytes)) == 0;
  free(text);
  return same;
}

static void results_are_evaluated_and_drawn(void **state) {
  (void)state;
  expect(SMALL "--seeds 3 --out a", 0);
  expect(SMALL "--set agent.lambda=1 --out b", 0);
  expect("eval a/seed-0 --episodes 5 --json", 0);
  assert_one_json_object(out);
  expect("plot a b --out f.svg", 0);
  assert_says(out, "95 % percentile bootstrap");
  assert_true(begins("f.svg", "<?xml"));
  expect("plot Mine=a b --out f.png --y value --smooth 3 --title T --width 183", 0);
  assert_true(begins("f.png", "\x89PNG"));
  assert_says(out, "Mine: 3 seeds");
  expect("plot a b --bars --y regret --out f.pdf", 0);
  assert_true(begins("f.pdf", "%PDF"));
  char from[PATH_MAX], to[PATH_MAX];
  join(from, directory, "b");
  join(to, directory, "n=6,a=1"); /* a = in names and labels */
  assert_int_equal(symlink(from, to), 0);
  expect("plot a n=6,a=1 --out f.svg", 0);
  expect("plot 'beta = 1=n=6,a=1' a --out f.svg", 0);
  assert_says(out, "beta = 1: 1 seed");
  expect_refusal("plot", "which runs?");
  expect_refusal("plot a", "--out FILE.svg");
  expect_refusal("plot a --out f.jpg", ".svg, .png or .pdf");
  expect_refusal("plot a --y regrt --out f.svg", "did you mean 'regret'?");
  assert_int_equal(mkdir(at("empty"), 0777), 0);
  expect_refusal("plot empty --out f.svg", "is no directory of `langevin run`");
  expect("plot a b --bars --y regret/optimal_value --over agent.lambda -s iqm --band se "
         "--out f.png",
         0);
  assert_says(out, "bars: iqm of regret/optimal_value over runs; lines: one standard error");
  expect("plot . --where env.n=4 --label agent.name --statistic median --out f.svg", 0);
  assert_says(out, "lmc-lsvi: 4 seeds");
  expect("plot a b --heat agent.lambda,agent.name --y regret --out f.png", 0);
  assert_says(out, "best (framed): agent.lambda = ");
  expect("plot . --profile --y regret/optimal_value --out f.svg", 0);
  assert_says(out, "share of runs with less regret/optimal_value");
  expect_refusal("plot a --heat agent.lambda --out f.svg", "a heat map is over two keys");
  expect_refusal("plot a --statistic men --out f.svg", "there is no statistic 'men': mean, median");
  expect_refusal("plot a --band sd --out f.svg", "interval (95 % bootstrap) or se");
  expect_refusal("plot a --over env.n --out f.svg", "--over KEY is for --bars");
  expect("plot none --out f.svg", 1);
  assert_says(err, "cannot read none");
  write_text(at("b"), "metrics.csv", "step,episode,regret\n1,1,1\n2,2,x\n");
  expect("plot b --out f.svg", 1);
  assert_says(err, "b/metrics.csv:3: 'x' in column regret is not a number");
}

/* Runs the command that `show` has printed, into the directory `again`. */
static void repeat_what_is_shown(void) {
  char command[1024], *line = strstr(out, "langevin run ");
  assert_non_null(line);
  snprintf(command, sizeof command, "%.*s --out again", (int)strcspn(line, "\n") - 9, line + 9);
  expect(command, 0);
}

/* Its evaluations follow from a horizon that is not the default, or were scheduled by the user. */
static void evaluations_of_a_shown_run_can_be_repeated(void **state) {
  (void)state;
  static const char *const settings[] = {
      "--set env.n=7", "--set run.eval_every=9",
      "--set run.eval_every=9 --set run.eval_share=0.2 --set run.eval_steps=5"};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    char command[256];
    snprintf(command, sizeof command,
             "run --env deepsea --agent dqn --episodes 60 --out shown %s --quiet", settings[i]);
    expect(command, 0);
    expect("show shown", 0);
    repeat_what_is_shown();
    assert_same_file(at("shown"), at("again"), "config.json");
    assert_same_file(at("shown"), at("again"), "metrics.csv");
    expect_shell("rm -r shown again", 0);
  }
}

/* The command that `show` prints gives the same records. */
static void a_run_is_shown_and_can_be_repeated(void **state) {
  (void)state;
  expect(SMALL "--set agent.lambda=0.25 --seed 7 --seeds 2 --out shown", 0);
  expect("show shown", 0);
  assert_says(out, "lmc-lsvi on riverswim, 2 seeds: 2 finished");
  assert_says(out, "agent.lambda");
  const char *set = strstr(out, "settings that are not the default"),
             *rest = strstr(out, "defaults");
  assert_true(set && rest && set < strstr(out, "agent.lambda  ") && rest > set);
  repeat_what_is_shown();
  assert_same_file(at("shown/seed-8"), at("again/seed-8"), "metrics.csv");
  assert_same_file(at("shown/seed-8"), at("again/seed-8"), "config.json");
  expect("show shown/seed-8", 0);
  assert_says(out, "seed 8: finished");
  assert_says(out, "steps/s");
  assert_says(out, "metrics.csv");
  write_text(at("shown/seed-8"), "summary.json",
             "{\"seed\": 8, \"steps\": 3, \"episodes\": 1, \"finished\": false, "
             "\"error\": \"the sky fell\"}\n");
  expect("show shown/seed-8", 0);
  assert_says(out, "failed");
  assert_says(out, "the sky fell");
  assert_int_equal(unlink(at("shown/seed-7/summary.json")), 0);
  expect("show shown", 0);
  assert_says(out, "1 failed, 1 not finished");
  expect("show shown/seed-7", 0);
  assert_null(strstr(out, "result"));
  expect_refusal("show shown/seed-7/checkpoint.safetensors", "name the directory of a run");
  expect("show .", 0);
  assert_says(out, "configurations");
  expect_refusal("show", "which run?");
  expect_refusal("show a b", "one directory at a time");
  expect("show nowhere", 1);
  assert_says(err, "cannot read nowhere");
}

static void agents_are_compared(void **state) {
  (void)state;
  expect(SMALL "--seeds 3 --out cmp/a", 0);
  expect(SMALL "--set agent.lambda=1 --seeds 3 --out cmp/b", 0);
  expect("compare cmp -m regret --threshold 50% --window 2", 0);
  assert_says(out, "regret, lowest is best");
  assert_says(out, "better than the first");
  assert_says(out, "episodes to 50%");
  expect("compare Mine=cmp/a Other=cmp/b --json -m regret/optimal_value --threshold 0.01", 0);
  assert_one_json_object(out);
  assert_says(out, "\"label\": \"Mine\"");
  expect("compare 'x,y=cmp/a' cmp/b --csv", 0);
  assert_says(out, "label,measure,runs,unfinished,tasks,mean,");
  assert_says(out, "\n\"x,y\",final_return,3,0,1,");
  expect("compare cmp --markdown --best lowest", 0);
  assert_says(out, "|---|---:|");
  expect_refusal("compare", "which runs?");
  expect_refusal("compare cmp -m regre", "did you mean 'regret'?");
  expect_refusal("compare cmp --best high", "best is lowest or highest, not 'high'");
  expect_refusal("compare cmp --threshold lots", "a threshold is a number");
  expect_refusal("compare cmp --window 3", "belong to --threshold");
}

static void a_page_is_written(void **state) {
  (void)state;
  expect(SMALL "--seeds 2 --out runs/a", 0);
  expect(SMALL "--set agent.lambda=1 --seeds 2 --out runs/b", 0);
  expect("report runs --threshold 50% --title 'a <b>'", 0);
  assert_says(out, "wrote runs/report.html");
  char *text = read_text(at("runs"), "report.html");
  assert_says(text, "<title>a &lt;b&gt;</title>");
  assert_says(text, "lambda 1");
  assert_says(text, "episodes to 50%");
  assert_null(strstr(text, "<?xml"));
  free(text);
  expect("report X=runs/a/seed-1 -o one.html", 0);
  assert_true(begins("one.html", "<!DOCTYPE html>"));
  assert_int_equal(unlink(at("runs/a/seed-0/summary.json")), 0); /* runs without a result */
  assert_int_equal(unlink(at("runs/a/seed-1/summary.json")), 0);
  assert_int_equal(rename(at("runs/b"), at("b=1")), 0);
  expect("report 'b=1'", 0);
  assert_says(out, "wrote b=1/report.html");
  expect("report runs/a", 0);
  text = read_text(at("runs/a"), "report.html");
  assert_says(text, "none of the runs has finished");
  assert_says(text, "2 not finished");
  free(text);
  write_text(at("runs/a/seed-0"), "summary.json", "{"); /* one odd run does not cost the page */
  expect("report runs/a", 0);
  expect_refusal("report", "which runs?");
  expect_refusal("report runs -m regrets", "did you mean 'regret'?");
  expect("report runs --out nowhere/r.html", 1);
  assert_says(err, "nowhere");
}

/* ---- bench ---- */

static void benchmarks_are_chosen_by_name(void **state) {
  (void)state;
  expect_refusal("bench nets", "'nets' is none of machine, yardstick, net, optim, deep");
  expect_refusal("bench --rounds 0", "--rounds takes a whole number");
  expect_refusal("bench env --quick --only nets", "no measured line has 'nets'");
  expect("bench run env replay --quick --only cart", 0); /* replay needs the limits */
  assert_says(out, "cartpole");
  assert_says(out, "reading 4 MB");
  assert_null(strstr(out, "N-Chain"));
  expect("bench checkpoint linear --quick --only MLP", 0);
  assert_says(out, "write");
  assert_null(strstr(out, "sgemm"));
  expect("bench optim --quick --json", 0);
  assert_one_json_object(out);
  assert_says(out, "\"seconds_at_most\"");
  assert_says(out, "\"seconds_per_unit\"");
}

int main(void) {
  ignore_leaks_of_fonts();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_json_reader_can_refuse),
      cmocka_unit_test_setup_teardown(benchmarks_are_chosen_by_name, make_place, remove_place),
      cmocka_unit_test_setup_teardown(help_shows_presets_beside_defaults, make_place, remove_place),
      cmocka_unit_test_setup_teardown(help_is_printed_and_names_are_corrected, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(list_shows_what_there_is, make_place, remove_place),
      cmocka_unit_test_setup_teardown(theory_prints_the_constants, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_prints_its_result_and_leaves_records, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(config_json_repeats_the_run_byte_for_byte, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(threads_do_not_matter, make_place, remove_place),
      cmocka_unit_test_setup_teardown(mistakes_of_a_run_are_explained, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_is_carried_on, make_place, remove_place),
      cmocka_unit_test_setup_teardown(an_interrupt_keeps_what_was_recorded, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(a_sweep_ranks_and_is_not_repeated, make_place, remove_place),
      cmocka_unit_test_setup_teardown(results_are_evaluated_and_drawn, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_is_shown_and_can_be_repeated, make_place, remove_place),
      cmocka_unit_test_setup_teardown(evaluations_of_a_shown_run_can_be_repeated, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(agents_are_compared, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_page_is_written, make_place, remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
