/* How many steps the default evaluations of a run take, and when readers of its files see a row. */
#include "tiny_world.h"

#include "file_helpers.h"
#include "train/run.h"

#include <math.h>
#include <time.h>

static int64_t evaluation_steps;

/* `ring` has no clock: an episode ends with action 1 and never with action 0. `walker` draws its
 * actions in training; in evaluations it takes action 0 (agent.circles) or 1. */
typedef struct ring {
  bool is_evaluation;
} ring;

typedef struct ring_params {
  bool is_evaluation;
  int32_t preset;
} ring_params;

static const char *const ring_preset_names[] = {"none", "often", NULL};
static const lgv_preset ring_presets[] = {{"none", ""}, {"often", "run.eval_every=10"}, {0}};
static const lgv_param ring_table[] = {
    {.name = "preset",
     .type = LGV_CHOICE,
     .offset = offsetof(ring_params, preset),
     .default_text = "none",
     .choices = ring_preset_names,
     .help = ""},
    {0},
};

static lgv_status ring_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  lgv_status status = coin_spec(params, spec, err);
  spec->horizon = 0;
  return status;
}

static void ring_layout(void *self, const void *params, const lgv_env_spec *spec,
                        lgv_layout *layout) {
  (void)spec, (void)layout;
  ((ring *)self)->is_evaluation = ((const ring_params *)params)->is_evaluation;
}

static void ring_eval_params(void *params) { ((ring_params *)params)->is_evaluation = true; }

static lgv_status ring_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)self, (void)rng, (void)err;
  return LGV_OK;
}

static lgv_status ring_step(void *self, const lgv_action *action, lgv_rng *rng,
                            lgv_outcome *outcome, lgv_error *err) {
  (void)rng, (void)err;
  evaluation_steps += ((ring *)self)->is_evaluation;
  *outcome = (lgv_outcome){.reward = -1, .terminated = action->choice == 1};
  return LGV_OK;
}

static const lgv_env_type ring_type = {
    .size = sizeof(lgv_env_type),
    .name = "ring",
    .summary = "no clock, one way out",
    .params = ring_table,
    .presets = ring_presets,
    .params_size = sizeof(ring_params),
    .state_size = sizeof(ring),
    .spec = ring_spec,
    .layout = ring_layout,
    .reset = ring_reset,
    .step = ring_step,
    .observe = coin_observe,
    .state_index = coin_state,
    .eval_params = ring_eval_params,
};

typedef struct walker_params {
  bool circles;
} walker_params;

typedef struct walker {
  const walker_params *p;
  lgv_rng *act;
} walker;

static const lgv_param walker_table[] = {
    {.name = "circles",
     .type = LGV_BOOL,
     .offset = offsetof(walker_params, circles),
     .default_text = "true",
     .help = ""},
    {0},
};

static void walker_layout(void *self, const void *params, const lgv_problem *problem,
                          lgv_layout *layout) {
  (void)layout;
  *(walker *)self = (walker){params, problem->act};
}

static lgv_status walker_act(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                             lgv_error *err) {
  const walker *w = self;
  (void)obs, (void)err;
  action->choice = mode == LGV_TRAIN ? lgv_rng_uniform(w->act) < 0.2 : !w->p->circles;
  return LGV_OK;
}

static const lgv_agent_type walker_type = {
    .size = sizeof(lgv_agent_type),
    .name = "walker",
    .summary = "draws its actions",
    .params = walker_table,
    .params_size = sizeof(walker_params),
    .state_size = sizeof(walker),
    .layout = walker_layout,
    .act = walker_act,
};

static lgv_settings *ring_settings(const char *extra) {
  lgv_settings *settings = make_settings(extra ? "ring" : NULL, extra ? "walker" : NULL, extra);
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &ring_type, &err), LGV_OK);
  assert_int_equal(lgv_settings_add_agent(settings, &walker_type, &err), LGV_OK);
  return settings;
}

