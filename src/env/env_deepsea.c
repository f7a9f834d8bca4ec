/* DeepSea: sink through an N x N grid; only one path of N moves to the right finds the treasure.
 * Osband et al. (2019, 2020): "Deep exploration via randomized value functions", and bsuite.
 *
 * Start (row 0, column 0); every step moves one row down, and one column right or left (clipped to
 * the grid). Right costs 0.01 / N. Right at column N - 1, which only the diagonal reaches, and only
 * on the last row, pays 1: the best return is 0.99, and a random policy finds it once in 2^N
 * episodes. For every cell, env.map_seed determines which of the two actions means right (as in
 * bsuite, which draws another mapping from the same seed); with env.randomize = false it is action
 * 1 everywhere.
 *
 * env.stochastic: right succeeds only with probability 1 - 1/N (and costs in any case), and the
 * last row adds N(0, 1) to the reward at columns 0 and N - 1. The model and the spec's reward range
 * hold mean rewards.
 *
 * The state is row * N + column; after the last step it stays that of the last cell. env.features
 * chooses what an agent sees of it:
 *   one-hot      the state as a one-hot vector; all zero after the last step, as in bsuite.
 *   pixels       the same numbers as an N x N picture. env.pixel_noise adds N(0, sd^2) to every
 *                pixel, anew for every observation (also the last one).
 *   coordinates  2 row / N - 1 and 2 column / N - 1; after the last step the row is N, so that the
 *                first number is 1, and the column that of the last cell.
 * Pixels and coordinates are dense, so that networks do not see the state's number; agents that
 * need states still do.
 *
 * Invariant: an observation is a function of the kept arrays, so that asking twice shows the same.
 * Therefore a step draws only the seed of its noise from the environment's stream.
 *
 * Counters: goal_visits counts the steps that collected the treasure; bad_episodes counts the
 * finished episodes that went left on the diagonal (bsuite's measure of not exploring). */
#include "base/arena.h"
#include "base/error.h"
#include "base/param.h"
#include "env/models/tabular.h"
#include "env/sketch.h"

#include <math.h>
#include <string.h>

enum { ACTIONS = 2, MOST_N = 500 };
enum { ONE_HOT, PIXELS, COORDINATES };

typedef struct params {
  int64_t n, map_seed;
  double pixel_noise;
  int32_t features;
  bool stochastic, randomize;
} params;

static const char *const feature_names[] = {"one-hot", "pixels", "coordinates", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_INT_ROW(params, n, "n", "10", 2, MOST_N, "rows, columns, and steps per episode"),
    LGV_BOOL_ROW(params, stochastic, "stochastic", "false", "whether right may fail and the ends of the last row pay noisy rewards"),
    LGV_BOOL_ROW(params, randomize, "randomize", "true", "whether the meaning of the two actions is drawn for every cell"),
    LGV_INT_ROW(params, map_seed, "map_seed", "42", 0, 0x1p53, "seed of that draw; independent of the run's seed"),
    LGV_CHOICE_ROW(params, features, "features", "one-hot", feature_names, "the observation: a one-hot vector over the cells, an n x n picture, or two numbers"),
    LGV_REAL_ROW(params, pixel_noise, "pixel_noise", "0", 0, 1e6, 0, "standard deviation of the Gaussian noise that every observation adds to its pixels"),
    {0},
};
/* clang-format on */

enum { GOAL_VISITS, BAD_EPISODES, IS_BAD, EVENTS_SIZE };

typedef struct self {
  lgv_tabular tabular;
  const params *p;
  int32_t *right;  /* (N x N) the action that moves right */
  int64_t *events; /* the counters, and [IS_BAD]: whether this episode has left the diagonal */
  uint64_t *look;  /* (1) the seed of the current observation's noise; NULL without noise */
} self;

static double move_cost(const params *p) { return 0.01 / (double)p->n; }

