/* Spaces of Gymnasium through the bridge: observations, actions and masks equal those of a plain
 * Python loop (fixtures/gym_course.py), bit for bit, for every kind of space, and the spec
 * describes them. */
#include "base/spec.h"
#include "env/env.h"

#include "file_helpers.h"
#include "gym_helpers.h"

#include <math.h>

/* ---- The same episodes in a Python loop ---- */

enum { STEPS = 60, MOST_BYTES = 1 << 22 };

typedef struct course {
  unsigned char *bytes;
  size_t size;
} course;

static void append(course *c, const void *bytes, size_t size) {
  assert_true(c->size + size <= MOST_BYTES);
  memcpy(c->bytes + c->size, bytes, size);
  c->size += size;
}

static void append_obs(course *c, const lgv_env_spec *spec, const lgv_obs *obs) {
  append(c, obs->data, lgv__obs_bytes(spec));
  assert_true((obs->mask != NULL) == spec->masked);
  if (obs->mask) append(c, obs->mask, (size_t)spec->actions.count);
}

/* One of the choices first..first + count - 1 of a mask that are allowed, from 0. */
static int32_t draw_allowed(const uint8_t *mask, int32_t first, int32_t count, lgv_rng *rng) {
  int32_t allowed[256], n = 0;
  assert_true(count <= 256);
  for (int32_t a = 0; a < count; a++)
    if (!mask || mask[first + a]) allowed[n++] = a;
  return allowed[lgv_rng_below(rng, n)];
}

static float draw_value(const lgv_action_space *space, int32_t part, lgv_rng *rng) {
  float low = space->low[part], high = space->high[part];
  if (!isfinite(low)) return (float)(100 * lgv_rng_normal(rng));
  double u = lgv_rng_uniform(rng); /* the bounds themselves, too */
  return u < 0.1 ? low : u > 0.9 ? high : (float)(low + u * ((double)high - low));
}

/* A random action among the allowed; writes its numbers to file as a JSON list. */
static lgv_action draw(const lgv_action_space *space, const uint8_t *mask, lgv_rng *rng,
                       FILE *file) {
  lgv_action action = {0};
  for (int32_t p = 0, first = 0; p < lgv__action_parts(space); p++) {
    fputc(p ? ',' : '[', file);
    if (space->kind == LGV_BOX) {
      action.values[p] = draw_value(space, p, rng);
      fprintf(file, "%.17g", (double)action.values[p]);
      continue;
    }
    int32_t count = lgv__part_choices(space, p);
    action.choices[p] = draw_allowed(mask, first, count, rng);
    fprintf(file, "%d", action.choices[p]);
    first += count;
  }
  fputc(']', file);
  return action;
}

/* Plays random actions and writes them and the seeds of the resets to a file for the Python loop.
 */
static course play_here(const char *name, const char *extra, FILE *file) {
  lgv_env *env = make_gym(name, extra);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  course c = {.bytes = malloc(MOST_BYTES)};
  lgv_error err = {0};
  lgv_rng seeds, actions;
  lgv_rng_seed(&seeds, 5, "env"); /* as open_gym does */
  lgv_rng_seed(&actions, 1, "test");
  fputc('[', file);
  for (int i = 0; i < STEPS; i++)
    fprintf(file, "%s%llu", i ? "," : "", (unsigned long long)(lgv_rng_bits(&seeds) >> 33));
  fprintf(file, "]\n[");
  bool over = true;
  lgv_obs obs;
  for (int i = 0; i < STEPS; i++) {
    lgv_outcome outcome;
    if (over) {
      if (lgv_env_reset(env, &obs, &err) != LGV_OK) fail_msg("%s: %s", name, err.message);
      append_obs(&c, spec, &obs);
    }
    if (i) fputc(',', file);
    lgv_action action = draw(&spec->actions, obs.mask, &actions, file);
    if (lgv_env_step(env, &action, &outcome, &obs, &err) != LGV_OK)
      fail_msg("%s %s: %s", name, extra, err.message);
    unsigned char ends[2] = {outcome.terminated, outcome.truncated};
    append_obs(&c, spec, &obs);
    append(&c, &outcome.reward, sizeof outcome.reward);
    append(&c, ends, sizeof ends);
    over = outcome.terminated || outcome.truncated;
  }
  fprintf(file, "]\n");
  lgv_env_free(env);
  expect_no_child();
  return c;
}

