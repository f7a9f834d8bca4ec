#include "config/settings.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/spec.h"
#include "base/text.h"
#include "config/run_params.h"
#include "env/common_params.h"
#include "registry.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const prefixes[] = {"env.", "agent.", "optim.", "features.", "run.", NULL};

lgv_status lgv_settings_create(lgv_settings **settings, lgv_error *err) {
  *settings = lgv__calloc(1, sizeof **settings);
  return *settings ? LGV_OK : lgv__out_of_memory(err, "settings");
}

static void free_item(lgv_setting *item) {
  lgv__free(item->key);
  lgv__free(item->value);
  lgv__free(item->origin);
}

void lgv_settings_free(lgv_settings *settings) {
  if (!settings) return;
  for (size_t i = 0; i < settings->count; i++) free_item(&settings->items[i]);
  lgv__free(settings->items);
  lgv__free(settings->envs);
  lgv__free(settings->agents);
  lgv__free(settings->features);
  lgv__free(settings);
}

static lgv_setting *find(const lgv_settings *settings, const char *key) {
  for (size_t i = 0; i < settings->count; i++)
    if (strcmp(settings->items[i].key, key) == 0) return &settings->items[i];
  return NULL;
}

const char *lgv_settings_get(const lgv_settings *settings, const char *key) {
  lgv_setting *item = find(settings, key);
  return item ? item->value : NULL;
}

/* Whether `name` equals the first `length` characters of text. */
static bool is_word(const char *name, const char *text, size_t length) {
  return strlen(name) == length && strncmp(name, text, length) == 0;
}

static lgv_status reserve(lgv_settings *settings, lgv_error *err) {
  if (settings->count < settings->capacity) return LGV_OK;
  size_t capacity = settings->capacity ? 2 * settings->capacity : 16;
  lgv_setting *grown = lgv__realloc(settings->items, capacity * sizeof *grown);
  if (!grown) return lgv__out_of_memory(err, "settings");
  settings->items = grown;
  settings->capacity = capacity;
  return LGV_OK;
}

static lgv_status set(lgv_settings *settings, const char *key, const char *value,
                      const char *origin, lgv_error *err) {
  LGV_TRY(reserve(settings, err));
  lgv_setting item = {lgv__strdup(key), lgv__strdup(value), lgv__strdup(origin ? origin : "")};
  if (!item.key || !item.value || !item.origin) {
    free_item(&item);
    return lgv__out_of_memory(err, "settings");
  }
  lgv_setting *old = find(settings, key);
  if (old) {
    free_item(old);
    *old = item;
  } else {
    settings->items[settings->count++] = item;
  }
  return LGV_OK;
}

/* The environment that the text before a colon names, if it takes a text after the colon. */
static const lgv_env_type *colon_type(const lgv_settings *settings, const char *name) {
  size_t length = strcspn(name, ":");
  const lgv_env_type *found = NULL;
  for (size_t i = 0; name[length] && !found && i < settings->n_envs; i++)
    if (is_word(settings->envs[i]->name, name, length)) found = settings->envs[i];
  for (size_t i = 0; name[length] && !found && lgv__envs[i]; i++)
    if (is_word(lgv__envs[i]->name, name, length)) found = lgv__envs[i];
  return found && found->name_param ? found : NULL;
}

/* env.name=gym:CartPole-v1 means env.name=gym and env.id=CartPole-v1. It is split here, so that a
 * later value of either replaces an earlier one. */
lgv_status lgv_settings_set(lgv_settings *settings, const char *key, const char *value,
                            const char *origin, lgv_error *err) {
  char param[128];
  const lgv_env_type *type = strcmp(key, "env.name") == 0 ? colon_type(settings, value) : NULL;
  if (!type) return set(settings, key, value, origin, err);
  snprintf(param, sizeof param, "env.%s", type->name_param);
  LGV_TRY(set(settings, "env.name", type->name, origin, err));
  return set(settings, param, strchr(value, ':') + 1, origin, err);
}

void lgv_settings_on_notice(lgv_settings *settings, void (*notice)(void *context, const char *text),
                            void *context) {
  settings->notice = notice;
  settings->notice_context = context;
}

