/* HyperAgent. Li, Xu, Han, Luo, "Q-Star meets scalable posterior sampling: bridging theory and
 * practice via HyperAgent" (ICML 2024).
 *
 * One network, whose last layer is linear in a random index xi of the unit sphere in R^M:
 *     Q(s, a; xi) = f_0(s, a) + sum over m of xi_m (f_m(s, a) + prior_scale p_m(s, a)).
 * f_0, ..., f_M are the outputs of an action, p is a network that is drawn once and never trained.
 * The mean over xi is f_0; the other outputs say how much is unknown.
 *
 * Acting is greedy in Q(s, .; xi). xi is drawn when an episode begins, and again before each step
 * with probability 1 - gamma. An update draws, for every transition i of a minibatch, an index xi-
 * for its target and n indices xi_j for its loss (n = agent.indices):
 *     y_i = r + gamma Q(s', a*; xi-, w-),   a* = argmax_a of Q(s', a; xi-, w-), or of w's,
 *     loss = mean over i and j of (Q(s, a; xi_j) - y_i - sigma sqrt(M) <xi_j, z_i>)^2,
 * where z_i, from the unit sphere too, was drawn when the transition was stored. xi- is another
 * index than xi_j, so f_0 learns the mean over xi of optimistic values, and f_m + prior_scale p_m
 * learns sigma sqrt(M) z_m, which averages out as data arrive.
 *
 * This follows the authors' code (github.com/szrlee/HyperAgent): the direction of a normal vector
 * as the index, a new xi with probability 1 - gamma, its own xi- for every transition. There, z_i
 * is multiplied by the normal vector itself; the factor sqrt(M) gives the same variance, sigma^2.
 * Departures: weights are drawn as in all networks here, and those of p's last layer too, not as
 * rows of equal norm; p has no mean part (on DeepSea theirs is small); there is no penalty on the
 * gradient of Q (0.01 on Atari), no ridge on the last layer (there 0.01 divided by the number of
 * transitions) and no factor on the outputs f (there 0.1); on Atari, pixels are divided by 255
 * instead of a normalization after the convolutions; actions before agent.warmup are greedy too,
 * not uniform.
 *
 * Evaluation: agent.eval = sample draws an index for each episode, as the authors do; mean is
 * greedy in f_0. With M = 0 this is greedy DQN, draw for draw. */
#include "agent/agent.h"
#include "agent/deep/dqn_core.h"
#include "agent/deep/random_prior.h"
#include "agent/export.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/spec.h"
#include "math/kernels.h"

#include <math.h>
#include <string.h>

enum { SAMPLE, MEAN };
enum { MOST_INDEX = 64, DRAW_UNIT = 32 }; /* normals come in multiples of DRAW_UNIT */

typedef struct params {
  dqn_params dqn;
  int64_t index_dim, indices;
  double prior_scale, sigma;
  int32_t eval;
} params;

static const lgv_preset presets[] = {
    {"small", "agent.double=true agent.hidden=64,64 agent.batch=128 agent.replay=100000 "
              "agent.warmup=128 agent.update_every=1 agent.target_every=16 agent.grad_clip=10 "
              "agent.prior_scale=5 agent.eval=mean optim.lr=1e-3 optim.eps=1.5e-4"},
    {"atari",
     "agent.double=true agent.hidden=256 agent.scale_input=true agent.n_step=5 "
     "agent.replay=100000 agent.warmup=2000 agent.update_every=1 agent.target_every=5 "
     "agent.grad_clip=10 agent.prior_scale=0.1 agent.sigma=0.01 optim.lr=1e-4 "
     "optim.eps=1.5e-4",
     LGV_LARGE_PICTURE},
    {0}};
static const char *const eval_names[] = {"sample", "mean", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW,
    DQN_PARAM_ROWS,
    DQN_GRAD_CLIP_ROW,
    LGV_INT_ROW(params, index_dim, "index_dim", "4", 0, MOST_INDEX, "M: length of the random index; 0: there is none"),
    LGV_INT_ROW(params, indices, "indices", "20", 1, 10000, "n: indices per transition of a minibatch"),
    LGV_REAL_ROW(params, prior_scale, "prior_scale", "1", 0, 1e6, 0, "weight of the fixed random prior"),
    LGV_REAL_ROW(params, sigma, "sigma", "0", 0, 1e6, 0, "deviation of the perturbation that the index adds to a target"),
    LGV_CHOICE_ROW(params, eval, "eval", "sample", eval_names, "evaluations: one index per episode, or the mean over all indices"),
    {0}};
