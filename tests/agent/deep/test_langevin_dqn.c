/* The Langevin family: when its agents are each other, the feel-good term, the step size over the
 * budget, averaging, and the backward sweep of Algorithm 2. */
#include "deep_helpers.h"

#include <math.h>
#include <stdio.h>

static void without_feel_good_it_is_adam_lmcdqn(void **state) {
  (void)state;
  deep_assert_same_life("fg-lmcdqn", DEEP_LIFE "agent.feel_good=0 optim.beta=1e4", "adam-lmcdqn",
                        DEEP_LIFE "optim.beta=1e4");
  deep_assert_same_life("fg-ulmc-dqn", DEEP_LIFE "agent.feel_good=0 optim.beta=1e4", "ulmc-dqn",
                        DEEP_LIFE "optim.beta=1e4");
}

/* Plain Langevin is Adam SGLD with a = 0. */
static void lmc_dqn_is_adam_lmcdqn_without_its_bias(void **state) {
  (void)state;
  deep_assert_same_life("lmc-dqn", DEEP_LIFE "optim.beta=1e4", "adam-lmcdqn",
                        DEEP_LIFE "optim.beta=1e4 optim.a=0");
}

/* Without noise Langevin DQN is DQN with Adam. */
static void langevin_dqn_without_noise_is_dqn(void **state) {
  (void)state;
  deep_assert_same_life("langevin-dqn", DEEP_LIFE "optim.beta=inf", "dqn",
                        DEEP_LIFE "agent.epsilon_start=0 agent.epsilon_end=0");
}

static double feel_good_loss(dqn *c, double feel_good, const float *w) {
  lgv__dqn_forward_obs(c, w);
  lgv__dqn_loss(c);
  double optimism = 0;
  for (int64_t i = c->p->batch; i < 2 * c->p->batch; i++)
    optimism += (double)c->q[i * 2 + lgv__dqn_best_of_part(c, c->q + i * 2, NULL, 0, 0)];
  return c->loss - feel_good * optimism / (double)c->p->batch;
}

/* By how much of optim.lr times the gradient the last update moved w. */
static double lr_scale_of(const dqn *c, const float *before, double lr) {
  double moved = 0, norm = 0;
  for (int64_t i = 0; i < c->dim; i++) {
    moved += ((double)before[i] - (double)c->w[i]) * (double)c->grad[i];
    norm += (double)c->grad[i] * (double)c->grad[i];
  }
  return moved / (lr * norm);
}

/* The step size of every update of a life of 12 episodes of 4 steps, an update per step. */
static void check_schedule(int64_t steps, int64_t episodes, double final) {
  deep_rig rig;
  lgv_rng rng;
  char extra[256];
  lgv_problem problem = {.env = deep_spec(5, 2), .steps = steps, .episodes = episodes};
  lgv_rng_seed(&rng, 6, "walk");
  snprintf(extra, sizeof extra,
           "agent.final_lr=%g agent.warmup=1 agent.update_every=1 agent.batch=2 optim.lr=0.01 "
           "optim.a=0 optim.beta=inf optim.compensated=true",
           final);
  deep_open_for(&rig, "adam-lmcdqn", problem, extra, NULL);
  dqn *c = rig.self;
  float *before = malloc((size_t)c->dim * sizeof *before);
  for (int t = 0; t < 48; t++) {
    lgv_error err = {0};
    memcpy(before, c->w, (size_t)c->dim * sizeof *before);
    int from = (int)lgv_rng_below(&rng, 5), to = (int)lgv_rng_below(&rng, 5);
    assert_int_equal(deep_observe(&rig, t % 4, from, t & 1, to, 1, t % 4 == 3, &err), LGV_OK);
    double spent = steps ? (t + 1.0) / (double)steps : episodes ? t / 4 / (double)episodes : 0;
    double expected = 1 - (1 - final) * (spent < 1 ? spent : 1);
    if (t > 0 && fabs(lr_scale_of(c, before, 0.01) - expected) > 1e-4)
      fail_msg("step %d: %.6g, not %.6g", t, lr_scale_of(c, before, 0.01), expected);
    if (t % 4 == 3) assert_int_equal(rig.type->end_episode(rig.self, &err), LGV_OK);
  }
  free(before);
  deep_close(&rig);
}

/* It falls linearly over the stated budget, steps before episodes, stays at its final value beyond,
 * and without a budget it does not fall. */
static void the_step_size_falls_with_the_stated_budget_alone(void **state) {
  (void)state;
  check_schedule(40, 0, 0.2);
  check_schedule(0, 10, 0.2);
  check_schedule(40, 3, 0.2);
  check_schedule(0, 0, 0.2);
  check_schedule(40, 0, 1);
}

