/* How the shared DQN core is set up: parameters, memory, initial weights. The verbs are in
 * dqn_core.c. */
#include "agent/deep/dqn_core.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/spec.h"
#include "base/stack.h"
#include "math/kernels.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const lgv__dqn_preset_names[] = {"auto", "small", "atari", NULL};
const char *const lgv__dqn_net_names[] = {"auto", "mlp", "conv", "nature", NULL};
const char *const lgv__dqn_loss_names[] = {"mse", "huber", NULL};
const char *const lgv__dqn_precision_names[] = {"float", "bf16x3", "bf16", NULL};

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

net_shape lgv__dqn_body(const dqn_params *p, const lgv_env_spec *env) {
  net_convs convs = {0};
  lgv_status parsed = lgv__net_parse_convs(p->conv, &convs, NULL); /* lgv__dqn_resolve checked it */
  (void)parsed;
  return (net_shape){
      .family = p->net,
      .obs_kind = env->obs_kind,
      .obs_form = env->obs_form,
      .obs_shape = {env->obs_shape[0], env->obs_shape[1], env->obs_shape[2]},
      .vector = env->vector,
      .convs = convs,
      .hidden = p->hidden,
      .layer_norm = p->layer_norm,
      .input_scale = input_scale(p, env),
      .maps_input = lgv__running_scale_maps(&p->scale),
      .precision = p->precision,
  };
}

net_shape lgv__dqn_shape(const dqn_params *p, const lgv_env_spec *env, int32_t heads,
                         int32_t atoms) {
  net_shape shape = lgv__dqn_body(p, env);
  shape.outputs = env->actions.count * heads * atoms;
  shape.heads = heads;
  shape.atoms = atoms;
  shape.parts = lgv__action_parts(&env->actions);
  shape.dueling = p->dueling;
  shape.shared_bias = p->shared_bias;
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

static void notify_of_precision(const net *n, const lgv_problem *problem) {
  const lgv_full_problem *full = lgv__full_problem(problem);
  if (n->shape.precision == NET_FLOAT || lgv__net_has_blocks(n) || !full->notice) return;
  char text[240];
  snprintf(text, sizeof text,
           "agent.precision = %s has no effect: this network has no product of a hidden layer, "
           "since the output layer and a first layer of one-hot or thermometer observations stay "
           "in float",
           lgv__dqn_precision_names[n->shape.precision]);
  full->notice(full->notice_context, text);
}

static lgv_status resolve_inputs(dqn_params *p, const lgv_problem *problem, lgv_error *err) {
  net_convs convs;
  LGV_TRY(lgv__net_parse_convs(p->conv, &convs, err));
  return lgv__running_scale_resolve(&p->scale, &problem->env, err);
}

static lgv_status resolve_net(dqn_params *p, const lgv_problem *problem, const net_shape *shape,
                              lgv_error *err) {
  net built;
  LGV_TRY(lgv__net_build(&built, shape, err));
  p->net = built.shape.family;
  p->hidden = built.shape.hidden;
  lgv__net_format_convs(&built.shape.convs, p->conv, sizeof p->conv);
  notify_of_precision(&built, problem);
  return check_replay(p, problem, err);
}

lgv_status lgv__dqn_resolve_plain(dqn_params *p, const lgv_problem *problem, int32_t outputs,
                                  lgv_error *err) {
  LGV_TRY(resolve_inputs(p, problem, err));
  net_shape shape = lgv__dqn_body(p, &problem->env);
  shape.outputs = outputs;
  return resolve_net(p, problem, &shape, err);
}

lgv_status lgv__dqn_resolve(dqn_params *p, const lgv_problem *problem, dqn_sizes sizes,
                            lgv_error *err) {
  const lgv_env_spec *env = &problem->env;
  sizes = complete(sizes);
  if ((double)env->actions.count * sizes.heads * sizes.atoms > INT32_MAX)
    return lgv_fail(err, LGV_ERR_USAGE, "%d actions are too many for a network",
                    env->actions.count);
  LGV_TRY(resolve_inputs(p, problem, err));
  net_shape shape = shape_of(p, env, sizes);
  return resolve_net(p, problem, &shape, err);
}

/* ---- memory ---- */

static bool is_compensated(const dqn *c) {
  return c->optimizer && ((const optim_params *)c->optim_params)->compensated;
}

/* Runs as the check of a file that was loaded: whatever the arrays hold, it is new. */
static const char *forget_tiles(const void *self) {
  lgv__dqn_changed((dqn *)self, NULL);
  return NULL;
}

static void layout_vectors(dqn *c, lgv_layout *layout) {
  static const char *const slots[LGV_OPTIM_SLOTS] = {"optim.slot0", "optim.slot1", "optim.slot2",
                                                     "optim.slot3"};
  size_t all = (size_t)(c->sizes.copies * c->dim);
  c->w = lgv_layout_array(layout, "w", LGV_F32, all, LGV_KEEP);
  lgv_layout_check(layout, forget_tiles, c);
  c->w_target =
      c->sizes.no_target ? NULL : lgv_layout_array(layout, "w_target", LGV_F32, all, LGV_KEEP);
  for (int32_t i = 0; c->optimizer && i < c->optimizer->slots; i++) {
    c->slot[i] = lgv_layout_array(layout, slots[i], LGV_F32, all, LGV_KEEP);
    lgv__layout_for_learning(layout);
  }
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
  int64_t B = c->p->batch, rows = dqn_rows(c);
  int64_t both = c->sizes.cosines ? rows : rows + B; /* lgv__dqn_forward joins obs and next */
  lgv__net_tiles_layout(&c->tiles, &c->net, "tiles", true, layout);
  lgv__net_tiles_layout(&c->target_tiles, &c->net, "target_tiles", false, layout);
  c->tiles.exposed = c->target_tiles.exposed = c->exposed;
  lgv__net_tape_layout_with(&c->tape, &c->net, "tape", both, true, &c->tiles, layout);
  lgv__net_tape_layout_with(&c->target_tape, &c->net, "target_tape", B, false, &c->target_tiles,
                            layout);
  lgv__net_tape_layout_with(&c->act_tape, &c->net, "act_tape", 1, false, &c->tiles, layout);
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
  c->exposed = &lgv__full_problem(problem)->exposed;
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
  lgv__dqn_changed(c, NULL);
  lgv__noise_seed(c->noise, c->seed_noise);
  if (c->p->priority.on) lgv__priority_open(&c->priority);
  return LGV_OK;
}
