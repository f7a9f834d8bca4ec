/* Runs beyond the public calls: what batches, trainers and evaluations share. */
#ifndef LGV_TRAIN_RUN_H
#define LGV_TRAIN_RUN_H

#include "base/io/lock.h"
#include "train/episode_limit.h"

#define LGV_INTERRUPTED "interrupted; what was recorded until then is kept"

/* lgv_run_create or lgv_run_resume; held: the lock of the directory, if the caller holds it until
 * the run is freed, else NULL. */
LGV_CHECK lgv_status lgv__run_open(const lgv_plan *plan, uint64_t seed, const char *directory,
                                   bool resume, const lgv_lock *held, lgv_run **run,
                                   lgv_error *err);

/* One environment that an agent learns from. The loops of runs and trainers consist of these
 * verbs. */
typedef struct lgv_stream {
  lgv_env *env;
  int32_t index; /* which of the agent's environments it is */
  lgv_obs obs;
  lgv_action action;
  bool has_action;     /* the next action is chosen (runs only) */
  bool is_moving;      /* its step has started (runs only) */
  lgv_transition step; /* the current one */
  lgv_episode_limit *limit;
} lgv_stream;

LGV_CHECK lgv_status lgv__stream_begin(lgv_stream *stream, lgv_agent *agent, lgv_error *err);
LGV_CHECK lgv_status lgv__stream_choose(lgv_stream *stream, lgv_agent *agent, lgv_error *err);
/* Starts the step with the action that was chosen; lgv__stream_learn waits for its outcome and lets
 * the agent observe it. In between, other environments may take theirs. */
LGV_CHECK lgv_status lgv__stream_start(lgv_stream *stream, lgv_error *err);
LGV_CHECK lgv_status lgv__stream_learn(lgv_stream *stream, lgv_agent *agent, lgv_error *err);

static inline bool lgv__stream_has_ended(const lgv_stream *stream) {
  return stream->step.terminated || stream->step.truncated;
}

double lgv__run_fraction(const lgv_run *run); /* of its budget, 0..1 */
/* Like lgv_run_finish, but records why the run stopped early (NULL if it did not). */
LGV_CHECK lgv_status lgv__run_close_records(lgv_run *run, const char *failure, lgv_error *err);

/* Whether an agent made for one environment can act in the other. */
bool lgv__same_problem(const lgv_env_spec *a, const lgv_env_spec *b, bool with_horizon);
/* Opens an environment with the parameters of evaluation; fails if the plan's agent cannot act in
 * it. */
LGV_CHECK lgv_status lgv__open_eval_env(const lgv_plan *plan, uint64_t seed, const char *purpose,
                                        lgv_env **env, lgv_error *err);

/* Polled during evaluations; asked may be NULL. */
typedef struct lgv_stop {
  bool (*asked)(void *context);
  void *context;
} lgv_stop;

/* Lets lgv_run_advance return LGV_ERR_INTERRUPTED within a long evaluation. A run that is
 * checkpointed there resumes within the evaluation. */
void lgv__run_set_stop(lgv_run *run, lgv_stop stop);

/* The progress of an evaluation. Checkpoints hold it as it is: 8-byte members only. */
typedef struct lgv_evaluation {
  int64_t episodes; /* done */
  double sum;       /* of their returns */
  int64_t steps;    /* of the current episode; 0: none has begun */
  double episode_return;
} lgv_evaluation;

/* Plays until `episodes` of them are done, each cut after most_steps. LGV_ERR_INTERRUPTED: `stop`
 * asked for it; another call continues. */
LGV_CHECK lgv_status lgv__evaluate(lgv_agent *agent, lgv_env *env, int64_t episodes,
                                   int64_t most_steps, lgv_stop stop, lgv_evaluation *evaluation,
                                   lgv_error *err);

#endif
