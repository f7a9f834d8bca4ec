/* OPPO: Optimistic Proximal Policy Optimization. Cai et al. (ICML 2020), Algorithm 1, in the
 * variant for linear and tabular MDPs.
 *
 * In an episode: (1) improve the policy, (2) play it, (3) evaluate it with the data of earlier
 * episodes.
 *
 *   pi_h^k(a|x) ~ pi_h^{k-1}(a|x) exp(alpha Q_h^{k-1}(x,a)),             pi^0 uniform, Q^0 = 0
 *   Q_h^k = min{ phi^T w_hat + bonus ||phi||_{Lambda^-1}, H - h + 1 }^+
 *   V_h^k = sum_a pi_h^k Q_h^k
 *
 * V is the mean under the policy, not the maximum, and acting samples from the policy,
 * even in evaluations: that is the policy whose regret is measured.
 *
 * Departures. The paper's MDP is a linear mixture, P(x'|x,a) = psi(x,a,x')^T theta, with features
 * that integrate psi over each past episode's own V, and its rewards are known. Here phi(x,a) are
 * the features of a linear MDP, every episode regresses r + V_{h+1}(x') anew on the current V, and
 * rewards are only observed, so that the bonus must cover them, too, and Q is clipped as a whole.
 * The policy is a table of logits, (H x S x A), since a sum of k different Q has no shorter form.
 *
 * schedule = theory: alpha = sqrt(2 log A / (H T)), T = H K, and lambda = 1 are the theorem's;
 * bonus = C sqrt(d H^2 log(d T / delta)) has its order, with constant 1. */
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>

typedef struct params {
  lsvi_params lsvi;
  double bonus, step;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LSVI_PARAM_ROWS("1e-6", "false"),
    LGV_REAL_ROW(params, bonus, "bonus", "0.5", 0, 1e12, 0, "width of the confidence bound, in units of ||phi||_{Lambda^-1}"),
    LGV_REAL_ROW(params, step, "step", "1", 0, 1e12, 0, "alpha, the share of Q that an episode adds to the policy's logits"),
    {0},
};
/* clang-format on */

typedef struct self {
  lsvi core;
  const params *p;
  double *logits; /* (H x S x A) */
  double *pi;     /* (A) */
} self;

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  params *p = params_;
  lsvi_sizes n;
  LGV_TRY(lgv__lsvi_resolve(&p->lsvi, problem, err));
  if (p->lsvi.schedule == LSVI_TUNED) return LGV_OK;
  LGV_TRY(lgv__lsvi_theory_sizes(&p->lsvi, problem, &n, err));
  double bonus = n.H * sqrt(n.d * lgv__log(n.d * n.T / p->lsvi.delta));
  double step = sqrt(2 * lgv__log(problem->env.actions.count) / (n.H * n.T));
  LGV_TRY(lgv__lsvi_prescribe(param_table, p, is_set, "lambda", 1, err));
  LGV_TRY(lgv__lsvi_prescribe(param_table, p, is_set, "bonus", bonus, err));
  return lgv__lsvi_prescribe(param_table, p, is_set, "step", step, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__lsvi_layout(&s->core, &s->p->lsvi, problem, LSVI_USES_WIDTHS, out);
  s->logits =
      lgv_layout_array(out, "oppo.logits", LGV_F64, (size_t)(s->core.H * s->core.SA), LGV_KEEP);
  s->pi = lgv_layout_array(out, "oppo.pi", LGV_F64, (size_t)s->core.A, LGV_SCRATCH);
}

/* Policy improvement, with the Q of the previous episode. */
static lgv_status begin_episode(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  for (int64_t i = 0; i < s->core.H * s->core.SA; i++) s->logits[i] += s->p->step * s->core.q[i];
  return LGV_OK;
}

/* The softmax of the logits of the allowed actions, shifted so that the greatest is exp(0). */
static void policy(const void *self_, const lgv_obs *obs, double *pi) {
  const self *s = self_;
  const lsvi *c = &s->core;
  const double *logits = s->logits + obs->stage * c->SA + obs->state * c->A;
  if (obs->mask) { /* exp(-inf) = 0 */
    for (int32_t a = 0; a < c->A; a++) pi[a] = obs->mask[a] ? logits[a] : -INFINITY;
    logits = pi;
  }
  double most = logits[0], sum = 0;
  for (int32_t a = 1; a < c->A; a++) most = logits[a] > most ? logits[a] : most;
  for (int32_t a = 0; a < c->A; a++) sum += pi[a] = lgv__exp(logits[a] - most);
  for (int32_t a = 0; a < c->A; a++) pi[a] /= sum;
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  self *s = self_;
  LGV_TRY(lgv__lsvi_check_obs(&s->core, obs, err));
  policy(s, obs, s->pi);
  double u = lgv_rng_uniform(mode == LGV_TRAIN ? s->core.act : s->core.eval);
  action->choice = 0;
  for (int32_t a = 0; a < s->core.A; a++) {
    if (s->pi[a] == 0) continue;
    action->choice = a; /* the last possible one, should rounding leave u >= 0 */
    if ((u -= s->pi[a]) < 0) break;
  }
  return LGV_OK;
}

/* v[h] = sum_a pi q[h] */
static void backup_mean(self *s, int64_t h) {
  lsvi *c = &s->core;
  lgv_obs obs = {.stage = h, .mask = lgv__lsvi_mask(c, h, 0)};
  for (int64_t x = 0; x < c->S; x++) {
    const double *q = lgv__lsvi_q(c, h) + x * c->A;
    double mean = 0;
    obs.state = x;
    policy(s, &obs, s->pi);
    if (obs.mask) obs.mask += c->A;
    for (int32_t a = 0; a < c->A; a++) mean += s->pi[a] * q[a];
    c->v[h * c->S + x] = mean;
  }
}

/* Policy evaluation, with the episodes before this one; then this one becomes data. */
static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  lsvi *c = &s->core;
  for (int64_t h = c->H - 1; h >= 0; h--) {
    double *q = lgv__lsvi_q(c, h);
    LGV_TRY(lgv__lsvi_targets(c, h, err));
    LGV_TRY(lgv__lsvi_solve(c, h, err));
    lgv__lsvi_values(c, c->w_hat, q);
    lgv__lsvi_widths(c, h);
    for (int64_t i = 0; i < c->SA; i++) q[i] += s->p->bonus * c->width[i];
    lgv__lsvi_clip(c, h, q);
    backup_mean(s, h);
  }
  return lgv__lsvi_absorb(c, err);
}

const lgv_agent_type lgv__agent_oppo = {
    .name = "oppo",
    .summary = "optimistic proximal policy optimization (for linear and tabular MDPs)",
    .traits = LGV_NEEDS_STATES | LGV_NEEDS_HORIZON | LGV_SETTLES_PER_EPISODE,
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .resolve = resolve,
    .layout = layout,
    .open = lgv__lsvi_open,
    .begin_episode = begin_episode,
    .act = act,
    .observe = lgv__lsvi_observe,
    .end_episode = end_episode,
    .policy = policy,
    .q_values = lgv__lsvi_q_values,
};
