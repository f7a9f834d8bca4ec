/* Thousands of updates in bf16 and bf16x3 leave the same checkpoints with every kernel set. An
 * argument chooses tests by a pattern: `slow_precision '*nature'`. */
#include "precision_runs.h"

static void two_thousand_updates_of_mlps(void **state) {
  (void)state;
  check_agents(&mlp_64_64, 2000);
}

static void two_thousand_updates_of_convolutions(void **state) {
  (void)state;
  check_agents(&conv_10_10, 2000);
}

static void twenty_updates_of_nature(void **state) {
  (void)state;
  check_agents(&nature, 20);
}

int main(int count, char **words) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_thousand_updates_of_mlps),
      cmocka_unit_test(two_thousand_updates_of_convolutions),
      cmocka_unit_test(twenty_updates_of_nature),
  };
  if (count > 1) cmocka_set_test_filter(words[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
