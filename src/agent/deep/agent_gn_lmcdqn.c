/* GN-LMCDQN: one Langevin chain whose target is the posterior of a network's weights, with a
 * Gauss-Newton preconditioner. Not from a paper: it keeps the idea of Ishfaq et al. (ICLR 2024) and
 * changes what stands between that idea and deep exploration.
 *
 * The potential is a sum over all the data, not a minibatch mean, with a Gaussian prior:
 *     U(w) = sum over transitions of (Q(s, a; w) - y)^2 / (2 sigma^2) + sum over weights of
 *            w^2 / (2 p^2),        y = r + gamma max_a Q(s', a; w-),
 *     w <- w - eps G grad U + sqrt(2 eps G) xi,
 *     G = 1 / (mean over past updates of sum (dQ/dw)^2 / sigma^2 + 1 / p^2)   on the diagonal.
 * Isotropic noise moves the weights of rarely visited states hardly at all, since its step is
 * limited by the most visited ones; G gives every weight the pace of its own curvature. Layers
 * above the first move agent.upper_step times as fast, since there all states share the
 * uncertainty.
 *
 * Prior standard deviations p: 1 in the first layer, sqrt(2 / inputs) above, times
 * agent.prior_output in the last; agent.prior_bias for biases. The chain starts from a draw of the
 * prior. Between episodes it makes J = agent.updates steps, and w- = w every agent.target_every of
 * them. Acting is greedy in w.
 *
 * The data are kept as distinct transitions with counts (merged.h), hence it needs sparse
 * observations: one-hot or thermometer. */
#include "agent/agent.h"
#include "agent/deep/gauss_newton.h"
#include "base/error.h"
#include "math/kernels.h"
#include "replay/merged.h"
#include "replay/replay.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { CHUNK = 256 }; /* samples in a pass */

typedef struct params {
  lgv_ints hidden;
  double gamma, sigma, step, upper_step, prior_output, prior_bias, curvature_decay;
  int64_t updates, target_every, capacity;
} params;

#define REAL(field_, fallback_, min_, max_, open_, help_)                                          \
  {                                                                                                \
    .name = #field_, .type = LGV_REAL, .offset = offsetof(params, field_), .fallback = fallback_,  \
    .min = min_, .max = max_, .open = open_, .help = help_                                         \
  }

static const lgv_param param_table[] = {
    {.name = "hidden",
     .type = LGV_INTS,
     .offset = offsetof(params, hidden),
     .fallback = "32,32",
     .min = 1,
     .max = 1e6,
     .help = "widths of the hidden layers"},
    REAL(gamma, "1", 0, 1, 0, "discount"),
    REAL(sigma, "0.05", 0, 1e6, LGV_OPEN_MIN, "standard deviation of a target's error"),
    REAL(step, "0.03", 0, 1, LGV_OPEN_MIN,
         "eps: step of the first layer, for one input that is on"),
    REAL(upper_step, "0.01", 0, 1, 0, "step of the layers above, in units of agent.step"),
    REAL(prior_output, "1", 0, 1e6, LGV_OPEN_MIN, "prior deviation of the last layer, rescaled"),
    REAL(prior_bias, "0.1", 0, 1e6, LGV_OPEN_MIN, "prior deviation of biases"),
    REAL(curvature_decay, "0.99", 0, 1, LGV_OPEN_MAX, "decay of the mean of the curvature"),
    {.name = "updates",
     .type = LGV_INT,
     .offset = offsetof(params, updates),
     .fallback = "60",
     .min = 1,
     .max = 1e9,
     .help = "J: chain steps between episodes"},
    {.name = "target_every",
     .type = LGV_INT,
     .offset = offsetof(params, target_every),
     .fallback = "3",
     .min = 1,
     .max = 1e9,
     .help = "chain steps between new targets; they are new for every episode, too"},
    {.name = "capacity",
     .type = LGV_INT,
     .offset = offsetof(params, capacity),
     .fallback = "100000",
     .min = 1,
     .max = 1e9,
     .help = "the most distinct transitions"},
    {0}};

