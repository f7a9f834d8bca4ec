/* An action where a pointer to one is wanted: lgv_env_step(env, choice(1), ...). It stays valid for
 * the next CHOICES - 1 calls. */
#ifndef LGV_TESTS_CHOICE_H
#define LGV_TESTS_CHOICE_H

#include "langevin.h"

enum { CHOICES = 64 };

static inline lgv_action *next_action(void) {
  static _Thread_local lgv_action ring[CHOICES];
  static _Thread_local unsigned next;
  lgv_action *action = &ring[next++ % CHOICES];
  *action = (lgv_action){0};
  return action;
}

/* The discrete action, or the first part of a multi-discrete one whose others are 0. */
static inline const lgv_action *choice(int32_t index) {
  lgv_action *action = next_action();
  action->choice = index;
  return action;
}

/* Whether an agent takes continuous actions, and so no others. */
static inline bool takes_box(const lgv_agent_type *type) { return type->traits & LGV_TAKES_BOX; }

/* Settings with which an agent of continuous actions learns within a short test. */
static inline const char *quick_for(const lgv_agent_type *type) {
  return takes_box(type) ? "agent.hidden=8 agent.batch=8 agent.warmup=40 agent.replay=300" : "";
}

/* A small environment that an agent takes. */
static inline const char *home_of(const lgv_agent_type *type) {
  return takes_box(type) ? "pendulum" : "nchain";
}

/* A uniform draw. */
static inline const lgv_action *draw_action(const lgv_action_space *space, lgv_rng *rng) {
  if (space->kind == LGV_DISCRETE) return choice((int32_t)lgv_rng_below(rng, space->count));
  lgv_action *action = next_action();
  for (int32_t p = 0; p < space->parts; p++) {
    float low = space->low[p], width = space->high[p] - low;
    if (space->kind == LGV_BOX)
      action->values[p] = low + width * (float)lgv_rng_uniform(rng);
    else
      action->choices[p] = (int32_t)lgv_rng_below(rng, space->choices[p]);
  }
  return action;
}

/* The last choice of every part, or the upper bounds of a box. */
static inline const lgv_action *last_action(const lgv_action_space *space) {
  if (space->kind == LGV_DISCRETE) return choice(space->count - 1);
  lgv_action *action = next_action();
  for (int32_t p = 0; p < space->parts; p++) {
    if (space->kind == LGV_BOX)
      action->values[p] = space->high[p];
    else
      action->choices[p] = space->choices[p] - 1;
  }
  return action;
}

/* An action just outside the space. */
static inline const lgv_action *wrong_action(const lgv_action_space *space) {
  lgv_action *action = next_action();
  if (space->kind == LGV_BOX)
    action->values[0] = space->high[0] + 1;
  else
    action->choice = space->count;
  return action;
}

#endif
