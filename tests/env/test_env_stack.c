/* env.stack against stacks that a test makes of the same environment without it. */
#include "base/stack.h"
#include "config/plan.h"
#include "env_helpers.h"
#include "obs_helpers.h"

#include <math.h>

/* ---- An environment of any kind of observations ---- */

enum { BYTES, BYTES_AND_VECTOR, FLOATS, FLOATS_AND_VECTOR, VECTOR, STACKS, NOT_FINITE, KINDS };

typedef struct eye_params {
  int64_t kind;
} eye_params;

typedef struct eye {
  lgv_env_spec spec;
  int64_t kind;
  int64_t *stage;
  uint64_t *bits; /* (1): key of the current observation */
} eye;

static const lgv_param eye_table[] = {
    {.name = "kind",
     .type = LGV_INT,
     .offset = offsetof(eye_params, kind),
     .default_text = "0",
     .min = 0,
     .max = KINDS - 1},
    {0},
};

static lgv_status eye_spec(const void *params, lgv_env_spec *spec, lgv_error *err) {
  (void)err;
  int64_t kind = ((const eye_params *)params)->kind;
  bool bytes = kind <= BYTES_AND_VECTOR, picture = kind <= FLOATS_AND_VECTOR;
  *spec = (lgv_env_spec){.obs_kind = bytes ? LGV_OBS_BYTE : LGV_OBS_FLOAT,
                         .obs_shape = {3, picture ? 3 : 1, kind == FLOATS ? 2 : 1},
                         .vector = kind == BYTES_AND_VECTOR || kind == FLOATS_AND_VECTOR ? 2 : 0,
                         .frames = kind == STACKS ? 3 : 0,
                         .actions = {.count = 2},
                         .masked = true};
  return LGV_OK;
}

static void eye_layout(void *self, const void *params, const lgv_env_spec *spec,
                       lgv_layout *layout) {
  eye *e = self;
  e->kind = ((const eye_params *)params)->kind;
  e->spec = *spec;
  e->stage = lgv_layout_array(layout, "stage", LGV_I64, 1, LGV_KEEP);
  e->bits = lgv_layout_array(layout, "bits", LGV_U64, 1, LGV_KEEP);
}

static lgv_status eye_reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)err;
  eye *e = self;
  *e->stage = 0;
  *e->bits = lgv_rng_bits(rng);
  return LGV_OK;
}

static lgv_status eye_step(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                           lgv_error *err) {
  eye *e = self;
  *e->bits = lgv_rng_bits(rng);
  if (e->kind == VECTOR && *e->bits % 16 == 0)
    return lgv_fail(err, LGV_ERR_ENV, "the eye is closed");
  ++*e->stage;
  outcome->reward = action->choice;
  outcome->terminated = *e->bits % 7 == 0;
  return LGV_OK;
}

static void eye_observe(const void *self, void *data) {
  const eye *e = self;
  lgv_rng rng;
  lgv_rng_seed(&rng, *e->bits, "eye");
  obs_draw(&e->spec, &rng, data);
  if (e->kind == NOT_FINITE && *e->stage == 2) ((float *)data)[1] = NAN;
}

static void eye_mask(const void *self, uint8_t *allowed) {
  const eye *e = self;
  allowed[0] = 1;
  allowed[1] = *e->bits >> 40 & 1;
}

static const lgv_env_type eye_type = {.size = sizeof(lgv_env_type),
                                      .name = "eye",
                                      .params = eye_table,
                                      .params_size = sizeof(eye_params),
                                      .state_size = sizeof(eye),
                                      .spec = eye_spec,
                                      .layout = eye_layout,
                                      .reset = eye_reset,
                                      .step = eye_step,
                                      .observe = eye_observe,
                                      .mask = eye_mask};

static lgv_status try_env(const char *name, int kind, int64_t stack, lgv_env **env,
                          lgv_error *err) {
  char extra[80] = "";
  if (kind >= 0) snprintf(extra, sizeof extra, "env.kind=%d", kind);
  if (stack > 0) snprintf(extra + strlen(extra), 40, " env.stack=%lld", (long long)stack);
  lgv_settings *settings = make_settings(name, NULL, extra);
  assert_int_equal(lgv_settings_add_env(settings, &eye_type, err), LGV_OK);
  lgv_status status = lgv_env_create(settings, 3, env, err);
  lgv_settings_free(settings);
  return status;
}

static lgv_env *open_env(const char *name, int kind, int64_t stack) {
  lgv_env *env;
  lgv_error err = {0};
  if (try_env(name, kind, stack, &env, &err) != LGV_OK) fail_msg("%s", err.message);
  return env;
}

/* ---- The comparison ---- */

typedef struct pair {
  lgv_env *plain, *stacked;
  lgv_env_spec one, spec;
  char *seen[LGV_MOST_FRAMES]; /* the last observations of the plain one, oldest first */
  char *expected;
} pair;

