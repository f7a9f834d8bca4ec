/* Helpers for tests of Atari games: a Python with ALE, and a skip if there is none. */
#ifndef LGV_TESTS_ATARI_HELPERS_H
#define LGV_TESTS_ATARI_HELPERS_H

#include "env_helpers.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 84, PIXELS = SIDE * SIDE, FRAMES = 4, STACK = PIXELS * FRAMES };

static inline bool atari_is_there(void) {
  char command[4096 + 64];
  setenv("LANGEVIN_PYTHON", TEST_SOURCE_DIR "/../.venv/bin/python", 0);
  snprintf(command, sizeof command, "'%s' -c 'import ale_py' 2>/dev/null",
           getenv("LANGEVIN_PYTHON"));
  return system(command) == 0;
}

/* Without ALE the program ends here as passed, unless CI is set. */
static inline void need_atari(const char *test) {
  if (atari_is_there()) return;
  printf("%s: SKIPPED: no ale-py in %s; `scripts/setup-python` installs it\n", test,
         getenv("LANGEVIN_PYTHON"));
  const char *ci = getenv("CI");
  exit(ci && *ci ? 1 : 0);
}

static inline const uint8_t *reset_env(lgv_env *env) {
  lgv_obs obs;
  lgv_error err = {0};
  if (lgv_env_reset(env, &obs, &err) != LGV_OK) fail_msg("reset: %s", err.message);
  return obs.data;
}

static inline const uint8_t *step_env(lgv_env *env, int32_t action, lgv_outcome *outcome) {
  lgv_obs obs;
  lgv_error err = {0};
  if (lgv_env_step(env, choice(action), outcome, &obs, &err) != LGV_OK)
    fail_msg("step: %s", err.message);
  return obs.data;
}

static inline bool has_ended(const lgv_outcome *outcome) {
  return outcome->terminated || outcome->truncated;
}

enum { GAMES, LAST_SCORE, SCORE_SUM, COUNTERS };

static inline int64_t counter(const lgv_env *env, int which) {
  int64_t values[COUNTERS];
  lgv_env_counters(env, values);
  return values[which];
}

#endif