lgv_status lgv_settings_assign(lgv_settings *settings, const char *assignment, const char *origin,
                               lgv_error *err) {
  const char *equals = strchr(assignment, '=');
  char key[128];
  if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof key)
    return lgv_fail(err, LGV_ERR_USAGE, "%s '%.80s' is not of the form key=value",
                    origin ? origin : "setting", assignment);
  snprintf(key, sizeof key, "%.*s", (int)(equals - assignment), assignment);
  return lgv_settings_set(settings, key, equals + 1, origin, err);
}

/* Appends a pointer to a growing array of descriptors. */
static lgv_status append_type(void *array, size_t *count, const void *type, lgv_error *err) {
  const void ***types = array;
  const void **grown = lgv__realloc(*types, (*count + 1) * sizeof *grown);
  if (!grown) return lgv__out_of_memory(err, "settings");
  *types = grown;
  grown[(*count)++] = type;
  return LGV_OK;
}

/* Hooks that are called unconditionally must exist: an error here is better than a crash in the
 * first step. */
typedef struct hook {
  const char *name;
  bool there;
} hook;

static lgv_status check_hooks(const char *what, const char *type, const hook *hooks, size_t count,
                              lgv_error *err) {
  for (size_t i = 0; i < count; i++)
    if (!hooks[i].there)
      return lgv_fail(err, LGV_ERR_USAGE, "the %s %s has no `%s`", what, type ? type : "(no name)",
                      hooks[i].name);
  return LGV_OK;
}

lgv_status lgv_settings_add_env(lgv_settings *settings, const lgv_env_type *type, lgv_error *err) {
  LGV_TRY(lgv__check_size("lgv_env_type", type->size, sizeof *type, err));
  const hook hooks[] = {
      {"name", type->name},
      {"spec", type->spec || type->connect},
      {"layout", type->layout},
      {"reset", type->reset},
      {"step", type->step || (type->step_begin && type->step_end)},
      {"observe", type->observe},
      {"counters", type->counters || !type->counter_names},
  };
  LGV_TRY(check_hooks("environment", type->name, hooks, sizeof hooks / sizeof *hooks, err));
  return append_type(&settings->envs, &settings->n_envs, type, err);
}

lgv_status lgv_settings_add_agent(lgv_settings *settings, const lgv_agent_type *type,
                                  lgv_error *err) {
  LGV_TRY(lgv__check_size("lgv_agent_type", type->size, sizeof *type, err));
  const hook hooks[] = {
      {"name", type->name},
      {"layout", type->layout},
      {"act", type->act},
      {"stats", type->stats || !type->stat_names},
  };
  LGV_TRY(check_hooks("agent", type->name, hooks, sizeof hooks / sizeof *hooks, err));
  return append_type(&settings->agents, &settings->n_agents, type, err);
}

lgv_status lgv_settings_add_features(lgv_settings *settings, const lgv_feature_type *type,
                                     lgv_error *err) {
  LGV_TRY(lgv__check_size("lgv_feature_type", type->size, sizeof *type, err));
  const hook hooks[] = {{"name", type->name}, {"dim", type->dim}, {"map", type->map}};
  LGV_TRY(check_hooks("feature map", type->name, hooks, sizeof hooks / sizeof *hooks, err));
  if (type->state_size > LGV_FEATURE_STATE)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "the state of the feature map %s takes %zu bytes, but %d are the most: keep "
                    "arrays in its layout",
                    type->name, type->state_size, LGV_FEATURE_STATE);
  return append_type(&settings->features, &settings->n_features, type, err);
}

enum { WHERE_SIZE = 320 }; /* of " (in file.yaml:3:5)": a long path must not lose its line */

/* " (in file.yaml:3:5)", or nothing. */
static const char *place(const lgv_setting *item, char *text, size_t size) {
  text[0] = '\0';
  if (item && item->origin[0]) snprintf(text, size, " (in %s)", item->origin);
  return text;
}

