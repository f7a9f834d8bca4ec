/* The promises of every environment in the registry: the same seed gives the same episode, wrong
 * calls and wrong parameters are refused, the kept blocks are the whole state, a failed allocation
 * leaks nothing; and the handle refuses results that break a descriptor's promises. */
#include "base/memory.h"
#include "env_helpers.h"

/* ---- Determinism ---- */

/* Steps two environments side by side; returns whether all their results were equal. */
static bool same_course(lgv_env *a, lgv_env *b, int64_t steps) {
  const lgv_env_spec *spec = lgv_env_get_spec(a);
  lgv_rng rng;
  lgv_error err = {0};
  lgv_obs oa, ob;
  lgv_outcome ra = {.terminated = true}, rb = ra;
  bool same = true;
  lgv_rng_seed(&rng, 2, "test");
  for (int64_t i = 0; i < steps && same; i++) {
    if (ra.terminated || ra.truncated) {
      assert_int_equal(lgv_env_reset(a, &oa, &err), LGV_OK);
      assert_int_equal(lgv_env_reset(b, &ob, &err), LGV_OK);
    }
    const lgv_action *action = draw_action(&spec->actions, &rng);
    assert_int_equal(lgv_env_step(a, action, &ra, &oa, &err), LGV_OK);
    assert_int_equal(lgv_env_step(b, action, &rb, &ob, &err), LGV_OK);
    same = ra.reward == rb.reward && ra.terminated == rb.terminated &&
           ra.truncated == rb.truncated && oa.state == ob.state && oa.stage == ob.stage &&
           memcmp(oa.data, ob.data, obs_bytes(spec)) == 0;
  }
  return same;
}

static void the_same_seed_gives_the_same_course(void **state) {
  (void)state;
  for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++) {
    const char *name = lgv__envs[e]->name;
    lgv_env *a = make_env(name, NULL, 5), *b = make_env(name, NULL, 5);
    if (!same_course(a, b, 1500)) fail_msg("%s: two courses of one seed differ", name);
    lgv_env_free(a);
    lgv_env_free(b);
  }
  const char *noisy = "env.features=pixels env.pixel_noise=0.5";
  lgv_env *a = make_env("deepsea", noisy, 5), *b = make_env("deepsea", noisy, 5);
  assert_true(same_course(a, b, 1500));
  lgv_env_free(a);
  lgv_env_free(b);
}

static void another_seed_gives_another_course(void **state) {
  (void)state;
  const char *const random[][2] = {
      {"riverswim", NULL},
      {"continuous-riverswim", NULL},
      {"linear-mdp", NULL},
      {"bandit", NULL},
      {"bandit", "env.contexts=0 env.kind=logistic"},
      {"deepsea", "env.stochastic=true"},
      {"deepsea", "env.features=pixels env.pixel_noise=1e-3"},
      {"cartpole", NULL},
      {"mountain-car", NULL},
      {"mountain-car-continuous", NULL},
      {"acrobot", NULL},
      {"pendulum", NULL},
      {"pendulum", "env.reward=goal env.torques=3"},
  };
  for (size_t i = 0; i < sizeof random / sizeof *random; i++) {
    lgv_env *a = make_env(random[i][0], random[i][1], 5),
            *b = make_env(random[i][0], random[i][1], 6);
    if (same_course(a, b, 1500)) fail_msg("%s: the seed changes nothing", random[i][0]);
    lgv_env_free(a);
    lgv_env_free(b);
  }
}

/* ---- Checkpoints ---- */

static void copy_kept(const bare_env *from, bare_env *to) {
  const lgv_layout *a = &from->arena.table, *b = &to->arena.table;
  for (size_t i = 0; i < a->n_blocks; i++)
    if (a->blocks[i].keep)
      memcpy(b->base + b->blocks[i].offset, a->base + a->blocks[i].offset,
             a->blocks[i].count * lgv__dtype_size(a->blocks[i].dtype));
}

