/* Reads a sweep file. It has settings as the file of a run, and also:
 *
 *   grid: {agent.lambda: [1, 0.1, 0.01], agent.beta: [1, 10]}   every combination
 *   random: {count: 50, seed: 1, keys: {optim.lr: {log_uniform: [1e-5, 1e-2]}}}
 *                            `count` draws, each with the whole grid
 *   cases:                   optional: one grid per agent, ...
 *     - agent: lmc-lsvi
 *       grid: {agent.eta: [0.1, 1]}
 *       seeds: {count: 3}    only the first of the file's seeds
 *     - {agent: lsvi-ucb, agent.lambda: 1}
 *   seeds: {first: 100, count: 20}
 *   measure: regret          ranks the configurations (default final_return)
 *   best: lowest             lowest or highest (default: lowest for regret, else highest)
 *   records: summary         the same as run.records: summary
 *   about: what it shows     one line for people
 *   scales:                  smaller or larger versions of the same file, chosen by name; each
 *     quick:                 replaces settings, axes, draws and seeds, in every case, and may keep
 *       run.steps: 10000     some cases only, named by their labels
 *       seeds: {count: 2}
 *       cases: [DQN]
 *   figures: [...]           read by report/plot/figure_file.c
 *
 * A case may have a label, its name in figures; {agent.lambda} is replaced by the value.
 * A case's own setting, axis or distribution replaces the common one of the same key, its count and
 * seed those of the common `random`. In a grid, a list within the list is one value: agent.hidden:
 * [[32, 32], [64, 64]]. Checkpoints of finished runs are not kept unless the file sets
 * run.checkpoint_final. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/settings.h"
#include "config/settings_yaml.h"
#include "sweep/sweep_random.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SEEDS = 1000000, MOST_AXIS_VALUES = 10000 };

typedef enum part_kind { WHOLE_FILE, ONE_CASE, ONE_SCALE } part_kind;

/* Settings, grid and draws of the whole file, of one case or of one scale. */
typedef struct part {
  lgv_yaml *yaml;
  lgv_sweep *sweep;
  lgv_settings *settings;
  lgv_axes axes;
  lgv_random random;
  const yaml_node_t *cases;  /* of the whole file, or of a scale; NULL if there are none */
  const yaml_node_t *scales; /* of the whole file, likewise */
  const char *best;
  const char *label; /* of a case, or NULL */
  int32_t seeds;     /* of a case; 0: those of the file */
  part_kind kind;
} part;

/* ---- Grids ---- */

static lgv_status add_value(lgv_axis *axis, lgv_yaml *yaml, const yaml_node_t *node,
                            lgv_error *err) {
  char value[LGV_YAML_VALUE_SIZE], origin[300];
  if (lgv__yaml_is_null(node))
    return lgv__yaml_fail(yaml, node, err, "write the value itself: null is none");
  if (axis->count == MOST_AXIS_VALUES)
    return lgv__yaml_fail(yaml, node, err, "more than %d values", MOST_AXIS_VALUES);
  LGV_TRY(lgv__yaml_value(yaml, node, value, sizeof value, err));
  lgv__yaml_origin(yaml, node, origin, sizeof origin);
  return lgv__axis_add(axis, value, origin, err);
}

lgv_status lgv__axis_from_yaml(lgv_axis *axis, lgv_yaml *yaml, const yaml_node_t *node,
                               const char *name, lgv_error *err) {
  if (node->type != YAML_SEQUENCE_NODE) return add_value(axis, yaml, node, err);
  const yaml_node_item_t *item = node->data.sequence.items.start;
  if (item == node->data.sequence.items.top)
    return lgv__yaml_fail(yaml, node, err, "the list of '%s' is empty", name);
  for (; item < node->data.sequence.items.top; item++)
    LGV_TRY(add_value(axis, yaml, yaml_document_get_node(&yaml->document, *item), err));
  return LGV_OK;
}

