/* lgv_agent_export: the file compiles without a warning and says what the library says, for every
 * agent and every kind of observation. */
#include "registry.h"
#include "run_helpers.h"
#include "temp_root.h"

#include <dlfcn.h>
#include <math.h>

enum { MOST_NUMBERS = 40 * 40 * 2, LENGTH = 7, ACTIONS = 3, TRIES = 200 };

typedef struct exported {
  void *library;
  int (*act)(const void *obs);
  void (*q)(const void *obs, double *q);
  int (*act_at)(int stage, int state);
  void (*q_at)(int stage, int state, double *q);
} exported;

static void *find(void *library, const char *name) {
  void *symbol = dlsym(library, name);
  if (!symbol) fail_msg("%s is not there", name);
  return symbol;
}

static exported compile(lgv_agent *agent, const char *label) {
  static int number;
  char source[PATH_MAX], library[PATH_MAX], command[3 * PATH_MAX];
  lgv_error err = {0};
  exported e;
  snprintf(source, sizeof source, "%s/%d.c", root, ++number);
  snprintf(library, sizeof library, "%s/%d.so", root, number);
  if (lgv_agent_export(agent, source, "brain", &err) != LGV_OK)
    fail_msg("%s: %s", label, err.message);
  snprintf(command, sizeof command,
           "cc -std=c99 -Wall -Wextra -pedantic -Werror -O1 -fPIC -shared -o '%s' '%s' -lm",
           library, source);
  if (system(command) != 0) fail_msg("%s: `%s` failed", label, command);
  e.library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!e.library) fail_msg("%s: %s", label, dlerror());
  void *act = find(e.library, "brain_act"), *q = find(e.library, "brain_q");
  memcpy(&e.act, &act, sizeof act);
  memcpy(&e.q, &q, sizeof q);
  memcpy(&e.act_at, &act, sizeof act);
  memcpy(&e.q_at, &q, sizeof q);
  return e;
}

/* An observation that the environment could show. */
static lgv_obs draw_obs(const lgv_env_spec *env, lgv_rng *rng, void *data) {
  int32_t count = env->obs_shape[0] * env->obs_shape[1] * env->obs_shape[2];
  int64_t one = lgv_rng_below(rng, count);
  for (int32_t i = 0; i < count; i++) {
    if (env->obs_kind == LGV_OBS_BYTE)
      ((uint8_t *)data)[i] = (uint8_t)lgv_rng_below(rng, 256);
    else if (env->obs_form == LGV_FORM_DENSE)
      ((float *)data)[i] = (float)lgv_rng_normal(rng);
    else
      ((float *)data)[i] = env->obs_form == LGV_FORM_ONE_HOT ? i == one : i <= one;
  }
  return (lgv_obs){.data = data, .state = env->states > 0 ? one : -1};
}

