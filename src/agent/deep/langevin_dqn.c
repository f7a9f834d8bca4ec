#include "agent/deep/langevin_dqn.h"

#include "agent/export.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/param.h"

#include <math.h>
#include <string.h>

const char *const lgv__langevin_stages_names[] = {"shared", "per-stage", NULL};
const char *const lgv__langevin_warmup_names[] = {"greedy", "uniform", NULL};
const char *const lgv__langevin_stat_names[] = {DQN_STAT_NAMES, NULL};

/* ---- parameters and memory ---- */

static lgv_status resolve_per_stage(langevin_params *p, const bool *is_set,
                                    const lgv_problem *problem, lgv_error *err) {
  dqn_params *d = &p->dqn;
  if (problem->env.horizon == 0)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.stages = per-stage needs an environment whose episodes have a fixed "
                    "horizon");
  if (d->n_step != 1 || d->double_q)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "agent.stages = per-stage looks one stage ahead and has no target network: set "
                    "agent.n_step = 1 and agent.double = false");
  if (!is_set[DQN_PARAM_GAMMA]) d->gamma = 1;
  d->update_every = 0;
  return LGV_OK;
}

lgv_status lgv__langevin_resolve(void *params, const bool *is_set, const lgv_problem *problem,
                                 lgv_error *err) {
  langevin_params *p = params;
  if (p->stages == LANGEVIN_PER_STAGE) LGV_TRY(resolve_per_stage(p, is_set, problem, err));
  if (p->final_lr < 1 && lgv__params_find(problem->optimizer->params, "lr") < 0)
    return lgv_fail(err, LGV_ERR_USAGE, "agent.final_lr: the optimizer %s has no lr",
                    problem->optimizer->name);
  return lgv__dqn_resolve(&p->dqn, problem, 1, err);
}

void lgv__langevin_layout(void *self, const void *params, const lgv_problem *problem,
                          lgv_layout *layout) {
  langevin *s = self;
  s->p = params;
  s->H = s->p->stages == LANGEVIN_PER_STAGE ? problem->env.horizon : 0;
  dqn_form form = {.copies = s->H, .with_first = s->p->feel_good > 0, .no_target = s->H > 0};
  lgv__dqn_layout(&s->core, &s->p->dqn, problem, form, layout);
  s->episodes = lgv_layout_array(layout, "episodes", LGV_I64, 1, LGV_KEEP);
  lgv_layout_check(layout, lgv__counter_fault, s->episodes);
  s->steps_planned = problem->steps;
  s->episodes_planned = problem->episodes;
  size_t params_size = problem->optimizer->params_size;
  s->optim_params = s->p->final_lr < 1
                        ? lgv_layout_array(layout, "optim.params", LGV_U8, params_size, LGV_SCRATCH)
                        : NULL;
  size_t all = (size_t)(s->core.form.copies * s->core.dim);
  s->w_mean = s->p->average > 0 ? lgv_layout_array(layout, "w_mean", LGV_F32, all, LGV_KEEP) : NULL;
  if (s->H == 0) return;
  s->order = lgv_layout_array(layout, "order", LGV_I64, (size_t)s->p->dqn.replay, LGV_SCRATCH);
  s->start = lgv_layout_array(layout, "start", LGV_I64, (size_t)s->H + 1, LGV_SCRATCH);
}

/* ---- the update ---- */

/* Of - eta_fg mean max_a Q(s_1, a); the rows of first observations lie behind the others. */
static void add_feel_good(langevin *s) {
  dqn *c = &s->core;
  int64_t B = c->p->batch;
  float share = (float)s->p->feel_good / (float)B;
  for (int64_t i = B; i < 2 * B; i++) {
    const float *q = c->q + i * c->outputs;
    int32_t best = lgv__dqn_first_best(q, c->A);
    c->d_q[i * c->outputs + best] -= share;
    c->loss -= (double)(share * q[best]);
  }
}

/* The share of the budget that is spent; steps count if they are bounded, else episodes. */
static double progress(const langevin *s) {
  if (s->steps_planned > 0)
    return fmin(1, (double)s->core.count[DQN_STEPS] / (double)s->steps_planned);
  if (s->episodes_planned > 0) return fmin(1, (double)s->episodes[0] / (double)s->episodes_planned);
  return 0;
}

static void average(langevin *s, int64_t k) {
  const dqn *c = &s->core;
  const float *w = c->w + k * c->dim;
  float *mean = s->w_mean + k * c->dim;
  float share = (float)(1 / fmin((double)s->p->average, (double)c->t[k]));
  for (int64_t i = 0; i < c->dim; i++) mean[i] += share * (w[i] - mean[i]);
}

/* From the targets on, for copy k with parameters w. */
static lgv_status descend(langevin *s, int64_t k, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_loss(c);
  if (c->form.with_first) add_feel_good(s);
  lgv__dqn_backward(c, c->w + k * c->dim, c->grad);
  if (s->optim_params) *s->lr = s->full_lr * (1 - (1 - s->p->final_lr) * progress(s));
  lgv__dqn_step(c, k);
  if (s->w_mean) average(s, k);
  return lgv__dqn_end_update(c, err);
}

