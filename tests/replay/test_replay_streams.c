/* A replay of several streams equals several replays of one stream: every entry, at every moment,
 * against a replay that saw only that stream. */
#include "replay/priority.h"

#include "base/arena.h"
#include "run_helpers.h"

#include <math.h>

enum { STREAMS = 3, RING = 11, PIXELS = 6, MOST_FRAMES = 4, ROUNDS = 150 };

typedef struct rig {
  lgv_env_spec env;
  int64_t streams, capacity;
  replay r;
  replay_batch b; /* of one */
  priority q;
  priority_params params;
  lgv_arena arena;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *t = context;
  lgv__replay_layout(&t->r, &t->env, t->streams, t->capacity, 3, 0.9, layout);
  lgv__replay_batch_layout(&t->b, &t->r, 1, true, layout);
  lgv__priority_layout(&t->q, &t->params, &t->r, 1, layout);
}

static void open_rig(rig *t, int32_t frames, int64_t streams, int64_t capacity) {
  lgv_error err;
  *t = (rig){.streams = streams, .capacity = capacity, .params = {.on = true, .alpha = 1}};
  t->env = (lgv_env_spec){.obs_kind = LGV_OBS_BYTE,
                          .obs_shape = {PIXELS / 2, 2, frames},
                          .frames = frames,
                          .actions = {.count = 5}};
  assert_int_equal(lgv__arena_build(&t->arena, layout_rig, t, "a test", &err), LGV_OK);
  lgv__priority_open(&t->q);
}

/* The course of one stream: episodes of uneven length, pictures that encode stream and time. */
typedef struct life {
  int stream, time, stage;
  uint8_t obs[PIXELS * MOST_FRAMES], next[PIXELS * MOST_FRAMES];
} life;

static void show(const life *l, int32_t frames, int stage, uint8_t *out) {
  for (int p = 0; p < PIXELS; p++)
    for (int f = 0; f < frames; f++) {
      int back = frames - 1 - f, shown = stage >= back ? stage - back : 0;
      *out++ = (uint8_t)(80 * l->stream + 7 * p + l->time - l->stage + shown);
    }
}

static lgv_transition live(life *l, int32_t frames, lgv_rng *rng) {
  show(l, frames, l->stage, l->obs);
  show(l, frames, l->stage + 1, l->next);
  lgv_transition x = {.obs = {.data = l->obs, .state = -1, .stage = l->stage},
                      .next = {.data = l->next, .state = -1, .stage = l->stage + 1},
                      .action = choice((int32_t)lgv_rng_below(rng, 5)),
                      .reward = lgv_rng_normal(rng) + 10 * l->stream};
  double u = lgv_rng_uniform(rng);
  x.terminated = u < 0.1 * (l->stream + 1);
  x.truncated = u > 0.95;
  bool left = u > 0.9; /* some episodes are abandoned without an end */
  l->time++;
  l->stage = x.terminated || x.truncated || left ? 0 : l->stage + 1;
  return x;
}

static bool is_there(const replay *r, int64_t entry) {
  int64_t stream = entry % r->streams;
  return entry / r->streams < r->cursor[stream * REPLAY_CURSORS + REPLAY_FILLED];
}

static void assert_same(rig *all, int64_t stream, rig *one) {
  const replay *r = &all->r;
  size_t bytes = lgv__replay_encoded_bytes(&all->env);
  for (int64_t e = 0; e < RING; e++) {
    int64_t entry = e * r->streams + stream;
    assert_int_equal(is_there(r, entry), is_there(&one->r, e));
    if (!is_there(r, entry)) continue;
    assert_int_equal(lgv__replay_can_draw(r, entry), lgv__replay_can_draw(&one->r, e));
    assert_int_equal(r->age[entry], one->r.age[e]);
    assert_true(sum_tree_get(&all->q.tree, entry) == sum_tree_get(&one->q.tree, e));
    if (!lgv__replay_can_draw(r, entry)) continue;
    all->b.entry[0] = entry;
    one->b.entry[0] = e;
    lgv__replay_gather(r, &all->b);
    lgv__replay_gather(&one->r, &one->b);
    assert_memory_equal(all->b.obs, one->b.obs, 3 * bytes); /* obs, first, next */
    assert_int_equal(all->b.action[0], one->b.action[0]);
    assert_true(all->b.reward[0] == one->b.reward[0]);
    assert_true(all->b.discount[0] == one->b.discount[0]);
  }
}

/* A capacity of 35 is 11 for each of 3 streams, and 2 are left over. Stream 2 begins later than the
 * others. */
