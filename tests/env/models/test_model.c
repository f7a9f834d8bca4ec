/* Exact models: values against closed forms and against the published RiverSwim variants, and
 * errors while building a model. */
#include "base/memory.h"

#include "env_helpers.h"
#include "mask_world.h"

/* ---- Building ---- */

static lgv_model *new_model(int64_t states, int32_t actions, int64_t horizon, bool stationary) {
  lgv_model *m;
  lgv_error err = {0};
  assert_int_equal(lgv_model_create(states, actions, horizon, stationary, &m, &err), LGV_OK);
  return m;
}

static void add(lgv_model *m, int64_t stage, int64_t state, int32_t action, int64_t next,
                double probability) {
  lgv_error err = {0};
  if (lgv_model_add(m, stage, state, action, next, probability, &err) != LGV_OK)
    fail_msg("%s", err.message);
}

static void seal(lgv_model *m) {
  lgv_error err = {0};
  if (lgv_model_seal(m, &err) != LGV_OK) fail_msg("%s", err.message);
}

/* Expects that sealing fails with a message that contains `part`; frees the model. */
static void seal_is_refused(lgv_model *m, const char *part) {
  lgv_error err = {0};
  assert_int_equal(lgv_model_seal(m, &err), LGV_ERR_USAGE);
  if (!strstr(err.message, part)) fail_msg("'%s' lacks '%s'", err.message, part);
  lgv_model_free(m);
}

