#include "report/print/show.h"

#include "base/error.h"
#include "base/io/tensors.h"
#include "base/memory.h"
#include "config/settings.h"
#include "config/settings_yaml.h"
#include "report/data/compare.h"
#include "report/data/defaults.h"
#include "report/data/run_result.h"
#include "report/print/text_table.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WIDTH = 100 };

/* ---- Configuration ---- */

static void add_settings(lgv_table *t, const lgv_defaults *d, bool changed) {
  for (size_t i = 0; i < d->settings->count; i++) {
    const lgv_setting *item = &d->settings->items[i];
    if (lgv__is_default(d, item->key, item->value) == changed) continue;
    lgv__table_cell(t, "%s", item->key);
    lgv__table_cell(t, "%s", item->value[0] ? item->value : "\"\"");
  }
}

lgv_status lgv__show_settings(const lgv_group *group, bool html, FILE *out, lgv_error *err) {
  lgv_defaults d;
  LGV_TRY(lgv__defaults_open(&d, group->settings, err));
  for (int changed = 1; changed >= 0; changed--) {
    lgv_table t = lgv__table("ll");
    if (html) {
      lgv__table_cell(&t, changed ? "set" : "by default");
      lgv__table_cell(&t, "value");
    } else {
      fputs(changed ? "\nsettings that are not the default\n" : "\ndefaults\n", out);
    }
    add_settings(&t, &d, changed);
    if (html)
      lgv__table_html(&t, out);
    else
      lgv__table_print(&t, out, 2, WIDTH);
  }
  lgv__defaults_close(&d);
  return LGV_OK;
}

static void print_assignments(const lgv_defaults *d, FILE *out) {
  for (size_t i = 0; i < d->settings->count; i++) {
    const lgv_setting *item = &d->settings->items[i];
    char text[2048];
    if (lgv__is_default(d, item->key, item->value)) continue;
    snprintf(text, sizeof text, "%s=%s", item->key, item->value);
    fputs(" --set ", out);
    lgv__shell_word(out, text);
  }
}

lgv_status lgv__show_command(const lgv_group *group, FILE *out, lgv_error *err) {
  lgv_defaults d;
  const char *env = lgv_settings_get(group->settings, "env.name");
  const char *agent = lgv_settings_get(group->settings, "agent.name");
  const char *seed = lgv_settings_get(group->settings, "run.seed");
  LGV_TRY(lgv__defaults_open(&d, group->settings, err));
  fputs("langevin run --env ", out);
  lgv__shell_word(out, env ? env : "?");
  fputs(" --agent ", out);
  lgv__shell_word(out, agent ? agent : "?");
  print_assignments(&d, out);
  if (seed) fprintf(out, " --seed %s", seed);
  if (group->count > 1) fprintf(out, " --seeds %zu", group->count);
  lgv__defaults_close(&d);
  return LGV_OK;
}

/* ---- States and results ---- */

lgv_status lgv__show_states(const lgv_group *group, char *text, size_t size, lgv_error *err) {
  size_t counts[LGV_RESULT_OPEN + 1] = {0};
  for (size_t i = 0; i < group->count; i++) {
    lgv_run_result state;
    LGV_TRY(lgv__run_result_load(group->runs[i], &state, err));
    counts[state.kind]++;
  }
  text[0] = '\0';
  for (int k = 0; k <= LGV_RESULT_OPEN; k++) {
    size_t used = strlen(text);
    if (counts[k] == 0) continue;
    snprintf(text + used, size - used, "%s%zu %s", used ? ", " : "", counts[k],
             lgv__run_result_name((lgv_run_result_kind)k));
  }
  return LGV_OK;
}

static void print_one_result(const lgv_run_result *s, FILE *out) {
  lgv_table t = lgv__table("lr");
  lgv__table_cell(&t, "steps");
  lgv__table_cell(&t, "%" PRId64, s->summary.steps);
  lgv__table_cell(&t, "episodes");
  lgv__table_cell(&t, "%" PRId64, s->summary.episodes);
  for (size_t m = 0; lgv_measure_name(m); m++) {
    if (isnan(lgv_measure_value(&s->summary, m))) continue;
    lgv__table_cell(&t, "%s", lgv_measure_name(m));
    lgv__table_real(&t, lgv_measure_value(&s->summary, m));
  }
  lgv__table_print(&t, out, 2, WIDTH);
}

