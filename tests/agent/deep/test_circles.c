/* Circles: when a walk is lost, to the step; news, streams, restarts, and states that cannot be. */
#include "agent/deep/circles.h"
#include "base/arena.h"
#include "run_helpers.h"

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

/* The name of step i = 1, 2, ... of a walk: a tail, and then a circle for ever. */
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

/* How many steps the walk takes before it is lost. */
static int steps_until_lost(circles *c, int tail, int length) {
  for (int i = 1; i <= 4 * (tail + length) + 4; i++) {
    lgv__circles_step(c, name_at(tail, length, i), false);
    if (lgv__circles_is_lost(c)) return i;
  }
  fail_msg("a circle of %d after %d steps was not found", length, tail);
  return -1;
}

static const int tails[] = {0, 1, 2, 3, 4, 7, 8, 50, 127, 128, 1000};
static const int lengths[] = {1, 2, 3, 7, 8, 9, 100};
enum { TAILS = sizeof tails / sizeof *tails, LENGTHS = sizeof lengths / sizeof *lengths };

static void circles_are_found_within_three_times_their_walk(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 1);
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
  rig_open(&r, 1);
  for (uint64_t i = 0; i < 100000; i++) {
    lgv__circles_step(&r.c, i, false); /* 0, the mark's first content, is a name as any other */
    assert_false(lgv__circles_is_lost(&r.c));
  }
  rig_close(&r);
}

/* A circle with news once in every round is none. After the last news the search takes as long as
 * from the beginning, and news do not help a walk that is lost. */
static void news_begin_the_search_anew(void **state) {
  (void)state;
  for (int i = 0; i < LENGTHS; i++) {
    int length = lengths[i];
    rig r;
    rig_open(&r, 1);
    for (int k = 1; k <= 20 * length; k++) {
      lgv__circles_step(&r.c, name_at(0, length, k), k % length == 0);
      assert_false(lgv__circles_is_lost(&r.c));
    }
    lgv__circles_step(&r.c, name_at(0, length, 1), true); /* the first step of the search */
    for (int k = 2; k < expected_steps(0, length); k++) {
      lgv__circles_step(&r.c, name_at(0, length, k), false);
      assert_false(lgv__circles_is_lost(&r.c));
    }
    lgv__circles_step(&r.c, name_at(0, length, expected_steps(0, length)), false);
    assert_true(lgv__circles_is_lost(&r.c));
    lgv__circles_step(&r.c, 1, true);
    assert_true(lgv__circles_is_lost(&r.c));
    rig_close(&r);
  }
}

/* Walks in turns, each with a circle of its own: each is lost when it would be alone. The last one
 * passes through the names of the others and never repeats. */
static void walks_do_not_touch_each_other(void **state) {
  (void)state;
  const int tail[] = {5, 0}, length[] = {3, 40};
  rig r;
  rig_open(&r, STREAMS);
  for (int i = 1; i <= 200; i++) {
    for (int k = 0; k < STREAMS; k++) {
      r.c.stream = k;
      lgv__circles_step(&r.c, k < 2 ? name_at(tail[k], length[k], i) : 1000 + (uint64_t)i, false);
    }
    for (int k = 0; k < STREAMS; k++) {
      r.c.stream = k;
      bool lost = k < 2 && i >= expected_steps(tail[k], length[k]);
      assert_int_equal(lgv__circles_is_lost(&r.c), lost);
    }
  }
  lgv__circles_restart(&r.c);
  for (r.c.stream = 0; r.c.stream < STREAMS; r.c.stream++) assert_false(lgv__circles_is_lost(&r.c));
  rig_close(&r);
}

/* The mark of the last search counts no more. */
static void a_restart_forgets_the_mark(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 1);
  for (uint64_t i = 1; i <= 4; i++) lgv__circles_step(&r.c, i, false);
  lgv__circles_restart(&r.c);
  lgv__circles_step(&r.c, 4, false);
  assert_false(lgv__circles_is_lost(&r.c));
  lgv__circles_step(&r.c, 4, false);
  assert_true(lgv__circles_is_lost(&r.c));
  rig_close(&r);
}

static const char *fault_of(const rig *r) {
  const lgv_block *last = &r->arena.table.blocks[r->arena.table.n_blocks - 1];
  assert_true(last->keep); /* else nothing would check what was loaded */
  assert_non_null(last->check);
  return last->check(last->check_context);
}

#define ASSERT_FAULT(broken)                                                                       \
  do {                                                                                             \
    rig r;                                                                                         \
    rig_open(&r, STREAMS);                                                                         \
    steps_until_lost(&r.c, 3, 2);                                                                  \
    circles *c = &r.c;                                                                             \
    assert_null(fault_of(&r));                                                                     \
    broken;                                                                                        \
    if (!fault_of(&r)) fail_msg("%s: no fault", #broken);                                          \
    rig_close(&r);                                                                                 \
  } while (0)

static void states_that_cannot_be_are_found(void **state) {
  (void)state;
  ASSERT_FAULT(c->lost[0] = 2);
  ASSERT_FAULT(c->lost[STREAMS - 1] = 255);
  ASSERT_FAULT(c->steps[0] = -1);
  ASSERT_FAULT(c->steps[STREAMS - 1] = INT64_MAX);
  ASSERT_FAULT(c->moves[0] = -1);
  ASSERT_FAULT(c->moves[STREAMS - 1] = INT64_MAX);
}

/* 0 environments mean one, as in lgv_problem. */
static void there_is_always_one_walk(void **state) {
  (void)state;
  rig r;
  rig_open(&r, 0);
  assert_int_equal(steps_until_lost(&r.c, 0, 1), 2);
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(circles_are_found_within_three_times_their_walk),
      cmocka_unit_test(a_walk_without_a_repeat_is_never_lost),
      cmocka_unit_test(news_begin_the_search_anew),
      cmocka_unit_test(walks_do_not_touch_each_other),
      cmocka_unit_test(a_restart_forgets_the_mark),
      cmocka_unit_test(states_that_cannot_be_are_found),
      cmocka_unit_test(there_is_always_one_walk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
