/* Pathwise LMCDQN: the law of its samples, its sweeps, and the noise of its targets. */
#include "pathwise_helpers.h"

#include <math.h>
#include <stdio.h>

/* ---- the law ---- */

/* The rewards of a pair: n of them, mean and variance. */
typedef struct pair_data {
  int cell, action;
  double n, mean, variance;
} pair_data;

typedef struct law {
  double mean, variance, correlation; /* correlation: between episodes */
} law;

/* Fixed targets: rewards that end the episode. The last pair was never tried. */
static const pair_data law_pairs[] = {
    {0, 1, 3, 2, 2.0 / 3}, {1, 1, 1, 1.5, 0}, {1, 0, 20, 0.5, 0.25}, {0, 0, 0, 0, 0}};
enum { LAW_PAIRS = sizeof law_pairs / sizeof *law_pairs };
static const double law_s0 = 2, law_sigma = 0.5, law_f[2] = {0.6, -0.4};

static void open_law(deep_rig *t, const char *extra) {
  char settings[256];
  snprintf(settings, sizeof settings, FROZEN "agent.prior=2 agent.sigma=0.5 %s", extra);
  deep_open(t, "pathwise-lmcdqn", deep_spec(4, 2), settings, NULL);
  set_network(t, 0.3f, -0.2f);
  for (int i = 0; i < 3; i++) step(t, 0, 1, 3, 1 + i, true);
  step(t, 1, 1, 3, 1.5, true);
  for (int i = 0; i < 20; i++) step(t, 1, 0, 3, i % 2, true);
}

/* N((k ybar + p f) / (k + p), 1 / (k + p)); M is the variance of the first pair. */
static law expected_law(const pair_data *d, double rho) {
  double noise = 2.0 / 3, p = 1 / (law_s0 * law_s0), k = 0;
  if (d->n > 0) k = d->n / (law_sigma * law_sigma + d->variance + noise / (d->n * d->n));
  return (law){(k * d->mean + p * law_f[d->action]) / (k + p), 1 / (k + p), rho};
}

enum { DRAWS = 20000 };

/* The samples of each pair over many episodes, each of one step elsewhere. */
static void draw_law(deep_rig *t, float sample[LAW_PAIRS][DRAWS]) {
  const float *value = deep_array(t, "pair.value", NULL);
  for (int i = -50; i < DRAWS; i++) {
    step(t, 2, 0, 3, 0, true);
    end_episode(t);
    for (int k = 0; k < LAW_PAIRS && i >= 0; k++)
      sample[k][i] = value[law_pairs[k].cell * 2 + law_pairs[k].action];
  }
}

static law measure(const float *x) {
  law m = {0};
  for (int i = 0; i < DRAWS; i++) m.mean += (double)x[i] / DRAWS;
  for (int i = 0; i < DRAWS; i++) {
    double error = (double)x[i] - m.mean;
    m.variance += error * error / DRAWS;
    if (i > 0) m.correlation += error * ((double)x[i - 1] - m.mean) / (DRAWS - 1);
  }
  m.correlation /= m.variance;
  return m;
}

/* Within 5 standard errors: draws with correlation rho count as T (1 - rho) / (1 + rho) for the
 * mean and as T (1 - rho^2) / (1 + rho^2) for the variance, and the correlation has the variance
 * (1 - rho^2) / T. */
static bool agrees(law m, law e) {
  double rho = e.correlation, T = DRAWS;
  double of_mean = sqrt(e.variance * (1 + rho) / (1 - rho) / T);
  double of_variance = e.variance * sqrt(2 * (1 + rho * rho) / (1 - rho * rho) / T);
  return fabs(m.mean - e.mean) < 5 * of_mean && fabs(m.variance - e.variance) < 5 * of_variance &&
         fabs(m.correlation - rho) < 5 * sqrt((1 - rho * rho) / T);
}

