#include "base/spec.h"

#include "base/error.h"
#include "base/stack.h"

#include <stdio.h>
#include <string.h>

/* ---- Actions ---- */

lgv_action_space lgv_discrete(int32_t count) {
  return (lgv_action_space){.kind = LGV_DISCRETE, .count = count, .parts = 1, .choices = {count}};
}

lgv_action_space lgv_multi_discrete(int32_t parts, const int32_t *choices) {
  lgv_action_space space = {.kind = LGV_MULTI_DISCRETE, .parts = parts};
  double count = 0;
  for (int32_t p = 0; p < parts && p < LGV_MOST_PARTS; p++) {
    space.choices[p] = choices[p];
    count += choices[p];
  }
  space.count = count > 0 && count <= INT32_MAX ? (int32_t)count : 0;
  return space;
}

lgv_action_space lgv_box(int32_t parts, const float *low, const float *high) {
  lgv_action_space space = {.kind = LGV_BOX, .parts = parts};
  for (int32_t p = 0; p < parts && p < LGV_MOST_PARTS; p++) {
    space.low[p] = low[p];
    space.high[p] = high[p];
  }
  return space;
}

static const char *multi_discrete_fault(const lgv_action_space *space) {
  double count = 0;
  for (int32_t p = 0; p < space->parts; p++) {
    if (space->choices[p] < 1) return "a part of its actions without a choice";
    count += space->choices[p];
  }
  return count == (double)space->count ? NULL : "a count of choices that is not the sum over parts";
}

static const char *box_fault(const lgv_action_space *space) {
  if (space->count != 0) return "a box of actions with a count of choices";
  for (int32_t p = 0; p < space->parts; p++)
    if (!(space->low[p] < space->high[p])) return "a box of actions whose bounds are not in order";
  return NULL;
}

const char *lgv__actions_fault(const lgv_action_space *space) {
  if (space->kind == LGV_DISCRETE) return space->count < 1 ? "no action" : NULL;
  if (space->kind != LGV_MULTI_DISCRETE && space->kind != LGV_BOX)
    return "an unknown kind of actions";
  if (space->parts < 1 || space->parts > LGV_MOST_PARTS)
    return "actions with no part, or with more than 64";
  return space->kind == LGV_BOX ? box_fault(space) : multi_discrete_fault(space);
}

bool lgv__same_actions(const lgv_action_space *a, const lgv_action_space *b) {
  if (a->kind != b->kind || a->count != b->count) return false;
  if (lgv__action_parts(a) != lgv__action_parts(b)) return false;
  for (int32_t p = 0; p < lgv__action_parts(a); p++)
    if (a->kind == LGV_BOX ? a->low[p] != b->low[p] || a->high[p] != b->high[p]
                           : lgv__part_choices(a, p) != lgv__part_choices(b, p))
      return false;
  return true;
}

static lgv_status check_box(const lgv_action_space *space, const lgv_action *action,
                            const char *who, lgv_error *err) {
  for (int32_t p = 0; p < space->parts; p++)
    if (!(action->values[p] >= space->low[p] && action->values[p] <= space->high[p]))
      return lgv_fail(err, LGV_ERR_USAGE, "%s: action %g of part %d is outside [%g, %g]", who,
                      (double)action->values[p], p, (double)space->low[p], (double)space->high[p]);
  return LGV_OK;
}

/* why: "is outside 0..3", "is forbidden by the mask" */
static lgv_status wrong_choice(const lgv_action_space *space, int32_t part, int32_t choice,
                               const char *who, const char *why, lgv_error *err) {
  if (space->kind == LGV_DISCRETE)
    return lgv_fail(err, LGV_ERR_USAGE, "%s: action %d %s", who, choice, why);
  return lgv_fail(err, LGV_ERR_USAGE, "%s: action %d of part %d %s", who, choice, part, why);
}

lgv_status lgv__action_check_parts(const lgv_action_space *space, const uint8_t *mask,
                                   const lgv_action *action, const char *who, lgv_error *err) {
  char why[32];
  if (space->kind == LGV_BOX) return check_box(space, action, who, err);
  for (int32_t p = 0, first = 0; p < lgv__action_parts(space); p++) {
    int32_t choice = action->choices[p], count = lgv__part_choices(space, p);
    if (choice < 0 || choice >= count) {
      snprintf(why, sizeof why, "is outside 0..%d", count - 1);
      return wrong_choice(space, p, choice, who, why, err);
    }
    if (mask && !mask[first + choice])
      return wrong_choice(space, p, choice, who, "is forbidden by the mask", err);
    first += count;
  }
  return LGV_OK;
}

bool lgv__mask_allows(const lgv_action_space *space, const uint8_t *mask) {
  for (int32_t p = 0; p < lgv__action_parts(space); p++) {
    int32_t count = lgv__part_choices(space, p), first = 0;
    while (first < count && !mask[first]) first++;
    if (first == count) return false;
    mask += count;
  }
  return true;
}

/* ---- Observations ---- */

