/* Cart-pole, both mountain cars, acrobot and pendulum against episodes recorded from Gymnasium (see
 * fixtures/classic_control.py): the same start and actions give the same observations. */
#include "env/classic.h"
#include "env_helpers.h"

#include "fixtures/classic_control.h"

enum { MOST_OBS = 6, EPISODES = sizeof recorded / sizeof *recorded };

/* A reset into the recorded start. */
static void start(bare_env *b, const double *x) {
  lgv_error err = {0};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  assert_int_equal(b->type->reset(b->self, &rng, &err), LGV_OK);
  memcpy(((lgv_classic *)b->self)->x, x, LGV_CLASSIC_STATE * sizeof *x);
}

/* An action of a box is one of nine, evenly spaced over its range. */
static const lgv_action *action_of(const lgv_action_space *space, int32_t action) {
  if (space->kind == LGV_DISCRETE) return choice(action);
  lgv_action *box = next_action();
  box->values[0] = space->low[0] + (space->high[0] - space->low[0]) * (float)action / 8;
  return box;
}

static lgv_outcome step(bare_env *b, int32_t action) {
  lgv_outcome outcome = {0};
  lgv_error err = {0};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  assert_int_equal(
      b->type->step(b->self, action_of(&b->spec.actions, action), &rng, &outcome, &err), LGV_OK);
  return outcome;
}

static void assert_shows(const bare_env *b, const float *wanted) {
  float obs[MOST_OBS];
  b->type->observe(b->self, obs);
  for (int i = 0; i < b->spec.obs_shape[0]; i++) assert_near(obs[i], wanted[i], 1e-5);
}

/* extra: NULL, or parameters of the environment; expected: the return of the episode with them. */
static void replay(const struct recorded *r, const char *extra, double expected) {
  bare_env b;
  bare_open(&b, find_env(r->env), extra);
  start(&b, r->start);
  size_t n = strlen(r->actions), kept = 0;
  double total = 0;
  assert_shows(&b, r->obs[kept++]);
  for (size_t i = 0; i < n; i++) {
    lgv_outcome outcome = step(&b, r->actions[i] - '0');
    bool last = i == n - 1;
    total += outcome.reward;
    assert_true(outcome.reward >= b.spec.reward_min && outcome.reward <= b.spec.reward_max);
    assert_true(outcome.terminated == (last && r->terminated));
    assert_true(outcome.truncated == (last && !r->terminated));
    if (last || (i + 1) % RECORDED_EVERY == 0) assert_shows(&b, r->obs[kept++]);
  }
  assert_near(total, expected, 1e-12 * fabs(expected));
  bare_close(&b);
}

static void recorded_episodes_are_replayed(void **state) {
  (void)state;
  int terminated = 0;
  for (size_t i = 0; i < EPISODES; i++) {
    replay(&recorded[i], NULL, recorded[i].total);
    terminated += recorded[i].terminated;
  }
  assert_true(terminated >= 3 && terminated < (int)EPISODES);
}

/* With env.reward = goal, the same episodes pay 1 if they reach the flag, and nothing else; the
 * spec bounds the rewards. */
static void the_flag_alone_may_pay(void **state) {
  (void)state;
  int reached = 0, missed = 0;
  for (size_t i = 0; i < EPISODES; i++) {
    if (strncmp(recorded[i].env, "mountain-car", 12) != 0) continue;
    replay(&recorded[i], "reward=goal", recorded[i].terminated);
    *(recorded[i].terminated ? &reached : &missed) += 1;
  }
  assert_true(reached == 3 && missed == 2);
  bare_env b;
  bare_open(&b, find_env("mountain-car"), "reward=goal");
  assert_true(b.spec.reward_min == 0 && b.spec.reward_max == 1);
  bare_close(&b);
  bare_open(&b, find_env("mountain-car"), NULL);
  assert_true(b.spec.reward_min == -1 && b.spec.reward_max == 0);
  bare_close(&b);
  bare_open(&b, find_env("mountain-car-continuous"), "reward=goal");
  assert_true(b.spec.reward_min == 0 && b.spec.reward_max == 1);
  bare_close(&b);
}