static lgv_plan *plan_of(lgv_settings *settings) {
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("plan: %s", err.message);
  lgv_settings_free(settings);
  evaluation_steps = 0;
  return plan;
}

static lgv_run *start(const lgv_plan *plan, const char *directory, bool resume) {
  lgv_run *run;
  lgv_error err = {0};
  lgv_status status = resume ? lgv_run_resume(plan, 1, directory, &run, &err)
                             : lgv_run_create(plan, 1, directory, &run, &err);
  if (status != LGV_OK) fail_msg("%s", err.message);
  return run;
}

static lgv_summary finish(lgv_run *run) {
  lgv_error err = {0};
  lgv_summary summary;
  for (bool done = false; !done;)
    if (lgv_run_advance(run, 1000, &done, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_int_equal(lgv_run_finish(run, &err), LGV_OK);
  lgv_run_summary(run, &summary);
  lgv_run_free(run);
  return summary;
}

/* Rows of metrics.csv, and how many of them have an eval_return; whether the last one has. */
typedef struct rows {
  int all, evaluated;
  bool last;
} rows;

static rows count_rows(const char *directory) {
  char *text = read_text(directory, "metrics.csv"), *rest = text;
  rows found = {0};
  assert_non_null(text);
  assert_string_equal(strsep(&rest, "\n"), "step,episode,return,eval_return");
  for (char *line; (line = strsep(&rest, "\n")) && *line;) {
    found.all++;
    found.last = line[strlen(line) - 1] != ',';
    found.evaluated += found.last;
  }
  free(text);
  return found;
}

static void default_evaluations_take_a_tenth_of_the_steps(void **state) {
  (void)state;
  const struct {
    const char *settings;
    int64_t steps;
    int evaluated; /* at least */
  } cases[] = {{"run.steps=5000", 5000, 2},
               {"run.steps=5000 agent.circles=false", 5000, 90},
               {"run.steps=5000 agent.circles=false run.eval_episodes=20", 5000, 20},
               {"run.steps=5050 run.eval_steps=60", 5050, 6},
               {"run.steps=5099", 5099, 2},
               {"run.steps=5000 run.stop_return=-3 run.stop_window=5 run.eval_steps=10", 0, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char directory[TEMP_SIZE];
    make_temp(directory);
    lgv_plan *plan = plan_of(ring_settings(cases[i].settings));
    lgv_summary s = finish(start(plan, directory, false));
    rows found = count_rows(directory);
    if (cases[i].steps) assert_int_equal(s.steps, cases[i].steps);
    if (cases[i].steps && evaluation_steps > s.steps / 10)
      fail_msg("%s: %lld steps of evaluations", cases[i].settings, (long long)evaluation_steps);
    assert_true(found.last && isfinite(s.final_return)); /* whatever ended the run */
    if (found.evaluated < cases[i].evaluated)
      fail_msg("%s: %d evaluations", cases[i].settings, found.evaluated);
    assert_true(!cases[i].steps || found.all >= 101); /* skipped ones leave their row */
    lgv_plan_free(plan);
    remove_tree(directory);
  }
}

/* The mean of eval_return over the rows of the last tenth of the steps, of which there are at most
 * ten here; *evaluated: all rows that have one. */
static double mean_of_the_last_tenth(const char *directory, double steps, int *evaluated) {
  char *text = read_text(directory, "metrics.csv"), *rest = text;
  double sum = 0;
  int n = 0;
  assert_non_null(text);
  strsep(&rest, "\n");
  for (char *line; (line = strsep(&rest, "\n")) && *line;) {
    char *step = strsep(&line, ","), *eval_return;
    strsep(&line, ",");
    strsep(&line, ",");
    eval_return = strsep(&line, ",");
    if (!*eval_return) continue;
    (*evaluated)++;
    if (strtod(step, NULL) < 0.9 * steps) continue;
    sum += strtod(eval_return, NULL);
    n++;
  }
  free(text);
  assert_in_range(n, 1, 10);
  return sum / n;
}

static void the_final_return_is_that_of_the_last_tenth(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  int evaluated = 0;
  make_temp(directory);
  lgv_plan *plan = plan_of(make_settings(
      "cartpole", "dqn", "run.steps=30000 run.eval_episodes=2 agent.update_every=10"));
  lgv_summary s = finish(start(plan, directory, false));
  double expected = mean_of_the_last_tenth(directory, 30000, &evaluated);
  assert_true(fabs(s.final_return - expected) < 1e-9 * fabs(expected));
  assert_true(evaluated > 10); /* evaluations of earlier steps were left out */
  lgv_plan_free(plan);
  remove_tree(directory);
}

static void assert_share(const char *extra, const char *expected) {
  char text[32];
  lgv_error err = {0};
  lgv_settings *settings = ring_settings(extra);
  lgv_plan *plan = plan_of(settings);
  assert_int_equal(lgv_plan_get(plan, "run.eval_share", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, expected);
  lgv_plan_free(plan);
}

static void the_users_own_evaluations_are_not_limited(void **state) {
  (void)state;
  char directory[TEMP_SIZE];
  assert_share("run.steps=500", "0.1");
  assert_share("run.steps=500 run.eval_episodes=2 run.eval_steps=9", "0.1");
  assert_share("run.steps=500 run.eval_every=50", "inf");
  assert_share("run.steps=500 run.eval_every=50 run.eval_share=0.5", "0.5");
  assert_share("run.steps=500 env.preset=often", "0.1"); /* a preset's schedule is no user's */
  make_temp(directory);
  lgv_plan *plan = plan_of(ring_settings("run.steps=500 run.eval_every=50 run.eval_steps=70"));
  finish(start(plan, directory, false));
  assert_int_equal(evaluation_steps, 11 * 70);
  assert_int_equal(count_rows(directory).evaluated, 11);
  lgv_plan_free(plan);
  remove_tree(directory);
}

static bool countdown(void *left) { return --*(int *)left == 0; }

/* Advances until the run is done or the `polls`-th question within an evaluation stops it. */
static bool advance_until_stopped(lgv_run *run, int polls, int64_t steps) {
  lgv_error err = {0};
  bool done = false;
  lgv__run_set_stop(run, (lgv_stop){countdown, &polls});
  lgv_status status = lgv_run_advance(run, steps, &done, &err);
  assert_true(status == LGV_OK || status == LGV_ERR_INTERRUPTED);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  return done;
}

/* The files of an interrupted run, within evaluations or between them, and of one that config.json
 * repeats are those of a run that was never stopped. */
static void skipped_evaluations_survive_a_resume(void **state) {
  (void)state;
  const char *const settings =
      "run.steps=3000 agent.circles=false run.eval_episodes=30 run.tensorboard=false";
  char whole[TEMP_SIZE], parts[TEMP_SIZE], again[TEMP_SIZE], config[PATH_MAX];
  lgv_error err = {0};
  make_temp(whole), make_temp(parts), make_temp(again);
  lgv_plan *plan = plan_of(ring_settings(settings));
  finish(start(plan, whole, false));
  bool done = advance_until_stopped(start(plan, parts, false), 5, 1000);
  for (int i = 1; !done; i++)
    done = advance_until_stopped(start(plan, parts, true), 7 * i % 40, 313);
  finish(start(plan, parts, true));
  lgv_plan_free(plan);
  lgv_settings *repeated = ring_settings(NULL);
  join(config, whole, "config.json");
  assert_int_equal(lgv_settings_load(repeated, config, &err), LGV_OK);
  plan = plan_of(repeated);
  finish(start(plan, again, false));
  const char *const names[] = {"metrics.csv", "summary.json", "config.json"};
  for (int i = 0; i < 3; i++) {
    assert_same_file(whole, parts, names[i]);
    assert_same_file(whole, again, names[i]);
  }
  lgv_plan_free(plan);
  remove_tree(whole), remove_tree(parts), remove_tree(again);
}

/* The last evaluation of a run is interrupted; then the run is extended. */
static void an_interrupted_evaluation_is_finished_where_it_began(void **state) {
  (void)state;
  const char *const shared = "agent.circles=false run.eval_every=50 run.eval_share=0.5 "
                             "run.eval_steps=20 run.eval_episodes=30 run.tensorboard=false";
  char settings[256], directory[TEMP_SIZE];
  lgv_error err = {0};
  bool done;
  make_temp(directory);
  snprintf(settings, sizeof settings, "run.steps=1010 %s", shared);
  lgv_plan *shorter = plan_of(ring_settings(settings));
  lgv_run *run = start(shorter, directory, false);
  assert_int_equal(lgv_run_advance(run, 1009, &done, &err), LGV_OK);
  assert_false(advance_until_stopped(run, 5, 1));
  snprintf(settings, sizeof settings, "run.steps=1040 %s", shared);
  lgv_plan *longer = plan_of(ring_settings(settings));
  finish(start(longer, directory, true));
  char *text = read_text(directory, "metrics.csv");
  const char *row = strstr(text, "\n1010,");
  assert_non_null(row);
  assert_true(row[1 + strcspn(row + 1, "\n")] == '\n' && row[strcspn(row + 1, "\n")] != ',');
  assert_non_null(strstr(text, "\n1040,"));
  free(text);
  lgv_plan_free(shorter);
  lgv_plan_free(longer);
  remove_tree(directory);
}

/* Without a clock and a budget of steps, half of the share is unknown. */
static void evaluations_of_an_unknown_number_of_steps_are_not_cut_early(void **state) {
  (void)state;
  char text[32];
  lgv_error err = {0};
  lgv_plan *plan = plan_of(ring_settings("run.episodes=50 run.eval_every=50 run.eval_share=0.1"));
  assert_int_equal(lgv_plan_get(plan, "run.eval_steps", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "10000");
  lgv_plan_free(plan);
}

static size_t lines_of(const char *directory) {
  char *text = read_text(directory, "metrics.csv");
  size_t n = 0;
  for (const char *c = text; c && *c; c++) n += *c == '\n';
  free(text);
  return n;
}

/* The first row is there at once, later ones two seconds after the ones before them, even if no
 * other row follows. */
static void rows_can_be_read_while_the_run_continues(void **state) {
  (void)state;
  const struct timespec pause = {.tv_sec = 2, .tv_nsec = 100000000};
  const char *const settings[] = {"run.episodes=1000000",
                                  "run.episodes=1000000 run.tensorboard=false"};
  for (int i = 0; i < 2; i++) {
    char directory[TEMP_SIZE];
    lgv_error err = {0};
    bool done;
    make_temp(directory);
    lgv_plan *plan = make_coin_plan(settings[i]);
    lgv_run *run = start(plan, directory, false);
    assert_int_equal(lgv_run_advance(run, COIN_HORIZON, &done, &err), LGV_OK);
    assert_int_equal(lines_of(directory), 2); /* the header and one row */
    assert_int_equal(lgv_run_advance(run, 5 * COIN_HORIZON, &done, &err), LGV_OK);
    nanosleep(&pause, NULL);
    assert_int_equal(lgv_run_advance(run, 1, &done, &err), LGV_OK);
    assert_int_equal(lines_of(directory), 7);
    lgv_run_free(run);
    lgv_plan_free(plan);
    remove_tree(directory);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(default_evaluations_take_a_tenth_of_the_steps),
      cmocka_unit_test(the_final_return_is_that_of_the_last_tenth),
      cmocka_unit_test(the_users_own_evaluations_are_not_limited),
      cmocka_unit_test(skipped_evaluations_survive_a_resume),
      cmocka_unit_test(an_interrupted_evaluation_is_finished_where_it_began),
      cmocka_unit_test(evaluations_of_an_unknown_number_of_steps_are_not_cut_early),
      cmocka_unit_test(rows_can_be_read_while_the_run_continues),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
