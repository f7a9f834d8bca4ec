/* The parameters of Langevin chains: what does not fit, and the constants of the regret theorems.
 */
#include "agent/linear/lmc_chain.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>

/* H K / delta must not overflow. */
static const double least_delta = 1e-200;

/* ---- the constants of the regret theorems ---- */

/* Theorem 4.2 and its multi-sample version, by fixed point. With x = 1/sqrt(beta):
 *   x  = 10 H sqrt(d) C + 8/3
 *   C  = sqrt( log(K+1)/2 + M log(2 sqrt(2) K B / H) + log(2/delta') )
 *   B  = (16/3) H d sqrt(K) + sqrt(4 K M / (3 delta')) d^{3/2} x
 * and M = ceil( log(H K / delta') / log(1/(1-c)) ), c = 1/(2 sqrt(2 e pi)); M = 1 for a single
 * sample. The regret bound holds with probability 1 - delta because the proofs use the lemmas with
 * delta' = delta/6, or delta/9 for several samples. The proof fixes 1/sqrt(beta), not 1/beta, as
 * the quantity of order H sqrt(d); the appendix's restatement has a misprint. */
static void find_fixed_point(double H, double d, double K, double delta, double M, lgv_theory *t) {
  double x = 1, last;
  do {
    last = x;
    t->b_delta = 16.0 / 3 * H * d * sqrt(K) + sqrt(4 * K * M / (3 * delta)) * lgv__pow(d, 1.5) * x;
    t->c_delta = sqrt(0.5 * lgv__log(K + 1) + M * lgv__log(2 * sqrt(2) * K * t->b_delta / H) +
                      lgv__log(2 / delta));
    x = 10 * H * sqrt(d) * t->c_delta + 8.0 / 3;
  } while (fabs(x - last) > 1e-13 * x);
  t->inv_sqrt_beta = x;
}

lgv_status lgv_theory_compute(int64_t horizon, int64_t dim, int64_t episodes, double delta,
                              bool multi, lgv_theory *t, lgv_error *err) {
  const double pi = 3.14159265358979323846, c = 1 / (2 * sqrt(2 * lgv__exp(1) * pi));
  if (horizon < 1 || dim < 1 || episodes < 1)
    return lgv_fail(err, LGV_ERR_USAGE, "horizon, dimension and episodes must be at least 1");
  if (!(delta > (multi ? least_delta : c) && delta < 1))
    return lgv_fail(
        err, LGV_ERR_USAGE,
        multi ? "delta = %g is outside the theorem's range (0, 1), or too small to compute with"
              : "delta = %g is outside the theorem's range (0.12099, 1); the multi-sample version "
                "takes any delta in (0, 1)",
        delta);
  double H = (double)horizon, d = (double)dim, K = (double)episodes;
  double of_lemmas = delta / (multi ? 9 : 6);
  double M = multi ? ceil(lgv__log(H * K / of_lemmas) / -lgv__log1p(-c)) : 1;
  find_fixed_point(H, d, K, of_lemmas, M, t);
  t->log_factor = lgv__log(4 * H * K * d);
  t->j_per_kappa = 2 * t->log_factor;
  t->samples_m = (int64_t)M;
  t->optimism_c = c;
  return LGV_OK;
}

/* ---- parameters ---- */

/* Combinations of the sampler that have no meaning. */
static lgv_status check_sampler(const lmc_params *p, const lgv_problem *problem, lgv_error *err) {
  bool theory = p->lsvi.schedule == LSVI_THEORY;
  if (theory && p->sampler == LMC_UNDERDAMPED)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.schedule = theory has the constants of the plain chain: set "
                    "agent.sampler = exact, or agent.schedule = tuned");
  if (p->feel_good == 0) return LGV_OK;
  if (p->sampler != LMC_LOOP)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.feel_good needs agent.sampler = loop: its loss is not quadratic (set "
                    "agent.updates, too, since J steps are taken one by one)");
  if (theory)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.schedule = theory has the constants of the plain loss: leave "
                    "agent.feel_good out, or set agent.schedule = tuned");
  if (p->lsvi.features == LSVI_FEATURES_MAP)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.feel_good counts the first states of episodes: it needs finite states, "
                    "agent.features = one-hot or env");
  if (p->lsvi.pool == LSVI_POOL_TRUE && problem->env.horizon > 1)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.feel_good needs the data of the first stage alone: set agent.pool = "
                    "false");
  return LGV_OK;
}

lgv_status lgv__lmc_resolve(const lgv_param *table, lmc_params *p, const bool *is_set,
                            const lgv_problem *problem, lmc_kind kind, lgv_theory *theory,
                            lgv_error *err) {
  LGV_TRY(lgv__lsvi_resolve(&p->lsvi, problem, err));
  lgv__lsvi_resolve_noise(table, &p->lsvi, is_set, "beta", kind == LMC_BANDIT);
  LGV_TRY(check_sampler(p, problem, err));
  if (p->lsvi.schedule == LSVI_TUNED) return LGV_OK;
  lsvi_sizes n;
  LGV_TRY(lgv__lsvi_theory_sizes(&p->lsvi, problem, &n, err));
  LGV_TRY(lgv_theory_compute((int64_t)n.H, (int64_t)n.d, (int64_t)n.K, p->lsvi.delta,
                             kind == LMC_SEVERAL, theory, err));
  double beta = 1 / (theory->inv_sqrt_beta * theory->inv_sqrt_beta);
  LGV_TRY(lgv__lsvi_prescribe(table, p, is_set, "lambda", 1, err));
  LGV_TRY(lgv__lsvi_prescribe(table, p, is_set, "beta", beta, err));
  LGV_TRY(lgv__lsvi_prescribe(table, p, is_set, "eta_scale", 0.25, err));
  return lgv__lsvi_prescribe(table, p, is_set, "updates", 0, err);
}
