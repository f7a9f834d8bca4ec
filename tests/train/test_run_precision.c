/* Runs in bf16: the same files with every kernel set, and a run that began with one may be resumed
 * with another. */
#include "math/kernels.h"
#include "run_helpers.h"
#include "temp_root.h"

enum { STEPS = 160 };

static const char *const files[] = {"config.json", "metrics.csv", "summary.json",
                                    "checkpoint.safetensors"};

static lgv_plan *plan_of(const char *precision) {
  char extra[400];
  snprintf(extra, sizeof extra,
           "agent.precision=%s agent.hidden=40,33 agent.batch=6 agent.warmup=20 agent.replay=200 "
           "agent.update_every=4 agent.updates=1 run.steps=%d run.eval_every=60 "
           "run.eval_episodes=1 run.eval_steps=30",
           precision, STEPS);
  return make_plan("cartpole", "adam-lmcdqn", extra);
}

/* Advances by `steps` and closes the records. */
static void advance(lgv_run *run, int64_t steps) {
  lgv_error err = {0};
  bool done;
  if (lgv_run_advance(run, steps, &done, &err) != LGV_OK) fail_msg("%s", err.message);
  if (lgv_run_finish(run, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_run_free(run);
}

static void begin(const lgv_plan *plan, const char *directory, int64_t steps) {
  lgv_run *run;
  lgv_error err = {0};
  if (lgv_run_create(plan, 1, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  advance(run, steps);
}

static lgv_status resume(const lgv_plan *plan, const char *directory, lgv_error *err) {
  lgv_run *run;
  lgv_status status = lgv_run_resume(plan, 1, directory, &run, err);
  if (status == LGV_OK) advance(run, STEPS);
  return status;
}

static void kernel_sets_write_the_same_files(void **state) {
  (void)state;
  static const char *const precisions[] = {"bf16", "bf16x3"};
  for (int p = 0; p < 2; p++) {
    lgv_plan *plan = plan_of(precisions[p]);
    const lgv_kernel_set *set;
    char first[PATH_MAX], other[PATH_MAX], name[64];
    for (size_t k = 0; (set = lgv__kernels_at(k)); k++) {
      lgv__kernels_use(set);
      snprintf(name, sizeof name, "%s-%s", precisions[p], set->name);
      join(k == 0 ? first : other, root, name);
      begin(plan, k == 0 ? first : other, STEPS);
      for (size_t f = 0; k > 0 && f < sizeof files / sizeof *files; f++)
        assert_same_file(first, other, files[f]);
    }
    lgv__kernels_use(NULL);
    lgv_plan_free(plan);
  }
}

/* From the first set to the last one. */
static lgv_status cross_over(const char *precision, const char *name, char path[PATH_MAX],
                             lgv_error *err) {
  const lgv_kernel_set *last = lgv__kernels_at(0), *set;
  lgv_plan *plan = plan_of(precision);
  join(path, root, name);
  lgv__kernels_use(last);
  begin(plan, path, STEPS / 2);
  for (size_t k = 1; (set = lgv__kernels_at(k)); k++) last = set;
  lgv__kernels_use(last);
  lgv_status status = resume(plan, path, err);
  lgv__kernels_use(NULL);
  lgv_plan_free(plan);
  return status;
}

static void runs_in_bf16_resume_with_any_set(void **state) {
  (void)state;
  lgv_error err = {0};
  char whole[PATH_MAX], parts[PATH_MAX];
  lgv_plan *plan = plan_of("bf16");
  join(whole, root, "whole");
  begin(plan, whole, STEPS);
  lgv_plan_free(plan);
  if (cross_over("bf16", "parts", parts, &err) != LGV_OK) fail_msg("%s", err.message);
  for (size_t f = 0; f < sizeof files / sizeof *files; f++)
    assert_same_file(whole, parts, files[f]);
}

static void runs_in_float_do_not(void **state) {
  (void)state;
  lgv_error err = {0};
  char path[PATH_MAX];
  assert_int_not_equal(cross_over("float", "float", path, &err), LGV_OK);
  assert_non_null(strstr(err.message, "langevin.kernels is"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_sets_write_the_same_files),
      cmocka_unit_test(runs_in_bf16_resume_with_any_set),
      cmocka_unit_test(runs_in_float_do_not),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