enum { COUNT_STEPS, COUNT_UPDATES, COUNTERS };
enum { STAT_LOSS, STAT_Q_MEAN, STAT_Q_MAX, STAT_WEIGHT_NORM, STAT_UPDATES, STAT_DISTINCT, STATS };

typedef struct self {
  const params *p;
  lgv_env_spec env;
  net net;
  lgv_rng *init, *act, *eval, *seed_noise;
  lgv_noise *noise;
  merged data;
  gauss_newton gn;
  net_tape tape, act_tape;
  int64_t *count;          /* (COUNTERS) */
  double *stat;            /* (STATS) */
  float *w;                /* (net.params) */
  float *mean_curvature;   /* (net.params): over past updates */
  float *grad, *curvature; /* (net.params) */
  float *y;                /* (capacity): targets */
  float *slope, *weight;   /* (CHUNK) */
  double *values;          /* (actions) */
} self;

/* ---- memory ---- */

static net_shape shape_of(const params *p, const lgv_env_spec *env) {
  return (net_shape){.family = NET_MLP,
                     .obs_kind = env->obs_kind,
                     .obs_form = env->obs_form,
                     .obs_shape = {env->obs_shape[0], env->obs_shape[1], env->obs_shape[2]},
                     .hidden = p->hidden,
                     .outputs = env->actions,
                     .input_scale = 1};
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  if (problem->env.obs_form == LGV_FORM_DENSE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "gn-lmcdqn needs an environment with one-hot or thermometer observations");
  net built;
  net_shape shape = shape_of(params_, &problem->env);
  return net_build(&built, &shape, err);
}

static void layout(void *self_, const void *p, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = p;
  s->env = problem->env;
  s->init = problem->init;
  s->act = problem->act;
  s->eval = problem->eval;
  s->seed_noise = problem->noise;
  net_shape shape = shape_of(p, &problem->env);
  lgv_status built = net_build(&s->net, &shape, NULL); /* resolve has tried it */
  assert(built == LGV_OK);
  (void)built;
  size_t n = (size_t)s->net.params;
  s->count = lgv_layout_array(out, "counters", LGV_I64, COUNTERS, LGV_KEEP);
  s->stat = lgv_layout_array(out, "stats", LGV_F64, STATS, LGV_KEEP);
  s->noise = lgv_layout_array(out, "noise", LGV_U8, sizeof(lgv_noise), LGV_KEEP);
  s->w = lgv_layout_array(out, "w", LGV_F32, n, LGV_KEEP);
  s->mean_curvature = lgv_layout_array(out, "mean_curvature", LGV_F32, n, LGV_KEEP);
  s->grad = lgv_layout_array(out, "grad", LGV_F32, n, LGV_SCRATCH);
  s->curvature = lgv_layout_array(out, "curvature", LGV_F32, n, LGV_SCRATCH);
  merged_layout(&s->data, s->p->capacity, out);
  s->y = lgv_layout_array(out, "y", LGV_F32, (size_t)s->p->capacity, LGV_SCRATCH);
  s->slope = lgv_layout_array(out, "slope", LGV_F32, CHUNK, LGV_SCRATCH);
  s->weight = lgv_layout_array(out, "weight", LGV_F32, CHUNK, LGV_SCRATCH);
  s->values = lgv_layout_array(out, "values", LGV_F64, (size_t)s->env.actions, LGV_SCRATCH);
  gauss_newton_layout(&s->gn, &s->net, CHUNK, out);
  net_tape_layout(&s->tape, &s->net, "tape", CHUNK, false, out);
  net_tape_layout(&s->act_tape, &s->net, "act_tape", 1, false, out);
}

