/* The data of a history: parameters, memory, rows, Lambda. */
#include "agent/linear/lsvi_history.h"

#include "agent/builtin.h"
#include "agent/export.h"
#include "agent/features/features.h"
#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

/* Of dense blocks; their decompositions take minutes beyond it. */
static const int64_t most_features = 4096;
enum { FEWEST_ROWS = 16 }; /* of a history: an eighth of them makes room for a transition */
/* Numbers of a history's observations, and of its features: a gigabyte of floats. */
static const int64_t most_numbers = (int64_t)1 << 28;

/* ---- parameters ---- */

static lgv_status check_problem(const lsvi_params *p, const lgv_env_spec *env, lgv_error *err) {
  if (p->schedule != LSVI_TUNED)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.schedule = theory has no constants for the feature map %s: set "
                    "agent.schedule = tuned",
                    p->map);
  if (p->gram == LSVI_GRAM_DIAGONAL)
    return lgv_fail(err, LGV_ERR_USAGE, "agent.gram = diagonal needs agent.features = one-hot");
  if (p->form == LSVI_FORM_STAGES && env->horizon == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.form = stages plans for a fixed horizon, but this environment has none: "
                    "set agent.form = discounted");
  if (p->form == LSVI_FORM_STAGES && p->pool == LSVI_POOL_TRUE && !env->stationary)
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "agent.pool = true shares the data between stages, but this environment is not stationary: "
        "set agent.pool = false");
  return LGV_OK;
}

lgv_status lgv__history_resolve(lsvi_params *p, const lgv_problem *problem, lgv_error *err) {
  const lgv_full_problem *full = lgv__full_problem(problem);
  const lgv_env_spec *env = &problem->env;
  int64_t inputs = lgv__feature_input_count(env), m;
  if (!full->features)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.features = '%s': this agent takes auto, one-hot or env; lmc-lsvi and "
                    "others take feature maps",
                    p->map);
  LGV_TRY(check_problem(p, env, err));
  if (full->features->scaled) LGV_TRY(lgv__feature_input_check(full->feature_params, env, err));
  LGV_TRY(full->features->dim(full->feature_params, env, inputs, &m, err));
  p->gram = LSVI_GRAM_DENSE;
  if (p->form == LSVI_FORM_DISCOUNTED) p->pool = LSVI_POOL_TRUE;
  if (p->pool == LSVI_POOL_AUTO) p->pool = env->stationary ? LSVI_POOL_TRUE : LSVI_POOL_FALSE;
  if (m < 1 || m > most_features)
    return lgv_fail(err, LGV_ERR_USAGE, "%lld features of %s are outside 1..%lld", (long long)m,
                    p->map, (long long)most_features);
  return LGV_OK;
}

/* ---- memory ---- */

static const char *row_fault(const void *self) {
  const lsvi *c = self;
  const lsvi_history *t = &c->history;
  const int64_t *rows = t->rows;
  *t->mapped = 0; /* other rows than those that phi was computed from */
  if (!lgv__is_within(rows[HISTORY_ROWS], 0, t->capacity)) return "rows out of range";
  if (!lgv__is_within(rows[HISTORY_COMPLETE], 0, rows[HISTORY_ROWS]) ||
      !lgv__is_within(rows[HISTORY_LEARNED], 0, rows[HISTORY_COMPLETE]))
    return "more rows in use than there are";
  if (!lgv__is_count(c->episodes[0])) return "counter out of range";
  return NULL;
}

static const char *action_fault(const void *self) {
  const lsvi *c = self;
  const lsvi_history *t = &c->history;
  int64_t rows = t->rows[HISTORY_ROWS];
  for (int64_t i = 0; i < rows; i++)
    if (!lgv__is_within(t->action[i], -1, c->A - 1)) return "an action outside the problem";
  for (int64_t i = 0; i < rows && !t->discounted; i++)
    if (t->action[i] >= 0 && !lgv__is_within(t->stage[i], 0, t->horizon - 1))
      return "a stage outside the problem";
  return rows > 0 && t->action[rows - 1] >= 0 ? "a last row with an action" : NULL;
}

