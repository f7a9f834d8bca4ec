/* The replay: a ring of time steps. Every observation is stored once; the next observation of step
 * t is that of t + 1.
 *
 * Each of several parallel environments is a stream with a ring of its own; all rings have the same
 * length and are interleaved: entry e belongs to stream e % streams, and its neighbors in time are
 * e - streams and e + streams. So the filled entries are at the front, and looking ahead or back
 * never reaches another stream.
 *
 * An entry holds an observation and the action, reward and end that followed it. An action is one
 * choice per part, or one float per part of a box. The newest
 * observation and the last one of every episode take an entry without an action, so that no next
 * observation is ever lost; such entries are never drawn. A sparse observation (one-hot,
 * thermometer) is kept as one index. Of a stack (base/stack.h), only the newest observation is
 * kept. Stacks are rebuilt when they are read; at the beginning of an episode its first observation
 * is repeated.
 *
 * n-step targets (Watkins, 1989; Hessel et al., 2018, without off-policy correction): for the m <=
 * n steps until the episode ends or the data do,
 *     y = sum over l < m of gamma^l r_{t+l}  +  gamma^m [not terminated] max_a Q(s_{t+m}, a).
 *
 * Invariants, of every stream: (1) exactly the entries with an action whose stack is complete can
 * be drawn; (2) the entry after one with an action is its next observation; (3) an n-step sum never
 * crosses the newest observation; (4) the first observation of every episode with an entry in the
 * ring is known, even if its own entry has been overwritten. */
#ifndef LGV_REPLAY_REPLAY_H
#define LGV_REPLAY_REPLAY_H

#include "nn/net.h"

enum {
  REPLAY_HEAD,    /* the entry of the newest observation (of the whole replay, not of the ring) */
  REPLAY_FILLED,  /* entries in use */
  REPLAY_ACTIONS, /* entries with an action */
  REPLAY_ADDED,   /* transitions added in total */
  REPLAY_STAGE,   /* of the newest observation */
  REPLAY_ENDED,   /* whether the newest observation is the last of its episode */
  REPLAY_CURSORS
};

/* Neither a choice nor the bits of a finite float: as a float it is NaN. */
enum { REPLAY_NO_ACTION = -1 };

typedef struct replay {
  lgv_env_spec env;
  lgv_env_spec one; /* of one stored observation: env without its stacks */
  int64_t streams;
  int64_t capacity;   /* entries of all streams together; a multiple of their number */
  int64_t obs_bytes;  /* per stored observation */
  int64_t mask_bytes; /* per stored mask, one bit per choice; 0 if the spec is not masked */
  int32_t parts;      /* of an action */
  int32_t frames;     /* observations of a stack; at least 1 */
  int32_t n_step;
  double gamma;
  int64_t *cursor;     /* (streams x REPLAY_CURSORS) */
  int64_t *rows;       /* (1): entries in use, of the stream with the most */
  uint8_t *obs;        /* (capacity x obs_bytes) */
  uint8_t *mask;       /* (capacity x mask_bytes): what each observation allows; or NULL */
  bool box;            /* actions are floats */
  int32_t *action;     /* (capacity x parts): choices, or the bits of floats; REPLAY_NO_ACTION where
                        * no action has been taken */
  float *reward;       /* (capacity) */
  uint8_t *terminated; /* (capacity): whether the action there ended the task */
  int32_t *age;        /* (capacity): steps since the episode began */
  uint8_t *lost_first; /* (streams x obs_bytes): the most recently overwritten first observation */
  uint8_t *lost_mask;  /* (streams x mask_bytes): of that observation; or NULL */
} replay;

/* A minibatch, gathered into buffers that are ready for a network. The observations are stored in
 * the order obs [first] next, so that a network can take any prefix as one batch. */
typedef struct replay_batch {
  int64_t size;
  int64_t *entry;                    /* (size): the source of each sample */
  unsigned char *obs, *first, *next; /* (size) observations each, in net_input form; first: where
                                      * the episode began, or NULL if it was not asked for */
  uint8_t *obs_mask, *first_mask, *next_mask; /* (size x choices) each, bytes of 0 or 1, in the
                                               * same order; NULL if the spec is not masked */
  int32_t *action;                            /* (size x parts): choices; NULL for a box */
  float *values;                              /* (size x parts): of a box; else NULL */
  float *reward;                              /* (size): sum over l < m of gamma^l r */
  float *discount; /* (size): gamma^m, or 0 where the episode terminated */
} replay_batch;

/* capacity is divided among the streams and rounded down. The last array declared is a row block.
 * Attach the consistency check to it, so that loading without the replay also skips the check. */
void lgv__replay_layout(replay *r, const lgv_env_spec *env, int64_t streams, int64_t capacity,
                        int32_t n_step, double gamma, lgv_layout *layout);
void lgv__replay_batch_layout(replay_batch *b, const replay *r, int64_t size, bool with_first,
                              lgv_layout *layout);
/* Returns the entry of the transition. It continues the stream's current episode if its stage does.
 */
int64_t lgv__replay_add(replay *r, int64_t stream, const lgv_transition *transition);
int64_t lgv__replay_following(const replay *r, int64_t entry); /* the stream's next entry */
int64_t lgv__replay_size(const replay *r); /* number of transitions that can be drawn */
/* Draw one entry or a minibatch, uniformly with replacement. lgv__replay_size must be positive. */
int64_t lgv__replay_draw(const replay *r, lgv_rng *rng);
void lgv__replay_sample(const replay *r, lgv_rng *rng, replay_batch *b);
/* Fills b for the entries that the caller chose (b->entry). */
void lgv__replay_gather(const replay *r, replay_batch *b);
/* How a loaded replay violates the invariants above, or NULL. */
const char *lgv__replay_fault(const replay *r);
bool lgv__replay_has(const replay *r, int64_t entry); /* whether it was ever written */
bool lgv__replay_can_draw(const replay *r, int64_t entry);
/* Sorts the entries that can be drawn by age: those of age h < stages are
 * order[start[h]]..order[start[h + 1] - 1], stream by stream, oldest first. order has capacity,
 * start has stages + 1 elements. */
void lgv__replay_sort_by_age(const replay *r, int64_t stages, int64_t *order, int64_t *start);

/* The functions below encode one observation of an agent in net_input form: sparse ones as an
 * index, others as their data. */
size_t lgv__replay_encoded_bytes(const lgv_env_spec *env);
/* Whether bytes from a file can be an encoded observation. */
bool lgv__replay_is_observation(const lgv_env_spec *env, const void *encoded);
void lgv__replay_encode(const lgv_env_spec *env, const lgv_obs *obs, void *out);
net_input lgv__replay_input(const lgv_env_spec *env, const void *encoded);

#endif