static lgv_status unknown_name(const lgv_settings *settings, const char *kind, const char *key,
                               lgv_error *err) {
  const lgv_setting *item = find(settings, key);
  char where[WHERE_SIZE];
  bool map = strcmp(kind, "features") == 0;
  const char *what = strcmp(kind, "env") == 0 ? "environment" : map ? "feature map" : kind;
  const char *plural = map ? "" : "s";
  if (!item)
    return lgv_fail(err, LGV_ERR_USAGE,
                    "no %s was named: use --%s NAME%s; `langevin list %s%s` shows them", what, kind,
                    strcmp(kind, "agent") == 0 ? ", or --agent auto, which picks one" : "", kind,
                    plural);
  char name[80]; /* without the part after a colon */
  snprintf(name, sizeof name, "%.*s", (int)strcspn(item->value, ":"), item->value);
  const char *near = lgv_registry_nearest(kind, name);
  const char *others = strcmp(kind, "env") == 0 ? "; those of Gymnasium are written gym:ID" : "";
  return lgv_fail(err, LGV_ERR_USAGE,
                  "there is no %s '%.80s'%s%s%s%s `langevin list %s%s` shows all%s", what,
                  item->value, place(item, where, sizeof where), near ? "; did you mean '" : ";",
                  near ? near : "", near ? "'?" : "", kind, plural, others);
}

lgv_status lgv__settings_env_type(const lgv_settings *settings, const lgv_env_type **type,
                                  lgv_error *err) {
  const char *name = lgv_settings_get(settings, "env.name");
  for (size_t i = 0; name && i < settings->n_envs; i++)
    if (strcmp((*type = settings->envs[i])->name, name) == 0) return LGV_OK;
  for (size_t i = 0; name && lgv__envs[i]; i++)
    if (strcmp((*type = lgv__envs[i])->name, name) == 0) return LGV_OK;
  return unknown_name(settings, "env", "env.name", err);
}

/* The agent of the library with this name, or NULL. A former name is accepted with a notice. */
static const lgv_agent_type *find_builtin(const lgv_settings *settings, const char *name) {
  const char *current = lgv__current_name(name);
  char text[160];
  size_t i = 0;
  while (lgv__agents[i] && strcmp(lgv__agents[i]->name, current) != 0) i++;
  if (current != name && settings->notice) {
    snprintf(text, sizeof text, "the agent %s has been replaced by %s: name that one", name,
             current);
    settings->notice(settings->notice_context, text);
  }
  return lgv__agents[i];
}

lgv_status lgv__settings_agent_type(const lgv_settings *settings, const lgv_agent_type **type,
                                    lgv_error *err) {
  const char *name = lgv_settings_get(settings, "agent.name");
  for (size_t i = 0; name && i < settings->n_agents; i++)
    if (strcmp((*type = settings->agents[i])->name, name) == 0) return LGV_OK;
  if (name && (*type = find_builtin(settings, name))) return LGV_OK;
  return unknown_name(settings, "agent", "agent.name", err);
}

lgv_status lgv__settings_optim_type(const lgv_settings *settings, const char *default_text,
                                    const lgv_optim_type **type, lgv_error *err) {
  const char *chosen = lgv_settings_get(settings, "optim.name");
  *type = NULL;
  if (!default_text && !chosen) return LGV_OK;
  if (!default_text)
    return lgv_fail(err, LGV_ERR_USAGE, "this agent takes no optimizer: remove optim.name");
  const char *name = chosen ? chosen : default_text;
  for (size_t i = 0; (*type = lgv__optimizer(i)); i++)
    if (strcmp((*type)->name, name) == 0) return LGV_OK;
  return unknown_name(settings, "optimizer", "optim.name", err);
}

/* Names of agent.features that stand for no map. */
static bool is_own_feature(const char *name) {
  static const char *const own[] = {"auto", "one-hot", "env", NULL};
  for (int i = 0; own[i]; i++)
    if (strcmp(own[i], name) == 0) return true;
  return false;
}

lgv_status lgv__settings_feature_type(const lgv_settings *settings, const lgv_agent_type *agent,
                                      const lgv_feature_type **type, lgv_error *err) {
  const char *name = lgv_settings_get(settings, "agent.features");
  *type = NULL;
  if (!(agent->traits & LGV_TAKES_FEATURES) || !name || is_own_feature(name)) return LGV_OK;
  for (size_t i = 0; i < settings->n_features; i++)
    if (strcmp((*type = settings->features[i])->name, name) == 0) return LGV_OK;
  for (size_t i = 0; (*type = lgv__features[i]); i++)
    if (strcmp((*type)->name, name) == 0) return LGV_OK;
  return unknown_name(settings, "features", "agent.features", err);
}

