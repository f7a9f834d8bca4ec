#include "config/run_params.h"

#include "base/error.h"
#include "base/param.h"
#include "base/spec.h"

#include <math.h>

static const char *const records[] = {"all", "summary", NULL};
static const char *const deaths[] = {"restart", "stop", NULL};

#define INT(field, text, low, high, help)                                                          \
  LGV_INT_ROW(lgv_run_params, field, #field, text, low, high, help)
#define REAL(field, text, low, high, help)                                                         \
  LGV_REAL_ROW(lgv_run_params, field, #field, text, low, high, 0, help)
#define BOOL(field, text, help) LGV_BOOL_ROW(lgv_run_params, field, #field, text, help)
#define CHOICE(field, text, names, help)                                                           \
  LGV_CHOICE_ROW(lgv_run_params, field, #field, text, names, help)

/* clang-format off */
const lgv_param lgv__run_params[] = {
    INT(episodes, "0", 0, 1e15, "training episodes; 0: as many as run.steps allows (1000 if neither is set and the agent plans by episode)"),
    INT(steps, "0", 0, 1e15, "training steps; 0: as many as run.episodes allows (100000 if neither is set)"),
    REAL(stop_return, "inf", 0, 0, "stop once the mean return of the last run.stop_window training episodes is at least this"),
    INT(stop_window, "100", 1, 1e6, "number of episodes that run.stop_return averages"),
    REAL(stop_seconds, "0", 0, 1e9, "stop at the first episode end after this much CPU time of the run; a resumed run starts counting at 0 again; 0: no limit"),
    INT(seed, "0", 0, 0x1p53, "seed of every random stream"),
    INT(envs, "1", 1, 1024, "number of environments that a deep agent learns from at once, each with its own episodes; run.steps and updates count the steps of all of them"),
    INT(update_threads, "1", 1, 64, "threads that share the matrix products of one update; useful for large networks when there are more cores than runs. Results and records do not depend on it"),
    INT(episode_steps, "0", 0, 1e15, "steps after which a training episode is truncated; 0: only the environment ends its episodes. If left out: 0 if the environment has a time limit; otherwise 10000 (108000 for large pictures), but at most a twentieth of the steps of each environment, and at least 100"),
    INT(eval_every, "0", 0, 1e15, "training steps between evaluations; 0: no evaluations. If left out: a hundredth of the run, and none for agents whose policy has an exact value"),
    INT(eval_episodes, "1", 1, 1e6, "episodes per evaluation"),
    INT(eval_steps, "10000", 1, 1e15, "steps after which an evaluation episode is cut, so that an agent that moves in circles does not stall the run. If left out: 10000, or the horizon if that is more; 108000 for pictures of at least 36 x 36; otherwise, without a horizon, at most half of what run.eval_share allows"),
    REAL(eval_share, "0.1", 0, INFINITY, "most steps that all evaluations together may take, as a share of the training steps: an evaluation that would exceed it is skipped, except the last one; inf: no limit. If left out: 0.1, or inf if run.eval_every is set"),
    INT(record_every, "1", 1, 1e15, "episodes per row of metrics.csv (with evaluations: one row each time one is due instead)"),
    INT(checkpoint_every, "1000000", 0, 1e15, "steps between checkpoints; 0: only when the run is interrupted or ends"),
    BOOL(checkpoint_final, "true", "write a checkpoint when the run ends, for `langevin eval` and for resuming with more steps"),
    CHOICE(records, "all", records, "summary: write only config.json and summary.json, for sweeps of many short runs"),
    BOOL(tensorboard, "true", "write a TensorBoard event file beside metrics.csv, with the same rows"),
    BOOL(accept_changes, "false", "resume with other settings than those of the checkpoint; config-until-STEP.json then keeps the former ones"),
    REAL(env_timeout, "300", 0, 1e9, "seconds that an environment in another process may take to start, to reset or to step; 0: no limit"),
    CHOICE(on_worker_death, "restart", deaths, "when the process of an environment dies or hangs: restart it once, with a warning (the episode counts as truncated), or stop the run"),
    {0},
};
/* clang-format on */

int64_t lgv__long_episode(const lgv_env_spec *env) {
  enum { LONG = 10000, LONG_GAME = 108000 };
  return lgv__is_large_picture(env->obs_form, env->obs_shape) ? LONG_GAME : LONG;
}

/* Agents that plan or resample between episodes need several of them within the budget. */
int64_t lgv_episode_steps(const lgv_env_spec *env, int64_t steps) {
  enum { EPISODES = 20, SHORTEST = 100 };
  int64_t most = lgv__long_episode(env), share = steps / EPISODES;
  if (env->horizon > 0) return 0;
  if (steps == 0 || share >= most) return most;
  return share > SHORTEST ? share : SHORTEST;
}

lgv_status lgv__check_episode_steps(int64_t steps, const lgv_agent_type *agent,
                                    const lgv_env_spec *env, lgv_error *err) {
  if (steps == 0 || steps >= env->horizon || !(agent->traits & LGV_NEEDS_HORIZON)) return LGV_OK;
  return lgv_fail(
      err, LGV_ERR_USAGE,
      "run.episode_steps = %lld: %s plans for the whole horizon of %lld steps; leave it "
      "out, or choose a shorter horizon by the parameters of the environment",
      (long long)steps, agent->name, (long long)env->horizon);
}
