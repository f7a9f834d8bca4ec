/* What each deep agent adds to DQN, and where it becomes DQN again. */
#include "deep_helpers.h"

#include "agent/deep/epsilon_greedy.h"

#include <math.h>
#include <stdio.h>

enum { LENGTH = 10 };

/* Trains on one fixed walk, choosing actions too, so that the acting streams are compared as well.
 */
static void live(deep_rig *rig, int steps, void (*after_step)(deep_rig *rig)) {
  lgv_rng rng;
  lgv_error err = {0};
  float data[DEEP_MOST_LENGTH];
  lgv_rng_seed(&rng, 9, "world");
  int at = 0;
  for (int i = 0; i < steps; i++) {
    int32_t action;
    if (i % 4 == 0) assert_int_equal(rig->type->begin_episode(rig->self, &err), LGV_OK);
    lgv_obs obs = deep_obs(rig, at, i % 4, data);
    assert_int_equal(rig->type->act(rig->self, &obs, LGV_TRAIN, &action, &err), LGV_OK);
    int to = (at * 3 + action + (int)lgv_rng_below(&rng, 2)) % LENGTH;
    if (deep_observe(rig, i % 4, at, action, to, to == 7, i % 4 == 3, &err) != LGV_OK)
      fail_msg("%s", err.message);
    if (after_step) after_step(rig);
    if (i % 4 == 3) assert_int_equal(rig->type->end_episode(rig->self, &err), LGV_OK);
    at = i % 4 == 3 ? 0 : to;
  }
}

/* After the same life both agents have the same parameters to the bit. */
static void assert_same_life(const char *a, const char *a_extra, const char *b,
                             const char *b_extra) {
  deep_rig left, right;
  deep_open(&left, a, deep_spec(LENGTH, 2), a_extra, NULL);
  deep_open(&right, b, deep_spec(LENGTH, 2), b_extra, NULL);
  dqn *c = left.self, *d = right.self;
  size_t bytes = (size_t)c->dim * sizeof *c->w;
  float *start = malloc(bytes);
  memcpy(start, c->w, bytes);
  live(&left, 400, NULL);
  live(&right, 400, NULL);
  assert_int_equal(c->dim, d->dim);
  assert_true(c->count[DQN_UPDATES] > 100);
  assert_memory_not_equal(c->w, start, bytes);
  assert_memory_equal(c->w, d->w, bytes);
  assert_memory_equal(c->w_target, d->w_target, bytes);
  free(start);
  deep_close(&left);
  deep_close(&right);
}

#define LIFE "agent.update_every=2 agent.target_every=9 agent.hidden=8,8 optim.lr=1e-3 "

/* ---- Bootstrapped DQN ---- */

/* Separate networks over one-hot observations go their own way (test_dqn_ensemble.c) unless there
 * is a ridge; this one is too small to change a float. */
static void one_member_without_prior_is_dqn(void **state) {
  (void)state;
  const char *const members[] = {"heads", "networks"};
  for (int i = 0; i < 2; i++)
    for (int is_double = 0; is_double < 2; is_double++) {
      char extra[512], plain[256];
      snprintf(plain, sizeof plain, LIFE "optim.l2=1e-30 agent.double=%s",
               is_double ? "true" : "false");
      snprintf(extra, sizeof extra, "%s agent.heads=1 agent.prior_scale=0 agent.members=%s", plain,
               members[i]);
      assert_same_life("bootstrapped-dqn", extra, "dqn", plain);
    }
}

/* With K = 4 the gradient below the heads is exactly a quarter of the sum over heads, and a head
 * that has no error gets no gradient. */
