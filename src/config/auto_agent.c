/* agent.name = auto: picks an agent by the environment's spec alone. docs/which-agent.md has the
 * evidence for the rule. */
#include "config/auto_agent.h"

#include "base/error.h"
#include "config/settings.h"

#include <stdio.h>
#include <string.h>

/* The agents of the rule: the first explores deeply, the second takes every discrete action, the
 * third takes continuous ones. */
#define POSTERIOR "pathwise-lmcdqn"
#define GENERAL "adam-lmcdqn"
#define CONTINUOUS "sac"

const char *lgv_auto_agent(const lgv_env_spec *env) {
  bool is_index = env->obs_form != LGV_FORM_DENSE, one_choice = env->actions.kind == LGV_DISCRETE;
  if (env->actions.kind == LGV_BOX) return CONTINUOUS;
  return is_index && one_choice ? POSTERIOR : GENERAL;
}

const char *lgv_auto_rule(void) {
  return POSTERIOR
      " for one-hot and thermometer observations if an action is one choice, " CONTINUOUS
      " for continuous actions, otherwise " GENERAL;
}

bool lgv__agent_is_auto(const lgv_settings *settings) {
  const char *name = lgv_settings_get(settings, "agent.name");
  for (size_t i = 0; i < settings->n_agents; i++) /* an agent of the caller's wins */
    if (strcmp(settings->agents[i]->name, "auto") == 0) return false;
  return name && strcmp(name, "auto") == 0;
}

lgv_status lgv__pick_agent(lgv_settings *settings, const lgv_env_spec *env, lgv_error *err) {
  const char *picked = lgv_auto_agent(env);
  char text[128];
  LGV_TRY(lgv_settings_set(settings, "agent.name", picked, "auto", err));
  snprintf(text, sizeof text, "agent.name = auto picked %s", picked);
  if (settings->notice) settings->notice(settings->notice_context, text);
  return LGV_OK;
}

lgv_status lgv__name_picked(lgv_status status, const lgv_env_spec *env, lgv_error *err) {
  if (status == LGV_OK || !err) return status;
  size_t used = strlen(err->message);
  snprintf(err->message + used, sizeof err->message - used, " (agent.name = auto picked %s)",
           lgv_auto_agent(env));
  return status;
}
