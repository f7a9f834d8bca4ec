/* Random linear MDPs: transitions and rewards drawn separately for every stage. Ishfaq et al.
 * (2024), appendix on randomly generated linear MDPs: 10 states, 4 actions, H = 100, sparse,
 * non-stationary.
 *
 * A linear MDP (Definition 4.1, after Jin et al. 2020) has P_h(.|s,a) = sum_i phi_i(s,a)
 * mu_{h,i}(.) and r_h(s,a) = phi(s,a)' theta_h, with ||phi|| <= 1, ||mu_h(S)|| <= sqrt(d) and
 * ||theta_h|| <= sqrt(d).
 *
 * kind = tabular: phi is one-hot over (s,a), d = S A. An entry of the (S A x S) matrix is present
 * with probability `density` and has weight U(0,1). Then 2 to 4 entries are drawn in each empty
 * row, and after that in each empty column, so that every state can be entered at every stage; rows
 * are normalized. Rewards are U(0,1).
 *
 * kind = low-rank: d latent classes. phi(s,a) ~ Dirichlet(0.3); mu_{h,i} is Dirichlet(1) on a
 * random set of max(1, round(density S)) states; theta_h is U(0,1)^d. A mixture of distributions is
 * a distribution and ||phi||_2 <= ||phi||_1 = 1, so the definition holds exactly. Linear agents get
 * phi as the environment's features.
 *
 * The paper states neither the density, the dimension nor the distribution of rewards; they are
 * choices made here. The start is uniform, a step pays the mean reward, and the episode terminates
 * after H steps, because the task has no later stage. The problem depends only on env.mdp_seed:
 * runs with different seeds share it. */
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "env/models/tabular.h"

#include <math.h>

enum { TABULAR, LOW_RANK };

typedef struct params {
  int64_t states, actions, horizon, dim, mdp_seed;
  double density;
  int32_t kind;
} params;

static const char *const kinds[] = {"tabular", "low-rank", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_INT_ROW(params, states, "states", "10", 1, 1e4, "number of states"),
    LGV_INT_ROW(params, actions, "actions", "4", 1, 1e4, "number of actions"),
    LGV_INT_ROW(params, horizon, "horizon", "100", 1, 1e6, "steps per episode"),
    LGV_CHOICE_ROW(params, kind, "kind", "tabular", kinds, "one-hot features over (state, action), or a mixture of env.dim latent classes"),
    LGV_INT_ROW(params, dim, "dim", "10", 1, 1e6, "dimension of the features; low-rank only"),
    LGV_REAL_ROW(params, density, "density", "0.25", 0, 1, LGV_OPEN_MIN, "fraction of states that a row (low-rank: a latent class) leads to"),
    LGV_INT_ROW(params, mdp_seed, "mdp_seed", "0", 0, 0x1p53, "seed of the random problem; independent of the run's seed"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_tabular tabular;
  const params *p;
  double *phi; /* low-rank: (S A x d) */
} self;

/* One stage under construction. */
typedef struct stage {
  double *rows;   /* (S A x S) transition probabilities */
  double *reward; /* (S A) */
  double *mu;     /* low-rank: (d x S) */
  double *theta;  /* low-rank: (d) */
} stage;

static const double most_entries = 1e8; /* in all stages: a model of a few GB */

static lgv_status spec(const void *p_, lgv_env_spec *out, lgv_error *err) {
  const params *p = p_;
  double pairs = (double)p->states * (double)p->actions;
  double entries = pairs * (double)p->states * (double)p->horizon;
  if (entries > most_entries)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "linear-mdp: env.states * env.actions * env.states * env.horizon is %g; at "
                    "most %g transition probabilities are kept",
                    entries, most_entries);
  if (p->kind == LOW_RANK && (double)p->dim > pairs)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "linear-mdp: env.dim = %lld exceeds env.states * env.actions = %g; a low-rank "
                    "problem needs at most that many dimensions",
                    (long long)p->dim, pairs);
  *out = lgv__tabular_spec(p->states, (int32_t)p->actions, p->horizon, false);
  if (p->kind == LOW_RANK) out->feature_dim = p->dim;
  return LGV_OK;
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  self *s = self_;
  s->p = p;
  lgv__tabular_layout(self_, p, env, out);
  size_t features = (size_t)(env->states * env->actions.count * env->feature_dim);
  s->phi = lgv_layout_array(out, "env.features", LGV_F64, features, LGV_SCRATCH);
}

/* In (0, 1]: a weight that is drawn is never 0. */
static double positive(lgv_rng *rng) { return 1 - lgv_rng_uniform(rng); }

static void normalize(double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i];
  for (int64_t i = 0; i < n; i++) x[i] /= sum;
}

/* Draws an entry of an all-zero line 2 to 4 times; draws may coincide. The line has n entries,
 * `stride` apart. */
static void fill_if_empty(double *line, int64_t n, int64_t stride, lgv_rng *rng) {
  for (int64_t i = 0; i < n; i++)
    if (line[i * stride] > 0) return;
  for (int64_t left = 2 + lgv_rng_below(rng, 3); left > 0; left--)
    line[lgv_rng_below(rng, n) * stride] = positive(rng);
}

