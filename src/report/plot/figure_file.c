#include "report/plot/figure_file.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/yaml_file.h"
#include "report/data/measure.h"
#include "report/plot/plot.h"
#include "report/print/text_table.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = LGV_SWEEP_LABEL_SIZE };

typedef struct figure {
  const char *name, *kind, *x, *y, *over, *each, *statistic, *band, *title;
  size_t smooth;
  const yaml_node_t *labels; /* a list of patterns, or NULL */
} figure;

typedef struct reader {
  const lgv_figure_job *job;
  lgv_yaml yaml;
  const yaml_node_t *figures;
  figure figure; /* the one being read */
} reader;

/* ---- Reading ---- */

static lgv_status read_smooth(reader *r, const yaml_node_t *node, lgv_error *err) {
  const char *text = lgv__yaml_text(node);
  char *end = NULL;
  long value = text ? strtol(text, &end, 10) : 0;
  if (!text || end == text || *end || value < 1)
    return lgv__yaml_fail(&r->yaml, node, err, "smooth is a number of rows, 1 or more");
  r->figure.smooth = (size_t)value;
  return LGV_OK;
}

static lgv_status read_labels(reader *r, const yaml_node_t *node, lgv_error *err) {
  bool sound = node->type == YAML_SEQUENCE_NODE;
  const yaml_node_item_t *item = sound ? node->data.sequence.items.start : NULL;
  for (; sound && item < node->data.sequence.items.top; item++)
    sound = lgv__yaml_text(yaml_document_get_node(&r->yaml.document, *item)) != NULL;
  if (!sound) return lgv__yaml_fail(&r->yaml, node, err, "labels is a list: [DQN, \"LMC*\"]");
  r->figure.labels = node;
  return LGV_OK;
}

static lgv_status read_figure_key(void *context, const char *key, const yaml_node_t *node,
                                  lgv_error *err) {
  reader *r = context;
  figure *f = &r->figure;
  const struct {
    const char *key, **text;
  } texts[] = {{"name", &f->name}, {"kind", &f->kind},           {"x", &f->x},
               {"y", &f->y},       {"over", &f->over},           {"each", &f->each},
               {"band", &f->band}, {"statistic", &f->statistic}, {"title", &f->title}};
  if (strcmp(key, "labels") == 0) return read_labels(r, node, err);
  if (strcmp(key, "smooth") == 0) return read_smooth(r, node, err);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (strcmp(key, texts[i].key) != 0) continue;
    *texts[i].text = lgv__yaml_text(node);
    if (*texts[i].text) return LGV_OK;
    return lgv__yaml_fail(&r->yaml, node, err, "%s of a figure is one word or line", key);
  }
  return lgv__yaml_fail(&r->yaml, node, err,
                        "unknown key '%.40s': a figure has name, kind, x, y, over, each, labels, "
                        "statistic, band, smooth and title",
                        key);
}

/* Errors that would otherwise appear only after all runs have finished. */
static lgv_status check_words(const figure *f, lgv_error *err) {
  lgv_statistic statistic;
  lgv_measure measure;
  bool standard_error;
  LGV_TRY(lgv__statistic_find(f->statistic, &statistic, err));
  LGV_TRY(lgv__band_find(f->band, &standard_error, err));
  return strcmp(f->kind, "bars") == 0 ? lgv__measure_find(f->y, &measure, err) : LGV_OK;
}

static lgv_status read_figure(reader *r, const yaml_node_t *node, lgv_error *err) {
  r->figure = (figure){.smooth = 1, .kind = "curves", .statistic = "mean", .band = "interval"};
  if (node->type != YAML_MAPPING_NODE)
    return lgv__yaml_fail(&r->yaml, node, err, "a figure is a mapping: {name: regret, y: regret}");
  LGV_TRY(lgv__yaml_pairs(&r->yaml, node, read_figure_key, r, err));
  const figure *f = &r->figure;
  if (!f->name || strchr(f->name, '/') || f->name[0] == '.')
    return lgv__yaml_fail(&r->yaml, node, err, "a figure has a name, of its file: name: regret");
  if (strcmp(f->kind, "curves") != 0 && strcmp(f->kind, "bars") != 0)
    return lgv__yaml_fail(&r->yaml, node, err, "kind is curves or bars, not '%.40s'", f->kind);
  lgv_error wrong = {0};
  if (check_words(f, &wrong) != LGV_OK)
    return lgv__yaml_fail(&r->yaml, node, err, "%s", wrong.message);
  return LGV_OK;
}

