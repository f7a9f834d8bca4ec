/* Sweep files: their expansion into configurations, scales and labels, random draws, and what is
 * refused and where. */
#include "sweep_helpers.h"

#include "base/memory.h"

#include <math.h>

static void the_key_written_last_varies_fastest(void **state) {
  (void)state;
  lgv_sweep *s = load("env: riverswim\nagent: lmc-lsvi\n"
                      "grid:\n  agent.lambda: [1, 0.1]\n  env: {n: [6, 8, 10]}\n");
  assert_int_equal(lgv_sweep_get_info(s)->configs, 6);
  assert_int_equal(lgv_sweep_get_info(s)->cases, 1);
  assert_int_equal(lgv_sweep_get_info(s)->seeds, 1);
  assert_string_equal(lgv_sweep_get_info(s)->measure, "final_return");
  assert_false(lgv_sweep_get_info(s)->lowest_is_best);
  assert_config(s, 0, "agent.lambda=1 env.n=6");
  assert_config(s, 1, "agent.lambda=1 env.n=8");
  assert_config(s, 2, "agent.lambda=1 env.n=10");
  assert_config(s, 3, "agent.lambda=0.1 env.n=6");
  assert_config(s, 5, "agent.lambda=0.1 env.n=10");
  assert_setting(s, 4, "env.name", "riverswim");
  assert_setting(s, 4, "env.n", "8");
  assert_setting(s, 4, "run.checkpoint_final", "false");
  lgv_sweep_free(s);
}

static void a_case_replaces_common_settings_and_axes(void **state) {
  (void)state;
  lgv_sweep *s = load("env: riverswim\nagent.delta: 0.3\n"
                      "grid: {agent.lambda: [1, 2], env.n: [6]}\n"
                      "cases:\n"
                      "  - {agent: lmc-lsvi, grid: {agent.beta: [5, 7]}}\n"
                      "  - {agent: lsvi-ucb, agent.lambda: 9, agent.delta: 0.4}\n"
                      "  - {agent: rlsvi, grid: {agent.lambda: [3]}}\n"
                      "seeds: {first: 100, count: 20}\nmeasure: regret\nrecords: summary\n");
  const lgv_sweep_info *info = lgv_sweep_get_info(s);
  assert_int_equal(info->configs, 4 + 1 + 1);
  assert_int_equal(info->cases, 3);
  assert_int_equal(info->first_seed, 100);
  assert_int_equal(info->seeds, 20);
  assert_string_equal(info->measure, "regret");
  assert_true(info->lowest_is_best);
  assert_config(s, 1, "agent.name=lmc-lsvi agent.lambda=1 env.n=6 agent.beta=7 agent.delta=0.3");
  assert_config(s, 2, "agent.name=lmc-lsvi agent.lambda=2 env.n=6 agent.beta=5 agent.delta=0.3");
  assert_config(s, 4, "agent.name=lsvi-ucb agent.lambda=9 env.n=6 agent.beta=- agent.delta=0.4");
  assert_config(s, 5, "agent.name=rlsvi agent.lambda=3 env.n=6 agent.beta=- agent.delta=0.3");
  assert_int_equal(lgv_sweep_case(s, 3), 0);
  assert_int_equal(lgv_sweep_case(s, 4), 1);
  assert_int_equal(lgv_sweep_case(s, 5), 2);
  assert_setting(s, 4, "run.records", "summary");
  assert_setting(s, 4, "agent.beta", NULL);
  lgv_sweep_free(s);
}

static void a_case_has_fewer_seeds(void **state) {
  (void)state;
  lgv_sweep *s = load("env: riverswim\nseeds: {first: 100, count: 5}\n"
                      "cases:\n  - {agent: lmc-lsvi}\n"
                      "  - {agent: rlsvi, seeds: {count: 2}, grid: {env.n: [6, 8]}}\n"
                      "  - {agent: psrl, seeds: {count: 9}}\n");
  const int32_t expected[] = {5, 2, 2, 5, 0}; /* the last one is no configuration */
  for (size_t c = 0; c < 5; c++) assert_int_equal(lgv_sweep_seeds(s, c), expected[c]);
  assert_int_equal(lgv_sweep_get_info(s)->seeds, 5);
  lgv_sweep_free(s);
}

