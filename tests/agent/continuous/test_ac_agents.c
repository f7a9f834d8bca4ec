/* What the agents for continuous actions share: actions, counts of updates, targets, limits. */
#include "base/param.h"
#include "math/kernels.h"
#include "registry.h"
#include "run_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 3, BATCH = 256 };

static lgv_env_spec make_spec(float low, float high) {
  lgv_env_spec spec = {.size = sizeof spec, .obs_shape = {LENGTH, 1, 1}};
  spec.actions = lgv_box(2, (float[]){low, -1}, (float[]){high, 3});
  return spec;
}

static lgv_agent *make_agent(const char *name, const lgv_env_spec *spec, const char *extra) {
  lgv_settings *settings = make_settings(NULL, name, extra);
  lgv_agent *agent = NULL;
  lgv_error err = {0};
  if (lgv_agent_create(settings, spec, 0, 0, 1, &agent, &err) != LGV_OK)
    fail_msg("%s: %s", name, err.message);
  lgv_settings_free(settings);
  return agent;
}

/* Random transitions; the reward is the first number of the action. */
static void feed(lgv_agent *agent, const lgv_env_spec *spec, int steps, double terminates) {
  static lgv_rng rng;
  static int64_t stage;
  if (stage == 0) lgv_rng_seed(&rng, 1, "test");
  for (int i = 0; i < steps; i++, stage++) {
    float obs[LENGTH], next[LENGTH];
    lgv_error err = {0};
    for (int k = 0; k < LENGTH; k++)
      obs[k] = (float)lgv_rng_normal(&rng), next[k] = (float)lgv_rng_normal(&rng);
    const lgv_action *action = draw_action(&spec->actions, &rng);
    lgv_transition t = {.obs = {.data = obs, .state = -1},
                        .next = {.data = next, .state = -1, .stage = 1},
                        .action = action,
                        .reward = (double)action->values[0],
                        .terminated = lgv_rng_uniform(&rng) < terminates};
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
  }
}

static int64_t updates_of(const lgv_agent *agent) {
  return ((const int64_t *)agent_array(agent, "counters", NULL))[1];
}

#define FOR_EVERY_AGENT(name)                                                                      \
  for (size_t a_ = 0; lgv__agents[a_]; a_++)                                                       \
    for (const char *name = takes_box(lgv__agents[a_]) ? lgv__agents[a_]->name : NULL; name;       \
         name = NULL)

#define TINY "agent.hidden=8 agent.batch=4 agent.replay=200 agent.warmup=10 "

static void actions_stay_within_their_bounds(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(-7, -5);
  FOR_EVERY_AGENT(name) {
    lgv_agent *agent = make_agent(name, &spec, TINY);
    float least = INFINITY, most = -INFINITY;
    for (int i = 0; i < 400; i++) {
      float obs[LENGTH] = {(float)i, (float)-i, 100};
      lgv_obs seen = {.data = obs, .state = -1};
      lgv_action action;
      lgv_error err = {0};
      if (i == 200) feed(agent, &spec, 30, 0.1); /* uniform before */
      assert_int_equal(lgv_agent_act(agent, &seen, i % 3 ? LGV_TRAIN : LGV_EVAL, &action, &err),
                       LGV_OK);
      assert_true(action.values[0] >= -7 && action.values[0] <= -5);
      assert_true(action.values[1] >= -1 && action.values[1] <= 3);
      if (i >= 200 || i % 3 == 0) continue;
      least = fminf(least, action.values[0]);
      most = fmaxf(most, action.values[0]);
    }
    assert_true(least < -6.9f && most > -5.1f);
    lgv_agent_free(agent);
  }
}

