/* The replay: a ring of time steps. Every observation is stored once; the next observation of step
 * t is that of t + 1.
 *
 * An entry holds an observation and what was done there. When an episode ends its last observation
 * takes an entry of its own without an action, so that it is never lost; such entries are never
 * drawn. Sparse observations (one-hot, thermometer) are kept as one index, images as bytes of their
 * newest frame with the stack rebuilt on the way out (env spec: channels are the stack, newest
 * last).
 *
 * Invariants: an entry may be drawn if it has an action and its next observation is stored; a draw
 * never crosses the ring's write position; n-step sums stop at the end of an episode. */
#ifndef LGV_REPLAY_REPLAY_H
#define LGV_REPLAY_REPLAY_H

#include "nn/net.h"

typedef struct replay {
  lgv_env_spec env;
  int64_t capacity;
  int64_t obs_bytes; /* of one stored observation */
  int32_t n_step;
  double gamma;
  int64_t *cursor; /* [0] next entry to write, [1] entries filled, [2] transitions added in all */
  uint8_t *obs;    /* (capacity x obs_bytes) */
  int32_t *action; /* (capacity): -1 for a last observation */
  float *reward;   /* (capacity) */
  uint8_t *flags;  /* (capacity): bits below */
  int32_t *age;    /* (capacity): stage within the episode */
} replay;

enum { REPLAY_TERMINATED = 1, REPLAY_TRUNCATED = 2 };

/* A minibatch, gathered into buffers that are ready for a network. */
typedef struct replay_batch {
  int64_t size;
  int64_t *entry;   /* (size): where each came from */
  void *obs, *next; /* (size) observations in net_input form; next follows obs directly in memory,
                     * so that both together are one batch of 2 x size (next = obs + size) */
  int32_t *action;  /* (size) */
  float *reward;    /* (size): sum over l < m of gamma^l r */
  float *discount;  /* (size): gamma^m, or 0 where the episode terminated */
} replay_batch;

void replay_layout(replay *r, const lgv_env_spec *env, int64_t capacity, int32_t n_step,
                   double gamma, lgv_layout *layout);
void replay_batch_layout(replay_batch *b, const replay *r, int64_t size, lgv_layout *layout);
/* The bytes a replay of that capacity needs. */
double replay_bytes(const lgv_env_spec *env, int64_t capacity);
void replay_add(replay *r, const lgv_transition *transition);
int64_t replay_size(const replay *r); /* transitions that can be drawn */
/* Draws uniformly with replacement. replay_size must be positive. */
void replay_sample(const replay *r, lgv_rng *rng, replay_batch *b);
/* Fills b for entries that somebody else chose (b->entry). */
void replay_gather(const replay *r, replay_batch *b);
net_input replay_input(const replay *r, const void *observations);
/* One observation, as an agent sees it, in net_input form; out has obs_bytes (images: a whole
 * stack). */
void replay_encode(const lgv_env_spec *env, const lgv_obs *obs, void *out);
size_t replay_encoded_bytes(const lgv_env_spec *env);

#endif
