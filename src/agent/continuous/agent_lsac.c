/* Langevin soft actor-critic. Ishfaq, Wang, Islam, Precup, "Langevin soft actor-critic: efficient
 * exploration through uncertainty-driven critic learning" (ICLR 2025).
 *
 * agent.pairs pairs of distributional critics (value_distribution.h), each pair a chain that
 * samples critics by Langevin steps with an Adam term (optim.name = asgld):
 *
 *     psi <- psi - lr (g + a m / (sqrt v + eps)) + c sqrt(2 lr) xi
 *
 * The policy climbs one pair per update: Thompson sampling, approximately.
 *
 * agent.variant, where the description and the released program differ:
 *     paper     the pair is drawn uniformly; sigma learns; c = 1e-8
 *     code      the pair is the first (the program's softmax over values overflows to it); sigma
 *               gets no gradient (the program passes it detached); c = 1e-8
 *     repaired  as the paper, with noise that moves the critics: c = agent.noise for the first
 *               pair, falling geometrically to agent.ladder times that for the last
 *
 * So the chains of the repaired variant have different temperatures.
 *
 * With c = 1e-8 and lr = 1e-3 the noise has size 4.5e-10, which a single float of size 0.01 rounds
 * away nearly always; optim.compensated = true keeps it.
 *
 * Departures. There are no synthetic transitions: training the diffusion model takes 3.9e15
 * operations each time, hours on one core, and the released program never mixes its samples in. Of
 * what else the program has, these are left out: its leak of the actions' gradient into the
 * critics, a small penalty on the norm of noisy parameters, and actions that a step of Adam
 * refines. Rectifiers stand in place of GELU, and an update follows every environment step (the
 * program: every twenty). Pairs share omega, which follows the deviations of one pair after the
 * other. */
#include "agent/continuous/value_distribution.h"

#include "base/error.h"
#include "base/portable_math.h"

enum { PAPER, CODE, REPAIRED };
static const char *const variant_names[] = {"paper", "code", "repaired", NULL};

typedef struct params {
  ac_params base;
  int32_t variant;
  int64_t pairs;
  double noise, ladder;
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
    LGV_CHOICE_ROW(params, variant, "variant", "repaired", variant_names, "paper: as described; code: as the authors program it; repaired: noise that moves the critics, at temperatures that differ between pairs"),
    LGV_INT_ROW(params, pairs, "pairs", "10", 1, 1000, "pairs of critics"),
    LGV_REAL_ROW(params, noise, "noise", "1e-3", 0, 1e6, 0, "c: a step adds noise of c sqrt(2 lr / optim.beta) to the first pair; if not set, 1e-8 in the variants paper and code"),
    LGV_REAL_ROW(params, ladder, "ladder", "0.01", 0, 1, LGV_OPEN_MIN, "c of the last pair, as a share of agent.noise; if not set, 1 in the variants paper and code"),
    {0}};
/* clang-format on */

typedef struct self {
  actor_critic core;
  value_distribution values;
  const params *p;
} self;

static ac_sizes sizes_of(const params *p) {
  return (ac_sizes){.actor_outputs = AC_GAUSSIAN,
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
  bool published = p->variant != REPAIRED;
  if (published && !lgv__params_is_set(param_table, is_set, "noise")) p->noise = 1e-8;
  if (published && !lgv__params_is_set(param_table, is_set, "ladder")) p->ladder = 1;
  return lgv__ac_resolve(&p->base, is_set, param_table, problem, sizes_of(p).actor_outputs, err);
}

static void layout(void *self_, const void *params_, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  s->p = params_;
  lgv__ac_layout(&s->core, &s->p->base, problem, sizes_of(s->p), out);
  lgv__vd_layout(&s->values, &s->core, out);
  s->values.fixed_deviation = s->p->variant == CODE;
}

/* c of a pair. */
static double noise_of(const params *p, int64_t pair) {
  double place = p->pairs > 1 ? (double)pair / (double)(p->pairs - 1) : 0;
  return p->noise * lgv__pow(p->ladder, place);
}

static void step_critics(self *s) {
  actor_critic *c = &s->core;
  lgv__ac_begin_step(c, &c->critic);
  for (int64_t k = 0; k < s->p->pairs; k++) {
    double noise = noise_of(s->p, k);
    lgv__ac_step_some(c, &c->critic, AC_PAIR * k, AC_PAIR, 1 / (noise * noise));
  }
}

static lgv_status update(self *s, lgv_error *err) {
  actor_critic *c = &s->core;
  lgv__ac_sample(c);
  lgv__vd_act_next(c);
  for (int64_t k = 0; k < s->p->pairs; k++) {
    lgv__vd_targets(&s->values, c, k);
    lgv__vd_gradients(&s->values, c, k);
  }
  step_critics(s);
  if (lgv__ac_policy_due(c)) {
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
    .open = lgv__ac_open,
    .act = lgv__ac_act_gaussian,
    .observe = observe,
    .end_episode = end_episode,
    .stat_names = stat_names,
    .stats = lgv__ac_alpha_stats,
    .set_stream = lgv__ac_set_stream,
};
const lgv_builtin lgv__builtin_lsac = {"asgld", lgv__ac_policy_parts};
