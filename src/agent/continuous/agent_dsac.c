/* DSAC-T: distributional soft actor-critic with three refinements. Duan, Wang, Xiao, Gao, Li, Liu,
 * Cheng (2023). value_distribution.h has the equations of its critics; the policy and the
 * temperature are those of sac, and the policy has a target network, which chooses a'.
 *
 * Every agent.policy_every = 2 updates: the policy, the temperature, and all targets.
 *
 * Departures: rectifiers in place of GELU; an update after every environment step (the authors make
 * one after twenty: agent.update_every). */
#include "agent/continuous/value_distribution.h"

#include "base/error.h"

static const lgv_preset presets[] = {
    {"small", AC_SMALL_LOOP "agent.hidden=256,256,256 agent.alpha_lr=3e-4 optim.lr=1e-4"},
    {"atari", AC_PICTURES_LOOP "agent.alpha_lr=3e-4 optim.lr=1e-4", LGV_LARGE_PICTURE},
    {0}};

static const lgv_param param_table[] = {
    DQN_SMALL_OR_ATARI_ROW, AC_PARAM_ROWS("2"), AC_ALPHA_ROWS("2.718281828"), {0}};

static const ac_sizes sizes = {.actor_outputs = AC_GAUSSIAN,
                               .critic_outputs = VD_OUTPUTS,
                               .actors = 1,
                               .critics = AC_PAIR,
                               .actor_target = true,
                               .has_alpha = true,
                               .least = -20,
                               .most = 0.5f};

typedef struct self {
  actor_critic core;
  value_distribution values;
} self;

static lgv_status resolve(void *params, const bool *is_set, const lgv_problem *problem,
                          lgv_error *err) {
  return lgv__ac_resolve(params, is_set, param_table, problem, sizes.actor_outputs, err);
}

static void layout(void *self_, const void *params, const lgv_problem *problem, lgv_layout *out) {
  self *s = self_;
  lgv__ac_layout(&s->core, params, problem, sizes, out);
  lgv__vd_layout(&s->values, &s->core, out);
}

static lgv_status update(self *s, lgv_error *err) {
  actor_critic *c = &s->core;
  lgv__ac_sample(c);
  lgv__vd_act_next(c);
  lgv__vd_targets(&s->values, c, 0);
  lgv__vd_gradients(&s->values, c, 0);
  lgv__ac_step(c, &c->critic);
  if (lgv__ac_policy_due(c)) {
    lgv__vd_improve_policy(c, 0);
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

const lgv_agent_type lgv__agent_dsac = {
    .name = "dsac",
    .summary = "DSAC-T: soft actor-critic whose critics learn the distribution of returns",
    .params = param_table,
    .params_size = sizeof(ac_params),
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
const lgv_builtin lgv__builtin_dsac = {"adam", lgv__ac_policy_parts};