/* N torques are evenly spaced: choice k of 9 is torque k / 2 - 2 of the box. */
static void torques_are_evenly_spaced(void **state) {
  (void)state;
  bare_env box, listed;
  bare_open(&box, find_env("pendulum"), NULL);
  bare_open(&listed, find_env("pendulum"), "torques=9");
  assert_true(box.spec.actions.kind == LGV_BOX && box.spec.actions.parts == 1);
  assert_true(box.spec.actions.low[0] == -2 && box.spec.actions.high[0] == 2);
  assert_true(listed.spec.actions.kind == LGV_DISCRETE && listed.spec.actions.count == 9);
  const double begin[4] = {2.5, -1};
  for (int32_t a = 0; a < 9; a++) {
    start(&box, begin);
    start(&listed, begin);
    assert_true(step(&box, a).reward == step(&listed, a).reward);
    assert_true(((lgv_classic *)box.self)->x[1] == ((lgv_classic *)listed.self)->x[1]);
  }
  bare_close(&listed);
  bare_open(&listed, find_env("pendulum"), "torques=3");
  start(&listed, begin);
  start(&box, begin);
  step(&listed, 2);
  step(&box, 8);
  assert_true(((lgv_classic *)box.self)->x[1] == ((lgv_classic *)listed.self)->x[1]);
  bare_close(&box);
  bare_close(&listed);
}

/* env.reward = goal pays within 8 degrees of upright at a speed of at most 1, after any number of
 * turns, and starts at the bottom. */
static void the_top_alone_may_pay(void **state) {
  (void)state;
  bare_env b;
  lgv_error err = {0};
  lgv_rng rng;
  const double degree = acos(-1) / 180;
  const struct {
    double angle, speed;
    bool up;
  } after[] = {{0, 0, true},    {7.9, 0.9, true},  {-7.9, -0.9, true}, {8.1, 0, false},
               {-9, 0, false},  {0, 1.1, false},   {0, -1.1, false},   {720, 0.5, true},
               {180, 0, false}, {-366, -0.5, true}};
  bare_open(&b, find_env("pendulum"), "reward=goal torques=3");
  assert_true(b.spec.reward_min == 0 && b.spec.reward_max == 1);
  for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
    double angle = after[i].angle * degree, speed = after[i].speed, before = angle - 0.05 * speed;
    start(&b, (const double[4]){before, speed - 0.05 * 15 * sin(before)});
    assert_true(step(&b, 1).reward == after[i].up);
  }
  lgv_rng_seed(&rng, 1, "test");
  for (int i = 0; i < 1000; i++) {
    assert_int_equal(b.type->reset(b.self, &rng, &err), LGV_OK);
    const double *x = ((lgv_classic *)b.self)->x;
    assert_true(fabs(x[0] - 180 * degree) <= 0.1 && fabs(x[1]) <= 0.1);
  }
  bare_close(&b);
}

/* If the horizon equals an episode's length, its end is still a termination. */
static void the_task_outranks_the_clock(void **state) {
  (void)state;
  for (size_t i = 0; i < EPISODES; i++) {
    const struct recorded *r = &recorded[i];
    size_t n = strlen(r->actions);
    char horizon[32];
    for (size_t early = 0; early < 2; early++) {
      bare_env b;
      lgv_outcome outcome = {0};
      snprintf(horizon, sizeof horizon, "horizon=%zu", n - early);
      bare_open(&b, find_env(r->env), horizon);
      assert_true(b.spec.horizon == (int64_t)(n - early));
      start(&b, r->start);
      for (size_t k = 0; k < n - early; k++) {
        assert_false(outcome.terminated || outcome.truncated);
        outcome = step(&b, r->actions[k] - '0');
      }
      bool ended = r->terminated && !early;
      assert_true(outcome.terminated == ended && outcome.truncated == !ended);
      bare_close(&b);
    }
  }
}

