/* Two hundred kills over all agents: `make test-kills`. LANGEVIN_KILLS_SEED chooses other moments.
 */
#include "kill_helpers.h"

static void two_hundred_kills_change_nothing(void **state) {
  (void)state;
  const char *seed = getenv("LANGEVIN_KILLS_SEED");
  int agents = 0;
  while (lgv__agents[agents]) agents++;
  int kills = kill_every_agent((200 + agents - 1) / agents, seed ? strtoull(seed, NULL, 10) : 1);
  print_message("%d kills of %d agents\n", kills, agents);
  assert_true(kills >= 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_hundred_kills_change_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
