/* Batches: threads change nothing, a failure stays its own, an interrupt stops. */
#include "tiny_world.h"

#include "file_helpers.h"

#include <math.h>
#include <sys/stat.h>

static const char *const compared[] = {"config.json", "metrics.csv", "summary.json"};

static void seed_path(char path[PATH_MAX], const char *directory, int seed) {
  assert_true(snprintf(path, PATH_MAX, "%s/seed-%d", directory, seed) < PATH_MAX);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void the_number_of_threads_changes_nothing(void **state) {
  (void)state;
  enum { SEEDS = 6 };
  const struct {
    const char *env, *agent, *extra;
  } cases[] = {
      {"riverswim", "lmc-lsvi", "run.episodes=20"},
      {"linear-mdp", "lmc-lsvi", "run.episodes=20"},
      {"riverswim", "lmc-lsvi", "run.episodes=10 agent.sampler=sgld agent.updates=20"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    lgv_plan *plan = make_plan(cases[c].env, cases[c].agent, cases[c].extra);
    char one[TEMP_SIZE], many[TEMP_SIZE], a[PATH_MAX], b[PATH_MAX];
    lgv_summary first[SEEDS], second[SEEDS];
    lgv_error err = {0};
    make_temp(one);
    make_temp(many);
    lgv_batch batch = {.size = sizeof(lgv_batch),
                       .plan = plan,
                       .first_seed = 10,
                       .seeds = SEEDS,
                       .threads = 1,
                       .directory = one};
    assert_int_equal(lgv_batch_run(&batch, first, &err), LGV_OK);
    batch.threads = 4;
    batch.directory = many;
    assert_int_equal(lgv_batch_run(&batch, second, &err), LGV_OK);
    for (int i = 0; i < SEEDS; i++) {
      seed_path(a, one, 10 + i);
      seed_path(b, many, 10 + i);
      for (int f = 0; f < 3; f++) assert_same_file(a, b, compared[f]);
      assert_int_equal(first[i].seed, 10 + i);
      assert_true(first[i].regret == second[i].regret);
      if (i > 0) assert_true(first[i].regret != first[0].regret); /* and seeds do differ */
    }
    assert_same_file(one, many, "aggregate.json");
    lgv_plan_free(plan);
    remove_tree(one);
    remove_tree(many);
  }
}

/* Puts the records of another plan where a seed of the batch wants to write. */
static void occupy(const char *directory, int seed) {
  char path[PATH_MAX];
  seed_path(path, directory, seed);
  assert_int_equal(mkdir(path, 0777), 0);
  write_text(path, "config.json", "{}\n");
}

static void one_failing_seed_does_not_stop_the_others(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads += 3) {
    lgv_plan *plan = make_coin_plan("run.episodes=9");
    char directory[TEMP_SIZE], path[PATH_MAX];
    lgv_summary s[8];
    lgv_error err = {0};
    make_temp(directory);
    occupy(directory, 2);
    occupy(directory, 5);
    lgv_batch batch = {.size = sizeof(lgv_batch),
                       .plan = plan,
                       .seeds = 8,
                       .threads = threads,
                       .directory = directory};
    assert_int_equal(lgv_batch_run(&batch, s, &err), LGV_ERR_USAGE);
    assert_int_equal(strncmp(err.message, "seed 2: ", 8), 0); /* the least, whoever came first */
    for (int i = 0; i < 8; i++) {
      bool failed = i == 2 || i == 5;
      seed_path(path, directory, i);
      char *summary = read_text(path, "summary.json");
      assert_int_equal(summary == NULL, failed);
      assert_int_equal(s[i].finished, !failed);
      assert_int_equal(s[i].seed, i);
      assert_true(failed ? isnan(s[i].regret) : s[i].regret == 10.125);
      free(summary);
    }
    lgv_plan_free(plan);
    remove_tree(directory);
  }
}

static void a_run_that_fails_half_way_says_why(void **state) {
  (void)state;
  lgv_plan *plan = make_coin_plan("run.episodes=9 env.fail_at=8");
  char directory[TEMP_SIZE];
  lgv_summary s;
  lgv_error err = {0};
  make_temp(directory);
  lgv_batch batch = {.size = sizeof(lgv_batch),
                     .plan = plan,
                     .first_seed = 3,
                     .seeds = 1,
                     .threads = 1,
                     .directory = directory};
  assert_int_equal(lgv_batch_run(&batch, &s, &err), LGV_ERR_ENV);
  assert_string_equal(err.message, "seed 3: the coin rolled away");
  assert_true(!s.finished && s.episodes == 2 && s.regret == 1.125);
  char *summary = read_text(directory, "summary.json"); /* one seed: no folder of its own */
  assert_non_null(strstr(summary, "\"error\": \"the coin rolled away\""));
  free(summary);
  lgv_plan_free(plan);
  remove_tree(directory);
}

typedef struct watch {
  int64_t stop_above; /* should_stop becomes true beyond so many steps; 0: never */
  double fraction;
  int64_t steps, done, failed;
} watch;

static bool stop(void *context) {
  watch *w = context;
  return w->stop_above && w->steps > w->stop_above;
}

static void progress(void *context, const lgv_progress *p) {
  watch *w = context;
  assert_true(p->fraction >= w->fraction && p->fraction <= 1 + 1e-12);
  assert_true(p->steps >= w->steps && p->runs_done >= w->done);
  w->fraction = p->fraction;
  w->steps = p->steps;
  w->done = p->runs_done;
  w->failed = p->runs_failed;
}

static void progress_grows_to_the_end(void **state) {
  (void)state;
  lgv_plan *plan = make_coin_plan("run.episodes=200");
  lgv_summary s[4];
  lgv_error err = {0};
  watch w = {0};
  lgv_batch batch = {.size = sizeof(lgv_batch),
                     .plan = plan,
                     .seeds = 4,
                     .threads = 3,
                     .on_progress = progress,
                     .should_stop = stop,
                     .context = &w};
  assert_int_equal(lgv_batch_run(&batch, s, &err), LGV_OK);
  assert_true(fabs(w.fraction - 1) < 1e-12);
  assert_true(w.steps == 4 * 600 && w.done == 4 && w.failed == 0);
  lgv_plan_free(plan);
}

/* Also when a seed has failed before: the runs that were not begun stay as they were. */
static void an_interrupt_begins_nothing_new(void **state) {
  (void)state;
  for (int with_failure = 0; with_failure < 2; with_failure++) {
    lgv_plan *plan = make_coin_plan("run.episodes=200");
    char directory[TEMP_SIZE], path[PATH_MAX];
    lgv_summary s[5];
    lgv_error err = {0};
    watch w = {.stop_above = 600}; /* in the second run that works */
    make_temp(directory);
    if (with_failure) occupy(directory, 0);
    lgv_batch batch = {.size = sizeof(lgv_batch),
                       .plan = plan,
                       .seeds = 5,
                       .threads = 1,
                       .directory = directory,
                       .on_progress = progress,
                       .should_stop = stop,
                       .context = &w};
    assert_int_equal(lgv_batch_run(&batch, s, &err), LGV_ERR_INTERRUPTED);
    int stopped = with_failure ? 2 : 1;
    for (int i = 0; i < 5; i++) {
      seed_path(path, directory, i);
      assert_int_equal(exists(path), i <= stopped);
      assert_int_equal(s[i].finished, i < stopped && !(with_failure && i == 0));
    }
    seed_path(path, directory, stopped);
    char *summary = read_text(path, "summary.json");
    assert_non_null(strstr(summary, "\"error\": \"interrupted"));
    assert_true(s[stopped].steps > 0 && s[stopped].steps < 600);
    free(summary);
    lgv_plan_free(plan);
    remove_tree(directory);
  }
}

static void a_batch_of_nothing_is_refused(void **state) {
  (void)state;
  lgv_plan *plan = make_coin_plan("run.episodes=1");
  lgv_summary s;
  lgv_error err = {0};
  lgv_batch none = {.size = sizeof(lgv_batch), .plan = plan, .seeds = 0, .threads = 1};
  lgv_batch idle = {.size = sizeof(lgv_batch), .plan = plan, .seeds = 1, .threads = 0};
  assert_int_equal(lgv_batch_run(&none, &s, &err), LGV_ERR_USAGE);
  assert_int_equal(lgv_batch_run(&idle, &s, &err), LGV_ERR_USAGE);
  lgv_batch old = {.size = sizeof(lgv_batch) - 8, .plan = plan, .seeds = 1, .threads = 1};
  assert_int_equal(lgv_batch_run(&old, &s, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "lgv_batch.size is"));
  lgv_plan_free(plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_number_of_threads_changes_nothing),
      cmocka_unit_test(one_failing_seed_does_not_stop_the_others),
      cmocka_unit_test(a_run_that_fails_half_way_says_why),
      cmocka_unit_test(progress_grows_to_the_end),
      cmocka_unit_test(an_interrupt_begins_nothing_new),
      cmocka_unit_test(a_batch_of_nothing_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
