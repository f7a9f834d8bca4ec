/* Pendulum: swing a pole up with a torque too weak to lift it directly, and hold it there. The
 * dynamics, limits and costs are those of Gymnasium's Pendulum-v1.
 *
 * A step adds the acceleration to the speed, bounds the speed at 8, and then moves the angle (a
 * semi-implicit Euler step of 0.05 s). An angle of 0 is upright; the state counts turns, the
 * observation (cos, sin, speed) does not. Nothing ends an episode but its clock. The state is kept
 * in double; the torque is a float, and products of it alone are rounded to float, as in Gymnasium.
 *
 * env.torques = 0 makes an action a box of one torque in [-2, 2], as in Gymnasium; N >= 2 makes it
 * a choice of N torques, evenly spaced over the same range: 3 means -2, 0 and 2.
 *
 * env.reward = shaped pays minus Gymnasium's cost. env.reward = goal is a task of our own: a step
 * pays 1 if it ends within 8 degrees of upright (the angle of dm_control's swing-up) at a speed of
 * at most 1, else 0. Such an episode starts at rest near the bottom, so that nothing is paid before
 * a swing-up. */
#include "base/portable_math.h"
#include "env/classic.h"
#include "env/sketch.h"

#include <math.h>

enum { THETA, OMEGA, STATE };
enum { LENGTH = 3 }; /* cos, sin, speed */
enum { SHAPED, GOAL };

static const double pi = 3.14159265358979323846, dt = 0.05, most_speed = 8, slow = 1;
static const float most_torque = 2;

typedef struct params {
  lgv_classic_params classic;
  int64_t torques;
  int32_t reward;
} params;

static const char *const reward_names[] = {"shaped", "goal", NULL};

/* clang-format off */
static const lgv_param param_table[] = {
    LGV_CLASSIC_HORIZON_ROW("200"),
    LGV_INT_ROW(params, torques, "torques", "0", 0, 1001, "0: an action is any torque in [-2, 2]; N from 2 on: a choice of N torques, evenly spaced"),
    LGV_CHOICE_ROW(params, reward, "reward", "shaped", reward_names, "shaped: minus the cost of angle, speed and torque; goal: 1 per step that ends upright and slow, else 0, from a start at the bottom"),
    {0},
};
/* clang-format on */

typedef struct self {
  lgv_classic classic;
  const params *p;
} self;

static const float lowest[LENGTH] = {-1, -1, -8}, highest[LENGTH] = {1, 1, 8};

static lgv_status spec(const void *params_, lgv_env_spec *out, lgv_error *err) {
  const params *p = params_;
  float low = -most_torque;
  if (p->torques == 1)
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "env.torques = 1 leaves nothing to choose: set 0 for any torque, or at least 2");
  *out = lgv__classic_spec(p, LENGTH, (int32_t)p->torques);
  out->obs_low = lowest;
  out->obs_high = highest;
  if (p->torques == 0) out->actions = lgv_box(1, &low, &most_torque);
  double most_cost = pi * pi + 0.1 * most_speed * most_speed + 0.001 * most_torque * most_torque;
  out->reward_min = p->reward == GOAL ? 0 : -most_cost;
  out->reward_max = p->reward == GOAL ? 1 : 0;
  return LGV_OK;
}

static void layout(void *self_, const void *p, const lgv_env_spec *env, lgv_layout *out) {
  ((self *)self_)->p = p;
  lgv__classic_layout(self_, p, env, out);
}

static lgv_status reset(void *self_, lgv_rng *rng, lgv_error *err) {
  (void)err;
  self *s = self_;
  double *x = s->classic.x;
  bool bottom = s->p->reward == GOAL;
  lgv__classic_reset(&s->classic, STATE, -1, 1, rng);
  x[THETA] = bottom ? pi + 0.1 * x[THETA] : pi * x[THETA];
  x[OMEGA] = bottom ? 0.1 * x[OMEGA] : x[OMEGA];
  return LGV_OK;
}

static float torque_of(const params *p, const lgv_action *action) {
  if (p->torques == 0) return action->values[0];
  double part = (double)action->choice / (double)(p->torques - 1);
  return (float)(most_torque * (2 * part - 1));
}

/* The angle in [-pi, pi). */
static double wrap(double angle) {
  double turn = fmod(angle + pi, 2 * pi);
  return (turn < 0 ? turn + 2 * pi : turn) - pi;
}

/* By powf(), for the same bits as Gymnasium: see lgv__classic_square. */
static float square(float x) {
  static volatile const float two = 2;
  return lgv__powf(x, two);
}

/* The cost of a step: of the state before it, and of its torque. */
static double cost(const double *x, float torque) {
  double still = lgv__classic_square(wrap(x[THETA])) + 0.1 * lgv__classic_square(x[OMEGA]);
  return still + (float)((double)0.001f * square(torque));
}

static bool is_up(const double *x) {
  return lgv__cos(x[THETA]) >= lgv__cos(8 * pi / 180) && fabs(x[OMEGA]) <= slow;
}

static lgv_status step(void *self_, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)rng;
  (void)err;
  self *s = self_;
  double *x = s->classic.x;
  float torque = torque_of(s->p, action);
  double shaped = -cost(x, torque);
  double speed = x[OMEGA] + (15 * lgv__sin(x[THETA]) + (float)(3.0 * torque)) * dt;
  x[OMEGA] = fmin(fmax(speed, -most_speed), most_speed);
  x[THETA] += x[OMEGA] * dt;
  lgv__classic_finish(&s->classic, s->p->reward == GOAL ? is_up(x) : shaped, false, outcome);
  return LGV_OK;
}

static void observe(const void *self_, void *data) {
  const double *x = ((const lgv_classic *)self_)->x;
  float *obs = data;
  obs[0] = (float)lgv__cos(x[THETA]);
  obs[1] = (float)lgv__sin(x[THETA]);
  obs[2] = (float)x[OMEGA];
}

/* A character is twice as high as wide. */
static void render(const void *self_, char *text, size_t size) {
  double angle = ((const lgv_classic *)self_)->x[THETA], x = 0.5, y = 0.5;
  sketch s;
  lgv__sketch_clear(&s, 40, 19, ' ');
  lgv__sketch_line(&s, x, y, x - 0.45 * lgv__sin(angle), y + 0.45 * lgv__cos(angle), '*');
  lgv__sketch_point(&s, x, y, '+');
  lgv__sketch_write(&s, text, size);
}

const lgv_env_type lgv__env_pendulum = {
    .name = "pendulum",
    .summary = "swing a pole up and hold it (the dynamics of Gymnasium's Pendulum-v1)",
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
