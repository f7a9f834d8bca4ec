/* Linear agents with a feature map: the history behind the verbs of lsvi_core. */
#include "linear_helpers.h"

#include "temp_root.h"

extern const lgv_feature_type lgv__features_rbf, lgv__features_tiles;

enum { LENGTH = 200 };

static float *one_hot_rows(int64_t states) {
  float *rows = test_calloc((size_t)(states * states), sizeof *rows);
  for (int64_t i = 0; i < states; i++) rows[i * states + i] = 1;
  return rows;
}

/* ---- one-hot observations through a history, and counts ---- */

enum { STATES = 5, HORIZON = 6, EPISODES = 30 };

static lgv_env_spec tabular(void) {
  lgv_env_spec spec = make_spec(STATES, 2, HORIZON);
  spec.obs_form = LGV_FORM_ONE_HOT;
  spec.obs_shape[0] = STATES;
  spec.obs_shape[1] = spec.obs_shape[2] = 1;
  return spec;
}

/* Episodes of a fixed chain: the same for every agent. Some end early. */
static void feed_episodes(lgv_agent *agent, const float *rows, int episodes) {
  lgv_error err = {0};
  for (int k = 0; k < episodes; k++) {
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    int64_t s = k % STATES;
    for (int64_t h = 0; h < HORIZON; h++) {
      int64_t next = (s * 3 + h + k) % STATES;
      bool ends = (k + h) % 11 == 10;
      lgv_transition t = {.obs = {.data = rows + s * STATES, .state = s, .stage = h},
                          .next = {.data = rows + next * STATES, .state = next, .stage = h + 1},
                          .action = choice((k + (int)h * 5) % 3 % 2),
                          .reward = (double)((k * 7 + h) % 4) / 3,
                          .terminated = ends,
                          .truncated = h + 1 == HORIZON};
      assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
      s = next;
      if (ends) break;
    }
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
  assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
}

static double greatest_difference(lgv_agent *a, lgv_agent *b, const float *rows) {
  double most = 0, qa[2], qb[2];
  lgv_error err = {0};
  for (int64_t h = 0; h < HORIZON; h++)
    for (int64_t s = 0; s < STATES; s++) {
      lgv_obs obs = {.data = rows + s * STATES, .state = s, .stage = h};
      assert_int_equal(lgv_agent_q_values(a, &obs, 1, qa, &err), LGV_OK);
      assert_int_equal(lgv_agent_q_values(b, &obs, 1, qb, &err), LGV_OK);
      for (int i = 0; i < 2; i++) most = fmax(most, fabs(qa[i] - qb[i]));
    }
  return most;
}

static void one_hot_through_a_history_is_the_tabular_agent(void **state) {
  (void)state;
  static const char *const agents[][2] = {
      {"lmc-lsvi", "agent.lambda=0.5 agent.beta=inf"},
      {"lmc-lsvi", "agent.lambda=0.5 agent.beta=inf agent.sampler=loop"},
      {"ms-lmc-lsvi", "agent.lambda=0.5 agent.beta=inf agent.samples=3"},
      {"lsvi-ucb", "agent.lambda=0.5 agent.bonus=0.7"},
      {"lsvi-phe", "agent.lambda=0.5 agent.sigma=0 agent.samples=2"},
      {"opt-rlsvi", "agent.lambda=1 agent.sigma=0 agent.alpha_low=0.3 agent.alpha_high=0.6"}};
  lgv_env_spec spec = tabular();
  float *rows = one_hot_rows(STATES);
  for (size_t i = 0; i < sizeof agents / sizeof *agents; i++)
    for (int pool = 0; pool < 2; pool++) {
      char counted[256], kept[300];
      snprintf(counted, sizeof counted, "%s agent.pool=%s", agents[i][1], pool ? "true" : "false");
      snprintf(kept, sizeof kept, "%s agent.features=identity", counted);
      lgv_agent *a = make_agent(agents[i][0], &spec, counted);
      lgv_agent *b = make_agent(agents[i][0], &spec, kept);
      feed_episodes(a, rows, EPISODES);
      feed_episodes(b, rows, EPISODES);
      double most = greatest_difference(a, b, rows);
      if (!(most < 2e-6)) fail_msg("%s %s: %g", agents[i][0], kept, most);
      lgv_agent_free(a);
      lgv_agent_free(b);
    }
  test_free(rows);
}

/* ---- a continuous task ---- */

static const float low[2] = {-1.2f, -0.07f}, high[2] = {0.6f, 0.07f};

static lgv_env_spec continuous(void) {
  lgv_env_spec spec = make_spec(0, 3, 0);
  spec.obs_shape[0] = 2;
  spec.obs_shape[1] = spec.obs_shape[2] = 1;
  spec.obs_low = low;
  spec.obs_high = high;
  return spec;
}

static lgv_agent *make_agent_with(const lgv_feature_type *map, const char *name,
                                  const lgv_env_spec *spec, const char *extra) {
  lgv_settings *settings = make_settings(NULL, name, extra);
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_features(settings, map, &err), LGV_OK);
  if (lgv_agent_create(settings, spec, 100, 0, 1, &agent, &err) != LGV_OK)
    fail_msg("%s", err.message);
  lgv_settings_free(settings);
  return agent;
}