static void updates_come_as_often_as_asked(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(-1, 1);
  FOR_EVERY_AGENT(name) {
    lgv_agent *agent = make_agent(name, &spec, TINY "agent.update_every=3 agent.updates=2");
    feed(agent, &spec, 10, 0);
    assert_int_equal(updates_of(agent), 0);
    feed(agent, &spec, 30, 0);
    assert_int_equal(updates_of(agent), 20);
    lgv_agent_free(agent);
    agent = make_agent(name, &spec, TINY "agent.update_every=0 agent.updates=5");
    lgv_error err = {0};
    feed(agent, &spec, 40, 0);
    assert_int_equal(updates_of(agent), 0);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
    assert_int_equal(updates_of(agent), 5);
    lgv_agent_free(agent);
  }
}

/* With tau = 1 targets are the parameters; with the policy never updated, they stay the first. */
static void targets_follow_by_tau(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(-1, 1);
  FOR_EVERY_AGENT(name) {
    size_t count = 0;
    lgv_agent *agent = make_agent(name, &spec, TINY "agent.tau=1 agent.policy_every=1");
    feed(agent, &spec, 30, 0.1);
    const float *w = agent_array(agent, "critic", &count),
                *target = agent_array(agent, "critic_target", NULL);
    for (size_t i = 0; i < count; i++) assert_true(fabsf(w[i] - target[i]) <= 1e-7f);
    lgv_agent_free(agent);
    agent = make_agent(name, &spec, TINY "agent.policy_every=1000");
    w = agent_array(agent, "actor", &count);
    float *first = malloc(count * sizeof *first);
    memcpy(first, w, count * sizeof *first);
    feed(agent, &spec, 30, 0.1);
    assert_memory_equal(w, first, count * sizeof *w);
    assert_true(updates_of(agent) == 20);
    free(first);
    lgv_agent_free(agent);
  }
}

/* A terminal step bootstraps nothing, so values tend to the rewards: the first number of an
 * action, in [0, 10]. */
static void the_end_of_a_task_has_no_value_beyond(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(0, 10);
  static const char *const agents[] = {"sac", "td3"};
  for (int a = 0; a < 2; a++) {
    lgv_agent *agent = make_agent(agents[a], &spec,
                                  "agent.hidden=32 agent.batch=32 agent.replay=2000 "
                                  "agent.warmup=100 optim.lr=3e-3");
    feed(agent, &spec, 1500, 1);
    const float *reward = agent_array(agent, "batch.reward", NULL),
                *discount = agent_array(agent, "batch.discount", NULL),
                *y = agent_array(agent, "y", NULL);
    double q_mean = ((const double *)agent_array(agent, "stats", NULL))[2], sum = 0;
    for (int i = 0; i < 32; i++) {
      assert_true(discount[i] == 0 && y[i] == reward[i]);
      sum += (double)reward[i];
    }
    assert_true(fabs(q_mean - sum / 32) < 1.5);
    lgv_agent_free(agent);
  }
}

/* The targets of the first update, of agents that have the same parameters, minibatch and noise. */
static void first_targets(const char *name, const char *extra, float y[BATCH],
                          float discount[BATCH]) {
  lgv_env_spec spec = make_spec(-1, 1);
  char settings[400];
  snprintf(settings, sizeof settings,
           "agent.hidden=8 agent.batch=%d agent.replay=400 agent.warmup=300 "
           "agent.policy_every=1000 agent.gamma=0.5 %s",
           BATCH, extra);
  lgv_agent *agent = make_agent(name, &spec, settings);
  lgv_rng rng;
  lgv_rng_seed(&rng, 7, "targets");
  while (updates_of(agent) == 0) {
    float obs[2][LENGTH];
    lgv_error err = {0};
    for (int k = 0; k < 2 * LENGTH; k++) obs[k / LENGTH][k % LENGTH] = (float)lgv_rng_normal(&rng);
    lgv_transition t = {.obs = {.data = obs[0], .state = -1},
                        .next = {.data = obs[1], .state = -1, .stage = 1},
                        .action = draw_action(&spec.actions, &rng)};
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
  }
  memcpy(y, agent_array(agent, "y", NULL), BATCH * sizeof *y);
  memcpy(discount, agent_array(agent, "batch.discount", NULL), BATCH * sizeof *discount);
  lgv_agent_free(agent);
}

