/* A forged agent file, as lgv_agent_load reads it: a real one in which numbers are replaced and all
 * checksums corrected, of agents for continuous actions, with feature maps, for bandits and in
 * bf16. The agent refuses it, or acts and learns on; it may fail, with a
 * message.
 *
 * Input: which agent (1 byte), then changes (forge_change). */
#include "fuzz.h"

#include "forge.h"

enum { STEPS = 40, MORE = 12 };

static const char *const kinds[] = {
    "env.name=pendulum agent.name=sac agent.hidden=4 agent.replay=24 agent.warmup=8 agent.batch=3",
    "env.name=pendulum agent.name=td3 agent.hidden=4 agent.replay=24 agent.warmup=8 agent.batch=3",
    "env.name=pendulum agent.name=dsac agent.hidden=4 agent.replay=24 agent.warmup=8 agent.batch=3",
    "env.name=pendulum agent.name=lsac agent.hidden=4 agent.replay=24 agent.warmup=8 agent.batch=3",
    "env.name=cartpole agent.name=lmc-lsvi agent.features=rbf features.count=8",
    "env.name=cartpole agent.name=rlsvi agent.features=tiles features.tilings=2 features.tiles=2",
    "env.name=bandit agent.name=lmc-ts env.arms=3 env.dim=2",
    "env.name=cartpole agent.name=adam-lmcdqn agent.precision=bf16 agent.hidden=8 agent.replay=24 "
    "agent.warmup=8 agent.batch=3",
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct world {
  lgv_settings *settings;
  unsigned char *bytes; /* of a file of the agent */
  size_t size;
} world;

static world worlds[KINDS];

static void need(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "fuzz_agent: %s\n", what);
  abort();
}

static void free_worlds(void) {
  for (world *w = worlds; w < worlds + KINDS; w++) {
    lgv_settings_free(w->settings);
    free(w->bytes);
  }
}

static void open_both(const world *w, lgv_env **env, lgv_agent **agent) {
  lgv_error err = {0};
  need(lgv_env_create(w->settings, 1, env, &err) == LGV_OK, err.message);
  need(lgv_agent_create(w->settings, lgv_env_get_spec(*env), STEPS, STEPS, 1, agent, &err) ==
           LGV_OK,
       err.message);
}

/* Some steps of acting and learning; the status of the first that fails. */
static lgv_status play(lgv_env *env, lgv_agent *agent, int steps, lgv_error *err) {
  lgv_obs obs;
  lgv_outcome outcome = {.terminated = true};
  lgv_status status = LGV_OK;
  for (int i = 0; i < steps && status == LGV_OK; i++) {
    lgv_action action;
    if (outcome.terminated || outcome.truncated) {
      status = lgv_env_reset(env, &obs, err);
      if (status == LGV_OK) status = lgv_agent_begin_episode(agent, err);
    }
    if (status == LGV_OK) status = lgv_agent_act(agent, &obs, LGV_EVAL, &action, err);
    if (status == LGV_OK) status = lgv_agent_act(agent, &obs, LGV_TRAIN, &action, err);
    lgv_obs before = obs;
    if (status == LGV_OK) status = lgv_env_step(env, &action, &outcome, &obs, err);
    if (status != LGV_OK) break;
    lgv_transition t = {.obs = before,
                        .next = obs,
                        .action = &action,
                        .reward = outcome.reward,
                        .terminated = outcome.terminated,
                        .truncated = outcome.truncated};
    status = lgv_agent_observe(agent, &t, err);
    if (status == LGV_OK && (t.terminated || t.truncated))
      status = lgv_agent_end_episode(agent, err);
  }
  return status;
}

static world *open_world(size_t index) {
  world *w = &worlds[index];
  lgv_error err = {0};
  lgv_env *env;
  lgv_agent *agent;
  char copy[512], *rest = copy;
  bool first = true;
  if (w->bytes) return w;
  for (size_t i = 0; i < KINDS; i++) first &= !worlds[i].bytes;
  if (first) atexit(free_worlds);
  snprintf(copy, sizeof copy, "%s", kinds[index]);
  need(lgv_settings_create(&w->settings, &err) == LGV_OK, "settings");
  for (char *item; (item = strsep(&rest, " "));)
    need(lgv_settings_assign(w->settings, item, "fuzz", &err) == LGV_OK, err.message);
  open_both(w, &env, &agent);
  need(play(env, agent, STEPS, &err) == LGV_OK, err.message);
  static const char *const none[] = {NULL};
  const char *directory = fuzz_directory(none);
  char path[128];
  snprintf(path, sizeof path, "%s/agent", directory);
  need(lgv_agent_save(agent, path, NULL, &err) == LGV_OK, err.message);
  w->bytes = forge_read(path, &w->size);
  need(w->bytes && remove(path) == 0, "an agent file");
  lgv_agent_free(agent);
  lgv_env_free(env);
  return w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  forge f;
  lgv_env *env;
  lgv_agent *agent;
  lgv_error err = {0};
  if (size < 1) return 0;
  const world *w = open_world(data[0] % KINDS);
  unsigned char *copy = malloc(w->size);
  memcpy(copy, w->bytes, w->size);
  need(forge_open(&f, copy, w->size), "an agent file that cannot be changed");
  forge_change(&f, data + 1, size - 1);
  open_both(w, &env, &agent);
  lgv_status status = lgv_agent_load(agent, fuzz_file(f.bytes, f.size), &err);
  if (status == LGV_OK) status = play(env, agent, MORE, &err);
  need(status == LGV_OK || strlen(err.message) > 0, "a failure without a message");
  lgv_agent_free(agent);
  lgv_env_free(env);
  free(copy);
  return 0;
}
