/* MS-LMC-LSVI: LMC-LSVI with M samples per stage. Ishfaq et al. (ICLR 2024), appendix "Removing the
 * interval constraint on delta".
 *
 * The M independent chains of a stage regress on the same targets, because V_{h+1} comes from their
 * maximum; Q_h(x,a) = min{ max_m phi^T w^m, H - h + 1 }, with a maximum for each (x,a). The paper
 * has no lower clip here; this file keeps that of Algorithm 1, at 0: rewards are not negative, so
 * it does no harm, and it keeps V in the range that the lemmas assume. M = 1 is LMC-LSVI, bit for
 * bit.
 *
 * schedule = theory: lambda, eta, J_k, beta and M = ceil(log(HK/delta') / log(1/(1-c))) are the
 * theorem's own, with the constants of its proof, delta' = delta/9 among them (lmc_chain.c). */
#include "agent/linear/lmc_chain.h"
#include "base/error.h"

#include <math.h>

typedef struct params {
  lmc_params lmc;
  int64_t samples;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LSVI_PARAM_ROWS("1e-6", "false"),
    LSVI_MAP_ROWS,
    LMC_PARAM_ROWS,
    LGV_INT_ROW(params, samples, "samples", "10", 1, 1e6, "M, samples of w per stage; Q is their maximum"),
    {0},
};
/* clang-format on */

typedef struct self {
  lsvi core;
  lmc chain;
  int64_t M;
  double *w; /* (H x M x d) */
} self;

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  params *p = params_;
  lgv_theory theory;
  LGV_TRY(lgv__lmc_resolve(param_table, &p->lmc, is_set, problem, LMC_SEVERAL, &theory, err));
  if (p->lmc.lsvi.schedule == LSVI_TUNED) return LGV_OK;
  return lgv__lsvi_prescribe(param_table, p, is_set, "samples", (double)theory.samples_m, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  const params *p = params_;
  s->M = s->core.history.samples = p->samples;
  lgv__lsvi_layout(&s->core, &p->lmc.lsvi, problem, lgv__lmc_uses(&p->lmc), out);
  lgv__lmc_layout(&s->chain, &s->core, &p->lmc, out);
  s->w = lgv_layout_array(out, "w", LGV_F64, (size_t)(s->core.H * s->M * s->core.d), LGV_KEEP);
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  self *s = self_;
  lsvi *c = &s->core;
  for (int64_t h = c->H - 1; h >= 0; h--) {
    double *q = lgv__lsvi_q(c, h);
    LGV_TRY(lgv__lsvi_targets(c, h, err));
    LGV_TRY(lgv__lsvi_solve(c, h, err));
    LGV_TRY(lgv__lmc_prepare(&s->chain, h, err));
    for (int64_t m = 0; m < s->M; m++) {
      double *w = s->w + (h * s->M + m) * c->d;
      LGV_TRY(lgv__lmc_advance(&s->chain, h, w, err));
      if (m == 0)
        lgv__lsvi_values(c, w, q);
      else
        lgv__lsvi_values_max(c, w, q);
    }
    lgv__lsvi_clip(c, h, q);
    lgv__lsvi_backup_max(c, h);
  }
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  return lgv__lmc_absorb(&((self *)self_)->chain, err);
}

const lgv_agent_type lgv__agent_ms_lmc_lsvi = {
    .name = "ms-lmc-lsvi",
    .summary = "LMC-LSVI that is greedy in the maximum of M Langevin samples",
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
    .end_episode = end_episode,
    .policy = lgv__lsvi_policy_greedy,
    .q_values = lgv__lsvi_q_values,
};
