#include "agent/deep/dqn_core.h"

#include "agent/agent.h"
#include "agent/export.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/param.h"
#include "base/spec.h"
#include "base/stack.h"
#include "math/kernels.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LARGE_INPUT = 100 }; /* observations as large as this are named when a loss overflows */

const char *const lgv__dqn_preset_names[] = {"auto", "small", "atari", NULL};
const char *const lgv__dqn_net_names[] = {"auto", "mlp", "conv", "nature", NULL};
const char *const lgv__dqn_loss_names[] = {"mse", "huber", NULL};

/* ---- parameters ---- */

static dqn_sizes complete(dqn_sizes sizes) {
  if (sizes.copies == 0) sizes.copies = 1;
  if (sizes.heads == 0) sizes.heads = 1;
  if (sizes.atoms == 0) sizes.atoms = 1;
  if (sizes.taus == 0) sizes.taus = 1;
  if (sizes.vectors == 0) sizes.vectors = 1;
  return sizes;
}

/* The factor of every input. */
static float input_scale(const dqn_params *p, const lgv_env_spec *env) {
  if (p->scale.input == SCALE_TRUE && env->obs_kind == LGV_OBS_BYTE) return 1.0f / 255;
  if (p->one_hot_gain > 0 && env->obs_form == LGV_FORM_ONE_HOT)
    return (float)(p->one_hot_gain * sqrt((double)env->obs_shape[0]));
  return 1;
}

net_shape lgv__dqn_shape(const dqn_params *p, const lgv_env_spec *env, int32_t heads,
                         int32_t atoms) {
  net_convs convs = {0};
  lgv_status parsed = lgv__net_parse_convs(p->conv, &convs, NULL); /* lgv__dqn_resolve checked it */
  (void)parsed;
  net_shape shape = {
      .family = p->net,
      .obs_kind = env->obs_kind,
      .obs_form = env->obs_form,
      .obs_shape = {env->obs_shape[0], env->obs_shape[1], env->obs_shape[2]},
      .vector = env->vector,
      .convs = convs,
      .hidden = p->hidden,
      .outputs = env->actions.count * heads * atoms,
      .heads = heads,
      .atoms = atoms,
      .parts = lgv__action_parts(&env->actions),
      .layer_norm = p->layer_norm,
      .dueling = p->dueling,
      .shared_bias = p->shared_bias,
      .input_scale = input_scale(p, env),
      .maps_input = lgv__running_scale_maps(&p->scale),
  };
  for (int32_t i = 0; i < shape.parts; i++)
    shape.part_sizes[i] = lgv__part_choices(&env->actions, i);
  return shape;
}

static net_shape shape_of(const dqn_params *p, const lgv_env_spec *env, dqn_sizes sizes) {
  net_shape shape = lgv__dqn_shape(p, env, sizes.heads, sizes.atoms);
  shape.cosines = sizes.cosines;
  shape.taus = sizes.taus;
  return shape;
}

static int32_t streams_of(const lgv_problem *problem) {
  return problem->streams > 1 ? problem->streams : 1;
}

static lgv_status check_replay(const dqn_params *p, const lgv_problem *problem, lgv_error *err) {
  if (p->warmup >= p->replay)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.warmup = %lld transitions never fit into agent.replay = %lld",
                    (long long)p->warmup, (long long)p->replay);
  int64_t streams = streams_of(problem), least = lgv__frames(&problem->env) + 1;
  if (p->replay / streams < least) /* with fewer, no stack would ever be whole */
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.replay = %lld must hold at least %lld steps of each of run.envs = %lld "
                    "environments",
                    (long long)p->replay, (long long)least, (long long)streams);
  return LGV_OK;
}

lgv_status lgv__dqn_resolve(dqn_params *p, const lgv_problem *problem, dqn_sizes sizes,
                            lgv_error *err) {
  const lgv_env_spec *env = &problem->env;
  sizes = complete(sizes);
  if ((double)env->actions.count * sizes.heads * sizes.atoms > INT32_MAX)
    return lgv_fail(err, LGV_ERR_USAGE, "%d actions are too many for a network",
                    env->actions.count);
  net_convs convs;
  LGV_TRY(lgv__net_parse_convs(p->conv, &convs, err));
  LGV_TRY(lgv__running_scale_resolve(&p->scale, env, err));
  net_shape shape = shape_of(p, env, sizes);
  net built;
  LGV_TRY(lgv__net_build(&built, &shape, err));
  p->net = built.shape.family;
  p->hidden = built.shape.hidden;
  lgv__net_format_convs(&built.shape.convs, p->conv, sizeof p->conv);
  return check_replay(p, problem, err);
}

