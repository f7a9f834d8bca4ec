/* Prioritized DQN. Schaul et al., "Prioritized experience replay" (ICLR 2016), proportional, on
 * double DQN: agent.prioritized and agent.double are on unless they are switched off. The equations
 * are in priority.h; dqn and double-dqn take the same parameters.
 *
 * The preset `atari` has the settings of DQN Zoo (Quan, Ostrovski, 2020): tuned double DQN with a
 * quarter of its step size, eps / 16, and beta from 0.4 to 1 over 200 million frames. */
#include "agent/deep/dither.h"

static const lgv_param param_table[] = {
    DQN_PARAM_ROWS, DQN_SHARED_BIAS_ROW, DQN_PRIORITY_ROWS, DITHER_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.prioritized=true agent.double=true agent.hidden=64,64 agent.n_step=5 "
              "agent.batch=128 agent.replay=50000 agent.warmup=1000 agent.update_every=2 "
              "agent.target_every=200 agent.epsilon_steps=10000 optim.lr=3e-4"},
    {"atari", "agent.prioritized=true agent.priority_beta_steps=49950000 agent.double=true "
              "agent.shared_bias=true agent.hidden=512 agent.scale_input=true agent.replay=1000000 "
              "agent.warmup=50000 agent.update_every=4 agent.target_every=7500 agent.loss=huber "
              "agent.epsilon_end=0.01 agent.epsilon_steps=1000000 agent.epsilon_eval=0.01 "
              "optim.name=rmsprop optim.lr=6.25e-5 optim.eps=6.103515625e-7"},
    {0}};

const lgv_agent_type lgv__agent_prioritized_dqn = {
    .name = "prioritized-dqn",
    .summary = "double DQN that replays in proportion to its errors",
    .params = param_table,
    .presets = presets,
    DITHERED_DQN_HOOKS,
};