/* Different pairs are independent. */
static double correlation_between(const float *x, const float *y) {
  law a = measure(x), b = measure(y);
  double sum = 0;
  for (int i = 0; i < DRAWS; i++) sum += ((double)x[i] - a.mean) * ((double)y[i] - b.mean) / DRAWS;
  return sum / sqrt(a.variance * b.variance);
}

static void samples_have_the_law_of_the_posterior(void **state) {
  (void)state;
  static float sample[LAW_PAIRS][DRAWS];
  const double rhos[] = {0.5, 0, 0.8};
  for (int r = 0; r < 3; r++) {
    deep_rig t;
    char extra[32];
    double rho = rhos[r];
    snprintf(extra, sizeof extra, "agent.rho=%g", rho);
    open_law(&t, extra);
    draw_law(&t, sample);
    for (int k = 0; k < LAW_PAIRS; k++) {
      law m = measure(sample[k]), e = expected_law(&law_pairs[k], rho);
      if (!agrees(m, e))
        fail_msg("rho %g, pair %d: mean %g (%g), variance %g (%g), correlation %g", rho, k, m.mean,
                 e.mean, m.variance, e.variance, m.correlation);
      assert_false(agrees(m, (law){e.mean, 2 * e.variance, rho}));
      assert_false(agrees(m, (law){e.mean, e.variance / 2, rho}));
      assert_false(agrees(m, (law){e.mean, e.variance, rho + 0.1}));
      for (int j = 0; j < k; j++) {
        double error = sqrt((1 + rho * rho) / (1 - rho * rho) / DRAWS);
        assert_true(fabs(correlation_between(sample[j], sample[k])) < 5 * error);
      }
    }
    deep_close(&t);
  }
}

/* The mean of a tried pair is that of its data; an action that was never tried counts one deviation
 * of the prior less than the network. */
static void means_are_those_of_the_data(void **state) {
  (void)state;
  deep_rig t;
  open_law(&t, "");
  end_episode(&t);
  const float *mean = deep_array(&t, "pair.mean", NULL);
  for (int k = 0; k < LAW_PAIRS; k++) {
    const pair_data *d = &law_pairs[k];
    double expected = d->n > 0 ? d->mean : law_f[d->action] - law_s0;
    assert_float_equal(mean[d->cell * 2 + d->action], expected, 1e-5);
  }
  deep_close(&t);
}

/* The network must not promise more than data do: beyond two deviations of the prior and the means
 * of tried pairs it is cut. */
static void the_network_is_cut_to_what_data_support(void **state) {
  (void)state;
  const double rewards[] = {1, 10}, most[] = {4, 10};
  for (int i = 0; i < 2; i++) {
    deep_rig t;
    deep_open(&t, "pathwise-lmcdqn", deep_spec(4, 2), FROZEN "agent.prior=2 agent.sigma=0.01",
              NULL);
    set_network(&t, 9, -9);
    step(&t, 0, 1, 3, rewards[i], true);
    step(&t, 1, 0, 3, 0, true);
    end_episode(&t);
    const float *mean = deep_array(&t, "pair.mean", NULL);
    assert_float_equal(mean[0], most[i] - 2, 1e-3);
    assert_float_equal(mean[3], -4 - 2, 1e-3);
    deep_close(&t);
  }
}

/* ---- the chain and the work ---- */

/* All cells get new noise before an episode, also if the last step found a new pair, whose sweeps
 * have used up the work of the steps so far. */
static void every_episode_renews_all_noise(void **state) {
  (void)state;
  for (int is_new = 0; is_new <= 1; is_new++) {
    deep_rig t;
    float before[2][8];
    deep_open(&t, "pathwise-lmcdqn", deep_spec(4, 2), FROZEN, NULL);
    for (int i = 0; i < 4; i++) step(&t, i, 0, 3, 0, true);
    const float *noise[] = {deep_array(&t, "pair.prior", NULL), deep_array(&t, "pair.noise", NULL)};
    end_episode(&t);
    for (int i = 0; i < 8; i++) step(&t, i % 4, 0, 3, 0, true);
    step(&t, 3, is_new, 3, 0, true);
    for (int k = 0; k < 2; k++) memcpy(before[k], noise[k], sizeof before[k]);
    end_episode(&t);
    for (int i = 0; i < 16; i++) assert_true(noise[i / 8][i % 8] != before[i / 8][i % 8]);
    deep_close(&t);
  }
}

