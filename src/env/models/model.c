/* Exact models of finite-horizon problems, and values by backward induction (Bellman's equations).
 *
 * Transitions are kept sparse: row (stage, state, action) is a run of (next, probability) pairs.
 * While the model is built, the pairs form one list in any order; sealing sorts them into rows by a
 * stable counting sort.
 *
 * Invariants after sealing: row_start is non-decreasing; each row of an allowed action sums to 1
 * within 1e-9, and every state allows one; the start sums to 1. The reward of a forbidden action is
 * NaN: fmax leaves it out of every maximum, and a policy that takes it has no value. */
#include "env/models/model.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

static size_t row_index(const lgv_model *m, int64_t stage, int64_t state, int32_t action) {
  int64_t h = m->stationary ? 0 : stage;
  return (size_t)((h * m->states + state) * m->actions + action);
}

static size_t row_count(const lgv_model *m) {
  return (size_t)((m->stationary ? 1 : m->horizon) * m->states * m->actions);
}

lgv_status lgv_model_create(int64_t states, int32_t actions, int64_t horizon, bool stationary,
                            lgv_model **out, lgv_error *err) {
  *out = NULL;
  if (states < 1 || actions < 1 || horizon < 1)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "a model needs at least one state, one action and a horizon of one");
  lgv_model *m = lgv__calloc(1, sizeof *m);
  if (!m) return lgv__out_of_memory(err, "a model");
  *m = (lgv_model){
      .states = states, .actions = actions, .horizon = horizon, .stationary = stationary};
  int64_t rows;
  bool fits = !__builtin_mul_overflow(states, actions, &rows) &&
              !__builtin_mul_overflow(rows, stationary ? 1 : horizon, &rows) && rows < INT64_MAX;
  if (fits) {
    m->reward = lgv__calloc((size_t)rows, sizeof(double));
    m->start = lgv__calloc((size_t)states, sizeof(double));
    m->row_start = lgv__calloc((size_t)rows + 1, sizeof(int64_t));
  }
  if (!m->reward || !m->start || !m->row_start) {
    lgv_model_free(m);
    return lgv__out_of_memory(err, "a model");
  }
  *out = m;
  return LGV_OK;
}

void lgv_model_free(lgv_model *m) {
  if (!m) return;
  lgv__free(m->reward);
  lgv__free(m->start);
  lgv__free(m->row_start);
  lgv__free(m->edges);
  lgv__free(m->allowed);
  lgv__free(m);
}

static bool is_inside(const lgv_model *m, int64_t stage, int64_t state, int32_t action) {
  return stage >= 0 && stage < (m->stationary ? 1 : m->horizon) && state >= 0 &&
         state < m->states && action >= 0 && action < m->actions;
}

lgv_status lgv_model_add(lgv_model *m, int64_t stage, int64_t state, int32_t action, int64_t next,
                         double probability, lgv_error *err) {
  if (m->sealed)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "model: it is sealed: add transitions before lgv_model_seal");
  if (!is_inside(m, stage, state, action) || next < LGV_END || next >= m->states)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "model: (stage %lld, state %lld, action %d) -> %lld lies outside the model",
                    (long long)stage, (long long)state, action, (long long)next);
  if (!(probability >= 0 && probability <= 1 + 1e-9))
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "model: the probability %g of (stage %lld, state %lld, action %d) -> %lld is not in [0, 1]",
        probability, (long long)stage, (long long)state, action, (long long)next);
  if (probability == 0) return LGV_OK;
  if (m->n_edges == m->edge_capacity) {
    size_t capacity = m->edge_capacity ? 2 * m->edge_capacity : 64;
    lgv_model_edge *grown = lgv__realloc(m->edges, capacity * sizeof *grown);
    if (!grown) return lgv__out_of_memory(err, "a model");
    m->edges = grown;
    m->edge_capacity = capacity;
  }
  m->edges[m->n_edges++] =
      (lgv_model_edge){(int64_t)row_index(m, stage, state, action), next, probability};
  return LGV_OK;
}

