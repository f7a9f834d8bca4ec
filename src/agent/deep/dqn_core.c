#include "agent/deep/dqn_core.h"

#include "agent/agent.h"
#include "agent/export.h"
#include "base/spec.h"
#include "math/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LARGE_INPUT = 100 }; /* observations as large as this are named when a loss overflows */

/* ---- acting ---- */

net_input lgv__dqn_input(const dqn *c, const void *encoded) {
  net_input input = lgv__replay_input(&c->env, encoded);
  if (c->net.shape.maps_input) input.map = lgv__running_scale_map(&c->scale);
  return input;
}

const float *lgv__dqn_values(dqn *c, const float *w, const lgv_obs *obs) {
  lgv__replay_encode(&c->env, obs, c->seen);
  return lgv__net_forward(&c->net, w, lgv__dqn_input(c, c->seen), 1, &c->act_tape);
}

lgv_rng *lgv__dqn_act_stream(dqn *c, lgv_mode mode) { return mode == LGV_TRAIN ? c->act : c->eval; }

void lgv__dqn_copy_values(const dqn *c, const float *values, double *q) {
  for (int32_t a = 0; a < c->A; a++) q[a] = (double)values[a];
}

/* The mask of the part whose choices begin at `first`. */
static const uint8_t *mask_of(const uint8_t *mask, int32_t first) {
  return mask ? mask + first : NULL;
}

void lgv__dqn_epsilon_greedy(dqn *c, const float *q, double epsilon, const lgv_obs *obs,
                             lgv_mode mode, lgv_action *action) {
  lgv_rng *stream = lgv__dqn_act_stream(c, mode);
  lgv__dqn_copy_values(c, q, c->values);
  for (int32_t p = 0, first = 0; p < c->parts; p++) {
    int32_t count = lgv__part_choices(&c->env.actions, p);
    const uint8_t *mask = mask_of(obs->mask, first);
    bool explores = epsilon > 0 && lgv_rng_uniform(stream) < epsilon;
    action->choices[p] = explores ? lgv__uniform_choice(mask, count, stream)
                                  : lgv__argmax(c->values + first, mask, count, stream);
    first += count;
  }
}

void lgv__dqn_greedy(dqn *c, const float *q, const lgv_obs *obs, lgv_mode mode,
                     lgv_action *action) {
  lgv__dqn_epsilon_greedy(c, q, 0, obs, mode, action);
}

void lgv__dqn_uniform(dqn *c, const lgv_obs *obs, lgv_mode mode, lgv_action *action) {
  lgv_rng *stream = lgv__dqn_act_stream(c, mode);
  for (int32_t p = 0, first = 0; p < c->parts; p++) {
    int32_t count = lgv__part_choices(&c->env.actions, p);
    action->choices[p] = lgv__uniform_choice(mask_of(obs->mask, first), count, stream);
    first += count;
  }
}

/* ---- learning ---- */

int64_t lgv__dqn_remember(dqn *c, const lgv_transition *transition) {
  c->count[DQN_STEPS]++;
  int64_t entry = lgv__replay_add(&c->replay, c->stream, transition);
  lgv__running_scale_add(&c->scale, c->stream, transition, c->replay.age[entry] == 0);
  if (c->p->priority.on) lgv__priority_add(&c->priority, &c->replay, entry);
  return entry;
}

int64_t lgv__updates_due(const dqn_params *p, int64_t steps) {
  int64_t learned_from = steps - p->warmup;
  bool now = p->update_every > 0 && learned_from > 0 && learned_from % p->update_every == 0;
  return now ? p->updates : 0;
}

int64_t lgv__updates_due_between_episodes(const dqn_params *p, int64_t steps) {
  return p->update_every == 0 && steps >= p->warmup ? p->updates : 0;
}

int64_t lgv__dqn_updates_due(const dqn *c) { return lgv__updates_due(c->p, c->count[DQN_STEPS]); }

int64_t lgv__dqn_updates_due_between_episodes(const dqn *c) {
  return lgv__updates_due_between_episodes(c->p, c->count[DQN_STEPS]);
}

void lgv__dqn_sample(dqn *c) {
  int64_t learned_from = c->count[DQN_STEPS] - c->p->warmup;
  if (c->p->priority.on)
    lgv__priority_sample(&c->priority, &c->replay, c->draw, learned_from > 0 ? learned_from : 0,
                         &c->batch, c->weight);
  else
    lgv__replay_sample(&c->replay, c->draw, &c->batch);
  lgv__running_scale_rewards(&c->scale, c->batch.reward, c->batch.size);
}

