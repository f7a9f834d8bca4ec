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
 * of bsuite, Osband et al., 2020). All members learn from the same minibatch; sparse_first.h makes
 * that cheap for networks over one-hot observations.
 *
 * Evaluation: agent.eval = sample draws a member for each episode; vote takes the action that most
 * members prefer. With K = 1 and prior_scale = 0 this is DQN, draw for draw. */
#include "agent/agent.h"
#include "agent/deep/epsilon_greedy.h"
#include "agent/deep/random_prior.h"
#include "agent/deep/sparse_first.h"
#include "agent/export.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/spec.h"

#include <string.h>

enum { HEADS, NETWORKS };
enum { SAMPLE, VOTE };
enum { MOST_MEMBERS = 64 }; /* bits of a mask */

typedef struct params {
  epsilon_greedy_params base;
  int64_t heads;
  int32_t members, eval;
  double prior_scale, mask;
} params;

static const lgv_preset presets[] = {
    {"small", "agent.members=networks agent.heads=20 agent.prior_scale=3 agent.eval=vote "
              "agent.epsilon_start=0 agent.epsilon_end=0 agent.batch=64 agent.update_every=1 "
              "agent.target_every=4 optim.lr=5e-4"},
    {"atari", DQN_ATARI_LOOP "agent.epsilon_end=0.05 agent.epsilon_steps=1000000 optim.lr=1e-4",
     LGV_LARGE_PICTURE},
    {0}};
static const char *const members_names[] = {"heads", "networks", NULL};
static const char *const eval_names[] = {"sample", "vote", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW,
    DQN_PARAM_ROWS,
    DQN_LOSS_ROW,
    EPSILON_PARAM_ROWS,
    LGV_INT_ROW(params, heads, "heads", "10", 1, MOST_MEMBERS, "K: members of the ensemble"),
    LGV_CHOICE_ROW(params, members, "members", "heads", members_names, "heads of one network, or separate networks"),
    LGV_REAL_ROW(params, prior_scale, "prior_scale", "1", 0, 1e6, 0, "weight of each member's fixed random prior network"),
    LGV_REAL_ROW(params, mask, "mask", "1", 0, 1, LGV_OPEN_MIN, "probability that a member learns from a transition"),
    LGV_CHOICE_ROW(params, eval, "eval", "sample", eval_names, "evaluations: one member per episode, or the vote of all"),
    {0}};
/* clang-format on */

typedef struct self {
  dqn core;
  const params *p;
  int64_t *member;    /* (streams + 1): acts in this episode of each; last, in this evaluation */
  random_prior prior; /* one for every copy */
  bool sparse;        /* first layers are in `first`, the core has the layers above */
  sparse_first first;
  uint64_t *mask;               /* (replay): bit k: member k learns from it; NULL if all do */
  float *q, *q_next, *q_target; /* (batch x outputs): prior included */
  float *weight, *act_q;        /* (batch): the masks of one member; (outputs) */
} self;

/* ---- memory ---- */

static dqn_sizes sizes_of(const params *p) {
  bool separate = p->members == NETWORKS;
  return (dqn_sizes){.copies = separate ? p->heads : 1, .heads = separate ? 1 : (int32_t)p->heads};
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  (void)is_set;
  params *p = params_;
  return lgv__dqn_resolve(&p->base.dqn, problem, sizes_of(p), err);
}

static const char *member_fault(const void *self_) {
  const self *s = self_;
  for (int64_t i = 0; i <= s->core.replay.streams; i++)
    if (!lgv__is_within(s->member[i], 0, s->p->heads - 1)) return "a member outside the ensemble";
  return NULL;
}

