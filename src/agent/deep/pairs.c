#include "agent/deep/pairs.h"

#include "base/arena.h"
#include "replay/replay.h"

#include <math.h>
#include <string.h>

void lgv__pairs_layout(pairs *p, int32_t length, int32_t actions, int64_t most,
                       lgv_layout *layout) {
  /* one-hot: -1 to length - 1; thermometer: 0 to length */
  size_t states = (size_t)length + 2, n = states * (size_t)actions;
  p->capacity = (int64_t)states;
  p->actions = actions;
  lgv__transition_counts_layout(&p->data, most, layout);
  p->states = lgv_layout_array(layout, "pairs.states", LGV_I64, 1, LGV_KEEP);
  p->index = lgv_layout_array(layout, "pairs.index", LGV_I32, states, LGV_KEEP);
  p->number = lgv_layout_array(layout, "pairs.number", LGV_I32, states, LGV_KEEP);
  p->reward_squares = lgv_layout_array(layout, "pairs.reward_squares", LGV_F64, n, LGV_KEEP);
  p->count = lgv_layout_array(layout, "pairs.count", LGV_F64, n, LGV_SCRATCH);
  p->target = lgv_layout_array(layout, "pairs.target", LGV_F64, n, LGV_SCRATCH);
  p->squares = lgv_layout_array(layout, "pairs.squares", LGV_F64, n, LGV_SCRATCH);
  p->weight = lgv_layout_array(layout, "pairs.weight", LGV_F32, n, LGV_SCRATCH);
}

void lgv__pairs_layout_masks(pairs *p, lgv_layout *layout) {
  size_t n = (size_t)(p->capacity * p->actions);
  p->masks = lgv_layout_array(layout, "pairs.masks", LGV_U8, n, LGV_KEEP);
}

void lgv__pairs_keep_mask(pairs *p, int64_t state, const uint8_t *mask) {
  if (!p->masks) return;
  for (int32_t a = 0; a < p->actions; a++) p->masks[state * p->actions + a] = !mask || mask[a];
}

int64_t lgv__pairs_state(pairs *p, int32_t index) {
  int32_t *number = &p->number[index + 1];
  if (*number == 0) {
    p->index[p->states[0]] = index;
    *number = (int32_t)++p->states[0];
  }
  return *number - 1;
}

static int64_t pair_of(const pairs *p, int32_t index, int32_t action) {
  return action * p->capacity + p->number[index + 1] - 1;
}

bool lgv__pairs_add(pairs *p, int32_t index, int32_t action, double reward, int32_t next,
                    bool terminated) {
  if (!lgv__transition_counts_add(&p->data, index, action, reward, next, terminated)) return false;
  p->reward_squares[pair_of(p, index, action)] += reward * reward;
  return true;
}

/* Sums over transitions of 1, y and y^2. */
static void sum_targets(pairs *p, const float *values, double gamma) {
  const transition_counts *m = &p->data;
  for (int32_t a = 0; a < p->actions; a++) {
    int64_t begin = a * p->capacity;
    size_t bytes = (size_t)p->states[0] * sizeof(double);
    memset(p->count + begin, 0, bytes);
    memset(p->target + begin, 0, bytes);
    memcpy(p->squares + begin, p->reward_squares + begin, bytes);
  }
  for (int64_t e = 0; e < m->size[0]; e++) {
    int64_t at = pair_of(p, m->obs[e], m->action[e]);
    double n = (double)m->count[e];
    double ahead = m->terminated[e] ? 0 : gamma * (double)values[p->number[m->next[e] + 1] - 1];
    p->count[at] += n;
    p->target[at] += m->reward[e] + n * ahead;
    p->squares[at] += ahead * (2 * m->reward[e] + n * ahead);
  }
}

double lgv__pairs_set_targets(pairs *p, const float *values, double gamma, double sigma) {
  double greatest = 0;
  sum_targets(p, values, gamma);
  for (int32_t a = 0; a < p->actions; a++)
    for (int64_t at = a * p->capacity; at < a * p->capacity + p->states[0]; at++) {
      if (p->count[at] == 0) continue;
      p->target[at] /= p->count[at];
      /* what rounding leaves of equal targets may be negative */
      p->squares[at] = fmax(0, p->squares[at] - p->count[at] * p->target[at] * p->target[at]);
      greatest = fmax(greatest, p->squares[at] / p->count[at]);
    }
  for (int32_t a = 0; a < p->actions; a++)
    for (int64_t at = a * p->capacity; at < a * p->capacity + p->states[0]; at++) {
      double n = p->count[at];
      double variance = n > 0 ? sigma * sigma + (greatest + p->squares[at]) / n : 1;
      p->weight[at] = (float)(n / variance);
    }
  return greatest;
}

static bool is_known(const pairs *p, const lgv_env_spec *env, int32_t index) {
  return lgv__replay_is_index(env, index) && p->number[index + 1] > 0;
}

/* Every known state allows an action. */
static const char *mask_fault(const pairs *p) {
  for (int64_t i = 0; i < p->states[0] * p->actions; i++)
    if (p->masks[i] > 1) return "pairs.masks: a mask that is neither 0 nor 1";
  for (int64_t k = 0; k < p->states[0]; k++)
    if (!memchr(p->masks + k * p->actions, 1, (size_t)p->actions))
      return "pairs.masks: a mask that allows no action";
  return NULL;
}

const char *lgv__pairs_fault(const pairs *p, const lgv_env_spec *env) {
  const transition_counts *m = &p->data;
  const char *fault = lgv__transition_counts_fault(m);
  if (fault) return fault;
  if (!lgv__is_within(p->states[0], 0, p->capacity))
    return "pairs.states: more states than observations";
  for (int64_t i = 0; i < p->capacity; i++)
    if (!lgv__is_within(p->number[i], 0, p->states[0])) return "pairs.number: a state of no number";
  for (int64_t k = 0; k < p->states[0]; k++)
    if (!is_known(p, env, p->index[k]) || p->number[p->index[k] + 1] != k + 1)
      return "pairs.index: a state of no observation";
  for (int64_t e = 0; e < m->size[0]; e++)
    if (!is_known(p, env, m->obs[e]) || !is_known(p, env, m->next[e]) ||
        !lgv__is_within(m->action[e], 0, p->actions - 1))
      return "data.obs: a transition between unknown states";
  return p->masks ? mask_fault(p) : NULL;
}
