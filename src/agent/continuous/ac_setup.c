/* How the shared actor-critic core is set up: parameters, memory, initial weights. The verbs are in
 * actor_critic.c. */
#include "agent/continuous/actor_critic.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/portable_math.h"
#include "base/spec.h"
#include "math/kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- observations and actions ---- */

/* Sparse observations as dense floats. */
static lgv_env_spec dense(const lgv_env_spec *env) {
  lgv_env_spec found = *env;
  found.obs_form = LGV_FORM_DENSE;
  return found;
}

/* Of (observation, action): a longer vector, or more floats beside the picture (or the bytes). */
static lgv_env_spec pair_of(const lgv_env_spec *env) {
  lgv_env_spec found = *env;
  int32_t parts = env->actions.parts;
  bool is_vector = env->obs_kind == LGV_OBS_FLOAT && env->obs_shape[1] * env->obs_shape[2] == 1;
  if (is_vector)
    found.obs_shape[0] += parts;
  else
    found.vector += parts;
  found.frames = 0; /* stacks are whole here */
  return found;
}

static lgv_status check_bounds(const lgv_action_space *space, lgv_error *err) {
  for (int32_t p = 0; p < space->parts; p++)
    if (!isfinite(space->high[p] - space->low[p]))
      return lgv_fail(
          err, LGV_ERR_USAGE,
          "part %d of an action lies in [%g, %g], but the agents for continuous actions "
          "need finite bounds: rescale the actions of the environment",
          p, (double)space->low[p], (double)space->high[p]);
  return LGV_OK;
}

/* ---- parameters ---- */

lgv_status lgv__ac_resolve(ac_params *p, const bool *is_set, const lgv_param *table,
                           const lgv_problem *problem, int32_t actor_outputs, lgv_error *err) {
  lgv_full_problem own = *lgv__full_problem(problem);
  double lr = ((const optim_params *)own.optim_params)->lr;
  int32_t parts = problem->env.actions.parts;
  bool index = problem->env.obs_form != LGV_FORM_DENSE;
  if (index && p->deep.scale.obs == NORMALIZE_AUTO) p->deep.scale.obs = NORMALIZE_FALSE;
  own.given.env = dense(&problem->env);
  LGV_TRY(check_bounds(&problem->env.actions, err));
  if (p->actor_lr == 0) p->actor_lr = lr;
  if (p->alpha_lr == 0) p->alpha_lr = lr;
  bool has_alpha = lgv__params_find(table, "target_entropy") >= 0;
  if (has_alpha && !lgv__params_is_set(table, is_set, "target_entropy")) p->target_entropy = -parts;
  return lgv__dqn_resolve_plain(&p->deep, &own.given, actor_outputs * parts, err);
}

/* ---- memory ---- */

/* In the order of lgv_layout_array's calls. */
typedef struct weight_names {
  const char *w, *t, *residual, *target, *grad, *slot[LGV_OPTIM_SLOTS];
} weight_names;

#define WEIGHT_NAMES(name)                                                                         \
  {                                                                                                \
    name, name ".t", name "_residual", name "_target", name ".grad", {                             \
      name ".slot0", name ".slot1", name ".slot2", name ".slot3"                                   \
    }                                                                                              \
  }

