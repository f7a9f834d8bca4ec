/* Atari games: frame by frame against Gymnasium's AtariPreprocessing and against envpool's rules
 * reimplemented in Python (fixtures/atari_course.py); the handling of lives, resets and scores, the
 * presets, saved games, a worker that dies, and unknown names. */
#include "atari_helpers.h"
#include "config/plan.h"
#include "file_helpers.h"

#include <signal.h>

/* ---- Against others ---- */

typedef struct record {
  int32_t what, action, points, compare;
} record;
enum { RESET, GOES_ON, ENDED };

/* Plays what the script played; returns the number of compared pictures, 0 without OpenCV. */
static int64_t follow_course(const char *mode, const char *game, int steps, const char *extra,
                             size_t bytes) {
  char command[4096 + 256];
  snprintf(command, sizeof command, "'%s' '%s/fixtures/atari_course.py' %s %s %d",
           getenv("LANGEVIN_PYTHON"), TEST_SOURCE_DIR, mode, game, steps);
  FILE *course = popen(command, "r");
  assert_non_null(course);
  char name[64];
  snprintf(name, sizeof name, "atari:%s", game);
  lgv_env *env = make_env(name, extra, 1);
  static uint8_t expected[STACK];
  const uint8_t *seen = NULL;
  lgv_outcome outcome = {0};
  int64_t compared = 0;
  for (record r; fread(&r, sizeof r, 1, course) == 1;) {
    assert_int_equal(fread(expected, 1, bytes, course), bytes);
    seen = r.what == RESET ? reset_env(env) : step_env(env, r.action, &outcome);
    if (r.what != RESET && (outcome.terminated != (r.what == ENDED) || outcome.truncated ||
                            outcome.reward != r.points))
      fail_msg("%s, %s: another outcome after %lld pictures", mode, game, (long long)compared);
    for (size_t i = 0; r.compare && i < bytes; i++) /* a single picture is the newest one */
      if (seen[bytes == STACK ? i : i * FRAMES + FRAMES - 1] != expected[i])
        fail_msg("%s, %s: another picture after %lld", mode, game, (long long)compared);
    compared += r.compare;
  }
  lgv_env_free(env);
  int status = pclose(course);
  assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
  if (WEXITSTATUS(status) == 77) printf("%s, %s: SKIPPED: no OpenCV in .venv\n", mode, game);
  return compared;
}

static void sees_what_gymnasium_sees(void **state) {
  (void)state;
  static const char *const games[] = {"breakout", "qbert", "air_raid"}; /* the last is 250 high */
  for (int i = 0; i < 3; i++) {
    int64_t compared =
        follow_course("gymnasium", games[i], 300,
                      "env.preset=nature env.noops=0 env.life_ends=false env.clip=false", PIXELS);
    assert_true(compared == 0 || compared > 290);
  }
}

static void plays_by_the_rules_of_the_authors(void **state) {
  (void)state;
  static const char *const games[] = {"breakout", "qbert", "freeway", "seaquest"};
  for (int i = 0; i < 4; i++) {
    int64_t compared = follow_course("authors", games[i], 500, "env.noops=1 env.clip=false", STACK);
    assert_true(compared == 0 || compared > 500);
  }
}

/* ---- Lives ---- */

static void expect_equal_pictures(const uint8_t *stack) {
  for (int i = 0; i < PIXELS; i++)
    for (int f = 1; f < FRAMES; f++) assert_int_equal(stack[i * FRAMES + f], stack[i * FRAMES]);
}

/* Breakout with FIRE alone loses a ball every few seconds; it has five. */
static void a_lost_life_ends_an_episode_but_not_the_game(void **state) {
  (void)state;
  lgv_env *env = make_env("atari:breakout", NULL, 1);
  static uint8_t last[STACK];
  for (int life = 0; life < 5; life++) {
    const uint8_t *stack = reset_env(env);
    if (life == 0) expect_equal_pictures(stack);
    for (int i = 0; life > 0 && i < PIXELS; i++) /* the earlier pictures move on by one */
      for (int f = 0; f < FRAMES - 1; f++)
        assert_int_equal(stack[i * FRAMES + f], last[i * FRAMES + f + 1]);
    assert_int_equal(counter(env, GAMES), 0);
    lgv_outcome outcome = {0};
    for (int i = 0; i < 1000 && !has_ended(&outcome); i++) stack = step_env(env, 0, &outcome);
    assert_true(outcome.terminated && !outcome.truncated);
    memcpy(last, stack, sizeof last);
  }
  assert_int_equal(counter(env, GAMES), 1);
  expect_equal_pictures(reset_env(env));
  lgv_env_free(env);
}

