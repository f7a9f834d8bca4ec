/* Every linear agent learns with its defaults: how many episodes until the mean exact value of 20
 * successive policies reaches 90 % of the optimum, median over 20 seeds. The limits leave room for
 * chance (about half as many episodes again as usual), not for an agent that has stopped exploring.
 */
#include "run_helpers.h"

#include <math.h>
#include <stdlib.h>

enum { SEEDS = 20, WINDOW = 20 };

/* The episode by which the window's regret has fallen to a tenth of the optimum, or INFINITY. */
static double episodes_to_learn(const lgv_plan *plan, int64_t horizon, uint64_t seed) {
  lgv_run *run;
  lgv_error err = {0};
  lgv_summary now;
  double regret[WINDOW + 1] = {0}; /* cumulative, of the last episodes in turn */
  bool done = false;
  if (lgv_run_create(plan, seed, NULL, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  double found = INFINITY;
  for (int k = 1; !done && isinf(found); k++) {
    if (lgv_run_advance(run, horizon, &done, &err) != LGV_OK) fail_msg("%s", err.message);
    lgv_run_summary(run, &now);
    assert_int_equal(now.episodes, k);
    regret[k % (WINDOW + 1)] = now.regret;
    double lost = now.regret - regret[(k + 1) % (WINDOW + 1)]; /* 0 before the first episode */
    if (k >= WINDOW && lost <= .1 * WINDOW * now.optimal_value) found = k;
  }
  lgv_run_free(run);
  return found;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct limit {
  const char *agent;
  double episodes;
} limit;

static void check(const char *env, const char *extra, int64_t horizon, const limit *limits,
                  size_t count) {
  for (size_t i = 0; i < count; i++) {
    lgv_plan *plan = make_plan(env, limits[i].agent, extra);
    double episodes[SEEDS];
    for (int s = 0; s < SEEDS; s++)
      episodes[s] = episodes_to_learn(plan, horizon, 100 + (uint64_t)s);
    qsort(episodes, SEEDS, sizeof *episodes, compare);
    double median = (episodes[SEEDS / 2 - 1] + episodes[SEEDS / 2]) / 2;
    print_message("%-12s %s: %g episodes\n", limits[i].agent, env, median);
    if (!(median <= limits[i].episodes))
      fail_msg("%s on %s: %g episodes, at most %g expected", limits[i].agent, env, median,
               limits[i].episodes);
    lgv_plan_free(plan);
  }
}

static void riverswim(void **state) {
  (void)state;
  const limit limits[] = {{"lmc-lsvi", 400}, {"ms-lmc-lsvi", 300}, {"lsvi-ucb", 250},
                          {"lsvi-phe", 300}, {"opt-rlsvi", 400},   {"oppo", 1000},
                          {"rlsvi", 550},    {"psrl", 120}};
  check("riverswim", "run.episodes=1000", 40, limits, sizeof limits / sizeof *limits);
}

static void low_rank_linear_mdp(void **state) {
  (void)state;
  const limit limits[] = {{"lmc-lsvi", 60}, {"ms-lmc-lsvi", 60}, {"lsvi-ucb", 60},
                          {"lsvi-phe", 60}, {"opt-rlsvi", 120},  {"oppo", 120},
                          {"rlsvi", 90}};
  check("linear-mdp", "env.kind=low-rank env.horizon=30 run.episodes=300", 30, limits,
        sizeof limits / sizeof *limits);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(riverswim),
      cmocka_unit_test(low_rank_linear_mdp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