/* A measure of the finished runs; nothing where they do not all have it. */
static void add_measure(lgv_table *t, const lgv_row *row, const char *name) {
  lgv_measure measure;
  lgv_collection runs;
  if (lgv__measure_find(name, &measure, NULL) != LGV_OK ||
      lgv__collect(row, NULL, &measure, &runs, NULL) != LGV_OK)
    return;
  lgv_scores scores = lgv__collection_scores(&runs);
  lgv_estimate mean, iqm;
  if (runs.count > 0 && lgv_scores_estimate(&scores, LGV_MEAN, &mean, NULL) == LGV_OK &&
      lgv_scores_estimate(&scores, LGV_IQM, &iqm, NULL) == LGV_OK && isfinite(mean.median)) {
    const double values[] = {mean.value, mean.standard_error, mean.low,
                             mean.high,  iqm.value,           mean.median};
    lgv__table_cell(t, "%s", name);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) lgv__table_real(t, values[i]);
  }
  lgv__collection_free(&runs);
}

static void print_several_results(const lgv_row *row, FILE *out) {
  static const char *const head[] = {"", "mean", "std.error", "95 % low", "high", "iqm", "median"};
  lgv_table t = lgv__table("lrrrrrr");
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  for (size_t m = 0; lgv_measure_name(m); m++) add_measure(&t, row, lgv_measure_name(m));
  add_measure(&t, row, "processor_seconds");
  lgv__table_print(&t, out, 2, WIDTH);
}

/* ---- Files ---- */

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void print_files(const char *directory, FILE *out) {
  struct dirent **entries = NULL;
  int n = scandir(directory, &entries, is_visible, alphasort);
  lgv_table t = lgv__table("lr");
  for (int i = 0; i < n; i++) {
    char path[PATH_MAX];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name) < PATH_MAX &&
        stat(path, &info) == 0) {
      lgv__table_cell(&t, "%s%s", entries[i]->d_name, S_ISDIR(info.st_mode) ? "/" : "");
      if (S_ISDIR(info.st_mode))
        lgv__table_cell(&t, "%s", "");
      else if (info.st_size < 1000000)
        lgv__table_cell(&t, "%.1f kB", (double)info.st_size / 1e3);
      else
        lgv__table_cell(&t, "%.1f MB", (double)info.st_size / 1e6);
    }
    free(entries[i]);
  }
  free(entries);
  fprintf(out, "\nfiles in %s\n", directory);
  lgv__table_print(&t, out, 2, WIDTH);
}

/* ---- One run, its seeds, or several experiments ---- */

static void print_timing(const lgv_run_result *s, FILE *out) {
  char rate[40];
  if (isnan(s->seconds)) return;
  lgv__format_short(s->steps_per_second, rate, sizeof rate);
  fprintf(out, "\ntime\n  %.2f s, %.2f s of a processor, %s steps/s\n", s->seconds,
          s->processor_seconds, rate);
}

static void print_how_to_resume(const lgv_run_result *s, const char *run, FILE *out) {
  if (s->kind == LGV_RESULT_FAILED) fprintf(out, "  it failed: %s\n", s->failure);
  if (s->kind != LGV_RESULT_INTERRUPTED && s->kind != LGV_RESULT_OPEN) return;
  fputs("  `langevin run --resume ", out);
  lgv__shell_word(out, run);
  fputs("` resumes it\n", out);
}

static lgv_status show_states(const lgv_group *g, FILE *out, lgv_error *err) {
  size_t shown = 0;
  for (size_t i = 0; i < g->count && shown < 10; i++) {
    lgv_run_result state;
    LGV_TRY(lgv__run_result_load(g->runs[i], &state, err));
    if (state.kind == LGV_RESULT_FINISHED) continue;
    fprintf(out, "  %s: %s%s%s\n", g->runs[i], lgv__run_result_name(state.kind),
            state.failure[0] ? ": " : "", state.failure);
    shown++;
  }
  return LGV_OK;
}

/* A single run without a summary has no result yet. */
static void print_results(const lgv_groups *groups, const lgv_run_result *first, FILE *out) {
  bool is_one = groups->items[0].count == 1;
  if (is_one && first->kind == LGV_RESULT_OPEN) return;
  fputs("\nresult\n", out);
  if (is_one) {
    print_one_result(first, out);
    print_timing(first, out);
  } else {
    print_several_results(&groups->rows[0], out);
  }
}

