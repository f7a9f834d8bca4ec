/* All text from directories, labels and settings is escaped. If a figure cannot be drawn, the page
 * gives the reason in its place, so that one odd run does not spoil the page. */
#include "report/print/page.h"

#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "report/data/compare.h"
#include "report/data/csv_file.h"
#include "report/plot/plot.h"
#include "report/print/show.h"

#include <stdlib.h>
#include <string.h>

static const char page_style[] =
    ":root{color-scheme:light dark;--line:#d0d0d0;--soft:#6a6a6a;--ground:#f6f6f4}\n"
    "@media(prefers-color-scheme:dark){:root{--line:#484848;--soft:#a8a8a8;--ground:#242424}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem}\n"
    ".soft{color:var(--soft)}.bad{color:#c0392b}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}\n"
    "th,td{padding:.25rem .8rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);"
    "vertical-align:top}\n"
    "td.r,th.r{text-align:right}\n"
    "pre{background:var(--ground);padding:.6rem .8rem;overflow-x:auto;font-size:.85rem;"
    "white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "summary{cursor:pointer;margin:.5rem 0}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));"
    "gap:1rem}\n"
    "figure{margin:0;break-inside:avoid}\n"
    "figcaption{font-size:.85rem;color:var(--soft);margin-top:.3rem}\n"
    ".plot{position:relative;background:#fff;border:1px solid var(--line)}\n"
    ".plot svg{display:block;width:100%;height:auto}\n"
    ".tip{position:absolute;pointer-events:none;background:#fff;color:#000;border:1px solid #888;"
    "border-radius:3px;padding:.2rem .45rem;font-size:.8rem;white-space:pre;z-index:1}\n"
    ".rule{position:absolute;pointer-events:none;width:1px;background:#888}\n"
    "@media print{body{max-width:none;margin:0}details:not([open]){display:none}}\n";

/* Beside the pointer: the values of all curves at the nearest x, or the text of the box. */
static const char page_script[] =
    "'use strict';\n"
    "for (const plot of document.querySelectorAll('.plot')) {\n"
    "  const data = JSON.parse(plot.querySelector('script').textContent);\n"
    "  const make = name => { const e = document.createElement('div');\n"
    "    e.className = name; e.hidden = true; plot.append(e); return e; };\n"
    "  const rule = make('rule'), tip = make('tip');\n"
    "  const show = v => v === null ? '-' : String(+v.toPrecision(4));\n"
    "  const near = (points, x) => points.reduce((a, b) =>\n"
    "    Math.abs(b[0] - x) < Math.abs(a[0] - x) ? b : a);\n"
    "  const curves = (px, py) => {\n"
    "    const [left, right, top, bottom, low, high] = data.frame;\n"
    "    if (px < left || px > right || py < top || py > bottom) return null;\n"
    "    const x = low + (high - low) * (px - left) / (right - left);\n"
    "    const at = near(data.curves[0].points, x)[0];\n"
    "    const lines = data.curves.map(c => { const p = near(c.points, x);\n"
    "      return c.label + ': ' + show(p[1]) +\n"
    "        (p[2] === null ? '' : ' [' + show(p[2]) + ', ' + show(p[3]) + ']'); });\n"
    "    return {text: [data.x + ': ' + show(at), ...lines].join('\\n'),\n"
    "      rule: [left + (right - left) * (at - low) / (high - low), top, bottom]};\n"
    "  };\n"
    "  const boxes = (px, py) => {\n"
    "    const b = data.boxes.find(b => px >= b[0] && px < b[2] && py >= b[1] && py < b[3]);\n"
    "    return b ? {text: b[4]} : null;\n"
    "  };\n"
    "  const hide = () => { tip.hidden = rule.hidden = true; };\n"
    "  plot.addEventListener('pointerleave', hide);\n"
    "  plot.addEventListener('pointermove', event => {\n"
    "    const area = plot.getBoundingClientRect(), scale = area.width / data.size[0];\n"
    "    const px = event.clientX - area.left, py = event.clientY - area.top;\n"
    "    const found = (data.kind === 'curves' ? curves : boxes)(px / scale, py / scale);\n"
    "    if (!found) return hide();\n"
    "    tip.textContent = found.text;\n"
    "    tip.hidden = false;\n"
    "    tip.style.left = Math.max(0, Math.min(px + 14, area.width - tip.offsetWidth - 2)) + "
    "'px';\n"
    "    tip.style.top = Math.max(0, py - tip.offsetHeight - 10) + 'px';\n"
    "    rule.hidden = !found.rule;\n"
    "    if (!found.rule) return;\n"
    "    rule.style.left = found.rule[0] * scale + 'px';\n"
    "    rule.style.top = found.rule[1] * scale + 'px';\n"
    "    rule.style.height = (found.rule[2] - found.rule[1]) * scale + 'px';\n"
    "  });\n"
    "}\n";