/* Observations of a walk, two floats each. */
static void make_walk(float *x, int n) {
  for (int i = 0; i < n; i++) {
    x[2 * i] = (float)(-0.3 + 0.8 * sin(0.37 * i));
    x[2 * i + 1] = (float)(0.06 * cos(0.61 * i));
  }
}

static void feed_walk(lgv_agent *agent, const float *x, int first, int steps, const uint8_t *mask) {
  lgv_error err = {0};
  for (int i = first; i < first + steps; i++) {
    lgv_transition t = {
        .obs = {.data = x + 2 * i, .state = -1, .stage = i - first, .mask = mask},
        .next = {.data = x + 2 * i + 2, .state = -1, .stage = i - first + 1, .mask = mask},
        .action = choice(i % 7 % 3),
        .reward = (i % 5) * .25,
        .terminated = i == first + steps - 1};
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
  }
}

/* ---- Proposition 1 ---- */

/* w after J steps from w_0 is N(A^J w_0 + (I - A^J) w_hat, (1/beta) (I - A^2J) Lambda^-1
 * (I + A)^-1). gamma = 0: the targets are the rewards, less the prior mean. */
enum { MOST_M = 4, ACTIONS = 3, STEPS = 60, J = 3, LAWS = 20000 };
static const double law_lambda = 0.05, law_beta = 2, law_eta_scale = 0.2;

/* Features of an observation, written out; returns their number. */
typedef int closed_form(const float *x, double *psi);

static int position_and_velocity(const float *x, double *psi) {
  psi[0] = (double)x[0];
  psi[1] = (double)x[1];
  return 2;
}

/* Bumps at the corners of the box, of the width of its sides, divided by their length. */
static int four_bumps(const float *x, double *psi) {
  double sum = 0;
  for (int j = 0; j < 4; j++) {
    double square = 0;
    for (int i = 0; i < 2; i++) {
      double range = (double)high[i] - (double)low[i];
      square += pow(((double)x[i] - (double)low[i]) / range - (j >> i & 1), 2);
    }
    psi[j] = exp(-square / 2);
    sum += psi[j] * psi[j];
  }
  for (int j = 0; j < 4; j++) psi[j] /= sqrt(sum);
  return 4;
}

static matrix lambda_by_hand(closed_form *features, const float *x, double center, double *b) {
  matrix lambda = {0};
  double psi[MOST_M];
  for (int t = 0; t < STEPS; t++) {
    int m = features(x + 2 * t, psi), at = t % 7 % 3 * m;
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < m; j++) lambda.at[at + i][at + j] += psi[i] * psi[j];
      b[at + i] += psi[i] * ((t % 5) * .25 - center);
    }
  }
  for (int i = 0; i < MOST_D; i++) lambda.at[i][i] += law_lambda;
  return lambda;
}