static lgv_status read_axis(void *context, const char *name, const yaml_node_t *node,
                            lgv_error *err) {
  part *p = context;
  const char *key = lgv__settings_key(name);
  lgv_axis *axis;
  if (lgv__axes_find(&p->axes, key))
    return lgv__yaml_fail(p->yaml, node, err, "'%s' is in this grid twice", key);
  LGV_TRY(lgv__axes_add(&p->axes, key, &axis, err));
  return lgv__axis_from_yaml(axis, p->yaml, node, name, err);
}

static lgv_status read_grid(part *p, const yaml_node_t *node, lgv_error *err) {
  if (node->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(p->yaml, node, err,
                          "grid is a mapping from keys to lists: agent.lambda: [1, 0.1]");
  return lgv__yaml_leaves(p->yaml, node, "", read_axis, p, err);
}

/* ---- Seeds, measure ---- */

static lgv_status read_seed_key(void *context, const char *key, const yaml_node_t *node,
                                lgv_error *err) {
  part *p = context;
  int64_t value;
  if (strcmp(key, "first") == 0 && p->kind == ONE_CASE)
    return lgv__yaml_fail(p->yaml, node, err, "a case has the first seeds of the file: {count: 3}");
  if (strcmp(key, "first") == 0) {
    LGV_TRY(lgv__yaml_whole(p->yaml, node, 0, (int64_t)1 << 53, &value, err));
    p->sweep->info.first_seed = (uint64_t)value;
    return LGV_OK;
  }
  if (strcmp(key, "count") != 0)
    return lgv__yaml_fail(p->yaml, node, err, "unknown '%.40s': seeds has first and count", key);
  LGV_TRY(lgv__yaml_whole(p->yaml, node, 1, MOST_SEEDS, &value, err));
  *(p->kind == ONE_CASE ? &p->seeds : &p->sweep->info.seeds) = (int32_t)value;
  return LGV_OK;
}

static lgv_status read_seeds(part *p, const yaml_node_t *node, lgv_error *err) {
  if (node->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(p->yaml, node, err, "name the seeds: seeds: {%scount: 20}",
                          p->kind == ONE_CASE ? "" : "first: 0, ");
  return lgv__yaml_pairs(p->yaml, node, read_seed_key, p, err);
}

static lgv_status read_measure(part *p, const yaml_node_t *node, lgv_error *err) {
  const char *text = lgv__yaml_text(node);
  char names[160] = "";
  for (size_t i = 0; lgv_measure_name(i); i++) {
    if (text && strcmp(text, lgv_measure_name(i)) == 0)
      p->sweep->info.measure = lgv_measure_name(i);
    if (text && strcmp(text, lgv_measure_name(i)) == 0) return LGV_OK;
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", lgv_measure_name(i));
  }
  return lgv__yaml_fail(p->yaml, node, err, "measure is one of %s", names);
}

static lgv_status read_best(part *p, const yaml_node_t *node, lgv_error *err) {
  p->best = lgv__yaml_text(node);
  if (p->best && (strcmp(p->best, "lowest") == 0 || strcmp(p->best, "highest") == 0)) return LGV_OK;
  return lgv__yaml_fail(p->yaml, node, err, "best is lowest or highest");
}

/* ---- The file ---- */

static bool is_setting(const char *key) {
  static const char *const parts[] = {"env", "agent", "optim", "run"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    size_t length = strlen(parts[i]);
    if (strncmp(key, parts[i], length) == 0 && (key[length] == '.' || !key[length])) return true;
  }
  return false;
}

static lgv_status unknown_key(part *p, const char *key, const yaml_node_t *node, lgv_error *err) {
  static const char *const words[] = {"grid", "random",  "cases", "seeds",  "measure",
                                      "best", "records", "about", "scales", "figures"};
  lgv_guess guess = {.wrong = key};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) lgv__guess_offer(&guess, words[i]);
  return lgv__yaml_fail(p->yaml, node, err, "unknown key '%.80s'%s%s%s", key,
                        guess.best ? "; did you mean '" : "", guess.best ? guess.best : "",
                        guess.best ? "'?" : "");
}

static lgv_status read_line(part *p, const yaml_node_t *node, const char *what, const char **line,
                            lgv_error *err) {
  *line = lgv__yaml_text(node);
  if (*line && strlen(*line) < LGV_SWEEP_LABEL_SIZE) return LGV_OK;
  return lgv__yaml_fail(p->yaml, node, err, "%s is one line of less than %d characters", what,
                        LGV_SWEEP_LABEL_SIZE);
}

static lgv_status read_about(part *p, const yaml_node_t *node, lgv_error *err) {
  const char *line;
  LGV_TRY(read_line(p, node, "about", &line, err));
  snprintf(p->sweep->about, sizeof p->sweep->about, "%s", line);
  return LGV_OK;
}

/* Keys of the whole file, which cases and scales do not have. */
static lgv_status read_file_key(part *p, const char *key, const yaml_node_t *node, lgv_error *err) {
  if (strcmp(key, "langevin") == 0 || strcmp(key, "figures") == 0) return LGV_OK;
  if (strcmp(key, "measure") == 0) return read_measure(p, node, err);
  if (strcmp(key, "best") == 0) return read_best(p, node, err);
  if (strcmp(key, "records") == 0)
    return lgv__settings_from_yaml(p->settings, p->yaml, node, "run.records", err);
  if (strcmp(key, "scales") != 0) return unknown_key(p, key, node, err);
  p->scales = node;
  return LGV_OK;
}

static lgv_status read_pair(void *context, const char *key, const yaml_node_t *node,
                            lgv_error *err) {
  part *p = context;
  if (strcmp(key, "grid") == 0) return read_grid(p, node, err);
  if (strcmp(key, "random") == 0) return lgv__random_from_yaml(&p->random, p->yaml, node, err);
  if (is_setting(key)) return lgv__settings_from_yaml(p->settings, p->yaml, node, key, err);
  if (p->kind == ONE_CASE && strcmp(key, "label") == 0)
    return read_line(p, node, "a label", &p->label, err);
  if (strcmp(key, "seeds") == 0) return read_seeds(p, node, err);
  if (p->kind == ONE_CASE)
    return lgv__yaml_fail(
        p->yaml, node, err,
        "unknown key '%.80s': a case has settings, a grid, random draws, seeds and a label", key);
  if (strcmp(key, "about") == 0) return read_about(p, node, err);
  if (strcmp(key, "cases") == 0) {
    p->cases = node;
    return LGV_OK;
  }
  if (p->kind == WHOLE_FILE) return read_file_key(p, key, node, err);
  return lgv__yaml_fail(
      p->yaml, node, err,
      "unknown key '%.80s': a scale has settings, a grid, random draws, seeds, cases and "
      "about",
      key);
}

static lgv_status check_seed(const part *p, lgv_error *err) {
  if (!lgv_settings_get(p->settings, "run.seed") && !lgv__axes_find(&p->axes, "run.seed") &&
      !lgv__random_find(&p->random, "run.seed"))
    return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "%.200s: the seeds of a sweep are named like this, not by run.seed: seeds: "
                  "{first: 0, count: 20}",
                  p->yaml->path);
}

