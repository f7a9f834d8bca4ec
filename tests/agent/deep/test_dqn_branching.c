/* Actions with several parts, and masks, in the verbs of deep Q-learning: against hand-made tables
 * and finite differences. A network without hidden layers over one-hot observations is a table. */
#include "deep_helpers.h"

#include "agent/deep/epsilon_greedy.h"

#include <math.h>

enum { STATES = 3, PARTS = 2, ACTIONS = 5 }; /* part 0 has two choices, part 1 three */
static const int32_t choices[PARTS] = {2, 3};

static lgv_env_spec branching_spec(bool masked) {
  lgv_env_spec env = deep_spec(STATES, ACTIONS);
  env.actions = lgv_multi_discrete(PARTS, choices);
  env.masked = masked;
  return env;
}

static void no_hidden_layers(void *params) { ((dqn_params *)params)->hidden.count = 0; }

static dqn *open_table(deep_rig *rig, const char *agent, lgv_env_spec env, const char *extra) {
  deep_open(rig, agent, env, extra, no_hidden_layers);
  dqn *c = rig->self;
  memset(c->w, 0, (size_t)c->dim * sizeof *c->w);
  memset(c->w_target, 0, (size_t)c->dim * sizeof *c->w);
  return c;
}

static const float online_q[STATES * ACTIONS] = {0, 0, 0,      0, 0, /**/ 1, 2, 3,
                                                 7, 5, /**/ 4, 1, 9, 8,      2};
static const float target_q[STATES * ACTIONS] = {0,       0,  0,  0,  0,
                                                 /**/ 40, 30, 10, 20, 60, /**/ 6, 7, 1, 2, 3};

static void observe(deep_rig *rig, lgv_action action, const uint8_t *next_mask, double reward) {
  float a[DEEP_MOST_LENGTH], b[DEEP_MOST_LENGTH];
  lgv_error err = {0};
  lgv_transition t = {.obs = deep_obs(rig, 2, 0, a),
                      .next = deep_obs(rig, 1, 1, b),
                      .action = &action,
                      .reward = reward,
                      .truncated = true};
  t.next.mask = next_mask;
  assert_int_equal(rig->type->observe(rig->self, &t, &err), LGV_OK);
}

#define QUIET "agent.warmup=1000 agent.batch=4 agent.gamma=0.5 "

/* The mean over parts of the greatest allowed value, by the target network or by the online one's
 * choice. */
static void targets_are_means_over_parts(void **state) {
  (void)state;
  static const uint8_t all[ACTIONS] = {1, 1, 1, 1, 1}, some[ACTIONS] = {0, 1, 1, 1, 0},
                       others[ACTIONS] = {1, 0, 1, 0, 1};
  static const struct {
    const char *extra;
    const uint8_t *mask;
    float beyond;
  } rows[] = {
      {QUIET, NULL, (40 + 60) / 2.0f},
      {QUIET, all, (40 + 60) / 2.0f},
      {QUIET, some, (30 + 20) / 2.0f},
      {QUIET "agent.double=true", all, (30 + 20) / 2.0f},
      {QUIET "agent.double=true", others, (40 + 60) / 2.0f},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    deep_rig rig;
    dqn *c = open_table(&rig, "dqn", branching_spec(rows[i].mask != NULL), rows[i].extra);
    memcpy(c->w, online_q, sizeof online_q);
    memcpy(c->w_target, target_q, sizeof target_q);
    observe(&rig, (lgv_action){.choices = {1, 2}}, rows[i].mask, 1);
    lgv__dqn_sample(c);
    lgv__dqn_forward(c, c->w, c->w_target);
    lgv__dqn_targets(c);
    assert_float_equal(c->y[0], 1 + 0.5f * rows[i].beyond, 0);
    deep_close(&rig);
  }
}

/* One error per part, 1 - y and 2 - y; their mean is the loss, the slope 2 e / (batch parts). */
static void the_loss_is_a_mean_over_parts(void **state) {
  (void)state;
  deep_rig rig;
  dqn *c = open_table(&rig, "dqn", branching_spec(false), QUIET);
  memcpy(c->w, online_q, sizeof online_q);
  observe(&rig, (lgv_action){.choices = {1, 2}}, NULL, 0); /* Q(s_2, .) = 1 and 2 */
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_targets(c);
  for (int i = 0; i < 4; i++) c->y[i] = 4;
  lgv__dqn_loss(c);
  assert_float_equal(c->loss, (9 + 4) / 2.0, 1e-6);
  const float slopes[ACTIONS] = {0, -6 / 8.0f, 0, 0, -4 / 8.0f};
  for (int a = 0; a < ACTIONS; a++) assert_float_equal(c->d_q[a], slopes[a], 1e-6);
  assert_float_equal(c->error[0], (3 + 2) / 2.0f, 1e-6);
  deep_close(&rig);
}

