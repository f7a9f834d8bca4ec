/* Where the command line writes: one run or several seeds per directory, runs that resume in their
 * own, and limits of the system. */
#include "cli_helpers.h"

#include <unistd.h>

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

/* ---- Directories that cannot be looked at ---- */

/* A link to itself stands for a directory that cannot be entered: permissions do not stop root. */
static void what_cannot_be_looked_at_is_not_left_out(void **state) {
  (void)state;
  write_text(directory, "s.yaml",
             "env: {name: riverswim, n: 4, horizon: 6}\nrun: {episodes: 20}\n"
             "seeds: {first: 0, count: 3}\ncases: [{agent: psrl}, {agent: lmc-lsvi}]\n");
  expect_shell("$L sweep s.yaml --out s -q", 0);
  expect_shell("$L compare s", 0);
  const char *const breaks[] = {
      "d=$(ls -d s/*psrl*) && mv $d kept && ln -s $(basename $d) $d", /* a configuration */
      "d=$(ls -d s/*psrl*)/seed-1 && mv $d kept && ln -s seed-1 $d",  /* one of its seeds */
      "d=$(ls -d s/*psrl*)/seed-1/summary.json && mv $d kept && ln -s summary.json $d"};
  const char *const looks[] = {"$L compare s", "$L plot s --bars --out x.svg",
                               "$L report s --out x.html", "$L sweep s.yaml --out s --merge",
                               "$L sweep s.yaml --out s"};
  for (size_t b = 0; b < sizeof breaks / sizeof *breaks; b++) {
    expect_shell(breaks[b], 0);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
      expect_shell(looks[i], 1);
      assert_string_equal(out, "");
      assert_says(err, "cannot look at s/");
      assert_says(err, "Too many levels of symbolic links");
    }
    expect_shell("d=$(find s -type l ! -name latest | head -1) && rm $d && mv kept $d", 0);
  }
  expect_shell("$L compare s", 0);
}

/* A link to a directory or file that is gone, such as one on a disk that is not mounted. */
static void links_to_nothing_are_not_left_out(void **state) {
  (void)state;
  expect_shell(
      SMALL "--episodes 20 --out r/seed-1 && " SMALL "--seed 2 --episodes 20 --out r/seed-2", 0);
  expect_shell("mkdir q && cp -r r/seed-1 q/one && cp -r r/seed-2 q/two && $L compare q", 0);
  const char *const breaks[][2] = {{"r/seed-2", "$L compare r"},
                                   {"r/seed-2/summary.json", "$L compare r"},
                                   {"q/two", "$L compare q"},
                                   {"q/two/config.json", "$L report q --out x.html"}};
  for (size_t b = 0; b < sizeof breaks / sizeof *breaks; b++) {
    char line[256], complaint[256];
    snprintf(line, sizeof line, "mv %s kept && ln -s gone %s", breaks[b][0], breaks[b][0]);
    snprintf(complaint, sizeof complaint, "cannot look at %s: it is a link to nothing",
             breaks[b][0]);
    expect_shell(line, 0);
    expect_shell(breaks[b][1], 1);
    assert_says(err, complaint);
    snprintf(line, sizeof line, "rm %s && mv kept %s", breaks[b][0], breaks[b][0]);
    expect_shell(line, 0);
    expect_shell(breaks[b][1], 0);
  }
}

/* Nothing starts again, and nothing is overwritten, because a file could not be looked at. */
static void a_run_that_cannot_be_looked_at_does_not_start_again(void **state) {
  (void)state;
  expect_shell(SMALL "--episodes 30 --out a && cp a/metrics.csv kept", 0);
  expect_shell("mv a/config.json c && ln -s config.json a/config.json", 0);
  expect_shell(SMALL "--episodes 60 --out a", 1);
  assert_says(err, "cannot look at a/config.json");
  expect_shell("$L run --resume a --episodes 60", 2);
  expect_shell("$L eval a", 1);
  expect_shell("rm a/config.json && mv c a/config.json && cmp a/metrics.csv kept", 0);
  expect_shell("rm a/checkpoint* && ln -s checkpoint.safetensors a/checkpoint.safetensors", 0);
  expect_shell("$L run --resume a --episodes 60", 1);
  assert_says(err, "cannot look at a/checkpoint.safetensors");
  expect_shell("cmp a/metrics.csv kept", 0);
}

