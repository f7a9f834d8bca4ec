/* What takes minutes: 20,000 steps of training on Freeway, twice, equal in every bit; and every
 * game that ALE has. */
#include "atari_helpers.h"
#include "file_helpers.h"

static void train(const lgv_plan *plan, const char *directory) {
  lgv_run *run;
  lgv_error err = {0};
  bool done = false;
  if (lgv_run_create(plan, 5, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  while (!done)
    if (lgv_run_advance(run, 1000, &done, &err) != LGV_OK) fail_msg("%s", err.message);
  if (lgv_run_finish(run, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_free(run);
}

static void expect_same(const char *one, const char *other, const char *name) {
  char command[3 * PATH_MAX];
  snprintf(command, sizeof command, "cmp '%s/%s' '%s/%s'", one, name, other, name);
  assert_int_equal(system(command), 0);
}

/* The checkpoint holds the weights, the replay and the game itself. */
static void twenty_thousand_steps_repeat_themselves(void **state) {
  (void)state;
  char root[TEMP_SIZE], first[PATH_MAX], second[PATH_MAX];
  make_temp(root);
  join(first, root, "first");
  join(second, root, "second");
  lgv_plan *plan = make_plan("atari:freeway", "adam-lmcdqn",
                             "run.steps=20000 run.eval_every=10000 run.eval_episodes=1 "
                             "agent.replay=20000");
  train(plan, first);
  train(plan, second);
  expect_same(first, second, "metrics.csv");
  expect_same(first, second, "summary.json");
  expect_same(first, second, "checkpoint.safetensors");
  lgv_plan_free(plan);
  remove_tree(root);
}

static bool needs_two_players(const char *game) {
  static const char *const duels[] = {"combat", "joust", "maze_craze", "warlords"};
  for (size_t i = 0; i < sizeof duels / sizeof *duels; i++)
    if (strcmp(duels[i], game) == 0) return true;
  return false;
}

static void every_game_can_be_played(void **state) {
  (void)state;
  char command[4096 + 128], game[64], name[80];
  snprintf(command, sizeof command,
           "'%s' -c 'from ale_py import roms; print(*roms.get_all_rom_ids(), sep=\"\\n\")'",
           getenv("LANGEVIN_PYTHON"));
  FILE *games = popen(command, "r");
  int played = 0;
  while (fscanf(games, "%63s", game) == 1) {
    if (needs_two_players(game)) continue;
    snprintf(name, sizeof name, "atari:%s", game);
    lgv_env *env = make_env(name, NULL, 1);
    lgv_outcome outcome = {.terminated = true};
    for (int i = 0; i < 60; i++)
      if (has_ended(&outcome))
        reset_env(env), outcome = (lgv_outcome){0};
      else
        step_env(env, i % lgv_env_get_spec(env)->actions.count, &outcome);
    lgv_env_free(env);
    played++;
  }
  assert_int_equal(pclose(games), 0);
  assert_true(played > 100);
}

int main(void) {
  need_atari("slow_atari");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_game_can_be_played),
      cmocka_unit_test(twenty_thousand_steps_repeat_themselves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
