/* FG-ULMCDQN. Ishfaq et al., "More efficient randomized exploration for reinforcement learning via
 * approximate sampling" (2024): the underdamped chain of ulmc-dqn on the feel-good loss of
 * fg-lmcdqn. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, LANGEVIN_FEEL_GOOD_ROW, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 agent.feel_good=0.01 "
              "optim.lr=0.03 optim.friction=10 optim.a=0.1 optim.beta=3e5 optim.l2=0.03"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 agent.feel_good=0.001 "
              "optim.lr=1e-3 optim.friction=10 optim.a=0.1 optim.beta=1e10"},
    {0}};

const lgv_agent_type lgv__agent_fg_ulmc_dqn = {
    .name = "fg-ulmc-dqn",
    .summary = "ULMCDQN with the feel-good term",
    .params = param_table,
    .presets = presets,
    .optimizer = "ulmc",
    LANGEVIN_HOOKS,
};
