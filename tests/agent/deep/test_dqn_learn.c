/* Deep agents learn what is known by other means. Short runs with fixed seeds. */
#include "deep_helpers.h"

#include <math.h>

/* ---- a chain of five states against value iteration ---- */

enum { STATES = 5, LEFT = 0, RIGHT = 1 };
static const double gamma_ = 0.9;

/* Right of the last state pays 1 and stays; left of the first pays 0.2 and stays. */
static int move(int at, int action, double *reward) {
  *reward = at == STATES - 1 && action == RIGHT ? 1 : at == 0 && action == LEFT ? 0.2 : 0;
  int to = action == RIGHT ? at + 1 : at - 1;
  return to < 0 ? 0 : to >= STATES ? STATES - 1 : to;
}

static void iterate_values(double q[STATES][2]) {
  memset(q, 0, sizeof(double) * STATES * 2);
  for (int sweep = 0; sweep < 500; sweep++)
    for (int s = 0; s < STATES; s++)
      for (int a = 0; a < 2; a++) {
        double reward;
        int to = move(s, a, &reward);
        q[s][a] = reward + gamma_ * fmax(q[to][LEFT], q[to][RIGHT]);
      }
}

static void learn_chain(const char *agent, const char *extra, double tolerance) {
  deep_rig rig;
  lgv_error err = {0};
  double q[STATES][2];
  float data[DEEP_MOST_LENGTH];
  lgv_env_spec env = deep_spec(STATES, 2);
  env.horizon = 0;
  deep_open(&rig, agent, env, extra, NULL);
  dqn *c = rig.self;
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "walk");
  for (int i = 0, at = 0; i < 6000; i++) { /* uniform actions, one endless episode */
    double reward;
    int action = (int)lgv_rng_below(&rng, 2), to = move(at, action, &reward);
    if (deep_observe(&rig, i, at, action, to, reward, false, &err) != LGV_OK)
      fail_msg("%s", err.message);
    at = to;
  }
  iterate_values(q);
  for (int s = 0; s < STATES; s++)
    for (int a = 0; a < 2; a++) {
      lgv_obs obs = deep_obs(&rig, s, 0, data);
      double learned = (double)lgv__dqn_values(c, c->w, &obs)[a];
      if (!(fabs(learned - q[s][a]) < tolerance))
        fail_msg("%s: Q(s_%d, %d) = %f, not %f", agent, s + 1, a, learned, q[s][a]);
    }
  deep_close(&rig);
}

static void values_of_a_chain_agree_with_value_iteration(void **state) {
  (void)state;
#define CHAIN "agent.gamma=0.9 agent.update_every=2 agent.target_every=40 "
  learn_chain("dqn", CHAIN "optim.lr=3e-3", 0.15);
  learn_chain("double-dqn", CHAIN "agent.double=true optim.lr=3e-3", 0.15);
  learn_chain("dqn", CHAIN "agent.n_step=1 agent.loss=huber optim.lr=3e-3", 0.15);
  learn_chain("adam-lmcdqn", CHAIN "optim.lr=3e-3 optim.a=1 optim.beta=1e8", 0.3);
  learn_chain("ulmc-dqn", CHAIN "optim.lr=0.03 optim.friction=10 optim.a=1 optim.beta=1e10", 0.3);
}

/* ---- N-Chain ---- */

/* Every one of five seeds ends at the optimal return, 10; a policy that has not found the far end
 * has at most 0.017. */
static void adam_lmcdqn_solves_the_chain_of_ten(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("nchain", "adam-lmcdqn", "env.n=10 run.steps=30000");
  for (uint64_t seed = 0; seed < 5; seed++) {
    lgv_summary summary = run_plan(plan, seed);
    assert_float_equal(summary.final_return, 10, 1e-9);
  }
  lgv_plan_free(plan);
}

/* A uniform policy finds the treasure of a sea of eight in one of 256 episodes. One-step targets
 * and first-layer rows that dominate learn from it on every seed; the preset does so on most. */
static void adam_lmcdqn_solves_a_small_deep_sea(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("deepsea", "adam-lmcdqn",
                             "env.n=8 run.episodes=4000 run.stop_return=0.9 agent.n_step=1 "
                             "agent.double=false agent.target_every=200 agent.one_hot_gain=3 "
                             "optim.l2=0");
  for (uint64_t seed = 0; seed < 3; seed++)
    assert_false(isnan(run_plan(plan, seed).solved_episode));
  lgv_plan_free(plan);
}

/* ---- CartPole ---- */

/* A uniform policy stays up for 22 steps. */
static void dqn_learns_with_running_scales(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("cartpole", "dqn",
                             "agent.normalize_obs=true agent.scale_rewards=true run.steps=12000 "
                             "run.eval_every=1200");
  for (uint64_t seed = 1; seed <= 3; seed++) assert_true(run_plan(plan, seed).final_return > 100);
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_of_a_chain_agree_with_value_iteration),
      cmocka_unit_test(adam_lmcdqn_solves_the_chain_of_ten),
      cmocka_unit_test(adam_lmcdqn_solves_a_small_deep_sea),
      cmocka_unit_test(dqn_learns_with_running_scales),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
