/* A picture of the values of a trained agent: heat maps of its values of states and actions, of the
 * optimal ones if the environment has an exact model, and of the visits to each state.
 *
 * Chains and other finite environments have one column per state and one line per action. They show
 * the first stage, or the middle one for agents that plan by stage. DeepSea shows its grid, the
 * greatest value of each cell at the stage at which it is reached, and an arrow for the greedy
 * action; cells above the diagonal cannot be reached and stay empty. Each map has its own scale,
 * printed above it, since an agent may discount and the optimal values do not. */
#include "report/plot/plot.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "report/plot/canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MAPS = 3, MOST_STATES = 100000 };
static const double page = 252, margin = 14, title_height = 13, gap = 12, font = 7; /* points */

typedef struct heat_map {
  char title[160];
  double *value; /* (lines x columns) */
} heat_map;

typedef struct picture {
  lgv_trained *trained;
  lgv_env *env;
  lgv_agent *agent;
  int64_t states, side; /* side: of a grid; 0: states in a row */
  int64_t stage;        /* that is shown, where states are in a row */
  int32_t actions;
  double *q, *optimal;    /* (states x actions) each; no model: optimal is NULL */
  double *visits;         /* (states x actions); NULL where the agent does not count */
  double *values, *cells; /* ((H + 1) x states), (maps x states x actions) */
  heat_map map[MOST_MAPS];
  int64_t lines, columns, maps;
  lgv_canvas canvas;
} picture;

/* ---- Data ---- */

/* The stage of a cell of a grid is its line: DeepSea sinks one line per step. */
static int64_t stage_of(const picture *p, int64_t state) {
  return p->side ? state / p->side : p->stage;
}

static void observe(const picture *p, int64_t state, float *data) {
  bool thermometer = lgv_env_get_spec(p->env)->obs_form == LGV_FORM_THERMOMETER;
  for (int64_t i = 0; i < p->states; i++)
    data[i] = i == state || (thermometer && i < state) ? 1 : 0;
}

static lgv_status read_agent(picture *p, lgv_error *err) {
  float *data = lgv__calloc((size_t)p->states, sizeof *data);
  if (!data) return lgv__out_of_memory(err, "a picture");
  lgv_status status = LGV_OK;
  for (int64_t s = 0; s < p->states && status == LGV_OK; s++) {
    lgv_obs obs = {.data = data, .state = s, .stage = stage_of(p, s)};
    observe(p, s, data);
    status = lgv_agent_q_values(p->agent, &obs, 1, p->q + s * p->actions, err);
  }
  lgv__free(data);
  return status;
}

static void read_model(picture *p, const lgv_model *model) {
  lgv_model_optimal(model, p->values);
  for (int64_t s = 0; s < p->states; s++)
    for (int32_t a = 0; a < p->actions; a++)
      p->optimal[s * p->actions + a] =
          lgv_model_q(model, stage_of(p, s), s, a, p->values + (stage_of(p, s) + 1) * p->states);
}

/* Summed over stages, if the agent keeps them apart. */
static bool read_visits(picture *p) {
  const char *name;
  lgv_dtype dtype;
  size_t count, pairs = (size_t)(p->states * p->actions);
  const void *data;
  for (size_t i = 0; (data = lgv_agent_array(p->agent, i, &name, &dtype, &count)); i++) {
    if (strcmp(name, "lsvi.visits") != 0 || dtype != LGV_I64 || count % pairs != 0) continue;
    for (size_t k = 0; k < count; k++) p->visits[k % pairs] += (double)((const int64_t *)data)[k];
    return true;
  }
  return false;
}

static double fold(const double *row, int32_t actions, bool sum) {
  double most = row[0], total = 0;
  for (int32_t a = 0; a < actions; a++) {
    most = fmax(most, row[a]);
    total += row[a];
  }
  return sum ? total : most;
}

static void add_map(picture *p, const double *table, bool sum, const char *title) {
  int64_t count = p->lines * p->columns;
  heat_map *m = &p->map[p->maps];
  m->value = p->cells + p->maps++ * p->states * p->actions;
  snprintf(m->title, sizeof m->title, "%s", title);
  for (int64_t i = 0; i < count; i++)
    m->value[i] = p->side ? fold(table + i * p->actions, p->actions, sum)
                          : table[i % p->columns * p->actions + i / p->columns];
}

