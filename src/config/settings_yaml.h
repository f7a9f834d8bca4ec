/* Settings from the nodes of a YAML file; sweep files use the same keys. */
#ifndef LGV_CONFIG_SETTINGS_YAML_H
#define LGV_CONFIG_SETTINGS_YAML_H

#include "config/yaml_file.h"

/* `env`, `agent` and `optim` with a plain value mean their name: env -> env.name. */
const char *lgv__settings_key(const char *key);
/* Sets every value below node; key: the name of node itself. null keeps the default. */
LGV_CHECK lgv_status lgv__settings_from_yaml(lgv_settings *settings, lgv_yaml *yaml,
                                             const yaml_node_t *node, const char *key,
                                             lgv_error *err);
/* The same as lgv_settings_load, of a text; path: where it stands, for messages. */
LGV_CHECK lgv_status lgv__settings_parse(lgv_settings *settings, const char *path, const char *text,
                                         lgv_error *err);

#endif
