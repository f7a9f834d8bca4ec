/* Bootstrapped DQN. Osband et al., "Deep exploration via bootstrapped DQN" (NeurIPS 2016), with the
 * randomized prior functions of Osband, Aslanides, Cassirer (NeurIPS 2018).
 *
 * K members Q_k = f_k + prior_scale p_k, where p_k is a network that is drawn once and never
 * trained. One member, drawn when an episode begins, acts in it. Every update trains all members on
 * one minibatch: member k has its own target
 *     y_k = r + gamma Q_k(s', a*; w-),   a* = argmax_a of Q_k(s', a; w-), or of Q_k(s', a; w),
 * prior included, and the loss is the sum over k of the mean of mask_k (y_k - Q_k(s, a))^2; mask_k
 * is drawn for each transition and member when the transition is stored.
 *
 * agent.members = heads: one network with K heads and one prior network of the same shape; the
 * gradient below the heads is divided by K. networks: K separate networks and priors (the ensemble
 * of bsuite, Osband et al., 2020). Head k of network i is member i * heads + k.
 *
 * Evaluation: agent.eval = sample draws a member for each episode; vote takes the action that most
 * members prefer. With K = 1 and prior_scale = 0 this is DQN, draw for draw. */
#include "agent/agent.h"
#include "agent/deep/dither.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

enum { HEADS, NETWORKS };
enum { SAMPLE, VOTE };
enum { MOST_MEMBERS = 64 }; /* bits of a mask */

typedef struct params {
  dithered_params base;
  int64_t heads;
  int32_t members, eval;
  double prior_scale, mask;
} params;

static const char *const members_names[] = {"heads", "networks", NULL};
static const char *const eval_names[] = {"sample", "vote", NULL};

static const lgv_param param_table[] = {
    DQN_PARAM_ROWS,
    DITHER_PARAM_ROWS,
    {.name = "heads",
     .type = LGV_INT,
     .offset = offsetof(params, heads),
     .fallback = "10",
     .min = 1,
     .max = MOST_MEMBERS,
     .help = "K: members of the ensemble"},
    {.name = "members",
     .type = LGV_CHOICE,
     .offset = offsetof(params, members),
     .fallback = "heads",
     .choices = members_names,
     .help = "heads of one network, or separate networks"},
    {.name = "prior_scale",
     .type = LGV_REAL,
     .offset = offsetof(params, prior_scale),
     .fallback = "1",
     .min = 0,
     .max = 1e6,
     .help = "weight of each member's fixed random prior network"},
    {.name = "mask",
     .type = LGV_REAL,
     .offset = offsetof(params, mask),
     .fallback = "1",
     .min = 0,
     .max = 1,
     .open = LGV_OPEN_MIN,
     .help = "probability that a member learns from a transition"},
    {.name = "eval",
     .type = LGV_CHOICE,
     .offset = offsetof(params, eval),
     .fallback = "sample",
     .choices = eval_names,
     .help = "evaluations: one member an episode, or the vote of all"},
    {0}};

static const lgv_preset presets[] = {
    {"small", "agent.members=networks agent.prior_scale=3 agent.eval=vote agent.epsilon_start=0 "
              "agent.epsilon_end=0 agent.update_every=1 agent.target_every=4 optim.lr=1e-3"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 agent.epsilon_end=0.05 agent.epsilon_steps=1000000 "
              "optim.lr=1e-4"},
    {0}};

typedef struct self {
  dqn core;
  const params *p;
  int64_t *member;              /* [0] acts in this episode, [1] in this evaluation */
  float *prior;                 /* (copies x net.params); NULL if prior_scale is 0 */
  uint64_t *mask;               /* (replay): bit k: member k learns from it; NULL if all do */
  net_tape prior_tape;          /* two minibatches */
  float *q, *q_next, *q_target; /* (batch x outputs): prior included */
  float *weight;                /* (batch): the masks of one member */
  float *act_q;                 /* (outputs) */
} self;

