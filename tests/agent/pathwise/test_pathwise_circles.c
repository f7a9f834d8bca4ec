/* Pathwise LMCDQN within one episode: circles, lost agents, random worlds, episodes without an end,
 * and resuming there. */
#include "agent/pathwise/circles.h"
#include "pathwise_helpers.h"

#include <math.h>
#include <stdio.h>

/* ---- circles ---- */

enum { ACTIONS = 5, DRAWS = 40000 };

/* Walks 0, 1, 0, 1, ... by action 1, from the step `first` on. Both observations are new at first,
 * and so are both pairs: the search begins with the second step, and finds a circle of 2 at its
 * fourth (circles.h), the fifth in all. */
static void go_around(deep_rig *t, int first, int steps, double reward) {
  for (int i = first; i < first + steps; i++) step(t, i % 2, 1, 1 - i % 2, reward, false);
}

static bool is_lost(const deep_rig *t, int stream) {
  const int64_t *walk = deep_array(t, "circle.walk", NULL);
  return walk[stream * WALK_COUNTERS + WALK_LOST] > 0;
}

/* What the sample and the mean prefer at the observation 0. */
static void prefer(deep_rig *t, int by_sample, int by_mean) {
  float *value = deep_array(t, "pair.value", NULL), *mean = deep_array(t, "pair.mean", NULL);
  for (int a = 0; a < ACTIONS; a++) {
    value[a] = a == by_sample;
    mean[a] = a == by_mean;
  }
}

static void assert_acts_by_sample(deep_rig *t) {
  prefer(t, 3, 2);
  for (int i = 0; i < 500; i++) assert_int_equal(chosen(t, 0, LGV_TRAIN), 3);
}

/* One action in ten is random, each of the five as likely as the others. Within 5 standard errors;
 * twice or half as many random actions would be 14 and more away. */
static void assert_acts_by_mean(deep_rig *t) {
  int times[ACTIONS] = {0};
  prefer(t, 3, 2);
  for (int i = 0; i < DRAWS; i++) times[chosen(t, 0, LGV_TRAIN)]++;
  for (int a = 0; a < ACTIONS; a++) {
    double share = 0.1 / ACTIONS + (a == 2 ? 0.9 : 0);
    double error = sqrt(share * (1 - share) / DRAWS);
    if (fabs((double)times[a] / DRAWS - share) > 5 * error)
      fail_msg("action %d: %d times", a, times[a]);
  }
}

static void open_streams(deep_rig *t, int32_t streams, lgv_env_spec env, const char *extra) {
  deep_open_for(t, "pathwise-lmcdqn", (lgv_problem){.env = env, .streams = streams}, extra, NULL);
}

/* An agent that has found the world to be fixed within an episode. */
static void open_fixed(deep_rig *t, int32_t streams, lgv_env_spec env, const char *extra) {
  open_streams(t, streams, env, extra);
  ((int64_t *)deep_array(t, "circle.repeats", NULL))[1] = CIRCLES_REPEATS;
}

/* Evaluations act by the mean and take no random action. */
static void a_lost_agent_acts_by_the_mean_until_the_next_sample(void **state) {
  (void)state;
  deep_rig t;
  open_fixed(&t, 1, deep_spec(4, ACTIONS), FROZEN);
  for (int episode = 0; episode < 2; episode++) {
    int steps = episode == 0 ? 5 : 4; /* nothing is new in the second one */
    go_around(&t, 0, steps - 1, 0);
    assert_false(is_lost(&t, 0));
    assert_acts_by_sample(&t);
    go_around(&t, steps - 1, 1, 0);
    assert_true(is_lost(&t, 0));
    assert_acts_by_mean(&t);
    for (int i = 0; i < 500; i++) assert_int_equal(chosen(&t, 0, LGV_EVAL), 2);
    end_episode(&t);
    assert_false(is_lost(&t, 0));
    assert_acts_by_sample(&t);
  }
  deep_close(&t);
}

