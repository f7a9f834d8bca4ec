/* Planning from a history: a stage's Q as a function, evaluated at blocks of rows. */
#include "agent/linear/lsvi_history.h"

#include "agent/linear/lsvi_core.h"
#include "base/error.h"
#include "math/dense.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- units ---- */

static double range_of(const lsvi *c) {
  const lsvi_history *t = &c->history;
  double seen = t->returns[1] - t->returns[0], of_reward = c->reward_max - c->reward_min;
  double range = fmax(seen, of_reward);
  return range > 0 ? range : 1;
}

double lgv__history_sigma(const lsvi *c) { return sqrt(c->ridge) * c->p->prior_std * range_of(c); }

/* What the stages from h on can pay at a reward per step. */
static double pays(const lsvi *c, int64_t h, double reward) {
  const lsvi_history *t = &c->history;
  return reward * (t->discounted ? 1 / (1 - t->gamma) : (double)(c->H - h));
}

static void bounds_of(const lsvi *c, int64_t h, double *low, double *high) {
  const lsvi_history *t = &c->history;
  bool known = c->reward_min != 0 || c->reward_max != 0;
  double range = range_of(c);
  *low = known && !t->discounted ? -INFINITY : t->returns[0] - range;
  *high = known && !t->discounted ? INFINITY : t->returns[1] + range;
  if (!known) return;
  *low = fmax(*low, pays(c, h, fmin(c->reward_min, 0)));
  *high = fmin(*high, pays(c, h, fmax(c->reward_max, 0)));
}

double lgv__history_bound(const lsvi *c, int64_t h) {
  double low, high;
  bounds_of(c, h, &low, &high);
  return high;
}

/* What Q is where there are no data. */
static double center_of(const lsvi *c) { return c->history.discounted ? c->history.returns[1] : 0; }

/* ---- rules ---- */

static double *rule_of(const lsvi *c, int64_t h) { return c->history.rules + h * RULE_SIZE; }

void lgv__history_plain_rule(lsvi *c, int64_t h) {
  double *rule = rule_of(c, h);
  memset(rule, 0, RULE_SIZE * sizeof *rule);
  rule[RULE_LOW] = -DBL_MAX;
  rule[RULE_HIGH] = DBL_MAX;
  rule[RULE_WIDE] = DBL_MAX;
}

void lgv__history_bonus(lsvi *c, int64_t h, double bonus) { rule_of(c, h)[RULE_BONUS] = bonus; }

/* Widths count in units of the prior's, 1 / sqrt(lambda). */
void lgv__history_default(lsvi *c, int64_t h, double low, double high, double value) {
  double *rule = rule_of(c, h), unit = 1 / sqrt(c->ridge);
  if (isinf(high)) return;
  rule[RULE_NARROW] = low * unit;
  rule[RULE_WIDE] = high * unit;
  rule[RULE_DEFAULT] = value;
}

void lgv__history_clip(lsvi *c, int64_t h) {
  double *rule = rule_of(c, h);
  bounds_of(c, h, &rule[RULE_LOW], &rule[RULE_HIGH]);
}

static bool needs_width(const double *rule) {
  return rule[RULE_BONUS] != 0 || rule[RULE_WIDE] < DBL_MAX;
}

/* The value of a pair whose samples reach q at most, at width u. */
static double apply_rule(const double *rule, double q, double u) {
  q += rule[RULE_CENTER];
  if (rule[RULE_WIDE] < DBL_MAX)
    q = lgv__lsvi_between(u, rule[RULE_NARROW], rule[RULE_WIDE], q, rule[RULE_DEFAULT]);
  q += rule[RULE_BONUS] * u;
  return q < rule[RULE_LOW] ? rule[RULE_LOW] : q > rule[RULE_HIGH] ? rule[RULE_HIGH] : q;
}

/* q: the weights of the stage's samples, one after the other. */
void lgv__history_values(lsvi *c, const double *w, double *q, bool first) {
  lsvi_history *t = &c->history;
  int64_t h = (q - c->q) / c->q_size;
  if (first) {
    t->filled = 0;
    lgv__history_plain_rule(c, h);
    rule_of(c, h)[RULE_CENTER] = t->center;
  }
  memcpy(q + t->filled++ * c->d, w, (size_t)c->d * sizeof *w);
}

/* ---- widths ---- */

/* out[i * stride] = ||phi(row, action)||_{Lambda^-1} of n rows from `first` on, or of those that
 * `which` lists, then out[which[i] * stride]. */