/* ---- memory ---- */

static bool is_compensated(const dqn *c) {
  return c->optimizer && ((const optim_params *)c->optim_params)->compensated;
}

static void layout_vectors(dqn *c, lgv_layout *layout) {
  static const char *const slots[LGV_OPTIM_SLOTS] = {"optim.slot0", "optim.slot1", "optim.slot2",
                                                     "optim.slot3"};
  size_t all = (size_t)(c->sizes.copies * c->dim);
  c->w = lgv_layout_array(layout, "w", LGV_F32, all, LGV_KEEP);
  c->w_target =
      c->sizes.no_target ? NULL : lgv_layout_array(layout, "w_target", LGV_F32, all, LGV_KEEP);
  for (int32_t i = 0; c->optimizer && i < c->optimizer->slots; i++)
    c->slot[i] = lgv_layout_array(layout, slots[i], LGV_F32, all, LGV_KEEP);
  c->residual =
      is_compensated(c) ? lgv_layout_array(layout, "w_residual", LGV_F32, all, LGV_KEEP) : NULL;
  c->grad = lgv_layout_array(layout, "grad", LGV_F32, (size_t)c->dim, LGV_SCRATCH);
}

/* The shape of an MLP without its first layer. */
static net_shape above_first(net_shape shape) {
  shape.family = NET_MLP;
  shape.obs_form = LGV_FORM_DENSE;
  shape.obs_shape[0] = shape.hidden.value[0];
  shape.obs_shape[1] = shape.obs_shape[2] = 1;
  shape.hidden.count--;
  for (int32_t i = 0; i < shape.hidden.count; i++)
    shape.hidden.value[i] = shape.hidden.value[i + 1];
  return shape;
}

static const char *counter_fault(const void *self) {
  const dqn *c = self;
  if (!lgv__are_counts(c->count, DQN_COUNTERS)) return "counters: counter out of range";
  bool ok = lgv__are_counts(c->t, (size_t)c->sizes.copies);
  return ok ? NULL : "counter out of range";
}

static const char *experience_fault(const void *self) {
  const dqn *c = self;
  const char *fault = lgv__replay_fault(&c->replay);
  return fault || !c->p->priority.on ? fault : lgv__priority_fault(&c->priority, &c->replay);
}

static int64_t rows_of(const dqn *c) { return c->p->batch * (1 + c->sizes.with_first); }

static void layout_counters(dqn *c, lgv_layout *layout) {
  c->count = lgv_layout_array(layout, "counters", LGV_I64, DQN_COUNTERS, LGV_KEEP);
  c->t = lgv_layout_array(layout, "optim.t", LGV_I64, (size_t)c->sizes.copies, LGV_KEEP);
  lgv_layout_check(layout, counter_fault, c);
  c->noise = lgv_layout_array(layout, "noise", LGV_U8, sizeof(lgv_noise), LGV_KEEP);
  c->stat = lgv_layout_array(layout, "stats", LGV_F64, DQN_STATS, LGV_KEEP);
}

static void layout_experience(dqn *c, int64_t streams, lgv_layout *layout) {
  const dqn_params *p = c->p;
  lgv__replay_layout(&c->replay, &c->env, streams, p->replay, (int32_t)p->n_step, p->gamma, layout);
  lgv_layout_check(layout, experience_fault, c);
  lgv__replay_batch_layout(&c->batch, &c->replay, p->batch, c->sizes.with_first, layout);
}

static void layout_passes(dqn *c, lgv_layout *layout) {
  int64_t B = c->p->batch, rows = rows_of(c);
  int64_t both = c->sizes.cosines ? rows : rows + B; /* lgv__dqn_forward joins obs and next */
  lgv__net_tape_layout(&c->tape, &c->net, "tape", both, true, layout);
  lgv__net_tape_layout(&c->target_tape, &c->net, "target_tape", B, false, layout);
  lgv__net_tape_layout(&c->act_tape, &c->net, "act_tape", 1, false, layout);
  size_t seen = lgv__replay_encoded_bytes(&c->env),
         d_q = (size_t)(rows * c->sizes.taus * c->outputs);
  c->seen = lgv_layout_array(layout, "seen", LGV_U8, seen, LGV_SCRATCH);
  c->values = lgv_layout_array(layout, "values", LGV_F64, (size_t)c->A, LGV_SCRATCH);
  c->y = lgv_layout_array(layout, "y", LGV_F32, (size_t)B, LGV_SCRATCH);
  c->d_q = lgv_layout_array(layout, "d_q", LGV_F32, d_q, LGV_SCRATCH);
  c->error = lgv_layout_array(layout, "error", LGV_F32, (size_t)B, LGV_SCRATCH);
}

