/* Langevin soft actor-critic. Ishfaq, Wang, Islam, Precup, "Langevin soft actor-critic: efficient
 * exploration through uncertainty-driven critic learning" (ICLR 2025).
 *
 * agent.pairs pairs of distributional critics (value_distribution.h), each pair a chain that
 * samples critics by Langevin steps with an Adam term (optim.name = asgld):
 *
 *     psi <- psi - lr (g + a m / (sqrt v + eps)) + c sqrt(2 lr) xi
 *
 * agent.variant, where the description and the released program differ:
 *     paper     the policy climbs one pair per update, which is drawn uniformly: Thompson sampling,
 *               approximately; sigma learns; c = 1e-8
 *     code      the pair is the first (the program's softmax over values overflows to it); sigma
 *               gets no gradient (the program passes it detached); c = 1e-8
 *     repaired  Thompson sampling for whole episodes, below; c = agent.noise = 1e-3
 *
 * With c = 1e-8 and lr = 1e-3 the noise has size 4.5e-10, which a single float of size 0.01 rounds
 * away nearly always; optim.compensated = true keeps it.
 *
 * The repaired variant explores where rewards are sparse, as bootstrapped-dqn does (Osband,
 * Aslanides, Cassirer, "Randomized prior functions for deep reinforcement learning", NeurIPS 2018).
 * Pair k has a random function p_k, a network that is drawn once and never trained, and a policy
 * pi_k of its own. With f for its two critics,
 *
 *     Q_kj(s, a) = f_kj(s, a) + agent.prior_scale p_k(s, a)
 *
 * takes the place of Q everywhere: pi_k climbs min_j Q_kj, and the targets of pair k take their
 * next actions from the target of pi_k. Both critics share p_k, so that their minimum does not
 * lower it. A pair is drawn when an episode begins, and its policy acts until the end. Evaluation
 * acts by the first policy, whose entropy also adapts the temperature.
 *
 * Departures. There are no synthetic transitions: training the diffusion model takes 3.9e15
 * operations each time, hours on one core, and the released program never mixes its samples in. Of
 * what else the program has, these are left out: its leak of the actions' gradient into the
 * critics, a small penalty on the norm of noisy parameters, and actions that a step of Adam
 * refines. Rectifiers stand in place of GELU, and an update follows every environment step (the
 * program: every twenty). Pairs share omega, which follows the deviations of one pair after the
 * other. */
#include "agent/continuous/value_distribution.h"

#include "base/arena.h"
#include "base/error.h"

#include <string.h>

enum { PAPER, CODE, REPAIRED };
static const char *const variant_names[] = {"paper", "code", "repaired", NULL};

typedef struct params {
  ac_params base;
  int32_t variant;
  int64_t pairs;
  double noise, prior_scale;
} params;

/* beta = 1: agent.noise has the temperature. */
#define OWN_OPTIMIZER                                                                              \
  "agent.grad_clip=0.7 agent.actor_lr=1e-4 agent.alpha_lr=3e-4 optim.form=code optim.lr=1e-3 "     \
  "optim.a=1 optim.beta=1"
static const lgv_preset presets[] = {
    {"small", AC_SMALL_LOOP "agent.hidden=256,256,256 " OWN_OPTIMIZER},
    {"atari", AC_PICTURES_LOOP OWN_OPTIMIZER, LGV_LARGE_PICTURE},
    {0}};

/* clang-format off */
static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW,
    AC_PARAM_ROWS("2"),
    AC_ALPHA_ROWS("2.718281828"),
    LGV_CHOICE_ROW(params, variant, "variant", "repaired", variant_names, "paper: as described; code: as the authors program it; repaired: noise that moves the critics, and pairs with policies and random priors of their own, one pair per episode"),
    LGV_INT_ROW(params, pairs, "pairs", "10", 1, 1000, "pairs of critics"),
    LGV_REAL_ROW(params, noise, "noise", "1e-3", 0, 1e6, 0, "c: a step adds noise of c sqrt(2 lr / optim.beta); if not set, 1e-8 in the variants paper and code"),
    LGV_REAL_ROW(params, prior_scale, "prior_scale", "3", 0, 1e6, 0, "weight of each pair's fixed random prior network; always 0 in the variants paper and code"),
    {0}};
