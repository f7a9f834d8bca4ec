/* Deep Q-learning by Langevin Monte Carlo: what the agents share that explore through the noise of
 * their optimizer. Ishfaq et al. (ICLR 2024), Algorithm 2; Ishfaq et al. (2024), "More efficient
 * randomized exploration for reinforcement learning via approximate sampling", for the feel-good
 * term.
 *
 * Acting is greedy in the current sample w, in training and in evaluation; which chain w follows is
 * the optimizer's business (optim.*), and each agent file says which it takes. Where all rewards
 * are positive, greed alone never leaves the action that it tried first, since the other's value is
 * still near 0: agent.warmup_actions = uniform gives the replay something of each.
 *
 * agent.stages = shared (what the published code does): one network for all stages, a discount, a
 * target network, and J = agent.updates gradient steps every agent.update_every steps.
 *
 * agent.stages = per-stage (Algorithm 2 as printed): a network w_h, moments included, for each
 * stage of the horizon. Before every episode a backward sweep h = H..1 takes J steps on
 *     L_h(w_h) = mean over a minibatch of stage h of (r + [not terminated] max_a Q(s', a; w_{h+1})
 *                                                     - Q(s, a; w_h))^2
 * with w_{h+1} as the sweep has just left it and Q_{H+1} = 0. There is no target network and,
 * unless agent.gamma is set, no discount. The loss is a minibatch mean, not the sum over the
 * history; the ridge term is the optimizer's l2.
 *
 * agent.final_lr < 1: the step size falls with the run's budget, as stochastic-gradient Langevin
 * dynamics has it (Welling, Teh 2011): wide moves first, and in the end less of what minibatches
 * and large steps add to the posterior's spread. Without a known budget it stays.
 *
 * agent.average > 0: training acts by the current sample, evaluation by the mean of about so many
 * last ones (an exponential mean; all so far, as long as there are fewer): the posterior's mean,
 * not one of the chain's excursions.
 *
 * The feel-good term (agent.feel_good > 0) subtracts eta_fg * mean over the minibatch of max_a
 * Q(s_1, a), s_1 being the first observation of the episode that a transition comes from: optimism
 * where episodes begin. The gradient goes through the maximum. */
#ifndef LGV_AGENT_DEEP_LANGEVIN_DQN_H
#define LGV_AGENT_DEEP_LANGEVIN_DQN_H

#include "agent/deep/dqn_core.h"

enum { LANGEVIN_SHARED, LANGEVIN_PER_STAGE };
enum { LANGEVIN_GREEDY, LANGEVIN_UNIFORM };

typedef struct langevin_params {
  dqn_params dqn;
  int32_t stages, warmup_actions;
  double feel_good, final_lr;
  int64_t average;
} langevin_params;

extern const char *const lgv__langevin_stages_names[], *const lgv__langevin_warmup_names[];

#define LANGEVIN_PARAM_ROWS                                                                        \
  DQN_PARAM_ROWS, DQN_SHARED_BIAS_ROW, DQN_ONE_HOT_GAIN_ROW,                                       \
      {.name = "warmup_actions",                                                                   \
       .type = LGV_CHOICE,                                                                         \
       .offset = offsetof(langevin_params, warmup_actions),                                        \
       .default_text = "greedy",                                                                   \
       .choices = lgv__langevin_warmup_names,                                                      \
       .help = "actions until agent.warmup: of the initial network, or uniform"},                  \
      {.name = "final_lr",                                                                         \
       .type = LGV_REAL,                                                                           \
       .offset = offsetof(langevin_params, final_lr),                                              \
       .default_text = "1",                                                                        \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .help = "share of optim.lr that is left at the end of the run, to which it falls in a "     \
               "line; 1: it stays"},                                                               \
      {.name = "average",                                                                          \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(langevin_params, average),                                               \
       .default_text = "0",                                                                        \
       .min = 0,                                                                                   \
       .max = 1e9,                                                                                 \
       .help = "updates over which parameters are averaged for evaluation; 0: it takes the "       \
               "current ones"},                                                                    \
  {                                                                                                \
    .name = "stages", .type = LGV_CHOICE, .offset = offsetof(langevin_params, stages),             \
    .default_text = "shared", .choices = lgv__langevin_stages_names,                               \
    .help = "shared: one network; per-stage: one for each stage, fitted in a backward sweep "      \
            "before every episode"                                                                 \
  }

#define LANGEVIN_FEEL_GOOD_ROW                                                                     \
  {                                                                                                \
    .name = "feel_good", .type = LGV_REAL, .offset = offsetof(langevin_params, feel_good),         \
    .default_text = "0.1", .min = 0, .max = 1e6,                                                   \
    .help = "eta_fg: weight of optimism at the first observation of an episode"                    \
  }

typedef struct langevin {
  dqn core;
  const langevin_params *p;
  void *optim_params;                      /* what the optimizer sees, if lr falls; else NULL */
  double *lr, full_lr;                     /* the one in optim_params; optim.lr */
  int64_t *episodes;                       /* [0]: that have ended */
  int64_t steps_planned, episodes_planned; /* 0: unknown */
  float *w_mean;                           /* (copies x dim): with agent.average; else NULL */
  int64_t H;                               /* networks in the sweep; 0 with agent.stages = shared */
  int64_t *order, *start;                  /* (replay), (H + 1): entries by stage */
} langevin;

/* Hooks of lgv_agent_type. */
lgv_status lgv__langevin_resolve(void *params, const bool *is_set, const lgv_problem *problem,
                                 lgv_error *err);
void lgv__langevin_layout(void *self, const void *params, const lgv_problem *problem,
                          lgv_layout *layout);
lgv_status lgv__langevin_open(void *self, lgv_error *err);
lgv_status lgv__langevin_begin_episode(void *self, lgv_error *err);
lgv_status lgv__langevin_act(void *self, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                             lgv_error *err);
lgv_status lgv__langevin_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err);
void lgv__langevin_policy_parts(const void *self, lgv_policy_parts *parts);
lgv_status lgv__langevin_observe(void *self, const lgv_transition *transition, lgv_error *err);
lgv_status lgv__langevin_end_episode(void *self, lgv_error *err);

extern const char *const lgv__langevin_stat_names[];

/* Everything but name, summary, parameters, presets and optimizer. */
#define LANGEVIN_HOOKS                                                                             \
  .params_size = sizeof(langevin_params), .state_size = sizeof(langevin),                          \
  .resolve = lgv__langevin_resolve, .layout = lgv__langevin_layout, .open = lgv__langevin_open,    \
  .begin_episode = lgv__langevin_begin_episode, .act = lgv__langevin_act,                          \
  .observe = lgv__langevin_observe, .end_episode = lgv__langevin_end_episode,                      \
  .stat_names = lgv__langevin_stat_names, .stats = lgv__dqn_stats,                                 \
  .set_stream = lgv__dqn_set_stream, .q_values = lgv__langevin_q_values,                           \
  .policy_parts = lgv__langevin_policy_parts

#endif