static void layout_rows(lsvi *c, const lgv_env_spec *env, lgv_layout *out) {
  lsvi_history *t = &c->history;
  size_t n = (size_t)t->capacity, inputs = (size_t)t->input.count;
  t->rows = lgv_layout_array(out, "history.rows", LGV_I64, HISTORY_SIZE, LGV_KEEP);
  lgv_layout_check(out, row_fault, c);
  t->obs = lgv__layout_rows(out, "history.obs", LGV_F32, n, inputs, t->rows);
  t->stage = lgv__layout_rows(out, "history.stage", LGV_I32, n, 1, t->rows);
  t->reward = lgv__layout_rows(out, "history.reward", LGV_F64, n, 1, t->rows);
  t->ended = lgv__layout_rows(out, "history.ended", LGV_U8, n, 1, t->rows);
  if (env->masked)
    t->masks = lgv__layout_rows(out, "history.masks", LGV_U8, n, (size_t)c->A, t->rows);
  t->action = lgv__layout_rows(out, "history.action", LGV_I32, n, 1, t->rows);
  lgv_layout_check(out, action_fault, c);
  t->returns = lgv_layout_array(out, "history.returns", LGV_F64, 2, LGV_KEEP);
  t->phi_square = lgv_layout_array(out, "history.phi_square", LGV_F64, 1, LGV_KEEP);
}

static void layout_scratch(lsvi *c, int uses, lgv_layout *out) {
  lsvi_history *t = &c->history;
  size_t n = (size_t)t->capacity, A = (size_t)c->A, m = (size_t)t->m, d = (size_t)c->d;
  size_t values = A * (size_t)t->samples, inputs = (size_t)t->input.count;
  t->mapped = lgv_layout_array(out, "history.mapped", LGV_I64, 1, LGV_SCRATCH);
  lgv__feature_rows_layout(&t->phi, "history.phi", t->capacity, "history.gathered", HISTORY_BLOCK,
                           out);
  lgv__feature_rows_layout(&t->one_phi, "history.one_phi", 1, NULL, 0, out);
  t->y = lgv_layout_array(out, "history.y", LGV_F64, n, LGV_SCRATCH);
  t->block = lgv_layout_array(out, "history.block", LGV_I64, HISTORY_BLOCK, LGV_SCRATCH);
  t->place = lgv_layout_array(out, "history.place", LGV_I64, HISTORY_BLOCK, LGV_SCRATCH);
  t->weights = lgv_layout_array(out, "history.weights", LGV_F32, m * values, LGV_SCRATCH);
  t->q = lgv_layout_array(out, "history.q", LGV_F32, HISTORY_BLOCK * values, LGV_SCRATCH);
  t->block_y = lgv_layout_array(out, "history.block_y", LGV_F32, HISTORY_BLOCK * A, LGV_SCRATCH);
  t->block_b = lgv_layout_array(out, "history.block_b", LGV_F32, d, LGV_SCRATCH);
  t->one = lgv_layout_array(out, "history.one", LGV_F32, inputs, LGV_SCRATCH);
  t->scaled = lgv_layout_array(out, "history.scaled", LGV_F32, HISTORY_BLOCK * inputs, LGV_SCRATCH);
  t->one_q = lgv_layout_array(out, "history.one_q", LGV_F64, A, LGV_SCRATCH);
  c->b = lgv_layout_array(out, "lsvi.b", LGV_F64, d, LGV_SCRATCH);
  c->w_hat = lgv_layout_array(out, "lsvi.w_hat", LGV_F64, d, LGV_SCRATCH);
  t->whitened = lgv_layout_array(out, "history.whitened", LGV_F64, m * HISTORY_BLOCK, LGV_SCRATCH);
  if (uses & LSVI_USES_WIDTHS)
    t->u = lgv_layout_array(out, "history.u", LGV_F32, n * A, LGV_SCRATCH);
}