/* Of a layer's weights. */
static double prior_deviation(const self *s, int32_t l) {
  if (l == 0) return 1;
  double p = sqrt(2 / (double)s->net.layer[l].inputs);
  return l == s->net.n_layers - 1 ? p * s->p->prior_output : p;
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  for (int32_t l = 0; l < s->net.n_layers; l++) {
    const net_layer *layer = &s->net.layer[l];
    for (int64_t i = 0; i < layer->n_weights + layer->n_biases; i++) {
      double p = i < layer->n_weights ? prior_deviation(s, l) : s->p->prior_bias;
      s->w[layer->weights + i] = (float)(p * lgv_rng_normal(s->init));
    }
  }
  lgv__noise_seed(s->noise, s->seed_noise);
  return LGV_OK;
}

/* ---- the chain ---- */

static int64_t rows_from(const self *s, int64_t begin) {
  int64_t left = s->data.size[0] - begin;
  return left < CHUNK ? left : CHUNK;
}

static const float *forward(self *s, const int32_t *index, int64_t rows) {
  return net_forward(&s->net, s->w, (net_input){.index = index}, rows, &s->tape);
}

static void set_targets(self *s) {
  const merged *m = &s->data;
  int32_t A = s->env.actions;
  for (int64_t at = 0; at < m->size[0]; at += CHUNK) {
    int64_t rows = rows_from(s, at);
    const float *q = forward(s, m->next + at, rows);
    for (int64_t i = 0; i < rows; i++) {
      float best = q[i * A];
      for (int32_t a = 1; a < A; a++) best = fmaxf(best, q[i * A + a]);
      double mean = m->reward[at + i] / (double)m->count[at + i];
      s->y[at + i] = (float)(mean + (m->terminated[at + i] ? 0 : s->p->gamma * (double)best));
    }
  }
}

/* Gradient and curvature of the data's part of U. */
static void differentiate(self *s) {
  const merged *m = &s->data;
  float precision = (float)(1 / (s->p->sigma * s->p->sigma));
  int32_t A = s->env.actions;
  double squares = 0, sum = 0, most = -INFINITY;
  memset(s->grad, 0, (size_t)s->net.params * sizeof *s->grad);
  memset(s->curvature, 0, (size_t)s->net.params * sizeof *s->curvature);
  for (int64_t at = 0; at < m->size[0]; at += CHUNK) {
    int64_t rows = rows_from(s, at);
    const float *q = forward(s, m->obs + at, rows);
    for (int64_t i = 0; i < rows; i++) {
      float value = q[i * A + m->action[at + i]], error = value - s->y[at + i];
      s->weight[i] = m->count[at + i] * precision;
      s->slope[i] = s->weight[i] * error;
      squares += (double)(m->count[at + i] * error * error);
      sum += (double)value;
      most = fmax(most, (double)value);
    }
    gauss_newton_add(&s->gn, s->w, &s->tape, m->obs + at, m->action + at, s->slope, s->weight, rows,
                     s->grad, s->curvature);
  }
  s->stat[STAT_LOSS] = squares / (double)m->size[1];
  s->stat[STAT_Q_MEAN] = sum / (double)m->size[0];
  s->stat[STAT_Q_MAX] = most;
}

/* w -= eps G grad U, plus noise of variance 2 eps G, for `count` parameters of one prior. */
static void move(self *s, int64_t begin, int64_t count, double prior, double step, float keep) {
  const lgv_kernel_set *kernels = lgv__kernels();
  float xi[LGV_NOISE_BLOCK], ridge = (float)(1 / (prior * prior)), eps = (float)step;
  for (int64_t at = begin; at < begin + count; at += LGV_NOISE_BLOCK) {
    int64_t left = begin + count - at, n = left < LGV_NOISE_BLOCK ? left : LGV_NOISE_BLOCK;
    kernels->normals(s->noise, xi, (size_t)(n + 31) / 32 * 32);
    for (int64_t i = 0; i < n; i++) {
      float *w = &s->w[at + i], *mean = &s->mean_curvature[at + i];
      *mean = keep * *mean + (1 - keep) * s->curvature[at + i];
      float pace = eps / (*mean + ridge);
      *w += sqrtf(2 * pace) * xi[i] - pace * (s->grad[at + i] + ridge * *w);
    }
  }
}

