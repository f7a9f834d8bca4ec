/* LSVI-UCB: Least-Squares Value Iteration with upper confidence bounds. Jin et al. (COLT 2020),
 * Algorithm 1.
 *
 *   Q_h(x,a) = min{ phi^T w_hat + bonus ||phi||_{Lambda^-1}, H - h + 1 }
 *
 * Departures: the paper clips at H for every h; H - h + 1 is tighter, still an upper bound of Q*,
 * and the bound that the other agents here use. The lower clip at 0 costs nothing, since rewards
 * are not negative.
 *
 * schedule = theory: lambda = 1 and bonus = c d H sqrt(log(2 d T / delta)), T = H K, are the
 * theorem's; its absolute constant c is not stated, and 1 here.
 *
 * lin-ucb is the same without the clip, which serves earlier stages. With one stage, a bandit, it
 * is LinUCB: Li et al. (WWW 2010), Abbasi-Yadkori et al. (NIPS 2011). */
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "base/portable_math.h"

#include <math.h>

typedef struct params {
  lsvi_params lsvi;
  double bonus;
} params;

/* clang-format off */
#define BONUS_ROW(text) LGV_REAL_ROW(params, bonus, "bonus", text, 0, 1e12, 0, "width of the confidence bound, in units of ||phi||_{Lambda^-1}")

static const lgv_param param_table[] = {LSVI_PARAM_ROWS("1e-6", "false"), LSVI_MAP_ROWS, BONUS_ROW("0.1"), {0}};
static const lgv_param bandit_param_table[] = {LSVI_PARAM_ROWS("1", "false"), LSVI_MAP_ROWS, BONUS_ROW("1"), {0}};
/* clang-format on */

typedef struct self {
  lsvi core;
  double bonus;
  bool unbounded; /* whether values are not clipped */
} self;

static lgv_status resolve_with(const lgv_param *table, bool bandit, params *p, const bool *is_set,
                               const lgv_problem *problem, lgv_error *err) {
  lsvi_sizes n;
  LGV_TRY(lgv__lsvi_resolve(&p->lsvi, problem, err));
  lgv__lsvi_resolve_noise(table, &p->lsvi, is_set, "bonus", bandit);
  if (p->lsvi.schedule == LSVI_TUNED) return LGV_OK;
  LGV_TRY(lgv__lsvi_theory_sizes(&p->lsvi, problem, &n, err));
  double bonus = n.d * n.H * sqrt(lgv__log(2 * n.d * n.T / p->lsvi.delta));
  LGV_TRY(lgv__lsvi_prescribe(table, p, is_set, "lambda", 1, err));
  return lgv__lsvi_prescribe(table, p, is_set, "bonus", bonus, err);
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
  s->bonus = p->bonus;
  lgv__lsvi_layout(&s->core, &p->lsvi, problem, LSVI_USES_WIDTHS, out);
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
    double *q = lgv__lsvi_q(c, h);
    LGV_TRY(lgv__lsvi_targets(c, h, err));
    LGV_TRY(lgv__lsvi_solve(c, h, err));
    lgv__lsvi_values(c, c->w_hat, q);
    lgv__lsvi_widths(c, h);
    lgv__lsvi_add_bonus(c, h, lgv__lsvi_sigma(c, s->bonus), q);
    if (!s->unbounded) lgv__lsvi_clip(c, h, q);
    lgv__lsvi_backup_max(c, h);
  }
  return LGV_OK;
}

const lgv_agent_type lgv__agent_lsvi_ucb = {
    .name = "lsvi-ucb",
    .summary = "LSVI with an upper-confidence bonus",
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

const lgv_agent_type lgv__agent_lin_ucb = {
    .name = "lin-ucb",
    .summary = "linear upper confidence bounds, for bandits",
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
