/* A large checkpoint while the run goes on: what is on the disk is the moment at which it was asked
 * for, whatever changed while it was written. LANGEVIN_GB (default 0.25) sizes it; the pause of the
 * run and the time until the file is there are printed, and decide nothing. */
#include "record/checkpoint.h"

#include "fault_helpers.h"

#include <time.h>

enum { ROW = 84 * 84, WEIGHTS = 1700000 }; /* a picture of Atari, and the network that learns */

typedef struct memory {
  size_t rows;
  int64_t *filled;
  uint8_t *pictures; /* (rows x ROW) */
  float *weights;    /* (WEIGHTS) */
  lgv_arena arena;
  lgv_tensors tensors;
} memory;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void lay_out(void *context, lgv_layout *layout) {
  memory *m = context;
  m->filled = lgv_layout_array(layout, "filled", LGV_I64, 1, LGV_KEEP);
  m->pictures = lgv__layout_rows(layout, "pictures", LGV_U8, m->rows, ROW, m->filled);
  m->weights = lgv_layout_array(layout, "weights", LGV_F32, WEIGHTS, LGV_KEEP);
}

static void open_memory(memory *m, double gigabytes) {
  lgv_error err = {0};
  *m = (memory){.rows = (size_t)(gigabytes * 1e9 / ROW)};
  if (lgv__arena_build(&m->arena, lay_out, m, "a test", &err) != LGV_OK)
    fail_msg("%s", err.message);
  assert_int_equal(lgv__tensors_add_arena(&m->tensors, "memory", &m->arena, &err), LGV_OK);
  *m->filled = (int64_t)m->rows;
}

static void close_memory(memory *m) {
  lgv__tensors_free(&m->tensors);
  lgv__arena_free(&m->arena);
}

static unsigned char pixel(size_t row, int version) { return (unsigned char)(row * 31 + version); }

static void fill(memory *m) {
  for (size_t i = 0; i < m->rows; i++) memset(m->pictures + i * ROW, pixel(i, 0), ROW);
  for (int i = 0; i < WEIGHTS; i++) m->weights[i] = 1;
}

/* As a run does: a row a step, and every weight. Returns the longest step. */
static double go_on(memory *m, lgv_checkpoint_writer *writer, long *steps) {
  double longest = 0, last = now();
  lgv_error err = {0};
  bool lost;
  for (*steps = 0; writer->child; ++*steps) {
    size_t row = (size_t)*steps % m->rows;
    memset(m->pictures + row * ROW, pixel(row, 1), ROW);
    for (int i = 0; i < WEIGHTS; i++) m->weights[i] += 1;
    if (lgv__checkpoint_look(writer, &lost, &err) != LGV_OK) fail_msg("%s", err.message);
    assert_false(lost);
    double moment = now();
    if (moment - last > longest) longest = moment - last;
    last = moment;
  }
  return longest;
}

static void a_large_checkpoint_is_a_snapshot(void **state) {
  (void)state;
  const char *wanted = getenv("LANGEVIN_GB");
  char root[TEMP_SIZE];
  lgv_error err = {0}, refused;
  memory m;
  long steps;
  bool found;
  make_temp(root);
  open_memory(&m, wanted ? atof(wanted) : 0.25);
  fill(&m);
  lgv_checkpoint_writer writer = {.directory = root, .lock = -1};
  double begun = now();
  if (lgv__checkpoint_start(&writer, &m.tensors, &err) != LGV_OK) fail_msg("%s", err.message);
  double pause = now() - begun;
  assert_true(writer.child > 0);
  double longest = go_on(&m, &writer, &steps);
  print_message("%.2f GB: the run paused for %.0f ms; on the disk after %.1f s, meanwhile %ld "
                "steps, the longest %.0f ms\n",
                (double)m.rows * ROW / 1e9, 1e3 * pause, now() - begun, steps, 1e3 * longest);
  assert_true(steps > 0);
  if (lgv__checkpoint_read(&m.tensors, root, &found, &refused, &err) != LGV_OK)
    fail_msg("%s", err.message);
  for (size_t i = 0; i < m.rows; i++)
    for (size_t k = 0; k < ROW; k += ROW - 1)
      assert_int_equal(m.pictures[i * ROW + k], pixel(i, 0));
  for (int i = 0; i < WEIGHTS; i++) assert_true(m.weights[i] == 1);
  close_memory(&m);
  remove_tree(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_large_checkpoint_is_a_snapshot)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