/* How many inputs can be on at once: they share an error, and a diagonal preconditioner would let
 * each of them make up for all of it. */
static double most_inputs(const self *s) {
  return s->env.obs_form == LGV_FORM_THERMOMETER ? (double)s->net.layer[0].inputs : 1;
}

static lgv_status advance(self *s, lgv_error *err) {
  /* the mean over past updates weighs them alike until it has forgotten the first */
  double seen = (double)++s->count[COUNT_UPDATES], norm = 0;
  float keep = (float)fmin(s->p->curvature_decay, 1 - 1 / seen);
  differentiate(s);
  for (int32_t l = 0; l < s->net.n_layers; l++) {
    const net_layer *layer = &s->net.layer[l];
    double step = l == 0 ? s->p->step / most_inputs(s) : s->p->step * s->p->upper_step;
    move(s, layer->weights, layer->n_weights, prior_deviation(s, l), step, keep);
    move(s, layer->biases, layer->n_biases, s->p->prior_bias, step, keep);
  }
  for (int64_t i = 0; i < s->net.params; i++) norm += (double)s->w[i] * (double)s->w[i];
  s->stat[STAT_WEIGHT_NORM] = sqrt(norm);
  s->stat[STAT_UPDATES] = seen;
  if (isfinite(norm) && isfinite(s->stat[STAT_LOSS])) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "a parameter or the loss is not a finite number at step %lld (update %lld): "
                  "lower agent.step",
                  (long long)s->count[COUNT_STEPS], (long long)s->count[COUNT_UPDATES]);
}

/* ---- hooks ---- */

static lgv_status begin_episode(void *self_, lgv_error *err) {
  (void)self_;
  (void)err;
  return LGV_OK;
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  int32_t index;
  replay_encode(&s->env, obs, &index);
  const float *q = net_forward(&s->net, s->w, (net_input){.index = &index}, 1, &s->act_tape);
  for (int32_t a = 0; a < s->env.actions; a++) s->values[a] = q[a];
  *action = lgv__argmax(s->values, s->env.actions, mode == LGV_TRAIN ? s->act : s->eval);
  return LGV_OK;
}

static lgv_status observe(void *self_, const lgv_transition *t, lgv_error *err) {
  self *s = self_;
  int32_t obs, next;
  replay_encode(&s->env, &t->obs, &obs);
  replay_encode(&s->env, &t->next, &next);
  s->count[COUNT_STEPS]++;
  if (!merged_add(&s->data, obs, t->action, t->reward, next, t->terminated))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "more than agent.capacity = %lld distinct transitions: raise it",
                    (long long)s->p->capacity);
  s->stat[STAT_DISTINCT] = (double)s->data.size[0];
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  for (int64_t j = 0; j < s->p->updates; j++) {
    if (j % s->p->target_every == 0) set_targets(s);
    LGV_TRY(advance(s, err));
  }
  return LGV_OK;
}

static const char *const stat_names[] = {
    "loss", "q_mean", "q_max", "weight_norm", "updates", "distinct_transitions", NULL};

static void stats(const void *self_, double *values) {
  memcpy(values, ((const self *)self_)->stat, sizeof(double) * STATS);
}

const lgv_agent_type lgv__agent_gn_lmcdqn = {
    .name = "gn-lmcdqn",
    .summary = "one Langevin chain on the posterior, with a Gauss-Newton preconditioner",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .resolve = resolve,
    .layout = layout,
    .open = open_agent,
    .begin_episode = begin_episode,
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = stats,
};
