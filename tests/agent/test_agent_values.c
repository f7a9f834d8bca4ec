/* lgv_agent_q_values: evaluations act by these values, and reading them changes nothing. */
#include "deep_helpers.h"
#include "registry.h"
#include "tiny_world.h"

enum { LENGTH = 6, MOST_BYTES = 1 << 22 };

/* Settings under which an evaluation draws nothing, so that its actions are those of the values;
 * NULL where there are none. */
static const char *settled(const char *agent) {
  if (strcmp(agent, "noisynet-dqn") == 0) return "agent.sigma0=0 env.n=6";
  if (strcmp(agent, "bootstrapped-dqn") == 0) return "agent.heads=1 env.n=6";
  if (strcmp(agent, "iqn") == 0 || strcmp(agent, "oppo") == 0) return NULL;
  return "env.n=6";
}

static size_t copy_arrays(const lgv_agent *agent, unsigned char *out) {
  static const size_t size[] = {1, 4, 8, 8, 4, 8};
  const char *name;
  lgv_dtype dtype;
  size_t count, used = 0;
  const void *data;
  for (size_t i = 0; (data = lgv_agent_array(agent, i, &name, &dtype, &count)); i++) {
    bool kept = strncmp(name, "rng.", 4) == 0 || strcmp(name, "w") == 0 ||
                strcmp(name, "lsvi.q") == 0 || strcmp(name, "member") == 0 ||
                strcmp(name, "index") == 0 || strcmp(name, "counters") == 0 ||
                strcmp(name, "online.factor") == 0;
    if (!kept) continue;
    assert_true(used + count * size[dtype] <= MOST_BYTES);
    memcpy(out + used, data, count * size[dtype]);
    used += count * size[dtype];
  }
  assert_true(used > 0);
  return used;
}

static void train(lgv_agent *agent, lgv_env *env, int episodes) {
  lgv_error err = {0};
  for (int e = 0; e < episodes; e++) {
    lgv_action action;
    lgv_transition t = {.action = &action};
    assert_int_equal(lgv_env_reset(env, &t.next, &err), LGV_OK);
    assert_int_equal(lgv_agent_begin_episode(agent, &err), LGV_OK);
    while (!t.terminated && !t.truncated) {
      lgv_outcome outcome;
      t.obs = t.next;
      assert_int_equal(lgv_agent_act(agent, &t.obs, LGV_TRAIN, &action, &err), LGV_OK);
      assert_int_equal(lgv_env_step(env, &action, &outcome, &t.next, &err), LGV_OK);
      t.reward = outcome.reward;
      t.terminated = outcome.terminated;
      t.truncated = outcome.truncated;
      assert_int_equal(lgv_agent_observe(agent, &t, &err), LGV_OK);
    }
    assert_int_equal(lgv_agent_end_episode(agent, &err), LGV_OK);
  }
}

/* Along an episode of random actions; returns in how many steps one action was the best. */
static int compare(lgv_agent *agent, lgv_env *env, bool acts_by_values) {
  static unsigned char before[MOST_BYTES], after[MOST_BYTES];
  lgv_rng rng;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome = {0};
  int clear = 0;
  lgv_rng_seed(&rng, 3, "test");
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  while (!outcome.terminated && !outcome.truncated) {
    double q[2][2];
    lgv_obs twice[2] = {obs, obs};
    lgv_action action;
    size_t used = copy_arrays(agent, before);
    assert_int_equal(lgv_agent_q_values(agent, twice, 2, q[0], &err), LGV_OK);
    assert_int_equal(copy_arrays(agent, after), used);
    assert_memory_equal(before, after, used);
    assert_memory_equal(q[0], q[1], sizeof q[0]);
    assert_true(q[0][0] - q[0][0] == 0 && q[0][1] - q[0][1] == 0);
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_EVAL, &action, &err), LGV_OK);
    if (acts_by_values && q[0][0] != q[0][1]) {
      assert_int_equal(action.choice, q[0][1] > q[0][0]);
      clear++;
    }
    int32_t random = (int32_t)lgv_rng_below(&rng, 2);
    assert_int_equal(lgv_env_step(env, choice(random), &outcome, &obs, &err), LGV_OK);
  }
  return clear;
}

static void evaluations_act_by_the_values_of_every_agent(void **state) {
  (void)state;
  for (size_t i = 0; lgv__agents[i]; i++) {
    if (takes_box(lgv__agents[i])) continue; /* its actions cannot be listed */
    const char *name = lgv__agents[i]->name, *extra = settled(name);
    lgv_settings *settings = make_settings("nchain", name, extra ? extra : "env.n=6");
    lgv_env *env;
    lgv_agent *agent;
    lgv_error err = {0};
    assert_non_null(lgv__agents[i]->q_values);
    assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
    if (lgv_agent_create(settings, lgv_env_get_spec(env), 100, 0, 1, &agent, &err) != LGV_OK)
      fail_msg("%s: %s", name, err.message);
    train(agent, env, 30);
    int clear = compare(agent, env, extra != NULL);
    if (extra) assert_true(clear > 0);
    lgv_agent_free(agent);
    lgv_env_free(env);
    lgv_settings_free(settings);
  }
}

