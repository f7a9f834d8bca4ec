/* The limit of run.episode_steps, shared by the environments that one agent learns from. */
#ifndef LGV_TRAIN_EPISODE_LIMIT_H
#define LGV_TRAIN_EPISODE_LIMIT_H

#include "langevin.h"

typedef struct lgv_episode_limit {
  int64_t steps;   /* after which an episode is truncated; 0: never */
  int64_t streams; /* environments */
  int64_t waited;  /* steps of all environments since the last end of an episode */
  bool truncation_is_known, waiting_is_known; /* the user has been notified */
} lgv_episode_limit;

/* Truncates the transition if its episode has reached the limit. Notifies the user once of
 * truncations, and once if there is no limit and no episode has ended for long. */
void lgv__limit_episode(lgv_episode_limit *limit, const lgv_env *env, lgv_transition *transition);

#endif
