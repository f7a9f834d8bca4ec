/* An agent that computes portably does so in every hook, with its own optimizer, and gives the
 * caller's kernels back. */
#include "agent/agent.h"
#include "agent/builtin.h"
#include "math/kernels.h"

#include "run_helpers.h"

/* ---- An agent that counts which hooks see which kernels ---- */

static int calls, portable_calls;

static void look(void) {
  calls++;
  portable_calls += lgv__kernels() == lgv__kernels_portable();
}

static lgv_status resolve(void *params, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)params, (void)is_set, (void)problem, (void)err;
  look();
  return LGV_OK;
}

static const lgv_optim_type *given;

static void layout(void *self, const void *params, const lgv_problem *problem, lgv_layout *l) {
  (void)self, (void)params, (void)l;
  given = lgv__full_problem(problem)->optimizer;
  look();
}

static lgv_status plain_hook(void *self, lgv_error *err) {
  (void)self, (void)err;
  look();
  return LGV_OK;
}

static lgv_status act(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)self, (void)obs, (void)mode, (void)err;
  action->choice = 0;
  look();
  return LGV_OK;
}

static lgv_status observe(void *self, const lgv_transition *transition, lgv_error *err) {
  (void)self, (void)transition;
  look();
  return lgv_fail(err, LGV_ERR_NUMERIC, "as a test"); /* also then */
}

static void policy(const void *self, const lgv_obs *obs, double *probabilities) {
  (void)self, (void)obs;
  probabilities[0] = 1;
  look();
}

static lgv_status q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)self, (void)obs, (void)err;
  q[0] = 0;
  look();
  return LGV_OK;
}

static const char *const stat_names[] = {"stat", NULL};

static void stats(const void *self, double *values) {
  (void)self;
  values[0] = 0;
  look();
}

static const lgv_agent_type looking = {.size = sizeof looking,
                                       .name = "looking",
                                       .summary = "of a test",
                                       .traits = LGV_NEEDS_STATES,
                                       .resolve = resolve,
                                       .layout = layout,
                                       .open = plain_hook,
                                       .begin_episode = plain_hook,
                                       .act = act,
                                       .observe = observe,
                                       .end_episode = plain_hook,
                                       .policy = policy,
                                       .q_values = q_values,
                                       .stat_names = stat_names,
                                       .stats = stats};

static void call_all_hooks(const lgv_full_problem *problem) {
  lgv_error err = {0};
  lgv_agent *agent;
  lgv_obs obs = {0};
  lgv_action action = {.choice = 0};
  lgv_transition step = {.action = &action};
  double out[1];
  calls = portable_calls = 0;
  assert_int_equal(lgv__agent_resolve(&looking, NULL, NULL, &problem->given, &err), LGV_OK);
  assert_int_equal(lgv__agent_open(&looking, "", problem, 1, &agent, &err), LGV_OK);
  assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
  assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_OK);
  assert_int_equal(lgv_agent_observe(agent, &step, &err), LGV_ERR_NUMERIC);
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  assert_int_equal(lgv_agent_policy(agent, &obs, out, &err), LGV_OK);
  assert_int_equal(lgv_agent_q_values(agent, &obs, 1, out, &err), LGV_OK);
  lgv_agent_stats(agent, out);
  lgv_agent_free(agent);
  assert_int_equal(calls, 11); /* layout twice */
}

static void hooks_run_with_the_kernels_of_the_agent(void **state) {
  (void)state;
  const lgv_kernel_set *process = lgv__kernels(), *ref = lgv__kernels_at(0);
  lgv_full_problem problem = {
      .given.env = {.size = sizeof(lgv_env_spec), .actions.count = 1, .states = 1, .horizon = 1},
      .optimizer = process->optimizers[1]};
  static const char no_params[1024];
  problem.optim_params = no_params;
  call_all_hooks(&problem);
  assert_int_equal(portable_calls, 0);
  assert_ptr_equal(given, process->optimizers[1]);
  problem.portable = true;
  call_all_hooks(&problem);
  assert_int_equal(portable_calls, calls);
  assert_ptr_equal(given, lgv__kernels_portable()->optimizers[1]);
  assert_ptr_equal(lgv__kernels(), process);
  lgv__kernels_choose(ref); /* a caller with a choice of its own */
  call_all_hooks(&problem);
  assert_int_equal(portable_calls, calls);
  assert_ptr_equal(lgv__kernels_choose(NULL), ref);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hooks_run_with_the_kernels_of_the_agent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