static void streams_never_meet(void **state) {
  (void)state;
  for (int32_t frames = 1; frames <= MOST_FRAMES; frames += 3) {
    rig all, one[STREAMS];
    life lives[STREAMS];
    lgv_rng rng;
    lgv_rng_seed(&rng, 5, "test");
    open_rig(&all, frames, STREAMS, 35);
    assert_int_equal(all.r.capacity, STREAMS * RING);
    for (int s = 0; s < STREAMS; s++) {
      open_rig(&one[s], frames, 1, RING);
      lives[s] = (life){.stream = s};
    }
    for (int i = 0; i < ROUNDS; i++) {
      int64_t size = 0;
      for (int s = 0; s < STREAMS; s++) {
        if (s == 2 && i < 6) continue;
        lgv_transition x = live(&lives[s], frames, &rng);
        int64_t entry = lgv__replay_add(&all.r, s, &x), alone = lgv__replay_add(&one[s].r, 0, &x);
        assert_int_equal(entry, alone * STREAMS + s);
        lgv__priority_add(&all.q, &all.r, entry);
        lgv__priority_add(&one[s].q, &one[s].r, alone);
      }
      for (int s = 0; s < STREAMS; s++) {
        assert_same(&all, s, &one[s]);
        size += lgv__replay_size(&one[s].r);
      }
      assert_int_equal(lgv__replay_size(&all.r), size);
    }
    for (int s = 0; s < STREAMS; s++) lgv__arena_free(&one[s].arena);
    lgv__arena_free(&all.arena);
  }
}

/* Chi-square over the entries that can be drawn, 5 standard errors; one stream has seen less than
 * the others. */
static void draws_are_uniform_over_all_streams(void **state) {
  (void)state;
  enum { DRAWS = 200000 };
  for (int rounds = 6; rounds <= 60; rounds += 54) { /* before and after the rings are full */
    rig t;
    lgv_rng rng;
    int64_t drawn[STREAMS * RING] = {0};
    lgv_rng_seed(&rng, 6, "test");
    open_rig(&t, 4, STREAMS, STREAMS * RING);
    life lives[STREAMS] = {{.stream = 0}, {.stream = 1}, {.stream = 2}};
    for (int i = 0; i < rounds; i++)
      for (int s = 0; s < STREAMS; s++) {
        if (s == 1 && i < 4) continue;
        lgv_transition x = live(&lives[s], 4, &rng);
        (void)lgv__replay_add(&t.r, s, &x);
      }
    for (int i = 0; i < DRAWS; i++) drawn[lgv__replay_draw(&t.r, &rng)]++;
    int64_t size = lgv__replay_size(&t.r);
    double expected = (double)DRAWS / (double)size, chi = 0;
    for (int64_t e = 0; e < STREAMS * RING; e++) {
      bool drawable = is_there(&t.r, e) && lgv__replay_can_draw(&t.r, e);
      if (!drawable) assert_int_equal(drawn[e], 0);
      if (drawable) chi += pow((double)drawn[e] - expected, 2) / expected;
    }
    double freedom = (double)size - 1;
    assert_true(fabs(chi - freedom) < 5 * sqrt(2 * freedom));
    lgv__arena_free(&t.arena);
  }
}

static void sorting_by_age_goes_stream_by_stream(void **state) {
  (void)state;
  rig t;
  lgv_rng rng;
  int64_t order[STREAMS * RING], start[8], seen = 0;
  lgv_rng_seed(&rng, 7, "test");
  open_rig(&t, 1, STREAMS, STREAMS * RING);
  life lives[STREAMS] = {{.stream = 0}, {.stream = 1}, {.stream = 2}};
  for (int i = 0; i < 40; i++)
    for (int s = 0; s < STREAMS; s++) {
      lgv_transition x = live(&lives[s], 1, &rng);
      (void)lgv__replay_add(&t.r, s, &x);
    }
  lgv__replay_sort_by_age(&t.r, 7, order, start);
  assert_int_equal(start[0], 0);
  for (int h = 0; h < 7; h++)
    for (int64_t i = start[h]; i < start[h + 1]; i++, seen++) {
      assert_int_equal(t.r.age[order[i]], h);
      assert_true(lgv__replay_can_draw(&t.r, order[i]));
      if (i > start[h]) assert_true(order[i] % STREAMS >= order[i - 1] % STREAMS);
    }
  int64_t expected = 0;
  for (int64_t e = 0; e < STREAMS * RING; e++)
    expected += is_there(&t.r, e) && lgv__replay_can_draw(&t.r, e) && t.r.age[e] < 7;
  assert_int_equal(seen, expected);
  lgv__arena_free(&t.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_never_meet),
      cmocka_unit_test(draws_are_uniform_over_all_streams),
      cmocka_unit_test(sorting_by_age_goes_stream_by_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
