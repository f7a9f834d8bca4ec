/* GN-LMCDQN: one Langevin chain whose target is the posterior of a network's weights, with a
 * Gauss-Newton preconditioner. Not from a paper: it keeps the idea of Ishfaq et al. (ICLR 2024) and
 * changes what keeps that idea from deep exploration.
 *
 * The potential is a sum over all the data, not a minibatch mean, with a Gaussian prior:
 *     U(w) = sum over pairs (s, a) of weight (Q(s, a; w) - y)^2 / 2 + sum over weights of
 *            (w - c)^2 / (2 p^2),
 *     w <- w - eps G grad U + sqrt(2 eps G) xi,
 *     G = 1 / (sum of weight (dQ/dw)^2 + 1 / p^2)     on the diagonal,
 * where y is the mean over the n visits of the pair of r + gamma max_a' Q(s', a'; w-), w- lies one
 * update back, and weight = n / (sigma^2 + the measured noise^2 of the targets), see pairs.h.
 * Isotropic noise moves the weights of rarely visited states hardly at all, since its step is
 * limited by the most visited ones; G gives every weight the pace of its own curvature.
 *
 * Every action has a network of its own. With one network for all, the actions of a state share the
 * weights of its row: the data of a tried action slow them down and freeze the untried one, which
 * then is never tried if its draw happened to be low.
 *
 * Steps: the weights that leave an input share one error, and a diagonal G would let each of them
 * make up for all of it, hence eps = agent.step / width in the first layer; in those above, which
 * all states share, agent.upper_step times that.
 *
 * The prior: p = 1 in the first layer, sqrt(2 / inputs) above, agent.prior_bias for biases; in the
 * last layer both times agent.prior_output, about the standard deviation of Q at an unknown state.
 * c = 0, except for the bias of the output: there c takes away the mean over all inputs of the draw
 * of the prior from which the chain starts. Left in, that mean would be a belief about all unknown
 * states at once, and where it is low nothing is explored.
 *
 * Two rules make one setting fit short and long tasks:
 *   sigma  = (1 - gamma) prior_output (1 / horizon for gamma = 1). A state's maximum over actions
 *            turns noise of its targets into bias, and a value sums up the bias of 1 / (1 - gamma)
 *            backups: in all that is at most about one deviation of the prior, so that what is
 *            known cannot look better than what is not.
 *   J      = at least the horizon: an update carries values back by one step, hence news from the
 *            end of an episode reaches its beginning before the next.
 * In stochastic environments the measured noise takes over from sigma.
 *
 * Between episodes the chain makes J = agent.updates steps; acting is greedy in w. A state's row of
 * the first layer stays at its draw of the prior, which is its law, until the state is known.
 *
 * With agent.batch = B > 0 a step uses B of the known states to represent all of them, see
 * state_batch.h: the rows of the drawn states move, and what all states share. Targets of every
 * pair use the value that its next state had when it was last drawn. With a thermometer all states
 * share the first layer, too.
 *
 * Masks: the mask of a state is taken not to change; the last one seen counts in the targets.
 *
 * The data are kept as distinct transitions with counts (transition_counts.h), hence it needs
 * sparse observations: one-hot or thermometer. */
#include "agent/agent.h"
#include "agent/deep/gauss_newton.h"
#include "agent/deep/pairs.h"
#include "agent/deep/state_batch.h"
#include "base/error.h"
#include "base/param.h"
#include "math/kernels.h"
#include "replay/replay.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
  CHUNK = 256, /* samples in a pass */
  LEAST_UPDATES = 60
};

typedef struct params {
  lgv_ints hidden;
  double gamma, sigma, step, upper_step, prior_output, prior_bias, curvature_decay;
  int64_t updates, capacity, batch;
} params;

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_INTS_ROW(params, hidden, "hidden", "32", 1, 1e6, "widths of the hidden layers"),
    LGV_REAL_ROW(params, gamma, "gamma", "0.99", 0, 1, 0, "discount"),
    LGV_REAL_ROW(params, sigma, "sigma", "0", 0, 1e6, 0, "standard deviation of a target's error; 0: (1 - gamma) prior_output, or prior_output / horizon if gamma is 1"),
    LGV_REAL_ROW(params, step, "step", "0.5", 0, 1, LGV_OPEN_MIN, "share of an error that one update corrects"),
    LGV_REAL_ROW(params, upper_step, "upper_step", "0.01", 0, 1, 0, "step of the layers above the first, in units of its step"),
    LGV_REAL_ROW(params, prior_output, "prior_output", "0", 0, 1e6, 0, "prior deviation of the output; 0: the greatest size of the environment's rewards"),
    LGV_REAL_ROW(params, prior_bias, "prior_bias", "0.1", 0, 1e6, LGV_OPEN_MIN, "prior deviation of biases"),
    LGV_INT_ROW(params, updates, "updates", "0", 0, 1e9, "J: chain steps between episodes; 0: 60, or the horizon if that is longer"),
    LGV_INT_ROW(params, capacity, "capacity", "100000", 1, 1e9, "the most distinct transitions"),
    LGV_INT_ROW(params, batch, "batch", "0", 0, 1e9, "known states that a chain step uses; 0: all"),
    LGV_REAL_ROW(params, curvature_decay, "curvature_decay", "0.99", 0, 1, LGV_OPEN_MAX, "decay of the running mean of the curvature of shared parameters, if a step does not use all states"),
    {0}};
