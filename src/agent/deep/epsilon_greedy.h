/* Epsilon-greedy acting: a uniform action with probability epsilon, which falls linearly once
 * learning begins. */
#ifndef LGV_AGENT_DEEP_EPSILON_GREEDY_H
#define LGV_AGENT_DEEP_EPSILON_GREEDY_H

#include "agent/deep/dqn_core.h"

typedef struct epsilon_params {
  double start, end, eval;
  int64_t steps;
} epsilon_params;

/* Parameters of epsilon-greedy agents; the first member of their parameter struct. */
typedef struct epsilon_greedy_params {
  dqn_params dqn;
  epsilon_params epsilon;
} epsilon_greedy_params;

/* clang-format off */
/* With these defaults. */
#define EPSILON_SCHEDULE_ROWS(from, to, over) \
  LGV_REAL_ROW(epsilon_greedy_params, epsilon.start, "epsilon_start", from, 0, 1, 0, "probability of a uniform action until agent.warmup"), \
  LGV_REAL_ROW(epsilon_greedy_params, epsilon.end, "epsilon_end", to, 0, 1, 0, "final probability of a uniform action"), \
  LGV_INT_ROW(epsilon_greedy_params, epsilon.steps, "epsilon_steps", over, 0, 1e12, "environment steps over which the probability falls, from agent.warmup on")
#define EPSILON_PARAM_ROWS \
  EPSILON_SCHEDULE_ROWS("1", "0.01", "1000"), \
  LGV_REAL_ROW(epsilon_greedy_params, epsilon.eval, "epsilon_eval", "0", 0, 1, 0, "probability of a uniform action in evaluations")
/* clang-format on */

#define EPSILON_STAT_NAMES DQN_STAT_NAMES, "epsilon"

/* The settings on Atari that the agents of DQN Zoo (Quan, Ostrovski, 2020) share. */
#define DQN_ZOO_LOOP                                                                               \
  "agent.hidden=512 agent.scale_input=true agent.replay=1000000 agent.update_every=4 "             \
  "agent.epsilon_steps=1000000 "

static inline double epsilon_of(const epsilon_params *p, const dqn *c) {
  int64_t step = c->count[DQN_STEPS] - c->p->warmup;
  if (step < 0) return p->start;
  if (step >= p->steps) return p->end;
  return p->start + (p->end - p->start) * (double)step / (double)p->steps;
}

/* Greedy in q, (A), but for uniform actions. */
static inline void epsilon_greedy_action(const epsilon_params *p, dqn *c, const float *q,
                                         const lgv_obs *obs, lgv_mode mode, lgv_action *action) {
  double epsilon = mode == LGV_TRAIN ? epsilon_of(p, c) : p->eval;
  lgv__dqn_epsilon_greedy(c, q, epsilon, obs, mode, action);
}

#endif
