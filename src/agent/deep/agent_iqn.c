/* IQN. Dabney, Ostrovski, Silver, Munos, "Implicit quantile networks for distributional
 * reinforcement learning" (ICML 2018).
 *
 * The network takes tau beside the observation and gives Z_tau(s, a), the tau-quantile of the
 * return (the embedding of tau is layer_embed.c); Q is the mean over K draws of tau ~ U(0, 1) (Eq.
 * 3 without a distortion). With fresh draws tau_i for s and tau'_j for s', N each, the loss is
 * QR-DQN's (Eq. 2):
 *     sum over i of the mean over j of |tau_i - [d_ij < 0]| huber(d_ij),
 *     d_ij = r + gamma Z_tau'_j(s', a*; w-) - Z_tau_i(s, a; w).
 *
 * a* is the greedy action by K draws of its own, in the target network as in DQN Zoo (Quan,
 * Ostrovski, 2020), or, with agent.double, in the online network. Acting draws K anew at every
 * step. With agent.prioritized the priority is the loss. The preset `atari` has the settings of DQN
 * Zoo: 64 draws for everything. */
#include "agent/deep/epsilon_greedy.h"
#include "agent/export.h"
#include "base/error.h"
#include "math/kernels.h"

typedef struct params {
  epsilon_greedy_params base;
  int64_t cosines, taus, taus_act;
  double kappa;
} params;

static const lgv_preset presets[] = {
    {"small", "agent.cosines=32 agent.taus=8 agent.taus_act=16 agent.grad_clip=10 "
              "agent.double=true agent.hidden=64,64 agent.n_step=5 agent.batch=64 "
              "agent.replay=50000 agent.warmup=1000 agent.update_every=2 agent.target_every=200 "
              "agent.epsilon_steps=10000 optim.lr=5e-4"},
    {"atari",
     DQN_ZOO_LOOP "agent.warmup=20000 agent.target_every=2500 agent.epsilon_end=0.01 "
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
    LGV_INT_ROW(params, cosines, "cosines", "64", 1, 4096, "cos(pi i tau), i = 1.., that stand for tau"),
    LGV_INT_ROW(params, taus, "taus", "64", 1, 4096, "N: draws of tau in the loss, and in its targets"),
    LGV_INT_ROW(params, taus_act, "taus_act", "64", 1, 4096, "K: draws of tau by which actions are valued"),
    LGV_REAL_ROW(params, kappa, "kappa", "1", 0, 1e30, LGV_OPEN_MIN, "errors up to which the quantile loss is a square; linear beyond"),
    {0}};
/* clang-format on */

typedef struct self {
  dqn core;
  const params *p;
  lgv_rng *noise;
  float *tau;     /* (batch x max(N, K)): of the current forward pass */
  float *target;  /* (batch x N): r + gamma Z_tau'_j(s', a*; w-) */
  float *theta;   /* (N): of one sample */
  float *d_theta; /* (N) */
} self;

/* ---- memory ---- */

static dqn_sizes sizes_of(const params *p) {
  return (dqn_sizes){.cosines = (int32_t)p->cosines,
                     .taus = (int32_t)(p->taus > p->taus_act ? p->taus : p->taus_act),
                     .distributional = true};
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
  s->noise = problem->noise;
  dqn_sizes sizes = sizes_of(s->p);
  lgv__dqn_layout(&s->core, &s->p->base.dqn, problem, sizes, out);
  size_t B = (size_t)s->p->base.dqn.batch, N = (size_t)s->p->taus;
  s->tau = lgv_layout_array(out, "tau", LGV_F32, B * (size_t)sizes.taus, LGV_SCRATCH);
  s->target = lgv_layout_array(out, "target", LGV_F32, B * N, LGV_SCRATCH);
  s->theta = lgv_layout_array(out, "theta", LGV_F32, N, LGV_SCRATCH);
  s->d_theta = lgv_layout_array(out, "d_theta", LGV_F32, N, LGV_SCRATCH);
}

/* ---- acting ---- */

/* Z of (rows) observations for the current taus, (rows x taus x A). */
static const float *quantiles(self *s, const float *w, const void *obs, int64_t rows, int64_t taus,
                              net_tape *tape) {
  const dqn *c = &s->core;
  net_input input = lgv__dqn_input(c, obs);
  input.tau = s->tau;
  input.taus = taus;
  return lgv__net_forward(&c->net, w, input, rows, tape);
}

/* The same for fresh draws. */
static const float *draw_quantiles(self *s, const float *w, const void *obs, int64_t rows,
                                   int64_t taus, lgv_rng *stream, net_tape *tape) {
  for (int64_t i = 0; i < rows * taus; i++) s->tau[i] = (float)lgv_rng_uniform(stream);
  return quantiles(s, w, obs, rows, taus, tape);
}

/* Q (rows x A) of quantiles (rows x taus x A). */
static void mean(const self *s, const float *z, int64_t rows, int64_t taus, float *q) {
  int32_t A = s->core.A;
  for (int64_t i = 0; i < rows; i++)
    for (int32_t a = 0; a < A; a++) {
      float sum = 0;
      for (int64_t k = 0; k < taus; k++) sum += z[(i * taus + k) * A + a];
      q[i * A + a] = sum / (float)taus;
    }
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  dqn *c = &s->core;
  lgv__replay_encode(&c->env, obs, c->seen);
  lgv_rng *stream = mode == LGV_TRAIN ? s->noise : c->eval;
  int64_t K = s->p->taus_act;
  mean(s, draw_quantiles(s, c->w, c->seen, 1, K, stream, &c->act_tape), 1, K, c->act_q);
  epsilon_greedy_action(&s->p->base.epsilon, c, c->act_q, obs, mode, action);
  return LGV_OK;
}

/* The mean over tau by the midpoints of K equal parts, where acting draws K of them. */
static lgv_status q_values(void *self_, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)err;
  self *s = self_;
  dqn *c = &s->core;
  int64_t K = s->p->taus_act;
  for (int64_t i = 0; i < K; i++) s->tau[i] = (float)(((double)i + 0.5) / (double)K);
  lgv__replay_encode(&c->env, obs, c->seen);
  mean(s, quantiles(s, c->w, c->seen, 1, K, &c->act_tape), 1, K, c->act_q);
  lgv__dqn_copy_values(c, c->act_q, q);
  return LGV_OK;
}

