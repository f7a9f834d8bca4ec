/* A run's records: metrics.csv row by row, and the JSON files at its ends. */
#ifndef LGV_RUN_RECORD_H
#define LGV_RUN_RECORD_H

#include "langevin.h"
#include "run/plan.h"

#include <stdio.h>

typedef struct lgv_record {
  const char *directory; /* NULL: nothing is written */
  FILE *metrics; /* NULL also with run.records = summary, which writes no timing.json either */
  bool locked;   /* no other run may write into the directory meanwhile */
  int lock;      /* descriptor of the directory, if locked */
} lgv_record;

/* Creates the directory, writes config.json, opens metrics.csv. Refuses a directory that another
 * run is writing into. directory must outlive the record. */
LGV_CHECK lgv_status lgv__record_open(lgv_record *record, const lgv_plan *plan, uint64_t seed,
                                      const char *directory, lgv_error *err);
/* Goes on with the records of the same run after the first `size` bytes of metrics.csv. */
LGV_CHECK lgv_status lgv__record_reopen(lgv_record *record, const lgv_plan *plan, uint64_t seed,
                                        const char *directory, int64_t size, lgv_error *err);
/* One line of metrics.csv. Names are written as a header, values as numbers; NaN is an empty field.
 */
LGV_CHECK lgv_status lgv__record_header(lgv_record *record, const char *const *names, size_t count,
                                        lgv_error *err);
LGV_CHECK lgv_status lgv__record_row(lgv_record *record, const double *values, size_t count,
                                     lgv_error *err);
/* Everything written so far is with the system; *size: bytes of metrics.csv. */
LGV_CHECK lgv_status lgv__record_flush(lgv_record *record, int64_t *size, lgv_error *err);
/* failure: why the run stopped early, or NULL. */
LGV_CHECK lgv_status lgv__record_summary(lgv_record *record, const lgv_plan *plan,
                                         const lgv_summary *summary, const char *failure,
                                         lgv_error *err);
/* computed: processor seconds of the run's own thread. */
LGV_CHECK lgv_status lgv__record_timing(lgv_record *record, double seconds, double computed,
                                        int64_t steps, lgv_error *err);
void lgv__record_close(lgv_record *record);

/* Over the seeds of a plan: aggregate.json. */
LGV_CHECK lgv_status lgv__record_aggregate(const char *directory, const lgv_plan *plan,
                                           const lgv_summary *summaries, size_t count,
                                           lgv_error *err);
/* Refuses a directory that holds the records of other settings. */
LGV_CHECK lgv_status lgv__record_check_directory(const lgv_plan *plan, uint64_t seed,
                                                 const char *directory, lgv_error *err);

#endif
