/* Circles: when a walk is lost, to the step; fixed and random worlds, news, rewards, streams,
 * restarts, and states that cannot be. */
#include "agent/pathwise/circles.h"
#include "base/arena.h"
#include "run_helpers.h"

#include <math.h>

enum { STREAMS = 3 };

typedef struct rig {
  circles c;
  int32_t streams;
  lgv_arena arena;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *r = context;
  lgv__circles_layout(&r->c, r->streams, layout);
}

static void rig_open(rig *r, int32_t streams) {
  lgv_error err = {0};
  *r = (rig){.streams = streams};
  assert_int_equal(lgv__arena_build(&r->arena, layout_rig, r, "a test", &err), LGV_OK);
}

static void rig_close(rig *r) { lgv__arena_free(&r->arena); }

static void set_repeats(circles *c, int64_t others, int64_t same) {
  c->repeats[0] = others;
  c->repeats[1] = same;
}

/* A rig in a world that has been shown to be fixed. */
static void rig_open_fixed(rig *r, int32_t streams) {
  rig_open(r, streams);
  set_repeats(&r->c, 0, CIRCLES_REPEATS);
}

/* Step i with an action of its own, which repeats no other. */
static void new_step(circles *c, int i, uint64_t name, double reward) {
  lgv__circles_step(c, i, true, name, reward);
}

/* The name of step i = 1, 2, ... of a walk: a tail, and then a circle forever. */
static uint64_t name_at(int tail, int length, int i) {
  return 1000 + (uint64_t)(i <= tail ? i : tail + 1 + (i - tail - 1) % length);
}

/* Marks are the steps 1, 2, 4, 8, ..., each until the next one. So the first one that lies on the
 * circle and serves for `length` steps meets itself. */
static int expected_steps(int tail, int length) {
  int mark = 1;
  while (mark <= tail || mark < length) mark *= 2;
  return mark + length;
}

/* How many steps the walk takes before it is lost; 0 if it is not found in time. */
static int steps_until_lost(circles *c, int tail, int length) {
  for (int i = 1; i <= 4 * (tail + length) + 4; i++) {
    new_step(c, i, name_at(tail, length, i), 0);
    if (lgv__circles_is_lost(c)) return i;
  }
  return 0;
}

static const int tails[] = {0, 1, 2, 3, 4, 7, 8, 50, 127, 128, 1000};
static const int lengths[] = {1, 2, 3, 7, 8, 9, 100};
enum { TAILS = sizeof tails / sizeof *tails, LENGTHS = sizeof lengths / sizeof *lengths };

static void circles_are_found_within_three_times_their_walk(void **state) {
  (void)state;
  rig r;
  rig_open_fixed(&r, 1);
  for (int i = 0; i < TAILS * LENGTHS; i++) {
    int tail = tails[i / LENGTHS], length = lengths[i % LENGTHS];
    lgv__circles_restart(&r.c);
    assert_false(lgv__circles_is_lost(&r.c));
    int steps = steps_until_lost(&r.c, tail, length);
    assert_int_equal(steps, expected_steps(tail, length));
    assert_true(steps <= 3 * (tail + length));
  }
  rig_close(&r);
}

static void a_walk_without_a_repeat_is_never_lost(void **state) {
  (void)state;
  rig r;
  rig_open_fixed(&r, 1);
  for (int i = 0; i < 100000; i++) {
    new_step(&r.c, i, (uint64_t)i, 0); /* 0, the mark's first content, is a name as any other */
    assert_false(lgv__circles_is_lost(&r.c));
  }
  rig_close(&r);
}

/* ---- fixed and random worlds ---- */