/* agent.work = 40 pairs per step are 2 cells for 10 sweeps over 2 actions; 3 steps pay for 6. */
static void work_bounds_the_cells_of_a_sweep(void **state) {
  (void)state;
  deep_rig t;
  float before[40];
  deep_open(&t, "pathwise-lmcdqn", deep_spec(20, 2), FROZEN "agent.work=40", NULL);
  for (int i = 0; i < 20; i++) step(&t, i, 0, 3, 0, true);
  end_episode(&t);
  const float *value = deep_array(&t, "pair.value", NULL);
  for (int i = 0; i < 3; i++) step(&t, i, 0, 3, 0, true);
  memcpy(before, value, sizeof before);
  end_episode(&t);
  for (int i = 0; i < 40; i++) { /* the most recent: 2, 1, 0, 19, 18, 17; 3 was never an outcome */
    bool renewed = i < 6 || i >= 34;
    assert_int_equal(value[i] != before[i], renewed);
  }
  deep_close(&t);
}

/* A sweep carries a reward back along a whole episode: the work of 60 steps pays for 10 sweeps over
 * 30 cells, and in the opposite order each of them would carry it back by one cell. */
static void a_sweep_carries_the_end_back_to_the_beginning(void **state) {
  (void)state;
  enum { LENGTH = 30 };
  deep_rig t;
  deep_open(&t, "pathwise-lmcdqn", deep_spec(LENGTH, 2),
            FROZEN "agent.work=10 agent.prior=10 agent.sigma=1e-4 agent.gamma=0.9", NULL);
  for (int i = 0; i < LENGTH; i++) step(&t, i, 1, i + 1, 0, i == LENGTH - 1);
  for (int i = 0; i < LENGTH; i++) step(&t, i, 1, i + 1, -1, i == LENGTH - 1);
  end_episode(&t);
  const float *mean = deep_array(&t, "pair.mean", NULL);
  double y = 0;
  for (int i = LENGTH - 1; i >= 0; i--) {
    y = -0.5 + 0.9 * y; /* untried actions count -10 */
    assert_float_equal(mean[i * 2 + 1], y, 1e-4);
  }
  deep_close(&t);
}

/* A circle of two cells with the reward 1 is worth 1 / (1 - gamma) = 20, which takes many sweeps.
 * They continue until no value changes by 0.01 (1 - gamma) s0, so that none is further than 0.01 s0
 * from the solution. With less work they end before. */
static void sweeps_go_on_until_the_sample_has_settled(void **state) {
  (void)state;
  const int works[] = {20000, 40};
  double error[2] = {0};
  for (int k = 0; k < 2; k++) {
    deep_rig t;
    char extra[128];
    snprintf(extra, sizeof extra, FROZEN "agent.work=%d agent.prior=1 agent.sigma=1e-4 %s",
             works[k], "agent.gamma=0.95");
    deep_open(&t, "pathwise-lmcdqn", deep_spec(2, 2), extra, NULL);
    for (int i = 0; i < 4; i++) step(&t, i / 2, i % 2, 1 - i / 2, 1, false);
    end_episode(&t);
    const float *value = deep_array(&t, "pair.value", NULL);
    for (int i = 0; i < 4; i++) error[k] = fmax(error[k], fabs((double)value[i] - 20));
    deep_close(&t);
  }
  assert_true(error[0] < 0.02);
  assert_true(error[1] > 0.02);
}

/* The same circle where names are not exact. From V = 0, each visit of a cell adds one reward, and
 * 10 sweeps in place visit the two cells 20 times. Exact names reach 1 / (1 - gamma). */
