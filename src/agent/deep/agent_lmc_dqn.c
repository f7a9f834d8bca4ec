/* LMC DQN: the update of Algorithm 1 of Ishfaq et al. (ICLR 2024), line 9, on a network, which is
 * SGLD (Welling, Teh, 2011) on the loss of dqn_core.h:
 *
 *     w <- w - eta g + sqrt(2 eta / beta) eps
 *
 * It is Adam LMCDQN with a = 0. The loss is a minibatch mean: beta is n times that of a sum over n
 * transitions. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=3e-3 "
              "optim.beta=3e3 optim.l2=0.1"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 optim.lr=1e-4 optim.beta=1e16"},
    {0}};

const lgv_agent_type lgv__agent_lmc_dqn = {
    .name = "lmc-dqn",
    .summary = "Langevin Monte Carlo DQN without preconditioning (SGLD)",
    .params = param_table,
    .presets = presets,
    .optimizer = "sgld",
    LANGEVIN_HOOKS,
};