static void find_widths(const lsvi *c, int64_t g, int32_t action, const feature_rows *phi,
                        int64_t first, const int64_t *which, int64_t n, float *out,
                        int64_t stride) {
  const lsvi_history *t = &c->history;
  double *x = t->whitened;
  int64_t block = t->map->by_action ? 0 : action;
  for (int64_t i = 0; i < n; i++)
    lgv__feature_rows_write(phi, which ? which[i] : first + i, action, x + i, n);
  lgv__cholesky_whiten(lgv__lsvi_factor(c, g, block), t->m, x, n);
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < t->m; j++) sum += x[j * n + i] * x[j * n + i];
    out[(which ? which[i] : i) * stride] = (float)sqrt(sum);
  }
}

/* Widths of the rows of a block for the group of stage h. Where stages share it, all rows are done
 * once per plan. */
static void find_block_widths(lsvi *c, int64_t h, const int64_t *rows, int64_t n) {
  lsvi_history *t = &c->history;
  int64_t g = lgv__lsvi_group(c, h);
  if (!c->pooled) {
    for (int32_t a = 0; a < c->A; a++) find_widths(c, g, a, &t->phi, 0, rows, n, t->u + a, c->A);
    return;
  }
  if (t->u_group == g) return;
  t->u_group = g;
  for (int64_t row = 0; row < t->rows[HISTORY_ROWS]; row += HISTORY_BLOCK) {
    int64_t left = t->rows[HISTORY_ROWS] - row;
    for (int32_t a = 0; a < c->A; a++)
      find_widths(c, g, a, &t->phi, row, NULL, left < HISTORY_BLOCK ? left : HISTORY_BLOCK,
                  t->u + row * c->A + a, c->A);
  }
}

/* ---- targets ---- */

/* The weights of a product: column a * samples + s; by action: s. */
static void load_weights(lsvi *c, int64_t h) {
  lsvi_history *t = &c->history;
  const double *q = c->q + h * c->q_size;
  int64_t M = t->samples, columns = c->blocks * M;
  for (int64_t s = 0; s < M; s++)
    for (int64_t b = 0; b < c->blocks; b++)
      for (int64_t j = 0; j < t->m; j++)
        t->weights[lgv__feature_rows_weight(&t->phi, columns, b * M + s, j)] =
            (float)q[s * c->d + b * t->m + j];
}

/* V of stage h at a row whose place in q is i. */
static double value_at(const lsvi *c, int64_t h, int64_t i, int64_t row) {
  const lsvi_history *t = &c->history;
  const double *rule = rule_of(c, h);
  const uint8_t *mask = t->masks ? t->masks + row * c->A : NULL;
  bool wide = needs_width(rule);
  double best = -INFINITY;
  for (int32_t a = 0; a < c->A; a++) {
    const float *q = t->q + (i * c->A + a) * t->samples;
    float most = q[0];
    for (int64_t s = 1; s < t->samples; s++) most = q[s] > most ? q[s] : most;
    double value = apply_rule(rule, (double)most, wide ? (double)t->u[row * c->A + a] : 0);
    if ((!mask || mask[a]) && value > best) best = value;
  }
  return best;
}

/* Targets of a block of rows, whose next values are those of stage `next` (-1: none), and b. */
static void add_block(lsvi *c, int64_t next, int64_t n) {
  lsvi_history *t = &c->history;
  int64_t after[HISTORY_BLOCK], count = lgv__feature_rows_places(&t->phi, t->block, n, t->place);
  int64_t parts = t->phi.parts;
  for (int64_t i = 0; i < n; i++) after[i] = t->block[i] + 1;
  if (next >= 0 && needs_width(rule_of(c, next))) find_block_widths(c, next, after, n);
  if (next >= 0)
    lgv__feature_rows_multiply(&t->phi, t->block, n, count, 1, t->weights, c->blocks * t->samples,
                               t->q);
  memset(t->block_y, 0, (size_t)(c->blocks * count * parts) * sizeof *t->block_y);
  for (int64_t i = 0; i < n; i++) {
    int64_t row = t->block[i], action = t->action[row], place = t->place[i];
    double value = next >= 0 && !t->ended[row] ? value_at(c, next, place, row + 1) : 0;
    t->y[row] = t->reward[row] + t->gamma * value - t->center;
    t->block_y[parts > 1 ? place * parts + action : action * count + place] = (float)t->y[row];
  }
  lgv__feature_rows_combine(&t->phi, t->block, n, count, t->block_y, c->blocks, t->block_b);
  for (int64_t i = 0; i < c->d; i++) c->b[i] += (double)t->block_b[i];
}