static lgv_status check_noise(const params *p, lgv_error *err) {
  if (p->features == PIXELS || p->pixel_noise == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "env.pixel_noise = %g needs pixels, but env.features is %s: set env.features = "
                  "pixels, or leave env.pixel_noise out",
                  p->pixel_noise, feature_names[p->features]);
}

static void describe_features(const params *p, lgv_env_spec *out) {
  if (p->features == ONE_HOT) return;
  bool picture = p->features == PIXELS;
  out->obs_form = LGV_FORM_DENSE;
  out->obs_shape[0] = picture ? (int32_t)p->n : 2;
  out->obs_shape[1] = picture ? (int32_t)p->n : 1;
}

static lgv_status spec(const void *p_, lgv_env_spec *out, lgv_error *err) {
  const params *p = p_;
  LGV_TRY(check_noise(p, err));
  *out = lgv__tabular_spec(p->n * p->n, ACTIONS, p->n, true);
  describe_features(p, out);
  out->clock_truncates = true; /* the sea has a floor: the task itself ends there */
  out->reward_min = -move_cost(p);
  out->reward_max = 1 - move_cost(p);
  return LGV_OK;
}

static const char *event_fault(const void *self_) {
  const int64_t *events = ((const self *)self_)->events;
  bool ok = lgv__are_counts(events, EVENTS_SIZE) && events[IS_BAD] <= 1;
  return ok ? NULL : "counter out of range";
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  self *s = self_;
  s->p = p;
  lgv__tabular_layout(self_, p, env, out);
  s->right = lgv_layout_array(out, "env.right", LGV_I32, (size_t)env->states, LGV_SCRATCH);
  s->events = lgv_layout_array(out, "env.events", LGV_I64, EVENTS_SIZE, LGV_KEEP);
  lgv_layout_check(out, event_fault, s);
  if (s->p->pixel_noise > 0) s->look = lgv_layout_array(out, "env.look", LGV_U64, 1, LGV_KEEP);
}

static lgv_status add_cell(self *s, int64_t row, int64_t column, lgv_error *err) {
  lgv_model *m = s->tabular.model;
  int64_t n = s->p->n, cell = row * n + column;
  int32_t right = s->right[cell];
  lgv_model_set_reward(m, 0, cell, right, (column == n - 1) - move_cost(s->p));
  if (row == n - 1) {
    LGV_TRY(lgv_model_add(m, 0, cell, right, LGV_END, 1, err));
    return lgv_model_add(m, 0, cell, !right, LGV_END, 1, err);
  }
  int64_t below = cell + n;
  double fails = s->p->stochastic ? 1 / (double)n : 0;
  LGV_TRY(lgv_model_add(m, 0, cell, right, column < n - 1 ? below + 1 : below, 1 - fails, err));
  LGV_TRY(lgv_model_add(m, 0, cell, right, below, fails, err));
  return lgv_model_add(m, 0, cell, !right, column > 0 ? below - 1 : below, 1, err);
}

static lgv_status build(self *s, lgv_error *err) {
  lgv_rng rng;
  lgv_rng_seed(&rng, (uint64_t)s->p->map_seed, "deepsea");
  for (int64_t row = 0; row < s->p->n; row++)
    for (int64_t column = 0; column < s->p->n; column++) {
      int32_t drawn = (int32_t)lgv_rng_below(&rng, ACTIONS);
      s->right[row * s->p->n + column] = s->p->randomize ? drawn : 1;
      LGV_TRY(add_cell(s, row, column, err));
    }
  lgv_model_set_start(s->tabular.model, 0, 1);
  return lgv_model_seal(s->tabular.model, err);
}

