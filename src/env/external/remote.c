/* The protocol, version 2. The library sends kind NUL config; the worker answers with a wire_hello.
 * Then commands and replies alternate. The command of a step whose action is not discrete is
 * followed by the action's numbers, 4 bytes per part. A hello may be followed by notices, one per
 * line; a failed hello or reply is followed by a message, a NUL and the whole traceback.
 *
 * Nothing that the worker sends is trusted: lengths, numbers and the size of the memory are
 * checked, and the memory is sealed against shrinking before it is mapped, so that reading it
 * cannot fault. */
#include "env/external/remote.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "env/external/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

enum { MAGIC = 0x3156474c, VERSION = 2 }; /* "LGV1" */
enum { RESET = 1, STEP, SAVE, RESTORE, CLOSE, FREEZE };
enum { FINE, WRONG_USAGE, RAISED, NOT_A_NUMBER };
enum { PACKET = 1 << 16 };

static const int64_t largest_memory = (int64_t)1 << 36;
static const int64_t most_states = (int64_t)1 << 24; /* one-hot observations of 64 MB */
static const double grace = 5; /* seconds for a worker to close its environment */

typedef struct wire_hello {
  uint32_t magic, version, status;
  int32_t obs_kind, obs_form, shape[3], vector, frames, masked, has_fire, height, width;
  int64_t states, horizon, obs_bytes, memory_bytes, save_offset, save_bytes;
  int32_t action_kind, parts, choices[LGV_MOST_PARTS];
  float low[LGV_MOST_PARTS], high[LGV_MOST_PARTS];
} wire_hello;

typedef struct wire_command {
  uint32_t operation, sequence;
  int32_t choice, repeat;
  uint64_t number; /* reset: the seed; restore: bytes */
} wire_command;

typedef struct wire_reply {
  uint32_t status, sequence;
  double reward;
  int32_t terminated, truncated, lives, frames, slot, reserved;
  int64_t number; /* reset, step: the state; save: bytes */
} wire_reply;

_Static_assert(sizeof(wire_hello) == 14 * 4 + 6 * 8 + (2 + 3 * LGV_MOST_PARTS) * 4,
               "the layout of the worker's HELLO");
_Static_assert(sizeof(remote_hello) == 11 * 4 + sizeof(lgv_action_space) + 6 * 8, "padding");

struct remote {
  process process;
  const lgv_host *host;
  const char *kind, *python;
  char *config;
  bool show_output;
  bool last; /* no other worker is started if this one dies */
  char what[LGV_TEXT_SIZE + 32];
  remote_hello hello;
  unsigned char *memory; /* (hello.memory_bytes) */
  bool dead;
  uint32_t operation, sequence; /* of the last command; 0: none yet */
  int64_t episodes, steps;      /* episodes begun; steps in this episode */
  char packet[PACKET + 1];      /* with room for a final NUL */
};

/* ---- Failures ---- */

/* "step 17 of episode 3" */
static const char *place(const remote *r, char *text, size_t size) {
  if (r->episodes == 0)
    snprintf(text, size, "at the start");
  else if (r->operation == RESET)
    snprintf(text, size, "at the reset of episode %lld", (long long)r->episodes);
  else
    snprintf(text, size, "in step %lld of episode %lld", (long long)r->steps,
             (long long)r->episodes);
  return text;
}

/* The worker has closed the socket. */
static lgv_status died(remote *r, lgv_error *err) {
  char fate[80], words[240], where[80];
  lgv__process_end(&r->process, grace, fate, sizeof fate);
  lgv__process_last_words(&r->process, words, sizeof words);
  r->dead = true;
  if (strstr(words, "No module named 'langevin"))
    return lgv_fail(
        err, LGV_ERR_ENV,
        "%.80s: the Python '%.100s' does not have the package langevin. Install it: %.100s -m pip "
        "install langevin",
        r->what, r->process.python, r->process.python);
  return lgv_fail(err, LGV_ERR_ENV, "%.80s: the worker process %s %s%s%s", r->what, fate,
                  place(r, where, sizeof where), *words ? ". It wrote: " : "", words);
}

