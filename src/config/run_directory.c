/* One function writes every config.json, one value per line; so two of them are compared line by
 * line, and the first difference has a name. */
#include "config/run_directory.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/io/json.h"
#include "base/memory.h"
#include "base/param.h"
#include "env/common_params.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 96, SLACK = 4096 };

/* A line of config.json: `    "batch": 32` within a section, `  "agent": {` at its head. The comma
 * at its end is left out. */
typedef struct line {
  const char *text;
  int length;
} line;

static line next_line(const char **at) {
  line l = {*at, (int)strcspn(*at, "\n")};
  *at += l.length + ((*at)[l.length] == '\n');
  l.length -= l.length > 0 && l.text[l.length - 1] == '\r'; /* an editor may end lines so */
  l.length -= l.length > 0 && l.text[l.length - 1] == ',';
  return l;
}

static bool same(line a, line b) {
  return a.length == b.length && memcmp(a.text, b.text, (size_t)a.length) == 0;
}

static void copy(const char *from, size_t length, char *word) {
  snprintf(word, WORD_SIZE, "%.*s", (int)(length < WORD_SIZE ? length : WORD_SIZE - 1), from);
}

/* The text between the quotes of the key, and the text after the colon. */
static void split(line l, char *key, char *value) {
  const char *open = memchr(l.text, '"', (size_t)l.length);
  const char *end = l.text + l.length, *close = open ? strchr(open + 1, '"') : NULL;
  *key = *value = '\0';
  if (!close || close >= end) return;
  copy(open + 1, (size_t)(close - open - 1), key);
  const char *start = close + 2 < end ? close + 2 + (close[2] == ' ') : end;
  copy(start, (size_t)(end - start), value);
}

static bool is_budget(const char *section, const char *key) {
  return strcmp(section, "run") == 0 && (strcmp(key, "steps") == 0 || strcmp(key, "episodes") == 0);
}

static lgv_status refuse(const char *directory, const char *what, lgv_error *err) {
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.200s already holds a run with other settings (%s); choose another directory, "
                  "or remove it",
                  directory, what);
}

/* Only one of the two has a line here: a common parameter of environments is left out if it has its
 * default. `other` and `was` are of the old line, `key` and `is` of the new one. */
static void describe_missing(const char *other, const char *was, const char *key, const char *is,
                             char *what, size_t size) {
  int old = lgv__params_find(lgv__env_common_params, other);
  int new = lgv__params_find(lgv__env_common_params, key);
  if (old >= 0)
    is = lgv__env_common_params[old].default_text;
  else if (new >= 0)
    was = lgv__env_common_params[new].default_text;
  if (old < 0 && new < 0)
    snprintf(what, size, "of another version");
  else
    snprintf(what, size, "env.%s is %s there, here %s", old >= 0 ? other : key, was, is);
}

/* Whether two texts agree; if not, what names the first difference. */
static bool compare(const char *old, const char *new, lgv_config_match match, char *what,
                    size_t size) {
  char section[WORD_SIZE] = "", key[WORD_SIZE], is[WORD_SIZE], other[WORD_SIZE], was[WORD_SIZE];
  while (*old || *new) {
    line a = next_line(&old), b = next_line(&new);
    split(a, other, was);
    split(b, key, is);
    if (strcmp(is, "{") == 0) copy(key, strlen(key), section);
    if (same(a, b)) continue;
    char advice[2 * WORD_SIZE] = "";
    if (strcmp(key, other) != 0) {
      describe_missing(other, was, key, is, what, size);
      return false;
    }
    if (match == LGV_UP_TO_BUDGET && is_budget(section, key)) continue;
    if (strcmp(section, "langevin") == 0 && strcmp(key, "kernels") == 0) {
      const char *name = was + (*was == '"');
      snprintf(advice, sizeof advice,
               ": LANGEVIN_KERNELS=%.*s selects the same, if this CPU has it",
               (int)strcspn(name, "\""), name);
    }
    snprintf(what, size, "%s.%s is %s there, here %s%s", section, key, was, is, advice);
    return false;
  }
  return true;
}

