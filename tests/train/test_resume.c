/* A run that was stopped and resumed leaves the same records, byte for byte, as one that was not.
 */
#include "registry.h"

#include "outside_world.h"
#include "temp_root.h"

static size_t read_all(const char *directory, const char *name, char **bytes) {
  char path[PATH_MAX];
  join(path, directory, name);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s is missing", path);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  *bytes = malloc((size_t)size + 1);
  assert_int_equal(fread(*bytes, 1, (size_t)size, file), size);
  fclose(file);
  return (size_t)size;
}

static void assert_same_bytes(const char *a, const char *b, const char *name) {
  char *left, *right;
  size_t n = read_all(a, name, &left), m = read_all(b, name, &right);
  assert_int_equal(n, m);
  assert_memory_equal(left, right, n);
  free(left);
  free(right);
}

static void advance(lgv_run *run, int64_t steps) {
  lgv_error err = {0};
  bool done;
  if (lgv_run_advance(run, steps, &done, &err) != LGV_OK) fail_msg("%s", err.message);
}

static void finish(lgv_run *run) {
  lgv_error err = {0};
  if (lgv_run_finish(run, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_free(run);
}

static lgv_run *open_run(const lgv_plan *plan, const char *directory, bool resume) {
  lgv_error err = {0};
  lgv_run *run;
  lgv_status status = resume ? lgv_run_resume(plan, 3, directory, &run, &err)
                             : lgv_run_create(plan, 3, directory, &run, &err);
  if (status != LGV_OK) fail_msg("%s", err.message);
  return run;
}

/* Stops at the given steps, forgetting everything each time. */
static void check_plan(const lgv_plan *plan, int64_t first_stop, int64_t second_stop) {
  char whole[PATH_MAX], broken[PATH_MAX];
  lgv_error err = {0};
  join(whole, root, "whole");
  join(broken, root, "broken");
  lgv_run *run = open_run(plan, whole, false);
  advance(run, 1 << 20);
  finish(run);
  run = open_run(plan, broken, false);
  advance(run, first_stop);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  advance(run, 37); /* lost work, rows of metrics.csv among it */
  lgv_run_free(run);
  run = open_run(plan, broken, true);
  advance(run, second_stop - first_stop);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  run = open_run(plan, broken, true);
  advance(run, 1 << 20);
  finish(run);
  assert_same_bytes(whole, broken, "metrics.csv");
  assert_same_bytes(whole, broken, "summary.json");
  assert_same_bytes(whole, broken, "checkpoint.safetensors");
  assert_same_bytes(whole, broken, "config.json");
  assert_int_equal(remove_root(NULL), 0);
  assert_int_equal(make_root(NULL), 0);
}

/* Of every agent on every environment that can live with it. */
static void check_all(const char *extra, int64_t first_stop, int64_t second_stop) {
  int checked = 0;
  for (size_t e = 0; lgv__envs[e]; e++)
    for (size_t a = 0; lgv__agents[a]; a++) {
      if (lgv__envs[e]->connect) continue; /* needs Python: test_env_gym resumes it */
      char all[300];
      snprintf(all, sizeof all, "%s %s", extra, quick_for(lgv__agents[a]));
      lgv_settings *settings = make_settings(lgv__envs[e]->name, lgv__agents[a]->name, all);
      lgv_error err = {0};
      lgv_plan *plan;
      lgv_status status = lgv_plan_create(settings, &plan, &err);
      lgv_settings_free(settings);
      if (status != LGV_OK) continue; /* not made for each other: test_smoke checks the message */
      check_plan(plan, first_stop, second_stop);
      lgv_plan_free(plan);
      checked++;
    }
  assert_true(checked > 20);
}

static void every_agent_resumes_exactly(void **state) {
  (void)state;
  check_all("run.steps=400 run.eval_every=90 run.checkpoint_every=0", 53, 277);
}

/* Streams are in the middle of episodes of different age. */
static void several_environments_resume_exactly(void **state) {
  (void)state;
  check_all("run.envs=3 run.steps=400 run.eval_every=90 run.checkpoint_every=0", 53, 277);
}

/* A finished run is carried on to a larger budget, and ends as if it had been asked for that at
 * once. */
static void a_finished_run_is_carried_on(void **state) {
  (void)state;
  static const char *const agents[] = {"dqn", "noisynet-dqn", "langevin-dqn", "lsvi-ucb"};
  for (size_t a = 0; a < 4; a++) {
    char whole[PATH_MAX], grown[PATH_MAX], extra[160];
    lgv_plan *plans[2];
    join(whole, root, "whole");
    join(grown, root, "grown");
    for (int i = 0; i < 2; i++) {
      snprintf(extra, sizeof extra, "run.steps=%d run.eval_every=100 run.envs=%d %s", i ? 900 : 400,
               a == 0 ? 4 : 1,
               a < 3 ? "agent.preset=small agent.warmup=50 agent.replay=600" : "env.n=6");
      plans[i] = make_plan("nchain", agents[a], extra);
    }
    lgv_run *run = open_run(plans[1], whole, false);
    advance(run, 1 << 20);
    finish(run);
    run = open_run(plans[0], grown, false);
    advance(run, 1 << 20);
    finish(run);
    run = open_run(plans[1], grown, true);
    advance(run, 100);
    lgv_summary summary; /* whoever looks now, or after a kill, must not take it for the end */
    assert_int_not_equal(lgv_summary_load(grown, &summary, NULL), LGV_OK);
    advance(run, 1 << 20);
    finish(run);
    static const char *const files[] = {"metrics.csv", "summary.json", "checkpoint.safetensors",
                                        "config.json"};
    for (int f = 0; f < 4; f++) assert_same_bytes(whole, grown, files[f]);
    for (int i = 0; i < 2; i++) lgv_plan_free(plans[i]);
    assert_int_equal(remove_root(NULL), 0);
    assert_int_equal(make_root(NULL), 0);
  }
}

static void other_settings_are_refused_by_name(void **state) {
  (void)state;
  char directory[PATH_MAX];
  lgv_error err = {0};
  join(directory, root, "run");
  lgv_plan *plan = make_plan("nchain", "dqn", "run.steps=100 run.eval_every=50"),
           *other = make_plan("nchain", "dqn", "run.steps=200 run.eval_every=50 agent.batch=16");
  lgv_run *run = open_run(plan, directory, false);
  finish(run);
  assert_int_equal(lgv_run_resume(other, 3, directory, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "agent.batch is 32 there, here 16"));
  assert_int_equal(lgv_run_resume(plan, 4, directory, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "run.seed is 3 there, here 4"));
  char *config = read_text(directory, "config.json"), *kernels = strstr(config, "\"kernels\": \"");
  assert_non_null(kernels);
  kernels[12] = 'z'; /* as another processor would have written it */
  write_text(directory, "config.json", config);
  assert_int_equal(lgv_run_resume(plan, 3, directory, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "LANGEVIN_KERNELS=z"));
  free(config);
  lgv_plan_free(plan);
  lgv_plan_free(other);
}

/* Stacks reach back over the stop: those of the environment, and those of the replay. */
static void stacks_resume_exactly(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"cartpole", "dqn"}, {"riverswim", "prioritized-dqn"}, {"nchain", "bootstrapped-dqn"}};
  for (size_t i = 0; i < 3; i++)
    for (int n = 1; n <= 3; n += 2) {
      char extra[256];
      snprintf(extra, sizeof extra,
               "env.stack=4 run.envs=%d run.steps=900 run.eval_every=200 run.checkpoint_every=0 "
               "agent.warmup=50 agent.replay=300 agent.batch=16 agent.n_step=2",
               n);
      lgv_plan *plan = make_plan(cases[i][0], cases[i][1], extra);
      check_plan(plan, 503, 777);
      lgv_plan_free(plan);
    }
}