/* An episode has one row more than steps. */
static int64_t rows_needed(const lgv_problem *problem) {
  double steps = problem->steps > 0
                     ? 2 * (double)problem->steps
                     : (double)problem->episodes * (double)(problem->env.horizon + 1);
  bool known = problem->steps > 0 || (problem->episodes > 0 && problem->env.horizon > 0);
  return known && steps < 1e15 ? (int64_t)steps + 2 : INT64_MAX;
}

static int64_t capacity_of(const lsvi_history *t, const lgv_problem *problem) {
  int64_t needed = rows_needed(problem), width = lgv__feature_rows_width(&t->phi);
  int64_t inputs = lgv__feature_input_count(&problem->env);
  int64_t most = most_numbers / (width > inputs ? width : inputs);
  int64_t rows = needed < most ? needed : most;
  return rows > FEWEST_ROWS ? rows : FEWEST_ROWS;
}

static void set_sizes(lsvi *c, const lgv_problem *problem) {
  const lgv_full_problem *full = lgv__full_problem(problem);
  const lgv_env_spec *env = &problem->env;
  const lsvi_params *p = c->p;
  lsvi_history *t = &c->history;
  int64_t inputs = lgv__feature_input_count(env);
  if (t->m == 0 && full->features->dim(full->feature_params, env, inputs, &t->m, NULL) != LGV_OK)
    t->m = 1; /* a file that the map needs is gone: its `open` reports that */
  bool by_action = full->features->by_action;
  t->map = full->features;
  t->discounted = p->form == LSVI_FORM_DISCOUNTED;
  t->gamma = t->discounted ? p->gamma : 1;
  t->horizon = env->horizon;
  lgv__feature_rows_init(&t->phi, t->map, t->map_self, full->feature_params, t->m, c->A);
  t->one_phi = t->phi;
  t->capacity = capacity_of(t, problem);
  t->samples = t->samples > 0 ? t->samples : 1;
  c->H = t->discounted ? p->sweeps : env->horizon;
  c->pooled = p->pool == LSVI_POOL_TRUE;
  c->groups = !c->pooled ? c->H : t->discounted || c->clock_truncates || c->H == 1 ? 1 : 2;
  c->blocks = by_action ? 1 : c->A;
  c->d = t->m * c->blocks;
  c->q_size = t->samples * c->d;
}

void lgv__history_layout(lsvi *c, const lgv_problem *problem, int uses, lgv_layout *out) {
  const lgv_full_problem *full = lgv__full_problem(problem);
  lsvi_history *t = &c->history;
  set_sizes(c, problem);
  size_t H = (size_t)c->H, lambda = (size_t)(c->groups * c->blocks * t->m * t->m);
  lgv__feature_input_layout(&t->input, t->map->scaled ? full->feature_params : NULL, &problem->env,
                            out);
  if (t->map->layout)
    t->map->layout(t->map_self, full->feature_params, &problem->env, t->input.count, out);
  layout_rows(c, &problem->env, out);
  c->factor = lgv_layout_array(out, "lsvi.factor_columns", LGV_F64, lambda, LGV_KEEP);
  if (uses & LSVI_USES_GRAM)
    c->gram = lgv_layout_array(out, "lsvi.gram", LGV_F64, lambda, LGV_KEEP);
  c->q = lgv_layout_array(out, "lsvi.q", LGV_F64, (H + 1) * (size_t)c->q_size, LGV_KEEP);
  t->rules = lgv_layout_array(out, "lsvi.rules", LGV_F64, (H + 1) * RULE_SIZE, LGV_KEEP);
  t->init = problem->init;
  layout_scratch(c, uses, out);
}

static void reset_lambda(lsvi *c) {
  int64_t m = c->history.m, blocks = c->groups * c->blocks;
  size_t bytes = (size_t)(blocks * m * m) * sizeof *c->factor;
  memset(c->factor, 0, bytes);
  if (c->gram) memset(c->gram, 0, bytes);
  for (int64_t i = 0; i < blocks * m; i++) {
    int64_t at = (i / m) * m * m + (i % m) * (m + 1);
    c->factor[at] = sqrt(c->ridge);
    if (c->gram) c->gram[at] = c->ridge;
  }
}