/* extra, then kwargs and wrappers: the same for both sides. kind: see gym_course.py. */
typedef struct subject {
  const char *id, *extra, *kwargs, *wrappers, *kind;
} subject;

static void compare_with_python(const subject *s) {
  char directory[TEMP_SIZE], path[PATH_MAX], name[128], command[3 * PATH_MAX];
  make_temp(directory);
  join(path, directory, "course");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "{\"id\": \"%s\", \"kwargs\": %s, \"wrappers\": %s, \"kind\": \"%s\"}\n", s->id,
          s->kwargs ? s->kwargs : "{}", s->wrappers ? s->wrappers : "[]", s->kind ? s->kind : "");
  snprintf(name, sizeof name, "gym:%s", s->id);
  course here = play_here(name, s->extra, file), there = {.bytes = malloc(MOST_BYTES)};
  assert_int_equal(fclose(file), 0);
  snprintf(command, sizeof command, "'%s' '%s/fixtures/gym_course.py' '%s' %s",
           getenv("LANGEVIN_PYTHON"), TEST_SOURCE_DIR, path,
           strstr(s->id, "MiniGrid")  ? "minigrid"
           : strstr(s->id, "MinAtar") ? "minatar"
                                      : "");
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  there.size = fread(there.bytes, 1, MOST_BYTES, pipe);
  assert_int_equal(pclose(pipe), 0);
  if (here.size != there.size)
    fail_msg("%s %s: %zu, %zu bytes", s->id, s->extra, here.size, there.size);
  if (memcmp(here.bytes, there.bytes, here.size) != 0) fail_msg("%s %s differs", s->id, s->extra);
  free(here.bytes);
  free(there.bytes);
  remove_tree(directory);
}

static bool has_module(const char *name) {
  char command[4096 + 64];
  snprintf(command, sizeof command, "'%s' -c 'import %s' 2>/dev/null", getenv("LANGEVIN_PYTHON"),
           name);
  return system(command) == 0;
}

static void known_environments_are_as_in_a_python_loop(void **state) {
  (void)state;
  const subject rows[] = {
      {.id = "CartPole-v1"},
      {.id = "Acrobot-v1"},
      {.id = "FrozenLake-v1"},
      {.id = "Blackjack-v1"},
      {.id = "Pendulum-v1"},
      {.id = "Taxi-v4"},
      {.id = "MiniGrid-Empty-5x5-v0", .kind = "MiniGrid"},
      {.id = "MinAtar/Seaquest-v1", .kind = "MinAtar"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strstr(rows[i].id, "MinAtar") && !has_module("minatar"))
      printf("%s: SKIPPED: it needs the package minatar\n", rows[i].id);
    else
      compare_with_python(&rows[i]);
  }
}

static void every_space_is_as_gymnasium_flattens_it(void **state) {
  (void)state;
  const char *const kinds[] = {
      "float64",       "float16",      "scalar",        "int",
      "ram",           "picture",      "small-picture", "gray",
      "discrete",      "binary",       "multi",         "channels-first",
      "stack",         "multi-start",  "multi-2d",      "binary-2d",
      "dict",          "tuple",        "small-first",   "tiny-picture",
      "bools",         "bools-cube",   "board",         "board-first",
      "float-picture", "int-picture",  "matrix",        "small-stack",
      "first-stack",   "dict-picture", "two-pictures",  "dict-only-picture",
      "tuple-picture",
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char extra[128], kwargs[128];
    snprintf(extra, sizeof extra, "env.kwargs.kind=%s", kinds[i]);
    snprintf(kwargs, sizeof kwargs, "{\"kind\": \"%s\"}", kinds[i]);
    compare_with_python(
        &(subject){.id = "test/Space-v0", .extra = extra, .kwargs = kwargs, .kind = kinds[i]});
  }
}