static const lgv_preset *find_preset(const lgv_preset *presets, const char *name) {
  for (const lgv_preset *preset = presets; preset->name; preset++)
    if (strcmp(preset->name, name) == 0) return preset;
  return NULL;
}

/* What auto takes: see lgv_preset. */
static const lgv_preset *preset_by_observation(const lgv_preset *presets, const lgv_env_spec *env) {
  const lgv_preset *best = presets;
  for (const lgv_preset *preset = presets; preset->name; preset++)
    if (preset->picture_side > best->picture_side &&
        lgv__is_picture_of(preset->picture_side, env->obs_form, env->obs_shape))
      best = preset;
  return best;
}

/* The preset in use; NULL if the agent has none of that name. */
static const lgv_preset *choose_preset(const lgv_settings *settings, const lgv_preset *presets,
                                       const lgv_env_spec *env) {
  const char *name = lgv_settings_get(settings, "agent.preset");
  if (!name || strcmp(name, "auto") == 0) return preset_by_observation(presets, env);
  const lgv_preset *found = find_preset(presets, name);
  if (found || strcmp(name, "atari") != 0) return found;
  found = find_preset(presets, "authors"); /* `atari` is the former name of it or of the second */
  return found ? found : find_preset(presets, "pictures");
}

lgv_status lgv__settings_copy(const lgv_settings *from, lgv_settings *to, lgv_error *err) {
  for (size_t i = 0; i < from->count; i++) {
    const lgv_setting *item = &from->items[i];
    LGV_TRY(lgv_settings_set(to, item->key, item->value, item->origin, err));
  }
  return LGV_OK;
}

/* Whether a preset's optim.* values are for the optimizer that the user chose. They belong to the
 * optimizer that the preset names, else to the agent's default. */
static bool suits_optimizer(const lgv_settings *settings, const lgv_preset *preset,
                            const lgv_agent_type *type) {
  const char *chosen = lgv_settings_get(settings, "optim.name");
  const char *named = strstr(preset->values, "optim.name=");
  if (!chosen) return true;
  const char *own = named ? named + strlen("optim.name=") : lgv__default_optimizer(type);
  size_t length = own ? strcspn(own, " ") : 0;
  return own && strlen(chosen) == length && strncmp(chosen, own, length) == 0;
}

/* Sets each "key=value" of values whose key the user left open. */
static lgv_status apply_preset(lgv_settings *settings, const lgv_preset *preset, bool own_optimizer,
                               lgv_error *err) {
  char origin[48], item[160], key[128];
  snprintf(origin, sizeof origin, "the preset %s", preset->name);
  for (const char *text = preset->values; *text;) {
    size_t length = strcspn(text, " ");
    snprintf(item, sizeof item, "%.*s", (int)length, text);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(item, "="), item);
    bool foreign = !own_optimizer && strncmp(key, "optim.", 6) == 0;
    if (length && !foreign && !lgv_settings_get(settings, key))
      LGV_TRY(lgv_settings_assign(settings, item, origin, err));
    text += length + (text[length] == ' ');
  }
  return LGV_OK;
}

static lgv_status unknown_preset(const lgv_agent_type *type, const char *name, lgv_error *err) {
  char names[128] = "auto";
  for (const lgv_preset *p = type->presets; p->name; p++)
    snprintf(names + strlen(names), sizeof names - strlen(names), ", %s", p->name);
  return lgv_fail(err, LGV_ERR_USAGE,
                  "the agent %s has no preset '%.40s': agent.preset is one of %s", type->name, name,
                  names);
}