static lgv_status check_network(const lsvi_history *t, lgv_error *err) {
  bool is_same = t->map != &lgv__features_network || lgv__features_network_has(t->map_self, t->m);
  if (is_same) return LGV_OK;
  return lgv_fail(err, LGV_ERR_IO, "features.file was replaced while it was read: start again");
}

lgv_status lgv__history_open(lsvi *c, lgv_error *err) {
  lsvi_history *t = &c->history;
  lgv__feature_input_open(&t->input);
  if (t->map->open) LGV_TRY(t->map->open(t->map_self, t->init, err));
  LGV_TRY(check_network(t, err));
  for (int64_t h = 0; h <= c->H; h++) lgv__history_plain_rule(c, h);
  reset_lambda(c);
  return LGV_OK;
}

/* ---- rows ---- */

/* Drops the oldest eighth. Lambda no longer fits the rows. */
static void drop_oldest(lsvi *c) {
  lsvi_history *t = &c->history;
  int64_t *rows = t->rows, drop = t->capacity / 8, left = rows[HISTORY_ROWS] - drop;
  int64_t phi_left = *t->mapped > drop ? *t->mapped - drop : 0, inputs = t->input.count;
  size_t n = (size_t)left;
  memmove(t->obs, t->obs + drop * inputs, n * (size_t)inputs * sizeof *t->obs);
  memmove(t->action, t->action + drop, n * sizeof *t->action);
  memmove(t->stage, t->stage + drop, n * sizeof *t->stage);
  memmove(t->reward, t->reward + drop, n * sizeof *t->reward);
  memmove(t->ended, t->ended + drop, n);
  if (t->masks) memmove(t->masks, t->masks + drop * c->A, n * (size_t)c->A);
  lgv__feature_rows_move(&t->phi, drop, phi_left);
  rows[HISTORY_ROWS] = left;
  rows[HISTORY_COMPLETE] = rows[HISTORY_COMPLETE] > drop ? rows[HISTORY_COMPLETE] - drop : 0;
  rows[HISTORY_LEARNED] = 0; /* rows that Lambda has are gone */
  *t->mapped = phi_left;
}

static void write_row(lsvi *c, int64_t row, const lgv_obs *obs, int32_t action) {
  lsvi_history *t = &c->history;
  lgv__feature_input_read(&t->input, obs->data, t->obs + row * t->input.count);
  t->action[row] = action;
  t->stage[row] = (int32_t)obs->stage;
  t->reward[row] = 0;
  t->ended[row] = 0;
  for (int32_t a = 0; t->masks && a < c->A; a++)
    t->masks[row * c->A + a] = !obs->mask || obs->mask[a];
}

/* The last row of the episode so far gets an action, and the next observation follows it. */
void lgv__history_observe(lsvi *c, const lgv_transition *s) {
  lsvi_history *t = &c->history;
  if (t->rows[HISTORY_ROWS] + 2 > t->capacity) drop_oldest(c);
  int64_t *rows = t->rows;
  bool begins = rows[HISTORY_ROWS] == rows[HISTORY_COMPLETE];
  int64_t row = rows[HISTORY_ROWS] - (begins ? 0 : 1);
  bool clock = !c->clock_truncates && t->horizon > 0 && s->obs.stage + 1 >= t->horizon;
  write_row(c, row, &s->obs, s->action->choice);
  t->reward[row] = s->reward;
  t->ended[row] = s->terminated && !(t->discounted && clock);
  write_row(c, row + 1, &s->next, -1);
  /* the mask of an end may allow nothing, and the clock's end counts as one of many rows */
  if (t->masks && s->terminated) memset(t->masks + (row + 1) * c->A, 1, (size_t)c->A);
  rows[HISTORY_ROWS] = row + 2;
}

