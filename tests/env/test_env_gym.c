/* Gymnasium environments through the bridge: observations equal those of a plain Python loop, bit
 * for bit, for every kind of space; parameters, wrappers and seeds reach the environment. */
#include "env/env.h"

#include "file_helpers.h"
#include "gym_helpers.h"

#include <math.h>

/* ---- The same episodes in a Python loop ---- */

enum { STEPS = 60, MOST_BYTES = 1 << 22 };

typedef struct course {
  unsigned char *bytes;
  size_t size;
} course;

static void append(course *c, const void *bytes, size_t size) {
  assert_true(c->size + size <= MOST_BYTES);
  memcpy(c->bytes + c->size, bytes, size);
  c->size += size;
}

static size_t obs_size(const lgv_env_spec *s) {
  return (size_t)s->obs_shape[0] * (size_t)s->obs_shape[1] * (size_t)s->obs_shape[2] *
         (s->obs_kind == LGV_OBS_BYTE ? 1 : sizeof(float));
}

/* Plays random actions and writes them and the seeds of the resets to a file for the Python loop.
 */
static course play_here(const char *name, const char *extra, FILE *file) {
  lgv_env *env = make_gym(name, extra);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  course c = {.bytes = malloc(MOST_BYTES)};
  lgv_error err = {0};
  lgv_rng seeds, actions;
  lgv_rng_seed(&seeds, 5, "env"); /* as open_gym does */
  lgv_rng_seed(&actions, 1, "test");
  fputc('[', file);
  for (int i = 0; i < STEPS; i++)
    fprintf(file, "%s%llu", i ? "," : "", (unsigned long long)(lgv_rng_bits(&seeds) >> 33));
  fprintf(file, "]\n[");
  bool over = true;
  for (int i = 0; i < STEPS; i++) {
    lgv_obs obs;
    lgv_outcome outcome;
    if (over) {
      if (lgv_env_reset(env, &obs, &err) != LGV_OK) fail_msg("%s: %s", name, err.message);
      append(&c, obs.data, obs_size(spec));
    }
    int32_t action = (int32_t)lgv_rng_below(&actions, spec->actions.count);
    fprintf(file, "%s%d", i ? "," : "", action);
    if (lgv_env_step(env, choice(action), &outcome, &obs, &err) != LGV_OK)
      fail_msg("%s: %s", name, err.message);
    unsigned char ends[2] = {outcome.terminated, outcome.truncated};
    append(&c, obs.data, obs_size(spec));
    append(&c, &outcome.reward, sizeof outcome.reward);
    append(&c, ends, sizeof ends);
    over = outcome.terminated || outcome.truncated;
  }
  fprintf(file, "]\n");
  lgv_env_free(env);
  expect_no_child();
  return c;
}

static void compare_with_python(const char *id, const char *extra, const char *kwargs) {
  char directory[TEMP_SIZE], path[PATH_MAX], name[128], command[3 * PATH_MAX];
  make_temp(directory);
  join(path, directory, "course");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "{\"id\": \"%s\", \"kwargs\": %s}\n", id, kwargs);
  snprintf(name, sizeof name, "gym:%s", id);
  course here = play_here(name, extra, file), there = {.bytes = malloc(MOST_BYTES)};
  assert_int_equal(fclose(file), 0);
  snprintf(command, sizeof command, "'%s' '%s/fixtures/gym_course.py' '%s' %s",
           getenv("LANGEVIN_PYTHON"), TEST_SOURCE_DIR, path,
           strstr(id, "MiniGrid") ? "minigrid" : "");
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  there.size = fread(there.bytes, 1, MOST_BYTES, pipe);
  assert_int_equal(pclose(pipe), 0);
  if (here.size != there.size) fail_msg("%s %s: %zu, %zu bytes", id, kwargs, here.size, there.size);
  if (memcmp(here.bytes, there.bytes, here.size) != 0) fail_msg("%s %s: it differs", id, kwargs);
  free(here.bytes);
  free(there.bytes);
  remove_tree(directory);
}

static void known_environments_are_as_in_a_python_loop(void **state) {
  (void)state;
  const char *const ids[] = {"CartPole-v1", "Acrobot-v1", "FrozenLake-v1", "Blackjack-v1",
                             "MiniGrid-Empty-5x5-v0"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) compare_with_python(ids[i], NULL, "{}");
}

