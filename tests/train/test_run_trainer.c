/* An agent and an environment trained without a run: the same bits as a run, exact saving and
 * loading, environments of models, several environments a step. */
#include "env/classic.h"
#include "math/kernels.h"

#include "env_helpers.h"
#include "file_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096 };

typedef struct pair {
  lgv_env *env;
  lgv_agent *agent;
  lgv_trainer *trainer;
} pair;

static void must(lgv_status status, const lgv_error *err) {
  if (status != LGV_OK) fail_msg("%s", err->message);
}

static pair make_pair(const char *env, const char *agent, const char *extra, int64_t episodes,
                      int64_t steps, uint64_t seed) {
  pair p;
  lgv_error err = {0};
  lgv_settings *settings = make_settings(env, agent, extra);
  must(lgv_env_create(settings, seed, &p.env, &err), &err);
  must(lgv_agent_create(settings, lgv_env_get_spec(p.env), episodes, steps, seed, &p.agent, &err),
       &err);
  must(lgv_trainer_create(p.agent, p.env, &p.trainer, &err), &err);
  lgv_settings_free(settings);
  return p;
}

static void free_pair(pair *p) {
  lgv_trainer_free(p->trainer);
  lgv_agent_free(p->agent);
  lgv_env_free(p->env);
}

/* In slices of odd lengths, so that episodes continue between calls. */
static int64_t train(pair *p, int64_t steps, lgv_episode *episodes) {
  lgv_error err = {0};
  int64_t count = 0, slice = 1;
  while (steps > 0) {
    int64_t made, ended;
    int64_t most = slice < steps ? slice : steps;
    must(lgv_trainer_advance(p->trainer, most, episodes + count, 3, &made, &ended, &err), &err);
    assert_true(made == most || ended == 3);
    steps -= made;
    count += ended;
    slice = slice * 3 % 101 + 1;
  }
  return count;
}

static void expect_run(const char *env, const char *agent, const char *extra, bool exact) {
  static lgv_episode episodes[MOST];
  char settings[256];
  snprintf(settings, sizeof settings, "%s run.steps=2000 run.eval_every=0", extra);
  lgv_plan *plan = make_plan(env, agent, settings);
  lgv_summary summary = run_plan(plan, 3);
  lgv_plan_free(plan);
  int64_t horizon = 40; /* riverswim's: what a plan makes of a budget of steps */
  pair p = make_pair(env, agent, extra, exact ? 2000 / horizon : 0, 2000, 3);
  int64_t count = train(&p, 2000, episodes);
  double sum = 0, regret = 0;
  for (int64_t i = 0; i < count; i++) {
    sum += episodes[i].episode_return;
    regret += episodes[i].regret;
    assert_true(isnan(episodes[i].value) != exact);
  }
  assert_int_equal(count, summary.episodes);
  assert_true(sum / (double)count == summary.mean_return);
  if (exact) assert_true(regret == summary.regret);
  free_pair(&p);
}

static void test_same_as_run(void **state) {
  (void)state;
  expect_run("riverswim", "lmc-lsvi", "", true);
  expect_run("riverswim", "psrl", "", true);
  expect_run("cartpole", "adam-lmcdqn", "agent.warmup=100", false);
  expect_run("cartpole", "noisynet-dqn", "agent.warmup=100", false);
}

/* The header of an agent's file: names, sizes and checksums of whatever decides its future. */
static char *describe(const lgv_agent *agent) {
  char directory[TEMP_SIZE], path[PATH_MAX];
  lgv_error err = {0};
  make_temp(directory);
  join(path, directory, "agent");
  must(lgv_agent_save(agent, path, NULL, &err), &err);
  char *text = read_text(directory, "agent");
  remove_tree(directory);
  memmove(text, text + 8, strlen(text + 8) + 1); /* after its length */
  return text;
}

static void expect_same_agent(const lgv_agent *a, const lgv_agent *b) {
  char *one = describe(a), *other = describe(b);
  assert_true(strlen(one) > 500 && strstr(one, "agent.rng.act"));
  assert_string_equal(one, other);
  free(one);
  free(other);
}