static double greatest_eigenvalue(const matrix *m, int d) {
  double x[MOST_D], y[MOST_D], norm = 0;
  for (int i = 0; i < d; i++) x[i] = 1 - .05 * i;
  for (int n = 0; n < 2000; n++) {
    apply(m, x, y, d);
    norm = 0;
    for (int i = 0; i < d; i++) norm += y[i] * y[i];
    norm = sqrt(norm);
    for (int i = 0; i < d; i++) x[i] = y[i] / norm;
  }
  return norm;
}

static matrix covariance_by_hand(const matrix *lambda, const matrix *a, int d) {
  matrix plus = identity(d), rest = identity(d), cov = {0};
  matrix a_2j = power(a, 2 * J, d), inv = inverse(lambda, d);
  add_scaled(&plus, 1, a, d);
  add_scaled(&rest, -1, &a_2j, d);
  matrix half = product(&rest, &inv, d), inv_plus = inverse(&plus, d);
  matrix whole = product(&half, &inv_plus, d);
  add_scaled(&cov, 1 / law_beta, &whole, d);
  return cov;
}

static void assert_chain_law(const char *map, closed_form *features, int d) {
  float x[2 * (STEPS + 1)];
  double b[MOST_D] = {0}, w_hat[MOST_D], mean[MOST_D], shift[MOST_D];
  const double start[MOST_D] = {1, -2, .5, 3, -1, 2, 0, -3, 1.5, .25, -.75, 4};
  make_walk(x, STEPS + 1);
  matrix lambda = lambda_by_hand(features, x, 1, b), a = identity(d);
  solve_directly(lambda, b, w_hat, d);
  add_scaled(&a, -2 * law_eta_scale / greatest_eigenvalue(&lambda, d), &lambda, d);
  matrix a_j = power(&a, J, d), cov = covariance_by_hand(&lambda, &a, d);
  for (int i = 0; i < d; i++) shift[i] = start[i] - w_hat[i];
  apply(&a_j, shift, mean, d);
  for (int i = 0; i < d; i++) mean[i] += w_hat[i];

  char extra[256];
  snprintf(extra, sizeof extra,
           "%s agent.gamma=0 agent.sweeps=1 agent.lambda=%g agent.beta=%g agent.eta_scale=%g "
           "agent.updates=%d",
           map, law_lambda, law_beta, law_eta_scale, J);
  lgv_env_spec spec = continuous();
  lgv_agent *agent = make_agent("lmc-lsvi", &spec, extra);
  lgv_error err = {0};
  size_t count;
  feed_walk(agent, x, 0, STEPS, NULL);
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  double *w = (double *)agent_array(agent, "w", &count);
  assert_int_equal(count, d);
  moments samples = {.d = d};
  for (int n = 0; n < LAWS; n++) {
    memcpy(w, start, (size_t)d * sizeof *start);
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    add_sample(&samples, w);
  }
  assert_law(&samples, mean, &cov);
  lgv_agent_free(agent);
}

static void the_chain_has_its_law_on_continuous_observations(void **state) {
  (void)state;
  assert_chain_law("agent.features=identity", position_and_velocity, ACTIONS * 2);
}

static void the_chain_has_its_law_with_bumps(void **state) {
  (void)state;
  assert_chain_law("agent.features=rbf features.points=2", four_bumps, ACTIONS * 4);
}

/* ---- one plan until the next ---- */

/* Observations without bounds: an episode that goes far beyond the box leaves the values of the
 * current plan as they are, widths and all, until the next plan. */
static void values_stay_those_of_their_plan(void **state) {
  (void)state;
  static const char *const names[] = {"lmc-lsvi", "lsvi-ucb", "opt-rlsvi"};
  lgv_env_spec spec = continuous();
  spec.obs_low = spec.obs_high = NULL;
  float x[2 * (LENGTH + 1)];
  make_walk(x, LENGTH + 1);
  for (int i = 2 * 41; i < 2 * (LENGTH + 1); i++) x[i] *= 5;
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    lgv_agent *agent = make_agent(names[n], &spec, "agent.features=rbf features.points=4");
    lgv_obs obs = {.data = x + 10, .state = -1};
    lgv_error err = {0};
    double before[3], after[3], next[3];
    feed_walk(agent, x, 0, 40, NULL);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
    begin(agent);
    assert_int_equal(lgv_agent_q_values(agent, &obs, 1, before, &err), LGV_OK);
    feed_walk(agent, x, 41, 40, NULL);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
    assert_int_equal(lgv_agent_q_values(agent, &obs, 1, after, &err), LGV_OK);
    assert_memory_equal(before, after, sizeof before);
    begin(agent);
    assert_int_equal(lgv_agent_q_values(agent, &obs, 1, next, &err), LGV_OK);
    assert_memory_not_equal(before, next, sizeof before);
    lgv_agent_free(agent);
  }
}

