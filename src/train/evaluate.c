/* Evaluation episodes, and trained agents from files: those of finished or interrupted runs, and
 * those that Python's save() wrote, whose metadata are a configuration. */
#include "agent/agent.h"
#include "base/error.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/spec.h"
#include "base/stack.h"
#include "config/plan.h"
#include "config/run_directory.h"
#include "config/settings_yaml.h"
#include "env/env.h"
#include "math/kernels.h"
#include "record/checkpoint.h"
#include "train/run.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool lgv__same_problem(const lgv_env_spec *a, const lgv_env_spec *b, bool with_horizon) {
  return a->obs_kind == b->obs_kind && a->obs_form == b->obs_form &&
         memcmp(a->obs_shape, b->obs_shape, sizeof a->obs_shape) == 0 &&
         lgv__frames(a) == lgv__frames(b) && a->vector == b->vector &&
         lgv__same_actions(&a->actions, &b->actions) && a->masked == b->masked &&
         a->states == b->states && a->feature_dim == b->feature_dim &&
         (!with_horizon || a->horizon == b->horizon);
}

lgv_status lgv__open_eval_env(const lgv_plan *plan, uint64_t seed, const char *purpose,
                              lgv_env **env, lgv_error *err) {
  LGV_TRY(lgv__env_open_eval(plan->env_type, plan->env_params, plan->env_common, &plan->host, seed,
                             purpose, env, err));
  bool with_horizon = plan->agent_type->traits & LGV_NEEDS_HORIZON;
  if (lgv__same_problem(lgv_env_get_spec(*env), &plan->env, with_horizon)) return LGV_OK;
  lgv_env_free(*env);
  *env = NULL;
  return lgv_fail(err, LGV_ERR_ENV,
                  "%s: the environment of evaluations differs from that of training in its "
                  "observations, actions, states or horizon",
                  plan->env_type->name);
}

enum { ASK_EVERY = 16 }; /* steps: the caller may be slow to answer */

/* Begins an episode, or continues the current one, until it ends. */
static lgv_status play(lgv_agent *agent, lgv_env *env, int64_t most_steps, lgv_stop stop,
                       lgv_evaluation *e, lgv_error *err) {
  lgv_obs obs;
  lgv_outcome outcome = {0};
  if (e->steps == 0)
    LGV_TRY(lgv_env_reset(env, &obs, err));
  else
    obs = lgv__env_obs(env);
  while (e->steps < most_steps && !outcome.terminated && !outcome.truncated) {
    lgv_action action;
    if (e->steps % ASK_EVERY == ASK_EVERY - 1 && stop.asked && stop.asked(stop.context))
      return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
    LGV_TRY(lgv__agent_act(agent, &obs, LGV_EVAL, &action, err));
    LGV_TRY(lgv_env_step(env, &action, &outcome, &obs, err));
    e->episode_return += outcome.reward;
    e->steps++;
  }
  return LGV_OK;
}

lgv_status lgv__evaluate(lgv_agent *agent, lgv_env *env, int64_t episodes, int64_t most_steps,
                         lgv_stop stop, lgv_evaluation *e, lgv_error *err) {
  while (e->episodes < episodes) {
    bool asked = e->steps == 0 && stop.asked && stop.asked(stop.context);
    if (asked) return lgv_fail(err, LGV_ERR_INTERRUPTED, LGV_INTERRUPTED);
    LGV_TRY(play(agent, env, most_steps, stop, e, err));
    e->sum += e->episode_return;
    e->episodes++;
    e->steps = 0;
    e->episode_return = 0;
  }
  return LGV_OK;
}

/* The run directory of a checkpoint, and the one file meant (NULL: the newest that is whole). */
static lgv_status split_path(const char *path, char *directory, size_t size, const char **file,
                             lgv_error *err) {
  struct stat info;
  bool there;
  LGV_TRY(lgv__is_there(path, &there, err));
  if (!there || stat(path, &info) != 0)
    return lgv_fail(err, LGV_ERR_IO, "there is no checkpoint or run directory %s", path);
  *file = S_ISDIR(info.st_mode) ? NULL : path;
  const char *slash = *file ? strrchr(path, '/') : path + strlen(path);
  int length = slash ? (int)(slash - path) : 1;
  if ((size_t)length >= size)
    return lgv_fail(err, LGV_ERR_IO, "the path %.200s... is too long", path);
  snprintf(directory, size, "%.*s", length, slash ? (length ? path : "/") : ".");
  return LGV_OK;
}

static lgv_status load_run_settings(lgv_settings *settings, const char *directory, lgv_error *err) {
  char config[PATH_MAX];
  bool there;
  LGV_TRY(lgv__join_path(directory, "config.json", config, sizeof config, err));
  LGV_TRY(lgv__is_there(config, &there, err));
  if (!there) LGV_TRY(lgv__seeds_check_none(directory, err));
  return lgv_settings_load(settings, config, err);
}

static lgv_status load_settings(lgv_settings *settings, const char *directory, const char *file,
                                lgv_error *err) {
  char *about = NULL;
  if (file) LGV_TRY(lgv__tensors_read_about(file, &about, err));
  if (!about) return load_run_settings(settings, directory, err);
  lgv_status status = lgv__settings_parse(settings, file, about, err);
  lgv__free(about);
  if (status == LGV_OK && !lgv_settings_get(settings, "env.name"))
    return lgv_fail(err, LGV_ERR_USAGE,
                    "%.300s: the agent was trained on an environment that only Python can make; "
                    "use langevin.load() and agent.export() there",
                    file);
  return status;
}