static void sweeps_over_coarse_cells_are_few(void **state) {
  (void)state;
  for (int coarse = 0; coarse <= 1; coarse++) {
    deep_rig t;
    lgv_env_spec env = deep_spec(2, 2);
    env.obs_form = LGV_FORM_DENSE;
    deep_open(&t, "pathwise-lmcdqn", env, FROZEN "agent.prior=1 agent.sigma=1e-4 agent.gamma=0.99",
              NULL);
    if (coarse) blur(&t, 2);
    for (int i = 0; i < 4; i++) step(&t, i / 2, i % 2, 1 - i / 2, 1, false);
    float *best = deep_array(&t, "cell.best", NULL);
    best[0] = best[1] = 0;
    end_episode(&t); /* the newest cell is 0 */
    for (int i = 0; i < 2; i++) {
      double rewards = coarse ? (1 - pow(0.99, 19 + i)) / (1 - 0.99) : 100;
      assert_float_equal(best[i], rewards, 0.05);
    }
    deep_close(&t);
  }
}

/* ---- the noise of targets ---- */

enum { STATES = 6, FIRST = 10, EPISODES = 200, LIST = (EPISODES + 1) * STATES };

typedef struct record {
  int from, action, to; /* to: -1 if the step ended the episode */
  double reward;
} record;

/* The steps so far, and what they are tested with. */
typedef struct noise_test {
  deep_rig t;
  record list[LIST];
  int steps;
  bool exact; /* names */
  double sigma;
  int above, below; /* how often a target was beyond the best and the worst of its next cells */
} noise_test;

static const double noise_gamma = 0.9, noise_s0 = 1.5, noise_f[2] = {0.15, 0.3};

/* The targets of a pair with the values V. */
typedef struct target_data {
  double n, mean, rewards, futures; /* the variances of rewards and of next values */
  double ended, lowest, highest;    /* the share of ends; the mean if the next cell were ... */
} target_data;

static target_data data_of(const noise_test *test, int pair, const double *V) {
  double sum[2] = {0}, squares[2] = {0}, low = INFINITY, high = -INFINITY;
  target_data d = {0};
  for (int i = 0; i < test->steps; i++) {
    const record *r = &test->list[i];
    if (r->from * 2 + r->action != pair) continue;
    const double part[2] = {r->reward, r->to < 0 ? 0 : noise_gamma * V[r->to]};
    d.n++;
    d.ended += r->to < 0;
    for (int k = 0; k < 2; k++) sum[k] += part[k], squares[k] += part[k] * part[k];
    low = fmin(low, part[1]), high = fmax(high, part[1]);
  }
  if (d.n == 0) return d;
  double reward = sum[0] / d.n, future = sum[1] / d.n;
  d.mean = reward + future;
  d.rewards = squares[0] / d.n - reward * reward;
  d.futures = squares[1] / d.n - future * future;
  d.ended /= d.n;
  d.lowest = reward + low, d.highest = reward + high;
  return d;
}

/* The formula; most: M. */
static double expected_value(noise_test *test, target_data d, int pair, double most) {
  const float *x = deep_array(&test->t, "pair.prior", NULL);
  const float *noise = deep_array(&test->t, "pair.noise", NULL);
  double prior = noise_f[pair % 2] + noise_s0 * (double)x[pair], zeta = (double)noise[pair];
  if (d.n == 0) return prior;
  double once = test->exact ? d.ended + (1 - d.ended) * (1 - noise_gamma) : 1;
  double own = test->sigma * test->sigma + d.rewards + once * once * most / (d.n * d.n);
  double v = own + d.futures, k = d.n / v, p = 1 / (noise_s0 * noise_s0);
  double y = d.mean + sqrt(v / d.n) * zeta, wide = sqrt(own / d.n) * fabs(zeta);
  bool above = y > d.highest + wide + 1e-6, below = y < d.lowest - wide - 1e-6;
  test->above += above, test->below += below;
  if (test->exact && above) y = d.highest + wide;
  if (test->exact && below) y = d.lowest - wide;
  return (k * y + p * prior) / (k + p);
}

