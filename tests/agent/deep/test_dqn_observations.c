/* Deep agents with observations of every kind, form, shape and stack: a spec is refused by what is
 * wrong with it, or the agent acts, learns and evaluates. Buffers have exactly the size of the
 * spec, so that the sanitizers see what is read outside. */
#include "base/stack.h"
#include "obs_helpers.h"
#include "registry.h"

#include <math.h>

enum { STEPS = 40 };

static const char small[] = "agent.preset=small agent.hidden=4 agent.replay=24 agent.warmup=8 "
                            "agent.batch=3 agent.target_every=2",
                  small_box[] = "agent.preset=small agent.hidden=4 agent.replay=24 agent.warmup=8 "
                                "agent.batch=3",
                  small_cells[] = "agent.preset=small agent.hidden=4 agent.cells=24 agent.batch=3";

static bool is_deep(const lgv_agent_type *type) { return !(type->traits & LGV_NEEDS_STATES); }

static lgv_agent *try_agent(const char *name, const lgv_env_spec *spec, lgv_error *err) {
  bool has_cells = strcmp(name, "pathwise-lmcdqn") == 0;
  bool is_box = spec->actions.kind == LGV_BOX;
  lgv_settings *settings = make_settings(NULL, name,
                                         has_cells ? small_cells
                                         : is_box  ? small_box
                                                   : small);
  lgv_agent *agent = NULL;
  lgv_status status = lgv_agent_create(settings, spec, 0, STEPS, 1, &agent, err);
  if (status != LGV_OK) assert_true(agent == NULL && strlen(err->message) > 0);
  lgv_settings_free(settings);
  return agent;
}

/* Episodes of seven steps. */
static void train(lgv_agent *agent, const lgv_env_spec *spec) {
  void *data[2] = {calloc(1, lgv__obs_bytes(spec)), calloc(1, lgv__obs_bytes(spec))};
  bool box = spec->actions.kind == LGV_BOX;
  lgv_rng rng;
  lgv_error err = {0};
  lgv_rng_seed(&rng, 5, "test");
  obs_draw(spec, &rng, data[0]);
  for (int i = 0; i < STEPS; i++) {
    lgv_action action;
    lgv_transition t = {.obs = {.data = data[i % 2], .state = -1, .stage = i % 7},
                        .next = {.data = data[(i + 1) % 2], .state = -1, .stage = i % 7 + 1},
                        .action = &action,
                        .terminated = i % 7 == 6};
    if (i % 7 == 0) assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    if (lgv_agent_act(agent, &t.obs, LGV_TRAIN, &action, &err) != LGV_OK)
      fail_msg("%s", err.message);
    obs_draw(spec, &rng, data[(i + 1) % 2]);
    t.reward = box ? action.values[1] : action.choice;
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
    if (t.terminated) assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
    assert_int_equal(lgv_agent_act(agent, &t.next, LGV_EVAL, &action, &err), LGV_OK);
    if (!box) assert_in_range(action.choice, 0, 2);
  }
  free(data[0]);
  free(data[1]);
}

static void check(const char *name, const lgv_env_spec *spec, int *taken, int *refused) {
  lgv_error err = {0};
  const char *fault = lgv__obs_fault(spec);
  lgv_agent *agent = try_agent(name, spec, &err);
  if (!fault != (agent != NULL))
    fail_msg("%s: (%d, %d, %d), %d frames, vector %d, kind %d, form %d: %s", name,
             spec->obs_shape[0], spec->obs_shape[1], spec->obs_shape[2], spec->frames, spec->vector,
             spec->obs_kind, spec->obs_form, agent ? "accepted" : err.message);
  if (fault) assert_non_null(strstr(err.message, fault));
  if (agent) train(agent, spec);
  *(agent ? taken : refused) += 1;
  lgv_agent_free(agent);
}

