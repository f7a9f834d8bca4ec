/* RiverSwim: a chain of n states against a current. Strehl and Littman (2008); Osband et al.
 * (2013).
 *
 * Action 0 swims left with the current and always succeeds; action 1 swims right and often fails.
 *
 *   variant          right at s_1    right inside         right at s_n    1 for (s_n, right)
 *   osband           .4 stay .6 on   .05 / .60 / .35      .40 / .60 stay  always
 *   stay-only        the same        the same             the same        if it stays
 *   strehl-littman   .7 stay .3 on   .10 / .60 / .30      .70 / .30 stay  if it stays
 *
 * (left / stay / right). The small reward for (s_1, left) is 0.005; for strehl-littman it is
 * 5/10000, because the original rewards 5 and 10000 are divided by 10000 here. All variants start
 * at s_1, while ports of strehl-littman start uniformly in s_2 and s_3. The exact model holds mean
 * rewards; a step pays the actual reward. */
#include "base/error.h"
#include "base/param.h"
#include "env/models/tabular.h"

enum { LEFT, RIGHT, ACTIONS };
enum { OSBAND, STREHL_LITTMAN, STAY_ONLY };

typedef struct params {
  int64_t n, horizon;
  int32_t variant;
} params;

static const char *const variants[] = {"osband", "strehl-littman", "stay-only", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_INT_ROW(params, n, "n", "12", 2, 1e6, "number of states"),
    LGV_INT_ROW(params, horizon, "horizon", "40", 1, 1e6, "steps per episode"),
    LGV_CHOICE_ROW(params, variant, "variant", "osband", variants, "whose transition probabilities and rewards are used"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_tabular tabular;
  const params *p;
} self;

static lgv_status spec(const void *p_, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  const params *p = p_;
  *out = lgv__tabular_spec(p->n, ACTIONS, p->horizon, true);
  out->clock_truncates = true;
  return LGV_OK;
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  self *s = self_;
  s->p = p;
  lgv__tabular_layout(self_, p, env, out);
}

typedef struct current {
  double first_on;     /* right at s_1 succeeds */
  double back, on;     /* right inside: thrown back, succeeds */
  double last_stay;    /* right at s_n stays */
  double small, large; /* mean rewards of (s_1, left) and (s_n, right) */
} current;

static current current_of(int32_t variant) {
  switch (variant) {
  case STREHL_LITTMAN: return (current){.3, .10, .30, .30, 5e-4, .30};
  case STAY_ONLY: return (current){.6, .05, .35, .60, 5e-3, .60};
  default: return (current){.6, .05, .35, .60, 5e-3, 1};
  }
}

static lgv_status build(lgv_model *m, int64_t n, current c, lgv_error *err) {
  for (int64_t i = 0; i < n; i++) {
    LGV_TRY(lgv_model_add(m, 0, i, LEFT, i > 0 ? i - 1 : 0, 1, err));
    double back = i == 0 ? 0 : i == n - 1 ? 1 - c.last_stay : c.back;
    double on = i == 0 ? c.first_on : i == n - 1 ? 0 : c.on;
    LGV_TRY(lgv_model_add(m, 0, i, RIGHT, i, 1 - back - on, err));
    if (i > 0) LGV_TRY(lgv_model_add(m, 0, i, RIGHT, i - 1, back, err));
    if (i < n - 1) LGV_TRY(lgv_model_add(m, 0, i, RIGHT, i + 1, on, err));
  }
  lgv_model_set_reward(m, 0, 0, LEFT, c.small);
  lgv_model_set_reward(m, 0, n - 1, RIGHT, c.large);
  lgv_model_set_start(m, 0, 1);
  return lgv_model_seal(m, err);
}

static lgv_status open_env(void *self_, lgv_env_spec *env, lgv_error *err) {
  self *s = self_;
  LGV_TRY(lgv_model_create(env->states, ACTIONS, env->horizon, true, &s->tabular.model, err));
  lgv_status status = build(s->tabular.model, s->p->n, current_of(s->p->variant), err);
  if (status != LGV_OK) lgv__tabular_close(self_);
  return status;
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  self *s = self_;
  int64_t last = s->p->n - 1;
  bool at_reward = s->tabular.at[LGV_AT_STATE] == last && action->choice == RIGHT;
  LGV_TRY(lgv__tabular_step(self_, action, rng, outcome, err));
  if (at_reward && s->p->variant != OSBAND)
    outcome->reward = s->tabular.at[LGV_AT_STATE] == last ? 1 : 0;
  return LGV_OK;
}

const lgv_env_type lgv__env_riverswim = {
    .name = "riverswim",
    .summary = "swim up a river: a chain where the good end is far and the current is strong",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .open = open_env,
    .close = lgv__tabular_close,
    .model = lgv__tabular_model,
    .reset = lgv__tabular_reset,
    .step = step,
    .observe = lgv__tabular_observe_one_hot,
    .state_index = lgv__tabular_state,
    .render = lgv__tabular_render_chain,
};
