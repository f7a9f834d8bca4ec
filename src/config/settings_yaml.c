/* Settings from a YAML file (JSON is YAML): a mapping whose nested keys join with dots.
 *
 *   env: {name: riverswim, n: 12}      or      env: riverswim
 *   agent.lambda: 0.1                  or      agent: {name: lmc-lsvi, lambda: 0.1}
 *   run: {episodes: 1000}
 *
 * A plain value of env, agent or optim is its name. A sequence of scalars becomes a list 32,32. The
 * key `langevin` (in config.json: version and kernels of the run) is skipped. null keeps the
 * default. */
#include "config/settings_yaml.h"

#include "base/error.h"

#include <string.h>

typedef struct reader {
  lgv_settings *settings;
  lgv_yaml *yaml;
} reader;

const char *lgv__settings_key(const char *key) {
  if (strcmp(key, "env") == 0) return "env.name";
  if (strcmp(key, "agent") == 0) return "agent.name";
  if (strcmp(key, "optim") == 0) return "optim.name";
  return key;
}

static lgv_status read_leaf(void *context, const char *key, const yaml_node_t *node,
                            lgv_error *err) {
  const reader *r = context;
  char value[LGV_YAML_VALUE_SIZE], origin[300];
  if (lgv__yaml_is_null(node)) return LGV_OK;
  LGV_TRY(lgv__yaml_value(r->yaml, node, value, sizeof value, err));
  lgv__yaml_origin(r->yaml, node, origin, sizeof origin);
  return lgv_settings_set(r->settings, lgv__settings_key(key), value, origin, err);
}

lgv_status lgv__settings_from_yaml(lgv_settings *settings, lgv_yaml *yaml, const yaml_node_t *node,
                                   const char *key, lgv_error *err) {
  reader r = {settings, yaml};
  return lgv__yaml_leaves(yaml, node, key, read_leaf, &r, err);
}

static lgv_status read_top(void *context, const char *key, const yaml_node_t *node,
                           lgv_error *err) {
  const reader *r = context;
  if (strcmp(key, "langevin") == 0) return LGV_OK;
  static const char *const sweep_keys[] = {"grid", "random", "cases", "seeds"};
  bool of_sweep = false;
  for (size_t i = 0; i < sizeof sweep_keys / sizeof *sweep_keys; i++)
    of_sweep |= strcmp(key, sweep_keys[i]) == 0;
  if (of_sweep)
    return lgv__yaml_fail(r->yaml, node, err,
                          "'%s' belongs to a sweep: use `langevin sweep %.100s`, or take it out",
                          key, r->yaml->path);
  return lgv__settings_from_yaml(r->settings, r->yaml, node, key, err);
}

static lgv_status read_all(lgv_settings *settings, lgv_yaml *yaml, lgv_error *err) {
  reader r = {settings, yaml};
  lgv_status status = lgv__yaml_pairs(yaml, yaml->root, read_top, &r, err);
  lgv__yaml_close(yaml);
  return status;
}

lgv_status lgv_settings_load(lgv_settings *settings, const char *path, lgv_error *err) {
  lgv_yaml yaml;
  LGV_TRY(lgv__yaml_open(&yaml, path, err));
  return read_all(settings, &yaml, err);
}

lgv_status lgv__settings_parse(lgv_settings *settings, const char *path, const char *text,
                               lgv_error *err) {
  lgv_yaml yaml;
  LGV_TRY(lgv__yaml_parse(&yaml, path, text, strlen(text), err));
  return read_all(settings, &yaml, err);
}
