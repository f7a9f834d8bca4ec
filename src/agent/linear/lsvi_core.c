#include "agent/linear/lsvi_core.h"

#include "agent/agent.h"
#include "base/error.h"
#include "math/dense.h"

#include <math.h>
#include <string.h>

enum { EDGE_NEXT, EDGE_COUNT, EDGE_FOLLOWING, EDGE_SIZE };
enum { PATH_PAIR, PATH_NEXT, PATH_REACHED, PATH_SIZE };

/* ---- memory ---- */

static const char *visit_fault(const void *self) {
  const lsvi *c = self;
  if (!lgv__is_count(c->episodes[0])) return "lsvi.episodes: counter out of range";
  bool ok = lgv__are_counts(c->visits, (size_t)(c->groups * c->SA));
  return ok ? NULL : "counter out of range";
}

/* A new edge comes last, and an earlier one links to it, so that links always lead forward. */
static const char *edge_fault(const void *self) {
  const lsvi *c = self;
  const int64_t *edge = c->edges.data, count = (int64_t)c->edges.count / EDGE_SIZE;
  if (c->edges.count % EDGE_SIZE) return "a part of an edge";
  for (int64_t i = 0; i < c->groups * c->SA; i++)
    if (!lgv__is_within(c->first[i], 0, count)) return "lsvi.first: an edge that is not there";
  for (int64_t e = 1; e <= count; e++, edge += EDGE_SIZE) {
    if (!lgv__is_within(edge[EDGE_NEXT], LGV_END, c->S - 1)) return "a state outside the problem";
    if (!lgv__is_count(edge[EDGE_COUNT])) return "counter out of range";
    if (edge[EDGE_FOLLOWING] && !lgv__is_within(edge[EDGE_FOLLOWING], e + 1, count))
      return "an edge that leads back";
  }
  return NULL;
}

static const char *path_fault(const void *self) {
  const lsvi *c = self;
  const int64_t *end = c->path + (1 + c->delay) * c->H * PATH_SIZE;
  for (const int64_t *step = c->path; step < end; step += PATH_SIZE)
    if (!lgv__is_within(step[PATH_PAIR], 0, c->SA - 1) ||
        !lgv__is_within(step[PATH_NEXT], LGV_END, c->S - 1) ||
        !lgv__is_within(step[PATH_REACHED], 0, 1))
      return "a step outside the problem";
  return NULL;
}

static void layout_dense(lsvi *c, int uses, lgv_layout *layout) {
  size_t SA = (size_t)c->SA, d = (size_t)c->d, G = (size_t)c->groups;
  c->phi = lgv_layout_array(layout, "lsvi.phi", LGV_F64, SA * d, LGV_SCRATCH);
  c->factor = lgv_layout_array(layout, "lsvi.factor_columns", LGV_F64, G * d * d, LGV_KEEP);
  if (uses & LSVI_USES_GRAM)
    c->gram = lgv_layout_array(layout, "lsvi.gram", LGV_F64, G * d * d, LGV_KEEP);
  if (uses & LSVI_USES_WIDTHS)
    c->whitened = lgv_layout_array(layout, "lsvi.whitened", LGV_F64, (c->rotated ? G : 1) * SA * d,
                                   c->rotated ? LGV_KEEP : LGV_SCRATCH);
}

static void layout_shared(lsvi *c, const lsvi_params *p, const lgv_problem *problem,
                          lgv_layout *layout) {
  const lgv_env_spec *env = &problem->env;
  c->p = p;
  c->A = env->actions.count;
  c->clock_truncates = env->clock_truncates;
  c->planned_episodes = problem->episodes;
  c->reward_min = env->reward_min;
  c->reward_max = env->reward_max;
  c->ridge = p->lambda;
  c->delay = p->delay;
  c->act = problem->act;
  c->noise = problem->noise;
  c->replay = problem->replay;
  c->eval = problem->eval;
  c->episodes = lgv_layout_array(layout, "lsvi.episodes", LGV_I64, 1, LGV_KEEP);
}

