/* N-Chain: walk right for N - 2 steps, or settle for a small reward on the left. Osband et al.
 * (2016), "Deep exploration via bootstrapped DQN", section on deep exploration.
 *
 * States s_1..s_N, start s_2, deterministic moves. The reward depends on the state before the move:
 * 1 for right at s_N, 0.001 for left at s_1, else 0. An episode has N + 8 actions, so that always
 * going right returns exactly (N + 8) - (N - 2) = 10 and always going left 0.001 (N + 7). Texts
 * that state "N + 9 steps" and an optimal return of 10 count time points; with N + 9 actions the
 * return would be 11.
 *
 * The observation does not include the time. By default the end of the episode is reported as
 * termination, as in the published code; env.time_limit = truncated lets the last state keep its
 * value instead.
 *
 * env.scramble draws, for every state, which of the two actions means right. Without it, a network
 * that prefers one action everywhere walks to the end without exploring; with it, the network must
 * learn every state.
 *
 * The counter goal_visits counts the steps with reward 1. */
#include "base/arena.h"
#include "base/error.h"
#include "base/param.h"
#include "env/models/tabular.h"

enum { LEFT, RIGHT, ACTIONS };
enum { THERMOMETER, ONE_HOT };
enum { TERMINATED, TRUNCATED };

typedef struct params {
  int64_t n, map_seed;
  int32_t features, time_limit;
  bool scramble;
} params;

static const char *const feature_names[] = {"thermometer", "one-hot", NULL};
static const char *const time_limits[] = {"terminated", "truncated", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_INT_ROW(params, n, "n", "50", 2, 1e4, "number of states; an episode has n + 8 steps"),
    LGV_CHOICE_ROW(params, features, "features", "thermometer", feature_names, "the observation at s_i: ones up to i, or a single one at i"),
    LGV_CHOICE_ROW(params, time_limit, "time_limit", "terminated", time_limits, "how the end of the episode is reported"),
    LGV_BOOL_ROW(params, scramble, "scramble", "false", "whether the meaning of the two actions is drawn for every state"),
    LGV_INT_ROW(params, map_seed, "map_seed", "0", 0, 0x1p53, "seed of that draw; independent of the run's seed"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_tabular tabular;
  const params *p;
  int32_t *right;       /* (N) the action that moves right */
  int64_t *goal_visits; /* (1) */
} self;

static lgv_status spec(const void *p_, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  const params *p = p_;
  *out = lgv__tabular_spec(p->n, ACTIONS, p->n + 8, true);
  out->clock_truncates = p->time_limit == TRUNCATED;
  if (p->features == THERMOMETER) out->obs_form = LGV_FORM_THERMOMETER;
  return LGV_OK;
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  self *s = self_;
  s->p = p;
  lgv__tabular_layout(self_, p, env, out);
  s->right = lgv_layout_array(out, "env.right", LGV_I32, (size_t)env->states, LGV_SCRATCH);
  s->goal_visits = lgv_layout_array(out, "env.goal_visits", LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(out, lgv__counter_fault, s->goal_visits);
}

static lgv_status build(self *s, lgv_error *err) {
  lgv_model *m = s->tabular.model;
  int64_t n = s->p->n;
  lgv_rng rng;
  lgv_rng_seed(&rng, (uint64_t)s->p->map_seed, "nchain");
  for (int64_t i = 0; i < n; i++) {
    s->right[i] = s->p->scramble ? (int32_t)lgv_rng_below(&rng, ACTIONS) : RIGHT;
    LGV_TRY(lgv_model_add(m, 0, i, s->right[i], i < n - 1 ? i + 1 : i, 1, err));
    LGV_TRY(lgv_model_add(m, 0, i, !s->right[i], i > 0 ? i - 1 : 0, 1, err));
  }
  lgv_model_set_reward(m, 0, 0, !s->right[0], 0.001);
  lgv_model_set_reward(m, 0, n - 1, s->right[n - 1], 1);
  lgv_model_set_start(m, 1, 1);
  return lgv_model_seal(m, err);
}

static lgv_status open_env(void *self_, lgv_env_spec *env, lgv_error *err) {
  self *s = self_;
  LGV_TRY(lgv_model_create(env->states, ACTIONS, env->horizon, true, &s->tabular.model, err));
  lgv_status status = build(s, err);
  if (status != LGV_OK) lgv__tabular_close(self_);
  return status;
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  self *s = self_;
  LGV_TRY(lgv__tabular_step(self_, action, rng, outcome, err));
  *s->goal_visits += outcome->reward == 1;
  return LGV_OK;
}

static void observe(const void *self_, void *data) {
  const self *s = self_;
  if (s->p->features == ONE_HOT) {
    lgv__tabular_observe_one_hot(self_, data);
    return;
  }
  float *obs = data;
  for (int64_t i = 0; i < s->p->n; i++) obs[i] = i <= s->tabular.at[LGV_AT_STATE] ? 1 : 0;
}

static const char *const counter_names[] = {"goal_visits", NULL};

static void counters(const void *self_, int64_t *values) {
  values[0] = *((const self *)self_)->goal_visits;
}

const lgv_env_type lgv__env_nchain = {
    .name = "nchain",
    .summary = "a chain whose far end pays a thousand times more than the near one",
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
    .observe = observe,
    .state_index = lgv__tabular_state,
    .render = lgv__tabular_render_chain,
    .counter_names = counter_names,
    .counters = counters,
};