static lgv_status too_late(remote *r, lgv_error *err) {
  char where[80];
  lgv__process_end(&r->process, 0, NULL, 0);
  r->dead = true;
  return lgv_fail(err, LGV_ERR_ENV,
                  "%.80s: no answer from the worker process within %g s (run.env_timeout) %s; it "
                  "was stopped",
                  r->what, r->host->timeout, place(r, where, sizeof where));
}

static lgv_status nonsense(remote *r, const char *what, lgv_error *err) {
  char where[80];
  lgv__process_end(&r->process, 0, NULL, 0);
  r->dead = true;
  return lgv_fail(err, LGV_ERR_ENV, "%.80s: the worker process sent %s %s; it was stopped", r->what,
                  what, place(r, where, sizeof where));
}

/* Reports a failure in the worker: text is its message, followed by a NUL and its traceback. */
static lgv_status reported(remote *r, uint32_t status, const char *text, size_t length,
                           lgv_error *err) {
  static const lgv_status statuses[] = {
      [WRONG_USAGE] = LGV_ERR_USAGE, [RAISED] = LGV_ERR_ENV, [NOT_A_NUMBER] = LGV_ERR_NUMERIC};
  char where[80];
  size_t first = strlen(text);
  const char *detail = first < length ? text + first + 1 : "";
  if (status > NOT_A_NUMBER) return nonsense(r, "an unknown status", err);
  if (*detail && r->host->notice) r->host->notice(r->host->context, detail);
  if (r->episodes == 0) return lgv_fail(err, statuses[status], "%.80s: %.400s", r->what, text);
  return lgv_fail(err, statuses[status], "%.80s, %s: %.380s", r->what,
                  place(r, where, sizeof where), text);
}

/* ---- Packets ---- */

static lgv_status send_packet(remote *r, const void *bytes, size_t size, lgv_error *err) {
  if (r->dead) return lgv_fail(err, LGV_ERR_ENV, "%.80s: the worker process has ended", r->what);
  while (send(r->process.socket, bytes, size, MSG_NOSIGNAL) < 0) {
    if (errno == EAGAIN) return too_late(r, err);
    if (errno != EINTR) return died(r, err);
  }
  return LGV_OK;
}

/* Reads one packet into r->packet, NUL-terminated. The socket enforces the timeout; if a signal
 * interrupts the wait, it is repeated until the timeout is over. */
static lgv_status receive_packet(remote *r, size_t *size, lgv_error *err) {
  double timeout = r->host->timeout, begun = timeout > 0 ? lgv__now() : 0;
  if (r->dead) return lgv_fail(err, LGV_ERR_ENV, "%.80s: the worker process has ended", r->what);
  for (;;) {
    ssize_t length = recv(r->process.socket, r->packet, PACKET, MSG_TRUNC);
    if (length > PACKET) return nonsense(r, "a packet that is too long", err);
    if (length > 0) {
      *size = (size_t)length;
      r->packet[length] = '\0';
      return LGV_OK;
    }
    if (length < 0 && errno == EAGAIN) return too_late(r, err);
    if (length == 0 || errno != EINTR) return died(r, err);
    if (timeout > 0 && lgv__now() - begun > timeout) return too_late(r, err);
  }
}

