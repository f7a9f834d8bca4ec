/* `langevin reproduce`: every experiment that is shipped can be read at every scale, a small one is
 * run with its figures, and mistakes are named before anything runs. */
#include "cli_helpers.h"

#include <dirent.h>
#include <stdbool.h>

#include "langevin.h"

static const char small[] =
    "about: two agents on a small river\n"
    "env: {name: riverswim, horizon: 6}\nrun.episodes: 40\nseeds: {first: 3, count: 3}\n"
    "measure: regret\ngrid: {env.n: [4, 5]}\n"
    "cases:\n"
    "  - {label: LMC, agent: lmc-lsvi}\n"
    "  - {label: UCB, agent: lsvi-ucb}\n"
    "scales: {quick: {about: 'one of them', run.episodes: 10, seeds: {count: 2}, cases: [LMC]}}\n"
    "figures:\n"
    "  - {name: regret, y: regret}\n"
    "  - {name: ucb, labels: ['U*'], y: value, statistic: median}\n"
    "  - {name: river, each: env.n, y: regret, title: River}\n"
    "  - {name: last, kind: bars, over: env.n, y: final_return, band: se}\n";

static int set_up(void **state) {
  make_place(state);
  write_text(directory, "small.yaml", small);
  return 0;
}

/* `langevin WORDS`, where the directory's own files are the experiments. */
static void expect(const char *words, int code) {
  char command[2048];
  snprintf(command, sizeof command, "LANGEVIN_EXPERIMENTS=. $L %s", words);
  expect_shell(command, code);
}

static bool has_file(const char *name) {
  char path[PATH_MAX];
  join(path, directory, name);
  return access(path, F_OK) == 0;
}

static void every_experiment_can_be_read(void **state) {
  (void)state;
  static const char *const wanted[] = {
      "linear-mdp", "riverswim",         "nchain",          "atari",
      "qbert-bias", "qbert-temperature", "double-ablation", "langevin-comparison",
      "battery",    "atari-seeds",       "atari-games"};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    for (int quick = 0; quick < 2; quick++) {
      char path[PATH_MAX];
      lgv_sweep *sweep;
      lgv_error e = {0};
      snprintf(path, sizeof path, "%s/../experiments/%s.yaml", TEST_SOURCE_DIR, wanted[i]);
      if (lgv_sweep_load(path, quick ? "quick" : "paper", &sweep, &e) != LGV_OK)
        fail_msg("%s", e.message);
      assert_true(strlen(lgv_sweep_get_info(sweep)->about) > 10);
      lgv_sweep_free(sweep);
    }
}

static void a_figure_is_one_command(void **state) {
  (void)state;
  expect("reproduce --list", 0);
  assert_says(out, "small");
  assert_says(out, "two agents on a small river (12 runs)");
  expect("reproduce small", 0);
  assert_says(err, "one of them");
  assert_true(has_file("runs/small-quick/figures/regret.png"));
  assert_false(has_file("runs/small-quick/figures/ucb.png")); /* none of its cases was kept */
  expect("reproduce small --scale paper -q", 0);
  assert_string_equal(err, "");
  static const char *const files[] = {"regret.svg",  "ucb.svg",  "river-4.png",
                                      "river-5.svg", "last.png", "last.svg"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char name[PATH_MAX];
    snprintf(name, sizeof name, "runs/small-paper/figures/%s", files[i]);
    if (!has_file(name)) fail_msg("there is no %s", name);
  }
  char *ucb = read_text(directory, "runs/small-paper/figures/ucb.svg");
  assert_non_null(ucb);
  free(ucb);
  expect("reproduce small --scale paper -- --merge", 0); /* nothing is run again */
  assert_says(out, "figure: runs/small-paper/figures/regret.png");
}

static void mistakes_are_named(void **state) {
  (void)state;
  expect("reproduce smal", 2);
  assert_says(err, "did you mean 'small'?");
  expect("reproduce small --search", 2);
  assert_says(err, "has no search");
  expect("reproduce small --scale large", 2);
  assert_says(err, "there is paper, quick");
  expect("reproduce", 2);
  expect("plot runs --bars --profile --out a.svg", 2);
  assert_says(err, "one kind of figure at a time");
  write_text(directory, "small-search.yaml", small);
  write_text(directory, "bad.yaml", "env: riverswim\nagent: lsvi-ucb\nfigures: [{kind: pie}]\n");
  expect("sweep bad.yaml", 2);
  assert_says(err, "bad.yaml:3");
  assert_false(has_file("runs/bad"));
  write_text(directory, "bad.yaml",
             "env: riverswim\nagent: lsvi-ucb\nfigures: [{name: a, wide: 3}]\n");
  expect("sweep bad.yaml", 2);
  assert_says(err, "unknown key 'wide'");
  static const char *const late[][2] = {{"statistic: iqr", "no statistic 'iqr'"},
                                        {"band: sd", "no band 'sd'"},
                                        {"kind: bars, y: regrets", "did you mean 'regret'?"},
                                        {"each: env.m", "did you mean 'env.n'?"}};
  for (size_t i = 0; i < sizeof late / sizeof *late; i++) { /* known before anything runs */
    char text[300];
    snprintf(text, sizeof text,
             "env: riverswim\nagent: lsvi-ucb\nrun.episodes: 3\ngrid: {env.n: [4, 5]}\n"
             "figures: [{name: a, %s}]\n",
             late[i][0]);
    write_text(directory, "bad.yaml", text);
    expect("sweep bad.yaml -q", 2);
    assert_says(err, "bad.yaml:5");
    assert_says(err, late[i][1]);
    assert_false(has_file("runs/bad"));
  }
}

/* Where a scale leaves one value of `each`, that is one figure. */
static void a_figure_of_one_value_is_drawn(void **state) {
  (void)state;
  write_text(directory, "one.yaml",
             "env: riverswim\nagent: lsvi-ucb\nrun.episodes: 9\ngrid: {env.n: [4, 5]}\n"
             "scales: {quick: {env.n: 4}}\nfigures: [{name: a, each: env.n, y: regret}]\n");
  expect("sweep one.yaml --scale quick -q", 0);
  assert_true(has_file("runs/one-quick/figures/a.png"));
}

int main(void) {
  ignore_leaks_of_fonts();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_experiment_can_be_read),
      cmocka_unit_test_setup_teardown(a_figure_is_one_command, set_up, remove_place),
      cmocka_unit_test_setup_teardown(mistakes_are_named, set_up, remove_place),
      cmocka_unit_test_setup_teardown(a_figure_of_one_value_is_drawn, set_up, remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
