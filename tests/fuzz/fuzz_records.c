/* The JSON files in a run's directory, as later commands read them. */
#include "fuzz.h"

#include "config/run_directory.h"
#include "report/data/run_result.h"

#include <stdlib.h>

static const lgv_plan *a_plan(void) {
  static lgv_plan *plan;
  lgv_settings *settings;
  lgv_error err;
  if (plan) return plan;
  bool ok = lgv_settings_create(&settings, &err) == LGV_OK &&
            lgv_settings_assign(settings, "env.name=riverswim", "fuzz", &err) == LGV_OK &&
            lgv_settings_assign(settings, "agent.name=lmc-lsvi", "fuzz", &err) == LGV_OK &&
            lgv_plan_create(settings, &plan, &err) == LGV_OK;
  if (!ok) abort();
  lgv_settings_free(settings);
  return plan;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"summary.json", "timing.json", "config.json", NULL};
  const char *directory = fuzz_directory(names);
  lgv_run_result state;
  lgv_error err;
  (void)fuzz_file(data, size);
  if (lgv__run_result_load(directory, &state, &err) == LGV_OK)
    (void)lgv__run_result_name(state.kind);
  (void)!lgv__config_check(a_plan(), 1, directory, LGV_EXACTLY, &err);
  (void)!lgv__config_check(a_plan(), 1, directory, LGV_UP_TO_BUDGET, &err);
  return 0;
}
