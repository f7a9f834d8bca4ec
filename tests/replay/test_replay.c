/* The replay against a plain list of episodes, hand-made vectors, and the distribution of its
 * draws. */
#include "replay/replay.h"

#include "base/arena.h"
#include "run_helpers.h"

#include <math.h>
#include <stdlib.h>

enum { LENGTH = 12, BATCH = 64 };

typedef struct rig {
  lgv_env_spec env;
  int64_t streams, capacity; /* streams: 0 means 1 */
  int32_t n_step;
  bool with_first;
  replay r;
  replay_batch b;
  lgv_arena arena;
  lgv_rng rng;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *t = context;
  lgv__replay_layout(&t->r, &t->env, t->streams ? t->streams : 1, t->capacity, t->n_step, 0.99,
                     layout);
  lgv__replay_batch_layout(&t->b, &t->r, BATCH, t->with_first, layout);
}

static void open_rig(rig *t) {
  lgv_error err;
  assert_int_equal(lgv__arena_build(&t->arena, layout_rig, t, "a test", &err), LGV_OK);
  lgv_rng_seed(&t->rng, 7, "test");
}

static lgv_env_spec index_spec(lgv_obs_form form) {
  return (lgv_env_spec){.obs_form = form, .obs_shape = {LENGTH, 1, 1}, .actions = {.count = 2}};
}

static lgv_env_spec image_spec(int32_t channels, int32_t frames) {
  return (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                        .obs_shape = {3, 5, channels},
                        .frames = frames,
                        .actions = {.count = 2}};
}

static void one_hot(int position, float *x) {
  memset(x, 0, LENGTH * sizeof *x);
  if (position >= 0) x[position] = 1;
}

/* One transition between one-hot observations at positions from and to. */
static int64_t add(rig *t, int64_t stage, int from, int to, double reward, bool terminated,
                   bool truncated) {
  float a[LENGTH], b[LENGTH];
  one_hot(from, a);
  one_hot(to, b);
  lgv_transition x = {.obs = {.data = a, .state = from, .stage = stage},
                      .next = {.data = b, .state = to, .stage = stage + 1},
                      .action = choice(from % 2),
                      .reward = reward,
                      .terminated = terminated,
                      .truncated = truncated};
  return lgv__replay_add(&t->r, 0, &x);
}

static void gather_one(rig *t, int64_t entry) {
  for (int64_t i = 0; i < BATCH; i++) t->b.entry[i] = entry;
  lgv__replay_gather(&t->r, &t->b);
}

static int32_t index_at(const void *encoded, int64_t i) { return ((const int32_t *)encoded)[i]; }

/* ---- n-step ---- */

/* Rewards 1, .5, -1, 1, n = 3, gamma .99, a bootstrap value of 2 after the window. */
static void n_step_targets_follow_the_vectors(void **state) {
  (void)state;
  const double rewards[] = {1, .5, -1, 1}, expected[] = {2.455498, 1.0, 1.495};
  for (int end = 0; end < 3; end++) { /* 0: none; k: the k-th step terminates */
    rig t = {.env = index_spec(LGV_FORM_ONE_HOT), .capacity = 20, .n_step = 3};
    open_rig(&t);
    for (int i = 0; i < (end ? end : 4); i++)
      add(&t, i, i, i + 1, rewards[i], end && i + 1 == end, false);
    gather_one(&t, 0);
    assert_float_equal(t.b.reward[0] + t.b.discount[0] * 2, expected[end], 1e-6);
    assert_int_equal(index_at(t.b.next, 0), end ? end : 3);
    assert_true((t.b.discount[0] == 0) == (end > 0));
    lgv__arena_free(&t.arena);
  }
}

static void truncation_keeps_the_value_and_the_last_observation(void **state) {
  (void)state;
  rig t = {.env = index_spec(LGV_FORM_ONE_HOT), .capacity = 20, .n_step = 3};
  open_rig(&t);
  add(&t, 0, 0, 1, 1, false, false);
  add(&t, 1, 1, 9, .5, false, true);
  add(&t, 0, 4, 5, 7, false, false);
  gather_one(&t, 0);
  assert_float_equal(t.b.reward[0], 1.495, 1e-6);
  assert_float_equal(t.b.discount[0], .99 * .99, 1e-6);
  assert_int_equal(index_at(t.b.next, 0), 9);
  assert_int_equal(lgv__replay_size(&t.r), 3);
  assert_int_equal(t.r.cursor[REPLAY_FILLED], 5); /* 0 1 9 | 4 5 */
  lgv__arena_free(&t.arena);
}