/* clang-format on */

typedef struct self {
  actor_critic core;
  value_distribution values;
  const params *p;
  /* of the repaired variant */
  int64_t *pair;    /* (streams): acts in this episode of each */
  float *prior;     /* (pairs x dim of a critic): p_k; NULL without a prior */
  float *reward;    /* (B): of the minibatch */
  float *d_critics; /* (B x P): their part of the slope along actions */
} self;

static int64_t policies_of(const params *p) { return p->variant == REPAIRED ? p->pairs : 1; }

static ac_sizes sizes_of(const params *p) {
  return (ac_sizes){.actor_outputs = AC_GAUSSIAN,
                    .actors = policies_of(p),
                    .critic_outputs = VD_OUTPUTS,
                    .critics = AC_PAIR * p->pairs,
                    .actor_target = true,
                    .has_alpha = true,
                    .least = -20,
                    .most = 0.5f};
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  params *p = params_;
  if (p->variant != REPAIRED) {
    if (!lgv__params_is_set(param_table, is_set, "noise")) p->noise = 1e-8;
    p->prior_scale = 0;
  }
  return lgv__ac_resolve(&p->base, is_set, param_table, problem, sizes_of(p).actor_outputs, err);
}

static const char *pair_fault(const void *self_) {
  const self *s = self_;
  for (int64_t i = 0; i < s->core.replay.streams; i++)
    if (!lgv__is_within(s->pair[i], 0, s->p->pairs - 1)) return "a pair that does not exist";
  return NULL;
}

static void layout_exploration(self *s, lgv_layout *out) {
  const actor_critic *c = &s->core;
  size_t B = (size_t)ac_batch(c);
  s->pair = lgv_layout_array(out, "pair", LGV_I64, (size_t)c->replay.streams, LGV_KEEP);
  lgv_layout_check(out, pair_fault, s);
  if (s->p->prior_scale == 0) return;
  size_t priors = (size_t)(s->p->pairs * c->critic.dim);
  s->prior = lgv_layout_array(out, "prior", LGV_F32, priors, LGV_KEEP);
  s->reward = lgv_layout_array(out, "reward", LGV_F32, B, LGV_SCRATCH);
  s->d_critics = lgv_layout_array(out, "d_critics", LGV_F32, B * (size_t)c->P, LGV_SCRATCH);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__ac_layout(&s->core, &s->p->base, problem, sizes_of(s->p), out);
  lgv__vd_layout(&s->values, &s->core, out);
  s->values.fixed_deviation = s->p->variant == CODE;
  s->prior = NULL;
  if (s->p->variant == REPAIRED) layout_exploration(s, out);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  actor_critic *c = &s->core;
  LGV_TRY(lgv__ac_open(c, err));
  for (int64_t k = 0; s->prior && k < s->p->pairs; k++)
    lgv__net_init(&c->critic_net, s->prior + k * c->critic.dim, c->init);
  return LGV_OK;
}

/* ---- acting ---- */

static lgv_status begin_episode(void *self_, lgv_error *err) {
  (void)err;
  self *s = self_;
  actor_critic *c = &s->core;
  if (s->p->variant == REPAIRED) s->pair[c->stream] = lgv_rng_below(c->act, s->p->pairs);
  return LGV_OK;
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  self *s = self_;
  actor_critic *c = &s->core;
  bool explores = mode == LGV_TRAIN && s->p->variant == REPAIRED;
  c->policy_in_use = explores ? s->pair[c->stream] : 0;
  return lgv__ac_act_gaussian(c, obs, mode, action, err);
}

/* ---- learning ---- */

/* p_k of these pairs (s, a), on the first tape. */
static const float *prior_values(self *s, int64_t k, const unsigned char *pairs) {
  actor_critic *c = &s->core;
  return lgv__ac_q(c, s->prior + k * c->critic.dim, 0, pairs);
}

/* Makes the rewards of the minibatch those for which f_k has the targets of Q_k, less its prior:
 *     r + gamma (1 - d) prior_scale p_k(s', a') - prior_scale p_k(s, a) */
