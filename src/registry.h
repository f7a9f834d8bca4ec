/* The one list of environments, agents and feature maps. */
#ifndef LGV_REGISTRY_H
#define LGV_REGISTRY_H

#include "agent/builtin.h"
#include "langevin.h"

extern const lgv_env_type *const lgv__envs[];         /* NULL-terminated */
extern const lgv_agent_type *const lgv__agents[];     /* NULL-terminated */
extern const lgv_feature_type *const lgv__features[]; /* NULL-terminated */
/* The source file of each, in the same order. */
extern const char *const lgv__env_files[], *const lgv__agent_files[], *const lgv__feature_files[];
/* The current name of an agent that had this one before; other names unchanged. */
const char *lgv__current_name(const char *name);
/* What a deep agent has beside its descriptor; NULL for the others and those from outside. */
const lgv_builtin *lgv__builtin(const lgv_agent_type *type);
const char *lgv__default_optimizer(const lgv_agent_type *type); /* NULL: the agent takes none */
/* The optimizers, compiled for the kernel set in use; NULL past the end. */
const lgv_optim_type *lgv__optimizer(size_t index);

#endif