static void lists_in_a_grid_are_values(void **state) {
  (void)state;
  lgv_sweep *s = load("env: nchain\nrun.checkpoint_final: true\n"
                      "grid: {agent: [a, b], agent.hidden: [[32, 32], [64], 8]}\n");
  assert_int_equal(lgv_sweep_get_info(s)->configs, 6);
  assert_config(s, 0, "agent.name=a agent.hidden=32,32");
  assert_config(s, 5, "agent.name=b agent.hidden=8");
  assert_setting(s, 0, "run.checkpoint_final", "true");
  lgv_sweep_free(s);
}

static void mistakes_are_placed(void **state) {
  (void)state;
  const struct {
    const char *text, *says;
  } cases[] = {
      {"grid: {agent.lambda: []}\n", "s.yaml:1:22: the list of 'agent.lambda' is empty"},
      {"cases: [{seeds: {first: 1}}]\n", "a case has the first seeds of the file"},
      {"grid: [1]\n", "s.yaml:1:7: grid is a mapping"},
      {"grid: {agent.lambda: [1, null]}\n", "s.yaml:1:26: write the value itself"},
      {"grid: {agent.lambda: [{a: 1}]}\n", "s.yaml:1:23: a plain value is needed"},
      {"grid: {a.b: [1], a: {b: [2]}}\n", "s.yaml:1:25: 'a.b' is in this grid twice"},
      {"agent.lambda: 1\ngrid: {agent.lambda: [1]}\n", "s.yaml:2:23: 'agent.lambda' has a value"},
      {"cases: [{agent.lambda: 1, grid: {agent.lambda: [1]}}]\n",
       "s.yaml:1:49: 'agent.lambda' has"},
      {"cases: {agent: a}\n", "s.yaml:1:8: cases is a list"},
      {"cases: []\n", "s.yaml:1:8: cases is a list"},
      {"cases: [a]\n", "s.yaml:1:9: a case is a mapping"},
      {"cases: [{best: 3}]\n", "s.yaml:1:16: unknown key 'best': a case has"},
      {"cases: [{seeds: 3}]\n", "s.yaml:1:17: name the seeds: seeds: {count: 20}"},
      {"seeds: 20\n", "s.yaml:1:8: name the seeds: seeds: {first: 0, count: 20}"},
      {"seeds: {first: 0, number: 2}\n", "s.yaml:1:27: unknown 'number'"},
      {"seeds: {count: 0}\n", "s.yaml:1:16: a whole number from 1"},
      {"seeds: {first: -1}\n", "s.yaml:1:16: a whole number from 0"},
      {"measure: speed\n", "measure is one of mean_return, final_return"},
      {"best: good\n", "best is lowest or highest"},
      {"gird: {a: [1]}\n", "s.yaml:1:7: unknown key 'gird'; did you mean 'grid'?"},
      {"random: [1]\n", "s.yaml:1:9: random is a mapping"},
      {"random: {keys: {a.b: {uniform: [0, 1]}}}\n", "s.yaml:1:32: random needs a count"},
      {"random: {count: 3}\n", "s.yaml:1:1: random has a count but no keys"},
      {"cases: [{random: {count: 3}}]\n", "s.yaml:1:9: random has a count but no keys"},
      {"random: {count: 0}\n", "s.yaml:1:17: a whole number from 1 to 1000000"},
      {"random: {cuont: 3}\n", "s.yaml:1:17: unknown 'cuont': random has count, seed and keys"},
      {"random: {count: 3, keys: [a]}\n", "s.yaml:1:26: keys is a mapping"},
      {"random: {count: 3, keys: {a.b: [1, 2]}}\n", "s.yaml:1:32: say how 'a.b' is drawn"},
      {"random: {count: 3, keys: {a.b: {unifrom: [1, 2]}}}\n", "did you mean 'uniform'?"},
      {"random: {count: 3, keys: {a.b: {uniform: [1]}}}\n", "s.yaml:1:42: uniform takes its two"},
      {"random: {count: 3, keys: {a.b: {uniform: [2, 1]}}}\n", "s.yaml:1:42: the lower end comes"},
      {"random: {count: 3, keys: {a.b: {uniform: [0, x]}}}\n", "s.yaml:1:46: a number is needed"},
      {"random: {count: 3, keys: {a.b: {log_uniform: [0, 1]}}}\n",
       "s.yaml:1:47: log_uniform needs"},
      {"random: {count: 3, keys: {a.b: {int_uniform: [0, 1.5]}}}\n", "s.yaml:1:50: int_uniform"},
      {"random: {count: 3, keys: {a.b: {choice: 3}}}\n", "s.yaml:1:41: choice takes a list"},
      {"random: {count: 3, keys: {a.b: {choice: []}}}\n",
       "s.yaml:1:41: the list of 'a.b' is empty"},
      {"random: {count: 3, keys: {a.b: {choice: [1, 2]}}}\n", "s.yaml:1:41: random keeps drawing"},
      {"random: {count: 2, keys: {a: {b: {choice: [1, 2]}}, a.b: {choice: [1]}}}\n", "twice"},
      {"agent.b: 1\nrandom: {count: 1, keys: {agent.b: {uniform: [0, 1]}}}\n",
       "s.yaml:2:46: 'agent.b' is drawn at random and has a value"},
      {"grid: {a.b: [1]}\nrandom: {count: 1, keys: {a.b: {uniform: [0, 1]}}}\n",
       "s.yaml:2:42: 'a.b' is drawn at random and is in the grid"},
      {"random: {count: 1, keys: {run.seed: {uniform: [0, 1]}}}\n", "the seeds of a sweep are"},
      {"run.seed: 1\n", "the seeds of a sweep are named like this"},
      {"grid: {run.seed: [1, 2]}\n", "the seeds of a sweep are named like this"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_sweep *sweep;
    lgv_error err = {0};
    assert_int_equal(try_load(cases[i].text, &sweep, &err), LGV_ERR_USAGE);
    assert_null(sweep);
    if (!strstr(err.message, cases[i].says))
      fail_msg("case %zu: '%s' does not say '%s'", i, err.message, cases[i].says);
  }
}

/* A tuner reads the distributions themselves. */
static void distributions_can_be_read(void **state) {
  (void)state;
  lgv_sweep *sweep =
      load("env: riverswim\nrandom: {count: 2, keys: {agent.c: {uniform: [0, 1]}}}\n"
           "cases:\n"
           "- agent: rlsvi\n"
           "- {agent: lmc-lsvi, random: {keys: {agent.c: {choice: [[1, 2], 3]}, "
           "agent.b: {int_uniform: [-2, 5]}, agent.a: {log_uniform: [1e-3, 2]}}}}\n");
  lgv_draw_info draw;
  assert_true(lgv_sweep_draw(sweep, 0, 0, &draw));
  assert_string_equal(draw.key, "agent.c");
  assert_string_equal(draw.kind, "uniform");
  assert_non_null(strstr(draw.origin, ".yaml:2:46"));
  assert_true(draw.low == 0 && draw.high == 1 && draw.n_choices == 0);
  assert_false(lgv_sweep_draw(sweep, 0, 1, &draw));
  assert_true(lgv_sweep_draw(sweep, 1, 0, &draw));
  assert_string_equal(draw.kind, "choice");
  assert_int_equal(draw.n_choices, 2);
  assert_string_equal(draw.choices[0], "1,2");
  assert_string_equal(draw.choices[1], "3");
  assert_true(lgv_sweep_draw(sweep, 1, 1, &draw));
  assert_string_equal(draw.kind, "int_uniform");
  assert_true(draw.low == -2 && draw.high == 5);
  assert_true(lgv_sweep_draw(sweep, 1, 2, &draw));
  assert_string_equal(draw.kind, "log_uniform");
  assert_false(lgv_sweep_draw(sweep, 1, 3, &draw));
  assert_false(lgv_sweep_draw(sweep, 2, 0, &draw));
  lgv_sweep_free(sweep);
  sweep = load("env: riverswim\nagent: rlsvi\n");
  assert_false(lgv_sweep_draw(sweep, 0, 0, &draw));
  lgv_sweep_free(sweep);
}

/* Seven keys of ten values are too many; aliases make a small file of it. */
static void an_explosion_is_refused(void **state) {
  (void)state;
  lgv_sweep *sweep;
  lgv_error err = {0};
  const char *text = "env: &l [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
                     "grid: {agent.a: *l, agent.b: *l, agent.c: *l, agent.d: *l, agent.e: *l,"
                     " agent.f: *l, agent.g: *l}\n";
  assert_int_equal(try_load(text, &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "more than 1000000 configurations"));
}

/* The n-th allocation fails, for every n until the file is read. */
static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  const char *text = "env: riverswim\ngrid: {agent.lambda: [1, 2]}\n"
                     "random: {count: 2, keys: {agent.c: {uniform: [0, 1]}}}\n"
                     "cases: [{agent: lmc-lsvi, grid: {agent.beta: [5]}}, {agent: rlsvi, random: "
                     "{keys: {agent.d: {choice: [1, 2]}}}}]\n";
  lgv_sweep_free(load(text));
  for (long n = 1; n < 1000; n++) {
    lgv_sweep *sweep;
    lgv_error err = {0};
    lgv__memory_fail_after(n);
    lgv_status status = try_load(text, &sweep, &err);
    if (lgv__memory_fail_after(0) > 0) { /* it was not reached */
      assert_int_equal(status, LGV_OK);
      lgv_sweep_free(sweep);
      return;
    }
    assert_int_equal(status, LGV_ERR_MEMORY);
  }
  fail_msg("reading never succeeded");
}