/* The returns that followed the rows of the current episode. */
static void note_returns(lsvi *c) {
  lsvi_history *t = &c->history;
  double sum = 0;
  for (int64_t i = t->rows[HISTORY_ROWS] - 1; i >= t->rows[HISTORY_COMPLETE]; i--) {
    if (t->action[i] < 0) continue;
    sum = t->reward[i] + t->gamma * sum;
    t->returns[0] = fmin(t->returns[0], sum);
    t->returns[1] = fmax(t->returns[1], sum);
  }
}

void lgv__history_absorb(lsvi *c) {
  lsvi_history *t = &c->history;
  note_returns(c);
  t->rows[HISTORY_COMPLETE] = t->rows[HISTORY_ROWS];
  c->episodes[0]++;
}

/* ---- features and Lambda ---- */

/* Completes phi. */
static lgv_status map_rows(lsvi *c, lgv_error *err) {
  lsvi_history *t = &c->history;
  int64_t end = t->rows[HISTORY_ROWS];
  for (int64_t row = *t->mapped; row < end; row += HISTORY_BLOCK) {
    int64_t n = end - row < HISTORY_BLOCK ? end - row : HISTORY_BLOCK;
    const float *x = t->obs + row * t->input.count;
    LGV_TRY(lgv__feature_rows_map(&t->phi, lgv__feature_input_scale(&t->input, x, n, t->scaled),
                                  row, n, err));
    for (int64_t i = 0; i < n; i++)
      t->phi_square[0] = fmax(t->phi_square[0], lgv__feature_rows_square(&t->phi, row + i));
    *t->mapped = row + n;
  }
  c->phi_square = t->phi_square[0];
  return LGV_OK;
}

static void add_row(lsvi *c, int64_t row) {
  lsvi_history *t = &c->history;
  int32_t action = t->action[row];
  int64_t h = t->discounted ? 0 : t->stage[row], block = t->map->by_action ? 0 : action;
  double *x = t->whitened;
  for (int64_t g = lgv__lsvi_group(c, h); g <= lgv__lsvi_last_group(c, h); g++) {
    lgv__feature_rows_write(&t->phi, row, action, x, 1);
    if (c->gram) lgv__rank_one_add(c->gram + (g * c->blocks + block) * t->m * t->m, t->m, x);
    lgv__cholesky_update(lgv__lsvi_factor(c, g, block), t->m, x, NULL, 0, NULL);
  }
}

/* Maps the new rows, or all of them if the box has grown. If the map fails, the box is the old one
 * again, so that the last plan still means what it meant. */
static lgv_status map_in_box(lsvi *c, bool *grown, lgv_error *err) {
  lsvi_history *t = &c->history;
  int64_t first = t->rows[HISTORY_LEARNED], end = t->rows[HISTORY_ROWS];
  *grown = lgv__feature_input_grow(&t->input, t->obs + first * t->input.count, end - first);
  if (*grown) *t->mapped = 0;
  if (*t->mapped > end) *t->mapped = end;
  lgv_status status = map_rows(c, err);
  if (status != LGV_OK && *grown) {
    lgv__feature_input_shrink(&t->input);
    *t->mapped = 0;
  }
  return status;
}

lgv_status lgv__history_learn(lsvi *c, bool *grown, lgv_error *err) {
  lsvi_history *t = &c->history;
  int64_t *rows = t->rows;
  rows[HISTORY_ROWS] = rows[HISTORY_COMPLETE];
  LGV_TRY(map_in_box(c, grown, err));
  if (*grown) rows[HISTORY_LEARNED] = 0;
  if (rows[HISTORY_LEARNED] == 0) reset_lambda(c);
  for (int64_t i = rows[HISTORY_LEARNED]; i < rows[HISTORY_ROWS]; i++)
    if (t->action[i] >= 0) add_row(c, i);
  rows[HISTORY_LEARNED] = rows[HISTORY_ROWS];
  return LGV_OK;
}

/* ---- exports ---- */

void lgv__lsvi_policy_parts(const void *self, lgv_policy_parts *parts) {
  const lsvi *c = self;
  if (!c->history.map) return;
  parts->linear = c;
  parts->by_stage = !c->history.discounted;
}
