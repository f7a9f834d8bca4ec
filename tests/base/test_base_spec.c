/* Specs: what is refused, by name, and the sizes of observations. */
#include "base/spec.h"

#include "base/stack.h"
#include "run_helpers.h"

#include <math.h>

static lgv_env_spec vector_spec(void) {
  return (lgv_env_spec){.obs_shape = {12, 1, 1}, .actions = {.count = 2}};
}

static lgv_env_spec picture_spec(void) {
  return (lgv_env_spec){.obs_kind = LGV_OBS_BYTE, .obs_shape = {4, 5, 6}, .actions = {.count = 2}};
}

static void assert_fault(lgv_env_spec spec, const char *expected) {
  const char *fault = lgv__spec_fault(&spec);
  if (!expected) {
    if (fault) fail_msg("refused: %s", fault);
    return;
  }
  if (!fault || !strstr(fault, expected))
    fail_msg("expected '%s', not '%s'", expected, fault ? fault : "nothing");
}

/* Every row changes one thing. */
static void faults_of_observations_are_named(void **state) {
  (void)state;
  lgv_env_spec good[] = {vector_spec(), picture_spec(), picture_spec()};
  good[2].vector = 3;
  good[2].frames = 3;
  for (int i = 0; i < 3; i++) assert_fault(good[i], NULL);
#define REFUSED(spec_of, field, value, text)                                                       \
  do {                                                                                             \
    lgv_env_spec changed = spec_of();                                                              \
    changed.field = value;                                                                         \
    assert_fault(changed, text);                                                                   \
  } while (0)
  REFUSED(vector_spec, obs_kind, (lgv_obs_kind)2, "unknown kind");
  REFUSED(vector_spec, obs_form, (lgv_obs_form)3, "unknown form");
  REFUSED(vector_spec, obs_form, (lgv_obs_form)-1, "unknown form");
  REFUSED(vector_spec, obs_shape[0], 0, "without entries");
  REFUSED(picture_spec, obs_shape[2], 0, "without entries");
  REFUSED(picture_spec, obs_shape[1], -5, "without entries");
  REFUSED(picture_spec, obs_shape[2], INT32_MAX, NULL);
  REFUSED(vector_spec, obs_shape[0], INT32_MAX, NULL);
  REFUSED(picture_spec, vector, -1, "negative number of floats");
  REFUSED(vector_spec, vector, 1, "no picture");
  REFUSED(vector_spec, frames, -1, "0..64");
  REFUSED(vector_spec, frames, 65, "0..64");
  REFUSED(vector_spec, frames, 5, "length is no multiple");
  REFUSED(picture_spec, frames, 4, "channels are no multiple");
  REFUSED(picture_spec, obs_form, LGV_FORM_ONE_HOT, "of bytes");
  REFUSED(picture_spec, obs_form, LGV_FORM_THERMOMETER, "of bytes");
#undef REFUSED
  lgv_env_spec large = {.obs_shape = {1 << 20, 1 << 20, 2}, .actions = {.count = 2}};
  assert_fault(large, "too large");
  lgv_env_spec sparse = vector_spec();
  sparse.obs_form = LGV_FORM_ONE_HOT;
  assert_fault(sparse, NULL);
  sparse.frames = 2;
  assert_fault(sparse, "stacks of one-hot");
  sparse.frames = 0;
  sparse.vector = 2;
  assert_fault(sparse, "floats beside one-hot");
  sparse.vector = 0;
  sparse.obs_shape[2] = 2;
  assert_fault(sparse, "no vector");
  good[2].vector = 4;
  assert_fault(good[2], "number is no multiple");
}

/* ---- actions ---- */

static const float low[] = {-1, 0}, high[] = {1, 2};
static const int32_t choices[] = {2, 3};

