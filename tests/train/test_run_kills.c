/* Every agent is killed once at a random moment; slow_kills.c does it more often. */
#include "kill_helpers.h"

static void runs_that_are_killed_end_as_if_they_were_not(void **state) {
  (void)state;
  int kills = kill_every_agent(1, 1);
  print_message("%d kills\n", kills);
  assert_true(kills >= 20);
}

/* Stopped for a while, a run neither notices nor changes. */
static void a_pause_changes_nothing(void **state) {
  (void)state;
  char root[TEMP_SIZE], alone[PATH_MAX], paused[PATH_MAX];
  lgv_error err = {0};
  lgv_plan *plan = make_plan("nchain", "adam-lmcdqn", "run.steps=3000 run.checkpoint_every=500");
  make_temp(root);
  join(alone, root, "alone");
  join(paused, root, "paused");
  if (finish_run(plan, alone, false, &err) != LGV_OK) fail_msg("%s", err.message);
  pid_t child = start_life(plan, paused);
  const struct timespec moment = {.tv_nsec = 5000000};
  int status = 0;
  for (int i = 0; i < 10; i++) {
    kill(child, SIGSTOP);
    nanosleep(&moment, NULL);
    kill(child, SIGCONT);
    nanosleep(&moment, NULL);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_same_records(alone, paused);
  remove_tree(root);
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_that_are_killed_end_as_if_they_were_not),
      cmocka_unit_test(a_pause_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