void lgv__lsvi_layout(lsvi *c, const lsvi_params *p, const lgv_problem *problem, int uses,
                      lgv_layout *layout) {
  const lgv_env_spec *env = &problem->env;
  layout_shared(c, p, problem, layout);
  if (p->features == LSVI_FEATURES_MAP) {
    lgv__history_layout(c, problem, uses, layout);
    return;
  }
  c->H = env->horizon;
  c->S = env->states;
  c->SA = c->S * c->A;
  c->d = lgv__lsvi_feature_dim(p, env);
  c->pooled = p->pool == LSVI_POOL_TRUE;
  c->groups = !c->pooled ? c->H : c->clock_truncates || c->H == 1 ? 1 : 2;
  c->rotated = !c->pooled && c->H > 1;
  c->blocks = 1;
  c->q_size = c->SA;
  c->diagonal = p->gram == LSVI_GRAM_DIAGONAL;
  c->env_features = p->features == LSVI_FEATURES_ENV ? env->features : NULL;
  size_t H = (size_t)c->H, SA = (size_t)c->SA, d = (size_t)c->d, G = (size_t)c->groups;
  c->visits = lgv_layout_array(layout, "lsvi.visits", LGV_I64, G * SA, LGV_KEEP);
  lgv_layout_check(layout, visit_fault, c);
  c->reward_sum = lgv_layout_array(layout, "lsvi.reward_sum", LGV_F64, G * SA, LGV_KEEP);
  c->first = lgv_layout_array(layout, "lsvi.first", LGV_I64, G * SA, LGV_KEEP);
  lgv__layout_list(layout, "lsvi.edges", LGV_I64, &c->edges);
  lgv_layout_check(layout, edge_fault, c);
  size_t paths = 1 + (size_t)c->delay;
  c->path = lgv_layout_array(layout, "lsvi.path", LGV_I64, paths * H * PATH_SIZE, LGV_KEEP);
  lgv_layout_check(layout, path_fault, c);
  c->path_reward = lgv_layout_array(layout, "lsvi.path_reward", LGV_F64, paths * H, LGV_KEEP);
  if (env->masked) lgv__lsvi_layout_masks(c, layout);
  c->q = lgv_layout_array(layout, "lsvi.q", LGV_F64, H * SA, LGV_KEEP);
  c->v = lgv_layout_array(layout, "lsvi.v", LGV_F64, (H + 1) * (size_t)c->S, LGV_KEEP);
  c->y = lgv_layout_array(layout, "lsvi.y", LGV_F64, SA, LGV_SCRATCH);
  c->b = lgv_layout_array(layout, "lsvi.b", LGV_F64, d, LGV_SCRATCH);
  c->w_hat = lgv_layout_array(layout, "lsvi.w_hat", LGV_F64, d, LGV_SCRATCH);
  c->width = lgv_layout_array(layout, "lsvi.width", LGV_F64, SA, LGV_SCRATCH);
  if (!c->diagonal) layout_dense(c, uses, layout);
}

static double square(const double *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sum;
}

/* out (d x SA) = scale * phi^T */
static void transpose_features(const lsvi *c, double scale, double *out) {
  for (int64_t i = 0; i < c->SA; i++)
    for (int64_t j = 0; j < c->d; j++) out[j * c->SA + i] = scale * c->phi[i * c->d + j];
}

static lgv_status check_norm(const lsvi *c, lgv_error *err) {
  if (c->p->schedule == LSVI_TUNED || c->phi_square <= 1 + 1e-9) return LGV_OK;
  return lgv_fail(
      err, LGV_ERR_USAGE,
      "agent.schedule = theory assumes features with ||phi|| <= 1, but the largest norm "
      "is %.6g: divide the features by it, or set agent.schedule = tuned",
      sqrt(c->phi_square));
}

lgv_status lgv__lsvi_open(void *self, lgv_error *err) {
  lsvi *c = self;
  c->phi_square = 1;
  if (c->history.map) return lgv__history_open(c, err);
  if (c->masks) lgv__lsvi_open_masks(c);
  if (c->diagonal) return LGV_OK;
  if (c->env_features)
    memcpy(c->phi, c->env_features, (size_t)(c->SA * c->d) * sizeof *c->phi);
  else
    for (int64_t i = 0; i < c->d; i++) c->phi[i * c->d + i] = 1;
  for (int64_t i = 0; i < c->SA; i++)
    c->phi_square = fmax(i ? c->phi_square : 0, square(c->phi + i * c->d, c->d));
  LGV_TRY(check_norm(c, err));
  for (int64_t g = 0; g < c->groups; g++) {
    for (int64_t i = 0; i < c->d; i++) {
      if (c->gram) c->gram[(g * c->d + i) * c->d + i] = c->ridge;
      c->factor[(g * c->d + i) * c->d + i] = sqrt(c->ridge);
    }
    if (c->whitened && c->rotated)
      transpose_features(c, 1 / sqrt(c->ridge), c->whitened + g * c->d * c->SA);
  }
  return LGV_OK;
}

