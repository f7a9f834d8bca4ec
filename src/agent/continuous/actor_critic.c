#include "agent/continuous/actor_critic.h"

#include "agent/export.h"
#include "base/portable_math.h"
#include "base/spec.h"
#include "math/kernels.h"

#include <math.h>
#include <string.h>

/* ---- acting ---- */

static net_input input_of(const actor_critic *c, const void *encoded) {
  net_input input = lgv__replay_input(&c->env, encoded);
  if (c->gain) input.map = lgv__running_scale_map(&c->scale);
  return input;
}

/* Of the policy in use, in the parameters, the target or the gradient of all. */
static float *of_policy(const actor_critic *c, float *all) {
  return all + c->policy_in_use * c->actor.dim;
}

const float *lgv__ac_outputs(actor_critic *c, const lgv_obs *obs) {
  lgv__replay_encode(&c->env, obs, c->seen);
  return lgv__net_forward(&c->actor_net, of_policy(c, c->actor.w), input_of(c, c->seen), 1,
                          &c->act_tape);
}

bool lgv__ac_is_warming_up(const actor_critic *c, lgv_mode mode) {
  return mode == LGV_TRAIN && c->count[AC_STEPS] < c->p->deep.warmup;
}

void lgv__ac_put(const actor_critic *c, int32_t p, float a, lgv_action *action) {
  float low = c->env.actions.low[p], high = c->env.actions.high[p];
  float x = low + (a + 1) / 2 * (high - low);
  action->values[p] = x < low ? low : x > high ? high : x; /* NaN has to stay */
}

void lgv__ac_uniform(actor_critic *c, lgv_action *action) {
  for (int32_t p = 0; p < c->P; p++)
    lgv__ac_put(c, p, (float)(2 * lgv_rng_uniform(c->act) - 1), action);
}

lgv_status lgv__ac_act_gaussian(void *self, const lgv_obs *obs, lgv_mode mode, lgv_action *action,
                                lgv_error *err) {
  (void)err;
  actor_critic *c = self;
  if (lgv__ac_is_warming_up(c, mode)) {
    lgv__ac_uniform(c, action);
    return LGV_OK;
  }
  const float *m = lgv__ac_outputs(c, obs), *l = m + c->P;
  for (int32_t p = 0; p < c->P; p++) {
    float u = m[p];
    if (mode == LGV_TRAIN)
      u += lgv__expf(fminf(fmaxf(l[p], c->sizes.least), c->sizes.most)) *
           (float)lgv_rng_normal(c->act);
    lgv__ac_put(c, p, lgv__tanh(u), action);
  }
  return LGV_OK;
}

/* ---- minibatches ---- */

void lgv__ac_remember(actor_critic *c, const lgv_transition *transition) {
  c->count[AC_STEPS]++;
  int64_t entry = lgv__replay_add(&c->replay, c->stream, transition);
  lgv__running_scale_add(&c->scale, c->stream, transition, c->replay.age[entry] == 0);
}

int64_t lgv__ac_updates_due(const actor_critic *c) {
  return lgv__updates_due(&c->p->deep, c->count[AC_STEPS]);
}

int64_t lgv__ac_updates_due_between_episodes(const actor_critic *c) {
  return lgv__updates_due_between_episodes(&c->p->deep, c->count[AC_STEPS]);
}

void lgv__ac_put_actions(actor_critic *c, unsigned char *pairs, const float *actions) {
  size_t row = lgv__obs_bytes(&c->pair), bytes = (size_t)c->P * sizeof *actions;
  for (int64_t i = 0; i < ac_batch(c); i++)
    memcpy(pairs + ((size_t)i + 1) * row - bytes, actions + i * c->P, bytes);
}

static void put_observations(const actor_critic *c, unsigned char *pairs,
                             const unsigned char *obs) {
  size_t row = lgv__obs_bytes(&c->pair), bytes = lgv__obs_bytes(&c->env);
  for (size_t i = 0; i < (size_t)ac_batch(c); i++) memcpy(pairs + i * row, obs + i * bytes, bytes);
}