/* ---- Random search ---- */

static const char *value_of(const lgv_sweep *sweep, size_t config, const char *key) {
  for (size_t k = 0; lgv_sweep_key(sweep, k); k++)
    if (strcmp(lgv_sweep_key(sweep, k), key) == 0) return lgv_sweep_value(sweep, config, k);
  fail_msg("no key %s", key);
  return NULL;
}

static double number_of(const lgv_sweep *sweep, size_t config, const char *key) {
  return strtod(value_of(sweep, config, key), NULL);
}

/* Every distribution has its mean and stays in its range: 4000 draws, five standard errors. */
static void draws_follow_their_distributions(void **state) {
  (void)state;
  enum { N = 4000 };
  lgv_sweep *s = load("random:\n  count: 4000\n  seed: 1\n  keys:\n"
                      "    optim: {lr: {log_uniform: [1e-5, 1e-1]}, a: {uniform: [-1, 3]}}\n"
                      "    env.n: {int_uniform: [10, 14]}\n    agent.batch: {choice: [32, 64]}\n");
  assert_int_equal(lgv_sweep_get_info(s)->configs, N);
  double sums[4] = {0};
  int ends[5] = {0};
  for (size_t i = 0; i < N; i++) {
    double lr = number_of(s, i, "optim.lr"), a = number_of(s, i, "optim.a");
    double n = number_of(s, i, "env.n"), batch = number_of(s, i, "agent.batch");
    assert_true(lr >= 1e-5 && lr <= 1e-1 && a >= -1 && a <= 3 && n >= 10 && n <= 14);
    assert_true(batch == 32 || batch == 64);
    assert_true(strlen(value_of(s, i, "optim.lr")) <= 12); /* six digits */
    ends[(int)n - 10]++;
    sums[0] += log10(lr);
    sums[1] += a;
    sums[2] += n;
    sums[3] += batch == 64;
  }
  const double means[] = {-3, 1, 12, 0.5};
  const double deviations[] = {4 / sqrt(12), 4 / sqrt(12), sqrt(2), 0.5};
  for (int k = 0; k < 4; k++)
    assert_true(fabs(sums[k] / N - means[k]) < 5 * deviations[k] / sqrt(N));
  for (int k = 0; k < 5; k++) assert_true(abs(ends[k] - N / 5) < 5 * sqrt(N * 0.2 * 0.8));
  lgv_sweep_free(s);
}