static void without_no_ops_a_game_goes_on_at_once(void **state) {
  (void)state;
  lgv_env *env = make_env("atari:breakout", "env.preset=nature", 1);
  static uint8_t last[STACK];
  lgv_outcome outcome = {0};
  const uint8_t *stack = reset_env(env);
  for (int i = 0; i < PIXELS; i++) /* black pictures before the first */
    for (int f = 0; f < FRAMES - 1; f++) assert_int_equal(stack[i * FRAMES + f], 0);
  for (int i = 0; i < 2000 && !has_ended(&outcome); i++) stack = step_env(env, 1, &outcome);
  assert_true(outcome.terminated);
  memcpy(last, stack, sizeof last);
  assert_memory_equal(reset_env(env), last, sizeof last);
  assert_int_equal(counter(env, GAMES), 0);
  lgv_env_free(env);
}

/* A reset without a lost life begins a new game. */
static void an_episode_given_up_is_a_game_given_up(void **state) {
  (void)state;
  lgv_env *env = make_env("atari:breakout", NULL, 1);
  lgv_outcome outcome;
  reset_env(env);
  for (int i = 0; i < 10; i++) step_env(env, 2, &outcome);
  expect_equal_pictures(reset_env(env));
  lgv_env_free(env);
}

static lgv_env *make_eval_env(const char *name, const char *extra) {
  lgv_plan *plan = make_plan(name, "dqn", extra);
  lgv_env *env;
  lgv_error err = {0};
  if (lgv__env_open_eval(plan->env_type, plan->env_params, plan->env_common, &plan->host, 1,
                         "env.eval", &env, &err) != LGV_OK)
    fail_msg("%s", err.message);
  lgv_plan_free(plan);
  return env;
}

static void evaluations_play_whole_games_for_points(void **state) {
  (void)state;
  lgv_env *env = make_eval_env("atari:breakout", "env.max_steps=2000");
  lgv_outcome outcome = {0};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  double points = 0, most = 0;
  reset_env(env);
  while (!has_ended(&outcome)) {
    step_env(env, (int32_t)lgv_rng_below(&rng, 4), &outcome);
    points += outcome.reward;
    if (outcome.reward > most) most = outcome.reward;
  }
  assert_int_equal(counter(env, GAMES), 1);
  assert_int_equal(counter(env, LAST_SCORE), (int64_t)points);
  lgv_env_free(env);
  env = make_eval_env("atari:qbert", NULL); /* a new cube pays 25 */
  reset_env(env);
  most = 0;
  for (int i = 0; i < 300; i++) {
    step_env(env, (int32_t)lgv_rng_below(&rng, 6), &outcome);
    if (outcome.reward > most) most = outcome.reward;
    if (has_ended(&outcome)) reset_env(env);
  }
  assert_true(most >= 25);
  lgv_env_free(env);
}

/* ---- Rewards, clocks, actions ---- */

static void clipped_rewards_are_the_signs_of_points(void **state) {
  (void)state;
  lgv_env *clipped = make_env("atari:qbert", NULL, 1);
  lgv_env *points = make_env("atari:qbert", "env.clip=false", 1);
  lgv_outcome a = {0}, b = {0};
  lgv_rng rng;
  int paid = 0;
  lgv_rng_seed(&rng, 3, "test");
  reset_env(clipped);
  reset_env(points);
  assert_true(lgv_env_get_spec(clipped)->reward_min == -1);
  assert_true(lgv_env_get_spec(clipped)->reward_max == 1);
  for (int i = 0; i < 400; i++) {
    int32_t action = (int32_t)lgv_rng_below(&rng, 6);
    step_env(clipped, action, &a);
    step_env(points, action, &b);
    assert_true(a.reward == (b.reward > 0) - (b.reward < 0));
    paid += b.reward > 1;
    if (!has_ended(&a)) continue;
    reset_env(clipped);
    reset_env(points);
  }
  assert_true(paid > 0);
  lgv_env_free(clipped);
  lgv_env_free(points);
}

