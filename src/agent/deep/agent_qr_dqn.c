/* QR-DQN. Dabney, Rowland, Bellemare, Munos, "Distributional reinforcement learning with quantile
 * regression" (AAAI 2018).
 *
 * The network gives, for every action, N values theta_i, the quantiles of the return at the
 * midpoints tau_i = (i - 1/2) / N; Q is their mean. For the greedy next action a* the targets are
 * r + gamma theta_j(s', a*; w-), and the loss (Eq. 10, Algorithm 1) is
 *     sum over i of the mean over j of |tau_i - [d_ij < 0]| huber(d_ij),
 *     d_ij = r + gamma theta_j(s', a*; w-) - theta_i(s, a; w).
 * Huber's is d^2 / 2 up to agent.kappa; it is not divided by kappa.
 *
 * a* is the target network's choice, or, with agent.double, the online network's. With
 * agent.prioritized the priority is this loss. The preset `atari` has the settings of DQN Zoo
 * (Quan, Ostrovski, 2020): 201 quantiles. */
#include "agent/deep/dither.h"
#include "agent/deep/quantiles.h"

typedef struct params {
  dithered_params base;
  int64_t quantiles;
  double kappa;
} params;

static const lgv_param param_table[] = {DQN_PARAM_ROWS,
                                        DQN_PRIORITY_ROWS,
                                        DQN_GRAD_CLIP_ROW,
                                        DITHER_PARAM_ROWS,
                                        {.name = "quantiles",
                                         .type = LGV_INT,
                                         .offset = offsetof(params, quantiles),
                                         .default_text = "51",
                                         .min = 1,
                                         .max = 10000,
                                         .help = "N: quantiles of the return of every action"},
                                        QUANTILES_KAPPA_ROW(params),
                                        {0}};

static const lgv_preset presets[] = {
    {"small", "agent.quantiles=32 agent.grad_clip=10 agent.double=true agent.hidden=64,64 "
              "agent.n_step=5 agent.batch=128 agent.replay=50000 agent.warmup=1000 "
              "agent.update_every=2 agent.target_every=200 agent.epsilon_steps=10000 "
              "optim.lr=3e-4"},
    {"atari", "agent.quantiles=201 agent.grad_clip=10 agent.hidden=512 agent.scale_input=true "
              "agent.replay=1000000 agent.warmup=50000 agent.update_every=4 "
              "agent.target_every=2500 agent.epsilon_end=0.01 agent.epsilon_steps=1000000 "
              "agent.epsilon_eval=0.001 optim.lr=5e-5 optim.eps=3.125e-4"},
    {0}};

typedef struct self {
  dithered base;
  const params *p;
  float *tau;    /* (N) */
  float *target; /* (N): r + gamma theta_j(s', a*; w-) of one sample */
} self;

/* ---- memory ---- */

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  return lgv__dqn_resolve(&p->base.dqn, problem, (int32_t)p->quantiles, err);
}

static void mean(const dqn *c, const float *out, int64_t rows, float *q) {
  int64_t n = c->form.atoms;
  for (int64_t i = 0; i < rows * c->A; i++) q[i] = quantiles_mean(n, out + i * n, 1);
}

/* ---- learning ---- */

static lgv_status update(dqn *c, lgv_error *err) {
  self *s = (self *)c;
  int64_t n = c->form.atoms;
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_choose(c);
  lgv__dqn_refresh_target(c, 0);
  lgv__dqn_loss_clear(c);
  for (int64_t i = 0; i < c->p->batch; i++) {
    int64_t at = dqn_atoms_at(c, i, c->batch.action[i]);
    const float *next = c->q_target + dqn_atoms_at(c, i, c->best[i]);
    for (int64_t j = 0; j < n; j++)
      s->target[j] = c->batch.reward[i] + c->batch.discount[i] * next[j];
    float loss = lgv__kernels()->quantile_loss(n, c->q + at, s->tau, n, s->target,
                                               (float)s->p->kappa, c->d_q + at);
    lgv__dqn_loss_of(c, i, loss, c->d_q + at, n);
  }
  mean(c, c->q, c->p->batch, c->mean);
  lgv__dqn_backward(c, c->w, c->grad);
  lgv__dqn_step(c, 0);
  return lgv__dqn_end_update(c, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  dqn_form form = {.atoms = (int32_t)s->p->quantiles, .mean = mean, .update = update};
  lgv__dithered_layout_as(&s->base, &s->p->base, problem, form, out);
  size_t n = (size_t)s->p->quantiles;
  s->tau = lgv_layout_array(out, "tau", LGV_F32, n, LGV_SCRATCH);
  s->target = lgv_layout_array(out, "target", LGV_F32, n, LGV_SCRATCH);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  int64_t n = s->p->quantiles;
  for (int64_t i = 0; i < n; i++) s->tau[i] = (float)(((double)i + 0.5) / (double)n);
  return lgv__dqn_open(self_, err);
}

const lgv_agent_type lgv__agent_qr_dqn = {
    .name = "qr-dqn",
    .summary = "DQN that learns quantiles of the return",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .presets = presets,
    .resolve = resolve,
    .layout = layout,
    .open = open_agent,
    .act = lgv__dithered_act,
    .q_values = lgv__dqn_q_values,
    .policy_parts = lgv__dqn_policy_parts,
    DITHERED_HOOKS,
};
