/* DQN. Mnih et al., "Human-level control through deep reinforcement learning" (Nature, 2015).
 *
 * Epsilon-greedy acting (dither.h) and the update of dqn_core.h with a* chosen by the target
 * network. The preset `atari` is the loop of Ishfaq et al. (ICLR 2024), with Adam, double Q and an
 * epsilon that falls to 0.05 over a million steps (their text has 0.01 "then fixed as 0.05", their
 * settings of Bootstrapped DQN 0.05), so that it differs from their agents by its exploration
 * alone. `zoo` has the settings of DQN Zoo (Quan, Ostrovski, 2020): centered RMSProp, Huber's loss,
 * pixels divided by 255, an update every 4 steps, a copy to the target network every 10,000 steps =
 * 2500 updates. */
#include "agent/deep/dither.h"

static const lgv_param param_table[] = {
    DQN_PARAM_ROWS, DQN_SHARED_BIAS_ROW, DQN_PRIORITY_ROWS, DITHER_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=200 agent.update_every=1 optim.lr=1e-3"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 agent.epsilon_end=0.05 agent.epsilon_steps=1000000 "
              "optim.lr=1e-4"},
    {"zoo",
     "agent.hidden=512 agent.scale_input=true agent.replay=1000000 agent.warmup=50000 "
     "agent.update_every=4 agent.target_every=2500 agent.loss=huber agent.epsilon_end=0.1 "
     "agent.epsilon_steps=1000000 agent.epsilon_eval=0.05 optim.name=rmsprop optim.lr=2.5e-4 "
     "optim.eps=9.765625e-6"},
    {0}};

const lgv_agent_type lgv__agent_dqn = {
    .name = "dqn",
    .summary = "deep Q-network with epsilon-greedy exploration",
    .params = param_table,
    .presets = presets,
    DITHERED_DQN_HOOKS,
};
