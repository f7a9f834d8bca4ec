#include "config/yaml_file.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 8, MOST_VALUES = 4096, MOST_ANCHORS = 256, MOST_BYTES = 1 << 18 };

lgv_status lgv__yaml_fail(const lgv_yaml *yaml, const yaml_node_t *node, lgv_error *err,
                          const char *format, ...) {
  char origin[300], what[400];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  lgv__yaml_origin(yaml, node, origin, sizeof origin);
  return lgv_fail(err, LGV_ERR_USAGE, "%s: %s", origin, what);
}

void lgv__yaml_origin(const lgv_yaml *yaml, const yaml_node_t *node, char *text, size_t size) {
  snprintf(text, size, "%.200s:%zu:%zu", yaml->path, node->start_mark.line + 1,
           node->start_mark.column + 1);
}

const char *lgv__yaml_text(const yaml_node_t *node) {
  return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

bool lgv__yaml_is_null(const yaml_node_t *node) {
  const char *text = lgv__yaml_text(node);
  return text && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
         (text[0] == '\0' || strcmp(text, "null") == 0 || strcmp(text, "~") == 0);
}

/* C would cut a text at an escape such as "\0". */
static bool has_nul(const yaml_node_t *node) {
  return node->type == YAML_SCALAR_NODE &&
         strlen((const char *)node->data.scalar.value) != node->data.scalar.length;
}

static lgv_status join_list(lgv_yaml *yaml, const yaml_node_t *list, char *text, size_t size,
                            lgv_error *err) {
  size_t used = 0;
  text[0] = '\0';
  for (yaml_node_item_t *i = list->data.sequence.items.start; i < list->data.sequence.items.top;
       i++) {
    const yaml_node_t *item = yaml_document_get_node(&yaml->document, *i);
    const char *member = lgv__yaml_text(item);
    if (!member || has_nul(item))
      return lgv__yaml_fail(yaml, item, err, "a list may hold plain values only");
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", member);
    if (used >= size) return lgv__yaml_fail(yaml, list, err, "this list is too long");
  }
  return LGV_OK;
}

lgv_status lgv__yaml_value(lgv_yaml *yaml, const yaml_node_t *node, char *text, size_t size,
                           lgv_error *err) {
  if (node->type == YAML_SEQUENCE_NODE) return join_list(yaml, node, text, size, err);
  const char *plain = lgv__yaml_text(node);
  if (!plain) return lgv__yaml_fail(yaml, node, err, "a plain value is needed here");
  if (has_nul(node)) return lgv__yaml_fail(yaml, node, err, "a value may not hold the byte 0");
  if ((size_t)snprintf(text, size, "%s", plain) >= size)
    return lgv__yaml_fail(yaml, node, err, "this value is too long");
  return LGV_OK;
}

lgv_status lgv__yaml_whole(lgv_yaml *yaml, const yaml_node_t *node, int64_t least, int64_t most,
                           int64_t *value, lgv_error *err) {
  const char *text = lgv__yaml_text(node);
  char *end = NULL;
  *value = text ? strtoll(text, &end, 10) : 0;
  if (!text || end == text || *end || *value < least || *value > most)
    return lgv__yaml_fail(yaml, node, err, "a whole number from %lld to %lld is needed here",
                          (long long)least, (long long)most);
  return LGV_OK;
}

/* ---- Walking ---- */

static lgv_status check_twice(const lgv_yaml *yaml, const yaml_node_t *mapping,
                              const yaml_node_pair_t *pair, const char *name, lgv_error *err) {
  yaml_document_t *document = (yaml_document_t *)&yaml->document; /* libyaml lacks a const getter */
  for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++) {
    const yaml_node_t *earlier = yaml_document_get_node(document, p->key);
    const char *text = lgv__yaml_text(earlier);
    if (text && strcmp(text, name) == 0)
      return lgv__yaml_fail(yaml, yaml_document_get_node(document, pair->key), err,
                            "the key '%.80s' appears twice; it was first set in line %zu", name,
                            earlier->start_mark.line + 1);
  }
  return LGV_OK;
}