/* copies, dim and the optimizer are set. */
static void layout_weights(ac_weights *v, const weight_names *names, bool has_target,
                           lgv_layout *layout) {
  size_t all = (size_t)(v->copies * v->dim);
  bool compensated = ((const optim_params *)v->optim_params)->compensated;
  v->w = lgv_layout_array(layout, names->w, LGV_F32, all, LGV_KEEP);
  v->t = lgv_layout_array(layout, names->t, LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(layout, lgv__counter_fault, v->t);
  if (compensated) v->residual = lgv_layout_array(layout, names->residual, LGV_F32, all, LGV_KEEP);
  if (has_target) v->target = lgv_layout_array(layout, names->target, LGV_F32, all, LGV_KEEP);
  for (int32_t i = 0; i < v->optimizer->slots; i++) {
    v->slot[i] = lgv_layout_array(layout, names->slot[i], LGV_F32, all, LGV_KEEP);
    lgv__layout_for_learning(layout);
  }
  v->grad = lgv_layout_array(layout, names->grad, LGV_F32, all, LGV_SCRATCH);
}

/* Adam as the kernel set in use has it. */
static const lgv_optim_type *find_adam(void) {
  const lgv_optim_type *const *type = lgv__kernels()->optimizers;
  while (!(*type)->is_adam) type++;
  return *type;
}

static void layout_all_weights(actor_critic *c, const lgv_problem *problem, lgv_layout *layout) {
  static const weight_names actor = WEIGHT_NAMES("actor"), critic = WEIGHT_NAMES("critic"),
                            log_alpha = WEIGHT_NAMES("log_alpha");
  const optim_params adam = {.alpha1 = 0.9, .alpha2 = 0.999, .eps = 1e-8};
  const lgv_full_problem *full = lgv__full_problem(problem);
  c->actor_adam = c->alpha_adam = adam;
  c->actor_adam.lr = c->p->actor_lr;
  c->alpha_adam.lr = c->p->alpha_lr;
  c->actor = (ac_weights){.copies = c->sizes.actors,
                          .dim = c->actor_net.params,
                          .optimizer = find_adam(),
                          .optim_params = &c->actor_adam};
  c->critic = (ac_weights){.copies = c->sizes.critics,
                           .dim = c->critic_net.params,
                           .optimizer = full->optimizer,
                           .optim_params = full->optim_params};
  c->log_alpha =
      (ac_weights){.copies = 1, .dim = 1, .optimizer = find_adam(), .optim_params = &c->alpha_adam};
  layout_weights(&c->actor, &actor, c->sizes.actor_target, layout);
  layout_weights(&c->critic, &critic, true, layout);
  if (c->sizes.has_alpha) layout_weights(&c->log_alpha, &log_alpha, false, layout);
}

static const char *counter_fault(const void *self) {
  const actor_critic *c = self;
  return lgv__are_counts(c->count, AC_COUNTERS) ? NULL : "counter out of range";
}

static const char *experience_fault(const void *self) {
  return lgv__replay_fault(&((const actor_critic *)self)->replay);
}

static void layout_state(actor_critic *c, int64_t streams, lgv_layout *layout) {
  const dqn_params *d = &c->p->deep;
  c->count = lgv_layout_array(layout, "counters", LGV_I64, AC_COUNTERS, LGV_KEEP);
  lgv_layout_check(layout, counter_fault, c);
  c->noise = lgv_layout_array(layout, "noise", LGV_U8, sizeof(lgv_noise), LGV_KEEP);
  c->stat = lgv_layout_array(layout, "stats", LGV_F64, AC_STATS, LGV_KEEP);
  lgv__replay_layout(&c->replay, &c->env, streams, d->replay, (int32_t)d->n_step, d->gamma, layout);
  lgv_layout_check(layout, experience_fault, c);
  lgv__replay_batch_layout(&c->batch, &c->replay, d->batch, false, layout);
  lgv__running_scale_layout(&c->scale, &d->scale, &c->env, streams, d->gamma, layout);
}

static float *floats(lgv_layout *layout, const char *name, int64_t count) {
  return lgv_layout_array(layout, name, LGV_F32, (size_t)count, LGV_SCRATCH);
}

static void layout_policy(actor_critic *c, lgv_layout *layout) {
  int64_t rows = 2 * ac_batch(c), numbers = rows * c->P;
  c->policy = (tanh_gaussian){.parts = c->P,
                              .least = c->sizes.least,
                              .most = c->sizes.most,
                              .xi = floats(layout, "policy.xi", (numbers + 31) / 32 * 32),
                              .action = floats(layout, "policy.action", numbers)};
  if (c->sizes.actor_outputs == 1) return;
  c->policy.sigma = floats(layout, "policy.sigma", numbers);
  c->policy.room = floats(layout, "policy.room", numbers);
  c->policy.log_pi = floats(layout, "policy.log_pi", rows);
}

static void layout_passes(actor_critic *c, lgv_layout *layout) {
  int64_t B = ac_batch(c), inputs = (int64_t)lgv__obs_count(&c->pair) + c->pair.vector;
  size_t bytes = (size_t)B * lgv__obs_bytes(&c->pair);
  lgv__net_tape_layout(&c->act_tape, &c->actor_net, "act_tape", 1, false, layout);
  lgv__net_tape_layout(&c->actor_tape, &c->actor_net, "actor_tape", 2 * B, true, layout);
  for (int i = 0; i < AC_PAIR; i++) {
    lgv__net_tape_layout(&c->critic_tape[i], &c->critic_net, "critic_tape", B, true, layout);
    c->rows[i] = lgv_layout_array(layout, "rows", LGV_I32, (size_t)B, LGV_SCRATCH);
  }
  c->seen = lgv_layout_array(layout, "seen", LGV_U8, lgv__obs_bytes(&c->env), LGV_SCRATCH);
  c->pairs = lgv_layout_array(layout, "pairs", LGV_U8, bytes, LGV_SCRATCH);
  c->next_pairs = lgv_layout_array(layout, "next_pairs", LGV_U8, bytes, LGV_SCRATCH);
  c->y = floats(layout, "y", B);
  c->d_q = floats(layout, "d_q", B * c->sizes.critic_outputs);
  c->d_action = floats(layout, "d_action", B * c->P);
  c->d_some = floats(layout, "d_some", B * c->P);
  c->d_outputs = floats(layout, "d_outputs", B * c->P * c->sizes.actor_outputs);
  c->turned = floats(layout, "turned", c->P * c->critic_net.layer[c->critic_net.joins].outputs);
  if (!lgv__running_scale_maps(&c->p->deep.scale)) return;
  c->shift = floats(layout, "pair.shift", inputs);
  c->gain = floats(layout, "pair.gain", inputs);
}

static void build(net *n, const ac_params *p, const lgv_env_spec *env, int32_t outputs) {
  net_shape shape = lgv__dqn_body(&p->deep, env);
  shape.outputs = outputs;
  lgv_status built = lgv__net_build(n, &shape, NULL); /* lgv__ac_resolve checked it */
  assert(built == LGV_OK);
  (void)built;
}

void lgv__ac_layout(actor_critic *c, const ac_params *p, const lgv_problem *problem, ac_sizes sizes,
                    lgv_layout *layout) {
  c->p = p;
  c->sizes = sizes;
  c->env = dense(&problem->env);
  c->pair = pair_of(&c->env);
  c->P = c->env.actions.parts;
  build(&c->actor_net, p, &c->env, sizes.actor_outputs * c->P);
  build(&c->critic_net, p, &c->pair, sizes.critic_outputs);
  c->init = problem->init;
  c->act = problem->act;
  c->draw = problem->replay;
  c->seed_noise = problem->noise;
  layout_all_weights(c, problem, layout);
  layout_state(c, problem->streams > 1 ? problem->streams : 1, layout);
  layout_policy(c, layout);
  layout_passes(c, layout);
}

static void start_target(const ac_weights *v) {
  if (v->target) memcpy(v->target, v->w, (size_t)(v->copies * v->dim) * sizeof *v->w);
}

lgv_status lgv__ac_open(void *self, lgv_error *err) {
  (void)err;
  actor_critic *c = self;
  for (int64_t k = 0; k < c->actor.copies; k++)
    lgv__net_init(&c->actor_net, c->actor.w + k * c->actor.dim, c->init);
  for (int64_t k = 0; k < c->critic.copies; k++)
    lgv__net_init(&c->critic_net, c->critic.w + k * c->critic.dim, c->init);
  start_target(&c->actor);
  start_target(&c->critic);
  if (c->sizes.has_alpha) c->log_alpha.w[0] = (float)lgv__log(c->p->alpha);
  lgv__noise_seed(c->noise, c->seed_noise);
  return LGV_OK;
}