static double loss_of(dqn *c) {
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_loss(c);
  return c->loss;
}

static void gradients_equal_finite_differences(void **state) {
  (void)state;
  deep_rig rig;
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "walk");
  deep_open(&rig, "dqn", branching_spec(false), QUIET "agent.hidden=6,5", NULL);
  dqn *c = rig.self;
  for (int i = 0; i < 12; i++)
    observe(&rig, *draw_action(&rig.problem.env.actions, &rng), NULL, lgv_rng_normal(&rng));
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_targets(c);
  lgv__dqn_loss(c);
  lgv__dqn_backward(c, c->w, c->grad);
  for (int64_t i = 0; i < c->dim; i++) {
    float kept = c->w[i], step = 1e-2f;
    c->w[i] = kept + step;
    double above = loss_of(c);
    c->w[i] = kept - step;
    double below = loss_of(c);
    c->w[i] = kept;
    double slope = (above - below) / (2 * (double)step);
    if (fabs(slope - (double)c->grad[i]) > 2e-3 * (1 + fabs(slope)))
      fail_msg("parameter %d: %g, by differences %g", (int)i, (double)c->grad[i], slope);
  }
  deep_close(&rig);
}

/* Greedy choices are the greatest of each part that the mask allows. */
static void acting_is_greedy_in_every_part(void **state) {
  (void)state;
  static const char *const agents[] = {"dqn",     "double-dqn",   "prioritized-dqn", "adam-lmcdqn",
                                       "lmc-dqn", "langevin-dqn", "noisynet-dqn",    "fg-lmcdqn"};
  static const uint8_t mask[ACTIONS] = {1, 0, 1, 0, 1};
  float data[DEEP_MOST_LENGTH];
  for (size_t i = 0; i < sizeof agents / sizeof *agents; i++) {
    deep_rig rig;
    lgv_error err = {0};
    lgv_action action;
    dqn *c = open_table(&rig, agents[i], branching_spec(true), QUIET);
    memcpy(c->w, online_q, sizeof online_q);
    lgv_obs obs = deep_obs(&rig, 1, 0, data); /* Q: 1 2 | 3 7 5 */
    assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
    assert_int_equal(action.choices[0], 1);
    assert_int_equal(action.choices[1], 1);
    obs.mask = mask;
    assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
    assert_int_equal(action.choices[0], 0);
    assert_int_equal(action.choices[1], 2);
    deep_close(&rig);
  }
}

/* With epsilon = 1/2 each part is greedy in about half of the draws and uniform in the others, for
 * itself: of 40,000 draws, within five standard deviations. */
static void each_part_explores_for_itself(void **state) {
  (void)state;
  enum { DRAWS = 40000 };
  deep_rig rig;
  float data[DEEP_MOST_LENGTH];
  dqn *c = open_table(&rig, "dqn", branching_spec(false), QUIET);
  memcpy(c->w, online_q, sizeof online_q);
  lgv_obs obs = deep_obs(&rig, 1, 0, data);
  const float *q = lgv__dqn_values(c, c->w, &obs);
  int first = 0, second = 0, both = 0;
  for (int i = 0; i < DRAWS; i++) {
    lgv_action action;
    epsilon_greedy_action(&(epsilon_params){.eval = 0.5}, c, q, &obs, LGV_EVAL, &action);
    first += action.choices[0] == 1;
    second += action.choices[1] == 1;
    both += action.choices[0] == 1 && action.choices[1] == 1;
  }
  double p[3] = {0.75, 2.0 / 3, 0.75 * 2 / 3};
  int seen[3] = {first, second, both};
  for (int i = 0; i < 3; i++)
    assert_true(fabs(seen[i] - DRAWS * p[i]) < 5 * sqrt(DRAWS * p[i] * (1 - p[i])));
  deep_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(targets_are_means_over_parts),
      cmocka_unit_test(the_loss_is_a_mean_over_parts),
      cmocka_unit_test(gradients_equal_finite_differences),
      cmocka_unit_test(acting_is_greedy_in_every_part),
      cmocka_unit_test(each_part_explores_for_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
