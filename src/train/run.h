/* Calls of a run that the scheduler needs beyond the public ones. */
#ifndef LGV_TRAIN_RUN_H
#define LGV_TRAIN_RUN_H

#include "base/lock.h"

#define LGV_INTERRUPTED "interrupted; what was recorded until then is kept"

/* lgv_run_create or lgv_run_resume; held: the lock of the directory, if the caller holds it until
 * the run is freed, else NULL. */
LGV_CHECK lgv_status lgv__run_open(const lgv_plan *plan, uint64_t seed, const char *directory,
                                   bool resume, const lgv_lock *held, lgv_run **run,
                                   lgv_error *err);
double lgv__run_fraction(const lgv_run *run); /* of its budget, 0..1 */
/* Like lgv_run_finish, noting why the run stopped early (NULL if it did not). */
LGV_CHECK lgv_status lgv__run_close_records(lgv_run *run, const char *failure, lgv_error *err);

/* Whether an agent made for one can live in the other. */
bool lgv__same_problem(const lgv_env_spec *a, const lgv_env_spec *b, bool with_horizon);
/* An environment with the parameters of evaluation, after a look whether the plan's agent can live
 * with it. */
LGV_CHECK lgv_status lgv__open_eval_env(const lgv_plan *plan, uint64_t seed, const char *purpose,
                                        lgv_env **env, lgv_error *err);

/* Asked from time to time within an evaluation; NULL: never. */
typedef struct lgv_stop {
  bool (*asked)(void *context);
  void *context;
} lgv_stop;

/* Makes lgv_run_advance return LGV_ERR_INTERRUPTED where an evaluation takes longer than whoever
 * asks wants to wait. A run that is checkpointed then goes on within it. */
void lgv__run_set_stop(lgv_run *run, lgv_stop stop);

/* Episodes in evaluation mode, and how far they have come: 8-byte members only. */
typedef struct lgv_evaluation {
  int64_t episodes; /* done */
  double sum;       /* of their returns */
  int64_t steps;    /* of the episode in hand; 0: none has begun */
  double episode_return;
} lgv_evaluation;

/* Plays until so many episodes are done, each cut after most_steps. LGV_ERR_INTERRUPTED: it was
 * asked to stop; another call goes on. */
LGV_CHECK lgv_status lgv__evaluate(lgv_agent *agent, lgv_env *env, int64_t episodes,
                                   int64_t most_steps, lgv_stop stop, lgv_evaluation *evaluation,
                                   lgv_error *err);

#endif
