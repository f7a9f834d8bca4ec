/* The one central list of environments and agents. */
#ifndef LGV_REGISTRY_H
#define LGV_REGISTRY_H

#include "langevin.h"

extern const lgv_env_type *const lgv__envs[];     /* NULL-terminated */
extern const lgv_agent_type *const lgv__agents[]; /* NULL-terminated */

#endif