static void faults_of_actions_are_named(void **state) {
  (void)state;
  int32_t many[LGV_MOST_PARTS + 1], huge[] = {INT32_MAX, 2};
  for (int32_t p = 0; p <= LGV_MOST_PARTS; p++) many[p] = 2;
  lgv_action_space wrong_sum = lgv_multi_discrete(2, choices), box_count = lgv_box(2, low, high);
  wrong_sum.count = 6;
  box_count.count = 2;
  const struct {
    lgv_action_space space;
    const char *fault; /* NULL: none */
  } rows[] = {
      {{.count = 3}, NULL},
      {lgv_discrete(3), NULL},
      {lgv_discrete(0), "no action"},
      {{.kind = (lgv_action_kind)3, .count = 3, .parts = 1}, "unknown kind"},
      {lgv_multi_discrete(2, choices), NULL},
      {lgv_multi_discrete(LGV_MOST_PARTS, many), NULL},
      {lgv_multi_discrete(LGV_MOST_PARTS + 1, many), "more than 64"},
      {lgv_multi_discrete(0, choices), "no part"},
      {lgv_multi_discrete(-1, choices), "no part"},
      {lgv_multi_discrete(2, (const int32_t[]){5, -1}), "without a choice"},
      {lgv_multi_discrete(2, huge), "not the sum over parts"},
      {wrong_sum, "not the sum over parts"},
      {lgv_box(2, low, high), NULL},
      {lgv_box(2, high, low), "not in order"},
      {lgv_box(1, low, low), "not in order"},
      {lgv_box(1, low, (const float[]){NAN}), "not in order"},
      {box_count, "count of choices"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *fault = lgv__actions_fault(&rows[i].space);
    if (!fault != !rows[i].fault || (fault && !strstr(fault, rows[i].fault)))
      fail_msg("row %d: %s", (int)i, fault ? fault : "no fault");
  }
}

static void spaces_are_compared_by_what_they_allow(void **state) {
  (void)state;
  const lgv_action_space spaces[] = {
      lgv_discrete(5),
      lgv_discrete(6),
      lgv_multi_discrete(2, choices),
      lgv_multi_discrete(2, (const int32_t[]){3, 2}),
      lgv_multi_discrete(1, (const int32_t[]){5}),
      lgv_box(2, low, high),
      lgv_box(1, low, high),
      lgv_box(2, low, (const float[]){1, 3}),
  };
  const int count = sizeof spaces / sizeof *spaces;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++)
      assert_int_equal(lgv__same_actions(&spaces[i], &spaces[j]), i == j);
  assert_true(lgv__same_actions(&spaces[0], &(lgv_action_space){.count = 5}));
}

static void actions_outside_their_space_are_refused(void **state) {
  (void)state;
  const lgv_action_space one = lgv_discrete(3), parts = lgv_multi_discrete(2, choices),
                         box = lgv_box(2, low, high);
  const uint8_t mask[] = {0, 1, 1, 0, 1};
  const struct {
    const lgv_action_space *space;
    const uint8_t *mask;
    lgv_action action;
    const char *message; /* NULL: allowed */
  } rows[] = {
      {&one, NULL, {.choice = 2}, NULL},
      {&one, NULL, {.choice = 3}, "me: action 3 is outside 0..2"},
      {&one, NULL, {.choice = -1}, "me: action -1 is outside 0..2"},
      {&one, mask, {.choice = 1}, NULL},
      {&one, mask, {.choice = 0}, "me: action 0 is forbidden by the mask"},
      {&parts, NULL, {.choices = {0, 2}}, NULL},
      {&parts, NULL, {.choices = {2, 0}}, "me: action 2 of part 0 is outside 0..1"},
      {&parts, NULL, {.choices = {0, 3}}, "me: action 3 of part 1 is outside 0..2"},
      {&parts, mask, {.choices = {1, 0}}, NULL},
      {&parts, mask, {.choices = {1, 1}}, "me: action 1 of part 1 is forbidden by the mask"},
      {&box, NULL, {.values = {-1, 2}}, NULL},
      {&box, NULL, {.values = {0, 2.5f}}, "me: action 2.5 of part 1 is outside [0, 2]"},
      {&box, NULL, {.values = {NAN, 0}}, "me: action nan of part 0 is outside [-1, 1]"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_error err = {0};
    lgv_status status = lgv__action_check(rows[i].space, rows[i].mask, &rows[i].action, "me", &err);
    assert_int_equal(status, rows[i].message ? LGV_ERR_USAGE : LGV_OK);
    if (rows[i].message) assert_string_equal(err.message, rows[i].message);
  }
}

static void every_part_of_a_mask_allows_a_choice(void **state) {
  (void)state;
  const lgv_action_space one = lgv_discrete(5), parts = lgv_multi_discrete(2, choices);
  const uint8_t masks[][5] = {{0, 1, 0, 0, 1}, {1, 1, 0, 0, 0}, {0, 0, 1, 1, 1}, {0}};
  const bool any[] = {true, true, true, false}, each[] = {true, false, false, false};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(lgv__mask_allows(&one, masks[i]), any[i]);
    assert_int_equal(lgv__mask_allows(&parts, masks[i]), each[i]);
  }
}