static lgv_status find_figures(void *context, const char *key, const yaml_node_t *node,
                               lgv_error *err) {
  reader *r = context;
  if (strcmp(key, "figures") != 0) return LGV_OK;
  if (node->type != YAML_SEQUENCE_NODE)
    return lgv__yaml_fail(&r->yaml, node, err, "figures is a list: - {name: regret, y: regret}");
  r->figures = node;
  return LGV_OK;
}

/* ---- Choosing runs ---- */

static size_t key_index(const lgv_sweep *sweep, const char *key) {
  size_t k = 0;
  while (lgv_sweep_key(sweep, k) && strcmp(lgv_sweep_key(sweep, k), key) != 0) k++;
  return k;
}

static bool has_results(const lgv_figure_job *job, size_t config) {
  size_t seeds = (size_t)lgv_sweep_get_info(job->sweep)->seeds;
  for (size_t s = 0; s < seeds; s++)
    if (job->summaries[config * seeds + s].finished) return true;
  return false;
}

static bool is_wanted(const reader *r, const char *label) {
  const yaml_node_t *list = r->figure.labels;
  if (!list) return true;
  const yaml_node_item_t *item = list->data.sequence.items.start;
  for (; item < list->data.sequence.items.top; item++) {
    yaml_document_t *document = (yaml_document_t *)&r->yaml.document; /* a look-up: not changed */
    if (fnmatch(lgv__yaml_text(yaml_document_get_node(document, *item)), label, 0) == 0)
      return true;
  }
  return false;
}

/* Whether a configuration belongs to the figure for this value of `each` (NULL: to any). */
static bool belongs(const reader *r, size_t config, const char *value) {
  const lgv_figure_job *job = r->job;
  char label[LINE_SIZE];
  if (!has_results(job, config)) return false;
  if (value) {
    const char *own = lgv_sweep_value(job->sweep, config, key_index(job->sweep, r->figure.each));
    if (!own || strcmp(own, value) != 0) return false;
  }
  return !r->figure.labels ||
         (lgv_sweep_label(job->sweep, config, label, sizeof label) && is_wanted(r, label));
}

/* LABEL=DIR, or DIR where the case has no label. */
static char *input_of(const lgv_figure_job *job, size_t config) {
  char label[LINE_SIZE], *text = lgv__calloc(LINE_SIZE + PATH_MAX, 1);
  if (!text) return NULL;
  bool labeled = lgv_sweep_label(job->sweep, config, label, sizeof label);
  snprintf(text, LINE_SIZE + PATH_MAX, "%s%s%s/%s", labeled ? label : "", labeled ? "=" : "",
           job->directory, job->names[config]);
  return text;
}

/* ---- Drawing ---- */

static lgv_status draw_file(const reader *r, const char *const *inputs, size_t count,
                            const char *name, const char *title, const char *ending,
                            lgv_error *err) {
  const figure *f = &r->figure;
  char path[PATH_MAX];
  if ((size_t)snprintf(path, sizeof path, "%s/figures/%s.%s", r->job->directory, name, ending) >=
      sizeof path)
    return lgv_fail(err, LGV_ERR_IO, "%s: the path is too long", name);
  lgv_plot plot = {.inputs = inputs,
                   .count = count,
                   .out = path,
                   .x = f->x,
                   .y = f->y,
                   .over = f->over,
                   .statistic = f->statistic,
                   .band = f->band,
                   .title = title,
                   .smooth = f->smooth,
                   .kind = strcmp(f->kind, "bars") == 0 ? LGV_PLOT_BARS : LGV_PLOT_CURVES};
  return lgv__plot(&plot, NULL, err);
}

static lgv_status draw_inputs(const reader *r, const char *const *inputs, size_t count,
                              const char *value, lgv_error *err) {
  const figure *f = &r->figure;
  char name[LINE_SIZE], title[LINE_SIZE];
  snprintf(name, sizeof name, "%s%s%s", f->name, value ? "-" : "", value ? value : "");
  for (char *c = name; (c = strpbrk(c, "/ "));) *c = '-';
  snprintf(title, sizeof title, "%s%s%s", f->title ? f->title : "", f->title && value ? ", " : "",
           value ? value : "");
  LGV_TRY(draw_file(r, inputs, count, name, *title ? title : NULL, "svg", err));
  LGV_TRY(draw_file(r, inputs, count, name, *title ? title : NULL, "png", err));
  fprintf(r->job->out, "figure: ");
  lgv__put_visible(r->job->out, r->job->directory);
  fprintf(r->job->out, "/figures/");
  lgv__put_visible(r->job->out, name);
  fprintf(r->job->out, ".png, .svg\n");
  return LGV_OK;
}

