/* The feel-good term of the chain: its steps follow the gradient of the loss that lmc_chain.h
 * states, taken by finite differences; it makes samples more optimistic; and what it cannot do is
 * refused. */
#include "linear_helpers.h"

enum { S = 3, A = 2, D = 3 };

static const double features[S * A * D] = {.9, .1,  0,  .2, .7, .1, 0,  .5, .5,
                                           .3, -.3, .6, .8, 0,  .4, .1, .1, -.7};
static const struct {
  int64_t s;
  int32_t a;
  double r;
} data[] = {{0, 0, .5}, {0, 1, .2}, {1, 0, .9}, {0, 0, .1}, {1, 1, .4}, {1, 1, .6}, {0, 1, .7}};

static bench *open_with_data(bool dense, double feel_good, double beta, int64_t J) {
  lmc_params p = {.lsvi = {.lambda = .5},
                  .beta = beta,
                  .eta_scale = .25,
                  .updates = J,
                  .sampler = LMC_LOOP,
                  .feel_good = feel_good};
  bench *b = bench_open(S, A, 1, dense ? features : NULL, dense ? D : 0, p);
  for (size_t i = 0; i < sizeof data / sizeof *data; i++)
    bench_add(b, 0, data[i].s, data[i].a, data[i].r, 0);
  bench_prepare(b, 0);
  return b;
}

static double value(bool dense, int64_t s, int32_t a, const double *w) {
  int64_t pair = s * A + a;
  double sum = 0;
  for (int i = 0; dense && i < D; i++) sum += features[pair * D + i] * w[i];
  return dense ? sum : w[pair];
}

/* sum (phi^T w - r)^2 + lambda |w|^2 - c sum max_a phi(x, a)^T w */
static double loss(bool dense, double feel_good, const double *w) {
  double sum = 0;
  for (int i = 0; i < (dense ? D : S * A); i++) sum += .5 * w[i] * w[i];
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
    double error = value(dense, data[i].s, data[i].a, w) - data[i].r;
    sum += error * error;
    sum -= feel_good * fmax(value(dense, data[i].s, 0, w), value(dense, data[i].s, 1, w));
  }
  return sum;
}

static void steps_follow_the_gradient(void **state) {
  (void)state;
  const double starts[][MOST_D] = {{.3, -.2, .5, .1, .4, -.6}, {-1, 2, .7, -.3, .2, .9}};
  for (int dense = 0; dense < 2; dense++)
    for (int k = 0; k < 4; k++) {
      double feel_good = k % 2 ? 0 : .8, w[MOST_D];
      bench *b = open_with_data(dense, feel_good, INFINITY, 1);
      lgv_error err = {0};
      memcpy(w, starts[k / 2], sizeof w);
      assert_int_equal(lgv__lmc_advance(&b->chain, 0, w, &err), LGV_OK);
      for (int i = 0; i < (int)b->core.d; i++) {
        double up[MOST_D], down[MOST_D];
        memcpy(up, starts[k / 2], sizeof up);
        memcpy(down, starts[k / 2], sizeof down);
        up[i] += 1e-5, down[i] -= 1e-5;
        double slope = (loss(dense, feel_good, up) - loss(dense, feel_good, down)) / 2e-5;
        double taken = (starts[k / 2][i] - w[i]) / b->chain.eta;
        if (fabs(slope - taken) > 1e-6) fail_msg("coordinate %d: %g, not %g", i, taken, slope);
      }
      bench_close(b);
    }
}

/* The mean over many chains of the value of the first states: greater with the term. */
static double mean_value(double feel_good) {
  bench *b = open_with_data(true, feel_good, 5, 60);
  double sum = 0;
  for (int n = 0; n < 2000; n++) {
    double w[MOST_D] = {0};
    lgv_error err = {0};
    assert_int_equal(lgv__lmc_advance(&b->chain, 0, w, &err), LGV_OK);
    sum += fmax(value(true, 0, 0, w), value(true, 0, 1, w)) / 2000;
  }
  bench_close(b);
  return sum;
}

static void samples_feel_good(void **state) {
  (void)state;
  double none = mean_value(0), little = mean_value(.2), much = mean_value(1);
  assert_true(little > none + .02 && much > little + .1);
}

static void what_it_cannot_do_is_refused(void **state) {
  (void)state;
  const char *const wrong[][2] = {
      {"agent.feel_good=0.1", "agent.sampler = loop"},
      {"agent.feel_good=0.1 agent.sampler=svrg", "agent.sampler = loop"},
      {"agent.feel_good=0.1 agent.sampler=loop agent.pool=true", "agent.pool = false"},
      {"agent.feel_good=0.1 agent.sampler=loop agent.schedule=theory", "agent.schedule = tuned"},
      {"agent.sampler=underdamped agent.schedule=theory", "agent.schedule = tuned"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char extra[256];
    snprintf(extra, sizeof extra, "run.episodes=5 %s", wrong[i][0]);
    lgv_settings *settings = make_settings("riverswim", "lmc-lsvi", extra);
    lgv_plan *plan;
    lgv_error err = {0};
    assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
    if (!strstr(err.message, wrong[i][1])) fail_msg("'%s' lacks '%s'", err.message, wrong[i][1]);
    lgv_settings_free(settings);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_follow_the_gradient),
      cmocka_unit_test(samples_feel_good),
      cmocka_unit_test(what_it_cannot_do_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