/* Settings of a case get a column, like the keys of its grid. */
static lgv_status add_own_keys(lgv_sweep *sweep, const lgv_settings *own, lgv_error *err) {
  for (size_t i = 0; i < own->count; i++)
    LGV_TRY(lgv__sweep_add_key(sweep, own->items[i].key, err));
  return LGV_OK;
}

/* A key of a part is in its settings, in its grid or in its random draws, not in two of them. */
static lgv_status check_clash(const part *p, lgv_error *err) {
  for (size_t i = 0; i < p->axes.count; i++)
    if (lgv_settings_get(p->settings, p->axes.items[i].key))
      return lgv_fail(err, LGV_ERR_USAGE, "%s: '%.80s' has a value of its own and is in the grid",
                      p->axes.items[i].origins[0], p->axes.items[i].key);
  for (size_t i = 0; i < p->random.count; i++) {
    const lgv_draw *draw = &p->random.items[i];
    bool in_grid = lgv__axes_find(&p->axes, draw->key) != NULL;
    if (in_grid || lgv_settings_get(p->settings, draw->key))
      return lgv_fail(err, LGV_ERR_USAGE, "%s: '%.80s' is drawn at random and %s", draw->origin,
                      draw->key, in_grid ? "is in the grid" : "has a value of its own");
  }
  return LGV_OK;
}