static void every_space_is_as_gymnasium_flattens_it(void **state) {
  (void)state;
  const char *const kinds[] = {"float64",   "float16",        "scalar", "int",         "ram",
                               "picture",   "small-picture",  "gray",   "discrete",    "binary",
                               "multi",     "channels-first", "stack",  "multi-start", "multi-2d",
                               "binary-2d", "dict",           "tuple"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char extra[128], kwargs[128];
    snprintf(extra, sizeof extra, "env.kwargs.kind=%s", kinds[i]);
    snprintf(kwargs, sizeof kwargs, "{\"kind\": \"%s\"}", kinds[i]);
    compare_with_python("test/Space-v0", extra, kwargs);
  }
}

/* ---- Specs ---- */

static void specs_say_what_was_found(void **state) {
  (void)state;
  const struct {
    const char *name, *extra;
    lgv_obs_kind kind;
    lgv_obs_form form;
    int32_t shape[3], actions;
    int64_t states, horizon;
  } rows[] = {
      {"gym:CartPole-v1", NULL, LGV_OBS_FLOAT, LGV_FORM_DENSE, {4, 1, 1}, 2, 0, 500},
      {"gym:CartPole-v1", "env.horizon=20", LGV_OBS_FLOAT, LGV_FORM_DENSE, {4, 1, 1}, 2, 0, 20},
      {"gym:FrozenLake-v1", NULL, LGV_OBS_FLOAT, LGV_FORM_ONE_HOT, {16, 1, 1}, 4, 16, 100},
      {"gym:test/Space-v0",
       "env.kwargs.kind=discrete",
       LGV_OBS_FLOAT,
       LGV_FORM_ONE_HOT,
       {6, 1, 1},
       3,
       6,
       0},
      {"gym:test/Space-v0",
       "env.kwargs.kind=picture",
       LGV_OBS_BYTE,
       LGV_FORM_DENSE,
       {40, 36, 3},
       3,
       0,
       0},
      {"gym:test/Space-v0",
       "env.kwargs.kind=gray",
       LGV_OBS_BYTE,
       LGV_FORM_DENSE,
       {36, 41, 1},
       3,
       0,
       0},
      {"gym:test/Space-v0",
       "env.kwargs.kind=stack",
       LGV_OBS_BYTE,
       LGV_FORM_DENSE,
       {40, 38, 6},
       3,
       0,
       0},
      {"gym:test/Space-v0",
       "env.kwargs.kind=channels-first",
       LGV_OBS_BYTE,
       LGV_FORM_DENSE,
       {40, 38, 4},
       3,
       0,
       0},
      {"gym:test/Space-v0",
       "env.kwargs.kind=small-picture",
       LGV_OBS_FLOAT,
       LGV_FORM_DENSE,
       {147, 1, 1},
       3,
       0,
       0},
      {"gym:test/Limited-v0", NULL, LGV_OBS_FLOAT, LGV_FORM_DENSE, {3, 1, 1}, 2, 0, 4},
      {"gym:test/Limited-v0",
       "env.wrappers=TimeLimit(max_episode_steps=3)",
       LGV_OBS_FLOAT,
       LGV_FORM_DENSE,
       {3, 1, 1},
       2,
       0,
       3},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env = make_gym(rows[i].name, rows[i].extra);
    const lgv_env_spec *s = lgv_env_get_spec(env);
    if (s->obs_kind != rows[i].kind || s->obs_form != rows[i].form ||
        s->actions.count != rows[i].actions || s->states != rows[i].states ||
        s->horizon != rows[i].horizon ||
        memcmp(s->obs_shape, rows[i].shape, sizeof s->obs_shape) != 0)
      fail_msg("%s %s: kind %d form %d shape %d %d %d actions %d states %d horizon %d",
               rows[i].name, rows[i].extra, s->obs_kind, s->obs_form, s->obs_shape[0],
               s->obs_shape[1], s->obs_shape[2], s->actions.count, (int)s->states, (int)s->horizon);
    lgv_env_free(env);
  }
}