/* ---- memory ---- */

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  return dqn_resolve(&p->base.dqn, problem, p->members == HEADS ? (int32_t)p->heads : 1, err);
}

static void layout(void *self_, const void *p, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  dqn *c = &s->core;
  s->p = p;
  bool separate = s->p->members == NETWORKS;
  dqn_form form = {.copies = separate ? s->p->heads : 1,
                   .heads = separate ? 1 : (int32_t)s->p->heads};
  dqn_layout(c, &s->p->base.dqn, problem, form, out);
  size_t outputs = (size_t)c->outputs, B = (size_t)c->p->batch;
  s->member = lgv_layout_array(out, "member", LGV_I64, 2, LGV_KEEP);
  s->prior = NULL;
  if (s->p->prior_scale > 0) {
    s->prior = lgv_layout_array(out, "prior", LGV_F32, (size_t)(form.copies * c->dim), LGV_KEEP);
    net_tape_layout(&s->prior_tape, &c->net, "prior_tape", 2 * c->p->batch, false, out);
  }
  s->mask = s->p->mask < 1 ? lgv_layout_array(out, "mask", LGV_U64, (size_t)c->p->replay, LGV_KEEP)
                           : NULL;
  s->q = lgv_layout_array(out, "q", LGV_F32, B * outputs, LGV_SCRATCH);
  s->q_next = lgv_layout_array(out, "q_next", LGV_F32, B * outputs, LGV_SCRATCH);
  s->q_target = lgv_layout_array(out, "q_target", LGV_F32, B * outputs, LGV_SCRATCH);
  s->weight = lgv_layout_array(out, "weight", LGV_F32, B, LGV_SCRATCH);
  s->act_q = lgv_layout_array(out, "act_q", LGV_F32, outputs, LGV_SCRATCH);
}

static bool has_prior(const self *s) { return s->p->prior_scale > 0; }

/* As a network begins, but where a one-hot input has one of many weights at work, they are as large
 * as those of one input: a prior must tell the states apart, however many there are. */
static void draw_prior(const dqn *c, float *prior) {
  const net_layer *first = &c->net.layer[0];
  float scale = c->env.obs_form == LGV_FORM_ONE_HOT ? sqrtf((float)first->inputs) : 1;
  net_init(&c->net, prior, c->init);
  for (int64_t i = 0; i < first->n_weights; i++) prior[first->weights + i] *= scale;
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  dqn *c = &s->core;
  LGV_TRY(dqn_open(self_, err));
  for (int64_t k = 0; has_prior(s) && k < c->form.copies; k++) draw_prior(c, s->prior + k * c->dim);
  return LGV_OK;
}

/* ---- acting ---- */

static int64_t draw_member(const self *s, lgv_rng *stream) {
  return s->p->heads > 1 ? lgv_rng_below(stream, s->p->heads) : 0;
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  s->member[0] = draw_member(s, s->core.act);
  return LGV_OK;
}

/* out = f + prior_scale p for `count` numbers. */
static void add_prior(const self *s, const float *f, const float *p, int64_t count, float *out) {
  float scale = (float)s->p->prior_scale;
  for (int64_t i = 0; i < count; i++) out[i] = f[i] + (p ? scale * p[i] : 0);
}

/* Q of one copy's heads for one observation. */
static const float *copy_values(self *s, int64_t copy, const lgv_obs *obs) {
  dqn *c = &s->core;
  add_prior(s, dqn_values(c, c->w + copy * c->dim, obs), NULL, c->outputs, s->act_q);
  if (has_prior(s))
    add_prior(s, s->act_q, dqn_values(c, s->prior + copy * c->dim, obs), c->outputs, s->act_q);
  return s->act_q;
}

