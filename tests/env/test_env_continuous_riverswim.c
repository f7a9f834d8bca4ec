/* Continuous RiverSwim: strokes have the moments that the file states, the banks hold, and only the
 * two ends pay. */
#include "env/classic.h"
#include "env_helpers.h"

enum { LEFT, RIGHT };

static double *position(bare_env *b) { return ((lgv_classic *)b->self)->x; }

static lgv_outcome stroke(bare_env *b, double from, int32_t action, lgv_rng *rng) {
  lgv_outcome outcome = {0};
  lgv_error err = {0};
  *position(b) = from;
  assert_int_equal(b->type->step(b->self, choice(action), rng, &outcome, &err), LGV_OK);
  return outcome;
}

/* In cells, far from the banks: a left stroke is -1; a right stroke has the mean 0.3 and the
 * variance 0.31 (4 standard errors; half or twice the variance is far outside). */
static void strokes_have_their_moments(void **state) {
  (void)state;
  enum { DRAWS = 20000, N = 40 };
  bare_env b;
  lgv_rng rng;
  double sum = 0, squares = 0;
  bare_open(&b, find_env("continuous-riverswim"), "n=40");
  lgv_rng_seed(&rng, 1, "test");
  for (int i = 0; i < DRAWS; i++) {
    stroke(&b, 0.5, RIGHT, &rng);
    double cells = (*position(&b) - 0.5) * N;
    sum += cells;
    squares += cells * cells;
  }
  double mean = sum / DRAWS, variance = squares / DRAWS - mean * mean;
  assert_near(mean, 0.3, 4 * sqrt(0.31 / DRAWS));
  assert_near(variance, 0.31, 4 * 0.31 * sqrt(2.0 / DRAWS));
  stroke(&b, 0.5, LEFT, &rng);
  assert_near(*position(&b), 0.5 - 1.0 / N, 1e-15);
  bare_close(&b);
}

static void the_banks_hold_and_the_ends_pay(void **state) {
  (void)state;
  bare_env b;
  lgv_rng rng;
  lgv_error err = {0};
  bare_open(&b, find_env("continuous-riverswim"), "n=10");
  lgv_rng_seed(&rng, 2, "test");
  const struct {
    double from;
    int32_t action;
    double reward;
  } rows[] = {{0, LEFT, 0.005}, {0.09, LEFT, 0.005}, {0.11, LEFT, 0},
              {0.95, LEFT, 0},  {0.05, RIGHT, 0},    {0.5, RIGHT, 0},
              {0.89, RIGHT, 0}, {0.91, RIGHT, 1},    {1, RIGHT, 1}};
  for (int i = 0; i < 200; i++)
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
      assert_true(stroke(&b, rows[r].from, rows[r].action, &rng).reward == rows[r].reward);
      assert_true(*position(&b) >= 0 && *position(&b) <= 1);
    }
  for (int i = 0; i < 100; i++) {
    assert_int_equal(b.type->reset(b.self, &rng, &err), LGV_OK);
    assert_true(*position(&b) >= 0 && *position(&b) < 0.1);
  }
  bare_close(&b);
}

static int32_t always(void *context, const lgv_obs *obs) {
  (void)obs;
  return *(int32_t *)context;
}

/* Always-left earns 40 small rewards, always-right the value that backward induction gives, and the
 * clock alone ends an episode. */
static void the_far_end_is_worth_the_way(void **state) {
  (void)state;
  enum { EPISODES = 4000 };
  lgv_env *env = make_env("continuous-riverswim", NULL, 3);
  lgv_outcome last;
  int64_t steps;
  int32_t action = LEFT;
  assert_near(play(env, always, &action, &last, &steps), 0.2, 1e-12);
  assert_true(steps == 40 && last.truncated && !last.terminated);
  double sum = 0, squares = 0;
  action = RIGHT;
  for (int i = 0; i < EPISODES; i++) {
    double total = play(env, always, &action, NULL, NULL);
    sum += total;
    squares += total * total;
  }
  double mean = sum / EPISODES, error = sqrt((squares / EPISODES - mean * mean) / EPISODES);
  assert_near(mean, 6.2066, 4 * error); /* backward induction on a grid of 2,401 positions */
  lgv_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strokes_have_their_moments),
      cmocka_unit_test(the_banks_hold_and_the_ends_pay),
      cmocka_unit_test(the_far_end_is_worth_the_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
