/* Mountain car: a car that is too weak for the hill must swing up. Moore (1990), Sutton (1996),
 * with the constants, limits and rewards of Gymnasium's MountainCar-v0.
 *
 * Every step pays -1, including the one that reaches the flag, so that a return is minus the number
 * of steps. With env.reward = goal, the step that reaches the flag pays 1 and every other step 0:
 * nothing leads to the flag but exploration. The left wall is inelastic. The state is kept in
 * double and observed in float, as in Gymnasium.
 *
 * mountain-car-continuous is Gymnasium's MountainCarContinuous-v0: the same hill, a push in [-1, 1]
 * that is half as strong again, a flag at 0.45, and a state that a step rounds to float. Reaching
 * the flag pays 100, and every step costs 0.1 times the square of its push. env.reward = goal is as
 * above: pushes cost nothing. */
#include "base/portable_math.h"
#include "env/classic.h"
#include "env/sketch.h"

#include <math.h>

enum { POSITION, VELOCITY, LENGTH };
enum { ACTIONS = 3 }; /* push left, coast, push right */

static const double most_left = -1.2, most_right = 0.6, most_speed = 0.07, flag = 0.5,
                    continuous_flag = 0.45, push = 0.001, continuous_push = 0.0015,
                    gravity = 0.0025;

enum { STEP, GOAL, SHAPED = STEP };

typedef struct params {
  lgv_classic_params classic;
  int32_t reward;
} params;

static const char *const reward_names[] = {"step", "goal", NULL};
static const char *const continuous_reward_names[] = {"shaped", "goal", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_CLASSIC_HORIZON_ROW("200"),
    LGV_CHOICE_ROW(params, reward, "reward", "step", reward_names, "step: every step pays -1; goal: reaching the flag pays 1, all else 0"),
    {0},
};

static const lgv_param continuous_param_table[] = {
    LGV_CLASSIC_HORIZON_ROW("999"),
    LGV_CHOICE_ROW(params, reward, "reward", "shaped", continuous_reward_names, "shaped: the flag pays 100, pushes cost; goal: reaching the flag pays 1, all else 0"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_classic classic;
  const params *p;
} self;

static const float lowest[LENGTH] = {-1.2f, -0.07f}, highest[LENGTH] = {0.6f, 0.07f};

static lgv_status spec(const void *p, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  bool goal = ((const params *)p)->reward == GOAL;
  *out = lgv__classic_spec(p, LENGTH, ACTIONS);
  out->obs_low = lowest;
  out->obs_high = highest;
  out->reward_min = goal ? 0 : -1;
  out->reward_max = goal ? 1 : 0;
  return LGV_OK;
}

static lgv_status continuous_spec(const void *p, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  const float low = -1, high = 1;
  bool goal = ((const params *)p)->reward == GOAL;
  *out = lgv__classic_spec(p, LENGTH, 0);
  out->actions = lgv_box(1, &low, &high);
  out->obs_low = lowest;
  out->obs_high = highest;
  out->reward_min = goal ? 0 : -0.1;
  out->reward_max = goal ? 1 : 100;
  return LGV_OK;
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  ((self *)self_)->p = p;
  lgv__classic_layout(self_, p, env, out);
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  (void)err;
  lgv_classic *c = self_;
  lgv__classic_reset(c, 1, -0.6, -0.4, rng);
  c->x[VELOCITY] = 0;
  return LGV_OK;
}

static double clip(double x, double low, double high) { return fmin(fmax(x, low), high); }

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)rng;
  (void)err;
  self *s = self_;
  double *x = s->classic.x;
  double velocity =
      x[VELOCITY] + ((action->choice - 1) * push - lgv__cos(3 * x[POSITION]) * gravity);
  velocity = clip(velocity, -most_speed, most_speed);
  x[POSITION] = clip(x[POSITION] + velocity, most_left, most_right);
  x[VELOCITY] = x[POSITION] == most_left && velocity < 0 ? 0 : velocity;
  bool at_flag = x[POSITION] >= flag && x[VELOCITY] >= 0;
  lgv__classic_finish(&s->classic, s->p->reward == STEP ? -1 : at_flag, at_flag, outcome);
  return LGV_OK;
}

/* Numbers are rounded to float where NumPy does so: everything but the cosine, and the position of
 * the first step, which is still a double. */
static lgv_status continuous_step(void *self_, const lgv_action *action, lgv_rng *rng,
                                  lgv_outcome *outcome, lgv_error *err) {
  (void)rng;
  (void)err;
  self *s = self_;
  double *x = s->classic.x, force = action->values[0];
  double angle = *s->classic.clock ? (float)(3 * x[POSITION]) : 3 * x[POSITION];
  float pushed = (float)(force * (float)continuous_push),
        pulled = (float)(gravity * lgv__cos(angle));
  float velocity = (float)(x[VELOCITY] + (float)((double)pushed - pulled));
  velocity = (float)clip(velocity, -(float)most_speed, (float)most_speed);
  float position = (float)(x[POSITION] + velocity);
  x[POSITION] = clip(position, (float)most_left, (float)most_right);
  x[VELOCITY] = x[POSITION] == (float)most_left && velocity < 0 ? 0 : velocity;
  bool at_flag = x[POSITION] >= (float)continuous_flag && x[VELOCITY] >= 0;
  double shaped = (at_flag ? 100 : 0) - force * force * 0.1;
  lgv__classic_finish(&s->classic, s->p->reward == SHAPED ? shaped : at_flag, at_flag, outcome);
  return LGV_OK;
}

static void observe(const void *self_, void *data) {
  for (int i = 0; i < LENGTH; i++) ((float *)data)[i] = (float)((const lgv_classic *)self_)->x[i];
}

static double across(double position) { return (position - most_left) / (most_right - most_left); }

static double height_at(double position) { return 0.1 + 0.4 * (lgv__sin(3 * position) + 1); }

static void draw(const void *self_, double flag_at, char *text, size_t size) {
  double at = ((const lgv_classic *)self_)->x[POSITION];
  enum { WIDTH = 72 };
  sketch s;
  lgv__sketch_clear(&s, WIDTH, 15, ' ');
  for (int i = 0; i < WIDTH; i++) {
    double position = most_left + (most_right - most_left) * (i + 0.5) / WIDTH;
    lgv__sketch_point(&s, (i + 0.5) / WIDTH, height_at(position) - 0.07, '.');
  }
  lgv__sketch_point(&s, across(flag_at), height_at(flag_at) + 0.07, 'P');
  lgv__sketch_point(&s, across(at), height_at(at), 'O');
  lgv__sketch_write(&s, text, size);
}

static void render(const void *self_, char *text, size_t size) { draw(self_, flag, text, size); }

static void continuous_render(const void *self_, char *text, size_t size) {
  draw(self_, continuous_flag, text, size);
}

const lgv_env_type lgv__env_mountain_car = {
    .name = "mountain-car",
    .summary = "swing a weak car up a hill (the dynamics of Gymnasium's MountainCar-v0)",
    .params = param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = spec,
    .layout = layout,
    .reset = reset,
    .step = step,
    .observe = observe,
    .render = render,
};

const lgv_env_type lgv__env_mountain_car_continuous = {
    .name = "mountain-car-continuous",
    .summary = "the same with a push of any strength (Gymnasium's MountainCarContinuous-v0)",
    .params = continuous_param_table,
    .params_size = sizeof(params),
    .state_size = sizeof(self),
    .spec = continuous_spec,
    .layout = layout,
    .reset = reset,
    .step = continuous_step,
    .observe = observe,
    .render = continuous_render,
};