/* The window ends at the newest observation, with the available steps. */
static void an_unfinished_window_bootstraps_from_the_newest_observation(void **state) {
  (void)state;
  rig t = {.env = index_spec(LGV_FORM_ONE_HOT), .capacity = 20, .n_step = 3};
  open_rig(&t);
  int64_t entry = add(&t, 0, 0, 1, 1, false, false);
  entry = add(&t, 1, 1, 2, .5, false, false);
  gather_one(&t, entry);
  assert_float_equal(t.b.reward[0], .5, 0);
  assert_float_equal(t.b.discount[0], .99, 1e-7);
  assert_int_equal(index_at(t.b.next, 0), 2);
  lgv__arena_free(&t.arena);
}

/* An episode that was abandoned without an end flag is not continued by the next one. */
static void an_abandoned_episode_ends_where_it_was_left(void **state) {
  (void)state;
  rig t = {.env = index_spec(LGV_FORM_ONE_HOT), .capacity = 20, .n_step = 3};
  open_rig(&t);
  add(&t, 0, 0, 1, 1, false, false);
  add(&t, 0, 4, 5, 10, false, false);
  gather_one(&t, 0);
  assert_float_equal(t.b.reward[0], 1, 0);
  assert_int_equal(index_at(t.b.next, 0), 1);
  lgv__arena_free(&t.arena);
}

/* ---- the ring against a plain list ---- */

typedef struct step {
  int from, to, start; /* start: position at the beginning of its episode */
  double reward;
  bool last; /* of its episode */
  bool terminated;
} step;

/* Computes the n-step target of step i from the list, of which `count` steps are known. */
static void expect(const step *all, int i, int count, int n, double *reward, double *discount,
                   int *next) {
  double g = 1;
  *reward = 0;
  for (int l = 0; l < n; l++, i++) {
    *reward += g * all[i].reward;
    g *= 0.99;
    *next = all[i].to;
    *discount = all[i].terminated ? 0 : g;
    if (all[i].last || i + 1 == count) return;
  }
}

/* Every draw must be one of the steps in the ring, with the target from the list. */
static void the_ring_equals_a_list_of_its_newest_steps(void **state) {
  (void)state;
  enum { STEPS = 3000 };
  static step all[STEPS];
  static int64_t owner[50]; /* entry -> step */
  rig t = {.env = index_spec(LGV_FORM_ONE_HOT), .capacity = 50, .n_step = 3, .with_first = true};
  open_rig(&t);
  int stage = 0, at = 3, start = 3;
  for (int i = 0; i < STEPS; i++) {
    int to = (int)lgv_rng_below(&t.rng, LENGTH);
    double u = lgv_rng_uniform(&t.rng), reward = lgv_rng_normal(&t.rng);
    bool terminated = u<0.1, truncated = u> 0.93;
    all[i] = (step){at, to, start, (float)reward, terminated || truncated, terminated};
    owner[add(&t, stage, at, to, reward, terminated, truncated)] = i;
    stage = all[i].last ? 0 : stage + 1;
    at = all[i].last ? (int)lgv_rng_below(&t.rng, LENGTH) : to;
    if (all[i].last) start = at;
    lgv__replay_sample(&t.r, &t.rng, &t.b);
    for (int b = 0; b < BATCH; b++) {
      int k = (int)owner[t.b.entry[b]], next = -1;
      double r, d;
      expect(all, k, i + 1, 3, &r, &d, &next);
      assert_true(k > i - 50);
      assert_int_equal(index_at(t.b.obs, b), all[k].from);
      assert_int_equal(index_at(t.b.first, b), all[k].start);
      assert_int_equal(index_at(t.b.next, b), next);
      assert_int_equal(t.b.action[b], all[k].from % 2);
      assert_float_equal(t.b.reward[b], r, 1e-5);
      assert_float_equal(t.b.discount[b], d, 1e-6);
    }
  }
  lgv__arena_free(&t.arena);
}