static void train(lgv_agent *agent, const lgv_env_spec *env, int steps) {
  static float data[2][MOST_NUMBERS];
  lgv_rng rng;
  lgv_error err = {0};
  lgv_rng_seed(&rng, 2, "test");
  for (int i = 0; i < steps; i++) {
    int stage = i % (int)env->horizon;
    bool last = stage == (int)env->horizon - 1;
    if (stage == 0) assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    lgv_transition t = {.obs = draw_obs(env, &rng, data[i % 2]),
                        .next = draw_obs(env, &rng, data[1 - i % 2]),
                        .action = choice((int32_t)lgv_rng_below(&rng, env->actions.count)),
                        .reward = lgv_rng_uniform(&rng),
                        .terminated = last};
    t.obs.stage = stage;
    t.next.stage = stage + 1;
    if (lgv_agent_observe(agent, &t, &err) != LGV_OK) fail_msg("%s", err.message);
    if (last) assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
  assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
}

static int32_t greatest(const double *x, int32_t count, double *lead) {
  int32_t best = 0;
  *lead = INFINITY;
  for (int32_t a = 1; a < count; a++)
    if (x[a] > x[best]) best = a;
  for (int32_t a = 0; a < count; a++)
    if (a != best) *lead = fmin(*lead, x[best] - x[a]);
  return best;
}

static void compare(const double *found, const double *expected, int32_t count, const char *label) {
  double size = 0;
  for (int32_t a = 0; a < count; a++) size = fmax(size, fabs(expected[a]));
  for (int32_t a = 0; a < count; a++)
    if (!(fabs(found[a] - expected[a]) <= 1e-5 * size))
      fail_msg("%s: %.9g, not %.9g", label, found[a], expected[a]);
}

/* Whether evaluations always take the same action there: a tie of votes is drawn again each time.
 */
static bool draws_agree(lgv_agent *agent, const lgv_obs *obs, lgv_action *action) {
  lgv_error err = {0};
  lgv_action other;
  assert_int_equal(lgv_agent_act(agent, obs, LGV_EVAL, action, &err), LGV_OK);
  for (int i = 0; i < 12; i++) {
    assert_int_equal(lgv_agent_act(agent, obs, LGV_EVAL, &other, &err), LGV_OK);
    if (other.choice != action->choice) return false;
  }
  return true;
}

/* votes: the library's own action is compared, which has no other draw than ties. */
static void check_observations(lgv_agent *agent, const lgv_env_spec *env, bool votes,
                               const char *label) {
  static float data[MOST_NUMBERS];
  exported e = compile(agent, label);
  lgv_rng rng;
  lgv_error err = {0};
  int clear = 0;
  lgv_rng_seed(&rng, 9, "test");
  for (int i = 0; i < TRIES; i++) {
    lgv_obs obs = draw_obs(env, &rng, data);
    double expected[ACTIONS], found[ACTIONS], lead;
    lgv_action action;
    assert_int_equal(lgv_agent_q_values(agent, &obs, 1, expected, &err), LGV_OK);
    e.q(data, found);
    compare(found, expected, env->actions.count, label);
    int32_t best = greatest(expected, env->actions.count, &lead);
    if (votes) {
      if (!draws_agree(agent, &obs, &action)) continue;
      assert_int_equal(e.act(data), action.choice);
      clear++;
    } else if (lead > 1e-4) {
      if (e.act(data) != best) fail_msg("%s: action %d, not %d", label, e.act(data), best);
      clear++;
    }
  }
  if (clear < TRIES / 2) fail_msg("%s: %d clear actions", label, clear);
  dlclose(e.library);
}

static lgv_env_spec dense_spec(void) {
  return (lgv_env_spec){.size = sizeof(lgv_env_spec),
                        .obs_shape = {LENGTH, 1, 1},
                        .actions = {.count = ACTIONS},
                        .horizon = 10};
}

static lgv_agent *make_agent(const char *name, const char *extra, const lgv_env_spec *env) {
  lgv_settings *settings = make_settings(NULL, name, extra);
  lgv_agent *agent;
  lgv_error err = {0};
  lgv_status status = lgv_agent_create(settings, env, 100, 0, 1, &agent, &err);
  lgv_settings_free(settings);
  if (status != LGV_OK) fail_msg("%s: %s", name, err.message);
  return agent;
}

static bool is_deep(const lgv_agent_type *type) { return !(type->traits & LGV_NEEDS_STATES); }

static bool is_index_only(const lgv_agent_type *type) {
  return strcmp(type->name, "gn-lmcdqn") == 0;
}

static void every_deep_agent_over_vectors(void **state) {
  (void)state;
  lgv_env_spec env = dense_spec();
  for (size_t i = 0; lgv__agents[i]; i++) {
    const lgv_agent_type *type = lgv__agents[i];
    if (!is_deep(type) || is_index_only(type)) continue;
    bool ensemble = strcmp(type->name, "bootstrapped-dqn") == 0;
    lgv_agent *agent = make_agent(
        type->name, ensemble ? "agent.warmup=8 agent.eval=vote" : "agent.warmup=8", &env);
    train(agent, &env, 80);
    check_observations(agent, &env, ensemble, type->name);
    lgv_agent_free(agent);
  }
}

static void every_agent_over_indices(void **state) {
  (void)state;
  for (int form = LGV_FORM_ONE_HOT; form <= LGV_FORM_THERMOMETER; form++) {
    lgv_env_spec env = dense_spec();
    env.obs_form = (lgv_obs_form)form;
    env.states = LENGTH;
    env.reward_max = 1;
    env.stationary = true;
    for (size_t i = 0; lgv__agents[i]; i++) {
      const lgv_agent_type *type = lgv__agents[i];
      if (!is_deep(type)) continue;
      bool ensemble = strcmp(type->name, "bootstrapped-dqn") == 0;
      lgv_agent *agent = make_agent(type->name, ensemble ? "agent.eval=vote" : NULL, &env);
      train(agent, &env, 80);
      check_observations(agent, &env, ensemble, type->name);
      lgv_agent_free(agent);
    }
  }
}

static void every_linear_agent(void **state) {
  (void)state;
  lgv_env_spec env = dense_spec();
  env.obs_form = LGV_FORM_ONE_HOT;
  env.states = LENGTH;
  env.reward_max = 1;
  env.stationary = true;
  for (size_t i = 0; lgv__agents[i]; i++) {
    const lgv_agent_type *type = lgv__agents[i];
    if (is_deep(type)) continue;
    lgv_error err = {0};
    lgv_agent *agent = make_agent(type->name, NULL, &env);
    train(agent, &env, 200);
    exported e = compile(agent, type->name);
    int clear = 0;
    for (int h = 0; h < 10; h++)
      for (int s = 0; s < LENGTH; s++) {
        lgv_obs obs = {.state = s, .stage = h};
        double expected[ACTIONS], found[ACTIONS], policy[ACTIONS], lead;
        assert_int_equal(lgv_agent_q_values(agent, &obs, 1, expected, &err), LGV_OK);
        assert_int_equal(lgv_agent_policy(agent, &obs, policy, &err), LGV_OK);
        e.q_at(h, s, found);
        assert_memory_equal(found, expected, sizeof found); /* to the last bit */
        int32_t best = greatest(policy, ACTIONS, &lead);
        if (lead > 0) assert_int_equal(e.act_at(h, s), best);
        clear += lead > 0;
      }
    assert_true(clear > 0);
    assert_int_equal(e.act_at(10, 0), -1);
    assert_int_equal(e.act_at(0, -1), -1);
    dlclose(e.library);
    lgv_agent_free(agent);
  }
}

static void networks_over_images(void **state) {
  (void)state;
  static const char *const settings[][2] = {
      {"dqn", "agent.hidden=16 agent.replay=100 agent.warmup=32"},
      {"double-dqn", "agent.hidden=16,8 agent.replay=100 agent.warmup=32 agent.shared_bias=true"},
      {"noisynet-dqn", "agent.hidden=16 agent.replay=100 agent.warmup=32"},
      {"c51", "agent.hidden=16 agent.replay=100 agent.warmup=32"},
      {"iqn", "agent.hidden=16,12,8 agent.replay=100 agent.warmup=32"},
      {"bootstrapped-dqn",
       "agent.hidden=16 agent.replay=100 agent.warmup=32 agent.heads=3 agent.eval=vote"}};
  lgv_env_spec env = {.size = sizeof(lgv_env_spec),
                      .obs_kind = LGV_OBS_BYTE,
                      .obs_shape = {38, 40, 2},
                      .frames = 2,
                      .actions = {.count = ACTIONS},
                      .horizon = 10};
  for (int small = 0; small < 2; small++) {
    if (small) env.obs_shape[0] = 9, env.obs_shape[1] = 10;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
      lgv_agent *agent = make_agent(settings[i][0], settings[i][1], &env);
      check_observations(agent, &env, strstr(settings[i][1], "vote") != NULL, settings[i][0]);
      lgv_agent_free(agent);
    }
  }
}

