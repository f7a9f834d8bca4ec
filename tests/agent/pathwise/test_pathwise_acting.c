/* Pathwise LMCDQN: masks, evaluation, memory, and what it solves. */
#include "pathwise_helpers.h"

#include <math.h>
#include <stdio.h>

/* ---- masks ---- */

static void masked_step(deep_rig *t, int from, const uint8_t *from_mask, int action, int to,
                        const uint8_t *to_mask, bool terminated) {
  float a[DEEP_MOST_LENGTH], b[DEEP_MOST_LENGTH];
  lgv_error err = {0};
  lgv_transition x = {.obs = deep_obs(t, from, 0, a),
                      .next = deep_obs(t, to, 1, b),
                      .action = choice(action),
                      .terminated = terminated};
  x.obs.mask = from_mask;
  x.next.mask = to_mask;
  succeed(t->type->observe(t->self, &x, &err), &err);
}

static void open_masked(deep_rig *t) {
  lgv_env_spec env = deep_spec(4, 2);
  env.masked = true;
  deep_open(t, "pathwise-lmcdqn", env, FROZEN, NULL);
}

/* The value of a state is that of its allowed actions, though a forbidden one is often greater. */
static void forbidden_actions_have_no_part_in_values(void **state) {
  (void)state;
  const uint8_t both[] = {1, 1}, left[] = {1, 0};
  deep_rig t;
  int greater = 0;
  open_masked(&t);
  const float *value = deep_array(&t, "pair.value", NULL),
              *best = deep_array(&t, "cell.best", NULL);
  const float *mean_best = deep_array(&t, "cell.mean_best", NULL);
  const float *mean = deep_array(&t, "pair.mean", NULL);
  for (int i = 0; i < 200; i++) {
    masked_step(&t, 0, both, 0, 1, left, false);
    end_episode(&t);
    assert_true(best[0] == fmaxf(value[0], value[1]));
    assert_true(best[1] == value[2]);
    assert_true(mean_best[1] == mean[2]);
    greater += value[3] > value[2];
  }
  assert_in_range(greater, 50, 150);
  deep_close(&t);
}

/* Also the first observation of an episode, which follows no other, brings its mask. */
static void the_mask_of_a_cell_is_the_last_one_seen(void **state) {
  (void)state;
  const uint8_t both[] = {1, 1}, left[] = {1, 0}, right[] = {0, 1};
  deep_rig t;
  open_masked(&t);
  const uint8_t *mask = deep_array(&t, "cell.mask", NULL);
  masked_step(&t, 0, left, 0, 1, right, false);
  assert_memory_equal(mask, ((uint8_t[]){1, 0, 0, 1}), 4);
  masked_step(&t, 0, right, 1, 1, both, false);
  assert_memory_equal(mask, ((uint8_t[]){0, 1, 1, 1}), 4);
  masked_step(&t, 0, both, 1, 1, NULL, true);
  assert_memory_equal(mask, ((uint8_t[]){1, 1, 1, 1}), 4);
  deep_close(&t);
}

static void no_forbidden_action_is_chosen(void **state) {
  (void)state;
  const uint8_t left[] = {1, 0}, right[] = {0, 1};
  deep_rig t;
  lgv_error err = {0};
  float data[DEEP_MOST_LENGTH];
  open_masked(&t);
  for (int i = 0; i < 200; i++) {
    lgv_action action;
    lgv_obs obs = deep_obs(&t, i % 4, 0, data);
    obs.mask = i % 3 ? left : right;
    lgv_mode mode = i % 5 ? LGV_TRAIN : LGV_EVAL;
    succeed(t.type->act(t.self, &obs, mode, &action, &err), &err);
    assert_int_equal(action.choice, i % 3 == 0);
    masked_step(&t, i % 4, obs.mask, action.choice, i / 4 % 4, left, true);
    end_episode(&t);
  }
  deep_close(&t);
}

/* ---- acting ---- */

static void assert_q(deep_rig *t, int position, double left, double right) {
  float data[DEEP_MOST_LENGTH];
  double q[2];
  lgv_error err = {0};
  lgv_obs obs = deep_obs(t, position, 0, data);
  succeed(t->type->q_values(t->self, &obs, q, &err), &err);
  assert_float_equal(q[0], left, 1e-6);
  assert_float_equal(q[1], right, 1e-6);
}

static const double outputs[2] = {0.6, -0.4};

/* Two states are known, each with rewards that end the episode. */
static void open_known(deep_rig *t) {
  deep_open(t, "pathwise-lmcdqn", deep_spec(4, 2),
            FROZEN "agent.prior=2 agent.sigma=0.5 agent.cells=4", NULL);
  set_network(t, 0.3f, -0.2f);
  for (int i = 0; i < 3; i++) step(t, 0, 1, 3, 1 + i, true);
  step(t, 1, 1, 3, 1.5, true);
  for (int i = 0; i < 20; i++) step(t, 1, 0, 3, i % 2, true);
}

