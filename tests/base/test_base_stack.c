/* Stacks against their definition, element by element. */
#include "base/stack.h"

#include "obs_helpers.h"

static const lgv_env_spec single[] = {
    {.obs_kind = LGV_OBS_BYTE, .obs_shape = {3, 5, 1}},
    {.obs_kind = LGV_OBS_BYTE, .obs_shape = {3, 5, 3}},
    {.obs_kind = LGV_OBS_BYTE, .obs_shape = {3, 5, 1}, .vector = 2}, /* 15 bytes: with a gap */
    {.obs_kind = LGV_OBS_BYTE, .obs_shape = {7, 1, 1}},
    {.obs_kind = LGV_OBS_BYTE, .obs_shape = {7, 1, 2}},
    {.obs_kind = LGV_OBS_FLOAT, .obs_shape = {4, 2, 2}},
    {.obs_kind = LGV_OBS_FLOAT, .obs_shape = {4, 2, 1}, .vector = 3},
    {.obs_kind = LGV_OBS_FLOAT, .obs_shape = {1, 1, 1}},
    {.obs_kind = LGV_OBS_FLOAT, .obs_shape = {6, 1, 1}},
};
enum { SPECS = sizeof single / sizeof *single, MOST = 64, ROOM = 4096 };
static const int32_t counts[] = {2, 3, 4, 7, 64};

static void stack_of(const lgv_env_spec *one, int32_t frames, lgv_env_spec *stack) {
  const char *fault = lgv__stack_spec(one, frames, stack);
  if (fault) fail_msg("%s", fault);
}

static void stacks_have_the_shapes_of_their_definition(void **state) {
  (void)state;
  lgv_env_spec stack, one;
  for (size_t i = 0; i < SPECS; i++)
    for (size_t k = 0; k < 5; k++) {
      int32_t frames = counts[k], side = single[i].obs_shape[1] > 1 ? 2 : 0;
      stack_of(&single[i], frames, &stack);
      for (int d = 0; d < 3; d++)
        assert_int_equal(stack.obs_shape[d], single[i].obs_shape[d] * (d == side ? frames : 1));
      assert_int_equal(stack.vector, single[i].vector * frames);
      assert_int_equal(stack.frames, frames);
      one = lgv__stack_one(&stack);
      assert_memory_equal(one.obs_shape, single[i].obs_shape, sizeof one.obs_shape);
      assert_int_equal(one.vector, single[i].vector);
    }
}

static void a_stack_of_sparse_observations_is_dense(void **state) {
  (void)state;
  lgv_env_spec stack, one = {.obs_form = LGV_FORM_THERMOMETER, .obs_shape = {9, 1, 1}};
  one.states = 9;
  stack_of(&one, 3, &stack);
  assert_int_equal(stack.obs_form, LGV_FORM_DENSE);
  assert_int_equal(stack.obs_shape[0], 27);
  assert_int_equal(stack.states, 9);
}

static void impossible_stacks_are_refused(void **state) {
  (void)state;
  lgv_env_spec stack, long_one = {.obs_shape = {1 << 30, 1, 1}};
  lgv_env_spec wide = {.obs_shape = {2, 2, 1 << 30}}, beside = {.obs_shape = {2, 2, 1}};
  lgv_env_spec twice = {.obs_shape = {4, 1, 1}, .frames = 2};
  beside.vector = 1 << 30;
  assert_non_null(lgv__stack_spec(&long_one, 2, &stack));
  assert_non_null(lgv__stack_spec(&wide, 2, &stack));
  assert_non_null(lgv__stack_spec(&beside, 2, &stack));
  assert_string_equal(lgv__stack_spec(&twice, 2, &stack), "stacks already");
}

/* Joined, and pushed one by one, from the first observation on. */
static void stacks_equal_their_definition(void **state) {
  (void)state;
  static char seen[MOST][ROOM], made[2][MOST * ROOM], expected[MOST * ROOM], newest[ROOM];
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  for (size_t i = 0; i < SPECS; i++)
    for (size_t k = 0; k < 5; k++) {
      const lgv_env_spec *one = &single[i];
      int32_t frames = counts[k];
      const void *obs[MOST];
      lgv_env_spec stack;
      stack_of(one, frames, &stack);
      obs_draw(one, &rng, seen[0]);
      for (int32_t f = 0; f < frames; f++) obs[f] = seen[0];
      lgv__stack_join(one, frames, obs, made[0]);
      for (int t = 0; t < 2 * frames; t++) {
        obs_stack(one, &stack, frames, obs, expected);
        assert_true(obs_equal(&stack, made[t % 2], expected));
        lgv__stack_newest(one, frames, made[t % 2], newest);
        assert_true(obs_equal(one, newest, obs[frames - 1]));
        memmove(obs, obs + 1, (size_t)(frames - 1) * sizeof *obs);
        obs[frames - 1] = seen[(t + 1) % frames];
        obs_draw(one, &rng, seen[(t + 1) % frames]);
        lgv__stack_push(one, frames, made[t % 2], obs[frames - 1], made[(t + 1) % 2]);
      }
    }
}

/* Buffers of exactly the right size, so that the sanitizers see every step outside. */
static void nothing_is_written_outside(void **state) {
  (void)state;
  lgv_rng rng;
  lgv_rng_seed(&rng, 2, "test");
  for (size_t i = 0; i < SPECS; i++) {
    const lgv_env_spec *one = &single[i];
    lgv_env_spec stack;
    stack_of(one, 3, &stack);
    void *small[2] = {calloc(1, lgv__obs_bytes(one)), calloc(1, lgv__obs_bytes(one))};
    void *large[2] = {calloc(1, lgv__obs_bytes(&stack)), calloc(1, lgv__obs_bytes(&stack))};
    obs_draw(one, &rng, small[0]);
    lgv__stack_join(one, 3, (const void *const[]){small[0], small[0], small[0]}, large[0]);
    lgv__stack_push(one, 3, large[0], small[0], large[1]);
    lgv__stack_newest(one, 3, large[1], small[1]);
    assert_true(obs_equal(one, small[0], small[1]));
    lgv__stack_copy(&stack, large[0], large[1]);
    assert_true(obs_equal(&stack, large[0], large[1]));
    for (int j = 0; j < 2; j++) {
      free(small[j]);
      free(large[j]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stacks_have_the_shapes_of_their_definition),
      cmocka_unit_test(a_stack_of_sparse_observations_is_dense),
      cmocka_unit_test(impossible_stacks_are_refused),
      cmocka_unit_test(stacks_equal_their_definition),
      cmocka_unit_test(nothing_is_written_outside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
