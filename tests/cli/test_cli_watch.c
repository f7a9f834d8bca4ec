/* langevin watch: the returns of `langevin eval`, a drawing for every native environment, videos.
 */
#include "gym_helpers.h"
#include "registry.h"

#include "cli_helpers.h" /* its `err` is everybody's from here on */

/* "episode K: return R" of every episode of the last command. */
static int read_returns(double *returns, int most) {
  int n = 0;
  for (const char *at = out; n < most && (at = strstr(at, ": return ")); n++)
    returns[n] = strtod(at += strlen(": return "), NULL);
  return n;
}

static void check_returns(const char *run_name) {
  double expected[3], found[4];
  char path[PATH_MAX], command[PATH_MAX];
  lgv_error error = {0};
  join(path, directory, run_name);
  if (lgv_evaluate(path, 3, 7, expected, &error) != LGV_OK) fail_msg("%s", error.message);
  snprintf(command, sizeof command, "$L watch %s --episodes 3 --seed 7", run_name);
  expect_shell(command, 0);
  assert_int_equal(read_returns(found, 4), 3);
  assert_memory_equal(found, expected, sizeof expected);
}

static void returns_are_those_of_eval(void **state) {
  (void)state;
  expect_shell("$L run --env cartpole --agent dqn --steps 300 --out deep", 0);
  expect_shell("$L run --env riverswim --agent rlsvi --episodes 20 --out linear", 0);
  check_returns("deep");
  check_returns("linear");
  check_returns("linear/checkpoint.safetensors");
  assert_says(out, "step 40  action ");
}

static void actions_show_all_their_choices(void **state) {
  (void)state;
  expect_shell("$L run --env switches --set env.lamps=3 --agent dqn --steps 100 --out lamps", 0);
  expect_shell("$L watch lamps --seed 7", 0);
  char path[PATH_MAX], line[64];
  lgv_trained *trained;
  lgv_obs obs;
  lgv_action action;
  lgv_outcome outcome = {0};
  lgv_error error = {0};
  bool differ = false;
  join(path, directory, "lamps");
  assert_int_equal(lgv_trained_open(path, 7, false, &trained, &error), LGV_OK);
  lgv_env *env = lgv_trained_env(trained);
  assert_int_equal(lgv_env_reset(env, &obs, &error), LGV_OK);
  for (int step = 1; !outcome.terminated && !outcome.truncated; step++) {
    lgv_agent *agent = lgv_trained_agent(trained);
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_EVAL, &action, &error), LGV_OK);
    assert_int_equal(lgv_env_step(env, &action, &outcome, &obs, &error), LGV_OK);
    const int32_t *of = action.choices;
    snprintf(line, sizeof line, "step %d  action %d,%d,%d  reward", step, of[0], of[1], of[2]);
    assert_says(out, line);
    differ |= of[0] != of[1] || of[0] != of[2];
  }
  assert_true(differ);
  lgv_trained_free(trained);
}

/* A drawing has what is drawn in it, and moves. */
static void native_environments_draw_themselves(void **state) {
  (void)state;
  for (size_t i = 0; lgv__envs[i] && !lgv__envs[i]->connect; i++) {
    if (!lgv__envs[i]->render) continue;
    lgv_settings *settings = make_settings(lgv__envs[i]->name, NULL, NULL);
    char first[LGV_RENDER_SIZE], text[LGV_RENDER_SIZE];
    lgv_env *env;
    lgv_obs obs;
    lgv_outcome outcome = {0};
    lgv_error error = {0};
    bool moved = false;
    assert_int_equal(lgv_env_create(settings, 1, &env, &error), LGV_OK);
    assert_int_equal(lgv_env_reset(env, &obs, &error), LGV_OK);
    assert_true(lgv_env_render(env, first));
    while (!outcome.terminated && !outcome.truncated) {
      const lgv_action *last = last_action(&lgv_env_get_spec(env)->actions);
      assert_int_equal(lgv_env_step(env, last, &outcome, &obs, &error), LGV_OK);
      assert_true(lgv_env_render(env, text));
      assert_true(strlen(text) > 0 && text[strlen(text) - 1] == '\n');
      moved |= strcmp(text, first) != 0;
    }
    if (!moved) fail_msg("%s does not move:\n%s", lgv__envs[i]->name, text);
    lgv_env_free(env);
    lgv_settings_free(settings);
  }
}

