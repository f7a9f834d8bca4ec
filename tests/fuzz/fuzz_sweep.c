/* A sweep file: its configurations, labels and directories, and the figures that it describes. */
#include "fuzz.h"

#include "report/plot/figure_file.h"

enum { MOST_CONFIGS = 8 };

static void look(const lgv_sweep *sweep, size_t config) {
  lgv_settings *settings;
  lgv_error err;
  char label[LGV_SWEEP_LABEL_SIZE];
  (void)lgv_sweep_label(sweep, config, label, sizeof label);
  for (size_t k = 0; lgv_sweep_key(sweep, k); k++) (void)lgv_sweep_value(sweep, config, k);
  if (lgv_sweep_settings(sweep, config, &settings, &err) != LGV_OK) return;
  fuzz_plan(settings);
  lgv_settings_free(settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_file(data, size), *const scales[] = {NULL, "quick"};
  for (int i = 0; i < 2; i++) {
    lgv_sweep *sweep;
    lgv_error err;
    if (lgv_sweep_load(path, scales[i], &sweep, &err) != LGV_OK) continue;
    size_t configs = lgv_sweep_get_info(sweep)->configs;
    for (size_t c = 0; c < configs && c < MOST_CONFIGS; c++) look(sweep, c);
    if (configs > MOST_CONFIGS) look(sweep, configs - 1);
    lgv_figure_job job = {.file = path, .sweep = sweep};
    (void)!lgv__figures_draw(&job, &err);
    lgv_sweep_free(sweep);
  }
  return 0;
}
