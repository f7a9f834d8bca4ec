/* Numbers that are none: an environment that pays or shows NaN or infinity, and rewards so large
 * that losses explode. Every agent of the registry stops with the step and what to look at, or ends
 * with finite numbers; none continues in silence. */
#include "registry.h"

#include "fault_helpers.h"

#include <math.h>

enum { STATES = 3, HORIZON = 5, BAD_STEP = 17 };

typedef struct poison_params {
  double reward; /* paid in step BAD_STEP, counted over all episodes; with `always` in every one */
  bool always;
} poison_params;

typedef struct poison {
  const poison_params *p;
  int64_t *at; /* [0] state, [1] stage, [2] steps so far */
} poison;

static const lgv_param poison_table[] = {
    {.name = "reward",
     .type = LGV_REAL,
     .offset = offsetof(poison_params, reward),
     .default_text = "1",
     .min = -INFINITY,
     .max = INFINITY},
    {.name = "always",
     .type = LGV_BOOL,
     .offset = offsetof(poison_params, always),
     .default_text = "false"},
    {0},
};

/* No text can say NaN: these are set beside the parameters. */
static double bad_reward, bad_entry;
static lgv_obs_form form; /* of observations: some agents take one alone */
static bool box;          /* actions are continuous */

static lgv_status poison_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)params, (void)err;
  *spec = (lgv_env_spec){.obs_kind = LGV_OBS_FLOAT,
                         .obs_form = form,
                         .obs_shape = {STATES, 1, 1},
                         .actions = {.count = 2},
                         .states = STATES,
                         .horizon = HORIZON,
                         .stationary = true,
                         .reward_max = 1};
  if (box) spec->actions = lgv_box(1, (float[]){0}, (float[]){1});
  return LGV_OK;
}

static void poison_layout(void *self, const void *params, const lgv_env_spec *spec,
                          lgv_layout *layout) {
  (void)spec;
  poison *e = self;
  e->p = params;
  e->at = lgv_layout_array(layout, "poison.at", LGV_I64, 3, LGV_KEEP);
}

static lgv_status poison_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)rng, (void)err;
  poison *e = self;
  e->at[0] = e->at[1] = 0;
  return LGV_OK;
}

static lgv_status poison_step(void *self, const lgv_action *action, lgv_rng *rng,
                              lgv_outcome *outcome, lgv_error *err) {
  (void)err;
  poison *e = self;
  e->at[0] =
      (e->at[0] + (box ? action->values[0] > 0.5f : action->choice) + lgv_rng_below(rng, 2)) %
      STATES;
  bool bad = ++e->at[2] == BAD_STEP;
  outcome->reward = bad ? bad_reward : e->p->always ? e->p->reward : 1;
  outcome->truncated = ++e->at[1] == HORIZON;
  return LGV_OK;
}

static void poison_observe(const void *self, void *data) {
  const poison *e = self;
  float *x = data;
  for (int i = 0; i < STATES; i++) x[i] = i == e->at[0];
  if (e->at[2] == BAD_STEP) x[STATES - 1] = (float)bad_entry;
}

static int64_t poison_state(const void *self) { return ((const poison *)self)->at[0]; }

static const lgv_env_type poison_type = {.size = sizeof(lgv_env_type),
                                         .name = "poison",
                                         .summary = "pays and shows what is no number",
                                         .params = poison_table,
                                         .params_size = sizeof(poison_params),
                                         .state_size = sizeof(poison),
                                         .spec = poison_spec,
                                         .layout = poison_layout,
                                         .reset = poison_reset,
                                         .step = poison_step,
                                         .observe = poison_observe,
                                         .state_index = poison_state};

static lgv_plan *plan_agent(const char *agent, const char *extra) {
  const lgv_obs_form forms[] = {LGV_FORM_DENSE, LGV_FORM_ONE_HOT, LGV_FORM_DENSE};
  lgv_settings *settings = make_settings("poison", agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &poison_type, &err), LGV_OK);
  for (int i = 0; i < 3 && !plan; i++) {
    form = forms[i];
    box = i == 2;
    if (lgv_plan_create(settings, &plan, &err) != LGV_OK) plan = NULL;
  }
  lgv_settings_free(settings);
  if (!plan) fail_msg("%s: %s", agent, err.message);
  return plan;
}

static lgv_status run_agent(const char *agent, const char *extra, const char *directory,
                            lgv_error *err) {
  lgv_plan *plan = plan_agent(agent, extra);
  lgv_summary summary;
  lgv_batch batch = {
      .size = sizeof(lgv_batch), .plan = plan, .seeds = 1, .threads = 1, .directory = directory};
  lgv_status status = lgv_batch_run(&batch, &summary, err);
  lgv_plan_free(plan);
  return status;
}