/* Sparse forms are read as one index. */
static const char *sparse_fault(const lgv_env_spec *s) {
  if (s->obs_kind != LGV_OBS_FLOAT) return "one-hot or thermometer observations of bytes";
  if (s->obs_shape[1] != 1 || s->obs_shape[2] != 1)
    return "one-hot or thermometer observations that are no vector (length, 1, 1)";
  if (s->frames > 1) return "stacks of one-hot or thermometer observations: their form is dense";
  if (s->vector != 0) return "floats beside one-hot or thermometer observations";
  return NULL;
}

static const char *dense_fault(const lgv_env_spec *s) {
  bool is_picture = lgv__is_picture(s->obs_form, s->obs_shape);
  int32_t frames = lgv__frames(s);
  if (s->vector > 0 && !is_picture)
    return "floats beside an observation that is no picture (wider than 1)";
  if (!is_picture && s->obs_shape[0] % frames != 0)
    return "vectors whose length is no multiple of their frames";
  if (is_picture && s->obs_shape[2] % frames != 0)
    return "pictures whose channels are no multiple of their frames";
  if (s->vector % frames != 0)
    return "floats beside a picture whose number is no multiple of its frames";
  return NULL;
}

const char *lgv__obs_fault(const lgv_env_spec *s) {
  if (s->obs_kind != LGV_OBS_FLOAT && s->obs_kind != LGV_OBS_BYTE)
    return "an unknown kind of observations";
  if (s->obs_form != LGV_FORM_DENSE && s->obs_form != LGV_FORM_ONE_HOT &&
      s->obs_form != LGV_FORM_THERMOMETER)
    return "an unknown form of observations";
  if (s->obs_shape[0] < 1 || s->obs_shape[1] < 1 || s->obs_shape[2] < 1)
    return "an observation without entries";
  if ((double)s->obs_shape[0] * s->obs_shape[1] * s->obs_shape[2] > 0x1p40)
    return "an observation too large for any memory";
  if (s->vector < 0) return "a negative number of floats beside a picture";
  if (s->frames < 0 || s->frames > LGV_MOST_FRAMES)
    return "a number of frames that is not in 0..64";
  return s->obs_form == LGV_FORM_DENSE ? dense_fault(s) : sparse_fault(s);
}

const char *lgv__task_fault(const lgv_env_spec *s) {
  const char *fault = lgv__actions_fault(&s->actions);
  if (fault) return fault;
  if (s->masked && s->actions.kind == LGV_BOX) return "masks, but no choices to forbid";
  if (s->states < 0 || s->horizon < 0 || s->feature_dim < 0)
    return "a negative number of states, steps or features";
  if (!(s->reward_min <= s->reward_max)) return "a lower bound of rewards above the upper one";
  return NULL;
}

const char *lgv__spec_fault(const lgv_env_spec *s) {
  const char *fault = lgv__obs_fault(s);
  return fault ? fault : lgv__task_fault(s);
}

size_t lgv__obs_count(const lgv_env_spec *s) {
  return (size_t)s->obs_shape[0] * (size_t)s->obs_shape[1] * (size_t)s->obs_shape[2];
}

size_t lgv__obs_vector_at(const lgv_env_spec *s) {
  size_t entry = s->obs_kind == LGV_OBS_BYTE ? 1 : sizeof(float);
  return (lgv__obs_count(s) * entry + 3) / 4 * 4;
}

size_t lgv__obs_bytes(const lgv_env_spec *s) {
  size_t entry = s->obs_kind == LGV_OBS_BYTE ? 1 : sizeof(float);
  if (s->vector == 0) return lgv__obs_count(s) * entry;
  return lgv__obs_vector_at(s) + (size_t)s->vector * sizeof(float);
}

/* All exponent bits are set in infinity and NaN. The loop compares integers, so that the compiler
 * can vectorize it. */
static bool are_finite(const float *x, size_t count) {
  const uint32_t exponent = 0x7f800000u;
  uint32_t bad = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, x + i, sizeof bits);
    bad |= (bits & exponent) == exponent;
  }
  return !bad;
}

bool lgv__obs_is_finite(const lgv_env_spec *s, const void *data) {
  size_t vector = (size_t)s->vector;
  if (s->obs_kind == LGV_OBS_FLOAT) return are_finite(data, lgv__obs_count(s) + vector);
  const unsigned char *floats = (const unsigned char *)data + lgv__obs_vector_at(s);
  return vector == 0 || are_finite((const float *)(const void *)floats, vector);
}

bool lgv__is_picture(lgv_obs_form form, const int32_t shape[3]) {
  return form == LGV_FORM_DENSE && shape[1] > 1;
}

bool lgv__is_picture_of(int32_t least, lgv_obs_form form, const int32_t shape[3]) {
  return lgv__is_picture(form, shape) && shape[0] >= least && shape[1] >= least;
}

bool lgv__is_large_picture(lgv_obs_form form, const int32_t shape[3]) {
  return lgv__is_picture_of(LGV_LARGE_PICTURE, form, shape);
}