lgv_status lgv__config_compare(const lgv_plan *plan, uint64_t seed, const char *settings,
                               bool *same, char *what, size_t size, lgv_error *err) {
  lgv_json json = {0};
  lgv__plan_json(plan, seed, &json);
  bool failed = json.failed;
  *same = !failed && compare(settings, json.text, LGV_UP_TO_BUDGET, what, size);
  lgv__json_free(&json);
  return failed ? lgv__out_of_memory(err, "config.json") : LGV_OK;
}

static lgv_status check_text(const char *old, const char *new, const char *directory,
                             lgv_config_match match, lgv_error *err) {
  char what[LGV_DIFFERENCE_SIZE];
  return compare(old, new, match, what, sizeof what) ? LGV_OK : refuse(directory, what, err);
}

lgv_status lgv__config_check_text(const char *text, const char *directory, lgv_config_match match,
                                  lgv_error *err) {
  char path[PATH_MAX];
  LGV_TRY(lgv__join_path(directory, "config.json", path, sizeof path, err));
  bool there;
  LGV_TRY(lgv__is_there(path, &there, err));
  if (!there) return LGV_OK;
  FILE *file = fopen(path, "rb");
  if (!file) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
  size_t most = strlen(text) + SLACK;
  char *old = lgv__calloc(most + 1, 1);
  if (old) old[fread(old, 1, most, file)] = '\0';
  bool failed = ferror(file);
  fclose(file);
  lgv_status status = failed ? lgv_fail(err, LGV_ERR_IO, "cannot read %.300s", path)
                      : old  ? check_text(old, text, directory, match, err)
                             : lgv__out_of_memory(err, "config.json");
  lgv__free(old);
  return status;
}

lgv_status lgv__config_check(const lgv_plan *plan, uint64_t seed, const char *directory,
                             lgv_config_match match, lgv_error *err) {
  lgv_json json = {0};
  lgv__plan_json(plan, seed, &json);
  lgv_status status = json.failed ? lgv__out_of_memory(err, "config.json")
                                  : lgv__config_check_text(json.text, directory, match, err);
  lgv__json_free(&json);
  return status;
}

lgv_status lgv__config_check_budget(const lgv_plan *plan, int64_t steps, int64_t episodes,
                                    const char *directory, lgv_error *err) {
  const struct {
    const char *name;
    int64_t done, budget; /* 0: none */
  } budgets[] = {{"steps", steps, plan->run.steps}, {"episodes", episodes, plan->run.episodes}};
  for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
    if (budgets[i].budget > 0 && budgets[i].done - budgets[i].budget >= plan->run.envs)
      return lgv_fail(err, LGV_ERR_USAGE,
                      "%.200s has done %lld %s already, more than run.%s = %lld; choose another "
                      "directory with --out",
                      directory, (long long)budgets[i].done, budgets[i].name, budgets[i].name,
                      (long long)budgets[i].budget);
  return LGV_OK;
}

/* ---- Seeds ---- */

void lgv__seed_name(uint64_t seed, char *name) {
  snprintf(name, LGV_SEED_NAME_SIZE, "seed-%" PRIu64, seed);
}

lgv_status lgv__seeds_in(const char *directory, lgv_seeds *seeds, lgv_error *err) {
  lgv_seeds found = {.first = UINT64_MAX};
  DIR *stream = opendir(directory);
  if (!stream && errno != ENOENT && errno != ENOTDIR)
    return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", directory, strerror(errno));
  errno = 0; /* readdir sets it if the end is an error */
  for (const struct dirent *entry; stream && (entry = readdir(stream)); errno = 0) {
    uint64_t seed;
    int end = 0; /* seed-3.old does not count */
    if (sscanf(entry->d_name, "seed-%" SCNu64 "%n", &seed, &end) != 1 || entry->d_name[end])
      continue;
    if (seed < found.first) found.first = seed;
    if (seed > found.last) found.last = seed;
    found.count++;
  }
  int reason = stream ? errno : 0;
  if (stream) closedir(stream);
  if (reason)
    return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", directory, strerror(reason));
  *seeds = found;
  return LGV_OK;
}

lgv_status lgv__seeds_check_none(const char *directory, lgv_error *err) {
  lgv_seeds found;
  LGV_TRY(lgv__seeds_in(directory, &found, err));
  if (found.count == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.200s is a directory of several seeds: name one of them, such as "
                  "%.200s/seed-%" PRIu64,
                  directory, directory, found.first);
}
