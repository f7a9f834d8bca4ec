/* Agents that learn distributions of returns: they find known distributions, and their parameters
 * have the promised effects. */
#include "deep_helpers.h"

#include <math.h>
#include <stdio.h>

static lgv_rng rng;

static int seed_rng(void **state) {
  (void)state;
  lgv_rng_seed(&rng, 4, "test");
  return 0;
}

enum { MOST_ATOMS = 128 };

/* ---- distributions that are known ---- */

enum { GRID = 60 }; /* quantile functions are compared at (k + 1/2) / GRID */

/* F^-1 of a distribution over increasing values. */
static void quantiles_of(int64_t n, const double *value, const double *p, double *out) {
  double below = 0;
  for (int64_t j = 0, k = 0; k < GRID; k++) {
    while (j < n - 1 && below + p[j] < (k + 0.5) / GRID) below += p[j++];
    out[k] = value[j];
  }
}

/* What the agent believes of (state, action). */
static void learned_quantiles(deep_rig *rig, int at, int action, double *out) {
  dqn *c = rig->self;
  float tau[GRID];
  double value[MOST_ATOMS], p[MOST_ATOMS];
  int32_t index = at, n = c->sizes.atoms;
  for (int k = 0; k < GRID; k++) tau[k] = (float)((k + 0.5) / GRID);
  net_input input = {.index = &index, .tau = tau, .taus = GRID};
  const float *q = lgv__net_forward(&c->net, c->w, input, 1, &c->act_tape);
  if (c->net.embedding) {
    for (int k = 0; k < GRID; k++) out[k] = q[k * c->A + action];
    return;
  }
  q += action * n;
  bool is_grid = strcmp(rig->type->name, "c51") == 0;
  const float *z = is_grid ? deep_array(rig, "z", NULL) : q;
  double sum = 0;
  for (int32_t j = 0; j < n; j++) sum += p[j] = is_grid ? exp((double)q[j]) : 1;
  for (int32_t j = 0; j < n; j++) {
    p[j] /= sum;
    value[j] = z[j];
  }
  for (int32_t j = 1; j < n; j++) /* quantiles that have crossed are put in order */
    for (int32_t i = j; i > 0 && value[i] < value[i - 1]; i--) {
      double swap = value[i];
      value[i] = value[i - 1];
      value[i - 1] = swap;
    }
  quantiles_of(n, value, p, out);
}

/* The 1-Wasserstein distance: the mean distance of the quantile functions. */
static double distance(const double *a, const double *b) {
  double sum = 0;
  for (int k = 0; k < GRID; k++) sum += fabs(a[k] - b[k]);
  return sum / GRID;
}

static const char *const learners[][2] = {
    {"c51", "agent.atoms=101 "},
    {"qr-dqn", "agent.quantiles=60 agent.kappa=0.05 "},
    {"iqn", "agent.taus=24 agent.taus_act=60 agent.cosines=32 agent.kappa=0.05 "},
};
#define LEARN "agent.hidden=32,32 agent.warmup=500 agent.update_every=1 agent.target_every=50 "

/* Two arms: action 0 pays -1 or 1, each with a uniform 0.2 around it; action 1 pays an exponential
 * with mean 1. A distribution that had only the mean right would be off by 1 and 0.74. */
static void agents_learn_the_arms_of_a_noisy_bandit(void **state) {
  (void)state;
  double arm[2][GRID], learned[GRID];
  for (int k = 0; k < GRID; k++) {
    double u = (k + 0.5) / GRID;
    arm[0][k] = u < 0.5 ? -1.2 + 0.8 * u : 0.8 + 0.8 * (u - 0.5);
    arm[1][k] = -log(1 - u);
  }
  for (int a = 0; a < 3; a++) {
    deep_rig rig;
    lgv_error err = {0};
    char extra[512];
    snprintf(extra, sizeof extra, LEARN "%s %s optim.lr=1e-3", learners[a][1],
             a == 0 ? "agent.v_min=-3 agent.v_max=6" : "");
    deep_open(&rig, learners[a][0], deep_spec(3, 2), extra, NULL);
    for (int i = 0; i < 6000; i++) {
      int action = i % 2;
      double u = lgv_rng_uniform(&rng), flip = lgv_rng_uniform(&rng) < 0.5 ? -1 : 1;
      double reward = action ? -log(1 - u) : flip + 0.4 * (u - 0.5);
      assert_int_equal(deep_observe(&rig, 0, 0, action, 1, reward, true, &err), LGV_OK);
    }
    for (int action = 0; action < 2; action++) {
      learned_quantiles(&rig, 0, action, learned);
      double off = distance(learned, arm[action]);
      if (!(off < 0.1)) fail_msg("%s, arm %d: off by %f", learners[a][0], action, off);
    }
    deep_close(&rig);
  }
}

enum { STATES = 5 };

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* From s every step pays 0 or 1 until the end: 2^(STATES - s) returns that are equally likely. */
static void returns_of_chain(int s, double gamma, double *out) {
  double value[1 << STATES], p[1 << STATES];
  int steps = STATES - s, count = 1 << steps;
  for (int k = 0; k < count; k++) {
    value[k] = 0;
    for (int t = 0; t < steps; t++) value[k] += (k >> t & 1) * pow(gamma, t);
    p[k] = 1.0 / count;
  }
  qsort(value, (size_t)count, sizeof *value, by_value);
  quantiles_of(count, value, p, out);
}

/* The noise of every step to come reaches the first state through the targets. The means alone
 * would be off by 0.50 at the last state and 0.76 at the first. */
