/* The protocol with a worker process, as src/env/external/remote.c, env_gym.c and env_atari.c read
 * it, and the agent that learns behind it, which trusts the spec that the worker's greeting
 * describes.
 *
 * The functions of src/env/external/process.h are replaced here, so that no process is started: the
 * packets that a worker would send are already in the socket, followed by the end of the
 * connection.
 *
 * An input has a byte of choices (see the enum; its high half is an index into `agents`), a byte
 * with the size of the shared memory in units of 256 bytes, then packets, each after two bytes with
 * its length. The memory holds the input over and over. With COUNTS the answers get the right
 * sequence numbers, which chance would not find. */
#include "fuzz.h"

#include "base/spec.h"
#include "env/env.h"
#include "env/external/process.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IS_ATARI = 1, RESTARTS = 2, COUNTS = 4, SAVES = 8, AGENT_SHIFT = 4 };
enum { HEAD = 2, MOST_PACKETS = 64, STEPS = 24, SEQUENCE_AT = 4, LONGEST = 60000 };
enum { MOST_OBS = 1 << 14 }; /* bytes: larger ones make agents slow, but no different */

/* NULL: the target chooses the actions itself. */
static const char *const agents[16] = {NULL,
                                       "auto",
                                       "dqn",
                                       "c51",
                                       "iqn",
                                       "noisynet-dqn",
                                       "bootstrapped-dqn",
                                       "adam-lmcdqn",
                                       "hyperagent",
                                       "qr-dqn",
                                       "lmc-lsvi",
                                       "lsvi-ucb",
                                       "psrl",
                                       "lin-ts",
                                       "oppo",
                                       "lmc-lsvi"};
enum { AUTO = 1, FIRST_LINEAR = 10, WITH_FEATURES = 15 }; /* the last one has a feature map */

static const uint8_t *input, *at; /* the next packet */
static size_t input_size;

/* ---- the fake process ---- */

static void fill_memory(int fd) {
  size_t size = 256 * (size_t)input[1];
  if (ftruncate(fd, (off_t)size) != 0) return;
  for (size_t done = 0, part; done < size; done += part) {
    part = size - done < input_size ? size - done : input_size;
    if (pwrite(fd, input, part, (off_t)done) != (ssize_t)part) return;
  }
}

