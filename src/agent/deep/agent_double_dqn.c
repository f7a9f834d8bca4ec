/* Double DQN. van Hasselt, Guez, Silver, "Deep reinforcement learning with double Q-learning" (AAAI
 * 2016): y = r + gamma Q(s', argmax_a Q(s', a; w); w-).
 *
 * As DQN, but agent.double is on unless it is switched off. The preset `atari` is the tuned version
 * of the paper with the settings of DQN Zoo (Quan, Ostrovski, 2020): one bias for all actions, and
 * a copy to the target network every 30,000 steps = 7500 updates. */
#include "agent/deep/dither.h"

static const lgv_param param_table[] = {
    DQN_PARAM_ROWS, DQN_SHARED_BIAS_ROW, DQN_PRIORITY_ROWS, DITHER_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.double=true agent.warmup=200 agent.update_every=1 optim.lr=1e-3"},
    {"atari",
     "agent.double=true agent.shared_bias=true agent.hidden=512 agent.scale_input=true "
     "agent.replay=1000000 agent.warmup=50000 agent.update_every=4 agent.target_every=7500 "
     "agent.loss=huber agent.epsilon_end=0.01 agent.epsilon_steps=1000000 agent.epsilon_eval=0.01 "
     "optim.name=rmsprop optim.lr=2.5e-4 optim.eps=9.765625e-6"},
    {0}};

const lgv_agent_type lgv__agent_double_dqn = {
    .name = "double-dqn",
    .summary = "DQN whose targets separate the choice of an action from its value",
    .params = param_table,
    .presets = presets,
    DITHERED_DQN_HOOKS,
};
