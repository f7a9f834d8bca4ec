/* Checkpoints that are torn, cut, flipped, foreign or made to do harm: each is refused with a
 * reason, the one before it is used, and whoever asked is told. */
#include "base/io/tensors.h"
#include "record/checkpoint.h"
#include "train/run.h"

#include "fault_helpers.h"
#include "outside_world.h"

#include <malloc.h>
#include <sys/stat.h>

static char root[TEMP_SIZE], directory[PATH_MAX], told[2048];
static lgv_plan *plan;

static void keep_notice(void *context, const char *text) {
  snprintf(context, sizeof told, "%s", text);
}

static lgv_plan *plan_with_notices(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_plan *made;
  lgv_error err = {0};
  lgv_settings_on_notice(settings, keep_notice, told);
  if (lgv_plan_create(settings, &made, &err) != LGV_OK) fail_msg("%s", err.message);
  lgv_settings_free(settings);
  return made;
}

/* A run with two checkpoints, at steps 40 and 80. */
static int set_up(void **state) {
  (void)state;
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  make_temp(root);
  join(directory, root, "run");
  plan = plan_with_notices("riverswim", "lmc-lsvi", "run.steps=100 env.n=3 env.horizon=4");
  if (lgv_run_create(plan, FAULT_SEED, directory, &run, &err) != LGV_OK)
    fail_msg("%s", err.message);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(lgv_run_advance(run, 40, &done, &err), LGV_OK);
    assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  }
  lgv_run_free(run);
  told[0] = '\0';
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  lgv_plan_free(plan);
  remove_tree(root);
  return 0;
}