#define DRAWN "{optim.lr: {log_uniform: [1e-5, 1e-2]}, agent.batch: {choice: [32, 64, 128]}}"

/* More draws, and another key, leave those that were there; another seed does not. */
static void draws_do_not_depend_on_their_number(void **state) {
  (void)state;
  lgv_sweep *few = load("grid: {env.n: [4, 5]}\nrandom: {count: 5, seed: 7, keys: " DRAWN "}\n");
  lgv_sweep *many = load("grid: {env.n: [4, 5]}\nrandom: {count: 50, seed: 7, keys: " DRAWN "}\n");
  lgv_sweep *other = load("grid: {env.n: [4, 5]}\nrandom: {count: 5, seed: 8, keys: " DRAWN "}\n");
  assert_int_equal(lgv_sweep_get_info(few)->configs, 10);
  assert_int_equal(lgv_sweep_get_info(many)->configs, 100);
  int same = 0;
  for (size_t i = 0; i < 10; i++) {
    for (size_t k = 0; k < 3; k++)
      assert_string_equal(lgv_sweep_value(few, i, k), lgv_sweep_value(many, i, k));
    same += strcmp(value_of(few, i, "optim.lr"), value_of(other, i, "optim.lr")) == 0;
    assert_string_equal(value_of(few, i, "env.n"), i % 2 ? "5" : "4");
    assert_setting(few, i, "optim.lr", value_of(few, i, "optim.lr"));
  }
  assert_int_equal(same, 0);
  assert_string_equal(value_of(few, 0, "optim.lr"), value_of(few, 1, "optim.lr"));
  assert_string_not_equal(value_of(few, 0, "optim.lr"), value_of(few, 2, "optim.lr"));
  lgv_sweep_free(few);
  lgv_sweep_free(many);
  lgv_sweep_free(other);
}