bool lgv__history_has(const lsvi *c, int64_t h, int64_t row) {
  const lsvi_history *t = &c->history;
  int64_t g = lgv__lsvi_group(c, h), stage = t->discounted ? 0 : t->stage[row];
  if (t->action[row] < 0) return false;
  return lgv__lsvi_group(c, stage) <= g && g <= lgv__lsvi_last_group(c, stage);
}

/* Weights from before the features changed mean nothing: every stage has the prior mean until its
 * turn comes, even if the plan fails on the way. */
static void forget_plan(lsvi *c) {
  memset(c->q, 0, (size_t)((c->H + 1) * c->q_size) * sizeof *c->q);
  for (int64_t h = 0; h <= c->H; h++) {
    lgv__history_plain_rule(c, h);
    rule_of(c, h)[RULE_CENTER] = c->history.center;
  }
}

/* The sweeps of the discounted form begin at the previous plan's Q. */
static void begin_sweeps(lsvi *c) {
  memcpy(c->q + c->H * c->q_size, c->q, (size_t)c->q_size * sizeof *c->q);
  memcpy(rule_of(c, c->H), rule_of(c, 0), RULE_SIZE * sizeof *c->history.rules);
}

static lgv_status begin_plan(lsvi *c, lgv_error *err) {
  lsvi_history *t = &c->history;
  bool grown;
  LGV_TRY(lgv__history_learn(c, &grown, err));
  t->u_group = -1;
  t->noise = *c->noise;
  t->center = center_of(c);
  if (grown) forget_plan(c);
  if (t->discounted) begin_sweeps(c);
  return LGV_OK;
}

lgv_status lgv__history_targets(lsvi *c, int64_t h, lgv_error *err) {
  lsvi_history *t = &c->history;
  if (h == c->H - 1) LGV_TRY(begin_plan(c, err));
  if (t->discounted) *c->noise = t->noise; /* all sweeps draw the same */
  int64_t next = h + 1 < c->H || t->discounted ? h + 1 : -1, n = 0;
  if (next >= 0) load_weights(c, next);
  memset(c->b, 0, (size_t)c->d * sizeof *c->b);
  t->members = 0;
  for (int64_t row = 0; row < t->rows[HISTORY_ROWS]; row++) {
    if (!lgv__history_has(c, h, row)) continue;
    if (n == HISTORY_BLOCK || (n && c->pooled && row - t->block[0] >= HISTORY_BLOCK)) {
      add_block(c, next, n);
      n = 0;
    }
    t->block[n++] = row;
    t->members++;
  }
  if (n) add_block(c, next, n);
  return LGV_OK;
}

int64_t lgv__history_draw(const lsvi *c, int64_t h) {
  const lsvi_history *t = &c->history;
  int64_t row;
  do row = lgv_rng_below(c->replay, t->rows[HISTORY_ROWS]);
  while (!lgv__history_has(c, h, row));
  return row;
}

/* ---- acting ---- */

lgv_status lgv__history_check_stage(const lsvi *c, int64_t stage, lgv_error *err) {
  if (stage >= 0 && (c->history.discounted || stage < c->H)) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "stage %lld is outside the problem the agent was made for (%lld stages)",
                  (long long)stage, (long long)c->H);
}

int64_t lgv__history_block_at(const lsvi *c, int32_t action) {
  return c->history.map->by_action ? 0 : action * c->history.m;
}

static double greatest(const lsvi *c, const double *q, int32_t a) {
  const lsvi_history *t = &c->history;
  double best = -INFINITY;
  for (int64_t s = 0; s < t->samples; s++) {
    const double *w = q + s * c->d + lgv__history_block_at(c, a);
    best = fmax(best, lgv__feature_rows_dot(&t->one_phi, 0, a, w));
  }
  return best;
}

lgv_status lgv__history_act_values(const lsvi *c, const lgv_obs *obs, const double **q,
                                   lgv_error *err) {
  const lsvi_history *t = &c->history;
  feature_rows *phi = (feature_rows *)&t->one_phi; /* scratch */
  int64_t h = t->discounted ? 0 : obs->stage;
  const double *rule = rule_of(c, h);
  float u = 0;
  lgv__feature_input_read(&t->input, obs->data, t->one);
  LGV_TRY(lgv__feature_rows_map(phi, lgv__feature_input_scale(&t->input, t->one, 1, t->scaled), 0,
                                1, err));
  for (int32_t a = 0; a < c->A; a++) {
    if (needs_width(rule)) find_widths(c, lgv__lsvi_group(c, h), a, phi, 0, NULL, 1, &u, 1);
    t->one_q[a] = apply_rule(rule, greatest(c, c->q + h * c->q_size, a), (double)u);
  }
  *q = t->one_q;
  return LGV_OK;
}
