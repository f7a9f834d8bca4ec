/* Helpers for tests of Gymnasium environments: the project's virtual environment, and a skip if it
 * is missing. */
#ifndef LGV_TESTS_GYM_HELPERS_H
#define LGV_TESTS_GYM_HELPERS_H

#include "run_helpers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the bridge can be tested here. If CI is set, it must be. */
static inline bool gym_is_there(void) {
  char command[4096 + 64];
  setenv("LANGEVIN_PYTHON", TEST_SOURCE_DIR "/../.venv/bin/python", 0);
  setenv("PYTHONPATH", TEST_SOURCE_DIR "/fixtures", 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  snprintf(command, sizeof command, "'%s' -c 'import gymnasium' 2>/dev/null",
           getenv("LANGEVIN_PYTHON"));
  return system(command) == 0;
}

/* A group setup: without Gymnasium the program ends here as passed, unless CI is set. */
static inline void need_gym(const char *test) {
  if (gym_is_there()) return;
  printf("%s: SKIPPED: no Gymnasium in %s; `scripts/setup-python` installs it\n", test,
         getenv("LANGEVIN_PYTHON"));
  const char *ci = getenv("CI");
  exit(ci && *ci ? 1 : 0);
}

static inline void expect_no_child(void) {
  int state;
  assert_true(waitpid(-1, &state, WNOHANG) == -1 && errno == ECHILD);
}

static inline void keep_notice(void *context, const char *text) {
  char *kept = context;
  size_t used = strlen(kept);
  snprintf(kept + used, 4000 - used, "%s\n", text);
}

/* Adds env.import=gym_envs. notices: NULL, or 4000 bytes for warnings. */
static inline lgv_status open_gym(const char *name, const char *extra, char *notices, lgv_env **env,
                                  lgv_error *err) {
  lgv_settings *settings = make_settings(name, NULL, "env.import=gym_envs");
  char copy[1024] = "";
  if (extra) strncpy(copy, extra, sizeof copy - 1);
  char *rest = copy;
  for (char *item; (item = strsep(&rest, " "));)
    if (*item) assert_int_equal(lgv_settings_assign(settings, item, "test", err), LGV_OK);
  if (notices) lgv_settings_on_notice(settings, keep_notice, notices);
  lgv_status status = lgv_env_create(settings, 5, env, err);
  lgv_settings_free(settings);
  return status;
}

static inline lgv_env *make_gym(const char *name, const char *extra) {
  lgv_env *env;
  lgv_error err = {0};
  if (open_gym(name, extra, NULL, &env, &err) != LGV_OK) fail_msg("%s: %s", name, err.message);
  return env;
}

#endif