/* The noise of pictures continues where it stopped, also within stacks and in other streams. */
static void noisy_pictures_resume_exactly(void **state) {
  (void)state;
  for (int n = 1; n <= 3; n += 2) {
    char extra[320];
    snprintf(extra, sizeof extra,
             "env.n=6 env.stochastic=true env.features=pixels env.pixel_noise=0.3 env.stack=%d "
             "run.envs=%d run.steps=300 run.eval_every=90 run.checkpoint_every=0 agent.warmup=40 "
             "agent.replay=200 agent.batch=4",
             n, n);
    lgv_plan *plan = make_plan("deepsea", "dqn", extra);
    check_plan(plan, 53, 177);
    lgv_plan_free(plan);
  }
}

static void another_stack_is_refused_by_name(void **state) {
  (void)state;
  char directory[PATH_MAX];
  lgv_error err = {0};
  lgv_run *run;
  lgv_plan *plain = make_plan("nchain", "dqn", "run.steps=100"),
           *stacked = make_plan("nchain", "dqn", "run.steps=100 env.stack=3"),
           *higher = make_plan("nchain", "dqn", "run.steps=100 env.stack=5");
  join(directory, root, "plain");
  finish(open_run(plain, directory, false));
  assert_int_equal(lgv_run_create(stacked, 3, directory, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "env.stack is 1 there, here 3"));
  join(directory, root, "stacked");
  finish(open_run(stacked, directory, false));
  assert_int_equal(lgv_run_create(plain, 3, directory, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "env.stack is 3 there, here 1"));
  assert_int_equal(lgv_run_create(higher, 3, directory, &run, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "env.stack is 3 there, here 5"));
  lgv_plan_free(plain);
  lgv_plan_free(stacked);
  lgv_plan_free(higher);
}