/* Keys without a count, or a count without keys, are a mistake; but a case need not use the count
 * of the common part. */
static lgv_status check_random(const part *own, part *whole, const yaml_node_t *node,
                               lgv_error *err) {
  lgv_random *random = &whole->random;
  if (node && random->count == 0 && own->random.draws == 0) random->draws = 0;
  if ((random->count > 0) == (random->draws > 0)) return LGV_OK;
  if (random->count > 0)
    return lgv_fail(err, LGV_ERR_USAGE, "%s: random needs a count: {count: 50, keys: {...}}",
                    random->items[0].origin);
  return lgv__yaml_fail(whole->yaml, node ? node : whole->yaml->root, err,
                        "random has a count but no keys to draw: {count: 50, keys: {optim.lr: "
                        "{log_uniform: [1e-5, 1e-2]}}}");
}

/* Everything in `own` replaces the same key of `whole`. A setting may stay below an axis or a draw
 * of the same key, since these are set last. */
static lgv_status put_over(const part *own, part *whole, lgv_error *err) {
  for (size_t i = 0; i < own->settings->count; i++) {
    lgv__axes_remove(&whole->axes, own->settings->items[i].key);
    lgv__random_remove(&whole->random, own->settings->items[i].key);
  }
  for (size_t i = 0; i < own->axes.count; i++)
    lgv__random_remove(&whole->random, own->axes.items[i].key);
  for (size_t i = 0; i < own->random.count; i++)
    lgv__axes_remove(&whole->axes, own->random.items[i].key);
  LGV_TRY(lgv__settings_copy(own->settings, whole->settings, err));
  LGV_TRY(lgv__axes_copy(&own->axes, &whole->axes, err));
  return lgv__random_copy(&own->random, &whole->random, err);
}

/* The common part, overridden by the case, overridden by the scale. */
static lgv_status merge(const part *common, const part *own, const part *scale, part *whole,
                        lgv_error *err) {
  LGV_TRY(put_over(common, whole, err));
  LGV_TRY(put_over(own, whole, err));
  LGV_TRY(put_over(scale, whole, err));
  if (!lgv_settings_get(whole->settings, "run.checkpoint_final"))
    LGV_TRY(lgv_settings_set(whole->settings, "run.checkpoint_final", "false", "the sweep", err));
  return check_seed(whole, err);
}

