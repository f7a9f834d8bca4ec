/* Statistics over runs and tasks against rliable's own numbers, closed forms and cases worked out
 * by hand. */
#include "run_helpers.h"

#include "base/memory.h"
#include "fixtures/rliable_oracle.h"

#include <math.h>

enum { TAUS = sizeof taus / sizeof *taus, MOST_TASKS = 8 };

static lgv_scores equal_runs(const double *values, size_t runs, size_t tasks, size_t *room) {
  for (size_t t = 0; t < tasks; t++) room[t] = runs;
  return (lgv_scores){.values = values, .runs = room, .tasks = tasks};
}

static lgv_estimate estimate(const lgv_scores *scores, lgv_statistic statistic) {
  lgv_estimate e;
  lgv_error err = {0};
  if (lgv_scores_estimate(scores, statistic, &e, &err) != LGV_OK) fail_msg("%s", err.message);
  return e;
}

static lgv_estimate improvement(const lgv_scores *x, const lgv_scores *y) {
  lgv_estimate e;
  lgv_error err = {0};
  if (lgv_scores_improvement(x, y, &e, &err) != LGV_OK) fail_msg("%s", err.message);
  return e;
}

static void assert_expected(const char *what, size_t number, const lgv_estimate *e,
                            const struct expected *x) {
  const double slack = 1e-12;
  if (fabs(e->value - x->value) > slack)
    fail_msg("case %zu, %s: %.17g, not %.17g", number, what, e->value, x->value);
  if (e->low < x->low_least - slack || e->low > x->low_most + slack ||
      e->high < x->high_least - slack || e->high > x->high_most + slack)
    fail_msg("case %zu, %s: [%g, %g] is not in [%g, %g], [%g, %g]", number, what, e->low, e->high,
             x->low_least, x->low_most, x->high_least, x->high_most);
}

static void the_numbers_are_rliables(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++) {
    const struct oracle *o = &oracles[i];
    size_t mine[MOST_TASKS], theirs[MOST_TASKS], k = 0;
    lgv_scores x = equal_runs(o->x, o->runs_x, o->tasks, mine);
    lgv_scores y = equal_runs(o->y, o->runs_y, o->tasks, theirs);
    for (; lgv_statistic_name(k); k++) {
      lgv_estimate e = estimate(&x, (lgv_statistic)k);
      assert_expected(lgv_statistic_name(k), i, &e, &o->expected[k]);
    }
    assert_int_equal(k, 4);
    lgv_estimate p = improvement(&x, &y), points[TAUS];
    assert_expected("improvement", i, &p, &o->expected[k]);
    assert_int_equal(lgv_scores_profile(&x, taus, TAUS, points, NULL), LGV_OK);
    for (size_t t = 0; t < TAUS; t++)
      assert_expected("profile", i, &points[t], &o->expected[k + 1 + t]);
  }
}

/* Two tasks with 1 and 3 runs: tasks weigh the same in means, runs in medians. */
static void tasks_may_have_different_numbers_of_runs(void **state) {
  (void)state;
  const double values[] = {10, 1, 2, 6};
  const size_t runs[] = {1, 3};
  const lgv_scores s = {values, runs, 2};
  lgv_estimate e = estimate(&s, LGV_MEAN);
  assert_true(e.value == 6.5);
  assert_true(fabs(e.standard_error - sqrt(7.0 / 3) / 2) < 1e-15); /* squares sum to 14 */
  assert_true(e.low >= 5.5 && e.high <= 8);                        /* 10 is in every resample */
  assert_true(estimate(&s, LGV_MEDIAN).value == 4);
  assert_true(estimate(&s, LGV_IQM).value == 4); /* one of four is cut off at each end */
  assert_true(estimate(&s, LGV_TASK_MEDIAN).value == 6.5);
  lgv_estimate points[3];
  assert_int_equal(lgv_scores_profile(&s, (double[]){1, 2, 9.5}, 3, points, NULL), LGV_OK);
  assert_true(fabs(points[0].value - 5.0 / 6) < 1e-15); /* above, not at: 1 and 2/3 */
  assert_true(fabs(points[1].value - 4.0 / 6) < 1e-15);
  assert_true(points[2].value == 0.5);
}

static void one_run_has_no_interval(void **state) {
  (void)state;
  const size_t runs[] = {1, 1};
  const lgv_scores s = {(double[]){3, 5}, runs, 2};
  for (size_t k = 0; lgv_statistic_name(k); k++) {
    lgv_estimate e = estimate(&s, (lgv_statistic)k);
    assert_true(e.value == 4 && isnan(e.low) && isnan(e.high) && isnan(e.standard_error));
  }
  lgv_estimate e = improvement(&s, &s);
  assert_true(e.value == 0.5 && isnan(e.low));
}

/* Runs that never reach a goal score infinity. */
static void scores_may_be_infinite(void **state) {
  (void)state;
  const size_t five = 5;
  const lgv_scores s = {(double[]){INFINITY, 1, 3, 2, INFINITY}, &five, 1};
  lgv_estimate e = estimate(&s, LGV_MEDIAN);
  assert_true(e.value == 3 && e.low == 1 && isinf(e.high));
  assert_true(isinf(estimate(&s, LGV_MEAN).value));
  const lgv_scores other = {(double[]){5, 5, 5, 5, 5}, &five, 1};
  assert_true(improvement(&other, &s).value == 0.6);
}