/* clang-format on */

typedef struct self {
  dqn core;
  const params *p;
  int64_t M, n;       /* n: indices per transition in the loss; without an index, 1 */
  random_prior prior; /* p: M outputs for every action */
  float *index;       /* (streams + 1 x M): xi of this episode of each; last, of this evaluation */
  float *z;           /* (replay x M); NULL if sigma = 0 */
  float *draws;       /* normal numbers of one update, or of one z; then directions */
  float *p_obs, *p_next;    /* (batch x A x M) */
  float *q_next, *q_target; /* (batch x A): Q(s', .; xi-) of w and of w- */
} self;

/* ---- memory ---- */

static dqn_sizes sizes_of(const params *p) {
  return (dqn_sizes){.atoms = (int32_t)p->index_dim + 1, .distributional = true};
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  return lgv__dqn_resolve(&p->dqn, problem, sizes_of(p), err);
}

static float norm(const float *x, int64_t count) {
  float sum = 0;
  for (int64_t m = 0; m < count; m++) sum += x[m] * x[m];
  return sqrtf(sum);
}

/* An index is a direction, or 0 before the first episode. */
static const char *index_fault(const void *self_) {
  const self *s = self_;
  for (int64_t i = 0; i <= s->core.replay.streams; i++) {
    float length = norm(s->index + i * s->M, s->M);
    if (length != 0 && !(fabsf(length - 1) < 1e-3f)) return "an index that is no direction";
  }
  return NULL;
}

static void layout_index(self *s, lgv_layout *out) {
  const replay *r = &s->core.replay;
  size_t M = (size_t)s->M, streams = (size_t)r->streams, rows = (size_t)(r->capacity / r->streams);
  s->index = lgv_layout_array(out, "index", LGV_F32, (streams + 1) * M, LGV_KEEP);
  lgv_layout_check(out, index_fault, s);
  bool perturbs = s->p->sigma > 0 && M > 0;
  s->z = perturbs ? lgv__layout_rows(out, "z", LGV_F32, rows, streams * M, r->rows) : NULL;
}

static size_t draws_for(size_t count) { return (count / DRAW_UNIT + 1) * DRAW_UNIT; }

static void layout(void *self_, const void *p, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  dqn *c = &s->core;
  s->p = p;
  s->M = s->p->index_dim;
  s->n = s->M > 0 ? s->p->indices : 1;
  const dqn_params *base = &s->p->dqn;
  lgv__dqn_layout(c, base, problem, sizes_of(s->p), out);
  int32_t outputs = s->M > 0 ? (int32_t)s->M : 1; /* of the prior, which does not count if M = 0 */
  net_shape shape = lgv__dqn_shape(base, &problem->env, 1, outputs);
  double scale = s->M > 0 ? s->p->prior_scale : 0;
  lgv__random_prior_layout(&s->prior, &shape, 1, base->batch, scale, out);
  layout_index(s, out);
  size_t B = (size_t)base->batch, A = (size_t)c->A, n = B * (size_t)(s->n * s->M);
  s->draws = lgv_layout_array(out, "draws", LGV_F32, draws_for(n), LGV_SCRATCH);
  s->p_obs = lgv_layout_array(out, "p_obs", LGV_F32, B * A * (size_t)outputs, LGV_SCRATCH);
  s->p_next = lgv_layout_array(out, "p_next", LGV_F32, B * A * (size_t)outputs, LGV_SCRATCH);
  s->q_next = lgv_layout_array(out, "q_next", LGV_F32, B * A, LGV_SCRATCH);
  s->q_target = lgv_layout_array(out, "q_target", LGV_F32, B * A, LGV_SCRATCH);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  LGV_TRY(lgv__dqn_open(&s->core, err));
  lgv__random_prior_open(&s->prior, s->core.init);
  return LGV_OK;
}

/* ---- indices ---- */

