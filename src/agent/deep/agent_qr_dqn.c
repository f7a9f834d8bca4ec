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
#include "agent/deep/epsilon_greedy.h"
#include "base/error.h"
#include "math/kernels.h"

typedef struct params {
  epsilon_greedy_params base;
  int64_t quantiles;
  double kappa;
} params;

static const lgv_preset presets[] = {
    {"small", "agent.quantiles=32 agent.grad_clip=10 agent.double=true agent.hidden=64,64 "
              "agent.n_step=5 agent.batch=128 agent.replay=50000 agent.warmup=1000 "
              "agent.update_every=2 agent.target_every=200 agent.epsilon_steps=10000 "
              "optim.lr=3e-4"},
    {"atari",
     DQN_ZOO_LOOP "agent.quantiles=201 agent.grad_clip=10 agent.warmup=50000 "
                  "agent.target_every=2500 agent.epsilon_end=0.01 "
                  "agent.epsilon_eval=0.001 optim.lr=5e-5 optim.eps=3.125e-4",
     LGV_LARGE_PICTURE},
    {0}};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW,
    DQN_PARAM_ROWS,
    DQN_PRIORITY_ROWS,
    DQN_GRAD_CLIP_ROW,
    EPSILON_PARAM_ROWS,
    LGV_INT_ROW(params, quantiles, "quantiles", "51", 1, 10000, "N: quantiles of the return of every action"),
    LGV_REAL_ROW(params, kappa, "kappa", "1", 0, 1e30, LGV_OPEN_MIN, "errors up to which the quantile loss is a square; linear beyond"),
    {0}};
/* clang-format on */

typedef struct self {
  dqn core;
  const params *p;
  float *tau;    /* (N) */
  float *target; /* (N): r + gamma theta_j(s', a*; w-) of one sample */
} self;

/* ---- memory ---- */

static dqn_sizes sizes_of(const params *p) {
  return (dqn_sizes){.atoms = (int32_t)p->quantiles, .distributional = true};
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  return lgv__dqn_resolve(&p->base.dqn, problem, sizes_of(p), err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__dqn_layout(&s->core, &s->p->base.dqn, problem, sizes_of(s->p), out);
  size_t n = (size_t)s->p->quantiles;
  s->tau = lgv_layout_array(out, "tau", LGV_F32, n, LGV_SCRATCH);
  s->target = lgv_layout_array(out, "target", LGV_F32, n, LGV_SCRATCH);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  int64_t n = s->p->quantiles;
  for (int64_t i = 0; i < n; i++) s->tau[i] = (float)(((double)i + 0.5) / (double)n);
  return lgv__dqn_open(&s->core, err);
}

/* Q (rows x A) of quantiles (rows x A x N). */
static void mean(const self *s, const float *theta, int64_t rows, float *q) {
  int64_t n = s->p->quantiles;
  for (int64_t i = 0; i < rows * s->core.A; i++) {
    float sum = 0;
    for (int64_t j = 0; j < n; j++) sum += theta[i * n + j];
    q[i] = sum / (float)n;
  }
}

/* ---- acting ---- */

/* Q of one observation, (A), until the next call. */
static const float *values_of(self *s, const lgv_obs *obs) {
  dqn *c = &s->core;
  mean(s, lgv__dqn_values(c, c->w, obs), 1, c->act_q);
  return c->act_q;
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  epsilon_greedy_action(&s->p->base.epsilon, &s->core, values_of(s, obs), obs, mode, action);
  return LGV_OK;
}

static lgv_status q_values(void *self_, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)err;
  self *s = self_;
  lgv__dqn_copy_values(&s->core, values_of(s, obs), q);
  return LGV_OK;
}

/* ---- learning ---- */

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  int64_t n = s->p->quantiles;
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  mean(s, dqn_chooser(c), c->p->batch, c->mean);
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
  mean(s, c->q, c->p->batch, c->mean); /* for the statistics */
  lgv__dqn_backward(c, c->w, c->grad);
  lgv__dqn_step(c, 0);
  return lgv__dqn_end_update(c, err);
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  self *s = self_;
  lgv__dqn_remember(&s->core, transition);
  for (int64_t j = lgv__dqn_updates_due(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  for (int64_t j = lgv__dqn_updates_due_between_episodes(&s->core); j > 0; j--)
    LGV_TRY(update(s, err));
  return LGV_OK;
}

static const char *const stat_names[] = {EPSILON_STAT_NAMES, NULL};

static void stats(const void *self_, double *values) {
  const self *s = self_;
  lgv__dqn_stats(&s->core, values);
  values[DQN_STATS] = epsilon_of(&s->p->base.epsilon, &s->core);
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
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = stats,
    .set_stream = lgv__dqn_set_stream,
    .q_values = q_values,
};
const lgv_builtin lgv__builtin_qr_dqn = {"adam", lgv__dqn_policy_parts};
