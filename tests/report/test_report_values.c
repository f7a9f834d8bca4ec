/* langevin plot --values, and the backup that its optimal values are made of. */
#include "report/plot/plot.h"
#include "run_helpers.h"
#include "temp_root.h"

/* Five states, 13 steps: from the last one, going right pays 13; from the first, left pays 0.001
 * and leaves 12 steps, 4 of them to get there. */
static void the_backup_of_a_chain_is_known(void **state) {
  (void)state;
  lgv_settings *settings = make_settings("nchain", NULL, "env.n=5");
  lgv_env *env;
  lgv_error err = {0};
  double values[14 * 5];
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  const lgv_model *model = lgv_env_get_model(env);
  lgv_model_optimal(model, values);
  assert_true(lgv_model_q(model, 0, 4, 1, values + 5) == 13);
  assert_true(lgv_model_q(model, 0, 0, 0, values + 5) == 8.001);
  for (int64_t h = 0; h < 13; h++)
    for (int64_t s = 0; s < 5; s++) {
      double left = lgv_model_q(model, h, s, 0, values + (h + 1) * 5);
      double right = lgv_model_q(model, h, s, 1, values + (h + 1) * 5);
      assert_true((left > right ? left : right) == values[h * 5 + s]);
    }
  lgv_env_free(env);
  lgv_settings_free(settings);
}

static void record(const char *name, const char *env, const char *agent, const char *extra) {
  char directory[PATH_MAX];
  lgv_plan *plan = make_plan(env, agent, extra);
  lgv_summary summary;
  lgv_error err = {0};
  join(directory, root, name);
  lgv_batch batch = {
      .size = sizeof(lgv_batch), .plan = plan, .seeds = 1, .threads = 1, .directory = directory};
  if (lgv_batch_run(&batch, &summary, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_plan_free(plan);
}

static void draw(const char *name, const char *out, lgv_status expected, const char *message) {
  char run[PATH_MAX], picture[PATH_MAX];
  lgv_error err = {0};
  join(run, root, name);
  join(picture, root, out);
  assert_int_equal(lgv__plot_values(run, picture, &err), expected);
  if (message && !strstr(err.message, message)) fail_msg("%s", err.message);
  if (expected == LGV_OK) assert_int_equal(access(picture, R_OK), 0);
}

static void finite_environments_are_drawn(void **state) {
  (void)state;
  record("chain", "nchain", "dqn", "env.n=8 run.steps=300");
  record("river", "riverswim", "lmc-lsvi", "run.episodes=5");
  record("sea", "deepsea", "bootstrapped-dqn", "env.n=5 run.steps=300");
  record("pixels", "deepsea", "dqn", "env.n=5 env.features=pixels run.steps=300");
  record("numbers", "deepsea", "dqn", "env.n=5 env.features=coordinates run.steps=300");
  record("linear", "linear-mdp", "lsvi-ucb", "run.episodes=5");
  record("cart", "cartpole", "dqn", "run.steps=100");
  draw("chain", "chain.png", LGV_OK, NULL);
  draw("chain/checkpoint.safetensors", "chain.svg", LGV_OK, NULL);
  draw("river", "river.pdf", LGV_OK, NULL);
  draw("sea", "sea.png", LGV_OK, NULL);
  draw("pixels", "pixels.png", LGV_OK, NULL);
  draw("numbers", "numbers.png", LGV_ERR_USAGE, "one number per state");
  draw("linear", "linear.svg", LGV_OK, NULL);
  draw("cart", "cart.png", LGV_ERR_USAGE, "finitely many states");
  draw("chain", "chain.bmp", LGV_ERR_USAGE, ".svg, .pdf or .png");
  draw("nothing", "chain.png", LGV_ERR_IO, "there is no checkpoint or run directory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_backup_of_a_chain_is_known),
      cmocka_unit_test(finite_environments_are_drawn),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
