/* agent.name = auto. */
#ifndef LGV_CONFIG_AUTO_AGENT_H
#define LGV_CONFIG_AUTO_AGENT_H

#include "langevin.h"

bool lgv__agent_is_auto(const lgv_settings *settings);
/* Replaces auto by the name of the agent that the rule picks, and reports it as a notice. */
LGV_CHECK lgv_status lgv__pick_agent(lgv_settings *settings, const lgv_env_spec *env,
                                     lgv_error *err);
/* Adds the name of the picked agent to the message of a failure. Returns status. */
LGV_CHECK lgv_status lgv__name_picked(lgv_status status, const lgv_env_spec *env, lgv_error *err);

#endif
