/* Settings: an ordered list of (key, value, origin), and the user's own descriptors. */
#ifndef LGV_CONFIG_SETTINGS_H
#define LGV_CONFIG_SETTINGS_H

#include "config/run_params.h"
#include "langevin.h"
#include "registry.h" /* what an optimizer is */

typedef struct lgv_setting {
  char *key, *value, *origin; /* origin: "--set", "file.yaml:3:5", ... */
} lgv_setting;

struct lgv_settings {
  lgv_setting *items;
  size_t count, capacity;
  const lgv_env_type **envs;
  const lgv_agent_type **agents;
  const lgv_feature_type **features;
  size_t n_envs, n_agents, n_features;
  void (*notice)(void *context, const char *text); /* may be NULL */
  void *notice_context;
};

/* Copies every setting of `from` into `to`, without the descriptors. */
LGV_CHECK lgv_status lgv__settings_copy(const lgv_settings *from, lgv_settings *to, lgv_error *err);
/* A new copy, with the descriptors and the receiver of notices. */
LGV_CHECK lgv_status lgv__settings_clone(const lgv_settings *settings, lgv_settings **copy,
                                         lgv_error *err);

/* Descriptors by name: the user's own first, then the registry's. The error names the nearest. */
LGV_CHECK lgv_status lgv__settings_env_type(const lgv_settings *settings, const lgv_env_type **type,
                                            lgv_error *err);
LGV_CHECK lgv_status lgv__settings_agent_type(const lgv_settings *settings,
                                              const lgv_agent_type **type, lgv_error *err);

/* The feature map that agent.features names; NULL if it names none or the agent takes none. */
LGV_CHECK lgv_status lgv__settings_feature_type(const lgv_settings *settings,
                                                const lgv_agent_type *agent,
                                                const lgv_feature_type **type, lgv_error *err);
/* optim.name, or default_text. An agent that takes no optimizer (default_text NULL) gets NULL and
 * refuses optim.name. */
LGV_CHECK lgv_status lgv__settings_optim_type(const lgv_settings *settings,
                                              const char *default_text, const lgv_optim_type **type,
                                              lgv_error *err);
/* A copy of the settings, completed by the agent's preset. agent.preset names it; auto: see
 * lgv_agent_type. Values for an optimizer other than the one the user chose are left out. */
LGV_CHECK lgv_status lgv__settings_with_preset(const lgv_settings *settings,
                                               const lgv_agent_type *type, const lgv_env_spec *env,
                                               lgv_settings **completed, lgv_error *err);
/* A copy, descriptors included, completed by the environment's preset if it has any: env.preset
 * names it, else the default of that parameter. */
LGV_CHECK lgv_status lgv__settings_with_env_preset(const lgv_settings *settings,
                                                   lgv_settings **completed, lgv_error *err);

/* Fills a parameter struct: defaults, then every setting whose key is prefix + name. is_set (may be
 * NULL) has one entry per parameter. An unknown key under the prefix is an error; env.name,
 * agent.name and optim.name are ignored. */
LGV_CHECK lgv_status lgv__settings_fill(const lgv_settings *settings, const char *prefix,
                                        const lgv_param *table, void *params, bool *is_set,
                                        lgv_error *err);
/* The same for the named parameters only; other keys under the prefix are ignored. */
LGV_CHECK lgv_status lgv__settings_fill_some(const lgv_settings *settings, const char *prefix,
                                             const lgv_param *table, const char *const *names,
                                             void *params, lgv_error *err);
lgv_host lgv__settings_host(const lgv_settings *settings, const lgv_run_params *run);
/* Refuses keys that begin with none of the known prefixes; the types serve to guess the right one.
 */
LGV_CHECK lgv_status lgv__settings_check_prefixes(const lgv_settings *settings,
                                                  const lgv_env_type *env,
                                                  const lgv_agent_type *agent, lgv_error *err);

#endif