/* Agents that plan by stage have seen little but the start states at the first one. */
static lgv_status choose_stage(picture *p, char *agent, size_t size, lgv_error *err) {
  const lgv_plan *plan = lgv_trained_plan(p->trained);
  char name[2 * LGV_TEXT_SIZE], side[64];
  lgv_entry entry = {0};
  LGV_TRY(lgv_plan_get(plan, "agent.name", agent, size, err));
  LGV_TRY(lgv_plan_get(plan, "env.name", name, sizeof name, err));
  if (lgv_registry_find("agent", agent, &entry) && (entry.traits & LGV_NEEDS_HORIZON))
    p->stage = lgv_env_get_spec(p->env)->horizon / 2;
  if (strcmp(name, "deepsea") != 0) return LGV_OK;
  LGV_TRY(lgv_plan_get(plan, "env.n", side, sizeof side, err));
  p->side = strtoll(side, NULL, 10);
  return LGV_OK;
}

static lgv_status read_values(picture *p, lgv_error *err) {
  char agent[LGV_TEXT_SIZE], title[LGV_TEXT_SIZE + 128];
  const lgv_env_spec *spec = lgv_env_get_spec(p->env);
  p->states = spec->states;
  p->actions = spec->actions.count;
  if (p->states < 1 || p->states > MOST_STATES || lgv__obs_count(spec) != (size_t)p->states)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "--values draws environments with finitely many states and one number per "
                    "state in the observation, such as nchain, riverswim, deepsea (one-hot or "
                    "pixels) and linear-mdp");
  LGV_TRY(choose_stage(p, agent, sizeof agent, err));
  p->lines = p->side ? p->side : p->actions;
  p->columns = p->side ? p->side : p->states;
  size_t pairs = (size_t)(p->states * p->actions);
  size_t stages = (size_t)((spec->horizon + 1) * p->states);
  p->q = lgv__calloc(pairs, sizeof(double));
  p->optimal = lgv__calloc(pairs, sizeof(double));
  p->visits = lgv__calloc(pairs, sizeof(double));
  p->values = lgv__calloc(stages, sizeof(double));
  p->cells = lgv__calloc(MOST_MAPS * pairs, sizeof(double));
  if (!p->q || !p->optimal || !p->visits || !p->values || !p->cells)
    return lgv__out_of_memory(err, "a picture");
  LGV_TRY(read_agent(p, err));
  const char *kind = p->side ? "max Q" : "Q";
  char stage[64] = "";
  if (!p->side && spec->horizon > 0)
    snprintf(stage, sizeof stage, ", stage %lld of %lld", (long long)p->stage + 1,
             (long long)spec->horizon);
  snprintf(title, sizeof title, "%s of %s%s", kind, agent, p->stage > 0 ? stage : "");
  add_map(p, p->q, false, title);
  const lgv_model *model = lgv_env_get_model(p->env);
  snprintf(title, sizeof title, "optimal %s%s", kind, stage);
  if (model) read_model(p, model);
  if (model) add_map(p, p->optimal, false, title);
  if (read_visits(p)) add_map(p, p->visits, true, "visits");
  return LGV_OK;
}

/* No path of a DeepSea leads above its diagonal: values there mean nothing. */
static bool can_be_reached(const picture *p, int64_t cell) {
  return !p->side || cell % p->side <= cell / p->side;
}

/* ---- Drawing ---- */

/* From nearly white to dark blue, evenly darker. */
static lgv_color shade(double share) {
  return (lgv_color){0.97 - 0.94 * share, 0.97 - 0.72 * share, 0.98 - 0.50 * share};
}

/* Where the greedy action of a cell leads: -1 left, 1 right, 0 nowhere or both. */
static int greedy_direction(const picture *p, int64_t state) {
  const lgv_model *model = lgv_env_get_model(p->env);
  const double *q = p->q + state * p->actions;
  if (!model || q[0] == q[1]) return 0;
  int32_t greedy = q[1] > q[0];
  double *column = p->values; /* free by now */
  for (int64_t s = 0; s < p->states; s++) column[s] = 0;
  double paid = lgv_model_q(model, 0, state, greedy, column);
  for (int64_t s = 0; s < p->states; s++) column[s] = (double)(s % p->side) + 1;
  double next = lgv_model_q(model, 0, state, greedy, column) - paid;
  return next == 0 ? 0 : next > (double)(state % p->side) + 0.99 ? 1 : -1;
}

static void draw_arrow(lgv_canvas *c, double x, double y, double length, int direction) {
  double tip = x + direction * length / 2, back = tip - direction * length / 2;
  lgv__line(c, x - direction * length / 2, y, tip, y);
  lgv__line(c, tip, y, back, y - length / 3);
  lgv__line(c, tip, y, back, y + length / 3);
}