static void point(float *x, int64_t count) {
  float scale = 1 / norm(x, count);
  for (int64_t m = 0; m < count; m++) x[m] *= scale;
}

/* One direction, for acting. */
static void draw_index(const self *s, lgv_rng *stream, float *xi) {
  for (int64_t m = 0; m < s->M; m++) xi[m] = (float)lgv_rng_normal(stream);
  if (s->M > 0) point(xi, s->M);
}

/* s->draws (rows x M) = directions. */
static const float *draw_directions(self *s, int64_t rows) {
  int64_t count = rows * s->M;
  for (int64_t i = 0; i < count; i += LGV_NOISE_BLOCK) {
    size_t left = draws_for((size_t)(count - i - 1));
    lgv__kernels()->normals(s->core.noise, s->draws + i,
                            left < LGV_NOISE_BLOCK ? left : LGV_NOISE_BLOCK);
  }
  for (int64_t i = 0; i < count; i += s->M) point(s->draws + i, s->M);
  return s->draws;
}

/* q (rows x A) = Q(s, .; xi) for outputs f (rows x A x (M + 1)), priors p (rows x A x M) and
 * indices xi (rows x M). */
static void compose(const self *s, int64_t rows, const float *f, const float *p, const float *xi,
                    float *q) {
  int64_t M = s->M, A = s->core.A;
  for (int64_t i = 0; i < rows; i++, xi += M)
    for (int64_t a = 0; a < A; a++, f += M + 1, p += M) {
      float sum = f[0];
      for (int64_t m = 0; m < M; m++) sum += xi[m] * (f[1 + m] + p[m]);
      *q++ = sum;
    }
}

/* q (rows x A) = the mean over all indices. */
static void compose_mean(const self *s, int64_t rows, const float *f, float *q) {
  for (int64_t i = 0; i < rows * s->core.A; i++) q[i] = f[i * (s->M + 1)];
}

/* ---- acting ---- */

static const float *sampled_values(self *s, const float *xi, const lgv_obs *obs) {
  dqn *c = &s->core;
  const float *f = lgv__dqn_values(c, c->w, obs);
  lgv__random_prior_values(&s->prior, 0, lgv__dqn_input(c, c->seen), 1, s->p_obs);
  compose(s, 1, f, s->p_obs, xi, c->act_q);
  return c->act_q;
}

static const float *mean_values(self *s, const lgv_obs *obs) {
  compose_mean(s, 1, lgv__dqn_values(&s->core, s->core.w, obs), s->core.act_q);
  return s->core.act_q;
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  draw_index(s, s->core.act, s->index + s->core.stream * s->M);
  return LGV_OK;
}

/* The index that acts now. */
static const float *current_index(self *s, const lgv_obs *obs, lgv_mode mode) {
  dqn *c = &s->core;
  bool evaluates = mode == LGV_EVAL;
  float *xi = s->index + (evaluates ? c->replay.streams : c->stream) * s->M;
  bool changes = evaluates ? obs->stage == 0 : s->M > 0 && lgv_rng_uniform(c->act) >= c->p->gamma;
  if (changes) draw_index(s, lgv__dqn_act_stream(c, mode), xi);
  return xi;
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  const float *q = mode == LGV_EVAL && s->p->eval == MEAN
                       ? mean_values(s, obs)
                       : sampled_values(s, current_index(s, obs, mode), obs);
  lgv__dqn_greedy(&s->core, q, obs, mode, action);
  return LGV_OK;
}

static lgv_status q_values(void *self_, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)err;
  self *s = self_;
  lgv__dqn_copy_values(&s->core, mean_values(s, obs), q);
  return LGV_OK;
}

/* ---- learning ---- */

/* y, each with an index of its own. */
static void set_targets(self *s) {
  dqn *c = &s->core;
  int64_t B = c->p->batch;
  const float *xi = draw_directions(s, B);
  lgv__random_prior_values(&s->prior, 0, lgv__dqn_input(c, c->batch.next), B, s->p_next);
  compose(s, B, c->q_target, s->p_next, xi, s->q_target);
  if (c->q_next) compose(s, B, c->q_next, s->p_next, xi, s->q_next);
  lgv__dqn_targets_from(c, c->q_next ? s->q_next : s->q_target, s->q_target, c->A, c->y);
}