/* Six different draws of six: all combinations, each once. */
static void no_draw_comes_twice(void **state) {
  (void)state;
  lgv_sweep *s = load("random: {count: 6, keys: {a.b: {choice: [x, y]}, a.c: {int_uniform: [1, "
                      "3]}}}\n");
  int seen[2][4] = {{0}};
  for (size_t i = 0; i < 6; i++)
    seen[value_of(s, i, "a.b")[0] == 'y'][(int)number_of(s, i, "a.c")]++;
  for (int b = 0; b < 2; b++)
    for (int c = 1; c <= 3; c++) assert_int_equal(seen[b][c], 1);
  lgv_sweep_free(s);
}

static void a_case_draws_its_own(void **state) {
  (void)state;
  lgv_sweep *s =
      load("random: {count: 3, seed: 5, keys: {agent.x: {uniform: [0, 1]}, agent.y: {uniform: [0, "
           "1]}}}\n"
           "cases:\n"
           "  - {agent: a}\n"                                 /* 3 draws */
           "  - {agent: b, agent.x: 9, random: {count: 2}}\n" /* 2 draws of y */
           "  - {agent: c, agent.x: 1, agent.y: 2}\n"         /* none */
           "  - {agent: d, grid: {agent.x: [1, 2]}, random: {keys: {agent.z: {choice: [p]}}}}\n");
  const lgv_sweep_info *info = lgv_sweep_get_info(s);
  assert_int_equal(info->cases, 4);
  assert_int_equal(info->configs, 3 + 2 + 1 + 3 * 2);
  assert_string_equal(value_of(s, 3, "agent.x"), "9");
  for (size_t i = 0; i < 2; i++) /* a stream a key: the same y wherever it is drawn */
    assert_string_equal(value_of(s, i, "agent.y"), value_of(s, 3 + i, "agent.y"));
  assert_string_equal(value_of(s, 5, "agent.y"), "2");
  assert_null(value_of(s, 5, "agent.z"));
  assert_string_equal(value_of(s, 6, "agent.x"), "1");
  assert_string_equal(value_of(s, 7, "agent.x"), "2");
  assert_string_equal(value_of(s, 7, "agent.y"), value_of(s, 0, "agent.y"));
  assert_string_equal(value_of(s, 11, "agent.z"), "p");
  lgv_sweep_free(s);
}

/* ---- Scales and labels ---- */

static const char scaled[] = "about: all of it\n"
                             "env: {name: nchain, n: 10}\n"
                             "run: {steps: 100000}\n"
                             "seeds: {first: 7, count: 20}\n"
                             "cases:\n"
                             "  - {label: DQN, agent: dqn, grid: {env.n: [25, 50]}}\n"
                             "  - {label: 'a = {optim.a}', agent: adam-lmcdqn, optim.a: 0.1}\n"
                             "  - {agent: noisynet-dqn}\n"
                             "scales:\n"
                             "  quick:\n"
                             "    about: two agents\n"
                             "    run.steps: 1000\n"
                             "    env.n: 8\n"
                             "    seeds: {count: 2}\n"
                             "    cases: [DQN, 'a = {optim.a}']\n"
                             "  wide: {grid: {env.n: [5, 6, 7]}}\n"
                             "  none: {cases: [Rainbow]}\n";

static void a_scale_replaces_what_it_names(void **state) {
  (void)state;
  lgv_sweep *sweep;
  lgv_error err = {0};
  assert_int_equal(try_load_scale(scaled, "paper", &sweep, &err), LGV_OK);
  assert_int_equal(lgv_sweep_get_info(sweep)->configs, 4);
  assert_int_equal(lgv_sweep_get_info(sweep)->seeds, 20);
  assert_string_equal(lgv_sweep_get_info(sweep)->about, "all of it");
  assert_setting(sweep, 1, "env.n", "50");
  lgv_sweep_free(sweep);
  assert_int_equal(try_load_scale(scaled, "quick", &sweep, &err), LGV_OK);
  const lgv_sweep_info *info = lgv_sweep_get_info(sweep);
  assert_int_equal(info->configs, 2); /* the setting takes the place of the case's axis */
  assert_int_equal(info->first_seed, 7);
  assert_int_equal(info->seeds, 2);
  assert_string_equal(info->about, "two agents");
  for (size_t c = 0; c < 2; c++) assert_setting(sweep, c, "run.steps", "1000");
  for (size_t c = 0; c < 2; c++) assert_setting(sweep, c, "env.n", "8");
  assert_setting(sweep, 1, "agent.name", "adam-lmcdqn");
  lgv_sweep_free(sweep);
  assert_int_equal(try_load_scale(scaled, "wide", &sweep, &err), LGV_OK);
  assert_int_equal(lgv_sweep_get_info(sweep)->configs, 9);
  assert_setting(sweep, 8, "env.n", "7");
  lgv_sweep_free(sweep);
}

