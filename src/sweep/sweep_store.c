#include "sweep/sweep_store.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/io/json.h"
#include "base/io/lock.h"
#include "config/plan.h"
#include "config/run_directory.h"
#include "config/yaml_file.h"
#include "record/record.h"
#include "record/summary.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char error_name[] = "error.json";

/* ---- The program that wrote the records ---- */

static lgv_status note_maker(void *context, const char *key, const yaml_node_t *node,
                             lgv_error *err) {
  (void)err;
  lgv_maker *maker = context;
  const char *text = lgv__yaml_text(node);
  if (text && strcmp(key, "langevin.version") == 0)
    snprintf(maker->version, sizeof maker->version, "%s", text);
  if (text && strcmp(key, "langevin.kernels") == 0)
    snprintf(maker->kernels, sizeof maker->kernels, "%s", text);
  return LGV_OK;
}

/* Whether config.json is whole. */
static bool read_maker(const char *path, lgv_maker *maker) {
  lgv_yaml yaml;
  *maker = (lgv_maker){{0}, {0}};
  if (lgv__yaml_open(&yaml, path, NULL) != LGV_OK) return false;
  lgv_status status = lgv__yaml_leaves(&yaml, yaml.root, "", note_maker, maker, NULL);
  lgv__yaml_close(&yaml);
  return status == LGV_OK && maker->version[0] && maker->kernels[0];
}

lgv_status lgv__store_origin(const lgv_plan *plan, uint64_t seed, const char *directory,
                             lgv_origin *origin, lgv_maker *maker, lgv_error *err) {
  char path[PATH_MAX];
  bool there;
  *origin = LGV_ORIGIN_NONE;
  LGV_TRY(lgv__join_path(directory, "config.json", path, sizeof path, err));
  LGV_TRY(lgv__is_there(path, &there, err));
  if (!there) return LGV_OK;
  lgv_status status = lgv__config_check(plan, seed, directory, LGV_EXACTLY, err);
  if (status == LGV_ERR_IO || status == LGV_ERR_MEMORY) return status; /* it was not compared */
  if (status == LGV_OK)
    *origin = LGV_ORIGIN_OURS;
  else if (read_maker(path, maker))
    *origin = LGV_ORIGIN_OTHER;
  return LGV_OK;
}

lgv_status lgv__store_finished(const lgv_plan *plan, uint64_t seed, const char *directory,
                               bool *finished, lgv_summary *summary, lgv_origin *origin,
                               lgv_maker *maker, lgv_error *err) {
  lgv_summary found;
  bool there;
  *finished = false;
  LGV_TRY(lgv__summary_find(directory, &there, &found, err));
  if (!there || !found.finished || found.seed != seed) return LGV_OK;
  LGV_TRY(lgv__store_origin(plan, seed, directory, origin, maker, err));
  if (*origin == LGV_ORIGIN_NONE) return LGV_OK;
  *finished = true;
  *summary = found;
  return LGV_OK;
}

/* ---- Failures ---- */

static lgv_status status_of(const char *name) {
  for (int s = LGV_ERR_USAGE; name && s <= LGV_ERR_INTERRUPTED; s++)
    if (strcmp(lgv_status_name((lgv_status)s), name) == 0) return (lgv_status)s;
  return LGV_ERR_IO;
}

bool lgv__store_failed(const char *directory, lgv_error *failure) {
  char path[PATH_MAX];
  lgv_settings *file;
  if (lgv__join_path(directory, error_name, path, sizeof path, NULL) != LGV_OK ||
      access(path, F_OK) != 0 || lgv_settings_create(&file, NULL) != LGV_OK)
    return false;
  bool whole = lgv_settings_load(file, path, NULL) == LGV_OK;
  const char *text = whole ? lgv_settings_get(file, "error") : NULL;
  if (text) lgv_fail(failure, status_of(lgv_settings_get(file, "status")), "%s", text);
  lgv_settings_free(file);
  return text != NULL;
}

void lgv__store_failure(const char *directory, const lgv_error *failure) {
  lgv_json json = {0};
  lgv__json_open(&json, NULL, '{');
  lgv__json_string(&json, "status", lgv_status_name(failure->status));
  lgv__json_string(&json, "error", failure->message);
  lgv__json_close(&json, '}');
  lgv_status kept = json.failed
                        ? LGV_ERR_MEMORY
                        : lgv__write_file(directory, error_name, json.text, json.length, NULL);
  (void)kept;
  lgv__json_free(&json);
}

static void remove_file(const char *directory, const char *name) {
  char path[PATH_MAX];
  if (lgv__join_path(directory, name, path, sizeof path, NULL) == LGV_OK) unlink(path);
}

static bool has_file(const char *directory, const char *name) {
  char path[PATH_MAX];
  return lgv__join_path(directory, name, path, sizeof path, NULL) == LGV_OK &&
         access(path, F_OK) == 0;
}

bool lgv__store_is_untidy(const char *directory) {
  return has_file(directory, LGV_LOCK_NAME) || has_file(directory, error_name);
}

void lgv__store_tidy(const lgv_plan *plan, const char *directory) {
  remove_file(directory, error_name);
  remove_file(directory, "checkpoint-previous.safetensors");
  if (!plan->run.checkpoint_final) remove_file(directory, "checkpoint.safetensors");
}
