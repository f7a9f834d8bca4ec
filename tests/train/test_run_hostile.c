/* Checkpoints that somebody made with intent, checksums included: every number of every agent and
 * environment is set to what no run writes. Such a file may be refused, or the run may continue and
 * fail with a message; under the sanitizers (`make test-asan`) nothing else is possible. */
#include "registry.h"

#include "file_helpers.h"
#include "forge.h"
#include "run_helpers.h"

#include <math.h>

static char root[TEMP_SIZE];
static int trials, refusals;

static int make_root(void **state) {
  (void)state;
  make_temp(root);
  return 0;
}

static int remove_root(void **state) {
  (void)state;
  remove_tree(root);
  return 0;
}

static const char small[] = "run.steps=100000 run.checkpoint_every=0 run.checkpoint_final=false "
                            "run.tensorboard=false run.eval_steps=20";

/* Sizes at which every array is short. */
static const char *size_of(const char *env) {
  static const char *const sizes[][2] = {{"riverswim", "env.n=3 env.horizon=5"},
                                         {"linear-mdp", "env.states=3 env.actions=2 env.horizon=4"},
                                         {"nchain", "env.n=4"},
                                         {"deepsea", "env.n=3"},
                                         {"bandit", "env.arms=3 env.dim=2"},
                                         {"pendulum", "env.horizon=30"}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (strcmp(sizes[i][0], env) == 0) return sizes[i][1];
  return "env.horizon=30";
}

/* NULL if the two are not made for each other. */
static lgv_plan *plan_of(const char *env, const char *agent, const char *extra) {
  static const char deep[] = "agent.hidden=4 agent.replay=24 agent.warmup=8 agent.batch=3 "
                             "agent.target_every=2",
                    box[] = "agent.hidden=4 agent.replay=24 agent.warmup=8 agent.batch=3",
                    cells[] = "agent.hidden=4 agent.cells=10 agent.batch=3";
  bool linear = false, continuous = false;
  for (size_t i = 0; lgv__agents[i]; i++)
    if (strcmp(lgv__agents[i]->name, agent) == 0) {
      linear = lgv__agents[i]->traits & LGV_NEEDS_HORIZON;
      continuous = takes_box(lgv__agents[i]);
    }
  char all[900];
  snprintf(all, sizeof all, "%s %s %s %s", small, size_of(env),
           linear                                  ? ""
           : continuous                            ? box
           : strcmp(agent, "pathwise-lmcdqn") == 0 ? cells
                                                   : deep,
           extra);
  lgv_settings *settings = make_settings(env, agent, all);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) plan = NULL;
  lgv_settings_free(settings);
  return plan;
}

