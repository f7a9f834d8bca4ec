/* A plan: validated, resolved, immutable settings. */
#ifndef LGV_CONFIG_PLAN_H
#define LGV_CONFIG_PLAN_H

#include "agent/builtin.h"
#include "base/io/json.h"
#include "config/run_params.h"
#include "env/common_params.h"
#include "langevin.h"

struct lgv_plan {
  const lgv_env_type *env_type;
  const lgv_agent_type *agent_type;
  const lgv_optim_type *optim_type;     /* NULL if the agent takes none */
  const lgv_feature_type *feature_type; /* NULL if the agent uses none */
  void *env_params, *agent_params, *optim_params, *feature_params;
  lgv_env_common env_common;
  lgv_run_params run;
  lgv_host host;    /* for the environments of runs */
  lgv_env_spec env; /* features and bounds are NULL here: each run's environment has its own */
  bool has_model;
  uint64_t bytes; /* of one run */
};

/* Whether the precision of its agent promises the same bits on every machine: its runs compute with
 * portable kernels, whatever the process uses, and may be resumed with any kernel set. */
bool lgv__plan_is_portable(const lgv_plan *plan);
/* The resolved values, with run.seed replaced: a valid configuration file that repeats the run. */
void lgv__plan_json(const lgv_plan *plan, uint64_t seed, lgv_json *json);
/* "gym:CartPole-v1": as a user would name it. */
void lgv__plan_env_name(const lgv_plan *plan, char *text, size_t size);
/* Whether its runs know the exact value of every episode's policy. */
bool lgv__plan_evaluates_policies(const lgv_plan *plan);
/* The training steps of a run, as far as they are known before it; 0: unknown. */
double lgv__plan_steps(const lgv_plan *plan);
lgv_full_problem lgv__plan_problem(const lgv_plan *plan, const lgv_env_spec *env);

#endif