static void walk(bare_env *b, lgv_rng *env_rng, lgv_rng *act_rng, int64_t steps, bool *over,
                 double *total) {
  lgv_error err = {0};
  for (int64_t i = 0; i < steps; i++) {
    lgv_outcome outcome = {0};
    if (*over) assert_int_equal(b->type->reset(b->self, env_rng, &err), LGV_OK);
    const lgv_action *action = draw_action(&b->spec.actions, act_rng);
    assert_int_equal(b->type->step(b->self, action, env_rng, &outcome, &err), LGV_OK);
    *over = outcome.terminated || outcome.truncated;
    *total += outcome.reward;
  }
}

static void count_events(const bare_env *b, int64_t *values) {
  memset(values, 0, 8 * sizeof *values);
  if (b->type->counters) b->type->counters(b->self, values);
}

static void assert_show_the_same(const bare_env *a, const bare_env *b) {
  size_t size = obs_bytes(&a->spec);
  unsigned char *shown = calloc(2, size);
  a->type->observe(a->self, shown);
  b->type->observe(b->self, shown + size);
  assert_memory_equal(shown, shown + size, size);
  free(shown);
}

/* A newly opened environment with the kept blocks of another continues like that one. */
static void check_kept(const lgv_env_type *type, const char *extra) {
  bare_env a, b;
  bare_open(&a, type, extra);
  bare_open(&b, type, extra);
  lgv_rng env_rng, act_rng;
  lgv_rng_seed(&env_rng, 1, "env");
  lgv_rng_seed(&act_rng, 1, "act");
  bool over = true;
  double total = 0;
  walk(&a, &env_rng, &act_rng, 1237, &over, &total);
  copy_kept(&a, &b);
  assert_show_the_same(&a, &b);
  lgv_rng env_b = env_rng, act_b = act_rng;
  bool over_b = over;
  double total_b = total;
  walk(&a, &env_rng, &act_rng, 1111, &over, &total);
  walk(&b, &env_b, &act_b, 1111, &over_b, &total_b);
  assert_true(total == total_b && over == over_b);
  int64_t events_a[8], events_b[8];
  count_events(&a, events_a);
  count_events(&b, events_b);
  assert_memory_equal(events_a, events_b, sizeof events_a);
  assert_show_the_same(&a, &b);
  bare_close(&a);
  bare_close(&b);
}

static void kept_blocks_are_the_whole_state(void **state) {
  (void)state;
  for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++) {
    bool sized = lgv__params_find(lgv__envs[e]->params, "n") >= 0;
    check_kept(lgv__envs[e], sized ? "n=3" : NULL); /* small, so that the counters move */
  }
  check_kept(find_env("deepsea"), "n=3 stochastic=true features=pixels pixel_noise=0.5");
  check_kept(find_env("deepsea"), "n=3 features=coordinates");
  check_kept(find_env("bandit"), "contexts=0");
  check_kept(find_env("mountain-car"), "reward=goal");
  check_kept(find_env("mountain-car-continuous"), "reward=goal");
  check_kept(find_env("pendulum"), "reward=goal torques=3");
}

/* ---- Wrong calls and wrong parameters ---- */

static void wrong_calls_are_refused(void **state) {
  (void)state;
  for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++) {
    lgv_env *env = make_env(lgv__envs[e]->name, NULL, 1);
    lgv_error err = {0};
    lgv_obs obs;
    lgv_outcome outcome;
    const lgv_action_space *actions = &lgv_env_get_spec(env)->actions;
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "reset"));
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    assert_int_equal(lgv_env_step(env, choice(-1), &outcome, &obs, &err), LGV_ERR_USAGE);
    assert_int_equal(lgv_env_step(env, wrong_action(actions), &outcome, &obs, &err), LGV_ERR_USAGE);
    assert_non_null(strstr(err.message, "action"));
    do assert_int_equal(lgv_env_step(env, last_action(actions), &outcome, &obs, &err), LGV_OK);
    while (!outcome.terminated && !outcome.truncated);
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_USAGE);
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    assert_true(obs.stage == 0);
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
    lgv_env_free(env);
  }
}