static lgv_status load_plan(const char *directory, const char *file, lgv_plan **plan,
                            lgv_error *err) {
  lgv_settings *settings;
  LGV_TRY(lgv_settings_create(&settings, err));
  lgv_status status = load_settings(settings, directory, file, err);
  if (status == LGV_OK) status = lgv_plan_create(settings, plan, err);
  lgv_settings_free(settings);
  return status;
}

struct lgv_trained {
  lgv_plan *plan;
  lgv_env *env;
  lgv_agent *agent;
};

/* What of a checkpoint acting needs: the agent without its experience, and the statistics of the
 * (first) training environment. */
static lgv_status collect(const lgv_trained *t, lgv_tensors *tensors, lgv_error *err) {
  size_t size;
  LGV_TRY(lgv__agent_collect(t->agent, tensors, err));
  lgv__tensors_drop_learning(tensors);
  void *statistics = lgv__env_statistics(t->env, &size);
  if (!statistics) return LGV_OK;
  return lgv__tensors_add(tensors, "env." LGV_STATISTICS, LGV_U8, size, statistics, err);
}

static lgv_status load_arrays(const lgv_trained *t, const char *directory, const char *file,
                              lgv_error *err) {
  lgv_tensors tensors = {0};
  lgv_error refused = {0};
  bool found = true;
  lgv_status status = collect(t, &tensors, err);
  if (status == LGV_OK)
    status = file ? lgv__tensors_read(&tensors, file, err)
                  : lgv__checkpoint_read(&tensors, directory, &found, &refused, err);
  lgv__tensors_free(&tensors);
  if (status == LGV_OK && refused.status != LGV_OK) /* no notice could be given here */
    return lgv_fail(err, LGV_ERR_IO,
                    "%.380s; name the one before it: checkpoint-previous.safetensors",
                    refused.message);
  if (status == LGV_OK && !found)
    return lgv_fail(err, LGV_ERR_IO,
                    "%.300s holds no checkpoint: the run has not written one yet, or "
                    "run.checkpoint_final is false",
                    directory);
  return status == LGV_OK ? lgv__env_adopt(t->env, t->env, err) : status;
}

static lgv_status open_parts(lgv_trained *t, const char *directory, const char *file, uint64_t seed,
                             lgv_error *err) {
  const lgv_plan *plan = t->plan;
  LGV_TRY(lgv__open_eval_env(plan, seed, "env.fresh", &t->env, err));
  lgv_env_spec trained = plan->env; /* evaluations may pay other rewards */
  trained.features = lgv_env_get_spec(t->env)->features;
  lgv_full_problem problem = lgv__plan_problem(plan, &trained);
  LGV_TRY(lgv__agent_open(plan->agent_type, plan->agent_params, &problem, seed, &t->agent, err));
  LGV_TRY(load_arrays(t, directory, file, err));
  lgv__agent_seed_eval(t->agent, seed);
  return LGV_OK;
}

/* The environment computes as that of the run did (lgv__run_open). */
static lgv_status open_trained(lgv_trained *t, const char *path, uint64_t seed, bool pictures,
                               lgv_error *err) {
  char directory[PATH_MAX];
  const char *file = NULL;
  LGV_TRY(split_path(path, directory, sizeof directory, &file, err));
  LGV_TRY(load_plan(directory, file, &t->plan, err));
  t->plan->host.pictures = pictures;
  bool portable = lgv__plan_is_portable(t->plan);
  const lgv_kernel_set *previous = lgv__kernels_begin(portable);
  lgv_status status = open_parts(t, directory, file, seed, err);
  lgv__kernels_end(portable, previous);
  return status;
}

lgv_status lgv_trained_open(const char *path, uint64_t seed, bool pictures, lgv_trained **out,
                            lgv_error *err) {
  *out = NULL;
  lgv_trained *t = lgv__calloc(1, sizeof *t);
  if (!t) return lgv__out_of_memory(err, "a trained agent");
  lgv_status status = open_trained(t, path, seed, pictures, err);
  if (status == LGV_OK)
    *out = t;
  else
    lgv_trained_free(t);
  return status;
}

void lgv_trained_free(lgv_trained *t) {
  if (!t) return;
  lgv_agent_free(t->agent);
  lgv_env_free(t->env);
  lgv_plan_free(t->plan);
  lgv__free(t);
}

const lgv_plan *lgv_trained_plan(const lgv_trained *t) { return t->plan; }
lgv_env *lgv_trained_env(const lgv_trained *t) { return t->env; }
lgv_agent *lgv_trained_agent(const lgv_trained *t) { return t->agent; }

lgv_status lgv_evaluate(const char *path, int64_t episodes, uint64_t seed, double *returns,
                        lgv_error *err) {
  lgv_trained *t;
  LGV_TRY(lgv_trained_open(path, seed, false, &t, err));
  lgv_status status = LGV_OK;
  for (int64_t i = 0; status == LGV_OK && i < episodes; i++) {
    lgv_evaluation one = {0};
    status = lgv__evaluate(t->agent, t->env, 1, t->plan->run.eval_steps, (lgv_stop){0}, &one, err);
    returns[i] = one.sum;
  }
  lgv_trained_free(t);
  return status;
}