/* clang-format on */

enum { COUNT_STEPS, COUNT_UPDATES, COUNTERS };
enum {
  STAT_LOSS,
  STAT_Q_MEAN,
  STAT_Q_MAX,
  STAT_WEIGHT_NORM,
  STAT_UPDATES,
  STAT_DISTINCT,
  STAT_NOISE,
  STATS
};

typedef struct self {
  const params *p;
  lgv_env_spec env;
  net net; /* of one action */
  lgv_rng *init, *act, *eval, *draw, *seed_noise;
  lgv_noise *noise;
  pairs data;
  state_batch batch;
  gauss_newton gn;
  net_tape tape, act_tape;
  int64_t *count;          /* (COUNTERS) */
  double *stat;            /* (STATS) */
  float *w;                /* (actions x net.params) */
  float *center;           /* (actions): c of the output's bias */
  float *best;             /* (states): max_a Q(s, a; w-); w-: when the state was last drawn */
  float *grad, *curvature; /* (net.params); 0 outside of `follow` */
  float *q;                /* (states): of one action, the drawn ones */
  int32_t *index;          /* (CHUNK) */
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
                     .outputs = 1,
                     .input_scale = 1};
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  const lgv_env_spec *env = &problem->env;
  if (env->obs_form == LGV_FORM_DENSE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "gn-lmcdqn needs an environment with one-hot or thermometer observations; take "
                    "another deep agent for this one");
  if (p->prior_output == 0) p->prior_output = fmax(fabs(env->reward_min), fabs(env->reward_max));
  if (p->prior_output == 0 || !isfinite(p->prior_output)) p->prior_output = 1;
  if (p->sigma == 0 && p->gamma == 1 && env->horizon == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.sigma has no default for agent.gamma = 1 without a horizon: set it");
  if (p->sigma == 0)
    p->sigma = p->prior_output * (p->gamma < 1 ? 1 - p->gamma : 1 / (double)env->horizon);
  if (p->updates == 0) p->updates = env->horizon > LEAST_UPDATES ? env->horizon : LEAST_UPDATES;
  net built;
  net_shape shape = shape_of(p, env);
  return lgv__net_build(&built, &shape, err);
}

/* Where the parameters begin that more than one state has. */
static int64_t first_shared(const self *s) {
  return s->env.obs_form == LGV_FORM_THERMOMETER ? 0 : s->net.layer[0].biases;
}

static const char *counter_fault(const void *self_) {
  bool ok = lgv__are_counts(((const self *)self_)->count, COUNTERS);
  return ok ? NULL : "counter out of range";
}

/* Of the states, their data, and the order in which a step draws them. */
static const char *data_fault(const void *self_) {
  const self *s = self_;
  const char *fault = lgv__pairs_fault(&s->data, &s->env);
  for (int64_t i = 0; !fault && i < s->data.states[0]; i++)
    if (!lgv__is_within(s->batch.order[i], 0, s->data.states[0] - 1))
      fault = "batch.order: an unknown state";
  return fault;
}

