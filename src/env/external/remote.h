/* An environment in a worker process: the C side of python/langevin/worker.py.
 *
 * Commands and answers are single packets on a socket: fixed structs in native byte order, since
 * both ends are on one machine. Observations do not pass through it: the worker writes them to
 * shared memory. Waiting blocks, with the host's timeout; when either side dies, the other sees the
 * end of its socket at once.
 *
 * Only one command is pending at a time: lgv__remote_send_..., then lgv__remote_receive. */
#ifndef LGV_ENV_REMOTE_H
#define LGV_ENV_REMOTE_H

#include "langevin.h"

typedef struct remote remote;

typedef struct remote_options {
  const char *what;   /* in messages: "gym:CartPole-v1" */
  const char *python; /* see lgv__process_start; outlives the remote */
  bool show_output;
  const lgv_host *host; /* outlives the remote */
} remote_options;

/* The worker's description of the environment, most of it as in lgv_env_spec. memory_bytes is the
 * size of the shared memory: first the part that the kind of environment uses, then, from
 * save_offset on, save_bytes for saved states (0: it cannot save). Two hellos are compared byte by
 * byte, so the struct has no padding. */
typedef struct remote_hello {
  int32_t obs_kind, obs_form, shape[3], vector, frames, masked;
  int32_t has_fire;      /* atari */
  int32_t height, width; /* of screens and pictures; 0: there are none */
  lgv_action_space actions;
  int64_t states, horizon, obs_bytes, memory_bytes, save_offset, save_bytes;
} remote_hello;

typedef struct remote_reply {
  double reward;
  int32_t terminated, truncated;
  int32_t lives, frames; /* atari */
  int32_t slot;          /* gym: index of the current one of the two observations in memory */
  int64_t state;         /* gym: the index of the state, where states are finite */
} remote_reply;

/* kind: a literal, "gym" or "atari", the worker's task class. config_json: for its make(). */
LGV_CHECK lgv_status lgv__remote_start(const char *kind, const char *config_json,
                                       const remote_options *options, remote **out, lgv_error *err);
const remote_hello *lgv__remote_get_hello(const remote *r);
/* The spec that a hello describes; lgv__remote_start has refused those with a fault. */
lgv_env_spec lgv__remote_spec(const remote_hello *h);
const unsigned char *lgv__remote_memory(const remote *r);
/* From one observation to the next in memory: obs_bytes, then its mask if there are masks, to a
 * multiple of 4 bytes. */
int64_t lgv__remote_slot_bytes(const remote_hello *h);

/* The picture after the two observations in memory, if it was requested and the worker has one. */
bool lgv__remote_picture(const remote *r, lgv_picture *frame);

LGV_CHECK lgv_status lgv__remote_reset(remote *r, uint64_t seed, remote_reply *reply,
                                       lgv_error *err);
/* repeat: frames that the action lasts, for kinds that have frames. */
LGV_CHECK lgv_status lgv__remote_step(remote *r, const lgv_action *action, int32_t repeat,
                                      remote_reply *reply, lgv_error *err);
/* Same, in two halves, so that the caller can do other work in between. */
LGV_CHECK lgv_status lgv__remote_send_reset(remote *r, uint64_t seed, lgv_error *err);
LGV_CHECK lgv_status lgv__remote_send_step(remote *r, const lgv_action *action, int32_t repeat,
                                           lgv_error *err);
LGV_CHECK lgv_status lgv__remote_receive(remote *r, remote_reply *reply, lgv_error *err);

/* The environment's state as opaque bytes: up to hello.save_bytes. */
LGV_CHECK lgv_status lgv__remote_save(remote *r, void *bytes, size_t capacity, size_t *size,
                                      lgv_error *err);
LGV_CHECK lgv_status lgv__remote_restore(remote *r, const void *bytes, size_t size, lgv_error *err);
/* Running statistics that another environment saved: taken over, and kept as they are. */
LGV_CHECK lgv_status lgv__remote_freeze(remote *r, const void *bytes, size_t size, lgv_error *err);

/* Whether the last failure was that the worker died, did not answer in time, or sent nonsense. */
bool lgv__remote_is_dead(const remote *r);
/* Starts another worker with the same configuration after `old` died or did not answer in time,
 * which is what `status` and err say. The host must allow it (run.on_worker_death=restart), and it
 * happens only once: otherwise this returns `status`. The caller stops `old`, whose memory stays
 * readable until then. An environment that raised an error is not replaced. */
LGV_CHECK lgv_status lgv__remote_replace(remote *old, lgv_status status, remote **fresh,
                                         lgv_error *err);
/* Lets the worker close its environment, ends it and frees everything. */
void lgv__remote_stop(remote *r);

#endif