enum { MOST_CURVES = 12, MOST_BARS = 24, MOST_PANELS = 6 };

typedef struct page {
  const lgv_page *spec;
  lgv_groups groups;                   /* one row per group */
  lgv_groups agents;                   /* one row per agent, environments as tasks */
  const char *varied[LGV_MOST_VARIED]; /* keys in which groups differ */
  size_t varied_count;
  const char *measure;
  size_t figures; /* so far */
  FILE *out;
} page;

/* ---- Data ---- */

/* Whether every finished run has the measure. */
static bool has_measure(const page *p, const char *name) {
  lgv_measure measure;
  size_t count = 0;
  if (lgv__measure_find(name, &measure, NULL) != LGV_OK) return false;
  for (size_t r = 0; r < p->groups.row_count; r++) {
    lgv_collection c;
    if (lgv__collect(&p->groups.rows[r], NULL, &measure, &c, NULL) != LGV_OK) return false;
    count += c.count;
    lgv__collection_free(&c);
  }
  return count > 0;
}

static lgv_status open_page(page *p, lgv_error *err) {
  const lgv_page *s = p->spec;
  lgv_selection selection = {
      .inputs = s->inputs, .count = s->count, .where = s->where, .label = s->label};
  LGV_TRY(lgv__groups_open(&p->groups, &selection, err));
  selection.over = "env.";
  LGV_TRY(lgv__groups_open(&p->agents, &selection, err));
  p->varied_count = lgv__groups_varied(&p->groups, p->varied);
  lgv_measure measure;
  if (s->measure) LGV_TRY(lgv__measure_find(s->measure, &measure, err));
  p->measure = s->measure ? s->measure : has_measure(p, "regret") ? "regret" : "final_return";
  return LGV_OK;
}

/* ---- Tables ---- */

static void tag(const page *p, const char *name, const char *text) {
  fprintf(p->out, "<%s>", name);
  lgv__html_text(p->out, text);
  fprintf(p->out, "</%s>\n", name);
}

static void note_failure(const page *p, const char *what, const lgv_error *err) {
  fputs("<p class=\"soft\">", p->out);
  lgv__html_text(p->out, what);
  fputs(": ", p->out);
  lgv__html_text(p->out, err->message);
  fputs("</p>\n", p->out);
}

static void write_runs(const page *p) {
  lgv_table t = lgv__table("lllll");
  const char *const head[] = {"", "environment", "agent", "runs", "directory"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  for (size_t i = 0; i < p->groups.count; i++) {
    const lgv_group *g = &p->groups.items[i];
    lgv_error err = {0};
    char states[sizeof err.message];
    if (lgv__show_states(g, states, sizeof states, &err) != LGV_OK)
      snprintf(states, sizeof states, "%s", err.message);
    const char *const cells[] = {g->label, g->env, g->agent, states, g->directory};
    for (size_t k = 0; k < sizeof cells / sizeof *cells; k++) lgv__table_cell(&t, "%s", cells[k]);
  }
  tag(p, "h2", "What was run");
  lgv__table_html(&t, p->out);
}

static void write_comparison(const page *p) {
  lgv_comparison c;
  lgv_error err = {0};
  const lgv_compare how = {.measure = p->measure, .threshold = p->spec->threshold};
  char notes[1024];
  tag(p, "h2", "Results");
  if (lgv__comparison_open(&c, &how, &p->agents, &err) != LGV_OK) {
    note_failure(p, "There is no table of results", &err);
    return;
  }
  lgv_table t = lgv__comparison_table(&c);
  lgv__comparison_notes(&c, notes, sizeof notes);
  lgv__table_html(&t, p->out);
  fputs("<p class=\"soft\">", p->out);
  lgv__html_text(p->out, notes);
  fputs("</p>\n", p->out);
  lgv__comparison_close(&c);
}

/* ---- Figures ---- */

/* Ids would clash with those of the other figures: each gets a number in front. */
static void write_svg(const page *p, const char *svg) {
  static const char *const marks[] = {"id=\"", "href=\"#", "url(#"};
  const char *body = strstr(svg, "<svg");
  for (const char *c = body ? body : svg; *c; c++) {
    fputc(*c, p->out);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
      size_t length = strlen(marks[i]);
      if ((size_t)(c + 1 - svg) >= length && strncmp(c + 1 - length, marks[i], length) == 0)
        fprintf(p->out, "f%zu-", p->figures);
    }
  }
}

