/* Updates of td3, dsac and lsac against their equations, in double precision or by finite
 * differences. */
#include "agent/agent.h"
#include "agent/builtin.h"
#include "agent/continuous/value_distribution.h"
#include "run_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* after nn/net.h */
#include "agent/export.h"

enum { LENGTH = 3, PARTS = 2 };

static lgv_env_spec make_spec(void) {
  lgv_env_spec spec = {.size = sizeof spec, .obs_shape = {LENGTH, 1, 1}};
  spec.actions = lgv_box(PARTS, (float[]){-1, -1}, (float[]){1, 1});
  return spec;
}

/* An agent with a full replay and, with update_every = 0, no update yet. Rewards have size `scale`,
 * and one step in four ends its task. */
static lgv_agent *make_agent(const char *name, const char *extra, double scale) {
  lgv_env_spec spec = make_spec();
  lgv_settings *settings = make_settings(NULL, name, extra);
  lgv_agent *agent = NULL;
  lgv_error err = {0};
  lgv_rng rng;
  if (lgv_agent_create(settings, &spec, 0, 0, 1, &agent, &err) != LGV_OK)
    fail_msg("%s: %s", name, err.message);
  lgv_settings_free(settings);
  lgv_rng_seed(&rng, 3, "test");
  for (int i = 0; i < 100; i++) {
    float obs[2 * LENGTH];
    for (int k = 0; k < 2 * LENGTH; k++) obs[k] = (float)lgv_rng_normal(&rng);
    lgv_transition t = {.obs = {.data = obs, .state = -1},
                        .next = {.data = obs + LENGTH, .state = -1, .stage = 1},
                        .action = draw_action(&spec.actions, &rng),
                        .reward = scale * lgv_rng_normal(&rng),
                        .terminated = i % 4 == 0};
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
  }
  return agent;
}

/* The core is the first member of an agent's state. */
static void *state_of(const lgv_agent *agent) {
  lgv_policy_parts parts = {0};
  assert_true(lgv__agent_policy_parts(agent, &parts));
  return (void *)(uintptr_t)parts.self;
}

static void assert_near(double seen, double expected, double tolerance, const char *what) {
  if (!(fabs(seen - expected) <= tolerance * (1 + fabs(expected))))
    fail_msg("%s: %.9g instead of %.9g", what, seen, expected);
}

/* ---- td3 ---- */

/* - mean of Q_1(s, tanh u) over the minibatch. */
static double policy_loss(actor_critic *c, const float *u) {
  int64_t B = ac_batch(c);
  double sum = 0;
  for (int64_t i = 0; i < B * c->P; i++) c->policy.action[i] = tanhf(u[i]);
  lgv__ac_put_actions(c, c->pairs, c->policy.action);
  const float *q = lgv__ac_q(c, c->critic.w, 0, c->pairs);
  for (int64_t i = 0; i < B; i++) sum += (double)q[i];
  return -sum / (double)B;
}

/* The slope of the loss in each output of the actor, through the squash. Large outputs, where the
 * squash is far from the identity, come from large weights. */
static void td3_climbs_through_the_squash(void **state) {
  (void)state;
  enum { ROWS = 16, NUMBERS = ROWS * PARTS };
  lgv_agent *agent = make_agent(
      "td3",
      "agent.hidden=16 agent.batch=16 agent.replay=200 agent.warmup=20 agent.update_every=0 "
      "agent.updates=1 agent.policy_every=1 optim.lr=1e-3 agent.actor_lr=1e-3",
      1);
  actor_critic *c = state_of(agent);
  lgv_error err = {0};
  for (int64_t i = 0; i < c->actor.dim; i++) c->actor.w[i] *= 3;
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  float u[NUMBERS], claimed[NUMBERS];
  double most = 0;
  memcpy(u, c->outputs, sizeof u);
  memcpy(claimed, c->d_outputs, sizeof claimed);
  for (int i = 0; i < NUMBERS; i++) {
    const float h = 0.01f;
    float middle = u[i];
    most = fmax(most, fabs((double)middle));
    u[i] = middle + h;
    double above = policy_loss(c, u);
    u[i] = middle - h;
    double below = policy_loss(c, u);
    u[i] = middle;
    assert_near((double)claimed[i], (above - below) / (2 * (double)h), 2e-4, "d loss / d u");
  }
  assert_true(most > 1);
  lgv_agent_free(agent);
}