/* ---- planning ---- */

double *lgv__lsvi_q(lsvi *c, int64_t h) { return c->q + h * c->q_size; }

int64_t lgv__lsvi_group(const lsvi *c, int64_t h) {
  if (!c->pooled) return h;
  return h == c->H - 1 ? c->groups - 1 : 0;
}

int64_t lgv__lsvi_last_group(const lsvi *c, int64_t h) { return c->pooled ? c->groups - 1 : h; }

bool lgv__lsvi_new_group(const lsvi *c, int64_t h) {
  return h == c->H - 1 || lgv__lsvi_group(c, h) != lgv__lsvi_group(c, h + 1);
}

lgv_status lgv__lsvi_targets(lsvi *c, int64_t h, lgv_error *err) {
  if (c->history.map) return lgv__history_targets(c, h, err);
  int64_t offset = lgv__lsvi_group(c, h) * c->SA;
  const double *v_next = c->v + (h + 1) * c->S;
  const int64_t *edges = c->edges.data;
  double *y = c->diagonal ? c->b : c->y; /* one-hot: b is y */
  for (int64_t i = 0; i < c->SA; i++) {
    double sum = c->reward_sum[offset + i];
    for (int64_t e = c->first[offset + i]; e;) {
      const int64_t *edge = edges + (e - 1) * EDGE_SIZE;
      if (edge[EDGE_NEXT] != LGV_END) sum += (double)edge[EDGE_COUNT] * v_next[edge[EDGE_NEXT]];
      e = edge[EDGE_FOLLOWING];
    }
    y[i] = sum;
  }
  if (!c->diagonal) lgv__multiply_transposed(c->phi, c->SA, c->d, y, c->b);
  return LGV_OK;
}

lgv_status lgv__lsvi_solve(lsvi *c, int64_t h, lgv_error *err) {
  int64_t g = lgv__lsvi_group(c, h);
  if (c->diagonal) {
    for (int64_t i = 0; i < c->d; i++)
      c->w_hat[i] = c->b[i] / (c->ridge + (double)c->visits[g * c->SA + i]);
  } else {
    int64_t m = c->d / c->blocks;
    memcpy(c->w_hat, c->b, (size_t)c->d * sizeof *c->b);
    for (int64_t i = 0; i < c->blocks; i++)
      lgv__cholesky_solve(lgv__lsvi_factor(c, g, i), m, c->w_hat + i * m);
  }
  return lgv__lsvi_check_finite(c, "the ridge solution", c->w_hat, c->d, h, err);
}

double *lgv__lsvi_factor(const lsvi *c, int64_t group, int64_t block) {
  int64_t m = c->d / c->blocks;
  return c->factor + (group * c->blocks + block) * m * m;
}

void lgv__lsvi_values(lsvi *c, const double *w, double *q) {
  if (c->history.map)
    lgv__history_values(c, w, q, true);
  else if (c->diagonal)
    memcpy(q, w, (size_t)c->d * sizeof *q);
  else
    lgv__multiply(c->phi, c->SA, c->d, w, q);
}

void lgv__lsvi_values_max(lsvi *c, const double *w, double *q) {
  if (c->history.map) {
    lgv__history_values(c, w, q, false);
    return;
  }
  double *other = c->y; /* the targets are in b by now */
  lgv__lsvi_values(c, w, other);
  for (int64_t i = 0; i < c->SA; i++)
    if (other[i] > q[i]) q[i] = other[i];
}

