#include "report/data/defaults.h"

#include "base/error.h"
#include "config/settings.h"
#include "report/data/run_group.h"

#include <stdio.h>
#include <string.h>

static lgv_status copy_key(const lgv_settings *from, lgv_settings *to, const char *key,
                           lgv_error *err) {
  const char *value = lgv_settings_get(from, key);
  return value ? lgv_settings_set(to, key, value, "config.json", err) : LGV_OK;
}

/* The length is given, since a preset may depend on it and a plan needs one. */
static lgv_status make_plan(lgv_defaults *d, lgv_settings *bare, lgv_error *err) {
  static const char *const keys[] = {"env.name",     "agent.name",   "env.preset",
                                     "agent.preset", "run.episodes", "run.steps"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    LGV_TRY(copy_key(d->settings, bare, keys[i], err));
  if (lgv_plan_create(bare, &d->plan, NULL) != LGV_OK) d->plan = NULL; /* of a newer version */
  return LGV_OK;
}

lgv_status lgv__defaults_open(lgv_defaults *d, const lgv_settings *settings, lgv_error *err) {
  const lgv_env_type *type;
  lgv_settings *bare;
  *d = (lgv_defaults){.settings = settings};
  if (lgv__settings_env_type(settings, &type, NULL) != LGV_OK || type->connect) return LGV_OK;
  LGV_TRY(lgv_settings_create(&bare, err));
  lgv_status status = make_plan(d, bare, err);
  lgv_settings_free(bare);
  return status;
}

void lgv__defaults_close(lgv_defaults *d) {
  lgv_plan_free(d->plan);
  *d = (lgv_defaults){0};
}

/* By the table of the parameter, if there is no plan. */
static bool is_table_default(const lgv_settings *settings, const char *key, const char *value) {
  static const struct {
    const char *prefix, *kind, *name;
  } kinds[] = {{"env.", "env", "env.name"},
               {"agent.", "agent", "agent.name"},
               {"optim.", "optimizer", "optim.name"},
               {"run.", "run", NULL}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t length = strlen(kinds[i].prefix);
    const char *name = kinds[i].name ? lgv_settings_get(settings, kinds[i].name) : "run";
    lgv_entry entry;
    if (strncmp(key, kinds[i].prefix, length) != 0 || !name) continue;
    if (!lgv_registry_find(kinds[i].kind, name, &entry)) continue;
    for (const lgv_param *p = entry.params; p && p->name; p++)
      if (strcmp(p->name, key + length) == 0) return lgv__same_value(p->default_text, value);
  }
  return false;
}

/* A run whose schedule of evaluations is set has no limit by default: config/plan.c. */
static bool is_default_share(const lgv_defaults *d, const char *value) {
  const char *every = lgv_settings_get(d->settings, "run.eval_every");
  bool is_set = every && !lgv__is_default(d, "run.eval_every", every);
  return is_set ? lgv__same_value(value, "inf")
                : is_table_default(d->settings, "run.eval_share", value);
}

bool lgv__is_default(const lgv_defaults *d, const char *key, const char *value) {
  const char *dot = strchr(key, '.');
  char text[LGV_TEXT_SIZE * 2];
  if (strncmp(key, "langevin.", 9) == 0 || strcmp(key, "run.seed") == 0) return true;
  if (dot && strcmp(dot, ".name") == 0 && strncmp(key, "optim", 5) != 0) return true;
  if (strcmp(key, "run.episodes") == 0 || strcmp(key, "run.steps") == 0)
    return is_table_default(d->settings, key, value);
  if (strcmp(key, "run.eval_share") == 0) return is_default_share(d, value);
  if (d->plan && lgv_plan_get(d->plan, key, text, sizeof text, NULL) == LGV_OK)
    return lgv__same_value(text, value);
  return is_table_default(d->settings, key, value);
}