/* The mean over n indices xi (n x M) of (e_0 + <xi, e>)^2, and its derivatives by e (M + 1). */
static float mean_square(const float *e, const float *xi, int64_t n, int64_t M, float *d_e) {
  float sum = 0;
  for (int64_t m = 0; m <= M; m++) d_e[m] = 0;
  for (int64_t j = 0; j < n; j++, xi += M) {
    float error = e[0];
    for (int64_t m = 0; m < M; m++) error += xi[m] * e[1 + m];
    sum += error * error;
    d_e[0] += 2 * error;
    for (int64_t m = 0; m < M; m++) d_e[1 + m] += 2 * error * xi[m];
  }
  for (int64_t m = 0; m <= M; m++) d_e[m] /= (float)n;
  return sum / (float)n;
}

/* Sample i, for the action `a` of one part. */
static void add_loss(self *s, int64_t i, int32_t a, const float *xi) {
  dqn *c = &s->core;
  int64_t M = s->M, at = dqn_atoms_at(c, i, a);
  const float *f = c->q + at, *p = s->p_obs + (i * c->A + a) * M;
  float e[MOST_INDEX + 1] = {f[0] - c->y[i]}, share = 1.0f / (float)c->parts;
  for (int64_t m = 0; m < M; m++) e[1 + m] = f[1 + m] + p[m];
  float scale = (float)(s->p->sigma * sqrt((double)M));
  const float *z = s->z ? s->z + c->batch.entry[i] * M : NULL;
  for (int64_t m = 0; z && m < M; m++) e[1 + m] -= scale * z[m];
  float loss = mean_square(e, xi, s->n, M, c->d_q + at);
  for (int64_t m = 0; m <= M; m++) c->d_q[at + m] *= share;
  lgv__dqn_loss_of(c, i, share * loss, c->d_q + at, M + 1);
}

static void set_loss(self *s) {
  dqn *c = &s->core;
  int64_t B = c->p->batch;
  const float *xi = draw_directions(s, B * s->n);
  lgv__random_prior_values(&s->prior, 0, lgv__dqn_input(c, c->batch.obs), B, s->p_obs);
  lgv__dqn_loss_clear(c);
  for (int64_t i = 0; i < B; i++)
    for (int32_t p = 0, first = 0; p < c->parts; p++) {
      add_loss(s, i, first + c->batch.action[i * c->parts + p], xi + i * s->n * s->M);
      first += lgv__part_choices(&c->env.actions, p);
    }
}

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  set_targets(s);
  lgv__dqn_refresh_target(c, 0);
  set_loss(s);
  compose_mean(s, c->p->batch, c->q, c->mean); /* for the statistics */
  lgv__dqn_backward(c, c->w, c->grad);
  lgv__dqn_step(c, 0);
  return lgv__dqn_end_update(c, err);
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  self *s = self_;
  int64_t entry = lgv__dqn_remember(&s->core, transition);
  if (s->z) memcpy(s->z + entry * s->M, draw_directions(s, 1), (size_t)s->M * sizeof *s->z);
  for (int64_t j = lgv__dqn_updates_due(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  for (int64_t j = lgv__dqn_updates_due_between_episodes(&s->core); j > 0; j--)
    LGV_TRY(update(s, err));
  return LGV_OK;
}

static const char *const stat_names[] = {DQN_STAT_NAMES, NULL};

static void policy_parts(const void *self_, lgv_policy_parts *parts) {
  lgv__dqn_policy_parts(self_, parts);
  parts->first_atom = true;
}

const lgv_agent_type lgv__agent_hyperagent = {
    .name = "hyperagent",
    .summary = "DQN whose last layer is linear in a random index, one index per episode",
    .traits = LGV_TAKES_MULTI_DISCRETE,
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .presets = presets,
    .resolve = resolve,
    .layout = layout,
    .open = open_agent,
    .begin_episode = begin_episode,
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = lgv__dqn_stats,
    .set_stream = lgv__dqn_set_stream,
    .q_values = q_values,
};
const lgv_builtin lgv__builtin_hyperagent = {"adam", policy_parts};
