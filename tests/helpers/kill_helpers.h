/* Runs that are killed at random moments and resumed until they end as if nothing had happened:
 * every agent of the registry, with checkpoints written by the run itself and by a child process.
 */
#ifndef LGV_TESTS_KILL_HELPERS_H
#define LGV_TESTS_KILL_HELPERS_H

#include "record/checkpoint.h"
#include "registry.h"

#include "fault_helpers.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static inline double kill_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline pid_t start_life(const lgv_plan *plan, const char *directory) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  lgv_error err = {0};
  lgv_status status = finish_run(plan, directory, true, &err);
  if (status != LGV_OK) fprintf(stderr, "%s\n", err.message);
  _exit(status == LGV_OK ? 0 : 1);
}

/* One process of random lifetime, at most half the time of the whole run. Returns whether it was
 * killed; if not, the run is done. */
static inline bool live(const lgv_plan *plan, const char *directory, double whole, lgv_rng *rng) {
  double seconds = 0.5 * whole * lgv_rng_uniform(rng);
  struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  pid_t child = start_life(plan, directory);
  while (nanosleep(&t, &t) != 0) continue;
  kill(child, SIGKILL);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) return true;
  assert_int_equal(WEXITSTATUS(status), 0);
  return false;
}

/* Kills runs of the agent at least `kills` times; returns the number of kills. */
static inline int kill_agent(const char *env, const char *agent, const char *extra, int kills,
                             lgv_rng *rng) {
  char root[TEMP_SIZE], alone[PATH_MAX], killed[PATH_MAX], settings[512];
  snprintf(settings, sizeof settings, "run.steps=600 run.checkpoint_every=60 %s", extra);
  lgv_plan *plan = make_plan(env, agent, settings);
  lgv_error err = {0};
  int done = 0;
  make_temp(root);
  join(alone, root, "alone");
  join(killed, root, "killed");
  double begun = kill_clock();
  if (finish_run(plan, alone, false, &err) != LGV_OK) fail_msg("%s: %s", agent, err.message);
  double whole = kill_clock() - begun;
  for (int tries = 0; done < kills; tries++) {
    if (tries == 100 * kills) fail_msg("%s is too fast to be killed", agent);
    if (live(plan, killed, whole, rng)) {
      done++;
      continue;
    }
    assert_same_records(alone, killed);
    remove_tree(killed);
  }
  if (finish_run(plan, killed, true, &err) != LGV_OK) fail_msg("%s: %s", agent, err.message);
  assert_same_records(alone, killed);
  remove_tree(root);
  lgv_plan_free(plan);
  return done;
}

/* State that agents have on some problems or with some settings only. */
static const char *const kinds_to_kill[][3] = {
    {"cartpole", "lmc-lsvi", "agent.features=rbf features.count=20 run.steps=300"},
    {"cartpole", "lsvi-ucb",
     "agent.features=tiles features.tilings=2 features.tiles=2 run.steps=300"},
    {"cartpole", "rlsvi",
     "agent.features=random-fourier features.count=16 agent.form=discounted run.steps=300"},
    {"linear-mdp", "lsvi-phe", "agent.gram=dense run.steps=300"},
    {"riverswim", "lmc-lsvi", "agent.sampler=svrg agent.updates=2 agent.lambda=1"},
    {"bandit", "lmc-ts", ""},
    {"bandit", "lin-ucb", "env.contexts=0 agent.features=rows"},
    {"bandit", "lin-ts", "env.kind=logistic"},
    {"point-maze", "sac", "agent.hidden=16"},
    {"pendulum", "lsac", "agent.variant=repaired agent.hidden=16"},
    {"cartpole", "adam-lmcdqn", "agent.precision=bf16"},
    {"cartpole", "bootstrapped-dqn", "agent.precision=bf16x3"},
    {"cartpole", "pathwise-lmcdqn", "run.envs=2"},
    {"riverswim", "prioritized-dqn", "run.envs=3 agent.n_step=3"},
    {"cartpole", "dqn", "run.envs=2 agent.normalize_obs=true agent.scale_rewards=true"},
    {"switches", "dqn", "env.lamps=3"},
};
enum { KINDS_TO_KILL = sizeof kinds_to_kill / sizeof *kinds_to_kill };

/* How many agents and kinds kill_every_agent goes through. */
static inline int count_agents_to_kill(void) {
  int agents = KINDS_TO_KILL;
  for (size_t a = 0; lgv__agents[a]; a++) agents++;
  return agents;
}

/* Every agent of the registry at home (nchain is small, and its model also suits linear agents),
 * then the kinds above; every second one lets a child process write its checkpoints. */
static inline int kill_every_agent(int kills_each, uint64_t seed) {
  int kills = 0, agents = count_agents_to_kill() - KINDS_TO_KILL;
  lgv_rng rng;
  lgv_rng_seed(&rng, seed, "kills");
  for (int a = 0; a < agents + KINDS_TO_KILL; a++) {
    const char *const *kind = a < agents ? NULL : kinds_to_kill[a - agents];
    size_t usual = a % 2 ? lgv__checkpoint_fork_from(0) : 0;
    kills +=
        kill_agent(kind ? kind[0] : home_of(lgv__agents[a]), kind ? kind[1] : lgv__agents[a]->name,
                   kind ? kind[2] : "", kills_each, &rng);
    if (usual) lgv__checkpoint_fork_from(usual);
  }
  return kills;
}

#endif