static lgv_run *begin(const lgv_plan *plan, const char *directory, int64_t steps) {
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  if (lgv_run_create(plan, 5, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  if (lgv_run_advance(run, steps, &done, &err) != LGV_OK) fail_msg("%s", err.message);
  if (lgv_run_checkpoint(run, &err) != LGV_OK) fail_msg("%s", err.message);
  return run;
}

/* Resumes, and continues through updates, ends of episodes and an evaluation. */
static void try_run(const lgv_plan *plan, const char *directory, const char *what) {
  lgv_run *run;
  lgv_error err = {0};
  lgv_summary summary;
  bool done;
  trials++;
  lgv_status status = lgv_run_resume(plan, 5, directory, &run, &err);
  refusals += status == LGV_ERR_IO;
  if (status == LGV_OK) {
    status = lgv_run_advance(run, 40, &done, &err);
    lgv_run_summary(run, &summary);
    lgv_run_free(run);
  }
  if (status != LGV_OK && strlen(err.message) == 0) fail_msg("%s: no message", what);
}

static void try_evaluation(const char *directory, const char *what) {
  lgv_error err = {0};
  double result;
  lgv_status status = lgv_evaluate(directory, 1, 3, &result, &err);
  if (status != LGV_OK && strlen(err.message) == 0) fail_msg("%s: no message", what);
}

/* Agents share most of their arrays: each tries another fifth of the numbers, unless LANGEVIN_ALL
 * is set. */
static bool is_turn(void) {
  static unsigned turn;
  enum { SHARE = 5 };
  return turn++ % SHARE == 0 || getenv("LANGEVIN_ALL");
}

static void spoil(const lgv_plan *plan, const char *directory, const char *path, forge *f,
                  size_t at, size_t element) {
  forge_array *a = &f->array[at];
  unsigned char kept[8];
  int64_t now = 0;
  memcpy(kept, a->data + element * a->item, a->item);
  memcpy(&now, kept, a->item);
  const int64_t count = (int64_t)a->count;
  const int64_t wholes[] = {-1, INT32_MAX, INT64_C(1) << 62, INT64_MIN, count, now + 1, 0};
  const double reals[] = {NAN, 1e300, -1e30, -1, 2.5};
  bool is_real = a->dtype[0] == 'F', is_byte = a->item == 1;
  bool is_stream = strstr(a->name, "rng"); /* any bits will do but zeros */
  size_t n = is_real ? 5 : is_byte || is_stream ? 1 : 7;
  for (size_t v = 0; v < n; v++) {
    if (!is_turn()) continue;
    forge_set(a, element, is_real ? 0 : wholes[v], is_real ? reals[v] : 0);
    forge_seal(f);
    assert_true(forge_write(f, path));
    try_run(plan, directory, a->name);
    if (v == 0 && strncmp(a->name, "agent.", 6) == 0) try_evaluation(directory, a->name);
  }
  memcpy(a->data + element * a->item, kept, a->item);
}

/* Every element of short arrays that hold whole numbers; some of the others. */
static void spoil_all(const lgv_plan *plan) {
  char directory[PATH_MAX], path[PATH_MAX];
  size_t size;
  forge f;
  join(directory, root, "run");
  join(path, directory, "checkpoint.safetensors");
  lgv_run_free(begin(plan, directory, 33)); /* within an episode, the small replay gone round */
  unsigned char *bytes = forge_read(path, &size);
  assert_true(forge_open(&f, bytes, size));
  for (size_t at = 0; at < f.n; at++) {
    const forge_array *a = &f.array[at];
    size_t few = a->dtype[0] == 'F' ? 1 : a->count <= 12 ? 12 : 3;
    if (strcmp(a->dtype, "U8") == 0 && a->count > 64) few = 1; /* pictures, noise */
    size_t stride = a->count > few ? a->count / few : 1;
    if (strncmp(a->name, "run.", 4) == 0) stride = 1;
    for (size_t e = 0; e < a->count; e += stride)
      spoil(plan, directory, path, &f, at, a->count - 1 - e);
  }
  free(bytes);
  assert_int_equal(remove_root(NULL), 0);
  assert_int_equal(make_root(NULL), 0);
}

static void every_agent_survives(void **state) {
  (void)state;
  static const char *const envs[] = {"riverswim", "cartpole", "nchain", "pendulum"};
  for (size_t a = 0; lgv__agents[a]; a++)
    for (size_t e = 0; e < 4; e++) {
      lgv_plan *plan = plan_of(envs[e], lgv__agents[a]->name, "");
      if (!plan) continue;
      spoil_all(plan);
      lgv_plan_free(plan);
      break;
    }
}

static void every_environment_survives(void **state) {
  (void)state;
  for (size_t e = 0; lgv__envs[e]; e++) {
    if (lgv__envs[e]->connect) continue; /* of another process: it knows its own state */
    lgv_plan *plan = plan_of(lgv__envs[e]->name, "dqn", "run.eval_every=20");
    if (!plan) plan = plan_of(lgv__envs[e]->name, "sac", "run.eval_every=20");
    assert_non_null(plan);
    spoil_all(plan);
    lgv_plan_free(plan);
  }
}

/* Arrays that agents have with some settings only. */
static void every_kind_of_state_survives(void **state) {
  (void)state;
  static const char *const kinds[][3] = {
      {"riverswim", "lmc-lsvi", "agent.sampler=svrg agent.updates=2 agent.lambda=1"},
      {"linear-mdp", "lsvi-ucb", "agent.gram=dense"},
      {"riverswim", "rlsvi", "agent.delay=3"},
      {"bandit", "dqn", "env.contexts=0 run.eval_every=20"},
      {"riverswim", "prioritized-dqn", "run.envs=3 agent.n_step=3"},
      {"cartpole", "bootstrapped-dqn", "run.envs=2 agent.mask=0.5 agent.members=heads"},
      {"deepsea", "bootstrapped-dqn", "agent.members=networks agent.heads=3 agent.preset=small"},
      {"cartpole", "hyperagent", "run.envs=2 agent.sigma=0.1"},
      {"nchain", "adam-lmcdqn", "agent.stages=per-stage agent.n_step=1 agent.double=false"},
      {"cartpole", "pathwise-lmcdqn", "run.envs=2 agent.cells=40"},
      {"cartpole", "dqn", "run.envs=2 agent.normalize_obs=true agent.scale_rewards=true"},
      {"riverswim", "dqn", "run.stop_return=1e9 run.stop_window=3"},
      {"cartpole", "dqn", "env.stack=3 run.envs=2"},
      {"riverswim", "qr-dqn", "env.stack=2 agent.n_step=2"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    lgv_plan *plan = plan_of(kinds[i][0], kinds[i][1], kinds[i][2]);
    if (!plan) fail_msg("%s with %s: no plan", kinds[i][1], kinds[i][2]);
    spoil_all(plan);
    lgv_plan_free(plan);
  }
}

/* After the others: what they tried was of both kinds. */
static void some_are_refused_and_some_go_on(void **state) {
  (void)state;
  print_message("%d files, %d refused\n", trials, refusals);
  assert_true(trials > 2000 && refusals > trials / 4 && refusals < trials);
}

/* ---- what is said ---- */

typedef struct lie {
  const char *env, *agent, *extra, *array;
  size_t element;
  int64_t value;
  const char *said;
} lie;

static const lie lies[] = {
    {"riverswim", "psrl", "", "env.env.at", 0, 3, "a state outside the model"},
    {"riverswim", "psrl", "", "env.env.at", 1, 6, "a stage outside the model"},
    {"riverswim", "psrl", "", "env.env.clock", 2, 2, "a flag"},
    {"riverswim", "psrl", "", "env.env.clock", 0, 5, "a stage outside the horizon"},
    {"riverswim", "psrl", "", "run.state", 0, -1, "out of range"},
    {"riverswim", "dqn", "run.eval_share=0.5", "run.eval_counters", 0, -1, "out of range"},
    {"riverswim", "psrl", "", "agent.lsvi.first", 0, 999, "an edge that is not there"},
    {"riverswim", "psrl", "", "agent.lsvi.edges", 2, 1, "an edge that leads back"},
    {"riverswim", "psrl", "", "agent.lsvi.edges", 0, 3, "a state outside the problem"},
    {"riverswim", "psrl", "", "agent.lsvi.path", 0, 6, "a step outside the problem"},
    {"riverswim", "dqn", "", "agent.replay.cursor", 0, 24, "newest entry is elsewhere"},
    {"riverswim", "dqn", "", "agent.replay.cursor", 1, 25, "fuller than the rows"},
    {"riverswim", "dqn", "", "agent.replay.cursor", 2, 3, "another number of actions"},
    {"riverswim", "dqn", "", "agent.replay.age", 5, 9, "age does not follow"},
    {"riverswim", "dqn", "", "agent.replay.action", 5, 2, "action that cannot be"},
    {"riverswim", "dqn", "", "agent.counters", 0, -1, "out of range"},
    {"pendulum", "sac", "", "agent.counters", 1, -1, "out of range"},
    {"pendulum", "sac", "", "agent.critic.t", 0, -1, "out of range"},
    {"pendulum", "td3", "", "agent.replay.action", 5, 3, "action that cannot be"},
    {"pendulum", "dsac", "", "agent.omega", 0, -1, "a deviation that cannot be"},
    {"deepsea", "bootstrapped-dqn", "agent.heads=3", "agent.member", 0, 3, "outside the ensemble"},
    {"deepsea", "bootstrapped-dqn", "agent.heads=3", "agent.rows.at", 0, 1 << 20, "another time"},
    {"deepsea", "hyperagent", "", "agent.index", 0, 3, "an index that is no direction"},
    {"nchain", "pathwise-lmcdqn", "", "agent.cell.older", 0, 99, "not a list of all cells"},
    {"nchain", "pathwise-lmcdqn", "", "agent.cell.example", 0, 99, "an observation that cannot be"},
    {"nchain", "pathwise-lmcdqn", "", "agent.pair.edge", 0, 99, "not a list"},
    {"nchain", "pathwise-lmcdqn", "", "agent.edge.to", 0, 99, "an unknown cell"},
    {"nchain", "pathwise-lmcdqn", "", "agent.edge.times", 0, 0, "out of range"},
    {"cartpole", "dqn", "agent.normalize_obs=true", "agent.obs.count", 0, -1, "out of range"},
    {"cartpole", "dqn", "agent.normalize_obs=true", "agent.obs.squares", 3, -1, "a variance"},
    {"cartpole", "dqn", "agent.scale_rewards=true", "agent.return.squares", 0, -1, "a variance"},
};

static forge_array *array_called(forge *f, const char *name) {
  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->array[i].name, name) == 0) return &f->array[i];
  fail_msg("there is no array %s", name);
  return NULL;
}

/* The file is refused by the name of the array, and the one before it used. */
static void a_lie_is_named_and_the_previous_checkpoint_used(void **state) {
  (void)state;
  for (const lie *l = lies; l < lies + sizeof lies / sizeof *lies; l++) {
    char directory[PATH_MAX], path[PATH_MAX], aside[PATH_MAX];
    lgv_error err = {0};
    lgv_summary summary;
    size_t size;
    forge f;
    bool done;
    join(directory, root, "run");
    join(path, directory, "checkpoint.safetensors");
    lgv_plan *plan = plan_of(l->env, l->agent, l->extra);
    assert_non_null(plan);
    lgv_run *run = begin(plan, directory, 20);
    assert_int_equal(lgv_run_advance(run, 13, &done, &err), LGV_OK);
    assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
    lgv_run_free(run);
    unsigned char *bytes = forge_read(path, &size);
    assert_true(forge_open(&f, bytes, size));
    forge_seal(&f);
    assert_true(forge_write(&f, path)); /* nothing was changed: it must still load */
    assert_int_equal(lgv_run_resume(plan, 5, directory, &run, &err), LGV_OK);
    lgv_run_summary(run, &summary);
    assert_int_equal(summary.steps, 33);
    lgv_run_free(run);
    forge_set(array_called(&f, l->array), l->element, l->value, (double)l->value);
    forge_seal(&f);
    assert_true(forge_write(&f, path));
    free(bytes);
    join(path, directory, "checkpoint-previous.safetensors");
    join(aside, root, "previous");
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(lgv_run_resume(plan, 5, directory, &run, &err), LGV_ERR_IO);
    if (!strstr(err.message, l->array) || !strstr(err.message, l->said))
      fail_msg("%s, not %s: %s", l->array, l->said, err.message);
    assert_int_equal(rename(aside, path), 0);
    assert_int_equal(lgv_run_resume(plan, 5, directory, &run, &err), LGV_OK);
    lgv_run_summary(run, &summary);
    assert_int_equal(summary.steps, 20);
    lgv_run_free(run);
    lgv_plan_free(plan);
    assert_int_equal(remove_root(NULL), 0);
    assert_int_equal(make_root(NULL), 0);
  }
}

/* Such weights would choose actions like any others. They are refused by everything that reads. */
static void numbers_that_are_not_finite_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *env, *agent, *array;
    double value;
  } cases[] = {{"cartpole", "dqn", "agent.w", NAN},
               {"cartpole", "dqn", "agent.w", -INFINITY},
               {"riverswim", "lmc-lsvi", "agent.w", INFINITY},
               {"pendulum", "sac", "agent.actor", NAN},
               {"nchain", "pathwise-lmcdqn", "agent.pair.value", NAN}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char directory[PATH_MAX], path[PATH_MAX];
    lgv_error err = {0};
    lgv_summary summary;
    double result;
    size_t size;
    forge f;
    bool done;
    join(directory, root, "run");
    join(path, directory, "checkpoint.safetensors");
    lgv_plan *plan = plan_of(cases[i].env, cases[i].agent, "");
    assert_non_null(plan);
    lgv_run *run = begin(plan, directory, 20);
    assert_int_equal(lgv_run_advance(run, 13, &done, &err), LGV_OK);
    assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
    lgv_run_free(run);
    unsigned char *bytes = forge_read(path, &size);
    assert_true(forge_open(&f, bytes, size));
    forge_set(array_called(&f, cases[i].array), 0, 0, cases[i].value);
    forge_seal(&f);
    assert_true(forge_write(&f, path));
    free(bytes);
    assert_int_equal(lgv_evaluate(path, 1, 3, &result, &err), LGV_ERR_IO);
    if (!strstr(err.message, cases[i].array) || !strstr(err.message, "not finite"))
      fail_msg("%s: %s", cases[i].array, err.message);
    if (lgv_run_resume(plan, 5, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
    lgv_run_summary(run, &summary);
    assert_int_equal(summary.steps, 20); /* of the previous checkpoint */
    lgv_run_free(run);
    lgv_plan_free(plan);
    assert_int_equal(remove_root(NULL), 0);
    assert_int_equal(make_root(NULL), 0);
  }
}

/* An agent of the caller's that took such a file continues only after another one is loaded. */
static void an_agent_that_was_lied_to_refuses_to_go_on(void **state) {
  (void)state;
  char good[PATH_MAX], bad[PATH_MAX];
  lgv_error err = {0};
  lgv_env *env;
  lgv_agent *agent;
  lgv_obs obs;
  lgv_action action;
  size_t size;
  forge f;
  join(good, root, "good");
  join(bad, root, "bad");
  lgv_settings *settings = make_settings("riverswim", "dqn", "agent.replay=64 agent.warmup=8");
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  assert_int_equal(lgv_agent_create(settings, lgv_env_get_spec(env), 0, 0, 1, &agent, &err),
                   LGV_OK);
  lgv_settings_free(settings);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_int_equal(lgv_agent_save(agent, good, NULL, &err), LGV_OK);
  static const char *const arrays[] = {"agent.counters", "agent.w"};
  for (size_t i = 0; i < 2; i++) {
    unsigned char *bytes = forge_read(good, &size);
    assert_true(forge_open(&f, bytes, size));
    forge_set(array_called(&f, arrays[i]), 0, -1, NAN);
    forge_seal(&f);
    assert_true(forge_write(&f, bad));
    free(bytes);
    assert_int_equal(lgv_agent_load(agent, bad, &err), LGV_ERR_IO);
    assert_non_null(strstr(err.message, arrays[i]));
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "load another one"));
    assert_int_equal(lgv_agent_load(agent, "/nowhere", &err), LGV_ERR_IO);
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_ERR_USAGE);
    assert_int_equal(lgv_agent_load(agent, good, &err), LGV_OK);
    assert_int_equal(lgv_agent_act(agent, &obs, LGV_TRAIN, &action, &err), LGV_OK);
  }
  lgv_agent_free(agent);
  lgv_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_lie_is_named_and_the_previous_checkpoint_used, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(numbers_that_are_not_finite_are_refused, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(an_agent_that_was_lied_to_refuses_to_go_on, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(every_agent_survives, make_root, remove_root),
      cmocka_unit_test_setup_teardown(every_environment_survives, make_root, remove_root),
      cmocka_unit_test_setup_teardown(every_kind_of_state_survives, make_root, remove_root),
      cmocka_unit_test(some_are_refused_and_some_go_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
