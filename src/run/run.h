/* What a batch needs of a run beyond the public calls. */
#ifndef LGV_RUN_RUN_H
#define LGV_RUN_RUN_H

#include "langevin.h"

double lgv__run_fraction(const lgv_run *run); /* of its budget, 0..1 */
/* Like lgv_run_finish, noting why the run stopped early (NULL if it did not). */
LGV_CHECK lgv_status lgv__run_close_records(lgv_run *run, const char *failure, lgv_error *err);

/* Whether an agent made for one can live in the other. */
bool lgv__same_problem(const lgv_env_spec *a, const lgv_env_spec *b, bool with_horizon);
/* An environment with the parameters of evaluation, after a look whether the plan's agent can live
 * with it. */
LGV_CHECK lgv_status lgv__open_eval_env(const lgv_plan *plan, uint64_t seed, const char *purpose,
                                        lgv_env **env, lgv_error *err);
/* One episode in evaluation mode, cut after most_steps. */
LGV_CHECK lgv_status lgv__evaluate_episode(lgv_agent *agent, lgv_env *env, int64_t most_steps,
                                           double *result, lgv_error *err);

#endif
