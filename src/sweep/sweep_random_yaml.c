/* random: {count: 50, seed: 1, keys: {...}}, where a key names a distribution and its range:
 *
 *   optim.lr: {log_uniform: [1e-5, 1e-2]}     agent.batch: {choice: [32, 64]}
 *   optim.a: {uniform: [0, 1]}                env.n: {int_uniform: [10, 40]}      40 included */
#include "base/error.h"
#include "base/text.h"
#include "config/settings_yaml.h"
#include "sweep/sweep_yaml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DRAWS = 1000000 };

static const char *const kinds[] = {[LGV_DRAW_UNIFORM] = "uniform",
                                    [LGV_DRAW_LOG_UNIFORM] = "log_uniform",
                                    [LGV_DRAW_INT_UNIFORM] = "int_uniform",
                                    [LGV_DRAW_CHOICE] = "choice"};

typedef struct reader {
  lgv_random *random;
  lgv_yaml *yaml;
} reader;

static lgv_status read_bound(const reader *r, const lgv_draw *draw, const yaml_node_t *node,
                             double *value, lgv_error *err) {
  const char *text = lgv__yaml_text(node);
  if (!text || !lgv__parse_real(text, value) || !isfinite(*value))
    return lgv__yaml_fail(r->yaml, node, err, "a number is needed here");
  if (draw->kind == LGV_DRAW_INT_UNIFORM && (*value != floor(*value) || fabs(*value) > 0x1p52))
    return lgv__yaml_fail(r->yaml, node, err, "int_uniform draws between whole numbers");
  if (draw->kind == LGV_DRAW_LOG_UNIFORM && *value <= 0)
    return lgv__yaml_fail(r->yaml, node, err, "log_uniform needs numbers above 0");
  return LGV_OK;
}

static lgv_status read_range(const reader *r, lgv_draw *draw, const yaml_node_t *node,
                             lgv_error *err) {
  const yaml_node_item_t *items =
      node->type == YAML_SEQUENCE_NODE ? node->data.sequence.items.start : NULL;
  if (!items || node->data.sequence.items.top - items != 2)
    return lgv__yaml_fail(r->yaml, node, err, "%s takes its two ends: {%s: [LOW, HIGH]}",
                          kinds[draw->kind], kinds[draw->kind]);
  yaml_document_t *document = &r->yaml->document;
  LGV_TRY(read_bound(r, draw, yaml_document_get_node(document, items[0]), &draw->low, err));
  LGV_TRY(read_bound(r, draw, yaml_document_get_node(document, items[1]), &draw->high, err));
  if (draw->low >= draw->high)
    return lgv__yaml_fail(r->yaml, node, err, "the lower end comes first, and must be lower");
  return LGV_OK;
}

static lgv_status read_choice(const reader *r, lgv_draw *draw, const yaml_node_t *node,
                              lgv_error *err) {
  lgv_axis *axis;
  if (node->type != YAML_SEQUENCE_NODE)
    return lgv__yaml_fail(r->yaml, node, err, "choice takes a list: {choice: [32, 64]}");
  LGV_TRY(lgv__axes_add(&draw->choice, draw->key, &axis, err));
  return lgv__axis_from_yaml(axis, r->yaml, node, draw->key, err);
}

static lgv_status unknown_kind(const reader *r, const char *key, const char *kind,
                               const yaml_node_t *node, lgv_error *err) {
  lgv_guess guess = {.wrong = kind};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) lgv__guess_offer(&guess, kinds[i]);
  if (guess.best)
    return lgv__yaml_fail(r->yaml, node, err, "unknown distribution '%.40s'; did you mean '%s'?",
                          kind, guess.best);
  return lgv__yaml_fail(r->yaml, node, err,
                        "say how '%.80s' is drawn: {uniform: [LOW, HIGH]}, {log_uniform: [LOW, "
                        "HIGH]}, {int_uniform: [LOW, HIGH]} or {choice: [...]}",
                        key);
}

/* path: the key and its distribution, "optim.lr.log_uniform". */
static lgv_status read_draw(void *context, const char *path, const yaml_node_t *node,
                            lgv_error *err) {
  const reader *r = context;
  char key[LGV_YAML_KEY_SIZE], origin[300];
  const char *dot = strrchr(path, '.'), *kind = dot ? dot + 1 : path;
  size_t k = 0, count = sizeof kinds / sizeof *kinds;
  while (k < count && strcmp(kinds[k], kind) != 0) k++;
  if (k == count || !dot) return unknown_kind(r, path, kind, node, err);
  snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
  const char *full = lgv__settings_key(key);
  if (lgv__random_find(r->random, full))
    return lgv__yaml_fail(r->yaml, node, err, "'%s' is in random twice", full);
  lgv_draw *draw;
  lgv__yaml_origin(r->yaml, node, origin, sizeof origin);
  LGV_TRY(lgv__random_add(r->random, full, origin, &draw, err));
  draw->kind = (lgv_draw_kind)k;
  return draw->kind == LGV_DRAW_CHOICE ? read_choice(r, draw, node, err)
                                       : read_range(r, draw, node, err);
}

static lgv_status read_member(void *context, const char *name, const yaml_node_t *node,
                              lgv_error *err) {
  const reader *r = context;
  if (strcmp(name, "count") == 0)
    return lgv__yaml_whole(r->yaml, node, 1, MOST_DRAWS, &r->random->draws, err);
  if (strcmp(name, "seed") == 0)
    return lgv__yaml_whole(r->yaml, node, 0, (int64_t)1 << 53, &r->random->seed, err);
  if (strcmp(name, "keys") != 0)
    return lgv__yaml_fail(r->yaml, node, err,
                          "unknown '%.40s': random has count, seed and keys: {optim.lr: "
                          "{log_uniform: [1e-5, 1e-2]}}",
                          name);
  if (node->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(r->yaml, node, err,
                          "keys is a mapping: {optim.lr: {log_uniform: [1e-5, 1e-2]}}");
  return lgv__yaml_leaves(r->yaml, node, "", read_draw, context, err);
}

lgv_status lgv__random_from_yaml(lgv_random *random, lgv_yaml *yaml, const yaml_node_t *node,
                                 lgv_error *err) {
  reader r = {random, yaml};
  if (node->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(
        yaml, node, err,
        "random is a mapping: {count: 50, seed: 1, keys: {optim.lr: {log_uniform: "
        "[1e-5, 1e-2]}}}");
  return lgv__yaml_pairs(yaml, node, read_member, &r, err);
}