void lgv__dqn_gather(dqn *c) {
  lgv__replay_gather(&c->replay, &c->batch);
  lgv__running_scale_rewards(&c->scale, c->batch.reward, c->batch.size);
}

static bool chooses_online(const dqn *c) { return c->p->double_q && !c->sizes.no_target; }

/* The first `rows` observations of the minibatch. */
static const float *forward(dqn *c, const float *w, const unsigned char *obs, int64_t rows,
                            net_tape *tape) {
  return lgv__net_forward(&c->net, w, lgv__dqn_input(c, obs), rows, tape);
}

void lgv__dqn_forward(dqn *c, const float *w, const float *w_target) {
  int64_t rows = dqn_rows(c), next = chooses_online(c) ? c->p->batch : 0;
  c->q = forward(c, w, c->batch.obs, rows + next, &c->tape);
  c->q_next = next ? c->q + rows * c->outputs : NULL;
  c->q_target = forward(c, w_target, c->batch.next, c->p->batch, &c->target_tape);
}

void lgv__dqn_forward_obs(dqn *c, const float *w) {
  c->q = forward(c, w, c->batch.obs, dqn_rows(c), &c->tape);
}

void lgv__dqn_forward_next(dqn *c, const float *w, const float *w_target) {
  c->q_next = chooses_online(c) ? forward(c, w, c->batch.next, c->p->batch, &c->tape) : NULL;
  c->q_target = forward(c, w_target, c->batch.next, c->p->batch, &c->target_tape);
}

static inline int32_t first_best(const float *q, int32_t count) {
  int32_t best = 0;
  for (int32_t a = 1; a < count; a++)
    if (q[a] > q[best]) best = a;
  return best;
}

int32_t lgv__dqn_best_of_part(const dqn *c, const float *q, const uint8_t *mask, int32_t part,
                              int32_t first) {
  int32_t count = lgv__part_choices(&c->env.actions, part);
  const float *value = q + first;
  if (!mask) return first_best(value, count);
  const uint8_t *allowed = mask_of(mask, first);
  int32_t best = lgv__first_allowed(allowed, count);
  for (int32_t a = best + 1; a < count; a++)
    if (allowed[a] && value[a] > value[best]) best = a;
  return best;
}

/* The mean over parts of value[best], best being the greatest of select in its part. */
static inline float best_value(const dqn *c, const float *select, const uint8_t *mask,
                               const float *value) {
  float sum = 0;
  if (c->parts == 1 && !mask) return value[first_best(select, c->A)]; /* the usual case */
  for (int32_t p = 0, first = 0; p < c->parts; p++) {
    sum += value[first + lgv__dqn_best_of_part(c, select, mask, p, first)];
    first += lgv__part_choices(&c->env.actions, p);
  }
  return sum / (float)c->parts;
}

/* The mask of sample i, for masks (batch x A) or NULL. */
static const uint8_t *mask_at(const dqn *c, const uint8_t *masks, int64_t i) {
  return masks ? masks + i * c->A : NULL;
}

void lgv__dqn_targets_from(const dqn *c, const float *select, const float *value, int64_t stride,
                           float *y) {
  const float *reward = c->batch.reward, *discount = c->batch.discount;
  const uint8_t *masks = c->batch.next_mask;
  int64_t batch = c->p->batch;
  for (int64_t i = 0; i < batch; i++, select += stride, value += stride)
    y[i] = reward[i] + discount[i] * best_value(c, select, mask_at(c, masks, i), value);
}

void lgv__dqn_targets(dqn *c) {
  lgv__dqn_targets_from(c, dqn_chooser(c), c->q_target, c->outputs, c->y);
}

void lgv__dqn_choose(dqn *c) {
  for (int64_t i = 0; i < c->p->batch; i++)
    c->best[i] =
        lgv__dqn_best_of_part(c, c->mean + i * c->A, mask_at(c, c->batch.next_mask, i), 0, 0);
}

bool lgv__dqn_target_due(const dqn *c) { return c->count[DQN_UPDATES] % c->p->target_every == 0; }

bool lgv__dqn_refresh_target(dqn *c, int64_t copy) {
  if (!lgv__dqn_target_due(c)) return false;
  memcpy(c->w_target + copy * c->dim, c->w + copy * c->dim, (size_t)c->dim * sizeof *c->w);
  lgv__dqn_changed(c, c->w_target + copy * c->dim);
  return true;
}

void lgv__dqn_loss_clear(dqn *c) {
  size_t count = (size_t)(dqn_rows(c) * c->sizes.taus * c->outputs);
  memset(c->d_q, 0, count * sizeof *c->d_q);
  c->loss = 0;
}

