/* The squashed Gaussian against its closed form, its integral, and differences. */
#include "agent/continuous/tanh_gaussian.h"

#include "math/kernels.h"
#include "run_helpers.h"

#include <math.h>

enum { ROWS = 40, PARTS = 3, NUMBERS = ROWS * PARTS };

typedef struct rig {
  float xi[NUMBERS], sigma[NUMBERS], action[NUMBERS], room[NUMBERS], log_pi[ROWS];
  float outputs[2 * NUMBERS], d_action[NUMBERS], d_outputs[2 * NUMBERS];
  tanh_gaussian g;
} rig;

static void open_rig(rig *r, double spread) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "test");
  r->g = (tanh_gaussian){.parts = PARTS,
                         .least = -20,
                         .most = 2,
                         .xi = r->xi,
                         .sigma = r->sigma,
                         .action = r->action,
                         .room = r->room,
                         .log_pi = r->log_pi};
  for (int i = 0; i < NUMBERS; i++) r->xi[i] = (float)lgv_rng_normal(&rng);
  for (int i = 0; i < 2 * NUMBERS; i++) r->outputs[i] = (float)(spread * lgv_rng_normal(&rng));
  for (int i = 0; i < NUMBERS; i++) r->d_action[i] = (float)lgv_rng_normal(&rng);
}

static double clamped(double l) { return fmin(fmax(l, -20), 2); }

/* In double, as the head of tanh_gaussian.h has it. */
static double slow_log_pi(const rig *r, int row, double *action) {
  double sum = 0;
  for (int p = 0; p < PARTS; p++) {
    int at = row * PARTS + p;
    double m = (double)r->outputs[row * 2 * PARTS + p];
    double l = clamped((double)r->outputs[row * 2 * PARTS + PARTS + p]), xi = (double)r->xi[at];
    double a = tanh(m + exp(l) * xi);
    sum += -xi * xi / 2 - l - log(2 * acos(-1)) / 2 - log(1 - a * a + 1e-6);
    if (action) action[p] = a;
  }
  return sum;
}

static void samples_have_the_closed_form(void **state) {
  (void)state;
  rig r;
  for (double spread = 0.5; spread < 5; spread *= 3) {
    open_rig(&r, spread);
    lgv__tanh_gaussian_sample(&r.g, ROWS, r.outputs);
    for (int i = 0; i < ROWS; i++) {
      double a[PARTS], want = slow_log_pi(&r, i, a);
      /* near the bounds, 1 - a^2 is exact here and the library's without cancellation */
      assert_true(fabs((double)r.log_pi[i] - want) < 2e-5 * (1 + fabs(want)));
      for (int p = 0; p < PARTS; p++) {
        float found = r.action[i * PARTS + p];
        assert_true(fabs((double)found - a[p]) < 3e-7 && fabsf(found) <= 1);
        assert_true(fabs((double)r.room[i * PARTS + p] - (1 - a[p] * a[p])) < 5e-7);
      }
    }
  }
  lgv__kernels_use(lgv__kernels_portable()); /* other elementary functions */
  lgv__tanh_gaussian_sample(&r.g, ROWS, r.outputs);
  assert_true(fabs((double)r.log_pi[0] - slow_log_pi(&r, 0, NULL)) < 1e-4);
  lgv__kernels_use(NULL);
}

/* The density of one part integrates to 1: over u, exp(log pi) da = exp(log pi) (1 - a^2) du. */
static void the_density_integrates_to_one(void **state) {
  (void)state;
  enum { POINTS = 4000 };
  static float xi[POINTS], sigma[POINTS], action[POINTS], room[POINTS], log_pi[POINTS],
      outputs[2 * POINTS];
  tanh_gaussian g = {1, -20, 2, xi, sigma, action, room, log_pi};
  double sum = 0, step = 16.0 / POINTS, width = exp(-0.7);
  for (int i = 0; i < POINTS; i++) {
    xi[i] = (float)(-8 + step * i);
    outputs[2 * i] = 0.4f;
    outputs[2 * i + 1] = -0.7f;
  }
  lgv__tanh_gaussian_sample(&g, POINTS, outputs);
  for (int i = 0; i < POINTS; i++) sum += exp((double)log_pi[i]) * (double)room[i] * width * step;
  assert_true(fabs(sum - 1) < 1e-4); /* 1e-6 beside 1 - a^2 takes some */
}

static double slow_loss(const rig *r, int row, double d_log_pi) {
  double a[PARTS], sum = d_log_pi * slow_log_pi(r, row, a);
  for (int p = 0; p < PARTS; p++) sum += (double)r->d_action[row * PARTS + p] * a[p];
  return sum;
}

static void derivatives_are_those_of_differences(void **state) {
  (void)state;
  rig r;
  open_rig(&r, 1);
  r.outputs[PARTS] = 5; /* beyond the bounds of log sigma, on both sides */
  r.outputs[2 * PARTS + PARTS + 1] = -30;
  lgv__tanh_gaussian_sample(&r.g, ROWS, r.outputs);
  lgv__tanh_gaussian_backward(&r.g, ROWS, r.outputs, r.d_action, 0.3f, r.d_outputs);
  assert_true(r.d_outputs[PARTS] == 0 && r.d_outputs[2 * PARTS + PARTS + 1] == 0);
  for (int row = 0; row < ROWS; row++)
    for (int i = 0; i < 2 * PARTS; i++) {
      float *x = &r.outputs[row * 2 * PARTS + i], before = *x;
      *x = before + 1e-3f;
      double up = slow_loss(&r, row, (double)0.3f), at = (double)*x;
      *x = before - 1e-3f;
      double slope = (up - slow_loss(&r, row, (double)0.3f)) / (at - (double)*x);
      *x = before;
      double found = (double)r.d_outputs[row * 2 * PARTS + i];
      assert_true(fabs(found - slope) < 2e-3 * (1 + fabs(slope)));
    }
}

static void nothing_overflows(void **state) {
  (void)state;
  rig r;
  open_rig(&r, 1);
  for (int i = 0; i < 2 * NUMBERS; i++) r.outputs[i] *= 1e6f;
  lgv__tanh_gaussian_sample(&r.g, ROWS, r.outputs);
  lgv__tanh_gaussian_backward(&r.g, ROWS, r.outputs, r.d_action, 0.3f, r.d_outputs);
  for (int i = 0; i < ROWS; i++) assert_true(isfinite(r.log_pi[i]));
  for (int i = 0; i < 2 * NUMBERS; i++) assert_true(isfinite(r.d_outputs[i]));
  assert_true(lgv__tanh(-100) == -1 && lgv__tanh(100) == 1 && lgv__tanh(0) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_have_the_closed_form),
      cmocka_unit_test(the_density_integrates_to_one),
      cmocka_unit_test(derivatives_are_those_of_differences),
      cmocka_unit_test(nothing_overflows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
