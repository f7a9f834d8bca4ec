#include "train/stream.h"

#include "agent/agent.h"
#include "base/error.h"
#include "env/env.h"

lgv_status lgv__stream_begin(lgv_stream *stream, lgv_agent *agent, lgv_error *err) {
  LGV_TRY(lgv_env_reset(stream->env, &stream->obs, err));
  LGV_TRY(lgv_agent_set_stream(agent, stream->index, err));
  return lgv_agent_begin_episode(agent, err);
}

lgv_status lgv__stream_act(lgv_stream *stream, lgv_agent *agent, lgv_error *err) {
  stream->step = (lgv_transition){.obs = stream->obs};
  LGV_TRY(lgv_agent_set_stream(agent, stream->index, err));
  LGV_TRY(lgv__agent_act(agent, &stream->obs, LGV_TRAIN, &stream->step.action, err));
  return lgv__env_step_begin(stream->env, stream->step.action, err);
}

lgv_status lgv__stream_learn(lgv_stream *stream, lgv_agent *agent, lgv_error *err) {
  lgv_transition *t = &stream->step;
  lgv_outcome outcome;
  LGV_TRY(lgv__env_step_end(stream->env, &outcome, &t->next, err));
  t->reward = outcome.reward;
  t->terminated = outcome.terminated;
  t->truncated = outcome.truncated;
  LGV_TRY(lgv_agent_set_stream(agent, stream->index, err));
  LGV_TRY(lgv__agent_observe(agent, t, err));
  stream->obs = t->next;
  return LGV_OK;
}