static void write_bytes(const char *name, const char *bytes, size_t size) {
  char path[PATH_MAX];
  join(path, directory, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* Resumes; returns the step where the run resumes, -1 if it does not. */
static int64_t resume(lgv_error *err) {
  lgv_run *run;
  lgv_summary summary;
  told[0] = '\0';
  if (lgv_run_resume(plan, FAULT_SEED, directory, &run, err) != LGV_OK) return -1;
  lgv_run_summary(run, &summary);
  lgv_run_free(run);
  return summary.steps;
}

static void expect_the_previous_one(const char *what, size_t at) {
  lgv_error err = {0};
  int64_t step = resume(&err);
  if (step != 40) fail_msg("%s at byte %zu: resumes at step %lld", what, at, (long long)step);
  if (!strstr(told, "is not a checkpoint of this run") || !strstr(told, "is used: step 40"))
    fail_msg("%s at byte %zu: told '%s'", what, at, told);
}

static void a_whole_one_is_used_without_a_word(void **state) {
  (void)state;
  lgv_error err = {0};
  assert_int_equal(resume(&err), 80);
  assert_string_equal(told, "");
}

/* One bit of every byte of the length and of the header's metadata, and of every fifth after. */
static void flipped_bits_are_noticed(void **state) {
  (void)state;
  char *bytes;
  size_t size = read_bytes(directory, "checkpoint.safetensors", &bytes);
  for (size_t i = 0; i < size; i += i < 1000 ? 1 : 5) {
    bytes[i] ^= (char)(1 << (i % 8));
    write_bytes("checkpoint.safetensors", bytes, size);
    expect_the_previous_one("a flipped bit", i);
    bytes[i] ^= (char)(1 << (i % 8));
  }
  free(bytes);
}

static void every_length_is_noticed(void **state) {
  (void)state;
  char *bytes;
  size_t size = read_bytes(directory, "checkpoint.safetensors", &bytes);
  for (size_t i = 0; i < size; i += i < 16 || i + 16 > size ? 1 : 37) {
    write_bytes("checkpoint.safetensors", bytes, i);
    expect_the_previous_one("an end", i);
  }
  bytes = realloc(bytes, size + 1);
  bytes[size] = 0;
  write_bytes("checkpoint.safetensors", bytes, size + 1);
  expect_the_previous_one("one byte more", size);
  free(bytes);
}

static void foreign_files_are_refused(void **state) {
  (void)state;
  static const char *const files[] = {"", "PK\003\004 a zip file, as PyTorch writes it",
                                      "#!/bin/sh\necho this is a program\n", "{}"};
  lgv_error err = {0};
  char *older;
  size_t size = read_bytes(directory, "checkpoint-previous.safetensors", &older);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    write_bytes("checkpoint.safetensors", files[i], strlen(files[i]));
    expect_the_previous_one("a foreign file", i);
  }
  write_bytes("checkpoint-previous.safetensors", files[1], strlen(files[1]));
  assert_int_equal(resume(&err), -1); /* both */
  assert_int_equal(err.status, LGV_ERR_IO);
  assert_non_null(strstr(err.message, "checkpoint.safetensors is not a checkpoint of this run"));
  write_bytes("checkpoint-previous.safetensors", older, size);
  free(older);
}

/* Records that lost their end, as a disk without power may leave them: the run resumes from where
 * they are whole, and from nowhere if they never are. */
static void records_that_end_too_early_are_noticed(void **state) {
  (void)state;
  char *bytes;
  lgv_error err = {0};
  size_t size = read_bytes(directory, "metrics.csv", &bytes);
  write_bytes("metrics.csv", bytes, size - 1);
  expect_the_previous_one("records one byte short", size);
  write_bytes("metrics.csv", bytes, 1);
  assert_int_equal(resume(&err), -1);
  assert_int_equal(err.status, LGV_ERR_IO);
  assert_non_null(strstr(err.message, "metrics.csv is missing, or shorter than it was then"));
  free(bytes);
}

/* Between the two renames there is no newest one: the previous one is the newest. */
static void a_run_killed_between_the_renames_goes_on(void **state) {
  (void)state;
  char path[PATH_MAX];
  lgv_error err = {0};
  join(path, directory, "checkpoint.safetensors");
  assert_int_equal(unlink(path), 0);
  write_bytes("checkpoint-new.safetensors", "whatever", 8);
  assert_int_equal(resume(&err), 40);
  assert_string_equal(told, "");
  join(path, directory, "checkpoint-new.safetensors");
  assert_int_equal(access(path, F_OK), -1);
}

static void evaluation_does_not_take_an_older_one_in_silence(void **state) {
  (void)state;
  double result;
  char path[PATH_MAX];
  lgv_error err = {0};
  write_bytes("checkpoint.safetensors", "torn", 4);
  assert_int_equal(lgv_evaluate(directory, 1, 1, &result, &err), LGV_ERR_IO);
  assert_non_null(strstr(err.message, "checkpoint-previous.safetensors"));
  join(path, directory, "checkpoint-previous.safetensors");
  assert_int_equal(lgv_evaluate(path, 1, 1, &result, &err), LGV_OK);
}

/* ---- files that were made to do harm ---- */

/* Two lists and a file whose header is `header`, followed by `data` zeros. Returns the reason of
 * the refusal, or "". */
static const char *read_crafted(const char *header, uint64_t length, size_t data) {
  static lgv_error err;
  char path[PATH_MAX], *zeros = calloc(data + 1, 1);
  lgv_list lists[2] = {{0}, {0}};
  lgv_tensor items[] = {{.name = "a", .dtype = LGV_U8, .list = &lists[0]},
                        {.name = "b", .dtype = LGV_U8, .list = &lists[1]}};
  lgv_tensors tensors = {.items = items, .count = 2};
  join(path, root, "crafted");
  FILE *file = fopen(path, "wb");
  assert_int_equal(fwrite(&length, 8, 1, file), 1);
  assert_int_equal(fwrite(header, 1, strlen(header), file), strlen(header));
  assert_int_equal(fwrite(zeros, 1, data, file), data);
  fclose(file);
  free(zeros);
  err.message[0] = '\0';
  lgv_status status = lgv__tensors_read(&tensors, path, &err); /* fills the allocator's caches */
  size_t before = mallinfo2().uordblks;
  if (status != LGV_OK) status = lgv__tensors_read(&tensors, path, &err);
  assert_int_equal(mallinfo2().uordblks, before); /* nothing is kept of a file that is refused */
  assert_int_equal(status, LGV_ERR_IO);
  return err.message;
}

#define META "{\"__metadata__\":{\"format\":\"langevin-checkpoint-1\",\"a\":\"0\",\"b\":\"0\"}"
#define ENTRY(name, shape, first, last)                                                            \
  ",\"" name "\":{\"dtype\":\"U8\",\"shape\":[" shape "],\"data_offsets\":[" first "," last "]}"

static void crafted_headers_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *header, *reason;
  } cases[] = {
      {META ENTRY("a", "100", "0", "100") ENTRY("b", "100", "0", "100") "}", "overlap"},
      {META ENTRY("a", "50", "0", "50") ENTRY("b", "40", "60", "100") "}", "gaps"},
      {META ENTRY("a", "50", "0", "50") ENTRY("b", "40", "50", "90") "}", "longer than its arrays"},
      {META ENTRY("a", "50", "0", "50") ENTRY("b", "99999", "50", "100000") "}", "truncated"},
      {META ENTRY("a", "50", "0", "50") ENTRY("b", "1", "50", "9223372036854775807") "}",
       "truncated"},
      {META ENTRY("a", "50", "0", "50") ENTRY("b", "1", "50", "99999999999999999999") "}",
       "overlap or leave gaps"},
      {META ENTRY("a", "50", "-50", "50") ENTRY("b", "50", "50", "100") "}", "overlap"},
      {META ENTRY("a", "9999999999", "0", "50") ENTRY("b", "50", "50", "100") "}", "array a"},
      {META ENTRY("c", "50", "0", "50") ENTRY("b", "50", "50", "100") "}", "array a"},
      {META "}", "longer than its arrays"},
      {"[1, 2, 3]", "its format is another one"},
      {"[1, 2", "damaged"},
      {"{\"__metadata__\":{\"format\":\"langevin-checkpoint-9\"}" ENTRY("a", "50", "0", "50")
           ENTRY("b", "50", "50", "100") "}",
       "its format is langevin-checkpoint-9, and this version reads langevin-checkpoint-2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *reason = read_crafted(cases[i].header, strlen(cases[i].header), 100);
    if (!strstr(reason, cases[i].reason)) fail_msg("case %zu: '%s'", i, reason);
  }
}

