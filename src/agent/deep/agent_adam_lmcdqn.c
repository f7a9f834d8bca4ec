/* Adam LMCDQN. Ishfaq et al., "Provable and practical: efficient exploration in reinforcement
 * learning via Langevin Monte Carlo" (ICLR 2024), Algorithm 2, with the optimiser Adam SGLD of Kim
 * et al. (2022):
 *
 *     w <- w - eta (g + a m / sqrt(v + lambda_1)) + sqrt(2 eta / beta) eps,   eps ~ N(0, I)
 *
 * The preset `atari` is the published loop: the optimiser in the form of the published code, n = 3,
 * double Q, pixels not divided, an update every 10 steps after 32 greedy ones, a copy to the target
 * network every 500 updates. As in that code, parameters are single floats: at beta = 1e16 rounding
 * takes nearly all of the noise away, which optim.compensated = true would keep.
 *
 * The preset `small` is for small problems and not from the paper: noise large enough to move the
 * policy, and an l2 term in the part of the ridge of the paper's loss. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=1000 agent.warmup_actions=uniform agent.update_every=1 "
              "agent.n_step=3 optim.lr=3e-4 optim.a=0.1 optim.beta=3e3 optim.l2=0.01 "
              "optim.form=paper"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 optim.lr=1e-4 optim.a=0.1 optim.beta=1e16 optim.form=code"},
    {0}};

const lgv_agent_type lgv__agent_adam_lmcdqn = {
    .name = "adam-lmcdqn",
    .summary = "Langevin Monte Carlo DQN with Adam SGLD (the paper's Algorithm 2)",
    .params = param_table,
    .presets = presets,
    .optimiser = "asgld",
    LANGEVIN_HOOKS,
};