lgv_status lgv__yaml_pairs(lgv_yaml *yaml, const yaml_node_t *mapping, lgv_yaml_visit visit,
                           void *context, lgv_error *err) {
  for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
       pair < mapping->data.mapping.pairs.top; pair++) {
    const yaml_node_t *key = yaml_document_get_node(&yaml->document, pair->key);
    const char *name = lgv__yaml_text(key);
    if (!name || has_nul(key)) return lgv__yaml_fail(yaml, key, err, "a key must be plain text");
    if (++yaml->visited > MOST_VALUES)
      return lgv__yaml_fail(yaml, key, err, "the file has more than %d values", MOST_VALUES);
    LGV_TRY(check_twice(yaml, mapping, pair, name, err));
    LGV_TRY(visit(context, name, yaml_document_get_node(&yaml->document, pair->value), err));
  }
  return LGV_OK;
}

typedef struct walk {
  lgv_yaml *yaml;
  const char *prefix;
  int depth;
  lgv_yaml_visit visit;
  void *context;
} walk;

static lgv_status walk_node(const walk *w, const yaml_node_t *node, const char *key,
                            lgv_error *err);

static lgv_status walk_pair(void *context, const char *name, const yaml_node_t *value,
                            lgv_error *err) {
  const walk *w = context;
  char key[LGV_YAML_KEY_SIZE];
  int length = snprintf(key, sizeof key, "%s%s%s", w->prefix, w->prefix[0] ? "." : "", name);
  if (length >= (int)sizeof key)
    return lgv__yaml_fail(w->yaml, value, err, "the key of this value is too long");
  return walk_node(w, value, key, err);
}

static lgv_status walk_node(const walk *w, const yaml_node_t *node, const char *key,
                            lgv_error *err) {
  if (node->type != YAML_MAPPING_NODE) return w->visit(w->context, key, node, err);
  if (w->depth == DEEPEST) return lgv__yaml_fail(w->yaml, node, err, "this is nested too deeply");
  walk inner = *w;
  inner.prefix = key;
  inner.depth++;
  return lgv__yaml_pairs(w->yaml, node, walk_pair, &inner, err);
}

lgv_status lgv__yaml_leaves(lgv_yaml *yaml, const yaml_node_t *node, const char *key,
                            lgv_yaml_visit visit, void *context, lgv_error *err) {
  walk w = {.yaml = yaml, .visit = visit, .context = context};
  return walk_node(&w, node, key, err);
}

/* ---- Opening ---- */

static lgv_status read_bytes(const char *path, unsigned char *bytes, size_t *length,
                             lgv_error *err) {
  FILE *file = fopen(path, "rb");
  if (!file) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(errno));
  *length = fread(bytes, 1, MOST_BYTES + 1, file);
  bool failed = ferror(file);
  int saved = errno;
  fclose(file);
  if (failed) return lgv_fail(err, LGV_ERR_IO, "cannot read %.300s: %s", path, strerror(saved));
  if (*length > MOST_BYTES)
    return lgv_fail(err, LGV_ERR_USAGE, "%.300s is larger than 256 KiB: not a settings file", path);
  return LGV_OK;
}

static lgv_status parser_error(const yaml_parser_t *parser, const char *path, lgv_error *err) {
  if (parser->error == YAML_MEMORY_ERROR) return lgv__out_of_memory(err, path);
  if (parser->error == YAML_READER_ERROR)
    return lgv_fail(err, LGV_ERR_USAGE, "%.300s: byte %zu: %s", path, parser->problem_offset,
                    parser->problem ? parser->problem : "not text");
  return lgv_fail(err, LGV_ERR_USAGE, "%.300s:%zu:%zu: not valid YAML: %s%s%s", path,
                  parser->problem_mark.line + 1, parser->problem_mark.column + 1,
                  parser->problem ? parser->problem : "", parser->context ? ", " : "",
                  parser->context ? parser->context : "");
}

