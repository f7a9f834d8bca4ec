/* An environment in a worker process: the C side of python/langevin/worker.py.
 *
 * Commands and answers are single packets on a socket: fixed structs in the machine's own byte
 * order, both ends being on one machine. Observations never pass through it: the worker writes them
 * into memory that both sides see. Waiting is blocking, with the host's time-out; the death of
 * either side shows at once as the end of the other's socket.
 *
 * Only one command is under way at a time: remote_send_..., then lgv__remote_receive. */
#ifndef LGV_ENV_REMOTE_H
#define LGV_ENV_REMOTE_H

#include "langevin.h"

typedef struct remote remote;

typedef struct remote_options {
  const char *what;   /* in messages: "gym:CartPole-v1" */
  const char *python; /* see lgv__process_start */
  bool show_output;
  const lgv_host *host; /* outlives the remote */
} remote_options;

/* What the worker found. memory_bytes is the size of the shared memory: first what the kind of
 * environment puts there, from save_offset on save_bytes for saved states (0: it cannot save). */
typedef struct remote_hello {
  int32_t obs_kind, obs_form, shape[3], actions;
  int64_t states, horizon, obs_bytes, memory_bytes, save_offset, save_bytes;
  int32_t has_fire;      /* atari */
  int32_t height, width; /* of screens and pictures; 0: there are none */
} remote_hello;

typedef struct remote_reply {
  double reward;
  int32_t terminated, truncated;
  int32_t lives, frames; /* atari */
  int32_t slot;          /* gym: which of the two observations in memory is the current one */
  int64_t state;         /* gym: the index of the state, where states are finite */
} remote_reply;

/* kind: "gym", "atari": which task class of the worker. config_json: for its make(). */
LGV_CHECK lgv_status lgv__remote_start(const char *kind, const char *config_json,
                                       const remote_options *options, remote **out, lgv_error *err);
const remote_hello *lgv__remote_get_hello(const remote *r);
const unsigned char *lgv__remote_memory(const remote *r);

/* The picture behind the two observations, if the worker was asked for it and has one. */
bool lgv__remote_picture(const remote *r, lgv_picture *frame);

LGV_CHECK lgv_status lgv__remote_reset(remote *r, uint64_t seed, remote_reply *reply,
                                       lgv_error *err);
/* repeat: frames that the action lasts, for kinds that know frames. */
LGV_CHECK lgv_status lgv__remote_step(remote *r, int32_t action, int32_t repeat,
                                      remote_reply *reply, lgv_error *err);
/* The same in two halves, so that something can be done in between. */
LGV_CHECK lgv_status lgv__remote_send_reset(remote *r, uint64_t seed, lgv_error *err);
LGV_CHECK lgv_status lgv__remote_send_step(remote *r, int32_t action, int32_t repeat,
                                           lgv_error *err);
LGV_CHECK lgv_status lgv__remote_receive(remote *r, remote_reply *reply, lgv_error *err);

/* The environment's state as opaque bytes: up to hello.save_bytes. */
LGV_CHECK lgv_status lgv__remote_save(remote *r, void *bytes, size_t capacity, size_t *size,
                                      lgv_error *err);
LGV_CHECK lgv_status lgv__remote_restore(remote *r, const void *bytes, size_t size, lgv_error *err);
/* Running statistics that another environment saved: taken over, and kept as they are. */
LGV_CHECK lgv_status lgv__remote_freeze(remote *r, const void *bytes, size_t size, lgv_error *err);

/* Whether the last failure was that the worker died or did not answer in time: a new one may do. An
 * environment that raises an error is no such case. */
bool lgv__remote_is_dead(const remote *r);
/* Lets the worker close its environment, ends it and frees everything. */
void lgv__remote_stop(remote *r);

#endif