/* Loss and slope of an error with weight w. Huber's is w e^2 / 2 until its slope w e has size 1. */
static float mse(float w, float e, float *slope) {
  *slope = 2 * w * e;
  return w * e * e;
}

static float huber(float w, float e, float *slope) {
  float size = fabsf(e);
  bool inside = w * size < 1;
  *slope = inside ? w * e : copysignf(1, e);
  return inside ? w * e * e / 2 : size - 0.5f / w;
}

/* Adds one error to the loss and to its slope; returns its size. */
static inline float add_error(bool is_huber, float e, float weight, float share, double *sum,
                              float *d_q) {
  float slope;
  *sum += (double)(is_huber ? huber(weight, e, &slope) : mse(weight, e, &slope));
  *d_q += share * slope;
  return fabsf(e);
}

void lgv__dqn_loss_add(dqn *c, const float *q, const float *y, const float *weight, float *d_q) {
  bool is_huber = c->p->loss == DQN_HUBER;
  int32_t parts = c->parts;
  int64_t batch = c->p->batch, outputs = c->outputs;
  const int32_t *choice = c->batch.action;
  float share = 1.0f / (float)(batch * parts), *error = c->error;
  double sum = 0;
  memset(error, 0, (size_t)batch * sizeof *error);
  for (int32_t p = 0; p < parts; p++) { /* part by part: there is usually one */
    for (int64_t i = 0; i < batch; i++) {
      int64_t at = i * outputs + choice[i * parts + p];
      float w = weight ? weight[i] : 1;
      error[i] += add_error(is_huber, q[at] - y[i], w, share, &sum, d_q + at);
    }
    q += lgv__part_choices(&c->env.actions, p);
    d_q += lgv__part_choices(&c->env.actions, p);
  }
  for (int64_t i = 0; parts > 1 && i < batch; i++) error[i] /= (float)parts;
  c->loss += sum * (double)share;
}

void lgv__dqn_loss_of(dqn *c, int64_t i, float loss, float *d_outputs, int64_t count) {
  float part = (c->weight ? c->weight[i] : 1) / (float)c->p->batch;
  for (int64_t j = 0; j < count; j++) d_outputs[j] *= part;
  c->loss += (double)(part * loss);
  c->error[i] = loss;
}

void lgv__dqn_loss(dqn *c) {
  lgv__dqn_loss_clear(c);
  lgv__dqn_loss_add(c, c->q, c->y, c->weight, c->d_q);
}

void lgv__dqn_backward(dqn *c, const float *w, float *grad) {
  lgv__net_backward(&c->net, w, lgv__dqn_input(c, c->batch.obs), dqn_rows(c), &c->tape, c->d_q,
                    1.0f / (float)c->sizes.heads, grad);
}

/* In eight sums, so that it can use vectors and still has one order. */
double lgv__dqn_squares(const float *x, int64_t count) {
  double sum[8] = {0}, total = 0;
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int j = 0; j < 8; j++) sum[j] += (double)x[i + j] * (double)x[i + j];
  for (; i < count; i++) total += (double)x[i] * (double)x[i];
  for (int j = 0; j < 8; j++) total += sum[j];
  return total;
}

static double norm(const float *x, int64_t count) { return sqrt(lgv__dqn_squares(x, count)); }

static void clip_gradient(dqn *c) {
  double length = norm(c->grad, c->dim);
  if (length > c->p->grad_clip)
    lgv__kernels()->scale(c->dim, (float)(c->p->grad_clip / length), c->grad);
}

void lgv__dqn_step(dqn *c, int64_t copy) {
  int64_t at = copy * c->dim;
  if (c->p->grad_clip > 0) clip_gradient(c);
  lgv_optim_step step = {.count = (size_t)c->dim,
                         .w = c->w + at,
                         .g = c->grad,
                         .residual = c->residual ? c->residual + at : NULL,
                         .t = ++c->t[copy],
                         .lr_scale = c->lr_scale,
                         .beta_scale = 1,
                         .noise = c->noise};
  for (int32_t i = 0; i < c->optimizer->slots; i++) step.slot[i] = c->slot[i] + at;
  c->optimizer->step(c->optim_params, &step);
  lgv__dqn_changed(c, step.w);
}

void lgv__dqn_changed(dqn *c, const float *w) {
  lgv__net_tiles_changed(&c->tiles, w);
  lgv__net_tiles_changed(&c->target_tiles, w);
}

/* ---- statistics ---- */

