/* A forged network file, as agent.features = network reads it: a real one in which numbers are
 * replaced and all checksums corrected. The agent is refused, or it learns from features of that
 * network; it may fail, with a message.
 *
 * Input: which network (1 byte), then changes (forge_change). */
#include "fuzz.h"

#include "forge.h"

enum { NUMBERS = 64, ACTIONS = 3, EPISODE = 5, STEPS = 15 };

#define SPEC .size = sizeof(lgv_env_spec), .actions = {.count = ACTIONS}, .reward_max = 1
static const lgv_env_spec vectors = {SPEC, .obs_shape = {4, 1, 1}};
static const lgv_env_spec pictures = {SPEC, .obs_kind = LGV_OBS_BYTE, .obs_shape = {4, 4, 2},
                                      .vector = 2};

static struct {
  const lgv_env_spec *env;
  const char *settings;
  unsigned char *bytes;
  size_t size;
} donors[] = {{&vectors, "agent.name=dqn agent.hidden=5,4", NULL, 0},
              {&vectors, "agent.name=dqn agent.hidden=4 agent.normalize_obs=true", NULL, 0},
              {&vectors, "agent.name=dqn agent.hidden=8 agent.precision=bf16", NULL, 0},
              {&pictures, "agent.name=dqn agent.conv=3x2s1 agent.hidden=4", NULL, 0}};
enum { DONORS = sizeof donors / sizeof *donors };

static void need(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "fuzz_network: %s\n", what);
  abort();
}

static void free_donors(void) {
  for (size_t i = 0; i < DONORS; i++) free(donors[i].bytes);
}

static lgv_status make(const char *text, const lgv_env_spec *env, lgv_agent **agent,
                       lgv_error *err) {
  char copy[512], *rest = copy;
  lgv_settings *settings;
  snprintf(copy, sizeof copy, "%s", text);
  need(lgv_settings_create(&settings, err) == LGV_OK, "settings");
  for (char *item; (item = strsep(&rest, " "));)
    need(lgv_settings_assign(settings, item, "fuzz", err) == LGV_OK, err->message);
  lgv_status status = lgv_agent_create(settings, env, STEPS, STEPS, 1, agent, err);
  lgv_settings_free(settings);
  return status;
}

static void make_donor(size_t i) {
  static const char *const none[] = {NULL};
  lgv_agent *agent;
  lgv_error err = {0};
  char path[128];
  if (donors[i].bytes) return;
  need(make(donors[i].settings, donors[i].env, &agent, &err) == LGV_OK, err.message);
  snprintf(path, sizeof path, "%s/net.safetensors", fuzz_directory(none));
  need(lgv_agent_export(agent, path, "unused", &err) == LGV_OK, err.message);
  donors[i].bytes = forge_read(path, &donors[i].size);
  need(donors[i].bytes && remove(path) == 0, "a network file");
  lgv_agent_free(agent);
}

static lgv_status learn(lgv_agent *agent, lgv_error *err) {
  float numbers[2][NUMBERS];
  lgv_action action;
  lgv_status status = LGV_OK;
  for (int i = 0; i < 2 * NUMBERS; i++) numbers[i / NUMBERS][i % NUMBERS] = (float)(i % 7);
  for (int i = 0; i < STEPS && status == LGV_OK; i++) {
    int stage = i % EPISODE;
    lgv_transition t = {.obs = {.data = numbers[i % 2], .state = -1, .stage = stage},
                        .next = {.data = numbers[1 - i % 2], .state = -1, .stage = stage + 1},
                        .action = &action,
                        .reward = i % 2,
                        .terminated = stage == EPISODE - 1};
    if (stage == 0) status = lgv_agent_begin_episode(agent, err);
    if (status == LGV_OK) status = lgv_agent_act(agent, &t.obs, LGV_TRAIN, &action, err);
    if (status == LGV_OK) status = lgv_agent_observe(agent, &t, err);
    if (status == LGV_OK && t.terminated) status = lgv_agent_end_episode(agent, err);
  }
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  forge f;
  lgv_agent *agent;
  lgv_error err = {0};
  char settings[256];
  if (size < 1) return 0;
  size_t i = data[0] % DONORS;
  if (!donors[0].bytes) atexit(free_donors);
  for (size_t j = 0; j < DONORS; j++) make_donor(j);
  unsigned char *copy = malloc(donors[i].size);
  memcpy(copy, donors[i].bytes, donors[i].size);
  need(forge_open(&f, copy, donors[i].size), "a network file that cannot be changed");
  forge_change(&f, data + 1, size - 1);
  snprintf(settings, sizeof settings,
           "agent.name=lmc-lsvi agent.features=network agent.form=discounted agent.sweeps=2 "
           "features.file=%.100s",
           fuzz_file(f.bytes, f.size));
  lgv_status status = make(settings, donors[i].env, &agent, &err);
  if (status == LGV_OK) {
    status = learn(agent, &err);
    lgv_agent_free(agent);
  }
  need(status == LGV_OK || strlen(err.message) > 0, "a failure without a message");
  free(copy);
  return 0;
}