lgv_status lgv_model_add_row(lgv_model *m, int64_t stage, int64_t state, int32_t action,
                             const double *probabilities, lgv_error *err) {
  for (int64_t next = 0; next < m->states; next++)
    LGV_TRY(lgv_model_add(m, stage, state, action, next, probabilities[next], err));
  return LGV_OK;
}

void lgv_model_set_reward(lgv_model *m, int64_t stage, int64_t state, int32_t action, double mean) {
  if (m->sealed) return;
  if (is_inside(m, stage, state, action))
    m->reward[row_index(m, stage, state, action)] = mean;
  else
    m->misplaced = true;
}

void lgv_model_set_start(lgv_model *m, int64_t state, double probability) {
  if (m->sealed) return;
  if (is_inside(m, 0, state, 0))
    m->start[state] = probability;
  else
    m->misplaced = true;
}

void lgv_model_forbid(lgv_model *m, int64_t stage, int64_t state, int32_t action) {
  if (m->sealed) return;
  if (!is_inside(m, stage, state, action)) {
    m->misplaced = true;
    return;
  }
  if (!m->allowed) {
    m->allowed = lgv__calloc(row_count(m), 1);
    m->out_of_memory |= !m->allowed;
    if (m->allowed) memset(m->allowed, 1, row_count(m));
  }
  if (m->allowed) m->allowed[row_index(m, stage, state, action)] = 0;
}

const uint8_t *lgv_model_mask(const lgv_model *m, int64_t stage, int64_t state) {
  bool inside = is_inside(m, m->stationary ? 0 : stage, state, 0);
  return m->allowed && inside ? m->allowed + row_index(m, stage, state, 0) : NULL;
}

/* Every state must allow an action. */
static lgv_status check_allowed(const lgv_model *m, lgv_error *err) {
  if (m->out_of_memory) return lgv__out_of_memory(err, "a model");
  size_t actions = (size_t)m->actions, places = m->allowed ? row_count(m) / actions : 0;
  for (size_t i = 0; i < places; i++)
    if (!memchr(m->allowed + i * actions, 1, actions))
      return lgv_fail(err, LGV_ERR_USAGE,
                      "model: stage %lld, state %lld forbids every action: allow at least one",
                      (long long)((int64_t)i / m->states), (long long)((int64_t)i % m->states));
  return LGV_OK;
}

static lgv_status check_row(const lgv_model *m, size_t row, double sum, lgv_error *err) {
  int64_t action = (int64_t)row % m->actions, state = (int64_t)row / m->actions % m->states;
  if (!(fabs(sum - 1) <= 1e-9))
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "model: the probabilities of stage %lld, state %lld, action %lld sum to %.12g, not 1",
        (long long)((int64_t)row / m->actions / m->states), (long long)state, (long long)action,
        sum);
  if (!isfinite(m->reward[row]))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "model: the reward of state %lld, action %lld is not finite", (long long)state,
                    (long long)action);
  return LGV_OK;
}

static lgv_status check_start(const lgv_model *m, lgv_error *err) {
  double total = 0;
  for (int64_t s = 0; s < m->states; s++) {
    if (!(m->start[s] >= 0))
      return lgv_fail(err, LGV_ERR_USAGE,
                      "model: the start probability %g of state %lld is not in [0, 1]", m->start[s],
                      (long long)s);
    total += m->start[s];
  }
  if (!(fabs(total - 1) <= 1e-9))
    return lgv_fail(err, LGV_ERR_USAGE, "model: the start probabilities sum to %.12g, not 1",
                    total);
  return LGV_OK;
}

