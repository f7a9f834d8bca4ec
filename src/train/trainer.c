/* An agent and an environment of the caller's, trained by the loop of runs: for bindings and
 * programs that keep no records, or their own. With the same settings and seed an agent goes
 * through the same bits as in a run with one environment. As in a run, the environment of an agent
 * in bf16 computes portably, except for what it drew when the caller opened it.
 *
 * An agent that was made for several environments (run.envs) takes each episode into the next of
 * its streams, so that the experience of all of them is renewed.
 *
 * Invariant: an advance that fails leaves no episode running; the next one begins with a reset, as
 * a resumed run does where an episode cannot continue. */
#include "agent/agent.h"
#include "base/error.h"
#include "base/memory.h"
#include "config/run_params.h"
#include "env/env.h"
#include "math/kernels.h"
#include "stats/exact.h"
#include "train/run.h"

#include <math.h>

struct lgv_trainer {
  lgv_agent *agent;
  lgv_stream stream;
  lgv_episode_limit limit;
  lgv_exact known;
  bool exact; /* the policy's exact value is known */
  bool in_episode;
  lgv_episode episode; /* the current one */
};

static lgv_status open_parts(lgv_trainer *trainer, lgv_error *err) {
  const lgv_agent_type *type = lgv__agent_type(trainer->agent);
  const lgv_env_spec *spec = lgv_env_get_spec(trainer->stream.env);
  bool with_horizon = type->traits & LGV_NEEDS_HORIZON;
  if (!lgv__same_problem(spec, lgv__agent_env(trainer->agent), with_horizon))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%s was made for an environment with other observations, actions, masks, "
                    "states or another horizon",
                    type->name);
  bool policies = type->policy && !lgv__agent_uses_map(trainer->agent);
  LGV_TRY(lgv__exact_open(&trainer->known, trainer->stream.env, policies, err));
  trainer->exact = trainer->known.model && policies;
  return LGV_OK;
}

static int64_t default_limit(const lgv_agent *agent, const lgv_env *env) {
  int64_t steps = lgv__agent_steps(agent) / lgv__agent_streams(agent);
  return lgv__env_type(env)->limits_episodes ? 0 : lgv_episode_steps(lgv_env_get_spec(env), steps);
}

lgv_status lgv_trainer_create(lgv_agent *agent, lgv_env *env, lgv_trainer **out, lgv_error *err) {
  *out = NULL;
  lgv_trainer *trainer = lgv__calloc(1, sizeof *trainer);
  if (!trainer) return lgv__out_of_memory(err, "a trainer");
  trainer->agent = agent;
  trainer->stream = (lgv_stream){.env = env, .index = -1, .limit = &trainer->limit};
  trainer->limit = (lgv_episode_limit){.steps = default_limit(agent, env), .streams = 1};
  lgv_status status = open_parts(trainer, err);
  if (status != LGV_OK) {
    lgv_trainer_free(trainer);
    return status;
  }
  *out = trainer;
  return LGV_OK;
}

void lgv_trainer_free(lgv_trainer *trainer) {
  if (!trainer) return;
  lgv__exact_close(&trainer->known);
  lgv__free(trainer);
}

lgv_status lgv_trainer_set_episode_steps(lgv_trainer *trainer, int64_t steps, lgv_error *err) {
  const lgv_env_spec *spec = lgv_env_get_spec(trainer->stream.env);
  if (steps < 0)
    return lgv_fail(err, LGV_ERR_USAGE, "episode_steps = %lld is negative", (long long)steps);
  LGV_TRY(lgv__check_episode_steps(steps, lgv__agent_type(trainer->agent), spec, err));
  trainer->limit.steps = steps;
  return LGV_OK;
}

void lgv_trainer_knows(const lgv_trainer *trainer, bool *value, bool *regret) {
  *value = trainer->exact;
  *regret = trainer->exact || lgv__env_type(trainer->stream.env)->regret;
}

static lgv_status begin_episode(lgv_trainer *trainer, lgv_error *err) {
  trainer->stream.index = (trainer->stream.index + 1) % lgv__agent_streams(trainer->agent);
  LGV_TRY(lgv__stream_begin(&trainer->stream, trainer->agent, err));
  trainer->episode = (lgv_episode){.value = NAN, .regret = NAN};
  if (trainer->exact)
    trainer->episode.value = lgv__exact_evaluate(
        &trainer->known, trainer->agent, trainer->stream.obs.state, &trainer->episode.regret);
  return LGV_OK;
}

static lgv_status step(lgv_trainer *trainer, lgv_error *err) {
  bool begins = !trainer->in_episode;
  trainer->in_episode = false;
  if (begins) LGV_TRY(begin_episode(trainer, err));
  LGV_TRY(lgv__stream_choose(&trainer->stream, trainer->agent, err));
  LGV_TRY(lgv__stream_start(&trainer->stream, err));
  LGV_TRY(lgv__stream_learn(&trainer->stream, trainer->agent, err));
  trainer->episode.episode_return += trainer->stream.step.reward;
  trainer->episode.length++;
  if (!trainer->exact) trainer->episode.regret = lgv__env_regret(trainer->stream.env);
  if (lgv__stream_has_ended(&trainer->stream)) return lgv_agent_end_episode(trainer->agent, err);
  trainer->in_episode = true;
  return LGV_OK;
}

static lgv_status advance(lgv_trainer *trainer, int64_t max_steps, lgv_episode *episodes,
                          int64_t max_episodes, int64_t *steps, int64_t *ended, lgv_error *err) {
  *steps = *ended = 0;
  while (*steps < max_steps && *ended < max_episodes) {
    LGV_TRY(step(trainer, err));
    ++*steps;
    if (!trainer->in_episode) episodes[(*ended)++] = trainer->episode;
  }
  return LGV_OK;
}

lgv_status lgv_trainer_advance(lgv_trainer *trainer, int64_t max_steps, lgv_episode *episodes,
                               int64_t max_episodes, int64_t *steps, int64_t *ended,
                               lgv_error *err) {
  bool portable = lgv__agent_computes_portably(trainer->agent);
  const lgv_kernel_set *previous = lgv__kernels_begin(portable);
  lgv_status status = advance(trainer, max_steps, episodes, max_episodes, steps, ended, err);
  lgv__kernels_end(portable, previous);
  return status;
}