static lgv_status show_group(const lgv_groups *groups, FILE *out, lgv_error *err) {
  const lgv_group *g = &groups->items[0];
  lgv_run_result state;
  char states[256];
  LGV_TRY(lgv__run_result_load(g->runs[0], &state, err));
  LGV_TRY(lgv__show_states(g, states, sizeof states, err));
  const char *seed = lgv_settings_get(g->settings, "run.seed");
  if (g->count == 1) {
    fprintf(out, "%s on %s, seed %s: %s\n", g->agent, g->env, seed ? seed : "?",
            lgv__run_result_name(state.kind));
    print_how_to_resume(&state, g->runs[0], out);
  } else {
    fprintf(out, "%s on %s, %zu seeds: %s\n", g->agent, g->env, g->count, states);
    LGV_TRY(show_states(g, out, err));
  }
  fputs("\nto repeat it\n  ", out);
  LGV_TRY(lgv__show_command(g, out, err));
  fputc('\n', out);
  LGV_TRY(lgv__show_settings(g, false, out, err));
  print_results(groups, &state, out);
  print_files(g->directory, out);
  return LGV_OK;
}

/* The keys in which groups differ, with their values. */
static void print_varied(const lgv_groups *groups, FILE *out) {
  const char *keys[LGV_MOST_VARIED];
  size_t count = lgv__groups_varied(groups, keys);
  fputs("\nsettings that vary\n", out);
  for (size_t k = 0; k < count; k++) {
    fprintf(out, "  %s:", keys[k]);
    for (size_t i = 0; i < groups->count; i++) {
      const char *value = lgv_settings_get(groups->items[i].settings, keys[k]);
      bool repeated = !value;
      for (size_t j = 0; j < i && !repeated; j++) {
        const char *other = lgv_settings_get(groups->items[j].settings, keys[k]);
        repeated = other && strcmp(other, value) == 0;
      }
      if (!repeated) fprintf(out, " %s", value);
    }
    fputc('\n', out);
  }
}

static lgv_status show_several(const char *directory, const lgv_groups *groups, FILE *out,
                               lgv_error *err) {
  size_t runs = 0;
  lgv_table t = lgv__table("llr");
  for (size_t i = 0; i < groups->count; i++) {
    char states[256];
    runs += groups->items[i].count;
    lgv_status status = lgv__show_states(&groups->items[i], states, sizeof states, err);
    if (status != LGV_OK) {
      lgv__table_free(&t);
      return status;
    }
    lgv__table_cell(&t, "%s", groups->items[i].label);
    lgv__table_cell(&t, "%s", states);
    lgv__table_cell(&t, "%s",
                    strrchr(groups->items[i].directory, '/')
                        ? strrchr(groups->items[i].directory, '/') + 1
                        : groups->items[i].directory);
  }
  fprintf(out, "%s: %zu configurations, %zu runs\n", directory, groups->count, runs);
  print_varied(groups, out);
  fputs("\nconfigurations\n", out);
  lgv__table_print(&t, out, 2, 2 * WIDTH);
  fputs("\n`langevin compare ", out);
  lgv__shell_word(out, directory);
  fputs("` shows their results, `langevin show ", out);
  lgv__shell_word(out, groups->items[0].directory);
  fputs("` one of them\n", out);
  return LGV_OK;
}

/* ---- A saved agent ---- */

/* Its settings; it has no records. */
static lgv_status show_agent(const char *path, const char *about, FILE *out, lgv_error *err) {
  lgv_group g = {0};
  LGV_TRY(lgv_settings_create(&g.settings, err));
  lgv_status status = lgv__settings_parse(g.settings, path, about, err);
  if (status == LGV_OK) {
    const char *env = lgv_settings_get(g.settings, "env.name");
    const char *agent = lgv_settings_get(g.settings, "agent.name");
    fprintf(out, "%s%s%s: an agent that Python saved, without records\n", agent ? agent : "?",
            env ? " on " : "", env ? env : "");
    status = lgv__show_settings(&g, false, out, err);
  }
  lgv_settings_free(g.settings);
  return status;
}

/* The settings of a saved agent; NULL for a directory. */
static lgv_status read_about(const char *path, char **about, lgv_error *err) {
  struct stat info;
  *about = NULL;
  bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
  return is_file ? lgv__tensors_read_about(path, about, err) : LGV_OK;
}

lgv_status lgv__show(const char *directory, FILE *out, lgv_error *err) {
  char *about;
  LGV_TRY(read_about(directory, &about, err));
  if (about) {
    lgv_status status = show_agent(directory, about, out, err);
    lgv__free(about);
    return status;
  }
  lgv_groups groups;
  const lgv_selection selection = {.inputs = &directory, .count = 1};
  LGV_TRY(lgv__groups_open(&groups, &selection, err));
  lgv_status status = groups.count == 1 ? show_group(&groups, out, err)
                                        : show_several(directory, &groups, out, err);
  lgv__groups_close(&groups);
  return status;
}
