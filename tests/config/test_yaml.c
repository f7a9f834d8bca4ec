/* Settings from files: the ways to write them, what is refused and where, and the way back from a
 * run's own config.json. */
#include "temp_root.h"
#include "tiny_world.h"

#include "config/plan.h"

/* Loads a text as a file; returns the settings, or NULL and the message in *err. */
static lgv_settings *load(const char *text, lgv_error *err) {
  char path[PATH_MAX];
  lgv_settings *s = make_settings(NULL, NULL, NULL);
  write_text(root, "c.yaml", text);
  join(path, root, "c.yaml");
  if (lgv_settings_load(s, path, err) == LGV_OK) return s;
  lgv_settings_free(s);
  return NULL;
}

static void assert_holds(const lgv_settings *s, const char *key, const char *value) {
  const char *found = lgv_settings_get(s, key);
  if (!found || strcmp(found, value) != 0)
    fail_msg("%s is '%s', not '%s'", key, found ? found : "(missing)", value);
}

static void nested_flat_and_short_forms_say_the_same(void **state) {
  (void)state;
  const char *const texts[] = {
      "env: {name: riverswim, n: 6}\nagent:\n  name: lmc-lsvi\n  lambda: 0.5\nrun:\n  episodes: "
      "3\n",
      "env.name: riverswim\nenv.n: 6\nagent.name: lmc-lsvi\nagent.lambda: 0.5\nrun.episodes: 3\n",
      "agent: lmc-lsvi\nenv: riverswim\nenv.n: 6\nagent.lambda: 0.5\nrun: {episodes: 3}\n",
      "{\"env\": {\"name\": \"riverswim\", \"n\": 6}, \"agent\": \"lmc-lsvi\","
      " \"agent.lambda\": 0.5, \"run\": {\"episodes\": 3}}",
      "# a comment\nenv: 'riverswim'\n\nenv.n: 6 # another\nagent: \"lmc-lsvi\"\n"
      "agent.lambda: 0.5\nrun.episodes: 3\nrun.steps: null\nrun.seed: ~\nrun.eval_every:\n"
      "langevin: {version: 9.9.9}\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    lgv_error err = {0};
    lgv_settings *s = load(texts[i], &err);
    if (!s) fail_msg("%s", err.message);
    assert_holds(s, "env.name", "riverswim");
    assert_holds(s, "env.n", "6");
    assert_holds(s, "agent.name", "lmc-lsvi");
    assert_holds(s, "agent.lambda", "0.5");
    assert_holds(s, "run.episodes", "3");
    assert_null(lgv_settings_get(s, "run.steps")); /* null leaves the default */
    assert_null(lgv_settings_get(s, "run.seed"));
    assert_null(lgv_settings_get(s, "run.eval_every"));
    assert_null(lgv_settings_get(s, "langevin.version"));
    lgv_settings_free(s);
  }
}

static void lists_and_text_keep_their_form(void **state) {
  (void)state;
  lgv_error err = {0};
  lgv_settings *s = load("agent: {a: [32, 32], b: [], c: 'null', d: \"x: y\", e: true}\n", &err);
  if (!s) fail_msg("%s", err.message);
  assert_holds(s, "agent.a", "32,32");
  assert_holds(s, "agent.b", "");
  assert_holds(s, "agent.c", "null"); /* in quotes it is a word */
  assert_holds(s, "agent.d", "x: y");
  assert_holds(s, "agent.e", "true");
  lgv_settings_free(s);
}

static void a_file_replaces_what_was_set_before_and_not_after(void **state) {
  (void)state;
  char path[PATH_MAX];
  lgv_error err = {0};
  lgv_settings *s = make_settings(NULL, NULL, "agent.lambda=1 agent.beta=1");
  write_text(root, "c.yaml", "agent.lambda: 2\nagent.delta: 2\n");
  join(path, root, "c.yaml");
  assert_int_equal(lgv_settings_load(s, path, &err), LGV_OK);
  assert_int_equal(lgv_settings_assign(s, "agent.delta=3", "--set", &err), LGV_OK);
  assert_holds(s, "agent.lambda", "2");
  assert_holds(s, "agent.beta", "1");
  assert_holds(s, "agent.delta", "3");
  lgv_settings_free(s);
}