static void a_scale_draws_less(void **state) {
  (void)state;
  lgv_sweep *whole, *small;
  lgv_error err = {0};
  const char *text = "agent: dqn\nrandom: {count: 9, keys: {optim.lr: {uniform: [0, 1]}, env.n: "
                     "{int_uniform: [5, 9]}}}\n"
                     "scales: {quick: {random: {count: 2}, env.n: 4}}\n";
  assert_int_equal(try_load_scale(text, NULL, &whole, &err), LGV_OK);
  assert_int_equal(try_load_scale(text, "quick", &small, &err), LGV_OK);
  assert_int_equal(lgv_sweep_get_info(whole)->configs, 9);
  assert_int_equal(lgv_sweep_get_info(small)->configs, 2);
  assert_setting(small, 1, "env.n", "4");
  assert_string_equal(value_of(small, 1, "optim.lr"), value_of(whole, 1, "optim.lr"));
  lgv_sweep_free(whole);
  lgv_sweep_free(small);
}

static void wrong_scales_are_refused(void **state) {
  (void)state;
  lgv_sweep *sweep;
  lgv_error err = {0};
  assert_int_equal(try_load_scale(scaled, "huge", &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "'huge'; there is paper, quick, wide, none"));
  assert_int_equal(try_load_scale(scaled, "none", &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "no case has the label"));
  const char *none = "agent: dqn\nscales: {quick: {cases: [DQN]}}\n";
  const char *some = "cases: [{agent: dqn, label: A}]\nscales: {quick: {cases: [A, B]}}\n";
  assert_int_equal(try_load_scale(none, "quick", &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "no case has the label 'DQN'"));
  assert_int_equal(try_load_scale(some, "quick", &sweep, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "no case has the label 'B'"));
  assert_int_equal(
      try_load_scale("agent: dqn\nscales: {quick: {measure: regret}}\n", "quick", &sweep, &err),
      LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "s.yaml:2"));
}

static void labels_show_values(void **state) {
  (void)state;
  lgv_sweep *sweep = load(scaled);
  char text[LGV_SWEEP_LABEL_SIZE];
  assert_true(lgv_sweep_label(sweep, 1, text, sizeof text));
  assert_string_equal(text, "DQN");
  assert_true(lgv_sweep_label(sweep, 2, text, sizeof text));
  assert_string_equal(text, "a = 0.1");
  assert_true(lgv_sweep_label(sweep, 2, text, 6)); /* cut, not overrun */
  assert_string_equal(text, "a = 0");
  assert_false(lgv_sweep_label(sweep, 3, text, sizeof text));
  assert_false(lgv_sweep_label(sweep, 4, text, sizeof text));
  lgv_sweep_free(sweep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_key_written_last_varies_fastest),
      cmocka_unit_test(a_case_replaces_common_settings_and_axes),
      cmocka_unit_test(a_case_has_fewer_seeds),
      cmocka_unit_test(lists_in_a_grid_are_values),
      cmocka_unit_test(a_scale_replaces_what_it_names),
      cmocka_unit_test(a_scale_draws_less),
      cmocka_unit_test(wrong_scales_are_refused),
      cmocka_unit_test(labels_show_values),
      cmocka_unit_test(mistakes_are_placed),
      cmocka_unit_test(distributions_can_be_read),
      cmocka_unit_test(an_explosion_is_refused),
      cmocka_unit_test(every_failed_allocation_is_reported),
      cmocka_unit_test(draws_follow_their_distributions),
      cmocka_unit_test(draws_do_not_depend_on_their_number),
      cmocka_unit_test(no_draw_comes_twice),
      cmocka_unit_test(a_case_draws_its_own),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