static void an_agent_takes_every_spec_or_names_its_fault(void **state) {
  (void)state;
  static const int32_t shapes[][3] = {{6, 1, 1}, {6, 1, 2}, {2, 3, 2}, {6, 7, 2}, {6, 6, 0}};
  static const int32_t frames[] = {-1, 0, 1, 2, 3, 100}, vectors[] = {-1, 0, 2};
  int taken = 0, refused = 0;
  for (int kind = 0; kind <= 2; kind++)
    for (int form = 0; form <= 3; form++)
      for (int s = 0; s < 5; s++)
        for (int f = 0; f < 6; f++)
          for (int v = 0; v < 3; v++) {
            lgv_env_spec spec = {.size = sizeof(lgv_env_spec),
                                 .obs_kind = (lgv_obs_kind)kind,
                                 .obs_form = (lgv_obs_form)form,
                                 .obs_shape = {shapes[s][0], shapes[s][1], shapes[s][2]},
                                 .frames = frames[f],
                                 .vector = vectors[v],
                                 .actions = {.count = 3}};
            check("dqn", &spec, &taken, &refused);
          }
  assert_true(taken > 40 && refused > 600);
}

static void every_deep_agent_takes_what_has_no_fault(void **state) {
  (void)state;
  static const lgv_env_spec specs[] = {
      {.obs_kind = LGV_OBS_BYTE, .obs_shape = {6, 7, 4}, .frames = 2, .vector = 2},
      {.obs_shape = {6, 7, 1}, .vector = 3},
      {.obs_shape = {6, 7, 3}, .frames = 3},
      {.obs_shape = {6, 1, 1}, .frames = 3},
      {.obs_kind = LGV_OBS_BYTE, .obs_shape = {2, 3, 1}, .vector = 1},
  };
  int taken = 0, refused = 0;
  for (size_t a = 0; lgv__agents[a]; a++)
    for (size_t i = 0; is_deep(lgv__agents[a]) && i < sizeof specs / sizeof *specs; i++) {
      lgv_env_spec spec = specs[i];
      spec.size = sizeof spec;
      spec.actions = takes_box(lgv__agents[a]) ? lgv_box(2, (float[]){-1, 0}, (float[]){1, 3})
                                               : lgv_discrete(3);
      check(lgv__agents[a]->name, &spec, &taken, &refused);
    }
  assert_true(taken >= 70 && refused == 0);
}

/* The vector reaches the values: another one gives others, and equal ones the same. */
static void a_vector_beside_a_picture_matters(void **state) {
  (void)state;
  lgv_env_spec spec = {
      .size = sizeof(lgv_env_spec), .obs_kind = LGV_OBS_BYTE, .obs_shape = {6, 7, 1}, .vector = 2};
  spec.actions = lgv_discrete(3);
  uint8_t data[2][52] = {{0}};
  double q[3][3];
  lgv_error err = {0};
  lgv_agent *agent = try_agent("dqn", &spec, &err);
  assert_int_equal(lgv__obs_bytes(&spec), sizeof data[0]);
  for (int i = 0; i < 3; i++) {
    float vector[] = {0.5f, i == 1 ? 2 : -1};
    memcpy(data[i % 2] + lgv__obs_vector_at(&spec), vector, sizeof vector);
    lgv_obs obs = {.data = data[i % 2], .state = -1};
    assert_int_equal(lgv_agent_q_values(agent, &obs, 1, q[i], &err), LGV_OK);
  }
  assert_memory_not_equal(q[0], q[1], sizeof q[0]);
  assert_memory_equal(q[0], q[2], sizeof q[0]);
  lgv_agent_free(agent);
}

static void a_vector_that_is_not_finite_is_refused(void **state) {
  (void)state;
  lgv_env_spec spec = {
      .size = sizeof(lgv_env_spec), .obs_kind = LGV_OBS_BYTE, .obs_shape = {6, 7, 1}, .vector = 2};
  spec.actions = lgv_discrete(3);
  uint8_t data[52] = {0};
  float vector[] = {1, NAN};
  lgv_error err = {0};
  lgv_action action;
  lgv_agent *agent = try_agent("dqn", &spec, &err);
  memcpy(data + lgv__obs_vector_at(&spec), vector, sizeof vector);
  lgv_obs obs = {.data = data, .state = -1};
  assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_ERR_NUMERIC);
  lgv_agent_free(agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_agent_takes_every_spec_or_names_its_fault),
      cmocka_unit_test(every_deep_agent_takes_what_has_no_fault),
      cmocka_unit_test(a_vector_beside_a_picture_matters),
      cmocka_unit_test(a_vector_that_is_not_finite_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