static void shape_rewards(self *s, int64_t k) {
  actor_critic *c = &s->core;
  int64_t B = ac_batch(c);
  float scale = (float)s->p->prior_scale, *reward = c->batch.reward;
  memcpy(reward, s->reward, (size_t)B * sizeof *reward);
  const float *p = prior_values(s, k, c->next_pairs);
  for (int64_t i = 0; i < B; i++) reward[i] += scale * c->batch.discount[i] * p[VD_OUTPUTS * i];
  p = prior_values(s, k, c->pairs);
  for (int64_t i = 0; i < B; i++) reward[i] -= scale * p[VD_OUTPUTS * i];
}

static void find_gradients(self *s) {
  actor_critic *c = &s->core;
  if (s->prior) memcpy(s->reward, c->batch.reward, (size_t)ac_batch(c) * sizeof *s->reward);
  for (int64_t k = 0; k < s->p->pairs; k++) {
    if (k < c->actor.copies) { /* a single policy acts for all pairs */
      c->policy_in_use = k;
      lgv__vd_act_next(c);
    }
    if (s->prior) shape_rewards(s, k);
    lgv__vd_targets(&s->values, c, k);
    lgv__vd_gradients(&s->values, c, k);
  }
}

/* Pair after pair, which fixes the order of the noise. */
static void step_critics(self *s) {
  actor_critic *c = &s->core;
  lgv__ac_begin_step(c, &c->critic);
  for (int64_t k = 0; k < s->p->pairs; k++)
    lgv__ac_step_some(c, &c->critic, AC_PAIR * k, AC_PAIR, 1 / (s->p->noise * s->p->noise));
}

/* The gradient of pi_k, which climbs Q_k. */
static void climb_pair(self *s, int64_t k) {
  actor_critic *c = &s->core;
  int64_t B = ac_batch(c), numbers = B * c->P;
  float scale = (float)s->p->prior_scale;
  c->policy_in_use = k;
  lgv__ac_forward_obs(c);
  lgv__tanh_gaussian_sample(&c->policy, B, c->outputs);
  lgv__ac_climb_lesser(c, AC_PAIR * k);
  if (s->prior) {
    memcpy(s->d_critics, c->d_action, (size_t)numbers * sizeof *s->d_critics);
    prior_values(s, k, c->pairs);
    lgv__ac_climb(c, s->prior + k * c->critic.dim, 0, NULL, B);
    for (int64_t i = 0; i < numbers; i++) c->d_action[i] = s->d_critics[i] + scale * c->d_action[i];
  }
  lgv__ac_gaussian_backward(c);
}

/* The first policy comes last, so that the temperature sees its entropy. */
static void improve_policies(self *s) {
  actor_critic *c = &s->core;
  for (int64_t k = s->p->pairs - 1; k >= 0; k--) climb_pair(s, k);
  lgv__ac_step(c, &c->actor);
  lgv__ac_adapt_alpha(c);
}

static lgv_status update(self *s, lgv_error *err) {
  actor_critic *c = &s->core;
  lgv__ac_sample(c);
  find_gradients(s);
  step_critics(s);
  if (lgv__ac_policy_due(c)) {
    if (s->p->variant == REPAIRED)
      improve_policies(s);
    else
      lgv__vd_improve_policy(c, s->p->variant == CODE ? 0 : lgv_rng_below(c->draw, s->p->pairs));
    lgv__ac_follow(c, &c->critic);
    lgv__ac_follow(c, &c->actor);
  }
  return lgv__ac_end_update(c, err);
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  self *s = self_;
  lgv__ac_remember(&s->core, transition);
  for (int64_t j = lgv__ac_updates_due(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  for (int64_t j = lgv__ac_updates_due_between_episodes(&s->core); j > 0; j--)
    LGV_TRY(update(s, err));
  return LGV_OK;
}

static const char *const stat_names[] = {AC_ALPHA_STAT_NAMES, NULL};

const lgv_agent_type lgv__agent_lsac = {
    .name = "lsac",
    .summary = "Langevin soft actor-critic: continuous actions, critics sampled by Langevin steps",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .traits = LGV_TAKES_BOX,
    .presets = presets,
    .resolve = resolve,
    .layout = layout,
    .open = open_agent,
    .begin_episode = begin_episode,
    .act = act,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = lgv__ac_alpha_stats,
    .set_stream = lgv__ac_set_stream,
};
const lgv_builtin lgv__builtin_lsac = {"asgld", lgv__ac_policy_parts};