static void every_action_arrives_as_it_is(void **state) {
  (void)state;
  const char *const kinds[] = {"multi",      "multi-start", "multi-2d",  "binary",
                               "binary-2d",  "box",         "box-2d",    "box-half",
                               "box-scalar", "unbounded",   "sixty-four"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char extra[128], kwargs[128];
    snprintf(extra, sizeof extra, "env.kwargs.kind=scalar env.kwargs.actions=%s", kinds[i]);
    snprintf(kwargs, sizeof kwargs, "{\"kind\": \"scalar\", \"actions\": \"%s\"}", kinds[i]);
    compare_with_python(&(subject){.id = "test/Space-v0", .extra = extra, .kwargs = kwargs});
  }
}

/* The environment raises if an action is forbidden. */
static void every_mask_is_as_the_environment_has_it(void **state) {
  (void)state;
  const char *const forms[] = {"info",   "states",     "dict",  "dict-picture", "parts",
                               "nested", "flat-parts", "signs", "binary"};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    char extra[128], kwargs[128];
    snprintf(extra, sizeof extra, "env.kwargs.form=%s", forms[i]);
    snprintf(kwargs, sizeof kwargs, "{\"form\": \"%s\"}", forms[i]);
    compare_with_python(&(subject){.id = "test/Mask-v0",
                                   .extra = extra,
                                   .kwargs = kwargs,
                                   .kind = strstr(forms[i], "picture") ? "masked-picture" : NULL});
  }
}

/* The reset that looks for masks must not reach the statistics; stacks are kept in their order. */
static void wrappers_are_as_in_a_python_loop(void **state) {
  (void)state;
  const subject rows[] = {
      {.id = "CartPole-v1",
       .extra = "env.wrappers=NormalizeObservation",
       .wrappers = "[[\"NormalizeObservation\", {}]]"},
      {.id = "test/Space-v0",
       .extra = "env.kwargs.kind=matrix env.wrappers=FrameStackObservation(stack_size=3)",
       .kwargs = "{\"kind\": \"matrix\"}",
       .wrappers = "[[\"FrameStackObservation\", {\"stack_size\": 3}]]",
       .kind = "FrameStack"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) compare_with_python(&rows[i]);
}

/* ---- Specs ---- */

/* "float dense 4x1x1, discrete 2, 500 steps" */
static void describe(const lgv_env_spec *s, char *text, size_t size) {
  static const char *const forms[] = {"dense", "one-hot", "thermometer"};
  static const char *const kinds[] = {"discrete", "multi", "box"};
  FILE *out = fmemopen(text, size, "w");
  assert_non_null(out);
  fprintf(out, "%s %s %dx%dx%d", s->obs_kind == LGV_OBS_BYTE ? "byte" : "float", forms[s->obs_form],
          s->obs_shape[0], s->obs_shape[1], s->obs_shape[2]);
  if (s->vector) fprintf(out, " and %d", s->vector);
  if (s->frames) fprintf(out, " of %d", s->frames);
  fprintf(out, ", %s %d", kinds[s->actions.kind], s->actions.count);
  for (int32_t p = 0; s->actions.kind == LGV_MULTI_DISCRETE && p < s->actions.parts; p++)
    fprintf(out, "%c%d", p ? ' ' : ':', s->actions.choices[p]);
  for (int32_t p = 0; s->actions.kind == LGV_BOX && p < s->actions.parts; p++)
    fprintf(out, " [%.9g %.9g]", (double)s->actions.low[p], (double)s->actions.high[p]);
  if (s->masked) fprintf(out, ", masked");
  if (s->states) fprintf(out, ", %d states", (int)s->states);
  if (s->horizon) fprintf(out, ", %d steps", (int)s->horizon);
  fclose(out);
}

typedef struct described {
  const char *name, *settings, *text;
} described;

static void expect_specs(const described *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char text[512];
    lgv_env *env = make_gym(rows[i].name, rows[i].settings);
    describe(lgv_env_get_spec(env), text, sizeof text);
    if (strcmp(text, rows[i].text) != 0)
      fail_msg("%s %s: '%s' is not '%s'", rows[i].name, rows[i].settings, text, rows[i].text);
    lgv_env_free(env);
  }
}