static void wrong_parameters_are_refused(void **state) {
  (void)state;
  const char *const wrong[][3] = {
      {"riverswim", "env.n=1", "env.n"},
      {"riverswim", "env.variant=osbund", "env.variant"},
      {"continuous-riverswim", "env.n=1", "env.n"},
      {"nchain", "env.n=1", "env.n"},
      {"nchain", "env.n=2.5", "env.n"},
      {"nchain", "env.features=color", "env.features"},
      {"nchain", "env.scramble=perhaps", "env.scramble"},
      {"nchain", "env.time_limit=never", "env.time_limit"},
      {"nchain", "env.map_sead=1", "map_seed"},
      {"deepsea", "env.n=0", "env.n"},
      {"deepsea", "env.n=501", "env.n"},
      {"deepsea", "env.stochastic=2", "env.stochastic"},
      {"deepsea", "env.features=picture", "one-hot | pixels | coordinates"},
      {"deepsea", "env.features=pixels env.pixel_noise=-0.1", "env.pixel_noise"},
      {"deepsea", "env.pixel_noise=0.1", "env.features is one-hot: set env.features = pixels"},
      {"deepsea", "env.features=coordinates env.pixel_noise=2", "env.features is coordinates"},
      {"linear-mdp", "env.density=0", "env.density"},
      {"linear-mdp", "env.density=1.01", "env.density"},
      {"linear-mdp", "env.density=nan", "env.density"},
      {"linear-mdp", "env.states=0", "env.states"},
      {"linear-mdp", "env.mdp_seed=-1", "env.mdp_seed"},
      {"linear-mdp", "env.kind=low-rank env.dim=41", "env.dim = 41 exceeds"},
      {"linear-mdp", "env.states=10000 env.actions=100", "at most 1e+08"},
      {"bandit", "env.arms=0", "env.arms"},
      {"bandit", "env.norm=0", "env.norm"},
      {"bandit", "env.kind=gaussian", "linear | logistic"},
      {"bandit", "env.contexts=1000000 env.arms=1000", "at most 1e+08"},
      {"cartpole", "env.horizon=0", "env.horizon"},
      {"mountain-car", "env.horizon=-3", "env.horizon"},
      {"mountain-car", "env.reward=flag", "step | goal"},
      {"mountain-car-continuous", "env.reward=step", "shaped | goal"},
      {"acrobot", "env.horizon=ten", "env.horizon"},
      {"pendulum", "env.torques=1", "set 0 for any torque, or at least 2"},
      {"pendulum", "env.torques=-1", "env.torques"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    lgv_settings *settings = make_settings(wrong[i][0], NULL, wrong[i][1]);
    lgv_env *env;
    lgv_error err = {0};
    lgv_status status = lgv_env_create(settings, 1, &env, &err);
    if (status != LGV_ERR_USAGE) fail_msg("%s %s: status %d", wrong[i][0], wrong[i][1], status);
    assert_null(env);
    if (!strstr(err.message, wrong[i][2])) fail_msg("'%s' lacks '%s'", err.message, wrong[i][2]);
    lgv_settings_free(settings);
  }
}

/* Failing the first, second, ... allocation gives a clean error (a sanitizer checks for leaks). */
static void failed_allocations_are_reported(void **state) {
  (void)state;
  for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++) {
    lgv_settings *settings = make_settings(lgv__envs[e]->name, NULL, NULL);
    lgv_status status = LGV_ERR_MEMORY;
    for (long n = 1; status != LGV_OK; n++) {
      lgv_env *env;
      lgv_error err = {0};
      lgv__memory_fail_after(n);
      status = lgv_env_create(settings, 1, &env, &err);
      lgv__memory_fail_after(0);
      assert_true(status == LGV_OK || status == LGV_ERR_MEMORY);
      assert_true((status == LGV_OK) == (env != NULL));
      assert_true(n < 100);
      lgv_env_free(env);
    }
    lgv_settings_free(settings);
  }
}

