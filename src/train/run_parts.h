/* The inside of a run, for the files that make it: run.c and run_checkpoint.c. */
#ifndef LGV_TRAIN_RUN_PARTS_H
#define LGV_TRAIN_RUN_PARTS_H

#include "config/plan.h"
#include "math/matmul_threads.h"
#include "record/checkpoint.h"
#include "record/record.h"
#include "stats/exact.h"
#include "train/run.h"
#include "train/stream.h"

enum { RECENT = 10, MOST_COLUMNS = 64 };

/* All that changes from step to step outside the environment and the agent: 8-byte members only,
 * saved as they lie. */
typedef struct run_state {
  int64_t steps, episodes;
  double total_return;
  double value, pending_regret,
      regret;           /* of the current policy; of the current episode; of finished ones */
  double window_return; /* training returns since the last row */
  int64_t window_episodes;
  double recent[RECENT]; /* the last evaluations or exact values, in turn */
  int64_t n_recent;
  double eval_return; /* of the last evaluation; NaN before */
  int64_t next_eval;
  double solved_episode; /* when run.stop_return was reached; NaN before */
  int64_t metrics_size;  /* bytes of metrics.csv when the checkpoint was written */
} run_state;

/* The same of one environment. */
typedef struct stream_state {
  int64_t in_episode;
  double episode_return;
} stream_state;

struct lgv_run {
  const lgv_plan *plan;
  uint64_t seed;
  int32_t n_streams;
  lgv_stream *streams;    /* (n_streams) */
  stream_state *episodes; /* (n_streams) */
  lgv_env *env;           /* the first one */
  lgv_env *eval_env;      /* NULL without evaluations */
  lgv_agent *agent;
  lgv_matmul_threads *team; /* NULL: one thread does all */
  lgv_record record;
  char *directory;
  lgv_column columns[MOST_COLUMNS]; /* of metrics.csv */
  size_t n_columns, n_stats, n_counters;
  double *row;       /* one line of metrics.csv */
  int64_t *counters; /* (n_counters) of one environment */
  lgv_exact known;
  bool exact;           /* the policy's exact value is known */
  double *last_returns; /* (run.stop_window), in turn; NULL without run.stop_return */
  double started;       /* seconds */
  double computed;      /* processor seconds of finished calls of lgv_run_advance */
  double entered;       /* processor clock when the present call began */
  bool out_of_time;
  lgv_checkpoint_writer writer;
  int64_t saved_at;   /* steps at the newest checkpoint, -1 if there is none */
  int64_t resumed_at; /* steps that an earlier process did */
  int64_t given_up;   /* episodes that could not go on when the run was resumed */

  lgv_stop stop;
  lgv_evaluation evaluation; /* the one in hand; all zero between evaluations */

  run_state at;
};

/* Writes a checkpoint while the run goes on, if it is large. */
LGV_CHECK lgv_status lgv__run_start_checkpoint(lgv_run *run, lgv_error *err);

/* Looks after, or waits for, one that somebody else is writing. */
typedef lgv_status (*lgv_checkpoint_ask)(lgv_checkpoint_writer *writer, bool *lost, lgv_error *err);
LGV_CHECK lgv_status lgv__run_ask_for_checkpoint(lgv_run *run, lgv_checkpoint_ask ask,
                                                 lgv_error *err);

/* Goes on from what the run's directory holds, or from the start. */
LGV_CHECK lgv_status lgv__run_restore(lgv_run *run, lgv_error *err);

#endif