#define SPACE "gym:test/Space-v0"
#define KIND "env.kwargs.kind="
#define ACTIONS KIND "scalar env.kwargs.actions="
#define MASK "gym:test/Mask-v0"
#define FORM "env.kwargs.form="

static void specs_say_what_was_found(void **state) {
  (void)state;
  const described rows[] = {
      {"gym:CartPole-v1", NULL, "float dense 4x1x1, discrete 2, 500 steps"},
      {"gym:CartPole-v1", "env.horizon=20", "float dense 4x1x1, discrete 2, 20 steps"},
      {"gym:FrozenLake-v1", NULL, "float one-hot 16x1x1, discrete 4, 16 states, 100 steps"},
      {SPACE, KIND "discrete", "float one-hot 6x1x1, discrete 3, 6 states"},
      {"gym:test/Limited-v0", NULL, "float dense 3x1x1, discrete 2, 4 steps"},
      {"gym:test/Limited-v0", "env.wrappers=TimeLimit(max_episode_steps=3)",
       "float dense 3x1x1, discrete 2, 3 steps"},
  };
  expect_specs(rows, sizeof rows / sizeof *rows);
}

static void specs_of_pictures(void **state) {
  (void)state;
  const described rows[] = {
      {SPACE, KIND "picture", "byte dense 40x36x3, discrete 3"},
      {SPACE, KIND "gray", "byte dense 36x41x1, discrete 3"},
      {SPACE, KIND "stack", "byte dense 40x38x6, discrete 3"},
      {SPACE, KIND "channels-first", "byte dense 40x38x4, discrete 3"},
      {SPACE, KIND "small-picture", "byte dense 7x7x3, discrete 3"},
      {SPACE, KIND "small-first", "byte dense 7x9x3, discrete 3"},
      {SPACE, KIND "tiny-picture", "float dense 108x1x1, discrete 3"},
      {SPACE, KIND "bools", "byte dense 10x10x4, discrete 3"},
      {SPACE, KIND "bools-cube", "byte dense 10x10x10, discrete 3"},
      {SPACE, KIND "board", "byte dense 8x8x11, discrete 3"},
      {SPACE, KIND "board-first", "float dense 8x8x11, discrete 3"},
      {SPACE, KIND "float-picture", "float dense 6x8x2, discrete 3"},
      {SPACE, KIND "matrix", "float dense 5x9x1, discrete 3"},
      {SPACE, KIND "first-stack", "byte dense 6x7x6, discrete 3"},
      {SPACE, KIND "dict-picture", "byte dense 7x7x3 and 9, discrete 3"},
      {SPACE, KIND "dict-only-picture", "byte dense 6x6x3, discrete 3"},
      {SPACE, KIND "tuple-picture", "float dense 5x6x2 and 3, discrete 3"},
      {SPACE, KIND "two-pictures", "float dense 61x1x1, discrete 3"},
  };
  expect_specs(rows, sizeof rows / sizeof *rows);
}

#define STACKED " env.wrappers=FrameStackObservation(stack_size=5)"

/* Only a stack that begins with copies of the first observation is what a replay can rebuild, and
 * only if nothing changes it afterward. */
static void specs_of_stacks(void **state) {
  (void)state;
  const described rows[] = {
      {SPACE, KIND "gray" STACKED, "byte dense 36x41x5 of 5, discrete 3"},
      {SPACE, KIND "small-picture" STACKED, "byte dense 7x7x15 of 5, discrete 3"},
      {SPACE, KIND "small-picture env.horizon=9" STACKED ",gym_envs:Doubled",
       "byte dense 7x7x15 of 5, discrete 3, 9 steps"},
      {SPACE, KIND "gray" STACKED ",RescaleObservation(min_obs=0,max_obs=1)",
       "byte dense 36x41x5, discrete 3"},
      {SPACE, KIND "gray env.wrappers=FrameStackObservation(stack_size=5,padding_type='zero')",
       "byte dense 36x41x5, discrete 3"},
      {SPACE, KIND "ram" STACKED, "float dense 80x1x1, discrete 3"},
      {SPACE, KIND "dict-picture" STACKED, "byte dense 7x7x15 and 45, discrete 3"},
  };
  expect_specs(rows, sizeof rows / sizeof *rows);
}