static void layout(void *self_, const void *p, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = p;
  s->env = problem->env;
  s->init = problem->init;
  s->act = problem->act;
  s->eval = problem->eval;
  s->draw = problem->replay;
  s->seed_noise = problem->noise;
  net_shape shape = shape_of(p, &problem->env);
  lgv_status built = lgv__net_build(&s->net, &shape, NULL); /* resolve checked it */
  assert(built == LGV_OK);
  (void)built;
  size_t n = (size_t)s->net.params, actions = (size_t)s->env.actions.count;
  s->count = lgv_layout_array(out, "counters", LGV_I64, COUNTERS, LGV_KEEP);
  lgv_layout_check(out, counter_fault, s);
  s->stat = lgv_layout_array(out, "stats", LGV_F64, STATS, LGV_KEEP);
  s->noise = lgv_layout_array(out, "noise", LGV_U8, sizeof(lgv_noise), LGV_KEEP);
  s->w = lgv_layout_array(out, "w", LGV_F32, actions * n, LGV_KEEP);
  s->center = lgv_layout_array(out, "centre", LGV_F32, actions, LGV_KEEP);
  lgv__pairs_layout(&s->data, (int32_t)s->net.layer[0].inputs, s->env.actions.count, s->p->capacity,
                    out);
  size_t states = (size_t)s->data.capacity;
  s->batch = (state_batch){.size = s->p->batch,
                           .decay = s->p->curvature_decay,
                           .shared = s->net.params - first_shared(s)};
  lgv__state_batch_layout(&s->batch, s->data.capacity, s->env.actions.count, out);
  if (s->env.masked) lgv__pairs_layout_masks(&s->data, out);
  s->best = lgv_layout_array(out, "best", LGV_F32, states, LGV_KEEP);
  lgv_layout_check(out, data_fault, s);
  s->grad = lgv_layout_array(out, "grad", LGV_F32, n, LGV_SCRATCH);
  s->curvature = lgv_layout_array(out, "curvature", LGV_F32, n, LGV_SCRATCH);
  s->q = lgv_layout_array(out, "q", LGV_F32, states, LGV_SCRATCH);
  s->index = lgv_layout_array(out, "index", LGV_I32, CHUNK, LGV_SCRATCH);
  s->slope = lgv_layout_array(out, "slope", LGV_F32, CHUNK, LGV_SCRATCH);
  s->weight = lgv_layout_array(out, "weight", LGV_F32, CHUNK, LGV_SCRATCH);
  s->values = lgv_layout_array(out, "values", LGV_F64, actions, LGV_SCRATCH);
  lgv__gauss_newton_layout(&s->gn, &s->net, CHUNK, out);
  lgv__net_tape_layout(&s->tape, &s->net, "tape", CHUNK, false, out);
  lgv__net_tape_layout(&s->act_tape, &s->net, "act_tape", 1, false, out);
}

static float *weights_of(const self *s, int32_t action) { return s->w + action * s->net.params; }

static double output_scale(const self *s, int32_t layer) {
  return layer == s->net.n_layers - 1 ? s->p->prior_output : 1;
}

/* Of a layer's weights. */
static double prior_deviation(const self *s, int32_t layer) {
  double p = layer == 0 ? 1 : sqrt(2 / (double)s->net.layer[layer].inputs);
  return p * output_scale(s, layer);
}

static double bias_deviation(const self *s, int32_t layer) {
  return s->p->prior_bias * output_scale(s, layer);
}

/* Takes the mean over all inputs out of an action's values. A network without hidden layers is a
 * table, whose entries have nothing in common. */
static void center_values(self *s, int32_t action) {
  if (s->net.n_layers == 1) return;
  int32_t length = (int32_t)s->net.layer[0].inputs;
  bool thermometer = s->env.obs_form == LGV_FORM_THERMOMETER;
  double sum = 0;
  for (int32_t i = 0; i < length; i++) {
    int32_t index = thermometer ? i + 1 : i;
    sum += (double)lgv__net_forward(&s->net, weights_of(s, action), (net_input){.index = &index}, 1,
                                    &s->act_tape)[0];
  }
  float *bias = weights_of(s, action) + s->net.layer[s->net.n_layers - 1].biases;
  *bias -= (float)(sum / length);
  s->center[action] = -(float)(sum / length);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  for (int32_t a = 0; a < s->env.actions.count; a++) {
    for (int32_t l = 0; l < s->net.n_layers; l++) {
      const net_layer *layer = &s->net.layer[l];
      for (int64_t i = 0; i < layer->n_weights + layer->n_biases; i++) {
        double p = i < layer->n_weights ? prior_deviation(s, l) : bias_deviation(s, l);
        weights_of(s, a)[layer->weights + i] = (float)(p * lgv_rng_normal(s->init));
      }
    }
    center_values(s, a);
  }
  lgv__noise_seed(s->noise, s->seed_noise);
  return LGV_OK;
}

/* ---- the chain ---- */

/* Gradient and curvature of the data's part of U for one action, and its values at the drawn
 * states. */