static void layout(void *self_, const void *p, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  dqn *c = &s->core;
  s->p = p;
  const dqn_params *base = &s->p->base.dqn;
  dqn_sizes sizes = sizes_of(s->p);
  s->sparse = s->p->members == NETWORKS && lgv__sparse_first_fits(base, problem);
  if (s->sparse)
    lgv__sparse_first_layout(&s->first, c, base, problem, sizes, out);
  else
    lgv__dqn_layout(c, base, problem, sizes, out);
  net_shape shape = lgv__dqn_shape(base, &problem->env, sizes.heads, 1);
  lgv__random_prior_layout(&s->prior, &shape, sizes.copies, base->batch, s->p->prior_scale, out);
  size_t values = (size_t)(base->batch * c->outputs);
  s->member = lgv_layout_array(out, "member", LGV_I64, (size_t)c->replay.streams + 1, LGV_KEEP);
  lgv_layout_check(out, member_fault, s);
  const replay *r = &c->replay;
  size_t rows = (size_t)(r->capacity / r->streams), width = (size_t)r->streams;
  s->mask = s->p->mask < 1 ? lgv__layout_rows(out, "mask", LGV_U64, rows, width, r->rows) : NULL;
  s->q = lgv_layout_array(out, "q", LGV_F32, values, LGV_SCRATCH);
  s->q_next = lgv_layout_array(out, "q_next", LGV_F32, values, LGV_SCRATCH);
  s->q_target = lgv_layout_array(out, "q_target", LGV_F32, values, LGV_SCRATCH);
  s->weight = lgv_layout_array(out, "weight", LGV_F32, (size_t)base->batch, LGV_SCRATCH);
  s->act_q = lgv_layout_array(out, "act_q", LGV_F32, (size_t)c->outputs, LGV_SCRATCH);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  if (!s->sparse) LGV_TRY(lgv__dqn_open(&s->core, err));
  if (s->sparse) lgv__sparse_first_open(&s->first);
  lgv__random_prior_open(&s->prior, s->core.init);
  return LGV_OK;
}

/* ---- acting ---- */

static int64_t draw_member(const self *s, lgv_rng *stream) {
  return s->p->heads > 1 ? lgv_rng_below(stream, s->p->heads) : 0;
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  s->member[s->core.stream] = draw_member(s, s->core.act);
  return LGV_OK;
}

static void add(const float *f, int64_t count, float *sum) {
  for (int64_t i = 0; i < count; i++) sum[i] += f[i];
}

/* Q of one copy's heads for one observation. */
static const float *copy_values(self *s, int64_t copy, const lgv_obs *obs) {
  dqn *c = &s->core;
  const float *f = s->sparse ? lgv__sparse_first_values(&s->first, copy, obs)
                             : lgv__dqn_values(c, c->w + copy * c->dim, obs);
  lgv__replay_encode(&c->env, obs, c->seen);
  lgv__random_prior_values(&s->prior, copy, lgv__dqn_input(c, c->seen), 1, s->act_q);
  add(f, c->outputs, s->act_q);
  return s->act_q;
}

/* Per part of the action. */
static void vote(self *s, const lgv_obs *obs, lgv_action *action) {
  dqn *c = &s->core;
  lgv_action ballot[MOST_MEMBERS];
  int64_t members = 0;
  for (int64_t copy = 0; copy < c->sizes.copies; copy++) {
    const float *q = copy_values(s, copy, obs);
    for (int32_t head = 0; head < c->sizes.heads; head++)
      lgv__dqn_greedy(c, q + head * c->A, obs, LGV_EVAL, &ballot[members++]);
  }
  for (int32_t p = 0; p < c->parts; p++) {
    int32_t count = lgv__part_choices(&c->env.actions, p);
    for (int32_t a = 0; a < count; a++) c->values[a] = 0;
    for (int64_t k = 0; k < members; k++) c->values[ballot[k].choices[p]]++;
    action->choices[p] = lgv__argmax(c->values, NULL, count, c->eval);
  }
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  (void)err;
  self *s = self_;
  dqn *c = &s->core;
  bool evaluates = mode == LGV_EVAL;
  if (evaluates && s->p->eval == VOTE) {
    vote(s, obs, action);
    return LGV_OK;
  }
  int64_t actor = evaluates ? c->replay.streams : c->stream;
  if (evaluates && obs->stage == 0) s->member[actor] = draw_member(s, c->eval);
  int64_t member = s->member[actor], copy = member / c->sizes.heads;
  const float *q = copy_values(s, copy, obs) + member % c->sizes.heads * c->A;
  epsilon_greedy_action(&s->p->base.epsilon, c, q, obs, mode, action);
  return LGV_OK;
}