/* The agent's map, and none for the action. */
static void map_pairs(actor_critic *c) {
  int64_t own = (int64_t)lgv__obs_count(&c->env) + c->env.vector;
  net_map map = lgv__running_scale_map(&c->scale);
  memcpy(c->shift, map.shift, (size_t)own * sizeof *c->shift);
  memcpy(c->gain, map.gain, (size_t)own * sizeof *c->gain);
  for (int32_t p = 0; p < c->P; p++) c->shift[own + p] = 0, c->gain[own + p] = 1;
}

/* From the bounds of the environment to [-1, 1]. */
static void scale_actions(actor_critic *c) {
  const lgv_action_space *space = &c->env.actions;
  for (int64_t i = 0; i < ac_batch(c); i++)
    for (int32_t p = 0; p < c->P; p++) {
      float *x = &c->batch.values[i * c->P + p], width = space->high[p] - space->low[p];
      *x = fminf(fmaxf(2 * (*x - space->low[p]) / width - 1, -1), 1);
    }
}

void lgv__ac_sample(actor_critic *c) {
  lgv__replay_sample(&c->replay, c->draw, &c->batch);
  lgv__running_scale_rewards(&c->scale, c->batch.reward, c->batch.size);
  scale_actions(c);
  put_observations(c, c->pairs, c->batch.obs);
  put_observations(c, c->next_pairs, c->batch.next);
  lgv__ac_put_actions(c, c->pairs, c->batch.values);
  if (c->gain) map_pairs(c);
  c->loss = 0;
}

void lgv__ac_normals(actor_critic *c, float *x, int64_t count) {
  for (int64_t at = 0; at < count; at += LGV_NOISE_BLOCK) {
    int64_t left = (count - at + 31) / 32 * 32;
    lgv__kernels()->normals(c->noise, x + at,
                            (size_t)(left < LGV_NOISE_BLOCK ? left : LGV_NOISE_BLOCK));
  }
}

/* ---- passes ---- */

void lgv__ac_forward_both(actor_critic *c) { /* the minibatch holds s, then s' */
  c->outputs = lgv__net_forward(&c->actor_net, of_policy(c, c->actor.w), input_of(c, c->batch.obs),
                                2 * ac_batch(c), &c->actor_tape);
}

void lgv__ac_forward_obs(actor_critic *c) {
  c->outputs = lgv__net_forward(&c->actor_net, of_policy(c, c->actor.w), input_of(c, c->batch.obs),
                                ac_batch(c), &c->actor_tape);
}

const float *lgv__ac_forward_next_target(actor_critic *c) {
  return lgv__net_forward(&c->actor_net, of_policy(c, c->actor.target), input_of(c, c->batch.next),
                          ac_batch(c), &c->actor_tape);
}

static net_input pair_input(const actor_critic *c, const unsigned char *pairs) {
  net_input input = lgv__replay_input(&c->pair, pairs);
  if (c->gain) input.map = (net_map){c->shift, c->gain, lgv__running_scale_map(&c->scale).clip};
  return input;
}

const float *lgv__ac_q(actor_critic *c, const float *w, int tape, const unsigned char *pairs) {
  return lgv__net_forward(&c->critic_net, w, pair_input(c, pairs), ac_batch(c),
                          &c->critic_tape[tape]);
}

void lgv__ac_critic_backward(actor_critic *c, int64_t k, int tape) {
  int64_t at = k * c->critic.dim;
  lgv__net_backward(&c->critic_net, c->critic.w + at, pair_input(c, c->pairs), ac_batch(c),
                    &c->critic_tape[tape], c->d_q, 1, c->critic.grad + at);
}

void lgv__ac_fit_critics(actor_critic *c, float weight) {
  int64_t B = ac_batch(c);
  double squares = 0, sum = 0;
  for (int j = 0; j < AC_PAIR; j++) {
    const float *q = lgv__ac_q(c, c->critic.w + j * c->critic.dim, j, c->pairs);
    for (int64_t i = 0; i < B; i++) {
      float error = q[i] - c->y[i];
      c->d_q[i] = 2 * weight * error / (float)B;
      squares += (double)(error * error); /* infinite where Adam's moments would be */
      if (j == 0) sum += (double)q[i];
    }
    lgv__ac_critic_backward(c, j, j);
  }
  c->loss = (double)weight * squares / (double)B;
  c->stat[AC_STAT_Q_MEAN] = sum / (double)B;
  lgv__ac_step(c, &c->critic);
}

