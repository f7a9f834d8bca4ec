/* Epsilon-greedy acting: a uniform action with probability epsilon, which falls linearly once
 * learning begins. */
#ifndef LGV_AGENT_DEEP_DITHER_H
#define LGV_AGENT_DEEP_DITHER_H

#include "agent/deep/dqn_core.h"

typedef struct dither_params {
  double start, end, eval;
  int64_t steps;
} dither_params;

/* Parameters of agents that dither; the first member of their parameter struct. */
typedef struct dithered_params {
  dqn_params dqn;
  dither_params dither;
} dithered_params;

#define DITHER_PARAM_ROWS                                                                          \
  {.name = "epsilon_start",                                                                        \
   .type = LGV_REAL,                                                                               \
   .offset = offsetof(dithered_params, dither.start),                                              \
   .fallback = "1",                                                                                \
   .min = 0,                                                                                       \
   .max = 1,                                                                                       \
   .help = "probability of a uniform action until agent.warmup"},                                  \
      {.name = "epsilon_end",                                                                      \
       .type = LGV_REAL,                                                                           \
       .offset = offsetof(dithered_params, dither.end),                                            \
       .fallback = "0.01",                                                                         \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .help = "what it falls to"},                                                                \
      {.name = "epsilon_steps",                                                                    \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dithered_params, dither.steps),                                          \
       .fallback = "1000",                                                                         \
       .min = 0,                                                                                   \
       .max = 1e12,                                                                                \
       .help = "environment steps over which it falls, from agent.warmup on"},                     \
  {                                                                                                \
    .name = "epsilon_eval", .type = LGV_REAL, .offset = offsetof(dithered_params, dither.eval),    \
    .fallback = "0", .min = 0, .max = 1, .help = "probability of a uniform action in evaluations"  \
  }

double dither_epsilon(const dither_params *params, const dqn *c);
/* Greedy in q, (A), but for the dithering. With epsilon = 0 no draw is made for it. */
int32_t dither_act(const dither_params *params, dqn *c, const float *q, lgv_mode mode);

/* Agents that are a dithering DQN and nothing else. */
typedef struct dithered {
  dqn core;
  const dither_params *dither;
} dithered;

#define DITHER_STAT_NAMES DQN_STAT_NAMES, "epsilon"

lgv_status dithered_resolve(void *params, const bool *is_set, const lgv_problem *problem,
                            lgv_error *err);
void dithered_layout(void *self, const void *params, const lgv_problem *problem,
                     lgv_layout *layout);
/* The same for an agent that is more: state and parameters begin with these. */
void dithered_layout_as(dithered *s, const dithered_params *params, const lgv_problem *problem,
                        dqn_form form, lgv_layout *layout);
lgv_status dithered_act(void *self, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                        lgv_error *err);
void dithered_stats(const void *self, double *values);

extern const char *const dithered_stat_names[];

/* What every agent that dithers has in its descriptor. */
#define DITHERED_HOOKS                                                                             \
  .optimiser = "adam", .begin_episode = dqn_begin_episode, .observe = dqn_observe,                 \
  .end_episode = dqn_end_episode, .stat_names = dithered_stat_names, .stats = dithered_stats,      \
  .set_stream = dqn_set_stream

/* And those that are a dithering DQN and nothing else. */
#define DITHERED_DQN_HOOKS                                                                         \
  DITHERED_HOOKS, .params_size = sizeof(dithered_params), .state_size = sizeof(dithered),          \
                  .resolve = dithered_resolve, .layout = dithered_layout, .open = dqn_open,        \
                  .act = dithered_act, .q_values = dqn_q_values, .policy_parts = dqn_policy_parts

#endif
