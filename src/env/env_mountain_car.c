/* Mountain car: a car that is too weak for the hill must swing up. Moore (1990), Sutton (1996),
 * with the constants, limits and rewards of Gymnasium's MountainCar-v0.
 *
 * Every step pays -1, including the one that reaches the flag, so that a return is minus the number
 * of steps. The left wall is inelastic. The state is kept in double and observed in float, as in
 * Gymnasium. */
#include "env/classic.h"
#include "env/sketch.h"

#include <math.h>

enum { POSITION, VELOCITY, LENGTH };
enum { ACTIONS = 3 }; /* push left, coast, push right */

static const double most_left = -1.2, most_right = 0.6, most_speed = 0.07, flag = 0.5, push = 0.001,
                    gravity = 0.0025;

static const lgv_param param_table[] = LGV_CLASSIC_PARAM_TABLE("200");

static lgv_status spec(const void *params, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  *out = lgv__classic_spec(params, LENGTH, ACTIONS);
  out->reward_min = -1;
  return LGV_OK;
}

static lgv_status reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  lgv__classic_reset(self, 1, -0.6, -0.4, rng);
  ((lgv_classic *)self)->x[VELOCITY] = 0;
  return LGV_OK;
}

static double clip(double x, double low, double high) { return fmin(fmax(x, low), high); }

static lgv_status step(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)rng;
  (void)err;
  double *x = ((lgv_classic *)self)->x;
  double velocity = x[VELOCITY] + ((action->choice - 1) * push - cos(3 * x[POSITION]) * gravity);
  velocity = clip(velocity, -most_speed, most_speed);
  x[POSITION] = clip(x[POSITION] + velocity, most_left, most_right);
  x[VELOCITY] = x[POSITION] == most_left && velocity < 0 ? 0 : velocity;
  lgv__classic_finish(self, -1, x[POSITION] >= flag && x[VELOCITY] >= 0, outcome);
  return LGV_OK;
}

static void observe(const void *self, void *data) {
  for (int i = 0; i < LENGTH; i++) ((float *)data)[i] = (float)((const lgv_classic *)self)->x[i];
}

static double across(double position) { return (position - most_left) / (most_right - most_left); }

static double height_at(double position) { return 0.1 + 0.4 * (sin(3 * position) + 1); }

static void render(const void *self, char *text, size_t size) {
  double at = ((const lgv_classic *)self)->x[POSITION];
  enum { WIDTH = 72 };
  sketch s;
  lgv__sketch_clear(&s, WIDTH, 15, ' ');
  for (int i = 0; i < WIDTH; i++) {
    double position = most_left + (most_right - most_left) * (i + 0.5) / WIDTH;
    lgv__sketch_point(&s, (i + 0.5) / WIDTH, height_at(position) - 0.07, '.');
  }
  lgv__sketch_point(&s, across(flag), height_at(flag) + 0.07, 'P');
  lgv__sketch_point(&s, across(at), height_at(at), 'O');
  lgv__sketch_write(&s, text, size);
}

const lgv_env_type lgv__env_mountain_car = {
    .name = "mountain-car",
    .summary = "swing a weak car up a hill (the dynamics of Gymnasium's MountainCar-v0)",
    .params = param_table,
    .params_size = sizeof(lgv_classic_params),
    .state_size = sizeof(lgv_classic),
    .spec = spec,
    .layout = lgv__classic_layout,
    .reset = reset,
    .step = step,
    .observe = observe,
    .render = render,
};