static void expect_stop(double reward, double entry, const char *part) {
  for (size_t a = 0; lgv__agents[a]; a++) {
    lgv_error err = {0};
    char directory[TEMP_SIZE];
    make_temp(directory);
    bad_reward = reward;
    bad_entry = entry;
    lgv_status status = run_agent(lgv__agents[a]->name, "run.steps=60", directory, &err);
    if (status != LGV_ERR_NUMERIC || !strstr(err.message, "in step 17: poison: ") ||
        !strstr(err.message, part))
      fail_msg("%s: %s, '%s'", lgv__agents[a]->name, lgv_status_name(status), err.message);
    char *summary = read_text(directory, "summary.json");
    assert_non_null(strstr(summary, "\"finished\": false"));
    assert_non_null(strstr(summary, part)); /* the record says why, too */
    free(summary);
    remove_tree(directory);
  }
}

static void rewards_that_are_no_numbers_stop_every_agent(void **state) {
  (void)state;
  const double rewards[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++)
    expect_stop(rewards[i], 0, "the reward at stage 1 is not a finite number");
}

static void observations_that_are_no_numbers_stop_every_agent(void **state) {
  (void)state;
  const double entries[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++)
    expect_stop(1, entries[i], "the observation at stage 2 holds a number that is not finite");
}

static double element(const char *data, bool is_double, size_t index) {
  float single;
  double number;
  memcpy(&single, data + 4 * index, is_double ? 0 : 4);
  memcpy(&number, data + 8 * index, is_double ? 8 : 0);
  return is_double ? number : (double)single;
}

/* The agent's arrays in the checkpoint have finite numbers alone. */
static void expect_finite(const char *agent, double reward, const char *directory) {
  char *bytes;
  uint64_t length;
  size_t arrays = 0;
  read_bytes(directory, "checkpoint.safetensors", &bytes);
  memcpy(&length, bytes, 8);
  char *header = strndup(bytes + 8, length), *data = bytes + 8 + length;
  for (char *at = header; (at = strstr(at, "\n  \"agent."));) {
    char *dtype = strstr(at, "\"dtype\": \"") + 10, *offsets = strstr(at, "\"data_offsets\": [");
    size_t first = strtoull(offsets + 17, &offsets, 10), end = strtoull(offsets + 1, NULL, 10);
    bool is_double = strncmp(dtype, "F64", 3) == 0;
    size_t count = *dtype == 'F' ? (end - first) / (is_double ? 8 : 4) : 0;
    for (size_t i = 0; i < count; i++)
      if (!isfinite(element(data + first, is_double, i)))
        fail_msg("%s paid %g: not finite:%.40s", agent, reward, at);
    arrays += count > 0;
    at = dtype;
  }
  assert_true(arrays > 0);
  free(header);
  free(bytes);
}

/* Losses of such rewards overflow, at once or when they have piled up. */
static void rewards_that_are_too_large_never_pass_in_silence(void **state) {
  (void)state;
  const double rewards[] = {1e30, -1e30, 1e38, 1e300};
  int stopped = 0;
  bad_entry = 0;
  for (size_t a = 0; lgv__agents[a]; a++)
    for (int i = 0; i < 4; i++) {
      const char *agent = lgv__agents[a]->name;
      char directory[TEMP_SIZE], extra[160];
      lgv_error err = {0};
      bad_reward = rewards[i];
      snprintf(extra, sizeof extra, "run.steps=1500 env.always=true env.reward=%g %s", rewards[i],
               quick_for(lgv__agents[a]));
      make_temp(directory);
      lgv_status status = run_agent(agent, extra, directory, &err);
      stopped += status != LGV_OK;
      bool advised = strstr(err.message, "scale the rewards") ||
                     strstr(err.message, "agent.scale_rewards = true");
      if (status != LGV_OK &&
          (status != LGV_ERR_NUMERIC || !strstr(err.message, "in step ") || !advised))
        fail_msg("%s paid %g: %s, '%s'", agent, rewards[i], lgv_status_name(status), err.message);
      if (status == LGV_OK) expect_finite(agent, rewards[i], directory);
      remove_tree(directory);
    }
  assert_true(stopped > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewards_that_are_no_numbers_stop_every_agent),
      cmocka_unit_test(observations_that_are_no_numbers_stop_every_agent),
      cmocka_unit_test(rewards_that_are_too_large_never_pass_in_silence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