/* ---- A descriptor that breaks its promises ---- */

enum {
  NO_FAULT,
  NAN_OBS,
  INFINITE_OBS,
  NAN_REWARD,
  STATE_OUTSIDE,
  NO_END,
  FAILED_STEP,
  FAILED_RESET,
  SPEC_NO_OBS,
  SPEC_NO_ACTION,
  SPEC_BOUNDS,
  SPEC_NO_FEATURES,
  FAULTS
};

enum { FAULTY_HORIZON = 5, FAULT_STEP = 3 };

typedef struct faulty_params {
  int64_t fault;
} faulty_params;

typedef struct faulty {
  int64_t fault, *step;
} faulty;

static const lgv_param faulty_table[] = {
    {.name = "fault",
     .type = LGV_INT,
     .default_text = "0",
     .min = 0,
     .max = FAULTS,
     .help = "which"},
    {0},
};

static lgv_status faulty_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  int64_t fault = ((const faulty_params *)params)->fault;
  *spec = (lgv_env_spec){.obs_shape = {fault == SPEC_NO_OBS ? 0 : 2, 1, 1},
                         .actions = {.count = fault == SPEC_NO_ACTION ? 0 : 1},
                         .states = 4,
                         .horizon = FAULTY_HORIZON,
                         .reward_min = fault == SPEC_BOUNDS ? 2 : 0,
                         .reward_max = 1,
                         .feature_dim = fault == SPEC_NO_FEATURES ? 3 : 0};
  return LGV_OK;
}

static void faulty_layout(void *self, const void *params, const lgv_env_spec *spec,
                          lgv_layout *layout) {
  (void)spec;
  faulty *f = self;
  f->fault = ((const faulty_params *)params)->fault;
  f->step = lgv_layout_array(layout, "env.step", LGV_I64, 1, LGV_KEEP);
}

static lgv_status faulty_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)rng;
  faulty *f = self;
  bool again = *f->step > 0;
  *f->step = 0;
  return again && f->fault == FAILED_RESET ? lgv_fail(err, LGV_ERR_ENV, "no reset") : LGV_OK;
}

static lgv_status faulty_step(void *self, const lgv_action *action, lgv_rng *rng,
                              lgv_outcome *outcome, lgv_error *err) {
  (void)action;
  (void)rng;
  faulty *f = self;
  bool due = ++*f->step == FAULT_STEP;
  if (due && f->fault == FAILED_STEP) return lgv_fail(err, LGV_ERR_ENV, "no step");
  outcome->reward = due && f->fault == NAN_REWARD ? NAN : 0.5;
  outcome->terminated = *f->step == FAULTY_HORIZON && f->fault != NO_END;
  return LGV_OK;
}

static void faulty_observe(const void *self, void *data) {
  const faulty *f = self;
  bool due = *f->step == FAULT_STEP;
  ((float *)data)[0] = 1;
  ((float *)data)[1] = due && f->fault == NAN_OBS        ? NAN
                       : due && f->fault == INFINITE_OBS ? -INFINITY
                                                         : 3.4e38f;
}

static int64_t faulty_state(const void *self) {
  const faulty *f = self;
  return *f->step == FAULT_STEP && f->fault == STATE_OUTSIDE ? 4 : 3;
}

static const lgv_env_type faulty_env = {
    .size = sizeof(lgv_env_type),
    .name = "faulty",
    .summary = "breaks the promise that a parameter names",
    .params = faulty_table,
    .params_size = sizeof(faulty_params),
    .state_size = sizeof(faulty),
    .spec = faulty_spec,
    .layout = faulty_layout,
    .reset = faulty_reset,
    .step = faulty_step,
    .observe = faulty_observe,
    .state_index = faulty_state,
};