void lgv__lsvi_widths(lsvi *c, int64_t h) {
  int64_t g = lgv__lsvi_group(c, h);
  if (c->history.map || !lgv__lsvi_new_group(c, h)) return;
  if (c->diagonal) {
    for (int64_t i = 0; i < c->SA; i++)
      c->width[i] = 1 / sqrt(c->ridge + (double)c->visits[g * c->SA + i]);
    return;
  }
  double *z = c->whitened + (c->rotated ? g * c->d * c->SA : 0);
  if (!c->rotated) {
    transpose_features(c, 1, z);
    lgv__cholesky_whiten(c->factor + g * c->d * c->d, c->d, z, c->SA);
  }
  memset(c->width, 0, (size_t)c->SA * sizeof *c->width);
  for (int64_t j = 0; j < c->d; j++)
    for (int64_t i = 0; i < c->SA; i++) c->width[i] += z[j * c->SA + i] * z[j * c->SA + i];
  for (int64_t i = 0; i < c->SA; i++) c->width[i] = sqrt(c->width[i]);
}

void lgv__lsvi_add_bonus(lsvi *c, int64_t h, double bonus, double *q) {
  if (c->history.map) lgv__history_bonus(c, h, bonus);
  for (int64_t i = 0; i < c->SA; i++) q[i] += bonus * c->width[i];
}

double lgv__lsvi_between(double u, double low, double high, double q, double value) {
  if (u <= low || isinf(high)) return q; /* high = inf has no default value */
  if (u >= high) return value;
  return ((high - u) * q + (u - low) * value) / (high - low);
}

void lgv__lsvi_add_default(lsvi *c, int64_t h, double low, double high, double value, double *q) {
  if (c->history.map) lgv__history_default(c, h, low, high, value);
  for (int64_t i = 0; i < c->SA; i++) q[i] = lgv__lsvi_between(c->width[i], low, high, q[i], value);
}

double lgv__lsvi_sigma(const lsvi *c, double given) {
  return c->p->by_prior ? lgv__history_sigma(c) : given;
}

void lgv__lsvi_perturb(lsvi *c, int64_t h, const double *center, double scale, double *out) {
  int64_t g = lgv__lsvi_group(c, h);
  lgv_rng_normals(c->noise, out, (size_t)c->d);
  if (c->diagonal)
    for (int64_t i = 0; i < c->d; i++) out[i] /= sqrt(c->ridge + (double)c->visits[g * c->SA + i]);
  int64_t m = c->d / c->blocks;
  for (int64_t i = 0; !c->diagonal && i < c->blocks; i++)
    lgv__cholesky_solve_transposed(lgv__lsvi_factor(c, g, i), m, out + i * m);
  for (int64_t i = 0; i < c->d; i++) out[i] = center[i] + scale * out[i];
}

double lgv__lsvi_value_bound(const lsvi *c, int64_t h) {
  if (c->history.map) return lgv__history_bound(c, h);
  return (double)(c->H - h) * fmax(c->reward_max, 0);
}

void lgv__lsvi_clip(lsvi *c, int64_t h, double *q) {
  if (c->history.map) {
    lgv__history_clip(c, h);
    return;
  }
  double low = (double)(c->H - h) * fmin(c->reward_min, 0), high = lgv__lsvi_value_bound(c, h);
  for (int64_t i = 0; i < c->SA; i++) q[i] = q[i] < low ? low : q[i] > high ? high : q[i];
}

static void backup_allowed(lsvi *c, int64_t h) {
  const double *q = c->q + h * c->SA;
  const uint8_t *mask = lgv__lsvi_mask(c, h, 0);
  for (int64_t s = 0; s < c->S; s++, q += c->A, mask += c->A) {
    double best = -INFINITY;
    for (int32_t a = 0; a < c->A; a++)
      if (mask[a] && q[a] > best) best = q[a];
    c->v[h * c->S + s] = best;
  }
}

void lgv__lsvi_backup_max(lsvi *c, int64_t h) {
  const double *q = c->q + h * c->q_size;
  if (c->masks) backup_allowed(c, h);
  if (c->masks || c->history.map) return; /* a function is maximized where it is evaluated */
  for (int64_t s = 0; s < c->S; s++) {
    double best = q[s * c->A];
    for (int32_t a = 1; a < c->A; a++)
      if (q[s * c->A + a] > best) best = q[s * c->A + a];
    c->v[h * c->S + s] = best;
  }
}