/* y = gamma (q - alpha log pi), rewards are 0: linear in alpha, with the sampled entropy as slope.
 * A new policy over two numbers is nearly N(0, 1), squashed: its entropy is below that of the
 * uniform density on [-1, 1]^2, log 4, and above half of it. */
static void targets_hold_the_entropy_of_the_policy(void **state) {
  (void)state;
  static const char *const agents[] = {"sac", "dsac", "lsac"};
  for (int a = 0; a < 3; a++) {
    float one[BATCH], two[BATCH], three[BATCH], discount[BATCH];
    double entropy = 0;
    first_targets(agents[a], "agent.alpha=1", one, discount);
    first_targets(agents[a], "agent.alpha=2", two, discount);
    first_targets(agents[a], "agent.alpha=3", three, discount);
    for (int i = 0; i < BATCH; i++) {
      assert_true(discount[i] == 0.5f);
      assert_true(fabsf(three[i] - two[i] - (two[i] - one[i])) < 1e-5f);
      entropy += (double)((three[i] - one[i]) / 2 / discount[i]) / BATCH;
    }
    if (!(entropy > 0.5 * log(4) && entropy < log(4))) fail_msg("%s: %g", agents[a], entropy);
  }
}

/* Noise is cut to a bound, whatever its deviation. */
static void smoothing_noise_is_bounded(void **state) {
  (void)state;
  float calm[BATCH], wild[BATCH], loud[BATCH], discount[BATCH];
  first_targets("td3", "agent.target_noise=0", calm, discount);
  first_targets("td3", "agent.target_noise=10 agent.target_noise_clip=1e-6", wild, discount);
  first_targets("td3", "agent.target_noise=10 agent.target_noise_clip=0.5", loud, discount);
  float most = 0;
  for (int i = 0; i < BATCH; i++) {
    assert_true(fabsf(wild[i] - calm[i]) < 1e-5f);
    most = fmaxf(most, fabsf(loud[i] - calm[i]));
  }
  assert_true(most > 1e-3f);
}

static void expect_refusal(const char *agent, const lgv_env_spec *spec, const char *extra,
                           const char *part) {
  lgv_settings *settings = make_settings(NULL, agent, extra);
  lgv_agent *made;
  lgv_error err = {0};
  assert_int_equal(lgv_agent_create(settings, spec, 0, 0, 1, &made, &err), LGV_ERR_USAGE);
  if (!strstr(err.message, part)) fail_msg("'%s' lacks '%s'", err.message, part);
  lgv_settings_free(settings);
}

static void wrong_usage_is_named(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(-1, 1), endless = make_spec(-INFINITY, 1), discrete = spec;
  discrete.actions = lgv_discrete(3);
  FOR_EVERY_AGENT(name) {
    expect_refusal(name, &endless, "", "need finite bounds");
    expect_refusal(name, &discrete, "",
                   "takes continuous actions, but those of this environment are discrete");
    expect_refusal(name, &spec, "agent.tau=0", "agent.tau");
    expect_refusal(name, &spec, "agent.dueling=true", "dueling");
    expect_refusal(name, &spec, "agent.warmup=500 agent.replay=100", "never fit");
  }
  expect_refusal("dqn", &spec, "", "take one of sac, td3, dsac, lsac");
  expect_refusal("lsac", &spec, "agent.variant=fixed", "repaired");
}

