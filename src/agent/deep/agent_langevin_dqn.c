/* Langevin DQN. Dwaracherla, Van Roy, "Langevin DQN" (2020), with the optimizer that Ishfaq et al.
 * (ICLR 2024) compare Adam LMCDQN with: a step of Adam, then Gaussian noise with Adam's
 * preconditioner. There is no term of the plain gradient. The preset `atari` is their loop. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=1e-3 "
              "optim.beta=1e5 optim.l2=0.1"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 optim.lr=1e-4 optim.beta=1e16"},
    {0}};

const lgv_agent_type lgv__agent_langevin_dqn = {
    .name = "langevin-dqn",
    .summary = "DQN with Adam and preconditioned noise (Langevin DQN)",
    .params = param_table,
    .presets = presets,
    .optimizer = "langevin-adam",
    LANGEVIN_HOOKS,
};