static int32_t vote(self *s, const lgv_obs *obs) {
  dqn *c = &s->core;
  int32_t ballot[MOST_MEMBERS];
  for (int64_t copy = 0, k = 0; copy < c->form.copies; copy++) {
    const float *q = copy_values(s, copy, obs);
    for (int32_t head = 0; head < c->form.heads; head++)
      ballot[k++] = dqn_greedy(c, q + head * c->A, LGV_EVAL);
  }
  for (int32_t a = 0; a < c->A; a++) c->values[a] = 0;
  for (int64_t k = 0; k < s->p->heads; k++) c->values[ballot[k]]++;
  return lgv__argmax(c->values, c->A, c->eval);
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  dqn *c = &s->core;
  bool evaluates = mode == LGV_EVAL;
  if (evaluates && s->p->eval == VOTE) {
    *action = vote(s, obs);
    return LGV_OK;
  }
  if (evaluates && obs->stage == 0) s->member[1] = draw_member(s, c->eval);
  int64_t member = s->member[evaluates], copy = member / c->form.heads;
  const float *q = copy_values(s, copy, obs) + member % c->form.heads * c->A;
  *action = dither_act(&s->p->base.dither, c, q, mode);
  return LGV_OK;
}

/* ---- learning ---- */

/* q, q_next and q_target of one copy, priors included. */
static void forward(self *s, int64_t copy) {
  dqn *c = &s->core;
  int64_t count = c->p->batch * c->outputs;
  const float *p = NULL, *p_next = NULL;
  dqn_forward(c, c->w + copy * c->dim, c->w_target + copy * c->dim);
  if (has_prior(s)) {
    p = net_forward(&c->net, s->prior + copy * c->dim, replay_input(&c->env, c->batch.obs),
                    2 * c->p->batch, &s->prior_tape);
    p_next = p + count;
  }
  add_prior(s, c->q, p, count, s->q);
  add_prior(s, c->q_target, p_next, count, s->q_target);
  if (c->q_next) add_prior(s, c->q_next, p_next, count, s->q_next);
}

static const float *masks_of(self *s, int64_t member) {
  if (!s->mask) return NULL;
  for (int64_t i = 0; i < s->core.p->batch; i++)
    s->weight[i] = (float)(s->mask[s->core.batch.entry[i]] >> member & 1);
  return s->weight;
}

static void update_copy(self *s, int64_t copy) {
  dqn *c = &s->core;
  const float *chooser = c->p->double_q ? s->q_next : s->q_target;
  forward(s, copy);
  for (int32_t head = 0; head < c->form.heads; head++) {
    int64_t at = (int64_t)head * c->A;
    dqn_targets_from(c, chooser + at, s->q_target + at, c->outputs, c->y);
    dqn_loss_add(c, s->q + at, c->y, masks_of(s, copy * c->form.heads + head), c->d_q + at);
  }
  dqn_refresh_target(c, copy);
  dqn_backward(c, c->w + copy * c->dim, c->grad);
  dqn_step(c, copy);
}

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  double loss = 0;
  dqn_sample(c);
  for (int64_t copy = 0; copy < c->form.copies; copy++) {
    dqn_loss_clear(c);
    update_copy(s, copy);
    loss += c->loss;
  }
  c->loss = loss / (double)s->p->heads; /* the statistic is a member's mean */
  c->q = s->q;
  return dqn_end_update(c, err);
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  self *s = self_;
  int64_t entry = dqn_remember(&s->core, transition);
  if (s->mask) {
    uint64_t mask = 0;
    for (int64_t k = 0; k < s->p->heads; k++)
      mask |= (uint64_t)(lgv_rng_uniform(s->core.draw) < s->p->mask) << k;
    s->mask[entry] = mask;
  }
  for (int64_t j = dqn_updates_due(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  for (int64_t j = dqn_updates_due_between_episodes(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

static const char *const stat_names[] = {DITHER_STAT_NAMES, NULL};

static void stats(const void *self_, double *values) {
  const self *s = self_;
  dqn_stats(&s->core, values);
  values[DQN_STATS] = dither_epsilon(&s->p->base.dither, &s->core);
}

const lgv_agent_type lgv__agent_bootstrapped_dqn = {
    .name = "bootstrapped-dqn",
    .summary = "an ensemble of DQNs with random priors, one member an episode",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .presets = presets,
    .optimiser = "adam",
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