static void a_circle_counts_only_in_a_world_shown_to_be_fixed(void **state) {
  (void)state;
  const struct {
    int64_t others, same;
    bool lost;
  } cases[] = {{0, 0, false},  {0, 19, false}, {0, 20, true}, {1, 18, false}, {1, 19, true},
               {2, 20, false}, {2, 37, false}, {2, 38, true}, {50, 50, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig r;
    rig_open(&r, 1);
    set_repeats(&r.c, cases[i].others, cases[i].same);
    int expected = cases[i].lost ? expected_steps(3, 5) : 0;
    if (steps_until_lost(&r.c, 3, 5) != expected) fail_msg("case %d", (int)i);
    rig_close(&r);
  }
}

/* Every return to the mark but the last one is followed by the action of the mark. */
static void a_circle_shows_that_the_world_is_fixed(void **state) {
  (void)state;
  for (int i = 0; i < LENGTHS; i++) {
    rig r;
    int steps = 0;
    rig_open(&r, 1);
    while (!lgv__circles_is_lost(&r.c)) {
      assert_true(++steps <= 100 * lengths[i]);
      lgv__circles_step(&r.c, 1, true, name_at(0, lengths[i], steps), 0);
    }
    assert_int_equal(r.c.repeats[0], 0);
    assert_int_equal(r.c.repeats[1], CIRCLES_REPEATS);
    lgv__circles_restart(&r.c); /* which is known from now on */
    assert_int_equal(steps_until_lost(&r.c, 7, 3), expected_steps(7, 3));
    rig_close(&r);
  }
}

/* The fourth step is the mark, for four more. Its action 3 leads to 2 and back; then `action` leads
 * to `to`. */
static void come_back(circles *c, int32_t action, uint64_t to) {
  lgv__circles_restart(c);
  for (int i = 1; i <= 3; i++) lgv__circles_step(c, 0, true, 10 + (uint64_t)i, 0);
  lgv__circles_step(c, 0, true, 1, 0);
  lgv__circles_step(c, 3, true, 2, 0);
  lgv__circles_step(c, 0, true, 1, 0);
  lgv__circles_step(c, action, true, to, 0);
}

static void repeats_are_of_the_action_at_the_mark(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 1);
  come_back(&r.c, 3, 2);
  assert_true(r.c.repeats[0] == 0 && r.c.repeats[1] == 1);
  come_back(&r.c, 3, 5);
  assert_true(r.c.repeats[0] == 1 && r.c.repeats[1] == 1);
  come_back(&r.c, 4, 2);
  come_back(&r.c, 4, 5);
  assert_true(r.c.repeats[0] == 1 && r.c.repeats[1] == 1);
  rig_close(&r);
}

static void a_random_walk_is_never_lost(void **state) {
  (void)state;
  for (int names = 2; names <= 8; names++) {
    rig r;
    lgv_rng rng;
    rig_open(&r, 1);
    lgv_rng_seed(&rng, (uint64_t)names, "world");
    for (int i = 0; i < 10000; i++) {
      lgv__circles_step(&r.c, 0, true, (uint64_t)lgv_rng_below(&rng, names), 0);
      assert_false(lgv__circles_is_lost(&r.c));
    }
    assert_true(r.c.repeats[0] > CIRCLES_REPEATS);
    rig_close(&r);
  }
}

/* ---- news ---- */

static void each_walks(circles *c, int i, uint64_t name) {
  for (c->stream = 0; c->stream < STREAMS; c->stream++) new_step(c, i, name, 0);
}

static void assert_each(circles *c, bool lost) {
  for (c->stream = 0; c->stream < STREAMS; c->stream++)
    assert_int_equal(lgv__circles_is_lost(c), lost);
}

/* A circle with news once in every round is none, in any walk. After the last news the search takes
 * as long as from the beginning, and news do not help a walk that is lost. */