/* On acrobot, whose sines and powers differ between the C library and the portable functions. */
static void agents_in_bf16_train_alike_with_every_set(void **state) {
  (void)state;
  static lgv_episode episodes[MOST];
  const lgv_kernel_set *sets[] = {lgv__kernels_at(0), lgv__kernels_portable()};
  pair p[2];
  for (int i = 0; i < 2; i++) {
    lgv__kernels_use(sets[i]);
    p[i] = make_pair("acrobot", "adam-lmcdqn", "agent.precision=bf16 agent.warmup=50", 0, 70, 1);
    train(&p[i], 70, episodes);
  }
  lgv__kernels_use(NULL);
  expect_same_agent(p[0].agent, p[1].agent);
  assert_memory_equal(env_array(p[0].env, "env.x"), env_array(p[1].env, "env.x"),
                      LGV_CLASSIC_STATE * sizeof(double));
  free_pair(&p[0]);
  free_pair(&p[1]);
}

/* Both agents live through the same transitions after one was loaded from the other's file. */
static void expect_exact_load(const char *env, const char *agent, const char *extra) {
  static lgv_episode episodes[MOST];
  char directory[TEMP_SIZE], path[PATH_MAX];
  lgv_error err = {0};
  make_temp(directory);
  join(path, directory, "agent.safetensors");
  pair a = make_pair(env, agent, extra, 0, 0, 1);
  pair b = make_pair(env, agent, extra, 0, 0, 2);
  train(&a, 777, episodes);
  must(lgv_agent_save(
           a.agent, path,
           &(lgv_save_options){.size = sizeof(lgv_save_options), .about = "{\"a\": \"text\"}"},
           &err),
       &err);
  must(lgv_agent_load(b.agent, path, &err), &err);
  expect_same_agent(a.agent, b.agent);
  lgv_env_seed(a.env, 9);
  lgv_env_seed(b.env, 9);
  for (int k = 0; k < 20; k++) { /* episodes by hand, so that both begin at a reset */
    lgv_obs x, y;
    lgv_outcome end = {0};
    must(lgv_env_reset(a.env, &x, &err), &err);
    must(lgv_env_reset(b.env, &y, &err), &err);
    must(lgv_agent_begin_episode(a.agent, &err), &err);
    must(lgv_agent_begin_episode(b.agent, &err), &err);
    while (!end.terminated && !end.truncated) {
      lgv_action i, j;
      lgv_transition s = {.obs = x, .action = &i}, t = {.obs = y, .action = &j};
      must(lgv_agent_act(a.agent, &x, LGV_TRAIN, &i, &err), &err);
      must(lgv_agent_act(b.agent, &y, LGV_TRAIN, &j, &err), &err);
      assert_int_equal(i.choice, j.choice);
      must(lgv_env_step(a.env, s.action, &end, &s.next, &err), &err);
      must(lgv_env_step(b.env, t.action, &end, &t.next, &err), &err);
      s.reward = t.reward = end.reward;
      s.terminated = t.terminated = end.terminated;
      s.truncated = t.truncated = end.truncated;
      must(lgv_agent_observe(a.agent, &s, &err), &err);
      must(lgv_agent_observe(b.agent, &t, &err), &err);
      x = s.next;
      y = t.next;
    }
    must(lgv_agent_end_episode(a.agent, &err), &err);
    must(lgv_agent_end_episode(b.agent, &err), &err);
  }
  expect_same_agent(a.agent, b.agent);
  free_pair(&a);
  free_pair(&b);
  remove_tree(directory);
}

static void test_load_is_exact(void **state) {
  (void)state;
  lgv_entry entry;
  for (size_t i = 0; lgv_registry_get("agent", i, &entry); i++) {
    bool replays = false; /* then so few transitions that the ring comes round */
    for (const lgv_param *p = entry.params; p && p->name; p++)
      replays |= strcmp(p->name, "replay") == 0;
    if (entry.traits & LGV_TAKES_BOX)
      expect_exact_load("pendulum", entry.name,
                        "env.horizon=20 agent.warmup=64 agent.replay=500 agent.hidden=8 "
                        "agent.batch=8");
    else
      expect_exact_load("riverswim", entry.name,
                        replays ? "agent.warmup=64 agent.replay=500" : NULL);
  }
}