static void faults_of_the_rest_are_named(void **state) {
  (void)state;
  lgv_env_spec spec = vector_spec();
  spec.actions = lgv_box(1, low, high);
  assert_fault(spec, NULL);
  spec.masked = true;
  assert_fault(spec, "masks, but no choices");
  spec = vector_spec();
  spec.actions.count = 0;
  assert_fault(spec, "no action");
  spec = vector_spec();
  spec.horizon = -1;
  assert_fault(spec, "negative number of states");
  spec = vector_spec();
  spec.reward_min = NAN;
  assert_fault(spec, "lower bound");
}

/* What a spec without a fault promises to the code that reads observations. */
static bool is_sound(const lgv_env_spec *s) {
  lgv_env_spec one = lgv__stack_one(s);
  size_t frames = (size_t)lgv__frames(s), pad = lgv__obs_vector_at(s) % 4;
  bool whole = lgv__obs_count(&one) * frames == lgv__obs_count(s) &&
               (size_t)one.vector * frames == (size_t)s->vector;
  bool sparse = s->obs_form != LGV_FORM_DENSE;
  bool index = s->obs_kind == LGV_OBS_FLOAT && frames == 1 && s->vector == 0 &&
               lgv__obs_count(s) == (size_t)s->obs_shape[0];
  return whole && pad == 0 && (!sparse || index) && (s->vector == 0 || s->obs_shape[1] > 1);
}

static void whatever_is_accepted_is_sound(void **state) {
  (void)state;
  const int32_t sides[] = {-1, 0, 1, 2, 6}, frames[] = {-1, 0, 1, 2, 3, 64, 65};
  const int32_t vectors[] = {-1, 0, 1, 6};
  int accepted = 0, refused = 0;
  for (int kind = -1; kind <= 2; kind++)
    for (int form = -1; form <= 3; form++)
      for (int h = 0; h < 5; h++)
        for (int w = 0; w < 5; w++)
          for (int c = 0; c < 5; c++)
            for (int f = 0; f < 7; f++)
              for (int v = 0; v < 4; v++) {
                lgv_env_spec spec = {.obs_kind = (lgv_obs_kind)kind,
                                     .obs_form = (lgv_obs_form)form,
                                     .obs_shape = {sides[h], sides[w], sides[c]},
                                     .frames = frames[f],
                                     .vector = vectors[v]};
                bool ok = !lgv__obs_fault(&spec);
                if (ok && !is_sound(&spec)) fail_msg("accepted without reason");
                accepted += ok;
                refused += !ok;
              }
  /* Of each kind, dense: with frames 0 and 1, 27 vectors or pictures and 18 pictures with 1 or 6
   * floats beside them; with 2 frames, 6 vectors and 12 pictures with 0 or 6 floats; with 3 frames,
   * 3 and 6. Sparse: 3 lengths of 2 forms, with frames 0 and 1. */
  assert_int_equal(accepted + refused, 4 * 5 * 5 * 5 * 5 * 7 * 4);
  assert_int_equal(accepted, 2 * (2 * (27 + 2 * 18) + 6 + 2 * 12 + 3 + 2 * 6) + 2 * 2 * 3);
}

static void the_vector_begins_at_the_next_multiple_of_four(void **state) {
  (void)state;
  for (int32_t w = 2; w < 10; w++) {
    lgv_env_spec spec = {.obs_kind = LGV_OBS_BYTE, .obs_shape = {1, w, 1}, .vector = 2};
    assert_int_equal(lgv__obs_vector_at(&spec), w + (4 - w % 4) % 4);
    assert_int_equal(lgv__obs_bytes(&spec), lgv__obs_vector_at(&spec) + 8);
    spec.vector = 0;
    assert_int_equal(lgv__obs_bytes(&spec), w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faults_of_observations_are_named),
      cmocka_unit_test(faults_of_actions_are_named),
      cmocka_unit_test(spaces_are_compared_by_what_they_allow),
      cmocka_unit_test(actions_outside_their_space_are_refused),
      cmocka_unit_test(every_part_of_a_mask_allows_a_choice),
      cmocka_unit_test(faults_of_the_rest_are_named),
      cmocka_unit_test(whatever_is_accepted_is_sound),
      cmocka_unit_test(the_vector_begins_at_the_next_multiple_of_four),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