static void draw_tabular(const params *p, lgv_rng *rng, stage *out) {
  int64_t S = p->states, SA = S * p->actions;
  for (int64_t i = 0; i < SA * S; i++)
    out->rows[i] = lgv_rng_uniform(rng) < p->density ? positive(rng) : 0;
  for (int64_t row = 0; row < SA; row++) fill_if_empty(out->rows + row * S, S, 1, rng);
  for (int64_t next = 0; next < S; next++) fill_if_empty(out->rows + next, SA, S, rng);
  for (int64_t row = 0; row < SA; row++) {
    normalize(out->rows + row * S, S);
    out->reward[row] = lgv_rng_uniform(rng);
  }
}

static void draw_features(const params *p, lgv_rng *rng, double *phi) {
  const double concentration = 0.3; /* near one-hot, so that mixtures stay nearly sparse */
  for (int64_t row = 0; row < p->states * p->actions; row++, phi += p->dim) {
    for (int64_t i = 0; i < p->dim; i++) phi[i] = lgv_rng_gamma(rng, concentration);
    normalize(phi, p->dim);
  }
}

/* Dirichlet(1) on a uniformly drawn set of states (selection sampling: Knuth, algorithm S). */
static void draw_law(const params *p, lgv_rng *rng, double *law) {
  int64_t S = p->states, wanted = (int64_t)fmax(1, round(p->density * (double)S));
  for (int64_t s = 0; s < S; s++) {
    bool chosen = lgv_rng_below(rng, S - s) < wanted;
    law[s] = chosen ? lgv_rng_gamma(rng, 1) : 0;
    wanted -= chosen;
  }
  normalize(law, S);
}

static void draw_low_rank(const params *p, const double *phi, lgv_rng *rng, stage *out) {
  int64_t S = p->states, d = p->dim;
  for (int64_t i = 0; i < d; i++) {
    draw_law(p, rng, out->mu + i * S);
    out->theta[i] = lgv_rng_uniform(rng);
  }
  for (int64_t row = 0; row < S * p->actions; row++, phi += d) {
    double *law = out->rows + row * S;
    for (int64_t s = 0; s < S; s++) law[s] = 0;
    out->reward[row] = 0;
    for (int64_t i = 0; i < d; i++) {
      for (int64_t s = 0; s < S; s++) law[s] += phi[i] * out->mu[i * S + s];
      out->reward[row] += phi[i] * out->theta[i];
    }
  }
}

static lgv_status add_stage(lgv_model *m, const params *p, int64_t h, const stage *from,
                            lgv_error *err) {
  for (int64_t s = 0; s < p->states; s++)
    for (int32_t a = 0; a < p->actions; a++) {
      int64_t row = s * p->actions + a;
      lgv_model_set_reward(m, h, s, a, from->reward[row]);
      for (int64_t next = 0; next < p->states; next++)
        LGV_TRY(lgv_model_add(m, h, s, a, next, from->rows[row * p->states + next], err));
    }
  return LGV_OK;
}

static lgv_status build(self *s, stage *work, lgv_error *err) {
  const params *p = s->p;
  lgv_rng rng;
  lgv_rng_seed(&rng, (uint64_t)p->mdp_seed, "linear-mdp");
  if (p->kind == LOW_RANK) draw_features(p, &rng, s->phi);
  for (int64_t h = 0; h < p->horizon; h++) {
    if (p->kind == LOW_RANK)
      draw_low_rank(p, s->phi, &rng, work);
    else
      draw_tabular(p, &rng, work);
    LGV_TRY(add_stage(s->tabular.model, p, h, work, err));
  }
  for (int64_t x = 0; x < p->states; x++)
    lgv_model_set_start(s->tabular.model, x, 1 / (double)p->states);
  return lgv_model_seal(s->tabular.model, err);
}

static lgv_status open_env(void *self_, lgv_env_spec *env, lgv_error *err) {
  self *s = self_;
  LGV_TRY(lgv_model_create(env->states, env->actions.count, env->horizon, false, &s->tabular.model,
                           err));
  size_t S = (size_t)env->states, SA = S * (size_t)env->actions.count, d = (size_t)env->feature_dim;
  double *memory = lgv__calloc(SA * S + SA + d * S + d, sizeof *memory);
  lgv_status status = memory ? LGV_OK : lgv__out_of_memory(err, "a linear MDP");
  if (memory) {
    stage work = {memory, memory + SA * S, memory + SA * S + SA, memory + SA * S + SA + d * S};
    status = build(s, &work, err);
  }
  lgv__free(memory);
  if (status != LGV_OK) lgv__tabular_close(self_);
  if (env->feature_dim > 0) env->features = s->phi;
  return status;
}

const lgv_env_type lgv__env_linear_mdp = {
    .name = "linear-mdp",
    .summary = "a random linear MDP: sparse, different at every stage",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .open = open_env,
    .close = lgv__tabular_close,
    .model = lgv__tabular_model,
    .reset = lgv__tabular_reset,
    .step = lgv__tabular_step,
    .observe = lgv__tabular_observe_one_hot,
    .state_index = lgv__tabular_state,
};
