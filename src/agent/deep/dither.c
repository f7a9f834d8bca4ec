#include "agent/deep/dither.h"

const char *const lgv__dithered_stat_names[] = {DITHER_STAT_NAMES, NULL};

double lgv__dither_epsilon(const dither_params *p, const dqn *c) {
  int64_t step = c->count[DQN_STEPS] - c->p->warmup;
  if (step < 0) return p->start;
  if (step >= p->steps) return p->end;
  return p->start + (p->end - p->start) * (double)step / (double)p->steps;
}

int32_t lgv__dither_act(const dither_params *p, dqn *c, const float *q, lgv_mode mode) {
  double epsilon = mode == LGV_TRAIN ? lgv__dither_epsilon(p, c) : p->eval;
  lgv_rng *stream = lgv__dqn_act_stream(c, mode);
  if (epsilon > 0 && lgv_rng_uniform(stream) < epsilon) return (int32_t)lgv_rng_below(stream, c->A);
  return lgv__dqn_greedy(c, q, mode);
}

lgv_status lgv__dithered_resolve(void *params, const bool *is_set, const lgv_problem *problem,
                                 lgv_error *err) {
  (void)is_set;
  return lgv__dqn_resolve(params, problem, 1, err);
}

void lgv__dithered_layout_as(dithered *s, const dithered_params *params, const lgv_problem *problem,
                             dqn_form form, lgv_layout *layout) {
  s->dither = &params->dither;
  lgv__dqn_layout(&s->core, &params->dqn, problem, form, layout);
}

void lgv__dithered_layout(void *self, const void *params, const lgv_problem *problem,
                          lgv_layout *layout) {
  lgv__dithered_layout_as(self, params, problem, (dqn_form){0}, layout);
}

lgv_status lgv__dithered_act(void *self, const lgv_obs *obs, lgv_mode mode, int32_t *action,
                             lgv_error *err) {
  (void)err;
  dithered *s = self;
  *action = lgv__dither_act(s->dither, &s->core, lgv__dqn_values(&s->core, s->core.w, obs), mode);
  return LGV_OK;
}

void lgv__dithered_stats(const void *self, double *values) {
  const dithered *s = self;
  lgv__dqn_stats(self, values);
  values[DQN_STATS] = lgv__dither_epsilon(s->dither, &s->core);
}
