/* DQN with epsilon-greedy exploration: dqn, double-dqn and prioritized-dqn.
 *
 * Mnih et al., "Human-level control through deep reinforcement learning" (Nature, 2015). Acting is
 * epsilon-greedy (epsilon_greedy.h). One update, on a minibatch from the replay:
 *
 *     y = r + d Q(s', a*; w-),   a* = argmax_a Q(s', a; w-), or, with agent.double, of Q(s', a; w)
 *     w- = w   if   updates % target_every == 0
 *     w = optimizer(w, gradient of the mean of loss(y - Q(s, a; w)))
 *
 * The three agents take the same parameters and differ in their presets alone. */
#include "agent/deep/epsilon_greedy.h"
#include "base/error.h"

typedef struct self {
  dqn core;
  const epsilon_params *epsilon;
} self;

/* ---- memory ---- */

static lgv_status resolve(void *params, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  return lgv__dqn_resolve(params, problem, (dqn_sizes){0}, err);
}

static void layout(void *self_, const void *params, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  const epsilon_greedy_params *p = params;
  s->epsilon = &p->epsilon;
  lgv__dqn_layout(&s->core, &p->dqn, problem, (dqn_sizes){0}, out);
}

/* ---- acting ---- */

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  dqn *c = &s->core;
  epsilon_greedy_action(s->epsilon, c, lgv__dqn_values(c, c->w, obs), obs, mode, action);
  return LGV_OK;
}

/* ---- learning ---- */

static lgv_status update(dqn *c, lgv_error *err) {
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_targets(c);
  lgv__dqn_refresh_target(c, 0);
  lgv__dqn_loss(c);
  lgv__dqn_backward(c, c->w, c->grad);
  lgv__dqn_step(c, 0);
  return lgv__dqn_end_update(c, err);
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  dqn *c = &((self *)self_)->core;
  lgv__dqn_remember(c, transition);
  for (int64_t j = lgv__dqn_updates_due(c); j > 0; j--) LGV_TRY(update(c, err));
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  dqn *c = &((self *)self_)->core;
  for (int64_t j = lgv__dqn_updates_due_between_episodes(c); j > 0; j--) LGV_TRY(update(c, err));
  return LGV_OK;
}

static const char *const stat_names[] = {EPSILON_STAT_NAMES, NULL};

static void stats(const void *self_, double *values) {
  const self *s = self_;
  lgv__dqn_stats(&s->core, values);
  values[DQN_STATS] = epsilon_of(s->epsilon, &s->core);
}

/* ---- the agents ---- */

#define PARAM_ROWS                                                                                 \
  DQN_PARAM_ROWS, DQN_LOSS_ROW, DQN_SHARED_BIAS_ROW, DQN_PRIORITY_ROWS, EPSILON_PARAM_ROWS

/* A descriptor: the members of the family differ in these arguments alone. */
#define EPSILON_GREEDY_DQN(name_, summary_, params_, presets_)                                     \
  {                                                                                                \
    .name = name_, .summary = summary_, .params = params_, .presets = presets_,                    \
    .traits = LGV_TAKES_MULTI_DISCRETE, .params_size = sizeof(epsilon_greedy_params),              \
    .state_size = sizeof(self), .resolve = resolve, .layout = layout, .open = lgv__dqn_open,       \
    .act = act, .observe = observe, .end_episode = end_episode, .stat_names = stat_names,          \
    .stats = stats, .set_stream = lgv__dqn_set_stream, .q_values = lgv__dqn_q_values,              \
  }

/* dqn. The preset `atari` is the loop of Ishfaq et al. (ICLR 2024), with Adam, double Q and an
 * epsilon that falls to 0.05 over a million steps (their text has 0.01 "then fixed as 0.05", their
 * settings of Bootstrapped DQN 0.05), so that it differs from their agents by its exploration
 * alone. `zoo` has the settings of DQN Zoo (Quan, Ostrovski, 2020): centered RMSProp, Huber's loss,
 * pixels divided by 255, an update every 4 steps, a copy to the target network every 10,000 steps =
 * 2500 updates. */