static lgv_status draw_value(const reader *r, const char *value, lgv_error *err) {
  size_t configs = lgv_sweep_get_info(r->job->sweep)->configs, count = 0;
  char **inputs = lgv__calloc(configs, sizeof *inputs);
  lgv_status status = inputs ? LGV_OK : lgv__out_of_memory(err, "a figure");
  for (size_t c = 0; status == LGV_OK && c < configs; c++) {
    if (!belongs(r, c, value)) continue;
    inputs[count] = input_of(r->job, c);
    if (!inputs[count++]) status = lgv__out_of_memory(err, "a figure");
  }
  if (status == LGV_OK && count > 0)
    status = draw_inputs(r, (const char *const *)inputs, count, value, err);
  for (size_t i = 0; inputs && i < count; i++) lgv__free(inputs[i]);
  lgv__free(inputs);
  return status;
}

/* Whether an earlier configuration had the same value. */
static bool is_repeated(const lgv_sweep *sweep, size_t config, size_t key, const char *value) {
  for (size_t c = 0; c < config; c++) {
    const char *earlier = lgv_sweep_value(sweep, c, key);
    if (earlier && strcmp(earlier, value) == 0) return true;
  }
  return false;
}

/* Whether a key varies, or is set in some configuration. */
static bool is_set(const lgv_sweep *sweep, const char *key) {
  bool found = lgv_sweep_key(sweep, key_index(sweep, key)) != NULL;
  for (size_t c = 0; !found && c < lgv_sweep_get_info(sweep)->configs; c++) {
    lgv_settings *settings;
    if (lgv_sweep_settings(sweep, c, &settings, NULL) != LGV_OK) return false;
    found = lgv_settings_get(settings, key) != NULL;
    lgv_settings_free(settings);
  }
  return found;
}

/* A scale may keep no case that sets the key; then another one does. */
static lgv_status check_each(const reader *r, const yaml_node_t *node, lgv_error *err) {
  const char *each = r->figure.each;
  if (!each || is_set(r->job->sweep, each)) return LGV_OK;
  lgv_sweep *whole;
  LGV_TRY(lgv_sweep_load(r->job->file, NULL, &whole, err));
  lgv_guess guess = {.wrong = each};
  for (size_t k = 0; lgv_sweep_key(whole, k); k++)
    lgv__guess_offer(&guess, lgv_sweep_key(whole, k));
  lgv_status status = LGV_OK;
  if (!is_set(whole, each))
    status = lgv__yaml_fail(
        &r->yaml, node, err, "no configuration sets '%.60s', which each names%s%s%s", each,
        guess.best ? "; did you mean '" : "", guess.best ? guess.best : "", guess.best ? "'?" : "");
  lgv_sweep_free(whole);
  return status;
}

static lgv_status draw_figure(const reader *r, lgv_error *err) {
  const lgv_sweep *sweep = r->job->sweep;
  if (!r->figure.each) return draw_value(r, NULL, err);
  size_t key = key_index(sweep, r->figure.each);
  if (!lgv_sweep_key(sweep, key)) /* one value, one figure */
    return is_set(sweep, r->figure.each) ? draw_value(r, NULL, err) : LGV_OK;
  for (size_t c = 0; c < lgv_sweep_get_info(sweep)->configs; c++) {
    const char *value = lgv_sweep_value(sweep, c, key);
    if (value && !is_repeated(sweep, c, key, value)) LGV_TRY(draw_value(r, value, err));
  }
  return LGV_OK;
}

static lgv_status make_folder(const lgv_figure_job *job, lgv_error *err) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/figures", job->directory);
  return lgv__make_directory(path, err);
}

static lgv_status draw_all(reader *r, lgv_error *err) {
  LGV_TRY(lgv__yaml_pairs(&r->yaml, r->yaml.root, find_figures, r, err));
  if (!r->figures) return LGV_OK;
  if (r->job->summaries) LGV_TRY(make_folder(r->job, err));
  const yaml_node_item_t *item = r->figures->data.sequence.items.start;
  for (; item < r->figures->data.sequence.items.top; item++) {
    const yaml_node_t *node = yaml_document_get_node(&r->yaml.document, *item);
    LGV_TRY(read_figure(r, node, err));
    LGV_TRY(check_each(r, node, err));
    if (r->job->summaries) LGV_TRY(draw_figure(r, err));
  }
  return LGV_OK;
}

lgv_status lgv__figures_draw(const lgv_figure_job *job, lgv_error *err) {
  reader r = {.job = job};
  LGV_TRY(lgv__yaml_open(&r.yaml, job->file, err));
  lgv_status status = draw_all(&r, err);
  lgv__yaml_close(&r.yaml);
  return status;
}