lgv_status lgv__lsvi_check_finite(const lsvi *c, const char *what, const double *x, int64_t n,
                                  int64_t h, lgv_error *err) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i] * 0; /* NaN if any is not finite */
  if (sum == 0) return LGV_OK;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "%s is not finite at stage %lld of episode %lld: scale the rewards, or look at "
                  "agent.lambda",
                  what, (long long)h + 1, (long long)c->episodes[0] + 1);
}

/* ---- hooks ---- */

lgv_status lgv__lsvi_check_obs(const lsvi *c, const lgv_obs *obs, lgv_error *err) {
  if (c->history.map) return lgv__history_check_stage(c, obs->stage, err);
  if (obs->stage >= 0 && obs->stage < c->H && obs->state >= 0 && obs->state < c->S) return LGV_OK;
  return lgv_fail(err, LGV_ERR_USAGE,
                  "stage %lld, state %lld is outside the problem the agent was made for (%lld "
                  "stages, %lld states)",
                  (long long)obs->stage, (long long)obs->state, (long long)c->H, (long long)c->S);
}

static lgv_status values_at(const lsvi *c, const lgv_obs *obs, const double **q, lgv_error *err) {
  LGV_TRY(lgv__lsvi_check_obs(c, obs, err));
  if (c->history.map) return lgv__history_act_values(c, obs, q, err);
  *q = c->q + obs->stage * c->SA + obs->state * c->A;
  return LGV_OK;
}

lgv_status lgv__lsvi_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err) {
  const lsvi *c = self;
  const double *values;
  LGV_TRY(values_at(c, obs, &values, err));
  memcpy(q, values, (size_t)c->A * sizeof *q);
  return LGV_OK;
}

lgv_status lgv__lsvi_act_greedy(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                                lgv_error *err) {
  lsvi *c = self;
  const double *q;
  LGV_TRY(values_at(c, obs, &q, err));
  action->choice = lgv__argmax(q, obs->mask, c->A, mode == LGV_TRAIN ? c->act : c->eval);
  return LGV_OK;
}

void lgv__lsvi_policy_greedy(const void *self, const lgv_obs *obs, double *p) {
  const lsvi *c = self;
  const double *q;
  if (values_at(c, obs, &q, NULL) != LGV_OK) { /* of a map that failed: no probabilities */
    for (int32_t a = 0; a < c->A; a++) p[a] = NAN;
    return;
  }
  if (obs->mask) { /* -inf is never the greatest */
    for (int32_t a = 0; a < c->A; a++) p[a] = obs->mask[a] ? q[a] : -INFINITY;
    q = p;
  }
  double best = q[0], ties = 1;
  for (int32_t a = 1; a < c->A; a++) {
    ties = q[a] > best ? 1 : q[a] == best ? ties + 1 : ties;
    best = q[a] > best ? q[a] : best;
  }
  double share = 1 / ties;
  for (int32_t a = 0; a < c->A; a++) p[a] = q[a] == best ? share : 0;
}

lgv_status lgv__lsvi_observe(void *self, const lgv_transition *t, lgv_error *err) {
  lsvi *c = self;
  LGV_TRY(lgv__lsvi_check_obs(c, &t->obs, err));
  if (c->history.map) return lgv__history_observe(c, t), LGV_OK;
  int64_t h = t->obs.stage, *step = c->path + h * PATH_SIZE;
  /* Both flags may be set at once: where `terminated` means anything, `truncated` takes nothing
   * from it. */
  bool is_state = t->next.state >= 0 && t->next.state < c->S;
  bool ended = t->terminated && (c->clock_truncates || h + 1 < c->H || !is_state);
  if (!ended && !is_state)
    return lgv_fail(err, LGV_ERR_USAGE, "the next state %lld is outside 0..%lld",
                    (long long)t->next.state, (long long)c->S - 1);
  step[PATH_PAIR] = t->obs.state * c->A + t->action->choice;
  step[PATH_NEXT] = ended ? LGV_END : t->next.state;
  step[PATH_REACHED] = 1;
  c->path_reward[h] = t->reward;
  if (c->masks) lgv__lsvi_note_masks(c, t);
  return LGV_OK;
}

