/* Deep Q-learning by Langevin Monte Carlo: the agents that explore through the noise of their
 * optimizer, adam-lmcdqn, lmc-dqn, psgld-dqn, langevin-dqn, fg-lmcdqn, ulmc-dqn and fg-ulmc-dqn.
 * Ishfaq et al. (ICLR 2024), Algorithm 2; Ishfaq et al. (2024), "More efficient randomized
 * exploration for reinforcement learning via approximate sampling", for the feel-good term and the
 * underdamped chain. The agents, each with its equation and its presets, are at the end of the
 * file.
 *
 * Acting is greedy in the current sample w; the optimizer (optim.*) decides which chain w follows.
 * Where all rewards are positive, greedy acting alone never leaves the action that it tried first,
 * since the other's value is still near 0: agent.epsilon_start = 1 makes actions uniform until
 * agent.warmup and gives the replay some of each. Afterwards the probability of a uniform action
 * falls to agent.epsilon_end: over the share agent.epsilon_share of the budget that lgv_problem
 * states, and over agent.epsilon_steps steps if it states none or the share is 0. Evaluation is
 * greedy.
 *
 * agent.stages = shared (as in the published code): one network for all stages, a discount, a
 * target network, and J = agent.updates gradient steps every agent.update_every steps.
 *
 * agent.stages = per-stage (Algorithm 2 as printed): a network w_h, moments included, for each
 * stage of the horizon. Before every episode a backward sweep h = H..1 takes J steps on
 *     L_h(w_h) = mean over a minibatch of stage h of (r + [not terminated] max_a Q(s', a; w_{h+1})
 *                                                     - Q(s, a; w_h))^2
 * with w_{h+1} as the sweep has just left it and Q_{H+1} = 0. There is no target network and,
 * unless agent.gamma is set, no discount. The loss is a minibatch mean, not the sum over the
 * history; the ridge term is the optimizer's l2.
 *
 * agent.final_lr < 1: the step size falls linearly with the budget that lgv_problem states (steps,
 * else episodes), as stochastic-gradient Langevin dynamics has it (Welling, Teh 2011): wide moves
 * first, and in the end less of what minibatches and large steps add to the posterior's spread.
 * Beyond the budget it stays at its final value; without a stated budget nothing decays.
 *
 * agent.average > 0: training acts by the current sample, evaluation by the mean of about that many
 * last ones (an exponential mean; all so far, as long as there are fewer): the posterior's mean,
 * not one of the chain's excursions.
 *
 * The feel-good term (agent.feel_good > 0) subtracts eta_fg * mean over the minibatch of max_a
 * Q(s_1, a), s_1 being the first observation of the episode that a transition comes from: optimism
 * where episodes begin. The gradient goes through the maximum. */
#include "agent/deep/epsilon_greedy.h"
#include "agent/export.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/spec.h"

#include <math.h>
#include <string.h>

enum { SHARED, PER_STAGE };

typedef struct params {
  epsilon_greedy_params base;
  double epsilon_share;
  int32_t stages;
  double feel_good, final_lr;
  int64_t average;
} params;

static const char *const stages_names[] = {"shared", "per-stage", NULL};

/* clang-format off */
#define PARAM_ROWS \
  DQN_PARAM_ROWS, \
  DQN_LOSS_ROW, \
  DQN_SHARED_BIAS_ROW, \
  DQN_ONE_HOT_GAIN_ROW, \
  DQN_GRAD_CLIP_ROW, \
  EPSILON_SCHEDULE_ROWS("0", "0", "0"), \
  LGV_REAL_ROW(params, epsilon_share, "epsilon_share", "0", 0, 1, 0, "share of the run over which the probability falls; 0, or a run of unknown length: agent.epsilon_steps"), \
  LGV_REAL_ROW(params, final_lr, "final_lr", "1", 0, 1, 0, "share of optim.lr to which the step size falls linearly by the end of the run; 1: it stays constant"), \
  LGV_INT_ROW(params, average, "average", "0", 0, 1e9, "evaluation uses the mean of the parameters over about this many updates; 0: the current parameters"), \
  LGV_CHOICE_ROW(params, stages, "stages", "shared", stages_names, "shared: one network; per-stage: one for each stage, fitted in a backward sweep before every episode")
#define FEEL_GOOD_ROW \
  LGV_REAL_ROW(params, feel_good, "feel_good", "0.1", 0, 1e6, 0, "eta_fg: weight of optimism at the first observation of an episode")
