/* C51. Bellemare, Dabney, Munos, "A distributional perspective on reinforcement learning" (ICML
 * 2017).
 *
 * The network gives, for every action, logits of a distribution p over atoms z_j on a fixed grid
 * from v_min to v_max; Q = sum over j of z_j p_j. For the greedy next action a*, the target is the
 * distribution of r + gamma z under p(s', a*; w-), each atom's mass split between its neighbors on
 * the grid (Algorithm 1, Eq. 7); the loss is its cross-entropy with p(s, a; w).
 *
 * a* is the target network's choice, or, with agent.double, the online network's. With
 * agent.prioritized the priority is the Kullback-Leibler divergence (Hessel et al., 2018).
 *
 * Unless v_min and v_max are set, they are what the rewards of the environment can add up to within
 * its horizon; an episode that a clock cut off may be worth up to gamma^H more beyond it, which the
 * grid leaves out. The preset `atari` has the settings of DQN Zoo (Quan, Ostrovski, 2020): 51 atoms
 * from -10 to 10. */
#include "agent/deep/categorical.h"
#include "agent/deep/dither.h"
#include "agent/export.h"
#include "base/error.h"
#include "base/param.h"
#include "math/kernels.h"

#include <math.h>

typedef struct params {
  dithered_params base;
  int64_t atoms;
  double v_min, v_max;
} params;

static const lgv_param param_table[] = {
    DQN_PARAM_ROWS,
    DQN_PRIORITY_ROWS,
    DQN_GRAD_CLIP_ROW,
    DITHER_PARAM_ROWS,
    {.name = "atoms",
     .type = LGV_INT,
     .offset = offsetof(params, atoms),
     .default_text = "51",
     .min = 2,
     .max = 10000,
     .help = "points of the grid"},
    {.name = "v_min",
     .type = LGV_REAL,
     .offset = offsetof(params, v_min),
     .default_text = "-10",
     .min = -1e30,
     .max = 1e30,
     .help = "least return on the grid; left out: what the rewards can add up to, if known"},
    {.name = "v_max",
     .type = LGV_REAL,
     .offset = offsetof(params, v_max),
     .default_text = "10",
     .min = -1e30,
     .max = 1e30,
     .help = "greatest return on the grid; left out: likewise"},
    {0}};

static const lgv_preset presets[] = {
    {"small", "agent.double=true agent.hidden=64,64 agent.n_step=5 agent.batch=64 "
              "agent.replay=100000 agent.warmup=1000 agent.update_every=1 agent.target_every=200 "
              "agent.epsilon_steps=10000 optim.lr=3e-4"},
    {"atari", "agent.v_min=-10 agent.v_max=10 agent.grad_clip=10 agent.hidden=512 "
              "agent.scale_input=true agent.replay=1000000 agent.warmup=50000 "
              "agent.update_every=4 agent.target_every=2500 agent.epsilon_end=0.01 "
              "agent.epsilon_steps=1000000 agent.epsilon_eval=0.001 optim.lr=2.5e-4 "
              "optim.eps=3.125e-4"},
    {0}};

typedef struct self {
  dithered base;
  const params *p;
  float *z;      /* (atoms) */
  float *p_next; /* (atoms): of a*, in the target network */
  float *m;      /* (atoms): the projected target */
  float *all;    /* (batch x A x atoms): softmax of everything, for means */
} self;

/* ---- memory ---- */

/* What rewards within the environment's bounds can add up to, if these are known. */
static void range_of_returns(const lgv_env_spec *env, double gamma, double *low, double *high) {
  double H = (double)env->horizon, most = gamma < 1 ? 1 / (1 - gamma) : H;
  if (H > 0 && gamma < 1) most *= 1 - pow(gamma, H);
  double least = fmin(env->reward_min, 0) * most, greatest = fmax(env->reward_max, 0) * most;
  if (!(least < greatest) || !isfinite(greatest - least)) return;
  *low = least;
  *high = greatest;
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  params *p = params_;
  double low = p->v_min, high = p->v_max;
  range_of_returns(&problem->env, p->base.dqn.gamma, &low, &high);
  if (!is_set[lgv__params_find(param_table, "v_min")]) p->v_min = low;
  if (!is_set[lgv__params_find(param_table, "v_max")]) p->v_max = high;
  if (!(p->v_min < p->v_max))
    return lgv_fail(err, LGV_ERR_USAGE, "agent.v_min = %g must be less than agent.v_max = %g",
                    p->v_min, p->v_max);
  return lgv__dqn_resolve(&p->base.dqn, problem, (int32_t)p->atoms, err);
}

