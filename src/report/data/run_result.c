#include "report/data/run_result.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/text.h"
#include "record/summary.h"
#include "train/run.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *lgv__run_result_name(lgv_run_result_kind kind) {
  static const char *const names[] = {"finished", "failed", "interrupted",
                                      "not finished (running, or killed)"};
  return names[kind];
}

/* A flat JSON file as settings; *file is NULL where there is none. */
static lgv_status open_file(const char *directory, const char *name, lgv_settings **file,
                            lgv_error *err) {
  char path[PATH_MAX];
  bool there;
  *file = NULL;
  LGV_TRY(lgv__join_path(directory, name, path, sizeof path, err));
  LGV_TRY(lgv__is_there(path, &there, err));
  if (!there) return LGV_OK;
  LGV_TRY(lgv_settings_create(file, err));
  lgv_status status = lgv_settings_load(*file, path, err);
  if (status == LGV_OK) return LGV_OK;
  lgv_settings_free(*file);
  *file = NULL;
  return status;
}

static double real_of(const lgv_settings *file, const char *key) {
  const char *text = file ? lgv_settings_get(file, key) : NULL;
  double value;
  return text && lgv__parse_real(text, &value) ? value : NAN;
}

lgv_status lgv__run_result_load(const char *directory, lgv_run_result *s, lgv_error *err) {
  lgv_settings *summary, *timing;
  *s = (lgv_run_result){.kind = LGV_RESULT_OPEN, .summary = lgv__summary_none(0)};
  LGV_TRY(open_file(directory, "timing.json", &timing, err));
  s->seconds = real_of(timing, "seconds");
  s->processor_seconds = real_of(timing, "processor_seconds");
  s->steps_per_second = real_of(timing, "steps_per_second");
  lgv_settings_free(timing);
  LGV_TRY(open_file(directory, "summary.json", &summary, err));
  if (!summary) return LGV_OK;
  const char *failure = lgv_settings_get(summary, "error");
  if (failure && strcmp(failure, LGV_INTERRUPTED) != 0)
    snprintf(s->failure, sizeof s->failure, "%s", failure);
  lgv_settings_free(summary);
  LGV_TRY(lgv_summary_load(directory, &s->summary, err));
  s->kind = s->summary.finished ? LGV_RESULT_FINISHED
            : s->failure[0]     ? LGV_RESULT_FAILED
                                : LGV_RESULT_INTERRUPTED;
  return LGV_OK;
}
