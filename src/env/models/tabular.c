#include "env/models/tabular.h"

#include "base/arena.h"
#include "env/sketch.h"

#include <string.h>

lgv_env_spec lgv__tabular_spec(int64_t states, int32_t actions, int64_t horizon, bool stationary) {
  return (lgv_env_spec){
      .obs_kind = LGV_OBS_FLOAT,
      .obs_form = LGV_FORM_ONE_HOT,
      .obs_shape = {(int32_t)states, 1, 1},
      .actions = lgv_discrete(actions),
      .states = states,
      .horizon = horizon,
      .stationary = stationary,
      .reward_min = 0,
      .reward_max = 1,
  };
}

static const char *place_fault(const void *self) {
  const lgv_tabular *t = self;
  if (!lgv__is_within(t->at[LGV_AT_STATE], 0, t->model->states - 1))
    return "a state outside the model";
  bool known = lgv__is_within(t->at[LGV_AT_STAGE], 0, t->model->horizon);
  return known ? NULL : "a stage outside the model";
}

void lgv__tabular_layout(void *self, const void *params, const lgv_env_spec *spec,
                         lgv_layout *layout) {
  (void)params;
  lgv_tabular *t = self;
  t->clock_truncates = spec->clock_truncates;
  t->at = lgv_layout_array(layout, "env.at", LGV_I64, LGV_AT_SIZE, LGV_KEEP);
  lgv_layout_check(layout, place_fault, t);
}

void lgv__tabular_close(void *self) { lgv_model_free(((lgv_tabular *)self)->model); }

const lgv_model *lgv__tabular_model(const void *self) { return ((const lgv_tabular *)self)->model; }

lgv_status lgv__tabular_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  lgv_tabular *t = self;
  t->at[LGV_AT_STATE] = lgv__model_draw_start(t->model, rng);
  t->at[LGV_AT_STAGE] = 0;
  return LGV_OK;
}

lgv_status lgv__tabular_step(void *self, const lgv_action *action, lgv_rng *rng,
                             lgv_outcome *outcome, lgv_error *err) {
  lgv_tabular *t = self;
  if (t->at[LGV_AT_STAGE] >= t->model->horizon) /* only after a corrupt checkpoint */
    return lgv_fail(err, LGV_ERR_ENV, "the episode did not end at its horizon, %lld steps",
                    (long long)t->model->horizon);
  int64_t stage = t->at[LGV_AT_STAGE]++, state = t->at[LGV_AT_STATE];
  outcome->reward = lgv__model_reward(t->model, stage, state, action->choice);
  int64_t next = lgv__model_draw_next(t->model, stage, state, action->choice, rng);
  bool out_of_time = stage + 1 == t->model->horizon;
  outcome->terminated = next == LGV_END || (out_of_time && !t->clock_truncates);
  outcome->truncated = !outcome->terminated && out_of_time;
  if (next != LGV_END) t->at[LGV_AT_STATE] = next;
  return LGV_OK;
}

void lgv__tabular_observe_one_hot(const void *self, void *data) {
  const lgv_tabular *t = self;
  memset(data, 0, (size_t)t->model->states * sizeof(float));
  ((float *)data)[t->at[LGV_AT_STATE]] = 1;
}

/* After the last stage the model says nothing, and everything is allowed. */
void lgv__tabular_mask(const void *self, uint8_t *allowed) {
  const lgv_tabular *t = self;
  const uint8_t *mask = lgv_model_mask(t->model, t->at[LGV_AT_STAGE], t->at[LGV_AT_STATE]);
  memset(allowed, 1, (size_t)t->model->actions);
  if (mask) memcpy(allowed, mask, (size_t)t->model->actions);
}

int64_t lgv__tabular_state(const void *self) {
  return ((const lgv_tabular *)self)->at[LGV_AT_STATE];
}

/* Long chains are drawn with several states per character. */
void lgv__tabular_render_chain(const void *self, char *text, size_t size) {
  const lgv_tabular *t = self;
  int64_t n = t->model->states;
  sketch s;
  lgv__sketch_clear(&s, n < SKETCH_MOST_WIDTH ? (int)n : SKETCH_MOST_WIDTH, 1, '-');
  lgv__sketch_point(&s, ((double)t->at[LGV_AT_STATE] + 0.5) / (double)n, 0.5, 'O');
  lgv__sketch_write(&s, text, size);
}
