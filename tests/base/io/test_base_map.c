/* Maps of parameters: sorted, replaced, bounded, and the round trip through settings. */
#include "base/param.h"

#include "file_helpers.h"
#include "run_helpers.h"

static void entries_are_sorted_and_replaced(void **state) {
  (void)state;
  lgv_map map = {0};
  assert_null(lgv__map_set(&map, "m", "1"));
  assert_null(lgv__map_set(&map, "z", "two words"));
  assert_null(lgv__map_set(&map, "a", ""));
  assert_string_equal(map.text, "a=\nm=1\nz=two words\n");
  assert_null(lgv__map_set(&map, "m", "longer=than before"));
  assert_string_equal(map.text, "a=\nm=longer=than before\nz=two words\n");
  assert_null(lgv__map_set(&map, "z", "3"));
  assert_null(lgv__map_set(&map, "b", "4"));
  assert_string_equal(map.text, "a=\nb=4\nm=longer=than before\nz=3\n");
  char value[LGV_MAP_VALUE_SIZE];
  assert_true(lgv__map_get(&map, "m", value));
  assert_string_equal(value, "longer=than before");
  assert_false(lgv__map_get(&map, "q", value));
  char key[LGV_MAP_KEY_SIZE];
  const char *at = map.text;
  int count = 0;
  while (lgv__map_next(&at, key, value)) count++;
  assert_int_equal(count, 4);
}

static void what_cannot_be_kept_is_refused(void **state) {
  (void)state;
  lgv_map map = {0};
  char longest[LGV_MAP_VALUE_SIZE + 1];
  memset(longest, 'x', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  assert_non_null(lgv__map_set(&map, "", "1"));
  assert_non_null(lgv__map_set(&map, "a=b", "1"));
  assert_non_null(lgv__map_set(&map, "a", "1\n2"));
  assert_non_null(lgv__map_set(&map, "a", longest));
  longest[LGV_MAP_VALUE_SIZE - 1] = '\0';
  assert_null(lgv__map_set(&map, "a", longest));
  longest[LGV_MAP_KEY_SIZE] = '\0';
  assert_non_null(lgv__map_set(&map, longest, "1"));
  int added = 0;
  char key[16];
  longest[LGV_MAP_KEY_SIZE] = 'x';
  for (const char *fault = NULL; !fault; added += !fault) {
    snprintf(key, sizeof key, "k%d", added);
    fault = lgv__map_set(&map, key, longest);
  }
  assert_int_equal(added, 2); /* 4096 bytes hold three such values, not four */
  assert_true(strlen(map.text) < LGV_MAP_SIZE);
  assert_null(lgv__map_set(&map, "k0", "short")); /* and there is room again */
  assert_null(lgv__map_set(&map, key, longest));
}

/* ---- Through settings, a plan and config.json ---- */

typedef struct kept {
  lgv_map more;
  int64_t n;
} kept;

static const lgv_param table[] = {
    {.name = "more",
     .type = LGV_MAP,
     .offset = offsetof(kept, more),
     .default_text = "",
     .help = "any"},
    {.name = "n",
     .type = LGV_INT,
     .offset = offsetof(kept, n),
     .default_text = "1",
     .min = 1,
     .max = 9},
    {0},
};

static lgv_status spec(const void *params, lgv_env_spec *out, lgv_error *err) {
  (void)params, (void)err;
  *out = (lgv_env_spec){.obs_shape = {1, 1, 1}, .actions = {.count = 1}, .horizon = 1};
  return LGV_OK;
}

static void layout(void *self, const void *params, const lgv_env_spec *env, lgv_layout *out) {
  (void)self, (void)params, (void)env, (void)out;
}

static lgv_status reset(void *self, lgv_rng *rng, lgv_error *err) {
  (void)self, (void)rng, (void)err;
  return LGV_OK;
}

static lgv_status step(void *self, const lgv_action *action, lgv_rng *rng, lgv_outcome *outcome,
                       lgv_error *err) {
  (void)self, (void)action, (void)rng, (void)err;
  outcome->terminated = true;
  return LGV_OK;
}

static void observe(const void *self, void *data) {
  (void)self;
  *(float *)data = 0;
}

static const lgv_env_type type = {.size = sizeof(lgv_env_type),
                                  .name = "mapped",
                                  .summary = "has a map",
                                  .params = table,
                                  .params_size = sizeof(kept),
                                  .state_size = 1,
                                  .spec = spec,
                                  .layout = layout,
                                  .reset = reset,
                                  .step = step,
                                  .observe = observe};

static lgv_plan *plan_of(lgv_settings *settings) {
  lgv_plan *plan;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_add_env(settings, &type, &err), LGV_OK);
  if (lgv_plan_create(settings, &plan, &err) != LGV_OK) fail_msg("%s", err.message);
  return plan;
}

static void a_map_survives_the_way_to_config_json_and_back(void **state) {
  (void)state;
  char directory[TEMP_SIZE], path[PATH_MAX], digest[2][LGV_DIGEST_SIZE], text[64];
  lgv_error err = {0};
  make_temp(directory);
  lgv_settings *settings = make_settings(
      "mapped", "dqn", "env.more.b=2 env.more.a.deep=\"x\" env.more.c=[1,2] env.n=3 run.steps=10");
  lgv_plan *plan = plan_of(settings);
  assert_int_equal(lgv_plan_get(plan, "env.more.b", text, sizeof text, &err), LGV_OK);
  assert_string_equal(text, "2");
  assert_int_equal(lgv_plan_get(plan, "env.more.d", text, sizeof text, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_plan_digest(plan, digest[0], &err), LGV_OK);
  lgv_run *run;
  assert_int_equal(lgv_run_create(plan, 1, directory, &run, &err), LGV_OK);
  lgv_run_free(run);
  lgv_plan_free(plan);
  lgv_settings_free(settings);

  settings = make_settings(NULL, NULL, NULL);
  join(path, directory, "config.json");
  assert_int_equal(lgv_settings_load(settings, path, &err), LGV_OK);
  assert_string_equal(lgv_settings_get(settings, "env.more.a.deep"), "\"x\"");
  assert_string_equal(lgv_settings_get(settings, "env.more.c"), "[1,2]");
  plan = plan_of(settings);
  assert_int_equal(lgv_plan_digest(plan, digest[1], &err), LGV_OK);
  assert_string_equal(digest[0], digest[1]);
  lgv_plan_free(plan);
  lgv_settings_free(settings);
  remove_tree(directory);
}

static void a_map_takes_entries_alone(void **state) {
  (void)state;
  const char *const wrong[][2] = {{"env.more=1", "any more.NAME=VALUE"},
                                  {"env.more.=1", "env.more."},
                                  {"env.mora.x=1", "unknown key"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    lgv_settings *settings = make_settings("mapped", "dqn", wrong[i][0]);
    lgv_plan *plan;
    lgv_error err = {0};
    assert_int_equal(lgv_settings_add_env(settings, &type, &err), LGV_OK);
    assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
    if (!strstr(err.message, wrong[i][1])) fail_msg("'%s' lacks '%s'", err.message, wrong[i][1]);
    lgv_settings_free(settings);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_are_sorted_and_replaced),
      cmocka_unit_test(what_cannot_be_kept_is_refused),
      cmocka_unit_test(a_map_survives_the_way_to_config_json_and_back),
      cmocka_unit_test(a_map_takes_entries_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
