/* A checkpoint belongs to its run: with other settings, of another seed, or beside other rows of
 * metrics.csv it is refused, unless the change is accepted, which is recorded. */
#include "file_helpers.h"
#include "run_helpers.h"
#include "temp_root.h"

#include <ctype.h>
#include <sys/stat.h>

static const char deep[] = "env.n=6 run.steps=400 run.eval_every=100 run.checkpoint_every=0 "
                           "agent.hidden=8 agent.replay=200 agent.warmup=50";

static void path_of(char *path, const char *name) { join(path, root, name); }

/* Begins a run and stops it at step 150. */
static void begin(const char *name, uint64_t seed) {
  char path[PATH_MAX];
  lgv_plan *plan = make_plan("nchain", "adam-lmcdqn", deep);
  lgv_error err = {0};
  lgv_run *run;
  bool done;
  path_of(path, name);
  if (lgv_run_create(plan, seed, path, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  assert_int_equal(lgv_run_advance(run, 150, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  lgv_plan_free(plan);
}

/* Resumes as `langevin run --resume` does: with the settings of config.json, and extra ones. */
static lgv_status resume(const char *name, uint64_t seed, const char *extra, lgv_error *err) {
  char path[PATH_MAX], config[PATH_MAX + 16];
  lgv_settings *settings = make_settings(NULL, NULL, NULL);
  lgv_plan *plan = NULL;
  lgv_run *run = NULL;
  path_of(path, name);
  snprintf(config, sizeof config, "%s/config.json", path);
  lgv_status status = lgv_settings_load(settings, config, err);
  if (status == LGV_OK && extra) status = lgv_settings_assign(settings, extra, "test", err);
  if (status == LGV_OK) status = lgv_plan_create(settings, &plan, err);
  if (status == LGV_OK) status = lgv_run_resume(plan, seed, path, &run, err);
  lgv_run_free(run);
  lgv_plan_free(plan);
  lgv_settings_free(settings);
  return status;
}

/* Another value in the place of the one in the line: a number is incremented, true becomes false.
 * False if there is none, or it is a budget. */
static bool change(const char *line, char *changed, size_t size) {
  const char *colon = strstr(line, "\": ");
  if (!colon || strstr(line, "\"steps\"") || strstr(line, "\"episodes\"")) return false;
  const char *value = colon + 3;
  int head = (int)(value - line);
  if (strncmp(value, "true", 4) == 0 || strncmp(value, "false", 5) == 0) {
    bool was = *value == 't';
    snprintf(changed, size, "%.*s%s%s", head, line, was ? "false" : "true", value + (was ? 4 : 5));
    return true;
  }
  if (!isdigit((unsigned char)*value)) return false;
  char *end;
  double number = strtod(value, &end);
  snprintf(changed, size, "%.*s%.17g%s", head, line, number < 1 ? number / 2 + 0.25 : number + 1,
           end);
  return true;
}

/* The text with its n-th line changed, or NULL if that line has nothing to change. */
static char *edit(const char *text, int n) {
  const char *line = text;
  for (; n > 0 && line; n--) {
    line = strchr(line, '\n');
    if (line) line++;
  }
  if (!line) return NULL;
  char one[512], other[600];
  int length = (int)strcspn(line, "\n");
  snprintf(one, sizeof one, "%.*s", length, line);
  if (!change(one, other, sizeof other)) return NULL;
  char *edited = malloc(strlen(text) + sizeof other);
  sprintf(edited, "%.*s%s%s", (int)(line - text), text, other, line + length);
  return edited;
}

static void every_edited_setting_is_refused(void **state) {
  (void)state;
  char path[PATH_MAX];
  lgv_error err = {0};
  int edited = 0, named = 0, lines = 0;
  begin("a", 3);
  path_of(path, "a");
  char *config = read_text(path, "config.json"), *metrics = read_text(path, "metrics.csv");
  for (const char *c = config; *c; c++) lines += *c == '\n';
  for (int n = 0; n < lines; n++) {
    char *text = edit(config, n);
    if (!text) continue;
    write_text(path, "config.json", text);
    lgv_status status = resume("a", 3, NULL, &err);
    if (status == LGV_OK) fail_msg("line %d of config.json was changed in silence: %s", n, text);
    named += strstr(err.message, "is of a run with other settings (") != NULL;
    edited++;
    free(text);
  }
  char *after = read_text(path, "metrics.csv");
  assert_string_equal(after, metrics);
  assert_true(edited > 30 && named > 20); /* the others are values that no plan takes */
  write_text(path, "config.json", config);
  if (resume("a", 3, NULL, &err) != LGV_OK) fail_msg("%s", err.message);
  if (resume("a", 3, "run.steps=500", &err) != LGV_OK) fail_msg("%s", err.message);
  free(after);
  free(config);
  free(metrics);
}

static void copy_between(const char *from, const char *to, const char *name) {
  char line[3 * PATH_MAX], a[PATH_MAX], b[PATH_MAX];
  path_of(a, from);
  path_of(b, to);
  snprintf(line, sizeof line, "cp '%s/%s' '%s/%s'", a, name, b, name);
  assert_int_equal(system(line), 0);
}

static void expect_refusal(const char *name, uint64_t seed, const char *words) {
  lgv_error err = {0};
  lgv_status status = resume(name, seed, NULL, &err);
  if (status == LGV_OK || !strstr(err.message, words))
    fail_msg("%d '%s', not '%s'", status, err.message, words);
}

static void the_checkpoint_of_another_seed_is_refused(void **state) {
  (void)state;
  begin("a", 3);
  begin("b", 4);
  copy_between("b", "a", "checkpoint.safetensors");
  expect_refusal("a", 3, "run.seed is 4 there, here 3");
}

static void edited_rows_are_refused(void **state) {
  (void)state;
  char path[PATH_MAX];
  begin("a", 3);
  path_of(path, "a");
  char *metrics = read_text(path, "metrics.csv");
  size_t length = strlen(metrics);
  assert_true(length > 100);
  metrics[length - 2] = metrics[length - 2] == '1' ? '2' : '1';
  write_text(path, "metrics.csv", metrics);
  expect_refusal("a", 3, "rows of metrics.csv have changed since then");
  metrics[length - 5] = '\0';
  write_text(path, "metrics.csv", metrics);
  expect_refusal("a", 3, "metrics.csv is missing, or shorter than it was then");
  free(metrics);
}

static void an_accepted_change_is_recorded(void **state) {
  (void)state;
  char path[PATH_MAX], changed[512];
  lgv_error err = {0};
  begin("a", 3);
  path_of(path, "a");
  char *before = read_text(path, "config.json");
  snprintf(changed, sizeof changed, "%s run.accept_changes=true agent.batch=16", deep);
  lgv_plan *plan = make_plan("nchain", "adam-lmcdqn", changed);
  lgv_run *run;
  if (lgv_run_resume(plan, 3, path, &run, &err) != LGV_OK) fail_msg("%s", err.message);
  bool done = false;
  while (!done) assert_int_equal(lgv_run_advance(run, 1000, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_finish(run, &err), LGV_OK);
  lgv_run_free(run);
  lgv_plan_free(plan);
  char *until = read_text(path, "config-until-150.json"), *now = read_text(path, "config.json");
  assert_string_equal(until, before);
  assert_non_null(strstr(now, "\"batch\": 16"));
  assert_null(strstr(now, "accept_changes"));
  if (resume("a", 3, NULL, &err) != LGV_OK) fail_msg("%s", err.message); /* it is the run's now */
  free(before);
  free(until);
  free(now);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_edited_setting_is_refused, make_root, remove_root),
      cmocka_unit_test_setup_teardown(the_checkpoint_of_another_seed_is_refused, make_root,
                                      remove_root),
      cmocka_unit_test_setup_teardown(edited_rows_are_refused, make_root, remove_root),
      cmocka_unit_test_setup_teardown(an_accepted_change_is_recorded, make_root, remove_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