static void news_begin_all_searches_anew(void **state) {
  (void)state;
  for (int i = 0; i < LENGTHS; i++) {
    int length = lengths[i], end = expected_steps(0, length);
    rig r;
    rig_open_fixed(&r, STREAMS);
    for (int k = 1; k <= 20 * length; k++) {
      if (k % length == 0) {
        r.c.stream = k % STREAMS;
        lgv__circles_news(&r.c);
      }
      each_walks(&r.c, k, name_at(0, length, k));
      assert_each(&r.c, false);
    }
    r.c.stream = 1;
    lgv__circles_news(&r.c);
    for (int k = 1; k <= end; k++) {
      each_walks(&r.c, k, name_at(0, length, k));
      assert_each(&r.c, k == end);
    }
    r.c.stream = 1;
    lgv__circles_news(&r.c);
    assert_each(&r.c, true);
    rig_close(&r);
  }
}

/* Whether a circle of 2 is found, with the reward `first` and then two others in turns. */
static bool is_lost_with(circles *c, double first, double even, double odd) {
  new_step(c, 0, 999, first);
  for (int i = 1; i <= 100; i++) new_step(c, i, name_at(0, 2, i), i % 2 ? odd : even);
  return lgv__circles_is_lost(c);
}

static void a_reward_above_the_least_one_is_news(void **state) {
  (void)state;
  const struct {
    double first, even, odd;
    bool lost;
  } cases[] = {{0, 0, 0, true},   {-1, -1, -1, true}, {0, -1, -1, true},   {-1, -2, -2, true},
               {-1, 0, 0, false}, {-1, -1, 0, false}, {-2, -1, -1, false}, {0, 0, 1, false},
               {1, 1, 1, false},  {1, 0, 0, true},    {0, 1e-9, 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig r;
    rig_open_fixed(&r, 1);
    bool lost = is_lost_with(&r.c, cases[i].first, cases[i].even, cases[i].odd);
    if (lost != cases[i].lost) fail_msg("case %d", (int)i);
    rig_close(&r);
  }
}

/* Each walk has its least reward, until it begins anew. */
static void least_rewards_are_forgotten(void **state) {
  (void)state;
  rig r;
  rig_open_fixed(&r, 2);
  for (r.c.stream = 0; r.c.stream < 2; r.c.stream++) new_step(&r.c, 0, 5, -1);
  r.c.stream = 0;
  lgv__circles_begin(&r.c);
  assert_true(is_lost_with(&r.c, 0, 0, 0));
  r.c.stream = 1;
  assert_false(is_lost_with(&r.c, 0, 0, 0));
  lgv__circles_restart(&r.c);
  assert_true(is_lost_with(&r.c, 0, 0, 0));
  rig_close(&r);
}

/* ---- walks ---- */

/* Walks in turns, each with a circle of its own: each is lost when it would be alone. The last one
 * passes through the names of the others and never repeats. */
static void walks_do_not_touch_each_other(void **state) {
  (void)state;
  const int tail[] = {5, 0}, length[] = {3, 40};
  rig r;
  rig_open_fixed(&r, STREAMS);
  for (int i = 1; i <= 200; i++) {
    for (int k = 0; k < STREAMS; k++) {
      r.c.stream = k;
      new_step(&r.c, i, k < 2 ? name_at(tail[k], length[k], i) : 1000 + (uint64_t)i, 0);
    }
    for (int k = 0; k < STREAMS; k++) {
      r.c.stream = k;
      bool lost = k < 2 && i >= expected_steps(tail[k], length[k]);
      assert_int_equal(lgv__circles_is_lost(&r.c), lost);
    }
  }
  lgv__circles_restart(&r.c);
  assert_each(&r.c, false);
  rig_close(&r);
}

/* The mark of the last search counts no more, after a restart or a beginning. */
static void a_new_walk_has_no_mark(void **state) {
  (void)state;
  void (*const anew[])(circles *) = {lgv__circles_restart, lgv__circles_begin};
  for (int i = 0; i < 2; i++) {
    rig r;
    rig_open_fixed(&r, 1);
    for (int k = 1; k <= 4; k++) new_step(&r.c, k, (uint64_t)k, 0);
    anew[i](&r.c);
    new_step(&r.c, 5, 4, 0);
    assert_false(lgv__circles_is_lost(&r.c));
    new_step(&r.c, 6, 4, 0);
    assert_true(lgv__circles_is_lost(&r.c));
    rig_close(&r);
  }
}

static void a_beginning_concerns_one_walk(void **state) {
  (void)state;
  rig r;
  rig_open_fixed(&r, STREAMS);
  for (int i = 1; i <= 4; i++) each_walks(&r.c, i, 5);
  assert_each(&r.c, true);
  r.c.stream = 1;
  lgv__circles_begin(&r.c);
  for (r.c.stream = 0; r.c.stream < STREAMS; r.c.stream++)
    assert_int_equal(lgv__circles_is_lost(&r.c), r.c.stream != 1);
  assert_int_equal(r.c.repeats[1], CIRCLES_REPEATS);
  rig_close(&r);
}

/* ---- states ---- */

static const char *fault_of(const rig *r) {
  const lgv_block *last = &r->arena.table.blocks[r->arena.table.n_blocks - 1];
  assert_true(last->keep); /* else nothing would check what was loaded */
  assert_non_null(last->check);
  return last->check(last->check_context);
}

#define ASSERT_FAULT(broken)                                                                       \
  do {                                                                                             \
    rig r;                                                                                         \
    rig_open_fixed(&r, STREAMS);                                                                   \
    steps_until_lost(&r.c, 3, 2);                                                                  \
    circles *c = &r.c;                                                                             \
    assert_null(fault_of(&r));                                                                     \
    broken;                                                                                        \
    if (!fault_of(&r)) fail_msg("%s: no fault", #broken);                                          \
    rig_close(&r);                                                                                 \
  } while (0)

static void states_that_cannot_be_are_found(void **state) {
  (void)state;
  enum { LAST = STREAMS - 1, END = STREAMS * WALK_COUNTERS };
  ASSERT_FAULT(c->walk[WALK_STEPS] = -1);
  ASSERT_FAULT(c->walk[WALK_PERIOD] = INT64_MAX);
  ASSERT_FAULT(c->walk[END - 1] = -1);
  ASSERT_FAULT(c->walk[END - 1] = INT64_MAX);
  ASSERT_FAULT(c->repeats[0] = -1);
  ASSERT_FAULT(c->repeats[1] = -1);
  ASSERT_FAULT(c->repeats[1] = INT64_MAX);
  ASSERT_FAULT(c->least[0] = 0.5);
  ASSERT_FAULT(c->least[LAST] = 0.5);
  ASSERT_FAULT(c->least[LAST] = (double)NAN);
  ASSERT_FAULT(c->least[LAST] = -(double)INFINITY);
}

/* 0 environments mean one, as in lgv_problem. */
static void there_is_always_one_walk(void **state) {
  (void)state;
  rig r;
  rig_open_fixed(&r, 0);
  assert_int_equal(steps_until_lost(&r.c, 0, 1), 2);
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(circles_are_found_within_three_times_their_walk),
      cmocka_unit_test(a_walk_without_a_repeat_is_never_lost),
      cmocka_unit_test(a_circle_counts_only_in_a_world_shown_to_be_fixed),
      cmocka_unit_test(a_circle_shows_that_the_world_is_fixed),
      cmocka_unit_test(repeats_are_of_the_action_at_the_mark),
      cmocka_unit_test(a_random_walk_is_never_lost),
      cmocka_unit_test(news_begin_all_searches_anew),
      cmocka_unit_test(a_reward_above_the_least_one_is_news),
      cmocka_unit_test(least_rewards_are_forgotten),
      cmocka_unit_test(walks_do_not_touch_each_other),
      cmocka_unit_test(a_new_walk_has_no_mark),
      cmocka_unit_test(a_beginning_concerns_one_walk),
      cmocka_unit_test(states_that_cannot_be_are_found),
      cmocka_unit_test(there_is_always_one_walk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
