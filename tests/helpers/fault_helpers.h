/* Helpers for tests of faults: a run from its start or its last checkpoint to its end, and the
 * comparison of the files of two runs. */
#ifndef LGV_TESTS_FAULT_HELPERS_H
#define LGV_TESTS_FAULT_HELPERS_H

#include "file_helpers.h"
#include "run_helpers.h"

enum { FAULT_SEED = 3 };

/* Starts or resumes the run in the directory and finishes it; frees it in every case. */
static inline lgv_status finish_run(const lgv_plan *plan, const char *directory, bool resume,
                                    lgv_error *err) {
  lgv_run *run;
  bool done = false;
  lgv_status status = resume ? lgv_run_resume(plan, FAULT_SEED, directory, &run, err)
                             : lgv_run_create(plan, FAULT_SEED, directory, &run, err);
  if (status != LGV_OK) return status;
  while (status == LGV_OK && !done) status = lgv_run_advance(run, 64, &done, err);
  if (status == LGV_OK) status = lgv_run_finish(run, err);
  lgv_run_free(run);
  return status;
}

/* Two finished runs left the same bytes and no partial file. */
static inline void assert_same_records(const char *one, const char *other) {
  static const char *const names[] = {"config.json", "metrics.csv", "summary.json",
                                      "checkpoint.safetensors"};
  static const char *const never[] = {"checkpoint-new.safetensors",
                                      "checkpoint-new.safetensors.tmp", "summary.json.tmp"};
  char path[PATH_MAX];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_same_file(one, other, names[i]);
  for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
    join(path, other, never[i]);
    if (access(path, F_OK) == 0) fail_msg("%s was left behind", path);
  }
}

#endif