/* The ring has gone round before the run stops. */
static void full_replays_resume_exactly(void **state) {
  (void)state;
  static const char *const agents[][2] = {{"bootstrapped-dqn", "agent.mask=0.5"},
                                          {"prioritized-dqn", ""},
                                          {"hyperagent", "agent.sigma=0.1 agent.n_step=3"},
                                          {"adam-lmcdqn", "agent.n_step=4"}};
  for (size_t a = 0; a < sizeof agents / sizeof *agents; a++)
    for (int n = 1; n <= 3; n += 2) {
      char extra[256];
      snprintf(extra, sizeof extra,
               "run.envs=%d run.steps=1200 run.checkpoint_every=0 agent.warmup=50 agent.replay=300 "
               "agent.batch=16 %s",
               n, agents[a][1]);
      lgv_plan *plan = make_plan("cartpole", agents[a][0], extra);
      check_plan(plan, 700, 1000);
      lgv_plan_free(plan);
    }
}

/* Statistics of observations and rewards, within episodes of one stream and of several; threads
 * that share products make no difference. */
static void running_scales_resume_exactly(void **state) {
  (void)state;
  static const char *const agents[][2] = {
      {"cartpole", "dqn"},    {"cartpole", "bootstrapped-dqn"}, {"cartpole", "adam-lmcdqn"},
      {"cartpole", "iqn"},    {"mountain-car", "noisynet-dqn"}, {"acrobot", "c51"},
      {"cartpole", "qr-dqn"}, {"cartpole", "hyperagent"}};
  for (size_t a = 0; a < sizeof agents / sizeof *agents; a++)
    for (int n = 1; n <= 3; n += 2) {
      char extra[320];
      snprintf(extra, sizeof extra,
               "run.envs=%d run.update_threads=%d run.steps=400 run.eval_every=90 "
               "run.checkpoint_every=0 agent.warmup=50 agent.replay=300 agent.batch=16 "
               "agent.normalize_obs=true agent.scale_rewards=%s",
               n, n == 1 ? 2 : 1, a % 2 ? "true" : "limited");
      lgv_plan *plan = make_plan(agents[a][0], agents[a][1], extra);
      check_plan(plan, 153, 277);
      lgv_plan_free(plan);
    }
  lgv_plan *plan = make_plan("nchain", "adam-lmcdqn",
                             "agent.preset=small agent.stages=per-stage agent.n_step=1 "
                             "agent.double=false agent.scale_rewards=true agent.warmup=50 "
                             "run.steps=400 run.checkpoint_every=0");
  check_plan(plan, 153, 277);
  lgv_plan_free(plan);
}

/* Cells that were forgotten, and bins that were widened, before the run stops. */
static void cells_resume_exactly(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"deepsea", "env.n=10 agent.cells=30 run.steps=900"},
      {"deepsea", "env.n=6 env.features=pixels env.pixel_noise=0.3 run.steps=1800"},
      {"cartpole", "agent.hidden=16 run.steps=1800"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int n = 1; n <= 3; n += 2) {
      char extra[256];
      snprintf(extra, sizeof extra,
               "run.envs=%d env.stack=%d run.eval_every=400 run.checkpoint_every=0 %s", n, n,
               cases[i][1]);
      lgv_plan *plan = make_plan(cases[i][0], "pathwise-lmcdqn", extra);
      check_plan(plan, i == 0 ? 503 : 1503, i == 0 ? 777 : 1677);
      lgv_plan_free(plan);
    }
}

static void minibatch_samplers_resume_exactly(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi",
                             "run.episodes=12 agent.sampler=svrg agent.updates=3 agent.lambda=1");
  check_plan(plan, 100, 350);
  lgv_plan_free(plan);
}

static void a_run_that_looks_back_resumes_exactly(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", "run.stop_return=0 run.stop_window=12");
  check_plan(plan, 100, 350);
  lgv_plan_free(plan);
}

