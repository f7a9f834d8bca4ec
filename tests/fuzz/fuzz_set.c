/* Values as --set passes them, one per line, and the plan made from them. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lgv_settings *settings;
  lgv_error err;
  if (lgv_settings_create(&settings, &err) != LGV_OK) return 0;
  char *text = calloc(size + 1, 1), *rest = text;
  if (size) memcpy(text, data, size);
  bool fine = true;
  for (char *line; (line = strsep(&rest, "\n"));)
    if (*line) fine &= lgv_settings_assign(settings, line, "--set", &err) == LGV_OK;
  if (fine) fuzz_plan(settings);
  free(text);
  lgv_settings_free(settings);
  return 0;
}
