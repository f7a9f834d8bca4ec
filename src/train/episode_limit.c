/* Episodes of environments without a time limit. An episode that reaches run.episode_steps is
 * truncated: the agent bootstraps from its last observation, ends the episode, and the environment
 * is reset. Agents that plan or resample between episodes thus learn in tasks without an end.
 *
 * Environments with limits of their own may set them so high that no episode ends for very long; a
 * notice says so.
 *
 * Invariant: whether an episode is truncated depends on the stage of its last observation alone,
 * which checkpoints hold, so that a resumed run truncates at the same step. */
#include "train/episode_limit.h"

#include "config/run_params.h"
#include "env/env.h"

#include <stdio.h>

static void notify_truncation(lgv_episode_limit *limit, const lgv_env *env) {
  char text[160];
  if (limit->truncation_is_known) return;
  limit->truncation_is_known = true;
  bool has_limit = lgv_env_get_spec(env)->horizon > 0 || lgv__env_type(env)->limits_episodes;
  if (has_limit) return; /* a shorter limit was asked for */
  snprintf(text, sizeof text,
           "has no time limit: episodes are truncated after %lld steps (run.episode_steps)",
           (long long)limit->steps);
  lgv__env_notify(env, text);
}

static void notify_waiting(lgv_episode_limit *limit, const lgv_env *env) {
  char text[160];
  int64_t patience = lgv__long_episode(lgv_env_get_spec(env));
  bool is_waiting = limit->steps == 0 && limit->waited >= patience * limit->streams;
  if (limit->waiting_is_known || !is_waiting) return;
  limit->waiting_is_known = true;
  snprintf(text, sizeof text,
           "has not ended an episode for %lld steps; set run.episode_steps to truncate episodes "
           "earlier",
           (long long)patience);
  lgv__env_notify(env, text);
}

void lgv__limit_episode(lgv_episode_limit *limit, const lgv_env *env, lgv_transition *t) {
  bool has_ended = t->terminated || t->truncated;
  if (!has_ended && limit->steps > 0 && t->next.stage >= limit->steps) {
    has_ended = t->truncated = true;
    notify_truncation(limit, env);
  }
  limit->waited = has_ended ? 0 : limit->waited + 1;
  notify_waiting(limit, env);
}
