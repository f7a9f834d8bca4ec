/* Settings: what replaces what, where a value came from, and what is said of a wrong one. */
#include "tiny_world.h"

#include <stdio.h>

/* The message of a plan that must be refused. */
static const char *refusal(const lgv_settings *settings) {
  static lgv_error err;
  lgv_plan *plan;
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_null(plan);
  return err.message;
}

static void assert_says(const char *message, const char *part) {
  if (!strstr(message, part)) fail_msg("'%s' does not say '%s'", message, part);
}

static void a_later_value_replaces_an_earlier_one(void **state) {
  (void)state;
  lgv_settings *s = make_settings(NULL, NULL, NULL);
  lgv_error err = {0};
  char key[32], value[32];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 100; i++) {
      snprintf(key, sizeof key, "run.key%d", i);
      snprintf(value, sizeof value, "%d", round * 1000 + i);
      assert_int_equal(lgv_settings_set(s, key, value, NULL, &err), LGV_OK);
    }
  assert_string_equal(lgv_settings_get(s, "run.key0"), "1000");
  assert_string_equal(lgv_settings_get(s, "run.key99"), "1099");
  assert_null(lgv_settings_get(s, "run.key100"));
  lgv_settings_free(s);
  lgv_settings_free(NULL);
}

static void the_last_origin_is_the_one_that_counts(void **state) {
  (void)state;
  lgv_settings *s = make_settings("riverswim", "lmc-lsvi", NULL);
  lgv_error err = {0};
  assert_int_equal(lgv_settings_set(s, "agent.lambda", "-1", "a.yaml:3:5", &err), LGV_OK);
  assert_says(refusal(s), "agent.lambda = '-1'");
  assert_says(refusal(s), "(in a.yaml:3:5)");
  assert_int_equal(lgv_settings_set(s, "agent.lambda", "-2", "--set", &err), LGV_OK);
  assert_says(refusal(s), "agent.lambda = '-2'");
  assert_says(refusal(s), "(in --set)");
  lgv_settings_free(s);
}

static void an_assignment_has_a_key_and_an_equals_sign(void **state) {
  (void)state;
  lgv_settings *s = make_settings(NULL, NULL, NULL);
  lgv_error err = {0};
  assert_int_equal(lgv_settings_assign(s, "a.b=c=d", "--set", &err), LGV_OK);
  assert_string_equal(lgv_settings_get(s, "a.b"), "c=d");
  assert_int_equal(lgv_settings_assign(s, "a.b=", "--set", &err), LGV_OK);
  assert_string_equal(lgv_settings_get(s, "a.b"), "");
  assert_int_equal(lgv_settings_assign(s, "nothing", "--set", &err), LGV_ERR_USAGE);
  assert_string_equal(err.message, "--set 'nothing' is not of the form key=value");
  assert_int_equal(lgv_settings_assign(s, "=1", "--set", &err), LGV_ERR_USAGE);
  lgv_settings_free(s);
}

static void unknown_keys_are_refused_and_the_nearest_named(void **state) {
  (void)state;
  const struct {
    const char *assignment, *said, *nearest;
  } cases[] = {
      {"agent.lamda=1", "unknown key 'agent.lamda' (in test)", "'agent.lambda'"},
      {"env.horizn=1", "unknown key 'env.horizn'", "'env.horizon'"},
      {"run.episode=1", "unknown key 'run.episode'", "'run.episodes'"},
      {"agent.zzzzzz=1", "'agent.zzzzzz' (in test); `langevin help lmc-lsvi` lists all", NULL},
      {"run.name=x", "'run.name' (in test); `langevin help run` lists all", NULL},
      {"optim.lr=1", "optim.lr", NULL}, /* this agent has no optimizer */
      {"optim.name=adam", "optimizer", NULL},
      {"agnet.lambda=1", "keys begin with env., agent., optim., features. or run.", NULL},
      {"lambda=1", "keys begin with env., agent., optim., features. or run.", "'agent.lambda'"},
      {"seed=1", "unknown key 'seed'", "'run.seed'"}, /* not what is near it: oppo has agent.step */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool near_another = strcmp(cases[i].assignment, "seed=1") == 0;
    lgv_settings *s =
        make_settings("riverswim", near_another ? "oppo" : "lmc-lsvi", cases[i].assignment);
    const char *message = refusal(s);
    assert_says(message, cases[i].said);
    if (cases[i].nearest)
      assert_says(message, cases[i].nearest);
    else
      assert_null(strstr(message, "did you mean"));
    lgv_settings_free(s);
  }
}

