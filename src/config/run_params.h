/* The run's own parameters: run.* */
#ifndef LGV_CONFIG_RUN_PARAMS_H
#define LGV_CONFIG_RUN_PARAMS_H

#include "langevin.h"

typedef struct lgv_run_params {
  int64_t episodes, steps; /* the budget: the run ends when either is spent; 0: no bound */
  double stop_return;      /* infinite: never */
  int64_t stop_window;
  double stop_seconds; /* 0: never */
  int64_t seed;
  int64_t envs; /* number of environments that the agent learns from at once */
  int64_t update_threads;
  int64_t episode_steps; /* 0: only the environment ends its episodes */
  int64_t eval_every, eval_episodes, eval_steps;
  double eval_share; /* of the training steps; infinite: no limit */
  int64_t record_every;
  int64_t checkpoint_every;
  bool checkpoint_final;
  int32_t records; /* LGV_RECORDS_... */
  bool tensorboard, accept_changes;
  double env_timeout;      /* seconds; 0: never */
  int32_t on_worker_death; /* LGV_DEATH_... */
} lgv_run_params;

extern const lgv_param lgv__run_params[];

enum { LGV_RECORDS_ALL, LGV_RECORDS_SUMMARY };
enum { LGV_DEATH_RESTART, LGV_DEATH_STOP };

/* Steps after which an episode counts as long: 10,000, or 108,000 if observations are large
 * pictures. */
int64_t lgv__long_episode(const lgv_env_spec *env);
/* Refuses to truncate episodes before the end of a horizon that the agent needs. */
LGV_CHECK lgv_status lgv__check_episode_steps(int64_t steps, const lgv_agent_type *agent,
                                              const lgv_env_spec *env, lgv_error *err);

#endif