bool lgv__lsvi_path_step(const lsvi *c, int64_t h, int64_t *pair, int64_t *next) {
  const int64_t *step = c->path + h * PATH_SIZE;
  *pair = step[PATH_PAIR];
  *next = step[PATH_NEXT];
  return step[PATH_REACHED];
}

void lgv__lsvi_add_counts(const lsvi *c, int64_t group, int64_t pair, double *counts) {
  const int64_t *edges = c->edges.data;
  for (int64_t e = c->first[group * c->SA + pair]; e;) {
    const int64_t *edge = edges + (e - 1) * EDGE_SIZE;
    counts[edge[EDGE_NEXT] == LGV_END ? c->S : edge[EDGE_NEXT]] += (double)edge[EDGE_COUNT];
    e = edge[EDGE_FOLLOWING];
  }
}

/* Counts one transition; the list has room. */
static void count_edge(lsvi *c, int64_t row, int64_t next) {
  int64_t *edges = c->edges.data, *link = &c->first[row];
  while (*link) {
    int64_t *edge = edges + (*link - 1) * EDGE_SIZE;
    if (edge[EDGE_NEXT] == next) {
      edge[EDGE_COUNT]++;
      return;
    }
    link = &edge[EDGE_FOLLOWING];
  }
  int64_t *edge = edges + c->edges.count;
  edge[EDGE_NEXT] = next;
  edge[EDGE_COUNT] = 1;
  edge[EDGE_FOLLOWING] = 0;
  c->edges.count += EDGE_SIZE;
  *link = (int64_t)c->edges.count / EDGE_SIZE;
}

static void add_feature(lsvi *c, int64_t group, int64_t pair) {
  const double *phi = c->phi + pair * c->d;
  double *copy = c->w_hat, *carry = c->y; /* free between plans */
  bool rotates = c->whitened && c->rotated;
  memcpy(copy, phi, (size_t)c->d * sizeof *copy);
  if (c->gram) lgv__rank_one_add(c->gram + group * c->d * c->d, c->d, phi);
  lgv__cholesky_update(c->factor + group * c->d * c->d, c->d, copy,
                       rotates ? c->whitened + group * c->d * c->SA : NULL, rotates ? c->SA : 0,
                       carry);
}

static void add_transition(lsvi *c, int64_t group, const int64_t *step, double reward) {
  int64_t row = group * c->SA + step[PATH_PAIR];
  c->visits[row]++;
  c->reward_sum[row] += reward;
  count_edge(c, row, step[PATH_NEXT]);
  if (!c->diagonal) add_feature(c, group, step[PATH_PAIR]);
}

/* Puts the current path into the place of the one that has waited for `delay` episodes, and that
 * one into the current place. Until the queue is full, the place is empty. */
void lgv__lsvi_receive(lsvi *c) {
  if (!c->delay) return;
  int64_t slot = 1 + c->episodes[0] % c->delay;
  int64_t *path = c->path, *waiting = c->path + slot * c->H * PATH_SIZE;
  for (int64_t i = 0; i < c->H * PATH_SIZE; i++) {
    int64_t step = path[i];
    path[i] = waiting[i];
    waiting[i] = step;
  }
  for (int64_t h = 0; h < c->H; h++) {
    double reward = c->path_reward[h];
    c->path_reward[h] = c->path_reward[slot * c->H + h];
    c->path_reward[slot * c->H + h] = reward;
  }
}

lgv_status lgv__lsvi_absorb(void *self, lgv_error *err) {
  lsvi *c = self;
  if (c->history.map) return lgv__history_absorb(c), LGV_OK;
  lgv__lsvi_receive(c);
  return lgv__lsvi_absorb_path(c, err);
}

lgv_status lgv__lsvi_absorb_path(lsvi *c, lgv_error *err) {
  LGV_TRY(lgv__list_reserve(&c->edges, sizeof(int64_t), 2 * (size_t)c->H * EDGE_SIZE, err));
  for (int64_t h = 0; h < c->H; h++) {
    int64_t *step = c->path + h * PATH_SIZE;
    if (!step[PATH_REACHED]) continue;
    step[PATH_REACHED] = 0;
    for (int64_t g = lgv__lsvi_group(c, h); g <= lgv__lsvi_last_group(c, h); g++)
      add_transition(c, g, step, c->path_reward[h]);
  }
  c->episodes[0]++;
  return LGV_OK;
}