/* Whether the stream ends after the document. */
static lgv_status check_end(yaml_parser_t *parser, const char *path, lgv_error *err) {
  yaml_document_t second;
  if (!yaml_parser_load(parser, &second)) return parser_error(parser, path, err);
  bool more = yaml_document_get_root_node(&second) != NULL;
  size_t line = second.start_mark.line + 1;
  yaml_document_delete(&second);
  if (!more) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE, "%.300s:%zu: a second document begins here; one is read",
                  path, line);
}

/* Depth and anchors of the stream, before libyaml builds a document of it: both cost it time that
 * grows with their square. */
static lgv_status check_events(yaml_parser_t *parser, const char *path, lgv_error *err) {
  int depth = 0, anchors = 0;
  for (bool end = false; !end;) {
    yaml_event_t event;
    if (!yaml_parser_parse(parser, &event)) return parser_error(parser, path, err);
    size_t line = event.start_mark.line + 1;
    end = event.type == YAML_STREAM_END_EVENT;
    switch (event.type) {
    case YAML_MAPPING_START_EVENT:
      depth++;
      anchors += event.data.mapping_start.anchor != NULL;
      break;
    case YAML_SEQUENCE_START_EVENT:
      depth++;
      anchors += event.data.sequence_start.anchor != NULL;
      break;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: depth--; break;
    case YAML_SCALAR_EVENT: anchors += event.data.scalar.anchor != NULL; break;
    default: break;
    }
    yaml_event_delete(&event);
    if (depth > 2 * DEEPEST)
      return lgv_fail(err, LGV_ERR_USAGE, "%.300s:%zu: this is nested too deeply", path, line);
    if (anchors > MOST_ANCHORS)
      return lgv_fail(err, LGV_ERR_USAGE, "%.300s:%zu: more than %d anchors", path, line,
                      MOST_ANCHORS);
  }
  return LGV_OK;
}

static lgv_status scan(const char *path, const unsigned char *bytes, size_t length,
                       lgv_error *err) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) return lgv__out_of_memory(err, "the YAML parser");
  yaml_parser_set_input_string(&parser, bytes, length);
  lgv_status status = check_events(&parser, path, err);
  yaml_parser_delete(&parser);
  return status;
}

static lgv_status parse(lgv_yaml *yaml, const unsigned char *bytes, size_t length, lgv_error *err) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) return lgv__out_of_memory(err, "the YAML parser");
  yaml_parser_set_input_string(&parser, bytes, length);
  lgv_status status = LGV_OK;
  if (!yaml_parser_load(&parser, &yaml->document)) {
    status = parser_error(&parser, yaml->path, err);
    yaml_parser_delete(&parser);
    return status;
  }
  yaml->root = yaml_document_get_root_node(&yaml->document);
  if (!yaml->root)
    status = lgv_fail(err, LGV_ERR_USAGE, "%.300s is empty", yaml->path);
  else if (yaml->root->type != YAML_MAPPING_NODE)
    status = lgv__yaml_fail(yaml, yaml->root, err,
                            "expected `key: value` lines, such as `env: riverswim`");
  else
    status = check_end(&parser, yaml->path, err);
  if (status != LGV_OK) yaml_document_delete(&yaml->document);
  yaml_parser_delete(&parser);
  return status;
}

lgv_status lgv__yaml_parse(lgv_yaml *yaml, const char *path, const char *text, size_t length,
                           lgv_error *err) {
  *yaml = (lgv_yaml){.path = path};
  LGV_TRY(scan(path, (const unsigned char *)text, length, err));
  return parse(yaml, (const unsigned char *)text, length, err);
}

lgv_status lgv__yaml_open(lgv_yaml *yaml, const char *path, lgv_error *err) {
  size_t length = 0;
  unsigned char *bytes = lgv__calloc(MOST_BYTES + 1, 1);
  if (!bytes) return lgv__out_of_memory(err, path);
  lgv_status status = read_bytes(path, bytes, &length, err);
  if (status == LGV_OK) status = lgv__yaml_parse(yaml, path, (char *)bytes, length, err);
  lgv__free(bytes);
  return status;
}

void lgv__yaml_close(lgv_yaml *yaml) { yaml_document_delete(&yaml->document); }
