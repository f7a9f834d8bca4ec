/* The registry by name: what a user can choose, for help texts, lists and bindings. */
#include "base/text.h"
#include "config/run_params.h"
#include "env/common_params.h"
#include "registry.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#define LGV_QUOTE(x) #x
#define LGV_DOTTED(a, b, c) LGV_QUOTE(a) "." LGV_QUOTE(b) "." LGV_QUOTE(c)

const char *lgv_version(void) {
  return LGV_DOTTED(LGV_VERSION_MAJOR, LGV_VERSION_MINOR, LGV_VERSION_PATCH);
}

/* The parameters of every built-in environment: its own and the common ones. */
enum { MOST_ENVS = 64, MOST_ROWS = 512 };
static lgv_param env_rows[MOST_ROWS];
static const lgv_param *env_params[MOST_ENVS];
static pthread_once_t env_params_once = PTHREAD_ONCE_INIT;

static void join_env_params(void) {
  size_t used = 0;
  for (size_t i = 0; lgv__envs[i]; i++) {
    size_t count = lgv__env_join_params(lgv__envs[i], NULL) + 1;
    assert(i < MOST_ENVS && used + count <= MOST_ROWS);
    env_params[i] = env_rows + used;
    lgv__env_join_params(lgv__envs[i], env_rows + used);
    used += count;
  }
}

static bool get_env(size_t index, lgv_entry *entry) {
  size_t count = 0;
  while (lgv__envs[count]) count++;
  if (index >= count) return false;
  const lgv_env_type *type = lgv__envs[index];
  pthread_once(&env_params_once, join_env_params);
  *entry = (lgv_entry){.name = type->name,
                       .summary = type->summary,
                       .params = env_params[index],
                       .presets = type->presets,
                       .source = lgv__env_files[index]};
  return true;
}

static bool get_agent(size_t index, lgv_entry *entry) {
  size_t count = 0;
  while (lgv__agents[count]) count++;
  if (index >= count) return false;
  const lgv_agent_type *type = lgv__agents[index];
  *entry = (lgv_entry){.name = type->name,
                       .summary = type->summary,
                       .params = type->params,
                       .presets = type->presets,
                       .optimizer = lgv__default_optimizer(type),
                       .traits = type->traits,
                       .source = lgv__agent_files[index]};
  return true;
}

static bool get_optimizer(size_t index, lgv_entry *entry) {
  const lgv_optim_type *type;
  for (size_t i = 0; (type = lgv__optimizer(i)); i++)
    if (i == index) {
      *entry = (lgv_entry){.name = type->name, .summary = type->summary, .params = type->params};
      return true;
    }
  return false;
}

static bool get_features(size_t index, lgv_entry *entry) {
  size_t count = 0;
  while (lgv__features[count]) count++;
  if (index >= count) return false;
  const lgv_feature_type *type = lgv__features[index];
  *entry = (lgv_entry){.name = type->name,
                       .summary = type->summary,
                       .params = type->params,
                       .source = lgv__feature_files[index]};
  return true;
}

bool lgv_registry_get(const char *kind, size_t index, lgv_entry *entry) {
  if (strcmp(kind, "env") == 0) return get_env(index, entry);
  if (strcmp(kind, "agent") == 0) return get_agent(index, entry);
  if (strcmp(kind, "optimizer") == 0) return get_optimizer(index, entry);
  if (strcmp(kind, "features") == 0) return get_features(index, entry);
  if (strcmp(kind, "run") != 0 || index > 0) return false;
  *entry = (lgv_entry){.name = "run",
                       .summary = "its length, its evaluations, its records",
                       .params = lgv__run_params};
  return true;
}

bool lgv_registry_find(const char *kind, const char *name, lgv_entry *entry) {
  if (strcmp(kind, "agent") == 0) name = lgv__current_name(name);
  for (size_t i = 0; lgv_registry_get(kind, i, entry); i++)
    if (strcmp(entry->name, name) == 0) return true;
  return false;
}

const char *lgv_registry_nearest(const char *kind, const char *name) {
  lgv_guess guess = {.wrong = name};
  lgv_entry entry;
  for (size_t i = 0; lgv_registry_get(kind, i, &entry); i++) lgv__guess_offer(&guess, entry.name);
  return guess.best;
}