/* The prior mean follows returns, which are data: plan after plan without new data, however large
 * the noise, leaves it where it is. */
static void noise_does_not_move_the_prior_mean(void **state) {
  (void)state;
  lgv_env_spec spec = continuous();
  spec.reward_max = 10;
  lgv_agent *agent = make_agent("rlsvi", &spec, "agent.features=rbf agent.prior_std=1");
  lgv_error err = {0};
  float x[2 * (LENGTH + 1)];
  double first = 0;
  make_walk(x, LENGTH + 1);
  feed_walk(agent, x, 0, 10, NULL);
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  for (int k = 0; k < 20; k++) {
    begin(agent);
    double center = array_of(agent, "lsvi.rules")[0];
    if (k == 0) first = center;
    assert_true(center == first);
  }
  assert_true(first > 0);
  lgv_agent_free(agent);
}

/* ---- a map that fails ---- */

static int calls_to_failure; /* of failing_map with several rows; 0: none fails */

static lgv_status failing_map(const void *self, const float *x, int64_t count, float *out,
                              lgv_error *err) {
  if (count > 1 && calls_to_failure > 0 && --calls_to_failure == 0)
    return lgv_fail(err, LGV_ERR_USAGE, "no sun today");
  return lgv__features_rbf.map(self, x, count, out, err);
}

/* A map that fails after the box of the inputs has grown leaves the agent with its last plan. The
 * next plan is the one that an agent without the failure makes, bit for bit. */
static void a_failing_map_leaves_the_last_plan(void **state) {
  (void)state;
  static const char *const names[] = {"lmc-lsvi", "lsvi-ucb", "rlsvi"};
  static const char settings[] = "agent.features=failing features.points=4 agent.sweeps=3";
  lgv_feature_type type = lgv__features_rbf;
  type.name = "failing";
  type.map = failing_map;
  lgv_env_spec spec = continuous();
  spec.obs_low = spec.obs_high = NULL;
  float x[2 * (2 * LENGTH + 2)];
  make_walk(x, 2 * LENGTH + 2);
  for (int i = 2 * (LENGTH + 1); i < 2 * (2 * LENGTH + 2); i++) x[i] *= 5;
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (int call = 1; call <= 2; call++) { /* the first block of rows, or the second */
      lgv_agent *failed = make_agent_with(&type, names[n], &spec, settings);
      lgv_agent *sound = make_agent_with(&type, names[n], &spec, settings);
      lgv_obs obs = {.data = x + 10, .state = -1};
      lgv_error err = {0};
      double before[3], after[3], expected[3];
      for (int i = 0; i < 2; i++) {
        lgv_agent *agent = i ? sound : failed;
        feed_walk(agent, x, 0, LENGTH, NULL);
        assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
        begin(agent);
        feed_walk(agent, x, LENGTH + 1, LENGTH, NULL);
        assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
      }
      assert_int_equal(lgv_agent_q_values(failed, &obs, 1, before, &err), LGV_OK);
      calls_to_failure = call;
      assert_int_equal(lgv_agent_begin_episode(failed, &err), LGV_ERR_USAGE);
      assert_int_equal(calls_to_failure, 0);
      assert_int_equal(lgv_agent_q_values(failed, &obs, 1, after, &err), LGV_OK);
      assert_memory_equal(before, after, sizeof before);
      begin(failed);
      begin(sound);
      assert_int_equal(lgv_agent_q_values(failed, &obs, 1, after, &err), LGV_OK);
      assert_int_equal(lgv_agent_q_values(sound, &obs, 1, expected, &err), LGV_OK);
      assert_memory_equal(after, expected, sizeof after);
      assert_memory_not_equal(before, after, sizeof before);
      lgv_agent_free(failed);
      lgv_agent_free(sound);
    }
}