/* clang-format on */

static const char *const preset_names[] = {"auto", "small", "authors", NULL};
static const char *const adam_lmcdqn_preset_names[] = {"auto",           "small",   "pictures",
                                                       "small-pictures", "authors", NULL};
#define PRESET_ROW                                                                                 \
  DQN_PRESET_ROW(preset_names, "authors for pictures of at least 36 x 36, else small")

static const lgv_param param_table[] = {PRESET_ROW, PARAM_ROWS, {0}};
static const lgv_param feel_good_table[] = {PRESET_ROW, PARAM_ROWS, FEEL_GOOD_ROW, {0}};
static const lgv_param adam_lmcdqn_table[] = {
    DQN_PRESET_ROW(adam_lmcdqn_preset_names,
                   "pictures for pictures of at least 36 x 36, small-pictures for smaller ones of "
                   "at least 5 x 5, else small"),
    PARAM_ROWS,
    {0}};

typedef struct self {
  dqn core;
  const params *p;
  int64_t *episodes;                       /* [0]: that have ended */
  int64_t steps_planned, episodes_planned; /* 0: unknown */
  float *w_mean;                           /* (copies x dim): with agent.average; else NULL */
  int64_t H;                               /* networks in the sweep; 0 with agent.stages = shared */
  int64_t *order, *start;                  /* (replay), (H + 1): entries by stage */
} self;

/* ---- parameters and memory ---- */

static lgv_status resolve_per_stage(params *p, const bool *is_set, const lgv_problem *problem,
                                    lgv_error *err) {
  dqn_params *d = &p->base.dqn;
  if (problem->env.horizon == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.stages = per-stage needs an environment whose episodes have a fixed "
                    "horizon");
  if (d->n_step != 1 || d->double_q)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.stages = per-stage looks one stage ahead and has no target network: set "
                    "agent.n_step = 1 and agent.double = false");
  const bool *chosen = lgv__full_problem(problem)->chosen; /* presets have an interval, too */
  if (chosen && lgv__params_is_set(param_table, chosen, "update_every") && d->update_every != 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.stages = per-stage updates before every episode, not every %lld steps: "
                    "leave agent.update_every out, or set it to 0",
                    (long long)d->update_every);
  if (!lgv__params_is_set(param_table, is_set, "gamma")) d->gamma = 1;
  d->update_every = 0;
  return LGV_OK;
}

