/* One run against numbers worked out by hand: regret, returns, rows, evaluations, failures. */
#include "tiny_world.h"

#include "file_helpers.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

/* Advances in slices of `slice` steps and finishes. */
static lgv_status complete(lgv_run *run, int64_t slice, lgv_error *err) {
  bool done = false;
  while (!done) {
    lgv_status status = lgv_run_advance(run, slice, &done, err);
    if (status != LGV_OK) return status;
  }
  return lgv_run_finish(run, err);
}

static lgv_summary run_into(const lgv_plan *plan, uint64_t seed, const char *directory,
                            int64_t slice) {
  lgv_run *run;
  lgv_error err = {0};
  lgv_summary summary;
  if (lgv_run_create(plan, seed, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  if (complete(run, slice, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_summary(run, &summary);
  lgv_run_free(run);
  return summary;
}

/* Reads metrics.csv into rows of numbers (empty fields are NaN); returns how many there are. */
static size_t read_rows(const char *directory, const char *header, double rows[][8], size_t most) {
  char *text = read_text(directory, "metrics.csv"), *rest = text, *line = strsep(&rest, "\n");
  size_t n = 0;
  assert_non_null(text);
  assert_string_equal(line, header);
  while ((line = strsep(&rest, "\n")) && *line) {
    assert_true(n < most);
    size_t column = 0;
    for (char *field; (field = strsep(&line, ","));)
      rows[n][column++] = *field ? strtod(field, NULL) : NAN;
    n++;
  }
  free(text);
  return n;
}

static void regret_is_the_exact_sum_over_policies(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  double rows[16][8];
  make_temp(directory);
  lgv_plan *plan = make_coin_plan("run.episodes=9");
  lgv_summary s = run_into(plan, 1, directory, 1000);
  assert_true(s.finished && s.episodes == 9 && s.steps == 27);
  assert_true(s.optimal_value == 3);
  assert_true(s.regret == 3 * 27.0 / 8);
  assert_true(s.final_return == 3 * (3 + 1.875 + 0.75) / 9); /* the values of the 9 policies */
  assert_int_equal(read_rows(directory, "step,episode,return,value,regret,ones", rows, 16), 9);
  const double values[] = {3, 1.875, 0.75}, regrets[] = {0, 1.125, 3.375};
  double total = 0, ones = 0;
  for (int i = 0; i < 9; i++) {
    assert_true(rows[i][0] == 3 * (i + 1) && rows[i][1] == i + 1);
    assert_true(rows[i][3] == values[i % 3]);
    assert_true(rows[i][4] == i / 3 * 3.375 + regrets[i % 3]);
    total += rows[i][2];
    /* a return is 3/4 and another 3/4 for each time that action 1 was taken */
    assert_true(rows[i][2] == 0.75 + 0.75 * (rows[i][5] - ones));
    ones = rows[i][5];
  }
  assert_true(s.mean_return == total / 9);
  lgv_plan_free(plan);
  remove_tree(directory);
}

/* One step from any of ten states: once every reward is known the policy is optimal from all of
 * them, and worth the optimal value, wherever the last episodes began. */
static void a_policys_value_is_its_mean_over_the_starts(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("linear-mdp", "lsvi-ucb", "env.horizon=1 run.episodes=2000");
  lgv_summary s = run_plan(plan, 1);
  assert_true(fabs(s.final_return - s.optimal_value) < 1e-12);
  assert_true(s.regret > 0 && s.regret < 200);
  lgv_plan_free(plan);
}

/* The chain begins in its second state; a first episode without data is played uniformly. */
static void regret_counts_from_the_state_where_it_began(void **state) {
  (void)state;
  enum { N = 4, ACTIONS = 2, HORIZON = N + 8 };
  lgv_settings *settings = make_settings("nchain", NULL, "env.n=4");
  lgv_env *env;
  lgv_error err = {0};
  double optimal[(HORIZON + 1) * N], values[(HORIZON + 1) * N], policy[HORIZON * N * ACTIONS];
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  for (int i = 0; i < HORIZON * N * ACTIONS; i++) policy[i] = 0.5;
  lgv_model_optimal(lgv_env_get_model(env), optimal);
  lgv_model_evaluate(lgv_env_get_model(env), policy, values);
  assert_true(fabs((optimal[1] - values[1]) - (optimal[0] - values[0])) > 0.1);
  lgv_plan *plan = make_plan("nchain", "lsvi-ucb", "env.n=4 run.episodes=1");
  assert_float_equal(run_plan(plan, 1).regret, optimal[1] - values[1], 0);
  lgv_plan_free(plan);
  lgv_env_free(env);
  lgv_settings_free(settings);
}

static void rows_average_over_what_lies_between(void **state) {
  (void)state;
  char every[TEMP_SIZE], third[TEMP_SIZE];
  double all[16][8], few[16][8];
  make_temp(every);
  make_temp(third);
  lgv_plan *one = make_coin_plan("run.episodes=9"),
           *three = make_coin_plan("run.episodes=9 run.record_every=3");
  run_into(one, 1, every, 1000);
  run_into(three, 1, third, 1000);
  const char *header = "step,episode,return,value,regret,ones";
  assert_int_equal(read_rows(every, header, all, 16), 9);
  assert_int_equal(read_rows(third, header, few, 16), 3);
  for (int i = 0; i < 3; i++) {
    double mean = (all[3 * i][2] + all[3 * i + 1][2] + all[3 * i + 2][2]) / 3;
    assert_true(few[i][2] == mean && few[i][4] == 3.375 * (i + 1));
  }
  lgv_plan_free(one);
  lgv_plan_free(three);
  remove_tree(every);
  remove_tree(third);
}

static void how_a_run_is_sliced_does_not_matter(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", "run.episodes=20");
  char one[TEMP_SIZE], other[TEMP_SIZE];
  make_temp(one);
  make_temp(other);
  run_into(plan, 5, one, 1);
  run_into(plan, 5, other, 1000000);
  const char *const files[] = {"config.json", "metrics.csv", "summary.json"};
  for (int i = 0; i < 3; i++) assert_same_file(one, other, files[i]);
  lgv_plan_free(plan);
  remove_tree(one);
  remove_tree(other);
}

static void evaluation_does_not_touch_training(void **state) {
  (void)state;
  const char *const agents[] = {"lmc-lsvi", "lsvi-ucb", "psrl"};
  for (int a = 0; a < 3; a++) {
    lgv_plan *without = make_plan("riverswim", agents[a], "run.episodes=30"),
             *with = make_plan("riverswim", agents[a],
                               "run.episodes=30 run.eval_every=7 run.eval_episodes=2");
    lgv_summary x = run_plan(without, 3), y = run_plan(with, 3);
    assert_true(x.regret == y.regret && x.mean_return == y.mean_return);
    lgv_plan_free(without);
    lgv_plan_free(with);
  }
}

/* `die` pays what its reset has drawn. */
static lgv_status die_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  lgv_status status = coin_spec(params, spec, err);
  spec->horizon = 1;
  return status;
}

typedef struct die {
  double *value;
} die;

static void die_layout(void *self, const void *params, const lgv_env_spec *spec,
                       lgv_layout *layout) {
  (void)params, (void)spec;
  ((die *)self)->value = lgv_layout_array(layout, "die.value", LGV_F64, 1, LGV_KEEP);
}

static lgv_status die_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  *((die *)self)->value = lgv_rng_uniform(rng);
  return LGV_OK;
}

static lgv_status die_step(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                           lgv_error *err) {
  (void)action, (void)rng, (void)err;
  *outcome = (lgv_outcome){.reward = *((die *)self)->value, .truncated = true};
  return LGV_OK;
}

static const lgv_env_type die_type = {
    .size = sizeof(lgv_env_type),
    .name = "die",
    .summary = "pays what was drawn",
    .state_size = sizeof(die),
    .spec = die_spec,
    .layout = die_layout,
    .reset = die_reset,
    .step = die_step,
    .observe = coin_observe,
    .state_index = coin_state,
};

/* An evaluation that saw the numbers of training would show nothing new. */
static void evaluations_have_a_stream_of_their_own(void **state) {
  (void)state;
  lgv_settings *settings = make_settings("die", "cycle",
                                         "run.steps=1 run.eval_every=1 "
                                         "run.eval_episodes=1");
  lgv_plan *plan;
  lgv_error err = {0};
  lgv_rng train, eval;
  assert_int_equal(lgv_settings_add_env(settings, &die_type, &err), LGV_OK);
  assert_int_equal(lgv_settings_add_agent(settings, &cycle_type, &err), LGV_OK);
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_summary s = run_plan(plan, 7);
  lgv_rng_seed(&train, 7, "env");
  lgv_rng_seed(&eval, 7, "env.eval");
  double first = lgv_rng_uniform(&eval), second = lgv_rng_uniform(&eval);
  assert_true(s.mean_return == lgv_rng_uniform(&train));
  assert_true(s.final_return == (first + second) / 2); /* before the step, and after it */
  lgv_plan_free(plan);
  lgv_settings_free(settings);
}

static void evaluations_come_at_their_steps(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  double rows[16][8];
  make_temp(directory);
  lgv_plan *plan = make_coin_plan("run.steps=20 run.eval_every=6 run.eval_episodes=2");
  lgv_summary s = run_into(plan, 1, directory, 7);
  assert_true(s.steps == 20 && s.episodes == 6); /* the last episode is cut by the budget */
  assert_true(s.regret == 2 * 3.375);            /* and costs no regret */
  size_t n = read_rows(directory, "step,episode,return,eval_return,value,regret,ones", rows, 16);
  assert_int_equal(n, 4);
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    assert_true(rows[i][0] == 6.0 * (double)i);
    sum += rows[i][3];
  }
  assert_true(isnan(rows[0][2])); /* no training episode had ended */
  assert_true(rows[0][3] == 3);   /* the first policy always takes action 1 */
  assert_true(s.final_return == sum / (double)n);
  lgv_plan_free(plan);
  remove_tree(directory);
}

/* A horizon of 3, of which run.eval_steps lets 2 pass: twice the reward of action 1. */
static void an_evaluation_is_cut(void **state) {
  (void)state;
  char directory[TEMP_SIZE], text[64];
  double rows[16][8];
  lgv_error err = {0};
  make_temp(directory);
  lgv_plan *plan = make_coin_plan("run.steps=20 run.eval_every=6 run.eval_steps=2");
  run_into(plan, 1, directory, 7);
  read_rows(directory, "step,episode,return,eval_return,value,regret,ones", rows, 16);
  assert_true(rows[0][3] == 2);
  lgv_plan_free(plan);
  remove_tree(directory);
  plan = make_plan("nchain", "dqn", "env.n=9995"); /* 10003 steps an episode */
  assert_int_equal(lgv_plan_get(plan, "run.eval_steps", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "10003");
  lgv_plan_free(plan);
}

static void a_budget_ends_with_whichever_comes_first(void **state) {
  (void)state;
  const struct {
    const char *settings;
    int64_t steps, episodes;
  } cases[] = {{"run.episodes=4 run.steps=100", 12, 4}, {"run.episodes=100 run.steps=4", 4, 1}};
  for (int i = 0; i < 2; i++) {
    lgv_plan *plan = make_coin_plan(cases[i].settings);
    lgv_summary s = run_plan(plan, 0);
    assert_int_equal(s.steps, cases[i].steps);
    assert_int_equal(s.episodes, cases[i].episodes);
    lgv_plan_free(plan);
  }
}

/* Episodes earn 3, something in [3/4, 3] and 3/4 in turn: three of them between 1.5 and 2.25. */
static void a_run_stops_once_its_episodes_earn_enough(void **state) {
  (void)state;
  static const struct {
    const char *settings;
    int64_t episodes;
    double solved;
  } cases[] = {{"run.episodes=20 run.stop_return=3 run.stop_window=1", 1, 1},
               {"run.episodes=20 run.stop_return=1.5 run.stop_window=3", 3, 3},
               {"run.episodes=20 run.stop_return=2.26 run.stop_window=3", 20, NAN},
               {"run.episodes=20", 20, NAN},
               {"run.episodes=20 run.stop_seconds=1e-9", 1, NAN}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_plan *plan = make_coin_plan(cases[i].settings);
    lgv_summary s = run_into(plan, 1, NULL, 1000);
    assert_true(s.finished);
    assert_int_equal(s.episodes, cases[i].episodes);
    assert_true(isnan(cases[i].solved) ? isnan(s.solved_episode)
                                       : s.solved_episode == cases[i].solved);
    lgv_plan_free(plan);
  }
}

static void what_was_recorded_before_a_failure_stays(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  double rows[16][8];
  lgv_error err = {0};
  lgv_run *run;
  bool done;
  make_temp(directory);
  lgv_plan *plan = make_coin_plan("run.episodes=9 env.fail_at=8");
  assert_int_equal(lgv_run_create(plan, 1, directory, &run, &err), LGV_OK);
  assert_int_equal(lgv_run_advance(run, 100, &done, &err), LGV_ERR_ENV);
  assert_string_equal(err.message, "the coin rolled away");
  assert_int_equal(lgv_run_finish(run, &err), LGV_OK);
  lgv_summary s;
  lgv_run_summary(run, &s);
  assert_false(s.finished);
  assert_int_equal(s.episodes, 2);
  lgv_run_free(run);
  assert_int_equal(read_rows(directory, "step,episode,return,value,regret,ones", rows, 16), 2);
  char *summary = read_text(directory, "summary.json");
  assert_non_null(strstr(summary, "\"finished\": false"));
  free(summary);
  lgv_plan_free(plan);
  remove_tree(directory);
}

static void a_directory_of_other_settings_is_refused(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  lgv_error err = {0};
  lgv_run *run;
  make_temp(directory);
  lgv_plan *nine = make_coin_plan("run.episodes=9"), *ten = make_coin_plan("run.episodes=10");
  run_into(nine, 1, directory, 1000);
  char *before = read_text(directory, "metrics.csv");
  assert_int_equal(lgv_run_create(ten, 1, directory, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "other settings"));
  assert_null(run);
  assert_int_equal(lgv_run_create(nine, 2, directory, &run, &err), LGV_ERR_USAGE); /* other seed */
  char *after = read_text(directory, "metrics.csv");
  assert_string_equal(before, after);
  free(before);
  free(after);
  run_into(nine, 1, directory, 1000); /* the same may be run again */
  lgv_plan_free(nine);
  lgv_plan_free(ten);
  remove_tree(directory);
}

/* Its config.json would be refused by whoever evaluates or resumes the run. */
static void a_seed_that_config_cannot_hold_is_not_recorded(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  const uint64_t most = UINT64_C(1) << 53, beyond[] = {most + 1, UINT64_MAX};
  double returns[1];
  lgv_error err = {0};
  lgv_run *run;
  make_temp(directory);
  lgv_plan *plan = make_plan("riverswim", "psrl", "run.episodes=2");
  for (int i = 0; i < 2; i++) {
    assert_int_equal(lgv_run_create(plan, beyond[i], directory, &run, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "at most 2^53"));
    run_plan(plan, beyond[i]); /* without records any seed will do */
  }
  run_into(plan, most, directory, 1000);
  assert_int_equal(lgv_evaluate(directory, 1, UINT64_MAX, returns, &err), LGV_OK);
  lgv_plan_free(plan);
  remove_tree(directory);
}

static void a_directory_takes_one_run_at_a_time(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  lgv_error err = {0};
  lgv_run *run, *other;
  make_temp(directory);
  lgv_plan *plan = make_coin_plan("run.episodes=9");
  assert_int_equal(lgv_run_create(plan, 1, directory, &run, &err), LGV_OK);
  assert_int_equal(lgv_run_create(plan, 1, directory, &other, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, " is writing into "));
  assert_null(other);
  char expected[64], *holder = read_text(directory, "lock");
  snprintf(expected, sizeof expected, "process %ld on ", (long)getpid());
  assert_non_null(strstr(err.message, expected));
  assert_non_null(strstr(holder, expected));
  free(holder);
  if (complete(run, 100, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_free(run);
  assert_null(read_text(directory, "lock"));
  assert_int_equal(lgv_run_create(plan, 1, directory, &other, &err), LGV_OK);
  lgv_run_free(other);
  lgv_plan_free(plan);
  remove_tree(directory);
}

/* A limit on file sizes stops a record as a full disk would; the run must not call itself done. */
static void check_full_disk(const char *settings, const char *message) {
  char directory[TEMP_SIZE];
  lgv_error err = {0};
  lgv_run *run;
  struct rlimit before, small;
  make_temp(directory);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 8192;
  signal(SIGXFSZ, SIG_IGN);
  lgv_plan *plan = make_coin_plan(settings);
  assert_int_equal(lgv_run_create(plan, 1, directory, &run, &err), LGV_OK);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  lgv_status status = complete(run, 100, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(status, LGV_ERR_IO);
  assert_non_null(strstr(err.message, message));
  lgv_summary s;
  lgv_run_summary(run, &s);
  assert_true(s.episodes < 2000); /* it stopped there, not at its end */
  lgv_run_free(run);
  assert_null(read_text(directory, "summary.json"));
  lgv_plan_free(plan);
  remove_tree(directory);
}

static void a_full_disk_is_reported(void **state) {
  (void)state;
  check_full_disk("run.episodes=2000 run.tensorboard=false", "metrics.csv: File too large");
  check_full_disk("run.episodes=2000", "tfevents.langevin: File too large");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(regret_is_the_exact_sum_over_policies),
      cmocka_unit_test(a_policys_value_is_its_mean_over_the_starts),
      cmocka_unit_test(regret_counts_from_the_state_where_it_began),
      cmocka_unit_test(rows_average_over_what_lies_between),
      cmocka_unit_test(how_a_run_is_sliced_does_not_matter),
      cmocka_unit_test(evaluation_does_not_touch_training),
      cmocka_unit_test(evaluations_have_a_stream_of_their_own),
      cmocka_unit_test(evaluations_come_at_their_steps),
      cmocka_unit_test(an_evaluation_is_cut),
      cmocka_unit_test(a_budget_ends_with_whichever_comes_first),
      cmocka_unit_test(a_run_stops_once_its_episodes_earn_enough),
      cmocka_unit_test(what_was_recorded_before_a_failure_stays),
      cmocka_unit_test(a_directory_of_other_settings_is_refused),
      cmocka_unit_test(a_seed_that_config_cannot_hold_is_not_recorded),
      cmocka_unit_test(a_directory_takes_one_run_at_a_time),
      cmocka_unit_test(a_full_disk_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
