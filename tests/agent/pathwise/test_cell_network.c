/* The network of cells: how it begins, what it learns of a pair, and which outputs it renews. */
#include "deep_helpers.h"

#include "agent/pathwise/cell_network.h"
#include "replay/replay.h"

#include <math.h>

enum { A = 2, LENGTH = 3 };

/* Cells and their network beside an agent, which gives the problem and the parameters. */
typedef struct rig {
  deep_rig agent;
  cells c;
  cell_network n;
  lgv_arena arena;
} rig;

static void layout_rig(void *context, lgv_layout *layout) {
  rig *r = context;
  const dqn_params *p = r->agent.params; /* the first member of the agent's */
  lgv__cell_network_layout(&r->n, p, &r->agent.problem.env, &r->c, &r->agent.problem, layout);
  lgv__cells_layout(&r->c, false, layout);
}

static void rig_open(rig *r, lgv_obs_form form, const char *extra) {
  lgv_error err = {0};
  lgv_env_spec env = deep_spec(LENGTH, A);
  env.obs_form = form;
  *r = (rig){0};
  deep_open(&r->agent, "pathwise-lmcdqn", env, extra, NULL);
  lgv_rng_seed(r->agent.problem.init, 1, "init"); /* the agent has used it */
  r->c = (cells){.capacity = 8192,
                 .actions = A,
                 .obs_bytes = lgv__replay_encoded_bytes(&r->agent.problem.env)};
  assert_int_equal(lgv__arena_build(&r->arena, layout_rig, r, "a test", &err), LGV_OK);
  lgv__cell_network_open(&r->n);
  lgv__cells_open(&r->c);
}

static void rig_close(rig *r) {
  lgv__arena_free(&r->arena);
  deep_close(&r->agent);
}

/* The values of a pair of every cell: tried once, with this sample and this mean. */
static void teach(rig *r, int action, float sample, float mean) {
  for (int64_t i = 0; i < r->c.size[CELLS_COUNT]; i++) {
    r->c.count[i * A + action] = r->c.taught[i * A + action] = 1;
    r->c.value[i * A + action] = sample;
    r->c.mean[i * A + action] = mean;
  }
}

/* Dense vectors, each of them different. */
static void add_cells(rig *r, int count) {
  for (int i = 0; i < count; i++) {
    float x[LENGTH] = {(float)i / (float)count, (float)(i % 7), 1};
    lgv__cells_add(&r->c, (uint64_t)i, x);
  }
}

/* ---- the beginning ---- */

static void outputs_begin_at_0(void **state) {
  (void)state;
  rig r;
  rig_open(&r, LGV_FORM_DENSE, "");
  add_cells(&r, 10);
  for (int i = 0; i < 10 * A; i++) r.c.base[i] = 1;
  lgv__cell_network_refresh(&r.n);
  for (int i = 0; i < 10 * A; i++) {
    assert_true(r.c.base[i] == 0);
    assert_true(lgv__cell_network_values(&r.n, cells_example(&r.c, i / A))[i % A] == 0);
  }
  assert_int_equal(*r.n.updates, 0);
  rig_close(&r);
}

/* Of a one-hot input only one weight counts per unit: it is as large as if it had no others. */
static void weights_of_an_index_do_not_depend_on_its_length(void **state) {
  (void)state;
  rig index, dense;
  rig_open(&index, LGV_FORM_ONE_HOT, "");
  rig_open(&dense, LGV_FORM_DENSE, "");
  const net_layer *first = &dense.n.net.layer[0], *second = &dense.n.net.layer[1];
  assert_int_equal(first->n_weights, LENGTH * 32);
  for (int64_t i = first->weights; i < first->weights + first->n_weights; i++) {
    assert_true(dense.n.w[i] != 0);
    assert_float_equal(index.n.w[i], sqrt(LENGTH) * (double)dense.n.w[i], 1e-6);
  }
  assert_memory_equal(index.n.w + second->weights, dense.n.w + second->weights,
                      (size_t)second->n_weights * sizeof(float));
  rig_close(&index), rig_close(&dense);
}

/* ---- lessons ---- */

/* All cells are alike, and the outputs 0: the loss is half the square of the lesson. In units of
 * the prior, 2, the mean is 1.5. */
