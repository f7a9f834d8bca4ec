/* Gymnasium environments through the bridge: parameters, wrappers and seeds reach the environment,
 * and what cannot be is refused. test_env_gym_spaces.c has the spaces. */
#include "env/env.h"

#include "gym_helpers.h"

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
      {"gym:test/Space-v0", "env.kwargs.kind=scalar env.kwargs.actions=dict",
       "its actions are Dict('a': Discrete(2)): use Discrete, MultiDiscrete, MultiBinary or a Box",
       LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=scalar env.kwargs.actions=tuple", "env.wrappers",
       LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=scalar env.kwargs.actions=int-box", "a Box of floats",
       LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=scalar env.kwargs.actions=still",
       "has bounds with no number between them", LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=scalar env.kwargs.actions=sixty-five",
       "have 65 parts and 130 choices: 1 to 64 parts", LGV_ERR_USAGE},
      {"gym:test/Space-v0", "env.kwargs.kind=scalar env.kwargs.actions=empty", "have 0 parts",
       LGV_ERR_USAGE},
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
      {"gym:CartPole-v1", "env.wrappers=TimeLimit(**{'max':9})", "cannot read the arguments",
       LGV_ERR_USAGE},
      {"gym:CartPole-v1", "env.wrappers=TimeLimit(1)+(2)", "cannot read the arguments",
       LGV_ERR_USAGE},
      {"gym:CartPole-v1", "env.import=no_such_module", "no module 'no_such_module'", LGV_ERR_USAGE},
      {"gym:CartPole-v1", "env.kwargs.a=1 env.kwargs.a.b=2", "a has a value already",
       LGV_ERR_USAGE},
      {"gym:test/Fault-v0", "env.kwargs.fault=package", "-m pip install \"gymnasium[toys]\"",
       LGV_ERR_ENV},
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

static void fake_packages(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/fixtures%s%s:%s/fixtures", TEST_SOURCE_DIR, folder ? "/" : "",
           folder ? folder : "", TEST_SOURCE_DIR);
  setenv("PYTHONPATH", path, 1);
}

/* A package whose function register_envs must be called, and one that is not there. */
static void minatar_is_registered_by_itself(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  fake_packages("fake_minatar");
  env = make_gym("gym:MinAtar/Fake-v1", NULL);
  assert_int_equal(lgv_env_get_spec(env)->actions.count, 3);
  lgv_env_free(env);
  assert_int_equal(open_gym("gym:MinAtar/Fak-v1", NULL, NULL, &env, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "did you mean 'MinAtar/Fake-v1'?"));
  fake_packages("without_minatar");
  assert_int_equal(open_gym("gym:MinAtar/Fake-v1", NULL, NULL, &env, &err), LGV_ERR_ENV);
  assert_non_null(strstr(err.message, "it needs the package minatar. Install it: "));
  assert_non_null(strstr(err.message, "-m pip install minatar"));
  fake_packages(NULL);
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

/* ---- Stacks ---- */

/* env.stack shows the last observations of the same course. */
static void observations_can_be_stacked(void **state) {
  (void)state;
  enum { FRAMES = 3, LENGTH = 4 };
  lgv_env *plain = make_gym("gym:CartPole-v1", NULL),
          *stacked = make_gym("gym:CartPole-v1", "env.stack=3");
  float expected[FRAMES * LENGTH];
  lgv_outcome outcome = {.terminated = true}, same;
  lgv_obs a, b;
  lgv_error err = {0};
  assert_int_equal(lgv_env_get_spec(stacked)->obs_shape[0], FRAMES * LENGTH);
  for (int i = 0; i < 200; i++) {
    bool begins = outcome.terminated || outcome.truncated;
    if (begins) {
      assert_int_equal(lgv_env_reset(plain, &a, &err), LGV_OK);
      assert_int_equal(lgv_env_reset(stacked, &b, &err), LGV_OK);
      outcome = (lgv_outcome){0};
    } else {
      assert_int_equal(lgv_env_step(plain, choice(i % 2), &outcome, &a, &err), LGV_OK);
      assert_int_equal(lgv_env_step(stacked, choice(i % 2), &same, &b, &err), LGV_OK);
    }
    memmove(expected, expected + LENGTH, (FRAMES - 1) * LENGTH * sizeof *expected);
    for (int f = begins ? 0 : FRAMES - 1; f < FRAMES; f++)
      memcpy(expected + f * LENGTH, a.data, LENGTH * sizeof *expected);
    assert_memory_equal(b.data, expected, sizeof expected);
  }
  lgv_env_free(plain);
  lgv_env_free(stacked);
}

int main(void) {
  need_gym("test_env_gym");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_are_kept_apart_and_the_last_observation_is_there),
      cmocka_unit_test(seeds_reach_the_environment_and_its_actions),
      cmocka_unit_test(arguments_arrive_as_what_they_are),
      cmocka_unit_test(wrappers_are_put_around),
      cmocka_unit_test(boxes_are_scaled),
      cmocka_unit_test(texts_are_left_out_with_a_notice),
      cmocka_unit_test(what_cannot_be_is_refused_with_what_to_do),
      cmocka_unit_test(minatar_is_registered_by_itself),
      cmocka_unit_test(a_missing_gymnasium_is_named_with_its_command),
      cmocka_unit_test(the_example_trains),
      cmocka_unit_test(linear_agents_run_on_finite_states),
      cmocka_unit_test(names_with_a_colon_are_taken_apart),
      cmocka_unit_test(observations_can_be_stacked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