/* Arrays that not every agent has; the others' stay NULL. */
static void layout_extras(dqn *c, lgv_layout *layout) {
  size_t B = (size_t)c->p->batch, A = (size_t)c->A;
  if (c->sizes.distributional) {
    c->mean = lgv_layout_array(layout, "mean", LGV_F32, B * A, LGV_SCRATCH);
    c->best = lgv_layout_array(layout, "best", LGV_I32, B, LGV_SCRATCH);
    c->act_q = lgv_layout_array(layout, "act_q", LGV_F32, A, LGV_SCRATCH);
  }
  if (c->p->priority.on) {
    lgv__priority_layout(&c->priority, &c->p->priority, &c->replay, c->p->batch, layout);
    c->weight = lgv_layout_array(layout, "weight", LGV_F32, B, LGV_SCRATCH);
  }
}

static void build_net(dqn *c) {
  net_shape shape = shape_of(c->p, &c->env, c->sizes);
  if (c->sizes.above_first) shape = above_first(shape);
  lgv_status built = lgv__net_build(&c->net, &shape, NULL); /* lgv__dqn_resolve checked it */
  assert(built == LGV_OK);
  (void)built;
}

void lgv__dqn_layout(dqn *c, const dqn_params *p, const lgv_problem *problem, dqn_sizes sizes,
                     lgv_layout *layout) {
  c->p = p;
  c->env = problem->env;
  c->sizes = complete(sizes);
  build_net(c);
  c->A = problem->env.actions.count;
  c->parts = lgv__action_parts(&problem->env.actions);
  c->outputs = c->sizes.heads * c->A * c->sizes.atoms;
  c->dim = c->sizes.vectors * c->net.params;
  c->optimizer = lgv__full_problem(problem)->optimizer;
  c->optim_params = lgv__full_problem(problem)->optim_params;
  c->lr_scale = 1;
  c->init = problem->init;
  c->act = problem->act;
  c->draw = problem->replay;
  c->eval = problem->eval;
  c->seed_noise = problem->noise;
  layout_counters(c, layout);
  layout_vectors(c, layout);
  layout_experience(c, streams_of(problem), layout);
  lgv__running_scale_layout(&c->scale, &p->scale, &c->env, streams_of(problem), p->gamma, layout);
  layout_passes(c, layout);
  layout_extras(c, layout);
}

lgv_status lgv__dqn_open(void *self, lgv_error *err) {
  (void)err;
  dqn *c = self;
  for (int64_t k = 0; k < c->sizes.copies; k++) lgv__net_init(&c->net, c->w + k * c->dim, c->init);
  if (c->w_target) memcpy(c->w_target, c->w, (size_t)(c->sizes.copies * c->dim) * sizeof *c->w);
  lgv__noise_seed(c->noise, c->seed_noise);
  if (c->p->priority.on) lgv__priority_open(&c->priority);
  return LGV_OK;
}

net_input lgv__dqn_input(const dqn *c, const void *encoded) {
  net_input input = lgv__replay_input(&c->env, encoded);
  input.map = lgv__running_scale_map(&c->scale);
  return input;
}

/* ---- acting ---- */

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