/* ---- sparse features ---- */

/* A map by the places of its features, and the same features as floats. */
static lgv_status dense_tiles_map(const void *self, const float *x, int64_t count, float *out,
                                  lgv_error *err) {
  return lgv__features_tiles.map(self, x, count, out, err);
}

static void sparse_features_are_dense_ones(void **state) {
  (void)state;
  static const char *const names[] = {"lmc-lsvi", "lsvi-ucb", "ms-lmc-lsvi", "rlsvi"};
  lgv_feature_type dense = lgv__features_tiles;
  dense.name = "dense-tiles";
  dense.map = dense_tiles_map;
  dense.active = NULL;
  dense.places = NULL;
  lgv_env_spec spec = continuous();
  float x[2 * (LENGTH + 1)];
  make_walk(x, LENGTH + 1);
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    lgv_agent *agents[2];
    double q[2][3];
    lgv_error err = {0};
    for (int i = 0; i < 2; i++) {
      agents[i] = make_agent_with(&dense, names[n], &spec,
                                  i ? "agent.lambda=0.1 agent.features=dense-tiles"
                                    : "agent.lambda=0.1 agent.features=tiles");
      for (int k = 0; k < 4; k++) {
        begin(agents[i]);
        feed_walk(agents[i], x, 40 * k, 40, NULL);
        assert_int_equal(lgv_agent_end_episode(agents[i], &err), LGV_OK);
      }
      begin(agents[i]);
    }
    for (int at = 0; at < LENGTH; at += 7) {
      lgv_obs obs = {.data = x + 2 * at, .state = -1};
      for (int i = 0; i < 2; i++)
        assert_int_equal(lgv_agent_q_values(agents[i], &obs, 1, q[i], &err), LGV_OK);
      for (int a = 0; a < 3; a++)
        if (fabs(q[0][a] - q[1][a]) > 1e-3) fail_msg("%s: %g %g", names[n], q[0][a], q[1][a]);
    }
    for (int i = 0; i < 2; i++) lgv_agent_free(agents[i]);
  }
}

/* ---- files ---- */

static void act_and_feed(lgv_agent *agent, const float *x, int first, int steps, int32_t *actions) {
  lgv_error err = {0};
  for (int i = first; i < first + steps; i++) {
    lgv_obs obs = {.data = x + 2 * i, .state = -1, .stage = i - first};
    lgv_action action;
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_OK);
    actions[i] = action.choice;
    lgv_transition t = {.obs = obs,
                        .next = {.data = x + 2 * i + 2, .state = -1, .stage = i - first + 1},
                        .action = &action,
                        .reward = action.choice * .5 - (double)(i % 3)};
    assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
  }
}

static void train(lgv_agent *agent, const float *x, int first, int episodes, int32_t *actions) {
  lgv_error err = {0};
  for (int k = 0; k < episodes; k++) {
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    act_and_feed(agent, x, first + 20 * k, 20, actions);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
}

/* A fresh agent, and one that has other rows and features in its caches, continue from a file as
 * the one that wrote it, within an episode and after it. The box of the inputs grows: it has no
 * bounds. */
static void a_loaded_agent_continues_bit_for_bit(void **state) {
  (void)state;
  static const char *const names[] = {"lmc-lsvi", "ms-lmc-lsvi", "lsvi-ucb",
                                      "lsvi-phe", "opt-rlsvi",   "rlsvi"};
  lgv_env_spec spec = continuous();
  spec.obs_low = spec.obs_high = NULL;
  float x[2 * (LENGTH + 1)], other[2 * (LENGTH + 1)];
  int32_t expected[LENGTH], actions[LENGTH];
  make_walk(x, LENGTH + 1);
  for (int i = 0; i < 2 * (LENGTH + 1); i++) other[i] = x[i] * 3 + 1;
  char path[TEMP_SIZE + 32];
  snprintf(path, sizeof path, "%s/agent.safetensors", root);
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    const char *extra = "agent.features=rbf features.points=4 agent.sweeps=5";
    lgv_agent *agents[3];
    lgv_error err = {0};
    for (int i = 0; i < 3; i++) agents[i] = make_agent(names[n], &spec, extra);
    train(agents[0], x, 0, 4, expected);
    train(agents[2], other, 0, 5, actions);
    assert_int_equal(lgv_agent_begin_episode(agents[0], &err), LGV_OK);
    act_and_feed(agents[0], x, 80, 10, expected);
    assert_int_equal(lgv_agent_save(agents[0], path, NULL, &err), LGV_OK);
    for (int i = 0; i < 3; i++) {
      int32_t *to = i ? actions : expected;
      if (i) assert_int_equal(lgv_agent_load(agents[i], path, &err), LGV_OK);
      act_and_feed(agents[i], x, 90, 10, to);
      assert_int_equal(lgv_agent_end_episode(agents[i], &err), LGV_OK);
      train(agents[i], x, 100, 4, to);
      if (i) assert_memory_equal(actions + 90, expected + 90, 90 * sizeof *actions);
      size_t count, same;
      const void *q = agent_array(agents[0], "lsvi.q", &count);
      if (i) assert_memory_equal(agent_array(agents[i], "lsvi.q", &same), q, count * 8);
    }
    for (int i = 0; i < 3; i++) lgv_agent_free(agents[i]);
  }
}

