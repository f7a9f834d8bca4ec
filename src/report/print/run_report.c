#include "report/print/run_report.h"

#include "base/error.h"
#include "record/summary.h"
#include "report/print/text_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { WIDTH = 100 };

/* "mean return" for mean_return. */
static void words_of(const char *name, char *text, size_t size) {
  snprintf(text, size, "%s", name);
  for (char *c = text; *c; c++)
    if (*c == '_') *c = ' ';
}

static lgv_status print_title(const lgv_run_report *r, FILE *out, lgv_error *err) {
  char env[128], agent[128];
  LGV_TRY(lgv_plan_get(r->plan, "env.name", env, sizeof env, err));
  LGV_TRY(lgv_plan_get(r->plan, "agent.name", agent, sizeof agent, err));
  fprintf(out, "%s on %s, ", agent, env);
  if (r->seeds == 1)
    fprintf(out, "seed %" PRIu64 "%s\n", r->summaries[0].seed,
            r->summaries[0].finished ? "" : " (stopped early)");
  else
    fprintf(out, "%zu seeds: %" PRIu64 " to %" PRIu64 "\n", r->seeds, r->summaries[0].seed,
            r->summaries[r->seeds - 1].seed);
  return LGV_OK;
}

static void print_one(const lgv_run_report *r, FILE *out) {
  const lgv_summary *s = &r->summaries[0];
  lgv_table t = lgv__table("lr");
  lgv__table_cell(&t, "steps");
  lgv__table_cell(&t, "%" PRId64, s->steps);
  lgv__table_cell(&t, "episodes");
  lgv__table_cell(&t, "%" PRId64, s->episodes);
  for (size_t i = 0; lgv_measure_name(i); i++) {
    char name[64];
    if (isnan(lgv_measure_value(s, i))) continue;
    words_of(lgv_measure_name(i), name, sizeof name);
    lgv__table_cell(&t, "%s", name);
    lgv__table_real(&t, lgv_measure_value(s, i));
  }
  lgv__table_print(&t, out, 2, WIDTH);
}

static lgv_status print_several(const lgv_run_report *r, FILE *out, lgv_error *err) {
  lgv_table t = lgv__table("lrrrrr");
  const char *const head[] = {"", "mean", "std.error", "95 % low", "high", "median"};
  for (size_t i = 0; i < sizeof head / sizeof *head; i++) lgv__table_cell(&t, "%s", head[i]);
  lgv_status status = LGV_OK;
  for (size_t i = 0; lgv_measure_name(i) && status == LGV_OK; i++) {
    lgv_estimate e;
    char name[64];
    status = lgv__summary_estimate(r->summaries, r->seeds, i, &e, err);
    if (status != LGV_OK || e.count == 0) continue;
    words_of(lgv_measure_name(i), name, sizeof name);
    lgv__table_cell(&t, "%s", name);
    const double values[] = {e.value, e.standard_error, e.low, e.high, e.median};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) lgv__table_real(&t, values[v]);
  }
  lgv__table_print(&t, out, 2, WIDTH);
  return status;
}

lgv_status lgv__run_report_print(const lgv_run_report *r, FILE *out, lgv_error *err) {
  int64_t steps = 0;
  size_t finished = 0;
  char rate[40];
  for (size_t i = 0; i < r->seeds; i++) {
    steps += r->summaries[i].steps;
    finished += r->summaries[i].finished;
  }
  LGV_TRY(print_title(r, out, err));
  if (r->seeds == 1)
    print_one(r, out);
  else if (finished > 0)
    LGV_TRY(print_several(r, out, err));
  if (r->seeds > 1 && finished < r->seeds)
    fprintf(out, "%zu of %zu seeds finished\n", finished, r->seeds);
  fprintf(out, "%.2f s", r->seconds);
  lgv__format_short(r->seconds > 0 ? (double)steps / r->seconds : NAN, rate, sizeof rate);
  if (!r->resumed) fprintf(out, ", %s steps/s", rate);
  fputs("; records in ", out);
  lgv__put_visible(out, r->directory);
  fputc('\n', out);
  return LGV_OK;
}

static const char *failure_of(const lgv_run_report *r, size_t i) {
  return r->errors[i].status == LGV_OK ? NULL : r->errors[i].message;
}

lgv_status lgv__run_report_json(const lgv_run_report *r, lgv_json *json, lgv_error *err) {
  lgv_status status = LGV_OK;
  lgv__json_open(json, NULL, '{');
  if (r->seeds == 1) {
    lgv__summary_json(json, r->plan, &r->summaries[0], failure_of(r, 0));
  } else {
    lgv__json_open(json, "aggregate", '{');
    status = lgv__aggregate_json(json, r->plan, r->summaries, r->seeds, err);
    lgv__json_close(json, '}');
    lgv__json_open(json, "runs", '[');
    for (size_t i = 0; i < r->seeds; i++) {
      lgv__json_open(json, NULL, '{');
      lgv__summary_json(json, r->plan, &r->summaries[i], failure_of(r, i));
      lgv__json_close(json, '}');
    }
    lgv__json_close(json, ']');
  }
  lgv__json_string(json, "directory", r->directory);
  lgv__json_close(json, '}');
  return status == LGV_OK && json->failed ? lgv__out_of_memory(err, "JSON") : status;
}
