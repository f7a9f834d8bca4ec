/* Acrobot: swing the foot of a two-link pendulum above a bar, with torque at the middle joint only.
 * Sutton (1996); Sutton and Barto (1998), whose equations ("book") and the constants, limits and
 * rewards of Gymnasium's Acrobot-v1 are used.
 *
 * Links of length 1, mass 1, inertia 1, centre of mass at 0.5; one fourth-order Runge-Kutta step of
 * 0.2 s; angles are wrapped to [-pi, pi] and speeds bounded. Every step pays -1 except the last,
 * which pays 0. The state is kept in double; the initial state is rounded to float, as in
 * Gymnasium. The pendulum is chaotic: the last bit of a square matters within an episode. */
#include "base/portable_math.h"
#include "env/classic.h"
#include "env/sketch.h"

#include <math.h>

enum { THETA1, THETA2, OMEGA1, OMEGA2, STATE };
enum { ACTIONS = 3 }; /* torque -1, 0, 1 */
enum { LENGTH = 6 };  /* cos, sin of both angles; both speeds */

static const double pi = 3.14159265358979323846, gravity = 9.8, centre = 0.5, inertia = 1, dt = 0.2;

static const lgv_param param_table[] = LGV_CLASSIC_PARAM_TABLE("500");

/* Cosines and sines; speeds are cut at 4 pi and 9 pi. */
static const float lowest[LENGTH] = {-1, -1, -1, -1, -12.566371f, -28.274334f},
                   highest[LENGTH] = {1, 1, 1, 1, 12.566371f, 28.274334f};

static lgv_status spec(const void *params, lgv_env_spec *out, lgv_error *err) {
  (void)err;
  *out = lgv__classic_spec(params, LENGTH, ACTIONS);
  out->reward_min = -1;
  out->obs_low = lowest;
  out->obs_high = highest;
  return LGV_OK;
}

static lgv_status reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  lgv__classic_reset(self, STATE, -0.1, 0.1, rng);
  for (int i = 0; i < STATE; i++) ((lgv_classic *)self)->x[i] = (float)((lgv_classic *)self)->x[i];
  return LGV_OK;
}

/* dx/dt under a constant torque, with every sum in Gymnasium's order; link lengths and masses are 1
 * and omitted. */
static void slope(const double *x, double torque, double *out) {
  double c2 = lgv__cos(x[THETA2]), s2 = lgv__sin(x[THETA2]), w1 = x[OMEGA1], w2 = x[OMEGA2];
  double d1 = centre * centre + (1 + centre * centre + 2 * centre * c2) + inertia + inertia;
  double d2 = centre * centre + centre * c2 + inertia;
  double phi2 = centre * gravity * lgv__cos(x[THETA1] + x[THETA2] - pi / 2);
  double phi1 = -centre * lgv__classic_square(w2) * s2 - 2 * centre * w2 * w1 * s2 +
                (centre + 1) * gravity * lgv__cos(x[THETA1] - pi / 2) + phi2;
  out[OMEGA2] = (torque + d2 / d1 * phi1 - centre * lgv__classic_square(w1) * s2 - phi2) /
                (centre * centre + inertia - lgv__classic_square(d2) / d1);
  out[OMEGA1] = -(d2 * out[OMEGA2] + phi1) / d1;
  out[THETA1] = w1;
  out[THETA2] = w2;
}

static void add(const double *x, double scale, const double *y, double *out) {
  for (int i = 0; i < STATE; i++) out[i] = x[i] + scale * y[i];
}

static void runge_kutta(double *x, double torque) {
  double k1[STATE], k2[STATE], k3[STATE], k4[STATE], at[STATE];
  slope(x, torque, k1);
  add(x, dt / 2, k1, at);
  slope(at, torque, k2);
  add(x, dt / 2, k2, at);
  slope(at, torque, k3);
  add(x, dt, k3, at);
  slope(at, torque, k4);
  for (int i = 0; i < STATE; i++) x[i] += dt / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

/* Subtracts turn by turn, for the same bits as Gymnasium. Huge angles, which only a forged state
 * has, are wrapped at once: there a turn is below the rounding error. */
static double wrap(double angle) {
  if (!(fabs(angle) < 1e3)) angle = remainder(angle, 2 * pi);
  while (angle > pi) angle -= 2 * pi;
  while (angle < -pi) angle += 2 * pi;
  return angle;
}

static double bound(double speed, double most) { return fmin(fmax(speed, -most), most); }

static lgv_status step(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)rng;
  (void)err;
  double *x = ((lgv_classic *)self)->x;
  runge_kutta(x, action->choice - 1);
  x[THETA1] = wrap(x[THETA1]);
  x[THETA2] = wrap(x[THETA2]);
  x[OMEGA1] = bound(x[OMEGA1], 4 * pi);
  x[OMEGA2] = bound(x[OMEGA2], 9 * pi);
  bool above = -lgv__cos(x[THETA1]) - lgv__cos(x[THETA2] + x[THETA1]) > 1;
  lgv__classic_finish(self, above ? 0 : -1, above, outcome);
  return LGV_OK;
}

static void observe(const void *self, void *data) {
  const double *x = ((const lgv_classic *)self)->x;
  float *obs = data;
  obs[0] = (float)lgv__cos(x[THETA1]);
  obs[1] = (float)lgv__sin(x[THETA1]);
  obs[2] = (float)lgv__cos(x[THETA2]);
  obs[3] = (float)lgv__sin(x[THETA2]);
  obs[4] = (float)x[OMEGA1];
  obs[5] = (float)x[OMEGA2];
}

/* The foot must reach the bar one link above the joint; a character is twice as high as wide. */
static void render(const void *self, char *text, size_t size) {
  const double *x = ((const lgv_classic *)self)->x, scale = 0.5 / 2.2;
  double knee_x = lgv__sin(x[THETA1]), knee_y = -lgv__cos(x[THETA1]);
  double foot_x = knee_x + lgv__sin(x[THETA1] + x[THETA2]);
  double foot_y = knee_y - lgv__cos(x[THETA1] + x[THETA2]);
  sketch s;
  lgv__sketch_clear(&s, 44, 22, ' ');
  lgv__sketch_line(&s, 0, 0.5 + scale, 1, 0.5 + scale, '-');
  lgv__sketch_line(&s, 0.5, 0.5, 0.5 + scale * knee_x, 0.5 + scale * knee_y, '*');
  lgv__sketch_line(&s, 0.5 + scale * knee_x, 0.5 + scale * knee_y, 0.5 + scale * foot_x,
                   0.5 + scale * foot_y, '+');
  lgv__sketch_point(&s, 0.5, 0.5, 'O');
  lgv__sketch_write(&s, text, size);
}

const lgv_env_type lgv__env_acrobot = {
    .name = "acrobot",
    .summary = "swing a two-link pendulum above a bar (the dynamics of Gymnasium's Acrobot-v1)",
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
