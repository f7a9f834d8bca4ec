/* The constants of the regret theorems (Theorem 4.2 and its multi-sample version), by fixed point.
 *
 * With x = 1/sqrt(beta):
 *   x       = 10 H sqrt(d) C + 8/3
 *   C       = sqrt( log(K+1)/2 + M log(2 sqrt(2) K B / H) + log(2/delta) )
 *   B       = (16/3) H d sqrt(K) + sqrt(2 K / (3 delta')) d^{3/2} x,    delta' = delta / (2 M)
 * and M = ceil( log(H K / delta) / log(1/(1-c)) ), c = 1/(2 sqrt(2 e pi)); M = 1 for a single
 * sample. The proof fixes 1/sqrt(beta), not 1/beta, as the quantity of order H sqrt(d); the
 * appendix's restatement has a misprint. */
#include "base/error.h"

#include <math.h>

lgv_status lgv_theory_compute(int64_t horizon, int64_t dim, int64_t episodes, double delta,
                              bool multi, lgv_theory *t, lgv_error *err) {
  const double pi = 3.14159265358979323846, c = 1 / (2 * sqrt(2 * exp(1) * pi));
  if (horizon < 1 || dim < 1 || episodes < 1)
    return lgv_fail(err, LGV_ERR_USAGE, "horizon, dimension and episodes must be at least 1");
  if (!(delta > (multi ? 0 : c) && delta < 1))
    return lgv_fail(
        err, LGV_ERR_USAGE,
        multi ? "delta = %g is outside the theorem's range (0, 1)"
              : "delta = %g is outside the theorem's range (0.12099, 1); the multi-sample version "
                "takes any delta in (0, 1)",
        delta);
  double H = (double)horizon, d = (double)dim, K = (double)episodes;
  double M = multi ? ceil(log(H * K / delta) / -log1p(-c)) : 1, x = 1, last;
  do {
    last = x;
    t->b_delta = 16.0 / 3 * H * d * sqrt(K) + sqrt(4 * K * M / (3 * delta)) * pow(d, 1.5) * x;
    t->c_delta =
        sqrt(0.5 * log(K + 1) + M * log(2 * sqrt(2) * K * t->b_delta / H) + log(2 / delta));
    x = 10 * H * sqrt(d) * t->c_delta + 8.0 / 3;
  } while (fabs(x - last) > 1e-13 * x);
  t->inv_sqrt_beta = x;
  t->log_factor = log(4 * H * K * d);
  t->j_per_kappa = 2 * t->log_factor;
  t->samples_m = (int64_t)M;
  t->optimism_c = c;
  return LGV_OK;
}
