/* The environment handle: one descriptor, its parameters, its arena, its random stream. */
#ifndef LGV_ENV_ENV_H
#define LGV_ENV_ENV_H

#include "base/arena.h"
#include "env/common_params.h"
#include "langevin.h"

/* params: a filled parameter struct of the type. params and host are copied. seed and purpose key
 * the random stream. An environment opened while the thread computes portably (lgv__kernels_begin)
 * does so from then on. */
LGV_CHECK lgv_status lgv__env_open(const lgv_env_type *type, const void *params,
                                   lgv_env_common common, const lgv_host *host, uint64_t seed,
                                   const char *purpose, lgv_env **env, lgv_error *err);
/* Same, with the parameters of evaluation. */
LGV_CHECK lgv_status lgv__env_open_eval(const lgv_env_type *type, const void *params,
                                        lgv_env_common common, const lgv_host *host, uint64_t seed,
                                        const char *purpose, lgv_env **env, lgv_error *err);
/* To be called before its arena is saved, and after it was loaded. *in_episode: whether the episode
 * continues. */
LGV_CHECK lgv_status lgv__env_save(lgv_env *env, lgv_error *err);
LGV_CHECK lgv_status lgv__env_restore(lgv_env *env, bool *in_episode, lgv_error *err);
/* An environment of evaluations takes over the running statistics that observations depend on
 * (wrappers such as NormalizeObservation), and keeps them as they are: those of the training
 * environment, or, if trained is env itself, those that were read into its own arrays. */
LGV_CHECK lgv_status lgv__env_adopt(lgv_env *env, lgv_env *trained, lgv_error *err);
/* The array of these statistics; NULL if there are none. */
void *lgv__env_statistics(const lgv_env *env, size_t *size);
/* lgv_env_step in two halves, so that several environments can step at the same time. The action
 * must stay where it is until the second half. */
LGV_CHECK lgv_status lgv__env_step_begin(lgv_env *env, const lgv_action *action, lgv_error *err);
LGV_CHECK lgv_status lgv__env_step_end(lgv_env *env, lgv_outcome *outcome, lgv_obs *next,
                                       lgv_error *err);
const lgv_arena *lgv__env_arena(const lgv_env *env);
lgv_obs lgv__env_obs(const lgv_env *env); /* the current observation */
const lgv_env_type *lgv__env_type(const lgv_env *env);
/* The name as a user writes it: "nchain", "gym:CartPole-v1". */
void lgv__env_name(const lgv_env_type *type, const void *params, char *text, size_t size);
/* Passes a notice to the user: the name of the environment, a blank, and the text. */
void lgv__env_notify(const lgv_env *env, const char *text);
/* The regret of the current episode as the environment has it, or NaN. */
double lgv__env_regret(const lgv_env *env);

#endif