static void wrong_scores_are_refused(void **state) {
  (void)state;
  const size_t two = 2, none = 0;
  const lgv_scores missing = {(double[]){1, NAN}, &two, 1}, empty = {NULL, &none, 1};
  const lgv_scores nothing = {NULL, NULL, 0}, fine = {(double[]){1, 2}, &two, 1};
  lgv_estimate e;
  lgv_error err = {0};
  assert_int_equal(lgv_scores_estimate(&missing, LGV_MEAN, &e, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "score 1 is NaN"));
  assert_true(isnan(e.value));
  assert_int_equal(lgv_scores_estimate(&empty, LGV_MEAN, &e, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_scores_estimate(&nothing, LGV_MEAN, &e, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_scores_improvement(&fine, &nothing, &e, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_scores_profile(&fine, (double[]){2, 1}, 2, &e, &err), LGV_ERR_USAGE);
}

/* The interval of a mean over tasks shrinks as independent tasks average: of T tasks with n normal
 * runs each, the bootstrap's deviation is that of the formula within five standard errors of 2000
 * resamples, 1 / sqrt(2 * 2000) each, and the formula is 1 / sqrt(T n) within its own. */
static void strata_are_resampled_independently(void **state) {
  (void)state;
  enum { TASKS = 25, RUNS = 16 };
  double values[TASKS * RUNS];
  size_t runs[TASKS];
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "scores");
  lgv_rng_normals(&rng, values, TASKS * RUNS);
  for (size_t i = 0; i < TASKS * RUNS; i++) values[i] += 100.0 * (double)(i / RUNS);
  lgv_scores s = equal_runs(values, RUNS, TASKS, runs);
  lgv_estimate e = estimate(&s, LGV_MEAN);
  double shrink = sqrt((RUNS - 1.0) / RUNS); /* the bootstrap divides squares by n, not n - 1 */
  assert_true(fabs((e.high - e.low) / (2 * 1.96 * e.standard_error * shrink) - 1) < 5 * 0.045);
  assert_true(fabs(e.standard_error * sqrt(TASKS * RUNS) - 1) < 5 / sqrt(2.0 * TASKS * RUNS));
}

static void regret_adds_up(void **state) {
  (void)state;
  double regret[3];
  lgv_regret_curve((double[]){0, 2, 1.5}, NULL, 3, 2, regret);
  assert_true(regret[0] == 2 && regret[1] == 2 && regret[2] == 2.5);
  lgv_regret_curve((double[]){0, 2, 1.5}, (double[]){3, 1, 10}, 3, 2, regret);
  assert_true(regret[0] == 6 && regret[1] == 6 && regret[2] == 11);
}

static void thresholds_are_reached_by_means(void **state) {
  (void)state;
  const double x[] = {10, 20, 30, 40, 50}, y[] = {0, 9, 0, 6, 7};
  assert_true(lgv_first_reach(x, y, 5, 1, 9) == 20);
  assert_true(lgv_first_reach(x, y, 5, 2, 4.5) == 20);
  assert_true(lgv_first_reach(x, y, 5, 2, 6) == 50);
  assert_true(lgv_first_reach(x, y, 5, 3, 5) == 40);
  assert_true(isinf(lgv_first_reach(x, y, 5, 1, 9.5)));
  assert_true(isinf(lgv_first_reach(x, y, 5, 6, 0))); /* too few */
}

/* Every allocation fails in turn: an error each time, then the result. */
static void memory_may_run_out(void **state) {
  (void)state;
  const size_t two[] = {2, 2};
  const lgv_scores s = {(double[]){1, 2, 3, 4}, two, 2};
  lgv_estimate e, points[2];
  int failures = 0;
  for (long n = 1; n < 20; n++) {
    lgv__memory_fail_after(n);
    lgv_status one = lgv_scores_estimate(&s, LGV_IQM, &e, NULL);
    lgv_status other = lgv_scores_improvement(&s, &s, &e, NULL);
    lgv_status third = lgv_scores_profile(&s, (double[]){1, 2}, 2, points, NULL);
    bool came = lgv__memory_fail_after(0) == 0;
    assert_int_equal(came, one || other || third);
    failures += came;
  }
  assert_int_equal(failures, 3 + 5 + 4);
}

static void unknown_statistics_are_refused(void **state) {
  (void)state;
  const double values[] = {1, 2, 3};
  const size_t runs[] = {3};
  const lgv_scores scores = {.values = values, .runs = runs, .tasks = 1};
  lgv_error err = {0};
  lgv_estimate e;
  const int unknown[] = {-1, 99};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(lgv_scores_estimate(&scores, (lgv_statistic)unknown[i], &e, &err),
                     LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "there is no statistic"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unknown_statistics_are_refused),
      cmocka_unit_test(the_numbers_are_rliables),
      cmocka_unit_test(tasks_may_have_different_numbers_of_runs),
      cmocka_unit_test(one_run_has_no_interval),
      cmocka_unit_test(scores_may_be_infinite),
      cmocka_unit_test(wrong_scores_are_refused),
      cmocka_unit_test(strata_are_resampled_independently),
      cmocka_unit_test(regret_adds_up),
      cmocka_unit_test(thresholds_are_reached_by_means),
      cmocka_unit_test(memory_may_run_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
