/* Files in the directory of one run of a sweep, in addition to its records:
 *
 *   lock        while a process works there (base/io/lock.h)
 *   error.json  why it failed, until it succeeds
 *
 * A run has finished if its summary.json is whole, says so and names the right seed, and if its
 * config.json is whole. Nothing else counts. */
#ifndef LGV_SWEEP_SWEEP_STORE_H
#define LGV_SWEEP_SWEEP_STORE_H

#include "langevin.h"

/* Who wrote the records of a run. */
typedef struct lgv_maker {
  char version[32], kernels[32];
} lgv_maker;

typedef enum lgv_origin {
  LGV_ORIGIN_NONE,  /* no config.json, or half of one */
  LGV_ORIGIN_OURS,  /* the same settings, version and kernels */
  LGV_ORIGIN_OTHER, /* of another version, or with other kernels: *maker names it */
} lgv_origin;

LGV_CHECK lgv_status lgv__store_origin(const lgv_plan *plan, uint64_t seed, const char *directory,
                                       lgv_origin *origin, lgv_maker *maker, lgv_error *err);
/* Whether the run has finished; then *summary is its result. Fails if that cannot be told. */
LGV_CHECK lgv_status lgv__store_finished(const lgv_plan *plan, uint64_t seed, const char *directory,
                                         bool *finished, lgv_summary *summary, lgv_origin *origin,
                                         lgv_maker *maker, lgv_error *err);
/* Whether the run failed the last time; then *failure says why. */
bool lgv__store_failed(const char *directory, lgv_error *failure);
/* Best effort: if it cannot be written, the failure is reported but not kept. */
void lgv__store_failure(const char *directory, const lgv_error *failure);
/* Removes the files that a finished run no longer needs, so that its directory does not depend on
 * how often it was stopped: error.json, and all checkpoints but the one that run.checkpoint_final
 * asks for. */
void lgv__store_tidy(const lgv_plan *plan, const char *directory);
/* Whether a finished run has a file that lgv__store_tidy would remove: its process died, or could
 * not end properly. */
bool lgv__store_is_untidy(const char *directory);

#endif
