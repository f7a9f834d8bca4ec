/* Contextual bandits: episodes of one step whose mean reward is a function of theta^T phi(x, a).
 *
 * A context x has one feature vector per arm, phi(x, a): standard normal numbers, divided by the
 * norm of the vector. theta is a vector of the same kind with the norm env.norm. The code of Xu et
 * al. (ICML 2022, "Langevin Monte Carlo for Contextual Bandits") draws its synthetic data this way.
 *
 *   linear:   the mean is theta^T phi, the reward has Gaussian noise of deviation env.noise
 *   logistic: the mean is 1 / (1 + exp(-theta^T phi)): the reward is 1 with this probability, or 0
 *
 * env.contexts = C draws C contexts once; every episode has one of them, each with probability 1/C
 * (C = 1: always the same arms). They are the states of the problem, its features are phi, and its
 * model is exact, so that any linear agent runs. env.contexts = 0 draws a new context for every
 * episode; there are no states then.
 *
 * The observation is phi of the current context, arm by arm. Regret is exact in both cases: the
 * mean reward of the best arm minus that of the chosen one. theta and listed contexts depend on
 * env.bandit_seed only: runs with different seeds share them. */
#include "base/arena.h"
#include "base/error.h"
#include "base/param.h"
#include "base/portable_math.h"
#include "env/models/tabular.h"

#include <math.h>

enum { LINEAR, LOGISTIC };

typedef struct params {
  int64_t arms, dim, contexts, bandit_seed;
  double norm, noise;
  int32_t kind;
} params;

static const char *const kinds[] = {"linear", "logistic", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_CHOICE_ROW(params, kind, "kind", "linear", kinds, "linear: Gaussian rewards with mean theta^T phi; logistic: rewards 0 and 1 with that log-odds"),
    LGV_INT_ROW(params, arms, "arms", "10", 1, 1e4, "number of arms"),
    LGV_INT_ROW(params, dim, "dim", "10", 1, 1e4, "dimension of the features phi(x, a)"),
    LGV_INT_ROW(params, contexts, "contexts", "20", 0, 1e6, "number of contexts, of which every episode draws one; 0: a new one for every episode"),
    LGV_REAL_ROW(params, norm, "norm", "1", 0, 1e3, LGV_OPEN_MIN, "norm of theta; features have norm 1"),
    LGV_REAL_ROW(params, noise, "noise", "0.5", 0, 1e6, 0, "linear: standard deviation of the noise on rewards"),
    LGV_INT_ROW(params, bandit_seed, "bandit_seed", "0", 0, 0x1p53, "seed of the random problem; independent of the run's seed"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_tabular tabular; /* listed contexts only */
  const params *p;
  double *theta;  /* (dim), of norm 1 */
  double *phi;    /* (contexts x arms x dim), or (arms x dim) of the current context */
  double *regret; /* (1): of the current episode */
} self;

static const double most_features = 1e8;

static bool is_listed(const self *s) { return s->p->contexts > 0; }

static lgv_status spec(const void *p_, lgv_env_spec *out, lgv_error *err) {
  const params *p = p_;
  double numbers = fmax((double)p->contexts, 1) * (double)p->arms * (double)p->dim;
  if (numbers > most_features)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "bandit: env.contexts * env.arms * env.dim is %g; at most %g numbers are kept",
                    numbers, most_features);
  *out = lgv__tabular_spec(p->contexts, (int32_t)p->arms, 1, true);
  out->obs_form = LGV_FORM_DENSE;
  out->obs_shape[0] = (int32_t)(p->arms * p->dim);
  out->feature_dim = p->contexts ? p->dim : 0;
  out->reward_min = p->kind == LINEAR ? -p->norm : 0;
  out->reward_max = p->kind == LINEAR ? p->norm : 1;
  return LGV_OK;
}

/* Features of a drawn context are part of the state. */
static const char *feature_fault(const void *self_) {
  const self *s = self_;
  for (int64_t i = 0; i < s->p->arms * s->p->dim; i++)
    if (!(fabs(s->phi[i]) <= 1)) return "a feature outside [-1, 1]";
  return NULL;
}