static lgv_status open_faulty(int fault, lgv_env **env, lgv_error *err) {
  char extra[32];
  snprintf(extra, sizeof extra, "env.fault=%d", fault);
  lgv_settings *settings = make_settings("faulty", NULL, extra);
  assert_int_equal(lgv_settings_add_env(settings, &faulty_env, err), LGV_OK);
  lgv_status status = lgv_env_create(settings, 1, env, err);
  lgv_settings_free(settings);
  return status;
}

static void a_sound_descriptor_runs(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome = {0};
  assert_int_equal(open_faulty(NO_FAULT, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int i = 0; i < FAULTY_HORIZON; i++)
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
  assert_true(outcome.terminated && obs.stage == FAULTY_HORIZON);
  lgv_env_free(env);
}

static void broken_specs_are_refused(void **state) {
  (void)state;
  for (int fault = SPEC_NO_OBS; fault <= SPEC_NO_FEATURES; fault++) {
    lgv_env *env;
    lgv_error err = {0};
    assert_int_equal(open_faulty(fault, &env, &err), LGV_ERR_ENV);
    assert_null(env);
    assert_non_null(strstr(err.message, "faulty: the spec has"));
  }
}

/* The status gives the kind of fault, the message the stage, and no episode runs afterwards. */
static void broken_steps_are_refused(void **state) {
  (void)state;
  const struct {
    int fault;
    lgv_status status;
    const char *part;
    int64_t good_steps;
  } rows[] = {
      {NAN_OBS, LGV_ERR_NUMERIC, "observation at stage 3", FAULT_STEP - 1},
      {INFINITE_OBS, LGV_ERR_NUMERIC, "observation at stage 3", FAULT_STEP - 1},
      {NAN_REWARD, LGV_ERR_NUMERIC, "reward at stage 2", FAULT_STEP - 1},
      {STATE_OUTSIDE, LGV_ERR_ENV, "state 4 at stage 3 is outside 0..3", FAULT_STEP - 1},
      {NO_END, LGV_ERR_ENV, "did not end at its horizon, 5 steps", FAULTY_HORIZON - 1},
      {FAILED_STEP, LGV_ERR_ENV, "no step", FAULT_STEP - 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env;
    lgv_error err = {0};
    lgv_obs obs;
    lgv_outcome outcome;
    assert_int_equal(open_faulty(rows[i].fault, &env, &err), LGV_OK);
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    for (int64_t k = 0; k < rows[i].good_steps; k++)
      assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), rows[i].status);
    if (!strstr(err.message, rows[i].part)) fail_msg("'%s' lacks '%s'", err.message, rows[i].part);
    assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_USAGE);
    lgv_env_free(env);
  }
}

static void no_episode_runs_after_a_failed_reset(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  lgv_obs obs;
  lgv_outcome outcome;
  assert_int_equal(open_faulty(FAILED_RESET, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_OK);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_ERR_ENV);
  assert_int_equal(lgv_env_step(env, choice(0), &outcome, &obs, &err), LGV_ERR_USAGE);
  lgv_env_free(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_seed_gives_the_same_course),
      cmocka_unit_test(another_seed_gives_another_course),
      cmocka_unit_test(kept_blocks_are_the_whole_state),
      cmocka_unit_test(wrong_calls_are_refused),
      cmocka_unit_test(wrong_parameters_are_refused),
      cmocka_unit_test(failed_allocations_are_reported),
      cmocka_unit_test(a_sound_descriptor_runs),
      cmocka_unit_test(broken_specs_are_refused),
      cmocka_unit_test(broken_steps_are_refused),
      cmocka_unit_test(no_episode_runs_after_a_failed_reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
