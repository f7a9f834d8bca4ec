/* agent.name = auto: the rule, and what plans and agents make of it. */
#include "tiny_world.h"

#include <stdio.h>

static const char posterior[] = "pathwise-lmcdqn", general[] = "adam-lmcdqn";

/* A spec with observations of this form. */
static lgv_env_spec make_spec(lgv_obs_form form, lgv_action_space actions) {
  return (lgv_env_spec){.size = sizeof(lgv_env_spec),
                        .obs_form = form,
                        .obs_shape = {1, 1, 4},
                        .actions = actions,
                        .horizon = 8};
}

static void the_rule_follows_observations_and_actions(void **state) {
  (void)state;
  lgv_action_space one = {.kind = LGV_DISCRETE, .count = 2, .parts = 1};
  lgv_action_space several = {.kind = LGV_MULTI_DISCRETE, .count = 4, .parts = 2};
  lgv_env_spec specs[] = {make_spec(LGV_FORM_ONE_HOT, one), make_spec(LGV_FORM_THERMOMETER, one),
                          make_spec(LGV_FORM_DENSE, one), make_spec(LGV_FORM_ONE_HOT, several),
                          make_spec(LGV_FORM_DENSE, several)};
  const char *expected[] = {posterior, posterior, general, general, general};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
    assert_string_equal(lgv_auto_agent(&specs[i]), expected[i]);
  assert_non_null(strstr(lgv_auto_rule(), posterior));
  assert_non_null(strstr(lgv_auto_rule(), general));
}

static void a_plan_is_that_of_the_picked_agent(void **state) {
  (void)state;
  static const struct {
    const char *env, *settings, *agent;
  } cases[] = {{"deepsea", "", posterior},
               {"nchain", "", posterior},
               {"nchain", "env.stack=2", general},
               {"cartpole", "run.steps=500", general},
               {"switches", "", general}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char digests[2][LGV_DIGEST_SIZE], name[64];
    const char *agents[] = {"auto", cases[i].agent};
    for (int a = 0; a < 2; a++) {
      lgv_plan *plan = make_plan(cases[i].env, agents[a], cases[i].settings);
      assert_int_equal(lgv_plan_digest(plan, digests[a], NULL), LGV_OK);
      assert_int_equal(lgv_plan_get(plan, "agent.name", name, sizeof name, NULL), LGV_OK);
      assert_string_equal(name, cases[i].agent);
      lgv_plan_free(plan);
    }
    assert_string_equal(digests[0], digests[1]);
  }
}

static void keep_notice(void *context, const char *text) { snprintf(context, 200, "%s", text); }

static lgv_settings *make_auto(const char *env, const char *assignment, char *notice) {
  lgv_settings *settings;
  assert_int_equal(lgv_settings_create(&settings, NULL), LGV_OK);
  assert_int_equal(lgv_settings_set(settings, "env.name", env, NULL, NULL), LGV_OK);
  assert_int_equal(lgv_settings_set(settings, "agent.name", "auto", NULL, NULL), LGV_OK);
  if (assignment[0])
    assert_int_equal(lgv_settings_assign(settings, assignment, NULL, NULL), LGV_OK);
  lgv_settings_on_notice(settings, keep_notice, notice);
  notice[0] = '\0';
  return settings;
}

static void a_notice_names_the_picked_agent(void **state) {
  (void)state;
  char notice[200];
  lgv_plan *plan;
  lgv_settings *settings = make_auto("cartpole", "", notice);
  assert_int_equal(lgv_plan_create(settings, &plan, NULL), LGV_OK);
  assert_string_equal(notice, "agent.name = auto picked adam-lmcdqn");
  assert_string_equal(lgv_settings_get(settings, "agent.name"), "auto"); /* the caller's own */
  lgv_plan_free(plan);
  lgv_settings_free(settings);
}

static void mistakes_name_the_picked_agent(void **state) {
  (void)state;
  char notice[200];
  lgv_plan *plan;
  lgv_error err = {0};
  lgv_settings *settings = make_auto("cartpole", "agent.lamp=3", notice);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "unknown key 'agent.lamp'"));
  assert_non_null(strstr(err.message, "(agent.name = auto picked adam-lmcdqn)"));
  lgv_settings_free(settings);
  settings = make_auto("cartpole", "lamp=3", notice);
  assert_int_equal(lgv_plan_create(settings, &plan, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "keys begin with env., agent., optim., features. or run."));
  lgv_settings_free(settings);
}

static void agents_without_a_run_are_picked_too(void **state) {
  (void)state;
  char notice[200];
  lgv_env *env;
  lgv_agent *agent;
  lgv_error err = {0};
  lgv_settings *settings = make_auto("deepsea", "", notice);
  assert_int_equal(lgv_env_create(settings, 1, &env, NULL), LGV_OK);
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  assert_int_equal(lgv_agent_create(settings, spec, 0, 0, 1, &agent, NULL), LGV_OK);
  assert_non_null(strstr(notice, posterior));
  lgv_agent_free(agent);
  assert_int_equal(lgv_settings_set(settings, "agent.lamp", "3", NULL, NULL), LGV_OK);
  assert_int_equal(lgv_agent_create(settings, spec, 0, 0, 1, &agent, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "(agent.name = auto picked "));
  assert_null(agent);
  lgv_env_free(env);
  lgv_settings_free(settings);
}

static void sac_takes_boxes(void **state) {
  (void)state;
  char notice[200];
  lgv_agent *agent;
  lgv_action_space box = {.kind = LGV_BOX, .parts = 1, .low = {-1}, .high = {1}};
  lgv_env_spec spec = make_spec(LGV_FORM_DENSE, box);
  lgv_settings *settings = make_auto("cartpole", "", notice);
  assert_int_equal(lgv_agent_create(settings, &spec, 0, 0, 1, &agent, NULL), LGV_OK);
  assert_non_null(strstr(notice, "sac"));
  lgv_agent_free(agent);
  lgv_settings_free(settings);
}

static void an_agent_of_that_name_wins(void **state) {
  (void)state;
  char notice[200], name[64];
  lgv_plan *plan;
  lgv_agent_type own = cycle_type;
  own.name = "auto";
  lgv_settings *settings = make_auto("coin", "", notice);
  assert_int_equal(lgv_settings_add_env(settings, &coin_type, NULL), LGV_OK);
  assert_int_equal(lgv_settings_add_agent(settings, &own, NULL), LGV_OK);
  assert_int_equal(lgv_plan_create(settings, &plan, NULL), LGV_OK);
  assert_int_equal(lgv_plan_get(plan, "agent.name", name, sizeof name, NULL), LGV_OK);
  assert_string_equal(name, "auto");
  assert_string_equal(notice, "");
  lgv_plan_free(plan);
  lgv_settings_free(settings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_rule_follows_observations_and_actions),
      cmocka_unit_test(a_plan_is_that_of_the_picked_agent),
      cmocka_unit_test(a_notice_names_the_picked_agent),
      cmocka_unit_test(mistakes_name_the_picked_agent),
      cmocka_unit_test(agents_without_a_run_are_picked_too),
      cmocka_unit_test(sac_takes_boxes),
      cmocka_unit_test(an_agent_of_that_name_wins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