lgv_status lgv__settings_with_preset(const lgv_settings *settings, const lgv_agent_type *type,
                                     const lgv_env_spec *env, lgv_settings **completed,
                                     lgv_error *err) {
  assert(type->presets);
  const lgv_preset *preset = choose_preset(settings, type->presets, env);
  *completed = NULL;
  if (!preset) return unknown_preset(type, lgv_settings_get(settings, "agent.preset"), err);
  LGV_TRY(lgv_settings_create(completed, err));
  lgv_status status = lgv__settings_copy(settings, *completed, err);
  if (status == LGV_OK)
    status = apply_preset(*completed, preset, suits_optimizer(settings, preset, type), err);
  if (status == LGV_OK)
    status = lgv_settings_set(*completed, "agent.preset", preset->name, "auto", err);
  if (status != LGV_OK) {
    lgv_settings_free(*completed);
    *completed = NULL;
  }
  return status;
}

static lgv_status copy_all(const lgv_settings *from, lgv_settings *to, lgv_error *err) {
  for (size_t i = 0; i < from->n_envs; i++) LGV_TRY(lgv_settings_add_env(to, from->envs[i], err));
  for (size_t i = 0; i < from->n_agents; i++)
    LGV_TRY(lgv_settings_add_agent(to, from->agents[i], err));
  for (size_t i = 0; i < from->n_features; i++)
    LGV_TRY(lgv_settings_add_features(to, from->features[i], err));
  lgv_settings_on_notice(to, from->notice, from->notice_context);
  return lgv__settings_copy(from, to, err);
}

lgv_status lgv__settings_clone(const lgv_settings *settings, lgv_settings **copy, lgv_error *err) {
  LGV_TRY(lgv_settings_create(copy, err));
  lgv_status status = copy_all(settings, *copy, err);
  if (status == LGV_OK) return LGV_OK;
  lgv_settings_free(*copy);
  *copy = NULL;
  return status;
}

lgv_status lgv__settings_with_env_preset(const lgv_settings *settings, lgv_settings **completed,
                                         lgv_error *err) {
  const lgv_env_type *type;
  *completed = NULL;
  LGV_TRY(lgv__settings_env_type(settings, &type, err));
  const char *name = lgv_settings_get(settings, "env.preset");
  int row = lgv__params_find(type->params, "preset");
  if (!name && row >= 0) name = type->params[row].default_text;
  /* an unknown name is refused when the parameters are filled */
  const lgv_preset *preset = type->presets && name ? find_preset(type->presets, name) : NULL;
  LGV_TRY(lgv__settings_clone(settings, completed, err));
  lgv_status status = preset ? apply_preset(*completed, preset, true, err) : LGV_OK;
  if (status == LGV_OK) return LGV_OK;
  lgv_settings_free(*completed);
  *completed = NULL;
  return status;
}

static lgv_status parse_item(const lgv_setting *item, const lgv_param *param, void *params,
                             lgv_error *err) {
  char where[WHERE_SIZE];
  lgv_status status = lgv__param_parse(param, item->key, item->value, params, err);
  if (status == LGV_OK || !err) return status;
  size_t used = strlen(err->message);
  snprintf(err->message + used, sizeof err->message - used, "%s", place(item, where, sizeof where));
  return status;
}

/* Where the keys of a prefix are listed; NULL for environments and agents of the caller's own. */
static const char *help_page(const lgv_settings *settings, const char *prefix) {
  lgv_entry entry;
  if (strcmp(prefix, "run.") == 0) return "run";
  const char *kind = strcmp(prefix, "env.") == 0 ? "env" : "agent";
  const char *name = lgv_settings_get(settings, kind[0] == 'e' ? "env.name" : "agent.name");
  return name && lgv_registry_find(kind, name, &entry) ? name : NULL;
}

static lgv_status unknown_key(const lgv_settings *settings, const lgv_setting *item,
                              const char *prefix, const lgv_param *table, lgv_error *err) {
  char where[WHERE_SIZE];
  const char *near = lgv__params_nearest(table, item->key + strlen(prefix));
  const char *page = help_page(settings, prefix);
  return lgv_fail(err, LGV_ERR_USAGE, "unknown key '%.80s'%s%s%s%s%s%s%s%s", item->key,
                  place(item, where, sizeof where), near ? "; did you mean '" : "",
                  near ? prefix : "", near ? near : "",
                  near   ? "'?"
                  : page ? ";"
                         : "",
                  page ? " `langevin help " : "", page ? page : "", page ? "` lists all" : "");
}