static void steps_outside_the_problem_are_refused(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(-1, 1);
  const float outside[] = {-1.5f, 2, NAN, INFINITY};
  FOR_EVERY_AGENT(name) {
    lgv_agent *agent = make_agent(name, &spec, TINY);
    lgv_error err = {0};
    float obs[LENGTH] = {0}, broken[LENGTH] = {0, NAN};
    lgv_action action = {.values = {0}};
    lgv_transition t = {.obs = {.data = obs, .state = -1},
                        .next = {.data = obs, .state = -1, .stage = 1},
                        .action = &action};
    for (int i = 0; i < 4; i++) {
      action.values[0] = outside[i];
      assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_ERR_USAGE);
      assert_non_null(strstr(err.message, "is outside [-1, 1]"));
    }
    action.values[0] = 0;
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
    t.next.data = broken;
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_ERR_NUMERIC);
    t.next.data = NULL;
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_ERR_USAGE);
    t.obs.data = broken;
    assert_int_equal(lgv_agent_act(agent, &t.obs, LGV_TRAIN, &action, &err), LGV_ERR_NUMERIC);
    assert_int_equal(lgv_agent_q_values(agent, &t.obs, 1, NULL, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "no values of actions"));
    lgv_agent_free(agent);
  }
}

static void resolved_values_are_shown(void **state) {
  (void)state;
  lgv_env_spec spec = make_spec(-1, 1);
  static const char *const cases[][4] = {
      {"sac", "optim.lr=0.02", "agent.actor_lr", "0.02"},
      {"sac", "", "agent.alpha_lr", "0.0003"},
      {"sac", "", "agent.target_entropy", "-2"},
      {"sac", "agent.target_entropy=0", "agent.target_entropy", "0"},
      {"td3", "agent.actor_lr=0.5", "agent.actor_lr", "0.5"},
      {"dsac", "", "agent.alpha_lr", "0.0003"},
      {"lsac", "", "agent.noise", "0.001"},
      {"lsac", "agent.variant=code", "agent.noise", "1e-08"},
      {"lsac", "agent.variant=paper", "agent.prior_scale", "0"},
      {"lsac", "agent.variant=paper agent.noise=0.5", "agent.noise", "0.5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[LGV_TEXT_SIZE];
    lgv_error err = {0};
    lgv_agent *agent = make_agent(cases[i][0], &spec, cases[i][1]);
    assert_int_equal(lgv_agent_get(agent, cases[i][2], text, sizeof text, &err), LGV_OK);
    if (strtod(text, NULL) != strtod(cases[i][3], NULL))
      fail_msg("%s of %s is %s", cases[i][2], cases[i][0], text);
    lgv_agent_free(agent);
  }
}

/* Every precision and path of a network, twice with the same end. */
static void every_network_learns_the_same_twice(void **state) {
  (void)state;
  static const char *const paths[] = {
      "agent.layer_norm=true agent.normalize_obs=true agent.scale_rewards=true",
      "agent.precision=bf16 agent.hidden=33,20",
      "agent.precision=bf16x3 agent.hidden=20,33 agent.layer_norm=true",
      "agent.n_step=3 agent.grad_clip=0.1 optim.compensated=true", "optim.name=sgd optim.lr=1e-3"};
  FOR_EVERY_AGENT(name) {
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
      char extra[300];
      snprintf(extra, sizeof extra, TINY "run.steps=120 run.eval_every=60 run.envs=2 %s", paths[i]);
      lgv_plan *plan = make_plan("pendulum", name, extra);
      lgv_summary one = run_plan(plan, 3), two = run_plan(plan, 3);
      assert_true(one.finished && isfinite(one.final_return));
      assert_true(one.final_return == two.final_return);
      lgv_plan_free(plan);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(actions_stay_within_their_bounds),
      cmocka_unit_test(updates_come_as_often_as_asked),
      cmocka_unit_test(targets_follow_by_tau),
      cmocka_unit_test(the_end_of_a_task_has_no_value_beyond),
      cmocka_unit_test(targets_hold_the_entropy_of_the_policy),
      cmocka_unit_test(smoothing_noise_is_bounded),
      cmocka_unit_test(wrong_usage_is_named),
      cmocka_unit_test(steps_outside_the_problem_are_refused),
      cmocka_unit_test(resolved_values_are_shown),
      cmocka_unit_test(every_network_learns_the_same_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
