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
 * grid leaves out. With agent.scale_rewards the grid is in units of the scaled rewards, and unless
 * it is set it goes from -10 to 10. The preset `atari` has the settings of DQN Zoo (Quan,
 * Ostrovski, 2020): 51 atoms from -10 to 10. */
#include "agent/deep/epsilon_greedy.h"
#include "agent/export.h"
#include "base/error.h"
#include "base/portable_math.h"
#include "math/kernels.h"

#include <math.h>
#include <string.h>

typedef struct params {
  epsilon_greedy_params base;
  int64_t atoms;
  double v_min, v_max;
} params;

static const lgv_preset presets[] = {
    {"small", "agent.double=true agent.hidden=64,64 agent.n_step=5 agent.batch=64 "
              "agent.replay=100000 agent.warmup=1000 agent.update_every=1 agent.target_every=200 "
              "agent.epsilon_steps=10000 optim.lr=3e-4"},
    {"atari",
     DQN_ZOO_LOOP "agent.v_min=-10 agent.v_max=10 agent.grad_clip=10 agent.warmup=50000 "
                  "agent.target_every=2500 agent.epsilon_end=0.01 "
                  "agent.epsilon_eval=0.001 optim.lr=2.5e-4 optim.eps=3.125e-4",
     LGV_LARGE_PICTURE},
    {0}};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW,
    DQN_PARAM_ROWS,
    DQN_PRIORITY_ROWS,
    DQN_GRAD_CLIP_ROW,
    EPSILON_PARAM_ROWS,
    LGV_INT_ROW(params, atoms, "atoms", "51", 2, 10000, "points of the grid"),
    LGV_REAL_ROW(params, v_min, "v_min", "-10", -1e30, 1e30, 0, "least return on the grid, in the units of agent.scale_rewards; if not set, the least return that the rewards allow, where it is known and they are not scaled"),
    LGV_REAL_ROW(params, v_max, "v_max", "10", -1e30, 1e30, 0, "greatest return on the grid; if not set, likewise"),
    {0}};
/* clang-format on */

typedef struct self {
  dqn core;
  const params *p;
  float *z;      /* (atoms) */
  float *p_next; /* (atoms): of a*, in the target network */
  float *m;      /* (atoms): the projected target */
  float *all;    /* (batch x A x atoms): softmax of everything, for means */
} self;

/* ---- the grid z_j = v_min + j (v_max - v_min) / (n - 1) ---- */

/* Global for their tests, which declare them likewise. */
void lgv__c51_grid(int64_t n, double v_min, double v_max, float *z);
void lgv__c51_project(int64_t n, double v_min, double v_max, const float *p, float reward,
                      float discount, float *m);

void lgv__c51_grid(int64_t n, double v_min, double v_max, float *z) {
  for (int64_t j = 0; j < n; j++)
    z[j] = (float)(v_min + (v_max - v_min) * (double)j / (double)(n - 1));
}

/* m (n) = the distribution of reward + discount z for z ~ p (n), cut to [v_min, v_max], with the
 * mass of every atom shared between its two neighbors on the grid so that the mean stays. Places
 * are counted in steps of the grid: atom j goes to shift + discount j. */
void lgv__c51_project(int64_t n, double v_min, double v_max, const float *p, float reward,
                      float discount, float *m) {
  double step = (v_max - v_min) / (double)(n - 1), last = (double)(n - 1);
  double shift = ((double)reward + (double)discount * v_min - v_min) / step;
  memset(m, 0, (size_t)n * sizeof *m);
  for (int64_t j = 0; j < n; j++) {
    double at = shift + (double)discount * (double)j;
    at = at > 0 ? at < last ? at : last : 0;
    int64_t below = (int64_t)at;
    float above_share = (float)(at - (double)below);
    m[below] += p[j] * (1 - above_share);
    if (above_share > 0) m[below + 1] += p[j] * above_share;
  }
}

/* ---- memory ---- */

/* The least and the greatest return that rewards within the environment's bounds allow; unchanged
 * if these are unknown. */
static void range_of_returns(const lgv_env_spec *env, double gamma, double *low, double *high) {
  double H = (double)env->horizon, most = gamma < 1 ? 1 / (1 - gamma) : H;
  if (H > 0 && gamma < 1) most *= 1 - lgv__pow(gamma, H);
  double least = fmin(env->reward_min, 0) * most, greatest = fmax(env->reward_max, 0) * most;
  if (!(least < greatest) || !isfinite(greatest - least)) return;
  *low = least;
  *high = greatest;
}

