/* RLSVI: Randomized Least-Squares Value Iteration. Osband, Van Roy, Wen (ICML 2016), Algorithm 1.
 *
 * Bayesian linear regression on the targets r + V_{h+1}(x'), with noise variance sigma^2 and prior
 * precision lambda:
 *
 *   theta_h ~ N(mean, Sigma),  Sigma = (sum phi phi^T / sigma^2 + lambda I)^-1,
 *   mean = Sigma sum phi y / sigma^2,
 *
 * one sample per stage, greedy, Q not clipped. In the terms of lsvi_core this is a ridge of
 * lambda sigma^2 and noise of covariance sigma^2 Lambda^-1.
 *
 * schedule = theory: Russo (NeurIPS 2019) bounds the worst-case regret of the tabular case for
 * noise of variance beta_k = S H^3 log(2 H S A k) / 2 and a ridge of 1, so sigma^2 = beta_K, exact
 * but for taking K for k (which makes it constant), and lambda = 1 / sigma^2. With other features
 * than one-hot the same values are used, without a theorem.
 *
 * Where agent.prior_std says how large the noise is, lambda is the ridge itself. With a feature map
 * Q is cut to the values that are possible: features extrapolate.
 *
 * lin-ts is the same with defaults for bandits. With one stage it is linear Thompson sampling:
 * Agrawal and Goyal (ICML 2013), whose v is agent.sigma and whose ridge of 1 is agent.lambda = 1 /
 * sigma^2. It does not clip, with a feature map, either. */
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>

typedef struct params {
  lsvi_params lsvi;
  double sigma;
} params;

/* clang-format off */
#define PARAM_ROWS(lambda_text, sigma_text) \
    LSVI_LAMBDA_ROW(lambda_text, "prior precision of a weight: its prior variance is 1 / lambda"), \
    LSVI_POOL_ROW("false"), \
    LSVI_FEATURES_ROW, \
    LSVI_GRAM_ROW, \
    LSVI_SCHEDULE_ROW, \
    LSVI_DELAY_ROW, \
    LSVI_MAP_ROWS, \
    LGV_REAL_ROW(params, sigma, "sigma", sigma_text, 0, 1e12, LGV_OPEN_MIN, "standard deviation of the noise on a regression target")

static const lgv_param param_table[] = {PARAM_ROWS("1e-5", "0.1"), {0}};
static const lgv_param bandit_param_table[] = {PARAM_ROWS("1", "0.5"), {0}};
/* clang-format on */

typedef struct self {
  lsvi core;
  double sigma;
  double *draw;   /* (d): a sample of w */
  bool unbounded; /* whether values are not clipped, with a feature map, either */
} self;

static lgv_status resolve_with(const lgv_param *table, bool bandit, params *p, const bool *is_set,
                               const lgv_problem *problem, lgv_error *err) {
  lsvi_sizes n;
  LGV_TRY(lgv__lsvi_resolve(&p->lsvi, problem, err));
  lgv__lsvi_resolve_noise(table, &p->lsvi, is_set, "sigma", bandit);
  if (p->lsvi.schedule == LSVI_TUNED) return LGV_OK;
  LGV_TRY(lgv__lsvi_theory_sizes(&p->lsvi, problem, &n, err));
  double S = (double)problem->env.states, A = (double)problem->env.actions.count;
  double variance = S * n.H * n.H * n.H * lgv__log(2 * n.H * S * A * n.K) / 2;
  LGV_TRY(lgv__lsvi_prescribe(table, p, is_set, "lambda", 1 / variance, err));
  return lgv__lsvi_prescribe(table, p, is_set, "sigma", sqrt(variance), err);
}

static lgv_status resolve(void *p, const bool *is_set, const lgv_problem *problem, lgv_error *err) {
  return resolve_with(param_table, false, p, is_set, problem, err);
}

static lgv_status bandit_resolve(void *p, const bool *is_set, const lgv_problem *problem,
                                 lgv_error *err) {
  return resolve_with(bandit_param_table, true, p, is_set, problem, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  const params *p = params_;
  s->sigma = p->sigma;
  lgv__lsvi_layout(&s->core, &p->lsvi, problem, 0, out);
  if (!p->lsvi.by_prior) s->core.ridge = p->lsvi.lambda * p->sigma * p->sigma;
  s->draw = lgv_layout_array(out, "draw", LGV_F64, (size_t)s->core.d, LGV_SCRATCH);
}

static void bandit_layout(void *self_, const void *params_, const lgv_problem *problem,
                          lgv_layout *out) {
  ((self *)self_)->unbounded = true;
  layout(self_, params_, problem, out);
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  self *s = self_;
  lsvi *c = &s->core;
  for (int64_t h = c->H - 1; h >= 0; h--) {
    LGV_TRY(lgv__lsvi_targets(c, h, err));
    LGV_TRY(lgv__lsvi_solve(c, h, err));
    lgv__lsvi_perturb(c, h, c->w_hat, lgv__lsvi_sigma(c, s->sigma), s->draw);
    lgv__lsvi_values(c, s->draw, lgv__lsvi_q(c, h));
    if (c->history.map && !s->unbounded) lgv__lsvi_clip(c, h, NULL);
    lgv__lsvi_backup_max(c, h);
  }
  return LGV_OK;
}

const lgv_agent_type lgv__agent_rlsvi = {
    .name = "rlsvi",
    .summary = "randomized LSVI: greedy in one draw of Bayesian linear regression",
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

const lgv_agent_type lgv__agent_lin_ts = {
    .name = "lin-ts",
    .summary = "linear Thompson sampling, for bandits",
    .traits = LGV_NEEDS_STATES | LGV_NEEDS_HORIZON | LGV_SETTLES_PER_EPISODE | LGV_TAKES_FEATURES,
    .params = bandit_param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .resolve = bandit_resolve,
    .layout = bandit_layout,
    .open = lgv__lsvi_open,
    .begin_episode = begin_episode,
    .act = lgv__lsvi_act_greedy,
    .observe = lgv__lsvi_observe,
    .end_episode = lgv__lsvi_absorb,
    .policy = lgv__lsvi_policy_greedy,
    .q_values = lgv__lsvi_q_values,
};