/* A game has 8192 frames, of which up to 30 pass without an action. */
static void freeway_has_three_actions_no_lives_and_a_clock_of_its_own(void **state) {
  (void)state;
  lgv_env *env = make_env("atari:freeway", NULL, 1);
  lgv_outcome outcome = {0};
  int64_t steps = 0, points = 0;
  assert_int_equal(lgv_env_get_spec(env)->actions.count, 3);
  expect_equal_pictures(reset_env(env));
  for (; !has_ended(&outcome); steps++) {
    step_env(env, 1, &outcome); /* up: the chicken crosses sooner or later */
    points += (int64_t)outcome.reward;
  }
  assert_true(outcome.terminated && steps >= 2040 && steps <= 2048);
  assert_true(points > 0 && counter(env, LAST_SCORE) == points && counter(env, GAMES) == 1);
  lgv_env_free(env);
}

static void a_time_limit_truncates_and_counts_as_a_game(void **state) {
  (void)state;
  lgv_env *env = make_env("atari:freeway", "env.max_steps=7", 1);
  for (int game = 1; game <= 2; game++) {
    lgv_outcome outcome = {0};
    expect_equal_pictures(reset_env(env));
    for (int i = 0; i < 7; i++) {
      assert_false(has_ended(&outcome));
      step_env(env, 0, &outcome);
    }
    assert_true(outcome.truncated && !outcome.terminated);
    assert_int_equal(counter(env, GAMES), game);
  }
  lgv_env_free(env);
}

static void the_observation_is_what_was_asked_for(void **state) {
  (void)state;
  lgv_env *env = make_env("atari:pong", "env.actions=full env.size=40 env.stack=2", 1);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_true(spec->obs_kind == LGV_OBS_BYTE && spec->frames == 2 && spec->actions.count == 18);
  assert_true(spec->obs_shape[0] == 40 && spec->obs_shape[1] == 40 && spec->obs_shape[2] == 2);
  const uint8_t *stack = reset_env(env);
  int lit = 0;
  for (int i = 0; i < 40 * 40; i++) {
    assert_int_equal(stack[2 * i], stack[2 * i + 1]);
    lit += stack[2 * i] > 0;
  }
  assert_true(lit > 1000);
  lgv_env_free(env);
}

/* ---- Settings ---- */