static void write_figure(page *p, lgv_plot plot, const char *what, const char *caption) {
  char *svg = NULL, *hover = NULL;
  size_t svg_size = 0, hover_size = 0;
  lgv_error err = {0};
  plot.inputs = p->spec->inputs;
  plot.count = p->spec->count;
  if (!plot.where) plot.where = p->spec->where;
  if (!plot.label) plot.label = p->spec->label;
  plot.statistic = p->spec->statistic;
  plot.svg = open_memstream(&svg, &svg_size);
  plot.hover = open_memstream(&hover, &hover_size);
  lgv_status status =
      plot.svg && plot.hover ? lgv__plot(&plot, NULL, &err) : lgv__out_of_memory(&err, "a figure");
  if (plot.svg) fclose(plot.svg);
  if (plot.hover) fclose(plot.hover);
  if (status == LGV_OK) {
    p->figures++;
    fputs("<figure><div class=\"plot\">", p->out);
    write_svg(p, svg);
    fprintf(p->out, "<script type=\"application/json\">%s</script></div>\n<figcaption>", hover);
    lgv__html_text(p->out, caption);
    fputs("</figcaption></figure>\n", p->out);
  } else {
    note_failure(p, what, &err);
  }
  free(svg);
  free(hover);
}

static bool has_column(const page *p, const char *column) {
  char path[PATH_MAX];
  bool has = false;
  return lgv__join_path(p->groups.items[0].runs[0], "metrics.csv", path, sizeof path, NULL) ==
             LGV_OK &&
         lgv__csv_has(path, column, &has, NULL) == LGV_OK && has;
}

/* Curves of one column; value: of the key that this figure is about, or NULL. */
static void write_curve(page *p, const char *column, const char *name, const char *key,
                        const char *value) {
  char caption[512], where[512];
  const char *given = p->spec->where;
  snprintf(where, sizeof where, "%s%s%s=%s", given ? given : "", given ? "," : "", key ? key : "",
           value ? value : "");
  snprintf(caption, sizeof caption,
           "%s%s%s%s%s: %s over runs; bands: 95 %% bootstrap intervals. Point at it for values.",
           name, key ? ", " : "", key ? key : "", key ? " = " : "", value ? value : "",
           p->spec->statistic ? p->spec->statistic : "mean");
  write_figure(p, (lgv_plot){.y = column, .where = key ? where : given}, name, caption);
}

/* The one setting of the environment that varies, if it is one. */
static const char *one_env_key(const page *p) {
  const char *found = NULL;
  for (size_t k = 0; k < p->varied_count; k++) {
    if (strncmp(p->varied[k], "env.", 4) != 0) continue;
    if (found) return NULL;
    found = p->varied[k];
  }
  return found;
}

/* Its different values; returns how many there are. */
static size_t values_of(const page *p, const char *key, const char *values[MOST_PANELS]) {
  size_t n = 0;
  for (size_t i = 0; i < p->groups.count; i++) {
    const char *value = lgv_settings_get(p->groups.items[i].settings, key);
    size_t k = 0;
    if (!value) continue;
    while (k < n && k < MOST_PANELS && strcmp(values[k], value) != 0) k++;
    if (k < n) continue;
    if (n < MOST_PANELS) values[n] = value;
    n++;
  }
  return n;
}

/* A figure for each value of the one setting of the environment that varies, else for all. */
static void write_curves(page *p) {
  static const char *const columns[][2] = {{"eval_return", "Evaluations along the run"},
                                           {"regret", "Cumulative regret"},
                                           {"return", "Returns of training episodes"}};
  const char *key = one_env_key(p), *values[MOST_PANELS];
  size_t panels = key ? values_of(p, key, values) : 1;
  if (panels > MOST_PANELS) return;
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    if (!has_column(p, columns[i][0])) continue;
    for (size_t k = 0; k < panels; k++)
      write_curve(p, columns[i][0], columns[i][1], key, key ? values[k] : NULL);
    if (panels > 1) return; /* the first column will do */
  }
}

/* The two settings besides names that vary first: those of a grid. */
static bool two_keys(const page *p, char *text, size_t size) {
  const char *keys[2];
  size_t n = 0;
  for (size_t k = 0; k < p->varied_count && n < 2; k++)
    if (!strstr(p->varied[k], ".name")) keys[n++] = p->varied[k];
  if (n == 2) snprintf(text, size, "%s,%s", keys[0], keys[1]);
  return n == 2;
}

