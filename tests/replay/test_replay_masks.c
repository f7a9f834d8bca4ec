/* Masks and the parts of actions stay with their observations: every observation is one number,
 * from which its mask and the action taken there follow. */
#include "replay/replay.h"

#include "base/arena.h"
#include "run_helpers.h"

enum { PARTS = 3, ACTIONS = 11, CAPACITY = 26, STEPS = 400, MOST_STREAMS = 2 };
static const int32_t choices[PARTS] = {2, 4, 5};

typedef struct rig {
  lgv_env_spec env;
  int64_t streams;
  replay r;
  replay_batch b; /* of one */
  lgv_arena arena;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *t = context;
  lgv__replay_layout(&t->r, &t->env, t->streams, CAPACITY, 3, 0.9, layout);
  lgv__replay_batch_layout(&t->b, &t->r, 1, true, layout);
}

static uint32_t hash(int64_t number, int32_t salt) {
  uint64_t x = (uint64_t)(number * 64 + salt + 1) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(x >> 40);
}

static void mask_of(int64_t number, uint8_t *mask) {
  for (int32_t a = 0; a < ACTIONS; a++) mask[a] = hash(number, a) & 1;
}

static int32_t choice_of(int64_t number, int32_t part) {
  return (int32_t)(hash(number, 50 + part) % (uint32_t)choices[part]);
}

static int64_t number_in(const unsigned char *obs) {
  float x;
  memcpy(&x, obs, sizeof x);
  return (int64_t)x;
}

static void assert_mask(const unsigned char *obs, const uint8_t *mask) {
  uint8_t expected[ACTIONS];
  mask_of(number_in(obs), expected);
  assert_memory_equal(mask, expected, ACTIONS);
}

static void check_entries(rig *t) {
  for (int64_t e = 0; e < t->r.capacity; e++) {
    if (!lgv__replay_has(&t->r, e) || !lgv__replay_can_draw(&t->r, e)) continue;
    t->b.entry[0] = e;
    lgv__replay_gather(&t->r, &t->b);
    assert_mask(t->b.obs, t->b.obs_mask);
    assert_mask(t->b.first, t->b.first_mask);
    assert_mask(t->b.next, t->b.next_mask);
    for (int32_t p = 0; p < PARTS; p++)
      assert_int_equal(t->b.action[p], choice_of(number_in(t->b.obs), p));
  }
  assert_null(lgv__replay_fault(&t->r));
}

static void live(rig *t, int64_t stream, int64_t *number, int64_t *stage, lgv_rng *rng) {
  float here = (float)*number, there = (float)(*number + 1);
  uint8_t mask[ACTIONS], next_mask[ACTIONS];
  lgv_action action = {0};
  double u = lgv_rng_uniform(rng);
  mask_of(*number, mask);
  mask_of(*number + 1, next_mask);
  for (int32_t p = 0; p < PARTS; p++) action.choices[p] = choice_of(*number, p);
  lgv_transition x = {.obs = {.data = &here, .state = -1, .stage = *stage, .mask = mask},
                      .next = {.data = &there, .state = -1, .stage = *stage + 1, .mask = next_mask},
                      .action = &action,
                      .terminated = u<0.05, .truncated = u> 0.95};
  lgv__replay_add(&t->r, stream, &x);
  bool ends = x.terminated || x.truncated;
  *number += ends ? 2 : 1;
  *stage = ends ? 0 : *stage + 1;
}

static void masks_and_parts_stay_with_their_observations(void **state) {
  (void)state;
  for (int64_t streams = 1; streams <= MOST_STREAMS; streams++) {
    rig t = {.streams = streams,
             .env = {.obs_shape = {1, 1, 1},
                     .actions = lgv_multi_discrete(PARTS, choices),
                     .masked = true}};
    int64_t number[MOST_STREAMS] = {0, 100000}, stage[MOST_STREAMS] = {0};
    lgv_error err;
    lgv_rng rng;
    lgv_rng_seed(&rng, 7, "test");
    assert_int_equal(lgv__arena_build(&t.arena, layout_rig, &t, "a test", &err), LGV_OK);
    for (int i = 0; i < STEPS; i++)
      for (int64_t s = 0; s < streams; s++) {
        live(&t, s, &number[s], &stage[s], &rng);
        check_entries(&t);
      }
    lgv__arena_free(&t.arena);
  }
}

/* An observation without a mask allows everything. */
static void no_mask_allows_everything(void **state) {
  (void)state;
  rig t = {.streams = 1,
           .env = {.obs_shape = {1, 1, 1}, .actions = lgv_discrete(ACTIONS), .masked = true}};
  float x = 1;
  lgv_error err;
  lgv_transition step = {
      .obs = {.data = &x}, .next = {.data = &x, .stage = 1}, .action = choice(3)};
  assert_int_equal(lgv__arena_build(&t.arena, layout_rig, &t, "a test", &err), LGV_OK);
  t.b.entry[0] = lgv__replay_add(&t.r, 0, &step);
  lgv__replay_gather(&t.r, &t.b);
  for (int32_t a = 0; a < 3 * ACTIONS; a++) assert_int_equal(t.b.obs_mask[a], 1);
  lgv__arena_free(&t.arena);
}

/* Numbers that no replay holds: a choice that its part does not have, a part without a choice. */
static void forged_actions_are_refused(void **state) {
  (void)state;
  static const int32_t forged[][PARTS] = {
      {2, 0, 0}, {0, 4, 0}, {0, -1, 0}, {-1, 0, 0}, {-2, -1, -1}};
  rig t = {.streams = 1,
           .env = {.obs_shape = {1, 1, 1}, .actions = lgv_multi_discrete(PARTS, choices)}};
  float x = 1;
  lgv_error err;
  lgv_transition step = {
      .obs = {.data = &x}, .next = {.data = &x, .stage = 1}, .action = choice(1)};
  assert_int_equal(lgv__arena_build(&t.arena, layout_rig, &t, "a test", &err), LGV_OK);
  int64_t entry = lgv__replay_add(&t.r, 0, &step);
  assert_null(lgv__replay_fault(&t.r));
  for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
    memcpy(t.r.action + entry * PARTS, forged[i], sizeof forged[i]);
    assert_non_null(lgv__replay_fault(&t.r));
  }
  lgv__arena_free(&t.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(masks_and_parts_stay_with_their_observations),
      cmocka_unit_test(no_mask_allows_everything),
      cmocka_unit_test(forged_actions_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