static void open_pair(pair *p, const char *name, int kind, int32_t frames) {
  *p = (pair){.plain = open_env(name, kind, 1), .stacked = open_env(name, kind, frames)};
  p->one = *lgv_env_get_spec(p->plain);
  p->spec = *lgv_env_get_spec(p->stacked);
  assert_int_equal(p->spec.frames, frames);
  assert_int_equal(p->spec.obs_form, LGV_FORM_DENSE);
  assert_int_equal(lgv__obs_count(&p->spec), lgv__obs_count(&p->one) * (size_t)frames);
  assert_int_equal(p->spec.states, p->one.states);
  assert_true(!p->spec.features == !p->one.features);
  for (int32_t f = 0; f < frames; f++) p->seen[f] = calloc(1, lgv__obs_bytes(&p->one));
  p->expected = calloc(1, lgv__obs_bytes(&p->spec));
}

static void close_pair(pair *p) {
  for (int32_t f = 0; f < p->spec.frames; f++) free(p->seen[f]);
  free(p->expected);
  lgv_env_free(p->plain);
  lgv_env_free(p->stacked);
}

static void compare(pair *p, const lgv_obs *a, const lgv_obs *b) {
  int32_t frames = p->spec.frames;
  char *oldest = p->seen[0];
  memmove(p->seen, p->seen + 1, (size_t)(frames - 1) * sizeof *p->seen);
  p->seen[frames - 1] = oldest;
  for (int32_t f = 0; f < frames; f++)
    if (f == frames - 1 || a->stage == 0) memcpy(p->seen[f], a->data, lgv__obs_bytes(&p->one));
  obs_stack(&p->one, &p->spec, frames, (const void *const *)p->seen, p->expected);
  assert_true(obs_equal(&p->spec, b->data, p->expected));
  assert_true(a->state == b->state && a->stage == b->stage && !a->mask == !b->mask);
  if (a->mask) assert_memory_equal(a->mask, b->mask, (size_t)p->one.actions.count);
}

/* An action that the mask allows, if there is one. */
static const lgv_action *draw_allowed(const pair *p, const lgv_obs *obs, lgv_rng *rng) {
  return obs->mask ? choice(obs->mask[1] && lgv_rng_below(rng, 2))
                   : draw_action(&p->one.actions, rng);
}

/* Episodes end, are left, and fail. */
static void check(const char *name, int kind, int32_t frames, int steps) {
  pair p;
  lgv_rng rng;
  lgv_obs a, b;
  lgv_error err;
  bool over = true;
  open_pair(&p, name, kind, frames);
  lgv_rng_seed(&rng, 4, "test");
  for (int i = 0; i < steps; i++) {
    if (over || lgv_rng_below(&rng, 40) == 0) {
      assert_int_equal(lgv_env_reset(p.plain, &a, &err), LGV_OK);
      assert_int_equal(lgv_env_reset(p.stacked, &b, &err), LGV_OK);
      compare(&p, &a, &b);
    }
    lgv_outcome ra, rb;
    const lgv_action *action = draw_allowed(&p, &a, &rng);
    lgv_status status = lgv_env_step(p.plain, action, &ra, &a, &err);
    assert_int_equal(lgv_env_step(p.stacked, action, &rb, &b, &err), status);
    over = status != LGV_OK || ra.terminated || ra.truncated;
    if (status == LGV_OK) compare(&p, &a, &b);
    if (status == LGV_OK) assert_true(ra.reward == rb.reward && ra.terminated == rb.terminated);
  }
  close_pair(&p);
}

static void stacks_of_every_kind_equal_those_of_a_test(void **state) {
  (void)state;
  for (int kind = 0; kind < STACKS; kind++)
    for (int32_t frames = 2; frames <= 5; frames++) check("eye", kind, frames, 400);
  check("eye", BYTES_AND_VECTOR, LGV_MOST_FRAMES, 400);
}

static void every_environment_can_be_stacked(void **state) {
  (void)state;
  for (size_t e = 0; lgv__envs[e] && !lgv__envs[e]->connect; e++)
    check(lgv__envs[e]->name, -1, 3, 300);
}

static void an_observation_that_is_not_finite_is_refused(void **state) {
  (void)state;
  lgv_env *env = open_env("eye", NOT_FINITE, 4);
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  lgv_status status = LGV_OK;
  for (int episode = 0; episode < 50; episode++) {
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    outcome.terminated = false;
    for (int i = 0; i < 2 && status == LGV_OK && !outcome.terminated; i++)
      status = lgv_env_step(env, choice(0), &outcome, &obs, &err);
    if (status == LGV_OK) continue;
    assert_non_null(
        strstr(err.message, "observation at stage 2 holds a number that is not finite"));
    lgv_env_free(env);
    return;
  }
  fail_msg("no episode of two steps");
}