static void a_damaged_checkpoint_is_refused_and_the_previous_one_used(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", "run.steps=400 run.checkpoint_every=0");
  char whole[PATH_MAX], broken[PATH_MAX], path[PATH_MAX];
  lgv_error err = {0};
  join(whole, root, "whole");
  join(broken, root, "broken");
  lgv_run *run = open_run(plan, whole, false);
  advance(run, 1 << 20);
  finish(run);
  run = open_run(plan, broken, false);
  advance(run, 80);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  advance(run, 80);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  join(path, broken, "checkpoint.safetensors");
  FILE *file = fopen(path, "r+b");
  fseek(file, -5, SEEK_END);
  int byte = fgetc(file);
  fseek(file, -5, SEEK_END);
  fputc(byte ^ 4, file);
  fclose(file);
  run = open_run(plan, broken, true);
  lgv_summary summary;
  lgv_run_summary(run, &summary);
  assert_int_equal(summary.steps, 80);
  advance(run, 1 << 20);
  finish(run);
  assert_same_bytes(whole, broken, "metrics.csv");
  join(path, broken, "checkpoint-previous.safetensors");
  assert_int_equal(truncate(path, 1000), 0);
  join(path, broken, "checkpoint.safetensors");
  assert_int_equal(truncate(path, 2000), 0);
  assert_int_equal(lgv_run_resume(plan, 3, broken, &run, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "checkpoint"));
  assert_null(run);
  lgv_plan_free(plan);
}