/* The random actions are among the allowed ones, too. */
static void a_lost_agent_chooses_no_forbidden_action(void **state) {
  (void)state;
  const uint8_t mask[ACTIONS] = {1, 0, 0, 1, 1};
  int times[ACTIONS] = {0};
  deep_rig t;
  lgv_error err = {0};
  float data[DEEP_MOST_LENGTH];
  lgv_env_spec env = deep_spec(4, ACTIONS);
  env.masked = true;
  open_fixed(&t, 1, env, FROZEN);
  go_around(&t, 0, 5, 0);
  assert_true(is_lost(&t, 0));
  prefer(&t, 3, 4);
  lgv_obs obs = deep_obs(&t, 0, 0, data);
  obs.mask = mask;
  for (int i = 0; i < 1000; i++) {
    lgv_action action;
    succeed(t.type->act(t.self, &obs, LGV_TRAIN, &action, &err), &err);
    times[action.choice]++;
  }
  for (int a = 0; a < ACTIONS; a++) assert_int_equal(times[a] > 0, mask[a]);
  assert_in_range(times[4], 850, 980);
  deep_close(&t);
}

/* A reward above the least one of the sample, or above 0, is news. Bins are no exact names: a
 * circle between them proves nothing. */
static void only_circles_without_news_count(void **state) {
  (void)state;
  const struct {
    double least, reward;
    bool ended, dense, coarse, lost;
  } cases[] = {{.lost = true},
               {.reward = 1},
               {.reward = -1, .lost = true},
               {.least = -1, .reward = -1, .lost = true},
               {.least = -1, .reward = -0.5},
               {.least = -1},
               {.least = -1, .ended = true, .lost = true},
               {.dense = true, .lost = true},
               {.dense = true, .coarse = true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    deep_rig t;
    lgv_env_spec env = deep_spec(4, 2);
    if (cases[i].dense) env.obs_form = LGV_FORM_DENSE;
    open_fixed(&t, 1, env, FROZEN);
    if (cases[i].coarse) blur(&t, 4);
    step(&t, 2, 0, 0, cases[i].least, false);
    if (cases[i].ended) end_episode(&t);
    go_around(&t, 0, 100, cases[i].reward);
    if (is_lost(&t, 0) != cases[i].lost) fail_msg("case %d", (int)i);
    deep_close(&t);
  }
}

/* A pair that is tried for the first time in each round. */
static void first_tries_postpone_the_end_of_the_search(void **state) {
  (void)state;
  enum { PAIRS = 40 };
  deep_rig t;
  open_fixed(&t, 1, deep_spec(2, PAIRS), FROZEN);
  for (int i = 0; i < 2 * PAIRS; i++) {
    step(&t, i % 2, i % 2 ? 0 : i / 2, 1 - i % 2, 0, false);
    assert_false(is_lost(&t, 0));
  }
  go_around(&t, 0, 10, 0);
  assert_true(is_lost(&t, 0));
  deep_close(&t);
}

/* One environment's circle does not touch the other one's episode. The end of any episode is the
 * next sample for all. */
static void environments_are_lost_one_by_one(void **state) {
  (void)state;
  for (int ends = 0; ends < 2; ends++) {
    deep_rig t;
    open_fixed(&t, 2, deep_spec(4, ACTIONS), FROZEN);
    t.type->set_stream(t.self, 1);
    go_around(&t, 0, 5, 0);
    assert_true(is_lost(&t, 1) && !is_lost(&t, 0));
    assert_acts_by_mean(&t);
    t.type->set_stream(t.self, 0);
    assert_acts_by_sample(&t);
    t.type->set_stream(t.self, ends);
    end_episode(&t);
    assert_false(is_lost(&t, 0) || is_lost(&t, 1));
    t.type->set_stream(t.self, 1);
    assert_acts_by_sample(&t);
    deep_close(&t);
  }
}

/* An episode that was given up has no end: the next one begins. The other environment keeps its
 * own. */
static void an_episode_given_up_is_not_lost(void **state) {
  (void)state;
  deep_rig t;
  open_fixed(&t, 2, deep_spec(4, ACTIONS), FROZEN);
  for (int i = 0; i < 2; i++) {
    t.type->set_stream(t.self, i);
    go_around(&t, 0, 5, 0);
  }
  assert_true(is_lost(&t, 0) && is_lost(&t, 1));
  deep_begin(&t);
  assert_true(is_lost(&t, 0) && !is_lost(&t, 1));
  assert_acts_by_sample(&t);
  for (int i = 0; i < 4; i++) {
    assert_false(is_lost(&t, 1));
    go_around(&t, i, 1, 0);
  }
  assert_true(is_lost(&t, 1));
  deep_close(&t);
}

static void evaluation_leaves_a_lost_agent_alone(void **state) {
  (void)state;
  deep_rig t;
  size_t size;
  open_fixed(&t, 1, deep_spec(4, ACTIONS), FROZEN);
  go_around(&t, 0, 5, 0);
  assert_true(is_lost(&t, 0));
  unsigned char *before = copy_state(&t, &size);
  for (int i = 0; i < 400; i++) chosen(&t, i % 4, LGV_EVAL);
  assert_state(&t, before, size);
  free(before);
  deep_close(&t);
}

/* ---- random worlds ---- */

/* A ring where each action advances by chance, and sometimes stays. The agent meets its marks often
 * enough to be lost, were the outcomes the same. */
static void an_agent_in_a_random_world_is_never_lost(void **state) {
  (void)state;
  enum { PLACES = 6, LENGTH = 20 };
  for (uint64_t seed = 1; seed <= 5; seed++) {
    deep_rig t;
    lgv_rng world;
    int at = 0;
    open_streams(&t, 1, deep_spec(PLACES, 2), FROZEN);
    lgv_rng_seed(&world, seed, "world");
    for (int i = 0; i < 4000; i++) {
      if (i % LENGTH == 0) deep_begin(&t);
      int action = chosen(&t, at, LGV_TRAIN);
      int to = (at + action + (int)lgv_rng_below(&world, 3)) % PLACES;
      step(&t, at, action, to, 0, false);
      assert_false(is_lost(&t, 0));
      if (i % LENGTH == LENGTH - 1) end_episode(&t);
      at = to;
    }
    const int64_t *repeats = deep_array(&t, "circle.repeats", NULL);
    assert_true(repeats[0] > CIRCLES_REPEATS && repeats[1] > CIRCLES_REPEATS);
    deep_close(&t);
  }
}

/* At a wall, an action leads to the same place in every episode: that says nothing about others. An
 * action that has led elsewhere before does. */
static void a_wall_proves_no_fixed_world(void **state) {
  (void)state;
  for (int varies = 0; varies < 2; varies++) {
    deep_rig t;
    open_streams(&t, 1, deep_spec(3, 2), FROZEN);
    if (varies) step(&t, 0, 0, 1, 0, false);
    for (int i = 0; i < 200; i++) step(&t, 0, 0, 0, 0, false);
    const int64_t *repeats = deep_array(&t, "circle.repeats", NULL);
    assert_int_equal(repeats[0], 0);
    assert_int_equal(repeats[1] >= CIRCLES_REPEATS, varies);
    assert_int_equal(is_lost(&t, 0), varies);
    deep_close(&t);
  }
}

/* ---- episodes without an end ---- */

/* The next step in each environment: the sample changes with the last one, or not at all. */
static void go_on(deep_rig *t, int streams, int i, bool changes) {
  float before[4];
  const float *x = deep_array(t, "pair.prior", NULL);
  for (int k = 0; k < streams; k++) {
    memcpy(before, x, sizeof before);
    t->type->set_stream(t->self, k);
    go_around(t, i, 1, 0);
    bool changed = changes && k == streams - 1;
    for (int p = 0; p < 4; p++) assert_int_equal(x[p] != before[p], changed);
  }
}

/* 10 / (1 - gamma) steps of each environment after the last sample there is a new one, and no agent
 * is lost any more. */
static void a_long_episode_has_several_samples(void **state) {
  (void)state;
  const char *const gammas[] = {"agent.gamma=0.5", "agent.gamma=0.75"};
  for (int k = 0; k < 6; k++) {
    deep_rig t;
    char extra[64];
    int lost = 0, every = k % 2 == 0 ? 20 : 40, streams = 1 + k / 2;
    snprintf(extra, sizeof extra, FROZEN "%s", gammas[k % 2]);
    open_fixed(&t, streams, deep_spec(2, 2), extra);
    go_around(&t, 0, every / 2, 0);
    end_episode(&t); /* from here on, not from the beginning */
    for (int i = 1; i <= 5 * every; i++) {
      go_on(&t, streams, i, i % every == 0);
      if (i % every == 0) assert_false(is_lost(&t, 0));
      lost += is_lost(&t, 0);
    }
    assert_true(lost > 5 * every / 2);
    deep_close(&t);
  }
}

/* The reward 1 forever is worth 1 / (1 - gamma) = 2. */
static void the_network_learns_in_an_episode_without_an_end(void **state) {
  (void)state;
  deep_rig t;
  double stats[16], updates = 0;
  open_fixed(&t, 1, deep_spec(2, 2),
             "agent.gamma=0.5 agent.prior=1 agent.sigma=0.01 optim.lr=3e-3");
  go_around(&t, 0, 1010, 1);
  const float *base = deep_array(&t, "pair.base", NULL);
  for (int i = 0; i < 2; i++) assert_float_equal(base[2 * i + 1], 2, 0.05);
  t.type->stats(t.self, stats);
  for (int i = 0; t.type->stat_names[i]; i++)
    if (strcmp(t.type->stat_names[i], "updates") == 0) updates = stats[i];
  assert_float_equal(updates, 1000, 0); /* the last sample came after 1000 steps */
  deep_close(&t);
}

/* ---- resuming ---- */

enum { RING = 6, RINGS = 3 };

/* Rings of observations, one per environment: an action advances or stays, and nothing is ever
 * rewarded. So every sample leads in a circle, as soon as all pairs are known. */
static void walk_rings(deep_rig *t, int *at, int streams, int steps) {
  for (int i = 0; i < steps; i++)
    for (int k = 0; k < streams; k++) {
      t->type->set_stream(t->self, k);
      int action = chosen(t, at[k], LGV_TRAIN), to = (at[k] + action) % RING;
      step(t, at[k], action, to, 0, false);
      at[k] = to;
    }
}

/* As files are loaded: the kept blocks, then their checks, which fill in what follows from them. */
static void copy_kept(deep_rig *to, const deep_rig *from) {
  const lgv_layout *a = &to->arena.table, *b = &from->arena.table;
  assert_int_equal(a->n_blocks, b->n_blocks);
  for (size_t i = 0; i < b->n_blocks; i++) {
    const lgv_block *block = &b->blocks[i];
    size_t bytes = block->count * lgv__dtype_size(block->dtype);
    if (block->keep) memcpy(a->base + a->blocks[i].offset, b->base + block->offset, bytes);
  }
  for (size_t i = 0; i < a->n_blocks; i++)
    if (a->blocks[i].check) assert_null(a->blocks[i].check(a->blocks[i].check_context));
}

static void assert_same_state(const deep_rig *t, const deep_rig *u) {
  size_t size;
  unsigned char *state = copy_state(t, &size);
  assert_state(u, state, size);
  free(state);
}

/* A second agent with nothing but what checkpoints keep goes on as the first one, to the bit, from
 * so many steps after the second sample. Returns whether the first environment was lost then. */
static bool resume_after(int streams, int steps) {
  deep_rig t, u;
  int at[RINGS] = {0, 2, 4}, again[RINGS];
  open_fixed(&t, streams, deep_spec(RING, 2), "agent.cells=50");
  open_fixed(&u, streams, deep_spec(RING, 2), "agent.cells=50");
  walk_rings(&t, at, streams, 100);
  end_episode(&t);
  walk_rings(&t, at, streams, steps);
  bool lost = is_lost(&t, 0);
  copy_kept(&u, &t);
  memcpy(again, at, sizeof at);
  for (int i = 0; i < 2; i++) { /* within the episode, and after it */
    walk_rings(&t, at, streams, 40);
    walk_rings(&u, again, streams, 40);
    assert_memory_equal(at, again, sizeof at);
    assert_same_state(&t, &u);
    end_episode(&t), end_episode(&u);
  }
  deep_close(&t), deep_close(&u);
  return lost;
}

static void a_lost_episode_resumes_exactly(void **state) {
  (void)state;
  for (int streams = 1; streams <= RINGS; streams += 2) {
    int lost = 0;
    for (int steps = 0; steps < 30; steps++) lost += resume_after(streams, steps);
    assert_in_range(lost, 5, 28); /* also in the middle of the search */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lost_agent_acts_by_the_mean_until_the_next_sample),
      cmocka_unit_test(a_lost_agent_chooses_no_forbidden_action),
      cmocka_unit_test(only_circles_without_news_count),
      cmocka_unit_test(first_tries_postpone_the_end_of_the_search),
      cmocka_unit_test(environments_are_lost_one_by_one),
      cmocka_unit_test(an_episode_given_up_is_not_lost),
      cmocka_unit_test(evaluation_leaves_a_lost_agent_alone),
      cmocka_unit_test(an_agent_in_a_random_world_is_never_lost),
      cmocka_unit_test(a_wall_proves_no_fixed_world),
      cmocka_unit_test(a_long_episode_has_several_samples),
      cmocka_unit_test(the_network_learns_in_an_episode_without_an_end),
      cmocka_unit_test(a_lost_episode_resumes_exactly),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