static void differentiate(self *s, int32_t action) {
  const pairs *d = &s->data;
  const float *w = weights_of(s, action);
  int64_t drawn = s->batch.drawn, rows;
  for (int64_t at = 0; at < drawn; at += rows) {
    const int32_t *state = s->batch.order + at;
    rows = drawn - at < CHUNK ? drawn - at : CHUNK;
    for (int64_t i = 0; i < rows; i++) s->index[i] = d->index[state[i]];
    const float *q = lgv__net_forward(&s->net, w, (net_input){.index = s->index}, rows, &s->tape);
    memcpy(s->q + at, q, (size_t)rows * sizeof *q);
    const double *target = d->target + action * d->capacity;
    const float *weight = d->weight + action * d->capacity;
    for (int64_t i = 0; i < rows; i++) {
      s->weight[i] = weight[state[i]];
      s->slope[i] = s->weight[i] * (q[i] - (float)target[state[i]]);
    }
    lgv__gauss_newton_add(&s->gn, w, &s->tape, s->index, s->slope, s->weight, rows, s->grad,
                          s->curvature);
  }
  int64_t shared = first_shared(s);
  lgv__state_batch_rescale(&s->batch, action, s->grad + shared, s->curvature + shared);
}

/* The greatest value of every drawn state, as one action after the other is added, and sums for
 * stats. */
static void note_values(self *s, int32_t action) {
  const pairs *d = &s->data;
  double transitions = (double)d->data.size[1] / lgv__state_batch_scale(&s->batch);
  for (int64_t i = 0; i < s->batch.drawn; i++) {
    int32_t k = s->batch.order[i];
    if (action == 0) s->best[k] = -INFINITY;
    if (lgv__pairs_allows(d, k, action)) s->best[k] = fmaxf(s->best[k], s->q[i]);
    int64_t at = action * d->capacity + k;
    if (d->count[at] == 0) continue;
    double error = (double)s->q[i] - d->target[at];
    s->stat[STAT_LOSS] += d->count[at] * error * error / transitions;
    s->stat[STAT_Q_MEAN] += d->count[at] * (double)s->q[i] / transitions;
    s->stat[STAT_Q_MAX] = fmax(s->stat[STAT_Q_MAX], (double)s->q[i]);
  }
}

/* w -= eps G grad U, plus noise of variance 2 eps G, for `count` parameters of one prior; clears
 * their gradient and curvature. */
static void move(self *s, float *w, int64_t begin, int64_t count, double prior, float center,
                 double step) {
  const lgv_kernel_set *kernels = lgv__kernels();
  float xi[LGV_NOISE_BLOCK], ridge = (float)(1 / (prior * prior)), eps = (float)step;
  for (int64_t at = begin; at < begin + count; at += LGV_NOISE_BLOCK) {
    int64_t left = begin + count - at, n = left < LGV_NOISE_BLOCK ? left : LGV_NOISE_BLOCK;
    float *restrict to = w + at, *restrict grad = s->grad + at;
    float *restrict curvature = s->curvature + at;
    kernels->normals(s->noise, xi, (size_t)(n + 31) / 32 * 32);
    for (int64_t i = 0; i < n; i++) {
      float pace = eps / (curvature[i] + ridge);
      to[i] += sqrtf(2 * pace) * xi[i] - pace * (grad[i] + ridge * (to[i] - center));
    }
    memset(grad, 0, (size_t)n * sizeof *grad);
    memset(curvature, 0, (size_t)n * sizeof *curvature);
  }
}

/* Only the rows of drawn states, if every state has its own. */
static void move_first_weights(self *s, float *w, double step) {
  const net_layer *layer = &s->net.layer[0];
  double prior = prior_deviation(s, 0);
  if (s->env.obs_form == LGV_FORM_THERMOMETER) {
    move(s, w, layer->weights, layer->n_weights, prior, 0, step);
    return;
  }
  for (int64_t i = 0; i < s->batch.drawn; i++) {
    int32_t index = s->data.index[s->batch.order[i]];
    if (index >= 0)
      move(s, w, layer->weights + index * layer->outputs, layer->outputs, prior, 0,
           step * lgv__state_batch_scale(&s->batch));
  }
}

/* One step of an action's chain down the gradient that differentiate has left. */
static void follow(self *s, int32_t action) {
  int32_t top = s->net.n_layers - 1;
  float *w = weights_of(s, action);
  /* with a thermometer all inputs that are on share an error, too */
  double sharers = (double)s->net.layer[0].outputs *
                   (s->env.obs_form == LGV_FORM_THERMOMETER ? (double)s->net.layer[0].inputs : 1);
  double first = lgv__state_batch_step(&s->batch, s->p->step) / sharers,
         above = first * s->p->upper_step;
  move_first_weights(s, w, first);
  for (int32_t l = 0; l <= top; l++) {
    const net_layer *layer = &s->net.layer[l];
    if (l > 0) move(s, w, layer->weights, layer->n_weights, prior_deviation(s, l), 0, above);
    move(s, w, layer->biases, layer->n_biases, bias_deviation(s, l),
         l == top ? s->center[action] : 0, above);
  }
}