static void take_q_stats(dqn *c) {
  double sum = 0, squares = 0, most = -INFINITY, B = (double)c->p->batch;
  for (int64_t i = 0; i < c->p->batch; i++) {
    const float *q = c->mean ? c->mean + i * c->A : c->q + i * c->outputs;
    double best = (double)best_value(c, q, mask_at(c, c->batch.obs_mask, i), q);
    sum += best;
    squares += best * best;
    if (best > most) most = best;
  }
  double mean = sum / B, variance = squares / B - mean * mean;
  c->stat[DQN_STAT_LOSS] = c->loss;
  c->stat[DQN_STAT_Q_MEAN] = mean;
  c->stat[DQN_STAT_Q_MAX] = most;
  c->stat[DQN_STAT_Q_SPREAD] = variance > 0 ? sqrt(variance) : 0;
}

static float greatest_input(const dqn *c) {
  const float *x = (const float *)(const void *)c->batch.obs;
  size_t count = (size_t)c->p->batch * lgv__replay_encoded_bytes(&c->env) / sizeof *x;
  float most = 0;
  for (size_t i = 0; i < count; i++) most = fmaxf(most, fabsf(x[i]));
  return most;
}

/* A remedy for the observations, if these are a likely cause. */
static void advise_on_inputs(const dqn *c, char *text, size_t size) {
  text[0] = '\0';
  if (c->env.obs_form != LGV_FORM_DENSE) return;
  if (c->env.obs_kind == LGV_OBS_BYTE) {
    if (c->p->scale.input == SCALE_FALSE)
      snprintf(text, size, "set agent.scale_input = %s, ",
               lgv__scale_input_names[lgv__running_scale_choice(&c->env)]);
  } else if (!c->p->scale.obs && greatest_input(c) >= LARGE_INPUT) {
    snprintf(text, size, "set agent.normalize_obs = true (the observations reach %.3g), ",
             (double)greatest_input(c));
  }
}

/* A remedy for the rewards. Scaled ones are at fault only if they are too large for a float. */
static const char *advice_on_rewards(const dqn *c) {
  if (!c->p->scale.rewards) return "set agent.scale_rewards = true, or ";
  for (int64_t i = 0; i < c->batch.size; i++)
    if (!isfinite(c->batch.reward[i])) return "scale the rewards of the environment, or ";
  return "";
}

static lgv_status not_finite(const dqn *c, const char *what, lgv_error *err) {
  char inputs[160];
  advise_on_inputs(c, inputs, sizeof inputs);
  bool can_change_loss = !c->sizes.distributional && c->p->loss != DQN_HUBER;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "%s is not a finite number in update %lld: %s%s%slower optim.lr", what,
                  (long long)c->count[DQN_UPDATES], inputs,
                  can_change_loss ? "set agent.loss = huber, " : "", advice_on_rewards(c));
}

lgv_status lgv__dqn_end_update(dqn *c, lgv_error *err) {
  bool watch = c->count[DQN_UPDATES]++ % DQN_WATCH_EVERY == 0;
  c->stat[DQN_STAT_UPDATES] = (double)c->count[DQN_UPDATES];
  take_q_stats(c);
  if (!isfinite(c->loss)) return not_finite(c, "the loss", err);
  if (c->p->priority.on) lgv__priority_update(&c->priority, &c->batch, c->error);
  if (!watch) return LGV_OK;
  c->stat[DQN_STAT_GRAD_NORM] = norm(c->grad, c->dim);
  c->stat[DQN_STAT_WEIGHT_NORM] = norm(c->w, c->sizes.copies * c->dim);
  c->stat[DQN_STAT_DEAD] = lgv__net_dead_share(&c->net, &c->tape, c->p->batch);
  if (!isfinite(c->stat[DQN_STAT_WEIGHT_NORM])) return not_finite(c, "a parameter", err);
  return LGV_OK;
}

/* ---- hooks ---- */

void lgv__dqn_set_stream(void *self, int32_t stream) { ((dqn *)self)->stream = stream; }

lgv_status lgv__dqn_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err) {
  (void)err;
  dqn *c = self;
  lgv__dqn_copy_values(c, lgv__dqn_values(c, c->w, obs), q);
  return LGV_OK;
}

void lgv__dqn_stats(const void *self, double *values) {
  const dqn *c = self;
  memcpy(values, c->stat, sizeof(double) * DQN_STATS);
}

void lgv__dqn_policy_parts(const void *self, lgv_policy_parts *parts) {
  const dqn *c = self;
  parts->net = c->sizes.above_first ? NULL : &c->net;
  parts->w = c->w;
  parts->copies = c->sizes.copies;
  parts->stride = c->dim;
  parts->heads = c->sizes.heads;
  parts->atoms = c->sizes.atoms;
  parts->input = lgv__running_scale_map(&c->scale);
}