static void draw_map(picture *p, const heat_map *m, double x, double y, double width,
                     double height) {
  lgv_canvas *c = &p->canvas;
  int64_t count = p->lines * p->columns;
  double low = INFINITY, high = -INFINITY, w = width / (double)p->columns,
         h = height / (double)p->lines;
  for (int64_t i = 0; i < count; i++) {
    if (!can_be_reached(p, i)) continue;
    low = fmin(low, m->value[i]);
    high = fmax(high, m->value[i]);
  }
  char text[sizeof m->title + 64];
  snprintf(text, sizeof text, "%s: %.3g to %.3g", m->title, low, high);
  lgv__set_color(c, lgv__grey(0.15), 1);
  lgv__font(c, font, false);
  lgv__text(c, x, y - title_height / 2, LGV_LEFT, text);
  lgv__cairo.set_antialias(c->cr, CAIRO_ANTIALIAS_NONE); /* no seams between cells */
  for (int64_t i = 0; i < count; i++) {
    if (!can_be_reached(p, i)) continue;
    double share = high > low ? (m->value[i] - low) / (high - low) : 0;
    double cx = x + (double)(i % p->columns) * w, cy = y + (double)(i / p->columns) * h;
    lgv__set_color(c, shade(share), 1);
    lgv__cairo.rectangle(c->cr, cx, cy, w, h);
    lgv__cairo.fill(c->cr);
  }
  lgv__cairo.set_antialias(c->cr, CAIRO_ANTIALIAS_DEFAULT);
  for (int64_t i = 0; p->side && m == &p->map[0] && i < count; i++) {
    int direction = can_be_reached(p, i) ? greedy_direction(p, i) : 0;
    if (direction == 0) continue;
    lgv__set_color(c, lgv__grey(m->value[i] > (low + high) / 2 ? 1 : 0.2), 1);
    lgv__cairo.set_line_width(c->cr, fmin(0.6, w / 12));
    draw_arrow(c, x + ((double)(i % p->columns) + 0.5) * w,
               y + ((double)(i / p->columns) + 0.5) * h, 0.5 * fmin(w, h), direction);
  }
  lgv__set_color(c, lgv__grey(0.4), 1);
  lgv__cairo.set_line_width(c->cr, 0.5);
  lgv__cairo.rectangle(c->cr, x, y, width, height);
  lgv__cairo.stroke(c->cr);
}

static void label_row(picture *p, double x, double y, double width, double height) {
  lgv_canvas *c = &p->canvas;
  char text[32];
  lgv__set_color(c, lgv__grey(0.15), 1);
  lgv__font(c, font - 1, false);
  for (int32_t a = 0; a < p->actions && p->actions <= 16; a++) {
    snprintf(text, sizeof text, "%d", a);
    lgv__text(c, x - 3, y + (a + 0.5) * height / p->actions, LGV_RIGHT, text);
  }
  lgv__text(c, x, y + height + 6, LGV_LEFT, "state 0");
  snprintf(text, sizeof text, "%lld", (long long)p->states - 1);
  lgv__text(c, x + width, y + height + 6, LGV_RIGHT, text);
}

static lgv_status draw(picture *p, const char *out, lgv_error *err) {
  double maps = (double)p->maps;
  double side = p->side ? (2 * page - 2 * margin - (maps - 1) * gap) / maps : 0;
  double strip = fmax(24, 12 * (double)p->lines), width = p->side ? 2 * page : page;
  double height =
      p->side ? margin + title_height + side : maps * (title_height + strip + gap) + margin;
  LGV_TRY(lgv__canvas_open(&p->canvas, out, width, height, err));
  for (int64_t i = 0; i < p->maps; i++) {
    double x = margin + (p->side ? (double)i * (side + gap) : 0);
    double y = title_height + (p->side ? 0 : (double)i * (title_height + strip + gap));
    double w = p->side ? side : page - 2 * margin, h = p->side ? side : strip;
    draw_map(p, &p->map[i], x, y, w, h);
    if (!p->side) label_row(p, x, y, w, h);
  }
  return lgv__canvas_close(&p->canvas, err);
}

lgv_status lgv__plot_values(const char *path, const char *out, lgv_error *err) {
  picture p = {0};
  if (!lgv__canvas_knows(out))
    return lgv_fail(err, LGV_ERR_USAGE, "%.200s: a picture ends in .svg, .pdf or .png", out);
  LGV_TRY(lgv_trained_open(path, 0, false, &p.trained, err));
  p.env = lgv_trained_env(p.trained);
  p.agent = lgv_trained_agent(p.trained);
  lgv_status status = read_values(&p, err);
  if (status == LGV_OK) status = draw(&p, out, err);
  lgv__free(p.q);
  lgv__free(p.optimal);
  lgv__free(p.visits);
  lgv__free(p.values);
  lgv__free(p.cells);
  lgv_trained_free(p.trained);
  return status;
}