static void test_load_refuses(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[PATH_MAX], text[64];
  lgv_error err = {0};
  make_temp(directory);
  join(path, directory, "agent.safetensors");
  pair a = make_pair("riverswim", "dqn", "agent.hidden=8", 0, 0, 1);
  pair b = make_pair("riverswim", "dqn", "agent.hidden=9", 0, 0, 1);
  must(lgv_agent_save(a.agent, path, NULL, &err), &err);
  assert_int_equal(lgv_agent_load(b.agent, path, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "of another size"));
  assert_int_equal(truncate(path, 100), 0);
  assert_int_equal(lgv_agent_load(a.agent, path, &err), LGV_ERR_IO);
  remove_tree(directory);
  assert_int_equal(lgv_agent_load(a.agent, path, &err), LGV_ERR_IO);
  assert_int_equal(lgv_agent_save(a.agent, "/nowhere/at/all", NULL, &err), LGV_ERR_IO);
  must(lgv_agent_get(b.agent, "agent.hidden", text, sizeof text, &err), &err);
  assert_string_equal(text, "9");
  must(lgv_agent_get(b.agent, "optim.name", text, sizeof text, &err), &err);
  assert_string_equal(text, "adam");
  assert_int_equal(lgv_agent_get(b.agent, "agent.nonsense", text, sizeof text, &err),
                   LGV_ERR_USAGE);
  free_pair(&a);
  free_pair(&b);
}

/* Two states; action 1 moves on with probability 3/4 and pays 1/2 in the second. */
static lgv_model *make_model(void) {
  lgv_model *m;
  lgv_error err = {0};
  must(lgv_model_create(2, 2, 3, true, &m, &err), &err);
  for (int64_t s = 0; s < 2; s++) {
    must(lgv_model_add_row(m, 0, s, 0, (double[]){1, 0}, &err), &err);
    must(lgv_model_add_row(m, 0, s, 1, (double[]){0.25, 0.75}, &err), &err);
  }
  lgv_model_set_reward(m, 0, 1, 1, 0.5);
  lgv_model_set_start(m, 0, 1);
  must(lgv_model_seal(m, &err), &err);
  return m;
}

/* V* = 0.75 (0.5 + 0.75 0.5) + 0.25 0.75 0.5 = 0.75: the value of a trained agent's policy. */
static void test_model_env(void **state) {
  (void)state;
  static lgv_episode episodes[MOST];
  lgv_error err = {0};
  lgv_model *m = make_model();
  pair p;
  must(lgv_env_from_model(m, NULL, 0, 1, &p.env, &err), &err);
  const lgv_env_spec *spec = lgv_env_get_spec(p.env);
  assert_true(spec->reward_min == 0 && spec->reward_max == 0.5);
  lgv_settings *settings = make_settings(NULL, "psrl", NULL);
  must(lgv_agent_create(settings, spec, 0, 0, 1, &p.agent, &err), &err);
  lgv_settings_free(settings);
  must(lgv_trainer_create(p.agent, p.env, &p.trainer, &err), &err);
  int64_t count = train(&p, 3 * 400, episodes);
  assert_int_equal(count, 400);
  assert_float_equal(episodes[count - 1].value, 0.75, 1e-12);
  assert_float_equal(episodes[count - 1].regret, 0, 1e-12);
  free_pair(&p);
  lgv_model_free(m);
}

static void test_wrong_environment(void **state) {
  (void)state;
  lgv_error err = {0};
  lgv_trainer *trainer;
  pair a = make_pair("riverswim", "dqn", NULL, 0, 0, 1);
  pair b = make_pair("cartpole", "dqn", NULL, 0, 0, 1);
  assert_int_equal(lgv_trainer_create(a.agent, b.env, &trainer, &err), LGV_ERR_USAGE);
  assert_null(trainer);
  free_pair(&a);
  free_pair(&b);
}

