/* Runs in bf16: the same files with every kernel set, and a run that began with one may be resumed
 * with another; a few updates of what slow_precision shows for thousands. Trained agents play the
 * same episodes with every set. */
#include "env/classic.h"

#include "env_helpers.h"
#include "precision_runs.h"

static void networks_of_dense_layers(void **state) {
  (void)state;
  check_agents(&mlp_64_64, 10);
}

static void networks_of_convolutions(void **state) {
  (void)state;
  check_agents(&conv_10_10, 10);
}

/* From ref, which is not portable, to the widest set. */
static lgv_status cross_over(const char *precision, const char *name, char path[PATH_MAX],
                             lgv_error *err) {
  const lgv_kernel_set *last = lgv__kernels_at(0), *set;
  lgv_plan *plan =
      precision_plan("cartpole", "adam-lmcdqn", "agent.hidden=40,33 agent.batch=6", precision, 100);
  join(path, root, name);
  must_run(plan, path, last, false, WARMUP + 3);
  for (size_t k = 1; (set = lgv__kernels_at(k)); k++) last = set;
  assert_false(last->portable);
  lgv_status status = run_part(plan, path, last, true, WARMUP, err);
  lgv_plan_free(plan);
  return status;
}

static void runs_in_bf16_resume_with_any_set(void **state) {
  (void)state;
  lgv_error err = {0};
  char path[PATH_MAX];
  if (cross_over("bf16", "bf16", path, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_updates(path, 100);
}

static void runs_in_float_do_not(void **state) {
  (void)state;
  lgv_error err = {0};
  char path[PATH_MAX];
  assert_int_not_equal(cross_over("float", "float", path, &err), LGV_OK);
  assert_non_null(strstr(err.message, "langevin.kernels is"));
}

/* The angles and speeds of acrobot after an episode. Its sines and powers differ between the C
 * library and the portable functions. */
static void swing(const char *path, const lgv_kernel_set *set, double x[LGV_CLASSIC_STATE]) {
  lgv_trained *trained;
  lgv_error err = {0};
  lgv_outcome outcome = {0};
  lgv_obs obs;
  lgv__kernels_use(set);
  if (lgv_trained_open(path, 1, false, &trained, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_env *env = lgv_trained_env(trained);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int i = 0; i < 60; i++)
    assert_int_equal(lgv_env_step(env, choice(i / 7 % 3), &outcome, &obs, &err), LGV_OK);
  memcpy(x, env_array(env, "env.x"), LGV_CLASSIC_STATE * sizeof *x);
  lgv_trained_free(trained);
  lgv__kernels_use(NULL);
}

static void trained_agents_have_portable_environments(void **state) {
  (void)state;
  for (int p = 0; p < 2; p++) {
    static const char *const names[] = {"bf16", "float"};
    char path[PATH_MAX];
    double one[LGV_CLASSIC_STATE], other[LGV_CLASSIC_STATE];
    lgv_plan *plan = precision_plan("acrobot", "adam-lmcdqn", "", names[p], 10);
    join(path, root, names[p]);
    must_run(plan, path, lgv__kernels_at(0), false, WARMUP + 1);
    swing(path, lgv__kernels_at(0), one);
    swing(path, lgv__kernels_portable(), other);
    assert_true((memcmp(one, other, sizeof one) == 0) == (p == 0));
    lgv_plan_free(plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(networks_of_dense_layers),
      cmocka_unit_test(networks_of_convolutions),
      cmocka_unit_test_setup_teardown(runs_in_bf16_resume_with_any_set, make_root, remove_root),
      cmocka_unit_test_setup_teardown(runs_in_float_do_not, make_root, remove_root),
      cmocka_unit_test_setup_teardown(trained_agents_have_portable_environments, make_root,
                                      remove_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
