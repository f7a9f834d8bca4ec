/* Every combination of kind, form, frames, shape, vector and space of actions, with every agent: a
 * spec is refused with a reason, or the agent made for it plays and learns. Sound and unsound
 * values are crossed, because a network that trusts one of them may read where there is nothing. */
#include "base/spec.h"
#include "registry.h"

#include "run_helpers.h"

#include <stdlib.h>

enum { STATES = 4, HORIZON = 3, EPISODES = 4, MOST_OBS = 6 * 6 * 4 * 4 + 64 };

static const int kinds[] = {LGV_OBS_FLOAT, LGV_OBS_BYTE, 2, -1};
static const int forms[] = {LGV_FORM_DENSE, LGV_FORM_ONE_HOT, LGV_FORM_THERMOMETER, 3, 7, -1};
static const int32_t frames[] = {-3, 0, 2, LGV_MOST_PARTS + 1};
static const int32_t shapes[][3] = {{STATES, 1, 1}, {6, 6, 4}, {6, 6, 0}, {-5, 1, 1}, {4, 2, -1}};
static const int32_t vectors[] = {0, 2, -1};
#define COUNT(array) (sizeof array / sizeof *array)

static size_t specs(size_t index, lgv_env_spec *spec) {
  const lgv_action_space actions[] = {
      lgv_discrete(3), lgv_multi_discrete(2, (const int32_t[]){2, 3}),
      lgv_box(1, (const float[]){-1}, (const float[]){1}), lgv_discrete(0)};
  size_t rest = index;
#define NEXT(array) array[rest % COUNT(array)], rest /= COUNT(array)
  *spec = (lgv_env_spec){.size = sizeof *spec, .states = STATES, .horizon = HORIZON};
  spec->stationary = true;
  spec->reward_max = 1;
  spec->obs_kind = (lgv_obs_kind)NEXT(kinds);
  spec->obs_form = (lgv_obs_form)NEXT(forms);
  spec->frames = NEXT(frames);
  spec->vector = NEXT(vectors);
  spec->actions = NEXT(actions);
  memcpy(spec->obs_shape, shapes[rest % COUNT(shapes)], sizeof spec->obs_shape);
#undef NEXT
  return COUNT(kinds) * COUNT(forms) * COUNT(frames) * COUNT(vectors) * COUNT(actions) *
         COUNT(shapes);
}

/* Observations of a one in the first place, which every form allows. */
static void play(lgv_agent *agent, const lgv_env_spec *spec) {
  static union {
    float floats[MOST_OBS];
    uint8_t bytes[MOST_OBS];
  } data;
  lgv_error err = {0};
  memset(&data, 0, sizeof data);
  if (spec->obs_kind == LGV_OBS_BYTE)
    data.bytes[0] = 1;
  else
    data.floats[0] = 1;
  for (int episode = 0; episode < EPISODES; episode++) {
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    for (int64_t h = 0; h < HORIZON; h++) {
      lgv_action action;
      lgv_obs obs = {.data = &data, .state = h, .stage = h};
      if (lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err) != LGV_OK)
        fail_msg("act: %s", err.message);
      lgv_transition t = {.obs = obs,
                          .next = {.data = &data, .state = h + 1, .stage = h + 1},
                          .action = &action,
                          .reward = 0.5,
                          .terminated = h + 1 == HORIZON};
      if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("observe: %s", err.message);
    }
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
}

/* Returns how many specs the agent took. */
static int try_all(const char *agent_name, const char *extra, bool sees) {
  lgv_settings *settings = make_settings(NULL, agent_name, extra);
  int taken = 0;
  lgv_env_spec spec;
  for (size_t i = 0; i < specs(i, &spec); i++) {
    lgv_agent *agent;
    lgv_error err = {0};
    bool sound = !(sees ? lgv__spec_fault(&spec) : lgv__task_fault(&spec));
    lgv_status status =
        lgv_agent_create(settings, &spec, EPISODES, EPISODES * HORIZON, 1, &agent, &err);
    if (status == LGV_OK && !sound) fail_msg("%s takes the faulty spec %zu", agent_name, i);
    if (status != LGV_OK && !*err.message) fail_msg("%s: no reason", agent_name);
    if (status != LGV_OK) continue;
    play(agent, &spec);
    lgv_agent_free(agent);
    taken++;
  }
  lgv_settings_free(settings);
  return taken;
}

static void no_spec_harms_an_agent(void **state) {
  (void)state;
  const char *const small = "agent.hidden=4 agent.batch=2";
  for (size_t a = 0; lgv__agents[a]; a++) {
    const lgv_agent_type *type = lgv__agents[a];
    bool sees = !(type->traits & LGV_NEEDS_STATES);
    int taken = try_all(type->name, sees ? small : NULL, sees);
    if (taken == 0 && !(type->traits & LGV_TAKES_BOX)) fail_msg("%s takes nothing", type->name);
  }
}

/* Agents that need states read no observations, unless a feature map does. */
static void no_spec_harms_a_feature_map(void **state) {
  (void)state;
  const char *const maps[] = {"agent.features=rbf features.count=3", "agent.features=identity",
                              "agent.features=tiles features.tiles=2 features.tilings=2"};
  for (size_t i = 0; i < COUNT(maps); i++) assert_true(try_all("lmc-lsvi", maps[i], true) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_spec_harms_an_agent),
      cmocka_unit_test(no_spec_harms_a_feature_map),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