/* The mean over the members. */
static lgv_status q_values(void *self_, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)err;
  self *s = self_;
  dqn *c = &s->core;
  memset(q, 0, (size_t)c->A * sizeof *q);
  for (int64_t copy = 0; copy < c->sizes.copies; copy++) {
    const float *values = copy_values(s, copy, obs);
    for (int32_t i = 0; i < c->outputs; i++) q[i % c->A] += (double)values[i] / (double)s->p->heads;
  }
  return LGV_OK;
}

/* ---- learning ---- */

/* q, q_next and q_target of one copy, priors included. */
static void forward(self *s, int64_t copy) {
  dqn *c = &s->core;
  int64_t B = c->p->batch, count = B * c->outputs;
  float *q_next = c->p->double_q ? s->q_next : NULL;
  lgv__random_prior_values(&s->prior, copy, lgv__dqn_input(c, c->batch.obs), B, s->q);
  lgv__random_prior_values(&s->prior, copy, lgv__dqn_input(c, c->batch.next), B, s->q_target);
  if (q_next) memcpy(q_next, s->q_target, (size_t)count * sizeof *q_next);
  if (s->sparse) {
    lgv__sparse_first_forward(&s->first, copy, s->q, q_next, s->q_target);
    return;
  }
  lgv__dqn_forward(c, c->w + copy * c->dim, c->w_target + copy * c->dim);
  add(c->q, count, s->q);
  add(c->q_target, count, s->q_target);
  if (q_next) add(c->q_next, count, q_next);
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
  for (int32_t head = 0; head < c->sizes.heads; head++) {
    int64_t at = (int64_t)head * c->A;
    lgv__dqn_targets_from(c, chooser + at, s->q_target + at, c->outputs, c->y);
    lgv__dqn_loss_add(c, s->q + at, c->y, masks_of(s, copy * c->sizes.heads + head), c->d_q + at);
  }
  lgv__dqn_refresh_target(c, copy);
  if (s->sparse)
    lgv__sparse_first_backward(&s->first, copy);
  else
    lgv__dqn_backward(c, c->w + copy * c->dim, c->grad);
  lgv__dqn_step(c, copy);
}

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  double loss = 0;
  lgv__dqn_sample(c);
  if (s->sparse) lgv__sparse_first_begin(&s->first);
  for (int64_t copy = 0; copy < c->sizes.copies; copy++) {
    lgv__dqn_loss_clear(c);
    update_copy(s, copy);
    loss += c->loss;
  }
  if (s->sparse) lgv__sparse_first_end(&s->first);
  c->loss = loss / (double)s->p->heads; /* the statistic is a member's mean */
  c->q = s->q;
  LGV_TRY(lgv__dqn_end_update(c, err));
  if (s->sparse) lgv__sparse_first_watch(&s->first);
  return LGV_OK;
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  self *s = self_;
  int64_t entry = lgv__dqn_remember(&s->core, transition);
  if (s->mask) {
    uint64_t mask = 0;
    for (int64_t k = 0; k < s->p->heads; k++)
      mask |= (uint64_t)(lgv_rng_uniform(s->core.draw) < s->p->mask) << k;
    s->mask[entry] = mask;
  }
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

/* q (members x A) */
static void member_values(void *self_, const lgv_obs *obs, double *q) {
  self *s = self_;
  dqn *c = &s->core;
  for (int64_t copy = 0; copy < c->sizes.copies; copy++) {
    const float *values = copy_values(s, copy, obs);
    for (int32_t i = 0; i < c->outputs; i++) *q++ = (double)values[i];
  }
}

static void policy_parts(const void *self_, lgv_policy_parts *parts) {
  const self *s = self_;
  lgv__dqn_policy_parts(&s->core, parts);
  parts->votes = s->p->eval == VOTE;
  parts->member_values = member_values;
  parts->prior_w = s->prior.w; /* of the same shape */
  parts->prior_scale = s->prior.scale;
}

const lgv_agent_type lgv__agent_bootstrapped_dqn = {
    .name = "bootstrapped-dqn",
    .summary = "an ensemble of DQNs with random priors, one member per episode",
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
    .stats = stats,
    .set_stream = lgv__dqn_set_stream,
    .q_values = q_values,
};
const lgv_builtin lgv__builtin_bootstrapped_dqn = {"adam", policy_parts};
