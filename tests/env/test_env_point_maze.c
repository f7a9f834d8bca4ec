/* Point maze: steps against numbers computed by hand, walls, the goal, and a path to it. */
#include "env/classic.h"
#include "env_helpers.h"

enum { X, Y, VX, VY };

static const lgv_env_type *maze_type(void) { return find_env("point-maze"); }

static void put(bare_env *b, double x, double y, double vx, double vy) {
  double *at = ((lgv_classic *)b->self)->x;
  at[X] = x, at[Y] = y, at[VX] = vx, at[VY] = vy;
}

static lgv_outcome push(bare_env *b, float fx, float fy) {
  lgv_outcome outcome = {0};
  lgv_error err = {0};
  lgv_action action = {.values = {fx, fy}};
  assert_int_equal(maze_type()->step(b->self, &action, NULL, &outcome, &err), LGV_OK);
  return outcome;
}

static void expect(const bare_env *b, double x, double y, double vx, double vy) {
  const double *at = ((const lgv_classic *)b->self)->x;
  assert_near(at[X], x, 1e-12);
  assert_near(at[Y], y, 1e-12);
  assert_near(at[VX], vx, 1e-12);
  assert_near(at[VY], vy, 1e-12);
}

static void a_step_has_the_stated_dynamics(void **state) {
  (void)state;
  bare_env b;
  bare_open(&b, maze_type(), NULL);
  put(&b, 1.5, 1.5, 0, 0);
  lgv_outcome outcome = push(&b, 1, -0.5f);
  expect(&b, 1.55, 1.475, 0.05, -0.025);
  assert_true(outcome.reward == 0 && !outcome.terminated);
  push(&b, 1, 0);
  expect(&b, 1.645, 1.4525, 0.095, -0.0225);
  bare_close(&b);
}

/* The wall below (1, 1) and (2, 1) of the maze `u` stops a move down, not the one to the right. */
static void walls_stop_one_axis(void **state) {
  (void)state;
  bare_env b;
  bare_open(&b, maze_type(), NULL);
  put(&b, 1.5, 1.98, 0.1, 0.2);
  push(&b, 0, 0);
  expect(&b, 1.59, 1.98, 0.09, 0);
  put(&b, 1.02, 1.5, -0.3, 0.1);
  push(&b, -1, 0);
  expect(&b, 1.02, 1.59, 0, 0.09);
  bare_close(&b);
}

static void no_force_leads_through_a_wall(void **state) {
  (void)state;
  static const char *const settings[] = {"maze=u horizon=100000", "maze=medium horizon=100000"};
  for (int m = 0; m < 2; m++) {
    bare_env b;
    lgv_error err = {0};
    lgv_rng rng;
    float low = INFINITY, high = -INFINITY;
    bare_open(&b, maze_type(), settings[m]);
    lgv_rng_seed(&rng, 3, "test");
    assert_int_equal(maze_type()->reset(b.self, &rng, &err), LGV_OK);
    for (int i = 0; i < 20000; i++) { /* forces that last, so that speeds are high */
      float angle = (float)(i / 37);
      lgv_outcome outcome = push(&b, cosf(angle * 2.4f), sinf(angle * 2.4f));
      const double *at = ((lgv_classic *)b.self)->x;
      assert_true(at[X] >= 1 && at[Y] >= 1 && at[X] < 7 && at[Y] < 7);
      assert_true(fabs(at[VX]) <= 0.5 + 1e-12 && fabs(at[VY]) <= 0.5 + 1e-12);
      low = fminf(low, (float)at[X]);
      high = fmaxf(high, (float)at[X]);
      if (outcome.terminated) assert_int_equal(maze_type()->reset(b.self, &rng, &err), LGV_OK);
    }
    assert_true(low < 1.3f && high > 3);
    bare_close(&b);
  }
}

/* Along the corridors of the maze `u`, by a controller that brakes. */
static void the_goal_pays_and_ends(void **state) {
  (void)state;
  static const double way[][2] = {{3.5, 1.5}, {3.5, 3.5}, {1.5, 3.5}};
  bare_env b;
  lgv_error err = {0};
  lgv_rng rng;
  bare_open(&b, maze_type(), NULL);
  assert_true(b.spec.reward_min == 0 && b.spec.reward_max == 1 && b.spec.horizon == 300);
  lgv_rng_seed(&rng, 5, "test");
  assert_int_equal(maze_type()->reset(b.self, &rng, &err), LGV_OK);
  double *at = ((lgv_classic *)b.self)->x;
  assert_true(fabs(at[X] - 1.5) <= 0.1 && fabs(at[Y] - 1.5) <= 0.1 && at[VX] == 0 && at[VY] == 0);
  lgv_outcome outcome = {0};
  for (int i = 0, leg = 0; i < 290 && !outcome.terminated; i++) {
    float force[2];
    for (int axis = 0; axis < 2; axis++)
      force[axis] = (float)fmax(-1, fmin(1, 2 * (way[leg][axis] - at[axis]) - 10 * at[VX + axis]));
    assert_true(outcome.reward == 0);
    outcome = push(&b, force[0], force[1]);
    leg += leg < 2 && hypot(at[X] - way[leg][0], at[Y] - way[leg][1]) < 0.2;
  }
  assert_true(outcome.terminated && outcome.reward == 1);
  assert_true(hypot(at[X] - 1.5, at[Y] - 3.5) <= 0.5);
  bare_close(&b);
}

static void a_shaped_reward_costs_the_distance(void **state) {
  (void)state;
  bare_env b;
  bare_open(&b, maze_type(), "reward=shaped");
  put(&b, 1.5, 1.5, 0, 0);
  assert_near(push(&b, 0, 0).reward, -0.02, 1e-15);
  assert_true(b.spec.reward_min < -0.07);
  bare_close(&b);
}

static void a_clock_truncates(void **state) {
  (void)state;
  bare_env b;
  bare_open(&b, maze_type(), "horizon=2");
  put(&b, 1.5, 1.5, 0, 0);
  assert_false(push(&b, 0, 0).truncated);
  lgv_outcome outcome = push(&b, 0, 0);
  assert_true(outcome.truncated && !outcome.terminated);
  bare_close(&b);
}

static void it_can_be_drawn(void **state) {
  (void)state;
  char text[LGV_RENDER_SIZE];
  lgv_env *env = make_env("point-maze", "env.maze=medium", 1);
  lgv_error err = {0};
  lgv_obs obs;
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_true(lgv_env_render(env, text));
  assert_non_null(strchr(text, 'O'));
  assert_non_null(strstr(text, "GG##\n"));
  assert_null(strchr(text, 'S'));
  lgv_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_has_the_stated_dynamics),
      cmocka_unit_test(walls_stop_one_axis),
      cmocka_unit_test(no_force_leads_through_a_wall),
      cmocka_unit_test(the_goal_pays_and_ends),
      cmocka_unit_test(a_shaped_reward_costs_the_distance),
      cmocka_unit_test(a_clock_truncates),
      cmocka_unit_test(it_can_be_drawn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
