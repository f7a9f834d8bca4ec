/* Where the command line writes: one run or several seeds per directory, runs that resume in their
 * own, and limits of the system. */
#include "cli_helpers.h"

#define SMALL "$L run --env riverswim --agent lmc-lsvi --set env.n=4 --set env.horizon=6 -q "

static void expect_refusal(const char *command, const char *words) {
  expect_shell(command, 2);
  assert_string_equal(out, "");
  assert_says(err, words);
}

/* What reads a directory takes it for one of the two. */
static void a_run_and_seeds_do_not_share_a_directory(void **state) {
  (void)state;
  expect_shell(SMALL "--episodes 30 --out one", 0);
  expect_refusal(SMALL "--episodes 30 --seeds 2 --out one", "one holds a single run");
  expect_refusal("$L run --resume one --seeds 2", "one holds a single run");
  expect_shell(SMALL "--episodes 30 --seed 3 --seeds 2 --out two", 0);
  const char *wrong[] = {SMALL "--episodes 30 --out two", "$L eval two", "$L watch two",
                         "$L export two --out two.c", "$L plot two --values --out two.svg"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    expect_refusal(wrong[i], "two is a directory of several seeds: name one of them, such as "
                             "two/seed-3");
  expect_shell("$L eval two/seed-3 --episodes 1", 0);
}

static void seeds_are_gone_on_with_as_they_are(void **state) {
  (void)state;
  expect_shell(SMALL "--episodes 30 --seed 3 --seeds 2 --out two", 0);
  expect_shell(SMALL "--episodes 30 --seed 7 --seeds 2 --out two", 0);
  expect_refusal("$L run --resume two", "the seeds in two are not consecutive");
  expect_shell("$L run --resume two --seed 7 --seeds 2", 0);
  assert_says(out, "2 seeds: 7 to 8");
  expect_shell("rm -r two/seed-7 two/seed-8 && $L run --resume two", 0);
  assert_says(out, "2 seeds: 3 to 4");
}

static void a_run_goes_on_in_its_own_directory(void **state) {
  (void)state;
  expect_shell(SMALL "--episodes 30 --out a", 0);
  assert_says(out, " steps/s; records in a");
  expect_refusal("$L run --resume a --out b", "use either --out");
  expect_refusal("$L run --out b --resume a", "use either --out");
  expect_refusal("$L run --resume a --resume a", "use either --out");
  expect_shell("$L run --resume a", 0);
  assert_says(out, " s; records in a"); /* nothing was done, which has no speed */
}

/* config.json would state less than the records hold. */
static void a_run_does_not_end_before_what_it_has_done(void **state) {
  (void)state;
  expect_shell(SMALL "--episodes 30 --out a && cp a/config.json before", 0);
  expect_refusal("$L run --resume a --episodes 29", "a has done 30 episodes already");
  expect_refusal("$L run --resume a --steps 179", "a has done 180 steps already");
  expect_shell("cmp a/config.json before && $L run --resume a --episodes 31", 0);
  expect_shell("$L run --env nchain --agent dqn --set run.envs=4 --steps 30 --out b -q && "
               "$L run --resume b",
               0);
}

static void a_limit_of_file_sizes_is_a_full_disk(void **state) {
  (void)state;
  expect_shell("ulimit -f 8; " SMALL "--episodes 300 --out long", 1);
  assert_says(err, "File too large");
  expect_shell("$L run --resume long", 0);
}

/* Commands that only look leave the directory as it was, and show the same again. */
static void looking_changes_no_directory(void **state) {
  (void)state;
  expect_shell("$L run --env nchain --set env.n=8 --agent bootstrapped-dqn --steps 300 -q "
               "--set run.checkpoint_final=true --set agent.warmup=50 --out a && cp -r a kept",
               0);
  const char *const looks[] = {"$L eval a --episodes 2",
                               "$L export a --out x.c && cat x.c",
                               "$L compare a",
                               "$L show a",
                               "$L plot a --out x.svg",
                               "$L plot a --values --out x.svg",
                               "$L report a --out x.html"};
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
    expect_shell(looks[i], 0);
    char *first = strdup(out);
    expect_shell(looks[i], 0);
    assert_string_equal(out, first);
    free(first);
    expect_shell("diff -r a kept", 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(looking_changes_no_directory, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_and_seeds_do_not_share_a_directory, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(seeds_are_gone_on_with_as_they_are, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_goes_on_in_its_own_directory, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_does_not_end_before_what_it_has_done, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(a_limit_of_file_sizes_is_a_full_disk, make_place,
                                      remove_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
