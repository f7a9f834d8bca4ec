/* The progress of a sweep: how much is done, the current runs, the best configuration so far, and
 * the time left. On a terminal the lines are redrawn in place: the cursor rests at the start of the
 * first, so that any other output overwrites them. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 8, LINE = 512 };

typedef struct running {
  bool used;
  size_t run;
  double fraction;
} running;

struct cli_sweep_view {
  cli_progress progress;
  const lgv_sweep *sweep;
  const lgv_sweep_info *info;
  const lgv_summary *summaries;
  size_t measure;
  double *sums;           /* (configs): of the measure over finished seeds */
  int32_t *counts;        /* (configs) */
  size_t best;            /* configuration; valid if has_best */
  bool has_best, is_new;  /* is_new: the estimate is of an earlier best */
  lgv_estimate estimate;  /* of the best */
  running running[SHOWN]; /* some of those under way */
  size_t failed_run;
  char failure[LINE]; /* the last; "" if there was none */
};

cli_sweep_view *cli_sweep_view_open(const lgv_sweep *sweep, const lgv_summary *summaries,
                                    bool quiet) {
  cli_sweep_view *v = calloc(1, sizeof *v);
  if (!v) return NULL;
  v->sweep = sweep;
  v->info = lgv_sweep_get_info(sweep);
  v->summaries = summaries;
  v->sums = calloc(v->info->configs, sizeof *v->sums);
  v->counts = calloc(v->info->configs, sizeof *v->counts);
  while (lgv_measure_name(v->measure) &&
         strcmp(lgv_measure_name(v->measure), v->info->measure) != 0)
    v->measure++;
  cli_progress_start(&v->progress, quiet);
  if (v->sums && v->counts) return v;
  cli_sweep_view_close(v);
  return NULL;
}

double cli_sweep_view_close(cli_sweep_view *v) {
  double seconds = lgv__now() - v->progress.started;
  if (!v->progress.quiet && v->progress.terminal) fputs("\r\033[J", stderr);
  free(v->sums);
  free(v->counts);
  free(v);
  return seconds;
}

/* ---- The best so far ---- */

/* Lower is better. */
static double score(const cli_sweep_view *v, size_t config) {
  double mean = v->sums[config] / v->counts[config];
  return v->info->lowest_is_best ? mean : -mean;
}

static void find_best(cli_sweep_view *v) {
  v->has_best = false;
  for (size_t c = 0; c < v->info->configs; c++)
    if (v->counts[c] > 0 && (!v->has_best || score(v, c) < score(v, v->best))) {
      v->best = c;
      v->has_best = true;
    }
}

static void add_result(cli_sweep_view *v, size_t run, const lgv_summary *summary) {
  size_t config = run / (size_t)v->info->seeds;
  double value = lgv_measure_value(summary, v->measure);
  if (isnan(value)) return;
  bool was_best = v->has_best && v->best == config;
  double before = was_best ? score(v, config) : 0;
  v->sums[config] += value;
  v->counts[config]++;
  if (was_best && score(v, config) > before)
    find_best(v);
  else if (!v->has_best || score(v, config) < score(v, v->best))
    v->best = config;
  v->has_best = v->is_new = true;
}

/* Only when it is shown: the interval is a bootstrap. */
static void estimate_best(cli_sweep_view *v) {
  size_t seeds = (size_t)v->info->seeds;
  const lgv_summary *summaries = v->summaries + v->best * seeds;
  if (lgv__summary_estimate(summaries, seeds, v->measure, &v->estimate, NULL) == LGV_OK)
    v->is_new = false;
}

/* ---- News ---- */

static running *place_of(cli_sweep_view *v, size_t run) {
  running *free_place = NULL;
  for (size_t i = 0; i < SHOWN; i++) {
    running *place = &v->running[i];
    if (place->used && place->run == run) return place;
    if (!place->used && !free_place) free_place = place;
  }
  return free_place;
}

void cli_sweep_view_run(cli_sweep_view *v, const lgv_run_news *news) {
  bool under_way = news->phase == LGV_RUN_BEGUN || news->phase == LGV_RUN_GOING;
  running *place = place_of(v, news->run);
  if (place && (under_way || (place->used && place->run == news->run)))
    *place = (running){under_way, news->run, news->fraction};
  if (news->phase == LGV_RUN_FOUND || news->phase == LGV_RUN_FINISHED)
    add_result(v, news->run, news->summary);
  if (news->phase == LGV_RUN_FAILED) {
    v->failed_run = news->run;
    snprintf(v->failure, sizeof v->failure, "%s", news->error->message);
  }
}

/* ---- Lines ---- */

