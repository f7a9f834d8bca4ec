/* OPT-RLSVI: optimistically initialized randomized LSVI. Zanette et al. (AISTATS 2020).
 *
 * One sample w_bar ~ N(w_hat, sigma^2 Lambda^-1) per stage. With u = ||phi||_{Lambda^-1},
 *
 *   Q_h = phi^T w_bar        where u <= alpha_low    (enough data),
 *         H - h + 1          where u >= alpha_high   (the default value),
 *         linear in u        between,
 *
 * and no other clipping: that is the point of the construction. One-hot features have
 * u = 1/sqrt(lambda + n), so alpha_high = 1/sqrt(lambda + n0) stands for "default value until n0
 * visits".
 *
 * With a feature map u counts in units of 1 / sqrt(lambda), the width without data, and Q is cut to
 * the values that are possible: features extrapolate.
 *
 * schedule = theory: lambda = 1 and alpha_low = alpha_high / 2 are the theorem's; sigma = H^{3/2} d
 * and alpha_high = (H d)^{-3/2} are its orders with constant 1 and without logarithms. */
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>

typedef struct params {
  lsvi_params lsvi;
  double sigma, alpha_low, alpha_high;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LSVI_PARAM_ROWS("1e-2", "false"),
    LSVI_MAP_ROWS,
    LGV_REAL_ROW(params, sigma, "sigma", "0.1", 0, 1e12, 0, "standard deviation of the noise on a regression target"),
    LGV_REAL_ROW(params, alpha_low, "alpha_low", "0.9", 0, INFINITY, 0, "up to this ||phi||_{Lambda^-1}, only the regression counts"),
    LGV_REAL_ROW(params, alpha_high, "alpha_high", "0.99", 0, INFINITY, 0, "from this ||phi||_{Lambda^-1} on, Q is the greatest possible value"),
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
  if (p->alpha_low > p->alpha_high)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.alpha_low = %g must not exceed agent.alpha_high = %g", p->alpha_low,
                    p->alpha_high);
  if (p->lsvi.schedule == LSVI_TUNED) return LGV_OK;
  LGV_TRY(lgv__lsvi_theory_sizes(&p->lsvi, problem, &n, err));
  double sigma = lgv__pow(n.H, 1.5) * n.d, high = lgv__pow(n.H * n.d, -1.5);
  LGV_TRY(lgv__lsvi_prescribe(param_table, p, is_set, "lambda", 1, err));
  LGV_TRY(lgv__lsvi_prescribe(param_table, p, is_set, "sigma", sigma, err));
  LGV_TRY(lgv__lsvi_prescribe(param_table, p, is_set, "alpha_low", high / 2, err));
  return lgv__lsvi_prescribe(param_table, p, is_set, "alpha_high", high, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__lsvi_layout(&s->core, &s->p->lsvi, problem, LSVI_USES_WIDTHS, out);
  s->draw = lgv_layout_array(out, "draw", LGV_F64, (size_t)s->core.d, LGV_SCRATCH);
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  self *s = self_;
  lsvi *c = &s->core;
  for (int64_t h = c->H - 1; h >= 0; h--) {
    double *q = lgv__lsvi_q(c, h), optimistic = lgv__lsvi_value_bound(c, h);
    LGV_TRY(lgv__lsvi_targets(c, h, err));
    LGV_TRY(lgv__lsvi_solve(c, h, err));
    lgv__lsvi_perturb(c, h, c->w_hat, lgv__lsvi_sigma(c, s->p->sigma), s->draw);
    lgv__lsvi_values(c, s->draw, q);
    lgv__lsvi_widths(c, h);
    lgv__lsvi_add_default(c, h, s->p->alpha_low, s->p->alpha_high, optimistic, q);
    if (c->history.map) lgv__lsvi_clip(c, h, q);
    lgv__lsvi_backup_max(c, h);
  }
  return LGV_OK;
}

const lgv_agent_type lgv__agent_opt_rlsvi = {
    .name = "opt-rlsvi",
    .summary = "randomized LSVI with an optimistic default value where data are scarce",
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