static void advance(self *s) {
  s->stat[STAT_LOSS] = s->stat[STAT_Q_MEAN] = 0;
  s->stat[STAT_Q_MAX] = -INFINITY;
  s->stat[STAT_NOISE] = sqrt(lgv__pairs_set_targets(&s->data, s->best, s->p->gamma, s->p->sigma));
  lgv__state_batch_draw(&s->batch, s->data.states[0], s->draw);
  for (int32_t a = 0; a < s->env.actions.count; a++) {
    differentiate(s, a);
    note_values(s, a);
    follow(s, a);
  }
  s->stat[STAT_UPDATES] = (double)++s->count[COUNT_UPDATES];
}

/* A number that is not finite spreads to the end of an episode: it is enough to look there. */
static lgv_status check(self *s, lgv_error *err) {
  double norm = 0;
  for (int64_t i = 0; i < s->env.actions.count * s->net.params; i++)
    norm += (double)s->w[i] * (double)s->w[i];
  s->stat[STAT_WEIGHT_NORM] = sqrt(norm);
  if (isfinite(norm) && isfinite(s->stat[STAT_LOSS])) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "a parameter or the loss is not a finite number in update %lld: lower "
                  "agent.step, or scale the rewards",
                  (long long)s->count[COUNT_UPDATES]);
}

/* ---- hooks ---- */

/* Values of all actions; returns the greatest of those that mask (NULL: all) allows. */
static double evaluate(self *s, int32_t index, const uint8_t *mask) {
  double most = -INFINITY;
  for (int32_t a = 0; a < s->env.actions.count; a++) {
    s->values[a] = (double)lgv__net_forward(&s->net, weights_of(s, a), (net_input){.index = &index},
                                            1, &s->act_tape)[0];
    if (!mask || mask[a]) most = fmax(most, s->values[a]);
  }
  return most;
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  int32_t index;
  lgv__replay_encode(&s->env, obs, &index);
  evaluate(s, index, obs->mask);
  lgv_rng *stream = mode == LGV_TRAIN ? s->act : s->eval;
  action->choice = lgv__argmax(s->values, obs->mask, s->env.actions.count, stream);
  return LGV_OK;
}

static lgv_status q_values(void *self_, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)err;
  self *s = self_;
  int32_t index;
  lgv__replay_encode(&s->env, obs, &index);
  evaluate(s, index, NULL);
  memcpy(q, s->values, (size_t)s->env.actions.count * sizeof *q);
  return LGV_OK;
}

/* Makes a state known, with a value for the targets that lead to it, and keeps its mask. ended: the
 * task ended there, so that the mask says nothing. */
static void meet(self *s, int32_t index, const uint8_t *mask, bool ended) {
  int64_t known = s->data.states[0], state = lgv__pairs_state(&s->data, index);
  if (ended) mask = NULL;
  if (!ended || state == known) lgv__pairs_keep_mask(&s->data, state, mask);
  if (state != known) return;
  lgv__state_batch_meet(&s->batch, state);
  s->best[state] = (float)evaluate(s, index, mask);
}

static lgv_status observe(void *self_, const lgv_transition *t, lgv_error *err) {
  self *s = self_;
  int32_t obs, next;
  lgv__replay_encode(&s->env, &t->obs, &obs);
  lgv__replay_encode(&s->env, &t->next, &next);
  s->count[COUNT_STEPS]++;
  meet(s, obs, t->obs.mask, false);
  meet(s, next, t->next.mask, t->terminated);
  if (!lgv__pairs_add(&s->data, obs, t->action->choice, t->reward, next, t->terminated))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "more than agent.capacity = %lld distinct transitions: raise it",
                    (long long)s->p->capacity);
  s->stat[STAT_DISTINCT] = (double)s->data.data.size[0];
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  for (int64_t j = 0; j < s->p->updates; j++) advance(s);
  return check(s, err);
}

/* Merged transitions know no order: which environment one came from makes no difference. */
static void set_stream(void *self_, int32_t stream) { (void)self_, (void)stream; }

static const char *const stat_names[] = {
    "loss", "q_mean", "q_max", "weight_norm", "updates", "distinct_transitions", "noise", NULL};

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
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = stats,
    .set_stream = set_stream,
    .q_values = q_values,
};
/* Observations are indices: an export needs the values alone, no network. */
const lgv_builtin lgv__builtin_gn_lmcdqn = {0};