static void sizes_that_make_no_model_are_refused(void **state) {
  (void)state;
  lgv_model *m;
  lgv_error err = {0};
  assert_int_equal(lgv_model_create(0, 1, 1, true, &m, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_model_create(1, 0, 1, true, &m, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_model_create(1, 1, 0, true, &m, &err), LGV_ERR_USAGE);
  assert_null(m);
  assert_int_equal(lgv_model_create(INT64_MAX / 2, 4, 1, true, &m, &err), LGV_ERR_MEMORY);
  assert_int_equal(lgv_model_create(INT64_MAX / 2, 1, 8, false, &m, &err), LGV_ERR_MEMORY);
  assert_null(m);
}

static void transitions_outside_the_model_are_refused(void **state) {
  (void)state;
  lgv_model *m = new_model(2, 2, 3, false);
  const struct {
    int64_t stage, state;
    int32_t action;
    int64_t next;
    double probability;
  } wrong[] = {
      {-1, 0, 0, 0, 1}, {3, 0, 0, 0, 1},     {0, -1, 0, 0, 1},  {0, 2, 0, 0, 1},
      {0, 0, -1, 0, 1}, {0, 0, 2, 0, 1},     {0, 0, 0, -2, 1},  {0, 0, 0, 2, 1},
      {0, 0, 0, 0, -1}, {0, 0, 0, 0, 1.001}, {0, 0, 0, 0, NAN}, {0, 0, 0, 0, INFINITY},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    lgv_error err = {0};
    assert_int_equal(lgv_model_add(m, wrong[i].stage, wrong[i].state, wrong[i].action,
                                   wrong[i].next, wrong[i].probability, &err),
                     LGV_ERR_USAGE);
    assert_true(strlen(err.message) > 0);
  }
  lgv_model_free(m);
  m = new_model(2, 1, 3, true);
  lgv_error err = {0};
  assert_int_equal(lgv_model_add(m, 1, 0, 0, 0, 1, &err), LGV_ERR_USAGE); /* stationary: stage 0 */
  lgv_model_free(m);
}

static void rows_and_starts_must_sum_to_one(void **state) {
  (void)state;
  lgv_model *m = new_model(1, 1, 1, true);
  add(m, 0, 0, 0, 0, 0.5);
  lgv_model_set_start(m, 0, 1);
  seal_is_refused(m, "sum to 0.5, not 1");

  m = new_model(2, 1, 2, false); /* three of four rows */
  add(m, 0, 0, 0, 0, 1);
  add(m, 0, 1, 0, 0, 1);
  add(m, 1, 0, 0, 0, 1);
  lgv_model_set_start(m, 0, 1);
  seal_is_refused(m, "stage 1, state 1, action 0");

  m = new_model(1, 1, 1, true);
  add(m, 0, 0, 0, 0, 1);
  seal_is_refused(m, "start probabilities sum to 0");

  const double starts[][2] = {{-0.5, 1.5}, {NAN, 1}, {0.25, 0.25}};
  for (int i = 0; i < 3; i++) {
    m = new_model(2, 1, 1, true);
    add(m, 0, 0, 0, 0, 1);
    add(m, 0, 1, 0, 0, 1);
    for (int s = 0; s < 2; s++) lgv_model_set_start(m, s, starts[i][s]);
    seal_is_refused(m, "start probabilit");
  }
}

static void rewards_must_be_finite_and_inside(void **state) {
  (void)state;
  const struct {
    int64_t stage, state;
    int32_t action;
    double mean;
    const char *part;
  } wrong[] = {
      {0, 0, 0, NAN, "not finite"}, {0, 0, 0, INFINITY, "not finite"}, {1, 0, 0, 1, "outside"},
      {-1, 0, 0, 1, "outside"},     {0, 1, 0, 1, "outside"},           {0, 0, 1, 1, "outside"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    lgv_model *m = new_model(1, 1, 5, true);
    add(m, 0, 0, 0, 0, 1);
    lgv_model_set_start(m, 0, 1);
    lgv_model_set_reward(m, wrong[i].stage, wrong[i].state, wrong[i].action, wrong[i].mean);
    seal_is_refused(m, wrong[i].part);
  }
  lgv_model *m = new_model(1, 1, 5, true);
  add(m, 0, 0, 0, 0, 1);
  lgv_model_set_start(m, 0, 1);
  lgv_model_set_start(m, 1, 0);
  seal_is_refused(m, "outside");
}

/* ---- Forbidden actions ---- */

/* One state, two actions, two stages; only the rows of action 0 are there. */
static lgv_model *half_a_model(bool stationary) {
  lgv_model *m = new_model(1, 2, 2, stationary);
  for (int64_t h = 0; h < (stationary ? 1 : 2); h++) {
    add(m, h, 0, 0, 0, 1);
    lgv_model_set_reward(m, h, 0, 0, 0.5);
  }
  lgv_model_set_start(m, 0, 1);
  return m;
}

static void a_forbidden_action_needs_nothing(void **state) {
  (void)state;
  seal_is_refused(half_a_model(true), "action 1 sum to 0, not 1");
  lgv_model *m = half_a_model(true);
  lgv_model_forbid(m, 0, 0, 1);
  lgv_model_set_reward(m, 0, 0, 1, INFINITY);
  seal(m);
  assert_near(optimal_value(m), 1, 0);
  assert_near(value_of(m, (const double[]){1, 0}), 1, 0);
  lgv_model_free(m);
}

static void every_state_must_allow_an_action(void **state) {
  (void)state;
  lgv_model *m = half_a_model(false);
  for (int64_t h = 0; h < 2; h++) lgv_model_forbid(m, h, 0, 1);
  lgv_model_forbid(m, 1, 0, 0);
  seal_is_refused(m, "stage 1, state 0 forbids every action");
  m = half_a_model(false); /* stage 0 forbids the action that has no row, stage 1 does not */
  lgv_model_forbid(m, 0, 0, 1);
  seal_is_refused(m, "stage 1, state 0, action 1 sum to 0, not 1");
  const struct {
    int64_t stage, state;
    int32_t action;
  } outside[] = {{1, 0, 1}, {-1, 0, 1}, {0, 1, 1}, {0, -1, 1}, {0, 0, 2}, {0, 0, -1}};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
    m = half_a_model(true);
    lgv_model_forbid(m, 0, 0, 1);
    lgv_model_forbid(m, outside[i].stage, outside[i].state, outside[i].action);
    seal_is_refused(m, "outside");
  }
}

/* Two states, three actions, three stages: action a pays a + 1 and stays. Action 2 is forbidden at
 * stage 1, action 0 in state 1. */
static lgv_model *make_forbidding(void) {
  lgv_model *m = new_model(2, 3, 3, false);
  for (int64_t h = 0; h < 3; h++)
    for (int64_t s = 0; s < 2; s++)
      for (int32_t a = 0; a < 3; a++) {
        add(m, h, s, a, s, 1);
        lgv_model_set_reward(m, h, s, a, a + 1);
        if ((h == 1 && a == 2) || (s == 1 && a == 0)) lgv_model_forbid(m, h, s, a);
      }
  lgv_model_set_start(m, 0, 1);
  seal(m);
  return m;
}

static void forbidden_actions_have_no_value(void **state) {
  (void)state;
  lgv_model *m = make_forbidding();
  double values[8], always[3 * 2 * 3] = {0};
  lgv_model_optimal(m, values);
  for (int s = 0; s < 2; s++) {
    assert_near(values[s], 3 + 2 + 3, 0);
    assert_near(values[2 + s], 2 + 3, 0);
    assert_near(values[4 + s], 3, 0);
  }
  assert_near(lgv_model_q(m, 0, 0, 2, values + 2), 3 + 5, 0);
  assert_true(isnan(lgv_model_q(m, 1, 0, 2, values + 4)));
  for (int i = 0; i < 6; i++) always[i * 3] = 1; /* forbidden in state 1 only */
  lgv_model_evaluate(m, always, values);
  for (int h = 0; h < 3; h++) {
    assert_near(values[h * 2], 3 - h, 0);
    assert_true(isnan(values[h * 2 + 1]));
  }
  const uint8_t *mask = lgv_model_mask(m, 1, 0);
  assert_true(mask[0] && mask[1] && !mask[2] && !mask[3] && mask[4] && !mask[5]);
  assert_null(lgv_model_mask(m, 3, 0));
  assert_null(lgv_model_mask(m, 0, 2));
  assert_null(lgv_model_mask(m, -1, 0));
  lgv_model_free(m);
}

static void the_mask_of_a_stationary_model_is_that_of_every_stage(void **state) {
  (void)state;
  lgv_model *m = half_a_model(true);
  assert_null(lgv_model_mask(m, 0, 0));
  lgv_model_forbid(m, 0, 0, 1);
  seal(m);
  for (int64_t h = 0; h < 3; h++) {
    const uint8_t *mask = lgv_model_mask(m, h, 0);
    assert_true(mask[0] && !mask[1]);
  }
  lgv_model_free(m);
}

static lgv_status unmasked_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  LGV_TRY(trap_spec(params, spec, err));
  spec->masked = false;
  return LGV_OK;
}

/* An environment shows the masks of its model and takes its range of rewards from what is allowed.
 */
static void an_environment_shows_what_its_model_allows(void **state) {
  (void)state;
  lgv_model *m = make_forbidding();
  lgv_env *env;
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  assert_int_equal(lgv_env_from_model(m, NULL, 0, 1, &env, &err), LGV_OK);
  assert_true(lgv_env_get_spec(env)->masked);
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  assert_true(obs.mask[0] && obs.mask[1] && obs.mask[2]);
  assert_int_equal(lgv_env_step(env, choice(2), &outcome, &obs, &err), LGV_OK);
  assert_true(obs.mask[0] && obs.mask[1] && !obs.mask[2]);
  assert_int_equal(lgv_env_step(env, choice(2), &outcome, &obs, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_env_step(env, choice(1), &outcome, &obs, &err), LGV_OK);
  assert_int_equal(lgv_env_step(env, choice(2), &outcome, &obs, &err), LGV_OK);
  assert_true(outcome.terminated && outcome.reward == 3);
  lgv_env_free(env);
  lgv_model_free(m);

  m = half_a_model(true);
  lgv_model_forbid(m, 0, 0, 1);
  lgv_model_set_reward(m, 0, 0, 1, 100);
  seal(m);
  assert_int_equal(lgv_env_from_model(m, NULL, 0, 1, &env, &err), LGV_OK);
  assert_near(lgv_env_get_spec(env)->reward_min, 0.5, 0);
  assert_near(lgv_env_get_spec(env)->reward_max, 0.5, 0);
  lgv_env_free(env);
  lgv_model_free(m);
}

static void a_mask_without_memory_is_reported_by_sealing(void **state) {
  (void)state;
  lgv_model *m = half_a_model(true);
  lgv_error err = {0};
  lgv__memory_fail_after(1);
  lgv_model_forbid(m, 0, 0, 1);
  assert_int_equal(lgv__memory_fail_after(0), 0);
  assert_int_equal(lgv_model_seal(m, &err), LGV_ERR_MEMORY);
  lgv_model_free(m);
}

/* As many choices as the model has actions, but in parts. */
static lgv_status multi_discrete_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  LGV_TRY(trap_spec(params, spec, err));
  spec->actions = lgv_multi_discrete(2, (const int32_t[]){1, TRAP_ACTIONS - 1});
  return LGV_OK;
}

static void open_is_refused(lgv_status (*spec)(const void *, lgv_env_spec *, lgv_error *),
                            const char *part) {
  lgv_env *env;
  lgv_error err = {0};
  lgv_env_type type = trap_type;
  type.spec = spec;
  trap_params params = {0};
  assert_int_equal(
      lgv__env_open(&type, &params, (lgv_env_common){0}, &(lgv_host){0}, 1, "env", &env, &err),
      LGV_ERR_ENV);
  if (!strstr(err.message, part)) fail_msg("'%s' lacks '%s'", err.message, part);
}

/* Otherwise agents would not know what is forbidden, and values would be those of other actions. */
static void a_spec_must_fit_its_model(void **state) {
  (void)state;
  open_is_refused(unmasked_spec, "the model forbids actions");
  open_is_refused(multi_discrete_spec, "discrete actions");
}

/* ---- Values ---- */

/* Two states, three stages, by hand: action 0 stays and pays 0.1; action 1 moves from 0 to 1 with
 * probability p, else ends the episode; state 1 pays 1 for every action. */
static void values_by_hand(void **state) {
  (void)state;
  const double p = 0.75;
  lgv_model *m = new_model(2, 2, 3, true);
  add(m, 0, 0, 1, LGV_END, 1 - p);
  add(m, 0, 0, 0, 0, 1);
  add(m, 0, 0, 1, 1, p / 2);
  add(m, 0, 0, 1, 1, p / 2); /* given twice: they add up */
  for (int32_t a = 0; a < 2; a++) {
    add(m, 0, 1, a, 1, 1);
    lgv_model_set_reward(m, 0, 1, a, 1);
  }
  lgv_model_set_reward(m, 0, 0, 0, 0.1);
  lgv_model_set_start(m, 0, 0.5);
  lgv_model_set_start(m, 1, 0.5);
  seal(m);
  double values[8];
  lgv_model_optimal(m, values);
  const double best[8] = {2 * p, 3, p, 2, 0.1, 1, 0, 0};
  for (int i = 0; i < 8; i++) assert_near(values[i], best[i], 1e-15);
  assert_near(lgv_model_start_mean(m, values), (2 * p + 3) / 2, 1e-15);

  double policy[12]; /* half and half, then always stay, then always go */
  const double stay[3] = {0.5, 1, 0};
  for (int h = 0; h < 3; h++)
    for (int s = 0; s < 2; s++) {
      policy[(h * 2 + s) * 2] = stay[h];
      policy[(h * 2 + s) * 2 + 1] = 1 - stay[h];
    }
  lgv_model_evaluate(m, policy, values);
  const double mine[8] = {0.5 * (0.1 + 0.1) + 0.5 * p * 2, 3, 0.1, 2, 0, 1, 0, 0};
  for (int i = 0; i < 8; i++) assert_near(values[i], mine[i], 1e-15);
  lgv_model_free(m);
}

static void stages_of_a_non_stationary_model_differ(void **state) {
  (void)state;
  lgv_model *m = new_model(1, 2, 4, false);
  for (int64_t h = 0; h < 4; h++)
    for (int32_t a = 0; a < 2; a++) {
      add(m, h, 0, a, 0, 1);
      lgv_model_set_reward(m, h, 0, a, a ? (double)(h * h) : 2);
    }
  lgv_model_set_start(m, 0, 1);
  seal(m);
  assert_near(optimal_value(m), 2 + 2 + 4 + 9, 0);
  assert_near(value_of(m, (const double[]){0, 1}), 0 + 1 + 4 + 9, 0);
  assert_near(value_of(m, (const double[]){1, 0}), 8, 0);
  lgv_model_free(m);
}

/* Strehl and Littman (2008) and Osband et al. (2013), by backward induction: the optimal value,
 * always right, always left. */
static void riverswim_has_the_known_values(void **state) {
  (void)state;
  const struct {
    const char *settings;
    double best, right, left;
  } rows[] = {
      {"env.variant=osband env.n=6 env.horizon=20", 3.397264, 3.396637, 0.100},
      {"env.variant=osband env.n=12 env.horizon=40", 3.878714, 3.877104, 0.200},
      {"env.variant=osband env.n=6 env.horizon=40", 11.788067, 11.787982, 0.200},
      {"env.variant=osband env.n=12 env.horizon=100", 28.928659, 28.928658, 0.500},
      {"env.variant=stay-only env.n=6 env.horizon=20", 2.038623, 2.037982, 0.100},
      {"env.variant=stay-only env.n=12 env.horizon=40", 2.328271, 2.326263, 0.200},
      {"env.variant=strehl-littman env.n=6 env.horizon=20", 0.365337, 0.364946, 0.010},
      {"env.variant=strehl-littman env.n=12 env.horizon=40", 0.248989, 0.247534, 0.020},
      {NULL, 3.878714, 3.877104, 0.200}, /* the default */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env = make_env("riverswim", rows[i].settings, 1);
    const lgv_model *m = lgv_env_get_model(env);
    assert_near(optimal_value(m), rows[i].best, 1e-6);
    assert_near(value_of(m, (const double[]){0, 1}), rows[i].right, 1e-6);
    assert_near(value_of(m, (const double[]){1, 0}), rows[i].left, 1e-6);
    lgv_env_free(env);
  }
}

static int32_t always_right(void *context, const lgv_obs *obs) {
  (void)context;
  (void)obs;
  return 1;
}

/* Monte Carlo of always right, within 5 standard errors of the exact value. */
static void riverswim_pays_what_its_model_says(void **state) {
  (void)state;
  const char *const variants[] = {"env.variant=osband", "env.variant=stay-only",
                                  "env.variant=strehl-littman"};
  enum { EPISODES = 20000 };
  for (int v = 0; v < 3; v++) {
    lgv_env *env = make_env("riverswim", variants[v], 7);
    double sum = 0, squares = 0;
    for (int i = 0; i < EPISODES; i++) {
      lgv_outcome last;
      double x = play(env, always_right, NULL, &last, NULL);
      assert_true(last.truncated && !last.terminated);
      sum += x;
      squares += x * x;
    }
    double mean = sum / EPISODES, error = sqrt((squares / EPISODES - mean * mean) / EPISODES);
    double exact = value_of(lgv_env_get_model(env), (const double[]){0, 1});
    assert_true(error > 0 && error < 0.1 * exact);
    assert_true(fabs(mean - exact) < 5 * error);
    lgv_env_free(env);
  }
}

static lgv_model *make_chain(void) {
  lgv_model *m;
  lgv_error err = {0};
  assert_int_equal(lgv_model_create(2, 1, 2, true, &m, &err), LGV_OK);
  for (int64_t s = 0; s < 2; s++)
    assert_int_equal(lgv_model_add(m, 0, s, 0, 1 - s, 1, &err), LGV_OK);
  lgv_model_set_reward(m, 0, 0, 0, 0.5);
  lgv_model_set_start(m, 0, 1);
  return m;
}

static void a_model_that_is_not_sealed_has_no_values(void **state) {
  (void)state;
  lgv_model *m = make_chain();
  lgv_error err = {0};
  lgv_env *env;
  double values[6], policy[4] = {1, 1, 1, 1};
  lgv_model_optimal(m, values);
  assert_true(isnan(values[0]) && isnan(values[1]));
  lgv_model_evaluate(m, policy, values);
  assert_true(isnan(values[0]));
  assert_true(isnan(lgv_model_q(m, 0, 0, 0, values)));
  assert_int_equal(lgv_env_from_model(m, NULL, 0, 1, &env, &err), LGV_ERR_ENV);
  assert_non_null(strstr(err.message, "not sealed: call lgv_model_seal"));
  lgv_model_free(m);
}

static void a_sealed_model_does_not_change(void **state) {
  (void)state;
  lgv_model *m = make_chain();
  lgv_error err = {0};
  double before[6], after[6];
  assert_int_equal(lgv_model_seal(m, &err), LGV_OK);
  lgv_model_optimal(m, before);
  assert_int_equal(lgv_model_add(m, 0, 0, 0, 0, 0.5, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "sealed"));
  lgv_model_set_reward(m, 0, 0, 0, 7);
  lgv_model_set_start(m, 1, 1);
  lgv_model_forbid(m, 0, 0, 0);
  assert_int_equal(lgv_model_seal(m, &err), LGV_OK);
  lgv_model_optimal(m, after);
  assert_memory_equal(before, after, sizeof before);
  assert_true(lgv_model_start_mean(m, before) == before[0]);
  assert_null(lgv_model_mask(m, 0, 0));
  lgv_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model_that_is_not_sealed_has_no_values),
      cmocka_unit_test(a_sealed_model_does_not_change),
      cmocka_unit_test(sizes_that_make_no_model_are_refused),
      cmocka_unit_test(transitions_outside_the_model_are_refused),
      cmocka_unit_test(rows_and_starts_must_sum_to_one),
      cmocka_unit_test(rewards_must_be_finite_and_inside),
      cmocka_unit_test(a_forbidden_action_needs_nothing),
      cmocka_unit_test(every_state_must_allow_an_action),
      cmocka_unit_test(forbidden_actions_have_no_value),
      cmocka_unit_test(the_mask_of_a_stationary_model_is_that_of_every_stage),
      cmocka_unit_test(an_environment_shows_what_its_model_allows),
      cmocka_unit_test(a_mask_without_memory_is_reported_by_sealing),
      cmocka_unit_test(a_spec_must_fit_its_model),
      cmocka_unit_test(values_by_hand),
      cmocka_unit_test(stages_of_a_non_stationary_model_differ),
      cmocka_unit_test(riverswim_has_the_known_values),
      cmocka_unit_test(riverswim_pays_what_its_model_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
