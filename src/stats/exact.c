#include "stats/exact.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>

uint64_t lgv__exact_bytes(const lgv_env_spec *spec, bool policies) {
  double table = (double)spec->horizon * (double)spec->states, entries = table + spec->states;
  double numbers = policies ? 2 * entries + table * spec->actions.count : entries;
  return numbers < 0x1p60 ? (uint64_t)numbers * sizeof(double) : UINT64_MAX;
}

lgv_status lgv__exact_open(lgv_exact *exact, const lgv_env *env, bool policies, lgv_error *err) {
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  *exact = (lgv_exact){.model = lgv_env_get_model(env),
                       .horizon = spec->horizon,
                       .states = spec->states,
                       .actions = spec->actions.count,
                       .optimal_mean = NAN};
  if (!exact->model) return LGV_OK;
  if (lgv__exact_bytes(spec, policies) == UINT64_MAX)
    return lgv__out_of_memory(err, "exact values");
  size_t table = (size_t)(spec->horizon * spec->states), entries = table + (size_t)spec->states;
  exact->optimal = lgv__calloc(entries, sizeof(double));
  exact->values = policies ? lgv__calloc(entries, sizeof(double)) : NULL;
  exact->policy =
      policies ? lgv__calloc(table * (size_t)spec->actions.count, sizeof(double)) : NULL;
  if (!exact->optimal || (policies && (!exact->values || !exact->policy)))
    return lgv__out_of_memory(err, "exact values");
  lgv_model_optimal(exact->model, exact->optimal);
  exact->optimal_mean = lgv_model_start_mean(exact->model, exact->optimal);
  return LGV_OK;
}

void lgv__exact_close(lgv_exact *exact) {
  lgv__free(exact->optimal);
  lgv__free(exact->policy);
  lgv__free(exact->values);
}

double lgv__exact_evaluate(lgv_exact *exact, const lgv_agent *agent, int64_t start,
                           double *regret) {
  for (int64_t h = 0; h < exact->horizon; h++) {
    lgv_obs obs = {.stage = h, .mask = lgv_model_mask(exact->model, h, 0)};
    for (int64_t s = 0; s < exact->states; s++) {
      double *p = exact->policy + (h * exact->states + s) * exact->actions;
      obs.state = s;
      lgv_status ok = lgv_agent_policy(agent, &obs, p, NULL);
      (void)ok; /* (h, s) is inside, and the caller knows that the hook is there */
      if (obs.mask) obs.mask += exact->actions;
    }
  }
  lgv_model_evaluate(exact->model, exact->policy, exact->values);
  *regret = exact->optimal[start] - exact->values[start];
  return lgv_model_start_mean(exact->model, exact->values);
}