/* A user that is not root meets directories without permission. */
static void directories_without_permission_are_named(void **state) {
  (void)state;
  const char *const user =
      geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups $L" : "$L";
  char line[256];
  snprintf(line, sizeof line, "chmod 755 . && %s version", user);
  if (shell(line) != 0) skip(); /* no setpriv, or the program is where only root can read it */
  expect_shell(SMALL "--episodes 20 --out r/a && " SMALL "--seed 5 --episodes 20 --out r/b", 0);
  expect_shell("chmod -R a+rX r && chmod 000 r/b", 0);
  snprintf(line, sizeof line, "%s compare r", user);
  expect_shell(line, 1);
  assert_says(err, "cannot look at r/b/config.json: Permission denied");
  expect_shell("chmod 755 r/b", 0);
  expect_shell(line, 0);
}

/* ---- Escape sequences ---- */

/* A terminal obeys them, wherever they come from: names of directories, records, arguments. */
static void control_characters_are_made_visible(void **state) {
  (void)state;
  expect_shell(SMALL "--episodes 20 --out one && " SMALL "--seed 5 --episodes 20 --out two", 0);
  expect_shell("mkdir r && mv one \"$(printf 'r/a\\033[31mred')\" && "
               "mv two \"$(printf 'r/b\\302\\233')\"",
               0);
  expect_shell("cd r/a* && sed -i 's/\"finished\": true/\"finished\": false,\\n  "
               "\"error\": \"x\\\\u001b[2Jy\"/' summary.json && grep -q u001b summary.json",
               0);
  write_text(directory, "s.yaml",
             "env: riverswim\nagent: psrl\nrun.episodes: 3\nseeds: {first: 0, count: 1}\n");
  const char *const looks[] = {
      "$L show r",
      "$L show r/a*",
      "$L compare r",
      "$L compare r --csv",
      "$L report r --out x.html && cat x.html",
      "$L report r --out \"$(printf 'x\\033[1my.html')\"",
      "$L plot r --out \"$(printf 'x\\033[1my.svg')\"",
      "$L export r/b* --out \"$(printf 'x\\033[1my.c')\"",
      "cd r && $L sweep ../s.yaml -q --out \"$(printf 'x\\033[1my')\"",
      "$L show \"$(printf 'no\\033[1mwhere')\" || true",
      "$L \"$(printf 'no\\033[1mwhere')\" || true",
      "$L run --env \"$(printf 'no\\033[1mwhere')\" --agent psrl || true",
      "$L run --resume r/a* --set \"$(printf 'agent.no\\033[1mwhere')=1\" || true",
  };
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
    expect_shell(looks[i], 0);
    if (strchr(out, '\033') || strchr(err, '\033') || strstr(out, "\302\233"))
      fail_msg("%s prints an escape sequence: %s%s", looks[i], out, err);
    if (!strstr(out, "\\x1b[") && !strstr(err, "\\x1b["))
      fail_msg("%s hides it: %s%s", looks[i], out, err);
  }
  expect_shell("mkdir -p zoo/a zoo/b/README.md && touch zoo/a/config.yaml zoo/b/config.yaml && "
               "printf '| card \\033[2J |\\n' | tee zoo/README.md > zoo/a/README.md",
               0);
  expect_shell("LANGEVIN_ZOO=zoo $L zoo list && LANGEVIN_ZOO=zoo $L zoo show a", 0);
  assert_string_equal(out, "| card \\x1b[2J |\n| card \\x1b[2J |\n");
  expect_shell("LANGEVIN_ZOO=zoo $L zoo show b", 1);
  assert_says(err, "cannot read zoo/b/README.md: Is a directory");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_cannot_be_looked_at_is_not_left_out, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(links_to_nothing_are_not_left_out, make_place, remove_place),
      cmocka_unit_test_setup_teardown(a_run_that_cannot_be_looked_at_does_not_start_again,
                                      make_place, remove_place),
      cmocka_unit_test_setup_teardown(directories_without_permission_are_named, make_place,
                                      remove_place),
      cmocka_unit_test_setup_teardown(control_characters_are_made_visible, make_place,
                                      remove_place),
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
