/* Helpers for all tests: settings from a list of assignments, a plan, a run. Failures fail the
 * test. */
#ifndef LGV_TESTS_RUN_HELPERS_H
#define LGV_TESTS_RUN_HELPERS_H

#include "choice.h"
#include "langevin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* extra: NULL, or assignments such as "agent.lambda=1 run.episodes=5" separated by blanks. */
static inline lgv_settings *make_settings(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings;
  lgv_error err = {0};
  assert_int_equal(lgv_settings_create(&settings, &err), LGV_OK);
  if (env) assert_int_equal(lgv_settings_set(settings, "env.name", env, "test", &err), LGV_OK);
  if (agent)
    assert_int_equal(lgv_settings_set(settings, "agent.name", agent, "test", &err), LGV_OK);
  char copy[1024] = "";
  if (extra) strncpy(copy, extra, sizeof copy - 1);
  char *rest = copy;
  for (char *item; (item = strsep(&rest, " "));)
    if (*item) assert_int_equal(lgv_settings_assign(settings, item, "test", &err), LGV_OK);
  return settings;
}

static inline lgv_plan *make_plan(const char *env, const char *agent, const char *extra) {
  lgv_settings *settings = make_settings(env, agent, extra);
  lgv_plan *plan = NULL;
  lgv_error err = {0};
  lgv_status status = lgv_plan_create(settings, &plan, &err);
  if (status != LGV_OK) fail_msg("plan: %s", err.message);
  lgv_settings_free(settings);
  return plan;
}

static inline lgv_summary run_plan(const lgv_plan *plan, uint64_t seed) {
  lgv_run *run;
  lgv_error err = {0};
  lgv_summary summary;
  bool done = false;
  if (lgv_run_create(plan, seed, NULL, &run, &err) != LGV_OK) fail_msg("run: %s", err.message);
  while (!done)
    if (lgv_run_advance(run, 1000, &done, &err) != LGV_OK) fail_msg("run: %s", err.message);
  lgv_run_summary(run, &summary);
  lgv_run_free(run);
  return summary;
}

/* An array of an agent, by its name. count: of its elements, or NULL. */
static inline const void *agent_array(const lgv_agent *agent, const char *wanted, size_t *count) {
  const char *name;
  lgv_dtype dtype;
  size_t elements;
  const void *data;
  for (size_t i = 0; (data = lgv_agent_array(agent, i, &name, &dtype, &elements)); i++) {
    if (strcmp(name, wanted) != 0) continue;
    if (count) *count = elements;
    return data;
  }
  fail_msg("no array %s", wanted);
  return NULL;
}

#endif