static void mean(const dqn *c, const float *out, int64_t rows, float *q) {
  const self *s = (const self *)c;
  lgv__kernels()->softmax(rows * c->A, c->form.atoms, out, s->z, s->all, q, NULL);
}

/* ---- learning ---- */

/* The cross-entropy of sample i and its derivatives p - m; without the entropy of m if that is
 * asked for, which makes it a divergence and changes no derivative. */
static float sample_loss(self *s, int64_t i, bool divergence, float *d_logits) {
  dqn *c = &s->base.core;
  int64_t n = c->form.atoms;
  const float *logits = c->q + dqn_atoms_at(c, i, c->batch.action[i]);
  const float *next = c->q_target + dqn_atoms_at(c, i, c->best[i]);
  float value, log_sum, loss = 0;
  lgv__kernels()->softmax(1, n, next, s->z, s->p_next, &value, NULL);
  lgv__categorical_project(n, s->p->v_min, s->p->v_max, s->p_next, c->batch.reward[i],
                           c->batch.discount[i], s->m);
  lgv__kernels()->softmax(1, n, logits, s->z, d_logits, &value, &log_sum);
  for (int64_t j = 0; j < n; j++) {
    loss += s->m[j] * (log_sum - logits[j]);
    if (divergence && s->m[j] > 0) loss += s->m[j] * logf(s->m[j]);
    d_logits[j] -= s->m[j];
  }
  return divergence && loss < 0 ? 0 : loss; /* rounding; NaN has to stay */
}

static lgv_status update(dqn *c, lgv_error *err) {
  self *s = (self *)c;
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_choose(c);
  lgv__dqn_refresh_target(c, 0);
  lgv__dqn_loss_clear(c);
  for (int64_t i = 0; i < c->p->batch; i++) {
    float *d_logits = c->d_q + dqn_atoms_at(c, i, c->batch.action[i]);
    lgv__dqn_loss_of(c, i, sample_loss(s, i, c->p->priority.on, d_logits), d_logits, c->form.atoms);
  }
  mean(c, c->q, c->p->batch, c->mean);
  lgv__dqn_backward(c, c->w, c->grad);
  lgv__dqn_step(c, 0);
  return lgv__dqn_end_update(c, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  dqn_form form = {.atoms = (int32_t)s->p->atoms, .mean = mean, .update = update};
  lgv__dithered_layout_as(&s->base, &s->p->base, problem, form, out);
  size_t n = (size_t)s->p->atoms, A = (size_t)problem->env.actions;
  s->z = lgv_layout_array(out, "z", LGV_F32, n, LGV_SCRATCH);
  s->p_next = lgv_layout_array(out, "p_next", LGV_F32, n, LGV_SCRATCH);
  s->m = lgv_layout_array(out, "m", LGV_F32, n, LGV_SCRATCH);
  s->all = lgv_layout_array(out, "p", LGV_F32, (size_t)s->p->base.dqn.batch * A * n, LGV_SCRATCH);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  lgv__categorical_grid(s->p->atoms, s->p->v_min, s->p->v_max, s->z);
  return lgv__dqn_open(self_, err);
}

static void policy_parts(const void *self_, lgv_policy_parts *parts) {
  lgv__dqn_policy_parts(self_, parts);
  parts->z = ((const self *)self_)->z;
}

const lgv_agent_type lgv__agent_c51 = {
    .name = "c51",
    .summary = "DQN that learns the distribution of returns on a grid",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .presets = presets,
    .resolve = resolve,
    .layout = layout,
    .open = open_agent,
    .act = lgv__dithered_act,
    .q_values = lgv__dqn_q_values,
    .policy_parts = policy_parts,
    DITHERED_HOOKS,
};
