/* A YAML file (JSON is YAML) whose top is a mapping, read with bounds that a hostile file cannot
 * break: size, nesting, and the number of values visited (aliases are followed, so a small file
 * can stand for a huge tree). Every error names file:line:column. */
#ifndef LGV_CONFIG_YAML_FILE_H
#define LGV_CONFIG_YAML_FILE_H

#include "langevin.h"

#include <yaml.h>

enum { LGV_YAML_KEY_SIZE = 128, LGV_YAML_VALUE_SIZE = 512 };

typedef struct lgv_yaml {
  yaml_document_t document;
  yaml_node_t *root;
  const char *path;
  size_t visited; /* values so far */
} lgv_yaml;

/* path must outlive yaml. */
LGV_CHECK lgv_status lgv__yaml_open(lgv_yaml *yaml, const char *path, lgv_error *err);
/* The same of a text that stands elsewhere than in a file of its own. */
LGV_CHECK lgv_status lgv__yaml_parse(lgv_yaml *yaml, const char *path, const char *text,
                                     size_t length, lgv_error *err);
void lgv__yaml_close(lgv_yaml *yaml);

lgv_status lgv__yaml_fail(const lgv_yaml *yaml, const yaml_node_t *node, lgv_error *err,
                          const char *format, ...) LGV_PRINTF(4, 5);
/* "file:line:column" */
void lgv__yaml_origin(const lgv_yaml *yaml, const yaml_node_t *node, char *text, size_t size);
/* The text of a plain value, or NULL for a list or mapping. */
const char *lgv__yaml_text(const yaml_node_t *node);
bool lgv__yaml_is_null(const yaml_node_t *node);
/* A plain value, or a list of plain values as 32,32. */
LGV_CHECK lgv_status lgv__yaml_value(lgv_yaml *yaml, const yaml_node_t *node, char *text,
                                     size_t size, lgv_error *err);

/* A whole number within bounds; anything else is an error. */
LGV_CHECK lgv_status lgv__yaml_whole(lgv_yaml *yaml, const yaml_node_t *node, int64_t least,
                                     int64_t most, int64_t *value, lgv_error *err);

typedef lgv_status (*lgv_yaml_visit)(void *context, const char *key, const yaml_node_t *value,
                                     lgv_error *err);
/* Visits the pairs of one mapping, keys as written; refuses a key that appears twice. */
LGV_CHECK lgv_status lgv__yaml_pairs(lgv_yaml *yaml, const yaml_node_t *mapping,
                                     lgv_yaml_visit visit, void *context, lgv_error *err);
/* Visits every plain value and list below node; nested keys join with dots. key: the name of node
 * itself, or "". */
LGV_CHECK lgv_status lgv__yaml_leaves(lgv_yaml *yaml, const yaml_node_t *node, const char *key,
                                      lgv_yaml_visit visit, void *context, lgv_error *err);

#endif