/* ---- dsac ---- */

typedef struct dsac_state {
  actor_critic core;
  value_distribution values;
} dsac_state;

static double softplus(double z) { return log1p(exp(z)); }

static double cut(double x, double size) { return fmin(fmax(x, -size), size); }

#define DSAC                                                                                       \
  "agent.hidden=16 agent.batch=1024 agent.replay=2000 agent.warmup=20 agent.update_every=0 "       \
  "agent.gamma=0.9 agent.alpha=0.5"

/* y and y_Z take both numbers from the critic whose mean is lower, and cut its draw to 3. */
static void dsac_targets_are_those_of_the_lesser_critic(void **state) {
  (void)state;
  lgv_agent *agent = make_agent("dsac", DSAC, 1);
  dsac_state *s = state_of(agent);
  actor_critic *c = &s->core;
  int64_t B = ac_batch(c);
  int cuts = 0, lesser[AC_PAIR] = {0};
  lgv__ac_sample(c);
  lgv__vd_act_next(c);
  lgv__vd_targets(&s->values, c, 0);
  const float *q[AC_PAIR];
  for (int j = 0; j < AC_PAIR; j++)
    q[j] = lgv__ac_q(c, c->critic.target + j * c->critic.dim, j, c->next_pairs);
  for (int64_t i = 0; i < B; i++) {
    int j = q[1][2 * i] < q[0][2 * i];
    double mu = (double)q[j][2 * i], sigma = softplus((double)q[j][2 * i + 1]);
    double zeta = (double)s->values.zeta[j * B + i];
    double r = (double)c->batch.reward[i], discount = (double)c->batch.discount[i];
    double entropy = -0.5 * (double)c->policy.log_pi[B + i];
    assert_near((double)c->y[i], r + discount * (mu + entropy), 1e-5, "y");
    assert_near((double)s->values.y_z[i], r + discount * (mu + cut(zeta, 3) * sigma + entropy),
                1e-5, "y_Z");
    lesser[j]++;
    cuts += fabs(zeta) > 3 && discount > 0;
  }
  if (!(cuts > 0 && lesser[0] > 0 && lesser[1] > 0))
    fail_msg("%d draws are cut; %d and %d rows", cuts, lesser[0], lesser[1]);
  lgv_agent_free(agent);
}

/* The derivatives of the second critic, which d_q still holds; the first has the same rule. */
static void dsac_bounds_the_error_of_its_deviation(void **state) {
  (void)state;
  const double b = 0.1;
  lgv_agent *agent = make_agent("dsac", DSAC, 5);
  dsac_state *s = state_of(agent);
  actor_critic *c = &s->core;
  int64_t B = ac_batch(c);
  int bounded = 0;
  for (int round = 0; round < 2; round++) {
    float before = s->values.omega[1];
    lgv__ac_sample(c);
    lgv__vd_act_next(c);
    lgv__vd_targets(&s->values, c, 0);
    lgv__vd_gradients(&s->values, c, 0);
    const float *q = lgv__ac_q(c, c->critic.w + c->critic.dim, 1, c->pairs);
    double mean = 0, omega = (double)s->values.omega[1];
    for (int64_t i = 0; i < B; i++) mean += softplus((double)q[2 * i + 1]) / (double)B;
    assert_near(omega, round == 0 ? mean : (double)before + 0.005 * (mean - (double)before), 1e-5,
                "omega");
    for (int64_t i = 0; i < B; i++) {
      double mu = (double)q[2 * i], z = (double)q[2 * i + 1], sigma = softplus(z);
      double off = (double)s->values.y_z[i] - mu, weight = (omega * omega + b) / (double)B;
      double within = cut(off, 3 * omega);
      double of_sigma = (within * within - sigma * sigma) / (pow(sigma, 3) + b);
      double d_mu = -weight * ((double)c->y[i] - mu) / (sigma * sigma + b);
      assert_near((double)B * (double)c->d_q[2 * i], (double)B * d_mu, 1e-4, "d mu");
      assert_near((double)B * (double)c->d_q[2 * i + 1],
                  -(double)B * weight * of_sigma / (1 + exp(-z)), 1e-4, "d sigma");
      bounded += fabs(off) > 3 * omega;
    }
  }
  assert_true(bounded > 0 && bounded < 2 * B);
  lgv_agent_free(agent);
}

/* ---- lsac ---- */

