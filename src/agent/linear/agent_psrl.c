/* PSRL: Posterior Sampling for Reinforcement Learning. Osband, Russo, Van Roy (NeurIPS 2013),
 * tabular.
 *
 * Each episode draws one model from the posterior and plays its optimal policy:
 *
 *   P(.|s,a) ~ Dirichlet(prior_mass / S + n(s,a,.)),
 *   R(s,a)   ~ N( (sum r / sigma^2) / tau, 1 / tau ),  tau = lambda + n(s,a) / sigma^2,
 *   Q_h = R + P V_{h+1}, V_h = max_a Q_h; greedy.
 *
 * The transition model is over states, so features play no part. Where stages share their data
 * (pool), they share the sampled model, too: rewards from all transitions, next states from those
 * whose next state is known (lsvi_core.h). The end of the task counts as a next state of value 0,
 * which has no prior mass: it is possible only once seen.
 *
 * PSRL is Bayesian: its theorem bounds the regret on average over the prior, for any prior, so
 * schedule = theory has nothing to set. */
#include "agent/linear/lsvi_core.h"
#include "base/error.h"

#include <math.h>

typedef struct params {
  lsvi_params lsvi;
  double sigma, prior_mass;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LSVI_LAMBDA_ROW("1", "prior precision of a mean reward: its prior variance is 1 / lambda"),
    LSVI_POOL_ROW("auto"),
    LSVI_SCHEDULE_ROW,
    LSVI_DELAY_ROW,
    LGV_REAL_ROW(params, sigma, "sigma", "0.1", 0, 1e12, LGV_OPEN_MIN, "standard deviation of the noise on a reward"),
    LGV_REAL_ROW(params, prior_mass, "prior_mass", "1", 0, 1e12, LGV_OPEN_MIN, "Dirichlet prior: its weight in visits, spread evenly over the next states"),
    {0},
};
/* clang-format on */

typedef struct self {
  lsvi core;
  const params *p;
  double *reward;     /* (SA): sampled */
  double *transition; /* (SA x (S+1)): sampled; the last entry is the end of the episode */
} self;

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  p->lsvi.features = LSVI_FEATURES_ONE_HOT;
  p->lsvi.gram = LSVI_GRAM_DIAGONAL;
  return lgv__lsvi_resolve(&p->lsvi, problem, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__lsvi_layout(&s->core, &s->p->lsvi, problem, 0, out);
  size_t SA = (size_t)s->core.SA, S = (size_t)s->core.S;
  s->reward = lgv_layout_array(out, "psrl.reward", LGV_F64, SA, LGV_SCRATCH);
  s->transition = lgv_layout_array(out, "psrl.transition", LGV_F64, SA * (S + 1), LGV_SCRATCH);
}

/* shape becomes a draw of Dirichlet(shape): gammas over their sum. Shapes so small that every gamma
 * underflows leave a point mass, at i with probability proportional to shape[i]. */
static void draw_dirichlet(lgv_rng *rng, double *shape, int64_t n) {
  double mass = 0, sum = 0;
  for (int64_t i = 0; i < n; i++) mass += shape[i];
  double left = mass * lgv_rng_uniform(rng);
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    if (shape[i] > 0 && left >= 0) at = i;
    left -= shape[i];
    sum += shape[i] = shape[i] > 0 ? lgv_rng_gamma(rng, shape[i]) : 0;
  }
  for (int64_t i = 0; i < n; i++) shape[i] = sum > 0 ? shape[i] / sum : i == at;
}

/* The model of stage h, or of all stages, drawn at the last one. */
static void draw_model(self *s, int64_t h) {
  const lsvi *c = &s->core;
  int64_t group = lgv__lsvi_group(c, h), with_next = c->pooled ? 0 : group;
  double noise_precision = 1 / (s->p->sigma * s->p->sigma);
  double prior = s->p->prior_mass / (double)c->S;
  for (int64_t i = 0; i < c->SA; i++) {
    int64_t row = group * c->SA + i;
    double tau = s->p->lsvi.lambda + (double)c->visits[row] * noise_precision;
    s->reward[i] =
        c->reward_sum[row] * noise_precision / tau + lgv_rng_normal(c->noise) / sqrt(tau);
    double *p = s->transition + i * (c->S + 1);
    for (int64_t x = 0; x < c->S; x++) p[x] = prior;
    p[c->S] = 0;
    lgv__lsvi_add_counts(c, with_next, i, p);
    draw_dirichlet(c->noise, p, c->S + 1);
  }
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  self *s = self_;
  lsvi *c = &s->core;
  for (int64_t h = c->H - 1; h >= 0; h--) {
    double *q = lgv__lsvi_q(c, h);
    const double *v_next = c->v + (h + 1) * c->S;
    if (!c->pooled || h == c->H - 1) draw_model(s, h);
    for (int64_t i = 0; i < c->SA; i++) {
      const double *p = s->transition + i * (c->S + 1);
      q[i] = s->reward[i];
      for (int64_t x = 0; x < c->S; x++) q[i] += p[x] * v_next[x];
    }
    LGV_TRY(lgv__lsvi_check_finite(c, "the sampled value", q, c->SA, h, err));
    lgv__lsvi_backup_max(c, h);
  }
  return LGV_OK;
}

const lgv_agent_type lgv__agent_psrl = {
    .name = "psrl",
    .summary = "posterior sampling: plays the optimal policy of a model drawn from the posterior",
    .traits = LGV_NEEDS_STATES | LGV_NEEDS_HORIZON | LGV_SETTLES_PER_EPISODE,
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