static void a_checkpoint_can_be_evaluated(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", "run.episodes=400");
  char directory[PATH_MAX], file[PATH_MAX];
  double returns[200], again[200], sum = 0;
  lgv_error err = {0};
  lgv_summary summary;
  join(directory, root, "run");
  join(file, directory, "checkpoint.safetensors");
  lgv_run *run = open_run(plan, directory, false);
  advance(run, 1 << 20);
  lgv_run_summary(run, &summary);
  finish(run);
  if (lgv_evaluate(directory, 200, 5, returns, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_int_equal(lgv_evaluate(file, 200, 5, again, &err), LGV_OK);
  assert_memory_equal(returns, again, sizeof returns);
  for (int i = 0; i < 200; i++) sum += returns[i];
  /* the policy of the last episode: returns spread by about 4, so 5 standard errors are 1.4 */
  assert_true(sum / 200 > summary.final_return - 1.4 && sum / 200 < summary.final_return + 1.4);
  assert_int_equal(lgv_evaluate("/nowhere/at/all", 1, 5, returns, &err), LGV_ERR_IO);
  lgv_plan_free(plan);
}

/* Its network, which never learns here, does not know the way. */
static void an_agent_that_acts_by_its_data_is_evaluated_with_them(void **state) {
  (void)state;
  lgv_plan *plan =
      make_plan("nchain", "pathwise-lmcdqn", "env.n=6 agent.update_every=1e9 run.episodes=150");
  char directory[PATH_MAX];
  double returns[20];
  lgv_error err = {0};
  lgv_summary summary;
  join(directory, root, "run");
  lgv_run *run = open_run(plan, directory, false);
  advance(run, 1 << 20);
  lgv_run_summary(run, &summary);
  finish(run);
  assert_true(summary.final_return > 9);
  if (lgv_evaluate(directory, 20, 5, returns, &err) != LGV_OK) fail_msg("%s", err.message);
  for (int i = 0; i < 20; i++) assert_true(returns[i] == summary.final_return);
  lgv_plan_free(plan);
}

/* ---- environments with state of their own outside ---- */

static const char outside_settings[] =
    "run.steps=408 run.eval_every=90 run.eval_episodes=2 run.checkpoint_every=0";

static void what_lives_outside_resumes_exactly(void **state) {
  (void)state;
  static const char *const agents[] = {"dqn", "adam-lmcdqn", "bootstrapped-dqn", "noisynet-dqn"};
  for (size_t a = 0; a < sizeof agents / sizeof *agents; a++) {
    lgv_plan *plan = make_outside_plan(&outside_type, agents[a], outside_settings);
    check_plan(plan, 53, 277);
    lgv_plan_free(plan);
  }
}

/* Checkpoints the run in its fourth episode, and resumes it. */
static lgv_run *stop_within_an_episode(const lgv_plan *plan, const char *directory) {
  lgv_error err = {0};
  lgv_run *run = open_run(plan, directory, false);
  advance(run, 3 * OUTSIDE_STEPS + 2);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  return open_run(plan, directory, true);
}

static void an_episode_that_cannot_go_on_is_given_up(void **state) {
  (void)state;
  lgv_plan *plan =
      make_outside_plan(&outside_type, "dqn", "run.steps=408 run.eval_every=0 env.forgets=true");
  char directory[PATH_MAX];
  lgv_summary summary;
  join(directory, root, "run");
  lgv_run *run = stop_within_an_episode(plan, directory);
  lgv_run_summary(run, &summary);
  assert_int_equal(summary.episodes, 3);
  assert_int_equal(summary.steps, 53);
  advance(run, OUTSIDE_STEPS - 1);
  lgv_run_summary(run, &summary);
  assert_int_equal(summary.episodes, 3); /* the old one would have ended two steps ago */
  advance(run, 1);
  lgv_run_summary(run, &summary);
  assert_int_equal(summary.episodes, 4);
  advance(run, 1 << 20);
  lgv_run_summary(run, &summary);
  assert_int_equal(summary.steps, 408);
  assert_int_equal(summary.episodes, 3 + (408 - 53) / OUTSIDE_STEPS);
  assert_true(summary.mean_return == OUTSIDE_STEPS); /* whole episodes only */
  assert_true(summary.finished);
  finish(run);
  lgv_plan_free(plan);
}

/* The tests above can fail: without the hooks the same run goes wrong. */
static void without_the_hooks_a_resumed_run_differs(void **state) {
  (void)state;
  lgv_env_type bare = outside_type;
  bare.save = NULL;
  bare.restore = NULL;
  lgv_plan *plan = make_outside_plan(&bare, "dqn", outside_settings);
  char whole[PATH_MAX], broken[PATH_MAX], *left, *right;
  join(whole, root, "whole");
  join(broken, root, "broken");
  lgv_run *run = open_run(plan, whole, false);
  advance(run, 1 << 20);
  finish(run);
  run = stop_within_an_episode(plan, broken);
  advance(run, 1 << 20);
  finish(run);
  size_t n = read_all(whole, "metrics.csv", &left), m = read_all(broken, "metrics.csv", &right);
  assert_true(n != m || memcmp(left, right, n) != 0);
  free(left);
  free(right);
  lgv_plan_free(plan);
}

static void evaluations_have_parameters_of_their_own(void **state) {
  (void)state;
  lgv_plan *plan = make_outside_plan(&outside_type, "dqn", outside_settings);
  lgv_summary summary = run_plan(plan, 3);
  assert_true(summary.mean_return == OUTSIDE_STEPS);
  assert_true(summary.final_return == 10 * OUTSIDE_STEPS);
  lgv_plan_free(plan);
}

static void evaluations_must_look_like_training(void **state) {
  (void)state;
  char settings[256];
  lgv_run *run;
  lgv_error err = {0};
  snprintf(settings, sizeof settings, "%s env.bad_eval=true", outside_settings);
  lgv_plan *plan = make_outside_plan(&outside_type, "dqn", settings);
  assert_int_equal(lgv_run_create(plan, 3, NULL, &run, &err), LGV_ERR_ENV);
  assert_non_null(strstr(err.message, "differs from that of training"));
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_agent_resumes_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(several_environments_resume_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(a_finished_run_is_carried_on, make_root, remove_root),
      cmocka_unit_test_setup_teardown(other_settings_are_refused_by_name, make_root, remove_root),
      cmocka_unit_test_setup_teardown(full_replays_resume_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(running_scales_resume_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(stacks_resume_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(noisy_pictures_resume_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(another_stack_is_refused_by_name, make_root, remove_root),
      cmocka_unit_test_setup_teardown(cells_resume_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(minibatch_samplers_resume_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(a_run_that_looks_back_resumes_exactly, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(a_damaged_checkpoint_is_refused_and_the_previous_one_used,
                                      make_root, remove_root),
      cmocka_unit_test_setup_teardown(a_checkpoint_can_be_evaluated, make_root, remove_root),
      cmocka_unit_test_setup_teardown(an_agent_that_acts_by_its_data_is_evaluated_with_them,
                                      make_root, remove_root),
      cmocka_unit_test_setup_teardown(what_lives_outside_resumes_exactly, make_root, remove_root),
      cmocka_unit_test_setup_teardown(an_episode_that_cannot_go_on_is_given_up, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(without_the_hooks_a_resumed_run_differs, make_root,
                                      remove_root),
      cmocka_unit_test(evaluations_have_parameters_of_their_own),
      cmocka_unit_test(evaluations_must_look_like_training),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