lgv_status lgv_model_seal(lgv_model *m, lgv_error *err) {
  if (m->sealed) return LGV_OK;
  if (m->misplaced)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "model: a reward, a start probability or a forbidden action was set outside "
                    "its %lld states, %d actions and %lld stages (a stationary model has stage 0 "
                    "only)",
                    (long long)m->states, m->actions, (long long)(m->stationary ? 1 : m->horizon));
  LGV_TRY(check_allowed(m, err));
  size_t rows = row_count(m);
  lgv_model_edge *sorted = lgv__calloc(m->n_edges + 1, sizeof *sorted);
  if (!sorted) return lgv__out_of_memory(err, "a model");
  memset(m->row_start, 0, (rows + 1) * sizeof *m->row_start);
  for (size_t i = 0; i < m->n_edges; i++) m->row_start[m->edges[i].row + 1]++;
  for (size_t r = 0; r < rows; r++) m->row_start[r + 1] += m->row_start[r];
  for (size_t i = 0; i < m->n_edges; i++) sorted[m->row_start[m->edges[i].row]++] = m->edges[i];
  memmove(m->row_start + 1, m->row_start, rows * sizeof *m->row_start);
  m->row_start[0] = 0;
  lgv__free(m->edges);
  m->edges = sorted;
  m->edge_capacity = m->n_edges + 1;
  for (size_t r = 0; r < rows; r++) {
    double sum = 0;
    for (int64_t i = m->row_start[r]; i < m->row_start[r + 1]; i++) sum += m->edges[i].probability;
    if (m->allowed && !m->allowed[r])
      m->reward[r] = NAN;
    else
      LGV_TRY(check_row(m, r, sum, err));
  }
  LGV_TRY(check_start(m, err));
  m->sealed = true;
  return LGV_OK;
}

/* r + sum over next states of probability times value; a model that is not sealed has no values. */
static double backup(const lgv_model *m, size_t row, const double *next_values) {
  double q = m->sealed ? m->reward[row] : NAN;
  for (int64_t i = m->row_start[row]; i < m->row_start[row + 1]; i++)
    if (m->edges[i].next != LGV_END) q += m->edges[i].probability * next_values[m->edges[i].next];
  return q;
}

void lgv_model_optimal(const lgv_model *m, double *values) {
  for (int64_t s = 0; s < m->states; s++) values[m->horizon * m->states + s] = 0;
  for (int64_t h = m->horizon - 1; h >= 0; h--)
    for (int64_t s = 0; s < m->states; s++) {
      double best = m->sealed ? -INFINITY : NAN;
      for (int32_t a = 0; a < m->actions; a++)
        best = fmax(best, backup(m, row_index(m, h, s, a), values + (h + 1) * m->states));
      values[h * m->states + s] = best;
    }
}

void lgv_model_evaluate(const lgv_model *m, const double *policy, double *values) {
  for (int64_t s = 0; s < m->states; s++) values[m->horizon * m->states + s] = 0;
  for (int64_t h = m->horizon - 1; h >= 0; h--)
    for (int64_t s = 0; s < m->states; s++) {
      const double *p = policy + (h * m->states + s) * m->actions;
      double value = 0;
      for (int32_t a = 0; a < m->actions; a++)
        if (p[a] != 0)
          value += p[a] * backup(m, row_index(m, h, s, a), values + (h + 1) * m->states);
      values[h * m->states + s] = value;
    }
}

double lgv_model_q(const lgv_model *m, int64_t stage, int64_t state, int32_t action,
                   const double *next_values) {
  return backup(m, row_index(m, stage, state, action), next_values);
}

double lgv_model_start_mean(const lgv_model *m, const double *values) {
  double mean = 0;
  for (int64_t s = 0; s < m->states; s++) mean += m->start[s] * values[s];
  return mean;
}

int64_t lgv__model_draw_start(const lgv_model *m, lgv_rng *rng) {
  double u = lgv_rng_uniform(rng);
  int64_t last = 0;
  for (int64_t s = 0; s < m->states; s++) {
    if (m->start[s] <= 0) continue;
    last = s;
    if ((u -= m->start[s]) < 0) break;
  }
  return last;
}

int64_t lgv__model_draw_next(const lgv_model *m, int64_t stage, int64_t state, int32_t action,
                             lgv_rng *rng) {
  size_t row = row_index(m, stage, state, action);
  int64_t i = m->row_start[row], end = m->row_start[row + 1];
  double u = lgv_rng_uniform(rng);
  while (i < end - 1 && (u -= m->edges[i].probability) >= 0) i++;
  return m->edges[i].next;
}

double lgv__model_reward(const lgv_model *m, int64_t stage, int64_t state, int32_t action) {
  return m->reward[row_index(m, stage, state, action)];
}