lgv_status lgv__settings_fill(const lgv_settings *settings, const char *prefix,
                              const lgv_param *table, void *params, bool *is_set, lgv_error *err) {
  size_t length = strlen(prefix);
  char where[WHERE_SIZE];
  lgv__params_defaults(table, params);
  for (size_t i = 0; is_set && i < lgv__params_count(table); i++) is_set[i] = false;
  for (size_t i = 0; i < settings->count; i++) {
    const lgv_setting *item = &settings->items[i];
    if (strncmp(item->key, prefix, length) != 0) continue;
    const char *name = item->key + length;
    int index = lgv__params_find(table, name);
    if (index < 0 && strcmp(name, "name") == 0 && strcmp(prefix, "run.") != 0) continue;
    if (index < 0 && !table)
      return lgv_fail(err, LGV_ERR_USAGE, "unknown key '%.80s'%s: this agent %s", item->key,
                      place(item, where, sizeof where),
                      strcmp(prefix, "features.") == 0
                          ? "uses no feature map; agent.features chooses one"
                          : "takes no optimizer");
    if (index < 0) return unknown_key(settings, item, prefix, table, err);
    LGV_TRY(parse_item(item, &table[index], params, err));
    if (is_set) is_set[index] = true;
  }
  return LGV_OK;
}

lgv_status lgv__settings_fill_some(const lgv_settings *settings, const char *prefix,
                                   const lgv_param *table, const char *const *names, void *params,
                                   lgv_error *err) {
  char key[128];
  lgv__params_defaults(table, params);
  for (size_t i = 0; names[i]; i++) {
    snprintf(key, sizeof key, "%s%s", prefix, names[i]);
    const lgv_setting *item = find(settings, key);
    if (item) LGV_TRY(parse_item(item, &table[lgv__params_find(table, names[i])], params, err));
  }
  return LGV_OK;
}

lgv_host lgv__settings_host(const lgv_settings *settings, const lgv_run_params *run) {
  return (lgv_host){.timeout = run->env_timeout,
                    .restart = run->on_worker_death == LGV_DEATH_RESTART,
                    .notice = settings->notice,
                    .context = settings->notice_context};
}

/* "agent.lambda" for a key written without its part: lambda. */
static bool guess_part(const char *key, const lgv_env_type *env, const lgv_agent_type *agent,
                       char *guess, size_t size) {
  const struct {
    const char *prefix;
    const lgv_param *table;
  } parts[] = {{"agent.", agent->params},
               {"env.", env->params},
               {"env.", lgv__env_common_params},
               {"run.", lgv__run_params}};
  enum { PARTS = sizeof parts / sizeof *parts };
  for (size_t i = 0; i < PARTS; i++) /* the exact name in any part wins over a near one */
    if (lgv__params_find(parts[i].table, key) >= 0) {
      snprintf(guess, size, "%s%s", parts[i].prefix, key);
      return true;
    }
  for (size_t i = 0; i < PARTS; i++) {
    const char *near = lgv__params_nearest(parts[i].table, key);
    if (!near) continue;
    snprintf(guess, size, "%s%s", parts[i].prefix, near);
    return true;
  }
  return false;
}

lgv_status lgv__settings_check_prefixes(const lgv_settings *settings, const lgv_env_type *env,
                                        const lgv_agent_type *agent, lgv_error *err) {
  char where[WHERE_SIZE], guess[128];
  for (size_t i = 0; i < settings->count; i++) {
    const lgv_setting *item = &settings->items[i];
    bool known = false;
    for (int p = 0; prefixes[p]; p++)
      known |= strncmp(item->key, prefixes[p], strlen(prefixes[p])) == 0;
    if (known) continue;
    bool guessed = guess_part(item->key, env, agent, guess, sizeof guess);
    return lgv_fail(
        err, LGV_ERR_USAGE,
        "unknown key '%.80s'%s: keys begin with env., agent., optim., features. or run.%s%s%s",
        item->key, place(item, where, sizeof where), guessed ? "; did you mean '" : "",
        guessed ? guess : "", guessed ? "'?" : "");
  }
  return LGV_OK;
}