static void unknown_names_are_refused_and_the_nearest_named(void **state) {
  (void)state;
  const struct {
    const char *env, *agent, *said, *nearest;
  } cases[] = {
      {"riverswin", "lmc-lsvi", "no environment 'riverswin' (in test)", "'riverswim'"},
      {"riverswim", "lmc-lsv", "no agent 'lmc-lsv'", "'lmc-lsvi'"},
      {"zzzzzzzzzzzz", "lmc-lsvi", "no environment 'zzzzzzzzzzzz'", NULL},
      {NULL, "lmc-lsvi", "no environment was named", NULL},
      {"riverswim", NULL, "no agent was named", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_settings *s = make_settings(cases[i].env, cases[i].agent, NULL);
    const char *message = refusal(s);
    assert_says(message, cases[i].said);
    if (cases[i].nearest)
      assert_says(message, cases[i].nearest);
    else
      assert_null(strstr(message, "did you mean"));
    lgv_settings_free(s);
  }
}

static void keep_notice(void *context, const char *text) { snprintf(context, 200, "%s", text); }

/* The new agent, and a notice that says so; an agent of the caller's with that name wins. */
static void former_names_of_agents_are_accepted(void **state) {
  (void)state;
  char notice[200] = "", name[64];
  lgv_settings *s = make_settings("nchain", "gn-lmcdqn", NULL);
  lgv_agent_type own = cycle_type;
  lgv_plan *plan;
  lgv_entry entry;
  lgv_settings_on_notice(s, keep_notice, notice);
  assert_int_equal(lgv_plan_create(s, &plan, NULL), LGV_OK);
  assert_int_equal(lgv_plan_get(plan, "agent.name", name, sizeof name, NULL), LGV_OK);
  assert_string_equal(name, "pathwise-lmcdqn");
  assert_says(notice, "gn-lmcdqn has been replaced by pathwise-lmcdqn");
  lgv_plan_free(plan);
  assert_true(lgv_registry_find("agent", "gn-lmcdqn", &entry));
  assert_string_equal(entry.name, "pathwise-lmcdqn");
  assert_false(lgv_registry_find("env", "gn-lmcdqn", &entry));
  own.name = "gn-lmcdqn";
  notice[0] = '\0';
  assert_int_equal(lgv_settings_add_agent(s, &own, NULL), LGV_OK);
  assert_int_equal(lgv_plan_create(s, &plan, NULL), LGV_OK);
  assert_int_equal(lgv_plan_get(plan, "agent.name", name, sizeof name, NULL), LGV_OK);
  assert_string_equal(name, "gn-lmcdqn");
  assert_string_equal(notice, "");
  lgv_plan_free(plan);
  lgv_settings_free(s);
}

static void the_line_survives_a_long_path(void **state) {
  (void)state;
  lgv_settings *s = make_settings("riverswim", "lmc-lsvi", NULL);
  lgv_error err = {0};
  char origin[256];
  memset(origin, 'p', sizeof origin);
  snprintf(origin + 190, sizeof origin - 190, ".yaml:12:34");
  assert_int_equal(lgv_settings_set(s, "agent.lamda", "1", origin, &err), LGV_OK);
  assert_says(refusal(s), ".yaml:12:34)");
  lgv_settings_free(s);
}

static void ones_own_descriptors_come_before_the_registrys(void **state) {
  (void)state;
  lgv_env_type own = coin_type;
  own.name = "riverswim";
  lgv_settings *s = make_settings("riverswim", "lmc-lsvi", NULL);
  lgv_error err = {0};
  lgv_env *env;
  assert_int_equal(lgv_env_create(s, 0, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_get_spec(env)->states, 12);
  lgv_env_free(env);
  assert_int_equal(lgv_settings_add_env(s, &own, &err), LGV_OK);
  assert_int_equal(lgv_env_create(s, 0, &env, &err), LGV_OK);
  assert_int_equal(lgv_env_get_spec(env)->states, 1);
  lgv_env_free(env);
  lgv_settings_free(s);
}

static void descriptors_without_what_is_called_are_refused(void **state) {
  (void)state;
  lgv_settings *s = make_settings("riverswim", "lmc-lsvi", NULL);
  lgv_error err = {0};
  lgv_env_type env = coin_type;
  lgv_agent_type agent = cycle_type;
  env.step = NULL;
  assert_int_equal(lgv_settings_add_env(s, &env, &err), LGV_ERR_USAGE);
  assert_says(err.message, "the environment coin has no `step`");
  agent.act = NULL;
  assert_int_equal(lgv_settings_add_agent(s, &agent, &err), LGV_ERR_USAGE);
  assert_says(err.message, "the agent cycle has no `act`");
  agent = (lgv_agent_type){.size = sizeof agent};
  assert_int_equal(lgv_settings_add_agent(s, &agent, &err), LGV_ERR_USAGE);
  assert_says(err.message, "(no name)");
  lgv_settings_free(s);
}

/* A program that was compiled against another langevin.h has descriptors of another size. */
static void descriptors_of_another_size_are_refused(void **state) {
  (void)state;
  lgv_settings *s = make_settings("riverswim", "lmc-lsvi", NULL);
  lgv_error err = {0};
  lgv_env_type env = coin_type;
  lgv_agent_type agent = cycle_type;
  env.size -= sizeof(void *);
  assert_int_equal(lgv_settings_add_env(s, &env, &err), LGV_ERR_USAGE);
  assert_says(err.message, "lgv_env_type.size is");
  assert_says(err.message, "another version of langevin.h");
  agent.size += sizeof(void *);
  assert_int_equal(lgv_settings_add_agent(s, &agent, &err), LGV_ERR_USAGE);
  assert_says(err.message, "lgv_agent_type.size is");
  agent.size = 0;
  assert_int_equal(lgv_settings_add_agent(s, &agent, &err), LGV_ERR_USAGE);
  assert_says(err.message, "set it to sizeof(lgv_agent_type)");
  lgv_settings_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_later_value_replaces_an_earlier_one),
      cmocka_unit_test(the_last_origin_is_the_one_that_counts),
      cmocka_unit_test(an_assignment_has_a_key_and_an_equals_sign),
      cmocka_unit_test(unknown_keys_are_refused_and_the_nearest_named),
      cmocka_unit_test(unknown_names_are_refused_and_the_nearest_named),
      cmocka_unit_test(former_names_of_agents_are_accepted),
      cmocka_unit_test(the_line_survives_a_long_path),
      cmocka_unit_test(ones_own_descriptors_come_before_the_registrys),
      cmocka_unit_test(descriptors_without_what_is_called_are_refused),
      cmocka_unit_test(descriptors_of_another_size_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
