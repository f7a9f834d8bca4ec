/* Noisy-Net DQN. Fortunato et al., "Noisy networks for exploration" (ICLR 2018), factorized noise.
 *
 * Every dense layer (after the convolutions, or all of an MLP's) has weights mu + sigma * noise,
 *     noise_ij = f(e_i) f(e'_j),  noise of bias j = f(e'_j),  f(x) = sign(x) sqrt|x|,
 * mu ~ U(+-1/sqrt(fan_in)), sigma = sigma0 / sqrt(fan_in). The network itself is the plain one over
 * effective parameters mu + sigma * noise: for the gradient G at these, d mu = G and d sigma = G *
 * noise. The parameter vector is (mu, sigma); sigma of convolutions, and of the gains and shifts of
 * normalized layers, is 0 and stays out of play.
 *
 * Noise is drawn as in the code published with Ishfaq et al. (ICLR 2024): before every environment
 * step, evaluations included; in an update, the targets use the noise that is loaded (online: of
 * the last action; target: of the last update; none before the first), then both networks get new
 * noise, the online one for the loss; a copy to the target network, which comes after that, takes
 * the online noise along. There is no epsilon. */
#include "agent/deep/dqn_core.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

typedef struct params {
  dqn_params dqn;
  double sigma0;
} params;

static const lgv_preset presets[] = {{"small", "agent.update_every=4 optim.lr=1e-3"},
                                     {"atari", DQN_ATARI_LOOP "optim.lr=1e-4", LGV_LARGE_PICTURE},
                                     {0}};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW,
    DQN_PARAM_ROWS,
    DQN_LOSS_ROW,
    DQN_PRIORITY_ROWS,
    LGV_REAL_ROW(params, sigma0, "sigma0", "0.5", 0, 100, 0, "initial sigma, times sqrt(fan_in)"),
    {0}};
/* clang-format on */

/* A draw of the noise and the parameters it makes. */
typedef struct noisy {
  float *factor; /* (factors): f(e) of the inputs, then of the outputs, of every dense layer */
  float *w;      /* (net.params): mu + sigma * noise */
} noisy;

typedef struct self {
  dqn core;
  const params *p;
  lgv_rng *noise;
  int64_t factors;
  noisy online, target, eval;
  double *draws; /* (factors) */
} self;

/* ---- memory ---- */

static lgv_status resolve(void *p, const bool *is_set, const lgv_problem *problem, lgv_error *err) {
  (void)is_set;
  return lgv__dqn_resolve(p, problem, (dqn_sizes){0}, err);
}

static void layout_noisy(const self *s, noisy *n, const char *factor, const char *w, lgv_keep keep,
                         lgv_layout *out) {
  n->factor = lgv_layout_array(out, factor, LGV_F32, (size_t)s->factors, keep);
  n->w = lgv_layout_array(out, w, LGV_F32, (size_t)s->core.net.params, keep);
}

static void layout(void *self_, const void *p, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = p;
  s->noise = problem->noise;
  lgv__dqn_layout(&s->core, &s->p->dqn, problem, (dqn_sizes){.vectors = 2}, out);
  const net *n = &s->core.net;
  s->factors = 0;
  for (int32_t l = 0; l < n->n_layers; l++)
    if (n->layer[l].kernel == 0) s->factors += n->layer[l].inputs + n->layer[l].outputs;
  layout_noisy(s, &s->online, "online.factor", "online.w", LGV_KEEP, out);
  layout_noisy(s, &s->target, "target.factor", "target.w", LGV_KEEP, out);
  layout_noisy(s, &s->eval, "eval.factor", "eval.w", LGV_SCRATCH, out);
  s->draws = lgv_layout_array(out, "draws", LGV_F64, (size_t)s->factors, LGV_SCRATCH);
}

/* ---- noise ---- */

static void resample(self *s, noisy *n, lgv_rng *stream) {
  lgv_rng_normals(stream, s->draws, (size_t)s->factors);
  for (int64_t i = 0; i < s->factors; i++)
    n->factor[i] = (float)copysign(sqrt(fabs(s->draws[i])), s->draws[i]);
}