void lgv__dqn_greedy(dqn *c, const float *q, const lgv_obs *obs, lgv_mode mode,
                     lgv_action *action) {
  lgv_rng *stream = lgv__dqn_act_stream(c, mode);
  lgv__dqn_copy_values(c, q, c->values);
  for (int32_t p = 0, first = 0; p < c->parts; p++) {
    int32_t count = lgv__part_choices(&c->env.actions, p);
    action->choices[p] = lgv__argmax(c->values + first, mask_of(obs->mask, first), count, stream);
    first += count;
  }
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

int64_t lgv__dqn_updates_due(const dqn *c) {
  int64_t learned_from = c->count[DQN_STEPS] - c->p->warmup;
  bool now = c->p->update_every > 0 && learned_from > 0 && learned_from % c->p->update_every == 0;
  return now ? c->p->updates : 0;
}

int64_t lgv__dqn_updates_due_between_episodes(const dqn *c) {
  bool now = c->p->update_every == 0 && c->count[DQN_STEPS] >= c->p->warmup;
  return now ? c->p->updates : 0;
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
  int64_t rows = rows_of(c), next = chooses_online(c) ? c->p->batch : 0;
  c->q = forward(c, w, c->batch.obs, rows + next, &c->tape);
  c->q_next = next ? c->q + rows * c->outputs : NULL;
  c->q_target = forward(c, w_target, c->batch.next, c->p->batch, &c->target_tape);
}

void lgv__dqn_forward_obs(dqn *c, const float *w) {
  c->q = forward(c, w, c->batch.obs, rows_of(c), &c->tape);
}

void lgv__dqn_forward_next(dqn *c, const float *w, const float *w_target) {
  c->q_next = chooses_online(c) ? forward(c, w, c->batch.next, c->p->batch, &c->tape) : NULL;
  c->q_target = forward(c, w_target, c->batch.next, c->p->batch, &c->target_tape);
}

int32_t lgv__dqn_best_of_part(const dqn *c, const float *q, const uint8_t *mask, int32_t part,
                              int32_t first) {
  int32_t count = lgv__part_choices(&c->env.actions, part);
  const float *value = q + first;
  const uint8_t *allowed = mask_of(mask, first);
  int32_t best = lgv__first_allowed(allowed, count);
  for (int32_t a = best + 1; a < count; a++)
    if ((!allowed || allowed[a]) && value[a] > value[best]) best = a;
  return best;
}

float lgv__dqn_best_value(const dqn *c, const float *select, const uint8_t *mask,
                          const float *value) {
  float sum = 0;
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
  for (int64_t i = 0; i < c->p->batch; i++) {
    const uint8_t *mask = mask_at(c, c->batch.next_mask, i);
    float best = lgv__dqn_best_value(c, select + i * stride, mask, value + i * stride);
    y[i] = c->batch.reward[i] + c->batch.discount[i] * best;
  }
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
  return true;
}

void lgv__dqn_loss_clear(dqn *c) {
  size_t count = (size_t)(rows_of(c) * c->sizes.taus * c->outputs);
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

void lgv__dqn_loss_add(dqn *c, const float *q, const float *y, const float *weight, float *d_q) {
  float share = 1.0f / (float)(c->p->batch * c->parts);
  double sum = 0;
  for (int64_t i = 0; i < c->p->batch; i++) {
    const int32_t *choice = c->batch.action + i * c->parts;
    float w = weight ? weight[i] : 1, error = 0;
    for (int32_t p = 0, first = 0; p < c->parts; p++) {
      int64_t at = i * c->outputs + first + choice[p];
      float e = q[at] - y[i], slope;
      sum += (double)(c->p->loss == DQN_HUBER ? huber(w, e, &slope) : mse(w, e, &slope));
      d_q[at] += share * slope;
      error += fabsf(e);
      first += lgv__part_choices(&c->env.actions, p);
    }
    c->error[i] = error / (float)c->parts;
  }
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
  lgv__net_backward(&c->net, w, lgv__dqn_input(c, c->batch.obs), rows_of(c), &c->tape, c->d_q,
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
                         .noise = c->noise};
  for (int32_t i = 0; i < c->optimizer->slots; i++) step.slot[i] = c->slot[i] + at;
  c->optimizer->step(c->optim_params, &step);
}

/* ---- statistics ---- */

static void take_q_stats(dqn *c) {
  double sum = 0, squares = 0, most = -INFINITY, B = (double)c->p->batch;
  for (int64_t i = 0; i < c->p->batch; i++) {
    const float *q = c->mean ? c->mean + i * c->A : c->q + i * c->outputs;
    double best = (double)lgv__dqn_best_value(c, q, mask_at(c, c->batch.obs_mask, i), q);
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

static lgv_status not_finite(const dqn *c, const char *what, lgv_error *err) {
  char inputs[160];
  advise_on_inputs(c, inputs, sizeof inputs);
  bool can_change_loss = !c->sizes.distributional && c->p->loss != DQN_HUBER;
  return lgv_fail(
      err, LGV_ERR_NUMERIC, "%s is not a finite number in update %lld: %s%s%slower optim.lr", what,
      (long long)c->count[DQN_UPDATES], inputs, can_change_loss ? "set agent.loss = huber, " : "",
      c->p->scale.rewards ? "" : "set agent.scale_rewards = true, or ");
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