static void set_timeouts(const remote *r) {
  double seconds = r->host->timeout;
  struct timeval limit = {.tv_sec = (time_t)seconds,
                          .tv_usec = (suseconds_t)(1e6 * (seconds - floor(seconds)))};
  if (seconds > 0 && limit.tv_sec == 0 && limit.tv_usec == 0) limit.tv_usec = 1; /* 0: no limit */
  (void)setsockopt(r->process.socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)setsockopt(r->process.socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

/* ---- Start ---- */

static const char *memory_fault(const remote_hello *h, int64_t file_size) {
  if (h->memory_bytes < 1 || h->memory_bytes > largest_memory || h->memory_bytes > file_size)
    return "a size that its memory does not have";
  if (h->obs_bytes < 1 || h->obs_bytes > h->memory_bytes) return "observations outside its memory";
  if (h->save_bytes < 0 || h->save_offset < 0 || h->save_bytes > h->memory_bytes ||
      h->save_offset > h->memory_bytes - h->save_bytes)
    return "states outside its memory";
  return NULL;
}

lgv_env_spec lgv__remote_spec(const remote_hello *h) {
  return (lgv_env_spec){.obs_kind = (lgv_obs_kind)h->obs_kind,
                        .obs_form = (lgv_obs_form)h->obs_form,
                        .obs_shape = {h->shape[0], h->shape[1], h->shape[2]},
                        .vector = h->vector,
                        .frames = h->frames,
                        .actions = h->actions,
                        .masked = h->masked != 0,
                        .states = h->states,
                        .horizon = h->horizon};
}

static const char *fault_of(const remote_hello *h) {
  lgv_env_spec spec = lgv__remote_spec(h);
  const char *fault = lgv__spec_fault(&spec);
  if (fault) return fault;
  if (h->masked < 0 || h->masked > 1) return "masks that are neither there nor not";
  return h->states > most_states ? "too large a number of states" : NULL;
}

static lgv_status take_memory(remote *r, lgv_error *err) {
  struct stat info;
  int fd = r->process.memory;
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0 || fstat(fd, &info) != 0)
    return nonsense(r, "memory that cannot be sealed", err);
  const char *fault = memory_fault(&r->hello, info.st_size);
  if (fault) return nonsense(r, fault, err);
  void *memory =
      mmap(NULL, (size_t)r->hello.memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    return lgv_fail(err, LGV_ERR_MEMORY, "%.80s: cannot map %.1f MB of shared memory: %s", r->what,
                    (double)r->hello.memory_bytes / 1e6, strerror(errno));
  r->memory = memory;
  return LGV_OK;
}

static void announce(const remote *r, char *lines) {
  if (!r->host->announce || !r->host->notice) return;
  for (char *line; (line = strsep(&lines, "\n"));) {
    char text[1024];
    if (!*line) continue;
    snprintf(text, sizeof text, "%s: %s", r->what, line);
    r->host->notice(r->host->context, text);
  }
}

static lgv_action_space actions_of(const wire_hello *h) {
  lgv_action_space unknown = {.kind = (lgv_action_kind)h->action_kind};
  switch (h->action_kind) {
  case LGV_DISCRETE: return lgv_discrete(h->choices[0]);
  case LGV_MULTI_DISCRETE: return lgv_multi_discrete(h->parts, h->choices);
  case LGV_BOX: return lgv_box(h->parts, h->low, h->high);
  default: return unknown;
  }
}

static remote_hello hello_of(const wire_hello *h) {
  return (remote_hello){.obs_kind = h->obs_kind,
                        .obs_form = h->obs_form,
                        .shape = {h->shape[0], h->shape[1], h->shape[2]},
                        .vector = h->vector,
                        .frames = h->frames,
                        .masked = h->masked,
                        .actions = actions_of(h),
                        .states = h->states,
                        .horizon = h->horizon,
                        .obs_bytes = h->obs_bytes,
                        .memory_bytes = h->memory_bytes,
                        .save_offset = h->save_offset,
                        .save_bytes = h->save_bytes,
                        .has_fire = h->has_fire,
                        .height = h->height,
                        .width = h->width};
}

static lgv_status read_hello(remote *r, lgv_error *err) {
  size_t size;
  wire_hello h;
  LGV_TRY(receive_packet(r, &size, err));
  if (size < sizeof h) return nonsense(r, "too short a greeting", err);
  memcpy(&h, r->packet, sizeof h);
  if (h.magic != MAGIC) return nonsense(r, "a greeting of another kind", err);
  if (h.version != VERSION)
    return nonsense(r, "a greeting of another version: install the package of this version", err);
  if (h.status != FINE) return reported(r, h.status, r->packet + sizeof h, size - sizeof h, err);
  r->hello = hello_of(&h);
  const char *fault = fault_of(&r->hello);
  if (fault) return nonsense(r, fault, err);
  LGV_TRY(take_memory(r, err));
  announce(r, r->packet + sizeof h);
  return LGV_OK;
}

static lgv_status start(remote *r, lgv_error *err) {
  size_t first = strlen(r->kind) + 1, size = first + strlen(r->config);
  LGV_TRY(lgv__process_start(&r->process, r->python, r->show_output, err));
  set_timeouts(r);
  if (size > PACKET)
    return lgv_fail(err, LGV_ERR_USAGE, "%.80s: the parameters are too long", r->what);
  memcpy(r->packet, r->kind, first);
  memcpy(r->packet + first, r->config, size - first);
  LGV_TRY(send_packet(r, r->packet, size, err));
  return read_hello(r, err);
}

lgv_status lgv__remote_start(const char *kind, const char *config, const remote_options *options,
                             remote **out, lgv_error *err) {
  remote *r = *out = lgv__calloc(1, sizeof *r);
  if (!r) return lgv__out_of_memory(err, "a worker process");
  r->host = options->host;
  r->kind = kind;
  r->python = options->python;
  r->show_output = options->show_output;
  r->config = lgv__strdup(config);
  r->process = (process){.socket = -1, .memory = -1, .lifeline = -1, .log = -1};
  snprintf(r->what, sizeof r->what, "%s", options->what);
  lgv_status status = r->config ? start(r, err) : lgv__out_of_memory(err, "a worker process");
  if (status != LGV_OK) {
    r->dead = true; /* there is nothing to close */
    lgv__remote_stop(r);
    *out = NULL;
  }
  return status;
}

const remote_hello *lgv__remote_get_hello(const remote *r) { return &r->hello; }
const unsigned char *lgv__remote_memory(const remote *r) { return r->memory; }

int64_t lgv__remote_slot_bytes(const remote_hello *h) {
  return h->obs_bytes + (h->masked ? ((int64_t)h->actions.count + 3) / 4 * 4 : 0);
}

bool lgv__remote_picture(const remote *r, lgv_picture *frame) {
  const remote_hello *h = lgv__remote_get_hello(r);
  int64_t at = 2 * lgv__remote_slot_bytes(h);
  double end = (double)at + 3 * (double)h->height * h->width;
  if (h->height < 1 || h->width < 1 || end > (double)h->save_offset) return false;
  *frame = (lgv_picture){h->height, h->width, 3, lgv__remote_memory(r) + at};
  return true;
}

bool lgv__remote_is_dead(const remote *r) { return r->dead; }

lgv_status lgv__remote_replace(remote *old, lgv_status status, remote **fresh, lgv_error *err) {
  const lgv_host *host = old->host;
  remote *started;
  if (!old->dead || old->last || !host->restart) return status;
  old->last = true;
  if (host->notice) {
    char text[640];
    snprintf(
        text, sizeof text,
        "%s. It is restarted once (run.on_worker_death=restart); the current episode counts as "
        "truncated",
        err ? err->message : "the worker process died");
    host->notice(host->context, text);
  }
  remote_options options = {old->what, old->python, old->show_output, host};
  LGV_TRY(lgv__remote_start(old->kind, old->config, &options, &started, err));
  started->last = true;
  /* Both came as bytes, padding included. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
  if (memcmp(&started->hello, &old->hello, sizeof old->hello) == 0) {
    *fresh = started;
    return LGV_OK;
  }
  lgv__remote_stop(started);
  return lgv_fail(err, LGV_ERR_ENV, "%.80s: the restarted environment differs from the one before",
                  old->what);
}

/* ---- Commands ---- */

/* action: NULL, or the numbers to follow the command, one per part. */
static lgv_status send_with(remote *r, wire_command command, const lgv_action *action,
                            lgv_error *err) {
  unsigned char packet[sizeof command + sizeof *action];
  size_t extra = action ? (size_t)r->hello.actions.parts * sizeof action->choice : 0;
  r->operation = command.operation;
  command.sequence = ++r->sequence;
  lgv__process_trim_log(&r->process);
  memcpy(packet, &command, sizeof command);
  if (action) memcpy(packet + sizeof command, action, extra);
  return send_packet(r, packet, sizeof command + extra, err);
}

static lgv_status send_command(remote *r, wire_command command, lgv_error *err) {
  return send_with(r, command, NULL, err);
}

static lgv_status read_reply(remote *r, wire_reply *reply, lgv_error *err) {
  size_t size;
  LGV_TRY(receive_packet(r, &size, err));
  if (size < sizeof *reply) return nonsense(r, "too short an answer", err);
  memcpy(reply, r->packet, sizeof *reply);
  if (reply->sequence != r->sequence) return nonsense(r, "an answer to another command", err);
  if (reply->status != FINE)
    return reported(r, reply->status, r->packet + sizeof *reply, size - sizeof *reply, err);
  return size == sizeof *reply ? LGV_OK : nonsense(r, "too long an answer", err);
}

lgv_status lgv__remote_send_reset(remote *r, uint64_t seed, lgv_error *err) {
  r->episodes++;
  r->steps = 0;
  return send_command(r, (wire_command){.operation = RESET, .number = seed}, err);
}

lgv_status lgv__remote_send_step(remote *r, const lgv_action *action, int32_t repeat,
                                 lgv_error *err) {
  wire_command command = {.operation = STEP, .repeat = repeat};
  bool discrete = r->hello.actions.kind == LGV_DISCRETE;
  r->steps++;
  if (discrete) command.choice = action->choice;
  return send_with(r, command, discrete ? NULL : action, err);
}

lgv_status lgv__remote_receive(remote *r, remote_reply *out, lgv_error *err) {
  wire_reply reply;
  LGV_TRY(read_reply(r, &reply, err));
  if ((reply.slot != 0 && reply.slot != 1) || (reply.terminated | reply.truncated) & ~1)
    return nonsense(r, "an invalid answer", err);
  *out = (remote_reply){.reward = reply.reward,
                        .terminated = reply.terminated,
                        .truncated = reply.truncated,
                        .lives = reply.lives,
                        .frames = reply.frames,
                        .slot = reply.slot,
                        .state = reply.number};
  return LGV_OK;
}

lgv_status lgv__remote_reset(remote *r, uint64_t seed, remote_reply *reply, lgv_error *err) {
  LGV_TRY(lgv__remote_send_reset(r, seed, err));
  return lgv__remote_receive(r, reply, err);
}

lgv_status lgv__remote_step(remote *r, const lgv_action *action, int32_t repeat,
                            remote_reply *reply, lgv_error *err) {
  LGV_TRY(lgv__remote_send_step(r, action, repeat, err));
  return lgv__remote_receive(r, reply, err);
}

lgv_status lgv__remote_save(remote *r, void *bytes, size_t capacity, size_t *size, lgv_error *err) {
  wire_reply reply;
  LGV_TRY(send_command(r, (wire_command){.operation = SAVE}, err));
  LGV_TRY(read_reply(r, &reply, err));
  if (reply.number < 0 || reply.number > r->hello.save_bytes)
    return nonsense(r, "a state larger than it said", err);
  *size = (size_t)reply.number;
  if (*size > capacity)
    return lgv_fail(err, LGV_ERR_ENV, "%.80s: its state has %zu bytes, but only %zu are reserved",
                    r->what, *size, capacity);
  memcpy(bytes, r->memory + r->hello.save_offset, *size);
  return LGV_OK;
}

static lgv_status send_state(remote *r, uint32_t operation, const void *bytes, size_t size,
                             lgv_error *err) {
  wire_reply reply;
  if (size > (size_t)r->hello.save_bytes)
    return lgv_fail(err, LGV_ERR_ENV, "%.80s: a state of %zu bytes is too large for it", r->what,
                    size);
  memcpy(r->memory + r->hello.save_offset, bytes, size);
  LGV_TRY(send_command(r, (wire_command){.operation = operation, .number = size}, err));
  return read_reply(r, &reply, err);
}

lgv_status lgv__remote_restore(remote *r, const void *bytes, size_t size, lgv_error *err) {
  return send_state(r, RESTORE, bytes, size, err);
}

lgv_status lgv__remote_freeze(remote *r, const void *bytes, size_t size, lgv_error *err) {
  return send_state(r, FREEZE, bytes, size, err);
}

/* ---- End ---- */

void lgv__remote_stop(remote *r) {
  if (!r) return;
  lgv_error ignored;
  bool notified =
      !r->dead && send_command(r, (wire_command){.operation = CLOSE}, &ignored) == LGV_OK;
  lgv__process_end(&r->process, notified ? grace : 0, NULL, 0);
  lgv__process_close(&r->process);
  if (r->memory) munmap(r->memory, (size_t)r->hello.memory_bytes);
  lgv__free(r->config);
  lgv__free(r);
}