static void expect_refusal(lgv_agent *agent, const char *path, const char *name, lgv_status status,
                           const char *message) {
  lgv_error err = {0};
  assert_int_equal(lgv_agent_export(agent, path, name, &err), status);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
}

static void refusals_are_clear(void **state) {
  (void)state;
  char path[PATH_MAX], missing[PATH_MAX];
  lgv_env_spec env = dense_spec();
  join(path, root, "refused.c");
  join(missing, root, "nowhere/refused.c");
  lgv_agent *agent = make_agent("dqn", NULL, &env);
  expect_refusal(agent, path, "2nd", LGV_ERR_USAGE, "cannot begin the name");
  expect_refusal(agent, path, "", LGV_ERR_USAGE, "cannot begin the name");
  expect_refusal(agent, missing, "policy", LGV_ERR_IO, "No such file or directory");
  lgv_agent_free(agent);
  agent =
      make_agent("adam-lmcdqn", "agent.stages=per-stage agent.n_step=1 agent.double=false", &env);
  expect_refusal(agent, path, "policy", LGV_ERR_USAGE, "one network per stage");
  lgv_agent_free(agent);
  for (int i = 0; i < 2; i++) {
    agent = make_agent("dqn", i ? "agent.dueling=true" : "agent.layer_norm=true", &env);
    expect_refusal(agent, path, "policy", LGV_ERR_USAGE, "cannot be exported yet");
    lgv_agent_free(agent);
  }
  assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_deep_agent_over_vectors),
      cmocka_unit_test(every_agent_over_indices),
      cmocka_unit_test(every_linear_agent),
      cmocka_unit_test(networks_over_images),
      cmocka_unit_test(refusals_are_clear),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