/* Chi-square over the entries that can be drawn; the others are never drawn. 5 standard errors. */
static void draws_are_uniform(void **state) {
  (void)state;
  enum { CAPACITY = 40, ROUNDS = 4000 };
  rig t = {.env = index_spec(LGV_FORM_ONE_HOT), .capacity = CAPACITY, .n_step = 1};
  open_rig(&t);
  for (int i = 0, stage = 0; i < 100; i++) {
    bool last = i % 7 == 6;
    add(&t, stage, i % LENGTH, (i + 1) % LENGTH, 0, false, last);
    stage = last ? 0 : stage + 1;
  }
  double count[CAPACITY] = {0}, chi = 0;
  for (int i = 0; i < ROUNDS; i++) {
    lgv__replay_sample(&t.r, &t.rng, &t.b);
    for (int b = 0; b < BATCH; b++) count[t.b.entry[b]]++;
  }
  int64_t size = lgv__replay_size(&t.r);
  double expected = (double)ROUNDS * BATCH / (double)size;
  for (int e = 0; e < CAPACITY; e++) {
    if (lgv__replay_can_draw(&t.r, e))
      chi += (count[e] - expected) * (count[e] - expected) / expected;
    else
      assert_true(count[e] == 0);
  }
  assert_true(size > 30 && size < CAPACITY);
  assert_true(fabs(chi - (double)(size - 1)) < 5 * sqrt(2 * (double)(size - 1)));
  lgv__arena_free(&t.arena);
}

static void sorting_by_age_finds_every_drawable_entry_once(void **state) {
  (void)state;
  rig t = {.env = index_spec(LGV_FORM_ONE_HOT), .capacity = 40, .n_step = 1};
  open_rig(&t);
  for (int i = 0, stage = 0; i < 95; i++) {
    bool last = i % 6 == 5;
    add(&t, stage, i % LENGTH, (i + 1) % LENGTH, i, false, last);
    stage = last ? 0 : stage + 1;
  }
  int64_t order[40], start[7];
  lgv__replay_sort_by_age(&t.r, 6, order, start);
  assert_int_equal(start[0], 0);
  assert_int_equal(start[6], lgv__replay_size(&t.r));
  for (int h = 0; h < 6; h++)
    for (int64_t i = start[h]; i < start[h + 1]; i++) {
      assert_int_equal(t.r.age[order[i]], h);
      if (i > start[h]) assert_true(t.r.reward[order[i]] > t.r.reward[order[i - 1]]);
    }
  lgv__arena_free(&t.arena);
}

/* ---- forms ---- */

static void sparse_observations_become_indices(void **state) {
  (void)state;
  float x[LENGTH];
  int32_t index;
  lgv_obs obs = {.data = x, .state = -1};
  lgv_env_spec hot = index_spec(LGV_FORM_ONE_HOT), bar = index_spec(LGV_FORM_THERMOMETER);
  one_hot(LENGTH - 1, x);
  lgv__replay_encode(&hot, &obs, &index);
  assert_int_equal(index, LENGTH - 1);
  one_hot(-1, x);
  lgv__replay_encode(&hot, &obs, &index);
  assert_int_equal(index, -1);
  lgv__replay_encode(&bar, &obs, &index);
  assert_int_equal(index, 0);
  for (int i = 0; i < 5; i++) x[i] = 1;
  lgv__replay_encode(&bar, &obs, &index);
  assert_int_equal(index, 5);
  for (int i = 0; i < LENGTH; i++) x[i] = 1;
  lgv__replay_encode(&bar, &obs, &index);
  assert_int_equal(index, LENGTH);
  assert_int_equal(lgv__replay_encoded_bytes(&bar), 4);
}

