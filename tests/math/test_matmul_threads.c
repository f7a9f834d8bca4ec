/* Products with helper threads have the same bits as those without, in every form. */
#include "math/matmul_threads.h"

#include "file_helpers.h"
#include "run_helpers.h"

enum { SIZE = 1 << 20 };

static float a[SIZE], b[SIZE], bias[2048], gate[SIZE], alone[SIZE], helped[SIZE];
static int32_t rows[2048], cols[2048], places[2048];

static int fill(void **state) {
  (void)state;
  lgv_rng rng;
  lgv_rng_seed(&rng, 3, "test");
  for (int i = 0; i < SIZE; i++) {
    a[i] = (float)lgv_rng_normal(&rng);
    b[i] = (float)lgv_rng_normal(&rng);
    gate[i] = (float)lgv_rng_normal(&rng);
  }
  for (int i = 0; i < 2048; i++) {
    bias[i] = (float)lgv_rng_normal(&rng);
    rows[i] = (int32_t)lgv_rng_below(&rng, 4096);
    cols[i] = (int32_t)lgv_rng_below(&rng, 4096);
    places[i] = (i ^ 1) * 128; /* no two are equal */
  }
  return 0;
}

static void compare(lgv_product p, lgv_matmul_threads *team) {
  for (int i = 0; i < SIZE; i++) alone[i] = helped[i] = b[SIZE - 1 - i];
  p.c = alone;
  lgv__kernels()->product(&p);
  p.c = helped;
  lgv__matmul_threads_use(team);
  lgv__matmul_threads_product(&p);
  lgv__matmul_threads_use(NULL);
  assert_memory_equal(alone, helped, sizeof alone);
}

/* Sizes around the cuts; tall and wide; every start and end; rows and columns by lists. */
static void compare_forms(int64_t m, int64_t n, int64_t k, lgv_matmul_threads *team) {
  lgv_product p = {
      .m = m, .n = n, .k = k, .a = a, .a_row = k, .a_col = 1, .b = b, .b_row = n, .c_row = n};
  compare(p, team);
  p.bias = bias;
  p.rectify = true;
  compare(p, team);
  p.bias = NULL;
  p.rectify = false;
  p.gate = gate;
  compare(p, team);
  p.add = true;
  compare(p, team);
  p.gate = NULL;
  p.a_row = 1;
  p.a_col = m;
  compare(p, team);
  if (m > 2048 || k > 2048) return;
  p.add = false;
  p.a_rows = rows;
  p.a_cols = cols;
  compare(p, team);
  if (n > 128) return;
  p.a_rows = p.a_cols = NULL;
  p.a_row = k;
  p.a_col = 1;
  p.c_rows = places;
  p.add = true;
  compare(p, team);
}

static void helpers_change_no_bit(void **state) {
  (void)state;
  static const int64_t sizes[][3] = {{400, 32, 256}, {243, 64, 512},  {64, 512, 700},
                                     {1563, 96, 64}, {63, 1000, 100}, {65, 33, 2000},
                                     {32, 32, 2000}, {1, 2000, 500},  {129, 5, 1000}};
  for (int32_t threads = 2; threads <= 4; threads++) {
    lgv_matmul_threads *team;
    lgv_error err = {0};
    assert_int_equal(lgv__matmul_threads_create(threads, &team, &err), LGV_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      compare_forms(sizes[i][0], sizes[i][1], sizes[i][2], team);
    lgv__matmul_threads_free(team);
  }
}

/* Helpers fall asleep and wake up in between. */
static void helpers_sleep_and_wake(void **state) {
  (void)state;
  lgv_matmul_threads *team;
  lgv_error err = {0};
  lgv_product p = {.m = 400,
                   .n = 32,
                   .k = 256,
                   .a = a,
                   .a_row = 256,
                   .a_col = 1,
                   .b = b,
                   .b_row = 32,
                   .c_row = 32};
  assert_int_equal(lgv__matmul_threads_create(3, &team, &err), LGV_OK);
  for (int i = 0; i < 30; i++) {
    usleep(i % 3 * 2000);
    compare(p, team);
  }
  lgv__matmul_threads_free(team);
  assert_int_equal(lgv__matmul_threads_create(3, &team, &err), LGV_OK);
  lgv__matmul_threads_free(team); /* without any work */
  lgv__matmul_threads_free(NULL);
}

static void who_helps_is_put_back(void **state) {
  (void)state;
  lgv_matmul_threads *team;
  lgv_error err = {0};
  assert_int_equal(lgv__matmul_threads_create(2, &team, &err), LGV_OK);
  assert_null(lgv__matmul_threads_use(team));
  assert_ptr_equal(lgv__matmul_threads_use(NULL), team);
  lgv__matmul_threads_free(team);
}

/* The layers are wide, so that products are worth handing over. */
static char *record(const char *root, const char *threads) {
  char directory[PATH_MAX], extra[256];
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  join(directory, root, threads);
  snprintf(extra, sizeof extra,
           "run.steps=600 run.eval_every=200 agent.hidden=256,256 agent.warmup=100 agent.batch=64 "
           "run.update_threads=%s",
           threads);
  lgv_plan *plan = make_plan("cartpole", "adam-lmcdqn", extra);
  if (lgv_run_create(plan, 4, directory, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_int_equal(lgv_run_advance(run, 1 << 20, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_finish(run, &err), LGV_OK);
  lgv_run_free(run);
  lgv_plan_free(plan);
  char *metrics = read_text(directory, "metrics.csv"),
       *config = read_text(directory, "config.json");
  char *both = calloc(strlen(metrics) + strlen(config) + 1, 1);
  strcat(strcat(both, metrics), config);
  free(metrics);
  free(config);
  return both;
}

static void records_do_not_tell_the_number_of_threads(void **state) {
  (void)state;
  char root[TEMP_SIZE];
  make_temp(root);
  char *one = record(root, "1"), *three = record(root, "3");
  assert_string_equal(one, three);
  free(one);
  free(three);
  remove_tree(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(helpers_change_no_bit),
      cmocka_unit_test(helpers_sleep_and_wake),
      cmocka_unit_test(who_helps_is_put_back),
      cmocka_unit_test(records_do_not_tell_the_number_of_threads),
  };
  return cmocka_run_group_tests(tests, fill, NULL);
}
