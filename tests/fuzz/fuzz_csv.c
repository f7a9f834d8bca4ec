/* metrics.csv as plots and reports read it. */
#include "fuzz.h"

#include "report/data/csv_file.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const columns[] = {"episode_return", "eval_return", "regret"};
  const char *path = fuzz_file(data, size);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    lgv_series series;
    lgv_error err;
    bool has;
    if (lgv__csv_has(path, columns[i], &has, &err) != LGV_OK) continue;
    if (lgv__csv_read(path, "step", columns[i], &series, &err) != LGV_OK) continue;
    if (!has || series.count == 0) abort();
    for (size_t k = 0; k < series.count; k++)
      if (!isfinite(series.x[k]) || !isfinite(series.y[k])) abort();
    lgv__series_free(&series);
  }
  return 0;
}