static void a_lesson_is_at_most_one_prior_deviation_from_the_mean(void **state) {
  (void)state;
  const struct {
    float sample;
    double lesson;
  } cases[] = {{3.4f, 1.7}, {2.2f, 1.1}, {3, 1.5},  {5.2f, 2.5},
               {100, 2.5},  {0.8f, 0.5}, {-90, 0.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig r;
    rig_open(&r, LGV_FORM_DENSE, "");
    add_cells(&r, 10);
    teach(&r, 1, cases[i].sample, 3);
    double loss = lgv__cell_network_update(&r.n, 2);
    assert_float_equal(loss, 0.5 * cases[i].lesson * cases[i].lesson, 1e-5);
    assert_int_equal(*r.n.updates, 1);
    rig_close(&r);
  }
}

/* What the cells hold of the other action is no lesson, though shared layers change. */
static void untried_pairs_have_no_gradient(void **state) {
  (void)state;
  for (int tried = 0; tried < A; tried++) {
    rig r;
    rig_open(&r, LGV_FORM_DENSE, "optim.lr=1e-2");
    add_cells(&r, 10);
    teach(&r, tried, 1, 1);
    for (int64_t i = 0; i < 10; i++) r.c.value[i * A + 1 - tried] = r.c.mean[i * A + 1 - tried] = 9;
    for (int i = 0; i < 300; i++) lgv__cell_network_update(&r.n, 1);
    lgv__cell_network_refresh(&r.n);
    for (int i = 0; i < 10; i++) {
      assert_float_equal(r.c.base[i * A + tried], 1, 0.05);
      assert_true(r.c.base[i * A + 1 - tried] == 0);
    }
    rig_close(&r);
  }
}

/* With its own example. */
static void every_cell_is_drawn(void **state) {
  (void)state;
  rig r;
  rig_open(&r, LGV_FORM_DENSE, "optim.lr=3e-3 agent.batch=4");
  add_cells(&r, 32);
  bool drawn[32] = {0};
  teach(&r, 0, 1, 1);
  for (int i = 0; i < 100; i++) { /* 400 draws miss a cell with probability 32 (31/32)^400 = 1e-4 */
    lgv__cell_network_update(&r.n, 1);
    for (int k = 0; k < 4; k++) {
      drawn[r.n.drawn[k]] = true;
      assert_memory_equal(r.n.examples + (size_t)k * r.c.obs_bytes,
                          cells_example(&r.c, r.n.drawn[k]), r.c.obs_bytes);
    }
  }
  for (int i = 0; i < 32; i++) assert_true(drawn[i]);
  rig_close(&r);
}

/* ---- refreshing ---- */

/* Sets all outputs: the weights of the last layer are 0, and its biases come last. */
static void set_outputs(rig *r, float y) {
  for (int a = 0; a < A; a++) r->n.w[r->n.net.params - 1 - a] = y;
}

/* Of 5000 cells, the first call renews 0 to 4095, the second one 4096 to 4999 and 0 to 3191, the
 * third one 3192 to 4999 and 0 to 2287. */
static void many_cells_are_refreshed_in_turns(void **state) {
  (void)state;
  enum { CELLS = 5000 };
  rig r;
  rig_open(&r, LGV_FORM_DENSE, "agent.hidden=4");
  add_cells(&r, CELLS);
  for (int call = 1; call <= 3; call++) {
    set_outputs(&r, (float)call);
    lgv__cell_network_refresh(&r.n);
    for (int i = 0; i < CELLS * A; i++) {
      int at = i / A, last = at < 4096;
      if (call >= 2 && (at < 3192 || at >= 4096)) last = 2;
      if (call >= 3 && (at < 2288 || at >= 3192)) last = 3;
      assert_true(r.c.base[i] == (float)last);
    }
  }
  rig_close(&r);
}

/* Also after cells were forgotten: the next turn begins within those that are left. */
static void few_cells_are_refreshed_at_once(void **state) {
  (void)state;
  rig r;
  rig_open(&r, LGV_FORM_DENSE, "agent.hidden=4");
  add_cells(&r, 1000);
  for (int call = 1; call <= 4; call++) {
    int64_t known = r.c.size[CELLS_COUNT];
    set_outputs(&r, (float)call);
    lgv__cell_network_refresh(&r.n);
    for (int64_t i = 0; i < known * A; i++) assert_true(r.c.base[i] == (float)call);
    lgv__cells_forget(&r.c);
    assert_int_equal(r.c.size[CELLS_COUNT], known / 2);
  }
  rig_close(&r);
}

static void counters_out_of_range_are_found(void **state) {
  (void)state;
  rig r;
  rig_open(&r, LGV_FORM_DENSE, "");
  const lgv_layout *table = &r.arena.table;
  const lgv_block *block = NULL;
  for (size_t i = 0; i < table->n_blocks; i++)
    if (strcmp(table->blocks[i].name, "network.refreshed") == 0) block = &table->blocks[i];
  assert_non_null(block);
  assert_null(block->check(block->check_context));
  int64_t *counters[] = {r.n.updates, r.n.refreshed};
  for (int i = 0; i < 2; i++) {
    *counters[i] = -1;
    assert_string_equal(block->check(block->check_context), "counter out of range");
    *counters[i] = 0;
  }
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outputs_begin_at_0),
      cmocka_unit_test(weights_of_an_index_do_not_depend_on_its_length),
      cmocka_unit_test(a_lesson_is_at_most_one_prior_deviation_from_the_mean),
      cmocka_unit_test(untried_pairs_have_no_gradient),
      cmocka_unit_test(every_cell_is_drawn),
      cmocka_unit_test(many_cells_are_refreshed_in_turns),
      cmocka_unit_test(few_cells_are_refreshed_at_once),
      cmocka_unit_test(counters_out_of_range_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
