/* LSVI-PHE: Least-Squares Value Iteration with perturbed histories. Ishfaq et al. (ICML 2021).
 *
 * The paper draws fresh noise xi ~ N(0, sigma^2) for every past target and zeta for the prior, M
 * times:
 *
 *   w^m = argmin sum_tau (r + xi_tau^m + V_{h+1}(x') - w^T phi)^2 + lambda ||w + zeta^m||^2
 *   Q_h(x,a) = min{ max_m phi^T w^m, H - h + 1 }^+
 *
 * With zeta ~ N(0, (sigma^2 / lambda) I) the minimizer is exactly N(w_hat, sigma^2 Lambda^-1). This
 * file draws from that law, at a cost that does not grow with the history. Unlike a Langevin chain,
 * a sample carries nothing from one episode to the next.
 *
 * schedule = theory: lambda = 1 and M = ceil(d log(delta/9) / log Phi(1)) are the theorem's; sigma
 * has its order H sqrt(d), with sqrt(log(2 d T / delta)) for the logarithms and constant 1. */
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>

typedef struct params {
  lsvi_params lsvi;
  double sigma;
  int64_t samples;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LSVI_PARAM_ROWS("1e-6", "false"),
    LSVI_MAP_ROWS,
    LGV_REAL_ROW(params, sigma, "sigma", "0.1", 0, 1e12, 0, "standard deviation of the noise on a regression target"),
    LGV_INT_ROW(params, samples, "samples", "10", 1, 1e6, "M, samples of w per stage; Q is their maximum"),
    {0},
};
/* clang-format on */

typedef struct self {
  lsvi core;
  const params *p;
  double *draw; /* (d): a sample of w */
} self;

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  params *p = params_;
  lsvi_sizes n;
  LGV_TRY(lgv__lsvi_resolve(&p->lsvi, problem, err));
  lgv__lsvi_resolve_noise(param_table, &p->lsvi, is_set, "sigma", false);
  if (p->lsvi.schedule == LSVI_TUNED) return LGV_OK;
  LGV_TRY(lgv__lsvi_theory_sizes(&p->lsvi, problem, &n, err));
  const double log_normal_cdf_at_1 = -0x1.61ccbbb9543bp-3; /* log Phi(1) = -0.1728 */
  double delta = p->lsvi.delta;
  double sigma = n.H * sqrt(n.d * lgv__log(2 * n.d * n.T / delta));
  double samples = ceil(n.d * lgv__log(delta / 9) / log_normal_cdf_at_1);
  LGV_TRY(lgv__lsvi_prescribe(param_table, p, is_set, "lambda", 1, err));
  LGV_TRY(lgv__lsvi_prescribe(param_table, p, is_set, "sigma", sigma, err));
  return lgv__lsvi_prescribe(param_table, p, is_set, "samples", samples, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  s->core.history.samples = s->p->samples;
  lgv__lsvi_layout(&s->core, &s->p->lsvi, problem, 0, out);
  s->draw = lgv_layout_array(out, "draw", LGV_F64, (size_t)s->core.d, LGV_SCRATCH);
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  self *s = self_;
  lsvi *c = &s->core;
  for (int64_t h = c->H - 1; h >= 0; h--) {
    double *q = lgv__lsvi_q(c, h);
    LGV_TRY(lgv__lsvi_targets(c, h, err));
    LGV_TRY(lgv__lsvi_solve(c, h, err));
    for (int64_t m = 0; m < s->p->samples; m++) {
      lgv__lsvi_perturb(c, h, c->w_hat, lgv__lsvi_sigma(c, s->p->sigma), s->draw);
      if (m == 0)
        lgv__lsvi_values(c, s->draw, q);
      else
        lgv__lsvi_values_max(c, s->draw, q);
    }
    lgv__lsvi_clip(c, h, q);
    lgv__lsvi_backup_max(c, h);
  }
  return LGV_OK;
}

const lgv_agent_type lgv__agent_lsvi_phe = {
    .name = "lsvi-phe",
    .summary = "LSVI that is greedy in the maximum of M regressions on perturbed histories",
    .traits = LGV_NEEDS_STATES | LGV_NEEDS_HORIZON | LGV_SETTLES_PER_EPISODE | LGV_TAKES_FEATURES,
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .resolve = resolve,
    .layout = layout,
    .open = lgv__lsvi_open,
    .begin_episode = begin_episode,
    .act = lgv__lsvi_act_greedy,
    .observe = lgv__lsvi_observe,
    .end_episode = lgv__lsvi_absorb,
    .policy = lgv__lsvi_policy_greedy,
    .q_values = lgv__lsvi_q_values,
};