static void lengths_beyond_the_file_are_refused(void **state) {
  (void)state;
  const uint64_t lengths[] = {9, 1000, 1u << 31, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    assert_non_null(strstr(read_crafted("{}", lengths[i], 4), "incomplete"));
}

/* ---- what cannot resume ---- */

/* Episodes of this one cannot resume. */
static lgv_plan *make_outside(const char *extra) {
  char words[200];
  lgv_plan *made;
  lgv_error err = {0};
  snprintf(words, sizeof words, "run.steps=90 run.checkpoint_every=0 env.forgets=true%s", extra);
  lgv_settings *settings = make_settings("outside", "dqn", words);
  assert_int_equal(lgv_settings_add_env(settings, &outside_type, &err), LGV_OK);
  lgv_settings_on_notice(settings, keep_notice, told);
  assert_int_equal(lgv_plan_create(settings, &made, &err), LGV_OK);
  lgv_settings_free(settings);
  return made;
}

static void finish_outside(lgv_run *run, lgv_plan *outside, const char *place,
                           const char *recorded) {
  lgv_error err = {0};
  bool done;
  assert_int_equal(lgv_run_advance(run, 1000, &done, &err), LGV_OK);
  assert_int_equal(lgv_run_finish(run, &err), LGV_OK);
  lgv_run_free(run);
  char *summary = read_text(place, "summary.json");
  assert_non_null(strstr(summary, recorded));
  free(summary);
  lgv_plan_free(outside);
}

static void an_episode_that_is_given_up_is_told_and_recorded(void **state) {
  (void)state;
  char place[PATH_MAX];
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  lgv_plan *outside = make_outside("");
  join(place, root, "outside");
  assert_int_equal(lgv_run_create(outside, FAULT_SEED, place, &run, &err), LGV_OK);
  for (int life = 0; life < 2; life++) { /* each ends within an episode */
    assert_int_equal(lgv_run_advance(run, 20, &done, &err), LGV_OK);
    assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
    lgv_run_free(run);
    told[0] = '\0';
    assert_int_equal(lgv_run_resume(outside, FAULT_SEED, place, &run, &err), LGV_OK);
    assert_non_null(strstr(told, "outside cannot resume within an episode"));
  }
  finish_outside(run, outside, place, "\"given_up_episodes\": 2");
}

static bool at_once(void *context) {
  (void)context;
  return true;
}

static void an_evaluation_that_is_given_up_is_told_and_recorded(void **state) {
  (void)state;
  char place[PATH_MAX];
  lgv_error err = {0};
  lgv_run *run;
  bool done;
  lgv_plan *outside = make_outside(" run.eval_every=30");
  join(place, root, "outside");
  assert_int_equal(lgv_run_create(outside, FAULT_SEED, place, &run, &err), LGV_OK);
  lgv__run_set_stop(run, (lgv_stop){at_once, NULL}); /* in the first episode of the first one */
  assert_int_equal(lgv_run_advance(run, 20, &done, &err), LGV_ERR_INTERRUPTED);
  assert_int_equal(lgv_run_checkpoint(run, &err), LGV_OK);
  lgv_run_free(run);
  told[0] = '\0';
  assert_int_equal(lgv_run_resume(outside, FAULT_SEED, place, &run, &err), LGV_OK);
  assert_non_null(strstr(told, "outside cannot resume within an episode"));
  finish_outside(run, outside, place, "\"given_up_episodes\": 1");
}

/* ---- children ---- */

static void a_freed_run_waits_for_its_child(void **state) {
  (void)state;
  lgv_run *run;
  lgv_error err = {0};
  bool done;
  size_t usual = lgv__checkpoint_fork_from(0);
  lgv_plan *often =
      plan_with_notices("riverswim", "lmc-lsvi", "run.steps=200 run.checkpoint_every=50");
  char place[PATH_MAX];
  join(place, root, "often");
  assert_int_equal(lgv_run_create(often, FAULT_SEED, place, &run, &err), LGV_OK);
  assert_int_equal(lgv_run_advance(run, 60, &done, &err), LGV_OK); /* one is under way */
  lgv_run_free(run);                                               /* which waits for it */
  assert_int_equal(lgv_run_resume(often, FAULT_SEED, place, &run, &err), LGV_OK);
  lgv_summary summary;
  lgv_run_summary(run, &summary);
  assert_int_equal(summary.steps, 50);
  lgv_run_free(run);
  lgv_plan_free(often);
  lgv__checkpoint_fork_from(usual);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_whole_one_is_used_without_a_word),
      TEST(flipped_bits_are_noticed),
      TEST(every_length_is_noticed),
      TEST(foreign_files_are_refused),
      TEST(records_that_end_too_early_are_noticed),
      TEST(a_run_killed_between_the_renames_goes_on),
      TEST(evaluation_does_not_take_an_older_one_in_silence),
      TEST(crafted_headers_are_refused),
      TEST(lengths_beyond_the_file_are_refused),
      TEST(an_episode_that_is_given_up_is_told_and_recorded),
      TEST(an_evaluation_that_is_given_up_is_told_and_recorded),
      TEST(a_freed_run_waits_for_its_child),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