static dqn_sizes sizes_of(const params *p) {
  return (dqn_sizes){.atoms = (int32_t)p->atoms, .distributional = true};
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  params *p = params_;
  double low = p->v_min, high = p->v_max;
  int32_t scaled = p->base.dqn.scale.rewards;
  if (scaled == REWARDS_LIMITED) low *= REWARDS_DEVIATION, high *= REWARDS_DEVIATION;
  if (!scaled) range_of_returns(&problem->env, p->base.dqn.gamma, &low, &high);
  if (!lgv__params_is_set(param_table, is_set, "v_min")) p->v_min = low;
  if (!lgv__params_is_set(param_table, is_set, "v_max")) p->v_max = high;
  if (!(p->v_min < p->v_max))
    return lgv_fail(err, LGV_ERR_USAGE, "agent.v_min = %g must be less than agent.v_max = %g",
                    p->v_min, p->v_max);
  return lgv__dqn_resolve(&p->base.dqn, problem, sizes_of(p), err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__dqn_layout(&s->core, &s->p->base.dqn, problem, sizes_of(s->p), out);
  size_t n = (size_t)s->p->atoms, A = (size_t)problem->env.actions.count;
  s->z = lgv_layout_array(out, "z", LGV_F32, n, LGV_SCRATCH);
  s->p_next = lgv_layout_array(out, "p_next", LGV_F32, n, LGV_SCRATCH);
  s->m = lgv_layout_array(out, "m", LGV_F32, n, LGV_SCRATCH);
  s->all = lgv_layout_array(out, "p", LGV_F32, (size_t)s->p->base.dqn.batch * A * n, LGV_SCRATCH);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  lgv__c51_grid(s->p->atoms, s->p->v_min, s->p->v_max, s->z);
  return lgv__dqn_open(&s->core, err);
}

/* Q (rows x A) of logits (rows x A x atoms). */
static void mean(self *s, const float *logits, int64_t rows, float *q) {
  lgv__kernels()->softmax(rows * s->core.A, s->p->atoms, logits, s->z, s->all, q, NULL);
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

/* The cross-entropy of sample i and its derivatives p - m; without the entropy of m if that is
 * asked for, which makes it a divergence and changes no derivative. */
static float sample_loss(self *s, int64_t i, bool divergence, float *d_logits) {
  dqn *c = &s->core;
  int64_t n = c->sizes.atoms;
  const float *logits = c->q + dqn_atoms_at(c, i, c->batch.action[i]);
  const float *next = c->q_target + dqn_atoms_at(c, i, c->best[i]);
  float value, log_sum, loss = 0;
  lgv__kernels()->softmax(1, n, next, s->z, s->p_next, &value, NULL);
  lgv__c51_project(n, s->p->v_min, s->p->v_max, s->p_next, c->batch.reward[i], c->batch.discount[i],
                   s->m);
  lgv__kernels()->softmax(1, n, logits, s->z, d_logits, &value, &log_sum);
  for (int64_t j = 0; j < n; j++) {
    loss += s->m[j] * (log_sum - logits[j]);
    if (divergence && s->m[j] > 0) loss += s->m[j] * lgv__logf(s->m[j]);
    d_logits[j] -= s->m[j];
  }
  return divergence && loss < 0 ? 0 : loss; /* rounding; NaN has to stay */
}

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  mean(s, dqn_chooser(c), c->p->batch, c->mean);
  lgv__dqn_choose(c);
  lgv__dqn_refresh_target(c, 0);
  lgv__dqn_loss_clear(c);
  for (int64_t i = 0; i < c->p->batch; i++) {
    float *d_logits = c->d_q + dqn_atoms_at(c, i, c->batch.action[i]);
    lgv__dqn_loss_of(c, i, sample_loss(s, i, c->p->priority.on, d_logits), d_logits,
                     c->sizes.atoms);
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
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = stats,
    .set_stream = lgv__dqn_set_stream,
    .q_values = q_values,
};
const lgv_builtin lgv__builtin_c51 = {"adam", policy_parts};