static void errors_name_file_line_and_column(void **state) {
  (void)state;
  const struct {
    const char *text, *place;
  } cases[] = {
      {"env: riverswim\nagent: {name: lmc-lsvi\nrun: 1\n", "c.yaml:3:4: "}, /* no closing brace */
      {"env: riverswim\n\tagent: x\n", "c.yaml:2:1: "},                     /* a tab */
      {"- a\n- b\n", "c.yaml:1:1: "},
      {"just words\n", "c.yaml:1:1: "},
      {"agent:\n  list: [1, [2]]\n", "c.yaml:2:13: "},
      {"agent:\n  ? [a]\n  : 1\n", "c.yaml:2:5: "},
      {"a: {b: {c: {d: {e: {f: {g: {h: {i: {j: 1}}}}}}}}}\n", "nested too deeply"},
      {"env: a\nagent: b\nenv: c\n", "c.yaml:3:1: the key 'env' appears twice; it was first set in "
                                     "line 1"},
      {"env: a\n---\nenv: b\n", "c.yaml:2: a second document"},
      {"env: \"a\\0b\"\n", "c.yaml:1:6: a value may not hold the byte 0"},
      {"env: riverswim\ngrid: {agent.lambda: [1]}\n", "c.yaml:2:7: 'grid' belongs to a sweep"},
      {"", "is empty"},
      {"# nothing\n", "is empty"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_error err = {0};
    assert_null(load(cases[i].text, &err));
    assert_int_equal(err.status, LGV_ERR_USAGE);
    if (!strstr(err.message, cases[i].place))
      fail_msg("case %zu: '%s' does not say '%s'", i, err.message, cases[i].place);
  }
}

static void assert_refused(const char *text, const char *why) {
  lgv_error err = {0};
  assert_null(load(text, &err));
  assert_int_equal(err.status, LGV_ERR_USAGE);
  if (!strstr(err.message, why)) fail_msg("'%s' does not say '%s'", err.message, why);
}

/* Seven mappings of nine aliases each: a few hundred bytes that stand for 9^7 values. */
static void an_alias_bomb_is_refused(void **state) {
  (void)state;
  char text[2048] = "langevin:\n  l0: &l0 {x: 1}\n";
  for (int level = 1; level <= 6; level++) {
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, sizeof text - used, "  l%d: &l%d {", level, level);
    for (int i = 0; i < 9; i++)
      used += (size_t)snprintf(text + used, sizeof text - used, "k%d: *l%d, ", i, level - 1);
    snprintf(text + used, sizeof text - used, "}\n");
  }
  strncat(text, "agent: *l6\n", sizeof text - strlen(text) - 1);
  assert_refused(text, "more than 4096 values");
}

static void a_file_that_is_no_settings_file_is_refused(void **state) {
  (void)state;
  size_t size = ((size_t)1 << 18) + 2;
  char *text = malloc(size);
  assert_non_null(text);
  memset(text, ' ', size - 1);
  text[size - 1] = '\0';
  assert_refused(text, "larger than 256 KiB");
  memset(text, '[', size - 3); /* nesting without end */
  text[size - 3] = '\0';
  memcpy(text, "a: ", 3);
  assert_refused(text, "c.yaml:1: this is nested too deeply");
  for (size_t i = 0; i + 6 < size; i += 2) memcpy(text + i, "- ", 3);
  assert_refused(text, "c.yaml:1: this is nested too deeply");
  for (size_t i = 0; i < 300; i++) snprintf(text + 10 * i, 11, "- &%04zu a\n", i % 10000);
  assert_refused(text, "c.yaml:257: more than 256 anchors");
  free(text);
  assert_refused("\x7f"
                 "ELF\x02\x01",
                 "c.yaml");
  assert_refused("env: \xff\xfe\n", "c.yaml");
}

static void a_wrong_value_is_placed_too(void **state) {
  (void)state;
  lgv_error err = {0};
  lgv_plan *plan;
  lgv_settings *s = load("env: riverswim\nagent:\n  name: lmc-lsvi\n  lambda: -1\n", &err);
  assert_int_equal(lgv_plan_create(s, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "agent.lambda = '-1'"));
  assert_non_null(strstr(err.message, "c.yaml:4:11)"));
  lgv_settings_free(s);
}

static void a_file_that_is_not_there_is_an_io_error(void **state) {
  (void)state;
  lgv_error err = {0};
  lgv_settings *s = make_settings(NULL, NULL, NULL);
  assert_int_equal(lgv_settings_load(s, "/no/such/file.yaml", &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "/no/such/file.yaml"));
  lgv_settings_free(s);
}

static void assert_same_plan(const lgv_plan *a, const lgv_plan *b) {
  lgv_json one = {0}, other = {0};
  lgv__plan_json(a, 7, &one);
  lgv__plan_json(b, 7, &other);
  assert_string_equal(one.text, other.text);
  lgv__json_free(&one);
  lgv__json_free(&other);
}

/* What a run writes down about itself repeats the run. */
static void config_json_is_a_configuration(void **state) {
  (void)state;
  const char *const extras[] = {"run.episodes=3",
                                "run.episodes=3 agent.beta=inf agent.lambda=0.30000000000000004",
                                "run.episodes=5 agent.schedule=theory",
                                "run.steps=50 agent.gram=dense env.variant=stay-only"};
  for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
    lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", extras[i]), *again;
    lgv_error err = {0};
    lgv_run *run;
    char out[PATH_MAX], path[PATH_MAX], name[32], seed[32];
    snprintf(name, sizeof name, "run-%zu", i);
    join(out, root, name);
    join(path, out, "config.json");
    assert_int_equal(lgv_run_create(plan, 7, out, &run, &err), LGV_OK);
    lgv_run_free(run);
    lgv_settings *s = make_settings(NULL, NULL, NULL);
    if (lgv_settings_load(s, path, &err) != LGV_OK) fail_msg("%s", err.message);
    if (lgv_plan_create(s, &again, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_same_plan(plan, again);
    assert_int_equal(lgv_plan_get(again, "run.seed", seed, sizeof seed, &err), LGV_OK);
    assert_string_equal(seed, "7");
    lgv_settings_free(s);
    lgv_plan_free(plan);
    lgv_plan_free(again);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nested_flat_and_short_forms_say_the_same),
      cmocka_unit_test(lists_and_text_keep_their_form),
      cmocka_unit_test(a_file_replaces_what_was_set_before_and_not_after),
      cmocka_unit_test(errors_name_file_line_and_column),
      cmocka_unit_test(an_alias_bomb_is_refused),
      cmocka_unit_test(a_file_that_is_no_settings_file_is_refused),
      cmocka_unit_test(a_wrong_value_is_placed_too),
      cmocka_unit_test(a_file_that_is_not_there_is_an_io_error),
      cmocka_unit_test(config_json_is_a_configuration),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