/* An agent without masks would put forbidden actions into its targets. */
static void test_wrong_masks(void **state) {
  (void)state;
  lgv_error err = {0};
  lgv_model *m;
  lgv_settings *settings = make_settings(NULL, "dqn", NULL);
  pair p;
  must(lgv_model_create(1, 2, 3, true, &m, &err), &err);
  must(lgv_model_add(m, 0, 0, 0, 0, 1, &err), &err);
  lgv_model_forbid(m, 0, 0, 1);
  lgv_model_set_start(m, 0, 1);
  must(lgv_model_seal(m, &err), &err);
  must(lgv_env_from_model(m, NULL, 0, 1, &p.env, &err), &err);
  for (int masked = 0; masked < 2; masked++) {
    lgv_env_spec spec = *lgv_env_get_spec(p.env);
    spec.masked = masked;
    spec.frames = 1; /* as 0 */
    must(lgv_agent_create(settings, &spec, 0, 0, 1, &p.agent, &err), &err);
    assert_int_equal(lgv_trainer_create(p.agent, p.env, &p.trainer, &err),
                     masked ? LGV_OK : LGV_ERR_USAGE);
    if (!masked) lgv_agent_free(p.agent);
  }
  free_pair(&p);
  lgv_settings_free(settings);
  lgv_model_free(m);
}

static void test_step_all(void **state) {
  (void)state;
  lgv_error err = {0};
  pair a = make_pair("cartpole", "dqn", NULL, 0, 0, 1),
       b = make_pair("cartpole", "dqn", NULL, 0, 0, 1);
  pair c = make_pair("cartpole", "dqn", NULL, 0, 0, 2);
  lgv_env *envs[] = {a.env, c.env};
  float data[2][4];
  lgv_outcome outcomes[2], alone = {0};
  lgv_obs obs;
  must(lgv_env_step_all(envs, 2, (lgv_action[2]){0}, (bool[]){true, true}, data, NULL, outcomes,
                        &err),
       &err);
  must(lgv_env_reset(b.env, &obs, &err), &err);
  assert_memory_equal(data[0], obs.data, sizeof data[0]);
  assert_memory_not_equal(data[0], data[1], sizeof data[0]);
  while (!alone.terminated) {
    must(lgv_env_step_all(envs, 2, (lgv_action[]){{1}, {0}}, (bool[]){false, true}, data, NULL,
                          outcomes, &err),
         &err);
    must(lgv_env_step(b.env, choice(1), &alone, &obs, &err), &err);
    assert_memory_equal(data[0], obs.data, sizeof data[0]);
    assert_memory_equal(&outcomes[0].reward, &alone.reward, sizeof alone.reward);
    assert_true(outcomes[0].terminated == alone.terminated);
    assert_true(outcomes[1].reward == 0 && !outcomes[1].terminated);
  }
  assert_int_equal(lgv_env_step_all(envs, 2, (lgv_action[2]){0}, NULL, data, NULL, outcomes, &err),
                   LGV_ERR_USAGE); /* the first has ended */
  assert_int_equal(lgv_env_step_all(envs, 2, (lgv_action[]){{0}, {2}}, (bool[]){true, false}, data,
                                    NULL, outcomes, &err),
                   LGV_ERR_USAGE);
  must(lgv_env_step_all(envs, 2, (lgv_action[2]){0}, (bool[]){true, false}, data, NULL, outcomes,
                        &err),
       &err);
  free_pair(&a);
  free_pair(&b);
  free_pair(&c);
}

static void test_entries(void **state) {
  (void)state;
  lgv_entry entry;
  assert_true(lgv_registry_find("agent", "adam-lmcdqn", &entry));
  assert_string_equal(entry.optimizer, "asgld");
  assert_string_equal(entry.presets[0].name, "small");
  assert_int_equal(entry.traits & LGV_NEEDS_STATES, 0);
  assert_true(lgv_registry_find("agent", "lmc-lsvi", &entry));
  assert_null(entry.optimizer);
  assert_true(entry.traits & LGV_NEEDS_HORIZON);
  assert_true(lgv_registry_find("env", "nchain", &entry));
  assert_null(entry.optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_as_run),
      cmocka_unit_test(agents_in_bf16_train_alike_with_every_set),
      cmocka_unit_test(test_load_is_exact),
      cmocka_unit_test(test_load_refuses),
      cmocka_unit_test(test_model_env),
      cmocka_unit_test(test_wrong_masks),
      cmocka_unit_test(test_wrong_environment),
      cmocka_unit_test(test_step_all),
      cmocka_unit_test(test_entries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