enum { PAIRS = 3 };

/* The critics after one update. */
static float *critics_after_a_step(const char *extra, int64_t *dim) {
  char settings[400];
  snprintf(settings, sizeof settings,
           "agent.hidden=64 agent.batch=16 agent.replay=200 agent.warmup=20 agent.update_every=0 "
           "agent.updates=1 agent.policy_every=1000 agent.pairs=3 %s",
           extra);
  lgv_agent *agent = make_agent("lsac", settings, 1);
  actor_critic *c = state_of(agent);
  lgv_error err = {0};
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  *dim = c->critic.dim;
  size_t bytes = (size_t)(c->critic.copies * c->critic.dim) * sizeof(float);
  float *w = malloc(bytes);
  assert_non_null(w);
  memcpy(w, c->critic.w, bytes);
  lgv_agent_free(agent);
  return w;
}

/* The deviation of the noise of each pair, as a multiple of sqrt(2 lr). */
static void lsac_noise_has_its_size(void **state) {
  (void)state;
  int64_t dim;
  float *calm = critics_after_a_step("agent.noise=1e-12", &dim);
  float *noisy = critics_after_a_step("agent.noise=0.5", &dim);
  for (int k = 0; k < PAIRS; k++) {
    double squares = 0;
    for (int64_t i = AC_PAIR * k * dim; i < AC_PAIR * (k + 1) * dim; i++)
      squares += pow((double)noisy[i] - (double)calm[i], 2);
    double deviation = sqrt(squares / (double)(AC_PAIR * dim) / (2 * 1e-3));
    assert_near(deviation / 0.5, 1, 0.05, "c of a pair");
  }
  free(calm);
  free(noisy);
}

typedef struct lsac_state {
  actor_critic core;
  value_distribution values;
  const void *params;
  int64_t *pair;
  float *prior, *reward;
} lsac_state;

static const double prior_scale = 7;

/* An agent after one update. */
static lgv_agent *lsac_after_an_update(const char *policy_every) {
  char settings[300];
  snprintf(settings, sizeof settings,
           "agent.hidden=16 agent.batch=16 agent.replay=200 agent.warmup=20 agent.update_every=0 "
           "agent.updates=1 agent.pairs=3 agent.gamma=0.9 agent.alpha=0.5 agent.prior_scale=7 "
           "agent.learn_alpha=false agent.policy_every=%s",
           policy_every);
  lgv_agent *agent = make_agent("lsac", settings, 1);
  lgv_error err = {0};
  assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  return agent;
}

/* q[i] = min_j f_j + prior_scale p of a pair, with f_j from these parameters of all critics. */
static void values_with_prior(lsac_state *s, const float *w, int pair, const unsigned char *at,
                              double *q) {
  actor_critic *c = &s->core;
  int64_t dim = c->critic.dim;
  const float *f[AC_PAIR];
  for (int j = 0; j < AC_PAIR; j++) f[j] = lgv__ac_q(c, w + (AC_PAIR * pair + j) * dim, j, at);
  for (int64_t i = 0; i < ac_batch(c); i++) q[i] = (double)ac_least(f, VD_OUTPUTS * i);
  const float *p = lgv__ac_q(c, s->prior + pair * dim, 0, at);
  for (int64_t i = 0; i < ac_batch(c); i++) q[i] += prior_scale * (double)p[VD_OUTPUTS * i];
}

/* The targets of the last pair, which y still holds: y + prior_scale p(s, a) is the target of Q,
 * and a' comes from the pair's own policy. */
static void lsac_targets_hold_the_prior(void **state) {
  (void)state;
  enum { B = 16 };
  lgv_agent *agent = lsac_after_an_update("1000");
  lsac_state *s = state_of(agent);
  actor_critic *c = &s->core;
  double next[B];
  float drawn[B * PARTS], y[B];
  memcpy(drawn, c->policy.action + B * PARTS, sizeof drawn);
  memcpy(y, c->y, sizeof y);
  values_with_prior(s, c->critic.target, PAIRS - 1, c->next_pairs, next);
  const float *p = lgv__ac_q(c, s->prior + (PAIRS - 1) * c->critic.dim, 0, c->pairs);
  for (int64_t i = 0; i < B; i++) {
    double target = (double)s->reward[i] + (double)c->batch.discount[i] *
                                               (next[i] - 0.5 * (double)c->policy.log_pi[B + i]);
    assert_near((double)y[i] + prior_scale * (double)p[VD_OUTPUTS * i], target, 1e-5, "y");
  }
  c->policy_in_use = PAIRS - 1;
  const float *u = lgv__ac_forward_next_target(c);
  for (int64_t i = 0; i < B * PARTS; i++) {
    int64_t at = i / PARTS * AC_GAUSSIAN * PARTS + i % PARTS;
    double sigma = exp(cut((double)u[at + PARTS], 20)), xi = (double)c->policy.xi[B * PARTS + i];
    assert_near((double)drawn[i], tanh((double)u[at] + sigma * xi), 1e-5, "a'");
  }
  lgv_agent_free(agent);
}