static lgv_status read_case(part *own, const yaml_node_t *node, lgv_error *err) {
  if (!node) return LGV_OK;
  if (node->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(own->yaml, node, err, "a case is a mapping: {agent: lmc-lsvi, ...}");
  LGV_TRY(lgv__yaml_pairs(own->yaml, node, read_pair, own, err));
  return check_clash(own, err);
}

static const yaml_node_t *list_node(const part *p, const yaml_node_item_t *item) {
  return yaml_document_get_node(&p->yaml->document, *item);
}

/* Whether a scale keeps the case of this label. */
static bool is_kept(const part *scale, const char *label) {
  if (!scale->cases) return true;
  const yaml_node_item_t *item = scale->cases->data.sequence.items.start;
  for (; label && item < scale->cases->data.sequence.items.top; item++)
    if (strcmp(lgv__yaml_text(list_node(scale, item)), label) == 0) return true;
  return false;
}

static part new_part(lgv_yaml *yaml, lgv_sweep *sweep, part_kind kind) {
  return (part){.yaml = yaml, .sweep = sweep, .kind = kind, .random.seed = -1};
}

static void free_part(part *p) {
  lgv_settings_free(p->settings);
  lgv__axes_free(&p->axes);
  lgv__random_free(&p->random);
}

/* The sweep owns everything afterwards. */
static lgv_status hand_over(part *whole, const char *label, lgv_error *err) {
  lgv_axes draws = {0}, axes = whole->axes;
  lgv_status status = lgv__random_sample(&whole->random, &draws, err);
  if (status != LGV_OK) {
    lgv__axes_free(&draws);
    return status;
  }
  lgv_settings *settings = whole->settings;
  whole->settings = NULL;
  whole->axes = (lgv_axes){0};
  LGV_TRY(lgv__sweep_add_case(whole->sweep, settings, axes, draws, label, err));
  lgv_case *c = &whole->sweep->cases[whole->sweep->info.cases - 1];
  c->random = lgv__calloc(1, sizeof *c->random);
  if (!c->random) return lgv__out_of_memory(err, "a sweep");
  *c->random = whole->random;
  whole->random = (lgv_random){.seed = -1};
  return LGV_OK;
}

/* Reads own, and builds the whole case of it. */
static lgv_status build_case(const part *common, const part *scale, const yaml_node_t *node,
                             part *own, part *whole, lgv_error *err) {
  LGV_TRY(lgv_settings_create(&own->settings, err));
  LGV_TRY(lgv_settings_create(&whole->settings, err));
  LGV_TRY(read_case(own, node, err));
  if (!is_kept(scale, own->label)) return LGV_OK;
  LGV_TRY(merge(common, own, scale, whole, err));
  LGV_TRY(check_random(own, whole, node, err));
  LGV_TRY(add_own_keys(common->sweep, own->settings, err));
  LGV_TRY(hand_over(whole, own->label, err));
  common->sweep->cases[common->sweep->info.cases - 1].seeds = own->seeds;
  return LGV_OK;
}

/* node: of the case; NULL for the only case of a file without `cases`. */
static lgv_status add_case(const part *common, const part *scale, const yaml_node_t *node,
                           lgv_error *err) {
  part own = new_part(common->yaml, common->sweep, ONE_CASE), whole = own;
  lgv_status status = build_case(common, scale, node, &own, &whole, err);
  free_part(&own);
  free_part(&whole);
  return status;
}

static bool is_filled_list(const yaml_node_t *node) {
  return node->type == YAML_SEQUENCE_NODE &&
         node->data.sequence.items.start < node->data.sequence.items.top;
}

/* Every label that a scale names is that of a case. */
static lgv_status check_kept(const part *scale, lgv_error *err) {
  const lgv_sweep *sweep = scale->sweep;
  const yaml_node_item_t *item = scale->cases ? scale->cases->data.sequence.items.start : NULL;
  for (; scale->cases && item < scale->cases->data.sequence.items.top; item++) {
    const yaml_node_t *node = list_node(scale, item);
    size_t c = 0;
    while (c < sweep->info.cases && strcmp(sweep->cases[c].label, lgv__yaml_text(node)) != 0) c++;
    if (c == sweep->info.cases)
      return lgv__yaml_fail(scale->yaml, node, err, "no case has the label '%.80s'",
                            lgv__yaml_text(node));
  }
  return LGV_OK;
}

static lgv_status add_cases(const part *common, const part *scale, lgv_error *err) {
  const yaml_node_t *list = common->cases;
  if (list && !is_filled_list(list))
    return lgv__yaml_fail(common->yaml, list, err, "cases is a list: - {agent: lmc-lsvi, ...}");
  if (!list) LGV_TRY(add_case(common, scale, NULL, err));
  for (yaml_node_item_t *i = list ? list->data.sequence.items.start : NULL;
       list && i < list->data.sequence.items.top; i++)
    LGV_TRY(add_case(common, scale, list_node(common, i), err));
  return check_kept(scale, err);
}

/* ---- Scales ---- */

typedef struct scale_search {
  part *scale;
  const char *name;
  char names[160];
  bool found;
} scale_search;

static lgv_status read_scale(part *scale, const yaml_node_t *node, lgv_error *err) {
  if (node->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(scale->yaml, node, err, "a scale is a mapping: {run.steps: 1000, ...}");
  LGV_TRY(lgv__yaml_pairs(scale->yaml, node, read_pair, scale, err));
  const yaml_node_t *cases = scale->cases;
  if (cases && !is_filled_list(cases))
    return lgv__yaml_fail(scale->yaml, cases, err, "cases is here a list of labels");
  const yaml_node_item_t *item = cases ? cases->data.sequence.items.start : NULL;
  for (; cases && item < cases->data.sequence.items.top; item++)
    if (!lgv__yaml_text(list_node(scale, item)))
      return lgv__yaml_fail(scale->yaml, cases, err, "cases is here a list of labels");
  return check_clash(scale, err);
}

static lgv_status visit_scale(void *context, const char *name, const yaml_node_t *node,
                              lgv_error *err) {
  scale_search *s = context;
  size_t used = strlen(s->names);
  snprintf(s->names + used, sizeof s->names - used, ", %.40s", name);
  if (strcmp(name, s->name) != 0) return LGV_OK;
  s->found = true;
  return read_scale(s->scale, node, err);
}

/* The name `paper` means the file itself. */
static lgv_status find_scale(const part *common, const char *name, part *scale, lgv_error *err) {
  scale_search s = {.scale = scale, .name = name, .names = "paper"};
  if (!name || strcmp(name, "paper") == 0) return LGV_OK;
  if (common->scales && common->scales->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(common->yaml, common->scales, err,
                          "scales is a mapping: {quick: {run.steps: 1000}}");
  if (common->scales) LGV_TRY(lgv__yaml_pairs(common->yaml, common->scales, visit_scale, &s, err));
  if (s.found) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE, "%.200s: there is no scale '%.40s'; there is %s",
                  common->yaml->path, name, s.names);
}

/* ---- The whole file ---- */

static lgv_status read_parts(part *common, part *scale, const char *scale_name, lgv_error *err) {
  lgv_sweep_info *info = &common->sweep->info;
  LGV_TRY(lgv_settings_create(&common->settings, err));
  LGV_TRY(lgv_settings_create(&scale->settings, err));
  LGV_TRY(lgv__yaml_pairs(common->yaml, common->yaml->root, read_pair, common, err));
  LGV_TRY(check_clash(common, err));
  LGV_TRY(find_scale(common, scale_name, scale, err));
  bool is_regret = strcmp(info->measure, "regret") == 0;
  info->lowest_is_best = common->best ? strcmp(common->best, "lowest") == 0 : is_regret;
  return add_cases(common, scale, err);
}

static lgv_status read_file(lgv_sweep *sweep, lgv_yaml *yaml, const char *scale_name,
                            lgv_error *err) {
  part common = new_part(yaml, sweep, WHOLE_FILE), scale = new_part(yaml, sweep, ONE_SCALE);
  sweep->info.seeds = 1;
  sweep->info.measure = "final_return";
  sweep->info.about = sweep->about;
  lgv_status status = read_parts(&common, &scale, scale_name, err);
  free_part(&common);
  free_part(&scale);
  return status;
}

lgv_status lgv_sweep_load(const char *path, const char *scale, lgv_sweep **out, lgv_error *err) {
  lgv_yaml yaml;
  *out = NULL;
  LGV_TRY(lgv__yaml_open(&yaml, path, err));
  lgv_sweep *sweep = lgv__calloc(1, sizeof *sweep);
  lgv_status status =
      sweep ? read_file(sweep, &yaml, scale, err) : lgv__out_of_memory(err, "a sweep");
  lgv__yaml_close(&yaml);
  if (status == LGV_OK)
    *out = sweep;
  else
    lgv_sweep_free(sweep);
  return status;
}
