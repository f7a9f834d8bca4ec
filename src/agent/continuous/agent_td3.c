/* Twin delayed deep deterministic policy gradient. Fujimoto, van Hoof, Meger, "Addressing function
 * approximation error in actor-critic methods" (ICML 2018), Algorithm 1.
 *
 *     a' = clip(pi-(s') + clip(eps, -c, c), -1, 1),   eps ~ N(0, target_noise^2)
 *     y = r + gamma (1 - d) min_j Q-_j(s', a')
 *     L_Q = sum over j of mean (Q_j(s, a) - y)^2
 *     every agent.policy_every updates: L_pi = - mean Q_1(s, pi(s)), and the targets follow
 *
 * pi is the tanh of the network's outputs. Training adds noise of N(0, agent.explore_noise^2) to
 * its actions, in units of [-1, 1]; until agent.warmup they are uniform. d is true at the end of a
 * task, not where a clock stops an episode. */
#include "agent/continuous/actor_critic.h"

#include "base/error.h"

#include <math.h>

typedef struct params {
  ac_params base;
  double explore_noise, target_noise, target_noise_clip;
} params;

static const lgv_preset presets[] = {{"small", AC_SMALL_LOOP "agent.hidden=256,256 optim.lr=1e-3"},
                                     {"atari", AC_PICTURES_LOOP "optim.lr=3e-4", LGV_LARGE_PICTURE},
                                     {0}};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW,
    AC_PARAM_ROWS("2"),
    LGV_REAL_ROW(params, explore_noise, "explore_noise", "0.1", 0, 10, 0, "deviation of the noise on actions in training; actions lie in [-1, 1]"),
    LGV_REAL_ROW(params, target_noise, "target_noise", "0.2", 0, 10, 0, "deviation of the noise on the actions of targets"),
    LGV_REAL_ROW(params, target_noise_clip, "target_noise_clip", "0.5", 0, 10, 0, "that noise is cut to this size"),
    {0}};
/* clang-format on */

static const ac_sizes sizes = {
    .actor_outputs = 1, .actors = 1, .critic_outputs = 1, .critics = AC_PAIR, .actor_target = true};

typedef struct self {
  actor_critic core;
  const params *p;
} self;

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  return lgv__ac_resolve(params_, is_set, param_table, problem, sizes.actor_outputs, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__ac_layout(&s->core, &s->p->base, problem, sizes, out);
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  actor_critic *c = &s->core;
  if (lgv__ac_is_warming_up(c, mode)) {
    lgv__ac_uniform(c, action);
    return LGV_OK;
  }
  const float *u = lgv__ac_outputs(c, obs);
  for (int32_t p = 0; p < c->P; p++) {
    double noise = mode == LGV_TRAIN ? s->p->explore_noise * lgv_rng_normal(c->act) : 0;
    lgv__ac_put(c, p, lgv__tanh(u[p]) + (float)noise, action);
  }
  return LGV_OK;
}

static float cut(float x, float size) { return fminf(fmaxf(x, -size), size); }

static void find_targets(self *s) {
  actor_critic *c = &s->core;
  int64_t B = ac_batch(c), numbers = B * c->P;
  const float *u = lgv__ac_forward_next_target(c), *q[AC_PAIR];
  float *next = c->policy.action + numbers, *xi = c->policy.xi;
  float deviation = (float)s->p->target_noise, most = (float)s->p->target_noise_clip;
  lgv__ac_normals(c, xi, numbers);
  for (int64_t i = 0; i < numbers; i++)
    next[i] = cut(lgv__tanh(u[i]) + cut(deviation * xi[i], most), 1);
  lgv__ac_put_actions(c, c->next_pairs, next);
  for (int j = 0; j < AC_PAIR; j++)
    q[j] = lgv__ac_q(c, c->critic.target + j * c->critic.dim, j, c->next_pairs);
  for (int64_t i = 0; i < B; i++)
    c->y[i] = c->batch.reward[i] + c->batch.discount[i] * ac_least(q, i);
}

/* d a / d u = 1 - a^2. */
static void improve_policy(actor_critic *c) {
  int64_t B = ac_batch(c), numbers = B * c->P;
  float *a = c->policy.action;
  double sum = 0;
  lgv__ac_forward_obs(c);
  for (int64_t i = 0; i < numbers; i++) a[i] = lgv__tanh(c->outputs[i]);
  lgv__ac_put_actions(c, c->pairs, a);
  const float *q = lgv__ac_q(c, c->critic.w, 0, c->pairs);
  for (int64_t i = 0; i < B; i++) sum += (double)q[i];
  c->stat[AC_STAT_POLICY_LOSS] = -sum / (double)B;
  lgv__ac_climb(c, c->critic.w, 0, NULL, B);
  for (int64_t i = 0; i < numbers; i++) c->d_outputs[i] = c->d_action[i] * (1 - a[i] * a[i]);
  lgv__ac_actor_backward(c);
  lgv__ac_step(c, &c->actor);
}

static lgv_status update(self *s, lgv_error *err) {
  actor_critic *c = &s->core;
  lgv__ac_sample(c);
  find_targets(s);
  lgv__ac_fit_critics(c, 1);
  if (lgv__ac_policy_due(c)) {
    improve_policy(c);
    lgv__ac_follow(c, &c->critic);
    lgv__ac_follow(c, &c->actor);
  }
  return lgv__ac_end_update(c, err);
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  self *s = self_;
  lgv__ac_remember(&s->core, transition);
  for (int64_t j = lgv__ac_updates_due(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  for (int64_t j = lgv__ac_updates_due_between_episodes(&s->core); j > 0; j--)
    LGV_TRY(update(s, err));
  return LGV_OK;
}

static const char *const stat_names[] = {AC_STAT_NAMES, NULL};

const lgv_agent_type lgv__agent_td3 = {
    .name = "td3",
    .summary = "twin delayed DDPG: continuous actions, a deterministic policy",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .traits = LGV_TAKES_BOX,
    .presets = presets,
    .resolve = resolve,
    .layout = layout,
    .open = lgv__ac_open,
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = lgv__ac_stats,
    .set_stream = lgv__ac_set_stream,
};
const lgv_builtin lgv__builtin_td3 = {"adam", lgv__ac_policy_parts};