/* Splits the rows by their lesser Q; returns how many are those of Q_0. */
static int64_t split(actor_critic *c, const float *const q[AC_PAIR]) {
  int64_t count[AC_PAIR] = {0}, outputs = c->sizes.critic_outputs;
  for (int64_t i = 0; i < ac_batch(c); i++) {
    int j = q[1][i * outputs] < q[0][i * outputs];
    c->rows[j][count[j]++] = (int32_t)i;
  }
  return count[0];
}

void lgv__ac_climb(actor_critic *c, const float *w, int tape, const int32_t *rows, int64_t count) {
  int64_t outputs = c->sizes.critic_outputs;
  size_t bytes = (size_t)c->P * sizeof *c->d_action;
  float *out = rows ? c->d_some : c->d_action;
  if (count == 0) return;
  if (rows) lgv__net_keep_rows(&c->critic_net, &c->critic_tape[tape], rows, count);
  memset(c->d_q, 0, (size_t)(count * outputs) * sizeof *c->d_q);
  for (int64_t i = 0; i < count; i++) c->d_q[i * outputs] = -1.0f / (float)ac_batch(c);
  lgv__net_backward_inputs(&c->critic_net, w, count, &c->critic_tape[tape], c->d_q, c->P, c->turned,
                           out);
  for (int64_t i = 0; rows && i < count; i++)
    memcpy(c->d_action + rows[i] * c->P, out + i * c->P, bytes);
}

void lgv__ac_climb_lesser(actor_critic *c, int64_t k) {
  int64_t B = ac_batch(c), outputs = c->sizes.critic_outputs;
  const float *q[AC_PAIR], *w = c->critic.w + k * c->critic.dim;
  float alpha = lgv__ac_alpha(c);
  double loss = 0;
  lgv__ac_put_actions(c, c->pairs, c->policy.action);
  for (int j = 0; j < AC_PAIR; j++) q[j] = lgv__ac_q(c, w + j * c->critic.dim, j, c->pairs);
  for (int64_t i = 0; i < B; i++)
    loss += (double)(alpha * c->policy.log_pi[i] - ac_least(q, i * outputs));
  c->stat[AC_STAT_POLICY_LOSS] = loss / (double)B;
  int64_t first = split(c, q);
  lgv__ac_climb(c, w, 0, c->rows[0], first);
  lgv__ac_climb(c, w + c->critic.dim, 1, c->rows[1], B - first);
}

void lgv__ac_gaussian_backward(actor_critic *c) {
  int64_t B = ac_batch(c);
  lgv__tanh_gaussian_backward(&c->policy, B, c->outputs, c->d_action, lgv__ac_alpha(c) / (float)B,
                              c->d_outputs);
  lgv__ac_actor_backward(c);
}

void lgv__ac_improve_gaussian(actor_critic *c, int64_t k) {
  lgv__ac_climb_lesser(c, k);
  lgv__ac_gaussian_backward(c);
  lgv__ac_step(c, &c->actor);
}

bool lgv__ac_policy_due(const actor_critic *c) {
  return (c->count[AC_UPDATES] + 1) % c->p->policy_every == 0;
}

/* ---- steps ---- */

static void clip_gradients(const ac_weights *v, double most) {
  for (int64_t k = 0; k < v->copies; k++) {
    double length = sqrt(lgv__dqn_squares(v->grad + k * v->dim, v->dim));
    if (length > most) lgv__kernels()->scale(v->dim, (float)(most / length), v->grad + k * v->dim);
  }
}

void lgv__ac_step_some(actor_critic *c, ac_weights *v, int64_t first, int64_t copies,
                       double beta_scale) {
  int64_t at = first * v->dim;
  lgv_optim_step step = {.count = (size_t)(copies * v->dim),
                         .w = v->w + at,
                         .g = v->grad + at,
                         .residual = v->residual ? v->residual + at : NULL,
                         .t = *v->t,
                         .lr_scale = 1,
                         .beta_scale = beta_scale,
                         .noise = c->noise};
  for (int32_t i = 0; i < v->optimizer->slots; i++) step.slot[i] = v->slot[i] + at;
  v->optimizer->step(v->optim_params, &step);
}