/* ---- a full history ---- */

static void a_full_history_forgets_the_oldest(void **state) {
  (void)state;
  lgv_env_spec spec = continuous();
  lgv_settings *settings = make_settings(NULL, "rlsvi", "agent.features=identity");
  lgv_agent *agent;
  lgv_error err = {0};
  assert_int_equal(lgv_agent_create(settings, &spec, 0, 19, 1, &agent, &err), LGV_OK);
  lgv_settings_free(settings); /* 19 steps take at most 40 rows */
  float x[2 * (LENGTH + 1)];
  size_t count;
  make_walk(x, LENGTH + 1);
  for (int k = 0; k < 8; k++) {
    feed_walk(agent, x, 20 * k, 20, NULL);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
  assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
  const int64_t *rows = agent_array(agent, "history.rows", &count);
  const float *obs = agent_array(agent, "history.obs", &count);
  const int32_t *action = agent_array(agent, "history.action", &count);
  const double *l = agent_array(agent, "lsvi.factor_columns", &count);
  assert_true(rows[0] <= 40 && rows[0] >= 30);
  assert_memory_equal(obs + 2 * (rows[0] - 1), x + 2 * 160, 2 * sizeof *x); /* the newest */
  for (int a = 0; a < 3; a++) {
    double lambda[4] = {1e-3, 0, 0, 1e-3};
    for (int64_t i = 0; i < rows[0]; i++)
      for (int j = 0; action[i] == a && j < 4; j++)
        lambda[j] += (double)obs[2 * i + j / 2] * (double)obs[2 * i + j % 2];
    const double *f = l + 4 * a; /* by columns */
    assert_true(fabs(f[0] * f[0] - lambda[0]) < 1e-9);
    assert_true(fabs(f[0] * f[1] - lambda[1]) < 1e-9);
    assert_true(fabs(f[1] * f[1] + f[3] * f[3] - lambda[3]) < 1e-9);
  }
  lgv_agent_free(agent);
}

/* ---- masks ---- */

/* Two transitions: 0 -> 1 by action 0, and 1 -> end, where action 2 pays 1 and action 1 pays .25.
 * Where action 2 is forbidden in state 1, state 0 must not count on it. Action 0, which was never
 * taken there, is always forbidden. */
static double value_of_the_first(bool forbidden) {
  lgv_env_spec spec = continuous();
  spec.obs_form = LGV_FORM_ONE_HOT;
  spec.masked = true;
  const float x[3][2] = {{1, 0}, {0, 1}, {0, 0}};
  const uint8_t all[3] = {1, 1, 1}, two[3] = {0, 1, 1}, one[3] = {0, 1, 0};
  lgv_agent *agent = make_agent("lmc-lsvi", &spec,
                                "agent.features=identity agent.beta=inf agent.lambda=1e-6 "
                                "agent.gamma=0.5 agent.sweeps=20");
  lgv_error err = {0};
  for (int k = 0; k < 4; k++) {
    int32_t second = 1 + k % 2;
    if (k == 2 && forbidden) second = 1;
    const uint8_t *mask = k >= 2 && forbidden ? one : two;
    if (k == 3 && forbidden) second = 1;
    lgv_transition go = {.obs = {.data = x[0], .state = -1, .stage = 0, .mask = all},
                         .next = {.data = x[1], .state = -1, .stage = 1, .mask = mask},
                         .action = choice(0)};
    lgv_transition end = {.obs = go.next,
                          .next = {.data = x[2], .state = -1, .stage = 2, .mask = all},
                          .action = choice(second),
                          .reward = second == 2 ? 1 : .25,
                          .terminated = true};
    if (k >= 2) assert_int_equal(lgv_agent_observe(agent, &go, &err), LGV_OK);
    assert_int_equal(lgv_agent_observe(agent, &end, &err), LGV_OK);
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
  double q[3];
  assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
  lgv_obs first = {.data = x[0], .state = -1, .stage = 0, .mask = all};
  assert_int_equal(lgv_agent_q_values(agent, &first, 1, q, &err), LGV_OK);
  lgv_agent_free(agent);
  return q[0];
}

static void targets_obey_masks(void **state) {
  (void)state;
  assert_true(fabs(value_of_the_first(false) - .5) < 1e-4);
  assert_true(fabs(value_of_the_first(true) - .125) < 1e-4);
}

/* ---- sizes, refusals ---- */

static void the_plan_counts_the_history(void **state) {
  (void)state;
  uint64_t bytes[2];
  for (int i = 0; i < 2; i++) {
    lgv_plan *plan =
        make_plan("mountain-car", "lmc-lsvi",
                  i ? "agent.features=rbf run.episodes=500" : "agent.features=rbf run.episodes=5");
    bytes[i] = lgv_plan_memory(plan);
    lgv_plan_free(plan);
  }
  double rows = 495 * 201, per_row = 2 * 4 + 4 + 4 + 8 + 1 + 121 * 4 + 8;
  assert_true(fabs((double)(bytes[1] - bytes[0]) - rows * per_row) < 4096);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const char *const wrong[][3] = {
      {"riverswim", "agent.form=discounted", "needs a feature map"},
      {"mountain-car", "agent.lambda=1", "set agent.features to a feature map"},
      {"mountain-car", "agent.features=rfb", "did you mean 'rbf'"},
      {"mountain-car", "agent.features=rbf features.low=1,2,3", "3 numbers"},
      {"mountain-car", "agent.features=rbf features.low=1,x", "number 2"},
      {"mountain-car", "agent.features=rbf features.low=1 features.high=1", "is not below"},
      {"mountain-car", "agent.features=rbf features.points=100", "more than 4096 features"},
      {"mountain-car", "agent.features=rbf agent.schedule=theory", "agent.schedule = tuned"},
      {"mountain-car", "agent.features=rbf features.low=1", "is not below its upper bound"},
      {"riverswim", "features.low=1", "uses no feature map"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    lgv_settings *settings = make_settings(wrong[i][0], "lmc-lsvi", wrong[i][1]);
    lgv_plan *plan;
    lgv_error err = {0};
    assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
    if (!strstr(err.message, wrong[i][2])) fail_msg("%s: %s", wrong[i][1], err.message);
    lgv_settings_free(settings);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_hot_through_a_history_is_the_tabular_agent),
      cmocka_unit_test(the_chain_has_its_law_on_continuous_observations),
      cmocka_unit_test(the_chain_has_its_law_with_bumps),
      cmocka_unit_test(values_stay_those_of_their_plan),
      cmocka_unit_test(noise_does_not_move_the_prior_mean),
      cmocka_unit_test(a_failing_map_leaves_the_last_plan),
      cmocka_unit_test(sparse_features_are_dense_ones),
      cmocka_unit_test_setup_teardown(a_loaded_agent_continues_bit_for_bit, make_root, remove_root),
      cmocka_unit_test(a_full_history_forgets_the_oldest),
      cmocka_unit_test(targets_obey_masks),
      cmocka_unit_test(the_plan_counts_the_history),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