/* Known observations have the mean, an unknown one the network; nothing that is kept changes. */
static void evaluation_uses_the_mean_and_leaves_the_state_alone(void **state) {
  (void)state;
  deep_rig t;
  size_t size;
  int differ = 0;
  open_known(&t);
  const float *mean = deep_array(&t, "pair.mean", NULL),
              *value = deep_array(&t, "pair.value", NULL);
  for (int i = 0; i < 50; i++) {
    step(&t, 0, 1, 3, 1, true);
    end_episode(&t);
    unsigned char *before = copy_state(&t, &size);
    for (int k = 0; k < 2; k++) {
      assert_q(&t, k, (double)mean[2 * k], (double)mean[2 * k + 1]);
      assert_int_equal(chosen(&t, k, LGV_EVAL), mean[2 * k + 1] > mean[2 * k]);
    }
    assert_q(&t, 2, outputs[0], outputs[1]);
    assert_int_equal(chosen(&t, 2, LGV_EVAL), 0);
    assert_state(&t, before, size);
    free(before);
    for (int k = 0; k < 2; k++) {
      assert_int_equal(chosen(&t, k, LGV_TRAIN), value[2 * k + 1] > value[2 * k]);
      differ += (value[2 * k + 1] > value[2 * k]) != (mean[2 * k + 1] > mean[2 * k]);
    }
  }
  assert_true(differ > 0);
  deep_close(&t);
}

/* In units of the prior. */
static void the_network_learns_the_values_of_tried_pairs(void **state) {
  (void)state;
  deep_rig t;
  deep_open(&t, "pathwise-lmcdqn", deep_spec(4, 2), "agent.prior=2 agent.sigma=0.01 optim.lr=3e-3",
            NULL);
  for (int i = 0; i < 400; i++) {
    step(&t, i % 4, i % 4 == 3, 3, 1 + i % 4, true);
    end_episode(&t);
  }
  const float *base = deep_array(&t, "pair.base", NULL);
  for (int i = 0; i < 4; i++) assert_float_equal(base[2 * i + (i == 3)], 0.5 * (1 + i), 0.05);
  deep_close(&t);
}

/* ---- whole runs ---- */

/* Few cells: the agent forgets all the time, sums stay sound, and nothing fails. */
static void forgetting_keeps_the_cells_sound(void **state) {
  (void)state;
  const int sizes[] = {4, 5, 7, 16};
  for (int k = 0; k < 4; k++) {
    deep_rig t;
    lgv_rng rng;
    char extra[64];
    size_t checks = 0;
    snprintf(extra, sizeof extra, "agent.cells=%d agent.hidden=8", sizes[k]);
    deep_open(&t, "pathwise-lmcdqn", deep_spec(40, 2), extra, NULL);
    lgv_rng_seed(&rng, 1, "test");
    for (int i = 0; i < 200; i++) {
      deep_walk(&t, 8, &rng);
      chosen(&t, (int)lgv_rng_below(&rng, 40), LGV_TRAIN);
      for (size_t b = 0; b < t.arena.table.n_blocks; b++) {
        const lgv_block *block = &t.arena.table.blocks[b];
        if (!block->check) continue;
        checks++;
        const char *fault = block->check(block->check_context);
        if (fault) fail_msg("%s", fault);
      }
    }
    assert_true(checks >= 3 * 200);
    deep_close(&t);
  }
}

/* Observations that lead everywhere: the cells have room for them, not for their transitions. */
static void crowded_cells_make_room_for_transitions(void **state) {
  (void)state;
  deep_rig t;
  lgv_rng rng;
  deep_open(&t, "pathwise-lmcdqn", deep_spec(48, 2), "agent.cells=50 agent.hidden=8", NULL);
  lgv_rng_seed(&rng, 1, "test");
  deep_walk(&t, 4000, &rng); /* of 48 x 2 x 49 different ones; there is room for 400 */
  deep_close(&t);
}

/* Within 140 episodes, whatever is observed: five in a row with the greatest return, 0.99. Random
 * actions find it once in 1024 episodes. */
static void deep_sea_is_solved_from_any_observation(void **state) {
  (void)state;
  static const char *const features[] = {"one-hot", "coordinates", "pixels"};
  for (int k = 0; k < 3; k++) {
    char extra[128];
    snprintf(extra, sizeof extra,
             "env.n=10 env.features=%s run.episodes=140 run.stop_return=0.9 run.stop_window=5",
             features[k]);
    lgv_plan *plan = make_plan("deepsea", "pathwise-lmcdqn", extra);
    lgv_summary summary = run_plan(plan, 17);
    if (isnan(summary.solved_episode)) fail_msg("%s: not solved", features[k]);
    lgv_plan_free(plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forbidden_actions_have_no_part_in_values),
      cmocka_unit_test(the_mask_of_a_cell_is_the_last_one_seen),
      cmocka_unit_test(no_forbidden_action_is_chosen),
      cmocka_unit_test(evaluation_uses_the_mean_and_leaves_the_state_alone),
      cmocka_unit_test(the_network_learns_the_values_of_tried_pairs),
      cmocka_unit_test(forgetting_keeps_the_cells_sound),
      cmocka_unit_test(crowded_cells_make_room_for_transitions),
      cmocka_unit_test(deep_sea_is_solved_from_any_observation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
