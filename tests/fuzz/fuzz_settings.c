/* A file of settings, YAML or JSON, and the plan made from it. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lgv_settings *settings;
  lgv_error err;
  if (lgv_settings_create(&settings, &err) != LGV_OK) return 0;
  if (lgv_settings_load(settings, fuzz_file(data, size), &err) == LGV_OK) fuzz_plan(settings);
  lgv_settings_free(settings);
  return 0;
}