/* The slope of Q in the actions of the first policy, which climbs last; and all policies move. */
static void lsac_policies_climb_their_prior(void **state) {
  (void)state;
  enum { B = 16 };
  lgv_agent *agent = lsac_after_an_update("1");
  lsac_state *s = state_of(agent);
  actor_critic *c = &s->core;
  double above[B], below[B];
  float claimed[B * PARTS], action[B * PARTS], *a = c->policy.action;
  memcpy(claimed, c->d_action, sizeof claimed);
  memcpy(action, a, sizeof action);
  for (int p = 0; p < PARTS; p++) {
    const float h = 2e-3f;
    for (int i = 0; i < B; i++) a[i * PARTS + p] = action[i * PARTS + p] + h;
    lgv__ac_put_actions(c, c->pairs, a);
    values_with_prior(s, c->critic.w, 0, c->pairs, above);
    for (int i = 0; i < B; i++) a[i * PARTS + p] = action[i * PARTS + p] - h;
    lgv__ac_put_actions(c, c->pairs, a);
    values_with_prior(s, c->critic.w, 0, c->pairs, below);
    for (int i = 0; i < B; i++) {
      a[i * PARTS + p] = action[i * PARTS + p];
      assert_near(-B * (double)claimed[i * PARTS + p], (above[i] - below[i]) / (2 * (double)h),
                  5e-3, "d Q / d a");
    }
  }
  for (int64_t k = 0; k < PAIRS; k++)
    assert_true(lgv__dqn_squares(c->actor.slot[0] + k * c->actor.dim, c->actor.dim) > 0);
  lgv_agent_free(agent);
}

/* Every policy is made a constant of its own. */
static void lsac_acts_by_the_policy_of_the_episode(void **state) {
  (void)state;
  lgv_agent *agent = lsac_after_an_update("1");
  lsac_state *s = state_of(agent);
  actor_critic *c = &s->core;
  lgv_error err = {0};
  int drawn[PAIRS] = {0};
  memset(c->actor.w, 0, (size_t)(PAIRS * c->actor.dim) * sizeof *c->actor.w);
  for (int64_t k = 0; k < PAIRS; k++) {
    float *biases = c->actor.w + (k + 1) * c->actor.dim - AC_GAUSSIAN * PARTS;
    for (int p = 0; p < PARTS; p++) biases[p] = 0.3f * (float)(k + 1), biases[PARTS + p] = -20;
  }
  for (int episode = 0; episode < 60; episode++) {
    float seen[LENGTH] = {1, 2, 3};
    lgv_obs obs = {.data = seen, .state = -1};
    lgv_action action;
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    drawn[s->pair[0]]++;
    for (int step = 0; step < 2; step++) {
      assert_int_equal(lgv_agent_act(agent, &obs, LGV_EVAL, &action, &err), LGV_OK);
      assert_near((double)action.values[0], tanh(0.3), 1e-5, "an action in evaluation");
      assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_OK);
      assert_near((double)action.values[0], tanh(0.3 * (double)(s->pair[0] + 1)), 1e-5,
                  "an action");
    }
  }
  for (int k = 0; k < PAIRS; k++) assert_true(drawn[k] > 0);
  lgv_agent_free(agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(td3_climbs_through_the_squash),
      cmocka_unit_test(dsac_targets_are_those_of_the_lesser_critic),
      cmocka_unit_test(dsac_bounds_the_error_of_its_deviation),
      cmocka_unit_test(lsac_noise_has_its_size),
      cmocka_unit_test(lsac_targets_hold_the_prior),
      cmocka_unit_test(lsac_policies_climb_their_prior),
      cmocka_unit_test(lsac_acts_by_the_policy_of_the_episode),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