static void chains_and_grids_show_the_state(void **state) {
  (void)state;
  char text[LGV_RENDER_SIZE];
  lgv_settings *settings = make_settings("nchain", NULL, "env.n=6");
  lgv_env *env;
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error error = {0};
  assert_int_equal(lgv_env_create(settings, 1, &env, &error), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &error), LGV_OK);
  assert_true(lgv_env_render(env, text));
  assert_string_equal(text, "-O----\n"); /* it starts at the second state */
  lgv_env_free(env);
  lgv_settings_free(settings);
  settings = make_settings("deepsea", NULL, "env.n=3 env.randomize=false");
  assert_int_equal(lgv_env_create(settings, 1, &env, &error), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &error), LGV_OK);
  assert_int_equal(lgv_env_step(env, choice(1), &outcome, &obs, &error), LGV_OK);
  assert_true(lgv_env_render(env, text));
  assert_string_equal(text, ". . .\n. O .\n. . .\n");
  lgv_env_free(env);
  lgv_settings_free(settings);
}

static void mistakes_are_explained(void **state) {
  (void)state;
  expect_shell("$L run --env nchain --agent lsvi-ucb --episodes 3 --out chain", 0);
  expect_shell("$L watch", 2);
  expect_shell("$L watch nothing", 1);
  assert_says(err, "there is no checkpoint or run directory nothing");
  expect_shell("$L watch chain --delay -1", 2);
  expect_shell("$L watch chain --video chain.mp4", 2);
  assert_says(err, "no pictures");
}

static void videos_are_made_by_ffmpeg(void **state) {
  (void)state;
  if (!gym_is_there()) skip();
  expect_shell(
      "$L run --env gym:CartPole-v1 --agent dqn --steps 60 --set run.eval_every=0 --out gym", 0);
  check_returns("gym"); /* before anything is drawn */
  double alone[3], drawn[3];
  assert_int_equal(read_returns(alone, 3), 3);
  expect_shell("PATH=/nowhere $L watch gym --video gym.mp4", 1);
  assert_says(err, "apt-get install ffmpeg");
  expect_shell("$LANGEVIN_PYTHON -c 'import imageio_ffmpeg as f; print(f.get_ffmpeg_exe())' && "
               "mkdir bin && ln -s $(cat stdout.txt) bin/ffmpeg",
               0);
  expect_shell("PATH=$PWD/bin:$PATH $L watch gym --video gym.mp4 --episodes 3 --seed 7", 0);
  assert_int_equal(read_returns(drawn, 3), 3);
  assert_memory_equal(alone, drawn, sizeof alone); /* drawing changes nothing */
  expect_shell("PATH=$PWD/bin:$PATH $L watch gym --video \"$(printf 'red\\033[31m.gif')\"", 0);
  assert_null(strchr(out, '\033'));
  assert_says(out, "wrote red\\x1b[31m.gif");
  double frames = alone[0] + alone[1] + alone[2] + 3;
  expect_shell("bin/ffmpeg -loglevel error -i gym.mp4 -f rawvideo -pix_fmt gray - | wc -c", 0);
  assert_true(strtod(out, NULL) == frames * 600 * 400);
  expect_shell("PATH=$PWD/bin:$PATH $L watch gym --video nowhere/gym.mp4", 1);
  assert_says(err, "ffmpeg stopped before the end of nowhere/gym.mp4");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(returns_are_those_of_eval),
      cmocka_unit_test(actions_show_all_their_choices),
      cmocka_unit_test(native_environments_draw_themselves),
      cmocka_unit_test(chains_and_grids_show_the_state),
      cmocka_unit_test(mistakes_are_explained),
      cmocka_unit_test(videos_are_made_by_ffmpeg),
  };
  return cmocka_run_group_tests(tests, make_place, remove_place);
}