static lgv_status resolve(void *params_, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  params *p = params_;
  if (p->stages == PER_STAGE) LGV_TRY(resolve_per_stage(p, is_set, problem, err));
  return lgv__dqn_resolve(&p->base.dqn, problem, (dqn_sizes){0}, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  s->H = s->p->stages == PER_STAGE ? problem->env.horizon : 0;
  dqn_sizes sizes = {.copies = s->H, .with_first = s->p->feel_good > 0, .no_target = s->H > 0};
  lgv__dqn_layout(&s->core, &s->p->base.dqn, problem, sizes, out);
  s->episodes = lgv_layout_array(out, "episodes", LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(out, lgv__counter_fault, s->episodes);
  s->steps_planned = problem->steps;
  s->episodes_planned = problem->episodes;
  size_t all = (size_t)(s->core.sizes.copies * s->core.dim);
  s->w_mean = s->p->average > 0 ? lgv_layout_array(out, "w_mean", LGV_F32, all, LGV_KEEP) : NULL;
  if (s->H == 0) return;
  s->order = lgv_layout_array(out, "order", LGV_I64, (size_t)s->p->base.dqn.replay, LGV_SCRATCH);
  s->start = lgv_layout_array(out, "start", LGV_I64, (size_t)s->H + 1, LGV_SCRATCH);
}

static lgv_status open_agent(void *self_, lgv_error *err) {
  self *s = self_;
  dqn *c = &s->core;
  LGV_TRY(lgv__dqn_open(c, err));
  if (s->w_mean) memcpy(s->w_mean, c->w, (size_t)(c->sizes.copies * c->dim) * sizeof *c->w);
  return LGV_OK;
}

/* The share of the stated budget that is spent; 0 without one. */
static double progress(const self *s) {
  if (s->steps_planned > 0)
    return fmin(1, (double)s->core.count[DQN_STEPS] / (double)s->steps_planned);
  if (s->episodes_planned > 0) return fmin(1, (double)s->episodes[0] / (double)s->episodes_planned);
  return 0;
}

/* ---- acting ---- */

static double epsilon(const self *s) {
  const epsilon_params *p = &s->p->base.epsilon;
  const dqn *c = &s->core;
  bool has_budget = s->steps_planned > 0 || s->episodes_planned > 0;
  if (!has_budget || s->p->epsilon_share == 0) return epsilon_of(p, c);
  if (c->count[DQN_STEPS] < c->p->warmup) return p->start;
  return p->start + (p->end - p->start) * fmin(1, progress(s) / s->p->epsilon_share);
}

/* The parameters that act at the observation. */
static lgv_status actor(self *s, const lgv_obs *obs, lgv_mode mode, const float **w,
                        lgv_error *err) {
  if (s->H > 0 && (obs->stage < 0 || obs->stage >= s->H))
    return lgv_fail(err, LGV_ERR_USAGE, "stage %lld is outside the horizon of %lld stages",
                    (long long)obs->stage, (long long)s->H);
  const float *all = mode == LGV_EVAL && s->w_mean ? s->w_mean : s->core.w;
  *w = all + (s->H > 0 ? obs->stage * s->core.dim : 0);
  return LGV_OK;
}

static lgv_status act(void *self_, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                      lgv_error *err) {
  self *s = self_;
  dqn *c = &s->core;
  const float *w = NULL;
  LGV_TRY(actor(s, obs, mode, &w, err));
  double chance = mode == LGV_TRAIN ? epsilon(s) : 0;
  if (chance == 1)
    lgv__dqn_uniform(c, obs, mode, action);
  else
    lgv__dqn_epsilon_greedy(c, lgv__dqn_values(c, w, obs), chance, obs, mode, action);
  return LGV_OK;
}

static lgv_status q_values(void *self_, const lgv_obs *obs, double *q, lgv_error *err) {
  self *s = self_;
  const float *w = NULL;
  LGV_TRY(actor(s, obs, LGV_EVAL, &w, err));
  lgv__dqn_copy_values(&s->core, lgv__dqn_values(&s->core, w, obs), q);
  return LGV_OK;
}

/* ---- the parts of an update that are Langevin's own ---- */

/* Of - eta_fg mean max_a Q(s_1, a); the rows of first observations follow the others. */
static void add_feel_good(self *s) {
  dqn *c = &s->core;
  int64_t B = c->p->batch;
  float share = (float)s->p->feel_good / (float)(B * c->parts);
  for (int64_t i = 0; i < B; i++) {
    int64_t at = (B + i) * c->outputs;
    const uint8_t *mask = c->batch.first_mask ? c->batch.first_mask + i * c->A : NULL;
    for (int32_t p = 0, first = 0; p < c->parts; p++) {
      int32_t best = first + lgv__dqn_best_of_part(c, c->q + at, mask, p, first);
      c->d_q[at + best] -= share;
      c->loss -= (double)(share * c->q[at + best]);
      first += lgv__part_choices(&c->env.actions, p);
    }
  }
}

static void average(self *s, int64_t k) {
  dqn *c = &s->core;
  const float *w = c->w + k * c->dim;
  float *mean = s->w_mean + k * c->dim;
  float share = (float)(1 / fmin((double)s->p->average, (double)c->t[k]));
  for (int64_t i = 0; i < c->dim; i++) mean[i] += share * (w[i] - mean[i]);
  lgv__dqn_changed(c, mean);
}

/* The chain's step of copy k, once its targets are known. */
static lgv_status descend(self *s, int64_t k, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_loss(c);
  if (s->p->feel_good > 0) add_feel_good(s);
  lgv__dqn_backward(c, c->w + k * c->dim, c->grad);
  c->lr_scale = 1 - (1 - s->p->final_lr) * progress(s);
  lgv__dqn_step(c, k);
  if (s->w_mean) average(s, k);
  return lgv__dqn_end_update(c, err);
}

/* ---- agent.stages = shared: one network ---- */

static lgv_status update(self *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_targets(c);
  lgv__dqn_refresh_target(c, 0);
  return descend(s, 0, err);
}

static lgv_status observe(void *self_, const lgv_transition *transition, lgv_error *err) {
  self *s = self_;
  lgv__dqn_remember(&s->core, transition);
  for (int64_t j = lgv__dqn_updates_due(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

static lgv_status end_episode(void *self_, lgv_error *err) {
  self *s = self_;
  s->episodes[0]++;
  if (s->H > 0) return LGV_OK; /* the sweep comes before the next episode */
  for (int64_t j = lgv__dqn_updates_due_between_episodes(&s->core); j > 0; j--)
    LGV_TRY(update(s, err));
  return LGV_OK;
}

/* ---- agent.stages = per-stage: Algorithm 2 as printed ---- */

static void sample_stage(self *s, int64_t h) {
  dqn *c = &s->core;
  int64_t first = s->start[h], count = s->start[h + 1] - first;
  for (int64_t i = 0; i < c->batch.size; i++)
    c->batch.entry[i] = s->order[first + lgv_rng_below(c->draw, count)];
  lgv__dqn_gather(c);
  if (h + 1 == s->H) /* Q_{H+1} = 0, even where the clock only truncates */
    memset(c->batch.discount, 0, (size_t)c->batch.size * sizeof *c->batch.discount);
}

static lgv_status sweep(self *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__replay_sort_by_age(&c->replay, s->H, s->order, s->start);
  for (int64_t h = s->H - 1; h >= 0; h--) {
    if (s->start[h] == s->start[h + 1]) continue; /* never reached */
    const float *w = c->w + h * c->dim, *w_next = h + 1 < s->H ? w + c->dim : w;
    for (int64_t j = 0; j < c->p->updates; j++) {
      sample_stage(s, h);
      lgv__dqn_forward(c, w, w_next);
      lgv__dqn_targets(c);
      LGV_TRY(descend(s, h, err));
    }
  }
  return LGV_OK;
}

static lgv_status begin_episode(void *self_, lgv_error *err) {
  self *s = self_;
  bool ready = s->core.count[DQN_STEPS] >= s->core.p->warmup;
  return s->H > 0 && ready ? sweep(s, err) : LGV_OK;
}

/* ---- the agents ---- */

static const char *const stat_names[] = {DQN_STAT_NAMES, NULL};

static void policy_parts(const void *self_, lgv_policy_parts *parts) {
  const self *s = self_;
  lgv__dqn_policy_parts(&s->core, parts);
  if (s->w_mean) parts->w = s->w_mean;
  parts->by_stage = s->H > 0;
}

/* A descriptor: the members of the family differ in these arguments alone. */
#define LANGEVIN_DQN(name_, summary_, params_, presets_)                                           \
  {                                                                                                \
    .name = name_, .summary = summary_, .params = params_, .presets = presets_,                    \
    .traits = LGV_TAKES_MULTI_DISCRETE, .params_size = sizeof(params), .state_size = sizeof(self), \
    .resolve = resolve, .layout = layout, .open = open_agent, .begin_episode = begin_episode,      \
    .act = act, .observe = observe, .end_episode = end_episode, .stat_names = stat_names,          \
    .stats = lgv__dqn_stats, .set_stream = lgv__dqn_set_stream, .q_values = q_values,              \
  }

#define SMALL_LOOP "agent.warmup=200 agent.epsilon_start=1 agent.updates=4 "

/* adam-lmcdqn. Ishfaq et al., "Provable and practical: efficient exploration in reinforcement
 * learning via Langevin Monte Carlo" (ICLR 2024), Algorithm 2, with the optimizer Adam SGLD of Kim
 * et al. (2022):
 *
 *     w <- w - eta (g + a m / sqrt(v + lambda_1)) + sqrt(2 eta / beta) eps,   eps ~ N(0, I)
 *
 * The preset `authors` is the published loop: the optimizer in the form of the published code, n =
 * 3, double Q, pixels not divided, an update every 10 steps after 32 greedy ones, a copy to the
 * target network every 500 updates. As in that code, parameters are single floats: at beta = 1e16
 * rounding takes nearly all of the noise away, which optim.compensated = true would keep.
 *
 * The preset `pictures`, for large ones, is not from the paper. The published loop overflows on
 * some seeds, and with beta = 1e16 no noise ever changes an action: where nothing is won by chance,
 * as on Freeway, an agent that does not begin with the right action stays at 0. Here inputs are
 * divided by 255, errors are Huber's, and the noise is large enough to change the greedy action as
 * long as no reward separates the actions.
 *
 * The preset `small`, for vectors and states, is not from the paper. Inputs and values have the
 * same size in every task (running_scale.h), so that one noise and one l2 term, in the part of the
 * ridge of the paper's loss, fit all of them. Uniform actions, fewer and fewer over a fifth of the
 * run, show what is easy to find; the noise, large enough to move the policy, finds what is not.
 * Targets have ten rewards and a network that stays for 1000 updates; the step size falls, and
 * evaluation uses the mean of 2000 samples. The 1 of a one-hot observation of n states counts
 * sqrt(n), as it would if its entries were normalized. The preset `small-pictures` has less noise:
 * after convolutions, a unit has a thousand inputs instead of 64, and their noise adds up. Its
 * targets have one reward (with three it does not learn Asterix of MinAtar) and a network that
 * stays for 100 updates; its uniform actions end after 10,000 steps. */
#define ADAM_LMCDQN_SMALL                                                                          \
  "agent.normalize_obs=auto agent.scale_rewards=limited agent.warmup=1000 agent.epsilon_start=1 "  \
  "agent.epsilon_end=0.02 agent.epsilon_steps=10000 agent.batch=64 agent.replay=50000 "            \
  "agent.double=true agent.grad_clip=1000 agent.final_lr=0.05 agent.average=2000 "                 \
  "optim.form=paper "
static const lgv_preset adam_lmcdqn_presets[] = {
    {"small", ADAM_LMCDQN_SMALL
     "agent.hidden=64,64 agent.one_hot_gain=1 agent.epsilon_share=0.2 agent.n_step=10 "
     "agent.target_every=1000 agent.update_every=1 optim.lr=2e-3 optim.a=0.1 optim.beta=3e3 "
     "optim.l2=0.02"},
    {"pictures",
     "agent.net=conv agent.scale_input=true agent.loss=huber agent.warmup=2000 "
     "agent.epsilon_start=1 agent.epsilon_end=0.01 agent.epsilon_steps=10000 "
     "agent.update_every=2 agent.replay=200000 "
     "agent.n_step=10 agent.double=true agent.target_every=1000 agent.average=2000 optim.lr=1e-4 "
     "optim.a=1 optim.beta=3e4 optim.form=paper",
     LGV_LARGE_PICTURE},
    {"small-pictures",
     ADAM_LMCDQN_SMALL
     "agent.hidden=128 agent.target_every=100 agent.update_every=4 optim.lr=5e-4 optim.a=1 "
     "optim.beta=1e5 optim.l2=1e-3",
     LGV_LEAST_PICTURE},
    {"authors", DQN_ATARI_LOOP "optim.lr=1e-4 optim.a=0.1 optim.beta=1e16 optim.form=code"},
    {0}};
const lgv_agent_type lgv__agent_adam_lmcdqn =
    LANGEVIN_DQN("adam-lmcdqn", "Langevin Monte Carlo DQN with Adam SGLD (the paper's Algorithm 2)",
                 adam_lmcdqn_table, adam_lmcdqn_presets);
const lgv_builtin lgv__builtin_adam_lmcdqn = {"asgld", policy_parts};

/* lmc-dqn. The update of Algorithm 1 of Ishfaq et al. (ICLR 2024), line 9, on a network, which is
 * SGLD (Welling, Teh, 2011) on the loss of dqn_core.h:
 *
 *     w <- w - eta g + sqrt(2 eta / beta) eps
 *
 * It is Adam LMCDQN with a = 0. The loss is a minibatch mean: beta is n times that of a sum over n
 * transitions. */
static const lgv_preset lmc_dqn_presets[] = {
    {"small", SMALL_LOOP "optim.lr=3e-3 optim.beta=3e3 optim.l2=0.1"},
    {"authors", DQN_ATARI_LOOP "optim.lr=1e-4 optim.beta=1e16", LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_lmc_dqn =
    LANGEVIN_DQN("lmc-dqn", "Langevin Monte Carlo DQN without preconditioning (SGLD)", param_table,
                 lmc_dqn_presets);
const lgv_builtin lgv__builtin_lmc_dqn = {"sgld", policy_parts};

/* psgld-dqn. Langevin Monte Carlo with the diagonal preconditioner of Li et al., "Preconditioned
 * stochastic gradient Langevin dynamics for deep neural networks" (AAAI 2016), in the loop of Adam
 * LMCDQN:
 *
 *     w <- w - eta g / G + sqrt(2 eta / beta) eps / sqrt(G),   G = sqrt(v) + eps_0
 *
 * Drift and noise are scaled by the same G, unlike in Adam SGLD. */
static const lgv_preset psgld_dqn_presets[] = {
    {"small", SMALL_LOOP "optim.lr=1e-3 optim.beta=3e4 optim.l2=0.1"},
    {"authors", DQN_ATARI_LOOP "optim.lr=1e-4 optim.beta=1e16", LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_psgld_dqn =
    LANGEVIN_DQN("psgld-dqn", "Langevin Monte Carlo DQN with RMSProp preconditioning (pSGLD)",
                 param_table, psgld_dqn_presets);
const lgv_builtin lgv__builtin_psgld_dqn = {"psgld", policy_parts};

/* langevin-dqn. Dwaracherla, Van Roy, "Langevin DQN" (2020), with the optimizer that Ishfaq et al.
 * (ICLR 2024) compare Adam LMCDQN with: a step of Adam, then Gaussian noise with Adam's
 * preconditioner (optim_langevin.c). There is no term of the plain gradient. The preset `authors`
 * is their loop. */
static const lgv_preset langevin_dqn_presets[] = {
    {"small", SMALL_LOOP "optim.lr=1e-3 optim.beta=1e5 optim.l2=0.1"},
    {"authors", DQN_ATARI_LOOP "optim.lr=1e-4 optim.beta=1e16", LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_langevin_dqn =
    LANGEVIN_DQN("langevin-dqn", "DQN with Adam and preconditioned noise (Langevin DQN)",
                 param_table, langevin_dqn_presets);
const lgv_builtin lgv__builtin_langevin_dqn = {"langevin-adam", policy_parts};

/* fg-lmcdqn. Ishfaq et al., "More efficient randomized exploration for reinforcement learning via
 * approximate sampling" (2024): Adam LMCDQN on the feel-good loss (Zhang, 2022)
 *
 *     mean (y - Q(s, a))^2 - eta_fg mean max_a Q(s_1, a),
 *
 * s_1 being the first observation of each transition's episode. With agent.feel_good = 0 it is Adam
 * LMCDQN. */
static const lgv_preset fg_lmcdqn_presets[] = {
    {"small", SMALL_LOOP "agent.feel_good=0.01 optim.lr=3e-3 optim.a=0.1 optim.beta=3e3 "
                         "optim.l2=0.03 optim.form=paper"},
    {"authors",
     DQN_ATARI_LOOP "agent.feel_good=0.001 optim.lr=1e-4 optim.a=0.1 optim.beta=1e16 "
                    "optim.form=code",
     LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_fg_lmcdqn = LANGEVIN_DQN(
    "fg-lmcdqn", "Adam LMCDQN with the feel-good term", feel_good_table, fg_lmcdqn_presets);
const lgv_builtin lgv__builtin_fg_lmcdqn = {"asgld", policy_parts};

/* ulmc-dqn. Ishfaq et al. (2024): Adam LMCDQN with an underdamped chain, as their code has it,
 *
 *     u <- (1 - eta gamma) u + eta (g + a m / (sqrt(v) + eps_0))
 *     w <- w - eta u + sqrt(2 eta gamma / beta) eps
 *
 * (optim.drift = plain puts the noise into the velocity, where the theory has it). After 1 / (eta
 * gamma) steps the drift is eta g / gamma per step. */
#define SMALL_CHAIN "optim.lr=0.03 optim.friction=10 optim.a=0.1 optim.beta=3e5 optim.l2=0.03"
#define AUTHORS_CHAIN "optim.lr=1e-3 optim.friction=10 optim.a=0.1 optim.beta=1e10"

static const lgv_preset ulmc_dqn_presets[] = {
    {"small", SMALL_LOOP SMALL_CHAIN},
    {"authors", DQN_ATARI_LOOP AUTHORS_CHAIN, LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_ulmc_dqn =
    LANGEVIN_DQN("ulmc-dqn", "underdamped Langevin Monte Carlo DQN", param_table, ulmc_dqn_presets);
const lgv_builtin lgv__builtin_ulmc_dqn = {"ulmc", policy_parts};

/* fg-ulmc-dqn. Ishfaq et al. (2024): the underdamped chain of ulmc-dqn on the feel-good loss of
 * fg-lmcdqn. */
static const lgv_preset fg_ulmc_dqn_presets[] = {
    {"small", SMALL_LOOP "agent.feel_good=0.01 " SMALL_CHAIN},
    {"authors", DQN_ATARI_LOOP "agent.feel_good=0.001 " AUTHORS_CHAIN, LGV_LARGE_PICTURE},
    {0}};

const lgv_agent_type lgv__agent_fg_ulmc_dqn = LANGEVIN_DQN(
    "fg-ulmc-dqn", "ULMCDQN with the feel-good term", feel_good_table, fg_ulmc_dqn_presets);
const lgv_builtin lgv__builtin_fg_ulmc_dqn = {"ulmc", policy_parts};