static void presets_fill_in_what_is_left_open(void **state) {
  (void)state;
  enum { PRESETS = 3 };
  static const char *const presets[PRESETS] = {"env.preset=authors", "env.preset=nature",
                                               "env.preset=machado"};
  static const struct {
    const char *key, *value[PRESETS];
  } table[] = {{"env.sticky", {"0", "0", "0.25"}},
               {"env.noops", {"30", "30", "0"}},
               {"env.fire", {"true", "false", "false"}},
               {"env.frame_skip", {"4", "4", "5"}},
               {"env.pool", {"true", "true", "true"}},
               {"env.life_ends", {"true", "true", "false"}},
               {"env.life_noops", {"true", "false", "false"}},
               {"env.clip", {"true", "true", "true"}},
               {"env.max_steps", {"108000", "27000", "3600"}},
               {"env.actions", {"minimal", "minimal", "full"}},
               {"env.size", {"84", "84", "84"}},
               {"env.stack", {"4", "4", "4"}},
               {"env.stack_fill", {"repeat", "black", "black"}},
               {"run.eval_every", {"100000", "100000", "100000"}},
               {"run.eval_episodes", {"5", "5", "5"}}};
  char text[64];
  lgv_error err = {0};
  for (int p = 0; p < PRESETS; p++) {
    lgv_plan *plan = make_plan("atari:freeway", "dqn", presets[p]);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
      assert_int_equal(lgv_plan_get(plan, table[i].key, text, sizeof text, &err), LGV_OK);
      if (strcmp(text, table[i].value[p]) != 0)
        fail_msg("%s: %s is %s", presets[p], table[i].key, text);
    }
    lgv_plan_free(plan);
  }
  lgv_plan *plan =
      make_plan("atari:freeway", "dqn", "env.preset=machado env.sticky=0.5 run.eval_episodes=2");
  assert_int_equal(lgv_plan_get(plan, "env.sticky", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "0.5");
  assert_int_equal(lgv_plan_get(plan, "run.eval_episodes", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "2");
  lgv_plan_free(plan);
}

static void expect_refusal(const char *name, const char *extra, const char *part) {
  lgv_settings *settings = make_settings(name, NULL, extra);
  lgv_env *env = NULL;
  lgv_error err = {0};
  assert_int_not_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  if (!strstr(err.message, part)) fail_msg("'%s' does not say '%s'", err.message, part);
  lgv_settings_free(settings);
}

static void refusals_say_what_to_do(void **state) {
  (void)state;
  expect_refusal("atari:frewy", NULL, "did you mean freeway");
  expect_refusal("atari:combat", NULL, "two players");
  expect_refusal("atari:pong", "env.preset=deepmind", "authors | nature | machado");
  expect_refusal("atari:pong", "env.python=/no/such/python", "/no/such/python");
}

static void games_may_be_spelled_as_gymnasium_does(void **state) {
  (void)state;
  lgv_env_free(make_env("atari:SpaceInvaders", NULL, 1));
  lgv_env_free(make_env("atari:space-invaders", NULL, 1));
}

/* ---- State ---- */

static void copy_kept_blocks(const lgv_env *from, lgv_env *to) {
  const lgv_layout *a = &lgv__env_arena(from)->table, *b = &lgv__env_arena(to)->table;
  assert_int_equal(a->n_blocks, b->n_blocks);
  for (size_t i = 0; i < a->n_blocks; i++)
    if (a->blocks[i].keep)
      memcpy(b->base + b->blocks[i].offset, a->base + a->blocks[i].offset,
             a->blocks[i].count * lgv__dtype_size(a->blocks[i].dtype));
}

/* Sticky actions, so that ALE's random numbers are part of it. */
static void a_saved_game_goes_on_as_if_nothing_had_been(void **state) {
  (void)state;
  static const char *const settings = "env.sticky=0.25";
  lgv_env *env = make_env("atari:breakout", settings, 1);
  lgv_env *other = make_env("atari:breakout", settings, 2);
  lgv_outcome a = {0}, b = {0};
  lgv_error err = {0};
  bool in_episode = true;
  reset_env(env);
  for (int i = 0; i < 100; i++) {
    step_env(env, i % 4, &a);
    if (has_ended(&a)) reset_env(env);
  }
  assert_int_equal(lgv__env_save(env, &err), LGV_OK);
  copy_kept_blocks(env, other);
  if (lgv__env_restore(other, &in_episode, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_true(in_episode);
  for (int i = 0; i < 300; i++) {
    const uint8_t *x = step_env(env, i * 7 % 4, &a), *y = step_env(other, i * 7 % 4, &b);
    assert_true(a.reward == b.reward && a.terminated == b.terminated);
    assert_memory_equal(x, y, STACK);
    if (!has_ended(&a)) continue;
    x = reset_env(env), y = reset_env(other);
    assert_memory_equal(x, y, STACK);
  }
  assert_int_equal(counter(env, SCORE_SUM), counter(other, SCORE_SUM));
  lgv_env_free(env);
  lgv_env_free(other);
}

static uint64_t course_hash(const char *name, uint64_t seed) {
  lgv_env *env = make_env(name, NULL, seed);
  int32_t actions = lgv_env_get_spec(env)->actions.count;
  lgv_outcome outcome = {.terminated = true};
  uint64_t hash = 0xcbf29ce484222325;
  lgv_rng rng;
  lgv_rng_seed(&rng, 7, "test");
  for (int seen = 0; seen < 1000; seen++) {
    const uint8_t *stack = has_ended(&outcome)
                               ? (outcome = (lgv_outcome){0}, reset_env(env))
                               : step_env(env, (int32_t)lgv_rng_below(&rng, actions), &outcome);
    for (int i = 0; i < STACK; i++) hash = (hash ^ stack[i]) * 0x100000001b3;
  }
  lgv_env_free(env);
  return hash;
}

/* FNV-1a; with ale-py 0.12.1 and its games. */
static void the_first_thousand_observations_never_change(void **state) {
  (void)state;
  const struct {
    const char *game;
    uint64_t hash;
  } known[] = {{"atari:freeway", 0xb2f92667bea5d535},
               {"atari:breakout", 0x26a104c3cac07bc5},
               {"atari:qbert", 0xd2404016cea0e295}};
  for (int i = 0; i < 3; i++) {
    uint64_t hash = course_hash(known[i].game, 1);
    if (hash != known[i].hash) fail_msg("%s: 0x%016llx", known[i].game, (unsigned long long)hash);
  }
  assert_true(course_hash("atari:breakout", 2) != known[1].hash);
}

/* ---- Death ---- */

static pid_t only_child(void) {
  char path[64];
  int pid = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%d", &pid), 1);
  fclose(file);
  return (pid_t)pid;
}

static void a_worker_that_dies_is_replaced_once(void **state) {
  (void)state;
  lgv_env *env = make_env("atari:breakout", NULL, 1);
  static uint8_t last[STACK];
  lgv_outcome outcome = {0};
  lgv_obs obs;
  lgv_error err = {0};
  reset_env(env);
  for (int i = 0; i < 5; i++) memcpy(last, step_env(env, 0, &outcome), sizeof last);
  assert_int_equal(kill(only_child(), SIGKILL), 0);
  const uint8_t *stack = step_env(env, 0, &outcome);
  assert_true(outcome.truncated && !outcome.terminated && outcome.reward == 0);
  for (int i = 0; i < PIXELS; i++) /* the last picture again */
    assert_int_equal(stack[i * FRAMES + FRAMES - 1], last[i * FRAMES + FRAMES - 1]);
  expect_equal_pictures(reset_env(env));
  step_env(env, 0, &outcome);
  assert_false(has_ended(&outcome));
  assert_int_equal(kill(only_child(), SIGKILL), 0);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_ENV);
  assert_non_null(strstr(err.message, "killed by signal 9"));
  lgv_env_free(env);
}

/* ---- Runs ---- */

static void finish(lgv_run *run) {
  lgv_error err = {0};
  bool done = false;
  while (!done)
    if (lgv_run_advance(run, 100, &done, &err) != LGV_OK) fail_msg("%s", err.message);
  if (lgv_run_finish(run, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_free(run);
}

static lgv_run *begin(const lgv_plan *plan, const char *directory) {
  lgv_run *run;
  lgv_error err = {0};
  if (lgv_run_create(plan, 3, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  return run;
}

static void expect_same(const char *one, const char *other, const char *name) {
  char command[3 * PATH_MAX];
  snprintf(command, sizeof command, "cmp '%s/%s' '%s/%s'", one, name, other, name);
  assert_int_equal(system(command), 0);
}

/* Sticky actions, several lives and an evaluation: everything that has its own state. */
static void runs_repeat_themselves_and_survive_an_interruption(void **state) {
  (void)state;
  char root[TEMP_SIZE], whole[PATH_MAX], again[PATH_MAX], halves[PATH_MAX];
  make_temp(root);
  join(whole, root, "whole");
  join(again, root, "again");
  join(halves, root, "halves");
  lgv_plan *plan =
      make_plan("atari:breakout", "adam-lmcdqn",
                "agent.replay=200 agent.warmup=32 agent.hidden=16 run.steps=300 run.eval_every=100 "
                "run.eval_episodes=1 env.max_steps=150 env.sticky=0.25");
  finish(begin(plan, whole));
  finish(begin(plan, again));
  lgv_run *run = begin(plan, halves);
  lgv_error err = {0};
  bool done;
  assert_int_equal(lgv_run_advance(run, 137, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  if (lgv_run_resume(plan, 3, halves, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  finish(run);
  const char *const files[] = {"metrics.csv", "summary.json", "checkpoint.safetensors"};
  for (int i = 0; i < 3; i++) {
    expect_same(whole, again, files[i]);
    expect_same(whole, halves, files[i]);
  }
  lgv_plan_free(plan);
  remove_tree(root);
}

int main(void) {
  need_atari("test_env_atari");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sees_what_gymnasium_sees),
      cmocka_unit_test(plays_by_the_rules_of_the_authors),
      cmocka_unit_test(a_lost_life_ends_an_episode_but_not_the_game),
      cmocka_unit_test(without_no_ops_a_game_goes_on_at_once),
      cmocka_unit_test(an_episode_given_up_is_a_game_given_up),
      cmocka_unit_test(evaluations_play_whole_games_for_points),
      cmocka_unit_test(clipped_rewards_are_the_signs_of_points),
      cmocka_unit_test(freeway_has_three_actions_no_lives_and_a_clock_of_its_own),
      cmocka_unit_test(a_time_limit_truncates_and_counts_as_a_game),
      cmocka_unit_test(the_observation_is_what_was_asked_for),
      cmocka_unit_test(presets_fill_in_what_is_left_open),
      cmocka_unit_test(refusals_say_what_to_do),
      cmocka_unit_test(games_may_be_spelled_as_gymnasium_does),
      cmocka_unit_test(a_saved_game_goes_on_as_if_nothing_had_been),
      cmocka_unit_test(the_first_thousand_observations_never_change),
      cmocka_unit_test(a_worker_that_dies_is_replaced_once),
      cmocka_unit_test(runs_repeat_themselves_and_survive_an_interruption),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
