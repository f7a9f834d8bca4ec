/* Plans: resolved values, budgets, defaults for every entry of the registry. */
#include "registry.h"

#include "tiny_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void assert_resolved(const lgv_plan *plan, const char *key, const char *expected) {
  char text[512];
  lgv_error err = {0};
  if (lgv_plan_get(plan, key, text, sizeof text, &err) != LGV_OK) fail_msg("%s", err.message);
  if (strcmp(text, expected) != 0) fail_msg("%s is '%s', not '%s'", key, text, expected);
}

static void what_was_left_open_is_resolved(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", "agent.lambda=0.25");
  assert_resolved(plan, "env.name", "riverswim");
  assert_resolved(plan, "env.n", "12");
  assert_resolved(plan, "env.variant", "osband");
  assert_resolved(plan, "agent.name", "lmc-lsvi");
  assert_resolved(plan, "agent.lambda", "0.25");
  assert_resolved(plan, "agent.features", "one-hot"); /* auto: RiverSwim offers none */
  assert_resolved(plan, "agent.gram", "diagonal");    /* auto: one-hot features allow it */
  assert_resolved(plan, "run.episodes", "1000");      /* it plans by episode */
  assert_resolved(plan, "run.steps", "0");
  lgv_plan_free(plan);
  lgv_plan_free(NULL);
}

static void defaults_that_follow_a_choice_are_shown(void **state) {
  (void)state;
  static const struct {
    const char *settings, *alpha2;
  } cases[] = {{"optim.form=paper", "0.99"},
               {"optim.form=code", "0.999"},
               {"optim.form=code optim.alpha2=0.5", "0.5"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_plan *plan = make_plan("nchain", "adam-lmcdqn", cases[i].settings);
    assert_resolved(plan, "optim.alpha2", cases[i].alpha2);
    lgv_plan_free(plan);
  }
}

static void the_theorems_schedule_sets_its_constants(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", "agent.schedule=theory run.episodes=100");
  lgv_theory theory;
  lgv_error err = {0};
  char text[64];
  assert_resolved(plan, "agent.lambda", "1");
  assert_int_equal(lgv_theory_compute(40, 24, 100, 0.2, false, &theory, &err), LGV_OK);
  assert_int_equal(lgv_plan_get(plan, "agent.beta", text, sizeof text, &err), LGV_OK);
  double beta = 1 / (theory.inv_sqrt_beta * theory.inv_sqrt_beta), found = strtod(text, NULL);
  assert_true(found > beta * (1 - 1e-12) && found < beta * (1 + 1e-12));
  lgv_plan_free(plan);
}

static void a_budget_that_was_given_stays(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "lmc-lsvi", "run.steps=500");
  assert_resolved(plan, "run.steps", "500");
  assert_resolved(plan, "run.episodes", "0");
  lgv_plan_free(plan);
}

static void evaluations_of_the_longest_run_fit(void **state) {
  (void)state;
  lgv_plan *plan = make_plan("riverswim", "dqn", "run.episodes=1e15 env.horizon=1e6");
  assert_resolved(plan, "run.eval_every", "1000000000000000");
  lgv_plan_free(plan);
  plan = make_plan("riverswim", "dqn", "run.episodes=50");
  assert_resolved(plan, "run.eval_every", "20"); /* a hundredth of 50 * 40 steps */
  lgv_plan_free(plan);
}

static void unknown_keys_have_no_value(void **state) {
  (void)state;
  lgv_plan *plan = make_coin_plan(NULL);
  lgv_error err = {0};
  char text[64];
  const char *const keys[] = {"agent.lamda", "env.", "run", "", "optim.lr", "optim.name"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    assert_int_equal(lgv_plan_get(plan, keys[i], text, sizeof text, &err), LGV_ERR_USAGE);
  lgv_plan_free(plan);
}

/* A value as a user would write it comes out as such: every default of every entry. */
static void every_default_reads_back(void **state) {
  (void)state;
  const char *const kinds[] = {"env", "agent", "optimizer", "run"};
  int seen = 0;
  for (int k = 0; k < 4; k++) {
    lgv_entry entry;
    for (size_t i = 0; lgv_registry_get(kinds[k], i, &entry); i++) {
      assert_true(entry.name && *entry.name && entry.summary && *entry.summary);
      lgv_entry found;
      assert_true(lgv_registry_find(kinds[k], entry.name, &found));
      assert_ptr_equal(found.params, entry.params);
      assert_string_equal(lgv_registry_nearest(kinds[k], entry.name), entry.name);
      for (const lgv_param *p = entry.params; p && p->name; p++, seen++) {
        char range[256];
        lgv_param_range(p, range, sizeof range);
        if (!p->default_text) fail_msg("%s %s.%s has no default", kinds[k], entry.name, p->name);
        if (!p->help || !*p->help) fail_msg("%s %s.%s has no help", kinds[k], entry.name, p->name);
        assert_true(*range);
      }
    }
  }
  assert_true(seen > 30);
  lgv_entry entry;
  assert_false(lgv_registry_get("nonsense", 0, &entry));
  assert_false(lgv_registry_find("env", "nonsense", &entry));
  assert_null(lgv_registry_nearest("env", "zzzzzzzzzzzzz"));
}

static void every_entry_names_its_file(void **state) {
  (void)state;
  const char *const kinds[] = {"env", "agent"};
  for (int k = 0; k < 2; k++) {
    lgv_entry entry;
    for (size_t i = 0; lgv_registry_get(kinds[k], i, &entry); i++) {
      char path[512];
      assert_non_null(entry.source);
      snprintf(path, sizeof path, TEST_SOURCE_DIR "/../%s", entry.source);
      if (access(path, R_OK) != 0) fail_msg("%s: there is no %s", entry.name, entry.source);
    }
  }
}

static void an_agent_says_what_it_needs(void **state) {
  (void)state;
  lgv_settings *s = make_settings("cartpole", "lmc-lsvi", NULL);
  lgv_plan *plan;
  lgv_error err = {0};
  assert_int_equal(lgv_plan_create(s, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "needs an environment"));
  lgv_settings_free(s);
}

/* A handle of its own reads its own keys and leaves the rest alone. */
static void an_environment_alone_needs_no_agent(void **state) {
  (void)state;
  lgv_settings *s = make_settings("riverswim", NULL, "env.n=5 agent.nonsense=1");
  lgv_env *env;
  lgv_error err = {0};
  assert_int_equal(lgv_env_create(s, 1, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_get_spec(env)->states, 5);
  lgv_env_free(env);
  lgv_settings_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_left_open_is_resolved),
      cmocka_unit_test(defaults_that_follow_a_choice_are_shown),
      cmocka_unit_test(the_theorems_schedule_sets_its_constants),
      cmocka_unit_test(a_budget_that_was_given_stays),
      cmocka_unit_test(evaluations_of_the_longest_run_fit),
      cmocka_unit_test(unknown_keys_have_no_value),
      cmocka_unit_test(every_default_reads_back),
      cmocka_unit_test(every_entry_names_its_file),
      cmocka_unit_test(an_agent_says_what_it_needs),
      cmocka_unit_test(an_environment_alone_needs_no_agent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
