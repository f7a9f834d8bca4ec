/* agent.name = auto on the command line. */
#include "cli_helpers.h"

static void a_run_says_and_records_what_was_picked(void **state) {
  (void)state;
  expect_shell("$L run --env cartpole --agent auto --steps 300 --quiet", 0);
  assert_says(err, "agent.name = auto picked adam-lmcdqn");
  assert_says(out, "adam-lmcdqn on cartpole");
  expect_shell("cat runs/cartpole-adam-lmcdqn-1/config.json", 0);
  assert_says(out, "\"name\": \"adam-lmcdqn\"");
  assert_null(strstr(out, "\"name\": \"auto\""));
}

static void its_records_are_those_of_the_agent(void **state) {
  (void)state;
  expect_shell("$L run --env nchain --agent auto --steps 300 --out auto --quiet && "
               "agent=$(sed -n 's/.*auto picked //p' stderr.txt) && "
               "$L run --env nchain --agent $agent --steps 300 --out named --quiet && "
               "cmp auto/config.json named/config.json && cmp auto/metrics.csv named/metrics.csv",
               0);
}

static void a_resumed_run_keeps_its_agent(void **state) {
  (void)state;
  expect_shell("for agent in auto adam-lmcdqn; do "
               "$L run --env cartpole --agent $agent --steps 200 --out $agent --quiet && "
               "$L run --resume $agent --steps 400 --quiet || exit 1; done; "
               "for file in config.json metrics.csv summary.json; do "
               "cmp auto/$file adam-lmcdqn/$file || exit 1; done",
               0);
  assert_says(out, "400");
}

static void a_sweep_is_named_by_the_picked_agent(void **state) {
  (void)state;
  expect_shell("printf 'env: cartpole\\nrun: {steps: 100}\\ngrid: {agent.name: [auto]}\\n' >s.yaml "
               "&& $L sweep s.yaml --quiet && ls runs/s",
               0);
  assert_says(out, "cartpole-adam-lmcdqn-");
}

static void help_states_the_rule(void **state) {
  (void)state;
  expect_shell("$L help agent auto && $L help auto && $L list agents", 0);
  assert_says(out, "agent auto: ");
  assert_says(out, "otherwise adam-lmcdqn");
  expect_shell("$L help agent auto --env cartpole", 0);
  assert_says(out, "agent adam-lmcdqn: ");
  assert_says(out, "on cartpole");
}

static void mistakes_name_the_picked_agent(void **state) {
  (void)state;
  expect_shell("$L run --env cartpole --agent auto --set agent.lamp=1 --steps 100", 2);
  assert_says(err, "unknown key 'agent.lamp'");
  assert_says(err, "(agent.name = auto picked adam-lmcdqn)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_run_says_and_records_what_was_picked, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(its_records_are_those_of_the_agent, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_resumed_run_keeps_its_agent, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_sweep_is_named_by_the_picked_agent, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(help_states_the_rule, make_place, remove_place),
      cmocka_unit_test_setup_teardown(mistakes_name_the_picked_agent, make_place, remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