/* ---- learning ---- */

static void make_targets(self *s) {
  dqn *c = &s->core;
  int64_t B = c->p->batch, N = s->p->taus, K = s->p->taus_act;
  const float *chooser = c->p->double_q ? c->w : c->w_target;
  mean(s, draw_quantiles(s, chooser, c->batch.next, B, K, s->noise, &c->target_tape), B, K,
       c->mean);
  lgv__dqn_choose(c);
  c->q_target = draw_quantiles(s, c->w_target, c->batch.next, B, N, s->noise, &c->target_tape);
  for (int64_t i = 0; i < B; i++)
    for (int64_t j = 0; j < N; j++)
      s->target[i * N + j] =
          c->batch.reward[i] + c->batch.discount[i] * c->q_target[(i * N + j) * c->A + c->best[i]];
}

static void sample_loss(self *s, int64_t i) {
  dqn *c = &s->core;
  int64_t N = s->p->taus, first = i * N * c->A + c->batch.action[i];
  for (int64_t k = 0; k < N; k++) s->theta[k] = c->q[first + k * c->A];
  float loss = lgv__kernels()->quantile_loss(N, s->theta, s->tau + i * N, N, s->target + i * N,
                                             (float)s->p->kappa, s->d_theta);
  lgv__dqn_loss_of(c, i, loss, s->d_theta, N);
  for (int64_t k = 0; k < N; k++) c->d_q[first + k * c->A] = s->d_theta[k];
}

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_sample(c);
  make_targets(s);
  lgv__dqn_refresh_target(c, 0);
  c->q = draw_quantiles(s, c->w, c->batch.obs, c->p->batch, s->p->taus, s->noise, &c->tape);
  lgv__dqn_loss_clear(c);
  for (int64_t i = 0; i < c->p->batch; i++) sample_loss(s, i);
  mean(s, c->q, c->p->batch, s->p->taus, c->mean); /* for the statistics */
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

static void policy_parts(const void *self_, lgv_policy_parts *parts) {
  lgv__dqn_policy_parts(self_, parts);
  parts->taus = ((const self *)self_)->p->taus_act;
}

const lgv_agent_type lgv__agent_iqn = {
    .name = "iqn",
    .summary = "DQN that learns the quantile function of the return",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .presets = presets,
    .resolve = resolve,
    .layout = layout,
    .open = lgv__dqn_open,
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = stats,
    .set_stream = lgv__dqn_set_stream,
    .q_values = q_values,
};
const lgv_builtin lgv__builtin_iqn = {"adam", policy_parts};
