/* The environment handle: one descriptor, its parameters, its arena, its random stream. */
#ifndef LGV_ENV_ENV_H
#define LGV_ENV_ENV_H

#include "base/arena.h"
#include "langevin.h"

/* params: a filled parameter struct of the type; it is copied. seed and purpose key the random
 * stream. */
LGV_CHECK lgv_status lgv__env_open(const lgv_env_type *type, const void *params, uint64_t seed,
                                   const char *purpose, lgv_env **env, lgv_error *err);
const lgv_arena *lgv__env_arena(const lgv_env *env);
lgv_obs lgv__env_obs(const lgv_env *env); /* the current observation */
const lgv_env_type *lgv__env_type(const lgv_env *env);
/* Events counted so far, one a name in the type's counter_names. */
void lgv__env_counters(const lgv_env *env, int64_t *values);

#endif