static void take_step(noise_test *test, int from, int action, int to, double reward) {
  test->list[test->steps++] = (record){from, action, to < STATES ? to : -1, reward};
  step(&test->t, from, action, to < STATES ? to : 0, reward, to >= STATES);
}

/* All values and means against the list of steps. */
static void assert_values(noise_test *test) {
  const float *value = deep_array(&test->t, "pair.value", NULL);
  const float *mean = deep_array(&test->t, "pair.mean", NULL);
  const float *n = deep_array(&test->t, "pair.count", NULL);
  double V[STATES], mean_V[STATES], most = 0;
  for (int s = 0; s < STATES; s++) {
    V[s] = fmax((double)value[2 * s], (double)value[2 * s + 1]);
    mean_V[s] = fmax((double)mean[2 * s], (double)mean[2 * s + 1]);
  }
  for (int i = 0; i < 2 * STATES; i++) {
    target_data d = data_of(test, i, V);
    most = fmax(most, d.rewards + d.futures);
  }
  target_data noisiest = data_of(test, 2 * STATES - 1, V);
  assert_true(most == noisiest.rewards); /* so that M does not depend on V */
  for (int i = 0; i < 2 * STATES; i++) {
    target_data d = data_of(test, i, V);
    assert_float_equal(n[i], d.n, 0);
    double q = expected_value(test, d, i, most);
    if (fabs((double)value[i] - q) > 1e-4)
      fail_msg("step %d, pair %d: %g, not %g", test->steps, i, (double)value[i], q);
    double m = d.n > 0 ? data_of(test, i, mean_V).mean : noise_f[i % 2] - noise_s0;
    assert_float_equal(mean[i], m, 1e-4);
  }
}

/* An episode visits all states in their order, each step leads to a later state, and so one sweep
 * is exact. The pair (0, 1) is always the same, (4, 1) was never tried, and (5, 1) is the noisiest
 * one. In the first episodes (2, 1) leads to 4 and (3, 1) to 5, the worse one, all times but one,
 * so that noise often leads beyond. */
static void play_noisy_episode(noise_test *test, int episode, lgv_rng *rng) {
  for (int from = 0; from < STATES; from++) {
    int action = from == 2 || from == 3 ? episode < FIRST : (int)lgv_rng_below(rng, 2);
    int to = from + 1 + (int)lgv_rng_below(rng, 3);
    double reward = 0.3 * lgv_rng_normal(rng) + 3 * (from == 4);
    if (from == 0 && action == 1) to = 3, reward = 0.25;
    if (action == 1 && (from == 2 || from == 3))
      to = (from == 2) == (episode > 0) ? 4 : 5, reward = 0;
    if (from == 4) action = 0, to = STATES;
    if (from == 5 && episode < FIRST) action = 1;
    if (from == 5 && action == 1) reward = episode % 2 ? 2.5 : -2.5;
    take_step(test, from, action, to, reward);
  }
  end_episode(&test->t);
}

/* Exact names are those of indices and of vectors at level 0. */
static void open_noise_test(noise_test *test, const char *sigma, bool dense) {
  char settings[256];
  lgv_env_spec env = deep_spec(STATES, 2);
  if (dense) env.obs_form = LGV_FORM_DENSE;
  snprintf(settings, sizeof settings, FROZEN "agent.prior=1.5 agent.gamma=0.9 %s", sigma);
  deep_open(&test->t, "pathwise-lmcdqn", env, settings, NULL);
  set_network(&test->t, 0.1f, 0.2f);
  if (!test->exact) blur(&test->t, STATES);
}

/* Every value against the formula with v = sigma^2 + S + once^2 M / n^2 and its limit, where S, M,
 * the share of ends and the next cells come from the list of steps. */
