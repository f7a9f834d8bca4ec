/* Parameters that every environment has beside its own, also a user's. A parameter of the type's
 * own that has the same name replaces the common one (env.stack of Atari). */
#ifndef LGV_ENV_COMMON_PARAMS_H
#define LGV_ENV_COMMON_PARAMS_H

#include "langevin.h"

typedef struct lgv_env_common {
  int64_t stack; /* observations per stack; 0 or 1: no stack */
} lgv_env_common;

extern const lgv_param lgv__env_common_params[];

/* Whether the type has no parameter of its own that replaces this one. */
bool lgv__env_takes_common(const lgv_env_type *type, const lgv_param *row);

/* One table for both: the rows of the type, then the common ones that it takes. They describe a
 * block that has the type's parameters at its beginning and an lgv_env_common at
 * lgv__env_common_at(type). Returns the number of rows; `rows` may be NULL, or has room for them
 * and an empty row. */
size_t lgv__env_join_params(const lgv_env_type *type, lgv_param *rows);
size_t lgv__env_common_at(const lgv_env_type *type);

#endif