static void heads_share_the_core_by_its_kth_part(void **state) {
  (void)state;
  enum { K = 4 };
  deep_rig rig;
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "walk");
  deep_open(&rig, "bootstrapped-dqn", deep_spec(LENGTH, 2),
            "agent.warmup=1000 agent.heads=4 agent.hidden=8,8", NULL);
  dqn *c = rig.self;
  deep_walk(&rig, 100, &rng);
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_loss_clear(c);
  for (int head = 0; head < K - 1; head++) { /* the last head has no error */
    lgv__dqn_targets_from(c, c->q_target + head * 2, c->q_target + head * 2, c->outputs, c->y);
    lgv__dqn_loss_add(c, c->q + head * 2, c->y, NULL, c->d_q + head * 2);
  }
  lgv__dqn_backward(c, c->w, c->grad);
  float *whole = malloc((size_t)c->dim * sizeof *whole);
  lgv__net_backward(&c->net, c->w, lgv__replay_input(&c->env, c->batch.obs), c->p->batch, &c->tape,
                    c->d_q, 1, whole);
  const net_layer *top = &c->net.layer[c->net.n_layers - 1];
  double size = 0;
  for (int64_t i = 0; i < top->weights; i++) {
    assert_true(c->grad[i] == whole[i] / K);
    size += fabs((double)whole[i]);
  }
  assert_true(size > 0.01);
  for (int64_t i = 0; i <= top->inputs; i++) /* row `inputs` holds the biases */
    for (int64_t j = 0; j < 2 * K; j++) {
      float g = c->grad[top->weights + i * 2 * K + j];
      assert_true(g == whole[top->weights + i * 2 * K + j]);
      if (j >= 2 * (K - 1)) assert_true(g == 0);
    }
  free(whole);
  deep_close(&rig);
}

/* Separate networks do not touch each other: member 0 of three learns as if it were alone, given
 * the same draws. */
static void separate_networks_learn_separately(void **state) {
  (void)state;
  deep_rig one, three;
  lgv_rng rng;
  const char *const extra[] = {LIFE "agent.members=networks agent.prior_scale=0 agent.heads=1",
                               LIFE "agent.members=networks agent.prior_scale=0 agent.heads=3"};
  deep_open(&one, "bootstrapped-dqn", deep_spec(LENGTH, 2), extra[0], NULL);
  deep_open(&three, "bootstrapped-dqn", deep_spec(LENGTH, 2), extra[1], NULL);
  dqn *c = one.self, *d = three.self;
  lgv_rng_seed(&rng, 5, "walk");
  deep_walk(&one, 200, &rng);
  lgv_rng_seed(&rng, 5, "walk");
  deep_walk(&three, 200, &rng);
  assert_memory_equal(c->w, d->w, (size_t)c->dim * sizeof *c->w);
  assert_memory_not_equal(c->w, d->w + d->dim, (size_t)c->dim * sizeof *c->w);
  deep_close(&one);
  deep_close(&three);
}

/* Bits are set with the given probability: 5 standard errors. */
static void masks_are_drawn_with_their_probability(void **state) {
  (void)state;
  deep_rig rig;
  lgv_rng rng;
  size_t capacity = 0;
  lgv_rng_seed(&rng, 5, "walk");
  deep_open(&rig, "bootstrapped-dqn", deep_spec(LENGTH, 2),
            "agent.warmup=5000 agent.heads=20 agent.mask=0.3 agent.replay=5001", NULL);
  deep_walk(&rig, 4000, &rng);
  const uint64_t *mask = deep_array(&rig, "mask", &capacity);
  double ones = 0, n = 4000 * 20;
  for (size_t e = 0; e < capacity; e++) ones += __builtin_popcountll(mask[e]);
  assert_true(fabs(ones - 0.3 * n) < 5 * sqrt(n * 0.3 * 0.7));
  deep_close(&rig);
}

/* Three of five heads prefer action 1 at s_0, whatever the member in play. */
static void votes_are_counted(void **state) {
  (void)state;
  deep_rig rig;
  lgv_error err = {0};
  float data[DEEP_MOST_LENGTH];
  int32_t action;
  deep_open(&rig, "bootstrapped-dqn", deep_spec(LENGTH, 2),
            "agent.heads=5 agent.prior_scale=0 agent.eval=vote", NULL);
  dqn *c = rig.self;
  memset(c->w, 0, (size_t)c->dim * sizeof *c->w);
  float *bias = c->w + c->net.layer[c->net.n_layers - 1].biases;
  for (int head = 0; head < 5; head++) bias[2 * head + (head < 3)] = 1;
  lgv_obs obs = deep_obs(&rig, 0, 0, data);
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
  assert_int_equal(action, 1);
  bias[2 * 1] = 2; /* head 1 changes its mind */
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
  assert_int_equal(action, 0);
  deep_close(&rig);
}

/* ---- Noisy-Net ---- */

/* sigma has a gradient and would leave 0. */
static void hold_sigma(deep_rig *rig) {
  dqn *c = rig->self;
  memset(c->w + c->net.params, 0, (size_t)c->net.params * sizeof *c->w);
}

