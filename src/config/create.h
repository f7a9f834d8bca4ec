/* Parameter structs of environments and agents, filled from settings. */
#ifndef LGV_CONFIG_CREATE_H
#define LGV_CONFIG_CREATE_H

#include "agent/builtin.h"
#include "env/common_params.h"
#include "langevin.h"

/* Allocates a parameter struct and fills it from the settings under prefix; is_set may be NULL. The
 * caller frees *params, even after a failure. */
LGV_CHECK lgv_status lgv__fill_params(const lgv_settings *settings, const char *prefix,
                                      const lgv_param *table, size_t size, void **params,
                                      bool *is_set, lgv_error *err);

/* The same for the parameters of an environment: its own, and those of every environment. */
LGV_CHECK lgv_status lgv__fill_env(const lgv_settings *settings, const lgv_env_type *type,
                                   void **params, lgv_env_common *common, lgv_error *err);

/* The resolved parameters of an agent, of its optimizer and of its feature map. */
typedef struct lgv_agent_parts {
  void *params, *optim_params, *feature_params;
  const lgv_optim_type *optim_type;
  const lgv_feature_type *feature_type;
} lgv_agent_parts;

/* Fills them: the user's settings, completed by the agent's preset, then resolved. Sets the
 * problem's optimizer and feature map. The caller frees the structs, even after a failure. */
LGV_CHECK lgv_status lgv__fill_agent(const lgv_settings *settings, const lgv_agent_type *type,
                                     lgv_full_problem *problem, lgv_agent_parts *parts,
                                     lgv_error *err);

#endif