static void queue_packets(int socket) {
  const uint8_t *end = input + input_size;
  for (uint32_t n = 0; n < MOST_PACKETS && end - at >= 2; n++) {
    size_t length = at[0] + 256u * at[1], left = (size_t)(end - at) - 2;
    uint8_t packet[LONGEST];
    if (length > left) length = left;
    if (length > LONGEST) length = LONGEST;
    memcpy(packet, at + 2, length);
    at += 2 + length;
    if (n > 0 && length >= SEQUENCE_AT + sizeof n && (input[0] & COUNTS))
      memcpy(packet + SEQUENCE_AT, &n, sizeof n);
    if (length == 0) break; /* the end of this worker; the rest is for the next one */
    if (send(socket, packet, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
  }
  (void)!shutdown(socket, SHUT_WR);
}

lgv_status lgv__process_start(process *p, const char *python, bool show_output, lgv_error *err) {
  int pair[2];
  (void)python, (void)show_output, (void)err;
  *p = (process){.pid = 0, .socket = -1, .lifeline = -1, .log = -1};
  p->memory = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  if (p->memory < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return LGV_ERR_ENV;
  p->socket = pair[0];
  p->lifeline = pair[1]; /* the worker's end, kept open so that sending works */
  fill_memory(p->memory);
  queue_packets(pair[1]);
  return LGV_OK;
}

static void close_descriptor(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void lgv__process_end(process *p, double seconds, char *fate, size_t size) {
  (void)seconds;
  if (size) strncpy(fate, "ended", size);
  close_descriptor(&p->socket);
  close_descriptor(&p->lifeline);
}

void lgv__process_close(process *p) { close_descriptor(&p->memory); }

void lgv__process_last_words(const process *p, char *text, size_t size) {
  (void)p, (void)size;
  text[0] = '\0';
}

void lgv__process_trim_log(const process *p) { (void)p; }

/* ---- the environment over it ---- */

static void hear(void *context, const char *text) { *(size_t *)context += strlen(text); }

static unsigned look(lgv_env *env) {
  lgv_picture p;
  if (!lgv_env_picture(env, &p)) return 0;
  size_t size = (size_t)p.height * (size_t)p.width * (size_t)p.channels;
  const volatile uint8_t *pixels = p.pixels; /* both ends of it must be there */
  return pixels[0] + pixels[size - 1];
}

static float between(float low, float high) { return low > 0 ? low : high < 0 ? high : 0; }

/* The first allowed choice of every part, or the value nearest to 0; checks the mask on the way. */
static lgv_action act(const lgv_env *env, const lgv_obs *obs) {
  const lgv_action_space *space = &lgv_env_get_spec(env)->actions;
  const uint8_t *mask = obs->mask;
  lgv_action action = {0};
  if (!mask && space->kind != LGV_BOX) return action;
  for (int32_t p = 0; p < lgv__action_parts(space); p++) {
    if (space->kind == LGV_BOX) {
      action.values[p] = between(space->low[p], space->high[p]);
      continue;
    }
    int32_t count = lgv__part_choices(space, p);
    while (action.choices[p] < count && !mask[action.choices[p]]) action.choices[p]++;
    mask += count;
  }
  return action;
}

/* The agent learns from the step, or a new episode begins for it. */
static bool learn(lgv_agent *agent, const lgv_transition *t, bool in_episode) {
  lgv_error err;
  if (!agent) return true;
  if (!in_episode) return lgv_agent_begin_episode(agent, &err) == LGV_OK;
  if (lgv_agent_observe(agent, t, &err) != LGV_OK) return false;
  bool over = t->terminated || t->truncated;
  return !over || lgv_agent_end_episode(agent, &err) == LGV_OK;
}

/* The action of the agent, if there is one; false if it refuses. */
static bool choose(lgv_agent *agent, const lgv_env *env, const lgv_obs *obs, bool in_episode,
                   lgv_action *action) {
  lgv_error err;
  if (!agent || !in_episode) *action = act(env, obs);
  return !agent || !in_episode || lgv_agent_act(agent, obs, LGV_TRAIN, action, &err) == LGV_OK;
}

static void play(lgv_env *env, lgv_agent *agent) {
  lgv_obs obs = {0};
  lgv_outcome outcome;
  lgv_error err;
  bool in_episode = false, again;
  for (int i = 0; i < STEPS; i++) {
    lgv_action action;
    lgv_obs before = obs;
    if (!choose(agent, env, &obs, in_episode, &action)) return;
    lgv_status status = in_episode ? lgv_env_step(env, &action, &outcome, &obs, &err)
                                   : lgv_env_reset(env, &obs, &err);
    if (status != LGV_OK) return;
    lgv_transition t = {.obs = before, .next = obs, .action = &action};
    if (in_episode) {
      t.reward = outcome.reward;
      t.terminated = outcome.terminated;
      t.truncated = outcome.truncated;
    }
    if (!learn(agent, &t, in_episode)) return;
    in_episode = !in_episode || !(outcome.terminated || outcome.truncated);
    (void)look(env);
    if (!(input[0] & SAVES) || i % 4 != 3) continue;
    if (lgv__env_save(env, &err) != LGV_OK || lgv__env_restore(env, &again, &err) != LGV_OK) return;
    in_episode &= again;
  }
}

static bool set(lgv_settings *settings, const char *assignment) {
  lgv_error err;
  return lgv_settings_assign(settings, assignment, "fuzz", &err) == LGV_OK;
}

static lgv_agent *make_agent(lgv_settings *settings, const lgv_env *env, int index) {
  static const char *const small[] = {
      "agent.hidden=4", "agent.batch=2", "agent.replay=32",
      "agent.warmup=2"}; /* auto may pick one without the last two */
  const lgv_env_spec *spec = lgv_env_get_spec(env);
  lgv_agent *agent = NULL;
  lgv_error err;
  if (!agents[index] || lgv__obs_bytes(spec) > MOST_OBS || spec->actions.count > MOST_OBS)
    return NULL;
  bool ready = lgv_settings_set(settings, "agent.name", agents[index], "fuzz", &err) == LGV_OK;
  size_t keys = index >= FIRST_LINEAR ? 0 : index == AUTO ? 2 : 4;
  for (size_t i = 0; i < keys; i++) ready &= set(settings, small[i]);
  if (index == WITH_FEATURES) ready &= set(settings, "agent.features=identity");
  if (ready && lgv_agent_create(settings, spec, STEPS, STEPS, 1, &agent, &err) == LGV_OK)
    return agent;
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lgv_settings *settings;
  lgv_error err;
  lgv_env *env;
  size_t heard = 0;
  if (size < HEAD || lgv_settings_create(&settings, &err) != LGV_OK) return 0;
  input = data;
  at = data + HEAD;
  input_size = size;
  bool ready = set(settings, data[0] & IS_ATARI ? "env.name=atari:fuzz" : "env.name=gym:Fuzz-v0");
  if (data[0] & IS_ATARI) ready &= set(settings, "env.size=4") && set(settings, "env.noops=5");
  if (data[0] & RESTARTS) ready &= set(settings, "run.on_worker_death=restart");
  lgv_settings_on_notice(settings, hear, &heard);
  if (ready && lgv_env_create(settings, 1, &env, &err) == LGV_OK) {
    lgv_agent *agent = make_agent(settings, env, data[0] >> AGENT_SHIFT);
    play(env, agent);
    lgv_agent_free(agent);
    lgv_env_free(env);
  }
  lgv_settings_free(settings);
  return 0;
}
