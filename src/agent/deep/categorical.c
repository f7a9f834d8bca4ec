#include "agent/deep/categorical.h"

#include <string.h>

void lgv__categorical_grid(int64_t n, double v_min, double v_max, float *z) {
  for (int64_t j = 0; j < n; j++)
    z[j] = (float)(v_min + (v_max - v_min) * (double)j / (double)(n - 1));
}

/* Places are counted in steps of the grid: atom j goes to shift + discount j. */
void lgv__categorical_project(int64_t n, double v_min, double v_max, const float *p, float reward,
                              float discount, float *m) {
  double step = (v_max - v_min) / (double)(n - 1), last = (double)(n - 1);
  double shift = ((double)reward + (double)discount * v_min - v_min) / step;
  memset(m, 0, (size_t)n * sizeof *m);
  for (int64_t j = 0; j < n; j++) {
    double at = shift + (double)discount * (double)j;
    at = at > 0 ? at < last ? at : last : 0;
    int64_t below = (int64_t)at;
    float above_share = (float)(at - (double)below);
    m[below] += p[j] * (1 - above_share);
    if (above_share > 0) m[below + 1] += p[j] * above_share;
  }
}