/* ---- The end of episodes ---- */

static void ends_are_kept_apart_and_the_last_observation_is_there(void **state) {
  (void)state;
  const struct {
    const char *name, *extra;
    bool terminated, truncated;
    int steps;
  } rows[] = {
      {"gym:test/Clock-v0", "env.kwargs.end=terminated", true, false, 5},
      {"gym:test/Clock-v0", "env.kwargs.end=truncated", false, true, 5},
      {"gym:test/Limited-v0", NULL, false, true, 4},
      {"gym:test/Clock-v0", "env.horizon=5", true, true, 5}, /* both at once, as in Gymnasium */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env = make_gym(rows[i].name, rows[i].extra);
    for (int episode = 0; episode < 3; episode++) {
      lgv_obs obs;
      lgv_outcome outcome = {0};
      lgv_error err = {0};
      int steps = 0;
      assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
      assert_true(((const float *)obs.data)[0] == 0);
      for (; !outcome.terminated && !outcome.truncated; steps++) {
        assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
        assert_true(((const float *)obs.data)[0] == (float)(steps + 1));
      }
      assert_int_equal(steps, rows[i].steps);
      assert_true(outcome.terminated == rows[i].terminated);
      assert_true(outcome.truncated == rows[i].truncated);
    }
    lgv_env_free(env);
  }
}

/* ---- Seeds ---- */

static void first_observations(uint64_t seed, int count, float *out) {
  lgv_settings *settings = make_settings("gym:test/Clock-v0", NULL, "env.import=gym_envs");
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  if (lgv_env_create(settings, seed, &env, &err) != LGV_OK) fail_msg("%s", err.message);
  for (int i = 0; i < count; i++) {
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    memcpy(out + 3 * i, obs.data, 3 * sizeof *out);
  }
  lgv_env_free(env);
  lgv_settings_free(settings);
}

/* The observation holds the seed and the result of 30 draws from the action space. */
static void seeds_reach_the_environment_and_its_actions(void **state) {
  (void)state;
  float a[9], b[9], c[9];
  first_observations(1, 3, a);
  first_observations(1, 3, b);
  first_observations(2, 3, c);
  assert_memory_equal(a, b, sizeof a);
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "env");
  for (int i = 0; i < 3; i++) {
    assert_true(a[3 * i + 1] == (float)((lgv_rng_bits(&rng) >> 33) % 1000003));
    assert_true(a[3 * i + 1] != c[3 * i + 1] && a[3 * i + 2] != c[3 * i + 2]);
  }
  assert_true(a[1] != a[4] && a[2] != a[5]); /* another seed every episode */
}

/* ---- Parameters ---- */

static void arguments_arrive_as_what_they_are(void **state) {
  (void)state;
  lgv_env *env = make_gym(
      "gym:test/Arguments-v0",
      "env.kwargs.whole=3 env.kwargs.real=2.5 env.kwargs.yes=true env.kwargs.no=False "
      "env.kwargs.nothing=null env.kwargs.word=4x4 env.kwargs.digits=\"8\" env.kwargs.list=[1,2.5] "
      "env.kwargs.pair=8,9 env.kwargs.inner.a=1 env.kwargs.inner.b.c=x env.kwargs.equals=a=b");
  lgv_env_free(env);
}

static double return_of(const char *name, const char *extra) {
  lgv_env *env = make_gym(name, extra);
  lgv_obs obs;
  lgv_outcome outcome = {0};
  lgv_error err = {0};
  double total = 0;
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  while (!outcome.terminated && !outcome.truncated) {
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
    total += outcome.reward;
  }
  lgv_env_free(env);
  return total;
}

static void wrappers_are_put_around(void **state) {
  (void)state;
  const char *clock = "gym:test/Clock-v0";
  assert_true(return_of(clock, NULL) == 5);
  assert_true(return_of(clock, "env.wrappers=gym_envs:Doubled") == 10);
  assert_true(return_of(clock, "env.wrappers=gym_envs:Doubled(by=3)") == 15);
  assert_true(return_of(clock, "env.wrappers=gym_envs:Doubled(4),gym_envs:Doubled") == 40);
  lgv_env *env = make_gym("gym:CartPole-v1", "env.wrappers=FrameStackObservation(stack_size=3)");
  assert_int_equal(lgv_env_get_spec(env)->obs_shape[0], 12);
  lgv_env_free(env);
}

