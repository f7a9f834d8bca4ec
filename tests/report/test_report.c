/* What pictures and tables are made of: columns of a CSV file, curves over seeds, ticks, labels. */
#include "run_helpers.h"
#include "temp_root.h"

#include "base/memory.h"
#include "report/data/csv_file.h"
#include "report/data/curve.h"
#include "report/data/measure.h"
#include "report/data/run_group.h"
#include "report/plot/frame.h"
#include "report/tools.h"

#include <math.h>
#include <sys/stat.h>

/* ---- CSV ---- */

static lgv_status read_csv(const char *text, lgv_series *series, lgv_error *err) {
  char path[PATH_MAX];
  write_text(root, "m.csv", text);
  join(path, root, "m.csv");
  return lgv__csv_read(path, "step", "value", series, err);
}

static void empty_fields_and_a_torn_last_line_are_left_out(void **state) {
  (void)state;
  lgv_series s;
  lgv_error err = {0};
  const char *text = "a,step,value\r\n0,1,2.5\r\nx,2,\n0,3,-1e-3\n0,4,inf\n0,5,7\n0,6,1";
  assert_int_equal(read_csv(text, &s, &err), LGV_OK);
  assert_int_equal(s.count, 3);
  assert_true(s.x[0] == 1 && s.x[1] == 3 && s.x[2] == 5);
  assert_true(s.y[0] == 2.5 && s.y[1] == -1e-3 && s.y[2] == 7);
  lgv__series_free(&s);
}

/* One order for plots and thresholds; a threshold of regret would mean nothing. */
static void default_columns_have_one_order(void **state) {
  (void)state;
  const struct {
    const char *header, *shown_x, *shown_y, *reached_x, *reached_y;
  } cases[] = {
      {"step,episode,return,eval_return,value,regret\n", "step", "eval_return", "step",
       "eval_return"},
      {"step,episode,return,value,regret\n", "episode", "regret", "episode", "value"},
      {"step,episode,return\n", "step", "return", "step", "return"},
  };
  lgv_error err = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *x = NULL, *y = NULL, *own_x = "episode", *own_y = "loss";
    write_text(root, "metrics.csv", cases[i].header);
    assert_int_equal(lgv__choose_columns(root, false, &x, &y, &err), LGV_OK);
    assert_string_equal(x, cases[i].shown_x);
    assert_string_equal(y, cases[i].shown_y);
    x = y = NULL;
    assert_int_equal(lgv__choose_columns(root, true, &x, &y, &err), LGV_OK);
    assert_string_equal(x, cases[i].reached_x);
    assert_string_equal(y, cases[i].reached_y);
    assert_int_equal(lgv__choose_columns(root, true, &own_x, &own_y, &err), LGV_OK);
    assert_string_equal(own_x, "episode");
    assert_string_equal(own_y, "loss");
  }
  const char *x = NULL, *y = NULL;
  write_text(root, "metrics.csv", "step,loss\n");
  assert_int_equal(lgv__choose_columns(root, false, &x, &y, &err), LGV_ERR_USAGE);
}

