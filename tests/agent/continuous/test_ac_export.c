/* lgv_agent_export of policies over continuous actions: the file compiles without a warning and
 * acts as evaluations do, for every agent and kind of observation. */
#include "obs_helpers.h"
#include "registry.h"
#include "temp_root.h"

#include <dlfcn.h>
#include <math.h>

enum { STEPS = 30, TRIES = 20, MOST_BYTES = 4096 };

#define SMALL "agent.replay=100 agent.warmup=8 agent.batch=8 "
#define BOX .actions = {.kind = LGV_BOX, .parts = 2, .low = {-2, 0}, .high = {1, 5}}

static const struct problem {
  lgv_env_spec env;
  const char *settings;
} problems[] = {
    {{BOX, .obs_shape = {5, 1, 1}}, "agent.hidden=6,5"},
    {{BOX, .obs_shape = {5, 1, 1}},
     "agent.hidden=6 agent.layer_norm=true agent.normalize_obs=true"},
    {{BOX, .obs_shape = {5, 1, 1}, .obs_form = LGV_FORM_ONE_HOT}, "agent.hidden=6"},
    {{BOX, .obs_kind = LGV_OBS_BYTE, .obs_shape = {6, 7, 2}}, "agent.conv=4x3s1 agent.hidden=6"},
    {{BOX, .obs_kind = LGV_OBS_BYTE, .obs_shape = {6, 7, 1}, .vector = 3},
     "agent.conv=4x3s1 agent.hidden=6 agent.normalize_obs=true"},
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static lgv_agent *make_agent(const char *name, const struct problem *problem,
                             const lgv_env_spec *env) {
  char text[256];
  lgv_agent *agent;
  lgv_error err = {0};
  snprintf(text, sizeof text, SMALL "%s", problem->settings);
  lgv_settings *settings = make_settings(NULL, name, text);
  if (lgv_agent_create(settings, env, 0, 0, 1, &agent, &err) != LGV_OK)
    fail_msg("%s: %s", name, err.message);
  lgv_settings_free(settings);
  return agent;
}

static void train(lgv_agent *agent, const lgv_env_spec *env, lgv_rng *rng) {
  static _Alignas(8) char data[2][MOST_BYTES];
  lgv_error err = {0};
  obs_draw(env, rng, data[0]);
  for (int i = 0; i < STEPS; i++) {
    obs_draw(env, rng, data[(i + 1) % 2]);
    lgv_transition t = {.obs = {.data = data[i % 2], .state = -1, .stage = i},
                        .next = {.data = data[(i + 1) % 2], .state = -1, .stage = i + 1},
                        .action = draw_action(&env->actions, rng),
                        .reward = lgv_rng_uniform(rng)};
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
  }
}

typedef void act_fn(const void *data, float *action);

static act_fn *compile(lgv_agent *agent, const lgv_env_spec *env, int number, void **library) {
  char path[PATH_MAX], text[600], command[2 * PATH_MAX], name[40];
  lgv_error err = {0};
  join(path, root, "policy.c");
  if (lgv_agent_export(agent, path, "policy", &err) != LGV_OK) fail_msg("%s", err.message);
  char beside[80] = "";
  if (env->vector > 0)
    snprintf(beside, sizeof beside, "(const void *)((const char *)data + %d), ",
             (int)lgv__obs_vector_at(env));
  snprintf(text, sizeof text,
           "#include \"policy.c\"\n"
           "void call(const void *data, float *action);\n"
           "void call(const void *data, float *action) {\n"
           "  policy_act(data, %saction);\n"
           "}\n",
           beside);
  write_text(root, "call.c", text);
  snprintf(name, sizeof name, "%d.so", number);
  join(path, root, name);
  snprintf(command, sizeof command,
           "cd '%s' && cc -std=c99 -Wall -Wextra -pedantic -Wshadow -Wconversion "
           "-Wmissing-prototypes -Werror -O1 -fPIC -shared -o '%s' call.c -lm",
           root, path);
  if (system(command) != 0) fail_msg("`%s` failed", command);
  *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!*library) fail_msg("%s", dlerror());
  void *symbol = dlsym(*library, "call");
  act_fn *call;
  memcpy(&call, &symbol, sizeof call);
  return call;
}

static void check(const char *name, const struct problem *problem, int number) {
  static _Alignas(8) char data[MOST_BYTES];
  lgv_env_spec env = problem->env;
  lgv_rng rng;
  void *library;
  float most = 0;
  env.size = sizeof env;
  lgv_rng_seed(&rng, 4, "test");
  lgv_agent *agent = make_agent(name, problem, &env);
  train(agent, &env, &rng);
  act_fn *call = compile(agent, &env, number, &library);
  for (int i = 0; i < TRIES; i++) {
    lgv_error err = {0};
    lgv_action want;
    float found[2];
    obs_draw(&env, &rng, data);
    lgv_obs obs = {.data = data, .state = -1};
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_EVAL, &want, &err), LGV_OK);
    call(data, found);
    for (int p = 0; p < 2; p++) {
      if (!(fabsf(found[p] - want.values[p]) <= 1e-5f * 5))
        fail_msg("%s, %s: %g, not %g", name, problem->settings, (double)found[p],
                 (double)want.values[p]);
      assert_true(found[p] >= env.actions.low[p] && found[p] <= env.actions.high[p]);
    }
    most = fmaxf(most, fabsf(want.values[0] + 0.5f));
  }
  assert_true(most > 1e-3f); /* it is not the middle of the box everywhere */
  dlclose(library);
  lgv_agent_free(agent);
}

static void exported_policies_act_as_evaluations_do(void **state) {
  (void)state;
  int number = 0;
  for (size_t a = 0; lgv__agents[a]; a++)
    for (int i = 0; takes_box(lgv__agents[a]) && i < PROBLEMS; i++)
      check(lgv__agents[a]->name, &problems[i], number++);
  assert_true(number >= 4 * PROBLEMS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(exported_policies_act_as_evaluations_do, make_root,
                                      remove_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