static void values_of(deep_rig *rig, int position, double *q) {
  float data[DEEP_MOST_LENGTH];
  lgv_error err = {0};
  lgv_obs obs = deep_obs(rig, position, 0, data);
  assert_int_equal(rig->type->q_values(rig->self, &obs, q, &err), LGV_OK);
}

static void open_trained(deep_rig *rig, const char *agent, const char *extra) {
  lgv_rng rng;
  lgv_rng_seed(&rng, 5, "test");
  deep_open(rig, agent, deep_spec(LENGTH, 2), extra, NULL);
  deep_walk(rig, 80, &rng);
}

static void langevin_agents_tell_the_mean_of_their_samples(void **state) {
  (void)state;
  deep_rig rig;
  open_trained(&rig, "adam-lmcdqn", "agent.average=20 agent.warmup=8 optim.lr=1e-2");
  dqn *c = rig.self;
  const float *w_mean = deep_array(&rig, "w_mean", NULL);
  bool differs = false;
  for (int i = 0; i < LENGTH; i++) {
    double q[2];
    float data[DEEP_MOST_LENGTH];
    lgv_obs obs = deep_obs(&rig, i, 0, data);
    values_of(&rig, i, q);
    const float *mean = lgv__dqn_values(c, w_mean, &obs);
    assert_true(q[0] == (double)mean[0] && q[1] == (double)mean[1]);
    differs |= q[0] != (double)lgv__dqn_values(c, c->w, &obs)[0];
  }
  assert_true(differs);
  deep_close(&rig);
}

static void ensembles_tell_the_mean_of_their_members(void **state) {
  (void)state;
  deep_rig rig;
  open_trained(&rig, "bootstrapped-dqn",
               "agent.members=networks agent.heads=3 agent.prior_scale=0 agent.warmup=8 "
               "agent.hidden=4,4 optim.name=sgd");
  dqn *c = rig.self;
  assert_int_equal(c->sizes.copies, 3);
  for (int i = 0; i < LENGTH; i++) {
    double q[2], sum[2] = {0};
    float data[DEEP_MOST_LENGTH];
    lgv_obs obs = deep_obs(&rig, i, 0, data);
    values_of(&rig, i, q);
    for (int k = 0; k < 3; k++)
      for (int a = 0; a < 2; a++)
        sum[a] += (double)lgv__dqn_values(c, c->w + k * c->dim, &obs)[a] / 3;
    for (int a = 0; a < 2; a++) assert_true(q[a] - sum[a] < 1e-12 && sum[a] - q[a] < 1e-12);
  }
  deep_close(&rig);
}

/* K = 1: the median; K = 2: the quartiles. */
static void iqn_takes_midpoints(void **state) {
  (void)state;
  for (int64_t taus = 1; taus <= 2; taus++) {
    static const float points[2][2] = {{0.5f}, {0.25f, 0.75f}};
    deep_rig rig;
    open_trained(&rig, "iqn",
                 taus == 1 ? "agent.taus_act=1 agent.warmup=8" : "agent.taus_act=2 agent.warmup=8");
    dqn *c = rig.self;
    for (int32_t i = 0; i < LENGTH; i++) {
      double q[2], sum[2] = {0};
      values_of(&rig, i, q);
      net_input input = {.index = &i, .tau = points[taus - 1], .taus = taus};
      const float *z = lgv__net_forward(&c->net, c->w, input, 1, &c->act_tape);
      for (int64_t k = 0; k < 2 * taus; k++) sum[k % 2] += (double)z[k] / (double)taus;
      for (int a = 0; a < 2; a++) assert_true(q[a] - sum[a] < 1e-6 && sum[a] - q[a] < 1e-6);
    }
    deep_close(&rig);
  }
}

static void refusals_are_clear(void **state) {
  (void)state;
  lgv_settings *settings = make_settings("coin", "cycle", NULL);
  lgv_env *env;
  lgv_agent *silent, *linear;
  lgv_error err = {0};
  lgv_obs beyond = {.stage = 1000};
  double q[2];
  assert_int_equal(lgv_settings_add_env(settings, &coin_type, &err), LGV_OK);
  assert_int_equal(lgv_settings_add_agent(settings, &cycle_type, &err), LGV_OK);
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_int_equal(lgv_agent_create(settings, spec, 10, 0, 1, &silent, &err), LGV_OK);
  assert_int_equal(lgv_agent_q_values(silent, &beyond, 1, q, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "cycle has no values"));
  assert_int_equal(lgv_settings_set(settings, "agent.name", "lsvi-ucb", NULL, &err), LGV_OK);
  assert_int_equal(lgv_agent_create(settings, spec, 10, 0, 1, &linear, &err), LGV_OK);
  assert_int_equal(lgv_agent_q_values(linear, &beyond, 1, q, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "outside the problem"));
  lgv_agent_free(silent);
  lgv_agent_free(linear);
  lgv_env_free(env);
  lgv_settings_free(settings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(evaluations_act_by_the_values_of_every_agent),
      cmocka_unit_test(langevin_agents_tell_the_mean_of_their_samples),
      cmocka_unit_test(ensembles_tell_the_mean_of_their_members),
      cmocka_unit_test(iqn_takes_midpoints),
      cmocka_unit_test(refusals_are_clear),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