/* out = base + scale * noise over one dense layer; the biases are a row after the weights, with
 * input factor 1. */
static void add_layer_noise(const net_layer *layer, const float *factor, const float *base,
                            const float *scale, float *out) {
  const float *in = factor, *to = factor + layer->inputs;
  for (int64_t i = 0; i <= layer->inputs; i++) {
    float f = i < layer->inputs ? in[i] : 1;
    int64_t at = layer->weights + i * layer->outputs;
    for (int64_t j = 0; j < layer->outputs; j++)
      out[at + j] = base[at + j] + scale[at + j] * (f * to[j]);
  }
}

/* The same over all dense layers; of convolutions, gains and shifts, out = base. */
static void add_noise(const self *s, const noisy *n, const float *base, const float *scale,
                      float *out) {
  const net *shape = &s->core.net;
  const float *factor = n->factor;
  for (int32_t l = 0; l < shape->n_layers; l++) {
    const net_layer *layer = &shape->layer[l];
    int64_t plain = layer->weights, end = layer->weights + layer->n_params;
    if (layer->kernel == 0) {
      add_layer_noise(layer, factor, base, scale, out);
      factor += layer->inputs + layer->outputs;
      plain = layer->gains;
    }
    memmove(out + plain, base + plain, (size_t)(end - plain) * sizeof *out); /* may be equal */
  }
}

static void compose(self *s, noisy *n, const float *mu_sigma) {
  add_noise(s, n, mu_sigma, mu_sigma + s->core.net.params, n->w);
  lgv__dqn_changed(&s->core, n->w);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  dqn *c = &s->core;
  const net *n = &c->net;
  LGV_TRY(lgv__dqn_open(c, err));
  for (int32_t l = 0; l < n->n_layers; l++) {
    const net_layer *layer = &n->layer[l];
    float sigma = (float)(s->p->sigma0 / sqrt((double)layer->inputs));
    for (int64_t i = 0; layer->kernel == 0 && i < layer->n_weights + layer->n_biases; i++)
      c->w[n->params + layer->weights + i] = sigma;
  }
  memcpy(c->w_target, c->w, (size_t)c->dim * sizeof *c->w);
  compose(s, &s->target, c->w_target); /* all factors are 0 yet */
  return LGV_OK;
}

/* ---- hooks ---- */

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  dqn *c = &s->core;
  noisy *n = mode == LGV_TRAIN ? &s->online : &s->eval;
  resample(s, n, mode == LGV_TRAIN ? s->noise : c->eval);
  compose(s, n, c->w);
  lgv__dqn_greedy(c, lgv__dqn_values(c, n->w, obs), obs, mode, action);
  return LGV_OK;
}

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_sample(c);
  compose(s, &s->online, c->w);
  lgv__dqn_forward_next(c, s->online.w, s->target.w);
  lgv__dqn_targets(c);
  resample(s, &s->online, s->noise);
  resample(s, &s->target, s->noise);
  if (lgv__dqn_refresh_target(c, 0))
    memcpy(s->target.factor, s->online.factor, (size_t)s->factors * sizeof(float));
  compose(s, &s->online, c->w);
  compose(s, &s->target, c->w_target);
  lgv__dqn_forward_obs(c, s->online.w);
  lgv__dqn_loss(c);
  lgv__dqn_backward(c, s->online.w, c->grad);
  memset(c->grad + c->net.params, 0, (size_t)c->net.params * sizeof *c->grad);
  add_noise(s, &s->online, c->grad + c->net.params, c->grad, c->grad + c->net.params);
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

static const char *const stat_names[] = {DQN_STAT_NAMES, NULL};

const lgv_agent_type lgv__agent_noisynet_dqn = {
    .name = "noisynet-dqn",
    .summary = "DQN whose dense layers have learned noise",
    .traits = LGV_TAKES_MULTI_DISCRETE,
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
    .stats = lgv__dqn_stats,
    .set_stream = lgv__dqn_set_stream,
    .q_values = lgv__dqn_q_values, /* without noise: mu comes first among the parameters */
};
const lgv_builtin lgv__builtin_noisynet_dqn = {"adam", lgv__dqn_policy_parts};
