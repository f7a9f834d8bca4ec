/* The inside of a run, for run.c and run_checkpoint.c alone. */
#ifndef LGV_TRAIN_RUN_PARTS_H
#define LGV_TRAIN_RUN_PARTS_H

#include "config/plan.h"
#include "math/matmul_threads.h"
#include "record/checkpoint.h"
#include "record/record.h"
#include "stats/exact.h"
#include "train/run.h"

enum { RECENT = 10, MOST_COLUMNS = 64 };

/* What changes from step to step outside the environments and the agent. A checkpoint holds these
 * structs as they are, so they have 8-byte members only. */
typedef struct run_counters {
  int64_t steps, episodes;
  double total_return;
  double value;          /* of the current policy */
  double pending_regret; /* of the current episode */
  double regret;         /* of the finished episodes */
  double window_return;  /* sum of the training returns since the last row */
  int64_t window_episodes;
  double recent[RECENT]; /* ring of the last evaluations or exact values */
  int64_t n_recent;
  double eval_return; /* of the row to write; NaN: no evaluation */
  int64_t next_eval;
  double solved_episode; /* when run.stop_return was reached; NaN before */
  int64_t metrics_size;  /* bytes of metrics.csv when the checkpoint was written */
} run_counters;

typedef struct episode_counters { /* of one environment */
  int64_t in_episode;
  double episode_return;
} episode_counters;

typedef struct next_action { /* of one environment, where there are several */
  int64_t is_chosen;
  lgv_action action;
} next_action;

typedef struct eval_counters { /* environment steps of evaluations: what run.eval_share bounds */
  int64_t spent;               /* in all of them */
  int64_t before;              /* spent before the current or latest evaluation */
  int64_t longest;             /* of the finished ones; 0: none has finished */
  int64_t latest;              /* training steps when the latest one finished */
  int64_t at[RECENT];          /* the same for those in run_counters.recent */
} eval_counters;

struct lgv_run {
  const lgv_plan *plan;
  uint64_t seed;
  int32_t n_streams;
  lgv_stream *streams;        /* (n_streams) */
  episode_counters *episodes; /* (n_streams) */
  next_action *next;          /* (n_streams): of a checkpoint */
  lgv_episode_limit limit;    /* of all streams */
  lgv_env *env;               /* of the first stream */
  lgv_env *eval_env;          /* NULL without evaluations */
  lgv_agent *agent;
  lgv_matmul_threads *team; /* NULL: one thread */
  lgv_record record;
  char *directory;
  lgv_column columns[MOST_COLUMNS]; /* of metrics.csv */
  size_t n_columns, n_stats, n_counters;
  double *row;       /* one row of metrics.csv */
  int64_t *counters; /* (n_counters) of one environment */
  lgv_exact known;
  bool exact;           /* the policy's exact value is known */
  double *last_returns; /* (run.stop_window), a ring; NULL without run.stop_return */
  double started;       /* seconds */
  double computed;      /* CPU seconds of finished calls of lgv_run_advance */
  double entered;       /* CPU clock when the current call began */
  bool out_of_time;
  lgv_checkpoint_writer writer;
  int64_t saved_at;   /* steps at the newest checkpoint, -1 if there is none */
  int64_t resumed_at; /* steps that an earlier process did */
  int64_t given_up;   /* episodes that could not be resumed */
  uint64_t rows_sum;  /* of the rows of metrics.csv when the checkpoint was written */
  char *former;       /* settings of the checkpoint, where others were accepted; else NULL */

  lgv_stop stop;
  lgv_evaluation evaluation; /* the current one; all zero between evaluations */
  eval_counters evals;

  run_counters at;
};

/* Whether an evaluation, and with it a row of metrics.csv, belongs to the current step. */
bool lgv__run_evaluation_is_due(const lgv_run *run);

/* Writes a checkpoint; a large one while the run continues. */
LGV_CHECK lgv_status lgv__run_start_checkpoint(lgv_run *run, lgv_error *err);

/* Polls, or waits for, a checkpoint that a child process is writing. */
typedef lgv_status (*lgv_checkpoint_ask)(lgv_checkpoint_writer *writer, bool *lost, lgv_error *err);
LGV_CHECK lgv_status lgv__run_ask_for_checkpoint(lgv_run *run, lgv_checkpoint_ask ask,
                                                 lgv_error *err);

/* Resumes from the checkpoint in the run's directory, or starts anew if there is none. */
LGV_CHECK lgv_status lgv__run_restore(lgv_run *run, lgv_error *err);

#endif