static lgv_status open_env(void *self_, lgv_env_spec *env, lgv_error *err) {
  self *s = self_;
  LGV_TRY(lgv_model_create(env->states, ACTIONS, env->horizon, true, &s->tabular.model, err));
  lgv_status status = build(s, err);
  if (status != LGV_OK) lgv__tabular_close(self_);
  return status;
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  self *s = self_;
  s->events[IS_BAD] = 0;
  LGV_TRY(lgv__tabular_reset(self_, rng, err));
  if (s->look) *s->look = lgv_rng_bits(rng);
  return LGV_OK;
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  self *s = self_;
  int64_t n = s->p->n, cell = s->tabular.at[LGV_AT_STATE], row = cell / n, column = cell % n;
  bool right = action->choice == s->right[cell];
  LGV_TRY(lgv__tabular_step(self_, action, rng, outcome, err));
  bool at_end = row == n - 1 && (column == 0 || column == n - 1);
  if (s->p->stochastic && at_end) outcome->reward += lgv_rng_normal(rng);
  if (right && column == n - 1) s->events[GOAL_VISITS]++;
  if (!right && row == column) s->events[IS_BAD] = 1;
  if (outcome->terminated) s->events[BAD_EPISODES] += s->events[IS_BAD];
  if (s->look) *s->look = lgv_rng_bits(rng);
  return LGV_OK;
}

static void show_cell(const self *s, float *data) {
  if (s->tabular.at[LGV_AT_STAGE] < s->p->n)
    lgv__tabular_observe_one_hot(s, data);
  else
    memset(data, 0, (size_t)(s->p->n * s->p->n) * sizeof(float));
}

static void add_noise(const self *s, float *data) {
  int64_t n = s->p->n;
  double noise[MOST_N];
  lgv_rng rng;
  lgv_rng_seed(&rng, *s->look, "deepsea.look");
  for (int64_t row = 0; row < n; row++, data += n) {
    lgv_rng_normals(&rng, noise, (size_t)n);
    for (int64_t i = 0; i < n; i++) data[i] += (float)(s->p->pixel_noise * noise[i]);
  }
}

/* The stage is the row, also below the grid. */
static void show_coordinates(const self *s, float *data) {
  double n = (double)s->p->n, row = (double)s->tabular.at[LGV_AT_STAGE];
  double column = (double)(s->tabular.at[LGV_AT_STATE] % s->p->n);
  data[0] = (float)(2 * row / n - 1);
  data[1] = (float)(2 * column / n - 1);
}

static void observe(const void *self_, void *data) {
  const self *s = self_;
  if (s->p->features == COORDINATES) {
    show_coordinates(s, data);
    return;
  }
  show_cell(s, data);
  if (s->look) add_noise(s, data);
}

/* Two characters per cell; grids larger than the sketch are scaled down. */
static void render(const void *self_, char *text, size_t size) {
  const self *s = self_;
  int64_t cell = s->tabular.at[LGV_AT_STATE];
  int n = s->p->n < SKETCH_MOST_HEIGHT ? (int)s->p->n : SKETCH_MOST_HEIGHT;
  double row = ((double)(cell / s->p->n) + 0.5) / (double)s->p->n;
  double column = ((double)(cell % s->p->n) + 0.5) / (double)s->p->n;
  sketch out;
  lgv__sketch_clear(&out, 2 * n, n, ' ');
  for (int i = 0; i < n * n; i++)
    lgv__sketch_point(&out, (2 * (i % n) + 0.5) / (2 * n), 1 - (i / n + 0.5) / n, '.');
  lgv__sketch_point(&out, (2 * floor(column * n) + 0.5) / (2 * n), 1 - row, 'O');
  lgv__sketch_write(&out, text, size);
}

static const char *const counter_names[] = {"goal_visits", "bad_episodes", NULL};

static void counters(const void *self_, int64_t *values) {
  const self *s = self_;
  values[0] = s->events[GOAL_VISITS];
  values[1] = s->events[BAD_EPISODES];
}

const lgv_env_type lgv__env_deepsea = {
    .name = "deepsea",
    .summary = "sink through a grid: one path among 2^n finds the treasure, and it costs to try",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .open = open_env,
    .close = lgv__tabular_close,
    .model = lgv__tabular_model,
    .reset = reset,
    .step = step,
    .observe = observe,
    .state_index = lgv__tabular_state,
    .render = render,
    .counter_names = counter_names,
    .counters = counters,
};
