/* Ensembles, noisy networks and epsilon-greedy acting: what each adds to DQN, and when it is DQN.
 */
#include "deep_helpers.h"

#include "agent/deep/epsilon_greedy.h"

#include <math.h>
#include <stdio.h>

/* ---- Bootstrapped DQN ---- */

/* Separate networks over one-hot observations go their own way (test_dqn_ensemble.c) unless there
 * is a ridge; this one is too small to change a float. */
static void one_member_without_prior_is_dqn(void **state) {
  (void)state;
  const char *const members[] = {"heads", "networks"};
  for (int i = 0; i < 2; i++)
    for (int is_double = 0; is_double < 2; is_double++) {
      char extra[512], plain[256];
      snprintf(plain, sizeof plain, DEEP_LIFE "optim.l2=1e-30 agent.double=%s",
               is_double ? "true" : "false");
      snprintf(extra, sizeof extra, "%s agent.heads=1 agent.prior_scale=0 agent.members=%s", plain,
               members[i]);
      deep_assert_same_life("bootstrapped-dqn", extra, "dqn", plain);
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
  deep_open(&rig, "bootstrapped-dqn", deep_spec(DEEP_LENGTH, 2),
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
  const char *const extra[] = {DEEP_LIFE "agent.members=networks agent.prior_scale=0 agent.heads=1",
                               DEEP_LIFE
                               "agent.members=networks agent.prior_scale=0 agent.heads=3"};
  deep_open(&one, "bootstrapped-dqn", deep_spec(DEEP_LENGTH, 2), extra[0], NULL);
  deep_open(&three, "bootstrapped-dqn", deep_spec(DEEP_LENGTH, 2), extra[1], NULL);
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
  deep_open(&rig, "bootstrapped-dqn", deep_spec(DEEP_LENGTH, 2),
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
  lgv_action action;
  deep_open(&rig, "bootstrapped-dqn", deep_spec(DEEP_LENGTH, 2),
            "agent.heads=5 agent.prior_scale=0 agent.eval=vote", NULL);
  dqn *c = rig.self;
  memset(c->w, 0, (size_t)c->dim * sizeof *c->w);
  float *bias = c->w + c->net.layer[c->net.n_layers - 1].biases;
  for (int head = 0; head < 5; head++) bias[2 * head + (head < 3)] = 1;
  lgv_obs obs = deep_obs(&rig, 0, 0, data);
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
  assert_int_equal(action.choice, 1);
  bias[2 * 1] = 2; /* head 1 changes its mind */
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
  assert_int_equal(action.choice, 0);
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
  const char *const plain[] = {DEEP_LIFE, DEEP_LIFE "agent.double=true "};
  for (int i = 0; i < 2; i++) {
    char noisy[256], greedy[256];
    deep_rig left, right;
    snprintf(noisy, sizeof noisy, "%sagent.sigma0=0", plain[i]);
    snprintf(greedy, sizeof greedy, "%sagent.epsilon_start=0 agent.epsilon_end=0", plain[i]);
    deep_open(&left, "noisynet-dqn", deep_spec(DEEP_LENGTH, 2), noisy, NULL);
    deep_open(&right, "dqn", deep_spec(DEEP_LENGTH, 2), greedy, NULL);
    dqn *c = left.self, *d = right.self;
    deep_live(&left, 400, hold_sigma);
    deep_live(&right, 400, NULL);
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
  deep_open(&rig, "noisynet-dqn", deep_spec(DEEP_LENGTH, 2), "agent.sigma0=0.5 agent.hidden=4",
            NULL);
  const float *w = deep_array(&rig, "online.w", NULL), *mu = ((dqn *)rig.self)->w;
  const net_layer *layer = &((dqn *)rig.self)->net.layer[0];
  int64_t at = layer->weights + AT * layer->outputs + 1, bias = layer->biases + 1;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < DRAWS; i++) {
    lgv_action action;
    lgv_obs obs = deep_obs(&rig, AT, 0, data);
    assert_int_equal(rig.type->act(rig.self, &obs, LGV_TRAIN, &action, &err), LGV_OK);
    double y = (double)(w[at] + w[bias]) - (double)(mu[at] + mu[bias]);
    sum += y;
    squares += y * y;
    fourth += y * y * y * y;
  }
  double f2 = sqrt(2 / M_PI), s2 = 0.25 / DEEP_LENGTH, expected = s2 * f2 * f2 + s2 * f2;
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
  deep_open(&rig, "noisynet-dqn", deep_spec(DEEP_LENGTH, 2),
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

/* ---- epsilon-greedy acting ---- */

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
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