static void specs_of_actions(void **state) {
  (void)state;
  const described rows[] = {
      {SPACE, ACTIONS "multi", "float dense 1x1x1, multi 9:3 2 4"},
      {SPACE, ACTIONS "multi-2d", "float dense 1x1x1, multi 12:3 2 2 5"},
      {SPACE, ACTIONS "binary-2d", "float dense 1x1x1, multi 12:2 2 2 2 2 2"},
      {SPACE, ACTIONS "box", "float dense 1x1x1, box 0 [-2 1] [0 5]"},
      /* 0.1 is 0.100000001 as a float: the next one below it lies within the bounds */
      {SPACE, ACTIONS "box-2d",
       "float dense 1x1x1, box 0 [-0.099999994 0.099999994] [-0.099999994 0.099999994] "
       "[-0.099999994 0.099999994] [-0.099999994 0.099999994] [-0.099999994 0.099999994] "
       "[-0.099999994 0.099999994]"},
      {SPACE, ACTIONS "unbounded", "float dense 1x1x1, box 0 [-inf inf] [-inf inf]"},
      {MASK, FORM "info", "float dense 2x1x1, discrete 3, masked"},
      {MASK, FORM "states", "float one-hot 20x1x1, discrete 3, masked, 20 states"},
      {MASK, FORM "dict", "float dense 2x1x1, discrete 3, masked"},
      {MASK, FORM "dict-picture", "byte dense 5x5x1, discrete 3, masked"},
      {MASK, FORM "parts", "float dense 2x1x1, multi 9:3 2 4, masked"},
  };
  expect_specs(rows, sizeof rows / sizeof *rows);
}

static void pictures_that_are_not_alone_are_named(void **state) {
  (void)state;
  char notices[4000] = "";
  lgv_env *env;
  lgv_error err = {0};
  assert_int_equal(open_gym(SPACE, KIND "two-pictures", notices, &env, &err), LGV_OK);
  assert_non_null(strstr(notices, "the pictures ['a'], ['b'] become one vector"));
  lgv_env_free(env);
  notices[0] = '\0';
  assert_int_equal(open_gym(SPACE, KIND "dict-picture", notices, &env, &err), LGV_OK);
  assert_non_null(strstr(notices, "the text ['mission'] is left out"));
  assert_null(strstr(notices, "pictures"));
  lgv_env_free(env);
}

/* ---- Masks ---- */

/* A random allowed action, without a file. */
static lgv_status step_allowed(lgv_env *env, lgv_obs *obs, lgv_rng *rng, lgv_error *err) {
  FILE *nowhere = fopen("/dev/null", "w");
  lgv_outcome outcome;
  assert_non_null(nowhere);
  lgv_action action = draw(&lgv_env_get_spec(env)->actions, obs->mask, rng, nowhere);
  fclose(nowhere);
  return lgv_env_step(env, &action, &outcome, obs, err);
}

