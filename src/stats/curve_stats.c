/* Of the course of one run: its regret, and when it reached a threshold. */
#include "langevin.h"

#include <math.h>

void lgv_regret_curve(const double *returns, const double *episodes, size_t count, double optimal,
                      double *regret) {
  double sum = 0;
  for (size_t i = 0; i < count; i++)
    regret[i] = sum += (episodes ? episodes[i] : 1) * (optimal - returns[i]);
}

/* Each mean is summed afresh: a running sum would carry its rounding on, and a threshold that is
 * the optimal value itself is met exactly or not at all. */
double lgv_first_reach(const double *x, const double *y, size_t count, size_t window,
                       double threshold) {
  if (window == 0) window = 1;
  for (size_t i = window - 1; i < count; i++) {
    double sum = 0;
    for (size_t k = i + 1 - window; k <= i; k++) sum += y[k];
    if (sum / (double)window >= threshold) return x[i];
  }
  return INFINITY;
}
