/* One environment that an agent learns from: an episode, step by step. The loop of runs and of
 * trainers is made of these verbs. */
#ifndef LGV_TRAIN_STREAM_H
#define LGV_TRAIN_STREAM_H

#include "langevin.h"

typedef struct lgv_stream {
  lgv_env *env;
  int32_t index; /* which of the agent's environments it is */
  lgv_obs obs;
  lgv_transition step; /* the one in hand */
} lgv_stream;

LGV_CHECK lgv_status lgv__stream_begin(lgv_stream *stream, lgv_agent *agent, lgv_error *err);
/* Chooses an action and hands it over; other environments may be handed theirs before
 * lgv__stream_learn waits for what comes of it and lets the agent observe it. */
LGV_CHECK lgv_status lgv__stream_act(lgv_stream *stream, lgv_agent *agent, lgv_error *err);
LGV_CHECK lgv_status lgv__stream_learn(lgv_stream *stream, lgv_agent *agent, lgv_error *err);

static inline bool lgv__stream_has_ended(const lgv_stream *stream) {
  return stream->step.terminated || stream->step.truncated;
}

#endif