static lgv_status update(langevin *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__dqn_sample(c);
  lgv__dqn_forward(c, c->w, c->w_target);
  lgv__dqn_targets(c);
  lgv__dqn_refresh_target(c, 0);
  return descend(s, 0, err);
}

/* ---- Algorithm 2 as printed ---- */

static void sample_stage(langevin *s, int64_t h) {
  dqn *c = &s->core;
  int64_t first = s->start[h], count = s->start[h + 1] - first;
  for (int64_t i = 0; i < c->batch.size; i++)
    c->batch.entry[i] = s->order[first + lgv_rng_below(c->draw, count)];
  lgv__replay_gather(&c->replay, &c->batch);
  if (h + 1 == s->H) /* Q_{H+1} = 0, even where the clock only truncates */
    memset(c->batch.discount, 0, (size_t)c->batch.size * sizeof *c->batch.discount);
}

static lgv_status sweep(langevin *s, lgv_error *err) {
  dqn *c = &s->core;
  lgv__replay_sort_by_age(&c->replay, s->H, s->order, s->start);
  for (int64_t h = s->H - 1; h >= 0; h--) {
    if (s->start[h] == s->start[h + 1]) continue; /* never reached */
    const float *w = c->w + h * c->dim, *w_next = h + 1 < s->H ? w + c->dim : w;
    for (int64_t j = 0; j < c->p->updates; j++) {
      sample_stage(s, h);
      lgv__dqn_forward(c, w, w_next);
      lgv__dqn_targets(c);
      LGV_TRY(descend(s, h, err));
    }
  }
  return LGV_OK;
}

/* ---- hooks ---- */

lgv_status lgv__langevin_open(void *self, lgv_error *err) {
  langevin *s = self;
  dqn *c = &s->core;
  if (s->optim_params) {
    int row = lgv__params_find(c->optimizer->params, "lr");
    memcpy(s->optim_params, c->optim_params, c->optimizer->params_size);
    s->lr = (double *)((char *)s->optim_params + c->optimizer->params[row].offset);
    s->full_lr = *s->lr;
    c->optim_params = s->optim_params;
  }
  LGV_TRY(lgv__dqn_open(self, err));
  if (s->w_mean) memcpy(s->w_mean, c->w, (size_t)(c->form.copies * c->dim) * sizeof *c->w);
  return LGV_OK;
}

lgv_status lgv__langevin_begin_episode(void *self, lgv_error *err) {
  langevin *s = self;
  bool ready = s->core.count[DQN_STEPS] >= s->core.p->warmup;
  return s->H > 0 && ready ? sweep(s, err) : LGV_OK;
}

/* The parameters that act at the observation. */
static lgv_status actor(langevin *s, const lgv_obs *obs, lgv_mode mode, const float **w,
                        lgv_error *err) {
  if (s->H > 0 && (obs->stage < 0 || obs->stage >= s->H))
    return lgv_fail(err, LGV_ERR_USAGE, "stage %lld is outside the horizon of %lld stages",
                    (long long)obs->stage, (long long)s->H);
  const float *all = mode == LGV_EVAL && s->w_mean ? s->w_mean : s->core.w;
  *w = all + (s->H > 0 ? obs->stage * s->core.dim : 0);
  return LGV_OK;
}

lgv_status lgv__langevin_act(void *self, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                             lgv_error *err) {
  langevin *s = self;
  dqn *c = &s->core;
  const float *w = NULL;
  LGV_TRY(actor(s, obs, mode, &w, err));
  bool warms_up = mode == LGV_TRAIN && c->count[DQN_STEPS] < c->p->warmup;
  if (warms_up && s->p->warmup_actions == LANGEVIN_UNIFORM) {
    *action = (int32_t)lgv_rng_below(c->act, c->A);
    return LGV_OK;
  }
  *action = lgv__dqn_greedy(c, lgv__dqn_values(c, w, obs), mode);
  return LGV_OK;
}

lgv_status lgv__langevin_q_values(void *self, const lgv_obs *obs, double *q, lgv_error *err) {
  langevin *s = self;
  const float *w = NULL;
  LGV_TRY(actor(s, obs, LGV_EVAL, &w, err));
  lgv__dqn_copy_values(&s->core, lgv__dqn_values(&s->core, w, obs), q);
  return LGV_OK;
}

void lgv__langevin_policy_parts(const void *self, lgv_policy_parts *parts) {
  const langevin *s = self;
  lgv__dqn_policy_parts(self, parts);
  if (s->w_mean) parts->w = s->w_mean;
  parts->by_stage = s->H > 0;
}

lgv_status lgv__langevin_observe(void *self, const lgv_transition *transition, lgv_error *err) {
  langevin *s = self;
  lgv__dqn_remember(&s->core, transition);
  for (int64_t j = lgv__dqn_updates_due(&s->core); j > 0; j--) LGV_TRY(update(s, err));
  return LGV_OK;
}

lgv_status lgv__langevin_end_episode(void *self, lgv_error *err) {
  langevin *s = self;
  s->episodes[0]++;
  if (s->H > 0) return LGV_OK; /* the sweep comes before the next episode */
  for (int64_t j = lgv__dqn_updates_due_between_episodes(&s->core); j > 0; j--)
    LGV_TRY(update(s, err));
  return LGV_OK;
}
