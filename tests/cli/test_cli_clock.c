/* No result depends on a clock: with one that jumps by hours at every reading, forward and
 * backward, runs and sweeps end with the same bytes. */
#include "fault_helpers.h"

#ifdef TEST_CLI

#include "cli_helpers.h"

/* `langevin WORDS` with a clock of this kind; NULL: the true one. */
static void run_with(const char *clock, const char *words) {
  char line[2048], shim[600] = "";
  if (clock)
    snprintf(shim, sizeof shim,
             "CLOCK_JUMPS=%s LD_PRELOAD='%s' ASAN_OPTIONS=verify_asan_link_order=0", clock,
             TEST_CLOCK_SHIM);
  snprintf(line, sizeof line, "%s \"$L\" %s", shim, words);
  expect_shell(line, 0);
}

static void compare(const char *one, const char *other) {
  char a[PATH_MAX], b[PATH_MAX];
  join(a, directory, one);
  join(b, directory, other);
  assert_same_records(a, b);
}

/* The shim works: else the tests below would show nothing. */
static void the_clock_jumps(void **state) {
  (void)state;
  char line[1024];
  snprintf(line, sizeof line,
           "a=$(CLOCK_JUMPS=real LD_PRELOAD='%s' date +%%s) && b=$(date +%%s) && d=$((a - b)) && "
           "[ ${d#-} -gt 60 ]",
           TEST_CLOCK_SHIM);
  assert_int_equal(system(line), 0);
}

static void runs_do_not_look_at_the_clock(void **state) {
  (void)state;
  static const char *const clocks[] = {NULL, "real", "all"};
  static const char *const kinds[] = {
      "run --env riverswim --agent lmc-lsvi --episodes 40",
      "run --env nchain --agent adam-lmcdqn --steps 500 --set run.eval_every=100 --set "
      "run.checkpoint_every=120 --set run.stop_seconds=100000",
  };
  for (int k = 0; k < 2; k++)
    for (int c = 0; c < 3; c++) {
      char words[512], name[16], first[16];
      snprintf(name, sizeof name, "run%d-%d", k, c);
      snprintf(first, sizeof first, "run%d-0", k);
      snprintf(words, sizeof words, "%s --set run.tensorboard=true --out %s", kinds[k], name);
      run_with(clocks[c], words);
      if (c == 0) continue;
      compare(first, name);
      snprintf(words, sizeof words, "run --resume %s", name); /* takes the lock; nothing to do */
      run_with(clocks[c], words);
      compare(first, name);
    }
}

static void sweeps_do_not_look_at_the_clock(void **state) {
  (void)state;
  char command[1024];
  write_text(directory, "s.yaml",
             "env: {name: riverswim, n: 4}\nagent: psrl\nrun: {episodes: 10}\n"
             "seeds: {first: 0, count: 2}\ngrid: {env.horizon: [5, 8]}\n");
  run_with(NULL, "sweep s.yaml --out still --jobs 2");
  run_with("real", "sweep s.yaml --out real --jobs 2");
  run_with("all", "sweep s.yaml --out all --jobs 2");
  run_with("all", "report all");
  for (int i = 0; i < 2; i++) {
    snprintf(command, sizeof command,
             "cd '%s' && diff -r --exclude=timing.json --exclude='events*' --exclude='*.html' "
             "still %s",
             directory, i ? "all" : "real");
    assert_int_equal(system(command), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_clock_jumps, make_place, remove_place),
      cmocka_unit_test_setup_teardown(runs_do_not_look_at_the_clock, make_place, remove_place),
      cmocka_unit_test_setup_teardown(sweeps_do_not_look_at_the_clock, make_place, remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) { return 0; } /* built without the command line */

#endif