/* How often actions other than the greedy one are taken, twice, which is epsilon with two actions.
 */
static double share_of_uniform(deep_rig *rig, lgv_mode mode) {
  enum { DRAWS = 4000 };
  float data[DEEP_MOST_LENGTH];
  lgv_obs obs = deep_obs(rig, 2, 0, data);
  lgv_error err = {0};
  int others = 0;
  for (int i = 0; i < DRAWS; i++) {
    lgv_action action;
    assert_int_equal(rig->type->act(rig->self, &obs, mode, &action, &err), LGV_OK);
    others += action.choice == 1;
  }
  return 2.0 * others / DRAWS;
}

/* Epsilon from 0.9 to 0.1: until agent.warmup = 100; then over half of 1000 steps or of 20
 * episodes, or without a budget, or without a share, over 40 steps. */
static void epsilon_falls_with_the_budget_or_in_fixed_steps(void **state) {
  (void)state;
  static const struct {
    int64_t steps_planned, episodes_planned;
    double share;
    int64_t step, episode;
    double epsilon;
  } rows[] = {
      {1000, 0, 0.5, 99, 0, 0.9},  {1000, 0, 0.5, 250, 7, 0.5},  {1000, 3, 0.5, 250, 3, 0.5},
      {1000, 0, 0.5, 500, 0, 0.1}, {1000, 0, 0.5, 5000, 0, 0.1}, {0, 20, 0.5, 99, 5, 0.9},
      {0, 20, 0.5, 999, 5, 0.5},   {0, 20, 0.5, 999, 11, 0.1},   {0, 0, 0.5, 99, 0, 0.9},
      {0, 0, 0.5, 120, 0, 0.5},    {0, 0, 0.5, 140, 0, 0.1},     {1000, 0, 0, 120, 0, 0.5},
      {1000, 0, 0, 140, 0, 0.1},   {1000, 0, 1, 500, 0, 0.5},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    deep_rig rig;
    char extra[256];
    lgv_problem problem = {.env = deep_spec(5, 2),
                           .steps = rows[i].steps_planned,
                           .episodes = rows[i].episodes_planned};
    snprintf(extra, sizeof extra,
             "agent.epsilon_start=0.9 agent.epsilon_end=0.1 agent.epsilon_steps=40 "
             "agent.epsilon_share=%g agent.warmup=100",
             rows[i].share);
    deep_open_for(&rig, "adam-lmcdqn", problem, extra, NULL);
    dqn *c = rig.self;
    c->w[c->net.params - 2] = 1000; /* the bias of the first action: it is greedy */
    c->count[DQN_STEPS] = rows[i].step;
    *(int64_t *)deep_array(&rig, "episodes", NULL) = rows[i].episode;
    double share = share_of_uniform(&rig, LGV_TRAIN); /* standard error below 0.016 */
    if (fabs(share - rows[i].epsilon) > 0.07) fail_msg("row %zu: %.3f", i, share);
    assert_true(share_of_uniform(&rig, LGV_EVAL) == 0);
    deep_close(&rig);
  }
}

/* Evaluation sees the mean: of all samples so far at first, an exponential one later. */
static void evaluation_acts_by_the_mean_of_the_samples(void **state) {
  (void)state;
  enum { STATES = 5, WINDOW = 8, STEPS = 30 };
  deep_rig rig;
  lgv_rng rng;
  lgv_error err = {0};
  lgv_rng_seed(&rng, 6, "walk");
  deep_open(&rig, "adam-lmcdqn", deep_spec(STATES, 2),
            "agent.average=8 agent.warmup=1 agent.update_every=1 agent.batch=2 optim.beta=10 "
            "optim.lr=0.01",
            NULL);
  const dqn *c = rig.self;
  float *w_mean = deep_array(&rig, "w_mean", NULL);
  double *mean = calloc((size_t)c->dim, sizeof *mean);
  for (int t = 0, updates = 0; t < STEPS; t++) {
    deep_walk(&rig, 1, &rng);
    if (c->t[0] == updates) continue;
    updates = (int)c->t[0];
    double share = 1.0 / (updates < WINDOW ? updates : WINDOW);
    for (int64_t i = 0; i < c->dim; i++) {
      mean[i] += share * ((double)c->w[i] - mean[i]);
      assert_float_equal(w_mean[i], mean[i], 1e-5);
    }
  }
  for (int64_t i = 0; i < c->net.params; i++) w_mean[i] = -c->w[i];
  w_mean[c->net.params - 2] = 1000; /* the biases of both actions, far apart */
  w_mean[c->net.params - 1] = -1000;
  c->w[c->net.params - 2] = -1000;
  c->w[c->net.params - 1] = 1000;
  float data[DEEP_MOST_LENGTH];
  lgv_obs obs = deep_obs(&rig, 2, 0, data);
  lgv_action training, evaluation;
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_TRAIN, &training, &err), LGV_OK);
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &evaluation, &err), LGV_OK);
  assert_true(training.choice == 1 && evaluation.choice == 0);
  free(mean);
  deep_close(&rig);
}

