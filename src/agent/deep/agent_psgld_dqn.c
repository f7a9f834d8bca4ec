/* pSGLD DQN: Langevin Monte Carlo with the diagonal preconditioner of Li et al., "Preconditioned
 * stochastic gradient Langevin dynamics for deep neural networks" (AAAI 2016), in the loop of Adam
 * LMCDQN:
 *
 *     w <- w - eta g / G + sqrt(2 eta / beta) eps / sqrt(G),   G = sqrt(v) + eps_0
 *
 * Drift and noise are scaled by the same G, unlike in Adam SGLD. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=1e-3 "
              "optim.beta=3e4 optim.l2=0.1"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 optim.lr=1e-4 optim.beta=1e16"},
    {0}};

const lgv_agent_type lgv__agent_psgld_dqn = {
    .name = "psgld-dqn",
    .summary = "Langevin Monte Carlo DQN with RMSProp preconditioning (pSGLD)",
    .params = param_table,
    .presets = presets,
    .optimizer = "psgld",
    LANGEVIN_HOOKS,
};