static const lgv_preset dqn_presets[] = {
    {"small", "agent.warmup=200 agent.update_every=1 optim.lr=1e-3"},
    {"atari", DQN_ATARI_LOOP "agent.epsilon_end=0.05 agent.epsilon_steps=1000000 optim.lr=1e-4",
     LGV_LARGE_PICTURE},
    {"zoo", DQN_ZOO_LOOP "agent.warmup=50000 agent.target_every=2500 agent.loss=huber "
                         "agent.epsilon_end=0.1 agent.epsilon_eval=0.05 optim.name=rmsprop "
                         "optim.lr=2.5e-4 optim.eps=9.765625e-6"},
    {0}};
static const char *const dqn_preset_names[] = {"auto", "small", "atari", "zoo", NULL};
static const lgv_param dqn_table[] = {
    DQN_PRESET_ROW(dqn_preset_names, "atari for pictures of at least 36 x 36, else small"),
    PARAM_ROWS,
    {0}};

const lgv_agent_type lgv__agent_dqn = EPSILON_GREEDY_DQN(
    "dqn", "deep Q-network with epsilon-greedy exploration", dqn_table, dqn_presets);
const lgv_builtin lgv__builtin_dqn = {"adam", lgv__dqn_policy_parts};

/* The other two have no preset `zoo`. */
static const lgv_param param_table[] = {DQN_SMALL_OR_ATARI_ROW, PARAM_ROWS, {0}};

/* double-dqn. van Hasselt, Guez, Silver, "Deep reinforcement learning with double Q-learning" (AAAI
 * 2016): y = r + gamma Q(s', argmax_a Q(s', a; w); w-).
 *
 * As dqn, but agent.double is on unless it is switched off. The preset `atari` is the tuned version
 * of the paper with the settings of DQN Zoo: one bias for all actions, and a copy to the target
 * network every 30,000 steps = 7500 updates. */
#define TUNED_DOUBLE_LOOP                                                                          \
  DQN_ZOO_LOOP "agent.double=true agent.shared_bias=true agent.warmup=50000 "                      \
               "agent.target_every=7500 agent.loss=huber agent.epsilon_end=0.01 "                  \
               "agent.epsilon_eval=0.01 optim.name=rmsprop "

static const lgv_preset double_presets[] = {
    {"small", "agent.double=true agent.warmup=200 agent.update_every=1 optim.lr=1e-3"},
    {"atari", TUNED_DOUBLE_LOOP "optim.lr=2.5e-4 optim.eps=9.765625e-6", LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_double_dqn = EPSILON_GREEDY_DQN(
    "double-dqn", "DQN whose targets separate the choice of an action from its value", param_table,
    double_presets);
const lgv_builtin lgv__builtin_double_dqn = {"adam", lgv__dqn_policy_parts};

/* prioritized-dqn. Schaul et al., "Prioritized experience replay" (ICLR 2016), proportional, on
 * double DQN: agent.prioritized and agent.double are on unless they are switched off. The equations
 * are in priority.h.
 *
 * The preset `atari` has the settings of DQN Zoo: tuned double DQN with a quarter of its step size,
 * eps / 16, and beta from 0.4 to 1 over 200 million frames. */
static const lgv_preset prioritized_presets[] = {
    {"small", "agent.prioritized=true agent.double=true agent.hidden=64,64 agent.n_step=5 "
              "agent.batch=128 agent.replay=50000 agent.warmup=1000 agent.update_every=2 "
              "agent.target_every=200 agent.epsilon_steps=10000 optim.lr=3e-4"},
    {"atari",
     TUNED_DOUBLE_LOOP "agent.prioritized=true agent.priority_beta_steps=49950000 "
                       "optim.lr=6.25e-5 optim.eps=6.103515625e-7",
     LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_prioritized_dqn =
    EPSILON_GREEDY_DQN("prioritized-dqn", "double DQN that replays in proportion to its errors",
                       param_table, prioritized_presets);
const lgv_builtin lgv__builtin_prioritized_dqn = {"adam", lgv__dqn_policy_parts};