void lgv__ac_begin_step(actor_critic *c, ac_weights *v) {
  if (v == &c->critic && c->p->deep.grad_clip > 0) clip_gradients(v, c->p->deep.grad_clip);
  ++*v->t;
}

void lgv__ac_step(actor_critic *c, ac_weights *v) {
  lgv__ac_begin_step(c, v);
  lgv__ac_step_some(c, v, 0, v->copies, 1);
}

void lgv__ac_actor_backward(actor_critic *c) {
  lgv__net_backward(&c->actor_net, of_policy(c, c->actor.w), input_of(c, c->batch.obs), ac_batch(c),
                    &c->actor_tape, c->d_outputs, 1, of_policy(c, c->actor.grad));
}

void lgv__ac_follow(actor_critic *c, ac_weights *v) {
  lgv__kernels()->approach(v->copies * v->dim, v->w, (float)c->p->tau, v->target);
}

float lgv__ac_alpha(const actor_critic *c) { return lgv__expf(c->log_alpha.w[0]); }

void lgv__ac_adapt_alpha(actor_critic *c) {
  double sum = 0;
  int64_t B = ac_batch(c);
  for (int64_t i = 0; i < B; i++) sum += (double)c->policy.log_pi[i];
  c->stat[AC_STAT_ENTROPY] = -sum / (double)B;
  c->stat[AC_STAT_ALPHA] = (double)lgv__ac_alpha(c);
  if (!c->p->learn_alpha) return;
  c->log_alpha.grad[0] = (float)-(sum / (double)B + c->p->target_entropy);
  lgv__ac_step(c, &c->log_alpha);
}

/* ---- statistics ---- */

static double norm(const float *x, int64_t count) { return sqrt(lgv__dqn_squares(x, count)); }

static lgv_status not_finite(const actor_critic *c, const char *what, lgv_error *err) {
  const running_scale_params *s = &c->p->deep.scale;
  bool floats = c->env.obs_kind == LGV_OBS_FLOAT;
  return lgv_fail(err, LGV_ERR_NUMERIC,
                  "%s is not a finite number in update %lld: %s%slower optim.lr", what,
                  (long long)c->count[AC_UPDATES],
                  floats && !s->obs ? "set agent.normalize_obs = true, or " : "",
                  s->rewards ? "" : "set agent.scale_rewards = true, or ");
}

lgv_status lgv__ac_end_update(actor_critic *c, lgv_error *err) {
  bool watch = c->count[AC_UPDATES]++ % DQN_WATCH_EVERY == 0;
  c->stat[AC_STAT_UPDATES] = (double)c->count[AC_UPDATES];
  c->stat[AC_STAT_LOSS] = c->loss;
  if (!isfinite(c->loss)) return not_finite(c, "the loss", err);
  if (!isfinite(c->stat[AC_STAT_POLICY_LOSS])) return not_finite(c, "the policy's loss", err);
  if (!watch) return LGV_OK;
  c->stat[AC_STAT_GRAD_NORM] = norm(c->critic.grad, c->critic.copies * c->critic.dim);
  c->stat[AC_STAT_WEIGHT_NORM] = norm(c->critic.w, c->critic.copies * c->critic.dim);
  double all = c->stat[AC_STAT_WEIGHT_NORM] + norm(c->actor.w, c->actor.copies * c->actor.dim);
  return isfinite(all) ? LGV_OK : not_finite(c, "a parameter", err);
}

/* ---- hooks ---- */

void lgv__ac_set_stream(void *self, int32_t stream) { ((actor_critic *)self)->stream = stream; }

void lgv__ac_stats(const void *self, double *values) {
  memcpy(values, ((const actor_critic *)self)->stat, sizeof(double) * AC_STAT_ENTROPY);
}

void lgv__ac_alpha_stats(const void *self, double *values) {
  memcpy(values, ((const actor_critic *)self)->stat, sizeof(double) * AC_STATS);
}

void lgv__ac_policy_parts(const void *self, lgv_policy_parts *parts) {
  const actor_critic *c = self;
  parts->is_actor = true;
  parts->net = &c->actor_net;
  parts->w = c->actor.w;
  parts->copies = 1;
  parts->stride = c->actor.dim;
  parts->heads = parts->atoms = 1;
  parts->input = lgv__running_scale_map(&c->scale);
}
