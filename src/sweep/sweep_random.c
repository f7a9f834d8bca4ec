/* Every key has its own stream, named by the key, and draw i takes the next value of every stream;
 * a draw that repeats an earlier one is discarded. So draw i depends on the seed and on the
 * distributions, but not on the number of draws, and adding a key does not change the values of the
 * others (as long as nothing is discarded). Real values are rounded to six digits, so that tables
 * show the values that were run. */
#include "sweep/sweep_random.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/portable_math.h"
#include "base/text.h"
#include "config/settings_yaml.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 6, VALUE_SIZE = 512, MOST_REPEATS = 10000 };

static const char *const kinds[] = {[LGV_DRAW_UNIFORM] = "uniform",
                                    [LGV_DRAW_LOG_UNIFORM] = "log_uniform",
                                    [LGV_DRAW_INT_UNIFORM] = "int_uniform",
                                    [LGV_DRAW_CHOICE] = "choice"};

/* ---- The list of keys ---- */

lgv_draw *lgv__random_find(const lgv_random *random, const char *key) {
  for (size_t i = 0; i < random->count; i++)
    if (strcmp(random->items[i].key, key) == 0) return &random->items[i];
  return NULL;
}

lgv_status lgv__random_add(lgv_random *random, const char *key, const char *origin, lgv_draw **draw,
                           lgv_error *err) {
  lgv_draw *grown = lgv__realloc(random->items, (random->count + 1) * sizeof *grown);
  if (grown) random->items = grown;
  lgv_draw item = {.key = lgv__strdup(key), .origin = lgv__strdup(origin)};
  if (!grown || !item.key || !item.origin) {
    lgv__free(item.key);
    lgv__free(item.origin);
    return lgv__out_of_memory(err, "a sweep");
  }
  *draw = &random->items[random->count++];
  **draw = item;
  return LGV_OK;
}

static void free_draw(lgv_draw *draw) {
  lgv__free(draw->key);
  lgv__free(draw->origin);
  lgv__axes_free(&draw->choice);
}

void lgv__random_remove(lgv_random *random, const char *key) {
  lgv_draw *draw = lgv__random_find(random, key);
  if (!draw) return;
  size_t index = (size_t)(draw - random->items);
  free_draw(draw);
  memmove(draw, draw + 1, (--random->count - index) * sizeof *draw);
}

void lgv__random_free(lgv_random *random) {
  for (size_t i = 0; i < random->count; i++) free_draw(&random->items[i]);
  lgv__free(random->items);
  *random = (lgv_random){.seed = -1};
}

lgv_status lgv__random_copy(const lgv_random *from, lgv_random *to, lgv_error *err) {
  if (from->draws > 0) to->draws = from->draws;
  if (from->seed >= 0) to->seed = from->seed;
  for (size_t i = 0; i < from->count; i++) {
    const lgv_draw *draw = &from->items[i];
    lgv_draw *copy = NULL;
    lgv__random_remove(to, draw->key);
    LGV_TRY(lgv__random_add(to, draw->key, draw->origin, &copy, err));
    copy->kind = draw->kind;
    copy->low = draw->low;
    copy->high = draw->high;
    LGV_TRY(lgv__axes_copy(&draw->choice, &copy->choice, err));
  }
  return LGV_OK;
}

bool lgv_sweep_draw(const lgv_sweep *sweep, size_t case_index, size_t index, lgv_draw_info *draw) {
  if (case_index >= sweep->info.cases) return false;
  const lgv_random *random = sweep->cases[case_index].random;
  if (index >= random->count) return false;
  const lgv_draw *found = &random->items[index];
  *draw = (lgv_draw_info){.key = found->key,
                          .kind = kinds[found->kind],
                          .origin = found->origin,
                          .low = found->low,
                          .high = found->high};
  if (found->choice.count > 0) {
    draw->choices = (const char *const *)found->choice.items[0].values;
    draw->n_choices = found->choice.items[0].count;
  }
  return true;
}

/* ---- Drawing ---- */

static void format_within(const lgv_draw *draw, double x, char *text, size_t size) {
  double rounded;
  lgv__format_rounded(x, DIGITS, text, size);
  if (!lgv__parse_real(text, &rounded) || rounded < draw->low || rounded > draw->high)
    lgv__format_real(x, text, size); /* rounding must not leave the range */
}

