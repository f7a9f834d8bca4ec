/* Some hundred kills over all agents: `make test-kills`. LANGEVIN_KILLS says how many at least,
 * LANGEVIN_KILLS_SEED chooses other moments. */
#include "kill_helpers.h"

static uint64_t parameter(const char *name, uint64_t usual) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : usual;
}

static void kills_change_nothing(void **state) {
  (void)state;
  int wanted = (int)parameter("LANGEVIN_KILLS", 200), agents = count_agents_to_kill();
  int kills = kill_every_agent((wanted + agents - 1) / agents, parameter("LANGEVIN_KILLS_SEED", 1));
  print_message("%d kills of %d agents and kinds of state\n", kills, agents);
  assert_true(kills >= wanted);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kills_change_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
