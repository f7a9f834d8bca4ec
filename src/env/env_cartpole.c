/* Cart-pole: keep a pole upright on a cart by pushing the cart left or right. Barto, Sutton and
 * Anderson (1983), with the constants, limits and rewards of Gymnasium's CartPole-v1.
 *
 * Equations: Florian (2007), "Correct equations for the dynamics of the cart-pole system", without
 * friction; one explicit Euler step of 0.02 s. Every step pays 1, including the one that drops the
 * pole. The state is kept in double and observed in float, as in Gymnasium. */
#include "base/portable_math.h"
#include "env/classic.h"
#include "env/sketch.h"

#include <math.h>

enum { X, V, THETA, OMEGA, LENGTH };
enum { LEFT, RIGHT, ACTIONS };

static const double gravity = 9.8, cart_mass = 1, pole_mass = 0.1, half_length = 0.5, push = 10,
                    tau = 0.02, most_x = 2.4, degree = 3.14159265358979323846 / 180;

static const lgv_param param_table[] = LGV_CLASSIC_PARAM_TABLE("500");

/* An episode ends outside of the bounds that are finite. */
static const float lowest[LENGTH] = {-2.4f, -INFINITY, -0.2095f, -INFINITY},
                   highest[LENGTH] = {2.4f, INFINITY, 0.2095f, INFINITY};

static lgv_status spec(const void *params, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  *out = lgv__classic_spec(params, LENGTH, ACTIONS);
  out->reward_max = 1;
  out->obs_low = lowest;
  out->obs_high = highest;
  return LGV_OK;
}

static lgv_status reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  lgv__classic_reset(self, LENGTH, -0.05, 0.05, rng);
  return LGV_OK;
}

static lgv_status step(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)rng;
  (void)err;
  double *x = ((lgv_classic *)self)->x, total = cart_mass + pole_mass;
  double moment = pole_mass * half_length, force = action->choice == RIGHT ? push : -push;
  double c = lgv__cos(x[THETA]), s = lgv__sin(x[THETA]);
  double pushed = (force + moment * (x[OMEGA] * x[OMEGA]) * s) / total;
  double turn =
      (gravity * s - c * pushed) / (half_length * (4.0 / 3 - pole_mass * (c * c) / total));
  double slide = pushed - moment * turn * c / total;
  x[X] += tau * x[V];
  x[V] += tau * slide;
  x[THETA] += tau * x[OMEGA];
  x[OMEGA] += tau * turn;
  bool fallen = fabs(x[X]) > most_x || fabs(x[THETA]) > 12 * degree;
  lgv__classic_finish(self, 1, fallen, outcome);
  return LGV_OK;
}

static void observe(const void *self, void *data) {
  for (int i = 0; i < LENGTH; i++) ((float *)data)[i] = (float)((const lgv_classic *)self)->x[i];
}

/* The pole is drawn at three times its angle, because it falls at 12 degrees. */
static void render(const void *self, char *text, size_t size) {
  const double *x = ((const lgv_classic *)self)->x;
  double at = 0.5 + x[X] / (2 * most_x), lean = 3 * x[THETA];
  sketch s;
  lgv__sketch_clear(&s, 72, 9, ' ');
  lgv__sketch_line(&s, 0, 0.05, 1, 0.05, '-');
  lgv__sketch_line(&s, at, 0.2, at + 0.1 * lgv__sin(lean), 0.2 + 0.75 * lgv__cos(lean), '*');
  lgv__sketch_line(&s, at - 0.03, 0.15, at + 0.03, 0.15, '#');
  lgv__sketch_write(&s, text, size);
}

const lgv_env_type lgv__env_cartpole = {
    .name = "cartpole",
    .summary = "balance a pole on a cart (the dynamics of Gymnasium's CartPole-v1)",
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
