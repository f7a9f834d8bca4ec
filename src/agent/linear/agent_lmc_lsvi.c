/* LMC-LSVI: Langevin Monte Carlo Least-Squares Value Iteration. Ishfaq et al. (ICLR 2024),
 * Algorithm 1.
 *
 * One chain per stage on the loss of Eq. (4), warm-started from the last iterate of the same stage
 * in the previous episode. Q = phi^T w, Eq. (5), is clipped into [0, H - h + 1]. Acting is greedy
 * in Q, and the sample that builds V_{h+1} is the one that acts.
 *
 * lmc-ts is the same without the clip, which serves earlier stages. With one stage, a bandit, it is
 * LMC-TS, Langevin Monte Carlo Thompson sampling: Xu et al. (ICML 2022), Algorithm 1. */
#include "agent/linear/lmc_chain.h"
#include "base/error.h"

#include <math.h>

static const lgv_param param_table[] = {
    LSVI_PARAM_ROWS("1e-6", "false"), LSVI_MAP_ROWS, LMC_PARAM_ROWS, {0}};
static const lgv_param bandit_param_table[] = {
    LSVI_PARAM_ROWS("1", "false"), LSVI_MAP_ROWS, LMC_PARAM_ROWS, {0}};

typedef struct self {
  lsvi core;
  lmc chain;
  double *w;      /* (H x d) */
  bool unbounded; /* whether values are not clipped */
} self;

static lgv_status resolve(void *params, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  lgv_theory theory;
  return lgv__lmc_resolve(param_table, params, is_set, problem, LMC_ONE, &theory, err);
}

static lgv_status bandit_resolve(void *params, const bool *is_set, const lgv_problem *problem,
                                 lgv_error *err) {
  lgv_theory theory;
  return lgv__lmc_resolve(bandit_param_table, params, is_set, problem, LMC_BANDIT, &theory, err);
}

static void layout(void *self_, const void *params, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  const lmc_params *p = params;
  lgv__lsvi_layout(&s->core, &p->lsvi, problem, lgv__lmc_uses(p), out);
  lgv__lmc_layout(&s->chain, &s->core, p, out);
  s->w = lgv_layout_array(out, "w", LGV_F64, (size_t)(s->core.H * s->core.d), LGV_KEEP);
}

static void bandit_layout(void *self_, const void *params, const lgv_problem *problem,
                          lgv_layout *out) {
  ((self *)self_)->unbounded = true;
  layout(self_, params, problem, out);
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  self *s = self_;
  lsvi *c = &s->core;
  for (int64_t h = c->H - 1; h >= 0; h--) {
    double *w = s->w + h * c->d, *q = lgv__lsvi_q(c, h);
    LGV_TRY(lgv__lsvi_targets(c, h, err));
    LGV_TRY(lgv__lsvi_solve(c, h, err));
    LGV_TRY(lgv__lmc_prepare(&s->chain, h, err));
    LGV_TRY(lgv__lmc_advance(&s->chain, h, w, err));
    lgv__lsvi_values(c, w, q);
    if (!s->unbounded) lgv__lsvi_clip(c, h, q);
    lgv__lsvi_backup_max(c, h);
  }
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  return lgv__lmc_absorb(&((self *)self_)->chain, err);
}

const lgv_agent_type lgv__agent_lmc_lsvi = {
    .name = "lmc-lsvi",
    .summary = "Langevin Monte Carlo LSVI (the paper's Algorithm 1)",
    .traits = LGV_NEEDS_STATES | LGV_NEEDS_HORIZON | LGV_SETTLES_PER_EPISODE | LGV_TAKES_FEATURES,
    .params = param_table,
    .params_size = sizeof(lmc_params),
    .state_size = sizeof(self),
    .resolve = resolve,
    .layout = layout,
    .open = lgv__lsvi_open,
    .begin_episode = begin_episode,
    .act = lgv__lsvi_act_greedy,
    .observe = lgv__lsvi_observe,
    .end_episode = end_episode,
    .policy = lgv__lsvi_policy_greedy,
    .q_values = lgv__lsvi_q_values,
};

const lgv_agent_type lgv__agent_lmc_ts = {
    .name = "lmc-ts",
    .summary = "Langevin Monte Carlo Thompson sampling, for bandits",
    .traits = LGV_NEEDS_STATES | LGV_NEEDS_HORIZON | LGV_SETTLES_PER_EPISODE | LGV_TAKES_FEATURES,
    .params = bandit_param_table,
    .params_size = sizeof(lmc_params),
    .state_size = sizeof(self),
    .resolve = bandit_resolve,
    .layout = bandit_layout,
    .open = lgv__lsvi_open,
    .begin_episode = begin_episode,
    .act = lgv__lsvi_act_greedy,
    .observe = lgv__lsvi_observe,
    .end_episode = end_episode,
    .policy = lgv__lsvi_policy_greedy,
    .q_values = lgv__lsvi_q_values,
};