static void wrong_masks_are_refused(void **state) {
  (void)state;
  const char *const rows[][2] = {
      {FORM "info env.kwargs.fault=long",
       "in step 3 of episode 1: info['action_mask'] has 9 entries; the actions have 3 choices"},
      {FORM "info env.kwargs.fault=zero", "info['action_mask'] allows no action"},
      {FORM "info env.kwargs.fault=text", "which are not numbers"},
      {FORM "dict env.kwargs.fault=long", "the observation's 'action_mask' has 9 entries"},
      {FORM "dict env.kwargs.fault=absent", "the observation has no member 'action_mask'"},
      {FORM "parts env.kwargs.fault=swapped",
       "has 9 entries (4, 2, 3); the actions have 9 choices (3, 2, 4)"},
      {FORM "parts env.kwargs.fault=part-zero", "info['action_mask'] allows no action in part 1"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    lgv_env *env = make_gym(MASK, rows[i][0]);
    lgv_obs obs;
    lgv_error err = {0};
    lgv_rng rng;
    lgv_rng_seed(&rng, 1, "test");
    assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
    for (int k = 0; k < 2; k++) assert_int_equal(step_allowed(env, &obs, &rng, &err), LGV_OK);
    assert_int_equal(step_allowed(env, &obs, &rng, &err), LGV_ERR_ENV);
    if (!strstr(err.message, rows[i][1])) fail_msg("'%s' lacks '%s'", err.message, rows[i][1]);
    lgv_env_free(env);
  }
}

/* The task ended: the last mask may forbid everything. */
static void a_mask_after_the_end_may_be_empty(void **state) {
  (void)state;
  lgv_env *env = make_gym(MASK, FORM "info env.kwargs.fault=zero env.kwargs.length=3");
  lgv_obs obs;
  lgv_error err = {0};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int k = 0; k < 3; k++) assert_int_equal(step_allowed(env, &obs, &rng, &err), LGV_OK);
  assert_memory_equal(obs.mask, ((const uint8_t[]){0, 0, 0}), 3);
  lgv_env_free(env);
}

static void an_info_without_a_mask_allows_everything(void **state) {
  (void)state;
  lgv_env *env = make_gym(MASK, FORM "info env.kwargs.fault=none");
  lgv_obs obs;
  lgv_error err = {0};
  lgv_rng rng;
  lgv_rng_seed(&rng, 1, "test");
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int k = 0; k < 6; k++) {
    assert_int_equal(step_allowed(env, &obs, &rng, &err), LGV_OK);
    if (k >= 2) assert_memory_equal(obs.mask, ((const uint8_t[]){1, 1, 1}), 3);
  }
  lgv_env_free(env);
}

/* It is refused before it is sent: the environment, whose observation counts its steps, would
 * raise. */
static void a_forbidden_action_is_never_sent(void **state) {
  (void)state;
  lgv_env *env = make_gym(MASK, FORM "info env.kwargs.length=1000");
  lgv_obs obs;
  lgv_outcome outcome;
  lgv_error err = {0};
  lgv_rng rng;
  int refused = 0;
  lgv_rng_seed(&rng, 1, "test");
  assert_int_equal(lgv_env_reset(env, &obs, &err), LGV_OK);
  for (int k = 0; k < 50; k++) {
    for (int32_t a = 0; a < 3; a++) {
      if (obs.mask[a]) continue;
      assert_int_equal(lgv_env_step(env, choice(a), &outcome, &obs, &err), LGV_ERR_USAGE);
      assert_non_null(strstr(err.message, "is forbidden by the mask"));
      refused++;
    }
    assert_true(((const float *)obs.data)[0] == (float)k);
    assert_int_equal(step_allowed(env, &obs, &rng, &err), LGV_OK);
  }
  assert_true(refused > 10);
  lgv_env_free(env);
}

int main(void) {
  need_gym("test_env_gym_spaces");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_environments_are_as_in_a_python_loop),
      cmocka_unit_test(every_space_is_as_gymnasium_flattens_it),
      cmocka_unit_test(every_action_arrives_as_it_is),
      cmocka_unit_test(every_mask_is_as_the_environment_has_it),
      cmocka_unit_test(wrappers_are_as_in_a_python_loop),
      cmocka_unit_test(specs_say_what_was_found),
      cmocka_unit_test(specs_of_pictures),
      cmocka_unit_test(specs_of_stacks),
      cmocka_unit_test(specs_of_actions),
      cmocka_unit_test(pictures_that_are_not_alone_are_named),
      cmocka_unit_test(wrong_masks_are_refused),
      cmocka_unit_test(a_mask_after_the_end_may_be_empty),
      cmocka_unit_test(an_info_without_a_mask_allows_everything),
      cmocka_unit_test(a_forbidden_action_is_never_sent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