static void layout(void *self_, const void *p_, const lgv_env_spec *env, lgv_layout *out) {
  self *s = self_;
  const params *p = s->p = p_;
  size_t arms = (size_t)(p->arms * p->dim), listed = arms * (size_t)p->contexts;
  if (is_listed(s)) lgv__tabular_layout(self_, p, env, out);
  s->theta = lgv_layout_array(out, "env.theta", LGV_F64, (size_t)p->dim, LGV_SCRATCH);
  s->phi = lgv_layout_array(out, "env.features", LGV_F64, is_listed(s) ? listed : arms,
                            is_listed(s) ? LGV_SCRATCH : LGV_KEEP);
  if (!is_listed(s)) lgv_layout_check(out, feature_fault, s);
  s->regret = lgv_layout_array(out, "env.regret", LGV_F64, 1, LGV_KEEP);
}

/* A random direction: n numbers of norm 1. */
static void draw_direction(lgv_rng *rng, int64_t n, double *out) {
  double square = 0;
  while (square == 0) {
    lgv_rng_normals(rng, out, (size_t)n);
    for (int64_t i = 0; i < n; i++) square += out[i] * out[i];
  }
  for (int64_t i = 0; i < n; i++) out[i] /= sqrt(square);
}

static void draw_context(const self *s, lgv_rng *rng, double *phi) {
  for (int64_t a = 0; a < s->p->arms; a++) draw_direction(rng, s->p->dim, phi + a * s->p->dim);
}

static double mean_reward(const self *s, const double *phi) {
  double sum = 0;
  for (int64_t i = 0; i < s->p->dim; i++) sum += s->theta[i] * phi[i];
  sum *= s->p->norm;
  return s->p->kind == LINEAR ? sum : 1 / (1 + lgv__exp(-sum));
}

static lgv_status build(self *s, lgv_rng *rng, lgv_error *err) {
  const params *p = s->p;
  lgv_model *m = s->tabular.model;
  for (int64_t x = 0; x < p->contexts; x++) {
    double *phi = s->phi + x * p->arms * p->dim;
    draw_context(s, rng, phi);
    lgv_model_set_start(m, x, 1 / (double)p->contexts);
    for (int32_t a = 0; a < p->arms; a++) {
      lgv_model_set_reward(m, 0, x, a, mean_reward(s, phi + a * p->dim));
      LGV_TRY(lgv_model_add(m, 0, x, a, LGV_END, 1, err));
    }
  }
  return lgv_model_seal(m, err);
}

static lgv_status open_env(void *self_, lgv_env_spec *env, lgv_error *err) {
  self *s = self_;
  lgv_rng rng;
  lgv_rng_seed(&rng, (uint64_t)s->p->bandit_seed, "bandit");
  draw_direction(&rng, s->p->dim, s->theta);
  if (!is_listed(s)) return LGV_OK;
  LGV_TRY(lgv_model_create(env->states, env->actions.count, 1, true, &s->tabular.model, err));
  lgv_status status = build(s, &rng, err);
  if (status != LGV_OK) lgv__tabular_close(self_);
  env->features = s->phi;
  return status;
}

/* (arms x dim): of the current context */
static const double *current_features(const self *s) {
  return s->phi + (is_listed(s) ? s->tabular.at[LGV_AT_STATE] * s->p->arms * s->p->dim : 0);
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  *s->regret = 0;
  if (is_listed(s)) return lgv__tabular_reset(self_, rng, err);
  draw_context(s, rng, s->phi);
  return LGV_OK;
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)err;
  self *s = self_;
  const double *phi = current_features(s);
  double mean = mean_reward(s, phi + action->choice * s->p->dim), best = mean;
  for (int64_t a = 0; a < s->p->arms; a++) best = fmax(best, mean_reward(s, phi + a * s->p->dim));
  *s->regret = best - mean;
  if (s->p->kind == LINEAR)
    outcome->reward = mean + s->p->noise * lgv_rng_normal(rng);
  else
    outcome->reward = lgv_rng_uniform(rng) < mean;
  outcome->terminated = true;
  return LGV_OK;
}

static double regret(const void *self_) { return *((const self *)self_)->regret; }

static void observe(const void *self_, void *data) {
  const self *s = self_;
  const double *phi = current_features(s);
  for (int64_t i = 0; i < s->p->arms * s->p->dim; i++) ((float *)data)[i] = (float)phi[i];
}

static int64_t state_index(const void *self_) {
  return is_listed(self_) ? lgv__tabular_state(self_) : -1;
}

const lgv_env_type lgv__env_bandit = {
    .name = "bandit",
    .summary = "a contextual bandit: one choice of an arm per episode, linear or logistic rewards",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .open = open_env,
    .close = lgv__tabular_close,
    .model = lgv__tabular_model,
    .reset = reset,
    .step = step,
    .observe = observe,
    .state_index = state_index,
    .regret = regret,
};
