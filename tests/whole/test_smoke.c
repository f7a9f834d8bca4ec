/* Every agent runs on every environment it is made for, and says so clearly where it is not. */
#include "registry.h"

#include "run_helpers.h"

static void every_agent_runs_on_every_compatible_environment(void **state) {
  (void)state;
  for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++)
    for (size_t a = 0; lgv__agents[a]; a++) {
      lgv_settings *settings =
          make_settings(lgv__envs[e]->name, lgv__agents[a]->name, quick_for(lgv__agents[a]));
      lgv_error err = {0};
      assert_int_equal(lgv_settings_set(settings, "run.steps", "300", "test", &err), LGV_OK);
      lgv_plan *plan;
      lgv_status status = lgv_plan_create(settings, &plan, &err);
      if (status == LGV_OK) {
        lgv_summary summary = run_plan(plan, 1);
        assert_true(summary.finished);
        assert_true(summary.steps == 300);
        lgv_plan_free(plan);
      } else {
        assert_int_equal(status, LGV_ERR_USAGE);
        assert_true(strstr(err.message, "needs an environment") ||
                    strstr(err.message, "at once (multi-discrete)") ||
                    strstr(err.message, "continuous (a box of ") ||
                    strstr(err.message,
                           "takes continuous actions, but those of this environment are discrete"));
      }
      lgv_settings_free(settings);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_agent_runs_on_every_compatible_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
