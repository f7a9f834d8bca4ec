/* Adam LMCDQN. Ishfaq et al., "Provable and practical: efficient exploration in reinforcement
 * learning via Langevin Monte Carlo" (ICLR 2024), Algorithm 2, with the optimizer Adam SGLD of Kim
 * et al. (2022):
 *
 *     w <- w - eta (g + a m / sqrt(v + lambda_1)) + sqrt(2 eta / beta) eps,   eps ~ N(0, I)
 *
 * The preset `atari` is the published loop: the optimizer in the form of the published code, n = 3,
 * double Q, pixels not divided, an update every 10 steps after 32 greedy ones, a copy to the target
 * network every 500 updates. As in that code, parameters are single floats: at beta = 1e16 rounding
 * takes nearly all of the noise away, which optim.compensated = true would keep.
 *
 * The presets for small problems are not from the paper. `small`: noise large enough to move the
 * policy, an l2 term in the part of the ridge of the paper's loss, thirty rewards in a target and a
 * target network that stays for 500 updates; a step size that falls, and evaluation by the mean of
 * 2000 samples. `one-hot`, where the observation is nothing but the name of a state: inputs so
 * large that the rows of the first layer, one a state, move far more than the layers that all
 * states share, and begin with values that differ; one-step targets, which carry the values of
 * actions not yet tried back to the states before them; no l2 term. `cyclic`, the same where an
 * episode can come back to a state it left (a wall to walk against): there the maximum over noisy
 * values feeds itself, so that targets are double, and evaluation by samples of one moment can go
 * round in circles, so that it is by their mean, at a step size that falls. */
#include "agent/deep/langevin_dqn.h"

static const lgv_param param_table[] = {LANGEVIN_PARAM_ROWS, {0}};

static const lgv_preset presets[] = {
    {"small", "agent.warmup=1000 agent.warmup_actions=uniform agent.update_every=1 agent.batch=64 "
              "agent.replay=20000 agent.n_step=30 agent.double=true agent.target_every=500 "
              "agent.final_lr=0.05 agent.average=2000 optim.lr=2e-3 optim.a=0.01 optim.beta=3e3 "
              "optim.l2=0.03 optim.form=paper"},
    {"one-hot",
     "agent.warmup=1000 agent.warmup_actions=uniform agent.update_every=1 "
     "agent.hidden=64,64 agent.one_hot_gain=3 agent.replay=100000 agent.target_every=200 "
     "optim.lr=1e-3 optim.a=0.1 optim.beta=3e3 optim.form=paper"},
    {"cyclic", "agent.warmup=1000 agent.warmup_actions=uniform agent.update_every=1 "
               "agent.hidden=64,64 agent.one_hot_gain=3 agent.replay=100000 agent.target_every=200 "
               "agent.double=true agent.final_lr=0.05 agent.average=1000 "
               "optim.lr=1e-3 optim.a=0.1 optim.beta=3e4 optim.form=paper"},
    {"atari", "agent.hidden=512 agent.replay=1000000 agent.n_step=3 agent.double=true "
              "agent.target_every=500 optim.lr=1e-4 optim.a=0.1 optim.beta=1e16 optim.form=code"},
    {0}};

const lgv_agent_type lgv__agent_adam_lmcdqn = {
    .name = "adam-lmcdqn",
    .summary = "Langevin Monte Carlo DQN with Adam SGLD (the paper's Algorithm 2)",
    .params = param_table,
    .presets = presets,
    .optimizer = "asgld",
    LANGEVIN_HOOKS,
};