static void write_figures(page *p) {
  char keys[256], caption[512];
  const char *statistic = p->spec->statistic ? p->spec->statistic : "mean";
  tag(p, "h2", "Figures");
  fputs("<div class=\"figures\">\n", p->out);
  if (p->agents.row_count <= MOST_CURVES) write_curves(p);
  snprintf(caption, sizeof caption,
           "%s of %s over finished runs, 95 %% bootstrap intervals; dots: runs.", statistic,
           p->measure);
  const char *over = one_env_key(p);
  if (p->groups.row_count > 1 && p->groups.row_count <= MOST_BARS)
    write_figure(p, (lgv_plot){.kind = LGV_PLOT_BARS, .y = p->measure, .over = over}, "Bars",
                 caption);
  if (two_keys(p, keys, sizeof keys)) {
    snprintf(caption, sizeof caption, "%s of %s by %s; the best cell is framed.", statistic,
             p->measure, keys);
    write_figure(p, (lgv_plot){.kind = LGV_PLOT_HEAT, .y = p->measure, .heat = keys}, "Heat map",
                 caption);
  }
  if (p->agents.row_count > 1 && p->agents.row_count <= MOST_CURVES) {
    snprintf(caption, sizeof caption,
             "Performance profiles: the share of runs with %s beyond a threshold.", p->measure);
    write_figure(p, (lgv_plot){.kind = LGV_PLOT_PROFILE, .y = p->measure}, "Profiles", caption);
  }
  fputs("</div>\n", p->out);
}

/* ---- How to repeat it ---- */

/* The command of a group, escaped. */
static lgv_status write_command(const page *p, const lgv_group *group, lgv_error *err) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (!memory) return lgv__out_of_memory(err, "a report");
  lgv_status status = lgv__show_command(group, memory, err);
  fclose(memory);
  if (status == LGV_OK) lgv__html_text(p->out, text);
  fputc('\n', p->out);
  free(text);
  return status;
}

static lgv_status write_configurations(const page *p, lgv_error *err) {
  tag(p, "h2", "How to repeat it");
  fprintf(p->out, "<details%s><summary>Commands</summary>\n<pre>",
          p->groups.count <= MOST_CURVES ? " open" : "");
  for (size_t i = 0; i < p->groups.count; i++) LGV_TRY(write_command(p, &p->groups.items[i], err));
  fputs("</pre></details>\n", p->out);
  for (size_t i = 0; i < p->groups.count; i++) {
    fputs("<details><summary>Settings: ", p->out);
    lgv__html_text(p->out, p->groups.items[i].label);
    fputs("</summary>\n", p->out);
    LGV_TRY(lgv__show_settings(&p->groups.items[i], true, p->out, err));
    fputs("</details>\n", p->out);
  }
  return LGV_OK;
}

/* ---- The page ---- */

static lgv_status write_body(page *p, lgv_error *err) {
  size_t runs = 0;
  for (size_t i = 0; i < p->groups.count; i++) runs += p->groups.items[i].count;
  const char *title = p->spec->title ? p->spec->title : p->spec->inputs[0];
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
        "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n",
        p->out);
  tag(p, "title", title);
  fprintf(p->out, "<style>\n%s</style></head><body>\n", page_style);
  tag(p, "h1", title);
  fprintf(p->out, "<p class=\"soft\">%zu experiment%s, %zu run%s; langevin %s</p>\n",
          p->groups.count, p->groups.count == 1 ? "" : "s", runs, runs == 1 ? "" : "s",
          lgv_version());
  write_comparison(p);
  write_figures(p);
  write_runs(p);
  LGV_TRY(write_configurations(p, err));
  fprintf(p->out, "<script>\n%s</script>\n</body></html>\n", page_script);
  return LGV_OK;
}

static lgv_status write_page(page *p, lgv_error *err) {
  char *text = NULL;
  size_t size = 0;
  LGV_TRY(open_page(p, err));
  p->out = open_memstream(&text, &size);
  if (!p->out) return lgv__out_of_memory(err, "a report");
  lgv_status status = write_body(p, err);
  if (fclose(p->out) != 0 && status == LGV_OK) status = lgv__out_of_memory(err, "a report");
  if (status == LGV_OK) status = lgv__write_path(p->spec->out, text, size, err);
  free(text);
  return status;
}

lgv_status lgv__page_write(const lgv_page *spec, lgv_error *err) {
  page p = {.spec = spec};
  lgv_status status = write_page(&p, err);
  lgv__groups_close(&p.groups);
  lgv__groups_close(&p.agents);
  return status;
}