static void noisy_net_without_noise_is_greedy_dqn(void **state) {
  (void)state;
  const char *const plain[] = {LIFE, LIFE "agent.double=true "};
  for (int i = 0; i < 2; i++) {
    char noisy[256], greedy[256];
    deep_rig left, right;
    snprintf(noisy, sizeof noisy, "%sagent.sigma0=0", plain[i]);
    snprintf(greedy, sizeof greedy, "%sagent.epsilon_start=0 agent.epsilon_end=0", plain[i]);
    deep_open(&left, "noisynet-dqn", deep_spec(LENGTH, 2), noisy, NULL);
    deep_open(&right, "dqn", deep_spec(LENGTH, 2), greedy, NULL);
    dqn *c = left.self, *d = right.self;
    live(&left, 400, hold_sigma);
    live(&right, 400, NULL);
    assert_true(c->count[DQN_UPDATES] > 100);
    assert_int_equal(c->net.params, d->dim);
    assert_memory_equal(c->w, d->w, (size_t)d->dim * sizeof *d->w);
    assert_memory_equal(c->w_target, d->w_target, (size_t)d->dim * sizeof *d->w);
    deep_close(&left);
    deep_close(&right);
  }
}

/* Of the first layer before its rectifier, for a one-hot input: E = mu_w + mu_b and Var = sigma^2
 * E[f^2]^2 + sigma_b^2 E[f^2] with E[f^2] = E|e| = sqrt(2/pi), sigma = sigma_b = sigma0/sqrt(p). */
static void effective_weights_have_the_variance_of_factorized_noise(void **state) {
  (void)state;
  enum { DRAWS = 20000, AT = 3 };
  deep_rig rig;
  lgv_error err = {0};
  float data[DEEP_MOST_LENGTH];
  deep_open(&rig, "noisynet-dqn", deep_spec(LENGTH, 2), "agent.sigma0=0.5 agent.hidden=4", NULL);
  const float *w = deep_array(&rig, "online.w", NULL), *mu = ((dqn *)rig.self)->w;
  const net_layer *layer = &((dqn *)rig.self)->net.layer[0];
  int64_t at = layer->weights + AT * layer->outputs + 1, bias = layer->biases + 1;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < DRAWS; i++) {
    int32_t action;
    lgv_obs obs = deep_obs(&rig, AT, 0, data);
    assert_int_equal(rig.type->act(rig.self, &obs, LGV_TRAIN, &action, &err), LGV_OK);
    double y = (double)(w[at] + w[bias]) - (double)(mu[at] + mu[bias]);
    sum += y;
    squares += y * y;
    fourth += y * y * y * y;
  }
  double f2 = sqrt(2 / M_PI), s2 = 0.25 / LENGTH, expected = s2 * f2 * f2 + s2 * f2;
  double mean = sum / DRAWS, variance = squares / DRAWS;
  double error = sqrt((fourth / DRAWS - variance * variance) / DRAWS);
  assert_true(fabs(mean) < 5 * sqrt(expected / DRAWS));
  assert_true(fabs(variance - expected) < 5 * error);
  deep_close(&rig);
}

/* d sigma = d mu * noise, recovered from the effective weights. */
static void the_gradient_of_sigma_is_that_of_mu_times_the_noise(void **state) {
  (void)state;
  deep_rig rig;
  deep_open(&rig, "noisynet-dqn", deep_spec(LENGTH, 2),
            "agent.warmup=39 agent.update_every=1 agent.hidden=4 optim.name=sgd optim.lr=1e-3",
            NULL);
  dqn *c = rig.self;
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "walk");
  deep_walk(&rig, 39, &rng);
  size_t n = (size_t)c->net.params;
  float *before = malloc(2 * n * sizeof *before);
  memcpy(before, c->w, 2 * n * sizeof *before);
  lgv_error err = {0};
  assert_int_equal(deep_observe(&rig, 0, 1, 0, 2, 1, true, &err), LGV_OK);
  assert_int_equal(c->count[DQN_UPDATES], 1);
  const float *w = deep_array(&rig, "online.w", NULL);
  double largest = 0;
  for (size_t i = 0; i < n; i++) {
    double noise = ((double)w[i] - (double)before[i]) / (double)before[n + i];
    assert_float_equal(c->grad[n + i], (double)c->grad[i] * noise,
                       1e-4 * fabs((double)c->grad[i]) + 1e-7);
    largest = fmax(largest, fabs((double)c->grad[n + i]));
  }
  assert_true(largest > 1e-3);
  free(before);
  deep_close(&rig);
}

/* ---- the Langevin family ---- */