static void stacks_are_not_stacked(void **state) {
  (void)state;
  lgv_env *env;
  lgv_error err = {0};
  assert_int_equal(try_env("eye", STACKS, 2, &env, &err), LGV_ERR_USAGE);
  assert_string_equal(err.message, "env.stack = 2: eye has stacks already; leave env.stack out");
  env = open_env("eye", STACKS, 1);
  assert_int_equal(lgv_env_get_spec(env)->frames, 3);
  lgv_env_free(env);
  assert_int_equal(try_env("eye", BYTES, 65, &env, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "env.stack"));
}

/* ---- A parameter of every environment ---- */

/* A type's own parameter of that name has its own meaning. */
static void a_parameter_of_the_type_comes_first(void **state) {
  (void)state;
  static lgv_param table[2];
  table[0] = eye_table[0];
  table[0].name = "stack";
  lgv_env_type own = eye_type;
  own.params = table;
  lgv_settings *settings = make_settings("eye", NULL, "env.stack=2"); /* its kind */
  lgv_env *env;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &own, &err), LGV_OK);
  assert_int_equal(lgv_env_create(settings, 1, &env, &err), LGV_OK);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_true(spec->frames == 0 && spec->obs_shape[2] == 2 && spec->obs_kind == LGV_OBS_FLOAT);
  lgv_env_free(env);
  lgv_settings_free(settings);
}

static void every_entry_of_the_registry_has_it_once(void **state) {
  (void)state;
  lgv_entry entry;
  for (size_t i = 0; lgv_registry_get("env", i, &entry); i++) {
    int rows = 0, own = (int)lgv__params_count(lgv__envs[i]->params);
    for (const lgv_param *p = entry.params; p->name; p++) rows += strcmp(p->name, "stack") == 0;
    assert_int_equal(rows, 1);
    bool replaces = lgv__params_find(lgv__envs[i]->params, "stack") >= 0;
    assert_int_equal(lgv__params_count(entry.params), own + !replaces);
  }
}

static void digest(const char *env, const char *extra, char *text) {
  lgv_plan *plan = make_plan(env, "dqn", extra);
  lgv_error err;
  assert_int_equal(lgv_plan_digest(plan, text, &err), LGV_OK);
  lgv_plan_free(plan);
}

static bool json_has_stack(const lgv_plan *plan) {
  lgv_json json = {0};
  lgv__plan_json(plan, 1, &json);
  bool has = strstr(json.text, "\"stack\":");
  lgv__json_free(&json);
  return has;
}

static void plans_know_it_and_digests_ignore_the_default(void **state) {
  (void)state;
  char a[LGV_DIGEST_SIZE], b[LGV_DIGEST_SIZE], c[LGV_DIGEST_SIZE], text[LGV_TEXT_SIZE];
  lgv_error err;
  digest("cartpole", "run.steps=100", a);
  digest("cartpole", "run.steps=100 env.stack=1", b);
  digest("cartpole", "run.steps=100 env.stack=2", c);
  assert_string_equal(a, b);
  assert_string_not_equal(a, c);
  lgv_plan *plan = make_plan("cartpole", "dqn", "run.steps=100 env.stack=2");
  assert_int_equal(lgv_plan_get(plan, "env.stack", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "2");
  assert_int_equal(lgv_plan_get(plan, "env.horizon", text, sizeof text, &err), LGV_OK);
  assert_int_equal(plan->env.frames, 2);
  assert_true(json_has_stack(plan));
  lgv_plan_free(plan);
  plan = make_plan("cartpole", "dqn", "run.steps=100 env.stack=1");
  assert_false(json_has_stack(plan));
  lgv_plan_free(plan);
}

/* Agents that learn from states do not look at observations. */
static void linear_agents_do_not_notice(void **state) {
  (void)state;
  for (size_t a = 0; lgv__agents[a]; a++) {
    const char *name = lgv__agents[a]->name;
    if (!(lgv__agents[a]->traits & LGV_NEEDS_STATES)) continue;
    lgv_plan *plain = make_plan("riverswim", name, "run.episodes=20");
    lgv_plan *stacked = make_plan("riverswim", name, "run.episodes=20 env.stack=4");
    lgv_summary one = run_plan(plain, 1), four = run_plan(stacked, 1);
    if (memcmp(&one.regret, &four.regret, sizeof one.regret) != 0 ||
        one.mean_return != four.mean_return)
      fail_msg("%s differs", name);
    lgv_plan_free(plain);
    lgv_plan_free(stacked);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stacks_of_every_kind_equal_those_of_a_test),
      cmocka_unit_test(every_environment_can_be_stacked),
      cmocka_unit_test(an_observation_that_is_not_finite_is_refused),
      cmocka_unit_test(stacks_are_not_stacked),
      cmocka_unit_test(a_parameter_of_the_type_comes_first),
      cmocka_unit_test(every_entry_of_the_registry_has_it_once),
      cmocka_unit_test(plans_know_it_and_digests_ignore_the_default),
      cmocka_unit_test(linear_agents_do_not_notice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