static void the_feel_good_gradient_agrees_with_finite_differences(void **state) {
  (void)state;
  deep_rig rig;
  lgv_rng rng;
  lgv_error err = {0};
  lgv_rng_seed(&rng, 5, "walk");
  deep_open(&rig, "fg-lmcdqn", deep_spec(DEEP_LENGTH, 2),
            "agent.warmup=99 agent.update_every=1 agent.hidden=8,8 agent.feel_good=2 "
            "optim.lr=1e-12 optim.beta=inf",
            NULL);
  dqn *c = rig.self;
  deep_walk(&rig, 99, &rng);
  assert_int_equal(deep_observe(&rig, 0, 1, 0, 2, 1, true, &err), LGV_OK);
  float *grad = malloc((size_t)c->dim * sizeof *grad);
  memcpy(grad, c->grad, (size_t)c->dim * sizeof *grad);
  double worst = 0, step = 1e-3;
  double loss = c->loss;
  assert_float_equal(loss, feel_good_loss(c, 2, c->w), 1e-5);
  for (int64_t i = 0; i < c->dim; i++) {
    float kept = c->w[i];
    c->w[i] = kept + (float)step;
    double above = feel_good_loss(c, 2, c->w);
    c->w[i] = kept - (float)step;
    double below = feel_good_loss(c, 2, c->w);
    c->w[i] = kept;
    worst = fmax(worst, fabs((above - below) / (2 * step) - (double)grad[i]));
  }
  assert_true(worst < 3e-3);
  free(grad);
  deep_close(&rig);
}

/* ---- Algorithm 2 as printed ---- */

/* Tables again: without hidden layers, with one transition a stage and many steps, Q_h(s, a) must
 * become the sum of the rewards ahead, stage by stage, undiscounted, and 0 beyond the horizon. */
static void no_hidden_layers(void *params) { ((dqn_params *)params)->hidden.count = 0; }

static void the_backward_sweep_carries_values_from_stage_to_stage(void **state) {
  (void)state;
  enum { H = 4 };
  deep_rig rig;
  lgv_error err = {0};
  deep_open(&rig, "lmc-dqn", deep_spec(6, 2),
            "agent.stages=per-stage agent.updates=60 agent.warmup=4 optim.lr=0.2 optim.beta=inf",
            no_hidden_layers);
  dqn *c = rig.self;
  assert_int_equal(c->sizes.copies, H);
  assert_null(c->w_target);
  memset(c->w, 0, (size_t)(H * c->dim) * sizeof *c->w);
  const double reward[H] = {1, 2, 4, 8};
  for (int h = 0; h < H; h++) /* the last step only runs out of time */
    assert_int_equal(deep_observe(&rig, h, h, 1, h + 1, reward[h], false, &err), LGV_OK);
  assert_int_equal(rig.type->begin_episode(rig.self, &err), LGV_OK);
  assert_int_equal(c->count[DQN_UPDATES], H * 60);
  double ahead = 0;
  for (int h = H - 1; h >= 0; h--) {
    float data[DEEP_MOST_LENGTH];
    lgv_obs obs = deep_obs(&rig, h, h, data);
    ahead += reward[h];
    assert_float_equal(lgv__dqn_values(c, c->w + h * c->dim, &obs)[1], ahead, 1e-3);
    lgv_action action;
    assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
    assert_int_equal(action.choice, 1);
  }
  float data[DEEP_MOST_LENGTH];
  lgv_obs beyond = deep_obs(&rig, 0, H, data);
  lgv_action action;
  assert_int_equal(rig.type->act(rig.self, &beyond, LGV_EVAL, &action, &err), LGV_ERR_USAGE);
  deep_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_feel_good_it_is_adam_lmcdqn),
      cmocka_unit_test(lmc_dqn_is_adam_lmcdqn_without_its_bias),
      cmocka_unit_test(langevin_dqn_without_noise_is_dqn),
      cmocka_unit_test(the_step_size_falls_with_the_stated_budget_alone),
      cmocka_unit_test(epsilon_falls_with_the_budget_or_in_fixed_steps),
      cmocka_unit_test(evaluation_acts_by_the_mean_of_the_samples),
      cmocka_unit_test(the_feel_good_gradient_agrees_with_finite_differences),
      cmocka_unit_test(the_backward_sweep_carries_values_from_stage_to_stage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