static void the_clock_starts_anew(void **state) {
  (void)state;
  lgv_env *env = make_env("mountain-car", "env.horizon=7", 1);
  lgv_error err = {0};
  for (int episode = 0; episode < 3; episode++) {
    lgv_obs obs;
    lgv_outcome outcome;
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    assert_true(obs.state == -1);
    for (int i = 0; i < 7; i++) {
      assert_int_equal(lgv_env_step(env, choice(1), &outcome, &obs, &err), LGV_OK);
      assert_true(outcome.truncated == (i == 6) && !outcome.terminated);
    }
  }
  lgv_env_free(env);
}

/* Initial states are inside their range, have its mean (5 standard errors) and come near its ends.
 */
static void starts_are_uniform_in_their_range(void **state) {
  (void)state;
  enum { DRAWS = 4000 };
  const struct {
    const char *env;
    int n;
    double low, high;
  } rows[] = {{"cartpole", 4, -0.05, 0.05},
              {"mountain-car", 1, -0.6, -0.4},
              {"acrobot", 4, -0.1, 0.1},
              {"mountain-car-continuous", 1, -0.6, -0.4}};
  for (int r = 0; r < 4; r++) {
    bare_env b;
    lgv_error err = {0};
    lgv_rng rng;
    bare_open(&b, find_env(rows[r].env), NULL);
    const double *x = ((lgv_classic *)b.self)->x;
    double width = rows[r].high - rows[r].low, sum[4] = {0}, least[4], most[4];
    for (int i = 0; i < 4; i++) least[i] = INFINITY, most[i] = -INFINITY;
    lgv_rng_seed(&rng, 1, "test");
    for (int k = 0; k < DRAWS; k++) {
      assert_int_equal(b.type->reset(b.self, &rng, &err), LGV_OK);
      for (int i = 0; i < rows[r].n; i++) {
        sum[i] += x[i];
        least[i] = fmin(least[i], x[i]);
        most[i] = fmax(most[i], x[i]);
      }
      if (r == 1 || r == 3) assert_true(x[1] == 0);
      if (r == 2) assert_true(x[0] == (float)x[0] && x[3] == (float)x[3]);
    }
    for (int i = 0; i < rows[r].n; i++) {
      assert_near(sum[i] / DRAWS, (rows[r].low + rows[r].high) / 2, 5 * width / sqrt(12.0 * DRAWS));
      assert_true(least[i] >= rows[r].low - 1e-8 && least[i] < rows[r].low + 0.01 * width);
      assert_true(most[i] <= rows[r].high + 1e-8 && most[i] > rows[r].high - 0.01 * width);
    }
    bare_close(&b);
  }
}

/* The car stops at the left wall; acrobot's speeds are bounded and its angles wrapped. */
static void limits_are_kept(void **state) {
  (void)state;
  bare_env b;
  bare_open(&b, find_env("mountain-car"), NULL);
  start(&b, (const double[4]){-1.19, -0.069});
  step(&b, 0);
  const double *x = ((lgv_classic *)b.self)->x;
  assert_true(x[0] == -1.2 && x[1] == 0);
  start(&b, (const double[4]){-0.3, 0.07});
  step(&b, 2);
  assert_true(x[1] <= 0.07);
  bare_close(&b);

  const double pi = acos(-1);
  bare_open(&b, find_env("acrobot"), NULL);
  start(&b, (const double[4]){3, -3, 4 * pi, 9 * pi});
  for (int i = 0; i < 50; i++) {
    step(&b, i % 3);
    x = ((lgv_classic *)b.self)->x;
    assert_true(fabs(x[0]) <= pi && fabs(x[1]) <= pi);
    assert_true(fabs(x[2]) <= 4 * pi && fabs(x[3]) <= 9 * pi);
  }
  bare_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(torques_are_evenly_spaced),         cmocka_unit_test(the_top_alone_may_pay),
      cmocka_unit_test(recorded_episodes_are_replayed),    cmocka_unit_test(the_flag_alone_may_pay),
      cmocka_unit_test(the_task_outranks_the_clock),       cmocka_unit_test(the_clock_starts_anew),
      cmocka_unit_test(starts_are_uniform_in_their_range), cmocka_unit_test(limits_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