static void broken_files_are_placed(void **state) {
  (void)state;
  const char *const cases[][2] = {
      {"", "m.csv has no header line"},
      {"step,value", "m.csv has no header line"},
      {"step,vale\n1,2\n", "has no column 'value'; did you mean 'vale'? it has step, vale"},
      {"step,value\n1,2\n3\n", "m.csv:3: 1 fields where the header has 2"},
      {"step,value\n1,2\n3,4,5\n", "m.csv:3: 3 fields"},
      {"step,value\n1,2\n3,4x\n", "m.csv:3: '4x' in column value is not a number"},
      {"step,value\n", "no values of value yet"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_series s;
    lgv_error err = {0};
    assert_int_not_equal(read_csv(cases[i][0], &s, &err), LGV_OK);
    if (!strstr(err.message, cases[i][1]))
      fail_msg("case %zu: '%s' does not say '%s'", i, err.message, cases[i][1]);
  }
}

/* ---- Curves ---- */

static const char config[] = "{\"env\": {\"name\": \"e\", \"n\": %s}, \"agent\": {\"name\": "
                             "\"%s\", \"lambda\": %s}, \"run\": {\"seed\": 1}}\n";

static void make_run(const char *name, const char *n, const char *agent, const char *lambda,
                     const char *metrics) {
  char path[PATH_MAX], text[512];
  join(path, root, name);
  for (char *c = path + strlen(root) + 1; *c; c++) { /* parents too */
    if (*c != '/') continue;
    *c = '\0';
    mkdir(path, 0777);
    *c = '/';
  }
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(text, sizeof text, config, n, agent, lambda);
  write_text(path, "config.json", text);
  write_text(path, "metrics.csv", metrics);
}

static void open_groups(lgv_groups *groups, const char *const *names, size_t count) {
  char paths[4][PATH_MAX];
  const char *inputs[4];
  lgv_error err = {0};
  for (size_t i = 0; i < count; i++) {
    const char *equals = strchr(names[i], '=');
    int label = equals ? (int)(equals - names[i]) + 1 : 0;
    snprintf(paths[i], PATH_MAX, "%.*s%s/%s", label, names[i], root, names[i] + label);
    inputs[i] = paths[i];
  }
  const lgv_selection selection = {.inputs = inputs, .count = count};
  if (lgv__groups_open(groups, &selection, &err) != LGV_OK) fail_msg("%s", err.message);
}

static lgv_curve load_curve(const char *name, size_t smooth) {
  lgv_groups groups;
  lgv_curve curve;
  lgv_error err = {0};
  open_groups(&groups, &name, 1);
  const lgv_curve_spec spec = {.x = "step", .y = "value", .smooth = smooth};
  if (lgv__curve_load(&curve, &groups.rows[0], &spec, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv__groups_close(&groups);
  return curve;
}

static void seeds_with_the_same_x_are_averaged_there(void **state) {
  (void)state;
  make_run("same/seed-2", "1", "a", "1", "step,value\n10,1\n20,4\n");
  make_run("same/seed-10", "1", "a", "1", "step,value\n10,3\n20,8\n");
  lgv_curve c = load_curve("same", 1);
  assert_int_equal(c.seeds, 2);
  assert_int_equal(c.count, 2);
  assert_true(c.x[0] == 10 && c.x[1] == 20);
  assert_true(c.value[0] == 2 && c.value[1] == 6);
  assert_true(c.low[1] == 4 && c.high[1] == 8); /* of two values, resampled */
  assert_false(c.cut);
  lgv__curve_free(&c);
}

/* Lines y = x and y = 3 x: their mean is 2 x at every point of the common stretch. */
static void seeds_with_other_x_are_interpolated(void **state) {
  (void)state;
  make_run("other/seed-0", "1", "a", "1", "step,value\n0,0\n7,7\n100,100\n");
  make_run("other/seed-1", "1", "a", "1", "step,value\n5,15\n31,93\n50,150\n");
  lgv_curve c = load_curve("other", 1);
  assert_true(c.cut);
  assert_true(c.x[0] == 5 && c.x[c.count - 1] == 50);
  for (size_t i = 0; i < c.count; i++) assert_true(fabs(c.value[i] - 2 * c.x[i]) < 1e-9);
  lgv__curve_free(&c);
}

static void a_moving_mean_looks_back(void **state) {
  (void)state;
  make_run("smooth", "1", "a", "1", "step,value\n1,1\n2,3\n3,8\n4,1\n5,0\n");
  const double expected[] = {1, 2, 4, 4, 3};
  lgv_curve c = load_curve("smooth", 3);
  assert_int_equal(c.count, 5);
  assert_true(isnan(c.low[0])); /* one seed has no interval */
  for (size_t i = 0; i < 5; i++) assert_true(fabs(c.value[i] - expected[i]) < 1e-12);
  lgv__curve_free(&c);
}

static void a_long_curve_is_thinned_and_keeps_its_ends(void **state) {
  (void)state;
  char *text = malloc(400000);
  assert_non_null(text);
  size_t used = (size_t)sprintf(text, "step,value\n");
  for (int i = 0; i < 10000; i++) used += (size_t)sprintf(text + used, "%d,%d\n", i, 2 * i);
  make_run("long", "1", "a", "1", text);
  free(text);
  lgv_curve c = load_curve("long", 1);
  assert_int_equal(c.count, 800);
  assert_true(c.x[0] == 0 && c.x[799] == 9999);
  for (size_t i = 0; i < c.count; i++) assert_true(c.value[i] == 2 * c.x[i]);
  lgv__curve_free(&c);
}

/* Rows stand for the episodes since the row before; the first row has no return yet. */
static void regret_is_added_up_where_it_was_not_recorded(void **state) {
  (void)state;
  make_run("sum", "1", "a", "1", "step,episode,return\n0,0,\n10,2,1\n20,5,2.5\n30,6,3\n");
  lgv_groups groups;
  lgv_curve c;
  const char *name = "sum";
  open_groups(&groups, &name, 1);
  const lgv_curve_spec spec = {.x = "step", .y = "regret", .optimal = 3};
  assert_int_equal(lgv__curve_load(&c, &groups.rows[0], &spec, NULL), LGV_OK);
  assert_int_equal(c.count, 3);
  assert_true(c.x[0] == 10 && c.value[0] == 4 && c.value[1] == 5.5 && c.value[2] == 5.5);
  lgv__curve_free(&c);
  lgv__groups_close(&groups);
}

/* ---- Labels ---- */

static void assert_labels(const char *const *names, size_t count, const char *const *labels) {
  lgv_groups groups;
  open_groups(&groups, names, count);
  for (size_t i = 0; i < count; i++) assert_string_equal(groups.items[i].label, labels[i]);
  lgv__groups_close(&groups);
}

static void labels_tell_the_groups_apart(void **state) {
  (void)state;
  const char *m = "step,value\n1,1\n";
  make_run("x/p", "1", "a", "1", m);
  make_run("x/q", "1", "b", "1", m);
  make_run("x/r", "1", "a", "2", m);
  make_run("x/s", "2", "a", "2", m);
  make_run("y/p", "1", "a", "1", m);
  assert_labels((const char *[]){"x/p", "x/q"}, 2, (const char *[]){"a", "b"});
  assert_labels((const char *[]){"x/p", "x/r"}, 2, (const char *[]){"lambda 1", "lambda 2"});
  assert_labels((const char *[]){"x/p", "x/s/"}, 2,
                (const char *[]){"n 1, lambda 1", "n 2, lambda 2"});
  assert_labels((const char *[]){"x/p", "y/p"}, 2, (const char *[]){"x/p", "y/p"});
  assert_labels((const char *[]){"Mine=x/p", "x/p"}, 2, (const char *[]){"Mine", "a"});
}

/* ---- Rows ---- */

static void open_selection(lgv_groups *groups, lgv_selection s, const char *name) {
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, root, name);
  s.inputs = (const char *[]){path};
  s.count = 1;
  if (lgv__groups_open(groups, &s, &err) != LGV_OK) fail_msg("%s", err.message);
}

static void assert_rows(const lgv_groups *groups, size_t count, const char *const *labels) {
  assert_int_equal(groups->row_count, count);
  for (size_t i = 0; i < count; i++) assert_string_equal(groups->rows[i].label, labels[i]);
}

/* A root of experiments: rows are agents, the sizes of a problem are their tasks. */
static void groups_of_one_label_are_one_row(void **state) {
  (void)state;
  const char *m = "step,value\n1,1\n";
  make_run("many/b-10", "10", "b", "1", m);
  make_run("many/a-10", "10", "a", "1", m);
  make_run("many/a-9/seed-0", "9", "a", "2", m);
  make_run("many/b-9", "9", "b", "1", m);
  write_text(root, "many/note.txt", "not a run");
  lgv_groups g;
  open_selection(&g, (lgv_selection){.over = "env.n"}, "many");
  assert_rows(&g, 2, (const char *[]){"a", "b"});
  assert_int_equal(g.rows[0].count, 2);
  assert_string_equal(g.rows[0].groups[0].task, "9"); /* by name, 9 before 10 */
  assert_string_equal(g.rows[0].groups[1].task, "10");
  lgv__groups_close(&g);
  open_selection(&g, (lgv_selection){.over = "env."}, "many");
  assert_rows(&g, 2, (const char *[]){"a", "b"});
  assert_string_equal(g.rows[1].groups[1].task, "n 10");
  lgv__groups_close(&g);
  open_selection(&g, (lgv_selection){0}, "many");
  assert_int_equal(g.row_count, 4);
  lgv__groups_close(&g);
  open_selection(&g, (lgv_selection){.where = "env.n=9.0,agent.name=b"}, "many");
  assert_rows(&g, 1, (const char *[]){"b"});
  lgv__groups_close(&g);
  open_selection(&g, (lgv_selection){.label = "agent.lambda"}, "many");
  assert_rows(&g, 2, (const char *[]){"lambda 2", "lambda 1"});
  assert_int_equal(g.rows[1].count, 3);
  lgv__groups_close(&g);
  write_text(root, "many/table.csv", "index,root,x\n0,b-10,1\n1,a-10,1\n");
  open_selection(&g, (lgv_selection){.over = "env.n"}, "many");
  assert_rows(&g, 2, (const char *[]){"b", "a"}); /* in the sweep's own order */
  lgv__groups_close(&g);
}

/* A value may be a list, whose commas separate no pairs. */
static void lists_are_values_too(void **state) {
  (void)state;
  const char *m = "step,value\n1,1\n";
  make_run("lists/a", "5", "a", "[32, 32]", m);
  make_run("lists/b", "5", "b", "[32, 64]", m);
  make_run("lists/c", "6", "c", "[32, 64]", m);
  lgv_groups g;
  open_selection(&g, (lgv_selection){.where = "agent.lambda=32,64,"}, "lists");
  assert_rows(&g, 2, (const char *[]){"b", "c"});
  lgv__groups_close(&g);
  open_selection(&g, (lgv_selection){.where = "agent.lambda=32,64,env.n=5"}, "lists");
  assert_rows(&g, 1, (const char *[]){"b"});
  lgv__groups_close(&g);
}

static void wrong_selections_are_refused(void **state) {
  (void)state;
  make_run("few/a", "1", "a", "1", "step,value\n1,1\n");
  char path[PATH_MAX], twice[PATH_MAX + 2];
  join(path, root, "few");
  snprintf(twice, sizeof twice, "a=%s", path);
  const char *const few[] = {path};
  const struct {
    lgv_selection selection;
    const char *words;
  } cases[] = {
      {{.over = "env.m"}, "no run has a setting 'env.m'; did you mean 'env.n'?"},
      {{.label = "agent.name,agent.lamda"}, "did you mean 'agent.lambda'?"},
      {{.where = "env.n=2"}, "no run has env.n=2"},
      {{.where = "env.n"}, "no run has env.n"},
      {{.inputs = (const char *[]){twice, twice}, .count = 2}, "is given twice"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_selection s = cases[i].selection;
    lgv_groups g;
    lgv_error err = {0};
    if (s.count == 0) s.inputs = few, s.count = 1;
    assert_int_equal(lgv__groups_open(&g, &s, &err), LGV_ERR_USAGE);
    if (!strstr(err.message, cases[i].words)) fail_msg("case %zu: %s", i, err.message);
  }
}

/* ---- Measures ---- */

static void make_result(const char *name, const char *members) {
  char path[PATH_MAX], text[512];
  make_run(name, "1", "a", "1", "step,value\n1,1\n");
  join(path, root, name);
  snprintf(text, sizeof text, "{\"seed\": 0, \"steps\": 40, \"episodes\": 8, %s}\n", members);
  write_text(path, "summary.json", text);
}

static void measures_are_collected_from_finished_runs(void **state) {
  (void)state;
  make_result("res/seed-0", "\"regret\": 6, \"optimal_value\": 4, \"finished\": true");
  make_result("res/seed-1",
              "\"regret\": 2, \"optimal_value\": 4, \"solved_episode\": 7, \"finished\": true");
  make_result("res/seed-2", "\"regret\": 9, \"optimal_value\": 4, \"finished\": false");
  make_run("res/seed-3", "1", "a", "1", "step,value\n1,1\n");
  const struct {
    const char *measure;
    double first, second;
    bool lowest;
  } cases[] = {{"regret", 6, 2, true},
               {"regret/optimal_value", 1.5, 0.5, true},
               {"optimal_value/regret", 4 / 6.0, 2, false},
               {"solved_episode", INFINITY, 7, true},
               {"steps/episodes", 5, 5, true}};
  lgv_groups g;
  open_selection(&g, (lgv_selection){0}, "res");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lgv_measure m;
    lgv_collection c;
    assert_int_equal(lgv__measure_find(cases[i].measure, &m, NULL), LGV_OK);
    assert_int_equal(lgv__collect(&g.rows[0], NULL, &m, &c, NULL), LGV_OK);
    assert_true(c.count == 2 && c.tasks == 1 && c.runs[0] == 2 && c.unfinished == 2);
    assert_true(c.values[0] == cases[i].first && c.values[1] == cases[i].second);
    assert_int_equal(lgv__measure_lowest_is_best(&m), cases[i].lowest);
    lgv__collection_free(&c);
  }
  lgv_measure m;
  lgv_collection c;
  lgv_error err = {0};
  assert_int_equal(lgv__measure_find("regret/optimal", &m, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "did you mean 'optimal_value'?"));
  assert_int_equal(lgv__measure_find("mean_return", &m, &err), LGV_OK);
  assert_int_equal(lgv__collect(&g.rows[0], NULL, &m, &c, &err), LGV_ERR_USAGE);
  assert_non_null(strstr(err.message, "seed-0/summary.json has no mean_return"));
  lgv__groups_close(&g);
}

/* ---- Axes ---- */

static void assert_ticks(double low, double high, size_t wanted, const char *expected) {
  lgv_axis_ticks axis;
  char text[256] = "";
  lgv__axis_ticks(low, high, wanted, &axis);
  for (size_t i = 0; i < axis.count; i++) {
    strncat(text, i ? " " : "", sizeof text - strlen(text) - 1);
    strncat(text, axis.text[i], sizeof text - strlen(text) - 1);
    assert_true(axis.at[i] >= low - 1e-9 * fabs(low) && axis.at[i] <= high + 1e-9 * fabs(high));
  }
  assert_string_equal(text, expected);
}

static void ticks_are_round_and_short(void **state) {
  (void)state;
  assert_ticks(0, 1000, 4, "0 200 400 600 800 1000");
  assert_ticks(0, 10, 5, "0 2 4 6 8 10");
  assert_ticks(0, 3.9, 4, "0 1 2 3");
  assert_ticks(0, 1, 5, "0 0.2 0.4 0.6 0.8 1.0");
  assert_ticks(0, 100000, 4, "0 20k 40k 60k 80k 100k");
  assert_ticks(0, 5000, 5, "0 1k 2k 3k 4k 5k");
  assert_ticks(0, 2e7, 4, "0 5M 10M 15M 20M");
  assert_ticks(-3, 3, 3,
               "\xe2\x88\x92"
               "2 0 2");
  assert_ticks(0.001, 0.0042, 3, "0.001 0.002 0.003 0.004");
}

static void ranges_have_room_and_keep_zero(void **state) {
  (void)state;
  double low = 1, high = 10;
  lgv__pad_range(&low, &high);
  assert_true(low == 0 && fabs(high - 10.4) < 1e-12);
  low = 9, high = 10;
  lgv__pad_range(&low, &high);
  assert_true(low < 9 && low > 8.9 && high > 10 && high < 10.1);
  low = high = 0;
  lgv__pad_range(&low, &high);
  assert_true(low <= 0 && high > 0);
  low = high = -5;
  lgv__pad_range(&low, &high);
  assert_true(low < -5 && high > -5);
}

/* ---- Tables ---- */

static void tables_align_and_wrap(void **state) {
  (void)state;
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  lgv_table t = lgv__table("lrl");
  lgv__table_cell(&t, "name");
  lgv__table_real(&t, 3.14159);
  lgv__table_cell(&t, "one two three four five six seven eight");
  lgv__table_cell(&t, "x");
  lgv__table_real(&t, NAN);
  lgv__table_cell(&t, "y");
  lgv__table_print(&t, out, 1, 40);
  fclose(out);
  assert_string_equal(text, " name  3.142  one two three four five\n"
                            "              six seven eight\n"
                            " x         -  y\n");
  free(text);
}

/* The last test: nothing makes the output whole again. */
static void a_lost_cell_is_not_forgotten(void **state) {
  (void)state;
  lgv_table t = lgv__table("ll");
  char text[64];
  FILE *out = fmemopen(text, sizeof text, "w");
  lgv__table_cell(&t, "a");
  assert_false(lgv__output_is_incomplete());
  lgv__memory_fail_after(1);
  lgv__table_cell(&t, "b");
  assert_int_equal(lgv__memory_fail_after(0), 0);
  lgv__table_print(&t, out, 0, 40);
  fclose(out);
  assert_true(lgv__output_is_incomplete());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_fields_and_a_torn_last_line_are_left_out),
      cmocka_unit_test(default_columns_have_one_order),
      cmocka_unit_test(broken_files_are_placed),
      cmocka_unit_test(seeds_with_the_same_x_are_averaged_there),
      cmocka_unit_test(seeds_with_other_x_are_interpolated),
      cmocka_unit_test(a_moving_mean_looks_back),
      cmocka_unit_test(a_long_curve_is_thinned_and_keeps_its_ends),
      cmocka_unit_test(regret_is_added_up_where_it_was_not_recorded),
      cmocka_unit_test(labels_tell_the_groups_apart),
      cmocka_unit_test(groups_of_one_label_are_one_row),
      cmocka_unit_test(lists_are_values_too),
      cmocka_unit_test(wrong_selections_are_refused),
      cmocka_unit_test(measures_are_collected_from_finished_runs),
      cmocka_unit_test(ticks_are_round_and_short),
      cmocka_unit_test(ranges_have_room_and_keep_zero),
      cmocka_unit_test(tables_align_and_wrap),
      cmocka_unit_test(a_lost_cell_is_not_forgotten),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
