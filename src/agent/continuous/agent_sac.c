/* Soft actor-critic. Haarnoja, Zhou, Hartikainen, Tucker, Ha, Tan, Kumar, Zhu, Gupta, Abbeel,
 * Levine, "Soft actor-critic algorithms and applications" (2018b): two critics, no state value, a
 * learned temperature.
 *
 *     y = r + gamma (1 - d) [min_j Q-_j(s', a') - alpha log pi(a' | s')],   a' ~ pi(s')
 *     L_Q = 1/2 sum over j of mean (Q_j(s, a) - y)^2
 *     L_pi = mean [alpha log pi(a | s) - min_j Q_j(s, a)],   a ~ pi(s), by the critics just updated
 *     L_alpha = - log alpha mean(log pi(a | s) + H)
 *
 * d is true at the end of a task, not where a clock stops an episode. alpha is that before its own
 * step throughout the update. With agent.n_step > 1, y sums the rewards of several steps as they
 * were taken, without the entropy of those in between. Until agent.warmup actions are uniform.
 * Evaluation acts by tanh m. */
#include "agent/continuous/actor_critic.h"

#include "base/error.h"

static const lgv_preset presets[] = {{"small", AC_SMALL_LOOP "agent.hidden=256,256 optim.lr=3e-4"},
                                     {"atari", AC_PICTURES_LOOP "optim.lr=3e-4", LGV_LARGE_PICTURE},
                                     {0}};

static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW, AC_PARAM_ROWS("1"), AC_ALPHA_ROWS("1"), {0}};

static const ac_sizes sizes = {.actor_outputs = AC_GAUSSIAN,
                               .critic_outputs = 1,
                               .actors = 1,
                               .critics = AC_PAIR,
                               .has_alpha = true,
                               .least = -20,
                               .most = 2};

typedef struct self {
  actor_critic core;
} self;

static lgv_status resolve(void *params, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  return lgv__ac_resolve(params, is_set, param_table, problem, sizes.actor_outputs, err);
}

static void layout(void *self_, const void *params, const lgv_problem *problem, lgv_layout *out) {
  lgv__ac_layout(&((self *)self_)->core, params, problem, sizes, out);
}

/* a and a', with their log pi. */
static void draw_actions(actor_critic *c) {
  int64_t rows = 2 * ac_batch(c);
  lgv__ac_forward_both(c);
  lgv__ac_normals(c, c->policy.xi, rows * c->P);
  lgv__tanh_gaussian_sample(&c->policy, rows, c->outputs);
}

static void find_targets(actor_critic *c) {
  int64_t B = ac_batch(c);
  float alpha = lgv__ac_alpha(c);
  const float *q[AC_PAIR], *log_pi = c->policy.log_pi + B;
  lgv__ac_put_actions(c, c->next_pairs, c->policy.action + B * c->P);
  for (int j = 0; j < AC_PAIR; j++)
    q[j] = lgv__ac_q(c, c->critic.target + j * c->critic.dim, j, c->next_pairs);
  for (int64_t i = 0; i < B; i++)
    c->y[i] = c->batch.reward[i] + c->batch.discount[i] * (ac_least(q, i) - alpha * log_pi[i]);
}

static lgv_status update(self *s, lgv_error *err) {
  actor_critic *c = &s->core;
  lgv__ac_sample(c);
  draw_actions(c);
  find_targets(c);
  lgv__ac_fit_critics(c, 0.5);
  if (lgv__ac_policy_due(c)) {
    lgv__ac_improve_gaussian(c, 0);
    lgv__ac_adapt_alpha(c);
    lgv__ac_follow(c, &c->critic);
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

static const char *const stat_names[] = {AC_ALPHA_STAT_NAMES, NULL};

const lgv_agent_type lgv__agent_sac = {
    .name = "sac",
    .summary = "soft actor-critic: continuous actions, a learned temperature",
    .params = param_table,
    .params_size = sizeof(ac_params),
    .state_size = sizeof(self),
    .traits = LGV_TAKES_BOX,
    .presets = presets,
    .resolve = resolve,
    .layout = layout,
    .open = lgv__ac_open,
    .act = lgv__ac_act_gaussian,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = lgv__ac_alpha_stats,
    .set_stream = lgv__ac_set_stream,
};
const lgv_builtin lgv__builtin_sac = {"adam", lgv__ac_policy_parts};
