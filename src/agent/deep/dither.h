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
   .default_text = "1",                                                                            \
   .min = 0,                                                                                       \
   .max = 1,                                                                                       \
   .help = "probability of a uniform action until agent.warmup"},                                  \
      {.name = "epsilon_end",                                                                      \
       .type = LGV_REAL,                                                                           \
       .offset = offsetof(dithered_params, dither.end),                                            \
       .default_text = "0.01",                                                                     \
       .min = 0,                                                                                   \
       .max = 1,                                                                                   \
       .help = "what it falls to"},                                                                \
      {.name = "epsilon_steps",                                                                    \
       .type = LGV_INT,                                                                            \
       .offset = offsetof(dithered_params, dither.steps),                                          \
       .default_text = "1000",                                                                     \
       .min = 0,                                                                                   \
       .max = 1e12,                                                                                \
       .help = "environment steps over which it falls, from agent.warmup on"},                     \
  {                                                                                                \
    .name = "epsilon_eval", .type = LGV_REAL, .offset = offsetof(dithered_params, dither.eval),    \
    .default_text = "0", .min = 0, .max = 1,                                                       \
    .help = "probability of a uniform action in evaluations"                                       \
  }

double lgv__dither_epsilon(const dither_params *params, const dqn *c);
/* Greedy in q, (A), but for the dithering. With epsilon = 0 no draw is made for it. */
int32_t lgv__dither_act(const dither_params *params, dqn *c, const float *q, lgv_mode mode);

/* Agents that are a dithering DQN and nothing else. */
typedef struct dithered {
  dqn core;
  const dither_params *dither;
} dithered;

#define DITHER_STAT_NAMES DQN_STAT_NAMES, "epsilon"

lgv_status lgv__dithered_resolve(void *params, const bool *is_set, const lgv_problem *problem,
                                 lgv_error *err);
void lgv__dithered_layout(void *self, const void *params, const lgv_problem *problem,
                          lgv_layout *layout);
/* The same for an agent that is more: state and parameters begin with these. */
void lgv__dithered_layout_as(dithered *s, const dithered_params *params, const lgv_problem *problem,
                             dqn_form form, lgv_layout *layout);
lgv_status lgv__dithered_act(void *self, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                             lgv_error *err);
void lgv__dithered_stats(const void *self, double *values);

extern const char *const lgv__dithered_stat_names[];

/* What every agent that dithers has in its descriptor. */
#define DITHERED_HOOKS                                                                             \
  .optimizer = "adam", .begin_episode = lgv__dqn_begin_episode, .observe = lgv__dqn_observe,       \
  .end_episode = lgv__dqn_end_episode, .stat_names = lgv__dithered_stat_names,                     \
  .stats = lgv__dithered_stats, .set_stream = lgv__dqn_set_stream

/* And those that are a dithering DQN and nothing else. */
#define DITHERED_DQN_HOOKS                                                                         \
  DITHERED_HOOKS, .params_size = sizeof(dithered_params), .state_size = sizeof(dithered),          \
                  .resolve = lgv__dithered_resolve, .layout = lgv__dithered_layout,                \
                  .open = lgv__dqn_open, .act = lgv__dithered_act, .q_values = lgv__dqn_q_values,  \
                  .policy_parts = lgv__dqn_policy_parts

#endif
