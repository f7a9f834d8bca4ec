/* A run's records: metrics.csv and TensorBoard's event file, written row by row, and the JSON files
 * at its beginning and end. */
#ifndef LGV_RECORD_RECORD_H
#define LGV_RECORD_RECORD_H

#include "base/io/lock.h"
#include "config/plan.h"
#include "langevin.h"
#include "record/event_file.h"

/* The caller sets the members above the line before it opens the record, and keeps them alive. */
typedef struct lgv_record {
  const char *directory;     /* NULL: nothing is written */
  const lgv_column *columns; /* of metrics.csv; the first is the step */
  size_t n_columns;
  const lgv_lock *held; /* the directory's lock if the caller holds it; NULL: the record takes it */
  /* ---- */
  lgv_out metrics; /* not open with run.records = summary, which writes no timing.json either */
  lgv_lock lock;   /* no other run may write into the directory meanwhile; see `held` */
  lgv_event_file events; /* not open with run.tensorboard = false */
  double shown;          /* when readers of the files last got every row */
} lgv_record;

/* How the records of a run begin. */
typedef struct lgv_record_config {
  const char *text;    /* of config.json */
  bool only_summary;   /* run.records = summary */
  bool tensorboard;    /* run.tensorboard */
  bool accept_changes; /* run.accept_changes: other settings than before are no error */
} lgv_record_config;

/* Creates the directory, writes config.json, begins metrics.csv and the event file. Refuses a
 * directory that another run is writing into. */
LGV_CHECK lgv_status lgv__record_begin(lgv_record *record, const lgv_record_config *config,
                                       lgv_error *err);
/* The same for the run of a plan; without a directory it writes nothing. */
LGV_CHECK lgv_status lgv__record_open(lgv_record *record, const lgv_plan *plan, uint64_t seed,
                                      lgv_error *err);
/* No other run may write into the directory until the record is closed. Refuses a directory that
 * another process still holds after `patience` seconds: the child of a killed run may still be
 * writing a checkpoint, and ends soon. */
LGV_CHECK lgv_status lgv__record_lock(lgv_record *record, double patience, lgv_error *err);
/* The rows of metrics.csv that a checkpoint counts on. */
typedef struct lgv_rows {
  int64_t size; /* in bytes, from the beginning of the file */
  uint64_t sum; /* lgv__hash of them */
} lgv_rows;

/* What is wrong with these rows of metrics.csv, or NULL. The checkpoint that counts on them is
 * useless then. */
const char *lgv__record_rows_fault(const lgv_record *record, lgv_rows rows);
/* Continues the records of the same run in a locked directory, after these rows of metrics.csv and
 * the events of step `last_step`. */
LGV_CHECK lgv_status lgv__record_continue(lgv_record *record, const lgv_record_config *config,
                                          lgv_rows rows, int64_t last_step, lgv_error *err);
/* The same for the run of a plan. */
LGV_CHECK lgv_status lgv__record_reopen(lgv_record *record, const lgv_plan *plan, uint64_t seed,
                                        lgv_rows rows, int64_t last_step, lgv_error *err);
/* Writes one row of metrics.csv, a value for every column; NaN becomes an empty field. */
LGV_CHECK lgv_status lgv__record_row(lgv_record *record, const double *values, lgv_error *err);
/* Gives readers of metrics.csv and the event file all rows so far, every few seconds: to be called
 * often. */
LGV_CHECK lgv_status lgv__record_show(lgv_record *record, lgv_error *err);
/* Flushes and syncs all records, so that a checkpoint may refer to them; *rows: those of
 * metrics.csv. */
LGV_CHECK lgv_status lgv__record_flush(lgv_record *record, lgv_rows *rows, lgv_error *err);
/* given_up: episodes that could not be resumed. failure: why the run stopped early, or NULL. */
LGV_CHECK lgv_status lgv__record_summary(lgv_record *record, const lgv_plan *plan,
                                         const lgv_summary *summary, int64_t given_up,
                                         const char *failure, lgv_error *err);
/* computed: CPU seconds of the run's own thread. */
LGV_CHECK lgv_status lgv__record_timing(lgv_record *record, double seconds, double computed,
                                        int64_t steps, lgv_error *err);
void lgv__record_close(lgv_record *record);

/* Writes aggregate.json over the seeds of a plan. */
LGV_CHECK lgv_status lgv__record_aggregate(const char *directory, const lgv_plan *plan,
                                           const lgv_summary *summaries, size_t count,
                                           lgv_error *err);

#endif