static void targets_vary_as_their_list_says(void **state) {
  (void)state;
  const struct {
    const char *setting;
    bool dense, exact;
    double sigma;
  } cases[] = {{"", false, true, 0.1 * (1 - 0.9) * 1.5},
               {"agent.sigma=0.2", false, true, 0.2},
               {"", true, true, 0.1 * (1 - 0.9) * 1.5},
               {"", true, false, (1 - 0.9) * 1.5},
               {"agent.sigma=0.05", true, false, 0.05}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    static noise_test test;
    lgv_rng rng;
    test = (noise_test){.exact = cases[k].exact, .sigma = cases[k].sigma};
    open_noise_test(&test, cases[k].setting, cases[k].dense);
    lgv_rng_seed(&rng, 1, "test");
    for (int i = 0; i < STATES; i++) take_step(&test, i, 0, STATES, 1); /* cells by state */
    for (int i = 0; i < EPISODES; i++) {
      play_noisy_episode(&test, i, &rng);
      if (i >= FIRST) assert_values(&test);
    }
    assert_true(test.above >= 10 && test.below >= 10);
    deep_close(&test.t);
  }
}

static void one_noisy_reward_is_not_taught(void **state) {
  (void)state;
  for (int exact = 0; exact < 2; exact++) {
    static noise_test test;
    test = (noise_test){.exact = exact};
    open_noise_test(&test, "", !exact);
    for (int i = 0; i < STATES; i++) take_step(&test, i, 0, STATES, 0); /* cells by state */
    const uint8_t *taught = deep_array(&test.t, "pair.taught", NULL);
    assert_int_equal(taught[2 * 3 + 1], 0); /* never tried */
    for (int i = 0; i < 8; i++) take_step(&test, 5, 1, STATES, i % 2 ? 2.5 : -2.5); /* M = 6.25 */
    end_episode(&test.t);
    take_step(&test, 3, 1, STATES, -2);
    assert_int_equal(taught[2 * 3 + 1], !exact); /* 6.25 > s0^2 */
    take_step(&test, 3, 1, STATES, 0);
    assert_int_equal(taught[2 * 3 + 1], 1); /* (1 + 6.25 / 4) / 2 */
    deep_close(&test.t);
  }
}

/* s0: agent.prior, else a quarter of the greatest reward that is stated, else of the one seen; the
 * mean of an action that was never tried shows it. */
static void the_prior_follows_the_rewards(void **state) {
  (void)state;
  const struct {
    const char *extra;
    double low, high, seen, s0;
  } cases[] = {{"agent.prior=3", -1, 20, 5, 3},
               {"", -20, 1, 5, 5},
               {"", -1, 20, 5, 5},
               {"", 0, 0, 6, 1.5},
               {"", 0, 0, -6, 1.5},
               {"", 0, 0, 0.1, 0.25},
               {"", -INFINITY, INFINITY, 6, 1.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    deep_rig t;
    lgv_env_spec env = deep_spec(4, 2);
    env.reward_min = cases[i].low, env.reward_max = cases[i].high;
    deep_open(&t, "pathwise-lmcdqn", env, cases[i].extra, NULL);
    step(&t, 0, 1, 3, cases[i].seen, true);
    end_episode(&t);
    const float *mean = deep_array(&t, "pair.mean", NULL);
    const float *base = deep_array(&t, "pair.base", NULL);
    assert_float_equal(mean[0], cases[i].s0 * ((double)base[0] - 1), 1e-4);
    deep_close(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_have_the_law_of_the_posterior),
      cmocka_unit_test(means_are_those_of_the_data),
      cmocka_unit_test(the_network_is_cut_to_what_data_support),
      cmocka_unit_test(every_episode_renews_all_noise),
      cmocka_unit_test(work_bounds_the_cells_of_a_sweep),
      cmocka_unit_test(a_sweep_carries_the_end_back_to_the_beginning),
      cmocka_unit_test(sweeps_go_on_until_the_sample_has_settled),
      cmocka_unit_test(sweeps_over_coarse_cells_are_few),
      cmocka_unit_test(targets_vary_as_their_list_says),
      cmocka_unit_test(one_noisy_reward_is_not_taught),
      cmocka_unit_test(the_prior_follows_the_rewards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
