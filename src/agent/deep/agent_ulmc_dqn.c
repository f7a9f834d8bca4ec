/* ULMCDQN. Ishfaq et al., "More efficient randomized exploration for reinforcement learning via
 * approximate sampling" (2024): Adam LMCDQN with an underdamped chain, as their code has it,
 *
 *     u <- (1 - eta gamma) u + eta (g + a m / (sqrt(v) + eps_0))
 *     w <- w - eta u + sqrt(2 eta gamma / beta) eps
 *
 * (optim.drift = plain puts the noise into the velocity, where the theory has it). After 1 / (eta
 * gamma) steps the drift is eta g / gamma a step. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=200 agent.warmup_actions=uniform agent.updates=4 optim.lr=0.03 "
              "optim.friction=10 optim.a=0.1 optim.beta=3e5 optim.l2=0.03"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 optim.lr=1e-3 "
              "optim.friction=10 optim.a=0.1 optim.beta=1e10"},
    {0}};

const lgv_agent_type lgv__agent_ulmc_dqn = {
    .name = "ulmc-dqn",
    .summary = "underdamped Langevin Monte Carlo DQN",
    .params = param_table,
    .presets = presets,
    .optimizer = "ulmc",
    LANGEVIN_HOOKS,
};
