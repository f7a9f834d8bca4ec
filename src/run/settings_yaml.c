/* Settings from a YAML file (JSON is YAML): a mapping whose nested keys join with dots.
 *
 *   env: {name: riverswim, n: 12}      or      env: riverswim
 *   agent.lambda: 0.1                  or      agent: {name: lmc-lsvi, lambda: 0.1}
 *   run: {episodes: 1000}
 *
 * A plain value of env, agent or optim is its name. A sequence of scalars becomes a list 32,32. The
 * key `langevin` (what a run notes about itself in config.json) is skipped. null leaves the
 * default. */
#include "base/error.h"
#include "run/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

typedef struct reader {
  yaml_document_t document;
  lgv_settings *settings;
  const char *path;
  lgv_error *err;
} reader;

enum { DEEPEST = 8, KEY_SIZE = 128, VALUE_SIZE = 512 };

static lgv_status fail_at(reader *r, const yaml_node_t *node, const char *what) {
  return lgv_fail(r->err, LGV_ERR_USAGE, "%s:%zu:%zu: %s", r->path, node->start_mark.line + 1,
                  node->start_mark.column + 1, what);
}

static lgv_status set(reader *r, const yaml_node_t *node, const char *key, const char *value) {
  char origin[300], name_key[KEY_SIZE];
  snprintf(origin, sizeof origin, "%.200s:%zu:%zu", r->path, node->start_mark.line + 1,
           node->start_mark.column + 1);
  if (strcmp(key, "env") == 0 || strcmp(key, "agent") == 0 || strcmp(key, "optim") == 0) {
    snprintf(name_key, sizeof name_key, "%s.name", key);
    key = name_key;
  }
  return lgv_settings_set(r->settings, key, value, origin, r->err);
}

static const char *scalar_text(const yaml_node_t *node) {
  return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool is_null(const yaml_node_t *node) {
  const char *text = scalar_text(node);
  return text && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         (text[0] == '\0' || strcmp(text, "null") == 0 || strcmp(text, "~") == 0);
}

static lgv_status read_sequence(reader *r, const yaml_node_t *node, const char *key) {
  char value[VALUE_SIZE] = "";
  size_t used = 0;
  for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
       i++) {
    const char *text = scalar_text(yaml_document_get_node(&r->document, *i));
    if (!text) return fail_at(r, node, "a list may hold plain values only");
    used += (size_t)snprintf(value + used, sizeof value - used, "%s%s", used ? "," : "", text);
    if (used >= sizeof value) return fail_at(r, node, "this list is too long");
  }
  return set(r, node, key, value);
}

static lgv_status read_node(reader *r, const yaml_node_t *node, const char *key, int depth);

static lgv_status read_mapping(reader *r, const yaml_node_t *node, const char *prefix, int depth) {
  for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
       pair++) {
    const yaml_node_t *key_node = yaml_document_get_node(&r->document, pair->key);
    const yaml_node_t *value = yaml_document_get_node(&r->document, pair->value);
    const char *name = scalar_text(key_node);
    if (!name || !value) return fail_at(r, node, "a key must be plain text");
    char key[KEY_SIZE];
    int length = snprintf(key, sizeof key, "%s%s%s", prefix, prefix[0] ? "." : "", name);
    if (length >= (int)sizeof key) return fail_at(r, key_node, "this key is too long");
    if (strcmp(key, "langevin") != 0) LGV_TRY(read_node(r, value, key, depth + 1));
  }
  return LGV_OK;
}

static lgv_status read_node(reader *r, const yaml_node_t *node, const char *key, int depth) {
  if (depth > DEEPEST) return fail_at(r, node, "this is nested too deeply");
  switch (node->type) {
  case YAML_MAPPING_NODE: return read_mapping(r, node, key, depth);
  case YAML_SEQUENCE_NODE: return read_sequence(r, node, key);
  case YAML_SCALAR_NODE: return is_null(node) ? LGV_OK : set(r, node, key, scalar_text(node));
  case YAML_NO_NODE: break;
  }
  return LGV_OK;
}

static lgv_status read_document(reader *r, FILE *file) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) return lgv__out_of_memory(r->err, "the YAML parser");
  yaml_parser_set_input_file(&parser, file);
  lgv_status status = LGV_OK;
  if (!yaml_parser_load(&parser, &r->document)) {
    const char *problem = parser.problem ? parser.problem : "not valid YAML";
    status = lgv_fail(r->err, LGV_ERR_USAGE, "%s:%zu:%zu: %s", r->path,
                      parser.problem_mark.line + 1, parser.problem_mark.column + 1, problem);
  } else {
    yaml_node_t *root = yaml_document_get_root_node(&r->document);
    if (!root)
      status = lgv_fail(r->err, LGV_ERR_USAGE, "%s is empty", r->path);
    else if (root->type != YAML_MAPPING_NODE)
      status = fail_at(r, root, "expected `key: value` lines, such as `env: riverswim`");
    else
      status = read_mapping(r, root, "", 0);
    yaml_document_delete(&r->document);
  }
  yaml_parser_delete(&parser);
  return status;
}

lgv_status lgv_settings_load(lgv_settings *settings, const char *path, lgv_error *err) {
  FILE *file = fopen(path, "rb");
  if (!file) return lgv_fail(err, LGV_ERR_IO, "cannot read %s: %s", path, strerror(errno));
  reader r = {.settings = settings, .path = path, .err = err};
  lgv_status status = read_document(&r, file);
  fclose(file);
  return status;
}