static void format_counts(const cli_sweep_view *v, const lgv_progress *now, char *text,
                          size_t size) {
  char rate[24], left[24];
  double elapsed = v->progress.shown - v->progress.started, fraction = now->fraction;
  cli_format_count((double)now->steps / elapsed, rate, sizeof rate);
  cli_format_seconds(fraction > 0 ? elapsed * (1 - fraction) / fraction : INFINITY, left,
                     sizeof left);
  FILE *out = fmemopen(text, size, "w");
  if (!out) return;
  fprintf(out, "%3.0f %%  %lld of %lld done, %lld running", 100 * fraction,
          (long long)now->runs_done, (long long)now->runs, (long long)now->runs_running);
  if (now->runs_failed > 0) fprintf(out, ", %lld failed", (long long)now->runs_failed);
  if (now->runs_held > 0) fprintf(out, ", %lld elsewhere", (long long)now->runs_held);
  if (now->runs_found > 0) fprintf(out, ", %lld before", (long long)now->runs_found);
  fprintf(out, ", %s steps/s, %s left", rate, left);
  fclose(out);
}

/* "agent.lambda=1 env.n=6" */
static void format_config(const cli_sweep_view *v, size_t config, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t k = 0; lgv_sweep_key(v->sweep, k) && used < size; k++) {
    const char *value = lgv_sweep_value(v->sweep, config, k);
    if (value)
      used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "",
                               lgv_sweep_key(v->sweep, k), value);
  }
}

static void format_best(const cli_sweep_view *v, char *text, size_t size) {
  char config[LINE / 2], mean[32], low[32], high[32];
  const lgv_estimate *e = &v->estimate;
  format_config(v, v->best, config, sizeof config);
  lgv__format_short(e->value, mean, sizeof mean);
  lgv__format_short(e->low, low, sizeof low);
  lgv__format_short(e->high, high, sizeof high);
  int used = snprintf(text, size, "best: %s %s", v->info->measure, mean);
  if (e->count > 1) used += snprintf(text + used, size - (size_t)used, " [%s, %s]", low, high);
  snprintf(text + used, size - (size_t)used, ", %lld seed%s, configuration %zu%s%s",
           (long long)e->count, e->count == 1 ? "" : "s", v->best, config[0] ? ": " : "", config);
}

static void format_running(const cli_sweep_view *v, const running *r, char *text, size_t size) {
  char config[LINE / 2];
  size_t seeds = (size_t)v->info->seeds;
  format_config(v, r->run / seeds, config, sizeof config);
  snprintf(text, size, "run %zu: %3.0f %%, seed %llu%s%s", r->run, 100 * r->fraction,
           (unsigned long long)v->info->first_seed + r->run % seeds, config[0] ? ", " : "", config);
}

/* ---- Drawing ---- */

/* Cut at the edge: a line that wraps would not be drawn over. */
static void draw_line(FILE *out, int *lines, int width, const char *format, const char *text) {
  char line[LINE + 16], visible[LINE];
  lgv__make_visible(text, visible, sizeof visible);
  snprintf(line, sizeof line, format, visible);
  fprintf(out, "%s%.*s", *lines ? "\n" : "", width - 1, line);
  ++*lines;
}

static void draw(const cli_sweep_view *v, const lgv_progress *now, FILE *out) {
  char text[LINE], bar[CLI_BAR_SIZE];
  int width = cli_progress_width(), lines = 0, shown = 0;
  fputs("\r\033[J", out);
  cli_format_bar(now->fraction, bar);
  size_t used = (size_t)snprintf(text, sizeof text, "[%s] ", bar);
  format_counts(v, now, text + used, sizeof text - used);
  draw_line(out, &lines, width, "%s", text);
  for (size_t i = 0; i < SHOWN; i++) {
    if (!v->running[i].used) continue;
    format_running(v, &v->running[i], text, sizeof text);
    draw_line(out, &lines, width, "  %s", text);
    shown++;
  }
  if (now->runs_running > shown) {
    snprintf(text, sizeof text, "and %lld more", (long long)now->runs_running - shown);
    draw_line(out, &lines, width, "  %s", text);
  }
  if (v->failure[0]) {
    snprintf(text, sizeof text, "run %zu failed: %.400s", v->failed_run, v->failure);
    draw_line(out, &lines, width, "  %s", text);
  }
  if (v->has_best) {
    format_best(v, text, sizeof text);
    draw_line(out, &lines, width, "  %s", text);
  }
  fputc('\r', out);
  if (lines > 1) fprintf(out, "\033[%dA", lines - 1);
}

static void draw_at_once(const cli_sweep_view *v, const lgv_progress *now) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return;
  draw(v, now, out);
  if (fclose(out) == 0) fwrite(text, 1, length, stderr);
  fflush(stderr);
  free(text);
}

void cli_sweep_view_show(cli_sweep_view *v, const lgv_progress *now) {
  char counts[LINE] = "", best[LINE] = "";
  if (!cli_progress_is_due(&v->progress)) return;
  if (v->has_best && v->is_new) estimate_best(v);
  if (v->progress.terminal) {
    draw_at_once(v, now);
    return;
  }
  format_counts(v, now, counts, sizeof counts);
  if (v->has_best) format_best(v, best, sizeof best);
  fprintf(stderr, "%s%s", counts, best[0] ? "; " : "");
  lgv__put_visible(stderr, best);
  fputc('\n', stderr);
}