/* The next value of a key; returns its place in the file. */
static const char *next_value(const lgv_draw *draw, lgv_rng *rng, char *text, size_t size) {
  double u;
  size_t at;
  switch (draw->kind) {
  case LGV_DRAW_UNIFORM:
    u = lgv_rng_uniform(rng);
    format_within(draw, draw->low + u * (draw->high - draw->low), text, size);
    break;
  case LGV_DRAW_LOG_UNIFORM:
    u = lgv_rng_uniform(rng);
    u = lgv__exp(lgv__log(draw->low) + u * (lgv__log(draw->high) - lgv__log(draw->low)));
    format_within(draw, fmin(fmax(u, draw->low), draw->high), text, size);
    break;
  case LGV_DRAW_INT_UNIFORM:
    snprintf(text, size, "%" PRId64,
             (int64_t)draw->low + lgv_rng_below(rng, (int64_t)(draw->high - draw->low) + 1));
    break;
  case LGV_DRAW_CHOICE:
    at = (size_t)lgv_rng_below(rng, (int64_t)draw->choice.items[0].count);
    snprintf(text, size, "%s", draw->choice.items[0].values[at]);
    return draw->choice.items[0].origins[at];
  }
  return draw->origin;
}

/* Draws by their hash, in open addressing; 0 is an empty place. */
typedef struct draw_set {
  uint64_t *hashes;
  size_t capacity; /* a power of two */
} draw_set;

/* Whether the draw is new. */
static bool insert(draw_set *set, uint64_t hash) {
  hash += hash == 0;
  size_t at = hash & (set->capacity - 1);
  for (; set->hashes[at]; at = (at + 1) & (set->capacity - 1))
    if (set->hashes[at] == hash) return false;
  set->hashes[at] = hash;
  return true;
}

typedef struct sampler {
  const lgv_random *random;
  lgv_rng *rngs;              /* (keys) */
  char (*values)[VALUE_SIZE]; /* (keys): of the current draw */
  const char **origins;       /* (keys) */
  draw_set seen;
} sampler;

static lgv_status draw_once(sampler *s, lgv_error *err) {
  const lgv_random *random = s->random;
  for (int repeat = 0; repeat < MOST_REPEATS; repeat++) {
    uint64_t hash = LGV_HASH_START;
    for (size_t k = 0; k < random->count; k++) {
      s->origins[k] = next_value(&random->items[k], &s->rngs[k], s->values[k], VALUE_SIZE);
      hash = lgv__hash(hash, s->values[k], strlen(s->values[k]) + 1);
    }
    if (insert(&s->seen, hash)) return LGV_OK;
  }
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%s: random keeps drawing the same values; there are fewer different ones than "
                  "its count of %" PRId64 ": lower the count, or use grid",
                  random->items[0].origin, random->draws);
}

static lgv_status draw_all(sampler *s, lgv_axes *axes, lgv_error *err) {
  const lgv_random *random = s->random;
  for (size_t k = 0; k < random->count; k++) {
    char purpose[160];
    lgv_axis *axis;
    snprintf(purpose, sizeof purpose, "sweep.%s", random->items[k].key);
    lgv_rng_seed(&s->rngs[k], random->seed < 0 ? 0 : (uint64_t)random->seed, purpose);
    LGV_TRY(lgv__axes_add(axes, random->items[k].key, &axis, err));
  }
  for (int64_t i = 0; i < random->draws; i++) {
    LGV_TRY(draw_once(s, err));
    for (size_t k = 0; k < random->count; k++)
      LGV_TRY(lgv__axis_add(&axes->items[k], s->values[k], s->origins[k], err));
  }
  return LGV_OK;
}

lgv_status lgv__random_sample(const lgv_random *random, lgv_axes *axes, lgv_error *err) {
  if (random->count == 0) return LGV_OK;
  sampler s = {.random = random, .seen.capacity = 16};
  while (s.seen.capacity < 2 * (size_t)random->draws) s.seen.capacity *= 2;
  s.rngs = lgv__calloc(random->count, sizeof *s.rngs);
  s.values = lgv__calloc(random->count, sizeof *s.values);
  s.origins = lgv__calloc(random->count, sizeof *s.origins);
  s.seen.hashes = lgv__calloc(s.seen.capacity, sizeof *s.seen.hashes);
  bool enough = s.rngs && s.values && s.origins && s.seen.hashes;
  lgv_status status = enough ? draw_all(&s, axes, err) : lgv__out_of_memory(err, "a sweep");
  lgv__free(s.rngs);
  lgv__free(s.values);
  lgv__free(s.origins);
  lgv__free(s.seen.hashes);
  return status;
}

/* ---- Reading ---- */

/* random: {count: 50, seed: 1, keys: {...}}, where a key names a distribution and its range:
 *
 *   optim.lr: {log_uniform: [1e-5, 1e-2]}     agent.batch: {choice: [32, 64]}
 *   optim.a: {uniform: [0, 1]}                env.n: {int_uniform: [10, 40]}      40 included */
enum { MOST_DRAWS = 1000000 };

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