static void agents_learn_the_returns_of_a_random_chain(void **state) {
  (void)state;
  double truth[GRID], learned[GRID];
  for (int a = 0; a < 3; a++) {
    deep_rig rig;
    lgv_error err = {0};
    char extra[512];
    snprintf(extra, sizeof extra, LEARN "%s %s agent.gamma=0.9 optim.lr=1e-3", learners[a][1],
             a == 0 ? "agent.v_min=-0.5 agent.v_max=4.5" : "");
    deep_open(&rig, learners[a][0], deep_spec(STATES + 1, 2), extra, NULL);
    for (int i = 0; i < 10000; i++) {
      int s = i % STATES;
      double reward = (double)lgv_rng_below(&rng, 2);
      assert_int_equal(deep_observe(&rig, s, s, (int)lgv_rng_below(&rng, 2), s + 1, reward,
                                    s + 1 == STATES, &err),
                       LGV_OK);
    }
    for (int s = 0; s < STATES; s++)
      for (int action = 0; action < 2; action++) {
        returns_of_chain(s, 0.9, truth);
        learned_quantiles(&rig, s, action, learned);
        double off = distance(learned, truth);
        if (!(off < 0.17)) fail_msg("%s, state %d: off by %f", learners[a][0], s, off);
      }
    deep_close(&rig);
  }
}

/* The mean over all draws of tau, which are repeated here; and over many it is the integral over
 * tau, to 5 standard errors. */
static void the_value_of_iqn_is_the_integral_of_its_quantiles(void **state) {
  (void)state;
  enum { K = 4096 };
  deep_rig rig;
  deep_open(&rig, "iqn", deep_spec(3, 2), "agent.hidden=16,16 agent.taus=64 agent.taus_act=4096",
            NULL);
  dqn *c = rig.self;
  static float tau[K];
  float q[2], data[DEEP_MOST_LENGTH];
  lgv_obs obs = deep_obs(&rig, 1, 0, data);
  lgv_error err = {0};
  lgv_action action;
  int32_t index = 1;
  lgv_rng stream = *rig.problem.eval;
  assert_int_equal(rig.type->act(rig.self, &obs, LGV_EVAL, &action, &err), LGV_OK);
  memcpy(q, c->act_q, sizeof q);
  for (int k = 0; k < K; k++) tau[k] = (float)lgv_rng_uniform(&stream);
  net_input input = {.index = &index, .tau = tau, .taus = K};
  const float *z = lgv__net_forward(&c->net, c->w, input, 1, &c->act_tape);
  for (int a = 0; a < 2; a++) {
    double sum = 0;
    for (int k = 0; k < K; k++) sum += z[2 * k + a];
    assert_float_equal(q[a], sum / K, 1e-5);
  }
  for (int k = 0; k < K; k++) tau[k] = (float)((k + 0.5) / K);
  z = lgv__net_forward(&c->net, c->w, input, 1, &c->act_tape);
  for (int a = 0; a < 2; a++) {
    double sum = 0, squares = 0;
    for (int k = 0; k < K; k++) {
      sum += z[2 * k + a];
      squares += (double)z[2 * k + a] * z[2 * k + a];
    }
    double mean = sum / K, variance = squares / K - mean * mean;
    assert_true(variance > 1e-6);
    assert_float_equal(q[a], mean, 5 * sqrt(variance / K));
  }
  deep_close(&rig);
}

/* ---- combinations ---- */

/* The sum of the parameters after some learning on a fixed walk. */
static double fingerprint(const char *agent, bool is_double, int n_step, bool prioritized) {
  deep_rig rig;
  lgv_rng walk;
  char extra[512];
  double sum = 0;
  snprintf(
      extra, sizeof extra,
      "agent.warmup=50 agent.hidden=16,16 agent.batch=16 agent.update_every=1 "
      "agent.target_every=20 optim.lr=0.01 agent.double=%s agent.n_step=%d agent.prioritized=%s",
      is_double ? "true" : "false", n_step, prioritized ? "true" : "false");
  lgv_rng_seed(&walk, 1, "walk");
  deep_open(&rig, agent, deep_spec(10, 2), extra, NULL);
  deep_walk(&rig, 150, &walk);
  const dqn *c = rig.self;
  for (int64_t i = 0; i < c->dim; i++) sum += c->w[i];
  deep_close(&rig);
  return sum;
}

/* Double Q, n-step targets and priorities make eight agents of one, all different, and every one
 * comes out the same when it is repeated. */
static void parameters_combine(void **state) {
  (void)state;
  const char *const agents[] = {"dqn", "noisynet-dqn", "c51", "qr-dqn", "iqn"};
  for (size_t a = 0; a < sizeof agents / sizeof *agents; a++) {
    double sum[8];
    for (int k = 0; k < 8; k++) {
      sum[k] = fingerprint(agents[a], k & 1, k & 2 ? 3 : 1, k & 4);
      assert_true(isfinite(sum[k]));
      for (int other = 0; other < k; other++)
        if (sum[k] == sum[other]) fail_msg("%s: %d does as %d", agents[a], k, other);
    }
    assert_true(fingerprint(agents[a], true, 3, true) == sum[7]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agents_learn_the_arms_of_a_noisy_bandit),
      cmocka_unit_test(agents_learn_the_returns_of_a_random_chain),
      cmocka_unit_test(the_value_of_iqn_is_the_integral_of_its_quantiles),
      cmocka_unit_test(parameters_combine),
  };
  return cmocka_run_group_tests(tests, seed_rng, NULL);
}