static void dense_observations_keep_their_bits(void **state) {
  (void)state;
  lgv_env_spec env = {.obs_shape = {3, 1, 1}, .actions = {.count = 2}};
  rig t = {.env = env, .capacity = 8, .n_step = 1};
  open_rig(&t);
  float a[] = {0.1f, -3e-20f, 5}, b[] = {1, 2, 3};
  lgv_transition x = {.obs = {.data = a, .state = -1},
                      .next = {.data = b, .state = -1, .stage = 1},
                      .action = choice(0),
                      .reward = 1};
  gather_one(&t, lgv__replay_add(&t.r, 0, &x));
  assert_memory_equal(t.b.obs, a, sizeof a);
  assert_memory_equal(t.b.next + (BATCH - 1) * sizeof b, b, sizeof b);
  assert_ptr_equal(t.b.next, t.b.obs + BATCH * sizeof a);
  assert_ptr_equal(lgv__replay_input(&env, t.b.obs).dense, t.b.obs);
  lgv__arena_free(&t.arena);
}

/* A stack as an environment shows it: pictures number - 3..number, the first one repeated; every
 * pixel encodes the number of its picture. */
static void stack(uint8_t *out, int32_t frames, int32_t depth, int first, int number) {
  for (int p = 0; p < 15; p++)
    for (int32_t f = 0; f < frames; f++) {
      int shown = number - (frames - 1 - f);
      if (shown < first) shown = first;
      for (int32_t d = 0; d < depth; d++) *out++ = (uint8_t)(shown * 16 + p + d * 3);
    }
}

/* Observations are read back unchanged, for every number of pictures and channels, wherever the
 * ring wraps; partly overwritten stacks are not drawn. */
static void stacks_are_rebuilt_from_single_pictures(void **state) {
  (void)state;
  const int32_t shapes[][2] = {{4, 1}, {4, 3}, {3, 2}, {1, 3}};
  for (int k = 0; k < 4; k++) {
    int32_t frames = shapes[k][0], depth = shapes[k][1];
    rig t = {
        .env = image_spec(frames * depth, frames), .capacity = 23, .n_step = 2, .with_first = true};
    uint8_t a[15 * 12], b[15 * 12];
    size_t bytes = (size_t)(15 * frames * depth);
    open_rig(&t);
    assert_int_equal(t.r.obs_bytes, 15 * depth);
    int owner[23] = {0}, firsts[200] = {0}, lasts[200] = {0};
    for (int i = 0, first = 0; i < 200; i++) { /* step i shows picture i, then i + 1 */
      bool last = i % 9 == 8;
      stack(a, frames, depth, first, i);
      stack(b, frames, depth, first, i + 1);
      lgv_transition x = {.obs = {.data = a, .state = -1, .stage = i - first},
                          .next = {.data = b, .state = -1, .stage = i - first + 1},
                          .action = choice(0)};
      x.truncated = last;
      firsts[i] = first;
      lasts[i] = last;
      owner[lgv__replay_add(&t.r, 0, &x)] = i;
      if (last) first = i + 1;
      lgv__replay_sample(&t.r, &t.rng, &t.b);
      for (int s = 0; s < BATCH; s++) {
        int from = owner[t.b.entry[s]], to = from + (from < i && !lasts[from] ? 2 : 1);
        stack(a, frames, depth, firsts[from], from);
        assert_memory_equal(t.b.obs + (size_t)s * bytes, a, bytes);
        stack(a, frames, depth, firsts[from], to);
        assert_memory_equal(t.b.next + (size_t)s * bytes, a, bytes);
        stack(a, frames, depth, firsts[from], firsts[from]);
        assert_memory_equal(t.b.first + (size_t)s * bytes, a, bytes);
      }
    }
    int64_t drawable = 0;
    for (int e = 0; e < 23; e++) drawable += lgv__replay_can_draw(&t.r, e);
    assert_int_equal(lgv__replay_size(&t.r), drawable);
    lgv__arena_free(&t.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(n_step_targets_follow_the_vectors),
      cmocka_unit_test(truncation_keeps_the_value_and_the_last_observation),
      cmocka_unit_test(an_unfinished_window_bootstraps_from_the_newest_observation),
      cmocka_unit_test(an_abandoned_episode_ends_where_it_was_left),
      cmocka_unit_test(the_ring_equals_a_list_of_its_newest_steps),
      cmocka_unit_test(draws_are_uniform),
      cmocka_unit_test(sorting_by_age_finds_every_drawable_entry_once),
      cmocka_unit_test(sparse_observations_become_indices),
      cmocka_unit_test(dense_observations_keep_their_bits),
      cmocka_unit_test(stacks_are_rebuilt_from_single_pictures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