static void epsilon_falls_linearly_after_the_warmup(void **state) {
  (void)state;
  const struct {
    int64_t step;
    double epsilon;
  } rows[] = {{0, .9},   {99, .9},   {100, .9}, {110, .7},
              {120, .5}, {139, .12}, {140, .1}, {9999, .1}};
  const dqn_params p = {.warmup = 100};
  const epsilon_params epsilon = {.start = .9, .end = .1, .steps = 40};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t count[DQN_COUNTERS] = {[DQN_STEPS] = rows[i].step};
    const dqn c = {.p = &p, .count = count};
    assert_true(fabs(epsilon_of(&epsilon, &c) - rows[i].epsilon) < 1e-15);
  }
}

static void without_feel_good_it_is_adam_lmcdqn(void **state) {
  (void)state;
  assert_same_life("fg-lmcdqn", LIFE "agent.feel_good=0 optim.beta=1e4", "adam-lmcdqn",
                   LIFE "optim.beta=1e4");
  assert_same_life("fg-ulmc-dqn", LIFE "agent.feel_good=0 optim.beta=1e4", "ulmc-dqn",
                   LIFE "optim.beta=1e4");
}

/* Plain Langevin is Adam SGLD with a = 0. */
static void lmc_dqn_is_adam_lmcdqn_without_its_bias(void **state) {
  (void)state;
  assert_same_life("lmc-dqn", LIFE "optim.beta=1e4", "adam-lmcdqn",
                   LIFE "optim.beta=1e4 optim.a=0");
}

/* Without noise Langevin DQN is DQN with Adam. */
static void langevin_dqn_without_noise_is_dqn(void **state) {
  (void)state;
  assert_same_life("langevin-dqn", LIFE "optim.beta=inf", "dqn",
                   LIFE "agent.epsilon_start=0 agent.epsilon_end=0");
}

static double feel_good_loss(dqn *c, double feel_good, const float *w) {
  lgv__dqn_forward_obs(c, w);
  lgv__dqn_loss(c);
  double optimism = 0;
  for (int64_t i = c->p->batch; i < 2 * c->p->batch; i++)
    optimism += (double)c->q[i * 2 + lgv__dqn_first_best(c->q + i * 2, 2)];
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
  int32_t training, evaluation;
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_TRAIN, &training, &err), LGV_OK);
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &evaluation, &err), LGV_OK);
  assert_true(training == 1 && evaluation == 0);
  free(mean);
  deep_close(&rig);
}

static void the_feel_good_gradient_agrees_with_finite_differences(void **state) {
  (void)state;
  deep_rig rig;
  lgv_rng rng;
  lgv_error err = {0};
  lgv_rng_seed(&rng, 5, "walk");
  deep_open(&rig, "fg-lmcdqn", deep_spec(LENGTH, 2),
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
    int32_t action;
    assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
    assert_int_equal(action, 1);
  }
  float data[DEEP_MOST_LENGTH];
  lgv_obs beyond = deep_obs(&rig, 0, H, data);
  int32_t action;
  assert_int_equal(rig.type->act(rig.self, &beyond, LGV_EVAL, &action, &err), LGV_ERR_USAGE);
  deep_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_member_without_prior_is_dqn),
      cmocka_unit_test(heads_share_the_core_by_its_kth_part),
      cmocka_unit_test(separate_networks_learn_separately),
      cmocka_unit_test(masks_are_drawn_with_their_probability),
      cmocka_unit_test(votes_are_counted),
      cmocka_unit_test(noisy_net_without_noise_is_greedy_dqn),
      cmocka_unit_test(effective_weights_have_the_variance_of_factorized_noise),
      cmocka_unit_test(the_gradient_of_sigma_is_that_of_mu_times_the_noise),
      cmocka_unit_test(epsilon_falls_linearly_after_the_warmup),
      cmocka_unit_test(without_feel_good_it_is_adam_lmcdqn),
      cmocka_unit_test(lmc_dqn_is_adam_lmcdqn_without_its_bias),
      cmocka_unit_test(langevin_dqn_without_noise_is_dqn),
      cmocka_unit_test(the_step_size_falls_with_the_stated_budget_alone),
      cmocka_unit_test(evaluation_acts_by_the_mean_of_the_samples),
      cmocka_unit_test(the_feel_good_gradient_agrees_with_finite_differences),
      cmocka_unit_test(the_backward_sweep_carries_values_from_stage_to_stage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