static void boxes_are_scaled(void **state) {
  (void)state;
  lgv_env *env = make_gym("gym:test/Clock-v0", "env.scale=0.25");
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
  assert_true(((const float *)obs.data)[0] == 0.25f);
  lgv_env_free(env);
}

static void texts_are_left_out_with_a_notice(void **state) {
  (void)state;
  char notices[4000] = "";
  lgv_env *env;
  lgv_error err = {0};
  assert_int_equal(open_gym("gym:test/Space-v0", "env.kwargs.kind=dict", notices, &env, &err),
                   LGV_OK);
  assert_non_null(strstr(notices, "gym:test/Space-v0: the text ['say'] is left out"));
  assert_int_equal(lgv_env_get_spec(env)->obs_shape[0], 3 + 4 + 2 + 4);
  lgv_env_free(env);
  notices[0] = '\0';
  assert_int_equal(open_gym("gym:test/Fault-v0", "env.kwargs.fault=warn", notices, &env, &err),
                   LGV_OK);
  assert_non_null(strstr(notices, "gym:test/Fault-v0: mind the gap"));
  lgv_env_free(env);
}

/* ---- Refusals ---- */

static void what_cannot_be_is_refused_with_what_to_do(void **state) {
  (void)state;
  const struct {
    const char *name, *extra, *part;
    lgv_status status;
  } rows[] = {
      {"gym:CartPol-v1", NULL, "did you mean 'CartPole-v1'?", LGV_ERR_USAGE},
      {"gym:CartPole-v77", NULL, "did you mean 'CartPole-v1'?", LGV_ERR_USAGE},
      {"gym:Zzyzx-v0", NULL, "env.import", LGV_ERR_USAGE},
      {"gym:", NULL, "--env gym:CartPole-v1", LGV_ERR_USAGE},
      {"gym:Pendulum-v1", NULL, "Box(-2.0, 2.0, (1,), float32); only Discrete", LGV_ERR_USAGE},
      {"gym:test/Fault-v0", "env.kwargs.fault=multi-actions", "MultiDiscrete", LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=sequence", "a Sequence, which has no fixed",
       LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=only-text", "texts", LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=dict-of-text", "nothing of its observation",
       LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=many", "too many", LGV_ERR_USAGE},
      {"gym:test/Fault-v0", "env.kwargs.fault=make", "raised RuntimeError: cannot be made",
       LGV_ERR_ENV},
      {"gym:test/Fault-v0", "env.kwargs.fault=exit-make", "raised SystemExit: 3", LGV_ERR_ENV},
      {"gym:CartPole-v1", "env.kwargs.gravitas=1", "unexpected keyword argument 'gravitas'",
       LGV_ERR_USAGE},
      {"gym:CartPole-v1", "env.wrappers=FlattenObservatio", "did you mean 'FlattenObservation'?",
       LGV_ERR_USAGE},
      {"gym:CartPole-v1", "env.wrappers=TimeLimit(spam())", "cannot read the arguments",
       LGV_ERR_USAGE},
      {"gym:CartPole-v1", "env.import=no_such_module", "no module 'no_such_module'", LGV_ERR_USAGE},
      {"gym:CartPole-v1", "env.kwargs.a=1 env.kwargs.a.b=2", "a has a value already",
       LGV_ERR_USAGE},
      {"gym:LunarLander-v3", NULL, "-m pip install", LGV_ERR_ENV},
      {"gym:MiniWorld-Hallway-v0", NULL, "-m pip install miniworld", LGV_ERR_ENV},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env;
    lgv_error err = {0};
    lgv_status status = open_gym(rows[i].name, rows[i].extra, NULL, &env, &err);
    if (status != rows[i].status)
      fail_msg("%s %s: status %d: %s", rows[i].name, rows[i].extra, status, err.message);
    if (!strstr(err.message, rows[i].part))
      fail_msg("%s %s: '%s' lacks '%s'", rows[i].name, rows[i].extra, err.message, rows[i].part);
    expect_no_child();
  }
}

/* A package of that name that fails with Python's message for a missing package. */
static void a_missing_gymnasium_is_named_with_its_command(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  const char *command = "python -m pip install gymnasium";
  setenv("PYTHONPATH", TEST_SOURCE_DIR "/fixtures/without_gymnasium", 1);
  assert_int_equal(open_gym("gym:CartPole-v1", "env.import=", NULL, &env, &err), LGV_ERR_ENV);
  setenv("PYTHONPATH", TEST_SOURCE_DIR "/fixtures", 1);
  if (!strstr(err.message, command)) fail_msg("'%s' lacks '%s'", err.message, command);
}

/* The example of docs/environments.md. */
static void the_example_trains(void **state) {
  (void)state;
  setenv("PYTHONPATH", TEST_SOURCE_DIR "/../examples", 1);
  lgv_plan *plan = make_plan("gym:KeyDoor-v0", "dqn",
                             "env.import=own_gym_env env.kwargs.length=5 run.steps=3000 "
                             "run.eval_every=1000 run.eval_episodes=5");
  lgv_summary summary = run_plan(plan, 1);
  assert_true(summary.finished && summary.episodes > 60 && summary.mean_return > 0.5);
  setenv("PYTHONPATH", TEST_SOURCE_DIR "/fixtures", 1);
  lgv_plan_free(plan);
}

/* ---- Linear agents, and settings ---- */

static void linear_agents_run_on_finite_states(void **state) {
  (void)state;
  lgv_plan *plan =
      make_plan("gym:FrozenLake-v1", "lmc-lsvi", "env.reward_max=1 env.horizon=20 run.episodes=30");
  lgv_summary summary = run_plan(plan, 1);
  assert_true(summary.finished && summary.episodes == 30);
  char name[64];
  lgv_error err = {0};
  assert_int_equal(lgv_plan_get(plan, "env.name", name, sizeof name, &err), LGV_OK);
  assert_string_equal(name, "gym:FrozenLake-v1");
  lgv_plan_free(plan);
}

static void names_with_a_colon_are_taken_apart(void **state) {
  (void)state;
  lgv_settings *s = make_settings("gym:a:b/C-v0", NULL, NULL);
  lgv_error err = {0};
  assert_string_equal(lgv_settings_get(s, "env.name"), "gym");
  assert_string_equal(lgv_settings_get(s, "env.id"), "a:b/C-v0");
  assert_int_equal(lgv_settings_set(s, "env.id", "D-v0", "test", &err), LGV_OK);
  assert_string_equal(lgv_settings_get(s, "env.id"), "D-v0");
  assert_int_equal(lgv_settings_set(s, "env.name", "gym:E-v0", "test", &err), LGV_OK);
  assert_string_equal(lgv_settings_get(s, "env.id"), "E-v0");
  assert_int_equal(lgv_settings_set(s, "env.name", "nchain:E", "test", &err), LGV_OK);
  assert_string_equal(lgv_settings_get(s, "env.name"),
                      "nchain:E"); /* refused later, as it stands */
  lgv_env *env;
  assert_int_equal(lgv_env_create(s, 1, &env, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "did you mean 'nchain'"));
  lgv_settings_free(s);
}

int main(void) {
  need_gym("test_env_gym");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_environments_are_as_in_a_python_loop),
      cmocka_unit_test(every_space_is_as_gymnasium_flattens_it),
      cmocka_unit_test(specs_say_what_was_found),
      cmocka_unit_test(ends_are_kept_apart_and_the_last_observation_is_there),
      cmocka_unit_test(seeds_reach_the_environment_and_its_actions),
      cmocka_unit_test(arguments_arrive_as_what_they_are),
      cmocka_unit_test(wrappers_are_put_around),
      cmocka_unit_test(boxes_are_scaled),
      cmocka_unit_test(texts_are_left_out_with_a_notice),
      cmocka_unit_test(what_cannot_be_is_refused_with_what_to_do),
      cmocka_unit_test(a_missing_gymnasium_is_named_with_its_command),
      cmocka_unit_test(the_example_trains),
      cmocka_unit_test(linear_agents_run_on_finite_states),
      cmocka_unit_test(names_with_a_colon_are_taken_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
